// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The replay itself: windows of one network latency, within which ranks cannot influence each other.
//!
//! Whatever leaves a rank at time t reaches another one no earlier than t + latency. So all that happens in [T, T + latency), with T the earliest
//! event of any rank, can be run rank by rank. A heap with one valid entry per rank finds the next window; entries that are out of date
//! are passed over. The order in which ranks run within a window changes nothing, because what a rank takes in is sorted by time and source.
//! Cost: O(messages * log(messages per rank and window) + windows * log ranks).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use mb_core::engine::{Engine, Placement};
use mb_core::time::Picos;
use mb_trace::{Communicators, Trace};

use crate::config::{ReplayConfig, Wildcards};
use crate::rank::{END, Outside, Rank, World};
use crate::report::{RankReport, Report, Totals, Unfinished};

/// Why a replay has no result.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The progress callback asked to stop.
    #[error("interrupted after {done} of {all} records")]
    Interrupted {
        /// Records replayed.
        done: u64,
        /// Records in the trace.
        all: u64,
    },
    /// Simulated time went beyond what is modelled: hostile sizes, times or parameters.
    #[error("rank {rank} gets beyond 53 days (2^62 ps) of simulated time at record {record}")]
    TooLong {
        /// World rank.
        rank: u32,
        /// The record that it would execute next.
        record: u64,
    },
    /// A parameter makes no sense.
    #[error("{0}")]
    BadParameter(String),
}

/// How many windows pass between two calls of the progress callback, through which an interruption comes too:
/// simulated processors of many ranks can be busy for tens of milliseconds in each.
const PROGRESS_WINDOWS: u64 = 8;

