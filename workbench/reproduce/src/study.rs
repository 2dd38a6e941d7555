// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Studies: a question, the designs that are compared, the assumptions where a paper does not say,
//! and the figures.
//!
//! Contract: what [`read`] returns has every required field, no unknown one and no two things of
//! one name; anything else is an error that names file and offence. The figures of the papers are
//! studies of `studies/`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::benchmarks::Benchmark;
use crate::curve::Limit;
use crate::error::StudyError;

/// A study of the project as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StudyFile {
    /// Its name, which is that of its folder in `studies/`.
    pub name: &'static str,
    /// Text of `study.toml`.
    pub text: &'static str,
}

impl StudyFile {
    /// Reads it.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self) -> Result<Study, StudyError> {
        read(self.name, self.text)
    }
}

/// A question, the designs that are compared, and the figures.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The paper whose figures these are, as ids of its claims begin.
    pub paper: String,
    /// The question.
    pub question: String,
    /// The design whose time is 1 in a panel of relative times; empty if there is none.
    #[serde(default)]
    pub reference: String,
    /// The figures; none if the paper has charts instead.
    #[serde(rename = "figure", default)]
    pub figures: Vec<Figure>,
    /// Rows of every figure.
    #[serde(rename = "panel", default)]
    pub panels: Vec<Panel>,
    /// Curves of every panel.
    #[serde(rename = "design", default)]
    pub designs: Vec<Design>,
    /// Values that the paper does not give.
    #[serde(rename = "assumption", default)]
    pub assumptions: Vec<Assumption>,
    /// The claims of the paper about points.
    #[serde(rename = "data_point", default)]
    pub data_points: Vec<PointClaim>,
    /// The part of the study that `matchbench sweep` reads (`docs/sweep.md`).
    #[serde(default)]
    pub sweep: Option<toml::Table>,
}

/// One picture: a column of panels for each length of the list, over the depth of the match, which
/// is Hemmert et al.'s benchmark; or a column for each of the benchmarks named, over the length.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its file, without ending.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Lengths of the list, ascending.
    pub lengths: Vec<usize>,
    /// The benchmarks, from left to right; the paper's own if there is none.
    #[serde(default)]
    pub benchmarks: Vec<Benchmark>,
    /// The axis of lengths.
    #[serde(default)]
    pub axis: Scale,
    /// The designs that are drawn; all if there is none.
    #[serde(default)]
    pub designs: Vec<String>,
    /// The panels that are drawn; all if there is none.
    #[serde(default)]
    pub panels: Vec<PanelQuantity>,
}

/// One row of a figure.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// What is drawn.
    pub quantity: PanelQuantity,
    /// Label of the axis, with the unit.
    pub label: String,
    /// Its axis.
    #[serde(default)]
    pub scale: Scale,
}

/// How values lie along an axis.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By their logarithm.
    #[default]
    Log,
}

/// The quantity of a point that a panel draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PanelQuantity {
    /// The whole time.
    Total,
    /// The time for each item traversed.
    Each,
    /// The time over that of the reference.
    Relative,
}

/// One curve.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Its name in tables.
    pub name: String,
    /// Its name in the legend.
    pub label: String,
    /// How its times were obtained.
    pub timing: CurveTiming,
    /// The engine that a benchmark runs on, `engine:preset`; none if the paper has measurements of
    /// its own.
    #[serde(default)]
    pub engine: Option<String>,
    /// Parameters that are not the preset's, `key=value`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Lengths of the list, where a figure's are too many.
    #[serde(default)]
    pub lengths: Vec<usize>,
    /// Parameters that a sweep varies, `key=values`.
    #[serde(default)]
    pub vary: Vec<String>,
    /// The variant that its line shows.
    pub line: String,
    /// The others.
    #[serde(rename = "variant", default)]
    pub variants: Vec<DesignInterpretation>,
    /// Colour, `#rrggbb`.
    pub colour: String,
    /// Marker, as matplotlib names them.
    pub marker: String,
}

