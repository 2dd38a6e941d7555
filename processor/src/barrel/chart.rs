// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each core does with its cycles, as a diagram: a row for each instruction.
//!
//! `Ex` is its slot, and `Wt` the time from there until its thread can go on. Attempts in vain have no row.

use std::fmt;

use mb_core::Cycles;

use super::super::{Answer, Call, Host, Memory, Retired};
use super::Watch;
use mb_kit::kanata::Diagram;

/// A host that writes down what it is told; `N` names an instruction.
#[derive(Clone, Debug)]
pub struct Chart<S, W, N> {
    host: S,
    diagram: Diagram,
    out: W,
    name: N,
    result: fmt::Result,
}

impl<S: Host, W: fmt::Write, N: FnMut(&Retired) -> String> Chart<S, W, N> {
    /// Stands before `host`; the diagram goes to `out` as far as it is complete.
    #[must_use]
    pub fn new(host: S, out: W, name: N) -> Self {
        Self { host, diagram: Diagram::new(), out, name, result: Ok(()) }
    }

    /// Writes the rest, and gives host and `out` back.
    ///
    /// # Errors
    /// The first that `out` had.
    pub fn finish(mut self) -> Result<(S, W), fmt::Error> {
        self.result.and_then(|()| self.diagram.flush(u64::MAX, &mut self.out))?;
        Ok((self.host, self.out))
    }
}

impl<S: Host, W, N> Host for Chart<S, W, N> {
    fn set_cycle(&mut self, cycle: u64) {
        self.host.set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        self.host.cycle()
    }

    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        self.host.call(call, memory)
    }
}

impl<S: Host, W: fmt::Write, N: FnMut(&Retired) -> String> Watch for Chart<S, W, N> {
    fn started(&mut self, _: usize, _: u64) {}

    fn retired(&mut self, core: usize, thread: usize, (cycle, next): (Cycles, Cycles), retired: &Retired) {
        // Slots are given in order of time.
        if self.result.is_ok() {
            self.result = self.diagram.flush(cycle.0, &mut self.out);
        }
        let access = match retired.shape.access {
            0 => String::new(),
            bytes => format!(", {bytes} bytes at {:#x}", retired.address),
        };
        let name = format!("core {core} thread {thread} {}", (self.name)(retired));
        let detail = format!("pc {:#x}, {:?}{access}", retired.pc, retired.shape.class);
        let after = cycle.0 + 1;
        let stages = [(cycle.0, "Ex"), (after, "Wt")];
        let stages = if next.0 > after { &stages[..] } else { &stages[..1] };
        self.diagram.row(&name, &detail, stages, next.0.max(after));
    }
}
