// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the processor that they describe.

use mb_core::Clock;
use mb_core::parameters::Choice;
use mb_guest::receive::Receive;
use mb_netproc::contract::OsThread;
use mb_processor::chip::{ChipConfig, FetchPolicy, IssueOrder, Latencies};
use mb_processor::predictor::{Direction, PredictorConfig};
use mb_processor::shared_l2::{L1Config, SharedL2Config};

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct NetprocParameters {
    /// Clock of processor, buses and interface.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Match function of the firmware: MPI envelopes, or Hemmert et al.'s whole function.
    #[parameter]
    pub program: MatchFunction,
    /// Outstanding operations; more are refused until one is answered.
    #[parameter(range = 1..=4096)]
    pub operations: usize,
    /// Which harts receive packets: hart 0 alone, or every hart its own.
    #[parameter]
    pub os: OsThread,
    /// Slots of the receive ring, a power of two.
    #[parameter(range = 2..=4096)]
    pub ring_slots: u32,
    /// Packet buffers, more than the slots.
    #[parameter(range = 3..=100_000)]
    pub buffers: u32,

    /// Cores.
    #[parameter(range = 1..=32)]
    pub cores: usize,
    /// Hardware thread contexts of a core.
    #[parameter(range = 1..=8)]
    pub contexts: usize,
    /// Instructions that a core fetches in a cycle.
    #[parameter(range = 1..=64)]
    pub fetch_width: u32,
    /// Contexts from which a core fetches in a cycle.
    #[parameter(range = 1..=8)]
    pub fetch_threads: u32,
    /// Which contexts fetch: those with the fewest instructions before issue, or in turns.
    #[parameter]
    pub fetch_policy: Policy,
    /// Bytes that an access to the instruction cache reads.
    #[parameter(range = 4..=256)]
    pub fetch_block: u64,
    /// Instructions of a context between fetch and rename.
    #[parameter(range = 1..=64)]
    pub fetch_queue: usize,
    /// Cycles from fetch to rename.
    #[parameter(range = 1..=63)]
    pub front_end: u64,
    /// Cycles until a branch that is predicted taken without a target in the BTB redirects fetch.
    #[parameter(range = 1..=63)]
    pub misfetch: u64,
    /// Cycles from the end of a mispredicted branch to the next fetch of its context.
    #[parameter(range = 1..=63)]
    pub redirect: u64,
    /// Instructions that a core renames in a cycle.
    #[parameter(range = 1..=64)]
    pub rename_width: u32,
    /// Entries of a core's instruction queue.
    #[parameter(range = 1..=4096)]
    pub instruction_queue: usize,
    /// Physical registers of a core beyond the architectural ones.
    #[parameter(range = 1..=4096)]
    pub rename_registers: usize,
    /// Instructions of a context between rename and commit.
    #[parameter(range = 1..=64)]
    pub reorder_buffer: usize,
    /// Loads, stores and atomics of a context between rename and commit.
    #[parameter(range = 1..=64)]
    pub load_store_queue: usize,
    /// Units of a core, each of which executes every instruction: instructions issued in a cycle.
    #[parameter(range = 1..=64)]
    pub issue_width: u32,
    /// Order of issue.
    #[parameter]
    pub order: Order,
    /// Instructions that a core commits in a cycle.
    #[parameter(range = 1..=64)]
    pub commit_width: u32,
    /// Latency of integer operations, in cycles as all latencies.
    #[parameter(range = 1..=63)]
    pub latency_integer: u64,
    /// Latency of a multiplication of 32 bits.
    #[parameter(range = 1..=63)]
    pub latency_multiply_word: u64,
    /// Latency of a multiplication of 64 bits.
    #[parameter(range = 1..=63)]
    pub latency_multiply: u64,
    /// Latency of a division.
    #[parameter(range = 1..=63)]
    pub latency_divide: u64,
    /// Latency of a branch.
    #[parameter(range = 1..=63)]
    pub latency_branch: u64,
    /// Latency of a load that hits.
    #[parameter(range = 1..=63)]
    pub latency_load: u64,
    /// Latency of a store.
    #[parameter(range = 1..=63)]
    pub latency_store: u64,
    /// Latency of an atomic.
    #[parameter(range = 1..=63)]
    pub latency_synchronisation: u64,
    /// Counters of the gshare predictor of a core, a power of two.
    #[parameter(range = 2..=16_777_216)]
    pub predictor_counters: usize,
    /// Branches of global history.
    #[parameter(range = 0..=24)]
    pub predictor_history: u32,
    /// Sets of the BTB of a core, a power of two.
    #[parameter(range = 1..=65_536)]
    pub btb_sets: usize,
    /// Ways of the BTB.
    #[parameter(range = 1..=64)]
    pub btb_ways: usize,
    /// Entries of the return stack of a context.
    #[parameter(range = 0..=64)]
    pub return_stack: usize,

    /// Bytes of a line of all caches.
    #[parameter(range = 16..=64)]
    pub line: u64,
    /// Size of each L1 cache of a core, in bytes.
    #[parameter(range = 64..=1_073_741_824)]
    pub l1_bytes: u64,
    /// Ways of the L1 caches.
    #[parameter(range = 1..=64)]
    pub l1_ways: u64,
    /// Banks of the L1 caches.
    #[parameter(range = 1..=1024)]
    pub l1_banks: u64,
    /// Cycles of a hit in an L1 cache.
    #[parameter(range = 1..=1000)]
    pub l1_hit: u64,
    /// Miss status holding registers (MSHRs) of an L1 cache.
    #[parameter(range = 2..=1024)]
    pub l1_mshrs: usize,
    /// Entries of the write buffer of a core.
    #[parameter(range = 1..=1024)]
    pub write_buffer: usize,
    /// Width of the bus between the L1 caches and the L2, in bytes.
    #[parameter(range = 8..=256)]
    pub l2_bus: u64,
    /// Size of the L2, in bytes.
    #[parameter(range = 128..=1_073_741_824)]
    pub l2_bytes: u64,
    /// Cycles of a hit in the L2.
    #[parameter(range = 1..=1000)]
    pub l2_hit: u64,
    /// Cycles from the begin of an access to the L2 to the begin of the next one.
    #[parameter(range = 1..=1000)]
    pub l2_interval: u64,
    /// Lines on their way from memory to the L2.
    #[parameter(range = 2..=1024)]
    pub l2_mshrs: usize,
    /// Modified lines that wait for the memory bus.
    #[parameter(range = 2..=1024)]
    pub write_backs: usize,
    /// Cycles of an access to memory, without its transfer.
    #[parameter(range = 0..=100_000)]
    pub memory_latency: u64,
    /// Width of the memory bus, in bytes.
    #[parameter(range = 1..=256)]
    pub memory_bus: u64,
    /// Cycles from the arrival of a store at the controller to its effect.
    #[parameter(range = 0..=100_000)]
    pub device_latency: u64,
}

