// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims of the papers with what the models gave, as columns named as in `docs/reproduce.md`.

use mb_reproduce::area::{DesignArea, StorageKind};
use mb_reproduce::benchmarks::Benchmark;
use mb_reproduce::chart::Chart;
use mb_reproduce::contradictions::ContradictionResult;
use mb_reproduce::curve::{Curve, DataPoint};
use mb_reproduce::figures::{Agreement, AssumptionValue, CurveParameter};
use mb_reproduce::ledger::{Claim, Evidence};
use mb_reproduce::{Finding, REGISTRY};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;
use crate::errors::bad_input;

type Table<'py> = Bound<'py, PyDict>;

/// Citation key and alias of every paper.
#[pyfunction]
pub(crate) fn papers() -> Vec<(&'static str, &'static str)> {
    REGISTRY.keys().collect()
}

/// Every claim of `paper`, a key or an alias: its id, and the systems that it is about.
#[pyfunction]
pub(crate) fn claims_of(paper: &str) -> PyResult<Vec<(String, Vec<String>)>> {
    let claims = mb_reproduce::claims().map_err(bad_input)?;
    let key = REGISTRY.find(paper).map_err(bad_input)?.key();
    let own = claims.into_iter().filter(|claim| claim.paper == key);
    Ok(own.map(|claim| (claim.id, claim.systems)).collect())
}

/// Judges every claim of `paper`, a key or an alias: tables of claims, of their interpretations and
/// of what figures are drawn from, and the engines used. With `jobs`, what only figures show is run
/// too, that many runs at a time.
#[pyfunction]
#[pyo3(signature = (paper, *, jobs = None))]
pub(crate) fn reproduce<'py>(py: Python<'py>, paper: &str, jobs: Option<usize>) -> PyResult<Table<'py>> {
    let claims = mb_reproduce::claims().map_err(bad_input)?;
    let paper = REGISTRY.find(paper).map_err(bad_input)?;
    let found = py.detach(|| paper.reproduce(&claims, jobs)).map_err(bad_input)?;
    let all = PyDict::new(py);
    all.set_item("claims", claims_table(py, &found.findings)?)?;
    all.set_item("interpretations", interpretations_table(py, &found.findings)?)?;
    all.set_item("contradictions", contradictions_table(py, &found.contradictions)?)?;
    all.set_item("engines", found.engines)?;
    all.set_item("study", found.figures.as_ref().map(|figures| figures.study))?;
    let figures = found.figures.unwrap_or_default();
    all.set_item("curves", curves_table(py, &figures.curves)?)?;
    all.set_item("data_points", data_points_table(py, &figures.data_points, &claims)?)?;
    all.set_item("charts", charts_table(py, &figures.charts)?)?;
    all.set_item("anchors", anchors_table(py, &figures.charts, &claims)?)?;
    all.set_item("agreements", agreements_table(py, &figures.agreements)?)?;
    all.set_item("assumption_values", assumption_values_table(py, &figures.assumption_values)?)?;
    all.set_item("areas", areas_table(py, &figures.areas)?)?;
    all.set_item("storage", storage_table(py, &figures.areas)?)?;
    all.set_item("parameters", parameters_table(py, &figures.parameters)?)?;
    Ok(all)
}

fn claims_table<'py>(py: Python<'py>, findings: &[Finding<'_>]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, findings, |row| {
        "id" => row.claim.id.as_str(),
        "paper" => row.claim.paper.as_str(),
        "place" => row.claim.place.as_str(),
        "systems" => row.claim.systems.join(", "),
        "statement" => row.claim.statement.as_str(),
        "quantity" => row.claim.quantity.as_str(),
        "conditions" => row.claim.conditions.as_str(),
        "kind" => row.claim.kind.as_str(),
        "origin" => row.claim.origin.as_str(),
        "precision" => row.claim.precision.as_str(),
        "published" => row.claim.value.to_string(),
        "measured" => row.interpretations.first().map(|first| first.interpretation.measured.to_string()),
        "unit" => row.claim.unit.as_str(),
        "relative_error" => row.interpretations.first().and_then(|first| first.error),
        "verdict" => row.verdict.as_str(),
        "evidence" => row.evidence().map(|evidence| evidence.kind().as_str()),
        "evidence_reason" => row.evidence().map(Evidence::reason),
        "reason" => row.reason.as_str(),
        "unexplained" => row.unexplained(),
        "holds_otherwise" => row.holds_otherwise(),
        "holds_calibrated" => row.holds_calibrated(),
    });
    Ok(dict)
}

