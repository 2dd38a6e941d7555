// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The removal of wrong paths.

use super::config::{ChipConfig, IssueOrder};
use super::context::Context;
use super::core::Shared;
use super::in_flight::bit;
use super::interface::ChipObserver;
use crate::BranchKind;

impl Shared {
    /// Removes the instructions of a context from number `first` on.
    pub(super) fn squash<O: ChipObserver>(
        &mut self,
        context: &mut Context,
        index: usize,
        first: u64,
        now: u64,
        config: &ChipConfig,
        observer: &mut O,
    ) {
        let hart = self.number * config.contexts + index;
        let mut queued_removed = 0;
        for number in (first..context.tail).rev() {
            if O::RECORDS_PASSAGES {
                observer.squashed(&context.passage(number, hart, now));
            }
            let entry = &context.entries[Context::slot(number)];
            match entry.decoded.branch {
                BranchKind::Call => context.returns.undo_push(entry.undo),
                BranchKind::Return | BranchKind::ConditionalReturn => context.returns.undo_pop(),
                BranchKind::Conditional => context.history = entry.undo,
                BranchKind::None | BranchKind::Jump | BranchKind::Indirect => {}
            }
            if number >= context.renamed {
                continue;
            }
            let own = bit(number);
            if context.is_queued(number) {
                queued_removed += 1;
            } else {
                context.statistics.used_squashed += 1;
            }
            context.ends[Context::slot(number)] = u64::MAX;
            if config.order == IssueOrder::OutOfOrder {
                for (operand, &source) in entry.sources.iter().enumerate() {
                    self.registers.consumers[usize::from(source)][operand] &= !own;
                }
                self.registers.consumers[usize::from(entry.physical)] = [0; 3];
            }
            if entry.decoded.destination != 0 {
                context.map[usize::from(entry.decoded.destination)] = entry.previous;
                self.registers.free.push(entry.physical);
            }
            if entry.decoded.kind.accesses_memory() {
                context.accesses -= 1;
            }
        }
        context.statistics.squashed += context.tail - first;
        if config.contexts > 1 {
            self.queued -= queued_removed;
        }
        context.tail = first;
        context.across.squash(first);
        if first < context.renamed {
            context.renamed = first;
            if config.order != IssueOrder::OutOfOrder {
                context.next_issue = context.next_issue.min(first);
            }
            let kept = context.before(first);
            context.keep(kept);
            for mask in self.finish.iter_mut().skip(index).step_by(config.contexts).take(64) {
                *mask &= kept;
            }
            self.late.retain(|&(_, other, number)| other != index || number < first);
        }
        if context.fetch.misfetch.is_some_and(|(number, ..)| number >= first) {
            context.fetch.misfetch = None;
        }
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
            &mut self.mispredicted,
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
        self.held = false;
    }
}
