// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A short queue: up to nine entries side by side, with or without wildcards.
//!
//! ```text
//! order         slot of the oldest entry | next younger | ... | free slots     7 bits each, oldest in the low bits
//! fingerprints  of the oldest entry      | next younger | ... | 0              7 bits each, same order
//! entries       [slot 0] [slot 1] ... [slot 8]       in each of a few arrays;  never move; handles name the slot
//! ```
//!
//! The two words hold the order of age, so that inserting and removing an entry shifts bits and
//! moves no entry. Fields of both words have the same width, so that one shift and one mask serve
//! both. Where neither side has wildcards, the fingerprint of the key is compared with all nine in
//! one word, without a branch for each entry; the lowest match is the oldest. That of a receive with
//! wildcards is 0.
//!
//! Safety: every `unsafe` block omits a bounds check. Slots come from the order word, which holds
//! only slots, or from a handle that was checked.

use crate::types::{Envelope, Handle, Pattern};

/// As many as fingerprints fit into a word. From ten entries on, a table is as fast.
pub(super) const SHORT_CAPACITY: usize = 9;
/// Bits of a field of either word: a slot number, or a fingerprint.
const FIELD_BITS: u32 = 7;
/// All fields.
const ALL_FIELDS: u32 = SHORT_CAPACITY as u32 * FIELD_BITS;
/// 1 in each field.
const ONE_PER_FIELD: u64 = 0x0102_0408_1020_4081;
/// The order of an empty queue: slots 0 to 8.
const INITIAL_ORDER: u64 = 0x080e_1828_4060_8080;
/// Bit of `wildcards`: the queue is closed.
const CLOSED: u32 = 1 << 31;
/// `end` of a closed queue whose owner has entries elsewhere.
const ELSEWHERE: u32 = u32::MAX;
/// Handles of short queues have indices from here on, above all others.
pub(super) const FIRST_INDEX: u32 = u32::MAX - SHORT_CAPACITY as u32;

/// The fingerprint of a key. Consecutive tags, as many as a queue can hold, have different ones.
#[inline(always)]
fn fingerprint(bits: u64, source: u32) -> u64 {
    (bits ^ u64::from(source) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - FIELD_BITS)
}

/// Where the first field that is zero begins, if there is one.
#[inline(always)]
fn first_zero_field(fields: u64) -> Option<u32> {
    // The highest bit of each field that is zero. The lowest bit set is exact; fields above it may be wrong, since the
    // subtraction borrows from them.
    let zeros = fields.wrapping_sub(ONE_PER_FIELD) & !fields & ONE_PER_FIELD << (FIELD_BITS - 1);
    (zeros != 0).then(|| zeros.trailing_zeros() - (FIELD_BITS - 1))
}

/// Removes the field that begins at `shift`, and shifts those above it down.
#[inline(always)]
fn remove_field(fields: u64, shift: u32) -> u64 {
    fields ^ (fields ^ fields >> FIELD_BITS) & u64::MAX << shift
}

/// The lowest slot of an order.
#[inline(always)]
fn slot(order: u64) -> u32 {
    order as u32 & ((1 << FIELD_BITS) - 1)
}

/// A receive or a message.
#[derive(Clone, Copy)]
pub(super) struct ShortEntry {
    pub(super) bits: u64,
    /// The match bits that are compared, of a receive.
    pub(super) compared: u64,
    pub(super) user: u64,
    /// Data of the owner: the age.
    pub(super) stamp: u64,
    pub(super) source: u32,
    /// All ones if the source is compared, else zero; of a receive.
    pub(super) source_mask: u32,
}

impl ShortEntry {
    /// The pattern of a receive.
    pub(super) fn pattern(&self) -> Pattern {
        Pattern { bits: self.bits, ignore: !self.compared, source: (self.source_mask != 0).then_some(self.source) }
    }
}

/// Where an entry is: where its fields begin in the two words, and its slot.
#[derive(Clone, Copy)]
pub(super) struct Position {
    shift: u32,
    slot: u32,
}

