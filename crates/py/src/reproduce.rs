// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims of the papers with what the models gave, as columns named as in `docs/reproduce.md`.

use mb_reproduce::ledger::{self, LEDGER, LEDGER_NAME};
use mb_reproduce::{Bound, Finding, Point, Subject, UNIT};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;
use crate::errors::bad_input;

type Table<'py> = pyo3::Bound<'py, PyDict>;

/// Judges every claim of `paper`: tables of claims, of their readings and of the benchmark's points, and the engines used.
#[pyfunction]
pub(crate) fn reproduce<'py>(py: Python<'py>, paper: &str) -> PyResult<Table<'py>> {
    let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(bad_input)?;
    let subject = py.detach(Subject::s0).map_err(bad_input)?;
    let findings = py.detach(|| mb_reproduce::reproduce(&claims, paper, &subject)).map_err(bad_input)?;
    let all = PyDict::new(py);
    all.set_item("claims", claims_table(py, &findings)?)?;
    all.set_item("readings", readings_table(py, &findings)?)?;
    // What nobody measured on has neither points nor engines.
    let measured = findings.iter().any(|finding| !finding.readings.is_empty());
    let points = if measured { subject.points.as_slice() } else { &[] };
    let engines = if measured { vec![UNIT, Bound::Stated.spec(), Bound::Reported.spec()] } else { Vec::new() };
    all.set_item("points", points_table(py, points)?)?;
    all.set_item("clock_mhz", subject.clock.hertz() as f64 / 1e6)?;
    all.set_item("engines", engines)?;
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

fn points_table<'py>(py: Python<'py>, points: &[Point]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, points, |row| {
        "length" => row.unit.length,
        "percent" => row.unit.percent,
        "traversed" => row.unit.traversed,
        "unit_stream_cycles" => row.unit.streamed,
        "unit_alone_cycles" => row.unit.one_by_one,
        "unit_counted_cycles" => row.counted,
        "bound_stated_cycles" => row.stated,
        "bound_reported_cycles" => row.reported,
        "unit_words" => row.unit.words,
        "unit_stalls" => row.unit.stalls,
    });
    Ok(dict)
}
