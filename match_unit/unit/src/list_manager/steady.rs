// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The steady state of a stream: its phase, and advancing it by whole items.

use super::parameters::MAX_HEAD_CACHE;
use super::search::StreamPosition;
use super::{ListManager, StallCause};
use crate::layout::{ItemWords, MAX_ITEM_WORDS};

/// Deepest FIFO for which a phase exists.
const PHASE_WORDS: usize = 64;

/// State of the stream when an item has just begun. Times are relative to the current cycle, positions to the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamPhase {
    entered: u64,
    cause: StallCause,
    requested: u64,
    available: u64,
    began: [u64; MAX_HEAD_CACHE],
    unanswered: usize,
    answered_at: [u64; 2],
    left_at: [u64; PHASE_WORDS],
}

impl ListManager {
    /// Whether the word popped last is the first of an item.
    #[inline]
    pub(crate) const fn item_begun(&self) -> bool {
        matches!(self.search.cursor, StreamPosition::Item(_, 1)) && self.entered == self.left
    }

    /// The phase at the beginning of an item; `None` if the timing of the next items may differ.
    pub(crate) fn phase(&self, now: u64) -> Option<StreamPhase> {
        let (search, fifo) = (&self.search, self.parameters.fifo);
        let StreamPosition::Item(item, 1) = search.cursor else { return None };
        // The head cache affects the times of earlier items.
        let steady = item > self.parameters.head_cache + 1 && self.entered == self.left && self.left >= fifo;
        let quiet = search.count == 0 && !search.matched && search.result.is_none();
        if !steady || !quiet || fifo > PHASE_WORDS || search.slot as usize >= self.parameters.capacity {
            return None;
        }
        let relative = |time: u64| time.wrapping_sub(now);
        let mut began = [0; MAX_HEAD_CACHE];
        for (back, time) in began.iter_mut().enumerate().take(self.parameters.head_cache + 1) {
            *time = relative(search.began[(item - back) % MAX_HEAD_CACHE]);
        }
        let mut left_at = [0; PHASE_WORDS];
        for (back, time) in left_at[..fifo].iter_mut().enumerate() {
            *time = relative(self.left_at[(self.left - 1 - back) & (self.left_at.len() - 1)]);
        }
        Some(StreamPhase {
            entered: relative(self.last_entered),
            cause: self.last_cause,
            requested: relative(search.requested),
            available: relative(search.available),
            began,
            unanswered: item - search.answered,
            answered_at: [0, 1].map(|back| relative(search.answered_at[(item - back) % 2])),
            left_at,
        })
    }

    /// Number of consecutive items, from the current one on, that satisfy `holds` and are followed by an item in local
    /// memory.
    pub(crate) fn count_items_while(&self, holds: impl Fn(&[u64]) -> bool) -> usize {
        let StreamPosition::Item(item, _) = self.search.cursor else { return 0 };
        let slots = &self.items.list(self.search.list).slots[item..];
        let local = |slot: u32| (slot as usize) < self.parameters.capacity;
        slots.windows(2).take_while(|pair| local(pair[1]) && holds(self.items.words(pair[0]))).count()
    }

    /// Advances by `items` items that fail after a cycle for each of their words; returns the words of the last one and
    /// the first word of the following item.
    pub(crate) fn skip(&mut self, items: usize) -> (ItemWords, u64) {
        let StreamPosition::Item(item, _) = self.search.cursor else { unreachable!("an item has begun") };
        let words = self.parameters.item_words * items;
        let cycles = words as u64;
        let mask = self.left_at.len() - 1;
        let mut left_at = [0; PHASE_WORDS];
        for (back, time) in left_at[..self.parameters.fifo].iter_mut().enumerate() {
            *time = self.left_at[(self.left - 1 - back) & mask] + cycles;
        }
        self.left += words;
        self.entered += words;
        self.last_entered += cycles;
        for (back, time) in left_at[..self.parameters.fifo].iter().enumerate() {
            self.left_at[(self.left - 1 - back) & mask] = *time;
        }
        let mut last = [0; MAX_ITEM_WORDS];
        last[..self.parameters.item_words]
            .copy_from_slice(self.items.words(self.items.list(self.search.list).slots[item + items - 1]));
        let slot = self.items.list(self.search.list).slots[item + items];
        let search = &mut self.search;
        let (began, answered_at) = (search.began, search.answered_at);
        for back in 0..=self.parameters.head_cache.min(item) {
            search.began[(item + items - back) % MAX_HEAD_CACHE] = began[(item - back) % MAX_HEAD_CACHE] + cycles;
        }
        for back in 0..2 {
            search.answered_at[(item + items - back) % 2] = answered_at[(item - back) % 2] + cycles;
        }
        search.requested += cycles;
        search.available += cycles;
        search.answered += items;
        search.slot = slot;
        search.cursor = StreamPosition::Item(item + items, 1);
        (last, self.items.words(slot)[0])
    }
}