/// The queue. The module describes its words.
pub(super) struct ShortQueue {
    /// Where the fields of the entries end: as many times [`FIELD_BITS`] as there are entries. While the queue is
    /// closed, [`ELSEWHERE`] or 0, so that 0 always says that the owner has no entries.
    end: u32,
    /// Where `end` is when the queue is full: [`ALL_FIELDS`], or 0 while the queue is closed.
    end_when_full: u32,
    /// A bit for each slot whose entry has wildcards. [`CLOSED`] alone while the queue is closed.
    wildcards: u32,
    /// A bit for each slot whose entry was moved to the table when the queue overflowed.
    forwarded: u32,
    /// Slots by age, the oldest in the lowest bits, then the free slots.
    order: u64,
    /// Fingerprints by age, 0 of a receive with wildcards; then zeros.
    fingerprints: u64,
    /// The fields of the entries by slot, each in an array of its own: a slot number is then an index without a
    /// multiplication.
    bits: [u64; SHORT_CAPACITY],
    compared: [u64; SHORT_CAPACITY],
    user: [u64; SHORT_CAPACITY],
    stamp: [u64; SHORT_CAPACITY],
    source: [u32; SHORT_CAPACITY],
    source_mask: [u32; SHORT_CAPACITY],
}

/// The element of a slot.
#[inline(always)]
fn of<T: Copy>(fields: &[T; SHORT_CAPACITY], slot: u32) -> T {
    debug_assert!((slot as usize) < SHORT_CAPACITY);
    // SAFETY: a slot of the order; see the module.
    unsafe { *fields.get_unchecked(slot as usize) }
}

/// Stores the element of a slot.
#[inline(always)]
fn store<T>(fields: &mut [T; SHORT_CAPACITY], slot: u32, value: T) {
    debug_assert!((slot as usize) < SHORT_CAPACITY);
    // SAFETY: a slot of the order; see the module.
    unsafe { *fields.get_unchecked_mut(slot as usize) = value };
}

impl ShortQueue {
    pub(super) fn new() -> Self {
        Self {
            end: 0,
            end_when_full: ALL_FIELDS,
            wildcards: 0,
            forwarded: 0,
            order: INITIAL_ORDER,
            fingerprints: 0,
            bits: [0; SHORT_CAPACITY],
            compared: [u64::MAX; SHORT_CAPACITY],
            user: [0; SHORT_CAPACITY],
            stamp: [0; SHORT_CAPACITY],
            source: [0; SHORT_CAPACITY],
            source_mask: [u32::MAX; SHORT_CAPACITY],
        }
    }

    pub(super) fn len(&self) -> u32 {
        if self.is_open() { self.end / FIELD_BITS } else { 0 }
    }

    /// Whether the owner has no entry, here or elsewhere.
    #[inline(always)]
    pub(super) fn none_queued(&self) -> bool {
        // Only the low byte, which is zero only if `end` is: the compiler compares it in memory. The whole word would
        // be kept in a register for later uses of `end`, which the code for entries in a table needs otherwise.
        const LOW: usize = if cfg!(target_endian = "little") { 0 } else { size_of::<u32>() - 1 };
        // SAFETY: a byte of a valid reference.
        unsafe { *(&raw const self.end).cast::<u8>().add(LOW) == 0 }
    }

    /// Whether the queue is open and has entries. One comparison: `ELSEWHERE` is negative.
    #[inline(always)]
    pub(super) fn has_entries(&self) -> bool {
        self.end.cast_signed() > 0
    }

    /// Whether the owner has entries elsewhere; the queue is closed.
    #[inline(always)]
    pub(super) fn set_queued_elsewhere(&mut self, queued: bool) {
        debug_assert!(!self.is_open());
        self.end = if queued { ELSEWHERE } else { 0 };
    }

