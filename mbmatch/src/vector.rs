// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `vector`: all keys in packed blocks in order of age, compared 64 at a time.
//!
//! Wildcards are free, and each entry passed costs a fraction of a nanosecond. A removed entry
//! leaves a hole; see [`crate::log`].

use crate::halves::Halves;
use crate::heap::{Array, Heap};
use crate::log::{Log, Room};
use crate::pool::{Entry, Kind, Pool};
use crate::scan::{Heads, Patterns, Unit, first_accepted, first_accepting};
use crate::types::{Envelope, Handle, Memory, Message, OutOfMemory, Pattern, QueuedMessage, QueuedReceive};

/// The part of an entry that is not compared.
#[derive(Clone, Copy, Default)]
struct Body {
    user: u64,
    /// In the log.
    position: u32,
    generation: u32,
}

impl Entry for Body {
    fn link(&mut self) -> &mut u32 {
        &mut self.position
    }

    fn generation(&mut self) -> &mut u32 {
        &mut self.generation
    }
}

/// One queue.
struct Queue<B> {
    log: Log<B>,
    bodies: Pool<Body>,
}

impl<B: crate::log::Block> Queue<B> {
    fn new(kind: Kind, heap: Heap) -> Self {
        Self { log: Log::new(heap), bodies: Pool::new(kind, heap) }
    }

    #[inline]
    fn append(&mut self, key: B::Key, user: u64) -> Result<Handle, OutOfMemory> {
        self.bodies.make_room()?;
        if self.log.make_room()? == Room::NeedsCompaction {
            let bodies = &mut self.bodies;
            self.log.compact(|(_, owner), position| bodies[owner].position = position);
            // After compaction this takes the next block if all others are full.
            self.log.make_room()?;
        }
        let handle = self.bodies.insert(Body { user, ..Body::default() });
        self.bodies[handle.index()].position = self.log.push((key, handle.index()));
        Ok(handle)
    }

    /// Removes the entry at `position` in the log; returns its user value.
    #[inline]
    fn remove(&mut self, position: u32) -> u64 {
        let owner = self.log.owner(position);
        let user = self.bodies[owner].user;
        self.log.remove(position);
        self.bodies.remove(owner);
        user
    }

    fn remove_by_handle(&mut self, handle: Handle) -> Option<u64> {
        let body = self.bodies.find(handle)?;
        Some(self.remove(self.bodies[body].position))
    }

    fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        self.bodies.reserve(entries)?;
        self.log.reserve(entries)
    }

    fn bytes(&self) -> usize {
        self.log.bytes() + self.bodies.bytes()
    }

    /// The number of keys that a search compares whose first match is `found`: whole blocks.
    fn compared(&self, found: Option<u32>) -> usize {
        self.log.compared(found)
    }

    fn shrink(&mut self) {
        let bodies = &mut self.bodies;
        self.log.shrink(|(_, owner), position| bodies[owner].position = position);
        self.bodies.shrink();
    }
}

pub(crate) struct Vector {
    posted: Queue<Patterns>,
    unexpected: Queue<Heads>,
    unit: Unit,
}

impl Halves for Vector {
    #[inline]
    fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        let position = self.find(pattern)?;
        let (envelope, _) = self.unexpected.log.key(position);
        Some(Message { user: self.unexpected.remove(position), envelope })
    }

    #[inline]
    fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.posted.append(pattern, user)
    }

    #[inline]
    fn take_receive(&mut self, envelope: Envelope) -> Option<u64> {
        if self.posted.log.len() == 0 {
            return None;
        }
        let position = first_accepting(self.unit, &self.posted.log, envelope)?;
        Some(self.posted.remove(position))
    }

    #[inline]
    fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.unexpected.append(envelope, user)
    }
}

impl Vector {
    pub(crate) fn new(unit: Unit, heap: Heap) -> Self {
        Self { posted: Queue::new(Kind::Receives, heap), unexpected: Queue::new(Kind::Messages, heap), unit }
    }

    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        self.posted.remove_by_handle(handle)
    }

    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        self.unexpected.remove_by_handle(handle)
    }

    #[inline]
    fn find(&self, pattern: Pattern) -> Option<u32> {
        if self.unexpected.log.len() == 0 { None } else { first_accepted(self.unit, &self.unexpected.log, pattern) }
    }

    pub(crate) fn probe(&self, pattern: Pattern) -> Option<QueuedMessage> {
        let (envelope, owner) = self.unexpected.log.key(self.find(pattern)?);
        let bodies = &self.unexpected.bodies;
        Some(QueuedMessage { handle: bodies.handle(owner), user: bodies[owner].user, envelope })
    }

    pub(crate) fn receives(&self, into: &mut Array<QueuedReceive>) {
        let Queue { log, bodies } = &self.posted;
        into.extend(log.keys().map(|(position, pattern)| {
            let owner = log.owner(position);
            QueuedReceive { handle: bodies.handle(owner), user: bodies[owner].user, pattern }
        }));
    }

    pub(crate) fn messages(&self, into: &mut Array<QueuedMessage>) {
        let Queue { log, bodies } = &self.unexpected;
        into.extend(log.keys().map(|(position, envelope)| {
            let owner = log.owner(position);
            QueuedMessage { handle: bodies.handle(owner), user: bodies[owner].user, envelope }
        }));
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.posted.log.len() as usize, self.unexpected.log.len() as usize)
    }

    pub(crate) fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        self.posted.reserve(posted)?;
        self.unexpected.reserve(unexpected)
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory { posted: self.posted.bytes(), unexpected: self.unexpected.bytes() }
    }

    pub(crate) fn queued(&self, message: Handle) -> Option<Message> {
        let Queue { log, bodies } = &self.unexpected;
        let Body { user, position, .. } = bodies[bodies.find(message)?];
        Some(Message { user, envelope: log.key(position).0 })
    }

    pub(crate) fn set_source(&mut self, message: Handle, source: u32) {
        let Queue { log, bodies } = &mut self.unexpected;
        if let Some(at) = bodies.find(message) {
            log.set_source(bodies[at].position, source);
        }
    }

    pub(crate) fn compared_with_receives(&self, envelope: Envelope) -> usize {
        self.posted.compared(first_accepting(self.unit, &self.posted.log, envelope))
    }

    pub(crate) fn compared_with_messages(&self, pattern: Pattern) -> usize {
        self.unexpected.compared(self.find(pattern))
    }

    pub(crate) fn shrink(&mut self) {
        self.posted.shrink();
        self.unexpected.shrink();
    }
}
