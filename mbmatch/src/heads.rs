// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `heads`: limited-length head separation (`tanabe2013`) in software.
//!
//! Heads of 16 bytes are stored side by side, four to a cache line, and walked in order of age.
//! Bodies are stored elsewhere and read after a match only. A head holds match bits and source; the
//! wildcards of a receive are in its body, which the walk reads for such heads.

use crate::heap::{Array, Heap};
use crate::pool::{Entry, Kind, Pool};
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern};
use crate::walked::{self, Walked};

/// Flag in a head's `body`: the receive has wildcards, which are in its body.
const WILDCARD: u32 = 1 << 31;
/// The `body` of a removed head.
const REMOVED: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Head {
    bits: u64,
    source: u32,
    body: u32,
}

/// The rest of an entry.
#[derive(Clone, Copy, Default)]
struct Body {
    user: u64,
    ignore: u64,
    /// Index of the head. Links free bodies.
    head: u32,
    any_source: bool,
    generation: u32,
}

impl Entry for Body {
    fn link(&mut self) -> &mut u32 {
        &mut self.head
    }

    fn generation(&mut self) -> &mut u32 {
        &mut self.generation
    }
}

/// One queue.
pub(crate) struct Queue {
    heads: Array<Head>,
    /// All heads before this one are removed.
    first: usize,
    len: usize,
    bodies: Pool<Body>,
}

impl Queue {
    fn new(kind: Kind, heap: Heap) -> Self {
        Self { heads: Array::new(heap), first: 0, len: 0, bodies: Pool::new(kind, heap) }
    }

    /// Compacts the heads if a fifth of the capacity is holes, else grows by a quarter. Without memory for that, every
    /// hole is used, at the price of a compaction for each.
    #[cold]
    fn make_room(&mut self) -> Result<(), OutOfMemory> {
        let capacity = self.heads.capacity();
        if self.len * 5 > capacity * 4 || capacity == 0 {
            if capacity >= REMOVED as usize / 4 {
                // A body index has 31 bits.
                return Err(OutOfMemory);
            }
            let grown = self.heads.reserve_exact((capacity / 4).max(16));
            if grown.is_ok() || self.len == self.heads.len() {
                return grown;
            }
        }
        self.compact();
        Ok(())
    }

    /// Closes all holes.
    fn compact(&mut self) {
        let mut to = 0;
        for from in self.first..self.heads.len() {
            let head = self.heads[from];
            if head.body != REMOVED {
                self.heads[to] = head;
                self.bodies[head.body & !WILDCARD].head = to as u32;
                to += 1;
            }
        }
        self.heads.truncate(to);
        self.first = 0;
    }
}

impl walked::Queue for Queue {
    type At = usize;

    fn append(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.bodies.make_room()?;
        if self.heads.len() == self.heads.capacity() {
            self.make_room()?;
        }
        let any_source = pattern.source.is_none();
        let head = self.heads.len() as u32;
        let body = Body { user, ignore: pattern.ignore, head, any_source, ..Body::default() };
        let handle = self.bodies.insert(body);
        let flag = if any_source || pattern.ignore != 0 { WILDCARD } else { 0 };
        let (bits, source) = (pattern.bits, pattern.source.unwrap_or(0));
        self.heads.push(Head { bits, source, body: handle.index() | flag });
        self.len += 1;
        Ok(handle)
    }

    #[inline]
    fn find_receive(&self, envelope: Envelope) -> Option<usize> {
        let walked = self.heads.get(self.first..)?;
        let found = walked.iter().position(|head| {
            if head.body & WILDCARD == 0 {
                return head.bits == envelope.bits && head.source == envelope.source;
            }
            if head.body == REMOVED {
                return false;
            }
            let body = &self.bodies[head.body & !WILDCARD];
            (head.bits ^ envelope.bits) & !body.ignore == 0 && (body.any_source || head.source == envelope.source)
        })?;
        Some(self.first + found)
    }

    #[inline]
    fn find_message(&self, pattern: Pattern) -> Option<usize> {
        let (compared, source) = (!pattern.ignore, pattern.source.unwrap_or(0));
        let source_mask = if pattern.source.is_some() { u32::MAX } else { 0 };
        let walked = self.heads.get(self.first..)?;
        let found = walked.iter().position(|head| {
            let other_source = (head.source ^ source) & source_mask;
            (head.bits ^ pattern.bits) & compared | u64::from(other_source) == 0 && head.body != REMOVED
        })?;
        Some(self.first + found)
    }

    fn find(&self, handle: Handle) -> Option<usize> {
        self.bodies.find(handle).map(|body| self.bodies[body].head as usize)
    }

    fn remove(&mut self, at: usize) -> u64 {
        let body = self.heads[at].body & !WILDCARD;
        let user = self.bodies[body].user;
        self.bodies.remove(body);
        self.heads[at].body = REMOVED;
        self.len -= 1;
        while self.heads.last().is_some_and(|head| head.body == REMOVED) {
            self.heads.pop();
        }
        while self.heads.get(self.first).is_some_and(|head| head.body == REMOVED) {
            self.first += 1;
        }
        if self.heads.is_empty() {
            self.first = 0;
        }
        user
    }

    fn walk(&self) -> impl Iterator<Item = usize> {
        (self.first..self.heads.len()).filter(|at| self.heads[*at].body != REMOVED)
    }

    fn handle(&self, at: usize) -> Handle {
        self.bodies.handle(self.heads[at].body & !WILDCARD)
    }

    fn message(&self, at: usize) -> Message {
        let Head { bits, source, body } = self.heads[at];
        Message { user: self.bodies[body & !WILDCARD].user, envelope: Envelope { bits, source } }
    }

    fn pattern(&self, at: usize) -> Pattern {
        let Head { bits, source, body } = self.heads[at];
        let Body { ignore, any_source, .. } = self.bodies[body & !WILDCARD];
        Pattern { bits, ignore, source: (!any_source).then_some(source) }
    }

    fn set_source(&mut self, at: usize, source: u32) {
        self.heads[at].source = source;
    }

    fn len(&self) -> usize {
        self.len
    }

    fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        self.bodies.reserve(entries)?;
        // Including the holes that may exist.
        let room = entries.checked_add(entries / 4).ok_or(OutOfMemory)?;
        self.heads.reserve_exact(room.saturating_sub(self.heads.len()))
    }

    fn shrink(&mut self) {
        self.compact();
        self.heads.shrink();
        self.bodies.shrink();
    }

    fn bytes(&self) -> usize {
        self.heads.bytes() + self.bodies.bytes()
    }
}

/// Both queues of a receiver.
pub(crate) type HeadsAndBodies = Walked<Queue>;

impl HeadsAndBodies {
    pub(crate) fn new(heap: Heap) -> Self {
        Self::of(Queue::new(Kind::Receives, heap), Queue::new(Kind::Messages, heap))
    }
}
