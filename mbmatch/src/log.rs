// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys in order of age, packed into blocks of 64 lanes that a vector unit can compare.
//!
//! A removed key leaves a hole. A block that becomes empty at either end is reused. When neither a
//! free lane nor a free block is left and a fifth of the lanes are holes, [`Log::compact`] closes
//! them: holes take at most a quarter of the memory, and compaction at most four moves for each key
//! appended since. Growth adds a block and copies nothing. Without memory for a block, every hole is
//! used, at the price of a compaction for each key.

use crate::heap::{Array, Heap, Owned};
use crate::pool::check_allocation;
use crate::ring::Ring;
use crate::types::{Envelope, OutOfMemory};

/// Lanes of a block.
pub(crate) const LANES: u32 = 64;

/// 64 keys of a type.
pub(crate) trait Block: Default {
    /// The type of a key.
    type Key: Copy;
    /// A bit for each lane in use.
    fn used(&self) -> u64;
    /// The same, mutable.
    fn used_mut(&mut self) -> &mut u64;
    /// A key and its owner, an index in a pool.
    fn key(&self, lane: u32) -> (Self::Key, u32);
    /// Stores a key and its owner.
    fn put(&mut self, lane: u32, key: (Self::Key, u32));
}

/// The result of [`Log::make_room`].
#[derive(PartialEq, Eq)]
pub(crate) enum Room {
    Made,
    /// The caller must call [`Log::compact`].
    NeedsCompaction,
}

/// The keys. A position is 64 times the number of the block, plus the lane; it does not grow with
/// age.
pub(crate) struct Log<B> {
    // One allocation each, so that growth moves no block.
    blocks: Array<Owned<B>>,
    /// Blocks in order of age. The last one is being filled.
    order: Ring,
    /// Empty blocks.
    free: Array<u32>,
    /// The last block of `order`.
    last: u32,
    /// The next lane of the last block.
    fill: u32,
    len: u32,
    heap: Heap,
}

impl<B: Block> Log<B> {
    pub(crate) fn new(heap: Heap) -> Self {
        let (blocks, order, free) = (Array::new(heap), Ring::new(heap), Array::new(heap));
        Self { blocks, order, free, last: 0, fill: LANES, len: 0, heap }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(crate) fn block(&mut self, position: u32) -> &mut B {
        &mut self.blocks[(position / LANES) as usize]
    }

    /// As [`Self::block`], not to be changed.
    #[inline(always)]
    pub(crate) fn block_at(&self, position: u32) -> &B {
        &self.blocks[(position / LANES) as usize]
    }

    /// The key at `position`, and its owner.
    #[inline(always)]
    pub(crate) fn key(&self, position: u32) -> (B::Key, u32) {
        self.block_at(position).key(position % LANES)
    }

    /// The owner of the key at `position`.
    #[inline(always)]
    pub(crate) fn owner(&self, position: u32) -> u32 {
        self.key(position).1
    }

    /// Blocks in order of age, as two slices, and the blocks.
    #[inline(always)]
    pub(crate) fn parts(&self) -> ([&[u32]; 2], &[Owned<B>]) {
        (self.order.as_slices(), &self.blocks)
    }

    /// Positions and keys in order of age, one by one.
    #[inline(always)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = (u32, B::Key)> {
        self.order.iter().flat_map(|number| {
            let block = &self.blocks[number as usize];
            let mut used = block.used();
            std::iter::from_fn(move || {
                let lane = (used != 0).then(|| used.trailing_zeros())?;
                used &= used - 1;
                Some((number * LANES + lane, block.key(lane).0))
            })
        })
    }

    /// Makes sure that there is a lane for the next [`Self::push`], unless compaction must come
    /// first.
    #[inline(always)]
    pub(crate) fn make_room(&mut self) -> Result<Room, OutOfMemory> {
        if self.fill < LANES { Ok(Room::Made) } else { self.next_block() }
    }

    #[inline(never)]
    fn next_block(&mut self) -> Result<Room, OutOfMemory> {
        if self.free.is_empty() {
            let lanes = self.order.len() as u64 * u64::from(LANES);
            if lanes > 0 && u64::from(self.len) * 5 <= lanes * 4 {
                return Ok(Room::NeedsCompaction);
            }
            if let Err(error) = self.allocate() {
                // Any hole will do.
                return if u64::from(self.len) < lanes { Ok(Room::NeedsCompaction) } else { Err(error) };
            }
        }
        if let Some(block) = self.free.pop() {
            self.order.push_back(block);
            (self.last, self.fill) = (block, 0);
        }
        Ok(Room::Made)
    }

