// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of the coherent memory.

use mb_core::ParameterError;

use super::protocol::DeviceTransactions;

/// A cache of a node: lines of 64 bytes, replacement least recently used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeCacheConfig {
    /// Size in bytes.
    pub bytes: u64,
    /// Associativity, 1 to 64.
    pub ways: u64,
    /// L1: from an access to its value, and to the lookup in the L2 on a miss. L2: from a lookup to
    /// its result. At least 1.
    pub hit: u64,
    /// L1: accesses in a cycle. L2: cycles from a lookup of the core to the next one. At least 1.
    pub ports: u64,
    /// L1: lines that it waits for; at least 2, because an access may need two lines. Not used in L2.
    pub mshrs: usize,
}

/// The switch: a tree of links in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchConfig {
    /// Subtrees of a switch, 2 to 64.
    pub fan_out: usize,
    /// Bytes that a link transports in one of its cycles, 1 to 64.
    pub link: u64,
    /// Core cycles of a cycle of the switch, at least 1.
    pub period: u64,
    /// Cycles of the switch that the head of a message takes for a link, at least 1.
    pub hop: u64,
    /// Bytes of a message without data; data come in addition.
    pub header: u64,
    /// Core cycles of a message that stays in its node.
    pub local: u64,
}

/// Parameters of [`CoherentMemory`](super::CoherentMemory). Times are in core cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectoryConfig {
    /// Nodes, each with a core, 1 to 64.
    pub nodes: usize,
    /// Contexts of a core, 1 to 64.
    pub contexts: usize,
    /// The instruction cache of a core.
    pub instruction: NodeCacheConfig,
    /// The data cache of a core: write-back, write-allocate.
    pub data: NodeCacheConfig,
    /// The private L2 of a core, exclusive of its L1 caches.
    pub l2: NodeCacheConfig,
    /// Entries of the store buffer of a core, for stores, atomics and device accesses that are not
    /// performed; at least 1.
    pub store_buffer: usize,
    /// Write-backs under way in a node from which on it refuses misses; at least 1.
    pub write_backs: usize,
    /// From the arrival of a request of another node in a cache controller to its answer.
    pub probe: u64,
    /// From the arrival of a message in a directory to its effect.
    pub directory: u64,
    /// From the start of a message in a bank of the directory to that of the next one; at least 1.
    pub directory_interval: u64,
    /// From a read of memory to its data.
    pub memory: u64,
    /// Ports of memory, interleaved by lines; at least 1.
    pub memory_ports: usize,
    /// From the start of an access at a port to that of the next one; at least 1.
    pub memory_interval: u64,
    /// The switch.
    pub switch: SwitchConfig,
    /// From a device access at the head of the store buffer to its effect.
    pub device: u64,
    /// Coherence operations of the device beside the L2 in a cycle; at least 1.
    pub device_operations: u64,
    /// The cache that takes the lines that the device beside the L2 writes: 2, or 1 for the data cache of the
    /// core, whose victim moves to the L2.
    pub device_level: u64,
    /// For so long after a load-reserved, a request of another node for its line waits while the
    /// reservation is held, so that a store-conditional gets its chance.
    pub reservation_hold: u64,
    /// The requests of the devices.
    pub design: DeviceTransactions,
    /// Whether a read of a locally modified line hands it over exclusively.
    pub migratory: bool,
}

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
            instruction: l1,
            data: l1,
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
        let range = |name: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(ParameterError::Contradiction(format!("directory: {name} is {value}; expected {low} to {high}")))
        };
        range("nodes", self.nodes as u64, 1, 64)?;
        range("contexts", self.contexts as u64, 1, 64)?;
        let caches = [("instruction", &self.instruction), ("data", &self.data), ("l2", &self.l2)];
        for (name, cache) in caches {
            range(&format!("{name}.ways"), cache.ways, 1, 64)?;
            range(&format!("{name}.bytes"), cache.bytes, 1, 1 << 30)?;
            let set = cache.ways * 64;
            if !cache.bytes.is_multiple_of(set) || !(cache.bytes / set).is_power_of_two() {
                return Err(ParameterError::Contradiction(format!(
                    "directory: {name}.bytes is {} with {} ways of 64-byte lines; expected a power of two of sets",
                    cache.bytes, cache.ways
                )));
            }
            range(&format!("{name}.hit"), cache.hit, 1, MOST)?;
            range(&format!("{name}.ports"), cache.ports, 1, 64)?;
        }
        for (name, cache) in &caches[..2] {
            range(&format!("{name}.mshrs"), cache.mshrs as u64, 2, 1 << 10)?;
        }
        range("store_buffer", self.store_buffer as u64, 1, 1 << 10)?;
        range("write_backs", self.write_backs as u64, 1, 1 << 10)?;
        range("probe", self.probe, 0, MOST)?;
        range("directory", self.directory, 0, MOST)?;
        range("directory_interval", self.directory_interval, 1, MOST)?;
        range("memory", self.memory, 0, MOST)?;
        range("memory_ports", self.memory_ports as u64, 1, 64)?;
        range("memory_interval", self.memory_interval, 1, MOST)?;
        range("switch.fan_out", self.switch.fan_out as u64, 2, 64)?;
        range("switch.link", self.switch.link, 1, 64)?;
        range("switch.period", self.switch.period, 1, 1 << 10)?;
        range("switch.hop", self.switch.hop, 1, 1 << 10)?;
        range("switch.header", self.switch.header, 1, 1 << 10)?;
        range("switch.local", self.switch.local, 0, MOST)?;
        range("device", self.device, 0, MOST)?;
        range("device_operations", self.device_operations, 1, 64)?;
        range("device_level", self.device_level, 1, 2)?;
        range("reservation_hold", self.reservation_hold, 0, MOST)
    }
}
