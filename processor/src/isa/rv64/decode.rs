// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The RV64 decoder, called once for each address at which an instruction can begin.

use super::compressed;
use crate::{BranchKind, InstructionClass, Register, StaticInstruction};

/// Index of the register that takes results for x0, and that no instruction reads.
const SINK: u8 = 32;

/// The operation. `d`, `a`, `b` and `imm` are fields of [`Op`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An illegal instruction; `imm` is the word.
    Illegal,
    /// The result is `imm`: lui and auipc.
    Constant,
    /// `imm` is the target.
    Jump,
    JumpRegister,
    /// `imm` is the target, as in all branches.
    BranchEqual,
    BranchNotEqual,
    BranchLess,
    BranchNotLess,
    BranchLessUnsigned,
    BranchNotLessUnsigned,
    LoadByte,
    LoadHalf,
    LoadWord,
    LoadDouble,
    LoadByteUnsigned,
    LoadHalfUnsigned,
    LoadWordUnsigned,
    StoreByte,
    StoreHalf,
    StoreWord,
    StoreDouble,
    AddImm,
    LessImm,
    LessUnsignedImm,
    XorImm,
    OrImm,
    AndImm,
    ShiftLeftImm,
    ShiftRightImm,
    ShiftRightSignedImm,
    AddImmWord,
    ShiftLeftImmWord,
    ShiftRightImmWord,
    ShiftRightSignedImmWord,
    Add,
    Sub,
    ShiftLeft,
    Less,
    LessUnsigned,
    Xor,
    ShiftRight,
    ShiftRightSigned,
    Or,
    And,
    AddWord,
    SubWord,
    ShiftLeftWord,
    ShiftRightWord,
    ShiftRightSignedWord,
    Mul,
    MulHigh,
    MulHighSignedUnsigned,
    MulHighUnsigned,
    Div,
    DivUnsigned,
    Rem,
    RemUnsigned,
    MulWord,
    DivWord,
    DivUnsignedWord,
    RemWord,
    RemUnsignedWord,
    LoadReserveWord,
    LoadReserveDouble,
    StoreConditionalWord,
    StoreConditionalDouble,
    /// `imm` is the number of the operation: the five highest bits of the word.
    AtomicWord,
    AtomicDouble,
    Cycle,
    Retired,
    /// No effect on registers and memory.
    Nothing,
    Call,
}

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Op {
    pub(super) kind: Kind,
    pub(super) d: u8,
    pub(super) a: u8,
    pub(super) b: u8,
    pub(super) imm: u64,
    pub(super) instruction: StaticInstruction,
}

/// The dependence-tracking number of a general register, or none for x0.
const fn general(index: u8) -> Register {
    if index == 0 { Register::NONE } else { Register(index) }
}

/// Decodes the instruction at `pc`, where `word` is. A compressed instruction uses only the low
/// half.
pub(super) fn decode(word: u32, pc: u64) -> Op {
    let compressed = word & 3 != 3;
    let (bits, bytes) = if compressed { (word & 0xffff, 2) } else { (word, 4) };
    let full = if compressed { compressed::expand(bits as u16) } else { Some(word) };
    let mut op = full.and_then(|full| operation(&Word(full), pc)).unwrap_or_else(|| {
        let mut op = Word(0).op(Kind::Illegal);
        op.imm = bits.into();
        op
    });
    op.instruction.bytes = bytes;
    op
}

/// The fields of a word, under their names in the manual.
struct Word(u32);

