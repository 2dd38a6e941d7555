// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Issue, write-back, and the removal of wrong paths.

use super::code::Kind;
use super::config::ChipConfig;
use super::context::Context;
use super::core::{Core, FINISH, Shared, lowest_two};
use super::in_flight::{InFlight, bit};
use super::interface::ChipObserver;
use super::registers::Physical;
use super::setting::{Environment, Setting};
use crate::BranchKind;
use crate::isa::rv64::Actions;
use crate::isa::rv64::supervisor::Exception;
use crate::isa::{Effect, Extension, Rounding};

impl Shared {
    /// Sets the cycle in which an instruction ends: its result, in this register, is ready.
    #[inline]
    pub(super) fn schedule<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        (number, result): (u64, Physical),
        now: u64,
        at: u64,
    ) {
        if S::IN_ORDER {
            self.ends_at(context, number, result, at);
            // Only these have an effect on others when they end.
            if (context.mispredicted | context.barriers) & bit(number) == 0 {
                return;
            }
        } else {
            self.registers.file[result].from = at;
        }
        self.end_at::<S>(index, number, now, at);
    }

    /// Sets the cycle in which an instruction ends that has no effect on others then, with in-order issue.
    #[inline]
    fn ends_at(&mut self, context: &mut Context, number: u64, result: Physical, at: u64) {
        self.registers.file[result].from = at;
        context.ends[Context::slot(number)] = at;
    }

    #[inline]
    fn end_at<S: Setting>(&mut self, index: usize, number: u64, now: u64, at: u64) {
        if at - now < 64 {
            *self.finish_mask::<S>(at, index) |= bit(number);
            self.occupied |= 1 << (at & 63);
        } else {
            self.late.push((at, index, number));
        }
    }

    /// The instructions of a context that end in cycle `at`, which is less than 64 cycles away.
    #[inline]
    fn finish_mask<S: Setting>(&mut self, at: u64, index: usize) -> &mut u64 {
        let place = if S::SINGLE { at as usize & 63 } else { (at as usize & 63) * self.count + index };
        &mut self.finish[place % FINISH]
    }

    /// Moves instructions that end late to the masks of the next cycles.
    #[cold]
    fn move_late<S: Setting>(&mut self, now: u64) {
        let mut late = std::mem::take(&mut self.late);
        late.retain(|&(at, index, number)| {
            if at - now < 64 {
                self.end_at::<S>(index, number, now, at);
            }
            at - now >= 64
        });
        self.late = late;
    }

    /// Whether an instruction that the masks hold ends in this cycle.
    #[inline]
    pub(super) fn any_ends<S: Setting>(&mut self, now: u64) -> bool {
        if !self.late.is_empty() {
            self.move_late::<S>(now);
        }
        let own = 1 << (now & 63);
        let any = self.occupied & own != 0;
        if any {
            self.occupied &= !own;
        }
        any
    }

    /// Ends the instructions of a context whose results are ready in this cycle: wakes those that wait
    /// for them, and resolves branches.
    #[inline]
    pub(super) fn write_back<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let mut ended = std::mem::take(self.finish_mask::<S>(now, index));
        while ended != 0 {
            let number = context.oldest(ended);
            let own = bit(number);
            ended &= !own;
            context.barriers &= !own;
            let resolves = context.mispredicted & own != 0;
            if !S::IN_ORDER {
                context.done |= own;
                if S::Observer::RECORDS_PASSAGES {
                    context.times[Context::slot(number)].written = now;
                }
                let physical = usize::from(context.entry(number).physical);
                let consumers = std::mem::take(&mut self.registers.consumers[physical]);
                for (waiting, consumers) in context.waiting.iter_mut().zip(consumers) {
                    *waiting &= !consumers;
                }
            }
            if resolves {
                self.resolve(context, index, number, now, environment);
                ended &= context.before(context.renamed);
            }
        }
    }

    /// Continues behind a mispredicted branch.
    fn resolve<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        number: u64,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let entry = context.entry(number);
        let (target, taken, branch, history) = (entry.next, entry.taken, entry.decoded.branch, entry.undo);
        context.statistics.mispredicted += 1;
        self.squash(context, index, number + 1, now, environment.config, environment.observer);
        if branch == BranchKind::Conditional {
            context.history = history << 1 | u64::from(taken);
        }
        context.redirect(target, now + environment.config.redirect);
    }

    /// The instruction of a context that is issued next in cycle `now`, if there is one.
    #[inline]
    pub(super) fn candidate<S: Setting>(&self, context: &Context, now: u64) -> Option<u64> {
        if S::IN_ORDER {
            // Only the oldest in the queue.
            let number = context.next_issue;
            if number == context.renamed {
                return None;
            }
            return self.has_operands(context.entry(number), now).then_some(number);
        }
        let ready = context.ready();
        (ready != 0).then(|| context.oldest(ready))
    }

    /// Whether the operands with which an instruction is issued are ready: those of a store without its
    /// data.
    #[inline]
    fn has_operands(&self, entry: &InFlight, now: u64) -> bool {
        let [first, second, third] = entry.sources;
        let from = |source| self.registers.file[source].from;
        let second = if entry.decoded.kind == Kind::Store { 0 } else { from(second) };
        let third = if third == 0 { 0 } else { from(third) };
        // Without a jump for each operand: which of them are ready is hard to predict.
        from(first).max(second).max(third) <= now
    }

    /// Whether the second operand of an instruction, the data of a store, is ready in cycle `now` or, if
    /// the results of this cycle have been written back, before its end.
    #[inline]
    pub(super) fn has_second<S: Setting>(&self, context: &Context, number: u64, now: u64) -> bool {
        if S::IN_ORDER {
            self.registers.file[context.entry(number).sources[1]].from <= now
        } else {
            context.waiting[1] & bit(number) == 0
        }
    }

    /// Issues an instruction: it takes its operands and begins to execute.
    #[inline]
    pub(super) fn execute<S: Setting>(&mut self, context: &mut Context, index: usize, number: u64, now: u64) {
        if !S::SINGLE {
            self.queued -= 1;
        }
        if S::IN_ORDER {
            context.next_issue = number + 1;
        } else {
            context.queued &= !bit(number);
        }
        if S::Observer::RECORDS_PASSAGES {
            context.times_mut(number).issued = now;
        }
        let slot = Context::slot(number);
        let entry = &mut context.entries[slot];
        let end = now + u64::from(entry.decoded.latency);
        if !S::NARROW {
            // Without a jump, which is hard to predict.
            context.loads |= u64::from(entry.decoded.kind == Kind::Load) << (number & 63);
        }
        if !S::NARROW
            && let Some(supervisor) = &context.supervisor
            && !supervisor.has_float()
            && (entry.decoded.destination >= 32 || entry.decoded.sources.iter().any(|&source| source >= 32))
        {
            // An access stays one, as it has an entry in the load/store queue.
            if !entry.decoded.kind.accesses_memory() {
                entry.decoded.kind = Kind::Illegal;
            }
            entry.begin_access();
            (entry.fails, entry.trap) = (true, Some(Exception::Illegal));
            let physical = entry.physical;
            self.schedule::<S>(context, index, (number, physical), now, end);
            return;
        }
        let (operation, pc, physical) = (entry.decoded.operation, entry.pc, entry.physical);
        let [a, b, third] = entry.sources;
        let value = |source| self.registers.file[source].value;
        let (a, b, third) = (value(a), value(b), if third == 0 { 0 } else { value(third) });
        let result = &mut self.registers.file[physical].value;
        match operation.apply(pc, a, b, &mut Issued { entry, result, third, rounding: context.float_status.rounding }) {
            // It is neither mispredicted nor a barrier.
            AfterIssue::Ends if S::IN_ORDER => self.ends_at(context, number, physical, end),
            AfterIssue::Ends => self.schedule::<S>(context, index, (number, physical), now, end),
            AfterIssue::EndsElsewhere => {
                context.mispredicted |= bit(number);
                self.schedule::<S>(context, index, (number, physical), now, end);
            }
            AfterIssue::Accesses if !S::NARROW && context.supervisor.is_some() => {
                self.translate_access::<S>(context, index, number, now);
            }
            AfterIssue::Accesses => self.addressed::<S>(context, index, number, now),
            AfterIssue::WaitsForTurn => context.serial |= bit(number),
        }
    }

    /// Continues an access whose address is known.
    #[inline]
    pub(super) fn addressed<S: Setting>(&mut self, context: &mut Context, index: usize, number: u64, now: u64) {
        let entry = context.entry(number);
        match entry.decoded.kind {
            Kind::Load => context.unsent |= bit(number),
            Kind::Atomic => context.serial |= bit(number),
            _ => {
                let end = now + u64::from(entry.decoded.latency);
                self.schedule::<S>(context, index, (number, entry.physical), now, end);
            }
        }
    }
}

