// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which cells of a unit hold an entry, edge by edge: ordered insertion, and compaction block by block.
//!
//! ```text
//!   head   block 0     block 1     block 2      tail
//!         [a b . d]   [e f g h]   [i . . .]  <- a new entry is written after the youngest
//!              |_______<          at the next edge d closes the hole; its block has then room at its end,
//!         [a b d e]   [f g h i]              and the block after it moves up at the following edge
//! ```
//! Order is position, so no cell has an age. At every clock edge, in every block, the cells behind
//! the oldest hole move one place towards the head; a block behind one whose last cell was empty
//! before the edge moves as a whole, its first entry across the boundary. A hole thus passes one
//! block per cycle, and entries never overtake.
//!
//! Contents play no part here: the n-th occupied cell holds the n-th oldest entry of the unit.
//! Cost on the host: a few operations per block for each cycle in which something moves; nothing while all is compact.

/// The occupied cells of one unit.
#[derive(Clone, Debug)]
pub struct Cells {
    /// A bit for each cell of a block, the oldest in bit 0.
    blocks: Vec<u64>,
    block: u32,
    occupied: usize,
    /// The last clock edge that has been applied.
    edge: u64,
    compact: bool,
}

impl Cells {
    /// Largest number of cells in a block.
    pub const LARGEST_BLOCK: u64 = 64;

    /// `blocks` blocks of `block` empty cells at edge zero.
    ///
    /// # Panics
    /// When `block` is zero or more than [`Self::LARGEST_BLOCK`].
    #[must_use]
    pub fn new(blocks: usize, block: u32) -> Self {
        assert!((1..=Self::LARGEST_BLOCK).contains(&u64::from(block)), "a block of {block} cells");
        Self { blocks: vec![0; blocks], block, occupied: 0, edge: 0, compact: true }
    }

    /// The number of entries.
    #[must_use]
    pub const fn occupied(&self) -> usize {
        self.occupied
    }

    /// The number of empty cells, holes included.
    #[must_use]
    pub fn free(&self) -> usize {
        self.blocks.len() * self.block as usize - self.occupied
    }

    /// Empties every cell at `edge`.
    pub fn reset(&mut self, edge: u64) {
        self.blocks.fill(0);
        self.occupied = 0;
        self.compact = true;
        self.edge = self.edge.max(edge);
    }

    /// Empties the cell of the `rank`-th oldest entry, counted from one, at `edge`.
    ///
    /// # Panics
    /// When there are fewer entries.
    pub fn remove(&mut self, rank: usize, edge: u64) {
        self.advance(edge);
        let mut before = rank - 1;
        for (number, bits) in self.blocks.iter_mut().enumerate() {
            let here = bits.count_ones() as usize;
            if before >= here {
                before -= here;
                continue;
            }
            let mut rest = *bits;
            for _ in 0..before {
                rest &= rest - 1;
            }
            let cell = number * self.block as usize + rest.trailing_zeros() as usize;
            *bits &= !(rest & rest.wrapping_neg());
            // The youngest of a compact unit leaves no hole.
            self.compact &= cell + 1 == self.occupied;
            self.occupied -= 1;
            return;
        }
        panic!("entry {rank} of {}", self.occupied);
    }

    /// Inserts an entry at the first edge of `earliest..=latest` before which the last cell is empty, and tells that
    /// edge. `None` when there is none; then the cells are brought to `latest` at most.
    pub fn insert(&mut self, earliest: u64, latest: u64) -> Option<u64> {
        if earliest > latest || self.free() == 0 {
            return None;
        }
        self.advance(earliest.saturating_sub(1));
        while self.edge < latest {
            let tail = self.tail();
            let (block, bit) = (tail / self.block as usize, tail % self.block as usize);
            let has_room = block < self.blocks.len();
            self.tick();
            if has_room {
                self.blocks[block] |= 1 << bit;
                self.occupied += 1;
                return Some(self.edge);
            }
        }
        None
    }

    /// The cell after the youngest entry.
    fn tail(&self) -> usize {
        if self.compact {
            return self.occupied;
        }
        let youngest = self.blocks.iter().rposition(|bits| *bits > 0);
        youngest.map_or(0, |block| block * self.block as usize + (64 - self.blocks[block].leading_zeros()) as usize)
    }

    /// Applies every edge up to `edge`.
    fn advance(&mut self, edge: u64) {
        while self.edge < edge && !self.compact {
            self.tick();
        }
        self.edge = self.edge.max(edge);
    }

