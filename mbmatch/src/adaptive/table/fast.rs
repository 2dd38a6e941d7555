// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fast paths of posting and matching.
//!
//! Those of the queues are inlined into the callers, make no calls, and decline entries with links, which only the FIFO
//! queue handles: the compiler saves the registers of all that is inlined at the start of a caller's function. The
//! others are steps of slow paths.

use super::{CLEARED, EntryTable, FREE, NIL, Oldest, Slot, is_slot};

/// The result of a fast path.
pub(in crate::adaptive) enum FastPath<T> {
    /// No entry matches.
    NoMatch,
    /// The oldest entry that matches was removed.
    Taken(T),
    /// The fast path does not apply. Nothing was changed; use the slow path.
    Decline,
}

impl EntryTable {
    /// Takes the oldest entry of a key from the FIFO queue, or if it has no links: then it is alone in its collision
    /// chain. Returns its user value. The table, of one class, must have been grown before. Declines in an empty table,
    /// whose owner notices by its slow path that it is empty.
    #[inline(always)]
    pub(in crate::adaptive) fn take_fast(&mut self, bits: u64, source: u32) -> FastPath<u64> {
        match self.take_from_fifo(bits, source) {
            FastPath::NoMatch => self.take_without_links(bits, source),
            taken => taken,
        }
    }

    #[inline(always)]
    fn take_without_links(&mut self, bits: u64, source: u32) -> FastPath<u64> {
        let home = self.hash.home_slot(bits, source);
        let slot = self.get(home).head;
        // An entry in its home slot has a branch of its own: the processor predicts it, and then
        // neither the loads from the entry nor the addresses of the stores wait for the load of the
        // head.
        if slot == home {
            return self.take_alone(home, home, bits, source);
        }
        if is_slot(slot) {
            return self.take_alone(home, slot, bits, source);
        }
        if self.len == 0 { FastPath::Decline } else { FastPath::NoMatch }
    }

    /// Takes the entry in `slot`, the head of its collision chain, if it has this key and no links.
    #[inline(always)]
    fn take_alone(&mut self, home: u32, slot: u32, bits: u64, source: u32) -> FastPath<u64> {
        let slots = &mut *self.slots;
        // SAFETY: as in `get`. One borrow, since `get_mut` after a store would load the address of
        // the slots again.
        let entry = unsafe { slots.get_unchecked_mut(slot as usize) };
        if entry.is_linked() {
            return FastPath::Decline;
        }
        if entry.bits != bits || entry.source != source {
            return FastPath::NoMatch;
        }
        let user = entry.user;
        let stamp = std::mem::replace(&mut entry.stamp, FREE);
        // SAFETY: as above.
        unsafe { slots.get_unchecked_mut(home as usize).head = NIL };
        self.len -= 1;
        if stamp & CLEARED != 0 {
            // SAFETY: the slot of an entry exists.
            unsafe { self.free.release(slot) };
        }
        FastPath::Taken(user)
    }

    /// Appends an entry to a table of one class that has been grown, to the FIFO queue or if its home slot has no
    /// collision chain. Otherwise changes no entry. Does not check the capacity: it is enough that a free slot is
    /// found.
    #[inline(always)]
    pub(in crate::adaptive) fn append_fast(&mut self, key: (u64, u32), stamp: u64, user: u64) -> Option<u32> {
        match self.append_to_fifo(key, stamp, user) {
            None => self.append_without_links(key, stamp, user),
            appended => appended,
        }
    }

    #[inline(always)]
    fn append_without_links(&mut self, key: (u64, u32), stamp: u64, user: u64) -> Option<u32> {
        debug_assert!(!self.slots.is_empty());
        let home = self.hash.home_slot(key.0, key.1);
        if is_slot(self.get(home).head) {
            return None;
        }
        self.append_alone(home, key, stamp, user)
    }

    /// Appends an entry whose home slot has no collision chain, if a free slot is found at once.
    #[inline(always)]
    fn append_alone(&mut self, home: u32, key: (u64, u32), stamp: u64, user: u64) -> Option<u32> {
        if self.is_free(home) {
            self.put_alone(home, home, key, stamp, user);
            return Some(home);
        }
        let slot = self.next_free_slot()?;
        self.put_alone(home, slot, key, stamp | self.get(slot).stamp, user);
        Some(slot)
    }

