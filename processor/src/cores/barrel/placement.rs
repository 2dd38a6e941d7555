// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The placement of threads: which context takes a thread, and which thread leaves for it.

use super::Barrel;
use super::config::{Exchange, SpawnPolicy};
use super::contexts::{Core, Location, NEVER};
use super::statistics::Wait;
use crate::Hart;

impl<H: Hart + Clone> Barrel<H> {
    /// Puts a new thread into a context, or makes it inactive.
    pub(super) fn place(&mut self, number: usize, now: u64) {
        let mut best = (0, 0);
        for (core, state) in self.cores.iter().enumerate() {
            let free = match self.config.placement {
                SpawnPolicy::Spread => state.free(),
                SpawnPolicy::Fill => state.free().min(1),
            };
            if free > best.1 {
                best = (core, free);
            }
        }
        if best.1 == 0 {
            return self.deactivate(number, now);
        }
        let free = self.cores[best.0].threads.iter().position(Option::is_none).expect("there is a free context");
        self.enter(number, best.0, free, self.threads[number].ready);
    }

    /// Ends the wait of a thread: it can continue at `at`.
    pub(super) fn activate(&mut self, number: usize, at: u64) {
        self.threads[number].ready = at;
        match self.threads[number].location {
            Location::Context(core, context) => {
                self.cores[core].set_ready(context, at);
            }
            Location::Inactive => self.deactivate(number, at),
        }
    }

    /// Appends a thread to the inactive ones.
    fn deactivate(&mut self, number: usize, now: u64) {
        if self.inactive.is_empty() {
            let quantum = self.config.quantum.0;
            for core in &mut self.cores {
                core.quantum_end = (now / quantum + 1) * quantum;
            }
        }
        self.inactive.push_back(number);
        if let Some(core) = self.cores.iter().position(Core::is_stalled) {
            self.refill(core, now);
        }
    }

    /// Swaps inactive threads into `core`, which has no active one.
    pub(super) fn refill(&mut self, core: usize, now: u64) {
        let Some(&first) = self.inactive.front() else { return };
        let state = &mut self.cores[core];
        state.count_lost(state.slot, now, self.threads[first].wait, self.threads[first].since);
        state.slot = state.slot.max(now);
        for context in self.swap_order(core).into_iter().take(self.inactive.len()) {
            self.swap(core, context, now);
        }
    }

    /// Ends a quantum of `core`: swaps inactive threads in.
    pub(super) fn end_quantum(&mut self, core: usize, now: u64) {
        self.cores[core].quantum_end += self.config.quantum.0;
        let idle = |context: &usize| self.cores[core].ready[*context] == NEVER;
        let order = self.swap_order(core);
        let contexts: Vec<usize> = match self.config.exchange {
            Exchange::All => order,
            Exchange::Idle => order.into_iter().filter(idle).collect(),
        };
        // Only as many as are inactive now, so that a thread that leaves does not return at once.
        for context in contexts.into_iter().take(self.inactive.len()) {
            self.swap(core, context, now);
        }
    }

    /// The contexts of `core` in the order in which they are given away: without a thread, with a
    /// waiting thread, the others; each group in round-robin order.
    fn swap_order(&self, core: usize) -> Vec<usize> {
        let core = &self.cores[core];
        let contexts = core.threads.len();
        let mut order: Vec<usize> = (1..=contexts).map(|step| (core.last + step) % contexts).collect();
        order.sort_by_key(|&context| (core.threads[context].is_some(), core.ready[context] != NEVER));
        order
    }

    /// Swaps the first inactive thread into a context of `core`, in place of its thread.
    fn swap(&mut self, core: usize, context: usize, now: u64) {
        let Some(number) = self.inactive.pop_front() else { return };
        if let Some(out) = self.cores[core].threads[context] {
            self.threads[out].location = Location::Inactive;
            if self.cores[core].ready[context] != NEVER {
                self.inactive.push_back(out);
            }
        }
        let state = &mut self.cores[core];
        state.statistics.swaps += 1;
        state.swapped = state.swapped.max(now) + self.config.swap.0;
        let ready = state.swapped.max(self.threads[number].ready);
        self.threads[number].wait = Wait::Swap;
        self.threads[number].since = now;
        self.enter(number, core, context, ready);
    }

    /// Puts a thread into a context.
    fn enter(&mut self, number: usize, core: usize, context: usize, ready: u64) {
        self.threads[number].location = Location::Context(core, context);
        self.threads[number].ready = ready;
        let state = &mut self.cores[core];
        state.threads[context] = Some(number);
        state.set_ready(context, ready);
    }

    /// Ends a thread, and wakes threads that wait for that.
    pub(super) fn end(&mut self, number: usize, cycle: u64) {
        if let Location::Context(core, context) = self.threads[number].location {
            self.cores[core].threads[context] = None;
        }
        self.threads[number].location = Location::Inactive;
        self.ended.push(number);
        if let Some(waiting) = self.waiting_for_slot.pop_front() {
            self.activate(waiting, cycle + 1);
        }
        if self.live_threads() == 1 {
            for waiting in std::mem::take(&mut self.waiting_for_others) {
                self.activate(waiting, cycle + 1);
            }
        }
    }
}
