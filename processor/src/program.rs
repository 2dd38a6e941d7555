// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs: what an ELF file says to put into memory, and what it calls the places there.
//!
//! Loaded are static executables linked at fixed addresses, with one segment of code that is not writable. Files are not
//! trusted: work and memory are bounded by the file's length and by [`Program::LIMIT`].

use std::collections::BTreeMap;
use std::ops::Range;

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Sym as _};

use super::Memory;

/// An instruction set with its order of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// PowerPC, 32 bits, big-endian.
    Ppc32,
    /// RISC-V, 64 bits, little-endian.
    Rv64,
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ppc32 => "32-bit big-endian PowerPC",
            Self::Rv64 => "64-bit little-endian RISC-V",
        })
    }
}

/// Why a file is no program for this machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// No ELF file, or one whose tables point nowhere.
    #[error("not a well-formed ELF file: {0}")]
    Malformed(#[from] object::read::Error),
    /// An ELF file for something else.
    #[error(
        "machine {machine} with {bits} bits, {order}-endian; expected PowerPC (20) with 32 bits, big-endian, or RISC-V \
         (243) with 64 bits, little-endian"
    )]
    Machine {
        /// The file's number of the machine.
        machine: u16,
        /// Bits of its addresses.
        bits: u8,
        /// "big" or "little".
        order: &'static str,
    },
    /// A program for the other machine.
    #[error("a program for {found}; expected one for {expected}")]
    OtherMachine {
        /// The program's.
        found: Machine,
        /// That of the threads asked for.
        expected: Machine,
    },
    /// An object file, a shared library or a core dump.
    #[error("file of type {0}; expected an executable at fixed addresses (2)")]
    Type(u16),
    /// A program that needs a dynamic linker.
    #[error("dynamically linked; expected a static executable")]
    Dynamic,
    /// A segment that is longer in the file than in memory or than the file, or reaches beyond [`Program::TOP`].
    #[error(
        "segment at {address:#x} has {in_file} bytes in the file and {in_memory} in memory; expected no more in the file \
         than there are and than in memory, and addresses below 2^47"
    )]
    Segment {
        /// Where.
        address: u64,
        /// Length in the file.
        in_file: u64,
        /// Length in memory.
        in_memory: u64,
    },
    /// Two segments share addresses, or are in the wrong order.
    #[error("segment at {0:#x} begins before the one listed before it ends")]
    Order(u64),
    /// First and last address are too far apart.
    #[error("segments span {found} bytes; at most {limit} are possible")]
    Span {
        /// The distance.
        found: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// No segment or several of code.
    #[error("{0} segments of code; expected 1")]
    Code(usize),
    /// Code that could be changed, although it is decoded once.
    #[error("the segment of code at {0:#x} is writable; link with code and data apart (no -N)")]
    WritableCode(u64),
    /// It does not begin in its code.
    #[error("entry {entry:#x} is not in the code at {code:#x?}")]
    Entry {
        /// The entry.
        entry: u64,
        /// The code.
        code: Range<u64>,
    },
}

/// A named place: a function, a data object or a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Where.
    pub address: u64,
    /// How many bytes; 0 of most labels.
    pub bytes: u64,
}

/// A run of bytes at a fixed address, and how much there is in all: the rest is zero.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Segment {
    address: u64,
    bytes: Vec<u8>,
    length: u64,
}

/// What a file puts into memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    machine: Machine,
    entry: u64,
    /// In the order of their addresses; at least one.
    segments: Vec<Segment>,
    /// Index of the segment of code.
    code: usize,
    symbols: BTreeMap<String, Symbol>,
}

impl Program {
    /// Largest distance of the first address from the last one.
    pub const LIMIT: u64 = 256 << 20;
    /// Addresses are below this, as in other user programs.
    pub const TOP: u64 = 1 << 47;
    /// Longer names are not kept: else many symbols could share the bytes of few long names.
    pub const NAME_LIMIT: usize = 255;

    /// Reads the bytes of an ELF file.
    ///
    /// # Errors
    /// It is malformed, or not a static executable of either machine: see [`LoadError`].
    pub fn load(file: &[u8]) -> Result<Self, LoadError> {
        match object::FileKind::parse(file)? {
            object::FileKind::Elf32 => Self::read::<elf::FileHeader32<Endianness>>(file),
            _ => Self::read::<elf::FileHeader64<Endianness>>(file),
        }
    }

