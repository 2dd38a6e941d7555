// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Observation of a run: threads that start and instructions that are executed.

use mb_core::Cycles;

use crate::{Memory, Retired, Syscall, SyscallHandler, SyscallResult};

/// A system-call handler that observes a run, and can pause it.
pub trait BarrelObserver: SyscallHandler {
    /// A system call started a thread with this argument.
    fn started(&mut self, thread: usize, argument: u64);

    /// A thread executed an instruction on a core, in the first cycle of `span`. Its next
    /// instruction can begin in the second. The effects of a system call are reported before.
    fn retired(&mut self, core: usize, thread: usize, span: (Cycles, Cycles), retired: &Retired);

    /// Whether the run ends after the current cycle.
    fn pause_requested(&self) -> bool {
        false
    }
}

/// A handler without observation.
pub(super) struct Unobserved<'a, S>(pub(super) &'a mut S);

impl<S: SyscallHandler> SyscallHandler for Unobserved<'_, S> {
    fn set_cycle(&mut self, cycle: u64) {
        self.0.set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        self.0.cycle()
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        self.0.call(call, memory)
    }
}

impl<S: SyscallHandler> BarrelObserver for Unobserved<'_, S> {
    fn started(&mut self, _: usize, _: u64) {}

    fn retired(&mut self, _: usize, _: usize, _: (Cycles, Cycles), _: &Retired) {}
}
