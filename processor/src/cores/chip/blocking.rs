// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocking cores: one context, one instruction at a time.
//!
//! An instruction is issued in the first cycle in which its operands are ready. The next one follows
//! in the next cycle if this one computes, branches, is a load that hits, or a store that memory takes over at
//! once; it commits in the cycle of its issue. Branches are not predicted: after one that is taken, the next
//! instruction is issued `redirect` cycles after the branch ends. A fetch block that is in the instruction
//! cache costs no cycle.
//!
//! Every other instruction passes the stages of [`chip`](super) from its issue on, with no other in flight:
//! a load that misses, an access to a page that is not in the TLB, a store that memory refuses, atomics, fences,
//! accesses to CSRs and devices, calls and traps. The next one is issued in the cycle of its commit at the earliest.
//!
//! # Slack
//!
//! For speed, a core executes instructions up to `slack` cycles ahead of the chip, in one step. Each has the
//! cycle that it would have alone: accesses hit what is in the caches when the core begins to run ahead. A request
//! of another core, a message of a device or an interrupt that comes in these cycles takes its effect after them. So
//! another core can read what is stored up to `slack` cycles later, and this core can read, for so long, what
//! another one has replaced. The order of accesses remains one that the memory model allows: they happen in the
//! order in which the cores are simulated. With a slack of 1 nothing is early.

use super::code::{Decoded, Kind};
use super::config::{ChipConfig, IssueOrder};
use super::context::Context;
use super::core::{Core, Shared};
use super::fetch::Fetch;
use super::interface::{ChipObserver, Passage};
use super::pages::crosses;
use super::registers::Register;
use super::setting::{Environment, Setting};
use super::statistics::IssueStall;
use crate::isa::rv64::Actions;
use crate::isa::rv64::supervisor::{Privilege, Supervisor};
use crate::isa::rv64::sv39::Access;
use crate::isa::{Effect, Extension, Rounding};
use crate::memory::system::{AddressKind, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};

/// The registers of floating point are those from this on.
const FLOATS: u8 = 32;

/// The effect of an instruction.
enum Action {
    /// It has a value, or none.
    Value,
    Branch {
        taken: bool,
        next: u64,
    },
    Load {
        address: u64,
        width: u8,
        extension: Extension,
    },
    Store {
        address: u64,
        width: u8,
        value: u64,
    },
    /// It is illegal.
    Other,
}

/// Instructions that are executed at once, one after the other.
struct Batch {
    /// The cycle of the next one.
    at: u64,
    /// The current cycle of the chip.
    now: u64,
    /// The address of the next one.
    pc: u64,
    rounding: Rounding,
    /// Floating-point exceptions that were raised.
    flags: u8,
    /// Whether a register of floating point or its flags were written.
    floats: bool,
    executed: u64,
    branches: u64,
    taken: u64,
}

/// The result of reading an instruction.
enum ReadResult {
    /// It is decoded in the next entry.
    Instruction,
    /// The first half is read.
    Half,
    /// It must be read in its own cycle.
    Later,
    /// It is missing in the current cycle, and requested from memory.
    Fetched,
}

/// The third operand and the result of an instruction.
struct Operation {
    third: u64,
    rounding: Rounding,
    value: u64,
    flags: u8,
}

impl Actions for Operation {
    type Output = Action;

    #[inline]
    fn third(&self, _: u8) -> u64 {
        self.third
    }

    #[inline]
    fn rounding(&self) -> Rounding {
        self.rounding
    }

    #[inline]
    fn value(&mut self, value: u64) -> Action {
        self.value = value;
        Action::Value
    }

    #[inline]
    fn float(&mut self, value: u64, flags: u8) -> Action {
        self.flags = flags;
        self.value(value)
    }

    #[inline]
    fn branch(&mut self, taken: bool, next: u64, link: u64) -> Action {
        self.value = link;
        Action::Branch { taken, next }
    }

    #[inline]
    fn load<const WIDTH: u8>(&mut self, address: u64, extension: Extension) -> Action {
        Action::Load { address, width: WIDTH, extension }
    }

