// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue of a few entries: side by side, with or without wildcards, and all of them compared.
//!
//! What fits is gathered as a bit for each entry, so that no branch depends on which of them it is: the processor foresees
//! everything but whether there is one. The oldest that fits is that of the lowest bit, unless an entry was put where
//! an older one is above it; then ages are compared.
//!
//! Where neither side has wildcards, digests of 7 bits are compared first, those of all entries at once in one word.

use crate::types::{Envelope, Handle, Pattern};

/// As many as fields fit into a word. With more, a table is as quick.
pub(super) const SLOTS: usize = 9;
/// Bits of a slot's field.
const WIDTH: u32 = 7;
/// The lowest bit of each field.
const LOW: u64 = 0x0102_0408_1020_4081;
/// The highest: what stands for the slot in sets of slots.
const HIGH: u64 = LOW << (WIDTH - 1);
/// Indices in handles of short queues begin here, above all others.
const FIRST_INDEX: u32 = u32::MAX - SLOTS as u32;

/// A slot: its number, and its bit in sets of slots.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    number: u32,
    bit: u64,
}

impl Slot {
    #[inline(always)]
    fn of(number: u32) -> Self {
        Self { number, bit: 1 << (number * WIDTH + WIDTH - 1) }
    }

    /// The first of a set that is not empty.
    #[inline(always)]
    fn first(set: u64) -> Self {
        // What is done next with sets waits for the bit only, and not for the number.
        Self { number: set.trailing_zeros() / WIDTH, bit: set & set.wrapping_neg() }
    }

    /// The lowest bit of its field.
    #[inline(always)]
    fn low(self) -> u64 {
        self.bit >> (WIDTH - 1)
    }
}

/// A field that differs for most keys: of tags in a row for all that a queue can hold.
#[inline(always)]
fn digest(bits: u64, source: u32) -> u64 {
    (bits ^ u64::from(source) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - WIDTH)
}

/// A receive or a message.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) bits: u64,
    /// Match bits that are compared: of a message, all.
    pub(super) compared: u64,
    pub(super) user: u64,
    pub(super) age: u64,
    pub(super) source: u32,
    /// All ones if the source is compared, else zero.
    pub(super) source_mask: u32,
}

impl Entry {
    #[inline(always)]
    pub(super) fn receive(pattern: Pattern, user: u64, age: u64) -> Self {
        let Pattern { bits, ignore, source } = pattern;
        let source_mask = if source.is_some() { u32::MAX } else { 0 };
        Self { bits, compared: !ignore, user, age, source: source.unwrap_or(0), source_mask }
    }

    #[inline(always)]
    pub(super) fn message(envelope: Envelope, user: u64, age: u64) -> Self {
        let Envelope { bits, source } = envelope;
        Self { bits, compared: u64::MAX, user, age, source, source_mask: u32::MAX }
    }

    /// What a receive accepts.
    pub(super) fn pattern(&self) -> Pattern {
        Pattern { bits: self.bits, ignore: !self.compared, source: (self.source_mask != 0).then_some(self.source) }
    }
}

pub(super) struct Short {
    /// Slots with an entry.
    live: u64,
    /// Those of them whose entry has wildcards.
    wild: u64,
    /// A digest for each slot with an entry.
    digests: u64,
    /// Slots from here on are free.
    used: u32,
    /// Whether an entry in a higher slot is younger.
    is_ordered: bool,
    /// Slots whose entry was moved to another structure, when all were.
    moved: u64,
    /// One more than there are slots, so that the compiler sees that a bit's number is below theirs.
    entries: [Entry; SLOTS + 1],
}

impl Short {
    pub(super) fn new() -> Self {
        let entries = [Entry::default(); SLOTS + 1];
        Self { live: 0, wild: 0, digests: 0, used: 0, is_ordered: true, moved: 0, entries }
    }

