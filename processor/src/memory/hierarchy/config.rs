// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of a memory hierarchy.

use mb_core::parameters::{Choice, ParameterSpec, Parameters, Value};
use mb_core::{Cycles, ParameterError};

/// The write policy of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum WritePolicy {
    /// Write-back: a store reaches memory when its line is evicted.
    Back,
    /// Write-through: a store is sent to memory at once.
    Through,
}

/// Configuration of one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct CacheConfig {
    /// Size in bytes.
    #[parameter(range = 8..=1 << 30)]
    pub bytes: u64,
    /// Ways.
    #[parameter(range = 1..=1024)]
    pub ways: u64,
    /// Bytes of a line, a power of two.
    #[parameter(range = 4..=4096)]
    pub line: u64,
    /// Whether a store that hits reaches memory when its line is evicted (`back`) or at once (`through`).
    #[parameter]
    pub write: WritePolicy,
    /// Write-allocate: a store that misses loads its line. Otherwise only the store goes to memory.
    #[parameter]
    pub allocate: bool,
    /// From an access to the use of its data, on a hit.
    #[parameter(range = 0..=1000)]
    pub hit: Cycles,
    /// From an access that misses to its request to memory; 0 where a miss costs the time of memory only.
    #[parameter(range = 0..=1000)]
    pub lookup: Cycles,
    /// Accesses that can begin in a cycle.
    #[parameter(range = 1..=64)]
    pub ports: u32,
    /// Miss status holding registers (MSHRs): lines, and stores sent to memory, that can be outstanding.
    #[parameter(range = 1..=4096)]
    pub mshrs: usize,
}

/// Configuration of main memory: one channel that serves requests in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct MemoryConfig {
    /// From a request to memory to the use of the first bits.
    #[parameter(range = 0..=1_000_000)]
    pub latency: Cycles,
    /// Bits that memory transfers in a cycle, in either direction and for all cores together; a multiple of 8.
    #[parameter(range = 8..=1 << 20, key = "bits")]
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

/// The words of [`Coherence`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
enum Copies {
    Ideal,
    Invalidate,
}

/// The parameters of [`Coherence`].
#[derive(mb_core::Parameters)]
struct CoherenceParameters {
    /// Whether copies of a line in several caches are free, or invalidated by stores.
    #[parameter]
    coherence: Copies,
    /// Invalidating the copies of other cores (`invalidate`).
    #[parameter(range = 0..=10_000)]
    line_upgrade: Cycles,
    /// Fetching a line that another core has modified (`invalidate`).
    #[parameter(range = 0..=10_000)]
    line_transfer: Cycles,
}

impl Parameters for Coherence {
    const SPECS: &'static [ParameterSpec] = CoherenceParameters::SPECS;

    fn from_values(values: &[Value]) -> Self {
        let CoherenceParameters { coherence, line_upgrade: upgrade, line_transfer: transfer } =
            Parameters::from_values(values);
        match coherence {
            Copies::Ideal => Self::Ideal,
            Copies::Invalidate => Self::Invalidate { upgrade, transfer },
        }
    }

    fn values(&self) -> Vec<Value> {
        let (coherence, line_upgrade, line_transfer) = match *self {
            Self::Ideal => (Copies::Ideal, Cycles::ZERO, Cycles::ZERO),
            Self::Invalidate { upgrade, transfer } => (Copies::Invalidate, upgrade, transfer),
        };
        CoherenceParameters { coherence, line_upgrade, line_transfer }.values()
    }
}

/// Configuration of a memory hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(preset)]
pub struct HierarchyConfig {
    /// Cores, each with a private instruction cache and data cache.
    #[parameter(range = 1..=65_536)]
    pub cores: usize,
    /// The instruction caches.
    #[parameter(nested, prefix = "instruction_", about = "Instruction cache of a core")]
    pub instruction: CacheConfig,
    /// The data caches.
    #[parameter(nested, prefix = "data_", about = "Data cache of a core")]
    pub data: CacheConfig,
    /// Main memory.
    #[parameter(nested, prefix = "memory_")]
    pub memory: MemoryConfig,
    /// Coherence among the data caches.
    #[parameter(nested)]
    pub coherence: Coherence,
}

impl HierarchyConfig {
    /// Checks that the configuration is valid.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.check_domains()?;
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        if !self.memory.bits_per_cycle.is_multiple_of(8) {
            return refuse(format!("memory_bits is {}; expected a multiple of 8", self.memory.bits_per_cycle));
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
        }
        Ok(())
    }
}
