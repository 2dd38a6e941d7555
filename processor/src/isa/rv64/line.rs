// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A line of the table, and the operation of a word that it fits to.

use super::kind::Kind;
use super::operation::{Operation, SINK};
use crate::{BranchKind, InstructionClass, RegisterNumber, StaticInstruction};

/// The format of an instruction: how [`Operation::imm`] is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    /// No immediate.
    R,
    I,
    S,
    /// The target of a conditional branch.
    B,
    U,
    /// As [`U`](Self::U), relative to the instruction.
    UPc,
    /// The target of a jump.
    J,
    /// An unsigned immediate of six bits.
    Amount,
    /// The ordering bits aq and rl.
    Ordering,
    /// The word.
    Word,
    /// A system call: no immediate, and a result in a0.
    Call,
}

/// The registers that a field of the word names.
#[derive(Clone, Copy)]
struct Bank {
    mask: u8,
    first: u8,
}

impl Bank {
    const NONE: Self = Self { mask: 0, first: 0 };
    const GENERAL: Self = Self { mask: 31, first: 0 };
    const FLOAT: Self = Self { mask: 31, first: 32 };

    /// The register of a field; 0 for none.
    const fn register(self, field: u32) -> u8 {
        (field as u8 & self.mask) + self.first
    }
}

/// A line of the table.
pub(super) struct Line {
    pub(super) mask: u32,
    pub(super) value: u32,
    pub(super) has_rounding: bool,
    rd: Bank,
    rs1: Bank,
    rs2: Bank,
    rs3: Bank,
    class: InstructionClass,
    format: Format,
    kind: Kind,
    /// Whether bit 25 tells single and double precision apart.
    has_precisions: bool,
}

impl Line {
    pub(super) const fn new(bits: &str, class: InstructionClass, format: Format, kind: Kind) -> Self {
        let (mask, value, has_rounding, has_precisions) = (0, 0, false, false);
        let (rd, rs1, rs2, rs3) = (Bank::NONE, Bank::NONE, Bank::NONE, Bank::NONE);
        let mut line = Self { mask, value, has_rounding, rd, rs1, rs2, rs3, class, format, kind, has_precisions };
        let bits = bits.as_bytes();
        let (mut place, mut count) = (0, 0);
        while place < bits.len() {
            let bit = bits[place];
            place += 1;
            match bit {
                b' ' => continue,
                b'0' | b'1' | b'.' => {}
                b'd' => line.rd = Bank::GENERAL,
                b'a' => line.rs1 = Bank::GENERAL,
                b'b' => line.rs2 = Bank::GENERAL,
                b'D' => line.rd = Bank::FLOAT,
                b'A' => line.rs1 = Bank::FLOAT,
                b'B' => line.rs2 = Bank::FLOAT,
                b'C' => line.rs3 = Bank::FLOAT,
                b'f' => line.has_precisions = true,
                b'r' => line.has_rounding = true,
                _ => panic!("a bit is one of 01.dabDABCfr"),
            }
            line.mask = line.mask << 1 | matches!(bit, b'0' | b'1') as u32;
            line.value = line.value << 1 | (bit == b'1') as u32;
            count += 1;
        }
        assert!(count == 32, "an instruction has 32 bits");
        line
    }

    /// The operation of a word that this line fits to.
    #[expect(clippy::inline_always, reason = "each line has a copy, in which the line is constant")]
    #[inline(always)]
    pub(super) fn operation(&self, word: u32, pc: u64) -> Operation {
        let rd = if self.format == Format::Call { 10 } else { self.rd.register(word >> 7) };
        let [rs1, rs2, rs3] =
            [(self.rs1, 15), (self.rs2, 20), (self.rs3, 27)].map(|(bank, at)| bank.register(word >> at));
        let kind = match self.kind {
            Kind::Single(op) if self.has_precisions && word >> 25 & 1 == 1 => Kind::Double(op),
            kind => kind,
        };
        // The manual's table of return-stack hints.
        let is_link = |register| matches!(register, 1 | 5);
        let branch = match kind {
            Kind::Jump | Kind::JumpRegister if is_link(rd) => BranchKind::Call,
            Kind::Jump => BranchKind::Jump,
            Kind::JumpRegister if is_link(rs1) => BranchKind::Return,
            Kind::JumpRegister => BranchKind::Indirect,
            _ if self.format == Format::B => BranchKind::Conditional,
            _ => BranchKind::None,
        };
        let is_access =
            matches!(self.class, InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic);
        let [destination, first, second, third] = [rd, rs1, rs2, rs3].map(number);
        let instruction = StaticInstruction {
            class: self.class,
            branch,
            // The data of an access is the last source.
            sources: if is_access { [first, third, second] } else { [first, second, third] },
            destinations: [destination, RegisterNumber::NONE, RegisterNumber::NONE],
            bytes: 4,
            access: if is_access { 1 << (word >> 12 & 3) } else { 0 },
        };
        let imm = immediate(self.format, word, pc);
        Operation { kind, d: if rd == 0 { SINK } else { rd }, a: rs1, b: rs2, c: rs3, imm, instruction }
    }
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
