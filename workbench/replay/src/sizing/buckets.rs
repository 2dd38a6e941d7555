// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue divided into buckets by the source of its entries.
//!
//! The hash is the source's rank in the world modulo the number of buckets, as for the key `source` of `hash_buckets`.
//! Receives from any source have a list of their own, which every arrival searches besides its bucket, in order of age.
//! A receive or probe from any source walks all unexpected messages in order of age.

use std::collections::{BTreeMap, VecDeque};

use mb_core::columns::Mergeable;

use super::WeightedCounts;

/// The counts of a queue divided into buckets.
#[derive(Clone, PartialEq, Eq, Debug, Default, Mergeable)]
pub struct BucketCurves {
    /// Number of buckets, without the list of receives from any source; the same in all receivers.
    #[merge(max)]
    pub buckets: u32,
    /// Entries of the longest bucket at any time; of several receivers, the longest of any.
    #[merge(max)]
    pub longest: usize,
    /// Entries of the longest list of receives from any source.
    #[merge(max)]
    pub longest_any: usize,
    /// Searches by the entries compared, the match included.
    pub searches: WeightedCounts,
}

/// The ages of entries in ascending order.
///
/// Cost: a binary search, and to remove one a move of at most half of the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Ages(VecDeque<u64>);

impl Ages {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends an age above all others.
    pub(super) fn push(&mut self, age: u64) {
        self.0.push_back(age);
    }

    /// How many are at most `age`.
    pub(super) fn up_to(&self, age: u64) -> usize {
        self.0.partition_point(|other| *other <= age)
    }

    pub(super) fn remove(&mut self, age: u64) {
        if let Ok(place) = self.0.binary_search(&age) {
            self.0.remove(place);
        }
    }
}

/// One queue in buckets. Only buckets with entries take memory.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    pub(super) curves: BucketCurves,
    lists: BTreeMap<u32, Ages>,
    any: Ages,
}

impl Buckets {
    pub(super) fn new(buckets: u32) -> Self {
        let curves = BucketCurves { buckets, ..BucketCurves::default() };
        Self { curves, lists: BTreeMap::new(), any: Ages::default() }
    }

    pub(super) fn insert(&mut self, source: Option<u32>, age: u64) {
        if let Some(source) = source {
            let list = self.lists.entry(source % self.curves.buckets).or_default();
            list.push(age);
            self.curves.longest = self.curves.longest.max(list.len());
        } else {
            self.any.push(age);
            self.curves.longest_any = self.curves.longest_any.max(self.any.len());
        }
    }

    pub(super) fn remove(&mut self, source: Option<u32>, age: u64) {
        let Some(source) = source else { return self.any.remove(age) };
        let bucket = source % self.curves.buckets;
        if let Some(list) = self.lists.get_mut(&bucket) {
            list.remove(age);
            if list.len() == 0 {
                self.lists.remove(&bucket);
            }
        }
    }

    /// Counts a search for `source` that ends at the entry of age `found`, or behind all entries. `depth` is that of
    /// the undivided queue, which a search for any source walks.
    pub(super) fn search(&mut self, source: Option<u32>, found: Option<u64>, depth: usize) {
        let compared = source.map_or(depth, |source| {
            let end = found.unwrap_or(u64::MAX);
            let bucket = self.lists.get(&(source % self.curves.buckets));
            bucket.map_or(0, |list| list.up_to(end)) + self.any.up_to(end)
        });
        self.curves.searches.add(compared, 1);
    }
}
