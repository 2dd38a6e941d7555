// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Event counts of the coherent memory.

use super::protocol::MessageKind;

/// Where the lines came from that a core or a device waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissStatistics {
    /// Requests that the L2 of the node, or a line in transition in it, served.
    pub local: u64,
    /// Private misses: lines that another cache served.
    pub private: u64,
    /// Global misses: lines that memory served.
    pub global: u64,
    /// Exclusive rights for a copy that the node had.
    pub upgrades: u64,
    /// Exclusive rights without data.
    pub blanks: u64,
}

/// Event counts of one node. An access is counted once, in the cycle in which it is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeStatistics {
    /// Loads, stores and atomics that hit in the data cache when they were requested.
    pub data_hits: u64,
    /// Lines that loads missed in the data cache.
    pub load_misses: u64,
    /// Lines that stores and atomics missed in the data cache, or had without the right.
    pub store_misses: u64,
    /// Loads that take all their bytes from the store buffer.
    pub forwarded: u64,
    /// Fetches that hit.
    pub fetch_hits: u64,
    /// Fetches that missed.
    pub fetch_misses: u64,
    /// Accesses refused because the ports were taken.
    pub ports_full: u64,
    /// Accesses refused because no MSHR was free, or too many write-backs were under way.
    pub mshrs_full: u64,
    /// Accesses refused because the store buffer was full.
    pub store_buffer_full: u64,
    /// Lines for the core.
    pub core: MissStatistics,
    /// Lines for the device.
    pub device: MissStatistics,
    /// Lines that the L2 evicted to memory, with data.
    pub write_backs: u64,
    /// Copies that another node took.
    pub invalidated: u64,
    /// Lines taken from the device.
    pub revoked: u64,
}

impl NodeStatistics {
    /// L1 misses: loads, stores and fetches.
    #[must_use]
    pub fn l1_misses(&self) -> u64 {
        self.load_misses + self.store_misses + self.fetch_misses
    }
}

/// Messages of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageStatistics {
    /// How many.
    pub messages: u64,
    /// Core cycles for which they occupied links, summed over links.
    pub link_cycles: u64,
}

/// Event counts of a [`CoherentMemory`](super::CoherentMemory).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DirectoryStatistics {
    /// By node.
    pub nodes: Vec<NodeStatistics>,
    /// By the number of their [`MessageKind`].
    pub messages: Vec<MessageStatistics>,
    /// Messages between devices.
    pub device_messages: MessageStatistics,
    /// Messages that waited for a busy line.
    pub stalled: u64,
    /// Lines read from memory.
    pub memory_reads: u64,
    /// Lines written to memory.
    pub memory_writes: u64,
}

impl DirectoryStatistics {
    /// The messages of a kind.
    #[must_use]
    pub fn of(&self, kind: MessageKind) -> MessageStatistics {
        self.messages.get(kind as usize).copied().unwrap_or_default()
    }
}
