// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Contexts of cores: slot arbitration among them, and the swapping of threads.

use super::Barrel;
use super::config::{BarrelConfig, Exchange, SpawnPolicy};
use super::statistics::{BarrelStatistics, Wait};
use crate::Hart;
use crate::hierarchy::AccessKind;

/// Later than any cycle.
pub(super) const NEVER: u64 = u64::MAX;

/// The location of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Location {
    /// In this context of this core.
    Context(usize, usize),
    /// In no core.
    Inactive,
}

impl Location {
    pub(super) fn core(self) -> Option<usize> {
        match self {
            Self::Context(core, _) => Some(core),
            Self::Inactive => None,
        }
    }
}

/// A thread, and why it waits.
#[derive(Clone, Debug)]
pub(super) struct Thread<H> {
    pub(super) hart: H,
    pub(super) location: Location,
    /// The first cycle in which it can have a slot; `NEVER` while it waits for a lock or the host.
    pub(super) ready: u64,
    pub(super) wait: Wait,
    /// The first cycle of the wait.
    pub(super) since: u64,
    /// When its last store is complete.
    pub(super) stored: u64,
    /// A refused access that must be repeated.
    pub(super) again: Option<(AccessKind, u64, u8)>,
}

impl<H> Thread<H> {
    /// A thread whose creation begins at `since` and whose first slot can be at `ready`.
    pub(super) fn new(hart: H, since: u64, ready: u64) -> Self {
        Self { hart, location: Location::Inactive, ready, wait: Wait::Execution, since, stored: 0, again: None }
    }
}

/// One core.
#[derive(Clone, Debug)]
pub(super) struct Core {
    /// The thread in each context.
    pub(super) threads: Vec<Option<usize>>,
    /// The first cycle in which each context can have a slot; `NEVER` if its thread waits or is
    /// missing.
    ready: Vec<u64>,
    /// Contexts whose `ready` is not `NEVER`.
    active: usize,
    /// The context of the last slot.
    last: usize,
    /// The context of the next slot.
    next: usize,
    /// The cycle of the next slot.
    wake: u64,
    /// The first cycle whose slot is not yet used.
    pub(super) slot: u64,
    pub(super) quantum_end: u64,
    /// When the latest swap ends.
    swapped: u64,
    pub(super) statistics: BarrelStatistics,
}

impl Core {
    pub(super) fn new(config: &BarrelConfig) -> Self {
        Self {
            threads: vec![None; config.contexts],
            ready: vec![NEVER; config.contexts],
            active: 0,
            last: config.contexts - 1,
            next: 0,
            wake: NEVER,
            slot: 0,
            quantum_end: 0,
            swapped: 0,
            statistics: BarrelStatistics::default(),
        }
    }

    /// The next cycle with work, apart from the end of a quantum.
    #[inline]
    pub(super) fn wake(&self) -> u64 {
        self.wake
    }

    /// Uses the slot of `cycle`; returns its context and thread.
    #[inline]
    pub(super) fn take_slot(&mut self, cycle: u64) -> (usize, usize) {
        debug_assert!(self.ready[self.next] <= cycle);
        (self.slot, self.last) = (cycle + 1, self.next);
        (self.next, self.threads[self.next].expect("a context that is ready has a thread"))
    }

    /// Whether no context can have a slot before another thread or the host acts.
    #[inline]
    pub(super) fn is_stalled(&self) -> bool {
        self.active == 0
    }

    /// Sets the first cycle in which a context can have a slot.
    #[inline]
    pub(super) fn set_ready(&mut self, context: usize, ready: u64) {
        self.active += usize::from(ready != NEVER);
        self.active -= usize::from(self.ready[context] != NEVER);
        self.ready[context] = ready;
        if self.active == 1 && ready != NEVER {
            (self.next, self.wake) = (context, ready.max(self.slot));
        } else {
            self.plan();
        }
    }

    /// Chooses the context of the next slot: the first ready one in round-robin order, or else the
    /// one that is ready first.
    #[inline]
    fn plan(&mut self) {
        let mut best = (0, NEVER);
        let contexts = self.ready.len();
        let mut context = self.last;
        for _ in 0..contexts {
            context += 1;
            if context == contexts {
                context = 0;
            }
            let ready = self.ready[context];
            if ready < best.1 {
                best = (context, ready);
                if ready <= self.slot {
                    break;
                }
            }
        }
        (self.next, self.wake) = (best.0, best.1.max(self.slot));
    }

    /// Counts the cycles between `from` and `to` as lost to `wait` from `since` on, and as idle
    /// before.
    #[inline]
    pub(super) fn count_lost(&mut self, from: u64, to: u64, wait: Wait, since: u64) {
        if to > from {
            let waited = to - from.max(since.min(to));
            self.statistics.waited[wait as usize] += waited;
            self.statistics.waited[Wait::Idle as usize] += to - from - waited;
        }
    }

    /// Counts a slot without an executed instruction.
    #[inline]
    pub(super) fn count_wasted(&mut self, wait: Wait) {
        self.statistics.waited[wait as usize] += 1;
    }

    /// Free contexts.
    fn free(&self) -> usize {
        self.threads.iter().filter(|thread| thread.is_none()).count()
    }
}

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
