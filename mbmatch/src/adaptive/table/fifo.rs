// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations on the key list that grew last, as a FIFO queue ([`Fifo`]).
//!
//! Programs that send many messages of one envelope append to one key list and take from it. Both ends of that list
//! are remembered: its home slot, whose `head` is the oldest entry, and its youngest entry. An operation with its key
//! then needs no hash and no comparison with an entry; one with another key compares the match bits and goes on.
//! The slot after the youngest is taken if it is free, without the bitmap, whose bit stays set: it is a hint.
//!
//! Invariant: if there is such a list, it is the first of its collision chain, its entries have links, it is not
//! empty, and no other class has entries with its key at the head of the chain. Every other change of a chain forgets
//! the list, or leaves its first key and that key's youngest entry unchanged. In a queue of several classes the list
//! may be one of receives with wildcards. Only a queue of one class without wildcards uses the list; before a queue
//! becomes one, that list is empty, and therefore forgotten.

use super::remembered::{Fifo, NONE};
use super::{CLEARED, EntryTable, FREE, FastPath, LINKED, Links, NIL, Oldest, Slot, is_slot};

impl EntryTable {
    /// Remembers the list of a key that is the first of its collision chain and whose entries have links.
    #[inline(always)]
    pub(super) fn remember_fifo(&mut self, (bits, source): (u64, u32), home: u32, youngest: u32) {
        self.fifo = Fifo { bits, source: source.into(), home, youngest };
    }

    /// Forgets the list, before or after its chain changes.
    #[inline(always)]
    pub(in crate::adaptive) fn forget_fifo(&mut self) {
        self.fifo.source = NONE;
    }

    /// The home slot, the oldest and the youngest entry of the list, if it has this key.
    #[inline(always)]
    fn fifo_of(&self, bits: u64, source: u32) -> Option<(Oldest, u32)> {
        if !self.fifo.has_key(bits, source) {
            return None;
        }
        let Fifo { home, youngest, .. } = self.fifo;
        let slot = self.get(home).head;
        debug_assert!(home == self.hash.home_slot(bits, source) && is_slot(slot));
        debug_assert!(self.get(slot).bits == bits && self.get(slot).source == source);
        debug_assert!(self.links(slot).prev == youngest && self.get(youngest).is_linked());
        Some((Oldest { home, before: NIL, slot }, youngest))
    }

    /// Checks the invariant.
    #[cfg(test)]
    pub(in crate::adaptive) fn check_fifo(&self) {
        let Fifo { bits, source, home, youngest } = self.fifo;
        if source == NONE {
            return;
        }
        assert_eq!(home, self.hash.home_slot(bits, source as u32));
        let oldest = self.get(home).head;
        let mut at = oldest;
        loop {
            assert!(is_slot(at), "the list ends before its youngest entry");
            let entry = self.get(at);
            assert!(entry.stamp != FREE && entry.is_linked() && (entry.bits, entry.source.into()) == (bits, source));
            if at == youngest {
                break;
            }
            at = self.links(at).next;
        }
        assert_eq!(self.links(oldest).prev, youngest);
    }

    /// Appends an entry if the list has its key and the slot after the youngest is free. Otherwise changes nothing.
    /// The table is of one class. Does not check the capacity, as [`EntryTable::append_fast`].
    #[inline(always)]
    pub(super) fn append_to_fifo(&mut self, (bits, source): (u64, u32), stamp: u64, user: u64) -> Option<u32> {
        let (Oldest { slot: first, .. }, youngest) = self.fifo_of(bits, source)?;
        let slot = youngest + 1;
        let entry = self.slots.get_mut(slot as usize).filter(|entry| entry.stamp == FREE)?;
        (entry.bits, entry.user, entry.stamp, entry.source) = (bits, user, stamp + LINKED, source);
        self.len += 1;
        self.fifo.youngest = slot;
        let links = &mut *self.links;
        // SAFETY: there are as many links as slots, and these slots exist.
        unsafe {
            links.get_unchecked_mut(first as usize).prev = slot;
            let next_key = std::mem::replace(&mut links.get_unchecked_mut(youngest as usize).next, slot);
            *links.get_unchecked_mut(slot as usize) = Links { next: next_key, prev: youngest };
        }
        Some(slot)
    }

    /// Takes the oldest entry if the list has this key; returns its user value. Declines the only entry of the list.
    /// `NoMatch`: there may be entries that are not in the list.
    #[inline(always)]
    pub(super) fn take_from_fifo(&mut self, bits: u64, source: u32) -> FastPath<u64> {
        let Some((Oldest { home, slot, .. }, youngest)) = self.fifo_of(bits, source) else { return FastPath::NoMatch };
        if slot == youngest {
            return FastPath::Decline;
        }
        let links = &mut *self.links;
        let slots = &mut *self.slots;
        // SAFETY: there are as many links as slots, and these slots exist.
        unsafe {
            let next = links.get_unchecked(slot as usize).next;
            links.get_unchecked_mut(next as usize).prev = youngest;
            slots.get_unchecked_mut(home as usize).head = next;
            let Slot { stamp, user, .. } = slots.get_unchecked_mut(slot as usize);
            let (stamp, user) = (std::mem::replace(stamp, FREE), *user);
            if stamp & CLEARED != 0 {
                self.free.release(slot);
            }
            self.len -= 1;
            FastPath::Taken(user)
        }
    }
}
