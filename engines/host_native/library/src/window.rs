// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The index of a short queue: 16 keys side by side in order of age, looked at one after the other.
//!
//! What a list does, without the pointers. A ring, so that what comes and goes in order is never moved.

use crate::types::{Envelope, Pattern};

pub(crate) const SLOTS: usize = 16;

/// A key, and the place in the pool that it belongs to.
#[derive(Clone, Copy, Default)]
struct Slot {
    bits: u64,
    /// Unused where the keys are envelopes.
    ignore: u64,
    source: u32,
    /// All ones to compare the source. Unused where the keys are envelopes.
    source_mask: u32,
    place: u32,
}

#[derive(Default)]
pub(crate) struct Window {
    slots: [Slot; SLOTS],
    /// A bit for each slot in use.
    live: u16,
    /// The slot to use next; the oldest key is in the first slot in use from here on, round the ring.
    next: u8,
}

impl Window {
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.live != u16::MAX
    }

    /// Takes the next slot, which there must be.
    #[inline(always)]
    fn slot(&mut self) -> usize {
        if self.live >> self.next & 1 != 0 {
            self.squeeze();
        }
        let slot = usize::from(self.next) % SLOTS;
        self.live |= 1 << slot;
        self.next = (self.next + 1) % SLOTS as u8;
        slot
    }

    /// Moves the keys together, the oldest to the front.
    #[cold]
    fn squeeze(&mut self) {
        let mut from = self.live.rotate_right(self.next.into());
        self.slots.rotate_left(self.next.into());
        let mut to = 0;
        while from != 0 {
            self.slots[to] = self.slots[from.trailing_zeros() as usize];
            to += 1;
            from &= from - 1;
        }
        self.live = (1 << to) - 1;
        self.next = to as u8;
    }

    /// Appends a receive, for which there must be a slot.
    #[inline(always)]
    pub(crate) fn push_pattern(&mut self, pattern: Pattern, place: u32) {
        let slot = self.slot();
        let source_mask = if pattern.source.is_some() { u32::MAX } else { 0 };
        let source = pattern.source.unwrap_or(0);
        self.slots[slot] = Slot { bits: pattern.bits, ignore: pattern.ignore, source, source_mask, place };
    }

    /// Appends a message, for which there must be a slot.
    #[inline(always)]
    pub(crate) fn push_envelope(&mut self, envelope: Envelope, place: u32) {
        let slot = self.slot();
        let slot = &mut self.slots[slot];
        (slot.bits, slot.source, slot.place) = (envelope.bits, envelope.source, place);
    }

    /// The first slot in order of age for which `fits` holds.
    #[inline(always)]
    fn find(&self, mut fits: impl FnMut(&Slot) -> bool) -> Option<usize> {
        let next = u32::from(self.next);
        let mut live = self.live.rotate_right(next);
        while live != 0 {
            let slot = (live.trailing_zeros() + next) as usize % SLOTS;
            if fits(&self.slots[slot]) {
                return Some(slot);
            }
            live &= live - 1;
        }
        None
    }

    /// The slot of the oldest receive that accepts `envelope`.
    #[inline(always)]
    pub(crate) fn find_pattern(&self, envelope: Envelope) -> Option<usize> {
        self.find(|slot| {
            let source = (slot.source ^ envelope.source) & slot.source_mask;
            (slot.bits ^ envelope.bits) & !slot.ignore | u64::from(source) == 0
        })
    }

    /// The slot of the oldest message that `pattern` accepts.
    #[inline(always)]
    pub(crate) fn find_envelope(&self, pattern: Pattern) -> Option<usize> {
        let source_mask = if pattern.source.is_some() { u32::MAX } else { 0 };
        let (compared, wanted) = (!pattern.ignore, pattern.source.unwrap_or(0));
        self.find(|slot| {
            let source = (slot.source ^ wanted) & source_mask;
            (slot.bits ^ pattern.bits) & compared | u64::from(source) == 0
        })
    }

    /// The slot of a place that has one. Looks at all slots: which one it is cannot be predicted.
    #[inline]
    pub(crate) fn find_place(&self, place: u32) -> Option<usize> {
        let hit = |(at, slot): (usize, &Slot)| u16::from(slot.place == place) << at;
        let hits = self.slots.iter().enumerate().map(hit).fold(0, |all, one| all | one) & self.live;
        (hits != 0).then(|| hits.trailing_zeros() as usize)
    }

    /// The number of receives with wildcards.
    pub(crate) fn wildcards(&self) -> usize {
        let wild = |slot: usize| {
            self.live >> slot & 1 != 0 && {
                let Slot { ignore, source_mask, .. } = self.slots[slot];
                ignore != 0 || source_mask == 0
            }
        };
        (0..SLOTS).filter(|slot| wild(*slot)).count()
    }

    /// The slot of the oldest key.
    pub(crate) fn oldest(&self) -> Option<usize> {
        self.find(|_| true)
    }

    #[inline(always)]
    pub(crate) fn place(&self, slot: usize) -> u32 {
        self.slots[slot].place
    }

    #[inline(always)]
    pub(crate) fn pattern(&self, slot: usize) -> Pattern {
        let Slot { bits, ignore, source, source_mask, .. } = self.slots[slot];
        Pattern { bits, ignore, source: (source_mask != 0).then_some(source) }
    }

    #[inline(always)]
    pub(crate) fn envelope(&self, slot: usize) -> Envelope {
        let Slot { bits, source, .. } = self.slots[slot];
        Envelope { bits, source }
    }

    /// Frees a slot.
    #[inline(always)]
    pub(crate) fn remove(&mut self, slot: usize) {
        self.live &= !(1 << slot);
    }
}
