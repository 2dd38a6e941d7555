// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Curves and needs of a replay's sizing for Python. The names are those of `docs/sizing.md`.

use mb_core::{Holds, Picos};
use mb_replay::Sizing;
use mb_replay::sizing::{BucketCurves, QueueCurves, Queues, WeightedCounts};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;

/// Shares that the needs cover.
const SHARES: [(u64, u64); 5] = [(1, 2), (9, 10), (99, 100), (999, 1000), (1, 1)];

/// `measure` at `entries`, up to the next row of the same curve.
struct Point {
    rank: Option<u32>,
    queue: &'static str,
    measure: &'static str,
    entries: usize,
    value: u64,
}

/// Entries that cover [`SHARES`] of `of`.
struct Need {
    rank: Option<u32>,
    communicator: Option<u32>,
    queue: &'static str,
    of: &'static str,
    total: u64,
    covers: [usize; SHARES.len()],
}

/// A queue in buckets, over all ranks.
struct Divided<'a> {
    queue: &'static str,
    curves: &'a BucketCurves,
}

/// The curve of overflows: those of a structure of `entries` are the weights of all numbers from `entries` on.
fn overflow_points(
    points: &mut Vec<Point>,
    rank: Option<u32>,
    queue: &'static str,
    measure: &'static str,
    counts: &WeightedCounts,
) {
    let mut value = counts.total();
    points.push(Point { rank, queue, measure, entries: 0, value });
    for (number, weight) in counts.iter() {
        value -= weight;
        points.push(Point { rank, queue, measure, entries: number + 1, value });
    }
}

/// The curve of what is beyond the first `entries`: the weights of all larger numbers.
fn beyond_points(
    points: &mut Vec<Point>,
    rank: Option<u32>,
    queue: &'static str,
    measure: &'static str,
    counts: &WeightedCounts,
) {
    let mut value = counts.from(1);
    points.push(Point { rank, queue, measure, entries: 0, value });
    for (number, weight) in counts.iter().filter(|(number, _)| *number > 0) {
        value -= weight;
        points.push(Point { rank, queue, measure, entries: number, value });
    }
}

fn both<T>(queues: &Queues<T>) -> [(&'static str, &T); 2] {
    [("posted", &queues.posted), ("unexpected", &queues.unexpected)]
}

fn needs_of(needs: &mut Vec<Need>, rank: Option<u32>, communicator: Option<u32>, queues: &Queues<QueueCurves>) {
    for (queue, curves) in both(queues) {
        for (of, counts) in [("searches", &curves.searches), ("time", &curves.time)] {
            let covers = SHARES.map(|share| counts.covers(share));
            needs.push(Need { rank, communicator, queue, of, total: counts.total(), covers });
        }
        // A structure holds what is inserted if it has one entry more than were there before.
        let insertions = &curves.insertions;
        let covers = SHARES.map(|share| if insertions.total() == 0 { 0 } else { insertions.covers(share) + 1 });
        needs.push(Need { rank, communicator, queue, of: "insertions", total: insertions.total(), covers });
    }
}

fn points_of(points: &mut Vec<Point>, rank: Option<u32>, sizing: &Sizing) {
    for (queue, curves) in both(&sizing.queues) {
        overflow_points(points, rank, queue, Holds::OldestOfQueue.as_str(), &curves.insertions);
        beyond_points(points, rank, queue, "searches", &curves.searches);
        beyond_points(points, rank, queue, "time", &curves.time);
    }
    for (queue, places) in both(&sizing.places) {
        overflow_points(points, rank, queue, Holds::PlacesOfBoth.as_str(), places);
    }
}

/// Counts by rank, and for all ranks together.
pub(crate) fn to_python<'py>(py: Python<'py>, ranks: &[Sizing]) -> PyResult<Bound<'py, PyDict>> {
    let mut all = Sizing::default();
    let (mut points, mut needs) = (Vec::new(), Vec::new());
    for (rank, sizing) in (0..).zip(ranks) {
        all.merge(sizing);
        points_of(&mut points, Some(rank), sizing);
        needs_of(&mut needs, Some(rank), None, &sizing.queues);
    }
    points_of(&mut points, None, &all);
    needs_of(&mut needs, None, None, &all.queues);
    for (communicator, queues) in &all.communicators {
        needs_of(&mut needs, None, Some(*communicator), queues);
    }
    let divided: Vec<Divided> =
        all.buckets.iter().flat_map(both).map(|(queue, curves)| Divided { queue, curves }).collect();

    let curves = PyDict::new(py);
    columns!(curves, points, |point| {
        "rank" => point.rank,
        "queue" => point.queue,
        "measure" => point.measure,
        "structure_entries" => point.entries,
        // Times are in ns in Python, counts are counts.
        "value" => if point.measure == "time" { Picos(point.value).as_ns() } else { point.value as f64 },
    });
    let needed = PyDict::new(py);
    columns!(needed, needs, |need| {
        "rank" => need.rank,
        "communicator" => need.communicator,
        "queue" => need.queue,
        "of" => need.of,
        "total" => if need.of == "time" { Picos(need.total).as_ns() } else { need.total as f64 },
        "p50" => need.covers[0],
        "p90" => need.covers[1],
        "p99" => need.covers[2],
        "p999" => need.covers[3],
        "p100" => need.covers[4],
    });
    let buckets = PyDict::new(py);
    columns!(buckets, divided, |row| {
        "buckets" => row.curves.buckets,
        "queue" => row.queue,
        "longest" => row.curves.longest,
        "longest_any" => row.curves.longest_any,
        "searches" => row.curves.searches.total(),
        "search_p50" => row.curves.searches.covers((1, 2)),
        "search_p99" => row.curves.searches.covers((99, 100)),
        "search_max" => row.curves.searches.largest().unwrap_or(0),
    });
    let found = PyDict::new(py);
    found.set_item("curves", curves)?;
    found.set_item("needs", needed)?;
    found.set_item("buckets", buckets)?;
    Ok(found)
}
