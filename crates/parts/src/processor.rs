// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processors: an instruction set says what an instruction does, a timing model says when.
//!
//! A hardware thread ([`Hart`]) executes one instruction at the instant its timing model chooses and tells what that was
//! ([`Retired`]). Values are read and written at that instant, so that locks and spins interleave by simulated time.
//! A timing model never looks at a value, only at registers, addresses and directions.

mod memory;
mod retired;

pub use memory::{Fault, Memory};
pub use retired::{Class, Control, Register, Retired, Shape};

/// What one step of a thread came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The instruction was executed.
    Retired(Retired),
    /// The host has no answer yet: nothing happened, and the same instruction is to be tried again later.
    Waiting,
    /// The program ended with this status.
    Exited(u64),
}

/// What the host makes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The call's result.
    Value(u64),
    /// No answer yet: the thread stays at its call.
    Wait,
    /// The program ends with this status.
    Exit(u64),
}

/// What stands around a program: the cycle counter and the system interface of `guest/`.
pub trait Host {
    /// The time, told by the timing model before each step that may ask for it.
    fn set_cycle(&mut self, cycle: u64);

    /// What the cycle counter shows.
    fn cycle(&self) -> u64;

    /// Serves a system call.
    fn call(&mut self, number: u64, arguments: [u64; 4], memory: &mut Memory) -> Answer;
}

/// The architectural state of one hardware thread of some instruction set.
pub trait Hart {
    /// Address of the next instruction.
    fn pc(&self) -> u64;

    /// Whether the next instruction is of [`Class::System`]: a pipeline lets it wait for all before it, and steps then.
    fn is_system(&self) -> bool;

    /// Goes on at `pc`.
    fn jump(&mut self, pc: u64);

    /// Sets an argument register of the calling convention, `0 <= index < 8`.
    fn set_argument(&mut self, index: usize, value: u64);

    /// Sets the stack pointer.
    fn set_stack(&mut self, address: u64);

    /// Executes one instruction.
    ///
    /// # Errors
    /// An instruction or address that this machine does not have; nothing was changed.
    fn step<H: Host>(&mut self, memory: &mut Memory, host: &mut H) -> Result<Step, Fault>;
}
