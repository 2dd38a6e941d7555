// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Diagrams of barrel-threaded cores in the Kanata format, for the viewer Konata.
//!
//! Each instruction is a row: stage `Ex` is its slot, and `Wt` the time until its thread can
//! continue. Slots without an executed instruction have no row.

use std::fmt;

use mb_core::Cycles;

use mb_kit::kanata::Diagram;

use super::observer::BarrelObserver;
use crate::{Memory, Retired, Syscall, SyscallHandler, SyscallResult};

/// An observer that writes every instruction; `N` returns the label of its row.
#[derive(Clone, Debug)]
pub struct BarrelKanata<S, W, N> {
    handler: S,
    diagram: Diagram,
    out: W,
    name: N,
    result: fmt::Result,
}

impl<S: SyscallHandler, W: fmt::Write, N: FnMut(&Retired) -> String> BarrelKanata<S, W, N> {
    /// Wraps `handler`. Complete rows are written to `out` as the run proceeds.
    #[must_use]
    pub fn new(handler: S, out: W, name: N) -> Self {
        Self { handler, diagram: Diagram::new(), out, name, result: Ok(()) }
    }

    /// Writes the remaining rows and returns handler and `out`.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn finish(mut self) -> Result<(S, W), fmt::Error> {
        self.result.and_then(|()| self.diagram.flush(u64::MAX, &mut self.out))?;
        Ok((self.handler, self.out))
    }
}

impl<S: SyscallHandler, W, N> SyscallHandler for BarrelKanata<S, W, N> {
    fn set_cycle(&mut self, cycle: u64) {
        self.handler.set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        self.handler.cycle()
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        self.handler.call(call, memory)
    }
}

impl<S: SyscallHandler, W: fmt::Write, N: FnMut(&Retired) -> String> BarrelObserver for BarrelKanata<S, W, N> {
    fn started(&mut self, _: usize, _: u64) {}

    fn retired(&mut self, core: usize, thread: usize, (cycle, next): (Cycles, Cycles), retired: &Retired) {
        // Slots are in order of time: no later row begins before this one.
        if self.result.is_ok() {
            self.result = self.diagram.flush(cycle.0, &mut self.out);
        }
        let access = match retired.instruction.access {
            0 => String::new(),
            bytes => format!(", {bytes} bytes at {:#x}", retired.address),
        };
        let name = format!("core {core} thread {thread} {}", (self.name)(retired));
        let detail = format!("pc {:#x}, {:?}{access}", retired.pc, retired.instruction.class);
        let after = cycle.0 + 1;
        let stages = [(cycle.0, "Ex"), (after, "Wt")];
        let stages = if next.0 > after { &stages[..] } else { &stages[..1] };
        self.diagram.row(&name, &detail, stages, next.0.max(after));
    }
}
