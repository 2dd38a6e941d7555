// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `netproc`: a packet handler of SPINE performs each operation of a receiver (`guest/receive.c`).
//!
//! Contract: outcomes and visits are what the firmware answers and reads; its handlers overlap, and why that changes
//! when and never what is argued in `README.md`. An operation is delivered at the clock's first edge at or after its
//! offer, and answered at the edge that ends the cycle in which the report of its packet reaches the interface; later
//! operations can delay that. With `operations` of them outstanding, an offer is refused. Lengths of the lists are
//! those in order of acceptance, which the firmware's own reach when all is done, so they are kept beside it.
//! Cost: that of the instructions that are simulated; see `README.md` for operations per second.

use std::collections::VecDeque;

use mb_core::engine::{
    Accepted, Completion, Engine, EngineCard, EngineEntry, Measurable, Placement, QueueLengths, ReplayEngine,
    Shortcuts, Timing, keeps_order,
};
use mb_core::{Clock, Cycles, Op, ParameterError, Picos};
use mb_kit::{BusyTime, MatchLists};

use crate::machine::{Machine, Served};
use crate::parameters::NetprocParameters;

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "netproc",
        summary: "Lists in memory, searched by packet handlers on multithreaded network processors",
        reference: "Network processors of crowley2000 (SMT and chip multiprocessors under SPINE)",
        timing: Timing::Simulated,
    },
    parameters: <NetprocParameters as mb_core::Parameters>::SPECS,
    presets: mb_core::presets!("smt8"; on_request: "cmp8", "cmp2_4", "cmp2_8", "inorder8"),
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Netproc::new(&set.typed())?)),
};

/// One receiver's engine.
#[derive(Clone, Debug)]
pub struct Netproc {
    clock: Clock,
    machine: Machine,
    /// The lists when all operations accepted so far are done: their lengths.
    lists: MatchLists,
    /// Operations that were not answered.
    under_way: usize,
    /// Answers that were not handed out, and when their operations were delivered.
    pending: VecDeque<(Completion, Picos)>,
    busy: BusyTime,
}

impl Netproc {
    /// An engine with empty lists, whose firmware has booted.
    ///
    /// # Errors
    /// When no processor can be built from the parameters.
    pub fn new(parameters: &NetprocParameters) -> Result<Self, ParameterError> {
        Self::with_firmware(parameters, parameters.program.firmware().file())
    }

    /// An engine with the firmware `file`, an ELF file for `guest/netproc/netproc.h`.
    ///
    /// # Errors
    /// When no processor can be built from the parameters.
    ///
    /// # Panics
    /// When the firmware does not start.
    pub fn with_firmware(parameters: &NetprocParameters, file: &[u8]) -> Result<Self, ParameterError> {
        Ok(Self {
            clock: parameters.clock,
            machine: Machine::new(&parameters.parts(), file)?,
            lists: MatchLists::new(),
            under_way: 0,
            pending: VecDeque::new(),
            busy: BusyTime::default(),
        })
    }

    /// The machine inside.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
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
        while let Some(Served { outcome, visits, start, at }) = self.machine.answered() {
            self.under_way -= 1;
            let completion = Completion { at: self.clock.span(at), outcome, visits };
            self.pending.push_back((completion, self.clock.span(start)));
        }
    }
}

impl Engine for Netproc {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let cycle = self.clock.edge_at_or_after(now);
        self.run(cycle);
        let QueueLengths { posted, unexpected } = self.lists.queue_lengths();
        if !self.machine.deliver(&op, cycle, posted + unexpected) {
            let retry_at = self.next_event().expect("a full engine owes completions");
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
        // A completion is due at the end of a cycle in which the processor or its memory does something.
        let cycle = self.machine.next_event().expect("harts with something to do never all wait");
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

impl Shortcuts for Netproc {
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
        Some(Box::new(self.clone()))
    }
}

impl Measurable for Netproc {}
