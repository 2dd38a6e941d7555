// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system calls of a program without the type of its files: what runs the program is compiled once, and not for
//! every type of files.

use super::Linux;
use super::files::Files;
use super::user_memory::{Shared, UserMemory};
use crate::chip::CallHandler;
use crate::system::MemorySystem;
use crate::{Memory, Syscall, SyscallHandler, SyscallResult};

/// The calls that [`AnyLinux`] passes on.
pub(super) trait Calls {
    fn cycle(&self) -> u64;

    fn set_cycle(&mut self, cycle: u64);

    fn call(&mut self, call: Syscall, memory: &mut dyn UserMemory) -> SyscallResult;
}

impl<F: Files> Calls for Linux<F> {
    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn call(&mut self, call: Syscall, memory: &mut dyn UserMemory) -> SyscallResult {
        self.serve(call, memory)
    }
}

/// A handler that passes calls on. It keeps the cycle, which changes with every instruction.
pub(super) struct AnyLinux<'a> {
    linux: &'a mut dyn Calls,
    cycle: u64,
}

impl<'a> AnyLinux<'a> {
    pub(super) fn new(linux: &'a mut dyn Calls) -> Self {
        let cycle = linux.cycle();
        Self { linux, cycle }
    }

    fn pass(&mut self, call: Syscall, memory: &mut dyn UserMemory) -> SyscallResult {
        self.linux.set_cycle(self.cycle);
        self.linux.call(call, memory)
    }
}

impl Drop for AnyLinux<'_> {
    fn drop(&mut self) {
        self.linux.set_cycle(self.cycle);
    }
}

impl SyscallHandler for AnyLinux<'_> {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        self.pass(call, memory)
    }
}

impl CallHandler for AnyLinux<'_> {
    fn call<M: MemorySystem>(&mut self, cycle: u64, call: Syscall, memory: &mut M) -> SyscallResult {
        self.cycle = cycle;
        self.pass(call, &mut Shared(memory))
    }
}
