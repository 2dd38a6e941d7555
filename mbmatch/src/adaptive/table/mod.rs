// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entries of a queue, by key: a hash table whose slots hold the entries themselves.
//!
//! The layout is drawn in [`super`]. In short: each key has a home slot. An entry is stored in the
//! home slot of its key if that is free, else in any free slot (a displaced entry). The keys of a
//! home slot form its *collision chain*, which begins at `head` of the home slot and links the
//! oldest entry of each key; the entries of one key form its *key list*, oldest first. For
//! receives, "key" includes the class.
//!
//! Cost: all operations are O(1), except that a search passes the keys before it in its collision
//! chain, half a key on average in a full table. Most operations touch one cache line: a slot is 32
//! bytes, aligned. An entry never moves, so that growth rebuilds the chains and copies nothing
//! within the table.
//!
//! Safety: every `unsafe` block omits a bounds check. Home slots, links and the numbers from
//! [`FreeSlots`] are below the number of slots, which never shrinks; every link names an occupied
//! slot.

mod chain;
mod fast;
mod fifo;
mod remembered;
#[cfg(test)]
mod tests;

pub(super) use fast::FastPath;
use remembered::Fifo;

use super::free_slots::{FreeSlots, slots_needed, usable_slots};
use super::hash::HomeHash;
use crate::heap::{Array, Heap};
use crate::pool::{check_allocation, prefetch};
use crate::types::{Envelope, Message, OutOfMemory};

/// No slot. Test with [`is_slot`].
pub(super) const NIL: u32 = u32::MAX;
/// Slots are numbered below this. Handles of scanned receives begin here.
pub(super) const MAX_SLOTS: usize = 1 << 31;
/// The table grows in whole words of the free bitmap.
const GROWTH_UNIT: usize = 64;
/// The stamp of a free slot. Owners never use it.
const FREE: u64 = 0;
/// Bit of a stamp: the entry's links are valid. Owners leave this bit and the next zero and ignore them.
const LINKED: u64 = 1;
/// Bit of a stamp: the bitmap has cleared the bit of the slot, which is set again when the entry leaves. Most entries
/// are in their home slots, whose bits stay set.
const CLEARED: u64 = 2;

/// Whether `slot` is not `NIL`. A test of the sign needs no 32-bit constant where slots are held in
/// 64-bit registers.
#[inline(always)]
pub(super) fn is_slot(slot: u32) -> bool {
    slot < MAX_SLOTS as u32
}

/// A slot of the table: its entry, if any, and the head of the collision chain of the keys whose
/// home slot this is. The two are independent: the entry may be a displaced one of another home
/// slot.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Slot {
    /// Match bits; of a receive only those that are compared.
    bits: u64,
    user: u64,
    /// The owner's data (age and class), [`LINKED`] and [`CLEARED`]; `FREE` if the slot is free.
    stamp: u64,
    /// 0 if any.
    source: u32,
    /// Head of the collision chain of this home slot, or `NIL`.
    head: u32,
}

impl Slot {
    const NONE: Self = Self { bits: 0, user: 0, stamp: FREE, source: 0, head: NIL };

    #[inline(always)]
    fn is_linked(&self) -> bool {
        self.stamp & LINKED != 0
    }
}

/// The links of an entry that is not alone in its chains.
#[derive(Clone, Copy)]
struct Links {
    /// The next younger entry of the key. Of the youngest: the next key of the collision chain, or
    /// `NIL`.
    next: u32,
    /// The next older entry of the key. Of the oldest: the youngest, which is itself if it is the
    /// only one.
    prev: u32,
}

/// The oldest entry of a key, and the way to it.
#[derive(Clone, Copy)]
pub(super) struct Oldest {
    home: u32,
    /// The previous key of the collision chain, or `NIL`.
    before: u32,
    pub(super) slot: u32,
}

