// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data of the figures of a paper.

use mb_catalog::{CatalogError, EngineChoice};
use mb_core::Source;

use crate::area::DesignArea;
use crate::chart::Chart;
use crate::curve::{Curve, DataPoint};
use crate::study::{AssumptionSet, Design, Study};

/// The data of the figures of a paper.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Figures {
    /// Name of the study that defines them.
    pub study: &'static str,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// Single points that the paper's text gives.
    pub data_points: Vec<DataPoint>,
    /// Charts with axes of their own.
    pub charts: Vec<Chart>,
    /// Area of the designs.
    pub areas: Vec<DesignArea>,
    /// Parameters of models that are not engines of the catalogue.
    pub parameters: Vec<CurveParameter>,
    /// Every set of assumptions, those that agree best first.
    pub agreements: Vec<Agreement>,
    /// Every value of every assumption.
    pub assumption_values: Vec<AssumptionValue>,
}

/// One number or word behind a curve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CurveParameter {
    /// The design, as its study names it.
    pub design: String,
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Its unit.
    pub unit: &'static str,
    /// Where it is from.
    pub source: Source,
}

/// How many predictions hold under one set of assumptions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The assumptions.
    pub assumptions: AssumptionSet,
    /// The same, as a table shows it.
    pub described: String,
    /// Whether this is the baseline.
    pub baseline: bool,
    /// Whether the study calls it fitted.
    pub fitted: bool,
    /// Predictions that hold.
    pub holds: Vec<&'static str>,
    /// Predictions that nearly hold.
    pub near: Vec<&'static str>,
    /// Predictions that differ.
    pub differs: Vec<&'static str>,
    /// How many assumptions have another value than in the baseline.
    pub changes: usize,
}

/// How many predictions hold with one value of one assumption, over all values of the others.
#[derive(Clone, PartialEq, Debug)]
pub struct AssumptionValue {
    /// The assumption.
    pub assumption: String,
    /// Its value.
    pub value: String,
    /// Whether it is that of the baseline.
    pub baseline: bool,
    /// Whether it is that of the fitted set.
    pub fitted: bool,
    /// Fewest, mean and most predictions that hold.
    pub holds: (usize, f64, usize),
}

/// The engine of `design` with its settings and `more`; none if the design names no engine.
///
/// # Errors
/// When there is no such engine or preset, or a setting does not fit.
pub fn choice(design: &Design, more: &[String]) -> Result<Option<EngineChoice>, CatalogError> {
    let Some(spec) = &design.engine else { return Ok(None) };
    let mut choice = mb_catalog::find(spec)?;
    for assignment in design.settings.iter().chain(more) {
        let (key, value) = mb_catalog::parse_assignment(assignment)?;
        choice.set(key, value, Source::User)?;
    }
    Ok(Some(choice))
}

/// Engine and preset of each design of `study` that has one.
///
/// # Errors
/// As [`choice`].
pub fn engines(study: &Study) -> Result<Vec<String>, crate::error::MeasureError> {
    let choices = study.designs.iter().map(|design| choice(design, &[]));
    Ok(choices.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().map(|choice| choice.spec()).collect())
}
