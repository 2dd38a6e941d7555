// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the cores that they describe.

use mb_core::parameters::Choice;
use mb_core::{Clock, Cycles};
use mb_firmware::Guest;
use mb_processor::barrel::{BarrelConfig, CallCosts, Exchange, SpawnPolicy};
use mb_processor::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};
use mb_processor::{FloatLatencies, Isa};

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
    /// Cores, each of which issues one instruction in a cycle.
    #[parameter(range = 1..=256)]
    pub cores: usize,
    /// Hardware thread contexts of a core.
    #[parameter(range = 1..=256)]
    pub contexts: usize,
    /// Core of a new thread: the one with the most free contexts, or the first with any.
    #[parameter]
    pub placement: ThreadPlacement,
    /// Starting a thread.
    #[parameter(range = 1..=10_000)]
    pub thread_create: Cycles,
    /// Time slice: cycles after which threads without a context replace others at the latest.
    #[parameter(range = 2..=1_000_000)]
    pub quantum: Cycles,
    /// Loading the context of one thread.
    #[parameter(range = 0..=10_000)]
    pub context_swap: Cycles,
    /// Threads that are replaced at the end of a time slice: any, or only those that wait.
    #[parameter]
    pub preempt: Preemption,
    /// From a taken branch to the next instruction of its thread.
    #[parameter(range = 1..=1000)]
    pub branch_taken: Cycles,
    /// Locks in hardware with handoff, or words in the items that threads spin on.
    #[parameter]
    pub locks: LockStyle,
    /// Acquiring a free hardware lock.
    #[parameter(range = 1..=10_000)]
    pub lock_acquire: Cycles,
    /// Releasing a hardware lock.
    #[parameter(range = 1..=10_000)]
    pub lock_release: Cycles,
    /// Lock handoff: from a release to the next attempt of the thread that has waited longest.
    #[parameter(range = 1..=10_000)]
    pub lock_handoff: Cycles,
    /// Added to both when the lock was last held on another core.
    #[parameter(range = 0..=10_000)]
    pub lock_transfer: Cycles,
    /// Whether copies of a line in several caches are free, or invalidated by stores.
    #[parameter]
    pub coherence: CoherenceStyle,
    /// Invalidating the copies of other cores (`invalidate`).
    #[parameter(range = 0..=10_000)]
    pub line_upgrade: Cycles,
    /// Fetching a line that another core has modified (`invalidate`).
    #[parameter(range = 0..=10_000)]
    pub line_transfer: Cycles,
    /// Bytes of a line of all caches.
    #[parameter(range = 8..=4096)]
    pub line: u64,
    /// Size of each core's instruction cache.
    #[parameter(range = 8..=1 << 30)]
    pub instruction_bytes: u64,
    /// Ways of the instruction cache.
    #[parameter(range = 1..=1024)]
    pub instruction_ways: u64,
    /// Size of each core's data cache.
    #[parameter(range = 8..=1 << 30)]
    pub data_bytes: u64,
    /// Ways of the data cache.
    #[parameter(range = 1..=1024)]
    pub data_ways: u64,
    /// Latency of a cache hit.
    #[parameter(range = 1..=1000)]
    pub hit_latency: Cycles,
    /// From an access that misses to its request to memory.
    #[parameter(range = 0..=1000)]
    pub lookup: Cycles,
    /// Miss status holding registers (MSHRs) of each cache.
    #[parameter(range = 1..=1024)]
    pub mshrs: usize,
    /// From a request to memory to the use of the first bits.
    #[parameter(range = 0..=1_000_000)]
    pub memory_latency: Cycles,
    /// Bits that memory delivers in a cycle, to all cores together.
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

/// The core of a new thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ThreadPlacement {
    /// The one with the most free contexts.
    Spread,
    /// The first with a free context.
    Fill,
}

/// Threads that are replaced at the end of a time slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Preemption {
    /// Any.
    Any,
    /// Those that wait.
    Waiting,
}

/// The effect of a store on copies of its line in other caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum CoherenceStyle {
    /// They are updated at no cost.
    Ideal,
    /// They are invalidated.
    Invalidate,
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
            cores: cores(parameters, parameters.operations + 1),
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

fn cores(parameters: &ListMtParameters, threads: usize) -> BarrelConfig {
    // The firmware neither multiplies nor divides, and has no floating point.
    let unused = Cycles(1);
    BarrelConfig {
        contexts: parameters.contexts,
        placement: match parameters.placement {
            ThreadPlacement::Spread => SpawnPolicy::Spread,
            ThreadPlacement::Fill => SpawnPolicy::Fill,
        },
        threads,
        quantum: parameters.quantum,
        swap: parameters.context_swap,
        exchange: match parameters.preempt {
            Preemption::Any => Exchange::All,
            Preemption::Waiting => Exchange::Idle,
        },
        multiply: unused,
        divide: unused,
        float: FloatLatencies::SIM_OUTORDER,
        taken: parameters.branch_taken,
        calls: CallCosts {
            create: parameters.thread_create,
            acquire: parameters.lock_acquire,
            release: parameters.lock_release,
            handoff: parameters.lock_handoff,
            transfer: parameters.lock_transfer,
        },
        hierarchy: hierarchy(parameters),
    }
}

const fn hierarchy(parameters: &ListMtParameters) -> HierarchyConfig {
    let data = CacheConfig {
        bytes: parameters.data_bytes,
        ways: parameters.data_ways,
        line: parameters.line,
        write: WritePolicy::Back,
        allocate: true,
        hit: parameters.hit_latency,
        lookup: parameters.lookup,
        // A core issues one instruction in a cycle.
        ports: 1,
        mshrs: parameters.mshrs,
    };
    let coherence = match parameters.coherence {
        CoherenceStyle::Ideal => Coherence::Ideal,
        CoherenceStyle::Invalidate => {
            Coherence::Invalidate { upgrade: parameters.line_upgrade, transfer: parameters.line_transfer }
        }
    };
    HierarchyConfig {
        cores: parameters.cores,
        instruction: CacheConfig { bytes: parameters.instruction_bytes, ways: parameters.instruction_ways, ..data },
        data,
        memory: MemoryConfig { latency: parameters.memory_latency, bits_per_cycle: parameters.memory_bits },
        coherence,
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
