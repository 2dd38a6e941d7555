// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Decoded PPC32 instructions.

use crate::{BranchKind, InstructionClass, RegisterNumber, StaticInstruction};

/// Register number of condition field 0; condition fields follow the general registers.
pub(super) const FIELD: u8 = 32;
pub(super) const LR: RegisterNumber = RegisterNumber(40);
pub(super) const CTR: RegisterNumber = RegisterNumber(41);
pub(super) const CARRY: RegisterNumber = RegisterNumber(42);
/// Index of the register that is always zero, which an RA field of 0 selects in an address or
/// `addi`.
pub(super) const ZERO: u8 = 32;

/// The operation. `d`, `a`, `b` and `imm` are fields of [`Op`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An illegal instruction; `imm` is the word.
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
    /// `imm` has the bits of [`half`].
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
    /// Register `b` holds the amount.
    RotateMaskBy,
    Select,
    /// Combines condition bits `a` and `b` into `d`; `imm` is the truth table.
    CrLogic,
    MoveField,
    MoveXerToField,
    MoveFromCr,
    /// `imm` is the bit mask.
    MoveToCr,
    MoveFromXer,
    MoveToXer,
    MoveFromLr,
    MoveToLr,
    MoveFromCtr,
    MoveToCtr,
    /// `imm` is the shift that moves the selected half to the low bits.
    TimeBase,
    /// `imm` is the target, as in all branches with a fixed target.
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
    /// No effect on registers and memory.
    Nothing,
    SystemCall,
}

/// Bits of `imm` in half-word multiplications.
pub(super) mod half {
    /// The first factor is the high half word.
    pub(in super::super) const HIGH_A: u32 = 1;
    /// The second factor is the high half word.
    pub(in super::super) const HIGH_B: u32 = 2;
    /// Both factors are unsigned.
    pub(in super::super) const UNSIGNED: u32 = 4;
    /// The product is subtracted.
    pub(in super::super) const NEGATIVE: u32 = 8;
}

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Op {
    pub(super) kind: Kind,
    /// Destination register, or the data register of a store.
    pub(super) d: u8,
    pub(super) a: u8,
    pub(super) b: u8,
    /// The variant with an additional effect: compares the result with zero (`.`), updates the base
    /// register, or sets the link register.
    pub(super) variant: bool,
    pub(super) imm: u32,
    pub(super) instruction: StaticInstruction,
}

impl Op {
    pub(super) const fn of(kind: Kind, d: u8, a: u8, b: u8, imm: u32) -> Self {
        let instruction = StaticInstruction {
            class: InstructionClass::Integer,
            branch: BranchKind::None,
            sources: [RegisterNumber::NONE; 3],
            destinations: [RegisterNumber::NONE; 3],
            bytes: 4,
            access: 0,
        };
        Self { kind, d, a, b, variant: false, imm, instruction }
    }

    pub(super) const fn class(mut self, class: InstructionClass) -> Self {
        self.instruction.class = class;
        self
    }

    pub(super) const fn branch(mut self, branch: BranchKind) -> Self {
        self.instruction.branch = branch;
        self
    }

    pub(super) const fn reads<const N: usize>(mut self, registers: [RegisterNumber; N]) -> Self {
        let mut index = 0;
        while index < N {
            self.instruction.sources[index] = registers[index];
            index += 1;
        }
        self
    }

    /// Adds a destination register.
    pub(super) const fn writes(mut self, register: RegisterNumber) -> Self {
        let mut index = 0;
        while self.instruction.destinations[index].0 != RegisterNumber::NONE.0 {
            index += 1;
        }
        self.instruction.destinations[index] = register;
        self
    }

    /// Selects the record form (`.`) if `record`.
    pub(super) const fn record(mut self, record: bool) -> Self {
        self.variant = record;
        if record { self.writes(RegisterNumber(FIELD)) } else { self }
    }

    pub(super) const fn illegal(word: u32) -> Self {
        Self::of(Kind::Illegal, 0, 0, 0, word)
    }
}
