// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The PPC32 decoder, called once for each word of a program.
//!
//! Reserved bits are checked: a set one makes the word illegal. The exception is BO, whose reserved
//! bits the manual requires to ignore.

use super::op::{CARRY, CTR, FIELD, Kind, LR, Op, ZERO, half};
use crate::{BranchKind, InstructionClass, RegisterNumber};

/// The dependence-tracking number of a general register, or none for [`ZERO`].
const fn general(index: u8) -> RegisterNumber {
    if index == ZERO { RegisterNumber::NONE } else { RegisterNumber(index) }
}

/// The condition field of a condition bit.
const fn field_of(bit: u8) -> RegisterNumber {
    RegisterNumber(FIELD + bit / 4)
}

/// A mask of ones from bit `begin` to bit `end`, counted from the left, with wraparound.
const fn mask(begin: u32, end: u32) -> u32 {
    let from = u32::MAX >> begin;
    let to = u32::MAX << (31 - end);
    if begin <= end { from & to } else { from | to }
}

/// The fields of a word, under their names in the manual.
struct Word(u32);

impl Word {
    const fn bits(&self, right: u32, count: u32) -> u32 {
        (self.0 >> right) & ((1 << count) - 1)
    }
    /// RT, RS, BT or BO.
    const fn d(&self) -> u8 {
        self.bits(21, 5) as u8
    }
    /// RA, BA or BI.
    const fn a(&self) -> u8 {
        self.bits(16, 5) as u8
    }
    /// RA, where 0 selects the constant zero.
    const fn a_or_zero(&self) -> u8 {
        if self.a() == 0 { ZERO } else { self.a() }
    }
    /// RB, BB or SH.
    const fn b(&self) -> u8 {
        self.bits(11, 5) as u8
    }
    const fn signed(&self) -> u32 {
        self.0 as i16 as i32 as u32
    }
    const fn unsigned(&self) -> u32 {
        self.0 & 0xffff
    }
    const fn record(&self) -> bool {
        self.0 & 1 != 0
    }
    /// The condition field that a comparison writes, or `None` if a reserved bit beside it is set.
    const fn compared(&self) -> Option<u8> {
        if self.bits(21, 2) == 0 { Some(self.bits(23, 3) as u8) } else { None }
    }
}

/// Decodes the word at `pc`.
pub(super) fn decode(word: u32, pc: u32) -> Op {
    operation(&Word(word), pc).unwrap_or(Op::illegal(word))
}

