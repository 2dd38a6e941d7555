// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The RV64 decoder, called once for each address at which an instruction can begin.

use super::compressed;
use super::operation::{Operation, SINK};
use super::table::{Entry, Format, Kind, Line};
use crate::{BranchKind, InstructionClass, RegisterNumber, StaticInstruction};

/// Decodes the instruction at `pc`, where `word` is. A compressed instruction uses only the low
/// half.
pub(super) fn decode(word: u32, pc: u64) -> Operation {
    let compressed = word & 3 != 3;
    let (bits, bytes) = if compressed { (word & 0xffff, 2) } else { (word, 4) };
    let full = if compressed { compressed::expand(bits as u16) } else { Some(word) };
    let known = full.and_then(|word| Some((Entry::of(word)?, word)));
    let (entry, word) = known.unwrap_or((&Entry::ILLEGAL, bits));
    let mut op = (entry.operation)(word, pc);
    op.instruction.bytes = bytes;
    op
}

/// The operation of a word that `line` fits to.
#[expect(clippy::inline_always, reason = "each line has a copy, in which the line is constant")]
#[inline(always)]
pub(super) fn operation(line: &Line, word: u32, pc: u64) -> Operation {
    let rd = if line.format == Format::Call { 10 } else { line.rd.register(word >> 7) };
    let [rs1, rs2, rs3] = [(line.rs1, 15), (line.rs2, 20), (line.rs3, 27)].map(|(bank, at)| bank.register(word >> at));
    let kind = match line.kind {
        Kind::Single(op) if line.has_precisions && word >> 25 & 1 == 1 => Kind::Double(op),
        kind => kind,
    };
    // The manual's table of return-stack hints.
    let is_link = |register| matches!(register, 1 | 5);
    let branch = match kind {
        Kind::Jump | Kind::JumpRegister if is_link(rd) => BranchKind::Call,
        Kind::Jump => BranchKind::Jump,
        Kind::JumpRegister if is_link(rs1) => BranchKind::Return,
        Kind::JumpRegister => BranchKind::Indirect,
        _ if line.format == Format::B => BranchKind::Conditional,
        _ => BranchKind::None,
    };
    let is_access = matches!(line.class, InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic);
    let [destination, first, second, third] = [rd, rs1, rs2, rs3].map(number);
    let instruction = StaticInstruction {
        class: line.class,
        branch,
        // The data of an access is the last source.
        sources: if is_access { [first, third, second] } else { [first, second, third] },
        destinations: [destination, RegisterNumber::NONE, RegisterNumber::NONE],
        bytes: 4,
        access: if is_access { 1 << (word >> 12 & 3) } else { 0 },
    };
    let imm = immediate(line.format, word, pc);
    Operation { kind, d: if rd == 0 { SINK } else { rd }, a: rs1, b: rs2, c: rs3, imm, instruction }
}

/// The dependence-tracking number of a register, where 0 is none.
#[inline]
const fn number(register: u8) -> RegisterNumber {
    if register == 0 { RegisterNumber::NONE } else { RegisterNumber(register) }
}

/// The immediate, sign-extended from bit 31 where it is signed.
#[inline]
fn immediate(format: Format, word: u32, pc: u64) -> u64 {
    let bits = |right: u32, count: u32| u64::from((word >> right) & ((1 << count) - 1));
    let signed = |right: u32| i64::from(word as i32 >> right) as u64;
    match format {
        Format::R | Format::Call => 0,
        Format::I => signed(20),
        Format::S => signed(25) << 5 | bits(7, 5),
        Format::B => pc.wrapping_add(signed(31) << 12 | bits(7, 1) << 11 | bits(25, 6) << 5 | bits(8, 4) << 1),
        Format::U => signed(12) << 12,
        Format::UPc => pc.wrapping_add(signed(12) << 12),
        Format::J => pc.wrapping_add(signed(31) << 20 | bits(12, 8) << 12 | bits(20, 1) << 11 | bits(21, 10) << 1),
        Format::Amount => bits(20, 6),
        Format::Ordering => bits(25, 2),
        Format::Word => word.into(),
    }
}
