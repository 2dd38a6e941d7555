// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of a network processor: cores, caches, buses and memory.
//!
//! The machine and the receive engine have them.

use mb_core::parameters::Choice;
use mb_processor::FloatLatencies;
use mb_processor::chip::{ChipConfig, FetchPolicy, IssueOrder, Latencies};
use mb_processor::predictor::{Direction, PredictorConfig};
use mb_processor::shared_l2::{L1Config, SharedL2Config};

/// The cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(sourced = SourcedProcessorParameters)]
pub struct ProcessorParameters {
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
    pub order: CoreOrder,
    /// Instructions that a core commits in a cycle.
    #[parameter(range = 1..=64)]
    pub commit_width: u32,
    /// Cycles from issue to the result.
    #[parameter(nested, prefix = "latency_")]
    pub latencies: LatencyParameters,
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
}

/// Latencies of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(sourced = SourcedLatencyParameters)]
pub struct LatencyParameters {
    /// Latency of integer operations, in cycles, as are all latencies.
    #[parameter(range = 1..=63)]
    pub integer: u64,
    /// Latency of a multiplication of 32 bits.
    #[parameter(range = 1..=63)]
    pub multiply_word: u64,
    /// Latency of a multiplication of 64 bits.
    #[parameter(range = 1..=63)]
    pub multiply: u64,
    /// Latency of a division.
    #[parameter(range = 1..=63)]
    pub divide: u64,
    /// Latency of a branch.
    #[parameter(range = 1..=63)]
    pub branch: u64,
    /// Latency of a load that hits.
    #[parameter(range = 1..=63)]
    pub load: u64,
    /// Latency of a store.
    #[parameter(range = 1..=63)]
    pub store: u64,
    /// Latency of an atomic.
    #[parameter(range = 1..=63)]
    pub synchronisation: u64,
}

/// Caches, buses and memory. The size of a line is not here: the receive engine allows fewer sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(sourced = SourcedCacheParameters)]
pub struct CacheParameters {
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
    /// Cycles from the start of an access to the L2 to the start of the next one.
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
pub enum CoreOrder {
    /// As operands become ready.
    OutOfOrder,
    /// Each context in program order.
    InOrder,
}

impl ProcessorParameters {
    /// The cores.
    #[must_use]
    pub const fn config(&self) -> ChipConfig {
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
                CoreOrder::OutOfOrder => IssueOrder::OutOfOrder,
                CoreOrder::InOrder => IssueOrder::InOrder,
            },
            latencies: self.latencies.config(),
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
}

impl LatencyParameters {
    const fn config(&self) -> Latencies {
        Latencies {
            integer: self.integer,
            multiply_word: self.multiply_word,
            multiply: self.multiply,
            divide: self.divide,
            // The software has no floating point.
            float: FloatLatencies::TULLSEN1996,
            branch: self.branch,
            load: self.load,
            store: self.store,
            synchronisation: self.synchronisation,
        }
    }
}

impl CacheParameters {
    /// The memory system of `processor`, with lines of `line` bytes.
    #[must_use]
    pub const fn config(&self, processor: &ProcessorParameters, line: u64) -> SharedL2Config {
        let instruction = L1Config {
            bytes: self.l1_bytes,
            ways: self.l1_ways,
            banks: self.l1_banks,
            interleave: line,
            hit: self.l1_hit,
            mshrs: self.l1_mshrs,
        };
        SharedL2Config {
            cores: processor.cores,
            contexts: processor.contexts,
            line,
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
