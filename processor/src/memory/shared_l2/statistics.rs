// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Event counts of a shared L2 and the caches above it.

/// Event counts of one L1 cache. An access is counted once, in the cycle in which it is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct L1Statistics {
    /// Loads or fetches that hit.
    pub hits: u64,
    /// Loads or fetches that request a line.
    pub misses: u64,
    /// Loads or fetches that wait only for lines that are already on their way.
    pub merged: u64,
    /// Loads that take all their bytes from the write buffer.
    pub forwarded: u64,
    /// Stores.
    pub stores: u64,
    /// Copies invalidated by a store of another core.
    pub invalidated: u64,
    /// Copies invalidated by DMA.
    pub invalidated_by_dma: u64,
    /// Refused because a bank was taken.
    pub bank_conflicts: u64,
    /// Refused because no MSHR was free.
    pub mshrs_full: u64,
    /// Refused because the write buffer was full.
    pub write_buffer_full: u64,
}

/// Cycles in which the L1-L2 bus was busy, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BusStatistics {
    /// Requests for lines.
    pub requests: u64,
    /// Lines.
    pub lines: u64,
    /// Stores.
    pub stores: u64,
    /// Atomics and store-conditionals: requests and results.
    pub atomics: u64,
    /// Device accesses: requests and values.
    pub devices: u64,
}

impl BusStatistics {
    /// All busy cycles.
    #[must_use]
    pub fn busy(&self) -> u64 {
        self.requests + self.lines + self.stores + self.atomics + self.devices
    }
}

/// Event counts of the L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct L2Statistics {
    /// Line accesses that hit.
    pub hits: u64,
    /// Line accesses that request a line from memory.
    pub misses: u64,
    /// Line accesses that wait for a line that is already on its way.
    pub merged: u64,
    /// Modified lines that were evicted.
    pub write_backs: u64,
    /// Copies invalidated by DMA.
    pub invalidated_by_dma: u64,
    /// Accesses that waited for an MSHR, for a write-back entry, or for another line of their set that
    /// was on its way.
    pub blocked: u64,
}

/// Cycles in which the memory bus was busy, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryBusStatistics {
    /// Lines to the L2.
    pub fills: u64,
    /// Modified lines from the L2, for evictions.
    pub write_backs: u64,
    /// Data of DMA transfers to memory.
    pub dma_writes: u64,
    /// Data of DMA transfers from memory.
    pub dma_reads: u64,
    /// Modified lines from the L2, for DMA.
    pub dma_write_backs: u64,
}

impl MemoryBusStatistics {
    /// All busy cycles.
    #[must_use]
    pub fn busy(&self) -> u64 {
        self.fills + self.write_backs + self.dma_writes + self.dma_reads + self.dma_write_backs
    }
}

/// Event counts of a [`SharedL2`](super::SharedL2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SharedL2Statistics {
    /// The instruction caches, by core.
    pub instruction: Vec<L1Statistics>,
    /// The data caches, by core.
    pub data: Vec<L1Statistics>,
    /// The L1-L2 bus.
    pub bus: BusStatistics,
    /// The L2.
    pub l2: L2Statistics,
    /// The memory bus.
    pub memory: MemoryBusStatistics,
}
