// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions between fetch and commit, in one ring: who waits for whom, and what is ready.
//!
//! ```text
//!   oldest ..... newest ..... fetched
//!     | window     | queue      | one that fetch holds
//! ```

use std::collections::VecDeque;

use mb_core::Cycles;

use super::{Class, OutOfOrderConfig, Passage, Prediction, Register};
use crate::Control;

/// One of the two operations of an instruction: twice its slot, plus 1 for the memory access.
pub(super) type Tag = u16;

/// No tag, and no operand.
pub(super) const NONE: u16 = u16::MAX;

/// The memory access among an instruction's operations; its address, or all of another instruction, is the other.
pub(super) const ACCESS: Tag = 1;

/// The place of a store's data among its sources.
const DATA: usize = 2;

/// How an instruction uses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Plain,
    Load,
    Store,
    Atomic,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) passage: Passage,
    pub(super) prediction: Prediction,
    pub(super) kind: Kind,
    number: u64,
    /// Operands that each operation waits for: address or all, and the data of a store or an atomic.
    pending: [u8; 2],
    /// The first operation has ended.
    pub(super) first_done: bool,
    /// The access is ready, under way or done.
    offered: bool,
    /// The access has ended.
    access_done: bool,
    /// The first operand that waits for each operation.
    waiting: [u16; 2],
}

impl Entry {
    pub(super) const fn is_complete(&self) -> bool {
        self.first_done && (self.access_done || matches!(self.kind, Kind::Plain))
    }

    /// Fetched at `at`.
    #[inline]
    pub(super) fn fetch(&mut self, prediction: Prediction, at: Cycles) {
        self.passage.verdict = prediction.verdict;
        self.passage.fetched = at;
        self.prediction = prediction;
    }

    const fn has_data(&self) -> bool {
        self.pending[1] == 0
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (&self.passage.retired, &other.passage.retired);
        b.address.wrapping_sub(a.address) < u64::from(a.shape.access)
            || a.address.wrapping_sub(b.address) < u64::from(b.shape.access)
    }

    fn covers(&self, other: &Self) -> bool {
        let (a, b) = (&self.passage.retired, &other.passage.retired);
        let offset = b.address.wrapping_sub(a.address);
        offset < u64::from(a.shape.access) && offset + u64::from(b.shape.access) <= u64::from(a.shape.access)
    }
}

/// The fetch queue, the window (register update unit), the memory queue (load/store queue) and the list of what is ready.
#[derive(Clone, Debug)]
pub(super) struct Window {
    entries: Vec<Entry>,
    /// Slots are numbers modulo a power of two.
    mask: u64,
    /// Numbers: of the first in the window, the first in the fetch queue, and the first behind that.
    oldest: u64,
    newest: u64,
    fetched: u64,
    /// Which operation each register comes from, if it is not there yet; by any number, so that none is out of bounds.
    producers: [Tag; 256],
    /// After each operand that waits (four times its slot, plus its place), the next for the same operation.
    next_operand: Vec<u16>,
    /// Slots of memory accesses, oldest first.
    pub(super) queue: VecDeque<u16>,
    foreseen: bool,
    /// Loads and atomics that have their address and are not yet offered.
    candidates: u32,
    /// Something changed that one of them may have waited for.
    stale: bool,
    /// Ready operations by urgency: accesses, long operations and branches before others, then the older before the younger.
    pub(super) ready: Vec<u64>,
}

/// Set in the key of an operation that is not urgent.
const PATIENT: u64 = 1 << 63;

const NOTHING: Entry = Entry {
    passage: Passage::NOTHING,
    prediction: Prediction::RIGHT,
    kind: Kind::Plain,
    number: 0,
    pending: [0; 2],
    first_done: false,
    offered: false,
    access_done: false,
    waiting: [NONE; 2],
};

impl Window {
    pub(super) fn new(config: &OutOfOrderConfig) -> Self {
        let slots = (config.window + config.fetch_queue).next_power_of_two();
        Self {
            entries: vec![NOTHING; slots],
            mask: slots as u64 - 1,
            oldest: 0,
            newest: 0,
            fetched: 0,
            producers: [NONE; 256],
            next_operand: vec![NONE; slots * 4],
            queue: VecDeque::with_capacity(config.memory_queue),
            foreseen: config.disambiguation == super::Disambiguation::Foreseen,
            candidates: 0,
            stale: false,
            ready: Vec::with_capacity(slots * 2),
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.newest - self.oldest) as usize
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.newest == self.oldest
    }

