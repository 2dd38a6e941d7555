// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compressed instructions: expansion from 16 bits to 32.
//!
//! Source: The RISC-V Instruction Set Manual, Volume I, chapter "C" Extension for Compressed
//! Instructions.

const OP_IMM: u32 = 0x13;
const OP_IMM_32: u32 = 0x1b;
const OP: u32 = 0x33;
const OP_32: u32 = 0x3b;
const LOAD: u32 = 0x03;
const STORE: u32 = 0x23;
const LOAD_FP: u32 = 0x07;
const STORE_FP: u32 = 0x27;
const LUI: u32 = 0x37;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
/// The stack pointer.
const SP: u32 = 2;

const fn register_form(opcode: u32, function: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    // Bit 3 of `function` is bit 30 of the word.
    opcode | rd << 7 | (function & 7) << 12 | rs1 << 15 | rs2 << 20 | (function >> 3) << 30
}

const fn immediate_form(opcode: u32, function: u32, rd: u32, rs1: u32, imm: u32) -> u32 {
    opcode | rd << 7 | function << 12 | rs1 << 15 | imm << 20
}

const fn store_form(opcode: u32, function: u32, rs1: u32, rs2: u32, imm: u32) -> u32 {
    opcode | (imm & 0x1f) << 7 | function << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5) << 25
}

const fn branch_form(function: u32, rs1: u32, imm: u32) -> u32 {
    let high = (imm >> 12 & 1) << 31 | (imm >> 5 & 0x3f) << 25;
    BRANCH | high | (imm >> 1 & 0xf) << 8 | (imm >> 11 & 1) << 7 | function << 12 | rs1 << 15
}

const fn jump_form(rd: u32, imm: u32) -> u32 {
    let high = (imm >> 20 & 1) << 31 | (imm >> 1 & 0x3ff) << 21;
    JAL | high | (imm >> 11 & 1) << 20 | (imm >> 12 & 0xff) << 12 | rd << 7
}

/// An instruction of 16 bits.
struct Parcel(u32);

impl Parcel {
    /// Bits `high` to `low`, shifted to begin at bit `to`.
    const fn field(&self, high: u32, low: u32, to: u32) -> u32 {
        ((self.0 >> low) & ((1 << (high - low + 1)) - 1)) << to
    }
    /// `value`, sign-extended from bit `sign` with bit 12 of the instruction.
    const fn signed(&self, value: u32, sign: u32) -> u32 {
        value | (self.field(12, 12, 0).wrapping_neg() << sign)
    }
    const fn rd(&self) -> u32 {
        self.field(11, 7, 0)
    }
    const fn rs2(&self) -> u32 {
        self.field(6, 2, 0)
    }
    /// The three-bit register in bits 9 to 7.
    const fn high(&self) -> u32 {
        8 + self.field(9, 7, 0)
    }
    /// The three-bit register in bits 4 to 2.
    const fn low(&self) -> u32 {
        8 + self.field(4, 2, 0)
    }
    /// The signed six-bit immediate.
    const fn six(&self) -> u32 {
        self.signed(self.field(6, 2, 0), 5)
    }
    /// The unsigned six-bit immediate: a shift amount.
    const fn amount(&self) -> u32 {
        self.field(6, 2, 0) | self.field(12, 12, 5)
    }
}

/// The 32-bit instruction of a compressed one, or `None` if it is reserved.
pub(super) fn expand(parcel: u16) -> Option<u32> {
    let c = Parcel(parcel.into());
    let function = c.field(15, 13, 0);
    match parcel & 3 {
        0 => memory_by_register(&c, function),
        1 => arithmetic(&c, function),
        2 => memory_by_stack(&c, function),
        _ => None,
    }
}

fn memory_by_register(c: &Parcel, function: u32) -> Option<u32> {
    let word = c.field(12, 10, 3) | c.field(6, 6, 2) | c.field(5, 5, 6);
    let double = c.field(12, 10, 3) | c.field(6, 5, 6);
    Some(match function {
        0 => {
            let imm = c.field(12, 11, 4) | c.field(10, 7, 6) | c.field(6, 6, 2) | c.field(5, 5, 3);
            return (imm != 0).then(|| immediate_form(OP_IMM, 0, c.low(), SP, imm));
        }
        1 => immediate_form(LOAD_FP, 3, c.low(), c.high(), double),
        2 => immediate_form(LOAD, 2, c.low(), c.high(), word),
        3 => immediate_form(LOAD, 3, c.low(), c.high(), double),
        5 => store_form(STORE_FP, 3, c.high(), c.low(), double),
        6 => store_form(STORE, 2, c.high(), c.low(), word),
        7 => store_form(STORE, 3, c.high(), c.low(), double),
        _ => return None,
    })
}

