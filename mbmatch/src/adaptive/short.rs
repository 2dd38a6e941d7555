// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A short queue: up to nine entries side by side, with or without wildcards.
//!
//! ```text
//! order         slot of the oldest entry | next younger | ... | free slots     4 bits each, oldest in the low bits
//! fingerprints  of the oldest entry      | next younger | ... | 0              7 bits each, same order
//! entries       [slot 0] [slot 1] ... [slot 8]                                 never move; handles name the slot
//! ```
//!
//! The two words hold the order of age, so that inserting and removing an entry shifts bits and
//! moves no entry. The *rank* of an entry is its place in this order: 0 is the oldest. Where
//! neither side has wildcards, the fingerprint of the key is compared with all nine in one word,
//! without a branch for each entry; the lowest match is the oldest.
//!
//! Safety: every `unsafe` block omits a bounds check. Slots come from the order word, which holds
//! only slots, or from a handle that was checked.

use crate::types::{Envelope, Handle, Pattern};

/// As many as fingerprints fit into a word. From ten entries on, a table is as fast.
pub(super) const SHORT_CAPACITY: usize = 9;
/// Bits of a slot number in the order.
const SLOT_BITS: u32 = 4;
/// 1 in each field of the order.
const ONE_PER_SLOT: u64 = 0x1_1111_1111;
/// The order of an empty queue.
const INITIAL_ORDER: u64 = 0x8_7654_3210;
/// Bits of a fingerprint.
const FINGERPRINT_BITS: u32 = 7;
/// 1 in each fingerprint.
const ONE_PER_FINGERPRINT: u64 = 0x0102_0408_1020_4081;
/// Handles of short queues have indices from here on, above all others.
pub(super) const FIRST_INDEX: u32 = u32::MAX - SHORT_CAPACITY as u32;

/// The fingerprint of a key. Consecutive tags, as many as a queue can hold, have different ones.
#[inline(always)]
fn fingerprint(bits: u64, source: u32) -> u64 {
    (bits ^ u64::from(source) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - FINGERPRINT_BITS)
}

/// Sets the highest bit of each field that is zero, where fields have `width` bits and `each` is 1
/// in each. The lowest bit set is exact; fields above it may be wrong, since the subtraction
/// borrows from them.
#[inline(always)]
fn zero_fields(fields: u64, each: u64, width: u32) -> u64 {
    fields.wrapping_sub(each) & !fields & each << (width - 1)
}

/// Removes the field of this rank, and shifts those above it down.
#[inline(always)]
fn remove_field(fields: u64, rank: u32, width: u32) -> u64 {
    let below = (1 << (rank * width)) - 1;
    fields & below | fields >> width & !below
}

/// The lowest slot of an order.
#[inline(always)]
fn slot(order: u64) -> u32 {
    order as u32 & ((1 << SLOT_BITS) - 1)
}

/// A receive or a message.
#[derive(Clone, Copy, Default)]
pub(super) struct ShortEntry {
    pub(super) bits: u64,
    /// The match bits that are compared; of a message all.
    pub(super) compared: u64,
    pub(super) user: u64,
    /// Data of the owner: the age.
    pub(super) stamp: u64,
    pub(super) source: u32,
    /// All ones if the source is compared, else zero.
    pub(super) source_mask: u32,
}

impl ShortEntry {
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

    /// The pattern of a receive.
    pub(super) fn pattern(&self) -> Pattern {
        Pattern { bits: self.bits, ignore: !self.compared, source: (self.source_mask != 0).then_some(self.source) }
    }
}

/// Where an entry is: its rank by age, and its slot.
#[derive(Clone, Copy)]
pub(super) struct Position {
    rank: u32,
    slot: u32,
}

/// The queue. The module describes its words.
pub(super) struct ShortQueue {
    len: u32,
    /// A bit for each slot whose entry has wildcards.
    wildcards: u32,
    /// A bit for each slot whose entry was moved to the table when the queue overflowed.
    forwarded: u32,
    /// Slots by age, the oldest in the lowest bits, then the free slots.
    order: u64,
    /// Fingerprints by age, then zeros.
    fingerprints: u64,
    entries: [ShortEntry; SHORT_CAPACITY],
}

