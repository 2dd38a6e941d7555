// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The RV64 decoder, called once for each address at which an instruction can begin.

use super::compressed;
use super::effect::AtomicKind;
use super::float::FloatOp;
use super::operation::{Kind, Operation};
use crate::{BranchKind, InstructionClass, RegisterNumber};

/// The dependence-tracking number of a general register, or none for x0.
const fn general(index: u8) -> RegisterNumber {
    if index == 0 { RegisterNumber::NONE } else { RegisterNumber(index) }
}

/// The dependence-tracking number of a floating-point register.
const fn float(index: u8) -> RegisterNumber {
    RegisterNumber(FLOAT + index)
}

/// Number of the first floating-point register.
const FLOAT: u8 = 32;

/// Decodes the instruction at `pc`, where `word` is. A compressed instruction uses only the low
/// half.
pub(super) fn decode(word: u32, pc: u64) -> Operation {
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
    const fn op(&self, kind: Kind) -> Operation {
        Operation::new(kind, self.rs1(), self.rs2())
    }

    /// An operation with a result.
    const fn to_rd(&self, kind: Kind, class: InstructionClass) -> Operation {
        let mut op = self.op(kind);
        op.instruction.class = class;
        op.instruction.destinations[0] = general(self.rd());
        if self.rd() != 0 {
            op.d = self.rd();
        }
        op
    }

    /// An operation on rs1 and an immediate, with a result.
    const fn immediate(&self, kind: Kind, imm: u64) -> Operation {
        let mut op = self.to_rd(kind, InstructionClass::Integer);
        op.instruction.sources[0] = general(self.rs1());
        op.imm = imm;
        op
    }

    /// An operation on rs1 and rs2, with a result.
    const fn registers(&self, kind: Kind, class: InstructionClass) -> Operation {
        let mut op = self.to_rd(kind, class);
        op.instruction.sources = [general(self.rs1()), general(self.rs2()), RegisterNumber::NONE];
        op
    }
}

