// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which places of a pool are free: a bit for each.
//!
//! A list of free places would give them out in the order in which they were freed, so that a pool that was used at
//! random is walked at random ever after. Here a word of 64 places is used up in order, the places that become free in it
//! meanwhile included, before the next word is looked for.

use crate::types::OutOfMemory;

/// Places of a word.
const WORD: u32 = u64::BITS;

#[derive(Default)]
pub(super) struct Places {
    /// A bit for each free place.
    words: Vec<u64>,
    /// A bit for each word in which a place is free.
    summary: Vec<u64>,
    /// The word to take from next. It has a free place if any word has.
    at: u32,
}

impl Places {
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.words.get(self.at as usize).is_some_and(|word| *word != 0)
    }

    /// Takes a free place, which there must be.
    #[inline(always)]
    pub(super) fn take(&mut self) -> u32 {
        let at = self.at;
        let word = &mut self.words[at as usize];
        let place = at * WORD + word.trailing_zeros() % WORD;
        *word &= word.wrapping_sub(1);
        if *word == 0 {
            self.turn();
        }
        place
    }

    /// No place of the current word is free any more: turns to the next that has one, if any has.
    #[cold]
    #[inline(never)]
    fn turn(&mut self) {
        let (group, bit) = ((self.at / WORD) as usize, self.at % WORD);
        self.summary[group] &= !(1 << bit);
        let groups = self.summary.len();
        let next = (0..groups).map(|step| (group + step) % groups).find(|group| self.summary[*group] != 0);
        if let Some(next) = next {
            self.at = next as u32 * WORD + self.summary[next].trailing_zeros();
        }
    }

    /// Frees a place.
    ///
    /// # Safety
    /// The place was taken.
    #[inline(always)]
    pub(super) unsafe fn free(&mut self, place: u32) {
        let at = place / WORD;
        // SAFETY: only places of these words are taken.
        let word = unsafe { self.words.get_unchecked_mut(at as usize) };
        *word |= 1 << (place % WORD);
        // Whether it is there already, nobody can predict.
        self.summary[(at / WORD) as usize] |= 1 << (at % WORD);
        // SAFETY: a word that places were taken from.
        if unsafe { *self.words.get_unchecked(self.at as usize) } == 0 {
            self.at = at;
        }
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
        let groups = words.div_ceil(WORD as usize);
        self.words.try_reserve_exact(words.saturating_sub(self.words.len()))?;
        Ok(self.summary.try_reserve_exact(groups.saturating_sub(self.summary.len()))?)
    }

    /// Adds free places, whole words of them, until there are `places`; they are taken next.
    pub(super) fn extend(&mut self, places: usize) {
        let (had, words) = (self.words.len(), places / WORD as usize);
        self.words.resize(words, u64::MAX);
        self.summary.resize(words.div_ceil(WORD as usize), 0);
        for word in had..words {
            self.summary[word / WORD as usize] |= 1 << (word % WORD as usize);
        }
        self.at = had as u32;
    }

    pub(super) fn bytes(&self) -> usize {
        (self.words.capacity() + self.summary.capacity()) * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_given_once_until_it_is_freed() {
        let mut places = Places::default();
        assert!(!places.has_room() && !places.is_taken(0));
        let mut taken = Vec::new();
        let mut is_taken = vec![false; 64 * 130];
        for (round, room) in [64, 128, 64 * 65, 64 * 130].into_iter().enumerate() {
            places.reserve(room).unwrap();
            places.extend(room);
            while places.has_room() {
                let place = places.take();
                assert!(!std::mem::replace(&mut is_taken[place as usize], true) && places.is_taken(place));
                taken.push(place);
            }
            assert_eq!(taken.len(), room);
            // Some come back, far from each other, and then all at once.
            for step in 0..if cfg!(miri) { 20 } else { 500 } {
                let back = 1 + step * 7 % (taken.len() / 2);
                for turn in 0..back.min(if cfg!(miri) { 2 } else { 100 }) {
                    let place = taken.swap_remove((step * 7919 + turn * 31 + round) % taken.len());
                    is_taken[place as usize] = false;
                    // SAFETY: it was taken.
                    unsafe { places.free(place) };
                    assert!(places.has_room() && !places.is_taken(place));
                }
                while places.has_room() && step % 5 != 0 {
                    let place = places.take();
                    assert!(!std::mem::replace(&mut is_taken[place as usize], true));
                    taken.push(place);
                }
            }
            while places.has_room() {
                taken.push(places.take());
                is_taken[taken[taken.len() - 1] as usize] = true;
            }
            assert_eq!(taken.len(), room);
        }
    }
}
