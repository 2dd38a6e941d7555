// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hardware locks: named by an address, released by any thread, handed to the thread that has
//! waited longest.

use std::collections::{BTreeMap, VecDeque};

use mb_core::Cycles;

use super::config::CallCosts;

/// A lock that is held, or that was last held on a known core.
#[derive(Clone, Debug)]
struct Lock {
    holder: Option<usize>,
    /// The holder received the lock by handoff and has not yet repeated its acquire.
    granted: bool,
    /// The core of the last holder.
    core: usize,
    waiting: VecDeque<usize>,
}

/// All locks; a lock without an entry is free.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    costs: CallCosts,
    table: BTreeMap<u64, Lock>,
}

impl Locks {
    pub(super) fn new(costs: CallCosts) -> Self {
        Self { costs, table: BTreeMap::new() }
    }

    /// `thread` on `core` acquires a lock: the cycles that this takes, or `None` if it must wait.
    pub(super) fn acquire(&mut self, name: u64, thread: usize, core: usize) -> Option<Cycles> {
        let fresh = || Lock { holder: None, granted: false, core, waiting: VecDeque::new() };
        let lock = self.table.entry(name).or_insert_with(fresh);
        match lock.holder {
            None => {
                let transfer = if lock.core == core { Cycles::ZERO } else { self.costs.transfer };
                (lock.holder, lock.core) = (Some(thread), core);
                Some(self.costs.acquire + transfer)
            }
            Some(holder) if holder == thread && lock.granted => {
                (lock.granted, lock.core) = (false, core);
                Some(Cycles(1))
            }
            Some(_) => {
                lock.waiting.push_back(thread);
                None
            }
        }
    }

    /// Releases a lock and returns the thread that holds it now, if one was waiting. No effect on a
    /// free lock.
    pub(super) fn release(&mut self, name: u64) -> Option<usize> {
        let held = |lock: &&mut Lock| lock.holder.is_some() && !lock.granted;
        let lock = self.table.get_mut(&name).filter(held)?;
        lock.holder = lock.waiting.pop_front();
        lock.granted = lock.holder.is_some();
        let next = lock.holder;
        // The last core matters only if a transfer costs cycles.
        if next.is_none() && self.costs.transfer == Cycles::ZERO {
            self.table.remove(&name);
        }
        next
    }

    /// The cycles of a release.
    pub(super) fn release_cycles(&self) -> Cycles {
        self.costs.release
    }

    /// The core on which a lock was last held, if that is recorded.
    pub(super) fn core(&self, name: u64) -> Option<usize> {
        self.table.get(&name).map(|lock| lock.core)
    }
}
