// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rows of the tables of `matchbench size` (`docs/sizing.md`).

use mb_core::columns::{Columns, Mergeable};
use mb_core::{Holds, Picos};

use super::{BucketCurves, QueueCurves, Queues, Sizing, WeightedCounts};

/// The tables.
#[derive(Debug, Default)]
pub struct SizingRows {
    /// By rank, then of all ranks together.
    pub curves: Vec<SizingPoint>,
    /// By rank, then of all ranks together, then by communicator.
    pub needs: Vec<SizingNeed>,
    /// Of all ranks together.
    pub buckets: Vec<SizingBucket>,
}

/// A value from one size on, up to the next row of the same curve.
#[derive(Debug, Columns)]
pub struct SizingPoint {
    /// World rank; null for the sum of all ranks.
    rank: Option<u32>,
    /// `posted` or `unexpected`.
    queue: &'static str,
    /// `oldest_of_queue` or `places_of_both`: overflows of a structure that holds these; `searches`: searches that go
    /// on beyond the oldest `structure_entries`; `time`: time with a longer queue.
    measure: &'static str,
    /// Size of one structure from which on the value holds, up to the next row.
    #[column(unit = "entries")]
    structure_entries: usize,
    /// Count, or ps for `time`.
    #[column(none)]
    #[computed(value: f64 = number(self.measure, self.value), meaning = "count, or ns for `time`")]
    value: u64,
}

/// Entries that cover [`SHARES`] of something.
#[derive(Debug, Columns)]
pub struct SizingNeed {
    /// World rank; null for all ranks.
    rank: Option<u32>,
    /// Number of the communicator; null for all of them.
    communicator: Option<u32>,
    /// `posted` or `unexpected`.
    queue: &'static str,
    /// What is covered: `searches`, `time` or `insertions`.
    of: &'static str,
    /// All of it: a count, or ps for `time`.
    #[column(none)]
    #[computed(total: f64 = number(self.of, self.total), meaning = "all of it: a count, or ns for `time`")]
    total: u64,
    /// Entries by share.
    #[column(none)]
    #[computed(p50: usize = self.covers[0], unit = "entries", meaning = "structure entries that cover 50 % of it")]
    #[computed(p90: usize = self.covers[1], unit = "entries", meaning = "structure entries that cover 90 % of it")]
    #[computed(p99: usize = self.covers[2], unit = "entries", meaning = "structure entries that cover 99 % of it")]
    #[computed(p999: usize = self.covers[3], unit = "entries", meaning = "structure entries that cover 99.9 % of it")]
    #[computed(p100: usize = self.covers[4], unit = "entries", meaning = "structure entries that cover 100 % of it")]
    covers: [usize; SHARES.len()],
}

/// A queue in buckets, over all ranks.
#[derive(Debug, Columns)]
pub struct SizingBucket {
    /// Buckets of each queue; an entry is in that of its source modulo them.
    #[column(unit = "buckets")]
    buckets: u32,
    /// `posted` or `unexpected`.
    queue: &'static str,
    /// Longest bucket of any rank.
    #[column(unit = "entries")]
    longest: usize,
    /// Longest list of receives from any source.
    #[column(unit = "entries")]
    longest_any: usize,
    /// Searches by the entries compared.
    #[column(none)]
    #[computed(searches: u64 = self.searches.total(), meaning = "searches")]
    #[computed(search_p50: usize = self.searches.covers((1, 2)), unit = "entries",
        meaning = "entries that a search compares, median")]
    #[computed(search_p99: usize = self.searches.covers((99, 100)), unit = "entries", meaning = "99th percentile")]
    #[computed(search_max: usize = self.searches.largest().unwrap_or(0), unit = "entries", meaning = "maximum")]
    searches: WeightedCounts,
}

/// Shares that the needs cover.
const SHARES: [(u64, u64); 5] = [(1, 2), (9, 10), (99, 100), (999, 1000), (1, 1)];

