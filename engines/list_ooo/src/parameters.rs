// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the engine is built from: settings by name, and the core that they describe.

use mb_core::settings::{SettingSpec, Settings, Unit};
use mb_guest::Guest;
use mb_processor::Isa;
use mb_processor::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};
use mb_processor::out_of_order::{Disambiguation, OutOfOrderConfig, UnitConfig};
use mb_processor::predictor::{Direction, PredictorConfig};

const INSTRUCTION_SETS: &[&str] = &["ppc32", "rv64"];
const PROGRAMS: &[&str] = &["mpi", "portals"];
const LISTS: &[&str] = &["kept", "cold"];
const HEADERS: &[&str] = &["memory", "cache"];
const LOADS: &[&str] = &["behind_addresses", "foreseen"];
const PREDICTORS: &[&str] = &["perfect", "not_taken", "taken", "bimodal", "gshare"];

const fn choice(key: &'static str, words: &'static [&'static str], help: &'static str) -> SettingSpec {
    SettingSpec { key, unit: Unit::Choice(words), help, range: (0, 0) }
}

const fn count(key: &'static str, range: (u64, u64), help: &'static str) -> SettingSpec {
    SettingSpec { key, unit: Unit::Count, help, range }
}

const fn cycles(key: &'static str, range: (u64, u64), help: &'static str) -> SettingSpec {
    SettingSpec { key, unit: Unit::Cycles, help, range }
}

/// Every setting of the engine.
pub const SETTINGS: &[SettingSpec] = &[
    SettingSpec { key: "clock", unit: Unit::Megahertz, help: "Clock of the core.", range: (1, 100_000) },
    choice("instruction_set", INSTRUCTION_SETS, "What the firmware is compiled for."),
    choice(
        "program",
        PROGRAMS,
        "What an arrival is compared by: MPI envelopes, or the whole of Hemmert et al.'s match function.",
    ),
    choice("list", LISTS, "Whether entries stay in the cache as they can, or miss in every operation."),
    choice("header", HEADERS, "Where the hardware puts a descriptor: in memory, or in the core's data cache."),
    count("fetch_width", (1, 16), "Instructions fetched in a cycle."),
    count("fetch_queue", (1, 256), "Instructions between fetch and dispatch."),
    count("fetch_block", (4, 4096), "Aligned bytes that an access of the instruction cache brings."),
    count("fetch_blocks", (1, 16), "Accesses of the instruction cache in a cycle."),
    cycles("front_end", (1, 64), "From fetch to dispatch."),
    count("decode_width", (1, 16), "Instructions dispatched in a cycle."),
    count("issue_width", (1, 16), "Operations issued in a cycle."),
    count("commit_width", (1, 16), "Instructions committed in a cycle."),
    count("window", (1, OutOfOrderConfig::MAX_ENTRIES as u64), "Instructions between dispatch and commit."),
    count("memory_queue", (1, 1024), "Loads and stores among them."),
    count("integer_units", (1, 16), "Units for integers and branches."),
    count("address_units", (0, 16), "Units for addresses; with none, integer units compute them."),
    choice("loads", LOADS, "Whether a load waits for all earlier store addresses, or foresees which concern it."),
    choice("predictor", PREDICTORS, "Prediction of conditional branches."),
    count("counters", (1, 1 << 20), "Counters of the predictors bimodal and gshare."),
    count("history", (0, 32), "Branches that gshare remembers."),
    count("target_sets", (0, 1 << 16), "Sets of the branch target buffer, or 0 for none."),
    count("target_ways", (1, 64), "Its ways."),
    count("return_stack", (0, 1024), "Return addresses that are remembered."),
    cycles("mispredicted", (0, 64), "From finding out a wrong prediction to fetch on the right path."),
    cycles("misfetched", (0, 64), "From the dispatch of a branch whose target was first known there to fetch from it."),
    count("line", (8, 4096), "Bytes of a line of both caches."),
    count("instruction_bytes", (8, 1 << 30), "Size of the instruction cache."),
    count("instruction_ways", (1, 1024), "Its ways."),
    count("data_bytes", (8, 1 << 30), "Size of the data cache."),
    count("data_ways", (1, 1024), "Its ways."),
    cycles("hit", (1, 1000), "From an access of a cache to the use of what it found."),
    cycles(
        "lookup",
        (0, 1000),
        "From a load or store that misses to its request beyond; a fetch's is among `front_end`.",
    ),
    count("ports", (1, 16), "Accesses of the data cache in a cycle."),
    count("misses", (1, 1024), "Lines on their way at a time, for each cache."),
    cycles("memory_latency", (0, 1_000_000), "From a request to the use of the first bits."),
    count("memory_bits", (8, 1 << 20), "Bits that memory delivers in a cycle."),
];

/// Whether entries stay in the data cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entries {
    /// As they can.
    Kept,
    /// The first access to a line in each operation misses.
    Cold,
}

