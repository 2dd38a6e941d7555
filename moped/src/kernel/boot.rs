// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory and harts at the start: kernel, hand-over, strings, ELF files, then free pages.

use mb_processor::functional::HartState;
use mb_processor::{Memory, PhysicalImage, PhysicalImageError};

use super::{AGENTS_PER_PROGRAM, KERNEL, MEMORY_BASE};

const MAGIC: u64 = 0x4d42_4b45_524e_454c;
const VERSION: u64 = 1;
const MOST_HARTS: u32 = 64;
const MOST_PROGRAMS: usize = 16;
/// Words of `struct handover` before its programs.
const HANDOVER_WORDS: usize = 11;
const PAGE: u64 = 4096;

/// A program with its processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserProgram<'a> {
    /// The ELF file: static, at fixed addresses.
    pub file: &'a [u8],
    /// Number of processes, 1 to 512.
    pub ranks: u32,
    /// Rank r starts on core (`first_core` + r) modulo the number of harts.
    pub first_core: u32,
    /// argv.
    pub arguments: &'a [&'a str],
    /// Environment, as NAME=value.
    pub environment: &'a [&'a str],
}

/// The machine that the kernel starts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Boot {
    /// Number of harts, 1 to 64.
    pub harts: u32,
    /// Bytes of memory, a multiple of 4096.
    pub memory: u64,
    /// Units of the time register in a second, at least 100.
    pub frequency: u64,
    /// Time between timer interrupts while processes share a core.
    pub slice: u64,
    /// Port pages of the device, or 0.
    pub ports: u64,
    /// Control registers of the device, or 0.
    pub control: u64,
}

impl Default for Boot {
    /// One hart, 64 MiB, 1 GHz, a slice of 10 ms, no device.
    fn default() -> Self {
        Self { harts: 1, memory: 64 << 20, frequency: 1_000_000_000, slice: 10_000_000, ports: 0, control: 0 }
    }
}

/// Why a machine cannot start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BootError {
    /// The kernel's file.
    Kernel(PhysicalImageError),
    /// A number out of its range.
    Range {
        /// What it is.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The range.
        expected: &'static str,
    },
    /// Kernel and programs need more memory than there is.
    Memory {
        /// Bytes that the programs' files, arguments and the kernel need.
        needed: u64,
        /// Bytes of memory.
        found: u64,
    },
}

impl std::fmt::Display for BootError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel(error) => write!(f, "kernel: {error}"),
            Self::Range { what, found, expected } => write!(f, "{what}: {found}; expected {expected}"),
            Self::Memory { needed, found } => write!(
                f,
                "memory: {found} bytes; expected more than the {needed} bytes of kernel and programs; give the machine \
                 more memory"
            ),
        }
    }
}

impl std::error::Error for BootError {}

impl Boot {
    fn check(&self, programs: &[UserProgram<'_>]) -> Result<(), BootError> {
        let range = |what, found, expected| Err(BootError::Range { what, found, expected });
        if self.harts == 0 || self.harts > MOST_HARTS {
            return range("harts", self.harts.into(), "1 to 64");
        }
        if !self.memory.is_multiple_of(PAGE) || self.memory > 64 << 30 {
            return range("memory", self.memory, "a multiple of 4096 up to 64 GiB");
        }
        if self.frequency < 100 || self.frequency > 18_000_000_000 {
            return range("frequency", self.frequency, "100 to 18000000000 units a second");
        }
        if programs.is_empty() || programs.len() > MOST_PROGRAMS {
            return range("programs", programs.len() as u64, "1 to 16");
        }
        for program in programs {
            if program.ranks == 0 || u64::from(program.ranks) > AGENTS_PER_PROGRAM {
                return range("ranks", program.ranks.into(), "1 to 512");
            }
        }
        Ok(())
    }

    /// Memory and the states of all harts at the start.
    ///
    /// # Errors
    /// A value is out of its range, or the memory is too small.
    pub fn start(&self, programs: &[UserProgram<'_>]) -> Result<(Memory, Vec<HartState>), BootError> {
        self.check(programs)?;
        let kernel = PhysicalImage::read(KERNEL).map_err(BootError::Kernel)?;
        let handover = kernel.end().next_multiple_of(PAGE);
        let mut next = handover + PAGE;
        let mut parts: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut place = |bytes: Vec<u8>| {
            let address = next;
            next = (next + bytes.len() as u64).next_multiple_of(PAGE);
            parts.push((address, bytes));
            address
        };
        let mut words = Vec::new();
        for program in programs {
            let image = place(program.file.to_vec());
            words.extend([image, program.file.len() as u64, program.ranks.into(), program.first_core.into()]);
            for strings in [program.arguments, program.environment] {
                let text: Vec<u8> = strings.iter().flat_map(|text| text.bytes().chain([0])).collect();
                words.extend([text.len() as u64, strings.len() as u64]);
                let at = words.len() - 2;
                words.insert(at, place(text));
            }
        }
        let head: [u64; HANDOVER_WORDS] = [
            MAGIC,
            VERSION,
            self.harts.into(),
            MEMORY_BASE,
            self.memory,
            next,
            self.frequency,
            self.slice,
            programs.len() as u64,
            self.ports,
            self.control,
        ];
        let bytes = head.iter().chain(&words).flat_map(|word| word.to_le_bytes()).collect();
        parts.push((handover, bytes));
        let needed = next - MEMORY_BASE;
        let too_small = BootError::Memory { needed, found: self.memory };
        if needed >= self.memory {
            return Err(too_small);
        }
        let mut memory = Memory::new(MEMORY_BASE, self.memory as usize);
        kernel.place(&mut memory).map_err(BootError::Kernel)?;
        for (address, bytes) in parts {
            memory.write(address, &bytes).map_err(|_| too_small.clone())?;
        }
        let states = (0..self.harts).map(|number| HartState::new(kernel.entry(), number.into(), handover)).collect();
        Ok((memory, states))
    }
}
