// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of the functions of a program, and which of them are the MPI library.

use std::ops::Range;

use mb_processor::{PhysicalImage, Program};

/// The encoding of `pause` (Zihintpause), `wfi`, `wrs.nto` and `wrs.sto`: where a hart waits.
const WAITS: [u32; 4] = [0x0100_000f, 0x1050_0073, 0x00d0_0073, 0x01d0_0073];

/// Functions by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    functions: Vec<(u64, u64, String)>,
    /// From the first to the last function of the library.
    pub(super) library: Range<u64>,
    /// Addresses of instructions at which a hart waits.
    pub(super) waits: Vec<u64>,
    code_start: u64,
    code: Vec<u8>,
}

impl Symbols {
    /// Those of an ELF file; none if it has no symbols or is not a program.
    pub(super) fn of(file: &[u8]) -> Self {
        let Ok(program) = Program::load(file) else { return Self::default() };
        let code = program.code();
        let mut functions: Vec<_> = program
            .symbols()
            .filter(|(name, symbol)| symbol.bytes > 0 && code.contains(&symbol.address) && !name.starts_with('$'))
            .map(|(name, symbol)| (symbol.address, symbol.address.saturating_add(symbol.bytes), name.to_owned()))
            .collect();
        functions.sort();
        let own = || functions.iter().filter(|(_, _, name)| is_of_library(name));
        let first = own().map(|(start, _, _)| *start).min().unwrap_or(0);
        let library = first..own().map(|(_, end, _)| *end).max().unwrap_or(0);
        let memory = program.memory(0);
        let waits = code
            .clone()
            .step_by(2)
            .filter(|address| memory.read(*address).is_some_and(|word| WAITS.contains(&u32::from_le_bytes(word))))
            .collect();
        let length = usize::try_from(code.end - code.start).unwrap_or(0);
        let bytes = memory.get(code.start, length).unwrap_or_default().to_vec();
        Self { functions, library, waits, code_start: code.start, code: bytes }
    }

    /// The function at an address, and its first address.
    fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.functions.partition_point(|(start, _, _)| *start <= address);
        let (start, end, name) = self.functions[..after].last()?;
        (address < *end).then_some((name, *start))
    }

    /// Function and offset of an address.
    pub(super) fn name(&self, address: u64) -> Option<String> {
        self.find(address).map(|(name, start)| format!("{name}+{:#x}", address - start))
    }

    /// Whether the instruction before an address is a call, one that leaves the address in `ra`: jal, jalr or c.jalr
    /// (Unprivileged ISA, 2.5.1, and 27.4 of the compressed ones).
    fn follows_call(&self, address: u64) -> bool {
        let half = |before: u64| {
            let offset = usize::try_from(address.checked_sub(before)?.checked_sub(self.code_start)?).ok()?;
            let bytes = self.code.get(offset..offset + 2)?;
            Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
        };
        let compressed = half(2).is_some_and(|half| half & 0xf07f == 0x9002 && half != 0x9002);
        // Opcode and rd are in the lower half: 0x6f or 0x67, and register 1.
        compressed || half(4).is_some_and(|half| matches!(half & 0xfff, 0x0ef | 0x0e7))
    }

    /// The function of an address if its name is that of a call of MPI.
    pub(super) fn call(&self, address: u64) -> Option<&str> {
        let (name, _) = self.find(address)?;
        let name = name.strip_prefix('P').unwrap_or(name);
        name.starts_with("MPI_").then_some(name)
    }

    /// Whether a function begins at an address.
    pub(super) fn begins(&self, address: u64) -> bool {
        self.find(address).is_some_and(|(_, start)| start == address)
    }

    /// The addresses of functions that move the bytes of messages: of the library, and of the C library for it.
    pub(super) fn copies(&self) -> Vec<Range<u64>> {
        let is_copy = |name: &str| {
            let name = name.trim_start_matches("__").trim_end_matches("_generic");
            // The loops of glibc's `memcpy` are functions of their own.
            name.starts_with("_wordcopy")
                || matches!(name, "memcpy" | "memmove" | "memset" | "mempcpy" | "mb_pack" | "mb_unpack" | "mb_copy")
        };
        self.functions.iter().filter(|(_, _, name)| is_copy(name)).map(|(start, end, _)| *start..*end).collect()
    }

    /// The function that a return address belongs to, and its first address; none for words that are no return
    /// address. One that is the first address of a function belongs to a call without return at the end of the function
    /// before.
    fn returns_to(&self, address: u64) -> Option<(&str, u64)> {
        self.find(address).filter(|(_, start)| address > *start && self.follows_call(address))
    }

    /// The innermost call of MPI, and where the program made it. `addresses` are the return address and the words of
    /// the stack from its top on.
    pub(super) fn innermost_call(
        &self,
        pc: u64,
        mut addresses: impl Iterator<Item = u64>,
    ) -> Option<(&str, Option<String>)> {
        let call = |name: &str| name.strip_prefix('P').unwrap_or(name).starts_with("MPI_");
        let found = self.find(pc).filter(|(name, _)| call(name));
        let (name, _) =
            found.or_else(|| addresses.find_map(|address| self.returns_to(address).filter(|(name, _)| call(name))))?;
        let caller = addresses.find(|address| self.returns_to_program(*address));
        Some((name.strip_prefix('P').unwrap_or(name), caller.and_then(|address| self.name(address))))
    }

    /// Where the program made a call of MPI whose own return address is not on the stack, because the library left it
    /// by a jump.
    pub(super) fn place_before_library(&self, mut addresses: impl Iterator<Item = u64>) -> Option<String> {
        let caller = addresses.find(|address| *address < self.library.start && self.returns_to_program(*address));
        caller.and_then(|address| self.name(address))
    }

    /// Whether an address is a return address of neither the library, Fortran's bindings nor the recorder.
    fn returns_to_program(&self, address: u64) -> bool {
        let is_library = |name: &str| LIBRARY.iter().any(|prefix| name.starts_with(prefix));
        self.returns_to(address).is_some_and(|(name, _)| !is_library(name))
    }
}

/// Whether a global function belongs to moped/mpi. Parts that the compiler moved away (`name.cold`), and the marker of
/// a program, do not: they are not beside the others.
fn is_of_library(name: &str) -> bool {
    let prefixes = ["MPI_", "PMPI_", "mb_"];
    prefixes.iter().any(|prefix| name.starts_with(prefix)) && name != "mb_mark" && !name.contains('.')
}

/// Physical addresses of instructions of the kernel at which a hart waits, and those at which it is idle.
pub(super) fn waits_of_kernel() -> (Vec<u64>, Vec<u64>) {
    let Ok(image) = PhysicalImage::read(crate::kernel::KERNEL) else { return (Vec::new(), Vec::new()) };
    let mut waits = Vec::new();
    let mut idle = Vec::new();
    for (start, bytes) in image.segments() {
        for offset in (0..bytes.len()).step_by(2) {
            let Some(word) = bytes[offset..].first_chunk().map(|word| u32::from_le_bytes(*word)) else { continue };
            if WAITS.contains(&word) {
                waits.push(start + offset as u64);
            }
            if word == WAITS[1] {
                idle.push(start + offset as u64);
            }
        }
    }
    (waits, idle)
}

/// How the names of the library's functions begin (`moped/mpi`, `recorder`).
const LIBRARY: [&str; 6] = ["MPI_", "PMPI_", "mpi_", "pmpi_", "mb_", "mbr_"];
