// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The start of a program without timing: everything before packets are received.
//!
//! SPINE builds its tables, compiles the filters and calls `np_handler_init`, and then stores to `NP_REG_READY`. Up to
//! that store harts execute one instruction in a cycle. A processor continues from there in cycle 0, with the memory
//! and registers of the harts. Its L2 has the line of each set that the start accessed last; one that was written
//! counts as modified. L1 caches, predictors and reservations are empty.

use std::ops::ControlFlow;

use crate::contract::{ControllerRegister, error_text, slot};
use crate::functional::FunctionalHarts;
use crate::machine::{Limits, LoadedProgram, Place};
use crate::processor::{DeviceStore, Processor, ProcessorEvent};
use crate::run_error::{RunError, RunErrorCause};

/// Cycles between two calls of `progress`.
const WATCH: u64 = 1 << 20;

/// Harts that are about to receive packets.
#[derive(Clone, Debug)]
pub struct Started {
    /// The harts. Their first events are their stores to the controller, in cycle 0.
    pub harts: FunctionalHarts,
    /// Instructions of hart 0, which does the work of the start.
    pub instructions: u64,
}

/// Registers of a call.
const RETURN_ADDRESS: usize = 1;
const ARGUMENT: usize = 10;

impl LoadedProgram {
    /// Executes the start of the program. `progress` is called with 0 packets and can end it.
    ///
    /// # Errors
    /// The program faults, finds an error of its configuration or of `np_handler_init`, or does not begin to receive
    /// within the limit.
    pub fn start(
        &self,
        limits: Limits,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Started, Box<RunError>> {
        let (memory, entry) = (self.fresh_memory(), self.program().entry());
        let mut harts = FunctionalHarts::new(memory, entry, self.harts(), self.handler_rules());
        let allocate = self.program().symbol("np_allocate").map(|found| found.address);
        let (mut stores, mut events) = (Vec::new(), Vec::new());
        // The end of the allocation that is under way: its return address, and its bytes.
        let mut allocation: Option<(u64, u64)> = None;
        harts.stop_at(allocate);
        harts.follow_accesses();
        loop {
            let until = (harts.cycle() + WATCH).min(limits.setup);
            if let Err(stopped) = harts.run(until, &mut events) {
                let place = Place::of(harts.cycle(), stopped.hart, stopped.error.pc());
                return Err(self.error(&harts, place, RunErrorCause::Hart(stopped.error)));
            }
            for event in events.drain(..) {
                let ProcessorEvent::Store(store) = event else { continue };
                stores.push(DeviceStore { cycle: 0, ..store });
                match ControllerRegister::at(store.offset) {
                    Some(ControllerRegister::Ready) => {
                        let instructions = harts.instructions(0);
                        set_ring(&mut harts, &stores);
                        harts.stop_at(None);
                        harts.restart(stores);
                        return Ok(Started { harts, instructions });
                    }
                    Some(ControllerRegister::Error) => {
                        let found = harts.status(store.hart);
                        let (code, value, pc) =
                            found.map_or((0, 0, store.pc), |found| (found.error, found.error_value, found.error_pc));
                        let place = Place::of(harts.cycle(), store.hart, pc);
                        return Err(self.error(
                            &harts,
                            place,
                            RunErrorCause::Software { code, text: error_text(code, value) },
                        ));
                    }
                    _ => {}
                }
            }
            let pc = harts.pc(0);
            match allocation {
                Some((end, bytes)) if end == pc => {
                    let start = harts.register(0, ARGUMENT);
                    harts.protection().allocate(start..start.saturating_add(bytes));
                    allocation = None;
                    harts.stop_at(allocate);
                }
                None if allocate == Some(pc) => {
                    let end = harts.register(0, RETURN_ADDRESS);
                    allocation = Some((end, harts.register(0, ARGUMENT)));
                    harts.stop_at(Some(end));
                }
                _ => {}
            }
            if harts.cycle() >= limits.setup {
                let place = Place::of(harts.cycle(), 0, pc);
                return Err(self.error(&harts, place, RunErrorCause::Setup(limits.setup)));
            }
            if harts.is_idle() {
                let place = Place { cycle: harts.cycle(), hart: None, pc: None };
                return Err(self.error(&harts, place, RunErrorCause::Deadlock));
            }
            if progress(0).is_break() {
                let place = Place { cycle: harts.cycle(), hart: None, pc: None };
                return Err(self.error(&harts, place, RunErrorCause::Interrupted));
            }
        }
    }
}

/// Tells the protection where the receive ring is.
fn set_ring(harts: &mut FunctionalHarts, stores: &[DeviceStore]) {
    let value = |register| stores.iter().find(|store| ControllerRegister::at(store.offset) == Some(register));
    if let (Some(ring), Some(slots)) = (value(ControllerRegister::Ring), value(ControllerRegister::Slots)) {
        let bytes = slots.value.saturating_mul(slot::BYTES);
        harts.protection().set_ring(ring.value..ring.value.saturating_add(bytes));
    }
}
