// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processors: an instruction set says what an instruction does, a timing model says when.
//!
//! A hardware thread ([`Hart`]) executes one instruction at the instant its timing model chooses and tells what that was
//! ([`Retired`]). Values are read and written at that instant, so that locks and spins interleave by simulated time.
//! A timing model never looks at a value, only at registers, addresses and directions.
//!
//! ```text
//! ELF file --Program::load--> Program --{Ppc32, Rv64}::load--> threads of one program, sharing its decoded text
//!                                |                                  | step(memory, host)
//!                                +--------Program::memory-------> Memory, shared by the threads
//! ```

pub mod barrel;
#[cfg(test)]
mod dependences;
pub mod hierarchy;
mod host;
pub mod kanata;
mod memory;
pub mod out_of_order;
mod ppc32;
pub mod predictor;
mod program;
mod retired;
mod rv64;
mod text;

pub use host::{Answer, Call, Host, Service};
pub use memory::{Denied, Fault, Memory};
pub use ppc32::Ppc32;
pub use program::{LoadError, Machine, Program, Symbol};
pub use retired::{Class, Control, Register, Retired, Shape};
pub use rv64::Rv64;

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

/// The architectural state of one hardware thread of some instruction set.
pub trait Hart {
    /// Address of the next instruction.
    fn pc(&self) -> u64;

    /// Goes on at `pc`.
    fn jump(&mut self, pc: u64);

    /// Sets an argument register of the calling convention, `0 <= index < 8`.
    fn set_argument(&mut self, index: usize, value: u64);

    /// Sets the stack pointer.
    fn set_stack(&mut self, address: u64);

    /// Says which thread this is: whose reservations and calls its are.
    fn set_thread(&mut self, thread: u32);

    /// What the instruction at `pc` looks like, if there is one: also of paths that are not taken.
    fn shape(&self, pc: u64) -> Option<Shape>;

    /// Whether the next instruction is of [`Class::System`]: a pipeline lets it wait for all before it, and steps then.
    fn is_system(&self) -> bool {
        self.shape(self.pc()).is_some_and(|shape| shape.class == Class::System)
    }

    /// Executes one instruction.
    ///
    /// # Errors
    /// An instruction or address that this machine does not have; nothing was changed.
    fn step<H: Host>(&mut self, memory: &mut Memory, host: &mut H) -> Result<Step, Fault>;
}
