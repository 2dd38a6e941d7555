// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A replay's report as columns: a dictionary of lists for each table, named as in
//! `spec/results.md`.

use mb_core::Picos;
use mb_measure::{ClosedLoopResult, MeasuredKind, MeasuredOn, host};
use mb_own::judged::Judgement;
use mb_replay::sizing::SizingRows;
use mb_replay::{DepthRow, LatencyBin, VisitsRow, WatchedRank};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{columns, record, table};
use crate::replay::Replayed;

/// Nanoseconds, as all result tables have them.
fn ns(time: Picos) -> f64 {
    time.as_ns()
}

/// The whole report.
pub(crate) fn to_python<'py>(py: Python<'py>, replayed: &Replayed) -> PyResult<Bound<'py, PyDict>> {
    let Replayed { report, measured, judgement } = replayed;
    let unfinished = PyDict::new(py);
    columns!(unfinished, report.unfinished, |row| {
        "rank" => row.rank,
        "record" => row.record,
        "since_ns" => ns(row.since),
        "waits" => row.waits.as_str(),
        "waits_for" => row.waits_for.clone(),
    });

    let all = PyDict::new(py);
    all.set_item("total", table(py, [&report.total])?)?;
    all.set_item("ranks", table(py, &report.ranks)?)?;
    let depths = report.depths.iter().map(|bin| {
        let &LatencyBin { from, to, matches, .. } = bin;
        DepthRow { depth_from: from, depth_to: to, matches, bin }
    });
    all.set_item("depths", table(py, depths)?)?;
    let visits = report.visits.iter().map(|bin| {
        let &LatencyBin { from, to, matches, .. } = bin;
        VisitsRow { visits_from: from, visits_to: to, matches, bin }
    });
    all.set_item("visits", table(py, visits)?)?;
    all.set_item("timeline", table(py, &report.timeline)?)?;
    all.set_item("watched", table(py, report.watched.iter().flat_map(WatchedRank::rows))?)?;
    all.set_item("unfinished", unfinished)?;
    all.set_item("cycle", &report.cycle)?;
    all.set_item("notes", &report.notes)?;
    let sizing = (!report.sizing.is_empty()).then(|| sizing(py, &SizingRows::new(&report.sizing))).transpose()?;
    all.set_item("sizing", sizing)?;
    all.set_item("judgement", judgement.as_ref().map(|(found, least)| judged(py, found, *least)).transpose()?)?;
    all.set_item("measured", measured.as_ref().map(|(found, core)| measurement(py, found, *core)).transpose()?)?;
    Ok(all)
}

/// What a user-defined engine did that no engine can do.
fn judged<'py>(py: Python<'py>, found: &Judgement, least: Picos) -> PyResult<Bound<'py, PyDict>> {
    let (depth_sum, depth_max) = found.unvisited_depth;
    let mean = (found.unvisited > 0).then(|| depth_sum as f64 / found.unvisited as f64);
    let dict = PyDict::new(py);
    dict.set_item("matches", found.matches)?;
    dict.set_item("unvisited", found.unvisited)?;
    dict.set_item("unvisited_depth_mean", mean)?;
    dict.set_item("unvisited_depth_max", depth_max)?;
    dict.set_item("too_fast", found.too_fast)?;
    dict.set_item("fastest_ns", found.fastest.map(ns))?;
    dict.set_item("least_ns", ns(least))?;
    Ok(dict)
}

/// What was measured for a replay: on what, and a row for all operations and for each kind that occurred.
fn measurement<'py>(
    py: Python<'py>,
    found: &ClosedLoopResult<()>,
    core: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let measurement = &found.measurement;
    let on = MeasuredOn {
        host: host::cpu(),
        core,
        clock: measurement.clock.clone(),
        reading: measurement.timestamp,
        repetitions: measurement.repetitions,
        same_order: found.same_order,
    };
    let all = record(py, &on)?;
    all.set_item("kinds", table(py, MeasuredKind::rows(found))?)?;
    Ok(all)
}

/// The tables of entries counted.
fn sizing<'py>(py: Python<'py>, rows: &SizingRows) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("curves", table(py, &rows.curves)?)?;
    all.set_item("needs", table(py, &rows.needs)?)?;
    all.set_item("buckets", table(py, &rows.buckets)?)?;
    Ok(all)
}
