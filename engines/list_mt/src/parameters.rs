// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the engine is built from: settings by name, and the cores that they describe.

use mb_core::Cycles;
use mb_core::settings::{SettingSpec, Settings, Unit};
use mb_guest::Guest;
use mb_processor::Isa;
use mb_processor::barrel::{BarrelConfig, CallCosts, Exchange, Placement};
use mb_processor::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};

const INSTRUCTION_SETS: &[&str] = &["ppc32", "rv64"];
const PROGRAMS: &[&str] = &["mpi", "portals"];
const LOCKS: &[&str] = &["hardware", "spin"];
const LISTS: &[&str] = &["kept", "cold"];
const HEADERS: &[&str] = &["memory", "cache"];
const PLACEMENTS: &[&str] = &["spread", "fill"];
const EXCHANGES: &[&str] = &["all", "idle"];
const COHERENCES: &[&str] = &["ideal", "invalidate"];

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
    SettingSpec { key: "clock", unit: Unit::Megahertz, help: "Clock of the cores.", range: (1, 100_000) },
    choice("instruction_set", INSTRUCTION_SETS, "What the firmware is compiled for."),
    choice(
        "program",
        PROGRAMS,
        "What an arrival is compared by: MPI envelopes, or the whole of Hemmert et al.'s match function.",
    ),
    choice("list", LISTS, "Whether entries stay in the caches as they can, or leave them when an operation begins."),
    choice("header", HEADERS, "Where the hardware puts a descriptor: in memory, or in every core's data cache."),
    count("operations", (1, 4096), "Operations under way, a thread for each; more are refused for the time being."),
    count("cores", (1, 256), "Cores, each with a slot for one instruction in a cycle."),
    count("contexts", (1, 256), "Threads that a core switches among."),
    choice(
        "placement",
        PLACEMENTS,
        "Where a new thread goes: to the core with most free contexts, or to the first with any.",
    ),
    cycles("create", (1, 10_000), "To start a thread."),
    cycles("quantum", (2, 1_000_000), "Cycles after which inactive threads come into a core at the latest."),
    cycles("swap", (0, 10_000), "To bring one inactive thread into a core."),
    choice("exchange", EXCHANGES, "Who gives way at the end of a quantum: any thread, or those that wait."),
    cycles("taken", (1, 1000), "From a branch that is taken to the next instruction of its thread."),
    choice("locks", LOCKS, "Hardware that hands locks over, or words in the items that threads spin on."),
    cycles("acquire", (1, 10_000), "To take a hardware lock that is free."),
    cycles("release", (1, 10_000), "To free a hardware lock."),
    cycles("hand_over", (1, 10_000), "From a release to the attempt of the thread that waits longest."),
    cycles("lock_transfer", (0, 10_000), "On top of both, when the lock was last held on another core."),
    choice(
        "coherence",
        COHERENCES,
        "Whether copies of a line in several caches cost nothing, or stores take them away.",
    ),
    cycles("line_upgrade", (0, 10_000), "To take copies away from other cores (invalidate)."),
    cycles("line_transfer", (0, 10_000), "To bring a line that another core has modified (invalidate)."),
    count("line", (8, 4096), "Bytes of a line of all caches."),
    count("instruction_bytes", (8, 1 << 30), "Size of each core's instruction cache."),
    count("instruction_ways", (1, 1024), "Its ways."),
    count("data_bytes", (8, 1 << 30), "Size of each core's data cache."),
    count("data_ways", (1, 1024), "Its ways."),
    cycles("hit", (1, 1000), "From an access of a cache to the use of what it found."),
    cycles("lookup", (0, 1000), "From an access that misses to its request beyond."),
    count("misses", (1, 1024), "Lines on their way at a time, for each cache."),
    cycles("memory_latency", (0, 1_000_000), "From a request to the use of the first bits."),
    count("memory_bits", (8, 1 << 20), "Bits that memory delivers in a cycle, to all cores together."),
];

/// Whether entries stay in the data caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entries {
    /// As they can.
    Kept,
    /// Each operation that begins takes them from all caches.
    Cold,
}

