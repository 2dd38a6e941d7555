// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instruction sets, and why a file cannot be loaded.

use std::ops::Range;

/// An instruction set with its byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isa {
    /// PowerPC, 32 bits, big-endian.
    Ppc32,
    /// RISC-V, 64 bits, little-endian.
    Rv64,
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ppc32 => "32-bit big-endian PowerPC",
            Self::Rv64 => "64-bit little-endian RISC-V",
        })
    }
}

/// The name of an instruction set by its number in the header of an ELF file (`e_machine`).
fn instruction_set(machine: u16) -> String {
    match machine {
        2 | 18 | 43 => "SPARC",
        3 => "x86",
        8 => "MIPS",
        20 => "PowerPC",
        21 => "PowerPC64",
        22 => "s390",
        40 => "Arm",
        50 => "IA-64",
        62 => "x86-64",
        183 => "AArch64",
        243 => "RISC-V",
        258 => "LoongArch",
        _ => return format!("machine {machine}"),
    }
    .to_owned()
}

/// Why a file cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// Not an ELF file, or one with invalid tables.
    #[error("not a well-formed ELF file: {0}")]
    Malformed(#[from] object::read::Error),
    /// An ELF file for another instruction set.
    #[error(
        "found a program for {bits}-bit {order}-endian {}; expected one for {} or {}",
        instruction_set(*machine),
        Isa::Ppc32,
        Isa::Rv64
    )]
    UnsupportedIsa {
        /// The machine number of the file.
        machine: u16,
        /// Address width.
        bits: u8,
        /// "big" or "little".
        order: &'static str,
    },
    /// A program for another instruction set than that of the threads.
    #[error("found a program for {found}; expected one for {expected}")]
    WrongIsa {
        /// The instruction set of the program.
        found: Isa,
        /// The instruction set of the threads.
        expected: Isa,
    },
    /// An object file, a shared library or a core dump.
    #[error("file of type {0}; expected an executable at fixed addresses (2)")]
    Type(u16),
    /// A program that needs a dynamic linker.
    #[error("dynamically linked; expected a static executable")]
    Dynamic,
    /// A segment that is longer in the file than in memory or than the file, or that ends above
    /// [`Program::TOP`](super::Program::TOP).
    #[error(
        "segment at {address:#x} has {in_file} bytes in the file and {in_memory} in memory; expected bytes inside the \
         file, no more than in memory, and addresses below 2^47"
    )]
    Segment {
        /// Address of the segment.
        address: u64,
        /// Length in the file.
        in_file: u64,
        /// Length in memory.
        in_memory: u64,
    },
    /// Two segments overlap or are not in order of addresses.
    #[error("segment at {0:#x} begins before the end of the segment listed before it; expected ascending addresses")]
    Order(u64),
    /// The first and the last address are too far apart.
    #[error("segments span {found} bytes; expected at most {limit}")]
    Span {
        /// The distance.
        found: u64,
        /// The largest distance allowed.
        limit: u64,
    },
    /// No code segment, or several.
    #[error("found {0} code segments; expected 1")]
    Code(usize),
    /// A writable code segment. Code is decoded once and cannot change.
    #[error("code segment at {0:#x} is writable; expected read-only code; link without -N")]
    WritableCode(u64),
    /// The entry is outside of the code.
    #[error("entry {entry:#x} is outside of the code; expected an address in {code:#x?}")]
    Entry {
        /// Address of the entry.
        entry: u64,
        /// Addresses of the code.
        code: Range<u64>,
    },
}
