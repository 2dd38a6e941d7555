// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Minimal ELF files: one code segment and one data segment.

use mb_processor::Isa;

/// Address of the code.
pub(crate) const CODE: u64 = 0x10_0000;
/// Address of the data.
pub(crate) const DATA: u64 = 0x20_0000;
/// Length of the data.
pub(crate) const DATA_BYTES: u64 = 4096;
/// Offset of the code in the file.
const OFFSET: u64 = 0x1000;

/// Appends numbers in the byte order and address width of an instruction set.
struct Writer {
    isa: Isa,
    bytes: Vec<u8>,
}

impl Writer {
    fn number(&mut self, value: u64, width: usize) {
        match self.isa {
            Isa::Ppc32 => self.bytes.extend(&value.to_be_bytes()[8 - width..]),
            Isa::Rv64 => self.bytes.extend(&value.to_le_bytes()[..width]),
        }
    }

    fn address(&mut self, value: u64) {
        self.number(value, if self.isa == Isa::Ppc32 { 4 } else { 8 });
    }

    /// A program header. Apart from widths, the two formats differ only in the position of the
    /// flags.
    fn segment(&mut self, flags: u64, [offset, address, in_file, in_memory]: [u64; 4]) {
        self.number(1, 4);
        if self.isa == Isa::Rv64 {
            self.number(flags, 4);
        }
        for value in [offset, address, address, in_file, in_memory] {
            self.address(value);
        }
        if self.isa == Isa::Ppc32 {
            self.number(flags, 4);
        }
        self.address(OFFSET);
    }
}

/// A program with this code, and zeros as data.
pub(crate) fn file(isa: Isa, code: &[u8]) -> Vec<u8> {
    let mut file = Writer { isa, bytes: b"\x7fELF".to_vec() };
    let wide = isa == Isa::Rv64;
    let (class, order, number) = if wide { (2, 1, 243) } else { (1, 2, 20) };
    let (header, segment) = if wide { (64, 56) } else { (52, 32) };
    file.bytes.extend([class, order, 1]);
    file.bytes.resize(16, 0);
    for half in [2, number] {
        file.number(half, 2);
    }
    file.number(1, 4);
    for address in [CODE, header, 0] {
        file.address(address);
    }
    file.number(0, 4);
    for half in [header, segment, 2, 0, 0, 0] {
        file.number(half, 2);
    }
    let length = code.len() as u64;
    file.segment(5, [OFFSET, CODE, length, length]);
    file.segment(6, [0, DATA, 0, DATA_BYTES]);
    file.bytes.resize(OFFSET as usize, 0);
    file.bytes.extend(code);
    file.bytes
}
