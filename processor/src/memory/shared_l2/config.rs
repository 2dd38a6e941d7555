// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of private L1 caches above a shared L2.

use mb_core::ParameterError;

/// A private L1 cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct L1Config {
    /// Size in bytes.
    pub bytes: u64,
    /// Associativity; replacement is least recently used.
    pub ways: u64,
    /// Banks, a power of two. A bank takes one access in a cycle.
    pub banks: u64,
    /// Consecutive bytes in one bank, a power of two.
    pub interleave: u64,
    /// Cycles from an access to its value on a hit, and to the request for the line on a miss; at
    /// least 1.
    pub hit: u64,
    /// Miss status holding registers: lines on their way; at least 2, because an access may need
    /// two lines. Any number of accesses waits for a line.
    pub mshrs: usize,
}

/// The longest time, in cycles.
const MOST: u64 = 1 << 20;

/// Parameters of [`SharedL2`](super::SharedL2). Times are in cycles, lengths in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedL2Config {
    /// Cores, 1 to 32.
    pub cores: usize,
    /// Contexts of a core, 1 to 64.
    pub contexts: usize,
    /// Length of a line in all caches, a power of two from 16 to 256; also the granule of a
    /// reservation.
    pub line: u64,
    /// The instruction cache of a core.
    pub instruction: L1Config,
    /// The data cache of a core: write-through, no write-allocate.
    pub data: L1Config,
    /// Entries of the write buffer of a core, for stores, atomics and device accesses that are not
    /// performed; at least 1.
    pub write_buffer: usize,
    /// Width of the bus between all L1 caches and the L2.
    pub bus: u64,
    /// Size of the L2: direct-mapped, write-back, write-allocate.
    pub l2: u64,
    /// From the start of an access to the L2 to its data, or to the request to memory.
    pub l2_hit: u64,
    /// From the start of an access to the L2 to the start of the next one; at least 1.
    pub l2_interval: u64,
    /// Lines on their way from memory to the L2; at least 2.
    pub l2_mshrs: usize,
    /// Entries of the buffer for modified lines that the L2 has evicted; at least 2.
    pub write_backs: usize,
    /// From a request to memory to its data, without the transfer.
    pub memory: u64,
    /// Width of the memory bus.
    pub memory_bus: u64,
    /// From the arrival of a device access at the end of the L1-L2 bus to its effect.
    pub device: u64,
}

impl SharedL2Config {
    /// Table 4 of Crowley et al., Characterizing Processor Architectures for Programmable Network
    /// Interfaces, ICS 2000, for `cores` with `contexts` each.
    ///
    /// The paper states sizes, associativities, banks, hit times, widths, the memory latency and the
    /// write policies. It does not state the others, which are assumed here: 8 MSHRs per L1 cache,
    /// 8 entries per write buffer, instruction banks interleaved by lines and data banks by
    /// doublewords, an L2 that begins an access in every cycle with 16 MSHRs and 8 write-back
    /// entries, and 20 cycles for a device. Also assumed, without a parameter: the L1-L2 bus has split
    /// transactions, and a message without a line takes one cycle of it.
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

    /// Checks that the configuration is valid.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let range = |name: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(ParameterError::Contradiction(format!("shared L2: {name} is {value}; expected {low} to {high}")))
        };
        let power = |name: &str, value: u64, low: u64, high: u64| {
            range(name, value, low, high)?;
            if value.is_power_of_two() {
                return Ok(());
            }
            Err(ParameterError::Contradiction(format!("shared L2: {name} is {value}; expected a power of two")))
        };
        range("cores", self.cores as u64, 1, 32)?;
        range("contexts", self.contexts as u64, 1, 64)?;
        power("line", self.line, 16, 256)?;
        for (name, cache) in [("instruction", &self.instruction), ("data", &self.data)] {
            range(&format!("{name}.ways"), cache.ways, 1, 64)?;
            range(&format!("{name}.bytes"), cache.bytes, 1, 1 << 30)?;
            let set = cache.ways * self.line;
            if !cache.bytes.is_multiple_of(set) || !(cache.bytes / set).is_power_of_two() {
                return Err(ParameterError::Contradiction(format!(
                    "shared L2: {name}.bytes is {} with {} ways of {}-byte lines; expected a power of two of sets",
                    cache.bytes, cache.ways, self.line
                )));
            }
            power(&format!("{name}.banks"), cache.banks, 1, 1 << 10)?;
            power(&format!("{name}.interleave"), cache.interleave, 8, 1 << 20)?;
            range(&format!("{name}.hit"), cache.hit, 1, MOST)?;
            range(&format!("{name}.mshrs"), cache.mshrs as u64, 2, 1 << 10)?;
        }
        range("write_buffer", self.write_buffer as u64, 1, 1 << 10)?;
        power("bus", self.bus, 8, self.line)?;
        power("l2", self.l2, 2 * self.line, 1 << 30)?;
        range("l2_hit", self.l2_hit, 1, MOST)?;
        range("l2_interval", self.l2_interval, 1, MOST)?;
        range("l2_mshrs", self.l2_mshrs as u64, 2, 1 << 10)?;
        range("write_backs", self.write_backs as u64, 2, 1 << 10)?;
        range("memory", self.memory, 0, MOST)?;
        power("memory_bus", self.memory_bus, 1, self.line)?;
        range("device", self.device, 0, MOST)
    }
}
