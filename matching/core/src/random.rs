// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014): one 64-bit word of
//! state, the same numbers on every machine. Streams for different purposes start from different words of [`Random::of`].

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// 2^64 divided by the golden ratio, made odd: the step of the state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Random {
    /// The stream that belongs to `path` under `seed`.
    #[must_use]
    pub fn of(seed: u64, path: &[u64]) -> Self {
        Self(path.iter().fold(seed, |state, &word| mix(state.wrapping_add(STEP) ^ mix(word.wrapping_add(STEP)))))
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "a stream of numbers has no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `limit` (not 0). Some numbers are likelier than others by at most `limit` in 2^64.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from `low` to `high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of `choices`, of which there is at least one.
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
        let mut random = Random(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(std::array::from_fn::<u64, 3, _>(|_| random.next()), expected);
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
