// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue of a few entries: side by side, with or without wildcards.
//!
//! Entries stay in their slots, which handles name. Their order of age is a word of its own, four bits for each; and
//! where neither side has wildcards, digests of seven bits, in one word in order of age too, are compared all at once:
//! no branch depends on which of them it is, and the lowest is that of the oldest.
//!
//! `unsafe` here is of one kind: the index of an entry is not compared with their number. All that are used come out of
//! the order, which has only slots.

use crate::types::{Envelope, Handle, Pattern};

/// As many as digests fit into a word. With more, a table is as quick.
pub(super) const SLOTS: usize = 9;
/// Bits of a slot in the order.
const SLOT_BITS: u32 = 4;
/// One in each of them.
const EACH_SLOT: u64 = 0x1_1111_1111;
/// The order of an empty queue.
const IN_ORDER: u64 = 0x8_7654_3210;
/// Bits of a digest.
const DIGEST_BITS: u32 = 7;
/// One in each of them.
const EACH_DIGEST: u64 = 0x0102_0408_1020_4081;
/// Indices in handles of short queues begin here, above all others.
pub(super) const FIRST_INDEX: u32 = u32::MAX - SLOTS as u32;

/// What differs for most keys: of tags in a row for all that a queue can hold.
#[inline(always)]
fn digest(bits: u64, source: u32) -> u64 {
    (bits ^ u64::from(source) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - DIGEST_BITS)
}

/// The highest bit of each field of `width` bits that is zero, where `each` is one in each field; and perhaps of some
/// above one that is zero.
#[inline(always)]
fn zeros(fields: u64, each: u64, width: u32) -> u64 {
    fields.wrapping_sub(each) & !fields & each << (width - 1)
}

/// Closes the gap of a field of `width` bits.
#[inline(always)]
fn without(fields: u64, rank: u32, width: u32) -> u64 {
    let below = (1 << (rank * width)) - 1;
    fields & below | fields >> width & !below
}

/// The first slot of an order.
#[inline(always)]
fn slot(order: u64) -> u32 {
    order as u32 & ((1 << SLOT_BITS) - 1)
}

/// A receive or a message.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) bits: u64,
    /// Match bits that are compared: of a message, all.
    pub(super) compared: u64,
    pub(super) user: u64,
    /// What the owner wants to know of it besides.
    pub(super) stamp: u64,
    pub(super) source: u32,
    /// All ones if the source is compared, else zero.
    pub(super) source_mask: u32,
}

impl Entry {
    #[inline(always)]
    pub(super) fn receive(pattern: Pattern, user: u64, stamp: u64) -> Self {
        let Pattern { bits, ignore, source } = pattern;
        let source_mask = if source.is_some() { u32::MAX } else { 0 };
        Self { bits, compared: !ignore, user, stamp, source: source.unwrap_or(0), source_mask }
    }

    #[inline(always)]
    pub(super) fn message(envelope: Envelope, user: u64, stamp: u64) -> Self {
        let Envelope { bits, source } = envelope;
        Self { bits, compared: u64::MAX, user, stamp, source, source_mask: u32::MAX }
    }

    /// What a receive accepts.
    pub(super) fn pattern(&self) -> Pattern {
        Pattern { bits: self.bits, ignore: !self.compared, source: (self.source_mask != 0).then_some(self.source) }
    }
}

/// Where an entry is: so many are older; and its slot.
#[derive(Clone, Copy)]
pub(super) struct At {
    rank: u32,
    slot: u32,
}

pub(super) struct Short {
    len: u32,
    /// A bit for each whose entry has wildcards.
    wild: u32,
    /// A bit for each whose entry was moved to another structure, when all were.
    moved: u32,
    /// All slots: those with entries, that of the oldest in the lowest bits, and then the free ones.
    order: u64,
    /// The digests of the entries' keys, in the same order, and then zero.
    digests: u64,
    entries: [Entry; SLOTS],
}

impl Short {
    pub(super) fn new() -> Self {
        Self { len: 0, wild: 0, moved: 0, order: IN_ORDER, digests: 0, entries: [Entry::default(); SLOTS] }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.len < SLOTS as u32
    }

    /// Puts an entry into a free slot, which there must be; returns the slot.
    #[inline(always)]
    pub(super) fn insert(&mut self, entry: Entry, is_exact: bool) -> u32 {
        debug_assert!(self.has_room());
        let At { rank, slot } = self.at(self.len);
        if !is_exact {
            self.wild |= 1 << slot;
        }
        self.digests |= digest(entry.bits, entry.source) << (rank * DIGEST_BITS);
        self.len += 1;
        *self.entry_mut(slot) = entry;
        slot
    }

