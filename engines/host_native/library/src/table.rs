// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hash table of places, in lines of the cache: 12 tags of 8 bits, 12 places, and how many items passed by.
//!
//! A search reads one line, compares all its tags at once and follows the one that fits: there is no chain to walk and
//! no branch to mispredict until lines overflow, which at three quarters full every eighth does. An item that finds
//! its line full goes to the next one and is counted in those that it passed, so that a search knows where to stop
//! and a removal leaves no tombstone.

use crate::tags::{LANES, Tags};
use crate::types::OutOfMemory;

/// A line of the cache.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line {
    /// With the number of passers-by as their count.
    tags: Tags,
    places: [u32; LANES as usize],
}

/// Where an item is.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    line: u32,
    lane: u32,
    /// Lines that the item passed by.
    passed: u32,
    /// The item.
    pub(crate) place: u32,
}

/// Places by hash. Which of several places with the same hash is meant, the caller knows.
#[derive(Default)]
pub(crate) struct Table {
    lines: Vec<Line>,
    /// Items that fit until it grows.
    room: u32,
}

#[inline(always)]
fn tag_of(hash: u64) -> u8 {
    let tag = hash as u8;
    tag + u8::from(tag == 0)
}

impl Table {
    #[inline(always)]
    fn home(&self, hash: u64) -> u32 {
        (((hash >> 32) * self.lines.len() as u64) >> 32) as u32
    }

    #[inline(always)]
    fn after(&self, line: u32) -> u32 {
        if line as usize + 1 == self.lines.len() { 0 } else { line + 1 }
    }

    fn limit(lines: usize) -> usize {
        lines * (LANES as usize * 3 / 4)
    }

    /// Finds the item of this hash for which `is_it` holds. The table must have lines.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<Spot> {
        let tag = tag_of(hash);
        let mut at = self.home(hash);
        let mut passed = 0;
        loop {
            let line = &self.lines[at as usize];
            let mut lanes = line.tags.equal(tag);
            while lanes != 0 {
                let lane = lanes.trailing_zeros();
                let place = line.places[lane as usize];
                if is_it(place) {
                    return Some(Spot { line: at, lane, passed, place });
                }
                lanes &= lanes - 1;
            }
            if line.tags.count() == 0 {
                return None;
            }
            at = self.after(at);
            passed += 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        Self::limit(self.lines.len()) - self.room as usize
    }

    /// Finds the item of this hash for which `is_it` holds, or else inserts `place`, for which there must be room.
    #[inline(always)]
    pub(crate) fn find_or_insert(&mut self, hash: u64, place: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = tag_of(hash);
        let at = self.home(hash);
        let line = &mut self.lines[at as usize];
        let mut lanes = line.tags.equal(tag);
        while lanes != 0 {
            let found = line.places[lanes.trailing_zeros() as usize];
            if is_it(found) {
                return Some(found);
            }
            lanes &= lanes - 1;
        }
        let free = line.tags.equal(0);
        if line.tags.count() == 0 && free != 0 {
            // Most often: the only line that the item can be in has a free lane.
            let lane = free.trailing_zeros();
            line.tags = line.tags.with(lane, tag);
            line.places[lane as usize] = place;
            self.room -= 1;
            return None;
        }
        self.find_or_insert_after(hash, place, is_it)
    }

    #[cold]
    fn find_or_insert_after(&mut self, hash: u64, place: u32, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let found = self.find(hash, is_it).map(|spot| spot.place);
        if found.is_none() {
            self.insert(hash, place);
        }
        found
    }

    /// Whether so many more items fit without [`Self::grow`].
    #[inline(always)]
    pub(crate) fn has_room(&self, more: u32) -> bool {
        self.room >= more
    }

    /// Inserts an item that is not there; the table must not be full.
    #[inline(always)]
    pub(crate) fn insert(&mut self, hash: u64, place: u32) {
        let mut at = self.home(hash);
        self.room -= 1;
        loop {
            let line = &mut self.lines[at as usize];
            let free = line.tags.equal(0);
            if free != 0 {
                let lane = free.trailing_zeros();
                line.tags = line.tags.with(lane, tag_of(hash));
                line.places[lane as usize] = place;
                return;
            }
            line.tags = line.tags.counted(1);
            at = self.after(at);
        }
    }

    /// Removes the item at `spot`, which [`Self::find`] gave for `hash`.
    #[inline(always)]
    pub(crate) fn remove(&mut self, hash: u64, spot: Spot) {
        self.room += 1;
        let line = &mut self.lines[spot.line as usize];
        line.tags = line.tags.without(spot.lane);
        if spot.passed > 0 {
            self.forget(hash, spot);
        }
    }

    /// The lines that the item passed by count one less.
    #[cold]
    fn forget(&mut self, hash: u64, spot: Spot) {
        let mut at = self.home(hash);
        for _ in 0..spot.passed {
            let line = &mut self.lines[at as usize];
            line.tags = line.tags.counted(-1);
            at = self.after(at);
        }
    }

