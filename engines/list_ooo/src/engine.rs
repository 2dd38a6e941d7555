// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `list_ooo`: every operation of a receiver is performed by the firmware of `processor/firmware/queue.c`.
//!
//! Contract: outcomes and visits are what the firmware answers and reads. One operation is
//! performed after the other, and begins in the cycle in which the core waits for it or, if that is
//! later, at the clock's first edge at or after its offer. Nothing is refused: memory grows with
//! the longest that the lists were. Cost: that of the instructions that are simulated, at each
//! offer; see `README.md` for operations per second.

use std::collections::VecDeque;

use mb_core::engine::{
    Accepted, Completion, Engine, EngineCard, EngineEntry, Measurable, Placement, QueueLengths, Shortcuts, Timing,
    keeps_order,
};
use mb_core::{Clock, Cycles, Delays, Op, Outcome, ParameterError, Picos};

use crate::machine::FirmwareCore;
use crate::parameters::{ListOooParameters, ListOooParts};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "list_ooo",
        summary: "Lists in memory, searched by compiled code on a simulated out-of-order core with caches",
        reference: "Embedded processor of the microcoded match unit's paper (hemmert2007, section 5.2)",
        timing: Timing::Simulated,
    },
    parameters: <ListOooParameters as mb_core::Parameters>::SPECS,
    presets: mb_core::presets!("hemmert2007", "hemmert2007_cold", "nic64"),
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(ListOoo::new(&set.typed())?)),
};

/// One receiver's engine.
#[derive(Debug)]
pub struct ListOoo {
    clock: Clock,
    machine: FirmwareCore,
    /// Posted receives and unexpected messages, by the outcomes so far.
    lengths: QueueLengths,
    pending: VecDeque<(Completion, Picos)>,
    busy: Picos,
}

impl ListOoo {
    /// An engine with empty lists, whose firmware has booted.
    ///
    /// # Errors
    /// When no core or cache can be built from the parameters.
    pub fn new(parameters: &ListOooParameters) -> Result<Self, ParameterError> {
        Ok(Self {
            clock: parameters.clock,
            machine: FirmwareCore::new(&ListOooParts::new(parameters))?,
            lengths: QueueLengths::default(),
            pending: VecDeque::new(),
            busy: Picos::ZERO,
        })
    }

    /// The machine inside.
    #[must_use]
    pub const fn machine(&self) -> &FirmwareCore {
        &self.machine
    }

    /// Performs `op`: its completion, and how long the core was busy with it.
    fn perform(&mut self, now: Picos, op: Op) -> (Completion, Picos) {
        let served = self.machine.serve(&op, self.clock.edge_at_or_after(now));
        let QueueLengths { posted, unexpected } = &mut self.lengths;
        match served.outcome {
            Outcome::Posted(_) => *posted += 1,
            Outcome::Unexpected(_) => *unexpected += 1,
            Outcome::Matched(..) if matches!(op, Op::Arrive { .. }) => *posted -= 1,
            Outcome::Cancelled(_) => *posted -= 1,
            Outcome::Matched(..) => *unexpected -= 1,
            Outcome::Probed(_, Some(_)) if matches!(op, Op::MatchedProbe { .. }) => *unexpected -= 1,
            Outcome::NotCancelled(_) | Outcome::Probed(..) => {}
        }
        let [start, at] = [served.start, served.at].map(|Cycles(cycle)| self.clock.span(Cycles(cycle)));
        let delays = Delays { waiting: start.saturating_sub(now), beyond: Picos::ZERO };
        (Completion { at, outcome: served.outcome, visits: served.visits, delays }, at - start)
    }

    fn hand_out_first(&mut self, done: &mut Vec<Completion>) {
        if let Some((completion, span)) = self.pending.pop_front() {
            self.busy += span;
            done.push(completion);
        }
    }
}

impl Engine for ListOoo {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let performed = self.perform(now, op);
        self.pending.push_back(performed);
        Accepted::Yes
    }

    fn next_event(&self) -> Option<Picos> {
        self.pending.front().map(|(completion, _)| completion.at)
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        while self.pending.front().is_some_and(|(completion, _)| completion.at <= until) {
            self.hand_out_first(done);
        }
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lengths
    }

    fn busy(&self) -> Picos {
        self.busy
    }
}

impl Shortcuts for ListOoo {
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        if !self.pending.is_empty() {
            return None;
        }
        let (completion, span) = self.perform(now, op);
        self.busy += span;
        Some(completion)
    }

    fn settle(&mut self, done: &mut Vec<Completion>) {
        while !self.pending.is_empty() {
            self.hand_out_first(done);
        }
    }
}

impl Measurable for ListOoo {}
