// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Locks that are hardware: known by an address, handed to whoever waits longest, freed by anyone.

use std::collections::{BTreeMap, VecDeque};

use mb_core::Cycles;

use super::config::CallCosts;

/// A lock that is held, or was held on some core.
#[derive(Clone, Debug)]
struct Lock {
    holder: Option<usize>,
    /// The holder got it while it waited and does not know yet.
    granted: bool,
    /// The core of the last holder.
    core: usize,
    waiting: VecDeque<usize>,
}

/// All locks; one that is not listed is free.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    costs: CallCosts,
    table: BTreeMap<u64, Lock>,
}

impl Locks {
    pub(super) fn new(costs: CallCosts) -> Self {
        Self { costs, table: BTreeMap::new() }
    }

    /// `thread` on `core` asks for a lock: the cycles that takes, or `None` if it has to wait.
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

    /// Frees a lock, whoever took it; which thread has it now. Nothing, if nobody has it.
    pub(super) fn release(&mut self, name: u64) -> Option<usize> {
        let held = |lock: &&mut Lock| lock.holder.is_some() && !lock.granted;
        let lock = self.table.get_mut(&name).filter(held)?;
        lock.holder = lock.waiting.pop_front();
        lock.granted = lock.holder.is_some();
        let next = lock.holder;
        // Where it was held last matters only if that costs.
        if next.is_none() && self.costs.transfer == Cycles::ZERO {
            self.table.remove(&name);
        }
        next
    }

    /// The cycles that a release takes.
    pub(super) fn release_cycles(&self) -> Cycles {
        self.costs.release
    }

    /// The core on which a lock was last held.
    pub(super) fn core(&self, name: u64) -> Option<usize> {
        self.table.get(&name).map(|lock| lock.core)
    }
}
