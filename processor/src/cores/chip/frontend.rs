// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetch, branch prediction and rename.

use super::code::{Decoded, Fetched, Kind, Place};
use super::config::{ChipConfig, FetchPolicy};
use super::context::{Context, Full};
use super::core::{Core, Shared, lowest_two};
use super::fetch::Fetch;
use super::in_flight::bit;
use super::interface::ChipObserver;
use super::setting::{Environment, Setting};
use crate::BranchKind;
use crate::isa::rv64::supervisor::Exception;
use crate::isa::rv64::sv39::Access;
use crate::memory::system::{FetchAnswer, MemorySystem};

impl Core {
    /// Moves fetched instructions into the instruction queue and the reorder buffer, in the order of
    /// their fetch.
    pub(super) fn rename<S: Setting>(&mut self, now: u64, environment: &mut Environment<'_, S>) {
        let config = environment.config;
        let Self { contexts, shared } = self;
        let mut all = [u64::MAX; ChipConfig::MAX_CONTEXTS];
        let ages = &mut all[..contexts.len()];
        let mut any = false;
        for (index, (context, age)) in contexts.iter_mut().zip(ages.iter_mut()).enumerate() {
            shared.redirect_misfetched(context, index, now, environment);
            *age = context.next_to_rename(config, now);
            any |= *age != u64::MAX;
        }
        let mut left = config.rename_width;
        let mut blocked = false;
        while any && left > 0 {
            let (index, mut oldest, next) = lowest_two(ages);
            if oldest == u64::MAX {
                break;
            }
            let context = &mut contexts[index];
            // Instructions that were fetched together have successive ages.
            while oldest < next && left > 0 {
                let full = shared.full::<S>(context, config);
                if full != Full::Nothing {
                    context.full = full;
                    blocked = true;
                    oldest = u64::MAX;
                    break;
                }
                shared.rename_one::<S>(context, now);
                left -= 1;
                oldest = context.next_to_rename(config, now);
            }
            ages[index] = oldest;
        }
        shared.rename_more = left == 0;
        if blocked {
            // Contexts that were renamed after one that was passed over have taken space.
            for context in contexts.iter_mut().filter(|context| context.full != Full::Nothing) {
                context.full = shared.full::<S>(context, config);
            }
        }
    }

    /// Fetches from up to `fetch_threads` contexts.
    pub(super) fn fetch<S: Setting>(&mut self, now: u64, environment: &mut Environment<'_, S>) {
        let config = environment.config;
        let Self { contexts, shared } = self;
        let count = contexts.len();
        let mut all = [u64::MAX; ChipConfig::MAX_CONTEXTS];
        let keys = &mut all[..count];
        let first = (now % count as u64) as usize;
        let mut any = false;
        for (index, context) in contexts.iter().enumerate() {
            if context.can_fetch::<S>(config) && context.fetch.from <= now {
                let turn = (if index >= first { index - first } else { index + count - first }) as u64;
                let waiting = match config.fetch_policy {
                    FetchPolicy::Icount => context.tail - context.renamed + context.queue_length::<S>(),
                    FetchPolicy::RoundRobin => 0,
                };
                keys[index] = u64::from(config.priorities[index]) << 32 | waiting << 8 | turn;
                any = true;
            }
        }
        let mut left = config.fetch_width;
        let mut threads = config.fetch_threads;
        while any && threads > 0 && left > 0 {
            let (index, key, _) = lowest_two(keys);
            if key == u64::MAX {
                break;
            }
            keys[index] = u64::MAX;
            threads -= 1;
            left = shared.fetch_context(&mut contexts[index], index, left, now, environment);
        }
    }
}

impl Shared {
    /// As [`Core::rename`], for the only context of a core.
    #[inline]
    pub(super) fn rename_alone<S: Setting>(
        &mut self,
        context: &mut Context,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let config = environment.config;
        self.redirect_misfetched(context, 0, now, environment);
        let mut left = S::width(config.rename_width);
        while left > 0 && context.can_rename(config, now) {
            let full = self.full::<S>(context, config);
            if full != Full::Nothing {
                context.full = full;
                break;
            }
            self.rename_one::<S>(context, now);
            left -= 1;
        }
        self.rename_more = left == 0;
    }

