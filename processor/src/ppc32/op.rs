// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a decoded instruction is.

use crate::{Class, Control, Register, Shape};

/// Condition fields follow the general registers.
pub(super) const FIELD: u8 = 32;
pub(super) const LR: Register = Register(40);
pub(super) const CTR: Register = Register(41);
pub(super) const CARRY: Register = Register(42);
/// Number of the register that is always zero: what a zero in the field RA of an address or `addi` stands for.
pub(super) const ZERO: u8 = 32;

/// What to do. `d`, `a`, `b` and `imm` are the operands of [`Op`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// No instruction: `imm` is the word.
    Illegal,
    AddImm,
    AddImmCarry,
    SubImmCarry,
    MulImm,
    OrImm,
    XorImm,
    AndImm,
    CmpImm,
    CmpLogicalImm,
    Add,
    AddCarry,
    AddExtended,
    AddMinusOne,
    AddZero,
    Sub,
    SubCarry,
    SubExtended,
    SubMinusOne,
    SubZero,
    Neg,
    MulLow,
    MulHigh,
    MulHighUnsigned,
    Div,
    DivUnsigned,
    /// Halves by [`half`] bits of `imm`.
    MulHalf,
    MacHalf,
    Cmp,
    CmpLogical,
    And,
    AndComplement,
    Or,
    OrComplement,
    Xor,
    Nor,
    Nand,
    Equivalent,
    ExtendByte,
    ExtendHalf,
    LeadingZeros,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    /// `b` is the amount.
    ShiftRightSignedImm,
    /// `b` is the amount, `imm` the mask.
    RotateMask,
    RotateInsert,
    /// Register `b` has the amount.
    RotateMaskBy,
    Select,
    /// Bits `d`, `a`, `b`; `imm` is the table of results.
    CrLogic,
    MoveField,
    MoveXerToField,
    MoveFromCr,
    /// `imm` is the mask of bits.
    MoveToCr,
    MoveFromXer,
    MoveToXer,
    MoveFromLr,
    MoveToLr,
    MoveFromCtr,
    MoveToCtr,
    /// `imm` is the shift that takes the half to the low bits.
    TimeBase,
    /// `imm` is the target of all branches that have one.
    Branch,
    /// `d` is BO, `a` is BI.
    BranchIf,
    ReturnIf,
    CountIf,
    LoadByte,
    LoadHalf,
    LoadHalfSigned,
    LoadWord,
    LoadHalfReversed,
    LoadWordReversed,
    LoadReserve,
    StoreByte,
    StoreHalf,
    StoreWord,
    StoreHalfReversed,
    StoreWordReversed,
    StoreConditional,
    /// Has no effect on values.
    Nothing,
    SystemCall,
}

/// Bits of `imm` of the multiplications of halves.
pub(super) mod half {
    /// The first factor is the high half.
    pub(in super::super) const HIGH_A: u32 = 1;
    /// The second factor is the high half.
    pub(in super::super) const HIGH_B: u32 = 2;
    /// Both are unsigned.
    pub(in super::super) const UNSIGNED: u32 = 4;
    /// The product is subtracted.
    pub(in super::super) const NEGATIVE: u32 = 8;
}

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Op {
    pub(super) kind: Kind,
    /// Destination, or the data of a store.
    pub(super) d: u8,
    pub(super) a: u8,
    pub(super) b: u8,
    /// The form that also compares the result with zero, updates the base, or sets the link register.
    pub(super) also: bool,
    pub(super) imm: u32,
    pub(super) shape: Shape,
}

impl Op {
    pub(super) const fn of(kind: Kind, d: u8, a: u8, b: u8, imm: u32) -> Self {
        let shape = Shape {
            class: Class::Integer,
            control: Control::None,
            sources: [Register::NONE; 3],
            destinations: [Register::NONE; 3],
            bytes: 4,
            access: 0,
        };
        Self { kind, d, a, b, also: false, imm, shape }
    }

    pub(super) const fn class(mut self, class: Class) -> Self {
        self.shape.class = class;
        self
    }

    pub(super) const fn control(mut self, control: Control) -> Self {
        self.shape.control = control;
        self
    }

    pub(super) const fn reads<const N: usize>(mut self, registers: [Register; N]) -> Self {
        let mut index = 0;
        while index < N {
            self.shape.sources[index] = registers[index];
            index += 1;
        }
        self
    }

    /// Adds to the registers that it writes.
    pub(super) const fn writes(mut self, register: Register) -> Self {
        let mut index = 0;
        while self.shape.destinations[index].0 != Register::NONE.0 {
            index += 1;
        }
        self.shape.destinations[index] = register;
        self
    }

    /// The record form, if `record`.
    pub(super) const fn record(mut self, record: bool) -> Self {
        self.also = record;
        if record { self.writes(Register(FIELD)) } else { self }
    }

    pub(super) const fn illegal(word: u32) -> Self {
        Self::of(Kind::Illegal, 0, 0, 0, word)
    }
}
