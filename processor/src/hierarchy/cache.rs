// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lines of one cache: which are there, until when each is on its way, and which is used least recently.
//!
//! Cost on the host: a lookup looks where the line, or one with the same last bits, was found last; lines that no line here
//! shares them with are known not to be here. Only if that does not tell are the ways compared one by one. An insertion
//! looks at the ways of its set.

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
}

/// No line has this number: addresses end below it.
const NONE: u64 = u64::MAX;

/// Of the lines with the same last bits.
#[derive(Clone, Copy, Default, Debug)]
struct Guess {
    /// Where one of them was found last. Only a guess: the tag decides.
    slot: u32,
    /// How many are here.
    count: u32,
}

/// The lines of one cache.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    ways: usize,
    set_mask: u64,
    /// The line in each slot; the slots of a set lie side by side.
    tags: Vec<u64>,
    /// When each slot was used last, as a number that grows with each use; 0 if it is empty.
    used: Vec<u64>,
    slots: Vec<Slot>,
    guesses: Vec<Guess>,
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
            used: vec![0; slots],
            slots: vec![Slot { ready: Cycles::ZERO, state: State::Shared }; slots],
            guesses: vec![Guess::default(); (slots * 4).next_power_of_two()],
            uses: 0,
            newest: (NONE, Cycles::ZERO),
        }
    }

    /// Whether `line` was used last and can be used at `now`: then another use of it changes nothing.
    #[inline]
    pub(super) fn is_newest(&self, line: u64, now: Cycles) -> bool {
        self.newest.0 == line && self.newest.1 <= now
    }

    /// Which of the guesses a line has.
    #[inline]
    fn guess(&self, line: u64) -> usize {
        line as usize & (self.guesses.len() - 1)
    }

    /// Where `line` is, if it is here. Not a use.
    #[inline]
    fn slot_of(&mut self, line: u64) -> Option<usize> {
        let guess = self.guess(line);
        let Guess { slot, count } = self.guesses[guess];
        if count == 0 {
            return None;
        }
        if self.tags[slot as usize] == line {
            return Some(slot as usize);
        }
        let set = (line & self.set_mask) as usize * self.ways;
        let way = self.tags[set..set + self.ways].iter().position(|&tag| tag == line)?;
        self.guesses[guess].slot = (set + way) as u32;
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
        self.used[slot] = self.uses;
        self.newest = (line, self.slots[slot].ready);
        Some(&mut self.slots[slot])
    }

    /// Puts `line`, which is not here, into the least recently used place of its set; a line that was modified there is
    /// returned, to be written to memory.
    pub(super) fn insert(&mut self, line: u64, ready: Cycles, state: State) -> Option<u64> {
        let set = (line & self.set_mask) as usize * self.ways;
        let mut slot = set;
        for other in set + 1..set + self.ways {
            if self.used[other] < self.used[slot] {
                slot = other;
            }
        }
        let out = self.tags[slot];
        let victim = (out != NONE && self.slots[slot].state == State::Modified).then_some(out);
        if out != NONE {
            self.forget(out);
        }
        self.uses += 1;
        self.used[slot] = self.uses;
        self.tags[slot] = line;
        self.slots[slot] = Slot { ready, state };
        let guess = self.guess(line);
        self.guesses[guess].slot = slot as u32;
        self.guesses[guess].count += 1;
        self.newest = (line, ready);
        victim
    }

    /// Takes `line` out; returns its place as it was, if it was here.
    pub(super) fn remove(&mut self, line: u64) -> Option<Slot> {
        let slot = self.slot_of(line)?;
        self.forget(line);
        self.tags[slot] = NONE;
        self.used[slot] = 0;
        if self.newest.0 == line {
            self.newest.0 = NONE;
        }
        Some(self.slots[slot])
    }

    fn forget(&mut self, line: u64) {
        let guess = self.guess(line);
        self.guesses[guess].count -= 1;
    }
}
