// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `list_mt`: a thread of the firmware (`processor/firmware/queue.c`) performs each operation.
//!
//! Contract: outcomes and visits are what the firmware answers and reads; its threads overlap, and
//! why that changes when and never what is argued in `README.md`. An operation is delivered at the
//! clock's first edge at or after its offer, and answered at the edge that ends the cycle in which
//! its thread says so; later operations can delay that. With
//! `operations` of them under way, an offer is refused. Lengths of the lists are those in order of
//! acceptance, which the firmware's own reach when all is done, so they are kept beside it.
//! Cost: that of the instructions that are simulated; see `README.md` for operations per second.

use mb_core::engine::{EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::{Clock, Cycles, Op, ParameterError};
use mb_kit::{Answered, Overlapping, OverlappingMachine};

use crate::machine::FirmwareCores;
use crate::parameters::{ListMtParameters, ListMtParts};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "list_mt",
        summary: "Lists in memory, searched by a thread for each operation on barrel-threaded cores with caches",
        reference: "Multithreaded processors of the microcoded match unit's paper (hemmert2007, section 5.3)",
        timing: Timing::Simulated,
    },
    parameters: <ListMtParameters as mb_core::Parameters>::SPECS,
    presets: mb_core::presets!("mt16", "mt2", "mt1"),
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(ListMt::new(&set.typed())?)),
};

/// One receiver's engine.
pub type ListMt = Overlapping<FirmwareCores>;

impl OverlappingMachine for FirmwareCores {
    type Parameters = ListMtParameters;

    fn boot(parameters: &ListMtParameters) -> Result<Self, ParameterError> {
        Self::new(&ListMtParts::new(parameters))
    }

    fn clock(parameters: &ListMtParameters) -> Clock {
        parameters.clock
    }

    fn deliver(&mut self, op: &Op, at: Cycles, _: usize) -> bool {
        self.deliver(op, at)
    }

    fn answered(&mut self) -> Option<Answered> {
        self.answered()
    }

    fn next_event(&self) -> Option<Cycles> {
        self.next_event()
    }

    fn run_until(&mut self, until: Cycles) {
        self.run_until(until);
    }

    fn run_to_answer(&mut self, until: Cycles) {
        self.run_to_answer(until);
    }
}
