// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A replay's report as columns: a dictionary of lists for each table, named as in
//! `spec/results.md`.

use mb_core::Picos;
use mb_measure::{ClosedLoopResult, OperationKind, host};
use mb_own::judged::Judgement;
use mb_replay::{LatencyBin, Totals};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;
use crate::replay::Replayed;
use crate::sizing;

/// Nanoseconds, as all result tables have them.
fn ns(time: Picos) -> f64 {
    time.as_ns()
}

fn totals<'py>(py: Python<'py>, rows: &[&Totals]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    columns!(dict, rows, |row| {
        "time_ns" => ns(row.time),
        "compute_ns" => ns(row.compute),
        "in_mpi_ns" => ns(row.in_mpi),
        "blocked_on_matching_ns" => ns(row.blocked_on_matching),
        "match_latency_mean_ns" => latency(row, |row| row.match_latency.mean()),
        "match_latency_median_ns" => latency(row, |row| row.match_latency.quantile(0.5)),
        "match_latency_p99_ns" => latency(row, |row| row.match_latency.quantile(0.99)),
        "match_latency_p999_ns" => latency(row, |row| row.match_latency.quantile(0.999)),
        "match_latency_max_ns" => latency(row, |row| row.match_latency.max()),
        "match_search_mean_ns" => part(row, row.match_search()),
        "match_waiting_mean_ns" => part(row, row.match_waiting),
        "match_refused_mean_ns" => part(row, row.match_refused),
        "match_beyond_mean_ns" => part(row, row.match_beyond),
        "matches" => row.match_latency.count(),
        "probe_search_ns" => ns(row.probe_search),
        "polls_waiting" => row.polls_waiting,
        "polls_recorded" => row.polls_recorded,
        "searches" => row.searches,
        "visits" => row.visits,
        "visits_mean" => (row.searches > 0).then(|| row.visits as f64 / row.searches as f64),
        "visits_max" => row.visits_max,
        "posted_max" => row.posted_max,
        "unexpected_max" => row.unexpected_max,
        "operations" => row.operations,
        "posted_overflows" => row.capacity.posted_overflows,
        "unexpected_overflows" => row.capacity.unexpected_overflows,
        "spilled" => row.capacity.spilled,
        "refused" => row.refused,
        "busy_answers" => row.busy_answers,
        "engine_busy_ns" => ns(row.engine_busy),
        "sent" => row.sent,
        "sent_bytes" => row.sent_bytes,
        "sent_user" => row.sent_user,
        "received" => row.received,
        "never_received" => row.never_received,
        "never_matched" => row.never_matched,
        "unexpected" => row.unexpected,
        "unexpected_user" => row.unexpected_user,
        "cancelled" => row.cancelled,
        "truncated" => row.truncated,
        "held_messages" => row.held_messages,
        "held_ns" => ns(row.held),
        "diverged" => row.diverged,
        "probes_diverged" => row.probes_diverged,
        "collectives_expanded" => row.collectives,
        "collectives_skipped" => row.collectives_skipped,
        "partitioned" => row.partitioned,
        "skipped_bytes" => row.skipped_bytes,
        "skipped_ns" => ns(row.skipped),
    });
    Ok(dict)
}

/// A latency, or nothing when there was no match.
fn latency(row: &Totals, of: impl Fn(&Totals) -> Picos) -> Option<f64> {
    (row.match_latency.count() > 0).then(|| ns(of(row)))
}

/// The mean of a part of the latency, ns; nothing when there was no match.
fn part(row: &Totals, sum: Picos) -> Option<f64> {
    let matches = row.match_latency.count();
    (matches > 0).then(|| ns(sum) / matches as f64)
}

/// Match latencies by a number of entries, without the columns of that number.
fn latencies<'py>(py: Python<'py>, bins: &[LatencyBin]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    columns!(dict, bins, |bin| {
        "matches" => bin.matches,
        "match_latency_mean_ns" => (bin.matches > 0).then(|| ns(bin.latency.sum()) / bin.matches as f64),
        "match_latency_median_ns" => (bin.matches > 0).then(|| ns(bin.latency.quantile(0.5))),
        "match_latency_p99_ns" => (bin.matches > 0).then(|| ns(bin.latency.quantile(0.99))),
        "match_latency_p999_ns" => (bin.matches > 0).then(|| ns(bin.latency.quantile(0.999))),
        "match_latency_max_ns" => (bin.matches > 0).then(|| ns(bin.latency.max())),
    });
    Ok(dict)
}

