// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which thread is where: contexts of cores, and the threads that come into them.

use super::super::Hart;
use super::super::hierarchy::Access;
use super::Barrel;
use super::config::{BarrelConfig, Exchange, Placement};
use super::statistics::{CoreStatistics, Wait};

/// Later than any cycle.
pub(super) const NEVER: u64 = u64::MAX;

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In this context of this core.
    Context(usize, usize),
    /// Outside.
    Nowhere,
}

impl Place {
    pub(super) fn core(self) -> Option<usize> {
        match self {
            Self::Context(core, _) => Some(core),
            Self::Nowhere => None,
        }
    }
}

/// A thread and what keeps it from going on.
#[derive(Clone, Debug)]
pub(super) struct Thread<H> {
    pub(super) hart: H,
    pub(super) place: Place,
    /// When it can go on; `NEVER` while it waits for a lock or the host.
    pub(super) ready: u64,
    pub(super) wait: Wait,
    /// Since when it has waited.
    pub(super) since: u64,
    /// When its stores are done.
    pub(super) stored: u64,
    /// An access that has to be tried again.
    pub(super) again: Option<(Access, u64, u8)>,
}

impl<H> Thread<H> {
    /// A thread created from `since` on, that begins at `ready`.
    pub(super) fn new(hart: H, since: u64, ready: u64) -> Self {
        Self { hart, place: Place::Nowhere, ready, wait: Wait::Execution, since, stored: 0, again: None }
    }
}

/// One core.
#[derive(Clone, Debug)]
pub(super) struct Core {
    /// The thread in each context.
    pub(super) threads: Vec<Option<usize>>,
    /// When it can go on; `NEVER` if there is none.
    ready: Vec<u64>,
    /// How many can go on.
    active: usize,
    /// The context that had the last slot.
    last: usize,
    /// The context that has the next one, and when.
    next: usize,
    wake: u64,
    /// The first cycle whose slot was not given.
    pub(super) slot: u64,
    pub(super) quantum_end: u64,
    /// When the last swap ends.
    swapped: u64,
    pub(super) statistics: CoreStatistics,
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
            statistics: CoreStatistics::default(),
        }
    }

    /// When there is something to do, apart from the end of a quantum.
    #[inline]
    pub(super) fn wake(&self) -> u64 {
        self.wake
    }

    /// Gives the slot of `cycle` to whose turn it is; returns context and thread.
    #[inline]
    pub(super) fn give_slot(&mut self, cycle: u64) -> (usize, usize) {
        debug_assert!(self.ready[self.next] <= cycle);
        (self.slot, self.last) = (cycle + 1, self.next);
        (self.next, self.threads[self.next].expect("a context that is ready has a thread"))
    }

    #[inline]
    pub(super) fn has_no_active(&self) -> bool {
        self.active == 0
    }

    /// Sets when a context can go on.
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

    /// Whose turn it is: the first in turn of those that can have the next slot, or of those that can go on first.
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

    /// Counts the cycles between two as lost to `wait`, which began at `since`; before that there was nobody.
    #[inline]
    pub(super) fn lose(&mut self, from: u64, to: u64, wait: Wait, since: u64) {
        if to > from {
            let waited = to - from.max(since.min(to));
            self.statistics.waited[wait as usize] += waited;
            self.statistics.waited[Wait::Idle as usize] += to - from - waited;
        }
    }

    /// Counts a slot that was given in vain.
    #[inline]
    pub(super) fn waste(&mut self, wait: Wait) {
        self.statistics.waited[wait as usize] += 1;
    }

    fn free(&self) -> usize {
        self.threads.iter().filter(|thread| thread.is_none()).count()
    }
}

impl<H: Hart + Clone> Barrel<H> {
    /// Finds a context for a new thread.
    pub(super) fn place(&mut self, number: usize, now: u64) {
        let mut best = (0, 0);
        for (core, state) in self.cores.iter().enumerate() {
            let free = match self.config.placement {
                Placement::Spread => state.free(),
                Placement::Fill => state.free().min(1),
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

    /// Lets a thread that waited go on at `at`.
    pub(super) fn activate(&mut self, number: usize, at: u64) {
        self.threads[number].ready = at;
        match self.threads[number].place {
            Place::Context(core, context) => {
                self.cores[core].set_ready(context, at);
            }
            Place::Nowhere => self.deactivate(number, at),
        }
    }

    /// Puts a thread that is in no core at the end of those that want to come in.
    fn deactivate(&mut self, number: usize, now: u64) {
        if self.inactive.is_empty() {
            let quantum = self.config.quantum.0;
            for core in &mut self.cores {
                core.quantum_end = (now / quantum + 1) * quantum;
            }
        }
        self.inactive.push_back(number);
        if let Some(core) = self.cores.iter().position(Core::has_no_active) {
            self.relieve(core, now);
        }
    }

    /// None of the threads of `core` is active: brings in what waits outside.
    pub(super) fn relieve(&mut self, core: usize, now: u64) {
        let Some(&first) = self.inactive.front() else { return };
        let state = &mut self.cores[core];
        state.lose(state.slot, now, self.threads[first].wait, self.threads[first].since);
        state.slot = state.slot.max(now);
        for context in self.who_gives_way(core).into_iter().take(self.inactive.len()) {
            self.swap(core, context, now);
        }
    }

    /// A quantum of `core` ends.
    pub(super) fn end_quantum(&mut self, core: usize, now: u64) {
        self.cores[core].quantum_end += self.config.quantum.0;
        let idle = |context: &usize| self.cores[core].ready[*context] == NEVER;
        let order = self.who_gives_way(core);
        let give_way: Vec<usize> = match self.config.exchange {
            Exchange::All => order,
            Exchange::Idle => order.into_iter().filter(idle).collect(),
        };
        // As many as there are now: those that go out do not come in again in the same moment.
        for context in give_way.into_iter().take(self.inactive.len()) {
            self.swap(core, context, now);
        }
    }

    /// Contexts of `core`: those without a thread, those whose thread waits for a lock or for the host, the others; each in
    /// turn.
    fn who_gives_way(&self, core: usize) -> Vec<usize> {
        let core = &self.cores[core];
        let contexts = core.threads.len();
        let mut order: Vec<usize> = (1..=contexts).map(|step| (core.last + step) % contexts).collect();
        order.sort_by_key(|&context| (core.threads[context].is_some(), core.ready[context] != NEVER));
        order
    }

    /// Brings the first inactive thread into a context of `core`, whose thread goes out.
    fn swap(&mut self, core: usize, context: usize, now: u64) {
        let Some(number) = self.inactive.pop_front() else { return };
        if let Some(out) = self.cores[core].threads[context] {
            self.threads[out].place = Place::Nowhere;
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
        self.threads[number].place = Place::Context(core, context);
        self.threads[number].ready = ready;
        let state = &mut self.cores[core];
        state.threads[context] = Some(number);
        state.set_ready(context, ready);
    }

    /// A thread has ended.
    pub(super) fn end(&mut self, number: usize, cycle: u64) {
        if let Place::Context(core, context) = self.threads[number].place {
            self.cores[core].threads[context] = None;
        }
        self.threads[number].place = Place::Nowhere;
        self.ended.push(number);
        if let Some(waiting) = self.for_room.pop_front() {
            self.activate(waiting, cycle + 1);
        }
        if self.live() == 1 {
            for waiting in std::mem::take(&mut self.for_others) {
                self.activate(waiting, cycle + 1);
            }
        }
    }
}
