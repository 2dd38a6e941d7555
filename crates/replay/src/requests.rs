// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unfinished requests of one rank by number.
//!
//! Numbers count up (`spec/trace.md`, T-8) and mostly finish in order, so a window over the numbers is a table without hashing. A request that
//! stays open while thousands come and go moves to a tree, so that memory follows the number of open requests, 32 bytes each.

use std::collections::{BTreeMap, VecDeque};

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
    /// Thread that waits for it, or `NO_WAITER`.
    pub(crate) waiter: u16,
}

pub(crate) const NO_WAITER: u16 = u16::MAX;

const GONE: Entry = Entry { state: State::Gone, waiter: NO_WAITER };

/// Above this length a window with few open requests is thinned out.
const WINDOW: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Requests {
    first: u32,
    window: VecDeque<Entry>,
    open: usize,
    /// Requests that outlived the window.
    old: BTreeMap<u32, Entry>,
}

impl Requests {
    #[inline]
    pub(crate) fn insert(&mut self, number: u32, state: State) {
        if self.window.is_empty() && number > self.first {
            self.first = number;
        }
        let entry = Entry { state, waiter: NO_WAITER };
        if number < self.first {
            self.old.insert(number, entry);
            return;
        }
        let at = (number - self.first) as usize;
        if at == self.window.len() {
            self.window.push_back(entry);
        } else {
            if at > self.window.len() {
                self.window.resize(at + 1, GONE);
            }
            self.window[at] = entry;
        }
        self.open += 1;
        if self.window.len() > WINDOW && self.open * 8 < self.window.len() {
            self.thin_out();
        }
    }

    /// Moves what is open to the tree.
    #[cold]
    fn thin_out(&mut self) {
        let next = self.first + self.window.len() as u32;
        for (number, entry) in (self.first..).zip(self.window.drain(..)) {
            if entry.state != State::Gone {
                self.old.insert(number, entry);
            }
        }
        self.first = next;
        self.open = 0;
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Entry> {
        if number >= self.first {
            let entry = self.window.get_mut((number - self.first) as usize)?;
            return if entry.state == State::Gone { None } else { Some(entry) };
        }
        self.old.get_mut(&number)
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> Option<Entry> {
        if number < self.first {
            return self.old.remove(&number);
        }
        let entry = self.window.get_mut((number - self.first) as usize)?;
        if entry.state == State::Gone {
            return None;
        }
        let found = std::mem::replace(entry, GONE);
        self.open -= 1;
        while let Some(Entry { state: State::Gone, .. }) = self.window.front() {
            self.window.pop_front();
            self.first += 1;
        }
        Some(found)
    }

    /// Requests that are not gone, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let window = (self.first..).zip(&self.window).filter(|(_, entry)| entry.state != State::Gone);
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
            assert!(table.window.len() <= WINDOW + 1);
        }
        assert_eq!(table.get_mut(1).unwrap().state, State::Pending);
    }
}