impl ShortQueue {
    pub(super) fn new() -> Self {
        Self {
            len: 0,
            wildcards: 0,
            forwarded: 0,
            order: INITIAL_ORDER,
            fingerprints: 0,
            entries: [ShortEntry::default(); SHORT_CAPACITY],
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.len < SHORT_CAPACITY as u32
    }

    /// Stores an entry in a free slot, of which there must be one; returns the slot.
    #[inline(always)]
    pub(super) fn insert(&mut self, entry: ShortEntry, is_exact: bool) -> u32 {
        debug_assert!(self.has_room());
        let Position { rank, slot } = self.at(self.len);
        if !is_exact {
            self.wildcards |= 1 << slot;
        }
        self.fingerprints |= fingerprint(entry.bits, entry.source) << (rank * FINGERPRINT_BITS);
        self.len += 1;
        *self.entry_mut(slot) = entry;
        slot
    }

    /// The oldest receive that accepts an envelope.
    #[inline(always)]
    pub(super) fn oldest_accepting(&self, Envelope { bits, source }: Envelope) -> Option<Position> {
        if self.wildcards == 0 {
            return self.oldest_with_key(Envelope { bits, source });
        }
        self.oldest_where(|receive| {
            (receive.bits ^ bits) & receive.compared | u64::from((receive.source ^ source) & receive.source_mask) == 0
        })
    }

    /// The oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn oldest_accepted(&self, Pattern { bits, ignore, source }: Pattern) -> Option<Position> {
        if self.len == 1 {
            let at = self.at(0);
            let message = self.entry(at);
            let (source, compared) = (source.unwrap_or(0), if source.is_some() { u32::MAX } else { 0 });
            let differs = (message.bits ^ bits) & !ignore | u64::from((message.source ^ source) & compared);
            return (differs == 0).then_some(at);
        }
        // A loop for each kind of pattern, which compares no more than that kind needs.
        match source {
            None => self.oldest_where_unrolled(|message| (message.bits ^ bits) & !ignore == 0),
            Some(source) if ignore != 0 => self.oldest_where_unrolled(|message| {
                (message.bits ^ bits) & !ignore | u64::from(message.source ^ source) == 0
            }),
            Some(source) => self.oldest_with_key(Envelope { bits, source }),
        }
    }

    /// The oldest entry with a key, among entries without wildcards.
    #[inline(always)]
    fn oldest_with_key(&self, Envelope { bits, source }: Envelope) -> Option<Position> {
        if self.len <= 1 {
            let at = self.at(0);
            let entry = self.entry(at);
            return (self.len == 1 && entry.bits == bits && entry.source == source).then_some(at);
        }
        let others = self.fingerprints ^ fingerprint(bits, source).wrapping_mul(ONE_PER_FINGERPRINT);
        let at =
            self.at(zero_fields(others, ONE_PER_FINGERPRINT, FINGERPRINT_BITS).trailing_zeros() / FINGERPRINT_BITS);
        if at.rank >= self.len {
            return None;
        }
        let entry = self.entry(at);
        let is_it = entry.bits == bits && entry.source == source;
        if is_it { Some(at) } else { self.oldest_where(|entry| entry.bits == bits && entry.source == source) }
    }

    /// The oldest entry that `matches`.
    #[inline(always)]
    fn oldest_where(&self, matches: impl Fn(&ShortEntry) -> bool) -> Option<Position> {
        let mut order = self.order;
        for rank in 0..self.len {
            let at = Position { rank, slot: slot(order) };
            if matches(self.entry(at)) {
                return Some(at);
            }
            order >>= SLOT_BITS;
        }
        None
    }