fn operation(word: &Word, pc: u32) -> Option<Op> {
    let (d, a) = (word.d(), word.a());
    let unary = |kind, imm| Op::of(kind, d, a, 0, imm).reads([RegisterNumber(a)]).writes(RegisterNumber(d));
    let logic = |kind, imm| Op::of(kind, a, d, 0, imm).reads([RegisterNumber(d)]).writes(RegisterNumber(a));
    let compare = |kind, imm| {
        let field = word.compared()?;
        Some(Op::of(kind, field, a, 0, imm).reads([RegisterNumber(a)]).writes(RegisterNumber(FIELD + field)))
    };
    let rotate = |kind| {
        let mask = mask(word.bits(6, 5), word.bits(1, 5));
        Op::of(kind, a, d, word.b(), mask).reads([RegisterNumber(d)]).writes(RegisterNumber(a)).record(word.record())
    };
    let add = |imm| {
        let a = word.a_or_zero();
        Op::of(Kind::AddImm, d, a, 0, imm).reads([general(a)]).writes(RegisterNumber(d))
    };
    let op = match word.bits(26, 6) {
        4 => return halves(word),
        7 => unary(Kind::MulImm, word.signed()).class(InstructionClass::Multiply),
        8 => unary(Kind::SubImmCarry, word.signed()).writes(CARRY),
        10 => return compare(Kind::CmpLogicalImm, word.unsigned()),
        11 => return compare(Kind::CmpImm, word.signed()),
        12 => unary(Kind::AddImmCarry, word.signed()).writes(CARRY),
        13 => unary(Kind::AddImmCarry, word.signed()).writes(CARRY).record(true),
        14 => add(word.signed()),
        15 => add(word.unsigned() << 16),
        16 => {
            let base = if word.bits(1, 1) == 1 { 0 } else { pc };
            let target = base.wrapping_add(word.signed() & !3);
            let op = branch_if(word, Kind::BranchIf, target, [BranchKind::Jump, BranchKind::Conditional]);
            // A call of the next instruction reads the pc. It has no return, so it must not push
            // the return stack.
            let call = op.variant && op.instruction.branch == BranchKind::Jump && target != pc.wrapping_add(4);
            if call { op.branch(BranchKind::Call) } else { op }
        }
        17 if word.0 == 0x4400_0002 => {
            Op::of(Kind::SystemCall, 0, 0, 0, 0).class(InstructionClass::System).writes(RegisterNumber(3))
        }
        18 => {
            let base = if word.bits(1, 1) == 1 { 0 } else { pc };
            let offset = ((word.0 << 6) as i32 >> 6) as u32 & !3;
            let mut op = Op::of(Kind::Branch, 0, 0, 0, base.wrapping_add(offset)).branch(BranchKind::Jump);
            op.variant = word.record();
            if op.variant { op.branch(BranchKind::Call).writes(LR) } else { op }
        }
        19 => return conditions(word),
        20 => rotate(Kind::RotateInsert).reads([RegisterNumber(d), RegisterNumber(a)]),
        21 => rotate(Kind::RotateMask),
        23 => rotate(Kind::RotateMaskBy).reads([RegisterNumber(d), RegisterNumber(word.b())]),
        24 => logic(Kind::OrImm, word.unsigned()),
        25 => logic(Kind::OrImm, word.unsigned() << 16),
        26 => logic(Kind::XorImm, word.unsigned()),
        27 => logic(Kind::XorImm, word.unsigned() << 16),
        28 => logic(Kind::AndImm, word.unsigned()).record(true),
        29 => logic(Kind::AndImm, word.unsigned() << 16).record(true),
        31 => return extended(word),
        opcode @ 32..=45 => {
            let kind = [
                Kind::LoadWord,
                Kind::LoadByte,
                Kind::StoreWord,
                Kind::StoreByte,
                Kind::LoadHalf,
                Kind::LoadHalfSigned,
                Kind::StoreHalf,
            ][(opcode as usize - 32) / 2];
            return access(word, kind, ZERO, word.signed(), opcode % 2 == 1);
        }
        _ => return None,
    };
    Some(op)
}

/// A load or store at the address RA (or zero) plus register `b` plus `imm`.
fn access(word: &Word, kind: Kind, b: u8, imm: u32, update: bool) -> Option<Op> {
    use Kind::{
        LoadByte, LoadHalf, LoadHalfReversed, LoadHalfSigned, LoadReserve, LoadWord, LoadWordReversed, StoreByte,
        StoreHalf, StoreHalfReversed,
    };
    let (d, a) = (word.d(), word.a_or_zero());
    let load = matches!(
        kind,
        LoadByte | LoadHalf | LoadHalfSigned | LoadWord | LoadHalfReversed | LoadWordReversed | LoadReserve
    );
    if update && (a == ZERO || (load && a == d)) {
        return None;
    }
    let mut op = Op::of(kind, d, a, b, imm);
    op.variant = update;
    op.instruction.access = match kind {
        LoadByte | StoreByte => 1,
        LoadHalf | LoadHalfSigned | LoadHalfReversed | StoreHalf | StoreHalfReversed => 2,
        _ => 4,
    };
    op = if load {
        op.class(InstructionClass::Load).reads([general(a), general(b)]).writes(RegisterNumber(d))
    } else {
        op.class(InstructionClass::Store).reads([general(a), general(b), RegisterNumber(d)])
    };
    Some(if update { op.writes(RegisterNumber(a)) } else { op })
}

/// A branch with a BO field; `kinds` are the branch kinds of its unconditional and its conditional
/// form.
fn branch_if(word: &Word, kind: Kind, target: u32, kinds: [BranchKind; 2]) -> Op {
    let (bo, bi) = (word.d(), word.a());
    let (always, keeps) = (bo & 0b1_0000 != 0, bo & 0b0_0100 != 0);
    let counter = if keeps && kind != Kind::CountIf { RegisterNumber::NONE } else { CTR };
    let target_register = if kind == Kind::ReturnIf { LR } else { RegisterNumber::NONE };
    let mut op = Op::of(kind, bo, bi, 0, target).branch(kinds[usize::from(!(always && keeps))]);
    op = op.reads([if always { RegisterNumber::NONE } else { field_of(bi) }, counter, target_register]);
    op.variant = word.record();
    if !keeps {
        op = op.writes(CTR);
    }
    if op.variant { op.writes(LR) } else { op }
}