fn interpretations_table<'py>(py: Python<'py>, findings: &[Finding<'_>]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = findings
        .iter()
        .flat_map(|finding| finding.interpretations.iter().enumerate().map(move |(place, row)| (finding, place, row)))
        .collect();
    columns!(dict, rows, |row| {
        "id" => row.0.claim.id.as_str(),
        "interpretation" => row.2.interpretation.name.as_ref(),
        "counts" => row.0.counts(row.1),
        "calibrated" => row.2.interpretation.calibrated,
        "measured" => row.2.interpretation.measured.to_string(),
        "measured_value" => row.2.interpretation.measured.as_number(),
        "relative_error" => row.2.error,
        "verdict" => row.2.verdict.as_str(),
    });
    Ok(dict)
}

fn contradictions_table<'py>(py: Python<'py>, contradicted: &[ContradictionResult]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let interpretation = |row: &ContradictionResult, place: usize| {
        row.interpretations.get(place).map(|found| (found.name.to_string(), found.measured.to_string()))
    };
    columns!(dict, contradicted, |row| {
        "number" => row.number,
        "place" => row.place,
        "first" => row.says[0],
        "second" => row.says[1],
        "first_interpretation" => interpretation(row, 0).map(|(name, _)| name),
        "first_measured" => interpretation(row, 0).map(|(_, measured)| measured),
        "second_interpretation" => interpretation(row, 1).map(|(name, _)| name),
        "second_measured" => interpretation(row, 1).map(|(_, measured)| measured),
        "counts" => row.counts.as_str(),
    });
    Ok(dict)
}

fn curves_table<'py>(py: Python<'py>, curves: &[Curve]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point))).collect();
    columns!(dict, rows, |row| {
        "design" => row.0.design.as_str(),
        "benchmark" => row.0.benchmark.as_str(),
        "variant" => row.0.variant.as_str(),
        "counts" => row.0.counts,
        "calibrated" => row.0.calibrated,
        "length" => row.1.length,
        "percent" => row.1.percent,
        "traversed" => row.1.traversed,
        "time_ns" => row.1.time.as_ns(),
    });
    Ok(dict)
}

fn data_points_table<'py>(py: Python<'py>, points: &[DataPoint], claims: &[Claim]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let origin =
        |point: &DataPoint| claims.iter().find(|claim| claim.id == point.claim).map(|claim| claim.origin.as_str());
    columns!(dict, points, |row| {
        "id" => row.claim.as_str(),
        "origin" => origin(row),
        "design" => row.design.as_str(),
        "benchmark" => row.benchmark.as_str(),
        "length" => row.length,
        "percent" => row.percent,
        "low_ns" => row.low,
        "time_ns" => row.value,
        "high_ns" => row.high,
        "limit" => row.limit.as_str(),
    });
    Ok(dict)
}

fn charts_table<'py>(py: Python<'py>, charts: &[Chart]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = charts
        .iter()
        .flat_map(|chart| chart.series.iter().map(move |series| (chart, series)))
        .flat_map(|(chart, series)| series.points.iter().map(move |point| (chart, series, point)))
        .collect();
    columns!(dict, rows, |row| {
        "chart" => row.0.name,
        "title" => row.0.title.as_str(),
        "form" => row.0.form.as_str(),
        "x_label" => row.0.x,
        "y_label" => row.0.y,
        "series" => row.1.name.as_str(),
        "counts" => row.1.counts,
        "level" => row.1.level,
        "x" => row.2.x,
        "position" => row.0.positions.get(row.2.x as usize).map(String::as_str),
        "y" => row.2.y,
        "low" => row.2.range.map(|range| range.0),
        "high" => row.2.range.map(|range| range.1),
    });
    Ok(dict)
}

