// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a key to the slots with that key, oldest first: a hash table of heads and a chain through the slots.
//!
//! ```text
//!   table   [hash, head] [ ] [hash, head] ...       linear probing, at most three quarters full
//!                 |
//!   links         v  next -> next -> next           prev of the head is the tail
//! ```
//! The table stores slots, not keys: the caller compares the keys. Hashes have no random seed, so two runs do the same.
//! Cost: constant on average; 8 bytes for each link and 10 to 22 for each different key.

use mb_core::{Envelope, Initiator, Pattern};

/// A list of so many entries is scanned; one more, and it is indexed.
pub(super) const FEW: usize = 16;

/// An indexed list that has shrunk to so many entries is scanned again; fewer than [`FEW`], so that a list that
/// goes up and down around it is not rebuilt all the time.
pub(super) const FEW_AGAIN: usize = 4;

/// The bits that a pattern compares: patterns of one shape find their matches by one look-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// The complement of the ignore bits.
    pub(super) care: u64,
    pub(super) any_initiator: bool,
}

impl Shape {
    #[inline]
    pub(super) fn of(pattern: &Pattern) -> Self {
        Self { care: !pattern.ignore, any_initiator: pattern.initiator.is_none() }
    }

    /// The parts of match bits and initiator that this shape compares.
    #[inline]
    pub(super) fn key(self, bits: u64, initiator: u32) -> Key {
        Key { bits: bits & self.care, initiator: if self.any_initiator { 0 } else { initiator } }
    }

    #[inline]
    pub(super) fn key_of(self, envelope: &Envelope) -> Key {
        let Initiator(initiator) = envelope.initiator;
        self.key(envelope.bits, initiator)
    }
}

/// The compared bits; all others are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    bits: u64,
    initiator: u32,
}

impl Key {
    /// The key of a name.
    #[inline]
    pub(super) fn of_name(name: u64) -> Self {
        Self { bits: name, initiator: 0 }
    }

    /// Mixes the key into 32 bits.
    #[inline]
    pub(super) fn hash(self) -> u32 {
        // Any odd constants: the fractions of the golden ratio and of the square root of two.
        let mixed = (self.bits ^ u64::from(self.initiator).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0x6a09_e667_f3bc_c909);
        ((mixed ^ mixed >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }
}

/// No slot.
const NONE: u32 = u32::MAX;
const SMALLEST: usize = 16;

/// Neighbours of a slot in the chain of its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    next: u32,
    prev: u32,
}

impl Link {
    pub(super) const UNUSED: Self = Self { next: NONE, prev: NONE };
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    hash: u32,
    head: u32,
}

const EMPTY: Bucket = Bucket { hash: 0, head: NONE };

/// The heads of the chains.
#[derive(Clone, Debug)]
pub(super) struct Index {
    buckets: Vec<Bucket>,
    keys: usize,
}

/// Where a key was found: its bucket and the oldest slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    bucket: usize,
    /// The oldest slot with the key.
    pub(super) head: u32,
}

impl Index {
    pub(super) fn new() -> Self {
        Self { buckets: vec![EMPTY; SMALLEST], keys: 0 }
    }