/// Opcode 19: branches to registers, and operations on condition bits.
fn conditions(word: &Word) -> Option<Op> {
    let (d, a, b) = (word.d(), word.a(), word.b());
    let code = word.bits(1, 10);
    // Truth tables: bit i is the result for the input pair i (00, 01, 10, 11).
    let table = match code {
        33 => 0b0001,
        129 => 0b0100,
        193 => 0b0110,
        225 => 0b0111,
        257 => 0b1000,
        289 => 0b1001,
        417 => 0b1101,
        449 => 0b1110,
        16 if b == 0 => return Some(returning(word)),
        // bcctr with a decrement of CTR is an invalid form.
        528 if b == 0 && d & 0b0_0100 != 0 => {
            let op = branch_if(word, Kind::CountIf, 0, [BranchKind::Indirect; 2]);
            return Some(if op.variant && d & 0b1_0000 != 0 { op.branch(BranchKind::Call) } else { op });
        }
        0 if word.0 & 0x0063_f801 == 0 => {
            let (to, from) = (word.bits(23, 3) as u8, word.bits(18, 3) as u8);
            let op = Op::of(Kind::MoveField, to, from, 0, 0).reads([RegisterNumber(FIELD + from)]);
            return Some(op.writes(RegisterNumber(FIELD + to)));
        }
        150 if word.0 == 0x4c00_012c => return Some(Op::of(Kind::Nothing, 0, 0, 0, 0).class(InstructionClass::System)),
        _ => return None,
    };
    let op = Op::of(Kind::CrLogic, d, a, b, table).reads([field_of(a), field_of(b), field_of(d)]).writes(field_of(d));
    (!word.record()).then_some(op)
}

/// A branch to the link register: a return, unless it also sets the link register.
fn returning(word: &Word) -> Op {
    let op = branch_if(word, Kind::ReturnIf, 0, [BranchKind::Return, BranchKind::ConditionalReturn]);
    match (op.variant, op.instruction.branch) {
        (true, BranchKind::Return) => op.branch(BranchKind::Call),
        (true, _) => op.branch(BranchKind::Indirect),
        _ => op,
    }
}

/// Opcode 31.
fn extended(word: &Word) -> Option<Op> {
    if word.bits(1, 5) == 15 && !word.record() {
        let (d, a, b, bit) = (word.d(), word.a_or_zero(), word.b(), word.bits(6, 5));
        let op = Op::of(Kind::Select, d, a, b, bit).reads([general(a), RegisterNumber(b), field_of(bit as u8)]);
        return Some(op.writes(RegisterNumber(d)));
    }
    let code = word.bits(1, 10);
    arithmetic(word, code).or_else(|| logical(word, code)).or_else(|| indexed(word, code)).or_else(|| moves(word, code))
}

fn arithmetic(word: &Word, code: u32) -> Option<Op> {
    use Kind::{
        Add, AddCarry, AddExtended, AddMinusOne, AddZero, Div, DivUnsigned, MulHigh, MulHighUnsigned, MulLow, Neg, Sub,
        SubCarry, SubExtended, SubMinusOne, SubZero,
    };
    let (d, a, b) = (word.d(), word.a(), word.b());
    let kind = match code {
        266 => Add,
        10 => AddCarry,
        138 => AddExtended,
        234 => AddMinusOne,
        202 => AddZero,
        40 => Sub,
        8 => SubCarry,
        136 => SubExtended,
        232 => SubMinusOne,
        200 => SubZero,
        104 => Neg,
        235 => MulLow,
        75 => MulHigh,
        11 => MulHighUnsigned,
        491 => Div,
        459 => DivUnsigned,
        _ => return None,
    };
    let class = match kind {
        MulLow | MulHigh | MulHighUnsigned => InstructionClass::Multiply,
        Div | DivUnsigned => InstructionClass::Divide,
        _ => InstructionClass::Integer,
    };
    let alone = matches!(kind, AddMinusOne | AddZero | SubMinusOne | SubZero | Neg);
    if alone && b != 0 {
        return None;
    }
    let takes = matches!(kind, AddExtended | AddMinusOne | AddZero | SubExtended | SubMinusOne | SubZero);
    let second = if alone { RegisterNumber::NONE } else { RegisterNumber(b) };
    let carry = if takes { CARRY } else { RegisterNumber::NONE };
    let mut op =
        Op::of(kind, d, a, b, 0).class(class).reads([RegisterNumber(a), second, carry]).writes(RegisterNumber(d));
    if takes || matches!(kind, AddCarry | SubCarry) {
        op = op.writes(CARRY);
    }
    Some(op.record(word.record()))
}

