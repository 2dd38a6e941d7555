// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which slots of a table may be free: a bitmap, one bit for each slot.
//!
//! A displaced entry takes the next slot of the bitmap. Slots are handed out in address order,
//! whatever the order in which they were released, so that a table used in random order does not
//! stay scattered.
//!
//! The bitmap is a hint. An entry that takes its home slot does not clear the slot's bit, so that
//! the caller checks each slot and requests another if it is occupied. The caller notes where a bit
//! was cleared, and releases these slots only: the bit of a free slot is always set. Some slots must stay
//! spare ([`usable_slots`]): the search goes round all words, and clears enough bits in each round
//! that an allocation passes few words on average.

use std::ops::Range;

use crate::heap::{Array, Heap};
use crate::types::OutOfMemory;

/// Slots of a word of the bitmap.
const WORD: u32 = u64::BITS;
/// One of this many slots stays free,
const SPARE: usize = 32;
/// but at least this many: with fewer, some tens of tags would share a few home slots.
const MIN_SPARE: usize = 40;

/// The bitmap, one word of which is being handed out.
pub(super) struct FreeSlots {
    /// The free bits of the current word that were not handed out yet.
    current: u64,
    /// The first slot of the current word.
    base: u32,
    /// A bit for each slot of the other words that may be free; of the current word, the slots
    /// released since.
    words: Array<u64>,
}

/// The number of `slots` that may be occupied while a free one is still found quickly.
pub(super) fn usable_slots(slots: usize) -> usize {
    slots - slots.div_ceil(SPARE).max(MIN_SPARE)
}

/// The number of slots of which `usable` may be occupied: the inverse of [`usable_slots`].
pub(super) fn slots_needed(usable: usize) -> usize {
    usable.saturating_add(usable.div_ceil(SPARE - 1).max(MIN_SPARE))
}

impl FreeSlots {
    pub(super) const fn new(heap: Heap) -> Self {
        Self { current: 0, base: 0, words: Array::new(heap) }
    }