    #[inline]
    fn store<const WIDTH: u8>(&mut self, address: u64, value: u64) -> Action {
        Action::Store { address, width: WIDTH, value }
    }

    fn other(&mut self, effect: Effect) -> Action {
        match effect {
            Effect::Pause => Action::Value,
            _ => Action::Other,
        }
    }
}

impl Core {
    /// As [`step`](Self::step), for a blocking core.
    pub(super) fn step_blocking<S: Setting>(&mut self, now: u64, environment: &mut Environment<'_, S>) -> u64 {
        let ahead = self.contexts[0].ahead;
        if now < ahead {
            return ahead;
        }
        self.account_until::<S>(environment.config, now);
        self.shared.begin();
        let Self { contexts, shared } = self;
        let Some(context) = contexts.first_mut() else { return u64::MAX };
        if context.head != context.tail || shared.walks(context) {
            shared.continue_alone(context, now, environment);
        } else if context.supervisor.is_some() {
            shared.take_interrupt(context, 0, now, environment);
        }
        if context.can_begin(now)
            && !shared.walks(context)
            && let Some(next) = shared.run_alone(context, now, environment)
        {
            return next;
        }
        self.following::<S>(now, environment.config)
    }
}

impl Shared {
    /// Whether a page-table walk is in progress for the context.
    #[inline]
    fn walks(&self, context: &Context) -> bool {
        context.fetch.translates.is_some()
            || self.translation.as_ref().is_some_and(|translation| !translation.is_idle())
    }

    /// The stages of a cycle for the instruction in flight.
    fn continue_alone<S: Setting>(&mut self, context: &mut Context, now: u64, environment: &mut Environment<'_, S>) {
        self.commit_oldest(context, 0, now, environment);
        if self.any_ends::<S>(now) {
            self.write_back(context, 0, now, environment);
        }
        if S::Observer::RECORDS_PASSAGES {
            context.note_ended(now);
        }
        self.access_translated(context, now, environment);
    }

    /// Translates and sends the access of the instruction in flight.
    fn access_translated<S: Setting>(&mut self, context: &mut Context, now: u64, environment: &mut Environment<'_, S>) {
        self.translate(std::slice::from_mut(context), now, environment);
        self.access_alone(context, now, environment);
        if std::mem::take(&mut self.drops_blocks) {
            context.fetch.block = Fetch::NO_BLOCK;
        }
    }

