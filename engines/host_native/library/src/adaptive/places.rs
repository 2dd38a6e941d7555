// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which places of a pool are free: a bit for each.
//!
//! Whoever wants a place takes the one that it likes best, if it is free, and else any: of a word of them that is kept for
//! that, and then of the next. So these are given out in the order of their addresses, and the order in which places were
//! freed means nothing: a pool that was used at random is not walked at random ever after.
//!
//! There must always be some more places than are taken: what looks for any goes round all of them, and then uses up so
//! many in each round that it passes by a few words for each.

use std::ops::Range;

use crate::types::OutOfMemory;

/// Places of a word.
const WORD: u32 = u64::BITS;
/// Of so many places one stays free,
const SPARE: usize = 32;
/// and never fewer than so many, without which some tens of tags would go round a few homes.
const LEAST_SPARE: usize = 40;

#[derive(Default)]
pub(super) struct Places {
    /// Those of a word that any is taken from, a bit for each free one, as long as there are some.
    any: u64,
    /// The first of them.
    first: u32,
    /// A bit for each free place of the other words; in that one, for those that were freed since.
    words: Vec<u64>,
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
    /// Takes the place `at` if it is free, else any that has not to be looked for.
    ///
    /// # Safety
    /// There is a place `at`.
    #[inline(always)]
    pub(super) unsafe fn take_quickly(&mut self, at: u32) -> Option<u32> {
        // SAFETY: there are words for all places.
        let word = unsafe { self.words.get_unchecked_mut((at / WORD) as usize) };
        let left = *word & !(1 << (at % WORD));
        if left == *word {
            return self.take_next();
        }
        *word = left;
        Some(at)
    }

    /// Takes any place, if it has not to be looked for.
    #[inline(always)]
    pub(super) fn take_next(&mut self) -> Option<u32> {
        if self.any == 0 {
            return None;
        }
        let place = self.first + self.any.trailing_zeros() % WORD;
        self.any &= self.any - 1;
        Some(place)
    }

    /// Turns to the next places of which some are free; there must be more than are usable. Any is one of them then.
    pub(super) fn turn(&mut self) -> Range<usize> {
        let mut at = (self.first / WORD) as usize;
        while self.words[at] == 0 {
            at = if at + 1 < self.words.len() { at + 1 } else { 0 };
        }
        self.turn_to(at);
        at * WORD as usize..(at + 1) * WORD as usize
    }

    /// Takes any place from this word from now on.
    fn turn_to(&mut self, at: usize) {
        // Those that are left of the other are given back.
        if let Some(word) = self.words.get_mut((self.first / WORD) as usize) {
            *word |= self.any;
        }
        self.first = at as u32 * WORD;
        self.any = std::mem::take(&mut self.words[at]);
    }

    /// The first free places are taken next, if there are places.
    pub(super) fn begin_anew(&mut self) {
        if !self.words.is_empty() {
            self.turn_to(0);
        }
    }

    /// The free places of a word.
    fn free_of(&self, at: usize) -> Option<u64> {
        let any = if at == (self.first / WORD) as usize { self.any } else { 0 };
        Some(self.words.get(at)? | any)
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
        self.free_of((place / WORD) as usize).is_some_and(|word| word >> (place % WORD) & 1 == 0)
    }

    /// Calls `see` for every place that was taken, in order.
    #[inline(always)]
    pub(super) fn each_taken(&self, mut see: impl FnMut(u32)) {
        for (free, at) in (0..).map_while(|at| self.free_of(at)).zip(0..) {
            let mut taken = !free;
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
        let at = self.words.len();
        self.words.resize(places / WORD as usize, u64::MAX);
        self.turn_to(at);
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
                    let word = (wanted / 64 * 64) as u32;
                    let is_liked = !is_taken[wanted] && (word != places.first || places.any >> (wanted % 64) & 1 == 0);
                    // SAFETY: there are so many places.
                    let place = loop {
                        match unsafe { places.take_quickly(wanted as u32) } {
                            Some(place) => break place,
                            None => drop(places.turn()),
                        }
                    };
                    assert!(!std::mem::replace(&mut is_taken[place as usize], true) && places.is_taken(place));
                    assert!(place as usize == wanted || !is_liked);
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
