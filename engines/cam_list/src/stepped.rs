// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The stepped hardware as an engine: what a published design does to MPI's order, on any stream of operations.
//!
//! Contract: that of [`crate::CamList`], but for outcomes where a correction is missing; with all
//! of them it gives the same completions, busy answers and delays apart: it tells no delays. Answers
//! are known when their cycle has been stepped, so none is returned ahead of time, and the lengths
//! of the queues are those of the entries in place. Cost: a transition of a machine for each cycle
//! in which something happens, and a look at every slot of a CAM for each search.

use std::collections::VecDeque;

use mb_core::engine::{Accepted, Completion, Engine, Measurable, QueueLengths, Shortcuts};
use mb_core::{CapacityEvents, Clock, Cycles, Delays, Op, ParameterError, Picos};

use crate::hardware::{Corrections, SteppedHardware};
use crate::parameters::{CamListParameters, HardwareConfig};

/// One receiver's engine.
#[derive(Debug)]
pub struct Stepped {
    clock: Clock,
    fifo: usize,
    machine: SteppedHardware,
    pending: VecDeque<Completion>,
}

impl Stepped {
    /// An engine with empty queues.
    ///
    /// # Errors
    /// As [`HardwareConfig::new`].
    pub fn new(parameters: &CamListParameters, corrections: Corrections) -> Result<Self, ParameterError> {
        Ok(Self {
            clock: parameters.clock,
            fifo: parameters.fifo,
            machine: SteppedHardware::new(&HardwareConfig::new(parameters)?, corrections),
            pending: VecDeque::new(),
        })
    }

    fn time(&self, cycle: u64) -> Picos {
        self.clock.span(Cycles(cycle))
    }

    /// Brings the machine to `cycle`, what happens in it included.
    fn run_through(&mut self, cycle: u64) {
        self.machine.run_to(cycle);
        self.machine.settle();
        let clock = self.clock;
        let answers = self.machine.take_done().map(|done| Completion {
            at: clock.span(Cycles(done.at)),
            outcome: done.outcome,
            visits: done.compared,
            delays: Delays::default(),
        });
        self.pending.extend(answers);
    }
}

impl Engine for Stepped {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let edge = self.clock.edge_at_or_after(now).0;
        self.run_through(edge);
        if self.machine.waiting(&op) >= self.fifo {
            return Accepted::Busy { retry_at: self.time(edge + 1) };
        }
        self.machine.offer(op);
        self.run_through(edge);
        Accepted::Yes
    }

    fn next_event(&self) -> Option<Picos> {
        let known = self.pending.front().map(|completion| completion.at);
        known.or_else(|| self.machine.next_change().map(|cycle| self.time(cycle)))
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        let edge = self.clock.edge_at_or_after(until).0;
        // The last edge that is not after `until`.
        let last = if self.time(edge) > until { edge - 1 } else { edge };
        self.run_through(last);
        while self.pending.front().is_some_and(|completion| completion.at <= until) {
            done.extend(self.pending.pop_front());
        }
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.machine.queue_lengths()
    }

    fn busy(&self) -> Picos {
        self.time(self.machine.busy())
    }

    fn capacity_events(&self) -> CapacityEvents {
        self.machine.capacity_events()
    }
}

impl Shortcuts for Stepped {}

impl Measurable for Stepped {}
