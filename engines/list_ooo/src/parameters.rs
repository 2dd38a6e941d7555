// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the core that they describe.

use mb_core::parameters::Choice;
use mb_core::{Clock, Cycles};
use mb_firmware::Guest;
use mb_processor::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};
use mb_processor::out_of_order::{Disambiguation, FloatUnits, OutOfOrderConfig, UnitConfig};
use mb_processor::predictor::{Direction, PredictorConfig};
use mb_processor::{FloatLatencies, Isa};

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
    /// Instructions fetched in a cycle.
    #[parameter(range = 1..=16)]
    pub fetch_width: u32,
    /// Entries of the queue between fetch and dispatch.
    #[parameter(range = 1..=256)]
    pub fetch_queue: usize,
    /// Aligned bytes that an access of the instruction cache returns.
    #[parameter(range = 4..=4096)]
    pub fetch_block: u64,
    /// Accesses of the instruction cache in a cycle.
    #[parameter(range = 1..=16)]
    pub fetch_blocks: u32,
    /// From fetch to dispatch.
    #[parameter(range = 1..=64)]
    pub front_end: Cycles,
    /// Instructions dispatched in a cycle.
    #[parameter(range = 1..=16)]
    pub decode_width: u32,
    /// Operations issued in a cycle.
    #[parameter(range = 1..=16)]
    pub issue_width: u32,
    /// Instructions committed in a cycle.
    #[parameter(range = 1..=16)]
    pub commit_width: u32,
    /// Entries of the reorder buffer (ROB).
    #[parameter(range = 1..=OutOfOrderConfig::MAX_ENTRIES as u64)]
    pub rob: usize,
    /// Entries of the load-store queue (LSQ).
    #[parameter(range = 1..=1024)]
    pub lsq: usize,
    /// Functional units for integers and branches.
    #[parameter(range = 1..=16)]
    pub integer_units: u32,
    /// Functional units for addresses; with none, integer units compute them.
    #[parameter(range = 0..=16)]
    pub address_units: u32,
    /// Whether a load waits for the addresses of all earlier stores, or for predicted conflicts only.
    #[parameter]
    pub disambiguation: LoadOrder,
    /// Prediction of conditional branches.
    #[parameter]
    pub predictor: PredictorKind,
    /// Two-bit counters of the predictors `bimodal` and `gshare`.
    #[parameter(range = 1..=1 << 20)]
    pub predictor_counters: usize,
    /// Bits of global branch history of `gshare`.
    #[parameter(range = 0..=32)]
    pub history_bits: u32,
    /// Sets of the branch target buffer (BTB), or 0 for none.
    #[parameter(range = 0..=1 << 16)]
    pub btb_sets: usize,
    /// Ways of the branch target buffer.
    #[parameter(range = 1..=64)]
    pub btb_ways: usize,
    /// Entries of the return address stack.
    #[parameter(range = 0..=1024)]
    pub return_stack: usize,
    /// From the resolution of a mispredicted branch to fetch on the right path.
    #[parameter(range = 0..=64)]
    pub mispredict_penalty: Cycles,
    /// From the dispatch of a branch that was not in the BTB to fetch from its target.
    #[parameter(range = 0..=64)]
    pub misfetch_penalty: Cycles,
    /// Bytes of a line of both caches.
    #[parameter(range = 8..=4096)]
    pub line: u64,
    /// Size of the instruction cache.
    #[parameter(range = 8..=1 << 30)]
    pub instruction_bytes: u64,
    /// Ways of the instruction cache.
    #[parameter(range = 1..=1024)]
    pub instruction_ways: u64,
    /// Size of the data cache.
    #[parameter(range = 8..=1 << 30)]
    pub data_bytes: u64,
    /// Ways of the data cache.
    #[parameter(range = 1..=1024)]
    pub data_ways: u64,
    /// Latency of a cache hit.
    #[parameter(range = 1..=1000)]
    pub hit_latency: Cycles,
    /// From a load or store that misses to its request to memory; for a fetch it is part of `front_end`.
    #[parameter(range = 0..=1000)]
    pub lookup: Cycles,
    /// Accesses of the data cache in a cycle.
    #[parameter(range = 1..=16)]
    pub data_ports: u32,
    /// Miss status holding registers (MSHRs) of each cache.
    #[parameter(range = 1..=1024)]
    pub mshrs: usize,
    /// From a request to memory to the use of the first bits.
    #[parameter(range = 0..=1_000_000)]
    pub memory_latency: Cycles,
    /// Bits that memory delivers in a cycle.
    #[parameter(range = 8..=1 << 20)]
    pub memory_bits: u64,
}

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

