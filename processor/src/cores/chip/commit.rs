// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commit: instructions become final, in program order of each context.

use super::code::Kind;
use super::context::Context;
use super::core::Shared;
use super::fetch::Fetch;
use super::in_flight::{InFlight, bit};
use super::interface::{ChipFault, ChipObserver};
use super::setting::{Environment, Setting};
use crate::isa::{CsrAccess, Effect, Rounding};
use crate::memory::system::{MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};
use crate::{BranchKind, Fault};

impl Shared {
    /// Commits the oldest instruction of a context, if it can.
    #[inline]
    pub(super) fn commit_oldest<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> bool {
        if !S::NARROW && self.translation.is_some() && self.take_interrupt(context, index, now, environment) {
            return false;
        }
        let number = context.head;
        if !context.has_ended::<S>(number, now) {
            return false;
        }
        let mut continues = None;
        let entry = context.entry(number);
        let has_effect = entry.decoded.kind > Kind::Load || entry.fails;
        if has_effect {
            match self.finish_oldest(context, index, now, environment) {
                Ok(next) => continues = next,
                Err(Waits) => return false,
            }
        } else {
            // Without a branch for loads, which would be hard to predict.
            context.accesses -= usize::from(entry.decoded.kind == Kind::Load);
            if !S::NARROW {
                context.loads &= !bit(number);
                context.performed &= !bit(number);
            }
        }
        if S::Observer::RECORDS_PASSAGES {
            let hart = self.number * environment.config.contexts + index;
            let passage = context.passage(number, hart, now);
            environment.observer.committed(&passage, now);
        }
        let entry = &context.entries[Context::slot(number)];
        environment.observer.retired(self.number * environment.config.contexts + index, entry.pc, now);
        if entry.decoded.destination != 0 {
            self.registers.free.push(entry.previous);
        }
        if entry.flags != 0 {
            context.float_status.flags |= entry.flags;
        }
        if !S::NARROW && context.supervisor.is_some() {
            let floats = entry.flags != 0 || entry.decoded.destination >= 32;
            context.note_mode(floats, continues.is_some());
        }
        context.head += 1;
        if S::IN_ORDER {
            context.ends[Context::slot(number)] = u64::MAX;
        } else {
            context.done &= !bit(number);
        }
        if has_effect {
            context.mispredicted &= !bit(number);
            if let Some(next) = continues {
                context.waits = false;
                context.redirect(next, now);
                context.fetch.block = Fetch::NO_BLOCK;
            }
        }
        true
    }

    /// Performs the effects of the commit of the oldest instruction of a context, which has ended and is
    /// neither of [`Kind::Integer`] nor a load with a value: traps, stores, training of the predictor. Returns the
    /// address at which fetch continues, if it is redirected.
    fn finish_oldest<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> Result<Option<u64>, Waits> {
        let mut continues = None;
        if context.late_data & bit(context.head) != 0
            && !self.has_second::<S>(context, context.head, now.saturating_sub(1))
        {
            return Err(Waits);
        }
        let entry = context.entry(context.head);
        if entry.fails || matches!(entry.decoded.kind, Kind::Illegal | Kind::Outside) {
            continues = self.special(context, index, now, environment)?;
            if continues.is_none()
                && let Some(fault) = fault_of(context.entry(context.head), context.float_status.rounding)
            {
                self.fail_hart(index, now, fault, environment);
                return Err(Waits);
            }
        }
        // The bytes of a store across two pages have been sent; its width is 0.
        let entry = context.entry(context.head);
        if entry.decoded.kind == Kind::Store && entry.width != 0 {
            self.store(context, index, now, environment)?;
        }
        let number = context.head;
        let entry = &context.entries[Context::slot(number)];
        let branch = entry.decoded.branch;
        if branch != BranchKind::None {
            if branch == BranchKind::Conditional {
                self.predictor.train(entry.counter, entry.taken);
            }
            let by_stack = branch == BranchKind::Return && !context.returns.is_absent();
            if entry.taken && !by_stack {
                self.predictor.learn_target(entry.pc, entry.next);
            }
            context.statistics.branches += 1;
        }
        if entry.decoded.kind.accesses_memory() {
            let others = !bit(number);
            context.accesses -= 1;
            context.stores &= others;
            context.late_data &= others;
            context.loads &= others;
            context.performed &= others;
        }
        if entry.decoded.kind.ends_fetch() {
            context.fetch.stopped = false;
            context.fetch.from = now;
        }
        Ok(continues)
    }

    /// Sends the store that is the oldest instruction of a context to memory.
    fn store<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> Result<(), Waits> {
        let entry = context.entry(context.head);
        let value = self.registers.file[entry.sources[1]].value;
        let (pc, address, width) = (entry.pc, entry.address, entry.width);
        let hart = self.number * environment.config.contexts + index;
        let kind = RequestKind::Store { value };
        let request = MemoryRequest { core: self.number, context: index as u8, tag: 0, address, width, kind };
        environment.active = true;
        let denied = denied(pc, address, width);
        if !environment.observer.may_write(hart, pc, address, width) {
            self.fail_hart(index, now, denied, environment);
            return Err(Waits);
        }
        match environment.memory.request(now, request) {
            MemoryAnswer::Ready { .. } | MemoryAnswer::Pending => {
                environment.observer.stored(hart, pc, address, width, value);
                return Ok(());
            }
            MemoryAnswer::Retry => self.retry = true,
            MemoryAnswer::Fault if context.supervisor.is_some() => self.store_fails(context, index, now, environment),
            MemoryAnswer::Fault => self.fail_hart(index, now, denied, environment),
        }
        Err(Waits)
    }

    /// A hart cannot continue.
    #[cold]
    pub(super) fn fail_hart<S: Setting>(
        &mut self,
        context: usize,
        cycle: u64,
        fault: Fault,
        environment: &mut Environment<'_, S>,
    ) {
        environment.ended = true;
        let (core, hart) = (self.number, self.number * environment.config.contexts + context);
        self.fault = Some(ChipFault { hart, core, context, cycle, fault });
    }
}

/// A store that the program may not make.
pub(super) const fn denied(pc: u64, address: u64, width: u8) -> Fault {
    Fault::Access { pc, address, bytes: width }
}

/// The oldest instruction of a context does not commit in this cycle.
pub(super) struct Waits;

/// Why an instruction that has executed cannot commit.
fn fault_of(entry: &InFlight, rounding: Rounding) -> Option<Fault> {
    match entry.decoded.kind {
        Kind::Illegal => match entry.decoded.operation.evaluate(entry.pc, [0; 3], rounding) {
            Effect::Illegal(word) | Effect::Csr(CsrAccess { word, .. }) => Some(Fault::Illegal { pc: entry.pc, word }),
            _ => None,
        },
        Kind::Outside => Some(Fault::Access { pc: entry.pc, address: entry.pc, bytes: 2 }),
        _ if entry.fails => Some(Fault::Access { pc: entry.pc, address: entry.address, bytes: entry.width }),
        _ => None,
    }
}