impl Word {
    const fn bits(&self, right: u32, count: u32) -> u32 {
        (self.0 >> right) & ((1 << count) - 1)
    }
    const fn rd(&self) -> u8 {
        self.bits(7, 5) as u8
    }
    const fn rs1(&self) -> u8 {
        self.bits(15, 5) as u8
    }
    const fn rs2(&self) -> u8 {
        self.bits(20, 5) as u8
    }
    const fn function(&self) -> u32 {
        self.bits(12, 3)
    }
    /// Immediates are signed; the sign bit is always bit 31.
    const fn i(&self) -> u64 {
        (self.0 as i32 >> 20) as u64
    }
    const fn s(&self) -> u64 {
        ((self.0 as i32 >> 25 << 5) | self.bits(7, 5) as i32) as u64
    }
    const fn b(&self) -> u64 {
        let low = self.bits(7, 1) << 11 | self.bits(25, 6) << 5 | self.bits(8, 4) << 1;
        ((self.0 as i32 >> 31 << 12) | low as i32) as u64
    }
    const fn u(&self) -> u64 {
        (self.0 & 0xffff_f000) as i32 as u64
    }
    const fn j(&self) -> u64 {
        let low = self.bits(12, 8) << 12 | self.bits(20, 1) << 11 | self.bits(21, 10) << 1;
        ((self.0 as i32 >> 31 << 20) | low as i32) as u64
    }

    /// An operation without operands.
    const fn op(&self, kind: Kind) -> Op {
        let instruction = StaticInstruction {
            class: InstructionClass::Integer,
            branch: BranchKind::None,
            sources: [Register::NONE; 3],
            destinations: [Register::NONE; 3],
            bytes: 4,
            access: 0,
        };
        Op { kind, d: SINK, a: self.rs1(), b: self.rs2(), imm: 0, instruction }
    }

    /// An operation with a result.
    const fn to_rd(&self, kind: Kind, class: InstructionClass) -> Op {
        let mut op = self.op(kind);
        op.instruction.class = class;
        op.instruction.destinations[0] = general(self.rd());
        if self.rd() != 0 {
            op.d = self.rd();
        }
        op
    }

    /// An operation on rs1 and an immediate, with a result.
    const fn immediate(&self, kind: Kind, imm: u64) -> Op {
        let mut op = self.to_rd(kind, InstructionClass::Integer);
        op.instruction.sources[0] = general(self.rs1());
        op.imm = imm;
        op
    }

    /// An operation on rs1 and rs2, with a result.
    const fn registers(&self, kind: Kind, class: InstructionClass) -> Op {
        let mut op = self.to_rd(kind, class);
        op.instruction.sources = [general(self.rs1()), general(self.rs2()), Register::NONE];
        op
    }
}

/// Decodes a 32-bit instruction.
///
/// Planned: F and D will use the major opcodes 0x07, 0x27, 0x43, 0x47, 0x4b, 0x4f and 0x53 here,
/// the dependence-tracking registers 32 to 63 and 64 (status), and four more encodings in
/// `compressed.rs`.
fn operation(word: &Word, pc: u64) -> Option<Op> {
    let op = match word.bits(0, 7) {
        0x03 => return load(word),
        0x0f => {
            // Execution is sequentially consistent and code cannot change, so both fences affect
            // only time.
            let class = match word.function() {
                0 => InstructionClass::Fence,
                1 => InstructionClass::System,
                _ => return None,
            };
            let mut op = word.op(Kind::Nothing);
            op.instruction.class = class;
            op
        }
        0x13 => return arithmetic_immediate(word),
        0x17 => {
            let mut op = word.to_rd(Kind::Constant, InstructionClass::Integer);
            op.imm = pc.wrapping_add(word.u());
            op
        }
        0x1b => return arithmetic_immediate_word(word),
        0x23 => return store(word),
        0x2f => return atomic(word),
        0x33 => return arithmetic(word),
        0x37 => {
            let mut op = word.to_rd(Kind::Constant, InstructionClass::Integer);
            op.imm = word.u();
            op
        }
        0x3b => return arithmetic_word(word),
        0x63 => return branch(word, pc),
        0x67 if word.function() == 0 => {
            let mut op = word.immediate(Kind::JumpRegister, word.i());
            op.instruction.branch = match (is_link(word.rd()), is_link(word.rs1())) {
                (true, _) => BranchKind::Call,
                (false, true) => BranchKind::Return,
                (false, false) => BranchKind::Indirect,
            };
            op
        }
        0x6f => {
            let mut op = word.to_rd(Kind::Jump, InstructionClass::Integer);
            op.imm = pc.wrapping_add(word.j());
            op.instruction.branch = if is_link(word.rd()) { BranchKind::Call } else { BranchKind::Jump };
            op
        }
        0x73 => return system(word),
        _ => return None,
    };
    Some(op)
}