impl Core {
    /// Issues instructions, the oldest of all contexts first; returns their number.
    pub(super) fn issue<S: Setting>(&mut self, now: u64, width: u32) -> u32 {
        let Self { contexts, shared } = self;
        let mut issued = 0;
        if shared.queued == 0 {
            return 0;
        }
        let mut numbers = [0; ChipConfig::MAX_CONTEXTS];
        let mut all = [u64::MAX; ChipConfig::MAX_CONTEXTS];
        let ages = &mut all[..contexts.len()];
        let mut any = false;
        for (index, context) in contexts.iter().enumerate() {
            if let Some(number) = shared.candidate::<S>(context, now) {
                numbers[index] = number;
                ages[index] = context.entry(number).age;
                any = true;
            }
        }
        while any && issued < width {
            let (index, mut oldest, next) = lowest_two(ages);
            if oldest == u64::MAX {
                break;
            }
            let context = &mut contexts[index];
            while oldest < next && issued < width {
                shared.execute::<S>(context, index, numbers[index], now);
                issued += 1;
                oldest = match shared.candidate::<S>(context, now) {
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
}

/// What follows the issue of an instruction.
enum AfterIssue {
    /// It ends when its latency has passed.
    Ends,
    /// A branch whose target is not where fetch continued, ends too.
    EndsElsewhere,
    /// It has an address.
    Accesses,
    /// It executes when it is the oldest of its context.
    WaitsForTurn,
}

/// An instruction that begins to execute.
struct Issued<'a> {
    entry: &'a mut InFlight,
    /// The register that it writes.
    result: &'a mut u64,
    third: u64,
    rounding: Rounding,
}

impl Issued<'_> {
    #[inline]
    const fn accesses(&mut self, address: u64, width: u8, extension: Extension) -> AfterIssue {
        self.entry.begin_access();
        self.entry.address = address;
        self.entry.width = width;
        self.entry.extension = extension;
        AfterIssue::Accesses
    }
}

impl Actions for Issued<'_> {
    type Output = AfterIssue;

    #[inline]
    fn third(&self, _: u8) -> u64 {
        self.third
    }

    #[inline]
    fn rounding(&self) -> Rounding {
        self.rounding
    }

    #[inline]
    fn value(&mut self, value: u64) -> AfterIssue {
        *self.result = value;
        AfterIssue::Ends
    }

    #[inline]
    fn float(&mut self, value: u64, flags: u8) -> AfterIssue {
        self.entry.flags = flags;
        self.value(value)
    }

    #[inline]
    fn branch(&mut self, taken: bool, next: u64, link: u64) -> AfterIssue {
        let mispredicted = next != self.entry.next;
        self.entry.next = next;
        self.entry.taken = taken;
        *self.result = link;
        if mispredicted { AfterIssue::EndsElsewhere } else { AfterIssue::Ends }
    }

    #[inline]
    fn load<const WIDTH: u8>(&mut self, address: u64, extension: Extension) -> AfterIssue {
        self.accesses(address, WIDTH, extension)
    }

    /// The data is read at commit.
    #[inline]
    fn store<const WIDTH: u8>(&mut self, address: u64, _: u64) -> AfterIssue {
        self.accesses(address, WIDTH, Extension::Zero)
    }

    fn other(&mut self, effect: Effect) -> AfterIssue {
        let outside = (self.entry.trap, self.entry.undo);
        self.entry.begin_access();
        match effect {
            Effect::Atomic { address, width, .. } => self.accesses(address, width, Extension::Sign),
            Effect::Pause => AfterIssue::Ends,
            Effect::Illegal(_) => {
                match self.entry.decoded.kind {
                    // An instruction whose dynamic rounding mode is reserved.
                    Kind::Integer => self.entry.decoded.kind = Kind::Illegal,
                    Kind::Outside => (self.entry.trap, self.entry.undo) = outside,
                    _ => {}
                }
                AfterIssue::Ends
            }
            _ => AfterIssue::WaitsForTurn,
        }
    }
}

impl Context {
    /// Notes for passages which instructions have ended in this cycle, with in-order issue.
    pub(super) fn note_ended(&mut self, now: u64) {
        for number in self.head..self.next_issue {
            let slot = Self::slot(number);
            if self.ends[slot] == now {
                self.times[slot].written = now;
            }
        }
    }
}
