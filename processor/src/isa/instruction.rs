// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interface between instruction sets and timing models: registers, instruction classes,
//! executed instructions.

/// A register number for dependence tracking. General registers are 0 to 31; the other registers of
/// an instruction set follow.
///
/// PPC32 adds condition fields (32 to 39), LR, CTR and the carry. RV64 adds floating-point registers
/// (32 to 63). Their status has no number: only instructions of class [`InstructionClass::System`]
/// read or write it, but for flags that accrue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegisterNumber(pub u8);

impl RegisterNumber {
    /// No register, or one that is constant.
    pub const NONE: Self = Self(u8::MAX);
    /// Registers of every instruction set have numbers below this.
    pub const LIMIT: usize = 72;
}

/// The class of an instruction: which functional unit it uses, or what it orders.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InstructionClass {
    /// One pass through an integer unit; branches resolve there too.
    Integer,
    /// Integer multiplication.
    Multiply,
    /// Integer division.
    Divide,
    /// Floating point without rounding: moves, sign changes, comparisons, minimum and maximum.
    FloatMove,
    /// Conversion between floating-point formats, and between them and integers.
    FloatConvert,
    /// Floating-point addition and subtraction.
    FloatAdd,
    /// Floating-point multiplication.
    FloatMultiply,
    /// Floating-point multiplication with addition, rounded once.
    FloatFused,
    /// Floating-point division.
    FloatDivide,
    /// Floating-point square root.
    FloatSquareRoot,
    /// A load, also a load-reserve.
    Load,
    /// A store.
    Store,
    /// An atomic read-modify-write; also a store-conditional.
    Atomic,
    /// Waits until all memory operations before it are done.
    Fence,
    /// Executes alone: waits for everything before it, and everything after it waits for it. System
    /// calls, accesses to control and status registers, and moves of several condition fields.
    System,
}

/// How an instruction changes the control flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BranchKind {
    /// Not a branch.
    None,
    /// A conditional branch to a fixed target.
    Conditional,
    /// An unconditional jump to a fixed target.
    Jump,
    /// A jump that saves its return address.
    Call,
    /// A jump to a saved return address.
    Return,
    /// A conditional return: predicted in direction like a branch, in target like a return.
    ConditionalReturn,
    /// A jump to an address in a register that is not a return.
    Indirect,
}

/// The static properties of an instruction: what is the same in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StaticInstruction {
    /// Functional-unit class.
    pub class: InstructionClass,
    /// Kind of branch.
    pub branch: BranchKind,
    /// Registers it reads. In a store or an atomic the last element is the data register, and the
    /// others form the address.
    pub sources: [RegisterNumber; 3],
    /// Registers it writes. A load writes its data to the first one. Its other destinations (an
    /// updated base register) and those of a store are available with the address. All destinations
    /// of an atomic come from memory.
    pub destinations: [RegisterNumber; 3],
    /// Length of the instruction in bytes.
    pub bytes: u8,
    /// Length of its memory access in bytes, or 0.
    pub access: u8,
}

/// An executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Retired {
    /// Address of the instruction.
    pub pc: u64,
    /// Address of the next instruction.
    pub next: u64,
    /// Address of its memory access, if it has one.
    pub address: u64,
    /// Whether a conditional branch or conditional return was taken; true for every other branch.
    pub taken: bool,
    /// Its static properties.
    pub instruction: StaticInstruction,
}
