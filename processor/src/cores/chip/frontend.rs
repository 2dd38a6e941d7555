// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetch, branch prediction and rename.

use super::code::{Decoded, Kind, Place};
use super::context::{Fetch, Full, bit};
use super::core::{Core, Environment, lowest_two};
use super::{CallHandler, ChipConfig, ChipObserver, FetchPolicy};
use crate::BranchKind;
use crate::isa::Extension;
use crate::isa::rv64::supervisor::Exception;
use crate::isa::rv64::sv39::Access;
use crate::memory::system::{FetchAnswer, MemorySystem};

impl Core {
    /// Moves fetched instructions into the instruction queue and the reorder buffer, in the order of
    /// their fetch.
    pub(super) fn rename<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) {
        let config = environment.config;
        if self.contexts.len() == 1 {
            self.redirect_misfetched(0, now, environment);
            let mut left = config.rename_width;
            while left > 0 && self.contexts[0].can_rename(config, now) {
                let full = self.full(0, config);
                if full != Full::Nothing {
                    self.contexts[0].full = full;
                    break;
                }
                self.rename_one::<O>(0, now);
                left -= 1;
            }
            self.rename_more = left == 0;
            return;
        }
        let mut all = [u64::MAX; ChipConfig::MAX_CONTEXTS];
        let ages = &mut all[..self.contexts.len()];
        let mut any = false;
        for (index, age) in ages.iter_mut().enumerate() {
            self.redirect_misfetched(index, now, environment);
            *age = self.contexts[index].next_to_rename(config, now);
            any |= *age != u64::MAX;
        }
        let mut left = config.rename_width;
        let mut blocked = false;
        while any && left > 0 {
            let (index, mut oldest, next) = lowest_two(ages);
            if oldest == u64::MAX {
                break;
            }
            // Instructions that were fetched together have successive ages.
            while oldest < next && left > 0 {
                let full = self.full(index, config);
                if full != Full::Nothing {
                    self.contexts[index].full = full;
                    blocked = true;
                    oldest = u64::MAX;
                    break;
                }
                self.rename_one::<O>(index, now);
                left -= 1;
                oldest = self.contexts[index].next_to_rename(config, now);
            }
            ages[index] = oldest;
        }
        self.rename_more = left == 0;
        if blocked {
            // Contexts that were renamed after one that was passed over have taken space.
            for index in 0..self.contexts.len() {
                if self.contexts[index].full != Full::Nothing {
                    self.contexts[index].full = self.full(index, config);
                }
            }
        }
    }

    /// Begins rename in a context: fetch continues at the target of a misfetched branch that is decoded.
    #[inline]
    fn redirect_misfetched<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) {
        let context = &mut self.contexts[index];
        context.full = Full::Nothing;
        if let Some((number, at, target)) = context.fetch.misfetch
            && at <= now
        {
            context.statistics.misfetched += 1;
            self.squash(index, number + 1, now, environment.config, environment.observer);
            self.contexts[index].redirect(target, now);
        }
    }

    /// What has no space for the next instruction of a context.
    #[inline]
    fn full(&self, index: usize, config: &ChipConfig) -> Full {
        let context = &self.contexts[index];
        let entry = context.entry(context.renamed);
        if context.renamed - context.head >= config.reorder_buffer as u64 {
            Full::Window
        } else if self.queued >= config.instruction_queue {
            Full::Queue
        } else if entry.destination != 0 && self.registers.free.is_empty() {
            Full::Registers
        } else if entry.kind.accesses_memory() && context.accesses >= config.load_store_queue {
            Full::Window
        } else {
            Full::Nothing
        }
    }

    /// Renames the next instruction of a context.
    #[inline]
    fn rename_one<O: ChipObserver>(&mut self, index: usize, now: u64) {
        let (context, registers) = (&mut self.contexts[index], &mut self.registers);
        let number = context.renamed;
        let own = bit(number);
        let slot = context.slot(number);
        let entry = &mut context.entries[slot];
        for operand in 0..3 {
            let source = context.map[usize::from(entry.architectural[operand] & 63)];
            entry.sources[operand] = source;
            if !registers.ready[usize::from(source)] {
                context.waiting[operand] |= own;
                registers.consumers[usize::from(source)][operand] |= own;
            }
        }
        entry.physical = registers.sink;
        if entry.destination != 0
            && let Some(physical) = registers.free.pop()
        {
            let mapped = &mut context.map[usize::from(entry.destination & 63)];
            entry.physical = physical;
            entry.previous = std::mem::replace(mapped, physical);
            registers.ready[usize::from(physical)] = false;
            registers.consumers[usize::from(physical)] = [0; 3];
        }
        match entry.kind {
            Kind::Load => context.loads |= own,
            Kind::Store => {
                context.stores |= own;
                context.late_data |= own;
            }
            Kind::Atomic => {
                context.stores |= own;
                context.barriers |= own;
            }
            Kind::Fence => context.barriers |= own,
            _ => {}
        }
        if entry.kind.accesses_memory() {
            context.accesses += 1;
        }
        context.queued |= own;
        self.queued += 1;
        context.renamed += 1;
        context.fetch.recovers = false;
        if O::ENABLED {
            context.times_mut(number).renamed = now;
        }
    }

    /// Fetches from up to `fetch_threads` contexts.
    pub(super) fn fetch<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) {
        let config = environment.config;
        if let [context] = &self.contexts[..] {
            if context.can_fetch(config) && context.fetch.from <= now {
                let mut left = config.fetch_width;
                self.fetch_context(0, &mut left, now, environment);
            }
            return;
        }
        let count = self.contexts.len();
        let mut all = [u64::MAX; ChipConfig::MAX_CONTEXTS];
        let keys = &mut all[..count];
        let first = if count == 1 { 0 } else { (now % count as u64) as usize };
        let mut any = false;
        for (index, context) in self.contexts.iter().enumerate() {
            if context.can_fetch(config) && context.fetch.from <= now {
                let turn = (if index >= first { index - first } else { index + count - first }) as u64;
                let waiting = match config.fetch_policy {
                    FetchPolicy::Icount => context.tail - context.renamed + u64::from(context.queued.count_ones()),
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
            self.fetch_context(index, &mut left, now, environment);
        }
    }

    /// Fetches up to `left` instructions of a context from one block.
    #[expect(clippy::too_many_lines, reason = "one loop, each step of which can end the fetch")]
    fn fetch_context<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        index: usize,
        left: &mut u32,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) {
        let config = environment.config;
        let block_of = |address: u64| address & !(config.fetch_block - 1);
        let whole = self.contexts.len() > 1 || self.translation.is_some();
        let mut accessed = false;
        while *left > 0 {
            let context = &mut self.contexts[index];
            if !context.can_fetch(config) {
                return;
            }
            let pc = context.fetch.pc;
            // The usual case: an instruction that is whole in the fetch buffer.
            if block_of(pc) == context.fetch.block
                && context.fetch.half.is_none()
                && let Some(block) = &context.fetch.recent[context.fetch.place]
            {
                let decoded = *block.at(pc);
                if pc - context.fetch.block + u64::from(decoded.bytes) <= config.fetch_block {
                    *left -= 1;
                    context.statistics.fetched += 1;
                    if self.append(index, &decoded, whole, now, config) {
                        return;
                    }
                    continue;
                }
            }
            let second = pc.wrapping_add(2);
            let needed = block_of(if context.fetch.half.is_some() { second } else { pc });
            let mut outside = false;
            let mut trap = None;
            if needed != context.fetch.block {
                if accessed {
                    return;
                }
                accessed = true;
                let first = if context.fetch.half.is_some() { second } else { pc };
                let physical = match self.find(index, needed, Access::Fetch) {
                    Ok(Some(physical)) => physical,
                    Ok(None) => {
                        self.contexts[index].fetch.translates = Some(needed);
                        self.retry = true;
                        return;
                    }
                    Err(exception) => {
                        (outside, trap) = (true, Some((exception, first)));
                        needed
                    }
                };
                environment.active = true;
                let answer = if outside {
                    FetchAnswer::Fault
                } else {
                    environment.memory.fetch(now, self.number, index as u8, physical)
                };
                let context = &mut self.contexts[index];
                match answer {
                    FetchAnswer::Ready { at, version } => {
                        let place = Place { core: self.number, address: needed, physical, version };
                        context.fetch.place = (physical >> config.fetch_block.ilog2()) as usize % Fetch::RECENT;
                        let recent = &mut context.fetch.recent[context.fetch.place];
                        if !recent.as_ref().is_some_and(|block| block.is_at(&place)) {
                            *recent = Some(environment.code.block(config, environment.memory, &place));
                        }
                        context.fetch.block = needed;
                        if at > now + 1 {
                            context.fetch.from = at - 1;
                            return;
                        }
                    }
                    FetchAnswer::Pending => {
                        context.fetch.pending = true;
                        return;
                    }
                    FetchAnswer::Retry => {
                        context.fetch.from = now + 1;
                        return;
                    }
                    FetchAnswer::Fault => {
                        outside = true;
                        trap = trap.or(Some((Exception::FetchAccess, first)));
                    }
                }
            }
            let context = &mut self.contexts[index];
            let decoded = match (&context.fetch.recent[context.fetch.place], context.fetch.half) {
                (Some(block), Some(half)) if !outside => {
                    let word = u32::from(half) | u32::from(block.parcel(second)) << 16;
                    *environment.code.crossing(config, pc, word)
                }
                (Some(block), None) if !outside => {
                    let parcel = block.parcel(pc);
                    if parcel & 3 == 3 && block_of(second) != needed {
                        context.fetch.half = Some(parcel);
                        continue;
                    }
                    *block.at(pc)
                }
                _ => Decoded::outside(config, pc),
            };
            context.fetch.half = None;
            *left -= 1;
            context.statistics.fetched += 1;
            let ends = self.append(index, &decoded, whole, now, config);
            if let Some((exception, address)) = trap {
                let context = &mut self.contexts[index];
                let number = context.tail - 1;
                let entry = context.entry_mut(number);
                (entry.trap, entry.undo) = (Some(exception), address);
            }
            if ends {
                return;
            }
        }
    }

    /// Appends an instruction to the fetch queue and predicts the next address; returns whether
    /// fetch from the block ends. `whole`: all of the entry is used, whatever the instruction is.
    #[inline]
    fn append(&mut self, index: usize, decoded: &Decoded, whole: bool, now: u64, config: &ChipConfig) -> bool {
        let context = &mut self.contexts[index];
        let number = context.tail;
        let pc = context.fetch.pc;
        let after = pc.wrapping_add(decoded.bytes.into());
        let (mut next, mut ends) = (after, decoded.kind.ends_fetch());
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
                // Fetch goes on after the branch until it is decoded.
                next = target;
                if context.fetch.misfetch.is_none() {
                    context.fetch.misfetch = Some((number, now + config.misfetch, target));
                }
            }
        }
        if decoded.kind.ends_fetch() {
            context.fetch.stopped = true;
        }
        let slot = context.slot(number);
        let entry = &mut context.entries[slot];
        entry.operation = decoded.operation;
        entry.pc = pc;
        entry.fetched = now;
        entry.architectural = decoded.sources;
        entry.kind = decoded.kind;
        entry.branch = decoded.branch;
        entry.destination = decoded.destination;
        entry.latency = decoded.latency;
        entry.flags = 0;
        entry.mispredicted = false;
        entry.fails = false;
        if whole || decoded.kind != Kind::Integer {
            entry.next = next;
            entry.age = self.age;
            entry.address = 0;
            entry.accessed = 0;
            entry.undo = undo;
            entry.forwarded = 0;
            entry.counter = counter;
            entry.tag = 0;
            entry.width = 0;
            entry.extension = Extension::Zero;
            entry.taken = false;
            entry.trap = None;
        }
        context.tail += 1;
        self.age += 1;
        ends
    }
}
