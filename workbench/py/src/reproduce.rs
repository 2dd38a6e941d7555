// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims of the papers with what the models gave, as columns named as in `docs/reproduce.md`.

use mb_reproduce::area::Kind;
use mb_reproduce::benchmarks::Benchmark;
use mb_reproduce::contradictions::{Contradicted, contradictions};
use mb_reproduce::curve::{Anchor, Curve};
use mb_reproduce::ledger::{self, Claim, LEDGER, LEDGER_NAME};
use mb_reproduce::study;
use mb_reproduce::{Agreement, Answer, Bound, Finding, Parameter, STUDY, Silicon, Subject, UNIT};
use mb_reproduce::{tanabe2013, xiong2018};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;
use crate::errors::bad_input;

type Table<'py> = pyo3::Bound<'py, PyDict>;

/// Judges every claim of `paper`: tables of claims, of their readings and of what figures are drawn from, and the engines
/// used. With `jobs`, every set of assumptions is run, that many at a time.
#[pyfunction]
#[pyo3(signature = (paper, *, jobs = None))]
pub(crate) fn reproduce<'py>(py: Python<'py>, paper: &str, jobs: Option<usize>) -> PyResult<Table<'py>> {
    let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(bad_input)?;
    let all = PyDict::new(py);
    let mut figures = None;
    let mut band = None;
    let mut contradicted = Vec::new();
    // Each paper has its own subject; what nobody measured on has no engines.
    let (findings, engines) = match paper {
        "hemmert2007" => {
            let subject = py.detach(Subject::hemmert2007).map_err(bad_input)?;
            figures = Some(mb_reproduce::figures(&claims, &subject).map_err(bad_input)?);
            if let Some(jobs) = jobs {
                let study = study::find(STUDY).map_err(bad_input)?;
                let all = py.detach(|| mb_reproduce::band(&claims, &study, &subject, jobs)).map_err(bad_input)?;
                band = Some(all);
            }
            let findings = py.detach(|| mb_reproduce::reproduce(&claims, paper, &subject));
            (findings, vec![UNIT, Bound::Stated.spec(), Bound::Reported.spec()])
        }
        "tanabe2013" => {
            let designs = py.detach(tanabe2013::Designs::published).map_err(bad_input)?;
            contradicted = py.detach(|| contradictions(&designs)).map_err(bad_input)?;
            (py.detach(|| mb_reproduce::reproduce(&claims, paper, &designs)), tanabe2013::Designs::SPECS.to_vec())
        }
        "xiong2018" => {
            let designs = py.detach(xiong2018::Designs::published).map_err(bad_input)?;
            contradicted = py.detach(|| contradictions(&designs)).map_err(bad_input)?;
            (py.detach(|| mb_reproduce::reproduce(&claims, paper, &designs)), xiong2018::Designs::SPECS.to_vec())
        }
        _ => (mb_reproduce::reproduce(&claims, paper, &()), Vec::new()),
    };
    let findings = findings.map_err(bad_input)?;
    let mut engines: Vec<_> = engines.into_iter().map(str::to_owned).collect();
    if let (None, Some(jobs)) = (&figures, jobs) {
        figures = py.detach(|| mb_reproduce::depth_figures(&claims, paper, jobs)).map_err(bad_input)?;
        for engine in figures.as_ref().map_or(Ok(Vec::new()), |figures| drawn(figures.study))? {
            if !engines.contains(&engine) {
                engines.push(engine);
            }
        }
    }
    all.set_item("claims", claims_table(py, &findings)?)?;
    all.set_item("readings", readings_table(py, &findings)?)?;
    all.set_item("contradictions", contradictions_table(py, &contradicted)?)?;
    all.set_item("engines", engines)?;
    all.set_item("study", figures.as_ref().map(|figures| figures.study))?;
    let figures = figures.unwrap_or_default();
    let band = band.unwrap_or_default();
    let mut curves = figures.curves;
    // What every set shows includes what the subject showed.
    curves.retain(|curve| !band.curves.iter().any(|other| other.is(curve)));
    curves.extend(band.curves);
    all.set_item("curves", curves_table(py, &curves)?)?;
    all.set_item("anchors", anchors_table(py, &figures.anchors, &claims)?)?;
    all.set_item("agreements", agreements_table(py, &band.agreements)?)?;
    all.set_item("answers", answers_table(py, &band.answers)?)?;
    all.set_item("areas", areas_table(py, &figures.silicon)?)?;
    all.set_item("storage", storage_table(py, &figures.silicon)?)?;
    all.set_item("parameters", parameters_table(py, &figures.parameters)?)?;
    Ok(all)
}

