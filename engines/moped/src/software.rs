// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lists of software in back-off, and what the way into them and back costs.

use mb_core::{Op, Outcome, Picos, QueueLengths};
use mb_kit::MatchLists;

/// Cycles of the steps of a back-off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    /// The four messages by which the home of the program, another node, changes the bit everywhere.
    round: u64,
    /// A poll: a store and a load.
    poll: u64,
    /// From a poll until the descriptor is withdrawn and its MOPED knows.
    withdraw: u64,
}

impl Steps {
    /// For messages of `message` cycles and ports of `port`.
    pub(crate) const fn new(message: u64, port: u64) -> Self {
        Self { round: 4 * message, poll: 2 * port, withdraw: 1 + 2 * message }
    }

    /// The bit is set everywhere, and a rank takes its descriptors back: it polls all of them, and all again.
    pub(crate) const fn enter(&self, receives: usize) -> u64 {
        let descriptors = if receives == 0 { 1 } else { receives as u64 };
        self.round + 2 * self.poll * descriptors + self.withdraw
    }

    /// From the store that resumes until a descriptor is granted.
    pub(crate) const fn leave(&self) -> u64 {
        1 + self.round
    }

    /// From one descriptor to the next, each polled until it is revoked.
    pub(crate) const fn one(&self) -> u64 {
        2 * self.poll + self.withdraw
    }
}

/// The lists.
#[derive(Clone, Debug)]
pub(crate) struct Software {
    lists: MatchLists,
    operation: Picos,
    entry: Picos,
    /// When the processor has ended what it was given.
    free: Picos,
}

impl Software {
    pub(crate) fn new(operation: Picos, entry: Picos) -> Self {
        Self { lists: MatchLists::new(), operation, entry, free: Picos::ZERO }
    }

    /// An entry that comes from the table; by the rules of matching it meets none of the lists.
    pub(crate) fn adopt(&mut self, op: Op) {
        self.lists.apply(op);
    }

    /// The processor is busy until `time`.
    pub(crate) fn busy_until(&mut self, time: Picos) {
        self.free = self.free.max(time);
    }

    /// An operation at `now`: its outcome, its visits, and its end.
    pub(crate) fn serve(&mut self, now: Picos, op: Op) -> (Outcome, u32, Picos) {
        let (outcome, visits) = self.lists.apply(op);
        self.free = self.free.max(now) + self.operation + self.entry * u64::from(visits);
        (outcome, visits, self.free)
    }

    pub(crate) fn lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }
}
