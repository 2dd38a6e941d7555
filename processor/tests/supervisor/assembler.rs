// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Encodings of the instructions that the tests of this folder use.

pub(crate) const ECALL: u32 = 0x73;
pub(crate) const EBREAK: u32 = 0x0010_0073;
pub(crate) const SRET: u32 = 0x1020_0073;
pub(crate) const WFI: u32 = 0x1050_0073;
pub(crate) const FENCE_I: u32 = 0x100f;
pub(crate) const NOP: u32 = 0x13;

pub(crate) const fn csrrw(rd: u32, csr: u16, rs1: u32) -> u32 {
    (csr as u32) << 20 | rs1 << 15 | 1 << 12 | rd << 7 | 0x73
}

pub(crate) const fn csrrs(rd: u32, csr: u16, rs1: u32) -> u32 {
    (csr as u32) << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x73
}

pub(crate) const fn addi(rd: u32, rs1: u32, value: i32) -> u32 {
    (value as u32) << 20 | rs1 << 15 | rd << 7 | 0x13
}

/// ld rd, offset(rs1)
pub(crate) const fn ld(rd: u32, offset: i32, rs1: u32) -> u32 {
    (offset as u32) << 20 | rs1 << 15 | 3 << 12 | rd << 7 | 0x03
}

/// sd rs2, offset(rs1)
pub(crate) const fn sd(rs2: u32, offset: i32, rs1: u32) -> u32 {
    (offset as u32 >> 5 & 127) << 25 | rs2 << 20 | rs1 << 15 | 3 << 12 | (offset as u32 & 31) << 7 | 0x23
}

/// jalr x0, 0(rs1)
pub(crate) const fn jr(rs1: u32) -> u32 {
    rs1 << 15 | 0x67
}

/// jal x0, offset
pub(crate) const fn j(offset: i32) -> u32 {
    let bits = offset as u32;
    (bits >> 20 & 1) << 31 | (bits >> 1 & 0x3ff) << 21 | (bits >> 11 & 1) << 20 | (bits >> 12 & 0xff) << 12 | 0x6f
}

pub(crate) const fn amoadd_w(rd: u32, rs2: u32, rs1: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x2f
}

pub(crate) const fn lr_w(rd: u32, rs1: u32) -> u32 {
    2 << 27 | rs1 << 15 | 2 << 12 | rd << 7 | 0x2f
}

pub(crate) const fn sfence_vma(rs1: u32, rs2: u32) -> u32 {
    9 << 25 | rs2 << 20 | rs1 << 15 | 0x73
}

/// fmv.d.x rd, rs1
pub(crate) const fn fmv_d_x(rd: u32, rs1: u32) -> u32 {
    0x79 << 25 | rs1 << 15 | rd << 7 | 0x53
}

/// fld rd, offset(rs1)
pub(crate) const fn fld(rd: u32, offset: i32, rs1: u32) -> u32 {
    (offset as u32) << 20 | rs1 << 15 | 3 << 12 | rd << 7 | 0x07
}

/// fsd rs2, offset(rs1)
pub(crate) const fn fsd(rs2: u32, offset: i32, rs1: u32) -> u32 {
    (offset as u32 >> 5 & 127) << 25 | rs2 << 20 | rs1 << 15 | 3 << 12 | (offset as u32 & 31) << 7 | 0x27
}