/// The match function of the firmware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum MatchFunction {
    /// MPI envelopes.
    Mpi,
    /// The whole match function of Hemmert et al.
    Portals,
}

impl MatchFunction {
    /// The firmware.
    #[must_use]
    pub const fn firmware(self) -> Receive {
        match self {
            Self::Mpi => Receive::Mpi,
            Self::Portals => Receive::Portals,
        }
    }
}

/// Which contexts fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Policy {
    /// Those with the fewest instructions before issue.
    Icount,
    /// In turns.
    RoundRobin,
}

/// Order of issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Order {
    /// As operands become ready.
    OutOfOrder,
    /// Each context in program order.
    InOrder,
}

/// The engine's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Outstanding operations.
    pub operations: usize,
    /// Which harts receive packets.
    pub os: OsThread,
    /// Slots of the receive ring.
    pub ring_slots: u32,
    /// Packet buffers.
    pub buffers: u32,
    /// The cores.
    pub chip: ChipConfig,
    /// Caches, buses and memory.
    pub memory: SharedL2Config,
}

impl NetprocParameters {
    /// The parts that these parameters describe.
    #[must_use]
    pub const fn parts(&self) -> Parameters {
        Parameters {
            operations: self.operations,
            os: self.os,
            ring_slots: self.ring_slots,
            buffers: self.buffers,
            chip: self.chip(),
            memory: self.memory(),
        }
    }

