// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries in order of age in a ring of slots, with the rank of a slot: how many stored entries are as old or older.
//!
//! ```text
//!   slots    . . a . b c . . d . . .        a: front, the oldest      rank(c) = 3
//!   live     0 0 1 0 1 1 0 0 1 0 0 0        bits, and their number in blocks of 256 slots as a Fenwick tree
//! ```
//! An entry keeps its slot until the ring is renumbered, which happens when its window is full: the caller
//! then rebuilds what it holds by slot. Cost: push, remove and rank take a constant and the logarithm of
//! the number of blocks; renumbering is paid by the pushes before it.

const WORD: usize = 64;
const WORDS_PER_BLOCK: usize = 4;
const BLOCK: usize = WORD * WORDS_PER_BLOCK;

/// Smallest ring; rings up to [`FAST_GROWTH`] slots grow fourfold, larger ones, whose memory counts, twofold.
const SMALLEST: usize = 64;
const FAST_GROWTH: usize = 4096;

/// Entries and their ages. The number of slots is a power of two.
#[derive(Clone, Debug)]
pub(super) struct Ring<E> {
    slots: Vec<E>,
    /// One bit for each slot.
    live: Vec<u64>,
    /// Fenwick tree over the number of stored entries in each block.
    blocks: Vec<u32>,
    /// The oldest stored entry, if there is one.
    front: usize,
    /// Slots from the front to the youngest entry.
    window: usize,
    count: usize,
    /// Stored entries in slots below the front: those pushed after the ring's end was reached.
    wrapped: usize,
}

impl<E: Copy + Default> Ring<E> {
    /// An empty ring with slots for twice `count` entries.
    pub(super) fn for_count(count: usize) -> Self {
        Self::with_slots((2 * count).next_power_of_two().max(SMALLEST))
    }