    /// Begins rename in a context: fetch continues at the target of a misfetched branch that is decoded.
    #[inline]
    fn redirect_misfetched<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        context.full = Full::Nothing;
        if let Some((number, at, target)) = context.fetch.misfetch
            && at <= now
        {
            self.misfetched(context, index, (number, target), now, environment);
        }
    }

    /// Removes what was fetched after a branch whose target is known only now.
    #[cold]
    fn misfetched<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        (number, target): (u64, u64),
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        context.statistics.misfetched += 1;
        self.squash(context, index, number + 1, now, environment.config, environment.observer);
        context.redirect(target, now);
    }

    /// The structure that has no space for the next instruction of a context.
    #[inline]
    fn full<S: Setting>(&self, context: &Context, config: &ChipConfig) -> Full {
        let entry = context.entry(context.renamed);
        let queued = if S::SINGLE { context.queue_length::<S>() } else { self.queued as u64 };
        if context.renamed - context.head >= config.reorder_buffer as u64 {
            Full::Window
        } else if queued >= config.instruction_queue as u64 {
            Full::Queue
        } else if self.registers.free.is_empty() && entry.decoded.destination != 0 {
            Full::Registers
        } else if context.accesses >= config.load_store_queue && entry.decoded.kind.accesses_memory() {
            Full::Window
        } else {
            Full::Nothing
        }
    }

    /// Renames the next instruction of a context.
    #[inline]
    pub(super) fn rename_one<S: Setting>(&mut self, context: &mut Context, now: u64) {
        let registers = &mut self.registers;
        let number = context.renamed;
        let own = bit(number);
        let slot = Context::slot(number);
        let entry = &mut context.entries[slot];
        let map = |source: u8| context.map[usize::from(source & 63)];
        let [first, second, third] = entry.decoded.sources;
        // Only some floating-point operations have a third operand.
        entry.sources = [map(first), map(second), if third == 0 { 0 } else { map(third) }];
        if !S::IN_ORDER {
            for (operand, source) in entry.sources.into_iter().enumerate() {
                if registers.file[source].from > now {
                    context.waiting[operand] |= own;
                    registers.consumers[usize::from(source)][operand] |= own;
                }
            }
        }
        entry.physical = registers.sink;
        if entry.decoded.destination != 0
            && let Some(physical) = registers.free.pop()
        {
            let mapped = &mut context.map[usize::from(entry.decoded.destination & 63)];
            entry.physical = physical;
            entry.previous = std::mem::replace(mapped, physical);
            registers.file[physical].from = u64::MAX;
        }
        let kind = entry.decoded.kind;
        // Without a jump for loads, which are hard to predict.
        context.accesses += usize::from(kind == Kind::Load);
        if kind > Kind::Branch {
            context.note_effect(kind, own);
        }
        if !S::IN_ORDER {
            context.queued |= own;
        }
        if !S::SINGLE {
            self.queued += 1;
        }
        context.renamed += 1;
        context.fetch.recovers = false;
        if S::Observer::RECORDS_PASSAGES {
            let times = context.times_mut(number);
            (times.renamed, times.written) = (now, 0);
        }
    }

    /// Fetches up to `left` instructions of a context from one block; returns how many more could be.
    #[inline]
    pub(super) fn fetch_context<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        mut left: u32,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> u32 {
        let mut accessed = false;
        while left > 0 && context.can_fetch::<S>(environment.config) {
            let Context { fetch, entries, tail, .. } = &mut *context;
            let entry = &mut entries[Context::slot(*tail)];
            if let Some(decoded) = fetch.buffered(environment.config) {
                entry.decoded = *decoded;
            } else if !self.read_instruction(context, index, &mut accessed, now, environment, true) {
                break;
            }
            left -= 1;
            if self.append::<S>(context, now, environment.config) {
                break;
            }
        }
        left
    }

    /// Decodes the next instruction of a context, which is not whole in the fetch buffer, in the next
    /// entry: reads the instruction cache, unless this was `accessed` in this cycle. False: not in this
    /// cycle. A miss has no effect unless it `may_miss`.
    #[inline(never)]
    pub(super) fn read_instruction<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        accessed: &mut bool,
        now: u64,
        environment: &mut Environment<'_, S>,
        may_miss: bool,
    ) -> bool {
        let config = environment.config;
        let block_of = |address: u64| address & !(config.fetch_block - 1);
        loop {
            let pc = context.fetch.pc;
            let second = pc.wrapping_add(2);
            let first = if context.fetch.half.is_some() { second } else { pc };
            let needed = block_of(first);
            if needed != context.fetch.block {
                if std::mem::replace(accessed, true) {
                    return false;
                }
                match self.read_block(context, index, needed, now, environment, may_miss) {
                    Ok(true) => {}
                    Ok(false) => return false,
                    Err(_) if !may_miss => return false,
                    Err(exception) => {
                        let fetch = &mut context.fetch;
                        (fetch.half, fetch.outside) = (None, (exception, first));
                        context.entry_mut(context.tail).decoded = Decoded::outside(config, pc);
                        return true;
                    }
                }
            }
            let Context { fetch, entries, tail, .. } = &mut *context;
            let entry = &mut entries[Context::slot(*tail)];
            let Some(Fetched { block, .. }) = &fetch.recent[fetch.place % Fetch::RECENT] else { return false };
            if let Some(half) = fetch.half.take() {
                let word = u32::from(half) | u32::from(block.parcel(second)) << 16;
                entry.decoded = *environment.code.crossing(config, pc, word);
                return true;
            }
            if let Some(decoded) = block.at(pc) {
                entry.decoded = *decoded;
                return true;
            }
            fetch.half = Some(block.parcel(pc));
        }
    }

    /// Reads a block into the fetch buffer of a context. False: its instructions are not usable in this
    /// cycle.
    fn read_block<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        address: u64,
        now: u64,
        environment: &mut Environment<'_, S>,
        may_miss: bool,
    ) -> Result<bool, Exception> {
        let config = environment.config;
        let found = if S::NARROW { Ok(Some(address)) } else { self.find(context, index, address, Access::Fetch) };
        environment.active = true;
        let fetch = &mut context.fetch;
        let Some(physical) = found? else {
            if !may_miss {
                return Ok(false);
            }
            fetch.translates = Some(address);
            self.retry = true;
            return Ok(false);
        };
        let (at, version) = match environment.memory.fetch_at_once(now, self.number, physical) {
            Some(ready) => ready,
            None if !may_miss => return Ok(false),
            None => match environment.memory.fetch(now, self.number, index as u8, physical) {
                FetchAnswer::Ready { at, version } => (at, version),
                FetchAnswer::Pending => {
                    fetch.pending = true;
                    return Ok(false);
                }
                FetchAnswer::Retry => {
                    fetch.from = now + 1;
                    return Ok(false);
                }
                FetchAnswer::Fault => return Err(Exception::FetchAccess),
            },
        };
        let place = Place { address, physical, version };
        fetch.place = (physical >> config.fetch_block.ilog2()) as usize % Fetch::RECENT;
        let recent = &mut fetch.recent[fetch.place];
        if recent.as_ref().is_none_or(|fetched| fetched.place != place) {
            let block = environment.code.block(config, environment.memory, self.number, place);
            *recent = Some(Fetched { place, block });
        }
        fetch.block = address;
        if at > now + 1 {
            fetch.from = at - 1;
        }
        Ok(at <= now + 1)
    }

    /// Appends the instruction that is decoded in the next entry to the fetch queue, and predicts the
    /// next address; returns whether fetch from the block ends.
    #[inline]
    pub(super) fn append<S: Setting>(&mut self, context: &mut Context, now: u64, config: &ChipConfig) -> bool {
        let number = context.tail;
        let entry = &mut context.entries[Context::slot(number)];
        let decoded = &entry.decoded;
        let pc = context.fetch.pc;
        let mut next = pc.wrapping_add(decoded.bytes.into());
        context.fetch.pc = next;
        let mut ends = false;
        if decoded.kind == Kind::Branch {
            let after = next;
            let (mut undo, mut counter) = (0, 0);
            let mut taken = false;
            match decoded.branch {
                BranchKind::None => {}
                BranchKind::Conditional => {
                    undo = context.history;
                    (taken, counter) = self.predictor.direction(pc, undo);
                    context.history = undo << 1 | u64::from(taken);
                }
                BranchKind::Call => {
                    undo = context.returns.push(after);
                    taken = true;
                }
                BranchKind::Return | BranchKind::ConditionalReturn if !context.returns.is_absent() => {
                    next = context.returns.pop() & !1;
                    ends = true;
                }
                BranchKind::Return | BranchKind::ConditionalReturn | BranchKind::Jump | BranchKind::Indirect => {
                    taken = true;
                }
            }
            context.fetch.pc = next;
            if taken {
                if let Some(target) = self.predictor.target(pc) {
                    (next, ends) = (target, true);
                    context.fetch.pc = target;
                } else if let Some(target) = decoded.operation.target() {
                    // Fetch continues after the branch until it is decoded.
                    next = target;
                    if context.fetch.misfetch.is_none() {
                        context.fetch.misfetch = Some((number, now + config.misfetch, target));
                    }
                }
            }
            entry.next = next;
            entry.undo = undo;
            entry.counter = counter;
            entry.taken = false;
        } else if decoded.kind.ends_fetch() {
            ends = true;
            context.fetch.stopped = true;
            entry.undo = 0;
            if decoded.kind == Kind::Outside {
                let (exception, address) = context.fetch.outside;
                (entry.trap, entry.undo) = (Some(exception), address);
            }
        }
        entry.pc = pc;
        entry.fetched = now;
        entry.flags = 0;
        entry.fails = false;
        if !S::SINGLE {
            entry.age = self.age;
            self.age += 1;
        }
        context.tail += 1;
        ends
    }
}