fn arithmetic(c: &Parcel, function: u32) -> Option<u32> {
    let rd = c.rd();
    Some(match function {
        0 => immediate_form(OP_IMM, 0, rd, rd, c.six()),
        1 if rd != 0 => immediate_form(OP_IMM_32, 0, rd, rd, c.six()),
        2 => immediate_form(OP_IMM, 0, rd, 0, c.six()),
        3 if rd == SP => {
            let imm = c.field(6, 6, 4) | c.field(5, 5, 6) | c.field(4, 3, 7) | c.field(2, 2, 5);
            let imm = c.signed(imm, 9);
            return (imm != 0).then(|| immediate_form(OP_IMM, 0, SP, SP, imm));
        }
        3 if c.six() != 0 => LUI | rd << 7 | c.six() << 12,
        4 => return two_registers(c),
        5 => {
            let imm = c.field(11, 11, 4)
                | c.field(10, 9, 8)
                | c.field(8, 8, 10)
                | c.field(7, 7, 6)
                | c.field(6, 6, 7)
                | c.field(5, 3, 1)
                | c.field(2, 2, 5);
            jump_form(0, c.signed(imm, 11))
        }
        6 | 7 => {
            let imm = c.field(11, 10, 3) | c.field(6, 5, 6) | c.field(4, 3, 1) | c.field(2, 2, 5);
            branch_form(function - 6, c.high(), c.signed(imm, 8))
        }
        _ => return None,
    })
}

fn two_registers(c: &Parcel) -> Option<u32> {
    let (rd, rs2) = (c.high(), c.low());
    Some(match (c.field(11, 10, 0), c.field(12, 12, 0), c.field(6, 5, 0)) {
        (0, _, _) => immediate_form(OP_IMM, 5, rd, rd, c.amount()),
        (1, _, _) => immediate_form(OP_IMM, 5, rd, rd, c.amount() | 0x400),
        (2, _, _) => immediate_form(OP_IMM, 7, rd, rd, c.six()),
        (_, 0, 0) => register_form(OP, 0b1000, rd, rd, rs2),
        (_, 0, 1) => register_form(OP, 4, rd, rd, rs2),
        (_, 0, 2) => register_form(OP, 6, rd, rd, rs2),
        (_, 0, _) => register_form(OP, 7, rd, rd, rs2),
        (_, _, 0) => register_form(OP_32, 0b1000, rd, rd, rs2),
        (_, _, 1) => register_form(OP_32, 0, rd, rd, rs2),
        _ => return None,
    })
}

fn memory_by_stack(c: &Parcel, function: u32) -> Option<u32> {
    let (rd, rs2) = (c.rd(), c.rs2());
    Some(match (function, c.field(12, 12, 0)) {
        (0, _) => immediate_form(OP_IMM, 1, rd, rd, c.amount()),
        (1, _) => immediate_form(LOAD_FP, 3, rd, SP, c.field(12, 12, 5) | c.field(6, 5, 3) | c.field(4, 2, 6)),
        (2, _) if rd != 0 => immediate_form(LOAD, 2, rd, SP, c.field(12, 12, 5) | c.field(6, 4, 2) | c.field(3, 2, 6)),
        (3, _) if rd != 0 => immediate_form(LOAD, 3, rd, SP, c.field(12, 12, 5) | c.field(6, 5, 3) | c.field(4, 2, 6)),
        (4, 0) if rs2 == 0 => return (rd != 0).then(|| immediate_form(JALR, 0, 0, rd, 0)),
        (4, 0) => register_form(OP, 0, rd, 0, rs2),
        // Without a register this is c.ebreak, which is refused.
        (4, _) if rs2 == 0 => return (rd != 0).then(|| immediate_form(JALR, 0, 1, rd, 0)),
        (4, _) => register_form(OP, 0, rd, rd, rs2),
        (5, _) => store_form(STORE_FP, 3, SP, rs2, c.field(12, 10, 3) | c.field(9, 7, 6)),
        (6, _) => store_form(STORE, 2, SP, rs2, c.field(12, 9, 2) | c.field(8, 7, 6)),
        (7, _) => store_form(STORE, 3, SP, rs2, c.field(12, 10, 3) | c.field(9, 7, 6)),
        _ => return None,
    })
}
