// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Contexts of cores, and slot arbitration among them.

use super::config::BarrelConfig;
use super::statistics::{BarrelStatistics, Wait};
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
    pub(super) ready: Vec<u64>,
    /// Contexts whose `ready` is not `NEVER`.
    active: usize,
    /// The context of the last slot.
    pub(super) last: usize,
    /// The context of the next slot.
    next: usize,
    /// The cycle of the next slot.
    wake: u64,
    /// The first cycle whose slot is not yet used.
    pub(super) slot: u64,
    pub(super) quantum_end: u64,
    /// When the latest swap ends.
    pub(super) swapped: u64,
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
    pub(super) fn free(&self) -> usize {
        self.threads.iter().filter(|thread| thread.is_none()).count()
    }
}
