// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timing of L1 caches, coherence and main memory.
//!
//! ```text
//!   core 0            core 1
//!  +----+----+       +----+----+     hit: `hit` cycles; MSHR hit: when the outstanding line arrives
//!  | I  | D  |       | I  | D  |     miss: `lookup` cycles, then the line from memory, or (invalidate)
//!  +----+----+       +----+----+     from the core that modified it
//!     |    |            |    |
//!  ===============================   one channel, in order of request: a line of b bits occupies it for
//!              memory                b / width cycles; the first bits arrive `latency` cycles after the request
//! ```
//!
//! The hierarchy holds no values. [`Memory`](crate::Memory) has the value of a store as soon as the
//! store is executed; the caches only return the time. A line is usable once all of it has arrived.
//! A victim line has a write-back buffer, and takes the channel after the line that displaces it.
//! Replacement is least recently used.
//!
//! Not modelled: an L2, which would be placed between the caches and the channel.
//! Cost on the host: a few nanoseconds for a hit, some tens for a miss.

mod cache;
mod config;
mod statistics;
mod tags;

pub use config::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};
pub use statistics::CacheStatistics;

use cache::{Cache, Channel};
use mb_core::Cycles;
use mb_core::ParameterError;
use tags::{Line, State};

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// An instruction fetch.
    Fetch,
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic read-modify-write.
    Atomic,
}

/// The time of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The access is complete in this cycle: what it reads is usable, what it writes is written.
    Ready(Cycles),
    /// The access was refused because all ports or MSHRs are in use. Repeat it in this cycle.
    Retry(Cycles),
}

/// The copies of a line in the caches of other cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RemoteCopy {
    None,
    Clean,
    /// One core has modified the line, and holds it from this cycle on.
    Modified(Cycles),
}

/// The caches of all cores and the memory channel.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    coherence: Coherence,
    instruction: Vec<Cache>,
    data: Vec<Cache>,
    channel: Channel,
}