/// Replays `trace` with an engine per rank, made by `build`, which runs where `placement` says.
///
/// `communicators` is what [`Trace::check`] returned for this trace: the replay trusts every rule that it proved. `progress` is called now and
/// then with the numbers of records done and in all.
///
/// # Errors
/// [`ReplayError`]. Deadlocks and mismatched traces are results: see [`Report::unfinished`].
pub fn replay(
    trace: &Trace,
    communicators: &Communicators,
    build: &mut dyn FnMut() -> Box<dyn Engine>,
    placement: Placement,
    config: &ReplayConfig,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Report, ReplayError> {
    if !(config.cpu_scale >= 0.0 && config.cpu_scale <= 1e6) {
        let message = format!("cpu_scale: found {}, expected 0 to 1000000", config.cpu_scale);
        return Err(ReplayError::BadParameter(message));
    }
    let times = config.network.times();
    let world = World { communicators, config, times, host: placement == Placement::Host };
    let mut ranks: Vec<Rank> =
        (0..trace.ranks()).map(|rank| Rank::new(&world, rank, trace.rank(rank), build())).collect();
    let mut due: Vec<Picos> = ranks.iter().map(Rank::next_event).collect();
    let all: u64 = ranks.iter().map(|rank| rank.length() as u64).sum();
    let mut heap: BinaryHeap<Reverse<Due>> =
        (0..).zip(&due).filter(|(_, at)| **at < Picos::MAX).map(|(rank, &at)| Reverse(Due::new(at, rank))).collect();
    let mut out = Outside::new();
    let mut until = Picos::ZERO;
    let (mut windows, mut done) = (0_u64, 0_u64);
    while let Some(Reverse(first)) = heap.pop() {
        let (at, number) = (first.at(), first.rank());
        if due[number as usize] != at {
            continue;
        }
        if at >= END {
            let record = ranks[number as usize].cursor as u64;
            return Err(ReplayError::TooLong { rank: number, record });
        }
        if at >= until {
            until = at + times.latency;
            windows += 1;
            if windows.is_multiple_of(PROGRESS_WINDOWS) && progress(done, all).is_break() {
                return Err(ReplayError::Interrupted { done, all });
            }
        }
        if let Some(Reverse(next)) = heap.peek() {
            ranks[next.rank() as usize].prefetch();
        }
        let rank = &mut ranks[number as usize];
        let before = rank.cursor;
        rank.advance(&world, until, &mut out);
        done += (rank.cursor - before) as u64;
        let next = rank.next_event();
        due[number as usize] = next;
        if next < Picos::MAX {
            heap.push(Reverse(Due::new(next, number)));
        }
        for (destination, item) in out.outbox.drain(..) {
            let destination = destination as usize;
            ranks[destination].arrivals.push(item);
            if item.at < due[destination] {
                due[destination] = item.at;
                heap.push(Reverse(Due::new(item.at, destination as u32)));
            }
        }
    }
    let _ = progress(done, all);
    Ok(report(&world, ranks, out))
}

/// A rank and when something happens there: time above rank in one number, which compares without a branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due(u128);

impl Due {
    #[inline]
    fn new(at: Picos, rank: u32) -> Self {
        Self(u128::from(at.0) << 32 | u128::from(rank))
    }

    #[inline]
    fn at(self) -> Picos {
        Picos((self.0 >> 32) as u64)
    }

    #[inline]
    fn rank(self) -> u32 {
        self.0 as u32
    }
}

fn report(world: &World, mut ranks: Vec<Rank>, out: Outside) -> Report {
    let mut report = Report { depths: out.depths.finish(), timeline: out.timeline.finish(), ..Report::default() };
    for rank in &mut ranks {
        rank.settle_up();
        if let Some((record, since, waits, waits_for)) = rank.waiting(world) {
            report.unfinished.push(Unfinished { rank: rank.id, record, since, waits, waits_for });
        }
        report.total.add(&rank.totals);
    }
    report.cycle = find_cycle(&report.unfinished);
    report.notes = notes(&report.total, world.config.wildcards);
    report.ranks = ranks.into_iter().map(|rank| RankReport { rank: rank.id, totals: rank.totals }).collect();
    report
}

fn notes(total: &Totals, wildcards: Wildcards) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |count: u64, one: &str, many: &str, what: &str| match count {
        0 => {}
        1 => notes.push(format!("1 {one} {what}")),
        _ => notes.push(format!("{count} {many} {what}")),
    };
    note(total.never_received, "message was", "messages were", "never received");
    note(total.never_matched, "posted receive was", "posted receives were", "never matched");
    note(total.truncated, "message was", "messages were", "longer than the receive that took it");
    note(total.diverged, "receive", "receives", "took another message than in the recording");
    if wildcards == Wildcards::Free {
        // With recorded ones the program goes on with the message of the recording, whichever the search found first.
        note(total.probes_diverged, "probe", "probes", "found another message than in the recording");
    }
    let what = "of a form that is not expanded and taken to need no time";
    note(total.collectives_skipped, "collective was", "collectives were", what);
    notes
}

/// A cycle of ranks that wait for each other: from each rank along the first rank it waits for.
fn find_cycle(unfinished: &[Unfinished]) -> Vec<u32> {
    let next = |rank: u32| {
        let at = unfinished.binary_search_by_key(&rank, |waiting| waiting.rank).ok()?;
        unfinished[at]
            .waits_for
            .iter()
            .copied()
            .find(|other| unfinished.binary_search_by_key(other, |waiting| waiting.rank).is_ok())
    };
    let mut seen = vec![0_u32; unfinished.len()];
    for (start, waiting) in (1..).zip(unfinished) {
        let mut path = Vec::new();
        let mut rank = waiting.rank;
        while let Ok(at) = unfinished.binary_search_by_key(&rank, |waiting| waiting.rank) {
            if seen[at] == start {
                let from = path.iter().position(|passed| *passed == rank).unwrap_or(0);
                return path.split_off(from);
            }
            if seen[at] != 0 {
                break;
            }
            seen[at] = start;
            path.push(rank);
            match next(rank) {
                Some(other) => rank = other,
                None => break,
            }
        }
    }
    Vec::new()
}
