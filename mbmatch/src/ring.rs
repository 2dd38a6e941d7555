// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue of numbers with two ends, in the memory of a matcher: what `VecDeque` is for the global allocator.

use crate::heap::{Array, Heap};
use crate::types::OutOfMemory;

pub(crate) struct Ring {
    /// All places, used or not; the first number is at `head`.
    places: Array<u32>,
    head: usize,
    len: usize,
}

impl Ring {
    pub(crate) const fn new(heap: Heap) -> Self {
        Self { places: Array::new(heap), head: 0, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.places.bytes()
    }

    /// The place of the number that has `at` others before it.
    #[inline(always)]
    fn place(&self, at: usize) -> usize {
        let place = self.head + at;
        if place < self.places.len() { place } else { place - self.places.len() }
    }

    /// The number that has `at` others before it.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> u32 {
        debug_assert!(at < self.len);
        self.places[self.place(at)]
    }

    /// Makes room for this many numbers in total.
    pub(crate) fn reserve(&mut self, count: usize) -> Result<(), OutOfMemory> {
        if count > self.places.len() {
            self.places.reserve(count - self.places.len())?;
            // The numbers lie in order from the first place before there are more places.
            self.places.rotate_left(self.head);
            self.head = 0;
            self.places.resize(self.places.capacity(), 0);
        }
        Ok(())
    }

    /// Appends a number, for which there must be room.
    pub(crate) fn push_back(&mut self, number: u32) {
        assert!(self.len < self.places.len(), "room is made before");
        let place = self.place(self.len);
        self.places[place] = number;
        self.len += 1;
    }

    pub(crate) fn pop_front(&mut self) -> Option<u32> {
        let number = self.iter().next()?;
        (self.head, self.len) = (self.place(1), self.len - 1);
        Some(number)
    }

    pub(crate) fn pop_back(&mut self) -> Option<u32> {
        let number = self.get(self.len.checked_sub(1)?);
        self.len -= 1;
        Some(number)
    }

    /// The numbers in order, as two slices.
    #[inline(always)]
    pub(crate) fn as_slices(&self) -> [&[u32]; 2] {
        let beyond = self.places.len() - self.head;
        if self.len <= beyond {
            [&self.places[self.head..self.head + self.len], &[]]
        } else {
            [&self.places[self.head..], &self.places[..self.len - beyond]]
        }
    }

    /// The numbers in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.as_slices().into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn a_ring_is_a_queue_with_two_ends_and_grows_where_it_is_wrapped() {
        let (mut ring, mut expected) = (Ring::new(Heap::GLOBAL), VecDeque::new());
        for step in 0..400_u32 {
            if step % 3 < 2 {
                ring.reserve(ring.len() + 1).unwrap();
                ring.push_back(step);
                expected.push_back(step);
            } else if step % 7 < 3 {
                assert_eq!(ring.pop_back(), expected.pop_back());
            } else {
                assert_eq!(ring.pop_front(), expected.pop_front());
            }
            assert!(ring.iter().eq(expected.iter().copied()));
            assert!((0..ring.len()).all(|at| ring.get(at) == expected[at]));
        }
        while ring.pop_front().is_some() {}
        assert_eq!((ring.pop_front(), ring.pop_back(), ring.len()), (None, None, 0));
    }
}
