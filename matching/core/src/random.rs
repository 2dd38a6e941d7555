// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014) from the crate
//! `rand_xoshiro`, and the streams that are derived from a seed.
//!
//! The numbers are part of the format of generated traces: they are the same on every machine and never change.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

/// The increment of the state of `SplitMix64` for each number: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The first number of the generator whose state is `seed`.
fn first(seed: u64) -> u64 {
    SplitMix64::seed_from_u64(seed).next_u64()
}

impl Random {
    /// The stream that belongs to `path` under `seed`.
    #[must_use]
    pub fn of(seed: u64, path: &[u64]) -> Self {
        let mixed = |state: u64, &word: &u64| first((state.wrapping_add(STEP) ^ first(word)).wrapping_sub(STEP));
        Self(SplitMix64::seed_from_u64(path.iter().fold(seed, mixed)))
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "a stream of numbers has no end")]
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit` (not 0). Some numbers are likelier than others by at most `limit` in 2^64.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from `low` to `high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of `choices`; there must be at least one.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_algorithm() {
        // First outputs for the seed 1234567, as other implementations print them.
        let mut random = Random(SplitMix64::seed_from_u64(1_234_567));
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(std::array::from_fn::<u64, 3, _>(|_| random.next()), expected);
    }

    #[test]
    fn every_path_has_its_stream() {
        let firsts = [&[][..], &[1], &[1, 2], &[u64::MAX]].map(|path| Random::of(7, path).next());
        assert_eq!(
            firsts,
            [
                7_191_089_600_892_374_487,
                14_347_407_146_253_168_036,
                10_289_345_546_243_594_472,
                6_537_229_883_484_817_796
            ]
        );
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::of(1, &[2]).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
