// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The simulation loop: windows of one network latency, within which ranks cannot influence each
//! other.
//!
//! A packet that leaves a rank at time t reaches another rank no earlier than t + latency. With T
//! the earliest event of any rank, the events in [T, T + latency) can therefore be simulated rank
//! by rank. A heap with one valid entry per rank finds the next window; outdated entries are
//! skipped. The order of ranks within a window does not change the result, because each rank sorts
//! its arrivals by time and source.
//!
//! Cost: O(messages * log(messages per rank and window) + windows * log ranks).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use mb_core::columns::Mergeable;
use mb_core::engine::{Placement, ReplayEngine};
use mb_core::time::Picos;
use mb_trace::{Communicators, Trace};

use crate::config::{ReplayConfig, Wildcards};
use crate::rank::{END, Rank, SharedSink, World};
use crate::report::{RankReport, Report, Totals, Unfinished, WatchedRank};

/// Why a replay has no result.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The progress callback returned `Break`.
    #[error("interrupted after {done} of {all} records")]
    Interrupted {
        /// Records replayed.
        done: u64,
        /// Records in the trace.
        all: u64,
    },
    /// Simulated time exceeded its range, because of extreme sizes, times or parameters.
    #[error(
        "rank {rank}, record {record}: found a simulated time beyond 2^62 ps, expected at most 53 days; reduce sizes, times or parameters"
    )]
    TooLong {
        /// World rank.
        rank: u32,
        /// The record that it would execute next.
        record: u64,
    },
    /// A parameter is out of range.
    #[error("{0}")]
    BadParameter(String),
}

/// Windows between two calls of the progress callback, which is also how an interruption is
/// noticed. One window of many simulated processors can take tens of milliseconds.
const PROGRESS_WINDOWS: u64 = 8;

/// Replays `trace` with one engine per rank, built by `build` and placed as `placement` states.
///
/// `communicators` is the result of [`Trace::check`] for this trace; the replay relies on every
/// rule that the check covers. `progress` is called regularly with the number of records done and
/// their total.
///
/// # Errors
/// [`ReplayError`]. Deadlocks and mismatched traces are results: see [`Report::unfinished`].
pub fn replay(
    trace: &Trace,
    communicators: &Communicators,
    build: &mut dyn FnMut() -> Box<dyn ReplayEngine>,
    placement: Placement,
    config: &ReplayConfig,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Report, ReplayError> {
    if !(config.cpu_scale >= 0.0 && config.cpu_scale <= 1e6) {
        let message = format!("cpu_scale: found {}, expected 0 to 1000000", config.cpu_scale);
        return Err(ReplayError::BadParameter(message));
    }
    let times = config.network.typed();
    let world = World { communicators, config, times, host: placement == Placement::Host };
    let mut ranks: Vec<Rank> =
        (0..trace.ranks()).map(|rank| Rank::new(&world, rank, trace.rank(rank), build())).collect();
    let mut due: Vec<Picos> = ranks.iter().map(Rank::next_event).collect();
    let all: u64 = ranks.iter().map(|rank| rank.length() as u64).sum();
    let mut heap: BinaryHeap<Reverse<Due>> =
        (0..).zip(&due).filter(|(_, at)| **at < Picos::MAX).map(|(rank, &at)| Reverse(Due::new(at, rank))).collect();
    let mut out = SharedSink::new(&config.watched);
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

/// A rank and the time of its next event, packed into one number (time in the upper bits) that
/// compares without a branch.
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

fn report(world: &World, mut ranks: Vec<Rank>, out: SharedSink) -> Report {
    let watched = out.watched.into_iter().map(|(rank, timeline)| WatchedRank { rank, timeline: timeline.finish() });
    let mut report = Report {
        depths: out.depths.finish(),
        visits: out.visits.finish(),
        timeline: out.timeline.finish(),
        watched: watched.collect(),
        ..Report::default()
    };
    for rank in &mut ranks {
        rank.finish_totals();
        if let Some((record, since, waits, waits_for)) = rank.blocked_call(world) {
            report.unfinished.push(Unfinished { rank: rank.id, record, since, waits, waits_for });
        }
        report.total.merge(&rank.totals);
        report.sizing.extend(rank.sizer.take().map(|sizer| sizer.finish(rank.totals.time)));
        if let Some((deepest, cut)) = rank.watcher.take().map(|watcher| watcher.finish()) {
            report.deepest.push(deepest);
            report.cut = report.cut.or(cut);
        }
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
        // With recorded wildcards the program continues with the recorded message, whichever the
        // search found first.
        note(total.probes_diverged, "probe", "probes", "found another message than in the recording");
    }
    let what = "of a form that is not expanded; no time is simulated for it";
    note(total.collectives_skipped, "collective was", "collectives were", what);
    notes
}

/// A cycle of ranks that wait for each other, following from each rank the first rank it waits for.
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
