// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where to look for a free place of a pool: a bit for each that may be one.
//!
//! Whoever wants a place takes the one that it likes best, if it is free, and needs nothing of this; else any. Those are
//! given out in the order of their addresses, and the order in which places were freed means nothing: a pool that was used
//! at random is not walked at random ever after.
//!
//! A place that was liked keeps its bit, so that whoever is given it looks whether it is free, and else asks again. There
//! must always be some more places than are taken: what looks for any goes round all of them, and then uses up so many in
//! each round that it passes by a few words for each.

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
    /// Those of a word that are given next, a bit for each, as long as there are some.
    any: u64,
    /// The first of them.
    first: u32,
    /// A bit for each place of the other words that may be free; in that one, for those that were freed since.
    words: Vec<u64>,
}

/// So many of `places` may be taken before one has to be looked for long.
pub(super) fn usable(places: usize) -> usize {
    places - places.div_ceil(SPARE).max(LEAST_SPARE)
}

/// Of so many places `usable` may be taken, in the same sense.
pub(super) fn with_spare(usable: usize) -> usize {
    usable.saturating_add(usable.div_ceil(SPARE - 1).max(LEAST_SPARE))
}

impl Places {
    /// Any place that may be free, if it has not to be looked for. A place that is not free is given no more until it was
    /// freed, or once more.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.any == 0 {
            return None;
        }
        let place = self.first + self.any.trailing_zeros() % WORD;
        self.any &= self.any - 1;
        Some(place)
    }

    /// Turns to the next places of which some may be free; there must be one. Returns all of the word if most are.
    pub(super) fn turn(&mut self) -> Option<Range<usize>> {
        let mut at = (self.first / WORD) as usize;
        // Not the same word if there is another: where one place comes and goes, it would be turned to for each.
        loop {
            at = if at + 1 < self.words.len() { at + 1 } else { 0 };
            if self.words[at] != 0 {
                break;
            }
        }
        self.turn_to(at);
        (self.any.count_ones() > WORD / 2).then_some(at * WORD as usize..(at + 1) * WORD as usize)
    }

    /// Gives places of this word from now on.
    fn turn_to(&mut self, at: usize) {
        // Those that are left of the other are given back.
        if let Some(word) = self.words.get_mut((self.first / WORD) as usize) {
            *word |= self.any;
        }
        self.first = at as u32 * WORD;
        self.any = std::mem::take(&mut self.words[at]);
    }

    /// Gives the first places next that may be free, if there are places.
    pub(super) fn begin_anew(&mut self) {
        if !self.words.is_empty() {
            self.turn_to(0);
        }
    }

    /// A place is free that was not.
    ///
    /// # Safety
    /// There is such a place.
    #[inline(always)]
    pub(super) unsafe fn free(&mut self, place: u32) {
        // SAFETY: there are words for all places.
        unsafe { *self.words.get_unchecked_mut((place / WORD) as usize) |= 1 << (place % WORD) };
    }

    /// Makes sure that [`Self::extend`] up to `places` allocates nothing.
    pub(super) fn reserve(&mut self, places: usize) -> Result<(), OutOfMemory> {
        let words = places.div_ceil(WORD as usize);
        Ok(self.words.try_reserve_exact(words.saturating_sub(self.words.len()))?)
    }

    /// Adds free places, whole words of them, until there are `places`; they are given next.
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

    /// Some take a place that they like, others any; and some come back, far from each other, and then all at once.
    #[test]
    fn there_is_always_a_free_place_and_none_is_lost() {
        let mut places = Places::default();
        places.begin_anew();
        let mut taken = Vec::new();
        let mut is_taken = vec![false; 64 * 130];
        for (round, room) in [64, 128, 64 * 65, 64 * 130].into_iter().enumerate() {
            places.reserve(room).unwrap();
            places.extend(room);
            let fill = |places: &mut Places, taken: &mut Vec<u32>, is_taken: &mut [bool]| {
                while taken.len() < usable(room) {
                    let liked = ((taken.len() * 7919 + round) % room) as u32;
                    let mut place = liked;
                    // Nothing is looked for longer than all were given once.
                    for turn in 0.. {
                        assert!(turn <= 2 * room);
                        if !is_taken[place as usize] && (turn > 0 || !taken.len().is_multiple_of(3)) {
                            break;
                        }
                        place = places.next().unwrap_or_else(|| {
                            assert!(places.turn().is_none_or(|word| word.end <= room));
                            liked
                        });
                    }
                    is_taken[place as usize] = true;
                    taken.push(place);
                }
            };
            fill(&mut places, &mut taken, &mut is_taken);
            for step in 0..if cfg!(miri) { 20 } else { 500 } {
                let back = 1 + step * 7 % (taken.len() / 2);
                for turn in 0..back.min(if cfg!(miri) { 2 } else { 100 }) {
                    let place = taken.swap_remove((step * 7919 + turn * 31 + round) % taken.len());
                    is_taken[place as usize] = false;
                    // SAFETY: it was given.
                    unsafe { places.free(place) };
                }
                if step % 50 == 0 {
                    places.begin_anew();
                }
                if step % 5 != 0 {
                    fill(&mut places, &mut taken, &mut is_taken);
                }
            }
            fill(&mut places, &mut taken, &mut is_taken);
        }
    }

    /// A word with one free place is turned to once in a round, and not each time that the place comes and goes.
    #[test]
    fn one_place_in_a_word_is_not_looked_for_again_and_again() {
        let mut places = Places::default();
        places.extend(4 * 64);
        places.begin_anew();
        while let Some(_taken) = places.next() {}
        for word in [1, 2] {
            places.turn();
            assert_eq!(places.first, word * 64);
            while let Some(_taken) = places.next() {}
        }
        // SAFETY: there is such a place.
        unsafe { places.free(70) };
        places.begin_anew();
        let mut turns = 0;
        for _ in 0..65 * 10 {
            let place = loop {
                if let Some(place) = places.next() {
                    break place;
                }
                places.turn();
                turns += 1;
            };
            // SAFETY: it was given.
            unsafe { places.free(place) };
        }
        assert_eq!(turns, 2 * 10);
    }

    #[test]
    fn what_is_usable_leaves_some_to_spare() {
        for count in 1..5000 {
            let places = with_spare(count);
            assert!(usable(places) >= count && usable(places - 1) < count, "{count}: {places}");
        }
    }
}