/// Another interpretation of a design.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignInterpretation {
    /// Its name.
    pub name: String,
    /// Parameters besides those of the design, `key=value`.
    pub settings: Vec<String>,
}

/// A point of a curve that a claim states.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointClaim {
    /// The claim.
    pub claim: String,
    /// The curve.
    pub design: String,
    /// What was run.
    pub benchmark: Benchmark,
    /// Where.
    pub lengths: Vec<usize>,
    /// The quantity of the claim.
    pub quantity: PointQuantity,
    /// On which side of it the curve should be.
    #[serde(default)]
    pub limit: Limit,
}

/// The quantity of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointQuantity {
    /// The time.
    Total,
    /// The time for each entry.
    Each,
    /// The time in cycles of the engine.
    Cycles,
    /// The time over that of a design.
    Times(String),
    /// The time of a design over the time.
    Under(String),
    /// The time beyond that of a design.
    Beyond(String),
    /// Nothing: the time is that of a design, or on one side of it.
    Like(String),
}

impl PointQuantity {
    /// The design that it compares with.
    #[must_use]
    pub fn other(&self) -> Option<&str> {
        match self {
            Self::Total | Self::Each | Self::Cycles => None,
            Self::Times(other) | Self::Under(other) | Self::Beyond(other) | Self::Like(other) => Some(other),
        }
    }
}

impl Figure {
    /// Whether `design` is drawn.
    #[must_use]
    pub fn shows(&self, design: &str) -> bool {
        self.designs.is_empty() || self.designs.iter().any(|shown| shown == design)
    }

    /// Whether the quantity is drawn.
    fn has(&self, quantity: PanelQuantity) -> bool {
        self.panels.is_empty() || self.panels.contains(&quantity)
    }
}

/// How a time was obtained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CurveTiming {
    /// No engine can be faster.
    Bound,
    /// Computed by a model.
    Simulated,
}

impl CurveTiming {
    /// The word in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Simulated => "simulated",
        }
    }
}

/// Something that the paper does not say, with every answer that is tried.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// What it is about.
    pub name: String,
    /// In one line.
    pub meaning: String,
    /// The designs that it matters to.
    pub designs: Vec<String>,
    /// The answer that counts, chosen before anything was measured.
    pub baseline: String,
    /// Why that one.
    pub why: String,
    /// Every answer.
    pub values: Vec<String>,
    /// The answer in the set that agrees best with the paper, found by trying all: calibrated.
    pub fitted: String,
}

/// An answer to each of a study's assumptions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AssumptionSet(BTreeMap<String, String>);

impl AssumptionSet {
    /// The answer to the assumption of this name; empty if there is no such.
    #[must_use]
    pub fn value(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The same with another answer.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.0.insert(name.to_owned(), value.to_owned());
        other
    }
}

/// Reads the study `text`, which errors call `name`.
///
/// # Errors
/// When it is not TOML or not what the module says; the first thing that is wrong.
pub fn read(name: &str, text: &str) -> Result<Study, StudyError> {
    let error = |what: String| StudyError { name: name.to_owned(), what };
    let study: Study = toml::from_str(text).map_err(|found| error(found.message().to_owned()))?;
    study.check().map_err(error)?;
    Ok(study)
}

impl Study {
    /// The answers that count.
    #[must_use]
    pub fn baseline(&self) -> AssumptionSet {
        AssumptionSet(self.assumptions.iter().map(|about| (about.name.clone(), about.baseline.clone())).collect())
    }

    /// The answers that agree best with the paper.
    #[must_use]
    pub fn fitted(&self) -> AssumptionSet {
        AssumptionSet(self.assumptions.iter().map(|about| (about.name.clone(), about.fitted.clone())).collect())
    }

