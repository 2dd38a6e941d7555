// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Caches, the memory behind them, and what keeps copies of a line apart: when an access can be used.
//!
//! ```text
//!   core 0            core 1
//!  +----+----+       +----+----+     hit: `hit` cycles, merged with a line on its way: when that is there
//!  | I  | D  |       | I  | D  |     miss: `lookup` cycles, then the line from memory, or (invalidate) from the core
//!  +----+----+       +----+----+     that modified it
//!     |    |            |    |
//!  ===============================   one channel, in order of request: a line of b bytes takes
//!              memory                b / width cycles of it, its first bits `latency` cycles after the request
//! ```
//!
//! It holds no values: a store is in memory when it is executed, and its caches say what that costs. A line is used when it
//! is there whole. A line that leaves waits in a buffer of its own and takes the channel after the line that displaced it.
//! Replacement is least recently used. Without an L2; it would stand between the caches and the channel.
//! Cost on the host: a few nanoseconds for a hit, some tens for a miss.

mod cache;
mod config;

pub use config::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};

use cache::{Lines, Slot, State};
use mb_core::Cycles;
use mb_core::ParameterError;

/// Why a core accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// For an instruction.
    Fetch,
    /// A read.
    Load,
    /// A write.
    Store,
    /// A read and a write that nothing comes between.
    Atomic,
}

/// When an access has its effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// From this cycle on what it reads can be used, and what it writes is written.
    Ready(Cycles),
    /// Not begun, since a port or the room for misses is taken; to be tried again in this cycle.
    Retry(Cycles),
}

/// What a cache has served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheStatistics {
    /// Lines found, also for accesses that needed two.
    pub hits: u64,
    /// Lines found on their way.
    pub merged: u64,
    /// Lines not found.
    pub misses: u64,
    /// Lines that came from another core.
    pub transfers: u64,
    /// Lines written to memory.
    pub write_backs: u64,
    /// Copies that another core's store took away.
    pub invalidated: u64,
    /// Accesses that had to be tried again.
    pub retries: u64,
}

/// One cache and its ways out.
#[derive(Clone, Debug)]
struct Bank {
    config: CacheConfig,
    shift: u32,
    lines: Lines,
    /// The cycle of the newest access, and how many there were in it.
    port: (Cycles, u32),
    /// When each line or store on its way will be there.
    under_way: Vec<Cycles>,
    statistics: CacheStatistics,
}

impl Bank {
    fn new(config: CacheConfig) -> Self {
        let sets = config.bytes / config.ways / config.line;
        Self {
            config,
            shift: config.line.trailing_zeros(),
            lines: Lines::new(sets as usize, config.ways as usize),
            port: (Cycles::ZERO, 0),
            under_way: Vec::with_capacity(config.misses),
            statistics: CacheStatistics::default(),
        }
    }

    #[inline]
    fn takes_port(&mut self, now: Cycles) -> bool {
        if self.port.0 != now {
            self.port = (now, 0);
        }
        self.port.1 += 1;
        self.port.1 <= self.config.ports
    }

    /// When one more line can be on its way, if that is later than `now`.
    fn full_until(&mut self, now: Cycles) -> Option<Cycles> {
        self.under_way.retain(|&ready| ready > now);
        if self.under_way.len() < self.config.misses {
            return None;
        }
        self.under_way.iter().min().copied()
    }
}

/// Memory's channel.
#[derive(Clone, Copy, Debug)]
struct Channel {
    config: MemoryConfig,
    free: Cycles,
}

impl Channel {
    /// Takes the channel for `bytes` from `now` on; returns the last cycle of it.
    fn take(&mut self, bytes: u64, now: Cycles) -> Cycles {
        let span = Cycles((bytes * 8).div_ceil(self.config.bits_per_cycle));
        self.free = self.free.max(now) + span;
        self.free - Cycles(1)
    }

    /// When `bytes` requested at `now` can be used.
    fn read(&mut self, bytes: u64, now: Cycles) -> Cycles {
        self.take(bytes, now) + self.config.latency
    }

    /// When `bytes` that leave at `now` are written.
    fn write(&mut self, bytes: u64, now: Cycles) -> Cycles {
        self.take(bytes, now) + Cycles(1)
    }
}

/// What the other cores have of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Elsewhere {
    Nowhere,
    Unmodified,
    /// One has modified it, and has it itself from this cycle on.
    Modified(Cycles),
}

/// The caches of all cores and the memory behind them.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    coherence: Coherence,
    instruction: Vec<Bank>,
    data: Vec<Bank>,
    channel: Channel,
}

impl Hierarchy {
    /// Empty caches.
    ///
    /// # Errors
    /// A configuration that cannot be built.
    pub fn new(config: &HierarchyConfig) -> Result<Self, ParameterError> {
        config.check()?;
        Ok(Self {
            coherence: config.coherence,
            instruction: vec![Bank::new(config.instruction); config.cores],
            data: vec![Bank::new(config.data); config.cores],
            channel: Channel { config: config.memory, free: Cycles::ZERO },
        })
    }

