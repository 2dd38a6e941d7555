// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The active requests of one rank, by number.
//!
//! Request numbers count up (`spec/trace.md`, T-8) and mostly complete in order, so a ring buffer
//! over a window of numbers is a table without hashing. A request that stays active while thousands
//! of others come and go moves to a tree. So memory is proportional to the number of active
//! requests: 32 bytes each.

use std::collections::BTreeMap;

use mb_core::time::Picos;

/// The state of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestState {
    /// No such request, or already removed.
    Absent,
    /// A posted receive, in this receive slot of the rank.
    Receiving(u32),
    /// Incomplete, and not a posted receive.
    Pending,
    /// As `Pending` or `Receiving`, but freed by `MPI_Request_free`: removed on completion.
    Detached,
    /// Complete.
    Finished {
        /// When.
        at: Picos,
        /// When it would have been complete with an engine that takes no time.
        ideal: Picos,
        /// Whether the processor spends the receive overhead on it (a received message).
        overhead: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestEntry {
    pub(crate) state: RequestState,
    /// Thread that waits for it.
    pub(crate) waiter: Option<u16>,
}

const ABSENT: RequestEntry = RequestEntry { state: RequestState::Absent, waiter: None };

/// A window of this length with few active requests is moved to the tree instead of growing.
const WINDOW: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The window: numbers from `first` on, `length` of them; number n is at `slots[n %
    /// slots.len()]`, a power of two.
    first: u32,
    length: u32,
    slots: Vec<RequestEntry>,
    /// Active requests in the window.
    open: u32,
    /// Requests that were moved out of the window.
    old: BTreeMap<u32, RequestEntry>,
}

impl Requests {
    #[inline]
    fn slot(&self, number: u32) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the entry is then built in its slot instead of copied from the stack")]
    pub(crate) fn insert(&mut self, number: u32, state: RequestState) {
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
    fn insert_old(&mut self, number: u32, state: RequestState) {
        self.old.insert(number, RequestEntry { state, waiter: None });
    }

    /// Makes room for `number` in the window: few active requests move to the tree, for many the
    /// window grows.
    #[cold]
    fn make_room(&mut self, number: u32) {
        let open = (self.first..self.first + self.length).map(|open| (open, self.slots[self.slot(open)]));
        let open: Vec<_> = open.filter(|(_, entry)| entry.state != RequestState::Absent).collect();
        let first = open.first().map_or(number, |(open, _)| *open);
        self.length -= first - self.first;
        self.first = first;
        if ((number - first) as usize) < self.slots.len() {
            return;
        }
        if self.slots.len() >= WINDOW && open.len() * 8 < self.slots.len() {
            self.slots.fill(ABSENT);
            self.old.extend(open);
            (self.first, self.length, self.open) = (number, 0, 0);
            return;
        }
        let length = ((number - self.first) as usize + 1).next_power_of_two().max(16);
        self.slots = vec![ABSENT; length];
        for (number, entry) in open {
            let slot = self.slot(number);
            self.slots[slot] = entry;
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut RequestEntry> {
        if number.wrapping_sub(self.first) < self.length {
            let slot = self.slot(number);
            let entry = &mut self.slots[slot];
            return if entry.state == RequestState::Absent { None } else { Some(entry) };
        }
        self.old.get_mut(&number)
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> Option<RequestEntry> {
        if number.wrapping_sub(self.first) >= self.length {
            return self.old.remove(&number);
        }
        let slot = self.slot(number);
        let found = self.slots[slot];
        if found.state == RequestState::Absent {
            return None;
        }
        self.slots[slot] = ABSENT;
        self.open -= 1;
        if self.open == 0 {
            // The common case: a wait completes all active requests. Otherwise `make_room` drops
            // the entries at the front.
            self.first += self.length;
            self.length = 0;
        }
        Some(found)
    }

    /// The requests with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &RequestEntry)> {
        let window = (self.first..self.first + self.length).map(|number| (number, &self.slots[self.slot(number)]));
        let window = window.filter(|(_, entry)| entry.state != RequestState::Absent);
        self.old.iter().map(|(&number, entry)| (number, entry)).chain(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_table_behaves_like_a_map(steps in prop::collection::vec((any::<bool>(), 0_usize..40), 1..3000)) {
            let (mut table, mut map) = (Requests::default(), BTreeMap::new());
            let mut number = 0;
            for (insert, pick) in steps {
                if insert || map.is_empty() {
                    number += 1 + u32::from(pick == 7);
                    table.insert(number, RequestState::Receiving(number));
                    map.insert(number, number);
                } else {
                    // Mostly the newest, so that old ones stay active.
                    let chosen = *map.keys().rev().nth(pick.min(map.len() - 1)).unwrap();
                    map.remove(&chosen);
                    prop_assert_eq!(table.remove(chosen).unwrap().state, RequestState::Receiving(chosen));
                    prop_assert!(table.remove(chosen).is_none());
                    prop_assert!(table.get_mut(chosen).is_none());
                }
            }
            for &open in map.keys() {
                prop_assert_eq!(table.get_mut(open).unwrap().state, RequestState::Receiving(open));
            }
            prop_assert_eq!(table.iter().map(|(number, _)| number).collect::<Vec<_>>(), map.keys().copied().collect::<Vec<_>>());
        }
    }

    #[test]
    fn memory_is_proportional_to_the_active_requests() {
        let mut table = Requests::default();
        table.insert(1, RequestState::Pending);
        for number in 2..100_000 {
            table.insert(number, RequestState::Pending);
            table.remove(number);
            assert!(table.slots.len() <= WINDOW);
        }
        assert_eq!(table.get_mut(1).unwrap().state, RequestState::Pending);
    }
}
