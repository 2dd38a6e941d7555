// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One memory for the entries of both queues, linked into lists; elements beyond its capacity are in host memory.
//!
//! An entry is in one list, and, if its queue keeps one, also in the chain of all entries of that
//! queue in order of age. Links go both ways, for the host's sake: what a one-way list costs its
//! owner is counted in [`crate::queue`]. Elements are taken from the memory as long as it has a
//! free one, and stay where they are. Cost: constant per access.

use mb_core::{Envelope, Initiator, Pattern};

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// A posted receive or an unexpected message. A message is a pattern without wildcards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketEntry {
    pub(crate) name: u64,
    pub(crate) pattern: Pattern,
    /// Smaller is older.
    pub(crate) age: u64,
    /// The list it is in.
    pub(crate) list: u32,
}

impl BucketEntry {
    /// The envelope of an unexpected message.
    pub(crate) fn envelope(&self) -> Envelope {
        Envelope { bits: self.pattern.bits, initiator: self.pattern.initiator.unwrap_or(Initiator(0)) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    prev: u32,
}

/// Which links of an element: those of its list, or those of the chain of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chain {
    List,
    All,
}

/// The first and last element of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) first: u32,
    last: u32,
}

impl Ends {
    pub(crate) const EMPTY: Self = Self { first: NONE, last: NONE };
}

/// The elements.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    entries: Vec<BucketEntry>,
    links: Vec<[Link; 2]>,
    capacity: u32,
    /// Elements that were given back: of the memory, and of host memory.
    free: [Vec<u32>; 2],
    /// Elements of the memory that were never in use start here; those of host memory start at the capacity.
    fresh: u32,
}

impl Memory {
    pub(crate) const fn new(capacity: u32) -> Self {
        Self { entries: Vec::new(), links: Vec::new(), capacity, free: [Vec::new(), Vec::new()], fresh: 0 }
    }

    pub(crate) fn get(&self, slot: u32) -> &BucketEntry {
        &self.entries[slot as usize]
    }

    pub(crate) fn next(&self, chain: Chain, slot: u32) -> u32 {
        self.links[slot as usize][chain as usize].next
    }

    /// Whether `slot` is in host memory.
    pub(crate) const fn is_spilled(&self, slot: u32) -> bool {
        slot >= self.capacity
    }

    /// Stores `entry`: in the memory, or in host memory if that is full.
    pub(crate) fn store(&mut self, entry: BucketEntry) -> u32 {
        let unlinked = [Link { next: NONE, prev: NONE }; 2];
        // The elements of host memory follow those of the memory, which is therefore filled first.
        let slot = match self.free[0].pop() {
            Some(slot) => slot,
            None if self.fresh < self.capacity => self.fresh,
            None => self.free[1].pop().unwrap_or(self.fresh),
        };
        if slot == self.fresh {
            self.fresh += 1;
            self.entries.push(entry);
            self.links.push(unlinked);
        } else {
            self.entries[slot as usize] = entry;
            self.links[slot as usize] = unlinked;
        }
        slot
    }

    /// Returns the element of an entry that is no longer in a list.
    pub(crate) fn release(&mut self, slot: u32) {
        self.free[usize::from(self.is_spilled(slot))].push(slot);
    }

    /// Appends `slot` to a list.
    pub(crate) fn append(&mut self, chain: Chain, ends: &mut Ends, slot: u32) {
        self.links[slot as usize][chain as usize] = Link { next: NONE, prev: ends.last };
        match ends.last {
            NONE => ends.first = slot,
            last => self.links[last as usize][chain as usize].next = slot,
        }
        ends.last = slot;
    }

    /// Takes `slot` out of a list.
    pub(crate) fn unlink(&mut self, chain: Chain, ends: &mut Ends, slot: u32) {
        let Link { next, prev } = self.links[slot as usize][chain as usize];
        match prev {
            NONE => ends.first = next,
            prev => self.links[prev as usize][chain as usize].next = next,
        }
        match next {
            NONE => ends.last = prev,
            next => self.links[next as usize][chain as usize].prev = prev,
        }
    }
}
