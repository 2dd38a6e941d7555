// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lines of one cache: which are there, until when each is on its way, and which is used least recently.
//!
//! Cost on the host: a lookup looks where the line was found last, which nearly always tells; only when it does not are
//! the ways compared one by one. A miss looks at every way of its set once.

use mb_core::Cycles;

/// What a copy of a line is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// As in memory; other caches may have it too.
    Shared,
    /// As in memory, and in no other cache.
    Exclusive,
    /// Newer than memory, and in no other cache.
    Modified,
}

/// A place for a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// From when on it can be used.
    pub(super) ready: Cycles,
    /// What it is worth.
    pub(super) state: State,
    /// When it was used last, as a number that grows with each use.
    used: u64,
}

/// No line has this number: addresses end below it.
const NONE: u64 = u64::MAX;

/// The lines of one cache.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    ways: usize,
    set_mask: u64,
    /// The line in each slot; the slots of a set lie side by side.
    tags: Vec<u64>,
    slots: Vec<Slot>,
    /// Slot in which a line with these last bits was found last. Only a guess: the tag decides.
    guesses: Vec<u32>,
    uses: u64,
    /// The line used last, and from when on it can be used.
    newest: (u64, Cycles),
}

impl Lines {
    /// An empty cache; `sets` is a power of two.
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        let slots = sets * ways;
        Self {
            ways,
            set_mask: sets as u64 - 1,
            tags: vec![NONE; slots],
            slots: vec![Slot { ready: Cycles::ZERO, state: State::Shared, used: 0 }; slots],
            guesses: vec![0; (slots * 4).next_power_of_two()],
            uses: 0,
            newest: (NONE, Cycles::ZERO),
        }
    }

    /// Whether `line` was used last and can be used at `now`: then another use of it changes nothing.
    #[inline]
    pub(super) fn is_newest(&self, line: u64, now: Cycles) -> bool {
        self.newest.0 == line && self.newest.1 <= now
    }

    /// Where `line` is, if it is here. Not a use.
    #[inline]
    fn slot_of(&mut self, line: u64) -> Option<usize> {
        let guess = line as usize & (self.guesses.len() - 1);
        let slot = self.guesses[guess] as usize;
        if self.tags[slot] == line {
            return Some(slot);
        }
        let set = (line & self.set_mask) as usize * self.ways;
        let way = self.tags[set..set + self.ways].iter().position(|&tag| tag == line)?;
        self.guesses[guess] = (set + way) as u32;
        Some(set + way)
    }

    /// The place of `line`, if it is here. Not a use.
    #[inline]
    pub(super) fn get(&mut self, line: u64) -> Option<&mut Slot> {
        self.slot_of(line).map(|slot| &mut self.slots[slot])
    }

    /// The place of `line`, if it is here, now used.
    #[inline]
    pub(super) fn used(&mut self, line: u64) -> Option<&mut Slot> {
        let slot = self.slot_of(line)?;
        self.uses += 1;
        self.slots[slot].used = self.uses;
        self.newest = (line, self.slots[slot].ready);
        Some(&mut self.slots[slot])
    }

    /// Puts `line`, which is not here, into the least recently used place of its set; a line that was modified there is
    /// returned, to be written to memory.
    pub(super) fn insert(&mut self, line: u64, ready: Cycles, state: State) -> Option<u64> {
        let set = (line & self.set_mask) as usize * self.ways;
        let ways = set..set + self.ways;
        let slot = ways.min_by_key(|&slot| (self.tags[slot] != NONE, self.slots[slot].used)).expect("a set has ways");
        let victim = (self.tags[slot] != NONE && self.slots[slot].state == State::Modified).then_some(self.tags[slot]);
        self.uses += 1;
        self.tags[slot] = line;
        self.slots[slot] = Slot { ready, state, used: self.uses };
        let guess = line as usize & (self.guesses.len() - 1);
        self.guesses[guess] = slot as u32;
        self.newest = (line, ready);
        victim
    }

    /// Takes `line` out; returns its place as it was, if it was here.
    pub(super) fn remove(&mut self, line: u64) -> Option<Slot> {
        let slot = self.slot_of(line)?;
        self.tags[slot] = NONE;
        if self.newest.0 == line {
            self.newest.0 = NONE;
        }
        Some(self.slots[slot])
    }
}