    #[cold]
    fn allocate(&mut self) -> Result<(), OutOfMemory> {
        if self.blocks.len() >= (u32::MAX / LANES) as usize {
            return Err(OutOfMemory);
        }
        // The lists of blocks are reserved for every block here, so that they grow nowhere else.
        self.blocks.reserve(1)?;
        // Including the holes that may exist, and one block that is partly filled.
        let blocks = self.blocks.len() + 1;
        self.free.reserve(blocks - self.free.len())?;
        self.order.reserve(blocks)?;
        self.blocks.push(Owned::new(self.heap, B::default())?);
        self.free.push(blocks as u32 - 1);
        Ok(())
    }

    pub(crate) fn reserve(&mut self, keys: usize) -> Result<(), OutOfMemory> {
        self.reserve_blocks(keys.div_ceil(LANES as usize * 4 / 5) + 1)
    }

    /// Makes sure that there are this many blocks in total, with keys or without.
    pub(crate) fn reserve_blocks(&mut self, blocks: usize) -> Result<(), OutOfMemory> {
        check_allocation::<B>(self.heap, blocks.saturating_sub(self.blocks.len()))?;
        while self.blocks.len() < blocks {
            self.allocate()?;
        }
        Ok(())
    }

    /// Removes all keys. What is stored in the lanes of blocks is of no meaning then, so that they can store something
    /// else until the next [`Self::push`].
    pub(crate) fn clear(&mut self) {
        while let Some(block) = self.order.pop_front() {
            *self.block(block * LANES).used_mut() = 0;
            self.free.extend([block]);
        }
        (self.last, self.fill, self.len) = (0, LANES, 0);
    }

    /// Whether `found` is a position in the oldest block.
    #[inline(always)]
    pub(crate) fn is_in_first_block(&self, found: Option<u32>) -> bool {
        found.is_some_and(|position| position / LANES == self.order.get(0))
    }

    /// The number of blocks before the one of the position `found`; or of all.
    pub(crate) fn blocks_before(&self, found: Option<u32>) -> usize {
        let block = found.map(|position| position / LANES);
        self.order.iter().position(|number| Some(number) == block).unwrap_or(self.order.len())
    }

    /// The position of the next [`Self::push`].
    #[inline(always)]
    pub(crate) fn next_position(&self) -> u32 {
        self.last * LANES + self.fill
    }

    /// Appends `key`, for which there must be a lane; returns its position.
    #[inline(always)]
    pub(crate) fn push(&mut self, key: (B::Key, u32)) -> u32 {
        let position = self.next_position();
        let lane = self.fill % LANES;
        let block = self.block(position);
        block.put(lane, key);
        *block.used_mut() |= 1 << lane;
        self.fill += 1;
        self.len += 1;
        position
    }

    /// Removes the key at `position`.
    #[inline(always)]
    pub(crate) fn remove(&mut self, position: u32) {
        let block = self.block(position);
        let used = *block.used_mut() & !(1 << (position % LANES));
        *block.used_mut() = used;
        self.len -= 1;
        if position / LANES == self.last {
            // The last block stays when it becomes empty, since the next key needs a block.
            self.fill = LANES - used.leading_zeros();
        } else if used == 0 {
            self.release_empty_blocks();
        }
    }

    /// Frees empty blocks at both ends.
    #[inline(never)]
    fn release_empty_blocks(&mut self) {
        while self.order.len() > 1 && self.blocks[self.order.get(0) as usize].used() == 0 {
            self.free.extend(self.order.pop_front());
        }
        while self.order.len() > 1 && self.blocks[self.order.get(self.order.len() - 1) as usize].used() == 0 {
            self.free.extend(self.order.pop_back());
        }
        self.last = self.order.get(self.order.len() - 1);
        self.fill = LANES - self.block(self.last * LANES).used_mut().leading_zeros();
    }

    /// Closes all holes; calls `moved` with each key and its new position.
    pub(crate) fn compact(&mut self, mut moved: impl FnMut((B::Key, u32), u32)) {
        let mut rank = 0;
        for at in 0..self.order.len() {
            let from = self.order.get(at) as usize;
            let mut used = self.blocks[from].used();
            while used != 0 {
                let key = self.blocks[from].key(used.trailing_zeros());
                let position = self.order.get((rank / LANES) as usize) * LANES + rank % LANES;
                // Never after its old position, so that no key is overwritten before it is read.
                self.block(position).put(rank % LANES, key);
                moved(key, position);
                rank += 1;
                used &= used - 1;
            }
        }
        let full = (rank / LANES) as usize;
        for at in 0..self.order.len() {
            let block = self.order.get(at);
            *self.block(block * LANES).used_mut() = match at.cmp(&full) {
                std::cmp::Ordering::Less => u64::MAX,
                std::cmp::Ordering::Equal => (1 << (rank % LANES)) - 1,
                std::cmp::Ordering::Greater => 0,
            };
        }
        self.release_empty_blocks();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<B>() + self.blocks.bytes() + self.order.bytes() + self.free.bytes()
    }

