// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of the coherent memory.

use mb_core::ParameterError;
use mb_core::parameters::{Embedded, Parameters, Value};

use super::protocol::DeviceTransactions;

/// A cache of a node: lines of 64 bytes, replacement least recently used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct NodeCacheConfig {
    /// Size in bytes.
    #[parameter(range = 1..=1 << 30)]
    pub bytes: u64,
    /// Ways.
    #[parameter(range = 1..=64)]
    pub ways: u64,
    /// L1: from an access to its value, and to the lookup in the L2 on a miss. L2: from a lookup to its result.
    #[parameter(range = 1..=MOST, unit = Cycles)]
    pub hit: u64,
    /// L1: accesses in a cycle. L2: cycles from a lookup of the core to the next one.
    #[parameter(range = 1..=64)]
    pub ports: u64,
    /// Lines that an L1 waits for. Not used in L2.
    // At least 2, because an access may need two lines.
    #[parameter(range = 2..=1024)]
    pub mshrs: usize,
}

/// The switch: a tree of links in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct SwitchConfig {
    /// Subtrees of a switch.
    #[parameter(range = 2..=64)]
    pub fan_out: usize,
    /// Bytes that a link transports in one of its cycles.
    #[parameter(range = 1..=64)]
    pub link: u64,
    /// Core cycles of a cycle of the switch.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub period: u64,
    /// Cycles of the switch that the head of a message takes for a link.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub hop: u64,
    /// Bytes of a message without data; data come in addition.
    #[parameter(range = 1..=1024)]
    pub header: u64,
    /// Core cycles of a message that stays in its node.
    #[parameter(range = 0..=MOST, unit = Cycles)]
    pub local: u64,
}

/// Parameters of [`CoherentMemory`](super::CoherentMemory). Times are in core cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(preset)]
pub struct DirectoryConfig {
    /// Nodes, each with a core.
    #[parameter(range = 1..=64)]
    pub nodes: usize,
    /// Contexts of a core.
    #[parameter(range = 1..=64)]
    pub contexts: usize,
    /// The instruction cache of a core, and its data cache: write-back, write-allocate.
    #[parameter(nested, prefix = "l1.", about = "L1 caches of a core")]
    pub l1: NodeCacheConfig,
    /// The private L2 of a core, exclusive of its L1 caches.
    #[parameter(nested, prefix = "l2.", about = "L2 of a core", embed = L2)]
    pub l2: NodeCacheConfig,
    /// Entries of the store buffer of a core, for stores, atomics and device accesses that are not performed.
    #[parameter(range = 1..=1024)]
    pub store_buffer: usize,
    /// Write-backs under way in a node from which on it refuses misses.
    #[parameter(range = 1..=1024)]
    pub write_backs: usize,
    /// From the arrival of a request of another node in a cache controller to its answer.
    #[parameter(range = 0..=MOST, unit = Cycles)]
    pub probe: u64,
    /// From the arrival of a message in a directory to its effect.
    #[parameter(range = 0..=MOST, unit = Cycles)]
    pub directory: u64,
    /// From the start of a message in a bank of the directory to that of the next one.
    #[parameter(range = 1..=MOST, unit = Cycles)]
    pub directory_interval: u64,
    /// From a read of memory to its data.
    #[parameter(range = 0..=MOST, unit = Cycles)]
    pub memory: u64,
    /// Ports of memory, interleaved by lines.
    #[parameter(range = 1..=64)]
    pub memory_ports: usize,
    /// From the start of an access at a port to that of the next one.
    #[parameter(range = 1..=MOST, unit = Cycles)]
    pub memory_interval: u64,
    /// The switch.
    #[parameter(nested, prefix = "switch.", about = "Switch")]
    pub switch: SwitchConfig,
    /// From a device access at the head of the store buffer to its effect.
    #[parameter(range = 0..=MOST, unit = Cycles)]
    pub device: u64,
    /// Coherence operations of the device beside the L2 in a cycle.
    #[parameter(range = 1..=64)]
    pub device_operations: u64,
    /// The cache that takes the lines that the device beside the L2 writes: 2, or 1 for the data cache of the core,
    /// whose victim moves to the L2.
    #[parameter(range = 1..=2)]
    pub device_level: u64,
    /// For so long after a load-reserved, a request of another node for its line waits while the reservation is held,
    /// so that a store-conditional gets its chance.
    #[parameter(range = 0..=MOST, unit = Cycles)]
    pub reservation_hold: u64,
    /// How the devices acquire lines.
    #[parameter]
    pub design: DeviceTransactions,
    /// Whether a read of a locally modified line hands it over exclusively.
    #[parameter]
    pub migratory: bool,
}

const L2: &[(&str, Embedded)] = &[("mshrs", Embedded::Fixed(Value::Whole(0)))];

/// The longest time, in cycles.
const MOST: u64 = 1 << 20;

impl DirectoryConfig {
    /// The chip of Gu et al. (`gu2011`), Table 1, for `nodes` cores with `contexts` each.
    ///
    /// The paper states sizes, associativities and hit times of the caches, their exclusion, lines of
    /// 64 bytes, MOESI with a directory, 35 cycles for memory, a hierarchical switch at half the clock
    /// of the cores, two coherence operations of the device in a cycle, and the migratory read. It
    /// does not state the others, which are assumed here: two accesses of an L1 in a cycle, 8 MSHRs
    /// per L1, an L2 that begins a lookup in every cycle, 8 entries per store buffer, 8 write-backs,
    /// directory banks at the nodes interleaved by lines, with 10 cycles and one message in a cycle,
    /// 10 cycles for a probe, 4 memory ports with 8 cycles per line, a tree of fan-out 4 with links of
    /// 16 bytes and one switch cycle per link, headers of 8 bytes, 1 cycle inside of a node, 20 cycles
    /// for an uncached access, and 32 cycles for a reservation.
    #[must_use]
    pub fn gu2011(nodes: usize, contexts: usize) -> Self {
        let l1 = NodeCacheConfig { bytes: 32 << 10, ways: 4, hit: 1, ports: 2, mshrs: 8 };
        Self {
            nodes,
            contexts,
            l1,
            l2: NodeCacheConfig { bytes: 512 << 10, ways: 8, hit: 10, ports: 1, mshrs: 0 },
            store_buffer: 8,
            write_backs: 8,
            probe: 10,
            directory: 10,
            directory_interval: 1,
            memory: 35,
            memory_ports: 4,
            memory_interval: 8,
            switch: SwitchConfig { fan_out: 4, link: 16, period: 2, hop: 1, header: 8, local: 1 },
            device: 20,
            device_operations: 2,
            device_level: 2,
            reservation_hold: 32,
            design: DeviceTransactions::Base,
            migratory: true,
        }
    }

    /// Checks that the configuration is valid.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.check_domains()?;
        for (name, cache) in [("l1", &self.l1), ("l2", &self.l2)] {
            let set = cache.ways * 64;
            if !cache.bytes.is_multiple_of(set) || !(cache.bytes / set).is_power_of_two() {
                return Err(ParameterError::Contradiction(format!(
                    "directory: {name}.bytes is {} with {} ways of 64-byte lines; expected a power of two of sets",
                    cache.bytes, cache.ways
                )));
            }
        }
        Ok(())
    }
}