/// When a load may pass earlier stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum LoadOrder {
    /// When the addresses of all of them are known.
    Conservative,
    /// When none of them is predicted to write what it reads.
    Predicted,
}

/// Prediction of conditional branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum PredictorKind {
    /// Always right.
    Perfect,
    /// Never taken.
    NotTaken,
    /// Always taken.
    Taken,
    /// A table of counters by address.
    Bimodal,
    /// A table of counters by address and history.
    Gshare,
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
        Self {
            machine: parameters.instruction_set.machine(),
            guest: match parameters.program {
                MatchFunction::Mpi => Guest::Queue,
                MatchFunction::Portals => Guest::QueuePortals,
            },
            entries: parameters.list_cache,
            delivery: parameters.header,
            core: core(parameters),
            hierarchy: hierarchy(parameters),
        }
    }
}

const fn core(parameters: &ListOooParameters) -> OutOfOrderConfig {
    let &ListOooParameters { predictor_counters: entries, history_bits: history, .. } = parameters;
    let direction = match parameters.predictor {
        PredictorKind::Perfect => Direction::Perfect,
        PredictorKind::NotTaken => Direction::NotTaken,
        PredictorKind::Taken => Direction::Taken,
        PredictorKind::Bimodal => Direction::Bimodal { entries },
        PredictorKind::Gshare => Direction::Gshare { entries, history },
    };
    OutOfOrderConfig {
        fetch_width: parameters.fetch_width,
        fetch_queue: parameters.fetch_queue,
        fetch_block: parameters.fetch_block,
        front_end: parameters.front_end,
        decode_width: parameters.decode_width,
        issue_width: parameters.issue_width,
        commit_width: parameters.commit_width,
        rob: parameters.rob,
        lsq: parameters.lsq,
        integer: unit(parameters.integer_units),
        // The firmware neither multiplies nor divides, and has no floating point.
        multiply: unit(1),
        divide: unit(0),
        float: FloatUnits { count: 1, latencies: FloatLatencies::SIM_OUTORDER },
        address: unit(parameters.address_units),
        disambiguation: match parameters.disambiguation {
            LoadOrder::Conservative => Disambiguation::AllAddresses,
            LoadOrder::Predicted => Disambiguation::Predicted,
        },
        predictor: PredictorConfig {
            direction,
            target_sets: parameters.btb_sets,
            target_ways: parameters.btb_ways,
            return_stack: parameters.return_stack,
            address_shift: match parameters.instruction_set {
                InstructionSet::Ppc32 => 2,
                InstructionSet::Rv64 => 1,
            },
        },
        mispredicted: parameters.mispredict_penalty,
        misfetched: parameters.misfetch_penalty,
    }
}

const fn unit(count: u32) -> UnitConfig {
    UnitConfig { count, latency: Cycles(1), interval: Cycles(1) }
}

fn hierarchy(parameters: &ListOooParameters) -> HierarchyConfig {
    let data = CacheConfig {
        bytes: parameters.data_bytes,
        ways: parameters.data_ways,
        line: parameters.line,
        write: WritePolicy::Back,
        allocate: true,
        hit: parameters.hit_latency,
        lookup: parameters.lookup,
        ports: parameters.data_ports,
        mshrs: parameters.mshrs,
    };
    HierarchyConfig {
        cores: 1,
        instruction: CacheConfig {
            bytes: parameters.instruction_bytes,
            ways: parameters.instruction_ways,
            ports: parameters.fetch_blocks,
            lookup: Cycles::ZERO,
            ..data
        },
        data,
        memory: MemoryConfig { latency: parameters.memory_latency, bits_per_cycle: parameters.memory_bits },
        coherence: Coherence::Ideal,
    }
}