    /// The next slot of the current word that may be free. `None`: the word is used up, and
    /// [`Self::advance`] selects another.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.current == 0 {
            return None;
        }
        let slot = self.base + self.current.trailing_zeros() % WORD;
        self.current &= self.current - 1;
        Some(slot)
    }

    /// Selects the next word with a bit set, of which there must be one. Returns the slots of the
    /// word if most may be free.
    pub(super) fn advance(&mut self) -> Option<Range<usize>> {
        let mut at = (self.base / WORD) as usize;
        // The current word comes last: where a single slot is taken and released in turn, it would
        // be selected each time.
        loop {
            at = if at + 1 < self.words.len() { at + 1 } else { 0 };
            if self.words[at] != 0 {
                break;
            }
        }
        self.select_word(at);
        (self.current.count_ones() > WORD / 2).then_some(at * WORD as usize..(at + 1) * WORD as usize)
    }

    /// Makes this word the current one.
    fn select_word(&mut self, at: usize) {
        // The rest of the former word goes back into the bitmap.
        if let Some(word) = self.words.get_mut((self.base / WORD) as usize) {
            *word |= self.current;
        }
        self.base = at as u32 * WORD;
        self.current = std::mem::take(&mut self.words[at]);
    }

    /// Selects the first word, if there is one.
    pub(super) fn restart(&mut self) {
        if !self.words.is_empty() {
            self.select_word(0);
        }
    }

    /// Marks a slot as free.
    ///
    /// # Safety
    /// The slot exists.
    #[inline(always)]
    pub(super) unsafe fn release(&mut self, slot: u32) {
        // SAFETY: there is a word for every slot.
        unsafe { *self.words.get_unchecked_mut((slot / WORD) as usize) |= 1 << (slot % WORD) };
    }

    /// Reserves memory, so that [`Self::extend`] up to `slots` allocates nothing.
    pub(super) fn reserve(&mut self, slots: usize) -> Result<(), OutOfMemory> {
        let words = slots.div_ceil(WORD as usize);
        self.words.reserve_exact(words.saturating_sub(self.words.len()))
    }

    /// Adds free slots, in whole words, up to `slots` in total. The new ones are handed out next.
    pub(super) fn extend(&mut self, slots: usize) {
        let at = self.words.len();
        self.words.resize(slots / WORD as usize, u64::MAX);
        self.select_word(at);
    }

    /// Whether the bit of `slot` is set.
    #[cfg(test)]
    pub(super) fn has(&self, slot: u32) -> bool {
        let is_current = slot / WORD == self.base / WORD && self.current >> (slot % WORD) & 1 != 0;
        is_current || self.words[(slot / WORD) as usize] >> (slot % WORD) & 1 != 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some entries take a preferred slot, others any. Slots are released at random, and then all
    /// at once.
    #[test]
    fn a_free_slot_is_always_found_and_none_is_lost() {
        let deepest = if cfg!(miri) { 64 * 4 } else { 64 * 130 };
        let mut slots = FreeSlots::new(Heap::GLOBAL);
        slots.restart();
        let mut taken = Vec::new();
        let mut is_occupied = vec![false; deepest];
        for (round, count) in [64, 128, deepest / 2 + 64, deepest].into_iter().enumerate() {
            slots.reserve(count).unwrap();
            slots.extend(count);
            let fill = |slots: &mut FreeSlots, taken: &mut Vec<u32>, is_occupied: &mut [bool]| {
                while taken.len() < usable_slots(count) {
                    let preferred = ((taken.len() * 7919 + round) % count) as u32;
                    let mut slot = preferred;
                    // Two rounds over all slots are enough to find a free one.
                    for turn in 0.. {
                        assert!(turn <= 2 * count);
                        if !is_occupied[slot as usize] && (turn > 0 || !taken.len().is_multiple_of(3)) {
                            break;
                        }
                        slot = slots.next().unwrap_or_else(|| {
                            assert!(slots.advance().is_none_or(|word| word.end <= count));
                            preferred
                        });
                    }
                    is_occupied[slot as usize] = true;
                    taken.push(slot);
                }
            };
            fill(&mut slots, &mut taken, &mut is_occupied);
            for step in 0..if cfg!(miri) { 20 } else { 500 } {
                let back = 1 + step * 7 % (taken.len() / 2);
                for turn in 0..back.min(if cfg!(miri) { 2 } else { 100 }) {
                    let slot = taken.swap_remove((step * 7919 + turn * 31 + round) % taken.len());
                    is_occupied[slot as usize] = false;
                    // SAFETY: the slot was handed out.
                    unsafe { slots.release(slot) };
                }
                if step % 50 == 0 {
                    slots.restart();
                }
                if step % 5 != 0 {
                    fill(&mut slots, &mut taken, &mut is_occupied);
                }
            }
            fill(&mut slots, &mut taken, &mut is_occupied);
        }
    }

    /// A word with one free slot is selected once in a round, and not each time the slot is
    /// released.
    #[test]
    fn a_word_with_one_free_slot_is_selected_once_a_round() {
        let mut slots = FreeSlots::new(Heap::GLOBAL);
        slots.reserve(4 * 64).unwrap();
        slots.extend(4 * 64);
        slots.restart();
        while let Some(_taken) = slots.next() {}
        for word in [1, 2] {
            slots.advance();
            assert_eq!(slots.base, word * 64);
            while let Some(_taken) = slots.next() {}
        }
        // SAFETY: the slot exists.
        unsafe { slots.release(70) };
        slots.restart();
        let mut turns = 0;
        for _ in 0..65 * 10 {
            let slot = loop {
                if let Some(slot) = slots.next() {
                    break slot;
                }
                slots.advance();
                turns += 1;
            };
            // SAFETY: the slot was handed out.
            unsafe { slots.release(slot) };
        }
        assert_eq!(turns, 2 * 10);
    }

    #[test]
    fn usable_slots_and_slots_needed_are_inverse() {
        for count in 1..if cfg!(miri) { 300 } else { 5000 } {
            let slots = slots_needed(count);
            assert!(usable_slots(slots) >= count && usable_slots(slots - 1) < count, "{count}: {slots}");
        }
    }
}
