// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of descriptors of the matching MOPED, with the times at which its entries become free.

use mb_core::{Envelope, MsgId, Op, Pattern, QueueLengths, RecvId};
use mb_moped::matching::walk;
use mb_moped::parameters::MatchOrder;

/// A descriptor that waits for a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Descriptor {
    Receive(RecvId, Pattern),
    Send(MsgId, Envelope),
}

impl Descriptor {
    /// The operation that has brought it.
    pub(crate) const fn operation(self) -> Op {
        match self {
            Self::Receive(recv, pattern) => Op::Post { recv, pattern },
            Self::Send(msg, envelope) => Op::Arrive { msg, envelope },
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The descriptor with its age.
    waiting: Option<(u64, Descriptor)>,
    /// Without a descriptor: the first cycle in which the entry can be used again.
    free_at: u64,
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    order: MatchOrder,
    age: u64,
    lengths: QueueLengths,
}

impl Table {
    pub(crate) fn new(entries: usize, order: MatchOrder) -> Self {
        let slots = vec![Slot { waiting: None, free_at: 0 }; entries];
        Self { slots, order, age: 0, lengths: QueueLengths::default() }
    }

    pub(crate) const fn lengths(&self) -> QueueLengths {
        self.lengths
    }

    /// The first entry that is free in a cycle.
    pub(crate) fn free(&self, cycle: u64) -> Option<usize> {
        self.slots.iter().position(|slot| slot.waiting.is_none() && slot.free_at <= cycle)
    }

    /// The entry that matches a descriptor younger than all that wait, and how many entries are visited.
    pub(crate) fn search(&self, accepts: impl Fn(&Descriptor) -> bool) -> (Option<usize>, u64) {
        let waiting = self.slots.iter().enumerate();
        let waiting = waiting.filter_map(|(index, slot)| Some((index, slot.waiting?.0)));
        let accepts = |index: usize| self.slots[index].waiting.is_some_and(|(_, descriptor)| accepts(&descriptor));
        walk(self.order, self.slots.len(), u64::MAX, waiting, accepts)
    }

    pub(crate) fn get(&self, slot: usize) -> Option<Descriptor> {
        self.slots[slot].waiting.map(|(_, descriptor)| descriptor)
    }

    /// A descriptor waits in an entry.
    pub(crate) fn put(&mut self, slot: usize, descriptor: Descriptor) {
        self.age += 1;
        self.slots[slot].waiting = Some((self.age, descriptor));
        *self.length(descriptor) += 1;
    }

    /// An entry is empty, and can be used again from a cycle on.
    pub(crate) fn release(&mut self, slot: usize, free_at: u64) -> Option<Descriptor> {
        self.slots[slot].free_at = free_at;
        let (_, descriptor) = self.slots[slot].waiting.take()?;
        *self.length(descriptor) -= 1;
        Some(descriptor)
    }

    /// The entry of a posted receive.
    pub(crate) fn receive(&self, wanted: RecvId) -> Option<usize> {
        let is_wanted = |slot: &Slot| matches!(slot.waiting, Some((_, Descriptor::Receive(recv, _))) if recv == wanted);
        self.slots.iter().position(is_wanted)
    }

    /// The entry of the descriptor that has waited longest.
    pub(crate) fn oldest(&self) -> Option<usize> {
        let waiting = self.slots.iter().enumerate();
        waiting.filter_map(|(index, slot)| Some((slot.waiting?.0, index))).min().map(|(_, index)| index)
    }

    const fn length(&mut self, descriptor: Descriptor) -> &mut usize {
        match descriptor {
            Descriptor::Receive(..) => &mut self.lengths.posted,
            Descriptor::Send(..) => &mut self.lengths.unexpected,
        }
    }
}
