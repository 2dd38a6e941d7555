// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A receiver whose queues are walked entry by entry from the oldest: `list` and `heads`.

use crate::halves::Halves;
use crate::heap::Array;
use crate::types::{Envelope, Handle, Memory, Message, OutOfMemory, Pattern, QueuedMessage, QueuedReceive};

/// A queue of receives or of messages.
pub(crate) trait Queue {
    /// Names an entry while it is queued.
    type At: Copy + PartialEq;

    /// Appends a receive, or a message as the pattern that accepts it alone.
    fn append(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory>;
    /// The oldest receive that accepts `envelope`.
    fn find_receive(&self, envelope: Envelope) -> Option<Self::At>;
    /// The oldest message that `pattern` accepts.
    fn find_message(&self, pattern: Pattern) -> Option<Self::At>;
    /// The entry that a handle names, unless it is stale.
    fn find(&self, handle: Handle) -> Option<Self::At>;
    /// Removes an entry; returns its user value.
    fn remove(&mut self, at: Self::At) -> u64;
    /// The entries, oldest first.
    fn walk(&self) -> impl Iterator<Item = Self::At>;
    /// The handle of an entry.
    fn handle(&self, at: Self::At) -> Handle;
    /// An entry as a message.
    fn message(&self, at: Self::At) -> Message;
    /// The pattern of a receive.
    fn pattern(&self, at: Self::At) -> Pattern;
    /// Changes the source of a message.
    fn set_source(&mut self, at: Self::At, source: u32);
    /// The number of entries.
    fn len(&self) -> usize;
    /// Reserves memory for this many entries in total.
    fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory>;
    /// Frees the memory that the entries do not need.
    fn shrink(&mut self);
    /// Bytes allocated.
    fn bytes(&self) -> usize;
}

/// Both queues of a receiver.
pub(crate) struct Walked<Q> {
    posted: Q,
    unexpected: Q,
}

impl<Q: Queue> Halves for Walked<Q> {
    #[inline(always)]
    fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        let at = self.unexpected.find_message(pattern)?;
        let message = self.unexpected.message(at);
        self.unexpected.remove(at);
        Some(message)
    }

    #[inline(always)]
    fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.posted.append(pattern, user)
    }

    #[inline(always)]
    fn take_receive(&mut self, envelope: Envelope) -> Option<u64> {
        let at = self.posted.find_receive(envelope)?;
        Some(self.posted.remove(at))
    }

    #[inline(always)]
    fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.unexpected.append(Pattern::exactly(envelope), user)
    }
}

impl<Q: Queue> Walked<Q> {
    pub(crate) fn of(posted: Q, unexpected: Q) -> Self {
        Self { posted, unexpected }
    }

    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        self.posted.find(handle).map(|at| self.posted.remove(at))
    }

    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        self.unexpected.find(handle).map(|at| self.unexpected.remove(at))
    }

    #[inline]
    pub(crate) fn probe(&self, pattern: Pattern) -> Option<QueuedMessage> {
        self.unexpected.find_message(pattern).map(|at| self.queued_message(at))
    }

    fn queued_message(&self, at: Q::At) -> QueuedMessage {
        let Message { user, envelope } = self.unexpected.message(at);
        QueuedMessage { handle: self.unexpected.handle(at), user, envelope }
    }

    fn queued_receive(&self, at: Q::At) -> QueuedReceive {
        let user = self.posted.message(at).user;
        QueuedReceive { handle: self.posted.handle(at), user, pattern: self.posted.pattern(at) }
    }

    pub(crate) fn receives(&self, into: &mut Array<QueuedReceive>) {
        into.extend(self.posted.walk().map(|at| self.queued_receive(at)));
    }

    pub(crate) fn messages(&self, into: &mut Array<QueuedMessage>) {
        into.extend(self.unexpected.walk().map(|at| self.queued_message(at)));
    }

    pub(crate) fn queued(&self, message: Handle) -> Option<Message> {
        self.unexpected.find(message).map(|at| self.unexpected.message(at))
    }

    pub(crate) fn set_source(&mut self, message: Handle, source: u32) {
        if let Some(at) = self.unexpected.find(message) {
            self.unexpected.set_source(at, source);
        }
    }

    pub(crate) fn compared_with_receives(&self, envelope: Envelope) -> usize {
        compared(&self.posted, self.posted.find_receive(envelope))
    }

    pub(crate) fn compared_with_messages(&self, pattern: Pattern) -> usize {
        compared(&self.unexpected, self.unexpected.find_message(pattern))
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.posted.len(), self.unexpected.len())
    }

    pub(crate) fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        self.posted.reserve(posted)?;
        self.unexpected.reserve(unexpected)
    }

    pub(crate) fn shrink(&mut self) {
        self.posted.shrink();
        self.unexpected.shrink();
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory { posted: self.posted.bytes(), unexpected: self.unexpected.bytes() }
    }
}

/// The number of entries that a search compares whose first match is `found`.
fn compared<Q: Queue>(queue: &Q, found: Option<Q::At>) -> usize {
    found.map_or(queue.len(), |found| 1 + queue.walk().take_while(|at| *at != found).count())
}