    /// The number of keys that a search by blocks compares whose first match is `found`.
    pub(crate) fn compared(&self, found: Option<u32>) -> usize {
        let mut count = 0;
        for number in self.order.iter() {
            count += self.blocks[number as usize].used().count_ones() as usize;
            if found.is_some_and(|position| position / LANES == number) {
                break;
            }
        }
        count
    }

    /// Whether the key at one position is older than that at another.
    pub(crate) fn is_older(&self, one: u32, other: u32) -> bool {
        let (block, other_block) = (one / LANES, other / LANES);
        if block == other_block {
            return one < other;
        }
        self.order.iter().find(|number| [block, other_block].contains(number)) == Some(block)
    }

    /// Frees the memory that the keys do not need, if there is memory for a copy without holes. Calls `moved` as
    /// [`Self::compact`] does.
    pub(crate) fn shrink(&mut self, mut moved: impl FnMut((B::Key, u32), u32)) {
        let mut copy = Self::new(self.heap);
        for _ in 0..(self.len as usize).div_ceil(LANES as usize) {
            if copy.allocate().is_err() {
                return;
            }
        }
        for (position, key) in self.keys() {
            // There are blocks for all keys.
            let made = copy.make_room();
            debug_assert!(made == Ok(Room::Made));
            let key = (key, self.owner(position));
            moved(key, copy.push(key));
        }
        *self = copy;
    }
}

impl<B: Block<Key = Envelope>> Log<B> {
    /// Changes the source of the envelope at `position`.
    pub(crate) fn set_source(&mut self, position: u32, source: u32) {
        let (envelope, owner) = self.key(position);
        self.block(position).put(position % LANES, (Envelope { source, ..envelope }, owner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Heads;

    /// The position of the oldest key.
    fn oldest(log: &Log<Heads>) -> Option<u32> {
        let used = |block: &u32| log.blocks[*block as usize].used();
        let block = log.order.iter().find(|block| used(block) != 0)?;
        Some(block * LANES + used(&block).trailing_zeros())
    }

    fn push(log: &mut Log<Heads>, number: u64, positions: &mut Vec<(u64, u32)>) {
        if log.make_room() == Ok(Room::NeedsCompaction) {
            positions.clear();
            log.compact(|(envelope, _), position| positions.push((envelope.bits, position)));
            assert!(log.make_room() == Ok(Room::Made));
        }
        positions.push((number, log.push((Envelope { bits: number, source: 0 }, 0))));
    }

    #[test]
    fn keys_stay_in_order_of_age_and_holes_cost_a_quarter_at_most() {
        // The key to be removed next: the oldest, the youngest, one in the middle, at
        // two thirds, scattered.
        for pick in [|_| 0, |len| len - 1, |len: usize| len / 2, |len| len * 2 / 3, |len| (len * 7919 + 13) % len] {
            let pick: fn(usize) -> usize = pick;
            let mut log = Log::new(Heap::GLOBAL);
            let mut positions: Vec<(u64, u32)> = Vec::new();
            let (deep, rounds) = if cfg!(miri) { (150, 200) } else { (1000, 4000) };
            for number in 0..deep {
                push(&mut log, number, &mut positions);
            }
            assert!(log.blocks.len() as u64 == deep.div_ceil(64));
            for number in deep..deep + rounds {
                let (_, position) = positions.remove(pick(positions.len()));
                log.remove(position);
                push(&mut log, number, &mut positions);
                assert_eq!(log.len(), positions.len() as u32);
            }
            assert!(log.blocks.len() as u64 <= deep.div_ceil(51) + 2, "{} blocks", log.blocks.len());
            for (_, position) in positions {
                assert_eq!(oldest(&log), Some(position));
                assert!(log.keys().all(|(other, _)| other == position || log.is_older(position, other)));
                log.remove(position);
            }
            assert_eq!((log.len(), log.order.len(), log.fill), (0, 1, 0));
        }
    }
}
