// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of the list manager, of its FIFO and of its memories.

use crate::layout::{MAX_ITEM_WORDS, WORDS};

/// Largest head cache, in items.
pub const MAX_HEAD_CACHE: usize = 16;

/// Delays and sizes of the list manager, its input FIFO and its memories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListManagerParameters {
    /// Cycles from a request to its first word, at least 1.
    pub latency: u64,
    /// 64-bit words that memory delivers per cycle, 1 to 8.
    pub words_per_cycle: u64,
    /// Cached items at the head of each list, and memory requests in flight; 1 to [`MAX_HEAD_CACHE`].
    pub head_cache: usize,
    /// Cycles from an answer in the output FIFO to the action on it, at least 1.
    pub reaction: u64,
    /// Cycles to unlink an item.
    pub unlink: u64,
    /// Depth of the input FIFO in words, at least 2.
    pub fifo: usize,
    /// Items that local memory holds, both lists together; further items are in host memory.
    pub capacity: usize,
    /// Cycles from a request to its first word in host memory, at least 1.
    pub spill_latency: u64,
    /// Words of an item, as the program declares: 4 to [`MAX_ITEM_WORDS`].
    pub item_words: usize,
}

impl ListManagerParameters {
    /// The parameters of the preset `hemmert2007`, which states their sources.
    pub const HEMMERT2007: Self = Self {
        latency: 10,
        words_per_cycle: 1,
        head_cache: 2,
        reaction: 1,
        unlink: 2,
        fifo: 16,
        capacity: 4096,
        spill_latency: 250,
        item_words: WORDS,
    };

    /// Cycles for which one item occupies the port of the memory.
    pub(super) const fn item_cycles(&self) -> u64 {
        (self.item_words as u64).div_ceil(self.words_per_cycle)
    }

    /// Panics when a parameter is outside its documented range.
    pub(super) fn assert_valid(&self) {
        assert!(self.latency > 0 && self.spill_latency > 0 && self.reaction > 0, "delays are at least one cycle");
        assert!((1..=8).contains(&self.words_per_cycle), "memory delivers 1 to 8 words per cycle");
        assert!((1..=MAX_HEAD_CACHE).contains(&self.head_cache), "the head cache has 1 to {MAX_HEAD_CACHE} items");
        assert!((4..=MAX_ITEM_WORDS).contains(&self.item_words), "items have 4 to {MAX_ITEM_WORDS} words");
        assert!(self.fifo >= 2, "the input FIFO holds at least two words");
    }
}