/// Where the hardware puts a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// In memory: the first access to it misses.
    Memory,
    /// In the data cache.
    Cache,
}

/// The engine's parts, read from settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
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

impl Parameters {
    /// What complete settings say.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let machine = if settings.word("instruction_set") == "ppc32" { Isa::Ppc32 } else { Isa::Rv64 };
        Self {
            machine,
            guest: if settings.word("program") == "mpi" { Guest::Queue } else { Guest::QueuePortals },
            entries: if settings.word("list") == "kept" { Entries::Kept } else { Entries::Cold },
            delivery: if settings.word("header") == "memory" { Delivery::Memory } else { Delivery::Cache },
            core: core(settings, machine),
            hierarchy: hierarchy(settings),
        }
    }
}

fn core(settings: &Settings, machine: Isa) -> OutOfOrderConfig {
    let width = |key| settings.whole(key) as u32;
    let size = |key| settings.whole(key) as usize;
    let one = mb_core::Cycles(1);
    let unit = |count| UnitConfig { count, latency: one, interval: one };
    let direction = match settings.word("predictor") {
        "perfect" => Direction::Perfect,
        "not_taken" => Direction::NotTaken,
        "taken" => Direction::Taken,
        "bimodal" => Direction::Bimodal { entries: size("counters") },
        _ => Direction::Gshare { entries: size("counters"), history: width("history") },
    };
    OutOfOrderConfig {
        fetch_width: width("fetch_width"),
        fetch_queue: size("fetch_queue"),
        fetch_block: settings.whole("fetch_block"),
        front_end: settings.cycles("front_end"),
        decode_width: width("decode_width"),
        issue_width: width("issue_width"),
        commit_width: width("commit_width"),
        rob: size("window"),
        lsq: size("memory_queue"),
        integer: unit(width("integer_units")),
        // The firmware neither multiplies nor divides.
        multiply: unit(1),
        divide: unit(0),
        address: unit(width("address_units")),
        disambiguation: match settings.word("loads") {
            "foreseen" => Disambiguation::Predicted,
            _ => Disambiguation::AllAddresses,
        },
        predictor: PredictorConfig {
            direction,
            target_sets: size("target_sets"),
            target_ways: size("target_ways"),
            return_stack: size("return_stack"),
            address_shift: if machine == Isa::Ppc32 { 2 } else { 1 },
        },
        mispredicted: settings.cycles("mispredicted"),
        misfetched: settings.cycles("misfetched"),
    }
}

fn hierarchy(settings: &Settings) -> HierarchyConfig {
    let data = CacheConfig {
        bytes: settings.whole("data_bytes"),
        ways: settings.whole("data_ways"),
        line: settings.whole("line"),
        write: WritePolicy::Back,
        allocate: true,
        hit: settings.cycles("hit"),
        lookup: settings.cycles("lookup"),
        ports: settings.whole("ports") as u32,
        mshrs: settings.whole("misses") as usize,
    };
    HierarchyConfig {
        cores: 1,
        instruction: CacheConfig {
            bytes: settings.whole("instruction_bytes"),
            ways: settings.whole("instruction_ways"),
            ports: settings.whole("fetch_blocks") as u32,
            lookup: mb_core::Cycles::ZERO,
            ..data
        },
        data,
        memory: MemoryConfig {
            latency: settings.cycles("memory_latency"),
            bits_per_cycle: settings.whole("memory_bits"),
        },
        coherence: Coherence::Ideal,
    }
}
