// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histograms of counts, in powers of two.

use mb_core::columns::Mergeable;

/// Buckets of a [`Distribution`]. No queue has 2^48 entries.
const BUCKETS: usize = 49;

/// How often each number occurred, in buckets of powers of two.
#[derive(Clone, PartialEq, Eq, Debug, Mergeable)]
pub struct Distribution {
    /// Numbers counted.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest; 0 if there is none.
    #[merge(max)]
    pub max: u64,
    /// How many were 0, 1, 2 to 3, 4 to 7, and so on.
    pub buckets: [u64; BUCKETS],
}

impl Default for Distribution {
    fn default() -> Self {
        Self { count: 0, sum: 0, max: 0, buckets: [0; BUCKETS] }
    }
}

impl Distribution {
    /// Counts `number`.
    pub fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += number;
        self.max = self.max.max(number);
        self.buckets[((u64::BITS - number.leading_zeros()) as usize).min(BUCKETS - 1)] += 1;
    }

    /// The mean, or `None` without numbers.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Smallest and largest number of each non-empty bucket, and its count.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let bounds = |bucket: usize| if bucket == 0 { (0, 0) } else { (1 << (bucket - 1), (1 << bucket) - 1) };
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(move |(bucket, &count)| (bounds(bucket).0, bounds(bucket).1, count))
    }
}