    /// Where the oldest receive is that accepts an envelope.
    #[inline(always)]
    pub(super) fn first_accepting(&self, Envelope { bits, source }: Envelope) -> Option<At> {
        if self.wild == 0 {
            return self.first_of(Envelope { bits, source });
        }
        self.first(|receive| {
            (receive.bits ^ bits) & receive.compared | u64::from((receive.source ^ source) & receive.source_mask) == 0
        })
    }

    /// Where the oldest message is that a pattern accepts.
    #[inline(always)]
    pub(super) fn first_accepted(&self, Pattern { bits, ignore, source }: Pattern) -> Option<At> {
        if self.len == 1 {
            let at = self.at(0);
            let message = self.entry(at);
            let (source, compared) = (source.unwrap_or(0), if source.is_some() { u32::MAX } else { 0 });
            let differs = (message.bits ^ bits) & !ignore | u64::from((message.source ^ source) & compared);
            return (differs == 0).then_some(at);
        }
        // One walk for each kind of pattern, with no more to compare than there is.
        match source {
            None => self.first_of_pairs(|message| (message.bits ^ bits) & !ignore == 0),
            Some(source) if ignore != 0 => {
                self.first_of_pairs(|message| (message.bits ^ bits) & !ignore | u64::from(message.source ^ source) == 0)
            }
            Some(source) => self.first_of(Envelope { bits, source }),
        }
    }

    /// Where the oldest entry with a key is, of entries without wildcards.
    #[inline(always)]
    fn first_of(&self, Envelope { bits, source }: Envelope) -> Option<At> {
        if self.len <= 1 {
            let at = self.at(0);
            let entry = self.entry(at);
            return (self.len == 1 && entry.bits == bits && entry.source == source).then_some(at);
        }
        let others = self.digests ^ digest(bits, source).wrapping_mul(EACH_DIGEST);
        let at = self.at(zeros(others, EACH_DIGEST, DIGEST_BITS).trailing_zeros() / DIGEST_BITS);
        if at.rank >= self.len {
            return None;
        }
        let entry = self.entry(at);
        let is_it = entry.bits == bits && entry.source == source;
        if is_it { Some(at) } else { self.first(|entry| entry.bits == bits && entry.source == source) }
    }

    /// Where the oldest entry is that `is_it`.
    #[inline(always)]
    fn first(&self, is_it: impl Fn(&Entry) -> bool) -> Option<At> {
        let mut order = self.order;
        for rank in 0..self.len {
            let at = At { rank, slot: slot(order) };
            if is_it(self.entry(at)) {
                return Some(at);
            }
            order >>= SLOT_BITS;
        }
        None
    }

    /// The same two at a time, so that with one or two nothing goes round: a probe takes no longer than that.
    #[inline(always)]
    fn first_of_pairs(&self, is_it: impl Fn(&Entry) -> bool) -> Option<At> {
        let (mut order, mut rank) = (self.order, 0);
        while rank < self.len {
            let at = At { rank, slot: slot(order) };
            if is_it(self.entry(at)) {
                return Some(at);
            }
            let at = At { rank: rank + 1, slot: slot(order >> SLOT_BITS) };
            if at.rank == self.len {
                return None;
            }
            if is_it(self.entry(at)) {
                return Some(at);
            }
            (order, rank) = (order >> (2 * SLOT_BITS), rank + 2);
        }
        None
    }

    /// Where the entry is that so many are older than, or a slot is free.
    #[inline(always)]
    fn at(&self, rank: u32) -> At {
        At { rank, slot: slot(self.order >> (rank * SLOT_BITS)) }
    }

    #[inline(always)]
    pub(super) fn entry(&self, at: At) -> &Entry {
        debug_assert!((at.slot as usize) < SLOTS);
        // SAFETY: see above.
        unsafe { self.entries.get_unchecked(at.slot as usize) }
    }

    #[inline(always)]
    fn entry_mut(&mut self, slot: u32) -> &mut Entry {
        debug_assert!((slot as usize) < SLOTS);
        // SAFETY: see above.
        unsafe { self.entries.get_unchecked_mut(slot as usize) }
    }

    /// Frees the slot of an entry; returns its user value.
    #[inline(always)]
    pub(super) fn remove(&mut self, at: At) -> u64 {
        if self.len == 1 {
            self.clear();
        } else {
            self.len -= 1;
            if self.wild != 0 {
                self.wild &= !(1 << at.slot);
            }
            let last = (SLOTS as u32 - 1) * SLOT_BITS;
            self.order = without(self.order, at.rank, SLOT_BITS) | u64::from(at.slot) << last;
            self.digests = without(self.digests, at.rank, DIGEST_BITS);
        }
        self.entry(at).user
    }

    /// Nothing is there. All of this is constant, so that what comes next waits for nothing that was before.
    #[inline(always)]
    fn clear(&mut self) {
        (self.len, self.wild, self.order, self.digests) = (0, 0, IN_ORDER, 0);
    }

