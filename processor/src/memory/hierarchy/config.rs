// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of a memory hierarchy.

use mb_core::Cycles;
use mb_core::ParameterError;

/// The write policy of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePolicy {
    /// Write-back: a store reaches memory when its line is evicted.
    Back,
    /// Write-through: a store is sent to memory at once.
    Through,
}

/// Configuration of one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheConfig {
    /// Size in bytes.
    pub bytes: u64,
    /// Associativity.
    pub ways: u64,
    /// Length of a line in bytes, a power of two.
    pub line: u64,
    /// Write policy.
    pub write: WritePolicy,
    /// Write-allocate: a store that misses loads its line. Otherwise only the store goes to memory.
    pub allocate: bool,
    /// From an access to the use of its data, on a hit.
    pub hit: Cycles,
    /// From an access that misses to its request to memory. 0 in sim-outorder, where a miss costs
    /// the time of memory only.
    pub lookup: Cycles,
    /// Accesses that can begin in a cycle.
    pub ports: u32,
    /// Miss status holding registers: lines, and stores sent to memory, that can be outstanding.
    pub mshrs: usize,
}

/// Configuration of main memory: one channel that serves requests in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryConfig {
    /// From a request to the use of the first bits.
    pub latency: Cycles,
    /// Bits that the channel transfers in a cycle, in either direction; a multiple of 8.
    pub bits_per_cycle: u64,
}

/// The coherence protocol of the data caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coherence {
    /// Coherence without cost: copies stay where they are, and a store takes the time of its own
    /// cache.
    Ideal,
    /// MESI: a store invalidates the copies in other caches.
    Invalidate {
        /// Added to a store to a shared line when other caches hold copies.
        upgrade: Cycles,
        /// From the request for a line that another core has modified to its use; the line comes
        /// from that core.
        transfer: Cycles,
    },
}

/// Configuration of a memory hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HierarchyConfig {
    /// Cores, each with a private instruction cache and data cache.
    pub cores: usize,
    /// The instruction caches.
    pub instruction: CacheConfig,
    /// The data caches.
    pub data: CacheConfig,
    /// Main memory.
    pub memory: MemoryConfig,
    /// Coherence among the data caches.
    pub coherence: Coherence,
}

impl HierarchyConfig {
    /// Checks that the configuration is valid.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        if self.cores == 0 || self.cores > 1 << 16 {
            return refuse(format!("hierarchy: cores is {}; expected 1 to 65536", self.cores));
        }
        if self.memory.bits_per_cycle == 0 || !self.memory.bits_per_cycle.is_multiple_of(8) {
            return refuse(format!(
                "memory: bits_per_cycle is {}; expected a multiple of 8, at least 8",
                self.memory.bits_per_cycle
            ));
        }
        for (name, cache) in [("instruction", &self.instruction), ("data", &self.data)] {
            let CacheConfig { bytes, ways, line, .. } = *cache;
            if !line.is_power_of_two() {
                return refuse(format!("{name} cache: line is {line} bytes; expected a power of two"));
            }
            let set = ways.checked_mul(line).filter(|&set| set > 0 && bytes % set == 0);
            let Some(sets) = set.map(|set| bytes / set).filter(|sets| sets.is_power_of_two()) else {
                return refuse(format!(
                    "{name} cache: bytes is {bytes} with {ways} ways of {line}-byte lines; \
                     expected a power of two of sets"
                ));
            };
            if sets * ways > 1 << 30 {
                return refuse(format!("{name} cache: {} lines; expected at most 2^30", sets * ways));
            }
            if cache.ports == 0 || cache.mshrs == 0 {
                return refuse(format!(
                    "{name} cache: ports is {}, mshrs is {}; expected at least 1 of each",
                    cache.ports, cache.mshrs
                ));
            }
        }
        Ok(())
    }
}
