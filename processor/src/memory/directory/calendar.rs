// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A calendar queue: events by cycle, in the order of their scheduling within a cycle.

use std::collections::BTreeMap;

/// Cycles that have a bucket each.
const WINDOW: u64 = 1024;

#[derive(Clone, Debug)]
pub(super) struct Calendar<E> {
    /// Events of the cycles from the current one on, by cycle modulo the window.
    buckets: Vec<Vec<E>>,
    /// Buckets that have events, as bits.
    used: [u64; WINDOW as usize / 64],
    /// Events beyond the window.
    far: BTreeMap<u64, Vec<E>>,
    /// No event is before this cycle.
    pub(super) next: u64,
    now: u64,
}

impl<E: Copy> Calendar<E> {
    pub(super) fn new() -> Self {
        Self {
            buckets: vec![Vec::new(); WINDOW as usize],
            used: [0; WINDOW as usize / 64],
            far: BTreeMap::new(),
            next: u64::MAX,
            now: 0,
        }
    }

    /// Schedules an event; at the current cycle or later.
    #[inline]
    pub(super) fn push(&mut self, cycle: u64, event: E) {
        debug_assert!(cycle >= self.now, "an event in the past");
        self.next = self.next.min(cycle);
        if cycle - self.now >= WINDOW {
            self.far.entry(cycle).or_default().push(event);
            return;
        }
        let place = (cycle % WINDOW) as usize;
        self.buckets[place].push(event);
        self.used[place / 64] |= 1 << (place % 64);
    }

    /// Makes `cycle`, at or before which no other event is left, the current one.
    pub(super) fn proceed(&mut self, cycle: u64) {
        self.now = cycle;
        while let Some(first) = self.far.first_entry().filter(|first| first.key() - cycle < WINDOW) {
            let place = (*first.key() % WINDOW) as usize;
            // They were scheduled before those in the bucket: the window had not reached the cycle.
            self.buckets[place].splice(0..0, first.remove());
            self.used[place / 64] |= 1 << (place % 64);
        }
    }

    /// The event of the current cycle with this number.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<E> {
        self.buckets[(self.now % WINDOW) as usize].get(number).copied()
    }

    /// Ends the current cycle.
    pub(super) fn finish(&mut self) {
        let place = (self.now % WINDOW) as usize;
        self.buckets[place].clear();
        self.used[place / 64] &= !(1 << (place % 64));
        self.next = self.find();
    }

    fn find(&self) -> u64 {
        let start = (self.now % WINDOW) as usize;
        let words = self.used.len();
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut bits = self.used[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == words {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                return self.now + ((place + WINDOW as usize - start) as u64) % WINDOW;
            }
        }
        self.far.first_key_value().map_or(u64::MAX, |(&cycle, _)| cycle)
    }
}
