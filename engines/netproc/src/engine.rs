// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `netproc`: a packet handler of SPINE performs each operation of a receiver (`netproc/receive/receive.c`).
//!
//! Contract: outcomes and visits are what the firmware answers and reads; its handlers overlap, and why that changes
//! when and never what is argued in `README.md`. An operation is delivered at the clock's first edge at or after its
//! offer, and answered at the edge that ends the cycle in which the report of its packet reaches the interface; later
//! operations can delay that. With `operations` of them outstanding, an offer is refused. Lengths of the lists are
//! those in order of acceptance, which the firmware's own reach when all is done, so they are kept beside it.
//! Cost: that of the instructions that are simulated; see `README.md` for operations per second.

use mb_core::engine::{EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::{Clock, Cycles, Op, ParameterError};
use mb_kit::{Answered, Overlapping, OverlappingMachine};

use crate::machine::FirmwareProcessor;
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
    presets: mb_core::presets!("smt8"; representative: none; on_request: "cmp8", "cmp2_4", "cmp2_8", "inorder8"),
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Netproc::new(&set.typed())?)),
};

/// One receiver's engine.
pub type Netproc = Overlapping<FirmwareProcessor>;

impl OverlappingMachine for FirmwareProcessor {
    type Parameters = NetprocParameters;

    fn boot(parameters: &NetprocParameters) -> Result<Self, ParameterError> {
        Self::new(&parameters.parts(), parameters.program.firmware().file())
    }

    fn clock(parameters: &NetprocParameters) -> Clock {
        parameters.clock
    }

    fn copy(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn deliver(&mut self, op: &Op, at: Cycles, length: usize) -> bool {
        self.deliver(op, at, length)
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
