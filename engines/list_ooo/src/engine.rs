// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `list_ooo`: every operation of a receiver is performed by the firmware of `guest/queue.c`.
//!
//! Contract: outcomes and visits are what the firmware answers and reads. One operation is performed after the other, and
//! begins in the cycle in which the core waits for it or, if that is later, at the clock's first edge at or after its offer.
//! Nothing is refused: memory grows with the longest that the lists were.
//! Cost: that of the instructions that are simulated, at each offer; see `README.md` for operations per second.

use std::collections::VecDeque;

use mb_core::engine::{Accepted, Completion, Engine, EngineCard, EngineEntry, Placement, Preset, Timing, keeps_order};
use mb_core::settings::{SettingError, Settings};
use mb_core::{Clock, Cycles, Op, Outcome, Picos};

use crate::machine::Machine;
use crate::parameters::{Parameters, SETTINGS};

/// What the catalog knows of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "list_ooo",
        summary: "Lists in memory, searched by compiled code on a simulated out-of-order core with caches",
        reference: "Embedded processor of the microcoded match unit's paper (hemmert2007, section 5.2)",
        timing: Timing::Simulated,
    },
    settings: SETTINGS,
    presets: &[
        Preset { name: "hemmert2007", toml: include_str!("../presets/hemmert2007.toml") },
        Preset { name: "hemmert2007_cold", toml: include_str!("../presets/hemmert2007_cold.toml") },
        Preset { name: "nic64", toml: include_str!("../presets/nic64.toml") },
    ],
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |settings| Ok(Box::new(ListOoo::new(settings)?)),
};

/// One receiver's engine.
#[derive(Debug)]
pub struct ListOoo {
    clock: Clock,
    machine: Machine,
    /// Posted receives and unexpected messages, by the outcomes so far.
    lengths: (usize, usize),
    pending: VecDeque<(Completion, Picos)>,
    busy: Picos,
}

impl ListOoo {
    /// An engine with empty lists, whose firmware has booted.
    ///
    /// # Errors
    /// Settings from which no core or cache can be built.
    pub fn new(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self {
            clock: settings.clock("clock"),
            machine: Machine::new(&Parameters::new(settings))?,
            lengths: (0, 0),
            pending: VecDeque::new(),
            busy: Picos::ZERO,
        })
    }

    /// The machine inside.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Performs `op`: its completion, and how long the core was busy with it.
    fn perform(&mut self, now: Picos, op: Op) -> (Completion, Picos) {
        let served = self.machine.serve(&op, self.clock.edge_at_or_after(now));
        let (posted, unexpected) = &mut self.lengths;
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
        (Completion { at, outcome: served.outcome, visits: served.visits }, at - start)
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

    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        if !self.pending.is_empty() {
            return None;
        }
        let (completion, span) = self.perform(now, op);
        self.busy += span;
        Some(completion)
    }

    fn next_event(&self) -> Option<Picos> {
        self.pending.front().map(|(completion, _)| completion.at)
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        while self.pending.front().is_some_and(|(completion, _)| completion.at <= until) {
            self.hand_out_first(done);
        }
    }

    fn settle(&mut self, done: &mut Vec<Completion>) {
        while !self.pending.is_empty() {
            self.hand_out_first(done);
        }
    }

    fn queue_lengths(&self) -> (usize, usize) {
        self.lengths
    }

    fn busy(&self) -> Picos {
        self.busy
    }
}