fn anchors_table<'py>(py: Python<'py>, charts: &[Chart], claims: &[Claim]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> =
        charts.iter().flat_map(|chart| chart.anchors.iter().map(move |anchor| (chart, anchor))).collect();
    let origin = |id: &str| claims.iter().find(|claim| claim.id == id).map(|claim| claim.origin.as_str());
    columns!(dict, rows, |row| {
        "chart" => row.0.name,
        "id" => row.1.claim,
        "origin" => origin(row.1.claim),
        "series" => row.1.series.as_str(),
        "x" => row.1.x,
        "value" => row.1.value,
        "ratio" => row.1.is_ratio,
        "limit" => row.1.limit.as_str(),
    });
    Ok(dict)
}

fn agreements_table<'py>(py: Python<'py>, agreements: &[Agreement]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, agreements, |row| {
        "assumptions" => row.described.as_str(),
        "baseline" => row.baseline,
        "fitted" => row.fitted,
        "holds" => row.holds.len(),
        "near" => row.near.len(),
        "differs" => row.differs.len(),
        "held" => row.holds.join(", "),
    });
    Ok(dict)
}

fn assumption_values_table<'py>(py: Python<'py>, values: &[AssumptionValue]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, values, |row| {
        "assumption" => row.assumption.as_str(),
        "value" => row.value.as_str(),
        "baseline" => row.baseline,
        "fitted" => row.fitted,
        "holds_fewest" => row.holds.0,
        "holds_mean" => row.holds.1,
        "holds_most" => row.holds.2,
    });
    Ok(dict)
}

fn areas_table<'py>(py: Python<'py>, areas: &[DesignArea]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = areas.iter().flat_map(|design| design.rates.iter().map(move |rate| (design, rate))).collect();
    columns!(dict, rows, |row| {
        "design" => row.0.design,
        "cores" => row.0.cores,
        "estimated_mm2" => row.0.estimated_mm2,
        "published_mm2" => row.0.published_mm2,
        "traversed" => row.1.0,
        "matches_per_us" => row.1.1,
        "per_estimated_mm2" => row.1.1 / row.0.estimated_mm2,
        "per_published_mm2" => row.0.published_mm2.map(|area| row.1.1 / area),
    });
    Ok(dict)
}

fn storage_table<'py>(py: Python<'py>, areas: &[DesignArea]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = areas.iter().flat_map(|design| design.storage.iter().map(move |part| (design, part))).collect();
    columns!(dict, rows, |row| {
        "design" => row.0.design,
        "part" => row.1.name,
        "entries" => row.1.entries,
        "bits" => row.1.bits,
        "ports" => match row.1.kind {
            StorageKind::Memory => None,
            StorageKind::Registers { ports } => Some(ports),
        },
        "mm2" => row.1.mm2(),
    });
    Ok(dict)
}

fn parameters_table<'py>(py: Python<'py>, parameters: &[CurveParameter]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, parameters, |row| {
        "engine" => row.design.as_str(),
        "parameter" => row.name.as_str(),
        "value" => row.value.as_str(),
        "unit" => row.unit,
        "source" => row.source.kind(),
        "detail" => row.source.detail(),
    });
    Ok(dict)
}

/// A description of a benchmark of the table of curves.
#[pyfunction]
pub(crate) fn describe_benchmark(key: &str) -> PyResult<String> {
    let known = Benchmark::find(key).ok_or_else(|| bad_input(format!("unknown benchmark `{key}`")))?;
    Ok(known.describe())
}

/// The text of a study, `study.toml`; it has been read strictly.
#[pyfunction]
pub(crate) fn study_text(name: &str) -> PyResult<&'static str> {
    Ok(REGISTRY.study(name).map_err(bad_input)?.0.text)
}
