// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters by 64-bit key: the number of sends to each destination.
//!
//! A hash table with open addressing and linear probing, at most half full, 16 bytes per slot.

/// Key of a destination in a communicator. No valid key is all ones.
#[inline]
pub(crate) const fn destination(comm: u32, peer: i32) -> u64 {
    (comm as u64) << 32 | peer as u32 as u64
}

/// Counters by key.
#[derive(Clone, Default, Debug)]
pub(crate) struct Counts {
    slots: Vec<(u64, u64)>,
    used: usize,
}

impl Counts {
    /// Marks a free slot: see [`destination`].
    const FREE: u64 = u64::MAX;

    /// Returns the number of earlier calls with `key`.
    #[inline]
    pub(crate) fn next(&mut self, key: u64) -> u64 {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(key);
        let (found, count) = &mut self.slots[slot];
        if *found == Self::FREE {
            *found = key;
            self.used += 1;
        }
        *count += 1;
        *count - 1
    }

    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Fibonacci hashing: the upper bits of the product with 2^64 / golden ratio. The length is
        // a power of two above 1.
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.slots.len().ilog2())) as usize;
        while self.slots[at].0 != key && self.slots[at].0 != Self::FREE {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(16);
        let old = std::mem::replace(&mut self.slots, vec![(Self::FREE, 0); length]);
        for (key, count) in old {
            if key != Self::FREE {
                let slot = self.slot(key);
                self.slots[slot] = (key, count);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        // Keep the table small, so that clearing costs little for ranks with few destinations.
        self.slots.truncate(16);
        self.slots.fill((Self::FREE, 0));
        self.used = 0;
    }
}
