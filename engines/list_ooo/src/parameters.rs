// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the core that they describe.

use mb_core::Clock;
use mb_core::parameters::{Choice, Embedded, Value};
use mb_firmware::Guest;
use mb_processor::Isa;
use mb_processor::hierarchy::HierarchyConfig;
use mb_processor::out_of_order::OutOfOrderConfig;

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct ListOooParameters {
    /// Clock of the core.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Instruction set that the firmware is compiled for.
    #[parameter]
    pub instruction_set: InstructionSet,
    /// Match function of the firmware: MPI envelopes, or Hemmert et al.'s whole function.
    #[parameter]
    pub program: MatchFunction,
    /// Whether list entries can stay in the data cache, or miss in every operation.
    #[parameter]
    pub list_cache: Entries,
    /// Where the hardware puts a descriptor: in memory, or in the core's data cache.
    #[parameter]
    pub header: Delivery,
    /// The core.
    #[parameter(nested, embed = CORE)]
    pub core: OutOfOrderConfig,
    /// Its caches and memory.
    #[parameter(nested, embed = CACHES)]
    pub hierarchy: HierarchyConfig,
}

/// The firmware neither multiplies nor divides, and has no floating point. The length of its instructions follows from
/// the instruction set.
const CORE: &[(&str, Embedded)] = &[
    ("integer_latency", Embedded::Fixed(Value::Whole(1))),
    ("integer_interval", Embedded::Fixed(Value::Whole(1))),
    ("multiply_units", Embedded::Fixed(Value::Whole(1))),
    ("multiply_latency", Embedded::Fixed(Value::Whole(1))),
    ("multiply_interval", Embedded::Fixed(Value::Whole(1))),
    ("divide_units", Embedded::Fixed(Value::Whole(0))),
    ("divide_latency", Embedded::Fixed(Value::Whole(1))),
    ("divide_interval", Embedded::Fixed(Value::Whole(1))),
    ("float_units", Embedded::Fixed(Value::Whole(1))),
    ("float_simple", Embedded::Fixed(Value::Whole(1))),
    ("float_convert", Embedded::Fixed(Value::Whole(1))),
    ("float_add", Embedded::Fixed(Value::Whole(1))),
    ("float_multiply", Embedded::Fixed(Value::Whole(1))),
    ("float_fused", Embedded::Fixed(Value::Whole(1))),
    ("float_divide", Embedded::Fixed(Value::Whole(1))),
    ("float_square_root", Embedded::Fixed(Value::Whole(1))),
    ("address_latency", Embedded::Fixed(Value::Whole(1))),
    ("address_interval", Embedded::Fixed(Value::Whole(1))),
    ("address_shift", Embedded::Fixed(Value::Whole(1))),
    ("predictor_history", Embedded::As("history_bits", "Bits of global branch history of `gshare`.")),
];

/// One core, with caches that write back. Lines, hits and MSHRs of both caches are alike.
const CACHES: &[(&str, Embedded)] = &[
    ("cores", Embedded::Fixed(Value::Whole(1))),
    ("instruction_line", Embedded::As("line", "Bytes of a line of both caches.")),
    ("data_line", Embedded::As("line", "")),
    ("instruction_write", Embedded::Fixed(Value::Word("back"))),
    ("data_write", Embedded::Fixed(Value::Word("back"))),
    ("instruction_allocate", Embedded::Fixed(Value::Word("on"))),
    ("data_allocate", Embedded::Fixed(Value::Word("on"))),
    ("instruction_hit", Embedded::As("hit_latency", "Latency of a cache hit.")),
    ("data_hit", Embedded::As("hit_latency", "")),
    ("instruction_lookup", Embedded::Fixed(Value::Whole(0))),
    (
        "data_lookup",
        Embedded::As(
            "lookup",
            "From a load or store that misses to its request to memory; for a fetch it is part of `front_end`.",
        ),
    ),
    ("instruction_ports", Embedded::As("fetch_blocks", "Accesses of the instruction cache in a cycle.")),
    ("instruction_mshrs", Embedded::As("mshrs", "Miss status holding registers (MSHRs) of each cache.")),
    ("data_mshrs", Embedded::As("mshrs", "")),
    ("coherence", Embedded::Fixed(Value::Word("ideal"))),
    ("line_upgrade", Embedded::Fixed(Value::Whole(0))),
    ("line_transfer", Embedded::Fixed(Value::Whole(0))),
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

/// Whether list entries stay in the data cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Entries {
    /// Until they are evicted.
    Warm,
    /// The first access to a line in each operation misses.
    Cold,
}

/// Where the hardware puts a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Delivery {
    /// In memory: the first access to it misses.
    Memory,
    /// In the data cache.
    Cache,
}

/// The engine's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListOooParts {
    /// Instruction set.
    pub machine: Isa,
    /// The firmware.
    pub guest: Guest,
    /// Of the lists.
    pub entries: Entries,
    /// Of descriptors.
    pub delivery: Delivery,
    /// The core.
    pub core: OutOfOrderConfig,
    /// Its caches and memory.
    pub hierarchy: HierarchyConfig,
}

impl ListOooParts {
    /// The parts that `parameters` describe.
    #[must_use]
    pub fn new(parameters: &ListOooParameters) -> Self {
        let mut core = parameters.core;
        core.predictor.address_shift = match parameters.instruction_set {
            InstructionSet::Ppc32 => 2,
            InstructionSet::Rv64 => 1,
        };
        Self {
            machine: parameters.instruction_set.machine(),
            guest: match parameters.program {
                MatchFunction::Mpi => Guest::Queue,
                MatchFunction::Portals => Guest::QueuePortals,
            },
            entries: parameters.list_cache,
            delivery: parameters.header,
            core,
            hierarchy: parameters.hierarchy,
        }
    }
}
