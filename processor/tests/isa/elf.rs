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

/// A relocatable object with the section `.text` and the attribute that names its instruction set,
/// from which the disassembler takes the extensions.
pub(crate) fn riscv_object(text: &[u8], architecture: &str) -> Vec<u8> {
    /// `Tag_RISCV_arch`, and the tag of attributes for the whole file.
    const ARCH: u8 = 5;
    const FILE: u8 = 1;
    let attribute = [&[ARCH], architecture.as_bytes(), &[0]].concat();
    let body = [&[FILE][..], &(attribute.len() as u32 + 5).to_le_bytes(), &attribute].concat();
    let vendor = b"riscv\0";
    let length = (4 + vendor.len() + body.len()) as u32;
    let attributes = [&b"A"[..], &length.to_le_bytes(), vendor, &body].concat();
    let names = b"\0.text\0.riscv.attributes\0.names\0";
    // Name, type, flags, content. SHT_PROGBITS, SHT_RISCV_ATTRIBUTES and SHT_STRTAB;
    // SHF_ALLOC and SHF_EXECINSTR.
    let sections: [(u32, u32, u64, &[u8]); 3] = [(1, 1, 6, text), (7, 0x7000_0003, 0, &attributes), (25, 3, 0, names)];
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // ET_REL, EM_RISCV, the version, and no entry and program headers.
    file.extend([1, 0, 243, 0, 1, 0, 0, 0].iter().chain(&[0; 16]));
    let headers = 64 + sections.iter().map(|section| section.3.len() as u64).sum::<u64>();
    file.extend(headers.to_le_bytes());
    // Flags (compressed code), and the sizes and numbers of headers.
    file.extend([1, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 4, 0, 3, 0]);
    let mut table = vec![0; 64];
    for (name, kind, flags, content) in sections {
        table.extend([name, kind].iter().flat_map(|word| word.to_le_bytes()));
        let words = [flags, 0, file.len() as u64, content.len() as u64, 0, 1, 0];
        table.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        file.extend(content);
    }
    [file, table].concat()
}