    /// Whether there is a free slot. A closed queue has none.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.end < self.end_when_full
    }

    /// Whether the queue is in use, empty or not.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.end_when_full != 0
    }

    /// Whether the queue is open and no entry has wildcards.
    #[inline(always)]
    pub(super) fn is_open_and_exact(&self) -> bool {
        self.wildcards == 0
    }

    /// Stores a receive in a free slot, of which there must be one; returns the slot.
    #[inline(always)]
    pub(super) fn insert_receive(&mut self, pattern: Pattern, user: u64, stamp: u64) -> u32 {
        match pattern {
            // Masks of a free slot are all ones, as those of an exact receive.
            Pattern { bits, ignore: 0, source: Some(source) } => {
                self.insert_exact(Envelope { bits, source }, user, stamp)
            }
            _ => self.insert_with_wildcards(pattern, user, stamp),
        }
    }

    /// As [`Self::insert_receive`], of a receive with wildcards.
    #[inline(always)]
    pub(super) fn insert_with_wildcards(&mut self, pattern: Pattern, user: u64, stamp: u64) -> u32 {
        let Pattern { bits, ignore, source } = pattern;
        // Fingerprints are not compared while there are wildcards, and this one leaves with its entry.
        let slot = self.insert_fingerprint(0);
        self.wildcards |= 1 << slot;
        self.store_masks(slot, !ignore, if source.is_some() { u32::MAX } else { 0 });
        self.store_entry(slot, Envelope { bits, source: source.unwrap_or(0) }, user, stamp);
        slot
    }

    /// Stores a message, or a receive without wildcards, in a free slot, of which there must be one; returns the slot.
    #[inline(always)]
    pub(super) fn insert_exact(&mut self, Envelope { bits, source }: Envelope, user: u64, stamp: u64) -> u32 {
        let slot = self.insert_fingerprint(fingerprint(bits, source));
        self.store_entry(slot, Envelope { bits, source }, user, stamp);
        slot
    }

    #[inline(always)]
    fn store_masks(&mut self, slot: u32, compared: u64, source_mask: u32) {
        store(&mut self.compared, slot, compared);
        store(&mut self.source_mask, slot, source_mask);
    }

    #[inline(always)]
    fn store_entry(&mut self, slot: u32, Envelope { bits, source }: Envelope, user: u64, stamp: u64) {
        store(&mut self.bits, slot, bits);
        store(&mut self.source, slot, source);
        store(&mut self.user, slot, user);
        store(&mut self.stamp, slot, stamp);
    }

    /// Takes the next free slot for an entry with this fingerprint.
    #[inline(always)]
    fn insert_fingerprint(&mut self, fingerprint: u64) -> u32 {
        debug_assert!(self.has_room());
        let Position { shift, slot } = self.at(self.end);
        self.fingerprints |= fingerprint << shift;
        self.end = shift + FIELD_BITS;
        slot
    }

    /// The oldest receive that accepts an envelope.
    #[inline(always)]
    pub(super) fn oldest_accepting(&self, Envelope { bits, source }: Envelope) -> Option<Position> {
        if self.is_open_and_exact() {
            return self.oldest_with_key(Envelope { bits, source });
        }
        self.oldest_accepting_beside_wildcards(Envelope { bits, source })
    }

    /// As [`Self::oldest_accepting`], where there are wildcards.
    #[inline(always)]
    pub(super) fn oldest_accepting_beside_wildcards(&self, Envelope { bits, source }: Envelope) -> Option<Position> {
        self.oldest_where(|receive| {
            (receive.bits ^ bits) & receive.compared | u64::from((receive.source ^ source) & receive.source_mask) == 0
        })
    }

    /// The oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn oldest_accepted(&self, Pattern { bits, ignore, source }: Pattern) -> Option<Position> {
        if self.end == FIELD_BITS {
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
    pub(super) fn oldest_with_key(&self, Envelope { bits, source }: Envelope) -> Option<Position> {
        if self.end <= FIELD_BITS {
            let at = self.at(0);
            let entry = self.entry(at);
            return (self.end == FIELD_BITS && entry.bits == bits && entry.source == source).then_some(at);
        }
        let shift = first_zero_field(self.fingerprints ^ fingerprint(bits, source).wrapping_mul(ONE_PER_FIELD))?;
        // The fields behind the last entry are zero, as a fingerprint may be.
        if shift >= self.end {
            return None;
        }
        let at = self.at(shift);
        let entry = self.entry(at);
        let is_it = entry.bits == bits && entry.source == source;
        if is_it { Some(at) } else { self.oldest_where(|entry| entry.bits == bits && entry.source == source) }
    }

    /// The oldest entry that `matches`.
    #[inline(always)]
    fn oldest_where(&self, matches: impl Fn(&ShortEntry) -> bool) -> Option<Position> {
        let (mut order, mut shift) = (self.order, 0);
        while shift < self.end {
            let at = Position { shift, slot: slot(order) };
            if matches(&self.entry(at)) {
                return Some(at);
            }
            (order, shift) = (order >> FIELD_BITS, shift + FIELD_BITS);
        }
        None
    }

    /// As [`Self::oldest_where`], two entries in each turn: with one or two entries, a probe takes
    /// no backward branch.
    #[inline(always)]
    fn oldest_where_unrolled(&self, matches: impl Fn(&ShortEntry) -> bool) -> Option<Position> {
        let (mut order, mut shift) = (self.order, 0);
        while shift < self.end {
            let at = Position { shift, slot: slot(order) };
            if matches(&self.entry(at)) {
                return Some(at);
            }
            let at = Position { shift: shift + FIELD_BITS, slot: slot(order >> FIELD_BITS) };
            if at.shift == self.end {
                return None;
            }
            if matches(&self.entry(at)) {
                return Some(at);
            }
            (order, shift) = (order >> (2 * FIELD_BITS), shift + 2 * FIELD_BITS);
        }
        None
    }

    /// The position whose fields begin at `shift`: an entry, or a free slot.
    #[inline(always)]
    fn at(&self, shift: u32) -> Position {
        Position { shift, slot: slot(self.order >> shift) }
    }

    #[inline(always)]
    pub(super) fn entry(&self, Position { slot, .. }: Position) -> ShortEntry {
        ShortEntry {
            bits: of(&self.bits, slot),
            compared: of(&self.compared, slot),
            user: of(&self.user, slot),
            stamp: of(&self.stamp, slot),
            source: of(&self.source, slot),
            source_mask: of(&self.source_mask, slot),
        }
    }

    /// Removes an entry; returns its user value.
    #[inline(always)]
    pub(super) fn remove(&mut self, at: Position) -> u64 {
        self.wildcards &= !(1 << at.slot);
        self.store_masks(at.slot, u64::MAX, u32::MAX);
        self.remove_exact(at)
    }

    /// Removes an entry without wildcards; returns its user value.
    #[inline(always)]
    pub(super) fn remove_exact(&mut self, at: Position) -> u64 {
        if self.end == FIELD_BITS {
            self.clear();
        } else {
            self.end -= FIELD_BITS;
            self.order = remove_field(self.order, at.shift) | u64::from(at.slot) << (ALL_FIELDS - FIELD_BITS);
            self.fingerprints = remove_field(self.fingerprints, at.shift);
        }
        of(&self.user, at.slot)
    }

    /// Empties the queue. Only constants are stored, so that the next operation depends on no
    /// earlier load.
    #[inline(always)]
    fn clear(&mut self) {
        (self.end, self.wildcards, self.order, self.fingerprints) = (0, 0, INITIAL_ORDER, 0);
    }

    /// The index in the handle of the entry in a slot.
    #[inline(always)]
    pub(super) fn index(slot: u32) -> u32 {
        FIRST_INDEX + slot
    }

    /// The handle of an entry; `generation` makes its part from the stamp.
    #[inline(always)]
    pub(super) fn handle_at(&self, at: Position, generation: impl Fn(u64) -> u32) -> Handle {
        Handle::new(Self::index(at.slot), generation(self.entry(at).stamp))
    }

    /// The slot that a handle names, if its index is from [`Self::index`].
    #[inline(always)]
    pub(super) fn slot(handle: Handle) -> Option<u32> {
        handle.index().checked_sub(FIRST_INDEX).filter(|slot| *slot < SHORT_CAPACITY as u32)
    }

    /// Removes the entry in a slot, if there is one and `matches` accepts its stamp; returns its
    /// user value.
    #[inline(always)]
    pub(super) fn remove_slot(&mut self, slot: u32, matches: impl Fn(u64) -> bool) -> Option<u64> {
        let shift = first_zero_field(self.order ^ (u64::from(slot) * ONE_PER_FIELD))?;
        (shift < self.end && matches(of(&self.stamp, slot))).then(|| self.remove(Position { shift, slot }))
    }

    /// The position of the entry in a slot, if there is one and `matches` accepts its stamp.
    pub(super) fn find_slot(&self, slot: u32, matches: impl Fn(u64) -> bool) -> Option<Position> {
        self.positions().find(|at| at.slot == slot && matches(self.entry(*at).stamp))
    }

    /// Changes the source of an entry.
    pub(super) fn set_source(&mut self, at: Position, source: u32) {
        let entry = self.entry(at);
        let changed = fingerprint(entry.bits, entry.source) ^ fingerprint(entry.bits, source);
        store(&mut self.source, at.slot, source);
        self.fingerprints ^= changed << at.shift;
    }

    /// The number of entries from the oldest to the one found, or of all.
    pub(super) fn compared(&self, found: Option<Position>) -> usize {
        found.map_or(self.len(), |at| at.shift / FIELD_BITS + 1) as usize
    }

    /// The positions of all entries, oldest first.
    pub(super) fn positions(&self) -> impl Iterator<Item = Position> + use<> {
        let all: [Position; SHORT_CAPACITY] = std::array::from_fn(|rank| self.at(rank as u32 * FIELD_BITS));
        all.into_iter().take(self.len() as usize)
    }

    /// The number of different kinds of wildcards among the entries.
    pub(super) fn wildcard_kinds(&self) -> usize {
        let wildcards = || self.positions().filter(|at| self.wildcards >> at.slot & 1 == 1);
        let kind = |at| (self.entry(at).compared, self.entry(at).source_mask);
        wildcards()
            .filter(|at| wildcards().take_while(|older| older.shift < at.shift).all(|older| kind(older) != kind(*at)))
            .count()
    }

    /// Stores the handle that an entry has in the table, in place of its user value.
    pub(super) fn set_forward(&mut self, at: Position, handle: Handle) {
        store(&mut self.user, at.slot, handle.into_raw());
    }

    /// Empties and closes the queue after [`Self::set_forward`] of all entries, which are elsewhere now. Their old
    /// handles stay valid through [`Self::forwarded`].
    pub(super) fn close(&mut self) {
        self.forwarded = self.positions().map(|at| 1 << at.slot).sum();
        self.clear();
        (self.compared, self.source_mask) = ([u64::MAX; SHORT_CAPACITY], [u32::MAX; SHORT_CAPACITY]);
        (self.wildcards, self.end_when_full) = (CLOSED, 0);
        self.set_queued_elsewhere(true);
    }

    /// Uses the queue again; its owner has no entries.
    pub(super) fn open(&mut self) {
        debug_assert!(self.none_queued());
        (self.wildcards, self.end_when_full) = (0, ALL_FIELDS);
    }

    /// The handle in the table of the entry that was in this slot, if `matches` accepts its stamp.
    pub(super) fn forwarded(&self, slot: u32, matches: impl Fn(u64) -> bool) -> Option<Handle> {
        (self.forwarded >> slot & 1 == 1 && matches(of(&self.stamp, slot)))
            .then(|| Handle::from_raw(of(&self.user, slot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, source: None };

    fn message(short: &mut ShortQueue, bits: u64, age: u64) -> u32 {
        short.insert_exact(Envelope { bits, source: 0 }, age, age)
    }

    fn first(short: &ShortQueue, pattern: Pattern) -> Option<u64> {
        short.oldest_accepted(pattern).map(|at| short.entry(at).user)
    }

    #[test]
    fn consecutive_tags_have_different_fingerprints() {
        for begin in (0..if cfg!(miri) { 100 } else { 20_000 }).chain([0x7f00_0000_0000, u64::MAX - 30]) {
            let fingerprints: u128 = (begin..begin + SHORT_CAPACITY as u64).map(|tag| 1 << fingerprint(tag, 3)).sum();
            assert_eq!(fingerprints.count_ones() as usize, SHORT_CAPACITY, "from {begin}");
        }
    }

    /// A removed entry stays in its slot and is not found, also where its fingerprint is that of the unused fields.
    #[test]
    fn a_removed_entry_is_not_found_again() {
        let tag = (0..1000).find(|tag| fingerprint(*tag, 0) == 0).unwrap();
        let key = Pattern::exactly(Envelope { bits: tag, source: 0 });
        for others in 2..SHORT_CAPACITY as u64 {
            let mut short = ShortQueue::new();
            (0..others).for_each(|age| _ = message(&mut short, tag + 1 + age, age));
            let slot = message(&mut short, tag, others);
            assert_eq!(first(&short, key), Some(others));
            assert_eq!(short.remove_slot(slot, |_| true), Some(others));
            assert_eq!((first(&short, key), short.len()), (None, others as u32));
        }
    }

    /// A closed queue has no room and says so, until it is opened.
    #[test]
    fn a_closed_queue_has_no_room() {
        let mut short = ShortQueue::new();
        message(&mut short, 1, 1);
        short.close();
        assert!(!short.has_room() && !short.is_open() && !short.is_open_and_exact());
        assert_eq!((short.len(), short.none_queued()), (0, false));
        short.set_queued_elsewhere(false);
        short.open();
        assert!(short.has_room() && short.is_open() && short.is_open_and_exact());
        message(&mut short, 2, 2);
        assert_eq!(first(&short, ANY), Some(2));
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
