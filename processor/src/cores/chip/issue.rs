// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Issue, write-back, and the removal of wrong paths.

use super::code::Kind;
use super::context::{Context, Entry, bit};
use super::core::{Core, Environment, lowest_two};
use super::{CallHandler, ChipConfig, ChipObserver};
use crate::BranchKind;
use crate::isa::rv64::Actions;
use crate::isa::rv64::supervisor::Exception;
use crate::isa::{Effect, Extension, Rounding};
use crate::memory::system::MemorySystem;

impl Core {
    /// Sets the cycle in which the result of an instruction is ready.
    #[inline]
    pub(super) fn schedule(&mut self, context: usize, number: u64, now: u64, at: u64) {
        if at - now < 64 {
            let place = (at as usize & 63) * self.contexts.len() + context;
            self.finish[place] |= bit(number);
            self.occupied |= 1 << (at & 63);
        } else {
            self.late.push((at, context, number));
        }
    }

    /// Ends the instructions whose results are ready in this cycle: wakes those that wait for them,
    /// and resolves branches.
    pub(super) fn write_back<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) {
        if !self.late.is_empty() {
            let mut late = std::mem::take(&mut self.late);
            late.retain(|&(at, context, number)| {
                if at - now < 64 {
                    self.schedule(context, number, now, at);
                }
                at - now >= 64
            });
            self.late = late;
        }
        let residue = now as usize & 63;
        if self.occupied & 1 << residue == 0 {
            return;
        }
        self.occupied &= !(1 << residue);
        let count = self.contexts.len();
        for index in 0..count {
            let mut ended = std::mem::take(&mut self.finish[residue * count + index]);
            while ended != 0 {
                let context = &mut self.contexts[index];
                let number = context.oldest(ended);
                let own = bit(number);
                ended &= !own;
                context.done |= own;
                context.barriers &= !own;
                if O::ENABLED {
                    context.times_mut(number).written = now;
                }
                let slot = context.slot(number);
                let entry = &context.entries[slot];
                let physical = usize::from(entry.physical);
                let resolves = entry.mispredicted;
                self.registers.ready[physical] = true;
                let [first, second, third] = std::mem::take(&mut self.registers.consumers[physical]);
                context.waiting[0] &= !first;
                context.waiting[1] &= !second;
                context.waiting[2] &= !third;
                if resolves {
                    let entry = &context.entries[slot];
                    let (target, taken, branch, history) = (entry.next, entry.taken, entry.branch, entry.undo);
                    context.statistics.mispredicted += 1;
                    self.squash(index, number + 1, now, environment.config, environment.observer);
                    let context = &mut self.contexts[index];
                    if branch == BranchKind::Conditional {
                        context.history = history << 1 | u64::from(taken);
                    }
                    context.redirect(target, now + environment.config.redirect);
                    ended &= context.before(context.renamed);
                }
            }
        }
    }

    /// Issues instructions, the oldest of all contexts first; returns their number.
    pub(super) fn issue<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) -> u32 {
        let config = environment.config;
        if self.queued == 0 {
            return 0;
        }
        if let [context] = &self.contexts[..] {
            let mut issued = 0;
            let mut candidate = Self::candidate(context, config);
            while issued < config.issue_width
                && let Some(number) = candidate
            {
                self.execute::<O>(0, number, now);
                issued += 1;
                candidate = Self::candidate(&self.contexts[0], config);
            }
            return issued;
        }
        let mut numbers = [0; ChipConfig::MAX_CONTEXTS];
        let mut all = [u64::MAX; ChipConfig::MAX_CONTEXTS];
        let ages = &mut all[..self.contexts.len()];
        let mut any = false;
        for (index, context) in self.contexts.iter().enumerate() {
            if let Some(number) = Self::candidate(context, config) {
                numbers[index] = number;
                ages[index] = context.entry(number).age;
                any = true;
            }
        }
        let mut issued = 0;
        while any && issued < config.issue_width {
            let (index, mut oldest, next) = lowest_two(ages);
            if oldest == u64::MAX {
                break;
            }
            while oldest < next && issued < config.issue_width {
                self.execute::<O>(index, numbers[index], now);
                issued += 1;
                let context = &self.contexts[index];
                oldest = match Self::candidate(context, config) {
                    Some(number) => {
                        numbers[index] = number;
                        context.entry(number).age
                    }
                    None => u64::MAX,
                };
            }
            ages[index] = oldest;
        }
        issued
    }

    /// Issues an instruction: it takes its operands and begins to execute.
    #[inline]
    fn execute<O: ChipObserver>(&mut self, index: usize, number: u64, now: u64) {
        let context = &mut self.contexts[index];
        let own = bit(number);
        context.queued &= !own;
        self.queued -= 1;
        context.statistics.used += 1;
        if O::ENABLED {
            context.times_mut(number).issued = now;
        }
        let slot = context.slot(number);
        let entry = &mut context.entries[slot];
        if let Some(supervisor) = &context.supervisor
            && !supervisor.has_float()
            && (entry.destination >= 32 || entry.architectural.iter().any(|&source| source >= 32))
        {
            entry.kind = Kind::Illegal;
            (entry.fails, entry.trap) = (true, Some(Exception::Illegal));
            let end = now + u64::from(entry.latency);
            self.schedule(index, number, now, end);
            return;
        }
        let (operation, pc) = (entry.operation, entry.pc);
        let [a, b, third] = entry.sources.map(|source| self.registers.values[usize::from(source)]);
        operation.apply(pc, a, b, &mut Issued { core: self, index, number, slot, third, now });
    }

    /// Removes the instructions of a context from number `first` on.
    pub(super) fn squash<O: ChipObserver>(
        &mut self,
        index: usize,
        first: u64,
        now: u64,
        config: &ChipConfig,
        observer: &mut O,
    ) {
        let hart = self.number * config.contexts + index;
        let context = &mut self.contexts[index];
        let mut queued_removed = 0;
        for number in (first..context.tail).rev() {
            if O::ENABLED {
                observer.squashed(&context.passage(number, hart, now));
            }
            let entry = *context.entry(number);
            match entry.branch {
                BranchKind::Call => context.returns.undo_push(entry.undo),
                BranchKind::Return | BranchKind::ConditionalReturn => context.returns.undo_pop(),
                BranchKind::Conditional => context.history = entry.undo,
                BranchKind::None | BranchKind::Jump | BranchKind::Indirect => {}
            }
            if number >= context.renamed {
                continue;
            }
            let own = bit(number);
            if context.queued & own == 0 {
                context.statistics.used_squashed += 1;
            } else {
                queued_removed += 1;
            }
            for (operand, &source) in entry.sources.iter().enumerate() {
                self.registers.consumers[usize::from(source)][operand] &= !own;
            }
            if entry.destination != 0 {
                context.map[usize::from(entry.destination)] = entry.previous;
                self.registers.free.push(entry.physical);
                self.registers.consumers[usize::from(entry.physical)] = [0; 3];
            }
            if entry.kind.accesses_memory() {
                context.accesses -= 1;
            }
        }
        context.statistics.squashed += context.tail - first;
        self.queued -= queued_removed;
        context.tail = first;
        if first < context.renamed {
            context.renamed = first;
            let kept = context.before(first);
            context.keep(kept);
            for mask in self.finish.iter_mut().skip(index).step_by(config.contexts) {
                *mask &= kept;
            }
            self.late.retain(|&(_, other, number)| other != index || number < first);
        }
        if context.fetch.misfetch.is_some_and(|(number, ..)| number >= first) {
            context.fetch.misfetch = None;
        }
    }
}