/// Whether the register is a link register, x1 or x5, by the manual's table of return-stack hints.
const fn is_link(register: u8) -> bool {
    matches!(register, 1 | 5)
}

fn branch(word: &Word, pc: u64) -> Option<Op> {
    let kind = match word.function() {
        0 => Kind::BranchEqual,
        1 => Kind::BranchNotEqual,
        4 => Kind::BranchLess,
        5 => Kind::BranchNotLess,
        6 => Kind::BranchLessUnsigned,
        7 => Kind::BranchNotLessUnsigned,
        _ => return None,
    };
    let mut op = word.op(kind);
    op.instruction.branch = BranchKind::Conditional;
    op.instruction.sources = [general(word.rs1()), general(word.rs2()), Register::NONE];
    op.imm = pc.wrapping_add(word.b());
    Some(op)
}

fn load(word: &Word) -> Option<Op> {
    let (kind, access) = match word.function() {
        0 => (Kind::LoadByte, 1),
        1 => (Kind::LoadHalf, 2),
        2 => (Kind::LoadWord, 4),
        3 => (Kind::LoadDouble, 8),
        4 => (Kind::LoadByteUnsigned, 1),
        5 => (Kind::LoadHalfUnsigned, 2),
        6 => (Kind::LoadWordUnsigned, 4),
        _ => return None,
    };
    let mut op = word.immediate(kind, word.i());
    op.instruction.class = InstructionClass::Load;
    op.instruction.access = access;
    Some(op)
}

fn store(word: &Word) -> Option<Op> {
    let (kind, access) = match word.function() {
        0 => (Kind::StoreByte, 1),
        1 => (Kind::StoreHalf, 2),
        2 => (Kind::StoreWord, 4),
        3 => (Kind::StoreDouble, 8),
        _ => return None,
    };
    let mut op = word.op(kind);
    op.instruction.class = InstructionClass::Store;
    op.instruction.access = access;
    op.instruction.sources = [general(word.rs1()), Register::NONE, general(word.rs2())];
    op.imm = word.s();
    Some(op)
}

fn arithmetic_immediate(word: &Word) -> Option<Op> {
    let amount = u64::from(word.bits(20, 6));
    Some(match (word.function(), word.bits(26, 6)) {
        (0, _) => word.immediate(Kind::AddImm, word.i()),
        (2, _) => word.immediate(Kind::LessImm, word.i()),
        (3, _) => word.immediate(Kind::LessUnsignedImm, word.i()),
        (4, _) => word.immediate(Kind::XorImm, word.i()),
        (6, _) => word.immediate(Kind::OrImm, word.i()),
        (7, _) => word.immediate(Kind::AndImm, word.i()),
        (1, 0) => word.immediate(Kind::ShiftLeftImm, amount),
        (5, 0) => word.immediate(Kind::ShiftRightImm, amount),
        (5, 0x10) => word.immediate(Kind::ShiftRightSignedImm, amount),
        _ => return None,
    })
}

fn arithmetic_immediate_word(word: &Word) -> Option<Op> {
    let amount = u64::from(word.rs2());
    Some(match (word.function(), word.bits(25, 7)) {
        (0, _) => word.immediate(Kind::AddImmWord, word.i()),
        (1, 0) => word.immediate(Kind::ShiftLeftImmWord, amount),
        (5, 0) => word.immediate(Kind::ShiftRightImmWord, amount),
        (5, 0x20) => word.immediate(Kind::ShiftRightSignedImmWord, amount),
        _ => return None,
    })
}

