// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the machine: controller, SPINE, processor and memory.

use mb_core::Clock;
use mb_core::parameters::Choice;
use mb_processor::chip::{ChipConfig, FetchPolicy, IssueOrder, Latencies};
use mb_processor::predictor::{Direction, PredictorConfig};
use mb_processor::shared_l2::{L1Config, SharedL2Config};

use crate::contract::{Application, Classifier, ClassifyIn, Idle, OsThread, SpineConfig};
use crate::controller::{ControllerConfig, Input};
use crate::machine::Limits;

/// Parameters of the machine.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct NetprocParameters {
    /// Clock of the processor, the buses and the controller.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Whether the processor is simulated cycle by cycle, or harts execute one instruction in a cycle without timing.
    #[parameter]
    pub timing: Timing,

    /// When packets arrive: one waits at all times, or at a rate.
    #[parameter]
    pub input: Arrivals,
    /// Packets in a second (`input` = `rate`).
    #[parameter(range = 1..=1_000_000_000)]
    pub rate: u64,
    /// Packets that the controller holds before it drops (`input` = `rate`).
    #[parameter(range = 1..=1_000_000)]
    pub input_queue: usize,
    /// DMA transfers of the controller that are under way at a time.
    #[parameter(range = 1..=256)]
    pub dma_transfers: usize,
    /// Whether frames that are forwarded are read by DMA.
    #[parameter]
    pub transmit: bool,

    /// What handles packets: the application of the filter that matches, or always the same one.
    #[parameter]
    pub application: Handler,
    /// What classifies packets.
    #[parameter]
    pub classifier: Classifier,
    /// Who calls a classifier of software: the worker that takes the packet, or the OS thread.
    #[parameter]
    pub classify_in: ClassifyIn,
    /// Filters: 8 of the scenarios, and others behind them.
    #[parameter(range = 0..=256)]
    pub filters: usize,
    /// Routes of IPv4, and as many of IPv6.
    #[parameter(range = 1..=4_000_000)]
    pub routes: usize,
    /// How workers wait for packets, and harts for locks.
    #[parameter]
    pub idle: Idle,
    /// How the OS thread waits for packets.
    #[parameter]
    pub os_idle: Idle,
    /// Which harts receive packets: hart 0 alone, or every hart its own.
    #[parameter]
    pub os: OsThread,
    /// Slots of the receive ring, a power of two.
    #[parameter(range = 2..=4096)]
    pub ring_slots: u32,
    /// Packet buffers, more than the slots.
    #[parameter(range = 3..=1_000_000)]
    pub buffers: u32,
    /// Longest frame that a buffer holds, in bytes.
    #[parameter(range = 64..=16_000)]
    pub buffer_bytes: u32,
    /// Buckets of the flow table, a power of two.
    #[parameter(range = 1..=1_048_576)]
    pub flow_buckets: u32,
    /// Flows that the flow table holds.
    #[parameter(range = 1..=1_000_000)]
    pub flows: u32,
    /// Memory for tables and buffers, in bytes.
    #[parameter(range = 4096..=240_000_000)]
    pub heap_bytes: u64,
    /// Most cycles that a hart may spend on one packet.
    #[parameter(range = 1000..=1_000_000_000_000)]
    pub handler_limit: u64,
    /// Most cycles before the first packet.
    #[parameter(range = 1000..=1_000_000_000_000)]
    pub setup_limit: u64,

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
    #[parameter(range = 16..=256)]
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

/// Whether the processor is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Timing {
    /// Cycle by cycle.
    Cycles,
    /// Harts execute one instruction in a cycle; caches and buses take no time.
    Functional,
}

/// When packets arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Arrivals {
    /// A packet waits at all times.
    Saturated,
    /// At a constant rate.
    Rate,
}

/// What handles packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Handler {
    /// The application of the filter that matches; IP-FORWARD if none does.
    ByFilter,
    /// Drops every packet.
    Null,
    /// IP-FORWARD.
    IpForward,
    /// HTTPMON.
    #[choice("httpmon")]
    HttpMon,
    /// MD5.
    #[choice("md5")]
    Md5,
    /// 3DES.
    #[choice("3des")]
    TripleDes,
    /// The user's handler.
    User,
}

impl Handler {
    /// The application of all packets; none if filters say it.
    #[must_use]
    pub const fn application(self) -> Option<Application> {
        match self {
            Self::ByFilter => None,
            Self::Null => Some(Application::Null),
            Self::IpForward => Some(Application::IpForward),
            Self::HttpMon => Some(Application::HttpMon),
            Self::Md5 => Some(Application::Md5),
            Self::TripleDes => Some(Application::TripleDes),
            Self::User => Some(Application::User),
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

/// Keys and initialisation vector of 3DES; any will do, as its cost does not depend on them.
const DES_KEYS: [u8; 24] =
    *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x23\x45\x67\x89\xab\xcd\xef\x01\x45\x67\x89\xab\xcd\xef\x01\x23";
const DES_IV: [u8; 8] = *b"\xf6\x9f\x24\x45\xdf\x4f\x9b\x17";

impl NetprocParameters {
    /// Hardware threads.
    #[must_use]
    pub const fn harts(&self) -> u32 {
        (self.cores * self.contexts) as u32
    }

    /// What SPINE is configured with.
    #[must_use]
    pub const fn spine(&self) -> SpineConfig {
        let default_application = match self.application.application() {
            None => Some(Application::IpForward),
            application => application,
        };
        SpineConfig {
            classifier: self.classifier,
            classify_in: self.classify_in,
            idle: self.idle,
            os_idle: self.os_idle,
            os: self.os,
            ring_slots: self.ring_slots,
            buffers: self.buffers,
            buffer_bytes: self.buffer_bytes,
            default_application,
            flow_buckets: self.flow_buckets,
            flows: self.flows,
            des_keys: DES_KEYS,
            des_iv: DES_IV,
        }
    }

    /// The controller, for a run of `packets`.
    #[must_use]
    pub fn controller(&self, packets: u64) -> ControllerConfig {
        let input = match self.input {
            Arrivals::Saturated => Input::Saturated,
            Arrivals::Rate => Input::Interval((u128::from(self.clock.hertz()) * 1024 / u128::from(self.rate)) as u64),
        };
        ControllerConfig {
            input,
            input_queue: self.input_queue,
            outstanding: self.dma_transfers,
            transmit: self.transmit,
            buffer_bytes: self.buffer_bytes,
            classifies: self.classifier == Classifier::Hardware,
            packets,
        }
    }

    /// Bounds of a run.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        Limits { handler: self.handler_limit, setup: self.setup_limit }
    }

    /// The cores.
    #[must_use]
    pub const fn chip(&self) -> ChipConfig {
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
    #[must_use]
    pub const fn memory(&self) -> SharedL2Config {
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
