// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core: the stages of a cycle, and the next cycle in which something happens.

use mb_core::ParameterError;

use super::config::{ChipConfig, IssueOrder};
use super::context::{Context, Full};
use super::fetch::Fetch;
use super::in_flight::bit;
use super::interface::{ChipFault, ChipObserver};
use super::registers::{ARCHITECTURAL, Free, PerRegister, Physical, Register, Registers};
use super::setting::{Environment, Setting};
use super::translation::Translation;
use crate::memory::system::{CompletedKind, CompletedRequest, MemorySystem};
use crate::predictor::Predictor;

/// Masks of instructions that end: 64 cycles of the most contexts.
pub(super) const FINISH: usize = 64 * ChipConfig::MAX_CONTEXTS;

/// A core. The functions of a stage that concern one context are those of [`Shared`]; they take the
/// context and its index. Those of one access are of [`Access`](super::access::Access).
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) contexts: Vec<Context>,
    pub(super) shared: Shared,
}

/// The state that the contexts of a core share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// The number of the core.
    pub(super) number: usize,
    /// The number of contexts.
    pub(super) count: usize,
    pub(super) registers: Registers,
    pub(super) predictor: Predictor,
    /// Instructions in the instruction queue, if there are several contexts.
    pub(super) queued: usize,
    /// Instructions fetched.
    pub(super) age: u64,
    /// Requests sent, for tags.
    pub(super) tags: u32,
    /// The masks of instructions that end in a cycle: by the cycle modulo 64, one for each context.
    pub(super) finish: Box<[u64; FINISH]>,
    /// The cycles modulo 64 that have such instructions.
    pub(super) occupied: u64,
    /// Instructions that end more than 63 cycles from now: cycle, context, number.
    pub(super) late: Vec<(u64, usize, u64)>,
    /// A request was refused and is repeated in the next cycle.
    pub(super) retry: bool,
    /// Contexts, as bits, whose oldest instruction waits until their stores are performed.
    pub(super) draining: u8,
    /// Contexts, as bits, whose oldest instruction waits for the loss of their reservation.
    pub(super) reserving: u8,
    /// The earliest deadline of a wrs.sto that waits.
    pub(super) deadline: u64,
    /// A fence.i drops the fetch buffers of all contexts in this cycle.
    pub(super) drops_blocks: bool,
    /// Rename stopped at its width.
    pub(super) rename_more: bool,
    /// The first cycle that is not yet in the account of issue slots.
    pub(super) counted: u64,
    /// A hart cannot execute its oldest instruction.
    pub(super) fault: Option<ChipFault>,
    /// Harts that have ended: context and status.
    pub(super) exits: Vec<(usize, u64)>,
    /// Contexts whose call stops the run.
    pub(super) stops: Vec<usize>,
    /// TLBs and walker, if the contexts have supervisor mode.
    pub(super) translation: Option<Translation>,
}

impl Core {
    pub(super) fn new(config: &ChipConfig, number: usize, pc: u64) -> Result<Self, ParameterError> {
        let architectural = ARCHITECTURAL * config.contexts;
        let sink = 1 + architectural + config.rename_registers;
        let mut contexts = Vec::new();
        for context in 0..config.contexts {
            let mut map = [0; 64];
            for (register, physical) in map.iter_mut().enumerate().skip(1) {
                *physical = (ARCHITECTURAL * context + register) as Physical;
            }
            contexts.push(Context::new(config, pc, map));
        }
        let shared = Shared {
            number,
            count: config.contexts,
            registers: Registers {
                file: PerRegister::new(Register { value: 0, from: 0 }),
                consumers: vec![[0; 3]; if config.order == IssueOrder::OutOfOrder { sink + 1 } else { 0 }],
                free: Free::new((1 + architectural..sink).map(|physical| physical as Physical)),
                sink: sink as Physical,
            },
            predictor: Predictor::new(config.predictor)?,
            queued: 0,
            age: 0,
            tags: 0,
            finish: Box::new([0; FINISH]),
            occupied: 0,
            late: Vec::new(),
            retry: false,
            draining: 0,
            reserving: 0,
            deadline: u64::MAX,
            drops_blocks: false,
            rename_more: false,
            counted: 0,
            fault: None,
            exits: Vec::new(),
            stops: Vec::new(),
            translation: None,
        };
        Ok(Self { contexts, shared })
    }

    /// Begins in this cycle instead of cycle 0.
    pub(super) fn start(&mut self, cycle: u64) {
        self.shared.counted = cycle;
    }

