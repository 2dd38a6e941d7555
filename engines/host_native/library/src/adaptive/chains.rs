// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The index of a long queue: entries of equal keys in a chain, oldest first, and a table of the chains' first.
//!
//! Every operation is O(1) however many keys there are, and however many entries of one key.

use crate::pool::{Entry, Kind, NIL, Pool};
use crate::table::{Spot, Table, hash};
use crate::types::{Envelope, Handle, Message, OutOfMemory};

/// A receive or a message. 40 bytes, of which 8 are the caller's.
#[derive(Clone, Copy, Default)]
pub(super) struct Item {
    /// Match bits; of a receive only those that are compared.
    pub(super) bits: u64,
    pub(super) user: u64,
    /// See [`mark`].
    pub(super) mark: u64,
    /// 0 if any.
    pub(super) source: u32,
    /// The next younger of the same key, or `NIL`.
    next: u32,
    /// The next older of the same key; of the oldest, the youngest.
    prev: u32,
    generation: u32,
}

/// What an item is marked with: a number of 56 bits that its owner chooses, and the class that its key belongs to.
#[inline(always)]
pub(super) fn mark(number: u64, class: u8) -> u64 {
    number << 8 | u64::from(class)
}

impl Item {
    #[inline(always)]
    pub(super) fn class(&self) -> u8 {
        self.mark as u8
    }

    #[inline(always)]
    pub(super) fn number(&self) -> u64 {
        self.mark >> 8
    }

    /// The item as a message.
    #[inline(always)]
    pub(super) fn message(&self) -> Message {
        Message { user: self.user, envelope: Envelope { bits: self.bits, source: self.source } }
    }

    #[inline(always)]
    fn has_key(&self, bits: u64, source: u32, class: u8) -> bool {
        self.bits == bits && self.source == source && self.class() == class
    }

    #[inline(always)]
    fn hash(&self) -> u64 {
        hash(self.bits, self.source, self.class())
    }
}

impl Entry for Item {
    #[inline(always)]
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }

    #[inline(always)]
    fn generation(&mut self) -> &mut u32 {
        &mut self.generation
    }
}

/// The first of a chain, and where the table has it.
#[derive(Clone, Copy)]
pub(super) struct First {
    hash: u64,
    spot: Spot,
}

impl First {
    #[inline(always)]
    pub(super) fn place(&self) -> u32 {
        self.spot.place
    }
}

/// The pool of a queue's items, and the chains that some of them are in.
pub(super) struct Chains {
    pub(super) pool: Pool<Item>,
    table: Table,
}

impl Chains {
    pub(super) fn new(kind: Kind) -> Self {
        Self { pool: Pool::new(kind), table: Table::default() }
    }

    /// Makes sure that `more` calls of [`Self::append`] have room.
    #[inline(always)]
    pub(super) fn make_room(&mut self, more: u32) -> Result<(), OutOfMemory> {
        if self.table.has_room(more) { Ok(()) } else { self.reserve(self.table.len() + more as usize) }
    }

    #[cold]
    pub(super) fn reserve(&mut self, keys: usize) -> Result<(), OutOfMemory> {
        let Self { pool, table } = self;
        table.reserve(keys, |place| pool[place].hash())
    }

    /// The oldest item of a key. There must have been room for an item.
    #[inline(always)]
    pub(super) fn find(&self, bits: u64, source: u32, class: u8) -> Option<First> {
        let hash = hash(bits, source, class);
        let spot = self.table.find(hash, |place| self.pool[place].has_key(bits, source, class))?;
        Some(First { hash, spot })
    }

    /// Puts an item into a free place of the pool, and appends it to the chain of its key. Both must have room.
    #[inline(always)]
    pub(super) fn append_new(&mut self, bits: u64, source: u32, mark: u64, user: u64) -> Handle {
        let (item, handle) = self.pool.take_place();
        (item.bits, item.source, item.mark, item.user, item.next) = (bits, source, mark, user, NIL);
        item.prev = handle.index();
        self.append(handle.index(), bits, source, mark as u8);
        handle
    }

    /// Gives the item at `place`, which is in no chain, a key, and appends it to the chain of its key.
    pub(super) fn append_old(&mut self, place: u32, bits: u64, source: u32, mark: u64) {
        let item = &mut self.pool[place];
        (item.bits, item.source, item.mark, item.next, item.prev) = (bits, source, mark, NIL, place);
        self.append(place, bits, source, mark as u8);
    }

    /// Appends what stands alone.
    #[inline(always)]
    fn append(&mut self, place: u32, bits: u64, source: u32, class: u8) {
        let Self { pool, table } = self;
        let is_it = |place| pool[place].has_key(bits, source, class);
        if let Some(first) = table.find_or_insert(hash(bits, source, class), place, is_it) {
            let youngest = std::mem::replace(&mut self.pool[first].prev, place);
            self.pool[youngest].next = place;
            self.pool[place].prev = youngest;
        }
    }

    /// Takes the first of a chain out of it and out of the pool.
    #[inline(always)]
    pub(super) fn take(&mut self, first: First) -> Item {
        let item = self.pool.remove(first.place());
        self.leave(first, item);
        item
    }

    /// Takes the first of a chain out of it, not out of the pool.
    #[inline(always)]
    fn leave(&mut self, first: First, Item { next, prev, .. }: Item) {
        if next == NIL {
            self.table.remove(first.hash, first.spot);
        } else {
            self.pool[next].prev = prev;
            self.table.replace(first.spot, next);
        }
    }

    /// Takes the item at `place` out of its chain, not out of the pool.
    pub(super) fn unlink(&mut self, place: u32) {
        let item = self.pool[place];
        let Some(first) = self.find(item.bits, item.source, item.class()) else { return };
        if first.place() == place {
            return self.leave(first, item);
        }
        self.pool[item.prev].next = item.next;
        // The oldest knows the youngest.
        let after = if item.next == NIL { first.place() } else { item.next };
        self.pool[after].prev = item.prev;
    }

    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes() + self.table.bytes()
    }
}