/// The entries of a queue by key.
pub(super) struct EntryTable {
    slots: Array<Slot>,
    /// In an array of its own, since most entries have no links.
    links: Array<Links>,
    free: FreeSlots,
    hash: HomeHash,
    fifo: Fifo,
    /// The slot that the fast path found last for a displaced entry.
    displaced: u32,
    len: u32,
    /// The number of entries up to which a free slot is found quickly.
    usable: u32,
    /// The table grows by one of this many parts.
    growth_divisor: usize,
}

impl EntryTable {
    /// An empty table, which grows by one of `growth_divisor` parts of its capacity.
    pub(super) fn new(growth_divisor: usize, heap: Heap) -> Self {
        Self {
            slots: Array::new(heap),
            links: Array::new(heap),
            free: FreeSlots::new(heap),
            hash: HomeHash::default(),
            fifo: Fifo::NONE,
            displaced: 0,
            len: 0,
            usable: 0,
            growth_divisor,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    fn get(&self, slot: u32) -> &Slot {
        debug_assert!((slot as usize) < self.slots.len());
        // SAFETY: a home slot or a link; see the module.
        unsafe { self.slots.get_unchecked(slot as usize) }
    }

    #[inline(always)]
    fn get_mut(&mut self, slot: u32) -> &mut Slot {
        debug_assert!((slot as usize) < self.slots.len());
        // SAFETY: a home slot, a link, or a slot just allocated; see the module.
        unsafe { self.slots.get_unchecked_mut(slot as usize) }
    }

    /// Whether there is an entry in `slot`, which may be any number.
    #[inline(always)]
    fn is_occupied(&self, slot: u32) -> bool {
        self.slots.get(slot as usize).is_some_and(|entry| entry.stamp != FREE)
    }

    /// Whether `slot`, which must exist, is free.
    #[inline(always)]
    fn is_free(&self, slot: u32) -> bool {
        self.get(slot).stamp == FREE
    }

    /// The oldest entry of a key and class. The table must have been grown before. Cost: one step
    /// for each key of the chain.
    #[inline(always)]
    pub(super) fn find(&self, bits: u64, source: u32, same_class: impl Fn(u64) -> bool) -> Option<Oldest> {
        let home = self.hash.home_slot(bits, source);
        let mut slot = self.get(home).head;
        let mut before = NIL;
        while is_slot(slot) {
            debug_assert!(self.is_occupied(slot));
            let entry = self.get(slot);
            if entry.bits == bits && entry.source == source && same_class(entry.stamp) {
                return Some(Oldest { home, before, slot });
            }
            before = slot;
            slot = self.next_key(slot);
        }
        None
    }

    /// Calls `visit` with the oldest entry of each class of a key, and with its stamp.
    #[inline(always)]
    pub(super) fn for_each_oldest(&self, bits: u64, source: u32, mut visit: impl FnMut(Oldest, u64)) {
        let home = self.hash.home_slot(bits, source);
        let mut slot = self.get(home).head;
        let mut before = NIL;
        while is_slot(slot) {
            let entry = self.get(slot);
            if entry.bits == bits && entry.source == source {
                visit(Oldest { home, before, slot }, entry.stamp);
            }
            before = slot;
            slot = self.next_key(slot);
        }
    }

    /// Makes sure that there is a free slot for one more entry: one of the capacity, else one of a table that has
    /// grown, else one that is found slowly because there is no memory for more.
    #[inline(always)]
    pub(super) fn make_room(&mut self) -> Result<(), OutOfMemory> {
        if (self.len as usize) < self.capacity() { Ok(()) } else { self.grow() }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), OutOfMemory> {
        let count = self.capacity();
        let grown = self.reserve(count + (count / self.growth_divisor).max(1));
        if (self.len as usize) < self.slots.len() { Ok(()) } else { grown }
    }

    /// Grows the capacity to `entries` in total. Entries keep their slots; the collision chains are
    /// rebuilt.
    #[cold]
    pub(super) fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        if entries <= self.capacity() {
            return Ok(());
        }
        check_allocation::<Slot>(self.slots.heap(), slots_needed(entries).saturating_add(GROWTH_UNIT))?;
        let count = slots_needed(entries).next_multiple_of(GROWTH_UNIT);
        // Positions in the age index, which has holes, must stay below 2^30 too.
        if count > MAX_SLOTS / 4 {
            return Err(OutOfMemory);
        }
        // Everything that can fail comes before the first change.
        self.slots.reserve_exact(count - self.slots.len())?;
        self.links.reserve_exact(count - self.links.len())?;
        self.free.reserve(count)?;
        self.slots.resize(count, Slot::NONE);
        self.links.resize(count, Links { next: NIL, prev: NIL });
        self.free.extend(count);
        self.usable = usable_slots(count) as u32;
        self.hash = HomeHash::new(count);
        self.rehash();
        Ok(())
    }

    /// Rebuilds the collision chains for the new home slots.
    fn rehash(&mut self) {
        self.forget_fifo();
        // First all keys are put into one chain, since a slot may be an old and a new home slot.
        let mut all = NIL;
        for home in 0..self.slots.len() {
            let mut slot = std::mem::replace(&mut self.slots[home].head, NIL);
            while is_slot(slot) {
                let next_key = self.next_key(slot);
                *self.next_key_mut(slot) = all;
                all = std::mem::replace(&mut slot, next_key);
            }
        }
        while is_slot(all) {
            let Slot { bits, source, .. } = *self.get(all);
            let slot = all;
            all = std::mem::replace(self.next_key_mut(slot), NIL);
            let home = self.hash.home_slot(bits, source);
            self.push_key(home, slot, self.get(home).head);
        }
    }

    /// Appends an entry as the youngest of its key and class. There must be capacity. Returns its
    /// slot.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        (bits, source): (u64, u32),
        stamp: u64,
        user: u64,
        same_class: impl Fn(u64) -> bool,
    ) -> u32 {
        let home = self.hash.home_slot(bits, source);
        let (slot, stamp) = if self.is_free(home) { (home, stamp) } else { (self.any_free_slot(), stamp + CLEARED) };
        if let Some(Oldest { slot: first, .. }) = self.find(bits, source, same_class) {
            self.forget_fifo();
            self.put_youngest(first, slot, (bits, source), stamp, user);
        } else {
            self.put(slot, (bits, source), stamp, user);
            self.push_key(home, slot, self.get(home).head);
        }
        slot
    }

