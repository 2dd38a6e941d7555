// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the cores that they describe.

use mb_core::Clock;
use mb_core::parameters::{Choice, Embedded, Value};
use mb_firmware::Guest;
use mb_processor::Isa;
use mb_processor::barrel::BarrelConfig;

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct ListMtParameters {
    /// Clock of the cores.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Instruction set that the firmware is compiled for.
    #[parameter]
    pub instruction_set: InstructionSet,
    /// Match function of the firmware: MPI envelopes, or Hemmert et al.'s whole function.
    #[parameter]
    pub program: MatchFunction,
    /// Whether list entries can stay in the caches, or are invalidated when an operation begins.
    #[parameter]
    pub list_cache: Entries,
    /// Where the hardware puts a descriptor: in memory, or in every core's data cache.
    #[parameter]
    pub header: Delivery,
    /// Outstanding operations, a thread for each; more are refused until one ends.
    #[parameter(range = 1..=4096)]
    pub operations: usize,
    /// Locks in hardware with handoff, or words in the items that threads spin on.
    #[parameter]
    pub locks: LockStyle,
    /// The cores, their caches and memory.
    #[parameter(nested, embed = CORES)]
    pub cores: BarrelConfig,
}

/// A thread for each operation. The firmware neither multiplies nor divides, and has no floating point. Caches write
/// back and are alike but for their sizes; a core issues one instruction in a cycle.
const CORES: &[(&str, Embedded)] = &[
    ("contexts", Embedded::Range(1, 256)),
    ("threads", Embedded::Fixed(Value::Whole(1))),
    ("multiply", Embedded::Fixed(Value::Whole(1))),
    ("divide", Embedded::Fixed(Value::Whole(1))),
    ("float_simple", Embedded::Fixed(Value::Whole(2))),
    ("float_convert", Embedded::Fixed(Value::Whole(2))),
    ("float_add", Embedded::Fixed(Value::Whole(2))),
    ("float_multiply", Embedded::Fixed(Value::Whole(4))),
    ("float_fused", Embedded::Fixed(Value::Whole(6))),
    ("float_divide", Embedded::Fixed(Value::Whole(12))),
    ("float_square_root", Embedded::Fixed(Value::Whole(24))),
    ("cores", Embedded::Range(1, 256)),
    ("instruction_line", Embedded::As("line", "Bytes of a line of all caches.")),
    ("data_line", Embedded::As("line", "")),
    ("instruction_write", Embedded::Fixed(Value::Word("back"))),
    ("data_write", Embedded::Fixed(Value::Word("back"))),
    ("instruction_allocate", Embedded::Fixed(Value::Word("on"))),
    ("data_allocate", Embedded::Fixed(Value::Word("on"))),
    ("instruction_hit", Embedded::As("hit_latency", "Latency of a cache hit.")),
    ("data_hit", Embedded::As("hit_latency", "")),
    ("instruction_lookup", Embedded::As("lookup", "From an access that misses to its request to memory.")),
    ("data_lookup", Embedded::As("lookup", "")),
    ("instruction_ports", Embedded::Fixed(Value::Whole(1))),
    ("data_ports", Embedded::Fixed(Value::Whole(1))),
    ("instruction_mshrs", Embedded::As("mshrs", "Miss status holding registers (MSHRs) of each cache.")),
    ("data_mshrs", Embedded::As("mshrs", "")),
];

/// Instruction set that the firmware is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum InstructionSet {
    /// 32-bit PowerPC.
    Ppc32,
    /// 64-bit RISC-V.
    Rv64,
}

impl InstructionSet {
    const fn machine(self) -> Isa {
        match self {
            Self::Ppc32 => Isa::Ppc32,
            Self::Rv64 => Isa::Rv64,
        }
    }
}

/// The match function of the firmware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum MatchFunction {
    /// MPI envelopes.
    Mpi,
    /// The whole match function of Hemmert et al.
    Portals,
}

/// Whether list entries stay in the data caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Entries {
    /// Until they are evicted.
    Warm,
    /// Each operation that begins takes them from all caches.
    Cold,
}

/// Where the hardware puts a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Delivery {
    /// In memory: each core's first access to it misses.
    Memory,
    /// In the data cache of every core.
    Cache,
}

/// How threads lock items.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum LockStyle {
    /// By calls that hardware serves; who waits takes no slots.
    Hardware,
    /// By words that they spin on.
    Spin,
}

/// The engine's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListMtParts {
    /// Instruction set.
    pub machine: Isa,
    /// The match function.
    pub function: MatchFunction,
    /// Of items.
    pub locks: LockStyle,
    /// Of the lists.
    pub entries: Entries,
    /// Of descriptors.
    pub delivery: Delivery,
    /// Outstanding operations.
    pub operations: usize,
    /// The cores, their caches and memory; with a thread for each operation and one that starts them.
    pub cores: BarrelConfig,
}

impl ListMtParts {
    /// The parts that `parameters` describe.
    #[must_use]
    pub fn new(parameters: &ListMtParameters) -> Self {
        Self {
            machine: parameters.instruction_set.machine(),
            function: parameters.program,
            locks: parameters.locks,
            entries: parameters.list_cache,
            delivery: parameters.header,
            operations: parameters.operations,
            cores: BarrelConfig { threads: parameters.operations + 1, ..parameters.cores },
        }
    }

    /// The firmware.
    #[must_use]
    pub const fn guest(&self) -> Guest {
        match (self.function, self.locks) {
            (MatchFunction::Mpi, LockStyle::Hardware) => Guest::QueueMt,
            (MatchFunction::Mpi, LockStyle::Spin) => Guest::QueueMtSpin,
            (MatchFunction::Portals, LockStyle::Hardware) => Guest::QueuePortalsMt,
            (MatchFunction::Portals, LockStyle::Spin) => Guest::QueuePortalsMtSpin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_are_the_columns_of_the_papers_table() {
        for (name, cores) in [("mt1", 1), ("mt2", 2), ("mt16", 16)] {
            let ListMtParts { cores: found, .. } = ListMtParts::new(&mb_testkit::preset(&crate::ENTRY, name));
            let table = BarrelConfig::hemmert2007(cores).unwrap();
            let BarrelConfig { multiply, divide, .. } = found;
            // A context for each operation and one for the thread that starts them.
            let threads = cores * table.contexts;
            assert_eq!(found, BarrelConfig { multiply, divide, threads, ..table }, "{name}");
        }
    }
}