fn logical(word: &Word, code: u32) -> Option<Op> {
    let (d, a, b) = (word.d(), word.a(), word.b());
    if matches!(code, 0 | 32) {
        let field = word.compared().filter(|_| !word.record())?;
        let kind = if code == 0 { Kind::Cmp } else { Kind::CmpLogical };
        return Some(
            Op::of(kind, field, a, b, 0)
                .reads([RegisterNumber(a), RegisterNumber(b)])
                .writes(RegisterNumber(FIELD + field)),
        );
    }
    let kind = match code {
        28 => Kind::And,
        60 => Kind::AndComplement,
        444 => Kind::Or,
        412 => Kind::OrComplement,
        316 => Kind::Xor,
        124 => Kind::Nor,
        476 => Kind::Nand,
        284 => Kind::Equivalent,
        24 => Kind::ShiftLeft,
        536 => Kind::ShiftRight,
        792 => Kind::ShiftRightSigned,
        824 => Kind::ShiftRightSignedImm,
        954 if b == 0 => Kind::ExtendByte,
        922 if b == 0 => Kind::ExtendHalf,
        26 if b == 0 => Kind::LeadingZeros,
        _ => return None,
    };
    let alone = matches!(kind, Kind::ShiftRightSignedImm | Kind::ExtendByte | Kind::ExtendHalf | Kind::LeadingZeros);
    let second = if alone || b == d { RegisterNumber::NONE } else { RegisterNumber(b) };
    let mut op = Op::of(kind, a, d, b, 0).reads([RegisterNumber(d), second]).writes(RegisterNumber(a));
    if matches!(kind, Kind::ShiftRightSigned | Kind::ShiftRightSignedImm) {
        op = op.writes(CARRY);
    }
    Some(op.record(word.record()))
}

/// Indexed loads and stores, and prefetch hints.
fn indexed(word: &Word, code: u32) -> Option<Op> {
    let conditional = code == 150;
    if word.record() != conditional {
        return None;
    }
    let (kind, update) = match code {
        23 => (Kind::LoadWord, false),
        55 => (Kind::LoadWord, true),
        87 => (Kind::LoadByte, false),
        119 => (Kind::LoadByte, true),
        279 => (Kind::LoadHalf, false),
        311 => (Kind::LoadHalf, true),
        343 => (Kind::LoadHalfSigned, false),
        375 => (Kind::LoadHalfSigned, true),
        151 => (Kind::StoreWord, false),
        183 => (Kind::StoreWord, true),
        215 => (Kind::StoreByte, false),
        247 => (Kind::StoreByte, true),
        407 => (Kind::StoreHalf, false),
        439 => (Kind::StoreHalf, true),
        534 => (Kind::LoadWordReversed, false),
        790 => (Kind::LoadHalfReversed, false),
        662 => (Kind::StoreWordReversed, false),
        918 => (Kind::StoreHalfReversed, false),
        20 => (Kind::LoadReserve, false),
        150 => (Kind::StoreConditional, false),
        // dcbt and dcbtst: hints, which cannot fault.
        278 | 246 => {
            let registers = [general(word.a_or_zero()), RegisterNumber(word.b())];
            return Some(Op::of(Kind::Nothing, 0, 0, 0, 0).reads(registers));
        }
        _ => return None,
    };
    let op = access(word, kind, word.b(), 0, update)?;
    Some(if conditional { op.class(InstructionClass::Atomic).writes(RegisterNumber(FIELD)) } else { op })
}

