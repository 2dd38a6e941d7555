// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims of the papers with what the models gave, as columns named as in `docs/reproduce.md`.

use mb_reproduce::curve::{Anchor, Curve};
use mb_reproduce::ledger::{self, LEDGER, LEDGER_NAME};
use mb_reproduce::study;
use mb_reproduce::{Bound, Finding, Subject, UNIT};
use mb_reproduce::{s1, s2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;
use crate::errors::bad_input;

type Table<'py> = pyo3::Bound<'py, PyDict>;

/// Judges every claim of `paper`: tables of claims, of their readings and of the benchmark's points, and the engines used.
#[pyfunction]
pub(crate) fn reproduce<'py>(py: Python<'py>, paper: &str) -> PyResult<Table<'py>> {
    let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(bad_input)?;
    let all = PyDict::new(py);
    let mut figures = None;
    let mut clock_mhz = None;
    // Each paper has its own subject; what nobody measured on has no engines.
    let (findings, engines) = match paper {
        "s0" => {
            let subject = py.detach(Subject::s0).map_err(bad_input)?;
            figures = mb_reproduce::figures(&claims, paper, &subject).map_err(bad_input)?;
            clock_mhz = Some(subject.clock.hertz() as f64 / 1e6);
            let findings = py.detach(|| mb_reproduce::reproduce(&claims, paper, &subject));
            (findings, vec![UNIT, Bound::Stated.spec(), Bound::Reported.spec()])
        }
        "s1" => {
            let designs = py.detach(s1::Designs::published).map_err(bad_input)?;
            (py.detach(|| mb_reproduce::reproduce(&claims, paper, &designs)), s1::Designs::SPECS.to_vec())
        }
        "s2" => {
            let designs = py.detach(s2::Designs::published).map_err(bad_input)?;
            (py.detach(|| mb_reproduce::reproduce(&claims, paper, &designs)), s2::Designs::SPECS.to_vec())
        }
        _ => (mb_reproduce::reproduce(&claims, paper, &()), Vec::new()),
    };
    let findings = findings.map_err(bad_input)?;
    all.set_item("claims", claims_table(py, &findings)?)?;
    all.set_item("readings", readings_table(py, &findings)?)?;
    all.set_item("engines", engines)?;
    all.set_item("study", figures.as_ref().map(|figures| figures.study))?;
    let (curves, anchors) = figures.map(|figures| (figures.curves, figures.anchors)).unwrap_or_default();
    all.set_item("curves", curves_table(py, &curves)?)?;
    all.set_item("anchors", anchors_table(py, &anchors)?)?;
    all.set_item("clock_mhz", clock_mhz)?;
    Ok(all)
}

fn claims_table<'py>(py: Python<'py>, findings: &[Finding<'_>]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, findings, |row| {
        "id" => row.claim.id.as_str(),
        "seed" => row.claim.seed.as_str(),
        "place" => row.claim.place.as_str(),
        "systems" => row.claim.systems.join(", "),
        "statement" => row.claim.statement.as_str(),
        "quantity" => row.claim.quantity.as_str(),
        "conditions" => row.claim.conditions.as_str(),
        "kind" => row.claim.kind.as_str(),
        "origin" => row.claim.origin.as_str(),
        "precision" => row.claim.precision.as_str(),
        "theirs" => row.claim.value.to_string(),
        "ours" => row.readings.first().map(|first| first.reading.measured.to_string()),
        "unit" => row.claim.unit.as_str(),
        "relative_error" => row.readings.first().and_then(|first| first.error),
        "verdict" => row.verdict.as_str(),
        "reason" => row.reason.as_str(),
        "unexplained" => row.unexplained(),
        "holds_otherwise" => row.holds_otherwise(),
        "holds_calibrated" => row.holds_calibrated(),
    });
    Ok(dict)
}

fn readings_table<'py>(py: Python<'py>, findings: &[Finding<'_>]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = findings
        .iter()
        .flat_map(|finding| finding.readings.iter().enumerate().map(move |(place, row)| (finding.claim, place, row)))
        .collect();
    columns!(dict, rows, |row| {
        "id" => row.0.id.as_str(),
        "reading" => row.2.reading.name,
        "counts" => row.1 == 0,
        "calibrated" => row.2.reading.calibrated,
        "ours" => row.2.reading.measured.to_string(),
        "ours_value" => row.2.reading.measured.as_number(),
        "relative_error" => row.2.error,
        "verdict" => row.2.verdict.as_str(),
    });
    Ok(dict)
}

fn curves_table<'py>(py: Python<'py>, curves: &[Curve]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point))).collect();
    columns!(dict, rows, |row| {
        "design" => row.0.design,
        "variant" => row.0.variant.as_str(),
        "counts" => row.0.counts,
        "calibrated" => row.0.calibrated,
        "length" => row.1.length,
        "percent" => row.1.percent,
        "traversed" => row.1.traversed,
        "cycles" => row.1.cycles,
    });
    Ok(dict)
}

fn anchors_table<'py>(py: Python<'py>, anchors: &[Anchor]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, anchors, |row| {
        "id" => row.claim,
        "design" => row.design,
        "length" => row.length,
        "percent" => row.percent,
        "low_cycles" => row.low,
        "cycles" => row.value,
        "high_cycles" => row.high,
        "limit" => row.limit.as_str(),
    });
    Ok(dict)
}

/// The text of a study, `study.toml`; it has been read strictly.
#[pyfunction]
pub(crate) fn study_text(name: &str) -> PyResult<&'static str> {
    study::find(name).map_err(bad_input)?;
    Ok(study::STUDIES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text).unwrap_or_default())
}