/// Decodes a 32-bit instruction.
fn operation(word: &Word, pc: u64) -> Option<Operation> {
    let op = match word.bits(0, 7) {
        0x03 => return load(word),
        0x07 => return float_load(word),
        0x0f => return order(word),
        0x13 => return arithmetic_immediate(word),
        0x17 => {
            let mut op = word.to_rd(Kind::Constant, InstructionClass::Integer);
            op.imm = pc.wrapping_add(word.u());
            op
        }
        0x1b => return arithmetic_immediate_word(word),
        0x23 => return store(word),
        0x27 => return float_store(word),
        0x2f => return atomic(word),
        0x33 => return arithmetic(word),
        0x37 => {
            let mut op = word.to_rd(Kind::Constant, InstructionClass::Integer);
            op.imm = word.u();
            op
        }
        0x3b => return arithmetic_word(word),
        0x43 => return fused(word, FloatOp::MultiplyAdd),
        0x47 => return fused(word, FloatOp::MultiplySubtract),
        0x4b => return fused(word, FloatOp::NegatedMultiplySubtract),
        0x4f => return fused(word, FloatOp::NegatedMultiplyAdd),
        0x53 => return float_operation(word),
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

fn branch(word: &Word, pc: u64) -> Option<Operation> {
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
    op.instruction.sources = [general(word.rs1()), general(word.rs2()), RegisterNumber::NONE];
    op.imm = pc.wrapping_add(word.b());
    Some(op)
}

fn load(word: &Word) -> Option<Operation> {
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

fn store(word: &Word) -> Option<Operation> {
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
    op.instruction.sources = [general(word.rs1()), RegisterNumber::NONE, general(word.rs2())];
    op.imm = word.s();
    Some(op)
}

/// The fences, and the hint `pause`.
fn order(word: &Word) -> Option<Operation> {
    // The manual: a fence ignores the fields rd and rs1.
    let (kind, class) = match word.function() {
        _ if word.0 == 0x0100_000f => (Kind::Pause, InstructionClass::Integer),
        0 => (Kind::Fence, InstructionClass::Fence),
        1 => (Kind::FenceInstruction, InstructionClass::System),
        _ => return None,
    };
    let mut op = word.op(kind);
    op.instruction.class = class;
    op.imm = word.0.into();
    Some(op)
}

fn arithmetic_immediate(word: &Word) -> Option<Operation> {
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
        (5, 0x18) => word.immediate(Kind::RotateRightImm, amount),
        (function, _) => {
            let kind = match (function, word.bits(20, 12)) {
                (1, 0x600) => Kind::LeadingZeros,
                (1, 0x601) => Kind::TrailingZeros,
                (1, 0x602) => Kind::Ones,
                (1, 0x604) => Kind::SignExtendByte,
                (1, 0x605) => Kind::SignExtendHalf,
                (5, 0x287) => Kind::OrCombineBytes,
                (5, 0x6b8) => Kind::ReverseBytes,
                _ => return None,
            };
            word.immediate(kind, 0)
        }
    })
}

fn arithmetic_immediate_word(word: &Word) -> Option<Operation> {
    let amount = u64::from(word.rs2());
    Some(match (word.function(), word.bits(25, 7)) {
        (0, _) => word.immediate(Kind::AddImmWord, word.i()),
        (1, 0) => word.immediate(Kind::ShiftLeftImmWord, amount),
        (5, 0) => word.immediate(Kind::ShiftRightImmWord, amount),
        (5, 0x20) => word.immediate(Kind::ShiftRightSignedImmWord, amount),
        (5, 0x30) => word.immediate(Kind::RotateRightImmWord, amount),
        // The amount has six bits.
        (1, 4 | 5) => word.immediate(Kind::ShiftLeftImmUnsignedWord, word.bits(20, 6).into()),
        (1, 0x30) => {
            let kind = match word.rs2() {
                0 => Kind::LeadingZerosWord,
                1 => Kind::TrailingZerosWord,
                2 => Kind::OnesWord,
                _ => return None,
            };
            word.immediate(kind, 0)
        }
        _ => return None,
    })
}

fn arithmetic(word: &Word) -> Option<Operation> {
    let (multiply, divide) = (InstructionClass::Multiply, InstructionClass::Divide);
    let (kind, class) = match (word.bits(25, 7), word.function()) {
        (1, 0) => (Kind::Mul, multiply),
        (1, 1) => (Kind::MulHigh, multiply),
        (1, 2) => (Kind::MulHighSignedUnsigned, multiply),
        (1, 3) => (Kind::MulHighUnsigned, multiply),
        (1, 4) => (Kind::Div, divide),
        (1, 5) => (Kind::DivUnsigned, divide),
        (1, 6) => (Kind::Rem, divide),
        (1, 7) => (Kind::RemUnsigned, divide),
        (0x10, 2 | 4 | 6) => return Some(shift_add(word, Kind::ShiftAdd)),
        (high, function) => {
            let kind = match (high, function) {
                (0, 0) => Kind::Add,
                (0, 1) => Kind::ShiftLeft,
                (0, 2) => Kind::Less,
                (0, 3) => Kind::LessUnsigned,
                (0, 4) => Kind::Xor,
                (0, 5) => Kind::ShiftRight,
                (0, 6) => Kind::Or,
                (0, 7) => Kind::And,
                (5, 4) => Kind::Min,
                (5, 5) => Kind::MinUnsigned,
                (5, 6) => Kind::Max,
                (5, 7) => Kind::MaxUnsigned,
                (0x20, 0) => Kind::Sub,
                (0x20, 4) => Kind::Xnor,
                (0x20, 5) => Kind::ShiftRightSigned,
                (0x20, 6) => Kind::OrNot,
                (0x20, 7) => Kind::AndNot,
                (0x30, 1) => Kind::RotateLeft,
                (0x30, 5) => Kind::RotateRight,
                _ => return None,
            };
            (kind, InstructionClass::Integer)
        }
    };
    Some(word.registers(kind, class))
}

fn arithmetic_word(word: &Word) -> Option<Operation> {
    let (kind, class) = match (word.bits(25, 7), word.function()) {
        (0, 0) => (Kind::AddWord, InstructionClass::Integer),
        (0, 1) => (Kind::ShiftLeftWord, InstructionClass::Integer),
        (0, 5) => (Kind::ShiftRightWord, InstructionClass::Integer),
        (0x20, 0) => (Kind::SubWord, InstructionClass::Integer),
        (0x20, 5) => (Kind::ShiftRightSignedWord, InstructionClass::Integer),
        (0x30, 1) => (Kind::RotateLeftWord, InstructionClass::Integer),
        (0x30, 5) => (Kind::RotateRightWord, InstructionClass::Integer),
        (1, 0) => (Kind::MulWord, InstructionClass::Multiply),
        (1, 4) => (Kind::DivWord, InstructionClass::Divide),
        (1, 5) => (Kind::DivUnsignedWord, InstructionClass::Divide),
        (1, 6) => (Kind::RemWord, InstructionClass::Divide),
        (1, 7) => (Kind::RemUnsignedWord, InstructionClass::Divide),
        // add.uw is the form without a shift.
        (4, 0) | (0x10, 2 | 4 | 6) => return Some(shift_add(word, Kind::ShiftAddUnsignedWord)),
        (4, 4) if word.rs2() == 0 => return Some(word.immediate(Kind::ZeroExtendHalf, 0)),
        _ => return None,
    };
    Some(word.registers(kind, class))
}

/// An addition of Zba; the upper bits of the function field are the shift amount.
fn shift_add(word: &Word, kind: Kind) -> Operation {
    let mut op = word.registers(kind, InstructionClass::Integer);
    op.imm = (word.function() >> 1).into();
    op
}

fn atomic(word: &Word) -> Option<Operation> {
    let kind = match word.bits(27, 5) {
        0 => AtomicKind::Add,
        1 => AtomicKind::Swap,
        2 if word.rs2() == 0 => AtomicKind::LoadReserved,
        3 => AtomicKind::StoreConditional,
        4 => AtomicKind::Xor,
        8 => AtomicKind::Or,
        12 => AtomicKind::And,
        16 => AtomicKind::Min,
        20 => AtomicKind::Max,
        24 => AtomicKind::MinUnsigned,
        28 => AtomicKind::MaxUnsigned,
        _ => return None,
    };
    let access = match word.function() {
        2 => 4,
        3 => 8,
        _ => return None,
    };
    let class = if kind == AtomicKind::LoadReserved { InstructionClass::Load } else { InstructionClass::Atomic };
    let mut op = word.registers(Kind::Atomic(kind), class);
    op.instruction.sources = [general(word.rs1()), RegisterNumber::NONE, general(word.rs2())];
    op.instruction.access = access;
    // The ordering bits.
    op.imm = word.bits(25, 2).into();
    Some(op)
}

/// ecall, the waits of Zawrs, and Zicsr.
fn system(word: &Word) -> Option<Operation> {
    if word.0 == 0x73 {
        let mut op = word.op(Kind::Call);
        op.d = 10;
        op.instruction.class = InstructionClass::System;
        op.instruction.destinations[0] = RegisterNumber(10);
        return Some(op);
    }
    if matches!(word.0, 0x00d0_0073 | 0x01d0_0073) {
        let mut op = word.op(Kind::WaitOnReservation);
        op.instruction.class = InstructionClass::System;
        op.imm = word.bits(24, 1).into();
        return Some(op);
    }
    if matches!(word.function(), 0 | 4) {
        return None;
    }
    let mut op = word.to_rd(Kind::Csr, InstructionClass::System);
    if word.function() < 4 {
        op.instruction.sources[0] = general(word.rs1());
    }
    op.imm = word.0.into();
    Some(op)
}

fn float_load(word: &Word) -> Option<Operation> {
    let (kind, access) = match word.function() {
        2 => (Kind::LoadSingle, 4),
        3 => (Kind::LoadDouble, 8),
        _ => return None,
    };
    let mut op = word.immediate(kind, word.i());
    op.instruction.class = InstructionClass::Load;
    op.instruction.access = access;
    op.set_destination(float(word.rd()));
    Some(op)
}

fn float_store(word: &Word) -> Option<Operation> {
    let mut op = store(word).filter(|op| matches!(op.instruction.access, 4 | 8))?;
    op.b = FLOAT + word.rs2();
    op.instruction.sources[2] = float(word.rs2());
    Some(op)
}

/// An operation on values of the format that bits 26 and 25 name.
fn float_form(word: &Word, op: FloatOp, class: InstructionClass) -> Option<Operation> {
    let kind = match word.bits(25, 2) {
        0 => Kind::Single(op),
        1 => Kind::Double(op),
        _ => return None,
    };
    let mut op = word.op(kind);
    op.instruction.class = class;
    op.imm = word.0.into();
    Some(op)
}

/// Whether the field of the rounding mode is one of the five modes or dynamic.
const fn has_rounding(word: &Word) -> bool {
    !matches!(word.function(), 5 | 6)
}

/// The multiplications with addition: three operands.
fn fused(word: &Word, op: FloatOp) -> Option<Operation> {
    let mut op = float_form(word, op, InstructionClass::FloatFused).filter(|_| has_rounding(word))?;
    let sources = [word.rs1(), word.rs2(), word.bits(27, 5) as u8];
    [op.a, op.b, op.c] = sources.map(|index| FLOAT + index);
    op.instruction.sources = sources.map(float);
    op.set_destination(float(word.rd()));
    Some(op)
}

/// OP-FP.
fn float_operation(word: &Word) -> Option<Operation> {
    use FloatOp as F;
    use InstructionClass as C;
    // Which of destination, first and second source are general registers: bits 2, 1 and 0. Bit 3:
    // there is no second source.
    const FLOATS: u8 = 0;
    const ONE: u8 = 8;
    const TO_GENERAL: u8 = 4;
    const FROM_GENERAL: u8 = 2;
    let integers = [F::ToWord, F::ToWordUnsigned, F::ToLong, F::ToLongUnsigned];
    let from_integers = [F::FromWord, F::FromWordUnsigned, F::FromLong, F::FromLongUnsigned];
    let (function, rs2) = (word.function(), usize::from(word.rs2()));
    let mut has_mode = true;
    let (op, class, form) = match word.bits(27, 5) {
        0 => (F::Add, C::FloatAdd, FLOATS),
        1 => (F::Subtract, C::FloatAdd, FLOATS),
        2 => (F::Multiply, C::FloatMultiply, FLOATS),
        3 => (F::Divide, C::FloatDivide, FLOATS),
        8 if rs2 < 2 && rs2 as u32 != word.bits(25, 2) => (F::Convert, C::FloatConvert, ONE),
        11 if rs2 == 0 => (F::SquareRoot, C::FloatSquareRoot, ONE),
        24 => (*integers.get(rs2)?, C::FloatConvert, ONE | TO_GENERAL),
        26 => (*from_integers.get(rs2)?, C::FloatConvert, ONE | FROM_GENERAL),
        other => {
            has_mode = false;
            let (op, form) = match (other, function) {
                (4, 0) => (F::Sign, FLOATS),
                (4, 1) => (F::SignNegated, FLOATS),
                (4, 2) => (F::SignXor, FLOATS),
                (5, 0) => (F::Minimum, FLOATS),
                (5, 1) => (F::Maximum, FLOATS),
                (20, 0) => (F::LessOrEqual, TO_GENERAL),
                (20, 1) => (F::Less, TO_GENERAL),
                (20, 2) => (F::Equal, TO_GENERAL),
                (28, 0) if rs2 == 0 => (F::MoveToGeneral, ONE | TO_GENERAL),
                (28, 1) if rs2 == 0 => (F::Classify, ONE | TO_GENERAL),
                (30, 0) if rs2 == 0 => (F::MoveFromGeneral, ONE | FROM_GENERAL),
                _ => return None,
            };
            (op, C::FloatMove, form)
        }
    };
    if has_mode && !has_rounding(word) {
        return None;
    }
    let mut op = float_form(word, op, class)?;
    let first = if form & FROM_GENERAL != 0 { general(word.rs1()) } else { float(word.rs1()) };
    let second = if form & ONE != 0 { RegisterNumber::NONE } else { float(word.rs2()) };
    op.a = if form & FROM_GENERAL != 0 { word.rs1() } else { FLOAT + word.rs1() };
    op.b = FLOAT + word.rs2();
    op.instruction.sources = [first, second, RegisterNumber::NONE];
    op.set_destination(if form & TO_GENERAL != 0 { general(word.rd()) } else { float(word.rd()) });
    Some(op)
}
