// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ELF loader: segments, entry address and symbols of a program.
//!
//! It loads static executables that are linked at fixed addresses and have one code segment, which
//! must not be writable. Files are not trusted: time and memory are bounded by the length of the
//! file and by [`Program::LIMIT`].

mod error;
mod image;

use std::ops::Range;

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Sym as _};

pub use self::error::{Isa, LoadError};
pub use self::image::{PhysicalImage, PhysicalImageError};
use crate::memory::Memory;

/// A symbol: a function, a data object or a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Its address.
    pub address: u64,
    /// Its length in bytes; 0 for most labels.
    pub bytes: u64,
}

/// A loaded segment: `bytes` from the file at a fixed address, filled with zeros up to `length`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Segment {
    address: u64,
    bytes: Vec<u8>,
    length: u64,
}

/// A loaded program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    isa: Isa,
    entry: u64,
    /// In order of addresses; at least one.
    segments: Vec<Segment>,
    /// Index of the code segment.
    code: usize,
    /// In order of names; of a name, a global symbol is first.
    symbols: Vec<(String, Symbol)>,
    headers: Option<(u64, u64, u64)>,
}

impl Program {
    /// Largest distance between the first and the last address.
    pub const LIMIT: u64 = 256 << 20;
    /// Upper bound of addresses, as for other user programs.
    pub const TOP: u64 = 1 << 47;
    /// Longest symbol name; longer ones are dropped. Without a bound, many symbols that share the
    /// bytes of a few long names would need memory quadratic in the length of the file.
    pub const NAME_LIMIT: usize = 255;

    /// Loads an ELF file from its bytes.
    ///
    /// # Errors
    /// The file is malformed, or not a static executable for a supported instruction set: see
    /// [`LoadError`].
    pub fn load(file: &[u8]) -> Result<Self, LoadError> {
        Self::load_code(file, false)
    }

    /// As [`load`](Self::load); with `writable`, the segment of the entry is the code,
    /// also if it can be written.
    pub(super) fn load_code(file: &[u8], writable: bool) -> Result<Self, LoadError> {
        match object::FileKind::parse(file)? {
            object::FileKind::Elf32 => Self::read::<elf::FileHeader32<Endianness>>(file, writable),
            _ => Self::read::<elf::FileHeader64<Endianness>>(file, writable),
        }
    }

    fn read<F: FileHeader<Endian = Endianness>>(file: &[u8], writable: bool) -> Result<Self, LoadError> {
        let header = F::parse(file)?;
        let endian = header.endian()?;
        let isa = match (header.e_machine(endian), header.is_type_64(), endian) {
            (elf::EM_PPC, false, Endianness::Big) => Isa::Ppc32,
            (elf::EM_RISCV, true, Endianness::Little) => Isa::Rv64,
            (machine, wide, endian) => {
                return Err(LoadError::UnsupportedIsa {
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
        let (segments, code) = segments(headers, endian, file, writable.then(|| header.e_entry(endian).into()))?;
        let entry = header.e_entry(endian).into();
        let offset: u64 = header.e_phoff(endian).into();
        // Where the segment that contains them is in memory.
        let inside = headers.iter().find(|part| {
            let (start, bytes): (u64, u64) = (part.p_offset(endian).into(), part.p_filesz(endian).into());
            part.p_type(endian) == elf::PT_LOAD && (start..start.saturating_add(bytes)).contains(&offset)
        });
        let address = inside.map(|part| part.p_vaddr(endian).into() + (offset - part.p_offset(endian).into()));
        let headers = address.map(|at| (at, header.e_phentsize(endian).into(), headers.len() as u64));
        let program = Self { isa, entry, segments, code, symbols: symbols(header, endian, file)?, headers };
        if !program.code().contains(&entry) {
            return Err(LoadError::Entry { entry, code: program.code() });
        }
        Ok(program)
    }

    /// The instruction set of the program.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Address of the first instruction.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Addresses of the code.
    #[must_use]
    pub fn code(&self) -> Range<u64> {
        let segment = &self.segments[self.code];
        segment.address..segment.address + segment.bytes.len() as u64
    }

    /// Address in memory, length of one, and number of the program headers, if they are loaded.
    #[must_use]
    pub fn headers(&self) -> Option<(u64, u64, u64)> {
        self.headers
    }

    /// The bytes of the code.
    pub(super) fn text(&self) -> &[u8] {
        &self.segments[self.code].bytes
    }

    /// The symbol of this name; a global one if there are several.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        let first = self.symbols.partition_point(|(other, _)| other.as_str() < name);
        self.symbols.get(first).filter(|(found, _)| found == name).map(|(_, symbol)| *symbol)
    }

    /// All symbols, in order of their names. Several have one name if files have functions of their own with it.
    pub fn symbols(&self) -> impl Iterator<Item = (&str, Symbol)> {
        self.symbols.iter().map(|(name, symbol)| (name.as_str(), *symbol))
    }

    /// The initial memory of the program, with `spare` zero bytes after the last segment, for
    /// example for stacks.
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

/// The loadable segments, and the index of the code segment.
fn segments<P: ProgramHeader<Endian = Endianness>>(
    headers: &[P],
    endian: Endianness,
    file: &[u8],
    any: Option<u64>,
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
            if any.is_none() && part.p_flags(endian).contains(elf::PF_W) {
                return Err(LoadError::WritableCode(address));
            }
            code.push(segments.len());
        }
        let bytes = part.data(endian, file).map_err(|()| LoadError::Segment { address, in_file, in_memory: length })?;
        segments.push(Segment { address, bytes: bytes.to_vec(), length });
    }
    if let Some(entry) = any {
        // Independent of the flags.
        code = (0..segments.len())
            .filter(|&place| {
                (segments[place].address..segments[place].address + segments[place].length).contains(&entry)
            })
            .collect();
    }
    match code[..] {
        [code] => Ok((segments, code)),
        _ => Err(LoadError::Code(code.len())),
    }
}

/// The symbols of functions, data objects and labels, in order of names; of a name, a global symbol is first.
fn symbols<F: FileHeader<Endian = Endianness>>(
    header: &F,
    endian: Endianness,
    file: &[u8],
) -> Result<Vec<(String, Symbol)>, LoadError> {
    let sections = header.sections(endian, file)?;
    let table = sections.symbols(endian, file, elf::SHT_SYMTAB)?;
    let mut symbols = Vec::new();
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
        let found = Symbol { address: symbol.st_value(endian).into(), bytes: symbol.st_size(endian).into() };
        symbols.push((name, symbol.st_bind() == elf::STB_LOCAL, found));
    }
    symbols.sort_by(|(name, is_local, _), (other, other_is_local, _)| (name, is_local).cmp(&(other, other_is_local)));
    Ok(symbols.into_iter().map(|(name, _, symbol)| (name, symbol)).collect())
}