/// The whole report.
pub(crate) fn to_python<'py>(py: Python<'py>, replayed: &Replayed) -> PyResult<Bound<'py, PyDict>> {
    let Replayed { report, measured, judgement } = replayed;
    let ranks = totals(py, &report.ranks.iter().map(|rank| &rank.totals).collect::<Vec<_>>())?;
    columns!(ranks, report.ranks, |row| { "rank" => row.rank });

    let depths = latencies(py, &report.depths)?;
    columns!(depths, report.depths, |bin| { "depth_from" => bin.from, "depth_to" => bin.to });
    let visits = latencies(py, &report.visits)?;
    columns!(visits, report.visits, |bin| { "visits_from" => bin.from, "visits_to" => bin.to });

    let timeline = PyDict::new(py);
    columns!(timeline, report.timeline, |bin| {
        "from_ns" => ns(bin.from),
        "posted_max" => bin.posted_max,
        "unexpected_max" => bin.unexpected_max,
        "operations" => bin.operations,
    });

    let watched = PyDict::new(py);
    let bins = report.watched.iter().flat_map(|of| of.timeline.iter().map(move |bin| (of.rank, bin)));
    let bins = bins.collect::<Vec<_>>();
    columns!(watched, bins, |row| {
        "rank" => row.0,
        "from_ns" => ns(row.1.from),
        "posted_max" => row.1.posted_max,
        "unexpected_max" => row.1.unexpected_max,
        "operations" => row.1.operations,
    });

    let unfinished = PyDict::new(py);
    columns!(unfinished, report.unfinished, |row| {
        "rank" => row.rank,
        "record" => row.record,
        "since_ns" => ns(row.since),
        "waits" => row.waits.as_str(),
        "waits_for" => row.waits_for.clone(),
    });

    let all = PyDict::new(py);
    all.set_item("total", totals(py, &[&report.total])?)?;
    all.set_item("ranks", ranks)?;
    all.set_item("depths", depths)?;
    all.set_item("visits", visits)?;
    all.set_item("timeline", timeline)?;
    all.set_item("watched", watched)?;
    all.set_item("unfinished", unfinished)?;
    all.set_item("cycle", &report.cycle)?;
    all.set_item("notes", &report.notes)?;
    let sizing = if report.sizing.is_empty() { None } else { Some(sizing::to_python(py, &report.sizing)?) };
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

/// What was measured for a replay: on what, how, and a row for all operations and for each kind
/// that occurred.
fn measurement<'py>(
    py: Python<'py>,
    found: &ClosedLoopResult<()>,
    core: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let measurement = &found.measurement;
    let kinds = OperationKind::ALL.iter().map(|kind| kind.as_str()).zip(measurement.kinds);
    let rows: Vec<_> =
        [("all", measurement.all())].into_iter().chain(kinds).filter(|(_, times)| times.operations > 0).collect();
    let each = |sum: Picos, operations| ns(sum) / operations as f64;
    let dict = PyDict::new(py);
    columns!(dict, rows, |row| {
        "kind" => row.0,
        "operations" => row.1.operations,
        "operation_ns" => each(row.1.time, row.1.operations),
        "operation_low_ns" => each(row.1.low, row.1.operations),
        "operation_high_ns" => each(row.1.high, row.1.operations),
    });
    let all = PyDict::new(py);
    all.set_item("host", host::cpu())?;
    all.set_item("core", core)?;
    all.set_item("clock", &measurement.clock)?;
    all.set_item("reading_ns", ns(measurement.timestamp))?;
    all.set_item("repetitions", measurement.repetitions)?;
    all.set_item("same_order", found.same_order)?;
    all.set_item("kinds", dict)?;
    Ok(all)
}