/// Moves to and from special registers, and memory barriers.
fn moves(word: &Word, code: u32) -> Option<Op> {
    let d = word.d();
    // The two halves of the register number are swapped in the encoding.
    let special = u32::from(word.a()) | u32::from(word.b()) << 5;
    let from = |kind, register| Op::of(kind, d, 0, 0, 0).reads([register]).writes(RegisterNumber(d));
    let to = |kind, register| Op::of(kind, 0, d, 0, 0).reads([RegisterNumber(d)]).writes(register);
    let time = |shift| Op::of(Kind::TimeBase, d, 0, 0, shift).class(InstructionClass::System).writes(RegisterNumber(d));
    let op = match (code, special) {
        _ if word.record() => return None,
        (339, 1) => from(Kind::MoveFromXer, CARRY),
        (339, 8) => from(Kind::MoveFromLr, LR),
        (339, 9) => from(Kind::MoveFromCtr, CTR),
        (339 | 371, 268) => time(0),
        (339 | 371, 269) => time(32),
        (467, 1) => to(Kind::MoveToXer, CARRY),
        (467, 8) => to(Kind::MoveToLr, LR),
        (467, 9) => to(Kind::MoveToCtr, CTR),
        (19, 0) => Op::of(Kind::MoveFromCr, d, 0, 0, 0).class(InstructionClass::System).writes(RegisterNumber(d)),
        (144, _) if word.0 & 0x0010_0800 == 0 => {
            let fields = word.bits(12, 8);
            let bits = (0..8)
                .filter(|field| fields >> (7 - field) & 1 == 1)
                .fold(0, |bits, field| bits | 0xf << (28 - 4 * field));
            let op = Op::of(Kind::MoveToCr, 0, d, 0, bits).reads([RegisterNumber(d)]);
            if fields.is_power_of_two() {
                op.writes(RegisterNumber(FIELD + 7 - fields.trailing_zeros() as u8))
            } else {
                op.class(InstructionClass::System)
            }
        }
        (512, 0) if word.bits(21, 2) == 0 => {
            let field = word.bits(23, 3) as u8;
            Op::of(Kind::MoveXerToField, field, 0, 0, 0)
                .reads([CARRY])
                .writes(RegisterNumber(FIELD + field))
                .writes(CARRY)
        }
        // sync, lwsync and eieio have no effect on values, because execution is sequentially
        // consistent.
        (598, 0) if d < 2 => Op::of(Kind::Nothing, 0, 0, 0, 0).class(InstructionClass::Fence),
        (854, 0) if d == 0 => Op::of(Kind::Nothing, 0, 0, 0, 0).class(InstructionClass::Fence),
        _ => return None,
    };
    Some(op)
}

/// Opcode 4: the half-word multiplications of the 405 and 440.
fn halves(word: &Word) -> Option<Op> {
    use half::{HIGH_A, HIGH_B, NEGATIVE, UNSIGNED};
    let (d, a, b) = (word.d(), word.a(), word.b());
    // The "cross" forms multiply the low half of RA by the high half of RB.
    let (adds, imm) = match word.bits(1, 10) {
        168 => (false, HIGH_B),
        136 => (false, HIGH_B | UNSIGNED),
        40 => (false, HIGH_A | HIGH_B),
        8 => (false, HIGH_A | HIGH_B | UNSIGNED),
        424 => (false, 0),
        392 => (false, UNSIGNED),
        172 => (true, HIGH_B),
        140 => (true, HIGH_B | UNSIGNED),
        44 => (true, HIGH_A | HIGH_B),
        12 => (true, HIGH_A | HIGH_B | UNSIGNED),
        428 => (true, 0),
        396 => (true, UNSIGNED),
        174 => (true, HIGH_B | NEGATIVE),
        46 => (true, HIGH_A | HIGH_B | NEGATIVE),
        430 => (true, NEGATIVE),
        _ => return None,
    };
    let (kind, third) = if adds { (Kind::MacHalf, RegisterNumber(d)) } else { (Kind::MulHalf, RegisterNumber::NONE) };
    let op = Op::of(kind, d, a, b, imm).class(InstructionClass::Multiply).reads([
        RegisterNumber(a),
        RegisterNumber(b),
        third,
    ]);
    Some(op.writes(RegisterNumber(d)).record(word.record()))
}