    /// Every set of answers, that which counts first.
    #[must_use]
    pub fn sets(&self) -> Vec<AssumptionSet> {
        let mut sets = vec![AssumptionSet(BTreeMap::new())];
        for about in &self.assumptions {
            let others = about.values.iter().filter(|value| **value != about.baseline);
            let values: Vec<_> = std::iter::once(&about.baseline).chain(others).collect();
            sets = sets
                .iter()
                .flat_map(|set| values.iter().map(|value| set.with(&about.name, value)).collect::<Vec<_>>())
                .collect();
        }
        sets
    }

    /// `set` as `design` sees it: what does not matter to it is as in the base.
    #[must_use]
    pub fn seen_by(&self, design: &str, set: &AssumptionSet) -> AssumptionSet {
        let mut seen = set.clone();
        for about in self.assumptions.iter().filter(|about| !about.designs.iter().any(|known| known == design)) {
            seen = seen.with(&about.name, &about.baseline);
        }
        seen
    }

    /// The answers of `set` that are not those of the base, as `name value`; "baseline assumptions"
    /// if there are none.
    #[must_use]
    pub fn describe(&self, set: &AssumptionSet) -> String {
        let others: Vec<_> = self
            .assumptions
            .iter()
            .filter(|about| set.value(&about.name) != about.baseline)
            .map(|about| format!("{} {}", about.name, set.value(&about.name)))
            .collect();
        if others.is_empty() { "baseline assumptions".to_owned() } else { others.join(", ") }
    }

    fn check(&self) -> Result<(), String> {
        let designs: Vec<_> = self.designs.iter().map(|design| design.name.as_str()).collect();
        unique("design", &designs)?;
        unique("figure", &self.figures.iter().map(|figure| figure.name.as_str()).collect::<Vec<_>>())?;
        unique("assumption", &self.assumptions.iter().map(|about| about.name.as_str()).collect::<Vec<_>>())?;
        let known = |name: &str| designs.contains(&name);
        if !self.reference.is_empty() && !known(&self.reference) {
            return Err(format!("reference: found `{}`, expected a design of the study", self.reference));
        }
        for figure in &self.figures {
            let name = &figure.name;
            if let Some(unknown) = figure.designs.iter().find(|design| !known(design)) {
                return Err(format!("figure `{name}`: found `{unknown}`, expected a design of the study"));
            }
            let relative = self.panels.iter().any(|panel| panel.quantity == PanelQuantity::Relative);
            if relative
                && figure.has(PanelQuantity::Relative)
                && !(known(&self.reference) && figure.shows(&self.reference))
            {
                return Err(format!(
                    "figure `{name}`: found relative times without a reference, expected the reference among its designs"
                ));
            }
            let without = self.designs.iter().find(|design| figure.shows(&design.name) && design.engine.is_none());
            if let (false, Some(without)) = (figure.benchmarks.is_empty(), without) {
                return Err(format!("figure `{name}` runs `{}`, which has no engine", without.name));
            }
        }
        for point in &self.data_points {
            if let Some(unknown) =
                [Some(point.design.as_str()), point.quantity.other()].into_iter().flatten().find(|name| !known(name))
            {
                return Err(format!("data point `{}`: found `{unknown}`, expected a design of the study", point.claim));
            }
        }
        for about in &self.assumptions {
            let name = &about.name;
            unique(&format!("value of `{name}`"), &about.values.iter().map(String::as_str).collect::<Vec<_>>())?;
            if let Some(unknown) = about.designs.iter().find(|design| !designs.contains(&design.as_str())) {
                return Err(format!("assumption `{name}`: found `{unknown}`, expected a design of the study"));
            }
            for (field, value) in [("baseline", &about.baseline), ("fitted", &about.fitted)] {
                if !about.values.contains(value) {
                    return Err(format!("assumption `{name}`: {field} `{value}` is not one of its values"));
                }
            }
        }
        Ok(())
    }
}

fn unique(what: &str, names: &[&str]) -> Result<(), String> {
    let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    twice.map_or(Ok(()), |(_, name)| Err(format!("two of {what} are called `{name}`")))
}
