// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts by 64-bit key: how often each destination was sent to. Open addressing, linear probing, at most half full,
//! 16 bytes a slot. Never iterated in an order that anybody sees.

/// Key of a destination in a communicator; no valid one is all ones.
#[inline]
pub(crate) const fn destination(comm: u32, peer: i32) -> u64 {
    (comm as u64) << 32 | peer as u32 as u64
}

/// Counts by key.
#[derive(Clone, Default, Debug)]
pub(crate) struct Counts {
    slots: Vec<(u64, u64)>,
    used: usize,
}

impl Counts {
    /// No key: see [`destination`].
    const FREE: u64 = u64::MAX;

    /// Returns how often this was called with `key` before.
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
        // Fibonacci hashing: 2^64 divided by the golden ratio, upper bits. `grow` keeps the length a power of two above 1.
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
        // A rank with few destinations should not pay for one with many.
        self.slots.truncate(16);
        self.slots.fill((Self::FREE, 0));
        self.used = 0;
    }
}
