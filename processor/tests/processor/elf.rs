// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The smallest files that load: a segment of code and one of data.

use mb_processor::Machine;

/// Where code and data are.
pub(crate) const CODE: u64 = 0x10_0000;
pub(crate) const DATA: u64 = 0x20_0000;
/// How many bytes of data there are.
pub(crate) const DATA_BYTES: u64 = 4096;
/// Where the code is in the file.
const OFFSET: u64 = 0x1000;

/// Appends numbers in the order of bytes and the width of addresses of a machine.
struct Writer {
    machine: Machine,
    bytes: Vec<u8>,
}

impl Writer {
    fn number(&mut self, value: u64, width: usize) {
        match self.machine {
            Machine::Ppc32 => self.bytes.extend(&value.to_be_bytes()[8 - width..]),
            Machine::Rv64 => self.bytes.extend(&value.to_le_bytes()[..width]),
        }
    }

    fn address(&mut self, value: u64) {
        self.number(value, if self.machine == Machine::Ppc32 { 4 } else { 8 });
    }

    /// A header of a segment; the place of its flags is the only difference that is not width.
    fn segment(&mut self, flags: u64, [offset, address, in_file, in_memory]: [u64; 4]) {
        self.number(1, 4);
        if self.machine == Machine::Rv64 {
            self.number(flags, 4);
        }
        for value in [offset, address, address, in_file, in_memory] {
            self.address(value);
        }
        if self.machine == Machine::Ppc32 {
            self.number(flags, 4);
        }
        self.address(OFFSET);
    }
}

/// A program of these bytes of code, with zeros for data.
pub(crate) fn file(machine: Machine, code: &[u8]) -> Vec<u8> {
    let mut file = Writer { machine, bytes: b"\x7fELF".to_vec() };
    let wide = machine == Machine::Rv64;
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