    #[inline]
    pub(super) fn oldest(&self) -> Option<&Entry> {
        (!self.is_empty()).then(|| &self.entries[(self.oldest & self.mask) as usize])
    }

    #[inline]
    pub(super) fn entry(&mut self, tag: Tag) -> &mut Entry {
        &mut self.entries[usize::from(tag >> 1)]
    }

    /// The operation of a ready key.
    #[inline]
    pub(super) fn tag_of(&self, key: u64) -> Tag {
        ((key >> 1 & self.mask) << 1 | key & 1) as Tag
    }

    /// Instructions in the fetch queue.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        (self.fetched - self.newest) as usize
    }

    /// The instruction that is dispatched next.
    #[inline]
    pub(super) fn upcoming(&self) -> Option<&Entry> {
        (self.fetched != self.newest).then(|| &self.entries[(self.newest & self.mask) as usize])
    }

    /// The place behind the fetch queue.
    #[inline]
    pub(super) fn held(&mut self) -> &mut Entry {
        &mut self.entries[(self.fetched & self.mask) as usize]
    }

    /// What is in the place behind the fetch queue is in it now.
    #[inline]
    pub(super) fn fetch(&mut self) {
        self.fetched += 1;
    }

    /// Dispatches the upcoming instruction.
    #[inline]
    pub(super) fn push(&mut self, now: Cycles) {
        debug_assert!(self.newest < self.fetched);
        let number = self.newest;
        let slot = (number & self.mask) as u16;
        self.newest += 1;
        let shape = self.entries[usize::from(slot)].passage.retired.shape;
        let kind = match shape.class {
            Class::Load => Kind::Load,
            Class::Store => Kind::Store,
            Class::Atomic => Kind::Atomic,
            _ => Kind::Plain,
        };
        let mut pending = [0; 2];
        for (place, source) in shape.sources.iter().enumerate() {
            let producer = self.producers[usize::from(source.0)];
            if producer == NONE {
                continue;
            }
            let operand = slot << 2 | place as u16;
            let first = &mut self.entries[usize::from(producer >> 1)].waiting[usize::from(producer & 1)];
            self.next_operand[usize::from(operand)] = std::mem::replace(first, operand);
            pending[usize::from(is_data(kind, place))] += 1;
        }
        for (place, destination) in shape.destinations.iter().enumerate() {
            self.producers[usize::from(destination.0)] = slot << 1 | Tag::from(from_memory(kind, place));
        }
        self.producers[usize::from(Register::NONE.0)] = NONE;
        if kind != Kind::Plain {
            self.queue.push_back(slot);
        }
        let entry = &mut self.entries[usize::from(slot)];
        entry.passage.dispatched = now;
        entry.kind = kind;
        entry.number = number;
        entry.pending = pending;
        entry.first_done = false;
        entry.offered = false;
        entry.access_done = false;
        entry.waiting = [NONE; 2];
        if pending[0] == 0 {
            self.make_ready(slot << 1);
        }
    }

    /// Takes the oldest instruction out.
    #[inline]
    pub(super) fn pop(&mut self) {
        if self.entries[(self.oldest & self.mask) as usize].kind != Kind::Plain {
            self.queue.pop_front();
            self.stale = true;
        }
        self.oldest += 1;
        // An atomic waits until it is the oldest.
        self.stale |= self.entries[(self.oldest & self.mask) as usize].kind == Kind::Atomic;
    }

    /// The oldest instruction.
    #[inline]
    pub(super) fn oldest_mut(&mut self) -> &mut Entry {
        &mut self.entries[(self.oldest & self.mask) as usize]
    }

    /// An operation has ended: what waited for it may be ready.
    #[inline]
    pub(super) fn end(&mut self, tag: Tag) {
        let access = usize::from(tag & ACCESS);
        let entry = self.entry(tag);
        if access == 1 {
            entry.access_done = true;
        } else {
            entry.first_done = true;
        }
        let kind = entry.kind;
        let destinations = entry.passage.retired.shape.destinations;
        let mut operand = std::mem::replace(&mut entry.waiting[access], NONE);
        if kind != Kind::Plain {
            self.stale |= kind != Kind::Load || access == 0;
            self.candidates += u32::from(kind != Kind::Store && access == 0);
            if kind == Kind::Store && access == 0 && self.entry(tag).has_data() {
                self.make_ready(tag | ACCESS);
            }
        }
        for destination in &destinations {
            let producer = &mut self.producers[usize::from(destination.0)];
            if *producer == tag {
                *producer = NONE;
            }
        }
        while operand != NONE {
            let next = self.next_operand[usize::from(operand)];
            self.arrive(operand);
            operand = next;
        }
    }

    /// The access of a store has had its slot: what it writes is in the queue, for loads to take.
    #[inline]
    pub(super) fn end_store(&mut self, tag: Tag) {
        self.entry(tag).access_done = true;
        self.stale = true;
    }

    /// An operand is there.
    #[inline]
    fn arrive(&mut self, operand: u16) {
        let tag = operand >> 2 << 1;
        let entry = self.entry(tag);
        let data = is_data(entry.kind, usize::from(operand & 3));
        let pending = &mut entry.pending[usize::from(data)];
        *pending -= 1;
        if *pending > 0 {
            return;
        }
        if !data {
            self.make_ready(tag);
            return;
        }
        let is_ready = entry.kind == Kind::Store && entry.first_done;
        self.stale = true;
        if is_ready {
            self.make_ready(tag | ACCESS);
        }
    }

    #[inline]
    fn make_ready(&mut self, tag: Tag) {
        let entry = &self.entries[usize::from(tag >> 1)];
        let shape = entry.passage.retired.shape;
        let urgent = tag & ACCESS != 0
            || matches!(shape.class, Class::Multiply | Class::Divide)
            || shape.control != Control::None;
        let key = entry.number << 1 | u64::from(tag & ACCESS) | if urgent { 0 } else { PATIENT };
        // There are few, and most come last.
        let mut place = self.ready.len();
        self.ready.push(key);
        while place > 0 && self.ready[place - 1] > key {
            self.ready[place] = self.ready[place - 1];
            place -= 1;
        }
        self.ready[place] = key;
    }

    /// Offers the accesses that nothing before them forbids any more.
    #[inline]
    pub(super) fn refresh(&mut self) {
        if std::mem::take(&mut self.stale) && self.candidates > 0 {
            self.offer_accesses();
        }
    }

    fn offer_accesses(&mut self) {
        for index in 0..self.queue.len() {
            let slot = self.queue[index];
            let entry = &self.entries[usize::from(slot)];
            match entry.kind {
                Kind::Store => {
                    if !entry.first_done && !self.foreseen {
                        return;
                    }
                    continue;
                }
                Kind::Atomic => {
                    if entry.access_done {
                        continue;
                    }
                    if entry.offered || !entry.first_done || !entry.has_data() || entry.number != self.oldest {
                        return;
                    }
                }
                Kind::Load | Kind::Plain => {
                    if entry.offered || !entry.first_done || self.source_of(index) == Source::NotYet {
                        continue;
                    }
                }
            }
            let atomic = entry.kind == Kind::Atomic;
            self.entries[usize::from(slot)].offered = true;
            self.make_ready(slot << 1 | ACCESS);
            self.candidates -= 1;
            if atomic || self.candidates == 0 {
                return;
            }
        }
    }

    /// Where the load at a place of the queue has its data from.
    fn source_of(&self, index: usize) -> Source {
        let load = &self.entries[usize::from(self.queue[index])];
        for &slot in self.queue.range(..index).rev() {
            let earlier = &self.entries[usize::from(slot)];
            if earlier.kind == Kind::Load || !earlier.overlaps(load) {
                continue;
            }
            return match earlier.kind {
                Kind::Atomic if earlier.access_done => Source::Memory,
                Kind::Store if earlier.first_done && earlier.has_data() && earlier.covers(load) => Source::Store,
                _ => Source::NotYet,
            };
        }
        Source::Memory
    }

    /// Whether the load of `tag`, which is ready, takes its data from a store in the queue.
    #[inline]
    pub(super) fn is_forwarded(&self, tag: Tag) -> bool {
        let slot = tag >> 1;
        self.queue.front() != Some(&slot)
            && self
                .queue
                .iter()
                .position(|&other| other == slot)
                .is_some_and(|index| self.source_of(index) == Source::Store)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Memory,
    Store,
    NotYet,
}

/// Whether a source is data for memory.
const fn is_data(kind: Kind, place: usize) -> bool {
    place == DATA && matches!(kind, Kind::Store | Kind::Atomic)
}

/// Whether a destination comes from memory.
const fn from_memory(kind: Kind, place: usize) -> bool {
    match kind {
        Kind::Plain | Kind::Store => false,
        Kind::Load => place == 0,
        Kind::Atomic => true,
    }
}