/// Where the hardware puts a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// In memory: each core's first access to it misses.
    Memory,
    /// In the data cache of every core.
    Cache,
}

/// How threads lock items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockStyle {
    /// By calls that hardware serves; who waits takes no slots.
    Hardware,
    /// By words that they spin on.
    Spin,
}

/// The engine's parts, read from settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Instruction set.
    pub machine: Isa,
    /// Whether arrivals are compared by Hemmert et al.'s whole match function.
    pub portals: bool,
    /// Of items.
    pub locks: LockStyle,
    /// Of the lists.
    pub entries: Entries,
    /// Of descriptors.
    pub delivery: Delivery,
    /// Operations under way.
    pub operations: usize,
    /// The cores, their caches and memory; with a thread for each operation and one that starts them.
    pub cores: BarrelConfig,
}

impl Parameters {
    /// What complete settings say.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let operations = settings.whole("operations") as usize;
        Self {
            machine: if settings.word("instruction_set") == "ppc32" { Isa::Ppc32 } else { Isa::Rv64 },
            portals: settings.word("program") == "portals",
            locks: if settings.word("locks") == "hardware" { LockStyle::Hardware } else { LockStyle::Spin },
            entries: if settings.word("list") == "kept" { Entries::Kept } else { Entries::Cold },
            delivery: if settings.word("header") == "memory" { Delivery::Memory } else { Delivery::Cache },
            operations,
            cores: cores(settings, operations + 1),
        }
    }

    /// The firmware.
    #[must_use]
    pub const fn guest(&self) -> Guest {
        match (self.portals, self.locks) {
            (false, LockStyle::Hardware) => Guest::QueueMt,
            (false, LockStyle::Spin) => Guest::QueueMtSpin,
            (true, LockStyle::Hardware) => Guest::QueuePortalsMt,
            (true, LockStyle::Spin) => Guest::QueuePortalsMtSpin,
        }
    }
}

fn cores(settings: &Settings, threads: usize) -> BarrelConfig {
    let cycles = |key| settings.cycles(key);
    // The firmware neither multiplies nor divides.
    let unused = Cycles(1);
    BarrelConfig {
        contexts: settings.whole("contexts") as usize,
        placement: if settings.word("placement") == "spread" { Placement::Spread } else { Placement::Fill },
        threads,
        quantum: cycles("quantum"),
        swap: cycles("swap"),
        exchange: if settings.word("exchange") == "all" { Exchange::All } else { Exchange::Idle },
        multiply: unused,
        divide: unused,
        taken: cycles("taken"),
        calls: CallCosts {
            create: cycles("create"),
            acquire: cycles("acquire"),
            release: cycles("release"),
            handoff: cycles("hand_over"),
            transfer: cycles("lock_transfer"),
        },
        hierarchy: hierarchy(settings),
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
        // A core begins one instruction in a cycle.
        ports: 1,
        mshrs: settings.whole("misses") as usize,
    };
    let coherence = match settings.word("coherence") {
        "ideal" => Coherence::Ideal,
        _ => Coherence::Invalidate {
            upgrade: settings.cycles("line_upgrade"),
            transfer: settings.cycles("line_transfer"),
        },
    };
    HierarchyConfig {
        cores: settings.whole("cores") as usize,
        instruction: CacheConfig {
            bytes: settings.whole("instruction_bytes"),
            ways: settings.whole("instruction_ways"),
            ..data
        },
        data,
        memory: MemoryConfig {
            latency: settings.cycles("memory_latency"),
            bits_per_cycle: settings.whole("memory_bits"),
        },
        coherence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_are_the_columns_of_the_papers_table() {
        for (name, cores) in [("mt1", 1), ("mt2", 2), ("mt16", 16)] {
            let Parameters { cores: found, .. } = Parameters::new(&mb_testkit::preset(&crate::ENTRY, name, &[]));
            let table = BarrelConfig::hemmert2007(cores).unwrap();
            let BarrelConfig { multiply, divide, .. } = found;
            // A context for each operation and one for the thread that starts them.
            let threads = cores * table.contexts;
            assert_eq!(found, BarrelConfig { multiply, divide, threads, ..table }, "{name}");
        }
    }
}