/// Times are in ns in tables, counts are counts.
fn number(of: &str, value: u64) -> f64 {
    if of == "time" { Picos(value).as_ns() } else { value as f64 }
}

/// The curve of overflows: those of a structure of `entries` are the weights of all numbers from `entries` on.
fn overflow_points(
    points: &mut Vec<SizingPoint>,
    rank: Option<u32>,
    queue: &'static str,
    measure: &'static str,
    counts: &WeightedCounts,
) {
    let mut value = counts.total();
    points.push(SizingPoint { rank, queue, measure, structure_entries: 0, value });
    for (number, weight) in counts.iter() {
        value -= weight;
        points.push(SizingPoint { rank, queue, measure, structure_entries: number + 1, value });
    }
}

/// The curve of what is beyond the first `entries`: the weights of all larger numbers.
fn beyond_points(
    points: &mut Vec<SizingPoint>,
    rank: Option<u32>,
    queue: &'static str,
    measure: &'static str,
    counts: &WeightedCounts,
) {
    let mut value = counts.from(1);
    points.push(SizingPoint { rank, queue, measure, structure_entries: 0, value });
    for (number, weight) in counts.iter().filter(|(number, _)| *number > 0) {
        value -= weight;
        points.push(SizingPoint { rank, queue, measure, structure_entries: number, value });
    }
}

fn both<T>(queues: &Queues<T>) -> [(&'static str, &T); 2] {
    [("posted", &queues.posted), ("unexpected", &queues.unexpected)]
}

fn needs_of(needs: &mut Vec<SizingNeed>, rank: Option<u32>, communicator: Option<u32>, queues: &Queues<QueueCurves>) {
    for (queue, curves) in both(queues) {
        for (of, counts) in [("searches", &curves.searches), ("time", &curves.time)] {
            let covers = SHARES.map(|share| counts.covers(share));
            needs.push(SizingNeed { rank, communicator, queue, of, total: counts.total(), covers });
        }
        // A structure holds what is inserted if it has one entry more than were there before.
        let insertions = &curves.insertions;
        let covers = SHARES.map(|share| if insertions.total() == 0 { 0 } else { insertions.covers(share) + 1 });
        needs.push(SizingNeed { rank, communicator, queue, of: "insertions", total: insertions.total(), covers });
    }
}

fn points_of(points: &mut Vec<SizingPoint>, rank: Option<u32>, sizing: &Sizing) {
    for (queue, curves) in both(&sizing.queues) {
        overflow_points(points, rank, queue, Holds::OldestOfQueue.as_str(), &curves.insertions);
        beyond_points(points, rank, queue, "searches", &curves.searches);
        beyond_points(points, rank, queue, "time", &curves.time);
    }
    for (queue, places) in both(&sizing.places) {
        overflow_points(points, rank, queue, Holds::PlacesOfBoth.as_str(), places);
    }
}

fn bucket(queue: &'static str, curves: &BucketCurves) -> SizingBucket {
    let &BucketCurves { buckets, longest, longest_any, ref searches } = curves;
    SizingBucket { buckets, queue, longest, longest_any, searches: searches.clone() }
}

impl SizingRows {
    /// The rows of what was counted at each rank.
    #[must_use]
    pub fn new(ranks: &[Sizing]) -> Self {
        let mut rows = Self::default();
        let mut all = Sizing::default();
        for (rank, sizing) in (0..).zip(ranks) {
            all.merge(sizing);
            points_of(&mut rows.curves, Some(rank), sizing);
            needs_of(&mut rows.needs, Some(rank), None, &sizing.queues);
        }
        points_of(&mut rows.curves, None, &all);
        needs_of(&mut rows.needs, None, None, &all.queues);
        for (communicator, queues) in &all.communicators {
            needs_of(&mut rows.needs, None, Some(*communicator), queues);
        }
        rows.buckets = all.buckets.iter().flat_map(both).map(|(queue, curves)| bucket(queue, curves)).collect();
        rows
    }
}