    /// Executes instructions from cycle `now` on. Returns the cycle of the next one; `None`: an instruction is in
    /// flight or is fetched.
    fn run_alone<S: Setting>(
        &mut self,
        context: &mut Context,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> Option<u64> {
        let config = environment.config;
        let IssueOrder::Blocking { slack } = config.order else { return None };
        let has_floats = context.supervisor.as_ref().is_none_or(Supervisor::has_float);
        let mut batch = Batch {
            at: now,
            now,
            pc: context.fetch.pc,
            rounding: context.float_status.rounding,
            flags: 0,
            floats: false,
            executed: 0,
            branches: 0,
            taken: 0,
        };
        let mut buffer = if context.held { None } else { context.fetch.take_buffer() };
        let mut read;
        let flows = loop {
            if batch.at >= now + slack {
                break true;
            }
            let buffered = buffer.as_ref().and_then(|buffer| buffer.at(config, batch.pc));
            let is_read = buffered.is_none();
            let decoded = if let Some(decoded) = buffered {
                decoded
            } else {
                context.fetch.put_buffer(buffer.take());
                context.fetch.pc = batch.pc;
                let found = self.read_alone(context, &mut batch, environment);
                buffer = context.fetch.take_buffer();
                match found {
                    ReadResult::Instruction => {}
                    ReadResult::Half => {
                        // It is in two blocks; the second one is read in the next cycle.
                        context.statistics.empty[IssueStall::Fetch as usize] += 1;
                        batch.at += 1;
                        continue;
                    }
                    ReadResult::Later => break true,
                    ReadResult::Fetched => break false,
                }
                read = context.entry(context.tail).decoded;
                &read
            };
            let ready = self.operands_from(context, decoded);
            if ready > batch.at {
                context.statistics.empty[IssueStall::Dependences as usize] += ready - batch.at;
                batch.at = ready;
            }
            let registers = decoded.sources.iter().fold(decoded.destination, |all, source| all | source);
            if batch.at < now + slack
                && decoded.kind <= Kind::Store
                && (registers < FLOATS || has_floats)
                && self.execute_at_once(context, decoded, &mut batch, environment)
            {
                continue;
            }
            let decoded = *decoded;
            if batch.at > now {
                context.entry_mut(context.tail).decoded = decoded;
                context.held = is_read;
                break true;
            }
            context.fetch.put_buffer(buffer.take());
            context.fetch.pc = batch.pc;
            self.begin_alone(context, &decoded, now, environment);
            break false;
        };
        context.fetch.put_buffer(buffer);
        if flows {
            context.fetch.pc = batch.pc;
        }
        context.end_batch(&batch, config);
        if !flows {
            return None;
        }
        context.ahead = batch.at;
        self.counted = batch.at;
        Some(batch.at)
    }

    /// Decodes the next instruction, which is not whole in the fetch buffer, in the next entry.
    #[inline(never)]
    fn read_alone<S: Setting>(
        &mut self,
        context: &mut Context,
        batch: &mut Batch,
        environment: &mut Environment<'_, S>,
    ) -> ReadResult {
        if std::mem::take(&mut context.held) {
            return ReadResult::Instruction;
        }
        let is_now = batch.at == batch.now;
        let block = context.fetch.block;
        if self.read_instruction(context, 0, &mut false, batch.at, environment, is_now) {
            ReadResult::Instruction
        } else if context.fetch.half.is_some() && context.fetch.block != block {
            ReadResult::Half
        } else if is_now {
            ReadResult::Fetched
        } else {
            ReadResult::Later
        }
    }

    /// The cycle from which the operands of an instruction are ready.
    #[inline]
    fn operands_from(&self, context: &Context, decoded: &Decoded) -> u64 {
        let from = |source: u8| self.registers.file[context.map[usize::from(source & 63)]].from;
        let [first, second, third] = decoded.sources;
        let third = if third == 0 { 0 } else { from(third) };
        from(first).max(from(second)).max(third)
    }

    /// Executes the next instruction from issue to commit. False: this is not possible, and nothing has changed.
    #[expect(clippy::inline_always, reason = "one caller")]
    #[inline(always)]
    fn execute_at_once<S: Setting>(
        &mut self,
        context: &Context,
        decoded: &Decoded,
        batch: &mut Batch,
        environment: &mut Environment<'_, S>,
    ) -> bool {
        let (pc, at) = (batch.pc, batch.at);
        let operand = |source: u8| self.registers.file[context.map[usize::from(source & 63)]].value;
        let [first, second, third] = decoded.sources;
        let third = if third == 0 { 0 } else { operand(third) };
        let mut operation = Operation { third, rounding: batch.rounding, value: 0, flags: 0 };
        let action = decoded.operation.apply(pc, operand(first), operand(second), &mut operation);
        let Operation { mut value, flags, .. } = operation;
        let mut end = at + u64::from(decoded.latency);
        let (mut next, mut taken) = (pc.wrapping_add(decoded.bytes.into()), false);
        let mut accessed = (0, 0);
        match action {
            Action::Value => {}
            Action::Branch { taken: jumps, next: target } => {
                (next, taken) = (target, jumps);
                batch.branches += 1;
            }
            Action::Load { address, width, extension } => {
                let Some(physical) = self.hit(context, address, width, Access::Load) else { return false };
                let loaded = environment.memory.load_at_once(at, self.number, 0, physical, width);
                let Some((known, loaded)) = loaded else { return false };
                value = extension.extend(loaded, width);
                end = end.max(known);
                accessed = (physical, at);
            }
            Action::Store { address, width, value: stored } => {
                let Some(physical) = self.hit(context, address, width, Access::Store) else { return false };
                if !self.store_alone((pc, at, at == batch.now), (physical, width, stored), environment) {
                    return false;
                }
                accessed.0 = physical;
            }
            Action::Other => return false,
        }
        if decoded.destination != 0 {
            let physical = context.map[usize::from(decoded.destination & 63)];
            self.registers.file[physical] = Register { value, from: end };
        }
        batch.flags |= flags;
        batch.floats |= flags != 0 || decoded.destination >= FLOATS;
        batch.executed += 1;
        batch.pc = next;
        if S::Observer::RECORDS_PASSAGES {
            let passage = Passage {
                hart: self.number,
                pc,
                instruction: decoded.operation.instruction(),
                address: accessed.0,
                mispredicted: taken,
                fetched: at,
                renamed: at,
                issued: at,
                accessed: accessed.1,
                written: end,
                left: at,
            };
            environment.observer.committed(&passage, at);
        }
        environment.observer.retired(self.number, pc, at);
        batch.at += 1;
        if taken {
            batch.taken += 1;
            batch.at += environment.config.latencies.branch + environment.config.redirect - 1;
        }
        true
    }

    /// Performs a store, or lets memory take it over if it `is_now`.
    #[inline]
    fn store_alone<S: Setting>(
        &mut self,
        (pc, at, is_now): (u64, u64, bool),
        (address, width, value): (u64, u8, u64),
        environment: &mut Environment<'_, S>,
    ) -> bool {
        let hart = self.number;
        if !environment.observer.may_write(hart, pc, address, width) {
            return false;
        }
        if !environment.memory.store_at_once(at, hart, address, width, value) {
            if !is_now || environment.memory.region(address, width) != AddressKind::Memory {
                return false;
            }
            let kind = RequestKind::Store { value };
            let request = MemoryRequest { core: hart, context: 0, tag: 0, address, width, kind };
            environment.active = true;
            if !matches!(environment.memory.request(at, request), MemoryAnswer::Ready { .. }) {
                return false;
            }
        }
        environment.observer.stored(hart, pc, address, width, value);
        true
    }

    /// The physical address of an access in one page whose translation is in the TLB and that is allowed.
    #[inline]
    fn hit(&mut self, context: &Context, address: u64, width: u8, access: Access) -> Option<u64> {
        let (Some(translation), Some(supervisor)) = (&mut self.translation, &context.supervisor) else {
            return Some(address);
        };
        if crosses(address, width) {
            return None;
        }
        let again = translation.find_again(supervisor, address, access);
        again.or_else(|| translation.find(0, supervisor, address, access).ok().flatten())
    }

    /// Issues the next instruction, which passes the stages alone.
    fn begin_alone<S: Setting>(
        &mut self,
        context: &mut Context,
        decoded: &Decoded,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let number = context.tail;
        context.entry_mut(number).decoded = *decoded;
        self.append::<S>(context, now, environment.config);
        self.rename_one::<S>(context, now);
        self.execute::<S>(context, 0, number, now);
        self.counted = now + 1;
        self.access_translated(context, now, environment);
    }
}

impl Context {
    /// Adds the counts and effects of instructions that were executed at once.
    fn end_batch(&mut self, batch: &Batch, config: &ChipConfig) {
        let statistics = &mut self.statistics;
        self.at_once += batch.executed;
        statistics.branches += batch.branches;
        statistics.mispredicted += batch.taken;
        statistics.empty[IssueStall::Branch as usize] += batch.taken * (config.latencies.branch + config.redirect - 1);
        self.fetch.recovers &= batch.executed == 0;
        self.float_status.flags |= batch.flags;
        if let Some(supervisor) = &mut self.supervisor {
            if batch.floats {
                supervisor.touch_float();
            }
            if supervisor.privilege() == Privilege::Supervisor {
                statistics.supervisor += batch.executed;
            }
        }
    }

    /// Whether the next instruction can be issued in this cycle, once it is fetched.
    #[inline]
    fn can_begin(&self, now: u64) -> bool {
        self.head == self.tail
            && !(self.halted | self.waits | self.fetch.stopped | self.fetch.pending)
            && self.fetch.from <= now
    }
}
