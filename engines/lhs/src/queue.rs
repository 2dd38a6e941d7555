// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of a group: heads in a ring of slots, and what found no free slot in the large memory.
//!
//! ```text
//!   LH buffer      [ 3 | 4 | x | 6 | x | x | 9 | . | . ]   x: stale, removed from the middle
//!                    oldest                youngest
//!   large memory   10, 11        came while no slot was free
//! ```
//! The numbers are ages, which are the sequence numbers in the heads: they say when the walk turns
//! from one memory to the other. A slot at either end of the ring is free as soon as its message is
//! gone; one between them is stale, and read by every walk that passes, until all older ones or all
//! younger ones are gone.

use std::collections::VecDeque;

use mb_core::{Envelope, MsgId};

/// One unexpected message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// Smaller is older; unique among all groups.
    pub(crate) age: u64,
    pub(crate) msg: MsgId,
    pub(crate) envelope: Envelope,
}

/// An occupied slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) message: Message,
    pub(crate) is_living: bool,
}

/// Where a message is: how many are before it in the ring, or in the large memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Slot(usize),
    Large(usize),
}

/// The messages of a group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    slots: usize,
    /// The slot of the oldest head.
    first: usize,
    heads: VecDeque<Head>,
    /// Messages in order of age, with a gap for each that was taken from the middle since the gaps
    /// were closed last; there are never more gaps than messages, and none is first.
    large: VecDeque<Option<Message>>,
    gaps: usize,
    stored: usize,
}

impl Group {
    pub(crate) const fn new(slots: usize) -> Self {
        Self { slots, first: 0, heads: VecDeque::new(), large: VecDeque::new(), gaps: 0, stored: 0 }
    }

    /// The number of messages.
    pub(crate) const fn len(&self) -> usize {
        self.stored
    }

    /// Whether the next message finds a slot.
    pub(crate) fn has_slot(&self) -> bool {
        self.heads.len() < self.slots
    }

    /// Occupied slots, removed ones included.
    pub(crate) fn occupied(&self) -> usize {
        self.heads.len()
    }

    /// Messages in the large memory.
    pub(crate) fn in_large(&self) -> usize {
        self.large.len() - self.gaps
    }

    /// The name of the message at `place`.
    pub(crate) fn at(&self, place: Place) -> MsgId {
        match place {
            Place::Slot(index) => self.heads[index].message.msg,
            Place::Large(index) => self.large[index].expect("a message was found there").msg,
        }
    }

    /// The head at `index` in order of age, and its slot.
    #[inline]
    pub(crate) fn head(&self, index: usize) -> Option<(&Head, usize)> {
        let head = self.heads.get(index)?;
        let slot = self.first + index;
        Some((head, if slot < self.slots { slot } else { slot - self.slots }))
    }

    /// The heads from `index` on in adjacent slots, at most `most` of them.
    #[inline]
    pub(crate) fn beside(&self, index: usize, most: usize) -> &[Head] {
        let (front, back) = self.heads.as_slices();
        let heads = if index < front.len() { &front[index..] } else { &back[index - front.len()..] };
        &heads[..heads.len().min(most)]
    }

    /// The oldest message in the large memory from place `index` on, and its place.
    #[inline]
    pub(crate) fn large(&self, index: usize) -> Option<(&Message, usize)> {
        let first = self.large.get(index)?;
        if let Some(message) = first {
            return Some((message, index));
        }
        let mut behind = self.large_from(index).zip(index..);
        behind.find_map(|(message, place)| message.as_ref().map(|message| (message, place)))
    }

    /// The large memory from place `index` on, gaps included.
    #[inline]
    pub(crate) fn large_from(&self, index: usize) -> impl Iterator<Item = &Option<Message>> {
        self.large.range(index..)
    }

    /// Appends a message, which becomes the youngest.
    pub(crate) fn append(&mut self, message: Message) {
        if self.has_slot() {
            self.heads.push_back(Head { message, is_living: true });
        } else {
            self.large.push_back(Some(message));
        }
        self.stored += 1;
    }

    /// Takes a message out.
    pub(crate) fn take(&mut self, place: Place) {
        self.stored -= 1;
        match place {
            Place::Large(index) => {
                self.large[index] = None;
                self.gaps += 1;
                while self.large.front().is_some_and(Option::is_none) {
                    self.large.pop_front();
                    self.gaps -= 1;
                }
                if 2 * self.gaps > self.large.len() {
                    self.large.retain(Option::is_some);
                    self.gaps = 0;
                }
            }
            Place::Slot(index) => {
                self.heads[index].is_living = false;
                while self.heads.back().is_some_and(|head| !head.is_living) {
                    self.heads.pop_back();
                }
                while self.heads.front().is_some_and(|head| !head.is_living) {
                    self.heads.pop_front();
                    self.first = if self.first + 1 == self.slots { 0 } else { self.first + 1 };
                }
            }
        }
    }
}
