// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The index of a short queue: 16 keys side by side in order of age, looked at one after the other.
//!
//! What a list does, without the pointers. A ring, so that what comes and goes in order is never moved.

use crate::types::{Envelope, Pattern};

pub(crate) const SLOTS: usize = 16;

/// Keys and the places in the pool that they belong to.
#[derive(Default)]
pub(crate) struct Window {
    bits: [u64; SLOTS],
    /// Unused where the keys are envelopes.
    ignore: [u64; SLOTS],
    source: [u32; SLOTS],
    /// All ones to compare the source. Unused where the keys are envelopes.
    source_mask: [u32; SLOTS],
    places: [u32; SLOTS],
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
        let mut from = self.live.rotate_right(u32::from(self.next));
        self.bits.rotate_left(self.next.into());
        self.ignore.rotate_left(self.next.into());
        self.source.rotate_left(self.next.into());
        self.source_mask.rotate_left(self.next.into());
        self.places.rotate_left(self.next.into());
        let mut to = 0;
        while from != 0 {
            let slot = from.trailing_zeros() as usize;
            self.bits[to] = self.bits[slot];
            self.ignore[to] = self.ignore[slot];
            self.source[to] = self.source[slot];
            self.source_mask[to] = self.source_mask[slot];
            self.places[to] = self.places[slot];
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
        self.bits[slot] = pattern.bits;
        self.ignore[slot] = pattern.ignore;
        self.source[slot] = pattern.source.unwrap_or(0);
        self.source_mask[slot] = if pattern.source.is_some() { u32::MAX } else { 0 };
        self.places[slot] = place;
    }

    /// Appends a message, for which there must be a slot.
    #[inline(always)]
    pub(crate) fn push_envelope(&mut self, envelope: Envelope, place: u32) {
        let slot = self.slot();
        self.bits[slot] = envelope.bits;
        self.source[slot] = envelope.source;
        self.places[slot] = place;
    }

    /// The slots in use in order of age.
    #[inline(always)]
    fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        let next = u32::from(self.next);
        let mut live = self.live.rotate_right(next);
        std::iter::from_fn(move || {
            let slot = (live.trailing_zeros() + next) as usize % SLOTS;
            let any = live != 0;
            live &= live.wrapping_sub(1);
            any.then_some(slot)
        })
    }

    /// The slot of the oldest receive that accepts `envelope`.
    #[inline(always)]
    pub(crate) fn find_pattern(&self, envelope: Envelope) -> Option<usize> {
        self.slots().find(|&slot| {
            let source = (self.source[slot] ^ envelope.source) & self.source_mask[slot];
            (self.bits[slot] ^ envelope.bits) & !self.ignore[slot] | u64::from(source) == 0
        })
    }

    /// The slot of the oldest message that `pattern` accepts.
    #[inline(always)]
    pub(crate) fn find_envelope(&self, pattern: Pattern) -> Option<usize> {
        let source_mask = if pattern.source.is_some() { u32::MAX } else { 0 };
        let (compared, wanted) = (!pattern.ignore, pattern.source.unwrap_or(0));
        self.slots().find(|&slot| {
            let source = (self.source[slot] ^ wanted) & source_mask;
            (self.bits[slot] ^ pattern.bits) & compared | u64::from(source) == 0
        })
    }

    /// The slot of a place that has one.
    pub(crate) fn find_place(&self, place: u32) -> Option<usize> {
        self.slots().find(|&slot| self.places[slot] == place)
    }

    #[inline(always)]
    pub(crate) fn place(&self, slot: usize) -> u32 {
        self.places[slot]
    }

    #[inline(always)]
    pub(crate) fn pattern(&self, slot: usize) -> Pattern {
        let source = (self.source_mask[slot] != 0).then_some(self.source[slot]);
        Pattern { bits: self.bits[slot], ignore: self.ignore[slot], source }
    }

    #[inline(always)]
    pub(crate) fn envelope(&self, slot: usize) -> Envelope {
        Envelope { bits: self.bits[slot], source: self.source[slot] }
    }

    /// Frees a slot.
    #[inline(always)]
    pub(crate) fn remove(&mut self, slot: usize) {
        self.live &= !(1 << slot);
    }

    /// Frees every slot, for a queue that has outgrown them: the slots that were in use, the oldest first.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = usize> + use<> {
        let slots = self.slots();
        self.live = 0;
        slots
    }
}
