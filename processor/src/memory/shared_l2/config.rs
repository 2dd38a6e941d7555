// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of private L1 caches above a shared L2.

use mb_core::ParameterError;
use mb_core::parameters::{Parameters, PresetValues, Source, ValueSources};

/// A private L1 cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct L1Config {
    /// Size in bytes.
    #[parameter(range = 1..=1 << 30)]
    pub bytes: u64,
    /// Ways; replacement is least recently used.
    #[parameter(range = 1..=64)]
    pub ways: u64,
    /// Banks, a power of two. A bank takes one access in a cycle.
    #[parameter(range = 1..=1024)]
    pub banks: u64,
    /// Consecutive bytes in one bank, a power of two.
    #[parameter(range = 8..=1 << 20)]
    pub interleave: u64,
    /// Cycles of a hit, and from an access that misses to the request for its line.
    #[parameter(range = 1..=MOST, unit = Cycles)]
    pub hit: u64,
    /// Miss status holding registers (MSHRs): lines on their way; any number of accesses waits for a line.
    // At least 2, because an access may need two lines.
    #[parameter(range = 2..=1024)]
    pub mshrs: usize,
}

/// The longest time, in cycles.
const MOST: u64 = 1 << 20;

/// Parameters of [`SharedL2`](super::SharedL2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(preset)]
pub struct SharedL2Config {
    /// Cores.
    #[parameter(range = 1..=32)]
    pub cores: usize,
    /// Contexts of a core.
    #[parameter(range = 1..=64)]
    pub contexts: usize,
    /// Bytes of a line of all caches, a power of two; also the granule of a reservation.
    #[parameter(range = 16..=256)]
    pub line: u64,
    /// The instruction cache of a core.
    #[parameter(nested, prefix = "instruction_", about = "Instruction cache of a core")]
    pub instruction: L1Config,
    /// The data cache of a core: write-through, no write-allocate.
    #[parameter(nested, prefix = "data_", about = "Data cache of a core")]
    pub data: L1Config,
    /// Entries of the write buffer of a core, for stores, atomics and device accesses that are not performed.
    #[parameter(range = 1..=1024)]
    pub write_buffer: usize,
    /// Width of the bus between the L1 caches and the L2, in bytes: a power of two, at most a line.
    #[parameter(range = 8..=256, key = "l2_bus")]
    pub bus: u64,
    /// Size of the L2, in bytes: a power of two, at least two lines. It is direct-mapped and writes back.
    #[parameter(range = 32..=1 << 30, key = "l2_bytes")]
    pub l2: u64,
    /// Cycles of a hit in the L2, and from an access that misses to the request to memory.
    #[parameter(range = 1..=MOST, unit = Cycles)]
    pub l2_hit: u64,
    /// Cycles from the start of an access to the L2 to the start of the next one.
    #[parameter(range = 1..=MOST, unit = Cycles)]
    pub l2_interval: u64,
    /// Lines on their way from memory to the L2.
    #[parameter(range = 2..=1024)]
    pub l2_mshrs: usize,
    /// Modified lines that the L2 has evicted and that wait for the memory bus.
    #[parameter(range = 2..=1024)]
    pub write_backs: usize,
    /// Cycles of an access to memory, without its transfer.
    #[parameter(range = 0..=MOST, unit = Cycles, key = "memory_latency")]
    pub memory: u64,
    /// Width of the memory bus, in bytes: a power of two, at most a line.
    #[parameter(range = 1..=256)]
    pub memory_bus: u64,
    /// Cycles from the arrival of an access at a device to its effect.
    #[parameter(range = 0..=MOST, unit = Cycles, key = "device_latency")]
    pub device: u64,
}

impl SharedL2Config {
    /// Table 4 of Crowley et al. (`crowley2000`), for `cores` with `contexts` each; [`preset`](Self::preset) has the
    /// sources. Assumed without a parameter: the L1-L2 bus has split transactions, and a message without a line takes
    /// one cycle of it.
    #[must_use]
    pub fn crowley2000(cores: usize, contexts: usize) -> Self {
        let l1 = L1Config { bytes: 32 << 10, ways: 2, banks: 8, interleave: 64, hit: 1, mshrs: 8 };
        Self {
            cores,
            contexts,
            line: 64,
            instruction: l1,
            data: L1Config { interleave: 8, ..l1 },
            write_buffer: 8,
            bus: 32,
            l2: 512 << 10,
            l2_hit: 10,
            l2_interval: 1,
            l2_mshrs: 16,
            write_backs: 8,
            memory: 68,
            memory_bus: 16,
            device: 20,
        }
    }

    /// The same with L1 caches of another size.
    #[must_use]
    pub const fn with_l1_bytes(self, bytes: u64) -> Self {
        let (instruction, data) = (L1Config { bytes, ..self.instruction }, L1Config { bytes, ..self.data });
        Self { instruction, data, ..self }
    }

    /// [`crowley2000`](Self::crowley2000) with a source for every value.
    #[must_use]
    pub fn preset(cores: usize, contexts: usize) -> PresetValues<Self> {
        const fn table(place: &'static str) -> Source {
            Source::paper("crowley2000", place)
        }
        const SOURCES: ValueSources = &[
            (
                table("table 4"),
                "cores contexts line instruction_ways data_ways instruction_banks data_banks instruction_hit data_hit \
                 l2_bus l2_bytes l2_hit memory_latency memory_bus",
            ),
            (table("table 4, read as the size of each core's caches"), "instruction_bytes data_bytes"),
            (Source::assumed("banks of the instruction cache are interleaved by lines"), "instruction_interleave"),
            (Source::assumed("banks of the data cache are interleaved by doublewords"), "data_interleave"),
            (Source::assumed("not given; one for each context of the SMT"), "instruction_mshrs data_mshrs"),
            (Source::assumed("not given; the caches write through"), "write_buffer"),
            (Source::assumed("one bank that begins an access in each cycle"), "l2_interval"),
            (Source::assumed("not given"), "l2_mshrs write_backs"),
            (Source::assumed("not given: twice the time of an L2 hit"), "device_latency"),
        ];
        PresetValues { values: Self::crowley2000(cores, contexts), sources: SOURCES }
    }

    /// Checks that the configuration is valid.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.check_domains()?;
        let refuse = |text: String| Err(ParameterError::Contradiction(format!("shared L2: {text}")));
        for (name, value) in [
            ("line", self.line),
            ("instruction_banks", self.instruction.banks),
            ("instruction_interleave", self.instruction.interleave),
            ("data_banks", self.data.banks),
            ("data_interleave", self.data.interleave),
            ("l2_bus", self.bus),
            ("l2_bytes", self.l2),
            ("memory_bus", self.memory_bus),
        ] {
            if !value.is_power_of_two() {
                return refuse(format!("{name} is {value}; expected a power of two"));
            }
        }
        for (name, width) in [("l2_bus", self.bus), ("memory_bus", self.memory_bus)] {
            if width > self.line {
                return refuse(format!("{name} is {width}; expected at most {}, a line", self.line));
            }
        }
        if self.l2 < 2 * self.line {
            return refuse(format!("l2_bytes is {}; expected at least {}, two lines", self.l2, 2 * self.line));
        }
        for (name, cache) in [("instruction", &self.instruction), ("data", &self.data)] {
            let set = cache.ways * self.line;
            if !cache.bytes.is_multiple_of(set) || !(cache.bytes / set).is_power_of_two() {
                return refuse(format!(
                    "{name}_bytes is {} with {} ways of {}-byte lines; expected a power of two of sets",
                    cache.bytes, cache.ways, self.line
                ));
            }
        }
        Ok(())
    }
}