impl Hierarchy {
    /// A hierarchy with empty caches.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(config: &HierarchyConfig) -> Result<Self, ParameterError> {
        config.check()?;
        Ok(Self {
            coherence: config.coherence,
            instruction: vec![Cache::new(config.instruction); config.cores],
            data: vec![Cache::new(config.data); config.cores],
            channel: Channel::new(config.memory),
        })
    }

    /// Accesses `bytes` (at least one) at `address` for `core` in cycle `now`, which must not
    /// decrease. An access across lines accesses each of them. It is refused only at the first
    /// line; the others wait for a free MSHR.
    ///
    /// # Panics
    /// When `core` is out of range.
    #[inline]
    pub fn access(&mut self, core: usize, access: AccessKind, address: u64, bytes: u64, now: Cycles) -> Reply {
        let cache = self.cache(core, access);
        if !cache.takes_port(now) {
            cache.statistics.retries += 1;
            return Reply::Retry(now + Cycles(1));
        }
        let first = address >> cache.shift;
        let last = address.saturating_add(bytes - 1) >> cache.shift;
        if first == last && matches!(access, AccessKind::Fetch | AccessKind::Load) && cache.tags.is_newest(first, now) {
            cache.statistics.hits += 1;
            return Reply::Ready(now + cache.config.hit);
        }
        self.look_up(core, access, address, bytes, now)
    }

    /// An access that takes a port but no line, with the time of a hit: a load that is forwarded
    /// from a store in the LSQ.
    ///
    /// # Panics
    /// When `core` is out of range.
    #[inline]
    pub fn use_port(&mut self, core: usize, access: AccessKind, now: Cycles) -> Reply {
        let cache = self.cache(core, access);
        if !cache.takes_port(now) {
            cache.statistics.retries += 1;
            return Reply::Retry(now + Cycles(1));
        }
        Reply::Ready(now + cache.config.hit)
    }

    /// Loads the lines of `bytes` at `address` into a cache of `core`, without time and without
    /// statistics.
    pub fn warm(&mut self, core: usize, access: AccessKind, address: u64, bytes: u64) {
        let shift = self.cache(core, access).shift;
        for line in lines(address, bytes, shift) {
            if self.cache(core, access).tags.access(line).is_some() {
                continue;
            }
            if access != AccessKind::Fetch {
                for cache in &mut self.data {
                    if let Some(slot) = cache.tags.get(line) {
                        slot.state = State::Shared;
                    }
                }
            }
            self.cache(core, access).tags.insert(line, Cycles::ZERO, State::Shared);
        }
    }

    /// Drops the lines of `bytes` at `address` from all data caches without write-back, as after a
    /// DMA write.
    pub fn invalidate(&mut self, address: u64, bytes: u64) {
        for cache in &mut self.data {
            for line in lines(address, bytes, cache.shift) {
                cache.tags.remove(line);
            }
        }
    }

    /// Event counts of the instruction cache of `core`.
    #[must_use]
    pub fn instruction_statistics(&self, core: usize) -> CacheStatistics {
        self.instruction[core].statistics
    }

    /// Event counts of the data cache of `core`.
    #[must_use]
    pub fn data_statistics(&self, core: usize) -> CacheStatistics {
        self.data[core].statistics
    }

    #[inline]
    fn cache(&mut self, core: usize, access: AccessKind) -> &mut Cache {
        if access == AccessKind::Fetch { &mut self.instruction[core] } else { &mut self.data[core] }
    }

    /// The general case of an access that has its port.
    fn look_up(&mut self, core: usize, access: AccessKind, address: u64, bytes: u64, now: Cycles) -> Reply {
        let shift = self.cache(core, access).shift;
        let first = address >> shift;
        if address.saturating_add(bytes - 1) >> shift != first {
            return self.across_lines(core, access, address, bytes, now);
        }
        self.line(core, access, first, bytes, now)
    }

    #[cold]
    fn across_lines(&mut self, core: usize, access: AccessKind, address: u64, bytes: u64, now: Cycles) -> Reply {
        let (shift, length) = (self.cache(core, access).shift, self.cache(core, access).config.line);
        let end = address.saturating_add(bytes);
        let mut last = Cycles::ZERO;
        for line in lines(address, bytes, shift) {
            let part = end.min((line + 1) * length) - address.max(line * length);
            let ready = match self.line(core, access, line, part, now) {
                Reply::Ready(ready) => ready,
                retry if line == address >> shift => return retry,
                // The other lines wait here. If the whole access were repeated, the first part of a
                // write-through store would take the MSHR that the second part waits for.
                Reply::Retry(at) => match self.line(core, access, line, part, at) {
                    Reply::Ready(ready) => ready,
                    Reply::Retry(_) => unreachable!("an MSHR is free in {at:?}"),
                },
            };
            last = last.max(ready);
        }
        Reply::Ready(last)
    }

    #[inline]
    fn line(&mut self, core: usize, access: AccessKind, line: u64, bytes: u64, now: Cycles) -> Reply {
        let cache = self.cache(core, access);
        let hit = now + cache.config.hit;
        let Some(slot) = cache.tags.access(line) else { return self.miss(core, access, line, bytes, now) };
        let (ready, state) = (slot.ready, slot.state);
        if matches!(access, AccessKind::Fetch | AccessKind::Load) || state == State::Modified {
            if ready > now {
                cache.statistics.mshr_hits += 1;
            } else {
                cache.statistics.hits += 1;
            }
            return Reply::Ready(hit.max(ready));
        }
        self.write_hit(core, line, bytes, now)
    }

    /// A store to a line that is present but not modified.
    fn write_hit(&mut self, core: usize, line: u64, bytes: u64, now: Cycles) -> Reply {
        let through = self.data[core].config.write == WritePolicy::Through;
        if through && let Some(retry) = self.data[core].mshrs_full_until(now) {
            self.data[core].statistics.retries += 1;
            return Reply::Retry(retry);
        }
        let mut done = now + self.data[core].config.hit;
        if let Coherence::Invalidate { upgrade, .. } = self.coherence
            && self.data[core].tags.get(line).is_some_and(|slot| slot.state == State::Shared)
            && self.invalidate_others(core, line) != RemoteCopy::None
        {
            done += upgrade;
        }
        let cache = &mut self.data[core];
        let slot = cache.tags.get(line).expect("the line was just found");
        slot.state = if through { State::Exclusive } else { State::Modified };
        if slot.ready > now {
            cache.statistics.mshr_hits += 1;
        } else {
            cache.statistics.hits += 1;
        }
        done = done.max(slot.ready);
        if through {
            let written = self.channel.write(bytes, now);
            cache.take_mshr(written);
            done = done.max(written);
        }
        Reply::Ready(done)
    }

    fn miss(&mut self, core: usize, access: AccessKind, line: u64, bytes: u64, now: Cycles) -> Reply {
        let cache = self.cache(core, access);
        if let Some(retry) = cache.mshrs_full_until(now) {
            cache.statistics.retries += 1;
            return Reply::Retry(retry);
        }
        cache.statistics.misses += 1;
        let config = cache.config;
        let request = now + config.lookup;
        let writes = matches!(access, AccessKind::Store | AccessKind::Atomic);
        let fetch = access == AccessKind::Fetch;
        let remote = match self.coherence {
            Coherence::Invalidate { .. } if writes => self.invalidate_others(core, line),
            Coherence::Invalidate { .. } if !fetch => self.downgrade_others(core, line, now),
            _ => RemoteCopy::None,
        };
        if access == AccessKind::Store && !config.allocate {
            if matches!(remote, RemoteCopy::Modified(_)) {
                self.data[core].statistics.write_backs += 1;
                self.channel.write(config.line, request);
            }
            let written = self.channel.write(bytes, request);
            self.data[core].take_mshr(written);
            return Reply::Ready(written);
        }
        let ready = match (remote, self.coherence) {
            (RemoteCopy::Modified(there), Coherence::Invalidate { transfer, .. }) => {
                self.data[core].statistics.transfers += 1;
                request.max(there) + transfer
            }
            _ => self.channel.read(config.line, request),
        };
        let state = match (remote, self.coherence) {
            _ if writes && config.write == WritePolicy::Back => State::Modified,
            _ if writes => State::Exclusive,
            (RemoteCopy::None, Coherence::Invalidate { .. }) => State::Exclusive,
            _ => State::Shared,
        };
        let cache = self.cache(core, access);
        cache.take_mshr(ready);
        if cache.tags.insert(line, ready, state).is_some() {
            cache.statistics.write_backs += 1;
            self.channel.write(config.line, request);
        }
        let mut done = ready.max(now + config.hit);
        if writes && config.write == WritePolicy::Through {
            done = done.max(self.channel.write(bytes, request));
        }
        Reply::Ready(done)
    }

    /// Invalidates the copies of `line` in all cores but `core`; returns what they were.
    fn invalidate_others(&mut self, core: usize, line: u64) -> RemoteCopy {
        let mut remote = RemoteCopy::None;
        for (other, cache) in self.data.iter_mut().enumerate() {
            if other == core {
                continue;
            }
            let Some(slot) = cache.tags.remove(line) else { continue };
            remote = slot.remote_copy();
            cache.statistics.invalidated += 1;
        }
        remote
    }

    /// Makes the copies of `line` in all cores but `core` shared, and writes a modified one back;
    /// returns what they were.
    fn downgrade_others(&mut self, core: usize, line: u64, now: Cycles) -> RemoteCopy {
        let mut remote = RemoteCopy::None;
        for (other, cache) in self.data.iter_mut().enumerate() {
            let Some(slot) = cache.tags.get(line).filter(|_| other != core) else { continue };
            remote = slot.remote_copy();
            slot.state = State::Shared;
            if matches!(remote, RemoteCopy::Modified(_)) {
                cache.statistics.write_backs += 1;
                self.channel.write(cache.config.line, now);
            }
        }
        remote
    }
}

impl Line {
    fn remote_copy(&self) -> RemoteCopy {
        if self.state == State::Modified { RemoteCopy::Modified(self.ready) } else { RemoteCopy::Clean }
    }
}

/// The numbers of the lines that contain `bytes` at `address`.
fn lines(address: u64, bytes: u64, shift: u32) -> std::ops::RangeInclusive<u64> {
    let last = address.saturating_add(bytes.max(1) - 1);
    address >> shift..=last >> shift
}
