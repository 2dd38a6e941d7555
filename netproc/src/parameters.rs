// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the machine: controller, SPINE, processor and memory.

use mb_core::Clock;
use mb_core::parameters::{Choice, Embedded, Value};
use mb_processor::chip::ChipConfig;
use mb_processor::shared_l2::SharedL2Config;

use crate::contract::{Application, Classifier, ClassifyIn, Idle, OsThread, SpineConfig};
use crate::controller::{ArrivalSchedule, ControllerConfig};
use crate::machine::Limits;
use crate::scheduling::Priorities;

/// The parameters of cores whose software has no floating point.
pub const CORES: &[(&str, Embedded)] = &[
    ("cores", Embedded::Range(1, 32)),
    ("slack", Embedded::Fixed(Value::Whole(1))),
    ("float_simple", Embedded::Fixed(Value::Whole(4))),
    ("float_convert", Embedded::Fixed(Value::Whole(4))),
    ("float_add", Embedded::Fixed(Value::Whole(4))),
    ("float_multiply", Embedded::Fixed(Value::Whole(4))),
    ("float_fused", Embedded::Fixed(Value::Whole(4))),
    ("float_divide", Embedded::Fixed(Value::Whole(30))),
    ("float_square_root", Embedded::Fixed(Value::Whole(30))),
    ("predictor", Embedded::Fixed(Value::Word("gshare"))),
];

/// The parameters of their caches, with lines of at most `line` bytes: the two L1 caches of a core are alike, but
/// instructions are interleaved by lines and data by double words. The numbers of cores and contexts are those of the
/// processor.
#[must_use]
pub const fn caches(line: u64) -> [(&'static str, Embedded); 15] {
    const BYTES: Embedded = Embedded::As("l1_bytes", "Size of each L1 cache of a core, in bytes.");
    const WAYS: Embedded = Embedded::As("l1_ways", "Ways of the L1 caches.");
    const BANKS: Embedded = Embedded::As("l1_banks", "Banks of the L1 caches.");
    const HIT: Embedded = Embedded::As("l1_hit", "Cycles of a hit in an L1 cache.");
    const MSHRS: Embedded = Embedded::As("l1_mshrs", "Miss status holding registers (MSHRs) of an L1 cache.");
    [
        ("cores", Embedded::Fixed(Value::Whole(1))),
        ("contexts", Embedded::Fixed(Value::Whole(1))),
        ("line", Embedded::Range(16, line)),
        ("instruction_bytes", BYTES),
        ("data_bytes", BYTES),
        ("instruction_ways", WAYS),
        ("data_ways", WAYS),
        ("instruction_banks", BANKS),
        ("data_banks", BANKS),
        ("instruction_interleave", Embedded::As("line", "")),
        ("data_interleave", Embedded::Fixed(Value::Whole(8))),
        ("instruction_hit", HIT),
        ("data_hit", HIT),
        ("instruction_mshrs", MSHRS),
        ("data_mshrs", MSHRS),
    ]
}

/// Parameters of the machine.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(sourced = SourcedNetprocParameters)]
pub struct PacketMachineParameters {
    /// Clock of the cores, their caches, and the bus between them.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Clock of memory, its bus and the controller, in whose cycles `memory_latency` and `device_latency` are.
    #[parameter(range = 1..=100_000)]
    pub memory_clock: Clock,
    /// Whether the processor is simulated cycle by cycle, or harts execute one instruction in a cycle without timing.
    #[parameter]
    pub timing: ProcessorTiming,

    /// When packets arrive: one waits at all times, at a constant rate, as a Poisson process, or with the time stamps
    /// of the capture.
    #[parameter]
    pub input: Arrivals,
    /// Packets in a second (`input` = `rate` or `poisson`).
    #[parameter(range = 1..=1_000_000_000)]
    pub rate: u64,
    /// Seed of the times between packets (`input` = `poisson`).
    #[parameter(range = 0..=u64::MAX)]
    pub arrival_seed: u64,
    /// Speed of the time stamps in percent: 200 halves the times between packets (`input` = `capture`).
    #[parameter(range = 1..=100_000_000)]
    pub speed_percent: u64,
    /// Packets that the controller holds before it drops; without effect if `input` = `saturated`.
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
    /// Filters: 8 of the scenarios, then others.
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
    /// Which threads of a multithreaded core fetch before others.
    #[parameter]
    pub priorities: Priorities,
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
    /// Most instructions of hart 0 before the first packet.
    #[parameter(range = 1000..=1_000_000_000_000)]
    pub setup_limit: u64,

    /// Cores.
    #[parameter(nested, embed = CORES)]
    pub processor: ChipConfig,
    /// Caches, buses and memory.
    #[parameter(nested, embed = &caches(256))]
    pub caches: SharedL2Config,
}

/// Whether the processor is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ProcessorTiming {
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
    /// As a Poisson process.
    Poisson,
    /// With the time stamps of the capture.
    Capture,
}

/// The application that handles packets.
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

/// Keys and initialisation vector of 3DES; any will do, as its cost does not depend on them.
const DES_KEYS: [u8; 24] =
    *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x23\x45\x67\x89\xab\xcd\xef\x01\x45\x67\x89\xab\xcd\xef\x01\x23";
const DES_IV: [u8; 8] = *b"\xf6\x9f\x24\x45\xdf\x4f\x9b\x17";

impl PacketMachineParameters {
    /// Hardware threads.
    #[must_use]
    pub const fn harts(&self) -> u32 {
        (self.processor.cores * self.processor.contexts) as u32
    }

    /// The configuration of SPINE.
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
        let interval = (u128::from(self.clock.hertz()) * 1024 / u128::from(self.rate)) as u64;
        let input = match self.input {
            Arrivals::Saturated => ArrivalSchedule::Saturated,
            Arrivals::Rate => ArrivalSchedule::Interval(interval),
            Arrivals::Poisson => ArrivalSchedule::Poisson { mean: interval, seed: self.arrival_seed },
            Arrivals::Capture => ArrivalSchedule::Capture { clock: self.clock, percent: self.speed_percent },
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
        ChipConfig { priorities: self.priorities.of_contexts(), ..self.processor }
    }

    /// Caches, buses and memory, but for the clock of the memory bus ([`bus_clock`](Self::bus_clock)).
    #[must_use]
    pub fn memory(&self) -> SharedL2Config {
        let ChipConfig { cores, contexts, .. } = self.processor;
        SharedL2Config {
            cores,
            contexts,
            memory: self.of_memory(self.caches.memory),
            device: self.of_memory(self.caches.device),
            ..self.caches
        }
    }

    /// Cycles of the cores, and cycles of the memory bus in the same time.
    #[must_use]
    pub fn bus_clock(&self) -> (u64, u64) {
        (self.clock.hertz() / 1000, self.memory_clock.hertz() / 1000)
    }

    /// Cycles of the cores that `cycles` of memory take, rounded up.
    fn of_memory(&self, cycles: u64) -> u64 {
        let (cores, memory) = self.bus_clock();
        (cycles * cores).div_ceil(memory)
    }
}
