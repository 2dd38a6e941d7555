// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unfinished requests of one rank by number.
//!
//! Numbers count up (`spec/trace.md`, T-8) and mostly finish in order, so a window over the numbers is a table without hashing. A request that
//! stays open while thousands come and go moves to a tree, so that memory follows the number of open requests, 32 bytes each.

use std::collections::BTreeMap;

use mb_core::time::Picos;

/// What is known of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// No such request, or done with.
    Gone,
    /// A posted receive, in the rank's receive slot.
    Receiving(u32),
    /// Unfinished, and not a posted receive.
    Pending,
    /// As `Pending` or `Receiving`, but nobody will ask for it (`MPI_Request_free`).
    Detached,
    /// Finished.
    Finished {
        /// When.
        at: Picos,
        /// When it would have been with an engine that takes no time.
        ideal: Picos,
        /// Whether the processor has work with it (a received message).
        overhead: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) state: State,
    /// Thread that waits for it.
    pub(crate) waiter: Option<u16>,
}

const GONE: Entry = Entry { state: State::Gone, waiter: None };

/// A window of this length with few open requests is emptied into the tree instead of growing.
const WINDOW: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The window: numbers from `first` on, `length` of them; number n is at `slots[n % slots.len()]`, a power of two.
    first: u32,
    length: u32,
    slots: Vec<Entry>,
    /// Entries of the window that are not gone.
    open: u32,
    /// Requests that outlived the window.
    old: BTreeMap<u32, Entry>,
}

impl Requests {
    #[inline]
    fn slot(&self, number: u32) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the entry is then built in its slot instead of copied from the stack")]
    pub(crate) fn insert(&mut self, number: u32, state: State) {
        if self.length == 0 && number > self.first {
            self.first = number;
        }
        if number < self.first {
            self.insert_old(number, state);
            return;
        }
        let mut at = number - self.first;
        if at as usize >= self.slots.len() {
            self.make_room(number);
            at = number - self.first;
        }
        let slot = self.slot(number);
        let entry = &mut self.slots[slot];
        entry.state = state;
        entry.waiter = None;
        self.length = self.length.max(at + 1);
        self.open += 1;
    }

    /// Inserts a number below the window.
    #[cold]
    fn insert_old(&mut self, number: u32, state: State) {
        self.old.insert(number, Entry { state, waiter: None });
    }

    /// Lets `number` into the window: few open requests move to the tree, many get more slots.
    #[cold]
    fn make_room(&mut self, number: u32) {
        let open = (self.first..self.first + self.length).map(|open| (open, self.slots[self.slot(open)]));
        let open: Vec<_> = open.filter(|(_, entry)| entry.state != State::Gone).collect();
        let first = open.first().map_or(number, |(open, _)| *open);
        self.length -= first - self.first;
        self.first = first;
        if ((number - first) as usize) < self.slots.len() {
            return;
        }
        if self.slots.len() >= WINDOW && open.len() * 8 < self.slots.len() {
            self.slots.fill(GONE);
            self.old.extend(open);
            (self.first, self.length, self.open) = (number, 0, 0);
            return;
        }
        let length = ((number - self.first) as usize + 1).next_power_of_two().max(16);
        self.slots = vec![GONE; length];
        for (number, entry) in open {
            let slot = self.slot(number);
            self.slots[slot] = entry;
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Entry> {
        if number.wrapping_sub(self.first) < self.length {
            let slot = self.slot(number);
            let entry = &mut self.slots[slot];
            return if entry.state == State::Gone { None } else { Some(entry) };
        }
        self.old.get_mut(&number)
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> Option<Entry> {
        if number.wrapping_sub(self.first) >= self.length {
            return self.old.remove(&number);
        }
        let slot = self.slot(number);
        let found = self.slots[slot];
        if found.state == State::Gone {
            return None;
        }
        self.slots[slot] = GONE;
        self.open -= 1;
        if self.open == 0 {
            // The common case: a wait finishes all that is open. Gone entries at the front are otherwise dropped when room is needed.
            self.first += self.length;
            self.length = 0;
        }
        Some(found)
    }

    /// Requests that are not gone, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let window = (self.first..self.first + self.length).map(|number| (number, &self.slots[self.slot(number)]));
        let window = window.filter(|(_, entry)| entry.state != State::Gone);
        self.old.iter().map(|(&number, entry)| (number, entry)).chain(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_window_is_a_map(steps in prop::collection::vec((any::<bool>(), 0_usize..40), 1..3000)) {
            let (mut table, mut map) = (Requests::default(), BTreeMap::new());
            let mut number = 0;
            for (insert, pick) in steps {
                if insert || map.is_empty() {
                    number += 1 + u32::from(pick == 7);
                    table.insert(number, State::Receiving(number));
                    map.insert(number, number);
                } else {
                    // Mostly the newest, so that old ones stay open.
                    let chosen = *map.keys().rev().nth(pick.min(map.len() - 1)).unwrap();
                    map.remove(&chosen);
                    prop_assert_eq!(table.remove(chosen).unwrap().state, State::Receiving(chosen));
                    prop_assert!(table.remove(chosen).is_none());
                    prop_assert!(table.get_mut(chosen).is_none());
                }
            }
            for &open in map.keys() {
                prop_assert_eq!(table.get_mut(open).unwrap().state, State::Receiving(open));
            }
            prop_assert_eq!(table.iter().map(|(number, _)| number).collect::<Vec<_>>(), map.keys().copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn memory_follows_the_open_requests() {
        let mut table = Requests::default();
        table.insert(1, State::Pending);
        for number in 2..100_000 {
            table.insert(number, State::Pending);
            table.remove(number);
            assert!(table.slots.len() <= WINDOW);
        }
        assert_eq!(table.get_mut(1).unwrap().state, State::Pending);
    }
}