    /// The slot of the oldest entry of a key if it is the first of its collision chain. The table must have been grown
    /// before. Here `Taken` leaves the entry in its place.
    #[inline(always)]
    pub(in crate::adaptive) fn find_fast(&self, bits: u64, source: u32) -> FastPath<u32> {
        let slot = self.get(self.hash.home_slot(bits, source)).head;
        if !is_slot(slot) {
            return FastPath::NoMatch;
        }
        let entry = self.get(slot);
        if entry.bits == bits && entry.source == source {
            return FastPath::Taken(slot);
        }
        if is_slot(self.next_key(slot)) { FastPath::Decline } else { FastPath::NoMatch }
    }

    /// Removes the entry in `slot`, which may be any number, if `is_named` accepts its stamp and it is the first of its
    /// collision chain. Returns its user value and stamp. `None`: nothing was changed.
    #[inline(always)]
    pub(in crate::adaptive) fn remove_fast(
        &mut self,
        slot: u32,
        is_named: impl FnOnce(u64) -> bool,
    ) -> Option<(u64, u64)> {
        let Slot { bits, user, stamp, source, .. } = *self.slots.get(slot as usize)?;
        if stamp == FREE || !is_named(stamp) {
            return None;
        }
        let home = self.hash.home_slot(bits, source);
        if self.get(home).head != slot {
            return None;
        }
        self.unchain(Oldest { home, before: NIL, slot });
        self.release(slot);
        Some((user, stamp))
    }

    /// Appends an entry if its home slot has no collision chain, or by [`Self::append_to_chain`].
    #[inline(always)]
    pub(in crate::adaptive) fn append_at_head(
        &mut self,
        key: (u64, u32),
        stamp: u64,
        user: u64,
        same_class: impl Fn(u64) -> bool,
    ) -> Option<u32> {
        match self.append_without_links(key, stamp, user) {
            None => self.append_to_chain(key, stamp, user, same_class),
            appended => appended,
        }
    }

    /// Appends an entry whose home slot has a collision chain, if its key is the first of the chain or new beside one
    /// other. Otherwise changes nothing. Does not check the capacity, as [`Self::append_fast`].
    #[inline(always)]
    pub(in crate::adaptive) fn append_to_chain(
        &mut self,
        (bits, source): (u64, u32),
        stamp: u64,
        user: u64,
        same_class: impl Fn(u64) -> bool,
    ) -> Option<u32> {
        let home = self.hash.home_slot(bits, source);
        let first = self.get(home).head;
        if !is_slot(first) {
            return None;
        }
        let other = self.get(first);
        if other.bits == bits && other.source == source && same_class(other.stamp) {
            let slot = self.next_free_slot()?;
            self.put_youngest(first, slot, (bits, source), stamp | self.get(slot).stamp, user);
            self.remember_fifo((bits, source), home, slot);
            return Some(slot);
        }
        if is_slot(self.next_key(first)) {
            return None;
        }
        let slot = if self.is_free(home) { home } else { self.next_free_slot()? };
        self.put(slot, (bits, source), stamp | self.get(slot).stamp, user);
        self.push_key(home, slot, first);
        Some(slot)
    }

    /// Fills the slot allocated for an entry whose home slot has no collision chain.
    #[inline(always)]
    fn put_alone(&mut self, home: u32, slot: u32, (bits, source): (u64, u32), stamp: u64, user: u64) {
        self.len += 1;
        let slots = &mut *self.slots;
        // SAFETY: as in `get`. One borrow, as in `take_alone`.
        unsafe {
            let entry = slots.get_unchecked_mut(slot as usize);
            (entry.bits, entry.user, entry.stamp, entry.source) = (bits, user, stamp, source);
            slots.get_unchecked_mut(home as usize).head = slot;
        }
    }

    /// A free slot for a displaced entry, if one is found at once: the one that a displaced entry had last, else the
    /// next of the bitmap. Its stamp is [`CLEARED`] if its bit was cleared for this, else [`FREE`]: in memory, so
    /// that it takes no register.
    #[inline(always)]
    fn next_free_slot(&mut self) -> Option<u32> {
        if self.is_free(self.displaced) {
            return Some(self.displaced);
        }
        let slot = self.free.next()?;
        if !self.is_free(slot) {
            self.get_mut(slot).stamp |= CLEARED;
            return None;
        }
        self.get_mut(slot).stamp = CLEARED;
        self.displaced = slot;
        Some(slot)
    }
}
