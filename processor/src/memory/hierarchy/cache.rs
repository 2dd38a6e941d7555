// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One cache with its ports and MSHRs, and the memory channel.

use mb_core::Cycles;

use super::config::{CacheConfig, MemoryConfig};
use super::statistics::CacheStatistics;
use super::tags::TagArray;

/// One cache.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) config: CacheConfig,
    /// Binary logarithm of the line length.
    pub(super) shift: u32,
    pub(super) tags: TagArray,
    /// The cycle of the latest access, and the number of accesses in it.
    port: (Cycles, u32),
    /// When each outstanding line or store completes: the MSHRs in use, and some that are already
    /// free.
    mshrs: Vec<Cycles>,
    pub(super) statistics: CacheStatistics,
}

impl Cache {
    pub(super) fn new(config: CacheConfig) -> Self {
        let sets = config.bytes / config.ways / config.line;
        Self {
            config,
            shift: config.line.trailing_zeros(),
            tags: TagArray::new(sets as usize, config.ways as usize),
            port: (Cycles::ZERO, 0),
            mshrs: Vec::with_capacity(config.mshrs),
            statistics: CacheStatistics::default(),
        }
    }

    /// Takes a port in cycle `now`, if one is free.
    #[inline]
    pub(super) fn takes_port(&mut self, now: Cycles) -> bool {
        if self.port.0 != now {
            self.port = (now, 0);
        }
        self.port.1 += 1;
        self.port.1 <= self.config.ports
    }

    /// When an MSHR becomes free, or `None` if one is free at `now`.
    pub(super) fn mshrs_full_until(&mut self, now: Cycles) -> Option<Cycles> {
        self.mshrs.retain(|&ready| ready > now);
        if self.mshrs.len() < self.config.mshrs {
            return None;
        }
        self.mshrs.iter().min().copied()
    }

    /// Takes an MSHR until `ready`.
    pub(super) fn take_mshr(&mut self, ready: Cycles) {
        self.mshrs.push(ready);
    }
}

/// The memory channel. It serves requests in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    config: MemoryConfig,
    /// The first cycle in which the channel is free.
    free: Cycles,
}

impl Channel {
    pub(super) const fn new(config: MemoryConfig) -> Self {
        Self { config, free: Cycles::ZERO }
    }

    /// Occupies the channel with `bytes` from `now` on; returns the last cycle of the transfer.
    fn transfer(&mut self, bytes: u64, now: Cycles) -> Cycles {
        let span = Cycles((bytes * 8).div_ceil(self.config.bits_per_cycle));
        self.free = self.free.max(now) + span;
        self.free - Cycles(1)
    }

    /// When `bytes` requested at `now` can be used.
    pub(super) fn read(&mut self, bytes: u64, now: Cycles) -> Cycles {
        self.transfer(bytes, now) + self.config.latency
    }

    /// When `bytes` sent at `now` are written.
    pub(super) fn write(&mut self, bytes: u64, now: Cycles) -> Cycles {
        self.transfer(bytes, now) + Cycles(1)
    }
}
