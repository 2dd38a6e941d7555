// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Executes the records of unsuccessful tests and probes (see [`super::polls`]).

use mb_core::time::Picos;
use mb_trace::{Flags, Record};

use super::polls::{PollLoop, Run};
use super::{END, Rank, SharedSink, World, compute_time};
use crate::config::Polls;

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
