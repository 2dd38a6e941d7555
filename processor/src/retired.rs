// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a timing model learns of an executed instruction.

/// A register as dependences see it: general registers are 0 to 31; what else an instruction set has follows them.
///
/// PPC32 goes on with condition fields (32 to 39), LR, CTR and the carry; RV64 with floating-point registers (32 to 63) and
/// their status, when it has them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Register(pub u8);

impl Register {
    /// No register; also one that is constant.
    pub const NONE: Self = Self(u8::MAX);
    /// Registers of any instruction set have numbers below this.
    pub const LIMIT: usize = 72;
}

/// What an instruction needs of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// One pass through an integer unit; branches too resolve there.
    Integer,
    /// Integer multiplication.
    Multiply,
    /// Integer division.
    Divide,
    /// A read of memory, also one that reserves.
    Load,
    /// A write of memory.
    Store,
    /// A read and a write that nothing comes between; also conditional stores.
    Atomic,
    /// Waits until all memory operations before it are done.
    Fence,
    /// Waits until everything before it is done, and what follows waits for it: a system call, a read of a counter, a
    /// move of several condition fields.
    System,
}

/// How an instruction changes the flow of control.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Control {
    /// Not at all.
    None,
    /// A conditional branch to a fixed target.
    Branch,
    /// An unconditional jump to a fixed target.
    Jump,
    /// A jump that keeps its return address.
    Call,
    /// A jump to a kept return address.
    Return,
    /// The same if a condition holds, else nothing: direction of a branch, target of a return.
    ConditionalReturn,
    /// A jump to an address in a register, that is no return.
    Indirect,
}

/// What is the same each time an instruction is executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// What it needs.
    pub class: Class,
    /// How it changes the flow.
    pub control: Control,
    /// Registers it reads. Of a store or an atomic, the last place is the data's, and the others are the address's.
    pub sources: [Register; 3],
    /// Registers it writes. What a load reads goes to the first place; others of a load (a base register that moves on), and
    /// those of a store, are there with the address. Those of an atomic come from memory.
    pub destinations: [Register; 3],
    /// Length of the instruction.
    pub bytes: u8,
    /// Length of its memory access, or 0.
    pub access: u8,
}

/// An executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Retired {
    /// Its address.
    pub pc: u64,
    /// Address of the instruction after it.
    pub next: u64,
    /// Address of its memory access, if it has one.
    pub address: u64,
    /// Whether a branch or conditional return was taken; true of every other change of the flow.
    pub taken: bool,
    /// The rest.
    pub shape: Shape,
}
