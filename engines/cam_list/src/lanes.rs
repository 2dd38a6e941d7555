// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In which of several lists each entry is, in order of age: counts how many of the oldest entries are in each list
//! without walking them.
//!
//! Entries are kept in blocks with a count for each list; a block that has become small is merged
//! with the next one. Cost: a scan of the blocks, some 200 entries each, and of one block;
//! nothing is stored if there is one list only.

use std::collections::VecDeque;

/// Entries of a full block.
const BLOCK: usize = 256;
/// A block below this is merged with the next one if the two fit into one.
const SMALL: usize = 64;

#[derive(Clone, Debug)]
struct Block {
    lanes: Vec<u8>,
    counts: Vec<u16>,
}

/// The lists of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// Entries in each list.
    lengths: Vec<u32>,
    length: usize,
    blocks: VecDeque<Block>,
}

impl Lanes {
    pub(crate) fn new(lists: usize) -> Self {
        Self { lengths: vec![0; lists], length: 0, blocks: VecDeque::new() }
    }

    /// The number of entries in all lists.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// The number of entries in each list.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Appends the youngest entry to list `lane`.
    pub(crate) fn push(&mut self, lane: usize) {
        self.lengths[lane] += 1;
        self.length += 1;
        if self.lengths.len() == 1 {
            return;
        }
        if self.blocks.back().is_none_or(|block| block.lanes.len() == BLOCK) {
            let counts = vec![0; self.lengths.len()];
            self.blocks.push_back(Block { lanes: Vec::with_capacity(BLOCK), counts });
        }
        if let Some(block) = self.blocks.back_mut() {
            block.lanes.push(lane as u8);
            block.counts[lane] += 1;
        }
    }

    /// Takes out the entry that `index` entries are older than.
    pub(crate) fn remove(&mut self, mut index: usize) {
        self.length -= 1;
        if self.lengths.len() == 1 {
            self.lengths[0] -= 1;
            return;
        }
        for number in 0..self.blocks.len() {
            let block = &mut self.blocks[number];
            if index < block.lanes.len() {
                let lane = block.lanes.remove(index) as usize;
                block.counts[lane] -= 1;
                self.lengths[lane] -= 1;
                self.merge(number);
                if number > 0 {
                    self.merge(number - 1);
                }
                return;
            }
            index -= block.lanes.len();
        }
        unreachable!("no entry is that young");
    }

    /// Appends block `number + 1` to block `number` if the two are small.
    fn merge(&mut self, number: usize) {
        let length = self.blocks.get(number).map_or(BLOCK, |block| block.lanes.len());
        if length == 0 {
            self.blocks.remove(number);
        } else if length < SMALL
            && let Some(next) = self.blocks.get(number + 1)
            && length + next.lanes.len() <= BLOCK
            && let Some(next) = self.blocks.remove(number + 1)
        {
            let block = &mut self.blocks[number];
            block.lanes.extend(next.lanes);
            for (count, more) in block.counts.iter_mut().zip(next.counts) {
                *count += more;
            }
        }
    }

    /// Calls `see` with how many of the `oldest` entries are in each list.
    #[inline]
    pub(crate) fn of_oldest<T>(&self, oldest: usize, see: impl FnOnce(&[u32]) -> T) -> T {
        if oldest == self.length {
            return see(&self.lengths);
        }
        if self.lengths.len() == 1 {
            return see(&[oldest as u32]);
        }
        let mut counts = [0; 256];
        let counts = &mut counts[..self.lengths.len()];
        let mut left = oldest;
        for block in &self.blocks {
            if left < block.lanes.len() {
                for lane in &block.lanes[..left] {
                    counts[*lane as usize] += 1;
                }
                break;
            }
            left -= block.lanes.len();
            for (count, more) in counts.iter_mut().zip(&block.counts) {
                *count += u32::from(*more);
            }
        }
        see(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_are_those_of_a_plain_list(
            lists in 1..5_usize, steps in proptest::collection::vec(any::<(u8, u16)>(), 0..3000)
        ) {
            let mut lanes = Lanes::new(lists);
            let mut plain: Vec<usize> = Vec::new();
            for (number, (kind, choice)) in steps.into_iter().enumerate() {
                // Phases of growth, then of removal.
                if plain.is_empty() || (kind % 8 > 1) == (number / 800 % 2 == 0) {
                    plain.push(choice as usize % lists);
                    lanes.push(choice as usize % lists);
                } else {
                    let index = choice as usize % plain.len();
                    plain.remove(index);
                    lanes.remove(index);
                }
                prop_assert_eq!(lanes.len(), plain.len());
                if number % 16 == 0 {
                    let oldest = choice as usize % (plain.len() + 1);
                    let of = |lane| plain[..oldest].iter().filter(|&&other| other == lane).count() as u32;
                    let expected: Vec<u32> = (0..lists).map(of).collect();
                    lanes.of_oldest(oldest, |counts| assert_eq!(counts, expected));
                }
            }
            let few = lanes.blocks.iter().filter(|block| block.lanes.len() < SMALL).count();
            prop_assert!(few * 2 <= lanes.blocks.len() + 2, "{few} of {} blocks are small", lanes.blocks.len());
        }
    }
}
