// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What stands around a program: its system interface.
//!
//! A program calls with `sc` (PPC32: number in r0, arguments from r3 on, result in r3) or `ecall` (RV64: number in a7,
//! arguments from a0 on, result in a0). The two services that Linux has too bear its numbers, so that a program runs under
//! an emulator of Linux as well; [`Service::Own`] is what only a host of ours serves.

use super::Memory;

/// What a program asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// End with the status in the first argument: Linux's `exit` and `exit_group`.
    Exit,
    /// Write the third argument's number of bytes from the second argument's address: Linux's `write`.
    Write,
    /// Number [`Service::OWN`] and this; its meaning is between the program and its host.
    Own(u16),
    /// Any other number.
    Unknown(u64),
}

impl Service {
    /// The first number of our own, "MB" in its upper half.
    pub const OWN: u64 = 0x4d42_0000;

    /// The service of a number that is neither of Linux's.
    pub(super) const fn of(number: u64) -> Self {
        if number >> 16 == Self::OWN >> 16 { Self::Own(number as u16) } else { Self::Unknown(number) }
    }
}

/// A system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Who calls, counted from 0.
    pub thread: u32,
    /// What for.
    pub service: Service,
    /// With what.
    pub arguments: [u64; 4],
}

/// What the host makes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The call's result; those from -4095 to -1 are errors, as in Linux.
    Value(u64),
    /// No answer yet: the thread stays at its call.
    Wait,
    /// The program ends with this status.
    Exit(u64),
}

/// What stands around a program.
pub trait Host {
    /// The time, told by the timing model before each step that may ask for it.
    fn set_cycle(&mut self, cycle: u64);

    /// What the cycle counter shows.
    fn cycle(&self) -> u64;

    /// Serves a system call.
    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer;
}