    /// The cores.
    const fn chip(&self) -> ChipConfig {
        ChipConfig {
            cores: self.cores,
            contexts: self.contexts,
            fetch_width: self.fetch_width,
            fetch_threads: self.fetch_threads,
            fetch_policy: match self.fetch_policy {
                Policy::Icount => FetchPolicy::Icount,
                Policy::RoundRobin => FetchPolicy::RoundRobin,
            },
            priorities: [0; ChipConfig::MAX_CONTEXTS],
            fetch_block: self.fetch_block,
            fetch_queue: self.fetch_queue,
            front_end: self.front_end,
            misfetch: self.misfetch,
            redirect: self.redirect,
            rename_width: self.rename_width,
            instruction_queue: self.instruction_queue,
            rename_registers: self.rename_registers,
            reorder_buffer: self.reorder_buffer,
            load_store_queue: self.load_store_queue,
            issue_width: self.issue_width,
            order: match self.order {
                Order::OutOfOrder => IssueOrder::OutOfOrder,
                Order::InOrder => IssueOrder::InOrder,
            },
            latencies: Latencies {
                integer: self.latency_integer,
                multiply_word: self.latency_multiply_word,
                multiply: self.latency_multiply,
                divide: self.latency_divide,
                branch: self.latency_branch,
                load: self.latency_load,
                store: self.latency_store,
                synchronisation: self.latency_synchronisation,
            },
            commit_width: self.commit_width,
            predictor: PredictorConfig {
                direction: Direction::Gshare { entries: self.predictor_counters, history: self.predictor_history },
                target_sets: self.btb_sets,
                target_ways: self.btb_ways,
                return_stack: self.return_stack,
                // Instructions begin at multiples of 2.
                address_shift: 1,
            },
        }
    }

    /// Caches, buses and memory.
    const fn memory(&self) -> SharedL2Config {
        let instruction = L1Config {
            bytes: self.l1_bytes,
            ways: self.l1_ways,
            banks: self.l1_banks,
            interleave: self.line,
            hit: self.l1_hit,
            mshrs: self.l1_mshrs,
        };
        SharedL2Config {
            cores: self.cores,
            contexts: self.contexts,
            line: self.line,
            instruction,
            // Data banks are interleaved by double words.
            data: L1Config { interleave: 8, ..instruction },
            write_buffer: self.write_buffer,
            bus: self.l2_bus,
            l2: self.l2_bytes,
            l2_hit: self.l2_hit,
            l2_interval: self.l2_interval,
            l2_mshrs: self.l2_mshrs,
            write_backs: self.write_backs,
            memory: self.memory_latency,
            memory_bus: self.memory_bus,
            device: self.device_latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use mb_processor::chip::{cmp, cmp2, smt};

    use super::*;

    #[test]
    fn the_presets_are_the_processors_of_the_paper() {
        for (name, expected) in [("smt8", smt(8)), ("cmp8", cmp(8)), ("cmp2_4", cmp2(4)), ("cmp2_8", cmp2(8))] {
            let parameters: NetprocParameters = mb_testkit::preset(&crate::ENTRY, name);
            let Parameters { chip, memory, .. } = parameters.parts();
            assert_eq!(chip, expected, "{name}");
            assert_eq!(memory, SharedL2Config::crowley2000(expected.cores, expected.contexts), "{name}");
        }
    }
}
