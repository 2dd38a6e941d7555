// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Encodings of the instructions that the tests use, and programs made of them.

use mb_processor::system::NoDevice;
use mb_processor::{FixedLatency, Memory};

/// Address of the first instruction.
pub(crate) const TEXT: u64 = 0x1_0000;
/// Address of the data.
pub(crate) const DATA: u64 = 0x2_0000;
/// Bytes of memory from `TEXT` on.
pub(crate) const BYTES: usize = 0x1_4000;

pub(crate) const fn r(funct7: u32, rs2: u32, rs1: u32, funct3: u32, rd: u32, opcode: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

pub(crate) const fn i(imm: i32, rs1: u32, funct3: u32, rd: u32, opcode: u32) -> u32 {
    (imm as u32) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

pub(crate) const fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    i(imm, rs1, 0, rd, 0x13)
}

pub(crate) const fn slli(rd: u32, rs1: u32, amount: i32) -> u32 {
    i(amount, rs1, 1, rd, 0x13)
}

pub(crate) const fn srli(rd: u32, rs1: u32, amount: i32) -> u32 {
    i(amount, rs1, 5, rd, 0x13)
}

pub(crate) const fn andi(rd: u32, rs1: u32, imm: i32) -> u32 {
    i(imm, rs1, 7, rd, 0x13)
}

pub(crate) const fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(0, rs2, rs1, 0, rd, 0x33)
}

pub(crate) const fn xor(rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(0, rs2, rs1, 4, rd, 0x33)
}

pub(crate) const fn mul(rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(1, rs2, rs1, 0, rd, 0x33)
}

pub(crate) const fn mulw(rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(1, rs2, rs1, 0, rd, 0x3b)
}

pub(crate) const fn divu(rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(1, rs2, rs1, 5, rd, 0x33)
}

pub(crate) const fn lui(rd: u32, value: u32) -> u32 {
    (value & 0xffff_f000) | rd << 7 | 0x37
}

/// A load; `funct3` is 0 to 6: lb, lh, lw, ld, lbu, lhu, lwu.
pub(crate) const fn load(funct3: u32, rd: u32, rs1: u32, imm: i32) -> u32 {
    i(imm, rs1, funct3, rd, 0x03)
}

pub(crate) const fn ld(rd: u32, rs1: u32, imm: i32) -> u32 {
    load(3, rd, rs1, imm)
}

/// A store; `funct3` is 0 to 3: sb, sh, sw, sd.
pub(crate) const fn store(funct3: u32, rs2: u32, rs1: u32, imm: i32) -> u32 {
    let imm = imm as u32 & 0xfff;
    r(imm >> 5, rs2, rs1, funct3, imm & 31, 0x23)
}

pub(crate) const fn sd(rs2: u32, rs1: u32, imm: i32) -> u32 {
    store(3, rs2, rs1, imm)
}

/// A branch; `funct3` is 0 (beq), 1 (bne), 4 (blt), 5 (bge), 6 (bltu) or 7 (bgeu).
pub(crate) const fn branch(funct3: u32, rs1: u32, rs2: u32, offset: i32) -> u32 {
    let imm = offset as u32;
    let high = (imm >> 12 & 1) << 6 | (imm >> 5 & 63);
    let low = (imm >> 1 & 15) << 1 | (imm >> 11 & 1);
    r(high, rs2, rs1, funct3, low, 0x63)
}

pub(crate) const fn bne(rs1: u32, rs2: u32, offset: i32) -> u32 {
    branch(1, rs1, rs2, offset)
}

pub(crate) const fn jal(rd: u32, offset: i32) -> u32 {
    let imm = offset as u32;
    (imm >> 20 & 1) << 31 | (imm >> 1 & 0x3ff) << 21 | (imm >> 11 & 1) << 20 | (imm & 0xff000) | rd << 7 | 0x6f
}

pub(crate) const fn jalr(rd: u32, rs1: u32, imm: i32) -> u32 {
    i(imm, rs1, 0, rd, 0x67)
}

/// An atomic of 4 (`funct3` 2) or 8 bytes (3), with acquire and release; `which` is the operation: 2
/// (lr), 3 (sc), 1 (swap), 0 (add), 4 (xor), ...
pub(crate) const fn atomic(which: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(which << 2 | 3, rs2, rs1, funct3, rd, 0x2f)
}

/// fence rw, rw.
pub(crate) const FENCE: u32 = 0x0330_000f;
pub(crate) const FENCE_I: u32 = 0x0000_100f;
pub(crate) const ECALL: u32 = 0x73;
pub(crate) const WRS_STO: u32 = 0x01d0_0073;
pub(crate) const WRS_NTO: u32 = 0x00d0_0073;
pub(crate) const PAUSE: u32 = 0x0100_000f;
pub(crate) const NOP: u32 = addi(0, 0, 0);

/// rdcycle.
pub(crate) const fn cycle(rd: u32) -> u32 {
    i(0xc00_u32 as i32, 0, 2, rd, 0x73)
}

/// An access to CSR `number`; `funct3` is 1 (csrrw), 2 (csrrs), 3 (csrrc), or 4 more for an immediate.
pub(crate) const fn csr(funct3: u32, operand: u32, number: i32, rd: u32) -> u32 {
    i(number, operand, funct3, rd, 0x73)
}

/// exit(a0).
pub(crate) fn exit() -> Vec<u32> {
    vec![addi(17, 0, 93), ECALL]
}

/// Loads a small constant address.
pub(crate) fn address(rd: u32, value: u64) -> Vec<u32> {
    let low = (value as i32) << 20 >> 20;
    vec![lui(rd, (value as i32 - low) as u32), addi(rd, rd, low)]
}

/// A memory that holds a program.
pub(crate) fn memory(words: &[u32]) -> Memory {
    let mut memory = Memory::new(TEXT, BYTES);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(TEXT, &bytes).unwrap();
    memory
}

/// The same for a chip, with fixed latencies of data and fetch.
pub(crate) fn flat(words: &[u32], (cores, contexts): (usize, usize), latency: u64, fetch: u64) -> FixedLatency {
    FixedLatency::new(memory(words), NoDevice, cores, contexts, latency, fetch)
}
