// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hardware linked list: one memory, whose elements are linked into lists with a head and a tail register each, and
//! those that are free into a list of their own.
//!
//! ```text
//!   head -> [entry, next] -> [entry, next] -> [entry, next] <- tail          lists 0, 1, ...
//!   free head -> [    , next] -> ... <- free tail                            taken at its head, given back at its tail
//! ```
//! A walk holds the slot before the one it visits, which unlinking needs: links lead one way.
//! Time is the caller's: an append writes the element at the free head, whose old link becomes the
//! free head, and the link of the tail; an unlink writes the link before the element and the link of the free tail.
//! Cost: constant per access; memory grows with the slots that were ever in use.
//! Source: the list manager of the hash-based MPI processor as `xiong2018` describes it, section III-C2.

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Element<E> {
    entry: E,
    next: u32,
}

/// The head and tail registers of a list, and the counter of its elements.
#[derive(Clone, Copy, Debug)]
struct Registers {
    head: u32,
    tail: u32,
    length: usize,
}

impl Registers {
    const EMPTY: Self = Self { head: NONE, tail: NONE, length: 0 };
}

/// A memory of linked elements.
#[derive(Clone, Debug)]
pub struct LinkedMemory<E> {
    /// Slots that were ever in use; the rest of the memory is in the free list, in order of address, before all others.
    elements: Vec<Element<E>>,
    capacity: usize,
    lists: Vec<Registers>,
    /// Slots that were given back, in that order.
    free: Registers,
}

impl<E: Copy> LinkedMemory<E> {
    /// A memory of `capacity` elements, all free, with `lists` empty lists.
    ///
    /// # Panics
    /// When `capacity` is 2^32 - 1 or more.
    #[must_use]
    pub fn new(capacity: usize, lists: usize) -> Self {
        assert!(capacity < NONE as usize, "a link has 32 bits");
        Self { elements: Vec::new(), capacity, lists: vec![Registers::EMPTY; lists], free: Registers::EMPTY }
    }

    /// Appends `entry` to `list` in the slot at the head of the free list; `None` if no slot is free.
    pub fn append(&mut self, list: usize, entry: E) -> Option<u32> {
        let element = Element { entry, next: NONE };
        let slot = if self.elements.len() < self.capacity {
            self.elements.push(element);
            self.elements.len() as u32 - 1
        } else if self.free.head == NONE {
            return None;
        } else {
            let slot = self.free.head;
            self.free.head = self.elements[slot as usize].next;
            if self.free.head == NONE {
                self.free.tail = NONE;
            }
            self.free.length -= 1;
            self.elements[slot as usize] = element;
            slot
        };
        let Self { elements, lists, .. } = self;
        push_back(elements, &mut lists[list], slot);
        Some(slot)
    }

    /// The first slot of `list`.
    #[must_use]
    pub fn first(&self, list: usize) -> Option<u32> {
        some(self.lists[list].head)
    }

    /// The slot after `slot` in its list.
    #[must_use]
    pub fn next(&self, slot: u32) -> Option<u32> {
        some(self.elements[slot as usize].next)
    }

    /// The entry in `slot`.
    #[must_use]
    pub fn get(&self, slot: u32) -> &E {
        &self.elements[slot as usize].entry
    }

    /// Takes the element after `previous`, or the first one if there is none, out of `list` and
    /// appends it to the free list.
    ///
    /// # Panics
    /// When `previous` is the last element of `list`, or the list is empty.
    pub fn unlink(&mut self, list: usize, previous: Option<u32>) -> E {
        let slot = previous.map_or(self.first(list), |previous| self.next(previous)).expect("an element to unlink");
        let Element { entry, next } = self.elements[slot as usize];
        let registers = &mut self.lists[list];
        match previous {
            None => registers.head = next,
            Some(previous) => self.elements[previous as usize].next = next,
        }
        if next == NONE {
            registers.tail = previous.unwrap_or(NONE);
        }
        registers.length -= 1;
        push_back(&mut self.elements, &mut self.free, slot);
        entry
    }

    /// The number of elements in `list`.
    #[must_use]
    pub fn len(&self, list: usize) -> usize {
        self.lists[list].length
    }

    /// Whether `list` has no elements.
    #[must_use]
    pub fn is_empty(&self, list: usize) -> bool {
        self.len(list) == 0
    }

    /// The number of free slots.
    #[must_use]
    pub fn free(&self) -> usize {
        self.capacity - self.elements.len() + self.free.length
    }
}

fn push_back<E>(elements: &mut [Element<E>], list: &mut Registers, slot: u32) {
    elements[slot as usize].next = NONE;
    match list.tail {
        NONE => list.head = slot,
        tail => elements[tail as usize].next = slot,
    }
    list.tail = slot;
    list.length += 1;
}

fn some(slot: u32) -> Option<u32> {
    (slot != NONE).then_some(slot)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use super::*;
    use proptest::prelude::*;

    fn slots(memory: &LinkedMemory<u32>, list: usize) -> Vec<u32> {
        std::iter::successors(memory.first(list), |&slot| memory.next(slot)).collect()
    }

    proptest! {
        #[test]
        fn lists_and_the_free_list_are_plain_queues(
            capacity in 0..12_usize, steps in proptest::collection::vec((0..3_usize, any::<u8>()), 0..200)
        ) {
            let mut memory = LinkedMemory::new(capacity, 3);
            let mut plain: [VecDeque<(u32, u32)>; 3] = Default::default();
            let mut free: VecDeque<u32> = (0..capacity as u32).collect();
            for (number, (list, choice)) in (0..).zip(steps) {
                if choice % 2 == 0 {
                    let slot = memory.append(list, number);
                    prop_assert_eq!(slot, free.pop_front());
                    plain[list].extend(slot.map(|slot| (slot, number)));
                } else if !plain[list].is_empty() {
                    let index = choice as usize % plain[list].len();
                    let previous = index.checked_sub(1).map(|before| plain[list][before].0);
                    let (slot, entry) = plain[list].remove(index).unwrap();
                    prop_assert_eq!(memory.unlink(list, previous), entry);
                    free.push_back(slot);
                }
                for (list, plain) in plain.iter().enumerate() {
                    let found: Vec<_> = slots(&memory, list).iter().map(|&slot| (slot, *memory.get(slot))).collect();
                    prop_assert_eq!(plain, &found);
                    prop_assert_eq!(memory.len(list), plain.len());
                    prop_assert_eq!(memory.is_empty(list), plain.is_empty());
                }
                prop_assert_eq!(memory.free(), free.len());
            }
            // No slot is lost and none is in two places.
            let all: BTreeSet<u32> = (0..3).flat_map(|list| slots(&memory, list)).chain(free).collect();
            prop_assert_eq!(all.len(), capacity);
        }
    }
}
