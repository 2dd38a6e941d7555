// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Weights by a small number, and what share of them a number covers.

use mb_core::Picos;
use mb_core::columns::Mergeable;

/// Weights by number, from 0 on: how often a number occurred, or for how many picoseconds.
///
/// Memory: 8 bytes for each number up to the largest.
#[derive(Clone, PartialEq, Eq, Debug, Default, Mergeable)]
pub struct WeightedCounts {
    weights: Vec<u64>,
}

impl WeightedCounts {
    /// Adds `weight` at `number`.
    #[inline]
    pub fn add(&mut self, number: usize, weight: u64) {
        if weight == 0 {
            return;
        }
        if number >= self.weights.len() {
            self.weights.resize(number + 1, 0);
        }
        self.weights[number] = self.weights[number].saturating_add(weight);
    }

    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight))
    }

    /// The largest number with a weight; `None` without weights.
    #[must_use]
    pub fn largest(&self) -> Option<usize> {
        self.weights.iter().rposition(|weight| *weight > 0)
    }

    /// The weight of all numbers from `number` on.
    #[must_use]
    pub fn from(&self, number: usize) -> u64 {
        self.weights.get(number..).unwrap_or_default().iter().fold(0, |sum, weight| sum.saturating_add(*weight))
    }

    /// The smallest number that, with all smaller ones, has at least `share` of the weight; 0 without weights.
    /// `share` is a fraction, numerator and denominator, so that no rounding decides.
    #[must_use]
    pub fn covers(&self, share: (u64, u64)) -> usize {
        let wanted = u128::from(self.total()) * u128::from(share.0);
        let mut covered = 0_u128;
        for (number, weight) in self.weights.iter().enumerate() {
            covered += u128::from(*weight) * u128::from(share.1);
            if covered >= wanted {
                return number;
            }
        }
        0
    }

    /// Numbers with a weight, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        self.weights.iter().copied().enumerate().filter(|(_, weight)| *weight > 0)
    }

    /// Adds a span of time.
    pub(super) fn add_time(&mut self, number: usize, span: Picos) {
        self.add(number, span.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_covers_a_share_exactly_and_not_one_less() {
        let mut counts = WeightedCounts::default();
        counts.add(0, 500);
        counts.add(3, 499);
        counts.add(70, 1);
        assert_eq!(
            [(1, 2), (501, 1000), (999, 1000), (9991, 10_000), (1, 1)].map(|share| counts.covers(share)),
            [0, 3, 3, 70, 70]
        );
        assert_eq!((counts.from(0), counts.from(3), counts.from(4), counts.from(71)), (1000, 500, 1, 0));
        assert_eq!(counts.largest(), Some(70));
        assert_eq!(WeightedCounts::default().covers((1, 1)), 0);
    }
}
