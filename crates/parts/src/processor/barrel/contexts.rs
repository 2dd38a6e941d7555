// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which thread is where: contexts of cores, and the threads that come into them.

use super::super::Hart;
use super::super::hierarchy::Access;
use super::Barrel;
use super::config::{BarrelConfig, Exchange};
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
    pub(super) ready: Vec<u64>,
    /// The context that had the last slot.
    pub(super) last: usize,
    /// The first cycle whose slot was not given.
    pub(super) slot: u64,
    /// When there is something to do, apart from the end of a quantum.
    pub(super) wake: u64,
    pub(super) quantum_end: u64,
    /// When the last swap ends.
    pub(super) swapped: u64,
    pub(super) statistics: CoreStatistics,
}

impl Core {
    pub(super) fn new(config: &BarrelConfig) -> Self {
        Self {
            threads: vec![None; config.contexts],
            ready: vec![NEVER; config.contexts],
            last: config.contexts - 1,
            slot: 0,
            wake: NEVER,
            quantum_end: 0,
            swapped: 0,
            statistics: CoreStatistics::default(),
        }
    }

    /// The next context in turn that can go on.
    #[inline]
    pub(super) fn next_ready(&self, cycle: u64) -> Option<usize> {
        let (before, after) = self.ready.split_at(self.last + 1);
        let ready = |&ready: &u64| ready <= cycle;
        after.iter().position(ready).map(|context| context + self.last + 1).or_else(|| before.iter().position(ready))
    }

    #[inline]
    pub(super) fn has_no_active(&self) -> bool {
        self.ready.iter().all(|&ready| ready == NEVER)
    }

    #[inline]
    pub(super) fn set_wake(&mut self) {
        let first = self.ready.iter().copied().min().unwrap_or(NEVER);
        self.wake = first.max(self.slot);
    }

    /// Counts the cycles before `cycle` as lost to `wait`, which began at `since`; before that there was nobody.
    #[inline]
    pub(super) fn lose_until(&mut self, cycle: u64, wait: Wait, since: u64) {
        if cycle > self.slot {
            let waited = cycle - self.slot.max(since.min(cycle));
            self.statistics.waited[wait as usize] += waited;
            self.statistics.waited[Wait::Idle as usize] += cycle - self.slot - waited;
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
            if state.free() > best.1 {
                best = (core, state.free());
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
                self.cores[core].ready[context] = at;
                self.cores[core].set_wake();
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
        state.lose_until(now, self.threads[first].wait, self.threads[first].since);
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
        self.cores[core].set_wake();
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
        state.ready[context] = ready;
        state.set_wake();
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