/// Engine and preset of each design of a study, as far as it has one.
fn drawn(study: &str) -> PyResult<Vec<String>> {
    let designs = study::find(study).map_err(bad_input)?.designs;
    let choices = designs.iter().map(|design| mb_reproduce::depth::choice(design, &[]).map_err(bad_input));
    Ok(choices.collect::<PyResult<Vec<_>>>()?.into_iter().flatten().map(|choice| choice.spec()).collect())
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
        .flat_map(|finding| finding.readings.iter().enumerate().map(move |(place, row)| (finding, place, row)))
        .collect();
    columns!(dict, rows, |row| {
        "id" => row.0.claim.id.as_str(),
        "reading" => row.2.reading.name.as_ref(),
        "counts" => row.0.counts(row.1),
        "calibrated" => row.2.reading.calibrated,
        "ours" => row.2.reading.measured.to_string(),
        "ours_value" => row.2.reading.measured.as_number(),
        "relative_error" => row.2.error,
        "verdict" => row.2.verdict.as_str(),
    });
    Ok(dict)
}

fn contradictions_table<'py>(py: Python<'py>, contradicted: &[Contradicted]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let reading = |row: &Contradicted, place: usize| {
        row.readings.get(place).map(|reading| (reading.name.to_string(), reading.measured.to_string()))
    };
    columns!(dict, contradicted, |row| {
        "number" => row.number,
        "place" => row.place,
        "one" => row.says[0],
        "other" => row.says[1],
        "one_read" => reading(row, 0).map(|(name, _)| name),
        "one_ours" => reading(row, 0).map(|(_, ours)| ours),
        "other_read" => reading(row, 1).map(|(name, _)| name),
        "other_ours" => reading(row, 1).map(|(_, ours)| ours),
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

fn anchors_table<'py>(py: Python<'py>, anchors: &[Anchor], claims: &[Claim]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let origin =
        |anchor: &Anchor| claims.iter().find(|claim| claim.id == anchor.claim).map(|claim| claim.origin.as_str());
    columns!(dict, anchors, |row| {
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

fn agreements_table<'py>(py: Python<'py>, agreements: &[Agreement]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, agreements, |row| {
        "assumptions" => row.described.as_str(),
        "base" => row.base,
        "fitted" => row.fitted,
        "holds" => row.holds.len(),
        "near" => row.near.len(),
        "differs" => row.differs.len(),
        "held" => row.holds.join(", "),
    });
    Ok(dict)
}

fn answers_table<'py>(py: Python<'py>, answers: &[Answer]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    columns!(dict, answers, |row| {
        "assumption" => row.assumption.as_str(),
        "answer" => row.answer.as_str(),
        "base" => row.base,
        "fitted" => row.fitted,
        "holds_fewest" => row.holds.0,
        "holds_mean" => row.holds.1,
        "holds_most" => row.holds.2,
    });
    Ok(dict)
}

fn areas_table<'py>(py: Python<'py>, silicon: &[Silicon]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> = silicon.iter().flat_map(|design| design.rates.iter().map(move |rate| (design, rate))).collect();
    columns!(dict, rows, |row| {
        "design" => row.0.design,
        "cores" => row.0.cores,
        "ours_mm2" => row.0.ours_mm2,
        "paper_mm2" => row.0.paper_mm2,
        "traversed" => row.1.0,
        "matches_per_us" => row.1.1,
        "per_ours_mm2" => row.1.1 / row.0.ours_mm2,
        "per_paper_mm2" => row.0.paper_mm2.map(|area| row.1.1 / area),
    });
    Ok(dict)
}

fn storage_table<'py>(py: Python<'py>, silicon: &[Silicon]) -> PyResult<Table<'py>> {
    let dict = PyDict::new(py);
    let rows: Vec<_> =
        silicon.iter().flat_map(|design| design.storage.iter().map(move |part| (design, part))).collect();
    columns!(dict, rows, |row| {
        "design" => row.0.design,
        "part" => row.1.name,
        "entries" => row.1.entries,
        "bits" => row.1.bits,
        "ports" => match row.1.kind {
            Kind::Memory => None,
            Kind::Registers { ports } => Some(ports),
        },
        "mm2" => row.1.mm2(),
    });
    Ok(dict)
}

fn parameters_table<'py>(py: Python<'py>, parameters: &[Parameter]) -> PyResult<Table<'py>> {
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

/// What a benchmark of the table of curves measures, in words.
#[pyfunction]
pub(crate) fn describe_benchmark(key: &str) -> PyResult<String> {
    let known = Benchmark::find(key).ok_or_else(|| bad_input(format!("no benchmark `{key}`")))?;
    Ok(known.describe())
}

/// The text of a study, `study.toml`; it has been read strictly.
#[pyfunction]
pub(crate) fn study_text(name: &str) -> PyResult<&'static str> {
    study::find(name).map_err(bad_input)?;
    Ok(study::STUDIES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text).unwrap_or_default())
}