    /// As [`step_inlined`](Self::step_inlined).
    pub(super) fn step<S: Setting>(&mut self, now: u64, environment: &mut Environment<'_, S>) -> u64 {
        if S::SINGLE && S::IN_ORDER && !S::NARROW && environment.config.is_blocking() {
            return self.step_blocking(now, environment);
        }
        self.step_inlined(now, environment)
    }

    /// Takes the requests of this core among those that memory has completed in cycle `now`, before the
    /// stages of the cycle.
    #[cold]
    pub(super) fn take<S: Setting>(
        &mut self,
        now: u64,
        completions: &[CompletedRequest],
        environment: &mut Environment<'_, S>,
    ) {
        self.account_until::<S>(environment.config, now);
        for completion in completions {
            if completion.core == self.shared.number && completion.source != CompletedKind::Dma {
                self.complete(now, completion, environment);
            }
        }
    }

    /// Simulates cycle `now`. Returns the next cycle in which the core can do something without an event of the memory.
    #[expect(clippy::inline_always, reason = "a call costs as much as a stage")]
    #[inline(always)]
    pub(super) fn step_inlined<S: Setting>(&mut self, now: u64, environment: &mut Environment<'_, S>) -> u64 {
        self.account_until::<S>(environment.config, now);
        self.shared.begin();
        let issued = if !S::SINGLE {
            self.stages(now, environment)
        } else if let Some(context) = self.contexts.first_mut() {
            self.shared.stages_of_one(context, now, environment)
        } else {
            0
        };
        self.shared.counted = now + 1;
        // A core that issues is stepped in the next cycle: the search for its next event would cost more.
        if issued > 0 { now + 1 } else { self.following::<S>(now, environment.config) }
    }

    /// The stages of a cycle; returns the number of instructions issued.
    fn stages<S: Setting>(&mut self, now: u64, environment: &mut Environment<'_, S>) -> u32 {
        let config = environment.config;
        let count = self.contexts.len();
        let (mut left, mut index) = (config.commit_width, (now % count as u64) as usize);
        for _ in 0..count {
            let context = &mut self.contexts[index];
            while left > 0 && self.shared.commit_oldest(context, index, now, environment) {
                left -= 1;
            }
            index = if index + 1 == count { 0 } else { index + 1 };
        }
        if self.shared.any_ends::<S>(now) {
            for (index, context) in self.contexts.iter_mut().enumerate() {
                self.shared.write_back(context, index, now, environment);
            }
        }
        if S::IN_ORDER && S::Observer::RECORDS_PASSAGES {
            for context in &mut self.contexts {
                context.note_ended(now);
            }
        }
        let issued = self.issue::<S>(now, config.issue_width);
        self.shared.translate(&mut self.contexts, now, environment);
        self.access(now, environment);
        if std::mem::take(&mut self.shared.drops_blocks) {
            for context in &mut self.contexts {
                context.fetch.block = Fetch::NO_BLOCK;
            }
        }
        Self::account::<S>(&mut self.contexts, config.issue_width - issued, now);
        self.rename(now, environment);
        self.fetch(now, environment);
        issued
    }

    /// The next cycle in which something can happen without an event of the memory.
    #[inline(never)]
    pub(super) fn following<S: Setting>(&self, now: u64, config: &ChipConfig) -> u64 {
        let soon = now + 1;
        if self.shared.retry || self.shared.rename_more {
            return soon;
        }
        let mut next = self.shared.deadline;
        if self.shared.occupied != 0 {
            next = next.min(soon + u64::from(self.shared.occupied.rotate_right(soon as u32 & 63).trailing_zeros()));
        }
        if !self.shared.late.is_empty() {
            // Moved to the masks as soon as they fit.
            next = next.min(self.shared.late.iter().map(|late| late.0 - 63).min().unwrap_or(soon).max(soon));
        }
        for context in &self.contexts {
            if let Some(supervisor) = &context.supervisor
                && !context.halted
            {
                if supervisor.interrupt(soon).is_some() || context.waits && supervisor.wakes(soon) {
                    return soon;
                }
                next = next.min(supervisor.next_timer().max(soon));
            }
            if context.head < context.renamed {
                // wfi is complete and waits.
                let ended = context.has_ended::<S>(context.head, soon) && !context.waits;
                let is_store = || context.late_data & bit(context.head) != 0;
                let complete = ended && (!is_store() || self.shared.has_second::<S>(context, context.head, now));
                if complete || self.shared.candidate::<S>(context, now).is_some() {
                    return soon;
                }
            }
            if S::IN_ORDER {
                let ends = (context.head..context.next_issue).map(|number| context.ends[Context::slot(number)]);
                next = next.min(ends.filter(|&end| end > now).min().unwrap_or(u64::MAX));
            }
            if context.renamed < context.tail && context.full == Full::Nothing {
                next = next.min((context.entry(context.renamed).fetched + config.front_end).max(soon));
            }
            if let Some((_, at, _)) = context.fetch.misfetch {
                next = next.min(at.max(soon));
            }
            if context.can_fetch::<S>(config) {
                next = next.min(context.fetch.from.max(soon));
            }
        }
        next.max(soon)
    }

