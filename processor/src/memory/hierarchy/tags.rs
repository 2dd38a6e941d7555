// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tag array of one cache: which lines are present, from when on each is usable, and the LRU
//! order.
//!
//! Cost on the host: a lookup first compares the slot in which a line with the same low bits was
//! found last. A count of present lines with these low bits shows most absent lines at once. Only
//! otherwise are the ways of the set compared one by one. An insertion reads all ways of its set.

use mb_core::Cycles;

/// The coherence state of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Equal to memory; other caches may hold a copy.
    Shared,
    /// Equal to memory; no other cache holds a copy.
    Exclusive,
    /// Newer than memory; no other cache holds a copy.
    Modified,
}

/// A line in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The first cycle in which it is usable.
    pub(super) ready: Cycles,
    /// Its coherence state.
    pub(super) state: State,
}

/// No line has this number: addresses end below it.
const NONE: u64 = u64::MAX;

/// Lookup hint of all lines with the same low bits.
#[derive(Clone, Copy, Default, Debug)]
struct Hint {
    /// The slot in which one of them was found last; the tag must be compared.
    slot: u32,
    /// The number of them that are present.
    count: u32,
}

/// The tags, states and LRU order of one cache.
#[derive(Clone, Debug)]
pub(super) struct TagArray {
    ways: usize,
    set_mask: u64,
    /// The line number in each slot; the slots of a set are adjacent.
    tags: Vec<u64>,
    /// The number of the latest use of each slot, which grows with each use; 0 if the slot is
    /// empty.
    last_use: Vec<u64>,
    lines: Vec<Line>,
    hints: Vec<Hint>,
    /// Uses so far.
    uses: u64,
    /// The most recently used line, and the first cycle in which it is usable.
    newest: (u64, Cycles),
}

impl TagArray {
    /// The tag array of an empty cache; `sets` is a power of two.
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        let slots = sets * ways;
        Self {
            ways,
            set_mask: sets as u64 - 1,
            tags: vec![NONE; slots],
            last_use: vec![0; slots],
            lines: vec![Line { ready: Cycles::ZERO, state: State::Shared }; slots],
            hints: vec![Hint::default(); (slots * 4).next_power_of_two()],
            uses: 0,
            newest: (NONE, Cycles::ZERO),
        }
    }

    /// Whether `line` is the most recently used one and usable at `now`: then one more use changes
    /// nothing.
    #[inline]
    pub(super) fn is_newest(&self, line: u64, now: Cycles) -> bool {
        self.newest.0 == line && self.newest.1 <= now
    }

    /// Index of the hint of `line`.
    #[inline]
    fn hint(&self, line: u64) -> usize {
        line as usize & (self.hints.len() - 1)
    }

    /// The slot of `line`, if it is present. Does not count as a use.
    #[inline]
    fn slot_of(&mut self, line: u64) -> Option<usize> {
        let hint = self.hint(line);
        let Hint { slot, count } = self.hints[hint];
        if count == 0 {
            return None;
        }
        if self.tags[slot as usize] == line {
            return Some(slot as usize);
        }
        let set = (line & self.set_mask) as usize * self.ways;
        let way = self.tags[set..set + self.ways].iter().position(|&tag| tag == line)?;
        self.hints[hint].slot = (set + way) as u32;
        Some(set + way)
    }

    /// `line`, if it is present. Does not count as a use.
    #[inline]
    pub(super) fn get(&mut self, line: u64) -> Option<&mut Line> {
        self.slot_of(line).map(|slot| &mut self.lines[slot])
    }

    /// `line`, if it is present, and marks it as most recently used.
    #[inline]
    pub(super) fn access(&mut self, line: u64) -> Option<&mut Line> {
        let slot = self.slot_of(line)?;
        self.uses += 1;
        self.last_use[slot] = self.uses;
        self.newest = (line, self.lines[slot].ready);
        Some(&mut self.lines[slot])
    }

    /// Inserts `line`, which must not be present, in place of the least recently used line of its
    /// set. Returns the victim if it was modified and must be written back.
    pub(super) fn insert(&mut self, line: u64, ready: Cycles, state: State) -> Option<u64> {
        let set = (line & self.set_mask) as usize * self.ways;
        let mut slot = set;
        for other in set + 1..set + self.ways {
            if self.last_use[other] < self.last_use[slot] {
                slot = other;
            }
        }
        let out = self.tags[slot];
        let victim = (out != NONE && self.lines[slot].state == State::Modified).then_some(out);
        if out != NONE {
            self.forget(out);
        }
        self.uses += 1;
        self.last_use[slot] = self.uses;
        self.tags[slot] = line;
        self.lines[slot] = Line { ready, state };
        let hint = self.hint(line);
        self.hints[hint].slot = slot as u32;
        self.hints[hint].count += 1;
        self.newest = (line, ready);
        victim
    }

    /// Removes `line`; returns what it was, if it was present.
    pub(super) fn remove(&mut self, line: u64) -> Option<Line> {
        let slot = self.slot_of(line)?;
        self.forget(line);
        self.tags[slot] = NONE;
        self.last_use[slot] = 0;
        if self.newest.0 == line {
            self.newest.0 = NONE;
        }
        Some(self.lines[slot])
    }

    /// Removes `line` from the count of its hint.
    fn forget(&mut self, line: u64) {
        let hint = self.hint(line);
        self.hints[hint].count -= 1;
    }
}
