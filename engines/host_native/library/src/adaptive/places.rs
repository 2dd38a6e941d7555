// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which places of a pool are free: a bit for each.
//!
//! Whoever wants a place takes the one that it likes best, if it is free, and else any. Those are given out in the order
//! of their addresses, and the order in which places were freed means nothing: a pool that was used at random is not
//! walked at random ever after.
//!
//! There must always be some more places than are taken: what looks for any goes round all of them, and then uses up so
//! many in each round that it passes by a few words for each.

use crate::types::OutOfMemory;

/// Places of a word.
const WORD: u32 = u64::BITS;
/// Of so many places one stays free,
const SPARE: usize = 32;
/// and never fewer than so many, without which some tens of tags would go round a few homes.
const LEAST_SPARE: usize = 40;

#[derive(Default)]
pub(super) struct Places {
    /// A bit for each free place.
    words: Vec<u64>,
    /// The word that any place is taken from, as long as it has a free one.
    at: u32,
}

/// So many of `places` may be taken.
pub(super) fn usable(places: usize) -> usize {
    places - places.div_ceil(SPARE).max(LEAST_SPARE)
}

/// Of so many places `usable` may be taken.
pub(super) fn with_spare(usable: usize) -> usize {
    usable.saturating_add(usable.div_ceil(SPARE - 1).max(LEAST_SPARE))
}

impl Places {
    /// Takes the place `at` if it is free, else any. There must be more than are usable.
    ///
    /// # Safety
    /// There is such a place.
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, at: u32) -> u32 {
        loop {
            // SAFETY: as is demanded here.
            if let Some(place) = unsafe { self.take_quickly(at) } {
                return place;
            }
            self.turn();
        }
    }

    /// As [`Self::take`], if no other place has to be looked for.
    ///
    /// # Safety
    /// There is a place `at`.
    #[inline(always)]
    pub(super) unsafe fn take_quickly(&mut self, at: u32) -> Option<u32> {
        // SAFETY: there are words for all places.
        let word = unsafe { self.words.get_unchecked_mut((at / WORD) as usize) };
        let left = *word & !(1 << (at % WORD));
        if left == *word {
            // SAFETY: there is one.
            return unsafe { self.take_next() };
        }
        *word = left;
        Some(at)
    }

    /// Takes any place of the word that they are taken from.
    ///
    /// # Safety
    /// There are places.
    #[inline(always)]
    unsafe fn take_next(&mut self) -> Option<u32> {
        debug_assert!((self.at as usize) < self.words.len());
        // SAFETY: where there is a place there are words, and one of them is this.
        let word = unsafe { self.words.get_unchecked_mut(self.at as usize) };
        if *word == 0 {
            return None;
        }
        let place = self.at * WORD + word.trailing_zeros() % WORD;
        *word &= *word - 1;
        Some(place)
    }

    /// Turns to the next word that has a free place.
    #[cold]
    #[inline(never)]
    fn turn(&mut self) {
        while self.words[self.at as usize] == 0 {
            self.at = if self.at as usize + 1 < self.words.len() { self.at + 1 } else { 0 };
        }
    }

    /// Frees a place.
    ///
    /// # Safety
    /// The place was taken.
    #[inline(always)]
    pub(super) unsafe fn free(&mut self, place: u32) {
        // SAFETY: only places of these words are taken.
        unsafe { *self.words.get_unchecked_mut((place / WORD) as usize) |= 1 << (place % WORD) };
    }

    /// Whether `place` is one that was taken.
    pub(super) fn is_taken(&self, place: u32) -> bool {
        self.words.get((place / WORD) as usize).is_some_and(|word| word >> (place % WORD) & 1 == 0)
    }

    /// Calls `see` for every place that was taken, in order.
    #[inline(always)]
    pub(super) fn each_taken(&self, mut see: impl FnMut(u32)) {
        for (word, at) in self.words.iter().zip(0..) {
            let mut taken = !word;
            while taken != 0 {
                see(at * WORD + taken.trailing_zeros());
                taken &= taken - 1;
            }
        }
    }

    /// Makes sure that [`Self::extend`] up to `places` allocates nothing.
    pub(super) fn reserve(&mut self, places: usize) -> Result<(), OutOfMemory> {
        let words = places.div_ceil(WORD as usize);
        Ok(self.words.try_reserve_exact(words.saturating_sub(self.words.len()))?)
    }

    /// Adds free places, whole words of them, until there are `places`; they are taken next.
    pub(super) fn extend(&mut self, places: usize) {
        self.at = self.words.len() as u32;
        self.words.resize(places / WORD as usize, u64::MAX);
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_given_once_until_it_is_freed() {
        let mut places = Places::default();
        assert!(!places.is_taken(0));
        let mut taken = Vec::new();
        let mut is_taken = vec![false; 64 * 130];
        for (round, room) in [64, 128, 64 * 65, 64 * 130].into_iter().enumerate() {
            places.reserve(room).unwrap();
            places.extend(room);
            let fill = |places: &mut Places, taken: &mut Vec<u32>, is_taken: &mut [bool], most: usize| {
                while taken.len() < most {
                    let wanted = (taken.len() * 7919 + round) % room;
                    let was_free = !is_taken[wanted];
                    // SAFETY: there are so many places.
                    let place = unsafe { places.take(wanted as u32) };
                    assert!(!std::mem::replace(&mut is_taken[place as usize], true) && places.is_taken(place));
                    assert_eq!(place as usize == wanted, was_free);
                    taken.push(place);
                }
            };
            fill(&mut places, &mut taken, &mut is_taken, usable(room));
            // Some come back, far from each other, and then all at once.
            for step in 0..if cfg!(miri) { 20 } else { 500 } {
                let back = 1 + step * 7 % (taken.len() / 2);
                for turn in 0..back.min(if cfg!(miri) { 2 } else { 100 }) {
                    let place = taken.swap_remove((step * 7919 + turn * 31 + round) % taken.len());
                    is_taken[place as usize] = false;
                    // SAFETY: it was taken.
                    unsafe { places.free(place) };
                    assert!(!places.is_taken(place));
                }
                if step % 5 != 0 {
                    fill(&mut places, &mut taken, &mut is_taken, usable(room));
                }
            }
            fill(&mut places, &mut taken, &mut is_taken, usable(room));
            let mut count = 0;
            places.each_taken(|place| count += u32::from(is_taken[place as usize]));
            assert_eq!(count as usize, taken.len());
        }
    }

    #[test]
    fn what_is_usable_leaves_some_to_spare() {
        for count in 1..5000 {
            let places = with_spare(count);
            assert!(usable(places) >= count && usable(places - 1) < count, "{count}: {places}");
        }
    }
}