    /// As [`Self::oldest_where`], two entries in each turn: with one or two entries, a probe takes
    /// no backward branch.
    #[inline(always)]
    fn oldest_where_unrolled(&self, matches: impl Fn(&ShortEntry) -> bool) -> Option<Position> {
        let (mut order, mut rank) = (self.order, 0);
        while rank < self.len {
            let at = Position { rank, slot: slot(order) };
            if matches(self.entry(at)) {
                return Some(at);
            }
            let at = Position { rank: rank + 1, slot: slot(order >> SLOT_BITS) };
            if at.rank == self.len {
                return None;
            }
            if matches(self.entry(at)) {
                return Some(at);
            }
            (order, rank) = (order >> (2 * SLOT_BITS), rank + 2);
        }
        None
    }

    /// The position of this rank: an entry, or a free slot.
    #[inline(always)]
    fn at(&self, rank: u32) -> Position {
        Position { rank, slot: slot(self.order >> (rank * SLOT_BITS)) }
    }

    #[inline(always)]
    pub(super) fn entry(&self, at: Position) -> &ShortEntry {
        debug_assert!((at.slot as usize) < SHORT_CAPACITY);
        // SAFETY: a slot of the order; see the module.
        unsafe { self.entries.get_unchecked(at.slot as usize) }
    }

    #[inline(always)]
    fn entry_mut(&mut self, slot: u32) -> &mut ShortEntry {
        debug_assert!((slot as usize) < SHORT_CAPACITY);
        // SAFETY: a slot of the order; see the module.
        unsafe { self.entries.get_unchecked_mut(slot as usize) }
    }

    /// Removes an entry; returns its user value.
    #[inline(always)]
    pub(super) fn remove(&mut self, at: Position) -> u64 {
        if self.len == 1 {
            self.clear();
        } else {
            self.len -= 1;
            if self.wildcards != 0 {
                self.wildcards &= !(1 << at.slot);
            }
            let last = (SHORT_CAPACITY as u32 - 1) * SLOT_BITS;
            self.order = remove_field(self.order, at.rank, SLOT_BITS) | u64::from(at.slot) << last;
            self.fingerprints = remove_field(self.fingerprints, at.rank, FINGERPRINT_BITS);
        }
        self.entry(at).user
    }

    /// Empties the queue. Only constants are stored, so that the next operation depends on no
    /// earlier load.
    #[inline(always)]
    fn clear(&mut self) {
        (self.len, self.wildcards, self.order, self.fingerprints) = (0, 0, INITIAL_ORDER, 0);
    }

    /// The handle of the entry in a slot; `generation` is made from its age.
    #[inline(always)]
    pub(super) fn handle(slot: u32, generation: u32) -> Handle {
        Handle::new(FIRST_INDEX + slot, generation)
    }

    /// The handle of an entry; `generation` makes its part from the stamp.
    #[inline(always)]
    pub(super) fn handle_at(&self, at: Position, generation: impl Fn(u64) -> u32) -> Handle {
        Self::handle(at.slot, generation(self.entry(at).stamp))
    }

    /// The slot that a handle names, if [`Self::handle`] made it.
    #[inline(always)]
    pub(super) fn slot(handle: Handle) -> Option<u32> {
        handle.index().checked_sub(FIRST_INDEX).filter(|slot| *slot < SHORT_CAPACITY as u32)
    }

    /// Removes the entry in a slot, if there is one and `matches` accepts its stamp; returns its
    /// user value.
    #[inline(always)]
    pub(super) fn remove_slot(&mut self, slot: u32, matches: impl Fn(u64) -> bool) -> Option<u64> {
        let others = self.order ^ (u64::from(slot) * ONE_PER_SLOT);
        let rank = zero_fields(others, ONE_PER_SLOT, SLOT_BITS).trailing_zeros() / SLOT_BITS;
        (rank < self.len && matches(self.entries[slot as usize].stamp)).then(|| self.remove(Position { rank, slot }))
    }

    /// The position of the entry in a slot, if there is one and `matches` accepts its stamp.
    pub(super) fn find_slot(&self, slot: u32, matches: impl Fn(u64) -> bool) -> Option<Position> {
        self.positions().find(|at| at.slot == slot && matches(self.entry(*at).stamp))
    }