fn arithmetic(word: &Word) -> Option<Op> {
    let (kind, class) = match (word.bits(25, 7), word.function()) {
        (0, 0) => (Kind::Add, InstructionClass::Integer),
        (0, 1) => (Kind::ShiftLeft, InstructionClass::Integer),
        (0, 2) => (Kind::Less, InstructionClass::Integer),
        (0, 3) => (Kind::LessUnsigned, InstructionClass::Integer),
        (0, 4) => (Kind::Xor, InstructionClass::Integer),
        (0, 5) => (Kind::ShiftRight, InstructionClass::Integer),
        (0, 6) => (Kind::Or, InstructionClass::Integer),
        (0, 7) => (Kind::And, InstructionClass::Integer),
        (0x20, 0) => (Kind::Sub, InstructionClass::Integer),
        (0x20, 5) => (Kind::ShiftRightSigned, InstructionClass::Integer),
        (1, 0) => (Kind::Mul, InstructionClass::Multiply),
        (1, 1) => (Kind::MulHigh, InstructionClass::Multiply),
        (1, 2) => (Kind::MulHighSignedUnsigned, InstructionClass::Multiply),
        (1, 3) => (Kind::MulHighUnsigned, InstructionClass::Multiply),
        (1, 4) => (Kind::Div, InstructionClass::Divide),
        (1, 5) => (Kind::DivUnsigned, InstructionClass::Divide),
        (1, 6) => (Kind::Rem, InstructionClass::Divide),
        (1, 7) => (Kind::RemUnsigned, InstructionClass::Divide),
        _ => return None,
    };
    Some(word.registers(kind, class))
}

fn arithmetic_word(word: &Word) -> Option<Op> {
    let (kind, class) = match (word.bits(25, 7), word.function()) {
        (0, 0) => (Kind::AddWord, InstructionClass::Integer),
        (0, 1) => (Kind::ShiftLeftWord, InstructionClass::Integer),
        (0, 5) => (Kind::ShiftRightWord, InstructionClass::Integer),
        (0x20, 0) => (Kind::SubWord, InstructionClass::Integer),
        (0x20, 5) => (Kind::ShiftRightSignedWord, InstructionClass::Integer),
        (1, 0) => (Kind::MulWord, InstructionClass::Multiply),
        (1, 4) => (Kind::DivWord, InstructionClass::Divide),
        (1, 5) => (Kind::DivUnsignedWord, InstructionClass::Divide),
        (1, 6) => (Kind::RemWord, InstructionClass::Divide),
        (1, 7) => (Kind::RemUnsignedWord, InstructionClass::Divide),
        _ => return None,
    };
    Some(word.registers(kind, class))
}

/// The A extension. The ordering bits (aq, rl) have no effect, because execution is sequentially
/// consistent.
fn atomic(word: &Word) -> Option<Op> {
    use Kind::{
        AtomicDouble, AtomicWord, LoadReserveDouble, LoadReserveWord, StoreConditionalDouble, StoreConditionalWord,
    };
    let which = word.bits(27, 5);
    let (kinds, class) = match which {
        2 if word.rs2() == 0 => ([LoadReserveWord, LoadReserveDouble], InstructionClass::Load),
        3 => ([StoreConditionalWord, StoreConditionalDouble], InstructionClass::Atomic),
        0 | 1 | 4 | 8 | 12 | 16 | 20 | 24 | 28 => ([AtomicWord, AtomicDouble], InstructionClass::Atomic),
        _ => return None,
    };
    let wide = match word.function() {
        2 => 0,
        3 => 1,
        _ => return None,
    };
    let mut op = word.registers(kinds[wide], class);
    op.instruction.sources = [general(word.rs1()), Register::NONE, general(word.rs2())];
    op.instruction.access = [4, 8][wide];
    op.imm = which.into();
    Some(op)
}

/// ecall, and reads of the Zicntr counters; `time` counts cycles, as `cycle` does.
fn system(word: &Word) -> Option<Op> {
    if word.0 == 0x73 {
        let mut op = word.op(Kind::Call);
        op.d = 10;
        op.instruction.class = InstructionClass::System;
        op.instruction.destinations[0] = Register(10);
        return Some(op);
    }
    // csrrs, csrrc and their immediate forms, with x0 or 0: any other operand would write the
    // register.
    if !matches!(word.function(), 2 | 3 | 6 | 7) || word.rs1() != 0 {
        return None;
    }
    let kind = match word.bits(20, 12) {
        0xc00 | 0xc01 => Kind::Cycle,
        0xc02 => Kind::Retired,
        _ => return None,
    };
    Some(word.to_rd(kind, InstructionClass::System))
}