    /// Applies the next edge.
    fn tick(&mut self) {
        self.edge += 1;
        if self.compact {
            return;
        }
        let last = 1 << (self.block - 1);
        let full = u64::MAX >> (64 - self.block);
        let (mut room_ahead, mut moved) = (false, false);
        for number in 0..self.blocks.len() {
            let before = self.blocks[number];
            let after = if room_ahead {
                if before & 1 == 1 {
                    self.blocks[number - 1] |= last;
                }
                before >> 1
            } else if before == full {
                full
            } else {
                let older = (1 << (!before).trailing_zeros()) - 1;
                before & older | before >> 1 & !older
            };
            self.blocks[number] = after;
            moved |= after != before;
            room_ahead = before & last == 0;
        }
        self.compact = !moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A unit with all its cells occupied since long.
    fn full(blocks: usize, block: u32) -> Cells {
        let mut cells = Cells::new(blocks, block);
        for entry in 0..blocks as u64 * u64::from(block) {
            assert_eq!(cells.insert(entry + 1, u64::MAX), Some(entry + 1), "one entry per cycle");
        }
        cells
    }

    #[test]
    fn a_hole_passes_one_block_per_cycle_to_the_end_of_the_unit() {
        for (blocks, block) in [(8, 16), (16, 16), (1, 64), (5, 1), (3, 7)] {
            for cell in 0..blocks * block as usize {
                let mut cells = full(blocks, block);
                cells.remove(cell + 1, 1000);
                // One edge brings the hole to the end of its block, unless it is there, and one
                // through each block behind.
                let (in_block, at_end) = (cell / block as usize, (cell + 1) % block as usize == 0);
                let edges = (blocks - 1 - in_block) as u64 + u64::from(!at_end);
                let mut late = cells.clone();
                assert_eq!(cells.insert(1001, 1000 + edges), None, "cell {cell} of {blocks} x {block}");
                assert_eq!(cells.insert(1001, u64::MAX), Some(1001 + edges), "cell {cell} of {blocks} x {block}");
                assert_eq!(late.insert(2000, u64::MAX), Some(2000));
            }
        }
    }

    #[test]
    fn a_full_unit_takes_nothing_and_an_emptied_one_takes_all() {
        let mut cells = full(2, 4);
        assert_eq!(cells.insert(9, u64::MAX), None);
        cells.reset(20);
        assert_eq!((cells.occupied(), cells.free()), (0, 8));
        assert_eq!(cells.insert(20, u64::MAX), Some(21));
    }

    proptest! {
        /// The same unit cell by cell: an entry moves if a cell ahead of it in its block is empty,
        /// or the last cell of the block ahead.
        #[test]
        fn cells_move_as_one_by_one(
            blocks in 1_usize..6,
            block in 1_usize..9,
            steps in proptest::collection::vec((any::<u16>(), 0_u64..6), 1..200),
        ) {
            let mut cells = Cells::new(blocks, block as u32);
            let mut plain: Vec<Option<u32>> = vec![None; blocks * block];
            let mut order: Vec<u32> = Vec::new();
            for (name, (choice, pause)) in (0_u32..).zip(steps) {
                for _ in 0..pause {
                    plain = moved(&plain, block);
                }
                let edge = cells.edge + pause;
                if choice % 3 == 0 && !order.is_empty() {
                    let rank = choice as usize / 3 % order.len();
                    let gone = order.remove(rank);
                    plain.iter_mut().filter(|cell| **cell == Some(gone)).for_each(|cell| *cell = None);
                    cells.remove(rank + 1, edge);
                } else {
                    let tail = plain.iter().rposition(Option::is_some).map_or(0, |youngest| youngest + 1);
                    plain = moved(&plain, block);
                    let expected = (tail < plain.len()).then_some(edge + 1);
                    if expected.is_some() {
                        plain[tail] = Some(name);
                        order.push(name);
                    }
                    prop_assert_eq!(cells.insert(edge + 1, edge + 1), expected);
                    cells.advance(edge + 1);
                }
                let bits: Vec<bool> =
                    cells.blocks.iter().flat_map(|bits| (0..block).map(move |cell| bits >> cell & 1 == 1)).collect();
                prop_assert_eq!(bits, plain.iter().map(Option::is_some).collect::<Vec<_>>());
                let by_position: Vec<u32> = plain.iter().flatten().copied().collect();
                prop_assert_eq!(&by_position, &order, "order is position");
                prop_assert_eq!(cells.occupied(), order.len());
            }
        }
    }

    fn moved(plain: &[Option<u32>], block: usize) -> Vec<Option<u32>> {
        let mut next = vec![None; plain.len()];
        for (cell, entry) in plain.iter().enumerate() {
            let start = cell / block * block;
            let moves = plain[start..cell].contains(&None) || (start > 0 && plain[start - 1].is_none());
            if entry.is_some() {
                next[if moves { cell - 1 } else { cell }] = *entry;
            }
        }
        next
    }
}
