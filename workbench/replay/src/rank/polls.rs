// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loops of unsuccessful tests and probes, as recorded and as waits.
//!
//! How often a program polled is a property of the machine on which it was recorded. So a loop that a successful test
//! or probe ends is replayed as one call that waits for this event ([`Polls::Waiting`](crate::config::Polls::Waiting)). While the loop is in MPI it
//! notices the event as a blocking call does; in the gap between two polls it notices nothing. The first poll starts
//! when the loop does.
//!
//! A loop is kept as recorded if it works between polls, or if something else ends it: nothing shows what it waited
//! for.

use mb_core::time::Picos;
use mb_trace::{Flags, Kind, Record};

/// A loop of polls that waits for an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PollLoop {
    /// Index of the record of the event.
    pub(super) end: usize,
    /// Start of the first poll.
    pub(super) begin: Picos,
    /// Time of a poll, and time between its return and the start of the next.
    pub(super) poll: Picos,
    pub(super) gap: Picos,
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
pub(super) struct Run {
    /// Index of the record that ended it.
    pub(super) end: usize,
    pub(super) polls: u64,
    /// Time of all polls, and CPU time between them, ns.
    pub(super) spans_ns: u64,
    gaps_ns: u64,
    /// Median of the wall times between polls, ns: the longest of its Misses. None where the trace lacks it.
    pub(super) median_ns: Option<u64>,
}

impl Run {
    /// The run that begins with the Miss at `first`; `None` if no successful test or probe ends it.
    pub(super) fn new(records: &[Record], first: usize) -> Option<Self> {
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
    pub(super) fn mean_ns(&self) -> u64 {
        self.gaps_ns / self.polls.max(1)
    }

    /// Whether the program works between polls.
    pub(super) fn works(&self, from: Picos) -> bool {
        let is_long = |ns: u64| ns.saturating_mul(1000) >= from.0;
        is_long(self.mean_ns()) && self.median_ns.is_none_or(is_long)
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