    fn read<F: FileHeader<Endian = Endianness>>(file: &[u8]) -> Result<Self, LoadError> {
        let header = F::parse(file)?;
        let endian = header.endian()?;
        let machine = match (header.e_machine(endian), header.is_type_64(), endian) {
            (elf::EM_PPC, false, Endianness::Big) => Machine::Ppc32,
            (elf::EM_RISCV, true, Endianness::Little) => Machine::Rv64,
            (machine, wide, endian) => {
                return Err(LoadError::Machine {
                    machine: machine.0,
                    bits: if wide { 64 } else { 32 },
                    order: if endian == Endianness::Big { "big" } else { "little" },
                });
            }
        };
        if header.e_type(endian) != elf::ET_EXEC {
            return Err(LoadError::Type(header.e_type(endian).0));
        }
        let headers = header.program_headers(endian, file)?;
        if headers.iter().any(|part| matches!(part.p_type(endian), elf::PT_INTERP | elf::PT_DYNAMIC)) {
            return Err(LoadError::Dynamic);
        }
        let (segments, code) = segments(headers, endian, file)?;
        let entry = header.e_entry(endian).into();
        let program = Self { machine, entry, segments, code, symbols: symbols(header, endian, file)? };
        if !program.code().contains(&entry) {
            return Err(LoadError::Entry { entry, code: program.code() });
        }
        Ok(program)
    }

    /// What it runs on.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Where it begins.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Where its code is.
    #[must_use]
    pub fn code(&self) -> Range<u64> {
        let segment = &self.segments[self.code];
        segment.address..segment.address + segment.bytes.len() as u64
    }

    /// The bytes there.
    pub(super) fn text(&self) -> &[u8] {
        &self.segments[self.code].bytes
    }

    /// The place of this name; a global one if there are several.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    /// Every name with its place, in the order of names.
    pub fn symbols(&self) -> impl Iterator<Item = (&str, Symbol)> {
        self.symbols.iter().map(|(name, symbol)| (name.as_str(), *symbol))
    }

    /// Its memory before the first instruction, and `spare` zero bytes after the last segment, say for stacks.
    #[must_use]
    pub fn memory(&self, spare: usize) -> Memory {
        let base = self.segments[0].address;
        let length = self.segments.last().map_or(0, |last| last.address + last.length - base);
        let mut bytes = vec![0; length as usize + spare];
        for segment in &self.segments {
            let start = (segment.address - base) as usize;
            bytes[start..start + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        Memory::of_program(base, bytes, self.code())
    }
}

/// The segments that are loaded, and the index of that of code.
fn segments<P: ProgramHeader<Endian = Endianness>>(
    headers: &[P],
    endian: Endianness,
    file: &[u8],
) -> Result<(Vec<Segment>, usize), LoadError> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut code = Vec::new();
    for part in headers.iter().filter(|part| part.p_type(endian) == elf::PT_LOAD) {
        let (address, length) = (part.p_vaddr(endian).into(), part.p_memsz(endian).into());
        let in_file = part.p_filesz(endian).into();
        let end = address.checked_add(length).filter(|end| in_file <= length && *end <= Program::TOP);
        let end = end.ok_or(LoadError::Segment { address, in_file, in_memory: length })?;
        if segments.last().is_some_and(|before| address < before.address + before.length) {
            return Err(LoadError::Order(address));
        }
        let found = end - segments.first().map_or(address, |first| first.address);
        if found > Program::LIMIT {
            return Err(LoadError::Span { found, limit: Program::LIMIT });
        }
        if part.p_flags(endian).contains(elf::PF_X) {
            if part.p_flags(endian).contains(elf::PF_W) {
                return Err(LoadError::WritableCode(address));
            }
            code.push(segments.len());
        }
        let bytes = part.data(endian, file).map_err(|()| LoadError::Segment { address, in_file, in_memory: length })?;
        segments.push(Segment { address, bytes: bytes.to_vec(), length });
    }
    match code[..] {
        [code] => Ok((segments, code)),
        _ => Err(LoadError::Code(code.len())),
    }
}

/// The places that have a name.
fn symbols<F: FileHeader<Endian = Endianness>>(
    header: &F,
    endian: Endianness,
    file: &[u8],
) -> Result<BTreeMap<String, Symbol>, LoadError> {
    let sections = header.sections(endian, file)?;
    let table = sections.symbols(endian, file, elf::SHT_SYMTAB)?;
    let mut symbols = BTreeMap::new();
    for symbol in table.iter() {
        let kind = symbol.st_type();
        if symbol.is_undefined(endian) || !matches!(kind, elf::STT_FUNC | elf::STT_OBJECT | elf::STT_NOTYPE) {
            continue;
        }
        let name = symbol.name(endian, table.strings())?;
        if name.is_empty() || name.len() > Program::NAME_LIMIT {
            continue;
        }
        let name = String::from_utf8_lossy(name).into_owned();
        let place = Symbol { address: symbol.st_value(endian).into(), bytes: symbol.st_size(endian).into() };
        if symbol.st_bind() == elf::STB_LOCAL {
            symbols.entry(name).or_insert(place);
        } else {
            symbols.insert(name, place);
        }
    }
    Ok(symbols)
}