    /// The handle of the entry in a slot; `generation` is the kind's and the age's.
    #[inline(always)]
    pub(super) fn handle(slot: u32, generation: u32) -> Handle {
        Handle::new(FIRST_INDEX + slot, generation)
    }

    /// The slot that a handle names, if it was made by [`Self::handle`].
    #[inline(always)]
    pub(super) fn slot(handle: Handle) -> Option<u32> {
        handle.index().checked_sub(FIRST_INDEX).filter(|slot| *slot < SLOTS as u32)
    }

    /// Takes back the entry in a slot, if there is one and its stamp `is_it`; returns its user value.
    #[inline(always)]
    pub(super) fn take_back(&mut self, slot: u32, is_it: impl Fn(u64) -> bool) -> Option<u64> {
        let others = self.order ^ (u64::from(slot) * EACH_SLOT);
        let rank = zeros(others, EACH_SLOT, SLOT_BITS).trailing_zeros() / SLOT_BITS;
        (rank < self.len && is_it(self.entries[slot as usize].stamp)).then(|| self.remove(At { rank, slot }))
    }

    /// The slots with entries, that of the oldest first.
    pub(super) fn each(&self) -> impl Iterator<Item = At> + use<> {
        let all: [At; SLOTS] = std::array::from_fn(|rank| self.at(rank as u32));
        all.into_iter().take(self.len as usize)
    }

    /// How many kinds of wildcards entries have.
    pub(super) fn kinds(&self) -> usize {
        let wild = || self.each().filter(|at| self.wild >> at.slot & 1 == 1);
        let kind = |at| (self.entry(at).compared, self.entry(at).source_mask);
        wild()
            .filter(|at| wild().take_while(|older| older.rank < at.rank).all(|older| kind(older) != kind(*at)))
            .count()
    }

    /// An entry has this handle from now on.
    pub(super) fn move_to(&mut self, at: At, handle: Handle) {
        self.entry_mut(at.slot).user = handle.into_raw();
    }

    /// All entries were moved.
    pub(super) fn end(&mut self) {
        self.moved = self.each().map(|at| 1 << at.slot).sum();
        self.clear();
    }

    /// The handle that an entry was moved to, if there was one in the slot and its stamp `is_it`.
    pub(super) fn moved(&self, slot: u32, is_it: impl Fn(u64) -> bool) -> Option<Handle> {
        let entry = &self.entries[slot as usize];
        (self.moved >> slot & 1 == 1 && is_it(entry.stamp)).then(|| Handle::from_raw(entry.user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, source: None };

    fn message(short: &mut Short, bits: u64, age: u64) -> u32 {
        short.insert(Entry::message(Envelope { bits, source: 0 }, age, age), true)
    }

    fn first(short: &Short, pattern: Pattern) -> Option<u64> {
        short.first_accepted(pattern).map(|at| short.entry(at).user)
    }

    #[test]
    fn tags_in_a_row_have_different_digests() {
        for begin in (0..20_000).chain([0x7f00_0000_0000, u64::MAX - 30]) {
            let digests: u128 = (begin..begin + SLOTS as u64).map(|tag| 1 << digest(tag, 3)).sum();
            assert_eq!(digests.count_ones() as usize, SLOTS, "from {begin}");
        }
    }

    /// The oldest is found where slots were used again in another order, among all and among those of one key.
    #[test]
    fn the_oldest_comes_first_wherever_it_is() {
        for (one, other) in [(0, 8), (3, 4), (7, 2)] {
            let mut short = Short::new();
            let slots: Vec<u32> = (0..SLOTS as u64).map(|age| message(&mut short, age % 3, age)).collect();
            assert!(!short.has_room());
            for slot in [one, other] {
                assert_eq!(short.take_back(slots[slot], |_| true), Some(slot as u64));
            }
            for age in [9, 10] {
                message(&mut short, age % 3, age);
            }
            let mut left: Vec<u64> = (0..11).filter(|age| ![one as u64, other as u64].contains(age)).collect();
            while let Some(&age) = left.first() {
                assert_eq!(first(&short, ANY), Some(age));
                for bits in 0..3 {
                    let expected = left.iter().copied().find(|age| age % 3 == bits);
                    assert_eq!(first(&short, Pattern::exactly(Envelope { bits, source: 0 })), expected);
                    assert_eq!(first(&short, Pattern { bits, ignore: 8, source: None }), expected);
                }
                assert_eq!(first(&short, Pattern::exactly(Envelope { bits: 0, source: 1 })), None);
                let At { slot, .. } = short.first_accepted(ANY).unwrap();
                assert_eq!(short.take_back(slot, |age| age == 99), None);
                assert_eq!(short.take_back(slot, |_| true), Some(left.remove(0)));
                assert_eq!(short.take_back(slot, |_| true), None);
            }
            assert_eq!((short.len(), first(&short, ANY)), (0, None));
        }
    }
}