    fn with_slots(slots: usize) -> Self {
        Self {
            slots: vec![E::default(); slots],
            live: vec![0; slots.div_ceil(WORD)],
            blocks: vec![0; slots.div_ceil(BLOCK)],
            front: 0,
            window: 0,
            count: 0,
            wrapped: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The number of slots.
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Whether a push must be preceded by [`Ring::renumber`].
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.window == self.slots.len()
    }

    /// Bytes allocated.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.live) + size_of_val(&*self.blocks)
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &E {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut E {
        &mut self.slots[slot as usize]
    }

    /// A number that orders occupied slots by age; smaller is older.
    #[inline]
    pub(super) fn age(&self, slot: u32) -> usize {
        (slot as usize).wrapping_sub(self.front) & (self.slots.len() - 1)
    }

    /// Appends the youngest entry; the ring must not be full.
    #[inline]
    pub(super) fn push(&mut self, entry: E) -> u32 {
        let slot = (self.front + self.window) & (self.slots.len() - 1);
        self.slots[slot] = entry;
        self.live[slot / WORD] |= 1 << (slot % WORD);
        self.add_to_block(slot / BLOCK, 1);
        self.window += 1;
        self.count += 1;
        self.wrapped += usize::from(slot < self.front);
        slot as u32
    }

    #[inline]
    pub(super) fn remove(&mut self, slot: u32) -> E {
        let slot = slot as usize;
        self.live[slot / WORD] &= !(1 << (slot % WORD));
        self.add_to_block(slot / BLOCK, u32::MAX);
        self.count -= 1;
        self.wrapped -= usize::from(slot < self.front);
        if slot == self.front {
            self.advance_front();
        }
        self.slots[slot]
    }

    /// How many stored entries are as old as that in `slot` or older.
    #[inline]
    pub(super) fn rank(&self, slot: u32) -> u32 {
        let slot = slot as usize;
        let up_to = self.living_up_to(slot);
        (if slot >= self.front { up_to - self.wrapped } else { self.count - self.wrapped + up_to }) as u32
    }

    /// Occupied slots, oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        let oldest = self.words(self.front, self.slots.len());
        let wrapped = self.words(0, self.front);
        oldest.chain(wrapped)
    }

    /// Frees slots at the end: moves the stored entries to the first slots of a ring of fitting size.
    pub(super) fn renumber(&mut self) {
        let slots = self.capacity();
        let slots = if self.count * 2 > slots {
            slots * if slots < FAST_GROWTH { 4 } else { 2 }
        } else if self.count * 8 <= slots {
            (self.count * 4).next_power_of_two().max(SMALLEST)
        } else {
            slots
        };
        let mut renumbered = Self::with_slots(slots);
        for slot in self.slots() {
            renumbered.push(*self.get(slot));
        }
        *self = renumbered;
    }

    /// Occupied slots of `from..to`, where `from` may be in the middle of a word.
    fn words(&self, from: usize, to: usize) -> impl Iterator<Item = u32> {
        (from / WORD..to.div_ceil(WORD)).flat_map(move |word| {
            let mut bits = self.live[word];
            if word == from / WORD {
                bits &= u64::MAX << (from % WORD);
            }
            if word == to / WORD {
                bits &= (1 << (to % WORD)) - 1;
            }
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < WORD as u32).then_some((word * WORD) as u32 + bit)
            })
        })
    }

    /// Stored entries in slots `0..=slot`.
    #[inline]
    fn living_up_to(&self, slot: usize) -> usize {
        let word = slot / WORD;
        let block = slot / BLOCK;
        let mut sum = 0;
        let mut node = block;
        while node > 0 {
            sum += self.blocks[node - 1] as usize;
            node &= node - 1;
        }
        for bits in &self.live[block * WORDS_PER_BLOCK..word] {
            sum += bits.count_ones() as usize;
        }
        sum + (self.live[word] << (WORD - 1 - slot % WORD)).count_ones() as usize
    }

    /// Adds to the number of stored entries of a block; `u32::MAX` takes one away.
    #[inline]
    fn add_to_block(&mut self, block: usize, number: u32) {
        let mut node = block + 1;
        while node <= self.blocks.len() {
            self.blocks[node - 1] = self.blocks[node - 1].wrapping_add(number);
            node += node & node.wrapping_neg();
        }
    }

    /// Moves the front from a freed slot to the oldest occupied one.
    fn advance_front(&mut self) {
        if self.count == 0 {
            (self.front, self.window) = (0, 0);
            return;
        }
        let words = self.live.len();
        let mut word = self.front / WORD;
        let mut bits = self.live[word] & (u64::MAX << (self.front % WORD));
        while bits == 0 {
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = self.live[word];
        }
        let front = word * WORD + bits.trailing_zeros() as usize;
        let passed = front.wrapping_sub(self.front) & (self.slots.len() - 1);
        if front < self.front {
            self.wrapped = 0;
        }
        self.window -= passed;
        self.front = front;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_and_order_are_those_of_a_plain_list(steps in proptest::collection::vec(any::<u16>(), 1..3000)) {
            let mut ring = Ring::for_count(0);
            let mut plain: Vec<u32> = Vec::new();
            for (value, step) in (0_u32..).zip(steps) {
                // Phases of growth, of removal at the front, and of removal anywhere.
                let grows = if value / 500 % 2 == 0 { step % 4 > 0 } else { step % 4 == 0 };
                if grows || plain.is_empty() {
                    if ring.is_full() {
                        ring.renumber();
                    }
                    ring.push(value);
                    plain.push(value);
                } else {
                    let index = if step % 3 == 0 { 0 } else { step as usize % plain.len() };
                    let slot = ring.slots().nth(index).unwrap();
                    prop_assert_eq!(ring.rank(slot) as usize, index + 1);
                    prop_assert_eq!(ring.remove(slot), plain.remove(index));
                }
                prop_assert_eq!(ring.len(), plain.len());
                if value % 97 == 0 {
                    let found: Vec<u32> = ring.slots().map(|slot| *ring.get(slot)).collect();
                    prop_assert_eq!(&found, &plain);
                    for (index, slot) in ring.slots().enumerate() {
                        prop_assert_eq!(ring.rank(slot) as usize, index + 1);
                    }
                }
            }
        }
    }

    #[test]
    fn a_queue_that_moves_along_is_not_renumbered() {
        let mut ring = Ring::for_count(32);
        let capacity = ring.capacity();
        let mut slots: std::collections::VecDeque<u32> = (0..32_u32).map(|value| ring.push(value)).collect();
        for value in 32..10_000_u32 {
            let oldest = slots.pop_front().unwrap();
            assert_eq!(ring.rank(oldest), 1);
            assert_eq!(ring.remove(oldest), value - 32);
            assert!(!ring.is_full());
            slots.push_back(ring.push(value));
            assert_eq!(ring.rank(slots[31]), 32);
        }
        assert_eq!(ring.capacity(), capacity);
    }
}
