// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine around a machine whose operations overlap, simulated cycle by cycle.
//!
//! An operation is delivered at the clock's first edge at or after its offer, and answered at the edge that ends the
//! cycle in which the machine answers; later operations can delay that. The machine bounds how many operations are
//! outstanding: it refuses others. Lengths of the lists are those in order of acceptance, which the lists of the
//! machine reach when all is done, so they are kept beside it.

use std::collections::VecDeque;

use mb_core::engine::{Accepted, Completion, Engine, Measurable, QueueLengths, ReplayEngine, Shortcuts};
use mb_core::{Clock, Cycles, Delays, Op, Outcome, ParameterError, Picos};

use crate::{BusyTime, MatchLists};

/// An operation that a machine has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The answer.
    pub outcome: Outcome,
    /// Entries visited.
    pub visits: u32,
    /// The cycle of its delivery.
    pub start: Cycles,
    /// The cycle after that in which it was answered.
    pub at: Cycles,
}

/// A machine that executes operations. Cycles count from its start, when its lists are empty.
pub trait OverlappingMachine: Send + Sized + 'static {
    /// The parameters of the machine.
    type Parameters;

    /// A machine that waits for operations.
    ///
    /// # Errors
    /// No machine can be built from the parameters.
    fn boot(parameters: &Self::Parameters) -> Result<Self, ParameterError>;

    /// Its clock.
    fn clock(parameters: &Self::Parameters) -> Clock;

    /// A copy, if that takes less time than to boot another machine.
    fn copy(&self) -> Option<Self> {
        None
    }

    /// Delivers `op` in cycle `at`, up to which all cycles have been run; returns whether it is accepted. The lists
    /// have at most `length` entries together when all operations before are done.
    fn deliver(&mut self, op: &Op, at: Cycles, length: usize) -> bool;

    /// Removes and returns the oldest answer.
    fn answered(&mut self) -> Option<Answered>;

    /// The cycle of the next event; there is one while an operation is outstanding.
    fn next_event(&self) -> Option<Cycles>;

    /// Runs every cycle before `until`; no effect if `until` has passed.
    fn run_until(&mut self, until: Cycles);

    /// As [`run_until`](Self::run_until), but ends after the first cycle with an answer.
    fn run_to_answer(&mut self, until: Cycles);
}

/// One receiver's engine.
#[derive(Debug)]
pub struct Overlapping<M> {
    clock: Clock,
    machine: M,
    /// The lists when all operations accepted so far are done: their lengths.
    lists: MatchLists,
    /// Operations that were not answered.
    under_way: usize,
    /// Answers that were not returned, and when their operations were delivered.
    pending: VecDeque<(Completion, Picos)>,
    busy: BusyTime,
}

impl<M: OverlappingMachine> Overlapping<M> {
    /// An engine with empty lists, whose machine has booted.
    ///
    /// # Errors
    /// No machine can be built from the parameters.
    pub fn new(parameters: &M::Parameters) -> Result<Self, ParameterError> {
        Ok(Self::around(M::clock(parameters), M::boot(parameters)?))
    }

    /// The engine around a machine in cycle 0.
    #[must_use]
    pub fn around(clock: Clock, machine: M) -> Self {
        Self {
            clock,
            machine,
            lists: MatchLists::new(),
            under_way: 0,
            pending: VecDeque::new(),
            busy: BusyTime::default(),
        }
    }

    /// The machine inside.
    #[must_use]
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// Cycles that have ended at `until`.
    fn ended(&self, until: Picos) -> Cycles {
        self.clock.edge_at_or_after(Picos(until.0.saturating_add(1))) - Cycles(1)
    }

    /// Runs every cycle before `cycle`.
    fn run(&mut self, cycle: Cycles) {
        self.machine.run_until(cycle);
        self.collect();
    }

    /// Takes answers from the machine.
    fn collect(&mut self) {
        while let Some(Answered { outcome, visits, start, at }) = self.machine.answered() {
            self.under_way -= 1;
            let completion = Completion { at: self.clock.span(at), outcome, visits, delays: Delays::default() };
            self.pending.push_back((completion, self.clock.span(start)));
        }
    }
}

impl<M: OverlappingMachine> Engine for Overlapping<M> {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let cycle = self.clock.edge_at_or_after(now);
        self.run(cycle);
        let QueueLengths { posted, unexpected } = self.lists.queue_lengths();
        if !self.machine.deliver(&op, cycle, posted + unexpected) {
            let retry_at = self.next_event().expect("a full engine has outstanding completions");
            return Accepted::Busy { retry_at: retry_at.max(Picos(now.0 + 1)) };
        }
        self.lists.apply(op);
        self.under_way += 1;
        Accepted::Yes
    }

    fn next_event(&self) -> Option<Picos> {
        if let Some((completion, _)) = self.pending.front() {
            return Some(completion.at);
        }
        if self.under_way == 0 {
            return None;
        }
        // A completion is due at the end of a cycle in which the machine does something.
        let cycle = self.machine.next_event().expect("a machine with an operation has an event");
        Some(self.clock.span(cycle + Cycles(1)))
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        self.run(self.ended(until));
        while let Some(&(completion, start)) = self.pending.front().filter(|(completion, _)| completion.at <= until) {
            self.pending.pop_front();
            self.busy.add(start, completion.at);
            done.push(completion);
        }
        if self.under_way == 0 && self.pending.is_empty() {
            self.busy.fold();
        }
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }

    fn busy(&self) -> Picos {
        self.busy.total()
    }
}

impl<M: OverlappingMachine> Shortcuts for Overlapping<M> {
    fn run_to_completion(&mut self, until: Picos, done: &mut Vec<Completion>) {
        if self.pending.is_empty() && self.under_way > 0 {
            self.machine.run_to_answer(self.ended(until));
            self.collect();
        }
        if let Some((first, _)) = self.pending.front()
            && first.at <= until
        {
            self.run_until(first.at, done);
        }
    }

    fn copy(&self) -> Option<Box<dyn ReplayEngine>> {
        Some(Box::new(Self::around(self.clock, self.machine.copy()?)))
    }
}

impl<M: OverlappingMachine> Measurable for Overlapping<M> {}