    /// `core` accesses `bytes` (at least one) at `address` in cycle `now`, which never goes back. An access across lines takes
    /// each of them; once the first has room, the others wait for theirs.
    ///
    /// # Panics
    /// When there is no such core.
    #[inline]
    pub fn access(&mut self, core: usize, access: Access, address: u64, bytes: u64, now: Cycles) -> Reply {
        let bank = self.bank(core, access);
        if !bank.takes_port(now) {
            bank.statistics.retries += 1;
            return Reply::Retry(now + Cycles(1));
        }
        let first = address >> bank.shift;
        let last = address.saturating_add(bytes - 1) >> bank.shift;
        if first == last && matches!(access, Access::Fetch | Access::Load) && bank.lines.is_newest(first, now) {
            bank.statistics.hits += 1;
            return Reply::Ready(now + bank.config.hit);
        }
        self.look_up(core, access, address, bytes, now)
    }

    /// An access that uses a port and no line, as that of a load whose data waits in its core's store queue: like a hit.
    ///
    /// # Panics
    /// When there is no such core.
    #[inline]
    pub fn pass(&mut self, core: usize, access: Access, now: Cycles) -> Reply {
        let bank = self.bank(core, access);
        if !bank.takes_port(now) {
            bank.statistics.retries += 1;
            return Reply::Retry(now + Cycles(1));
        }
        Reply::Ready(now + bank.config.hit)
    }

    /// Brings the lines of `bytes` at `address` into a cache of `core` as read before, in no time and uncounted.
    pub fn touch(&mut self, core: usize, access: Access, address: u64, bytes: u64) {
        let shift = self.bank(core, access).shift;
        for line in lines(address, bytes, shift) {
            if self.bank(core, access).lines.used(line).is_some() {
                continue;
            }
            if access != Access::Fetch {
                for bank in &mut self.data {
                    if let Some(slot) = bank.lines.get(line) {
                        slot.state = State::Shared;
                    }
                }
            }
            self.bank(core, access).lines.insert(line, Cycles::ZERO, State::Shared);
        }
    }

    /// Drops the lines of `bytes` at `address` from every data cache, unwritten: somebody else wrote them in memory.
    pub fn invalidate(&mut self, address: u64, bytes: u64) {
        for bank in &mut self.data {
            for line in lines(address, bytes, bank.shift) {
                bank.lines.remove(line);
            }
        }
    }

    /// What the instruction cache of `core` has served.
    #[must_use]
    pub fn instruction_statistics(&self, core: usize) -> CacheStatistics {
        self.instruction[core].statistics
    }

    /// What the data cache of `core` has served.
    #[must_use]
    pub fn data_statistics(&self, core: usize) -> CacheStatistics {
        self.data[core].statistics
    }

    #[inline]
    fn bank(&mut self, core: usize, access: Access) -> &mut Bank {
        if access == Access::Fetch { &mut self.instruction[core] } else { &mut self.data[core] }
    }

    /// An access that has its port, to lines of which the first is perhaps not the one used last.
    fn look_up(&mut self, core: usize, access: Access, address: u64, bytes: u64, now: Cycles) -> Reply {
        let shift = self.bank(core, access).shift;
        let first = address >> shift;
        if address.saturating_add(bytes - 1) >> shift != first {
            return self.across_lines(core, access, address, bytes, now);
        }
        self.line(core, access, first, bytes, now)
    }

    #[cold]
    fn across_lines(&mut self, core: usize, access: Access, address: u64, bytes: u64, now: Cycles) -> Reply {
        let (shift, length) = (self.bank(core, access).shift, self.bank(core, access).config.line);
        let end = address.saturating_add(bytes);
        let mut last = Cycles::ZERO;
        for line in lines(address, bytes, shift) {
            let part = end.min((line + 1) * length) - address.max(line * length);
            let ready = match self.line(core, access, line, part, now) {
                Reply::Ready(ready) => ready,
                retry if line == address >> shift => return retry,
                // Tried again as a whole, a store that goes through would take the room that it waits for.
                Reply::Retry(at) => match self.line(core, access, line, part, at) {
                    Reply::Ready(ready) => ready,
                    Reply::Retry(_) => unreachable!("there is room in {at:?}"),
                },
            };
            last = last.max(ready);
        }
        Reply::Ready(last)
    }

    #[inline]
    fn line(&mut self, core: usize, access: Access, line: u64, bytes: u64, now: Cycles) -> Reply {
        let bank = self.bank(core, access);
        let hit = now + bank.config.hit;
        let Some(slot) = bank.lines.used(line) else { return self.miss(core, access, line, bytes, now) };
        let (ready, state) = (slot.ready, slot.state);
        if matches!(access, Access::Fetch | Access::Load) || state == State::Modified {
            if ready > now {
                bank.statistics.merged += 1;
            } else {
                bank.statistics.hits += 1;
            }
            return Reply::Ready(hit.max(ready));
        }
        self.write_hit(core, line, bytes, now)
    }

