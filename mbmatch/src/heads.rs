// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `heads`: limited-length head separation (Tanabe and Ohta) in software. The heads, of 16 bytes, lie side by side and are walked in
//! order of age, four to a line of the cache; the bodies are elsewhere and are touched by a match only.
//!
//! A head has room for match bits and source. What a receive with wildcards does not compare is in its body: such a
//! head is looked up there.

use crate::pool::{Entry, Kind, Pool};
use crate::types::{Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted};

/// In a head's `body`: the body must be asked too.
const WILD: u32 = 1 << 31;
/// The `body` of a head that was removed.
const REMOVED: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Head {
    bits: u64,
    source: u32,
    body: u32,
}

/// What is not in the head.
#[derive(Clone, Copy, Default)]
struct Body {
    user: u64,
    ignore: u64,
    /// Where the head is; links free bodies.
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
struct Queue {
    heads: Vec<Head>,
    /// Heads before this one were removed.
    first: usize,
    len: usize,
    bodies: Pool<Body>,
}

impl Queue {
    fn new(kind: Kind) -> Self {
        Self { heads: Vec::new(), first: 0, len: 0, bodies: Pool::new(kind) }
    }

    fn append(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.bodies.make_room()?;
        if self.heads.len() == self.heads.capacity() {
            self.make_room()?;
        }
        let any_source = pattern.source.is_none();
        let head = self.heads.len() as u32;
        let body = Body { user, ignore: pattern.ignore, head, any_source, ..Body::default() };
        let handle = self.bodies.insert(body);
        let wild = if any_source || pattern.ignore != 0 { WILD } else { 0 };
        let (bits, source) = (pattern.bits, pattern.source.unwrap_or(0));
        self.heads.push(Head { bits, source, body: handle.index() | wild });
        self.len += 1;
        Ok(handle)
    }

    /// Moves the heads together if a fifth of the room is holes, or else makes room for a quarter more.
    #[cold]
    fn make_room(&mut self) -> Result<(), OutOfMemory> {
        let capacity = self.heads.capacity();
        if self.len * 5 > capacity * 4 || capacity == 0 {
            if capacity >= REMOVED as usize / 4 {
                // Bodies are named by 31 bits.
                return Err(OutOfMemory);
            }
            self.heads.try_reserve_exact((capacity / 4).max(16))?;
            return Ok(());
        }
        let mut to = 0;
        for from in self.first..self.heads.len() {
            let head = self.heads[from];
            if head.body != REMOVED {
                self.heads[to] = head;
                self.bodies[head.body & !WILD].head = to as u32;
                to += 1;
            }
        }
        self.heads.truncate(to);
        self.first = 0;
        Ok(())
    }

    /// The oldest receive that accepts `envelope`.
    #[inline]
    fn find_receive(&self, envelope: Envelope) -> Option<usize> {
        let walked = self.heads.get(self.first..)?;
        let found = walked.iter().position(|head| {
            if head.body & WILD == 0 {
                return head.bits == envelope.bits && head.source == envelope.source;
            }
            if head.body == REMOVED {
                return false;
            }
            let body = &self.bodies[head.body & !WILD];
            (head.bits ^ envelope.bits) & !body.ignore == 0 && (body.any_source || head.source == envelope.source)
        })?;
        Some(self.first + found)
    }

    /// The oldest message that `pattern` accepts.
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

    fn message(&self, at: usize) -> Message {
        let Head { bits, source, body } = self.heads[at];
        Message { user: self.bodies[body].user, envelope: Envelope { bits, source } }
    }

    /// Removes the head at `at` and its body; returns the user value.
    fn remove(&mut self, at: usize) -> u64 {
        let body = self.heads[at].body & !WILD;
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

    fn take_back(&mut self, handle: Handle) -> Option<u64> {
        let body = self.bodies.find(handle)?;
        Some(self.remove(self.bodies[body].head as usize))
    }

    fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        self.bodies.reserve(entries)?;
        // With the holes that may be there.
        let room = entries.checked_add(entries / 4).ok_or(OutOfMemory)?;
        Ok(self.heads.try_reserve_exact(room.saturating_sub(self.heads.len()))?)
    }

    fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<Head>() + self.bodies.bytes()
    }
}

pub(crate) struct HeadsAndBodies {
    posted: Queue,
    unexpected: Queue,
}

impl HeadsAndBodies {
    pub(crate) fn new() -> Self {
        Self { posted: Queue::new(Kind::Receives), unexpected: Queue::new(Kind::Messages) }
    }

    #[inline]
    pub(crate) fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        if let Some(message) = self.mprobe(pattern) {
            return Ok(Posted::Matched(message));
        }
        Ok(Posted::Waiting(self.posted.append(pattern, user)?))
    }

    #[inline]
    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        if let Some(at) = self.posted.find_receive(envelope) {
            return Ok(Arrived::Matched { user: self.posted.remove(at) });
        }
        Ok(Arrived::Unexpected(self.unexpected.append(Pattern::exactly(envelope), user)?))
    }

    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        self.posted.take_back(handle)
    }

    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        self.unexpected.take_back(handle)
    }

    pub(crate) fn probe(&self, pattern: Pattern) -> Option<Message> {
        self.unexpected.find_message(pattern).map(|at| self.unexpected.message(at))
    }

    #[inline]
    pub(crate) fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        let at = self.unexpected.find_message(pattern)?;
        let message = self.unexpected.message(at);
        self.unexpected.remove(at);
        Some(message)
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.posted.len, self.unexpected.len)
    }

    pub(crate) fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        self.posted.reserve(posted)?;
        self.unexpected.reserve(unexpected)
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory { posted: self.posted.bytes(), unexpected: self.unexpected.bytes() }
    }
}
