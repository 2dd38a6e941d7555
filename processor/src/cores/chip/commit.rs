// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commit: instructions become final, in program order of each context.

use super::code::Kind;
use super::context::{Entry, Fetch, bit};
use super::core::{Core, Environment};
use super::{CallHandler, ChipFault, ChipObserver};
use crate::isa::{CsrAccess, Effect, Rounding};
use crate::memory::system::{Answer, MemorySystem, Request, RequestKind};
use crate::{BranchKind, Fault};

impl Core {
    /// Commits the oldest instructions whose results are ready, contexts in turns.
    pub(super) fn commit<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) {
        let count = self.contexts.len();
        let mut left = environment.config.commit_width;
        let mut index = if count == 1 { 0 } else { (now % count as u64) as usize };
        for _ in 0..count {
            while left > 0 && self.commit_oldest(index, now, environment) {
                left -= 1;
            }
            index = if index + 1 == count { 0 } else { index + 1 };
        }
    }

    /// Commits the oldest instruction of a context, if it can.
    #[inline]
    fn commit_oldest<M: MemorySystem, H: CallHandler, O: ChipObserver>(
        &mut self,
        index: usize,
        now: u64,
        environment: &mut Environment<'_, M, H, O>,
    ) -> bool {
        if self.translation.is_some() && self.take_interrupt(index, now, environment) {
            return false;
        }
        let context = &mut self.contexts[index];
        let number = context.head;
        let own = bit(number);
        if number == context.renamed || context.done & own == 0 || context.waiting[1] & own != 0 {
            return false;
        }
        let slot = context.slot(number);
        let entry = &context.entries[slot];
        let hart = self.number * environment.config.contexts + index;
        let core = self.number;
        let failed = |fault| ChipFault { hart, core, context: index, cycle: now, fault };
        let mut continues = None;
        if entry.fails || matches!(entry.kind, Kind::Illegal | Kind::Outside) {
            let Ok(next) = self.special(index, now, environment) else { return false };
            continues = next;
            let context = &self.contexts[index];
            if continues.is_none()
                && let Some(fault) = fault_of(context.entry(number), context.float_status.rounding)
            {
                self.fault = Some(failed(fault));
                return false;
            }
        }
        let context = &mut self.contexts[index];
        let entry = &context.entries[slot];
        if entry.kind == Kind::Store {
            let value = self.registers.values[usize::from(entry.sources[1])];
            let (address, width) = (entry.address, entry.width);
            let kind = RequestKind::Store { value };
            let request = Request { core: self.number, context: index as u8, tag: 0, address, width, kind };
            environment.active = true;
            if !environment.observer.may_write(hart, entry.pc, address, width) {
                self.fault = Some(failed(Fault::Access { pc: entry.pc, address, bytes: width }));
                return false;
            }
            match environment.memory.request(now, request) {
                Answer::Ready { .. } | Answer::Pending => {
                    environment.observer.stored(hart, entry.pc, address, width, value);
                }
                Answer::Retry => {
                    self.retry = true;
                    return false;
                }
                Answer::Fault if context.supervisor.is_some() => {
                    self.store_fails(index, now, environment);
                    return false;
                }
                Answer::Fault => {
                    self.fault = Some(failed(Fault::Access { pc: entry.pc, address, bytes: width }));
                    return false;
                }
            }
        }
        if entry.branch != BranchKind::None {
            let is_conditional = entry.branch == BranchKind::Conditional;
            if is_conditional {
                self.predictor.train(entry.counter, entry.taken);
            }
            let by_stack = entry.branch == BranchKind::Return && !context.returns.is_absent();
            if entry.taken && !by_stack {
                self.predictor.learn_target(entry.pc, entry.next);
            }
            context.statistics.branches += 1;
        }
        if entry.destination != 0 {
            self.registers.free.push(entry.previous);
        }
        let others = !own;
        if entry.kind.accesses_memory() {
            context.accesses -= 1;
            context.stores &= others;
            context.late_data &= others;
            context.loads &= others;
            context.performed &= others;
        }
        if entry.kind.ends_fetch() {
            context.fetch.stopped = false;
            context.fetch.from = now;
        }
        if O::ENABLED {
            let passage = context.passage(number, hart, now);
            environment.observer.committed(&passage, now);
        }
        environment.observer.retired(hart, entry.pc, now);
        context.float_status.flags |= entry.flags;
        let floats = entry.flags != 0 || entry.destination >= 32;
        context.note_mode(floats, continues.is_some());
        context.head += 1;
        context.retired += 1;
        context.statistics.committed += 1;
        context.done &= others;
        if let Some(next) = continues {
            context.waits = false;
            context.redirect(next, now);
            context.fetch.block = Fetch::NO_BLOCK;
        }
        true
    }
}

/// Why an instruction that has executed cannot commit.
fn fault_of(entry: &Entry, rounding: Rounding) -> Option<Fault> {
    match entry.kind {
        Kind::Illegal => match entry.operation.evaluate(entry.pc, [0; 3], rounding) {
            Effect::Illegal(word) | Effect::Csr(CsrAccess { word, .. }) => Some(Fault::Illegal { pc: entry.pc, word }),
            _ => None,
        },
        Kind::Outside => Some(Fault::Access { pc: entry.pc, address: entry.pc, bytes: 2 }),
        _ if entry.fails => Some(Fault::Access { pc: entry.pc, address: entry.address, bytes: entry.width }),
        _ => None,
    }
}
