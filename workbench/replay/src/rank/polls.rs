// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loops of unsuccessful tests and probes.
//!
//! How often a program polled is a property of the machine on which it was recorded. So a loop that a successful test
//! or probe ends is replayed as one call that waits for this event ([`Polls::Waiting`]). While the loop is in MPI it
//! notices the event as a blocking call does; in the gap between two polls it notices nothing. The first poll starts
//! when the loop does.
//!
//! A loop is kept as recorded if it works between polls, or if something else ends it: nothing shows what it waited
//! for.

use mb_core::time::Picos;
use mb_trace::{Flags, Kind, Record};

use super::{END, Rank, SharedSink, World, compute_time};
use crate::config::Polls;

/// A loop of polls that waits for an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PollLoop {
    /// Index of the record of the event.
    pub(super) end: usize,
    /// Start of the first poll.
    begin: Picos,
    /// Time of a poll, and time between its return and the start of the next.
    poll: Picos,
    gap: Picos,
}

impl PollLoop {
    /// When the loop notices what happens at `at`.
    pub(super) fn notice(&self, at: Picos) -> Picos {
        let period = self.poll + self.gap;
        let Some(since) = at.0.checked_sub(self.begin.0).filter(|_| period > Picos::ZERO) else { return at };
        let within = since % period.0;
        if within <= self.poll.0 { at } else { Picos(at.0 - within + period.0) }
    }
}

/// A run of Misses of one thread, as recorded.
struct Run {
    /// Index of the record that ended it.
    end: usize,
    polls: u64,
    /// Time of all polls, and CPU time between them, ns.
    spans_ns: u64,
    gaps_ns: u64,
    /// Median of the wall times between polls, ns: the longest of its Misses. None where the trace lacks it.
    median_ns: Option<u64>,
}

impl Run {
    /// The run that begins with the Miss at `first`; `None` if no successful test or probe ends it.
    fn new(records: &[Record], first: usize) -> Option<Self> {
        let thread = records[first].thread;
        let mut run = Self { end: 0, polls: 0, spans_ns: 0, gaps_ns: 0, median_ns: None };
        let mut cpu_spans_ns = 0_u64;
        for (at, record) in records.iter().enumerate().skip(first) {
            if record.thread != thread || record.kind == Kind::Extra as u8 {
                continue;
            }
            match record.kind() {
                Some(Kind::Miss) => {
                    run.polls = run.polls.saturating_add(record.aux);
                    run.spans_ns += u64::from(record.wall_span_ns);
                    cpu_spans_ns += u64::from(record.cpu_span_ns);
                    let (_, median_ns) = record.gaps_ns();
                    if median_ns > 0 {
                        run.median_ns = run.median_ns.max(Some(u64::from(median_ns)));
                    }
                }
                Some(Kind::Wait | Kind::Probe | Kind::Partition) if !record.has(Flags::BLOCKING) => {
                    let all_ns = record.cpu_ns().saturating_sub(records[first].cpu_ns());
                    run.gaps_ns = all_ns.saturating_sub(cpu_spans_ns);
                    run.end = at;
                    return Some(run);
                }
                _ => return None,
            }
        }
        None
    }

    /// Mean CPU time between two polls, ns.
    fn mean_ns(&self) -> u64 {
        self.gaps_ns / self.polls.max(1)
    }

    /// Whether the program works between polls.
    fn works(&self, from: Picos) -> bool {
        let is_long = |ns: u64| ns.saturating_mul(1000) >= from.0;
        is_long(self.mean_ns()) && self.median_ns.is_none_or(is_long)
    }
}

impl Rank<'_> {
    /// Executes the Miss `record`.
    pub(super) fn poll(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut SharedSink) {
        let waiting = world.config.polls == Polls::Waiting;
        let run = if waiting { Run::new(self.records, self.threads[usize::from(thread)].record) } else { None };
        if let Some(run) = run.filter(|run| !run.works(world.config.poll_work)) {
            self.totals.polls_waiting = self.totals.polls_waiting.saturating_add(run.polls);
            let ns = |ns: u64| Picos(ns.saturating_mul(1000).min(END.0));
            let state = &mut self.threads[usize::from(thread)];
            state.polls = Some(PollLoop {
                end: run.end,
                begin: now,
                poll: ns(run.spans_ns / run.polls.max(1)),
                gap: compute_time(world, run.median_ns.unwrap_or(run.mean_ns())),
            });
            state.cpu_end_ns = self.records[run.end].cpu_ns();
            return;
        }
        self.totals.polls_recorded = self.totals.polls_recorded.saturating_add(record.aux);
        if record.has(Flags::PROBE) {
            self.probe(world, now, thread, record, true, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_notices_at_once_within_a_poll_and_else_at_the_next() {
        let polls = PollLoop { end: 0, begin: Picos(1000), poll: Picos(30), gap: Picos(70) };
        for (at, noticed) in [
            (999, 999),
            (1000, 1000),
            (1030, 1030),
            (1031, 1100),
            (1099, 1100),
            (1100, 1100),
            (1130, 1130),
            (1131, 1200),
        ] {
            assert_eq!(polls.notice(Picos(at)), Picos(noticed), "at {at}");
        }
        let empty = PollLoop { poll: Picos::ZERO, gap: Picos::ZERO, ..polls };
        assert_eq!(empty.notice(Picos(5000)), Picos(5000));
    }
}