    /// Puts another place at `spot`, of the same hash.
    #[inline(always)]
    pub(crate) fn replace(&mut self, spot: Spot, place: u32) {
        self.lines[spot.line as usize].places[spot.lane as usize] = place;
    }

    /// Makes room for `items` in all, at least a third more than now.
    #[cold]
    pub(crate) fn grow(&mut self, items: usize, hash_of: impl Fn(u32) -> u64) -> Result<(), OutOfMemory> {
        let wanted = items.div_ceil(LANES as usize * 3 / 4).max(self.lines.len() + self.lines.len() / 3).max(3);
        let mut lines = Vec::new();
        lines.try_reserve_exact(wanted)?;
        lines.resize(wanted, Line::default());
        let room = u32::try_from(Self::limit(wanted)).map_err(|_| OutOfMemory)?;
        let old = std::mem::replace(self, Self { lines, room });
        for line in &old.lines {
            for lane in 0..LANES {
                if line.tags.equal(0) >> lane & 1 == 0 {
                    self.insert(hash_of(line.places[lane as usize]), line.places[lane as usize]);
                }
            }
        }
        Ok(())
    }

    /// Makes room for `items` in all.
    pub(crate) fn reserve(&mut self, items: usize, hash_of: impl Fn(u32) -> u64) -> Result<(), OutOfMemory> {
        if items > Self::limit(self.lines.len()) { self.grow(items, hash_of) } else { Ok(()) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}

/// Mixes what is compared into 64 bits of which all are good: both halves of a product.
#[inline(always)]
pub(crate) fn hash(bits: u64, source: u32, class: u8) -> u64 {
    let left = bits ^ 0x9e37_79b9_7f4a_7c15;
    let right = (u64::from(source) << 8 | u64::from(class)) ^ 0xd1b5_4a32_d192_ed03;
    let product = u128::from(left) * u128::from(right);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items by hash, each hash being its place's.
    fn hash_of(place: u32) -> u64 {
        hash(u64::from(place / 3), place % 3, 0)
    }

    #[test]
    fn items_are_found_through_overflow_removal_and_growth() {
        let mut table = Table::default();
        let count = if cfg!(miri) { 300 } else { 5000 };
        for place in 0..count {
            if !table.has_room(1) {
                table.grow(0, hash_of).unwrap();
            }
            table.insert(hash_of(place), place);
        }
        for removed in 0..count {
            let place = (removed * 7) % count;
            let spot = table.find(hash_of(place), |at| at == place).expect("it is there");
            table.remove(hash_of(place), spot);
            assert!(table.find(hash_of(place), |at| at == place).is_none());
            let other = (removed + 1) * 7 % count;
            assert_eq!(table.find(hash_of(other), |at| at == other).is_some(), removed + 1 < count);
        }
        assert!(
            table.lines.iter().all(|line| line.tags.equal(0) == 0xfff && line.tags.count() == 0),
            "removals leave nothing behind"
        );
    }

    #[test]
    fn items_of_one_hash_overflow_in_a_row_and_are_told_apart() {
        let mut table = Table::default();
        table.grow(100, hash_of).unwrap();
        for place in 0..90 {
            table.insert(u64::MAX, place);
        }
        for place in (0..90).rev() {
            let spot = table.find(u64::MAX, |at| at == place).expect("it is there");
            table.remove(u64::MAX, spot);
        }
        assert!(table.lines.iter().all(|line| line.tags.equal(0) == 0xfff && line.tags.count() == 0));
    }

    /// The envelopes of a stencil, a sorted exchange, a tag per message: no line gets much more than its share.
    #[test]
    fn structured_envelopes_spread_as_random_ones_do() {
        const COUNT: u64 = 9000;
        type Shape = (&'static str, fn(u64) -> (u64, u32));
        let shapes: [Shape; 6] = [
            ("tags in order", |n| (3 << 33 | n, 1)),
            ("sources in order", |n| (3 << 33 | 7, n as u32)),
            ("tags and sources", |n| (3 << 33 | (n % 30), n as u32 / 30)),
            ("communicators", |n| (n << 33, 0)),
            ("strided tags", |n| (n << 8, 5)),
            ("addresses", |n| (0x7f00_0000_0000 + n * 768, 1 << 31)),
        ];
        for (name, shape) in shapes {
            let mut lines = [0; 1000];
            let mut tags = [0; 256];
            for (bits, source) in (0..COUNT).map(shape) {
                let hash = hash(bits, source, 0);
                lines[(((hash >> 32) * 1000) >> 32) as usize] += 1;
                tags[usize::from(tag_of(hash))] += 1;
            }
            // Nine on average; among random ones a line of more than 28 comes once in ten thousand tables.
            assert!(lines.iter().all(|items| *items <= 28), "{name}: {:?}", lines.iter().max());
            assert!(tags.iter().all(|items| *items <= 130), "{name}: {:?}", tags.iter().max());
        }
    }
}
