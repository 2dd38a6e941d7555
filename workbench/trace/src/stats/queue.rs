// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue in order of insertion that reports the depth of each of its items.
//!
//! Cost: O(log n) per operation (a Fenwick tree over the insertions). Memory: 8 bytes per item.

use fenwick::array::{prefix_sum, update};

/// Numbered items in order of insertion. Each item is inserted at most once.
pub(super) struct Queue {
    /// Fenwick tree over insertions: 1 while the inserted item is in the queue, else 0.
    present: Vec<i32>,
    length: u64,
    longest: u64,
    inserted: u32,
    /// Position of each item among the insertions, plus one; 0 when it is not in the queue.
    position: Vec<u32>,
}

impl Queue {
    /// An empty queue for items numbered below `items`.
    pub(super) fn new(items: usize) -> Self {
        Self { present: vec![0; items], length: 0, longest: 0, inserted: 0, position: vec![0; items] }
    }

    /// Items in the queue.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Most items at any time.
    pub(super) fn longest(&self) -> u64 {
        self.longest
    }

    pub(super) fn append(&mut self, item: u32) {
        update(&mut self.present, self.inserted as usize, 1);
        self.inserted += 1;
        self.position[item as usize] = self.inserted;
        self.length += 1;
        self.longest = self.longest.max(self.length);
    }

    /// Removes `item` and returns the number of entries that a search for it visits, itself
    /// included; `None` when it is not in the queue.
    pub(super) fn remove(&mut self, item: u32) -> Option<u64> {
        let at = std::mem::take(&mut self.position[item as usize]).checked_sub(1)? as usize;
        let depth = prefix_sum(&self.present, at);
        update(&mut self.present, at, -1);
        self.length -= 1;
        Some(depth as u64)
    }
}
