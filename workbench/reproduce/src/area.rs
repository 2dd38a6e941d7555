// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Area from storage: bits of memory and of registers in 90 nm, and a factor for everything that
//! stores nothing.
//!
//! Contract: an estimate to rank designs by, no layout. Storage is counted on the models; what it
//! costs is published for other circuits; the factor is Hemmert et al.'s own rule for its match
//! unit, applied to all designs alike.
//!
//! | constant | value | source |
//! |---|---|---|
//! | memory | 2.0 µm² for each bit | Intel's first 90 nm memory chip, 12 March 2002: 52 Mbit on 109 mm², cell of 1.0 µm² |
//! | register | 9.60 µm² | `sky130_fd_sc_hd__dfxtp_1`, 20.0192 µm² in the open 130 nm library, times (90/130)² |
//! | port | 5.40 µm² for each bit | `sky130_fd_sc_hd__mux2_1`, 11.2608 µm², likewise; N entries take N - 1 of them for each port |
//! | logic | 2 | Hemmert et al. (`hemmert2007`) section 6.2: the memories doubled; assumed for the processors |

/// Area of a bit of memory with its share of decoders and amplifiers, in µm².
pub const MEMORY_UM2: f64 = 109e6 / (52.0 * 1024.0 * 1024.0);

/// The ratio of the area of a cell in 90 nm to that in 130 nm.
const SHRINK: f64 = (90.0 / 130.0) * (90.0 / 130.0);

/// Area of a flip-flop, in µm².
pub const REGISTER_UM2: f64 = 20.0192 * SHRINK;

/// Area of what one port adds to a bit, in µm².
pub const PORT_UM2: f64 = 11.2608 * SHRINK;

/// Area of everything over that of what stores.
pub const LOGIC: f64 = 2.0;

/// Something that stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// What it is.
    pub name: &'static str,
    /// Its entries.
    pub entries: u64,
    /// Bits of an entry.
    pub bits: u64,
    /// How it is built.
    pub kind: StorageKind,
}

/// How storage is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StorageKind {
    /// Cells of memory behind one port.
    Memory,
    /// Flip-flops behind this many ports.
    Registers {
        /// Ports that read and ports that write.
        ports: u64,
    },
}

impl Storage {
    /// Memory of `entries` words of `bits`.
    #[must_use]
    pub const fn memory(name: &'static str, entries: u64, bits: u64) -> Self {
        Self { name, entries, bits, kind: StorageKind::Memory }
    }

    /// Registers of `bits` behind `ports`.
    #[must_use]
    pub const fn registers(name: &'static str, entries: u64, bits: u64, ports: u64) -> Self {
        Self { name, entries, bits, kind: StorageKind::Registers { ports } }
    }

    /// A cache of `bytes` in lines of `line` and sets of `ways`, with a tag for each line of a
    /// 32-bit address and `state` bits beside it.
    #[must_use]
    pub fn cache(name: &'static str, bytes: u64, line: u64, ways: u64, state: u64) -> Self {
        let lines = bytes / line;
        let sets = (lines / ways).max(1);
        let tag = 32 - u64::from(sets.ilog2()) - u64::from(line.ilog2());
        Self::memory(name, lines, 8 * line + tag + state)
    }

    /// Bits in all.
    #[must_use]
    pub const fn total_bits(&self) -> u64 {
        self.entries * self.bits
    }

    /// Its area, in mm².
    #[must_use]
    pub fn mm2(&self) -> f64 {
        let bit = match self.kind {
            StorageKind::Memory => MEMORY_UM2,
            StorageKind::Registers { ports } => REGISTER_UM2 + PORT_UM2 * ports as f64,
        };
        self.total_bits() as f64 * bit / 1e6
    }
}

/// Area of what stores, in mm².
#[must_use]
pub fn storage_mm2(parts: &[Storage]) -> f64 {
    parts.iter().map(Storage::mm2).sum()
}

/// Area of a design that stores in `parts`, in mm².
#[must_use]
pub fn design_mm2(parts: &[Storage]) -> f64 {
    LOGIC * storage_mm2(parts)
}

/// The storage of a design and its area.
#[derive(Clone, PartialEq, Debug)]
pub struct DesignArea {
    /// The design, as its study names it.
    pub design: &'static str,
    /// Cores.
    pub cores: usize,
    /// The storage of one core, or of the match unit.
    pub storage: Vec<Storage>,
    /// Our estimate of the whole, in mm².
    pub estimated_mm2: f64,
    /// The paper's, in mm², if its ledger has it.
    pub published_mm2: Option<f64>,
    /// Items traversed, and matches in a microsecond there.
    pub rates: Vec<(usize, f64)>,
}