    /// Address of the oldest instruction in flight of a context, or of the next one to be fetched.
    pub(super) fn pc(&self, context: usize) -> u64 {
        self.contexts[context].pc()
    }

    /// The register as the oldest instruction in flight reads it.
    pub(super) fn register(&self, context: usize, index: usize) -> u64 {
        self.shared.register(&self.contexts[context], index)
    }

    /// Sets a register of a context without instructions in flight.
    pub(super) fn set_register(&mut self, context: usize, index: usize, value: u64) {
        if index != 0 {
            let physical = self.contexts[context].map[index];
            self.shared.registers.file[physical].value = value;
        }
    }
}

impl Shared {
    /// Begins a cycle.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.retry = false;
        (self.draining, self.reserving) = (0, 0);
        self.deadline = u64::MAX;
    }

    /// The stages of a cycle of a core with one context; returns the number of instructions issued.
    #[expect(clippy::inline_always, reason = "a call costs as much as a stage")]
    #[inline(always)]
    fn stages_of_one<S: Setting>(
        &mut self,
        context: &mut Context,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> u32 {
        let config = environment.config;
        let mut left = S::width(config.commit_width);
        while left > 0 && self.commit_oldest(context, 0, now, environment) {
            left -= 1;
        }
        if self.any_ends::<S>(now) {
            self.write_back(context, 0, now, environment);
        }
        if S::IN_ORDER && S::Observer::RECORDS_PASSAGES {
            context.note_ended(now);
        }
        let (mut issued, width) = (0, S::width(config.issue_width));
        while issued < width
            && let Some(number) = self.candidate::<S>(context, now)
        {
            self.execute::<S>(context, 0, number, now);
            issued += 1;
        }
        if !S::NARROW && self.translation.is_some() {
            self.translate(std::slice::from_mut(context), now, environment);
        }
        self.access_alone(context, now, environment);
        if self.drops_blocks {
            self.drops_blocks = false;
            context.fetch.block = Fetch::NO_BLOCK;
        }
        if issued < width {
            Core::account::<S>(std::slice::from_mut(context), width - issued, now);
        }
        self.rename_alone(context, now, environment);
        if context.fetch.from <= now {
            self.fetch_context(context, 0, S::width(config.fetch_width), now, environment);
        }
        issued
    }

    /// The register of a context as its oldest instruction in flight reads it.
    pub(super) fn register(&self, context: &Context, index: usize) -> u64 {
        self.registers.file[context.committed_map()[index]].value
    }

    /// Whether an instruction waits for something that the memory or another core changes.
    #[inline]
    pub(super) const fn waits(&self) -> bool {
        self.draining | self.reserving != 0
    }

    /// Whether what an instruction waits for may have happened.
    #[inline]
    pub(super) fn may_continue<S: Setting>(&self, memory: &S::Memory) -> bool {
        if S::SINGLE {
            return self.draining != 0 && memory.drained(self.number, 0)
                || self.reserving != 0 && !memory.reserved(self.number, 0);
        }
        let any = |mut contexts: u8, happened: &dyn Fn(u8) -> bool| {
            while contexts != 0 {
                if happened(contexts.trailing_zeros() as u8) {
                    return true;
                }
                contexts &= contexts - 1;
            }
            false
        };
        any(self.draining, &|context| memory.drained(self.number, context))
            || any(self.reserving, &|context| !memory.reserved(self.number, context))
    }

    /// A tag that is not in use, and not one of the first 128, which belong to stores. Its low 7 bits
    /// are those of the instruction's number.
    pub(super) fn tag(&mut self, number: u64) -> u32 {
        self.tags = if self.tags < (1 << 25) - 1 { self.tags + 1 } else { 1 };
        self.tags << 7 | number as u32 & 127
    }
}

/// The index of the lowest key, the key, and the next one. Keys are different, but for the highest
/// number, which stands for none.
#[inline]
pub(super) fn lowest_two(keys: &[u64]) -> (usize, u64, u64) {
    let (mut lowest, mut key, mut next) = (0, u64::MAX, u64::MAX);
    for (index, &other) in keys.iter().enumerate() {
        if other < key {
            next = key;
            (lowest, key) = (index, other);
        } else {
            next = next.min(other);
        }
    }
    (lowest, key, next)
}