    /// A free slot, of which there must be one. Its bit is cleared.
    fn any_free_slot(&mut self) -> u32 {
        loop {
            match self.free.next() {
                Some(slot) if self.is_free(slot) => return slot,
                Some(slot) => self.get_mut(slot).stamp |= CLEARED,
                None => {
                    // Most of these lines are written before they are read, which the hardware
                    // prefetcher does not cover.
                    if let Some(slots) = self.free.advance() {
                        prefetch(&self.slots[slots.clone()]);
                        prefetch(&self.links[slots]);
                    }
                }
            }
        }
    }

    /// The table is empty: its slots are handed out from the first one again.
    pub(super) fn restart_free_slots(&mut self) {
        debug_assert!(self.len == 0);
        self.forget_fifo();
        self.free.restart();
    }

    /// Frees the slot of an entry that is in no chain any more.
    #[inline(always)]
    fn release(&mut self, slot: u32) {
        debug_assert!(self.is_occupied(slot));
        self.len -= 1;
        let stamp = std::mem::replace(&mut self.get_mut(slot).stamp, FREE);
        if stamp & CLEARED != 0 {
            // SAFETY: the slot of an entry exists.
            unsafe { self.free.release(slot) }
        }
    }

    /// Fills the slot allocated for an entry, without links.
    #[inline(always)]
    fn put(&mut self, slot: u32, (bits, source): (u64, u32), stamp: u64, user: u64) {
        self.len += 1;
        let entry = self.get_mut(slot);
        (entry.bits, entry.user, entry.stamp, entry.source) = (bits, user, stamp, source);
    }

    /// Takes the oldest entry of a key.
    #[inline(always)]
    pub(super) fn take(&mut self, first: Oldest) -> Message {
        self.unchain(first);
        let message = self.message(first);
        self.release(first.slot);
        message
    }

