// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Event counts of a cache.

/// Event counts of one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheStatistics {
    /// Hits, counted by line: an access across two lines counts twice.
    pub hits: u64,
    /// Accesses to a line that was already outstanding.
    pub mshr_hits: u64,
    /// Misses, counted by line.
    pub misses: u64,
    /// Lines that came from the cache of another core.
    pub transfers: u64,
    /// Modified lines written to memory.
    pub write_backs: u64,
    /// Copies invalidated by a store of another core.
    pub invalidated: u64,
    /// Refused accesses.
    pub retries: u64,
}