    /// Bytes allocated.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// Removes every chain; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.buckets.fill(EMPTY);
        self.keys = 0;
    }

    /// Finds the key with this hash for whose slots `is_key` holds.
    #[inline]
    pub(super) fn find(&self, hash: u32, is_key: impl Fn(u32) -> bool) -> Option<Found> {
        let mask = self.buckets.len() - 1;
        let mut bucket = hash as usize & mask;
        loop {
            let Bucket { hash: found, head } = self.buckets[bucket];
            if head == NONE {
                return None;
            }
            if found == hash && is_key(head) {
                return Some(Found { bucket, head });
            }
            bucket = (bucket + 1) & mask;
        }
    }

    /// Appends `slot` to the chain of its key.
    #[inline]
    pub(super) fn append(&mut self, links: &mut [Link], slot: u32, hash: u32, is_key: impl Fn(u32) -> bool) {
        if let Some(Found { head, .. }) = self.find(hash, is_key) {
            let tail = links[head as usize].prev;
            links[tail as usize].next = slot;
            links[slot as usize] = Link { next: NONE, prev: tail };
            links[head as usize].prev = slot;
        } else {
            links[slot as usize] = Link { next: NONE, prev: slot };
            if (self.keys + 1) * 4 > self.buckets.len() * 3 {
                self.grow();
            }
            self.keys += 1;
            self.insert(Bucket { hash, head: slot });
        }
    }

    /// Takes the oldest slot out of the chain that was found.
    #[inline]
    pub(super) fn remove_head(&mut self, links: &mut [Link], found: Found) {
        let Link { next, prev } = links[found.head as usize];
        if next == NONE {
            self.erase(found.bucket);
        } else {
            links[next as usize].prev = prev;
            self.buckets[found.bucket].head = next;
        }
    }

    /// Takes `slot` out of the chain of its key, wherever it is.
    #[inline]
    pub(super) fn remove(&mut self, links: &mut [Link], slot: u32, hash: u32, is_key: impl Fn(u32) -> bool) {
        let Link { next, prev } = links[slot as usize];
        let is_head = links[prev as usize].next != slot;
        if is_head {
            // Comparing slots is enough and cheaper than comparing keys.
            if let Some(found) = self.find(hash, |head| head == slot) {
                self.remove_head(links, found);
            }
        } else if next == NONE {
            links[prev as usize].next = NONE;
            if let Some(found) = self.find(hash, is_key) {
                links[found.head as usize].prev = prev;
            }
        } else {
            links[prev as usize].next = next;
            links[next as usize].prev = prev;
        }
    }

    fn insert(&mut self, new: Bucket) {
        let mask = self.buckets.len() - 1;
        let mut bucket = new.hash as usize & mask;
        while self.buckets[bucket].head != NONE {
            bucket = (bucket + 1) & mask;
        }
        self.buckets[bucket] = new;
    }

    /// Empties a bucket and moves later ones of its run up, so that no search stops early.
    fn erase(&mut self, bucket: usize) {
        let mask = self.buckets.len() - 1;
        let (mut hole, mut next) = (bucket, bucket);
        loop {
            next = (next + 1) & mask;
            let candidate = self.buckets[next];
            if candidate.head == NONE {
                break;
            }
            let start = candidate.hash as usize & mask;
            if next.wrapping_sub(start) & mask >= next.wrapping_sub(hole) & mask {
                self.buckets[hole] = candidate;
                hole = next;
            }
        }
        self.buckets[hole] = EMPTY;
        self.keys -= 1;
    }

    fn grow(&mut self) {
        let larger = vec![EMPTY; self.buckets.len() * 2];
        for bucket in std::mem::replace(&mut self.buckets, larger) {
            if bucket.head != NONE {
                self.insert(bucket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Hashes of two bits make runs of buckets that wrap around the table's end.
        #[test]
        fn chains_are_those_of_plain_lists(steps in proptest::collection::vec((0..40_u32, 0..3_u8, any::<u16>()), 1..400)) {
            let mut index = Index::new();
            let mut links = vec![Link::UNUSED; steps.len()];
            let mut keys = vec![0; steps.len()];
            let mut plain: Vec<Vec<u32>> = vec![Vec::new(); 40];
            for (slot, (key, verb, pick)) in (0_u32..).zip(steps) {
                let hash = 12 + key % 4;
                let chain = &mut plain[key as usize];
                keys[slot as usize] = key;
                let is_key = |slot: u32| keys[slot as usize] == key;
                let found = index.find(hash, is_key);
                prop_assert_eq!(found.map(|found| found.head), chain.first().copied());
                match (verb, found) {
                    (0, _) | (_, None) => {
                        index.append(&mut links, slot, hash, is_key);
                        chain.push(slot);
                    }
                    (1, Some(found)) => {
                        index.remove_head(&mut links, found);
                        chain.remove(0);
                    }
                    (_, Some(_)) => {
                        let victim = chain.remove(pick as usize % chain.len());
                        index.remove(&mut links, victim, hash, is_key);
                    }
                }
            }
        }
    }
}