    /// Changes the source of an entry.
    pub(super) fn set_source(&mut self, at: Position, source: u32) {
        let entry = self.entry_mut(at.slot);
        let changed = fingerprint(entry.bits, entry.source) ^ fingerprint(entry.bits, source);
        entry.source = source;
        self.fingerprints ^= changed << (at.rank * FINGERPRINT_BITS);
    }

    /// The number of entries from the oldest to the one found, or of all.
    pub(super) fn compared(&self, found: Option<Position>) -> usize {
        found.map_or(self.len, |at| at.rank + 1) as usize
    }

    /// The positions of all entries, oldest first.
    pub(super) fn positions(&self) -> impl Iterator<Item = Position> + use<> {
        let all: [Position; SHORT_CAPACITY] = std::array::from_fn(|rank| self.at(rank as u32));
        all.into_iter().take(self.len as usize)
    }

    /// The number of different kinds of wildcards among the entries.
    pub(super) fn wildcard_kinds(&self) -> usize {
        let wildcards = || self.positions().filter(|at| self.wildcards >> at.slot & 1 == 1);
        let kind = |at| (self.entry(at).compared, self.entry(at).source_mask);
        wildcards()
            .filter(|at| wildcards().take_while(|older| older.rank < at.rank).all(|older| kind(older) != kind(*at)))
            .count()
    }

    /// Stores the handle that an entry has in the table, in place of its user value.
    pub(super) fn set_forward(&mut self, at: Position, handle: Handle) {
        self.entry_mut(at.slot).user = handle.into_raw();
    }

    /// Empties the queue after [`Self::set_forward`] of all entries. Their old handles stay valid
    /// through [`Self::forwarded`].
    pub(super) fn close(&mut self) {
        self.forwarded = self.positions().map(|at| 1 << at.slot).sum();
        self.clear();
    }

    /// The handle in the table of the entry that was in this slot, if `matches` accepts its stamp.
    pub(super) fn forwarded(&self, slot: u32, matches: impl Fn(u64) -> bool) -> Option<Handle> {
        let entry = &self.entries[slot as usize];
        (self.forwarded >> slot & 1 == 1 && matches(entry.stamp)).then(|| Handle::from_raw(entry.user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, source: None };

    fn message(short: &mut ShortQueue, bits: u64, age: u64) -> u32 {
        short.insert(ShortEntry::message(Envelope { bits, source: 0 }, age, age), true)
    }

    fn first(short: &ShortQueue, pattern: Pattern) -> Option<u64> {
        short.oldest_accepted(pattern).map(|at| short.entry(at).user)
    }
    #[test]
    fn consecutive_tags_have_different_fingerprints() {
        for begin in (0..20_000).chain([0x7f00_0000_0000, u64::MAX - 30]) {
            let fingerprints: u128 = (begin..begin + SHORT_CAPACITY as u64).map(|tag| 1 << fingerprint(tag, 3)).sum();
            assert_eq!(fingerprints.count_ones() as usize, SHORT_CAPACITY, "from {begin}");
        }
    }

    /// The oldest entry is found after slots were reused in another order, among all entries and
    /// among those of one key.
    #[test]
    fn the_oldest_is_found_in_any_slot() {
        for (one, other) in [(0, 8), (3, 4), (7, 2)] {
            let mut short = ShortQueue::new();
            let slots: Vec<u32> = (0..SHORT_CAPACITY as u64).map(|age| message(&mut short, age % 3, age)).collect();
            assert!(!short.has_room());
            for slot in [one, other] {
                assert_eq!(short.remove_slot(slots[slot], |_| true), Some(slot as u64));
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
                let Position { slot, .. } = short.oldest_accepted(ANY).unwrap();
                assert_eq!(short.remove_slot(slot, |age| age == 99), None);
                assert_eq!(short.remove_slot(slot, |_| true), Some(left.remove(0)));
                assert_eq!(short.remove_slot(slot, |_| true), None);
            }
            assert_eq!((short.len(), first(&short, ANY)), (0, None));
        }
    }
}