    /// Removes the entry in `slot`, which may be any number, if it is the one that `is_named`
    /// accepts by its stamp. Returns its user value.
    #[inline(always)]
    pub(super) fn remove_at(
        &mut self,
        slot: u32,
        is_named: impl FnOnce(u64) -> bool,
        same_class: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        if !self.is_occupied(slot) || !is_named(self.stamp(slot)) {
            return None;
        }
        self.unlink(slot, same_class);
        let user = self.get(slot).user;
        self.release(slot);
        Some(user)
    }

    /// Takes the entry in `slot`, which is the oldest of its key and class.
    #[inline(always)]
    pub(super) fn take_oldest_at(&mut self, slot: u32, same_class: impl Fn(u64) -> bool) -> Message {
        if self.get(slot).head == slot {
            self.forget_fifo();
            self.get_mut(slot).head = self.successor(slot);
        } else {
            self.unlink(slot, same_class);
        }
        self.release(slot);
        self.message_at(slot)
    }

    /// The oldest entry of a key, as a message.
    #[inline(always)]
    pub(super) fn message(&self, first: Oldest) -> Message {
        self.message_at(first.slot)
    }

    /// The entry in `slot`, as a message.
    #[inline(always)]
    pub(super) fn message_at(&self, slot: u32) -> Message {
        let entry = self.get(slot);
        Message { user: entry.user, envelope: Envelope { bits: entry.bits, source: entry.source } }
    }

    /// The stamp of the entry in `slot`, which may be any number.
    #[inline(always)]
    pub(super) fn stamp_at(&self, slot: u32) -> Option<u64> {
        self.is_occupied(slot).then(|| self.stamp(slot))
    }

    /// Calls `visit` with the slot, envelope and stamp of every entry, in no order.
    #[inline(always)]
    pub(super) fn for_each_entry(&self, mut visit: impl FnMut(u32, Envelope, u64)) {
        for (entry, slot) in self.slots.iter().zip(0..) {
            if entry.stamp != FREE {
                visit(slot, Envelope { bits: entry.bits, source: entry.source }, entry.stamp);
            }
        }
    }

    /// The number of slots, which grows with the table; a multiple of 64.
    #[inline(always)]
    pub(super) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The match bits in `slot`, which stay there until another entry takes it.
    #[inline(always)]
    pub(super) fn bits_at(&self, slot: u32) -> u64 {
        self.get(slot).bits
    }

    /// The home slot of match bits, whatever the source.
    #[inline(always)]
    pub(super) fn home_of_bits(&self, bits: u64) -> u32 {
        self.hash.home_slot(bits, 0)
    }

    /// The number of entries before the table grows.
    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        self.usable as usize
    }

    /// The stamp of an entry.
    #[inline(always)]
    fn stamp(&self, slot: u32) -> u64 {
        debug_assert!(self.is_occupied(slot));
        self.get(slot).stamp
    }

    /// The stamp of the oldest entry of a key.
    #[inline(always)]
    pub(super) fn stamp_of(&self, first: Oldest) -> u64 {
        self.stamp(first.slot)
    }

    /// Changes the stamp of an entry.
    pub(super) fn restamp(&mut self, slot: u32, stamp: impl FnOnce(u64) -> u64) {
        let old = &mut self.slots[slot as usize].stamp;
        *old = stamp(*old) | *old & (LINKED | CLEARED);
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes() + self.links.bytes() + self.free.bytes()
    }

    /// The number of keys that a search for a key passes, itself included.
    pub(super) fn compared(&self, bits: u64, source: u32) -> usize {
        let (mut count, mut slot) = (0, NIL);
        if self.len > 0 {
            slot = self.get(self.hash.home_slot(bits, source)).head;
        }
        while is_slot(slot) {
            count += 1;
            let entry = self.get(slot);
            if entry.bits == bits && entry.source == source {
                break;
            }
            slot = self.next_key(slot);
        }
        count
    }
}
