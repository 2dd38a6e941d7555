// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system-call interface between a program and its host.
//!
//! A program calls with `sc` (PPC32: number in r0, arguments from r3 on, result in r3) or `ecall`
//! (RV64: number in a7, arguments from a0 on, result in a0). `exit` and `write` have their Linux
//! numbers, so that a program also runs under a Linux emulator. [`Service::Custom`] numbers exist
//! only in this simulator.

use crate::memory::Memory;

/// The service that a system call requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Ends the program with the status in the first argument: Linux's `exit` and `exit_group`.
    Exit,
    /// Linux's `write`: the second argument is the address, the third the number of bytes.
    Write,
    /// Number [`Service::CUSTOM`] plus this value; program and handler define the meaning.
    Custom(u16),
    /// Any other number.
    Unknown(u64),
}

impl Service {
    /// The first custom number, "MB" in its upper half.
    pub const CUSTOM: u64 = 0x4d42_0000;

    /// The service of a number that is not one of Linux's.
    pub(super) const fn of(number: u64) -> Self {
        if number >> 16 == Self::CUSTOM >> 16 { Self::Custom(number as u16) } else { Self::Unknown(number) }
    }
}

/// A system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Syscall {
    /// The calling thread, counted from 0.
    pub thread: u32,
    /// Address of the calling instruction.
    pub pc: u64,
    /// The requested service.
    pub service: Service,
    /// The first six arguments.
    pub arguments: [u64; 6],
}

/// What a handler returns for a system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyscallResult {
    /// The result value; -4095 to -1 are errors, as in Linux.
    Value(u64),
    /// No result yet: the thread stays at its call and is stepped again later.
    Wait,
    /// The program ends with this status.
    Exit(u64),
}

/// Serves the system calls of a program.
pub trait SyscallHandler {
    /// Sets the current cycle. The timing model calls this before each step that may read it.
    fn set_cycle(&mut self, cycle: u64);

    /// The current cycle, as the cycle counter shows it.
    fn cycle(&self) -> u64;

    /// Serves a system call.
    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult;
}

impl<H: SyscallHandler> SyscallHandler for &mut H {
    fn set_cycle(&mut self, cycle: u64) {
        (**self).set_cycle(cycle);
    }

    fn cycle(&self) -> u64 {
        (**self).cycle()
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        (**self).call(call, memory)
    }
}