/// An instruction that begins to execute.
struct Issued<'a> {
    core: &'a mut Core,
    index: usize,
    number: u64,
    slot: usize,
    third: u64,
    now: u64,
}

impl Issued<'_> {
    #[inline]
    fn entry(&mut self) -> &mut Entry {
        &mut self.core.contexts[self.index].entries[self.slot]
    }

    /// The result is ready when the latency has passed.
    #[inline]
    fn ends(&mut self, value: u64) {
        let entry = self.entry();
        let (physical, latency) = (usize::from(entry.physical), u64::from(entry.latency));
        self.core.registers.values[physical] = value;
        self.core.schedule(self.index, self.number, self.now, self.now + latency);
    }

    /// Sets the address of an access; whether it is to be translated.
    #[inline]
    fn accesses(&mut self, address: u64, width: u8, extension: Extension) -> bool {
        let entry = self.entry();
        (entry.address, entry.width, entry.extension) = (address, width, extension);
        let translates = self.core.contexts[self.index].supervisor.is_some();
        if translates {
            self.core.translate_access(self.index, self.number, self.now);
        }
        translates
    }
}

impl Actions for Issued<'_> {
    type Output = ();

    #[inline]
    fn third(&self, _: u8) -> u64 {
        self.third
    }

    #[inline]
    fn rounding(&self) -> Rounding {
        self.core.contexts[self.index].float_status.rounding
    }

    #[inline]
    fn value(&mut self, value: u64) {
        self.ends(value);
    }

    #[inline]
    fn float(&mut self, value: u64, flags: u8) {
        self.entry().flags = flags;
        self.ends(value);
    }

    #[inline]
    fn branch(&mut self, taken: bool, next: u64, link: u64) {
        let entry = self.entry();
        entry.mispredicted = next != entry.next;
        entry.next = next;
        entry.taken = taken;
        self.ends(link);
    }

    #[inline]
    fn load<const WIDTH: u8>(&mut self, address: u64, extension: Extension) {
        if !self.accesses(address, WIDTH, extension) {
            self.core.contexts[self.index].unsent |= bit(self.number);
        }
    }

    /// The data is read at commit.
    #[inline]
    fn store<const WIDTH: u8>(&mut self, address: u64, _: u64) {
        if !self.accesses(address, WIDTH, Extension::Zero) {
            let latency = u64::from(self.entry().latency);
            self.core.schedule(self.index, self.number, self.now, self.now + latency);
        }
    }

    fn other(&mut self, effect: Effect) {
        match effect {
            Effect::Atomic { address, width, .. } => {
                let translates = self.accesses(address, width, Extension::Sign);
                if translates {
                    return;
                }
            }
            Effect::Illegal(_) | Effect::Pause => {
                let entry = self.entry();
                // An instruction whose dynamic rounding mode is reserved.
                if entry.kind == Kind::Integer && effect != Effect::Pause {
                    entry.kind = Kind::Illegal;
                    (entry.address, entry.accessed, entry.trap) = (0, 0, None);
                }
                let latency = u64::from(entry.latency);
                self.core.schedule(self.index, self.number, self.now, self.now + latency);
                return;
            }
            _ => {}
        }
        self.core.contexts[self.index].serial |= bit(self.number);
    }
}

impl Context {
    /// Clears the masks of instructions that are not in `kept`.
    fn keep(&mut self, kept: u64) {
        for mask in [
            &mut self.queued,
            &mut self.done,
            &mut self.stores,
            &mut self.late_data,
            &mut self.loads,
            &mut self.performed,
            &mut self.untranslated,
            &mut self.unsent,
            &mut self.pending,
            &mut self.serial,
            &mut self.barriers,
        ] {
            *mask &= kept;
        }
        for mask in &mut self.waiting {
            *mask &= kept;
        }
    }

    /// Continues to fetch at `pc` in cycle `from`.
    pub(super) fn redirect(&mut self, pc: u64, from: u64) {
        self.fetch.pc = pc;
        self.fetch.from = from;
        self.fetch.pending = false;
        self.fetch.stopped = false;
        self.fetch.half = None;
        self.fetch.misfetch = None;
        self.fetch.recovers = true;
        self.fetch.translates = None;
    }
}