    /// A store to a line that its core has, but not modified.
    fn write_hit(&mut self, core: usize, line: u64, bytes: u64, now: Cycles) -> Reply {
        let through = self.data[core].config.write == WritePolicy::Through;
        if through && let Some(retry) = self.data[core].full_until(now) {
            self.data[core].statistics.retries += 1;
            return Reply::Retry(retry);
        }
        let mut done = now + self.data[core].config.hit;
        if let Coherence::Invalidate { upgrade, .. } = self.coherence
            && self.data[core].lines.get(line).is_some_and(|slot| slot.state == State::Shared)
            && self.take_away(core, line) != Elsewhere::Nowhere
        {
            done += upgrade;
        }
        let bank = &mut self.data[core];
        let slot = bank.lines.get(line).expect("the line was just found");
        slot.state = if through { State::Exclusive } else { State::Modified };
        if slot.ready > now {
            bank.statistics.merged += 1;
        } else {
            bank.statistics.hits += 1;
        }
        done = done.max(slot.ready);
        if through {
            let written = self.channel.write(bytes, now);
            bank.under_way.push(written);
            done = done.max(written);
        }
        Reply::Ready(done)
    }

    fn miss(&mut self, core: usize, access: Access, line: u64, bytes: u64, now: Cycles) -> Reply {
        let bank = self.bank(core, access);
        if let Some(retry) = bank.full_until(now) {
            bank.statistics.retries += 1;
            return Reply::Retry(retry);
        }
        bank.statistics.misses += 1;
        let config = bank.config;
        let request = now + config.lookup;
        let writes = matches!(access, Access::Store | Access::Atomic);
        let fetch = access == Access::Fetch;
        let elsewhere = match self.coherence {
            Coherence::Invalidate { .. } if writes => self.take_away(core, line),
            Coherence::Invalidate { .. } if !fetch => self.share(core, line, now),
            _ => Elsewhere::Nowhere,
        };
        if access == Access::Store && !config.allocate {
            if matches!(elsewhere, Elsewhere::Modified(_)) {
                self.data[core].statistics.write_backs += 1;
                self.channel.write(config.line, request);
            }
            let written = self.channel.write(bytes, request);
            self.data[core].under_way.push(written);
            return Reply::Ready(written);
        }
        let ready = match (elsewhere, self.coherence) {
            (Elsewhere::Modified(there), Coherence::Invalidate { transfer, .. }) => {
                self.data[core].statistics.transfers += 1;
                request.max(there) + transfer
            }
            _ => self.channel.read(config.line, request),
        };
        let state = match (elsewhere, self.coherence) {
            _ if writes && config.write == WritePolicy::Back => State::Modified,
            _ if writes => State::Exclusive,
            (Elsewhere::Nowhere, Coherence::Invalidate { .. }) => State::Exclusive,
            _ => State::Shared,
        };
        let bank = self.bank(core, access);
        bank.under_way.push(ready);
        if bank.lines.insert(line, ready, state).is_some() {
            bank.statistics.write_backs += 1;
            self.channel.write(config.line, request);
        }
        let mut done = ready.max(now + config.hit);
        if writes && config.write == WritePolicy::Through {
            done = done.max(self.channel.write(bytes, request));
        }
        Reply::Ready(done)
    }

    /// Takes the copies of `line` away from all cores but `core`; says what they were.
    fn take_away(&mut self, core: usize, line: u64) -> Elsewhere {
        let mut elsewhere = Elsewhere::Nowhere;
        for (other, bank) in self.data.iter_mut().enumerate() {
            if other == core {
                continue;
            }
            let Some(slot) = bank.lines.remove(line) else { continue };
            elsewhere = slot.seen_from_outside();
            bank.statistics.invalidated += 1;
        }
        elsewhere
    }

    /// Makes the copies of `line` in all cores but `core` shared; a modified one is written to memory.
    fn share(&mut self, core: usize, line: u64, now: Cycles) -> Elsewhere {
        let mut elsewhere = Elsewhere::Nowhere;
        for (other, bank) in self.data.iter_mut().enumerate() {
            let Some(slot) = bank.lines.get(line).filter(|_| other != core) else { continue };
            elsewhere = slot.seen_from_outside();
            slot.state = State::Shared;
            if matches!(elsewhere, Elsewhere::Modified(_)) {
                bank.statistics.write_backs += 1;
                self.channel.write(bank.config.line, now);
            }
        }
        elsewhere
    }
}

impl Slot {
    fn seen_from_outside(&self) -> Elsewhere {
        if self.state == State::Modified { Elsewhere::Modified(self.ready) } else { Elsewhere::Unmodified }
    }
}

/// The numbers of the lines that `bytes` at `address` lie in.
fn lines(address: u64, bytes: u64, shift: u32) -> std::ops::RangeInclusive<u64> {
    let last = address.saturating_add(bytes.max(1) - 1);
    address >> shift..=last >> shift
}
