// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ELF files of programs that run without a loader of their own: kernels, whose segments are placed
//! at physical addresses.

use std::ops::Range;

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};

use super::error::LoadError;
use crate::memory::Memory;

/// Why an image cannot be placed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PhysicalImageError {
    /// Not a usable ELF file.
    #[error(transparent)]
    File(#[from] LoadError),
    /// The entry is in no segment.
    #[error("entry {0:#x} is in no segment; expected an address of loaded code")]
    Entry(u64),
    /// A segment is outside of memory.
    #[error("segment at physical address {segment:#x} has {bytes} bytes; expected them inside of memory, {memory:#x?}")]
    Outside {
        /// Physical address of the segment.
        segment: u64,
        /// Its length in memory.
        bytes: u64,
        /// The memory.
        memory: Range<u64>,
    },
}

/// A static 64-bit RISC-V executable by physical addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhysicalImage {
    entry: u64,
    /// Physical address, bytes of the file, length in memory.
    segments: Vec<(u64, Vec<u8>, u64)>,
}

impl PhysicalImage {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// The file is malformed, not a static RV64 executable, or its entry is in no segment.
    pub fn read(file: &[u8]) -> Result<Self, PhysicalImageError> {
        let malformed = |error| PhysicalImageError::File(LoadError::Malformed(error));
        let header = elf::FileHeader64::<Endianness>::parse(file).map_err(malformed)?;
        let endian = header.endian().map_err(malformed)?;
        let machine = header.e_machine(endian);
        if machine != elf::EM_RISCV || endian != Endianness::Little {
            let order = if endian == Endianness::Big { "big" } else { "little" };
            return Err(LoadError::UnsupportedIsa { machine: machine.0, bits: 64, order }.into());
        }
        if header.e_type(endian) != elf::ET_EXEC {
            return Err(LoadError::Type(header.e_type(endian).0).into());
        }
        let mut segments = Vec::new();
        let mut entry = None;
        let start = header.e_entry(endian);
        for part in header.program_headers(endian, file).map_err(malformed)? {
            if part.p_type(endian) != elf::PT_LOAD {
                continue;
            }
            let (address, physical) = (part.p_vaddr(endian), part.p_paddr(endian));
            let (in_file, in_memory) = (part.p_filesz(endian), part.p_memsz(endian));
            let bad = LoadError::Segment { address, in_file, in_memory };
            if in_file > in_memory || physical.checked_add(in_memory).is_none() {
                return Err(bad.into());
            }
            let bytes = part.data(endian, file).map_err(|()| bad)?;
            if start.wrapping_sub(address) < in_file {
                entry = Some(physical + (start - address));
            }
            segments.push((physical, bytes.to_vec(), in_memory));
        }
        Ok(Self { entry: entry.ok_or(PhysicalImageError::Entry(start))?, segments })
    }

    /// Physical address of the first instruction.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The first address after all segments.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.segments.iter().map(|(physical, _, length)| physical + length).max().unwrap_or(0)
    }

    /// The physical addresses and the bytes of the segments.
    pub fn segments(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.segments.iter().map(|(physical, bytes, _)| (*physical, bytes.as_slice()))
    }

    /// Places the segments into a memory of zeros.
    ///
    /// # Errors
    /// A segment is outside of memory.
    pub fn place(&self, memory: &mut Memory) -> Result<(), PhysicalImageError> {
        for (segment, bytes, length) in &self.segments {
            let outside = PhysicalImageError::Outside { segment: *segment, bytes: *length, memory: memory.range() };
            let range = memory.range();
            if *segment < range.start || segment + length > range.end {
                return Err(outside);
            }
            memory.write(*segment, bytes).map_err(|_| outside)?;
        }
        Ok(())
    }
}
