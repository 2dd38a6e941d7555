// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a memory hierarchy is built from.

use mb_core::Cycles;
use mb_core::ParameterError;

/// When a store reaches memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePolicy {
    /// With its line, when that leaves the cache.
    Back,
    /// At once.
    Through,
}

/// One cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheConfig {
    /// Size in bytes.
    pub bytes: u64,
    /// Lines that share a set.
    pub ways: u64,
    /// Length of a line in bytes, a power of two.
    pub line: u64,
    /// When stores reach memory.
    pub write: WritePolicy,
    /// Whether a store that misses brings its line here; without, it goes to memory alone.
    pub allocate: bool,
    /// From an access to the use of what it found here.
    pub hit: Cycles,
    /// From an access that misses to its request beyond. 0 as in sim-outorder, whose miss costs the memory's time alone.
    pub lookup: Cycles,
    /// Accesses that can begin in a cycle.
    pub ports: u32,
    /// Lines, and stores that go to memory, that can be on their way at a time.
    pub misses: usize,
}

/// Memory, as one channel that serves requests in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryConfig {
    /// From a request to the use of the first bits that the channel delivers.
    pub latency: Cycles,
    /// What the channel transfers in a cycle, either way; a multiple of 8.
    pub bits_per_cycle: u64,
}

/// What happens to the copies of a line that others have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coherence {
    /// Nothing: a store is seen by all at once and costs its own core alone.
    Ideal,
    /// A store takes every other copy away (MESI).
    Invalidate {
        /// From the store to its effect, when there are other copies of a line that its core has.
        upgrade: Cycles,
        /// From the request for a line that another core has modified to its use; memory is not asked.
        transfer: Cycles,
    },
}

/// All of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HierarchyConfig {
    /// Cores, each with two caches of its own.
    pub cores: usize,
    /// For instructions.
    pub instruction: CacheConfig,
    /// For data.
    pub data: CacheConfig,
    /// Behind all caches.
    pub memory: MemoryConfig,
    /// Among the data caches.
    pub coherence: Coherence,
}

impl HierarchyConfig {
    /// Checks that this can be built.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        if self.cores == 0 || self.cores > 1 << 16 {
            return refuse(format!("{} cores: 1 to 2^16 can be built", self.cores));
        }
        if self.memory.bits_per_cycle == 0 || !self.memory.bits_per_cycle.is_multiple_of(8) {
            return refuse(format!("{} bits per cycle are no number of bytes", self.memory.bits_per_cycle));
        }
        for (name, cache) in [("instruction", &self.instruction), ("data", &self.data)] {
            let CacheConfig { bytes, ways, line, .. } = *cache;
            if !line.is_power_of_two() {
                return refuse(format!("{name} cache: a line of {line} bytes is no power of two"));
            }
            let set = ways.checked_mul(line).filter(|&set| set > 0 && bytes % set == 0);
            let Some(sets) = set.map(|set| bytes / set).filter(|sets| sets.is_power_of_two()) else {
                return refuse(format!(
                    "{name} cache: {bytes} bytes are no power of two of sets of {ways} lines of {line} bytes"
                ));
            };
            if sets * ways > 1 << 30 {
                return refuse(format!("{name} cache: {} lines are more than 2^30", sets * ways));
            }
            if cache.ports == 0 || cache.misses == 0 {
                return refuse(format!("{name} cache: it needs a port and room for a miss"));
            }
        }
        Ok(())
    }
}