    pub(super) fn len(&self) -> u32 {
        self.live.count_ones()
    }

    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.live != HIGH
    }

    /// Puts an entry into a free slot, which there must be; returns the slot.
    #[inline(always)]
    pub(super) fn insert(&mut self, entry: Entry, is_exact: bool) -> Slot {
        let (slot, others) = if self.used < SLOTS as u32 {
            let slot = Slot::of(self.used);
            self.used += 1;
            // What is left in higher fields has no meaning.
            (slot, slot.low() - 1)
        } else {
            self.is_ordered = false;
            let slot = Slot::first(!self.live & HIGH);
            (slot, !(slot.low() * ((1 << WIDTH) - 1)))
        };
        self.live |= slot.bit;
        if !is_exact {
            self.wild |= slot.bit;
        }
        self.digests = self.digests & others | slot.low().wrapping_mul(digest(entry.bits, entry.source));
        self.entries[slot.number as usize] = entry;
        slot
    }

    /// The slot of the oldest receive that accepts an envelope.
    #[inline(always)]
    pub(super) fn first_accepting(&self, Envelope { bits, source }: Envelope) -> Option<Slot> {
        if self.wild == 0 {
            return self.first_of(bits, source);
        }
        self.first(|entry| {
            (entry.bits ^ bits) & entry.compared | u64::from((entry.source ^ source) & entry.source_mask)
        })
    }

    /// The slot of the oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn first_accepted(&self, Pattern { bits, ignore, source }: Pattern) -> Option<Slot> {
        let source_mask = if source.is_some() { u32::MAX } else { 0 };
        match source {
            Some(source) if ignore == 0 => self.first_of(bits, source),
            source => {
                let source = source.unwrap_or(0);
                self.first(|entry| (entry.bits ^ bits) & !ignore | u64::from((entry.source ^ source) & source_mask))
            }
        }
    }

    /// The slot of the oldest entry with a key, where none has wildcards.
    #[inline(always)]
    fn first_of(&self, bits: u64, source: u32) -> Option<Slot> {
        let lowest = Slot::of(0);
        if self.live <= lowest.bit {
            let entry = self.entry(lowest);
            return (self.live != 0 && entry.bits == bits && entry.source == source).then_some(lowest);
        }
        let others = self.digests ^ digest(bits, source).wrapping_mul(LOW);
        // The highest bit of the fields that are zero, and perhaps of some above one that is.
        let fit = others.wrapping_sub(LOW) & !others & self.live;
        if fit == 0 {
            return None;
        }
        let slot = Slot::first(fit);
        let entry = self.entry(slot);
        let is_it = entry.bits == bits && entry.source == source && (self.is_ordered || fit == slot.bit);
        if is_it { Some(slot) } else { self.first_of_alike(bits, source) }
    }

    /// As [`Self::first_of`], where digests do not tell.
    #[cold]
    #[inline(never)]
    fn first_of_alike(&self, bits: u64, source: u32) -> Option<Slot> {
        self.first(|entry| entry.bits ^ bits | u64::from(entry.source ^ source))
    }

    /// The slot of the oldest entry that `differs` in no bit.
    #[inline(always)]
    fn first(&self, differs: impl Fn(&Entry) -> u64) -> Option<Slot> {
        let Slot { mut bit, .. } = Slot::of(0);
        let [oldest, others @ ..] = &self.entries;
        let mut fit = if differs(oldest) == 0 { bit } else { 0 };
        for entry in others {
            bit <<= WIDTH;
            if bit > self.live {
                break;
            }
            fit |= if differs(entry) == 0 { bit } else { 0 };
        }
        fit &= self.live;
        if fit == 0 {
            return None;
        }
        let slot = Slot::first(fit);
        Some(if self.is_ordered || fit == slot.bit { slot } else { self.oldest(fit) })
    }

    /// The slot of the oldest entry of a set, which is not empty.
    #[cold]
    #[inline(never)]
    fn oldest(&self, set: u64) -> Slot {
        self.by_age(set).next().unwrap_or(Slot::first(set))
    }

    /// The slots of a set, that of the oldest entry first.
    fn by_age(&self, set: u64) -> impl Iterator<Item = Slot> + use<> {
        let mut slots: [Slot; SLOTS] = std::array::from_fn(|number| Slot::of(number as u32));
        slots.sort_unstable_by_key(|slot| self.entry(*slot).age);
        slots.into_iter().filter(move |slot| set & slot.bit != 0)
    }

    /// The slots with entries, that of the oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        self.by_age(self.live)
    }

    /// How many kinds of wildcards entries have.
    pub(super) fn kinds(&self) -> usize {
        let kind = |slot| (self.entry(slot).compared, self.entry(slot).source_mask);
        let wild = || self.slots().filter(|slot| self.wild & slot.bit != 0);
        wild()
            .filter(|slot| wild().find(|other| kind(*other) == kind(*slot)).is_some_and(|first| first.bit == slot.bit))
            .count()
    }

    #[inline(always)]
    pub(super) fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[slot.number as usize]
    }

    /// Nothing is there. All of this is constant, so that what comes next waits for nothing that was before.
    #[inline(always)]
    fn clear(&mut self) {
        (self.live, self.wild, self.digests, self.used, self.is_ordered) = (0, 0, 0, 0, true);
    }

    /// Frees a slot that has an entry; returns its user value.
    #[inline(always)]
    pub(super) fn remove(&mut self, slot: Slot) -> u64 {
        if self.live == slot.bit {
            self.clear();
        } else {
            self.live ^= slot.bit;
            self.used -= u32::from(self.live < slot.bit);
            if self.wild != 0 {
                self.wild &= !slot.bit;
            }
        }
        self.entry(slot).user
    }

    /// The handle of the entry in a slot; `generation` is the kind's and the age's.
    #[inline(always)]
    pub(super) fn handle(slot: Slot, generation: u32) -> Handle {
        Handle::new(FIRST_INDEX + slot.number, generation)
    }

    /// The slot that a handle names, if it was made by [`Self::handle`].
    #[inline(always)]
    pub(super) fn slot(handle: Handle) -> Option<Slot> {
        let number = handle.index().checked_sub(FIRST_INDEX)?;
        (number < SLOTS as u32).then(|| Slot::of(number))
    }

    /// Takes back the entry in a slot, if there is one and its age `is_it`; returns its user value.
    #[inline(always)]
    pub(super) fn take_back(&mut self, slot: Slot, is_it: impl Fn(u64) -> bool) -> Option<u64> {
        let is_there = self.live & slot.bit != 0 && is_it(self.entry(slot).age);
        is_there.then(|| self.remove(slot))
    }

    /// The entry in a slot has this handle from now on.
    pub(super) fn move_to(&mut self, slot: Slot, handle: Handle) {
        self.entries[slot.number as usize].user = handle.into_raw();
    }

    /// All entries were moved.
    pub(super) fn end(&mut self) {
        self.moved = self.live;
        self.clear();
    }

    /// The handle that an entry was moved to, if there was one in the slot and its age `is_it`.
    pub(super) fn moved(&self, slot: Slot, is_it: impl Fn(u64) -> bool) -> Option<Handle> {
        let entry = self.entry(slot);
        (self.moved & slot.bit != 0 && is_it(entry.age)).then(|| Handle::from_raw(entry.user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, source: None };

    fn message(short: &mut Short, bits: u64, age: u64) -> Slot {
        short.insert(Entry::message(Envelope { bits, source: 0 }, age, age), true)
    }

    fn first(short: &Short, pattern: Pattern) -> Option<u64> {
        short.first_accepted(pattern).map(|slot| short.entry(slot).user)
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
            let slots: Vec<Slot> = (0..SLOTS as u64).map(|age| message(&mut short, age % 3, age)).collect();
            assert!(!short.has_room());
            for slot in [one, other] {
                assert_eq!(short.remove(slots[slot]), slot as u64);
            }
            // The lower slot, or the end, is free for the first of them.
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
                let slot = short.first_accepted(ANY).unwrap();
                assert_eq!(short.take_back(slot, |age| age == 99), None);
                assert_eq!(short.take_back(slot, |_| true), Some(left.remove(0)));
                assert_eq!(short.take_back(slot, |_| true), None);
            }
            assert_eq!((short.len(), first(&short, ANY)), (0, None));
        }
    }
}
