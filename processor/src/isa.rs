// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instruction sets: the architectural state of a hardware thread, and what one instruction does to
//! it.

mod decoded_text;
#[cfg(test)]
mod dependences;
mod instruction;
mod ppc32;
pub(crate) mod rv64;

pub use instruction::{BranchKind, InstructionClass, RegisterNumber, Retired, StaticInstruction};
pub use ppc32::Ppc32;
pub use rv64::{
    AtomicKind, Counter, CsrAccess, CsrKind, Effect, Extension, FenceOrder, FloatStatus, Operation, Rounding, Rv64,
    extend,
};

use crate::memory::{Fault, Memory};
use crate::syscall::SyscallHandler;

/// The result of one step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The instruction was executed.
    Retired(Retired),
    /// The handler has no result yet. Nothing changed; the same instruction must be stepped again.
    Waiting,
    /// The program ended with this status.
    Exited(u64),
}

/// The architectural state of one hardware thread of some instruction set.
pub trait Hart {
    /// Address of the next instruction.
    fn pc(&self) -> u64;

    /// Sets the address of the next instruction.
    fn jump(&mut self, pc: u64);

    /// Sets an argument register of the calling convention, `0 <= index < 8`.
    fn set_argument(&mut self, index: usize, value: u64);

    /// Sets the stack pointer.
    fn set_stack(&mut self, address: u64);

    /// Sets the number of this thread, which owns its reservation and its system calls.
    fn set_thread(&mut self, thread: u32);

    /// The decoded instruction at `pc`, if there is one; any code address is allowed.
    fn instruction_at(&self, pc: u64) -> Option<StaticInstruction>;

    /// Whether the next instruction is of [`InstructionClass::System`]: a pipeline drains before it
    /// steps such an instruction.
    fn is_system(&self) -> bool {
        self.instruction_at(self.pc()).is_some_and(|instruction| instruction.class == InstructionClass::System)
    }

    /// Executes one instruction.
    ///
    /// # Errors
    /// An illegal instruction or an invalid access; nothing was changed.
    fn step<H: SyscallHandler>(&mut self, memory: &mut Memory, handler: &mut H) -> Result<Step, Fault>;
}
