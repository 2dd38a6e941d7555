// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collision chains and key lists.
//!
//! Invariants:
//! - `head` of a home slot is the oldest entry of the first key of its collision chain, or `NIL`.
//! - An entry that is alone in its chains has no links ([`LINKED`] is clear), and its line of links
//!   is not read.
//! - Otherwise `prev` and `next` of a key's entries form its list; `prev` of the oldest is the
//!   youngest, and `next` of the youngest is the next key of the collision chain. So both ends of a
//!   list and the next key are found from its oldest.

use super::{EntryTable, LINKED, Links, NIL, Oldest, Slot, is_slot};

impl EntryTable {
    /// Puts the key whose oldest entry is in `slot` at the head of a collision chain, before
    /// `next_key`.
    #[inline(always)]
    pub(super) fn push_key(&mut self, home: u32, slot: u32, next_key: u32) {
        self.get_mut(home).head = slot;
        if is_slot(next_key) {
            self.forget_fifo();
            self.ensure_links(slot);
            *self.next_key_mut(slot) = next_key;
        }
    }

    /// Gives an entry links that form a list of one, if it has none.
    #[inline(always)]
    pub(super) fn ensure_links(&mut self, slot: u32) {
        if !self.get(slot).is_linked() {
            *self.links_mut(slot) = Links { next: NIL, prev: slot };
            self.get_mut(slot).stamp |= LINKED;
        }
    }

    /// Unlinks the oldest entry of a key from the list of its key. Returns what takes its place in
    /// the collision chain: the next entry of the key, or else the next key, or `NIL`.
    #[inline(always)]
    pub(super) fn successor(&mut self, slot: u32) -> u32 {
        if !self.get(slot).is_linked() {
            return NIL;
        }
        let Links { next, prev: youngest } = *self.links(slot);
        if youngest != slot {
            self.links_mut(next).prev = youngest;
        }
        next
    }

    /// Fills the slot allocated for an entry, as the youngest of the key whose oldest entry is in
    /// `first`.
    #[inline(always)]
    pub(super) fn put_youngest(&mut self, first: u32, slot: u32, key: (u64, u32), stamp: u64, user: u64) {
        self.ensure_links(first);
        debug_assert!(stamp & LINKED == 0);
        self.put(slot, key, stamp + LINKED, user);
        let links = &mut *self.links;
        debug_assert!([first, slot].iter().all(|slot| (*slot as usize) < links.len()));
        // SAFETY: as in `links`. One borrow, since each `links_mut` after a store would load the
        // address of the links again.
        unsafe {
            let youngest = std::mem::replace(&mut links.get_unchecked_mut(first as usize).prev, slot);
            let next_key = std::mem::replace(&mut links.get_unchecked_mut(youngest as usize).next, slot);
            *links.get_unchecked_mut(slot as usize) = Links { next: next_key, prev: youngest };
        }
    }

    /// Removes the oldest entry of a key from its chains.
    #[inline(always)]
    pub(super) fn unchain(&mut self, Oldest { home, before, slot }: Oldest) {
        self.forget_fifo();
        let successor = self.successor(slot);
        if is_slot(before) {
            *self.next_key_mut(before) = successor;
        } else {
            self.get_mut(home).head = successor;
        }
    }

    /// Removes an entry from its chains, wherever it is in them.
    #[inline(never)]
    pub(super) fn unlink(&mut self, slot: u32, same_class: impl Fn(u64) -> bool) {
        let Slot { bits, source, .. } = *self.get(slot);
        let home = self.hash.home_slot(bits, source);
        if self.get(home).head == slot {
            return self.unchain(Oldest { home, before: NIL, slot });
        }
        let first = self.find(bits, source, same_class).expect("every entry is in the chain of its key");
        if first.slot == slot {
            return self.unchain(first);
        }
        self.forget_fifo();
        // It is not the oldest of its key, so that it has links.
        let Links { next, prev } = *self.links(slot);
        self.links_mut(prev).next = next;
        let youngest = self.links(first.slot).prev;
        // The oldest entry holds the link to the youngest.
        let younger = if youngest == slot { first.slot } else { next };
        self.links_mut(younger).prev = prev;
    }

    /// Changes the source of the entry in `slot`, which has no class, and puts it behind the older entries of its new
    /// key; `is_older` compares two slots.
    pub(in crate::adaptive) fn set_source(
        &mut self,
        slot: u32,
        source: u32,
        is_older: impl Fn(&Self, u32, u32) -> bool,
    ) {
        self.unlink(slot, |_| true);
        let entry = self.get_mut(slot);
        entry.stamp &= !LINKED;
        entry.source = source;
        let bits = entry.bits;
        let Some(Oldest { home, before, slot: first }) = self.find(bits, source, |_| true) else {
            let home = self.hash.home_slot(bits, source);
            return self.push_key(home, slot, self.get(home).head);
        };
        self.ensure_links(first);
        self.ensure_links(slot);
        let youngest = self.links(first).prev;
        if is_older(self, slot, first) {
            *self.links_mut(slot) = Links { next: first, prev: youngest };
            self.links_mut(first).prev = slot;
            if is_slot(before) {
                *self.next_key_mut(before) = slot;
            } else {
                self.get_mut(home).head = slot;
            }
            return;
        }
        let mut older = youngest;
        while is_older(self, slot, older) {
            older = self.links(older).prev;
        }
        // Of the youngest, the next key of the collision chain.
        let next = std::mem::replace(&mut self.links_mut(older).next, slot);
        *self.links_mut(slot) = Links { next, prev: older };
        let younger = if older == youngest { first } else { next };
        self.links_mut(younger).prev = slot;
    }

    /// The next key of the collision chain, after the key whose oldest entry is in `slot`; or
    /// `NIL`.
    #[inline(always)]
    pub(super) fn next_key(&self, slot: u32) -> u32 {
        if self.get(slot).is_linked() { self.links(self.links(slot).prev).next } else { NIL }
    }

    /// Where [`Self::next_key`] is stored. An entry without links uses its own, which has a meaning
    /// only in [`Self::rehash`].
    #[inline(always)]
    pub(super) fn next_key_mut(&mut self, slot: u32) -> &mut u32 {
        let youngest = if self.get(slot).is_linked() { self.links(slot).prev } else { slot };
        &mut self.links_mut(youngest).next
    }

    /// The links of an entry that has some.
    #[inline(always)]
    pub(super) fn links(&self, slot: u32) -> &Links {
        debug_assert!(self.get(slot).is_linked());
        // SAFETY: as in `get`; there are as many links as slots.
        unsafe { self.links.get_unchecked(slot as usize) }
    }

    #[inline(always)]
    pub(super) fn links_mut(&mut self, slot: u32) -> &mut Links {
        debug_assert!((slot as usize) < self.links.len());
        // SAFETY: as in `links`.
        unsafe { self.links.get_unchecked_mut(slot as usize) }
    }
}
