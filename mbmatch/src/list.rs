// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `list`: a linked list through request objects, the structure of most MPI libraries.
//!
//! The baseline of every comparison, and therefore as fast as a linked list can be: nodes of 48
//! bytes in one array, a free list that reuses the most recent node first, and no other work.
//! [`Options::request_bytes`](crate::Options) spreads the nodes to the distance that request
//! objects have in an MPI library, with its cost in cache misses.
//!
//! Cost: one node for each entry visited. The two queues share no state.

use crate::types::{
    Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted, QueuedMessage, QueuedReceive,
};

/// No node.
const NIL: u32 = u32::MAX;
/// Bytes of a node.
pub(crate) const NODE_BYTES: usize = size_of::<Node>();

/// A receive or a message in a list, or a free node.
#[derive(Clone, Copy, Default)]
struct Node {
    bits: u64,
    /// Zero for a message.
    ignore: u64,
    user: u64,
    source: u32,
    /// All ones to compare the source, zero to accept any.
    source_mask: u32,
    next: u32,
    prev: u32,
    /// Two steps for each entry of the node; see [`Queue::free`].
    generation: u32,
}

/// One list and the pool of its nodes.
struct Queue {
    nodes: Vec<Node>,
    /// Nodes from one request object to the next.
    stride: u32,
    /// Parity of the generations, different for receives and messages.
    kind: u32,
    free: u32,
    head: u32,
    tail: u32,
    len: u32,
}

impl Queue {
    fn new(kind: u32, request_bytes: usize) -> Self {
        let stride = request_bytes.div_ceil(NODE_BYTES).max(1) as u32;
        Self { nodes: Vec::new(), stride, kind, free: NIL, head: NIL, tail: NIL, len: 0 }
    }

    /// Allocates `more` nodes and puts them on the free list, the first of them on top.
    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), OutOfMemory> {
        let stride = self.stride as usize;
        let (start, extra) = (self.nodes.len(), more.checked_mul(stride).ok_or(OutOfMemory)?);
        if start.checked_add(extra).is_none_or(|nodes| nodes > NIL as usize - 63) {
            return Err(OutOfMemory);
        }
        self.nodes.try_reserve_exact(extra)?;
        self.nodes.resize(start + extra, Node { generation: self.kind, ..Node::default() });
        for at in (start..start + extra).step_by(stride).rev() {
            self.nodes[at].next = self.free;
            self.free = at as u32;
        }
        Ok(())
    }

    fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        let have = self.nodes.len() / self.stride as usize;
        if entries > have { self.grow(entries - have) } else { Ok(()) }
    }

    #[inline]
    fn append(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        if self.free == NIL {
            // A quarter more, at least 16: growth is rare, and unused memory is at most 12 bytes
            // for each entry.
            self.grow((self.nodes.len() / self.stride as usize / 4).max(16))?;
        }
        let at = self.free;
        let prev = self.tail;
        let node = &mut self.nodes[at as usize];
        self.free = node.next;
        let generation = node.generation.wrapping_add(2);
        *node = Node {
            bits: pattern.bits,
            ignore: pattern.ignore,
            user,
            source: pattern.source.unwrap_or(0),
            source_mask: if pattern.source.is_some() { u32::MAX } else { 0 },
            next: NIL,
            prev,
            generation,
        };
        if prev == NIL {
            self.head = at;
        } else {
            self.nodes[prev as usize].next = at;
        }
        self.tail = at;
        self.len += 1;
        Ok(Handle::new(at, generation))
    }

    /// The oldest receive that accepts `envelope`.
    #[inline]
    fn find_receive(&self, envelope: Envelope) -> Option<u32> {
        let mut at = self.head;
        while at != NIL {
            let node = &self.nodes[at as usize];
            let source = (node.source ^ envelope.source) & node.source_mask;
            if (node.bits ^ envelope.bits) & !node.ignore | u64::from(source) == 0 {
                return Some(at);
            }
            at = node.next;
        }
        None
    }

    /// The oldest message that `pattern` accepts.
    #[inline]
    fn find_message(&self, pattern: Pattern) -> Option<u32> {
        let (compared, source) = (!pattern.ignore, pattern.source.unwrap_or(0));
        let source_mask = if pattern.source.is_some() { u32::MAX } else { 0 };
        let mut at = self.head;
        while at != NIL {
            let node = &self.nodes[at as usize];
            let other_source = (node.source ^ source) & source_mask;
            if (node.bits ^ pattern.bits) & compared | u64::from(other_source) == 0 {
                return Some(at);
            }
            at = node.next;
        }
        None
    }

    /// Node `at` by the name that handles give it.
    fn handle(&self, at: u32) -> Handle {
        Handle::new(at, self.nodes[at as usize].generation)
    }

    /// The nodes of the list, oldest first.
    fn walk(&self) -> impl Iterator<Item = u32> {
        let node = |at: u32| (at != NIL).then_some(at);
        std::iter::successors(node(self.head), move |at| node(self.nodes[*at as usize].next))
    }

    fn queued_message(&self, at: u32) -> QueuedMessage {
        let Message { user, envelope } = self.message(at);
        QueuedMessage { handle: self.handle(at), user, envelope }
    }

    fn queued_receive(&self, at: u32) -> QueuedReceive {
        let Node { bits, ignore, user, source, source_mask, .. } = self.nodes[at as usize];
        let pattern = Pattern { bits, ignore, source: (source_mask != 0).then_some(source) };
        QueuedReceive { handle: self.handle(at), user, pattern }
    }

    fn message(&self, at: u32) -> Message {
        let node = &self.nodes[at as usize];
        Message { user: node.user, envelope: Envelope { bits: node.bits, source: node.source } }
    }

    /// Removes node `at` from the list; returns its user value.
    #[inline]
    fn remove(&mut self, at: u32) -> u64 {
        let Node { user, next, prev, .. } = self.nodes[at as usize];
        if prev == NIL {
            self.head = next;
        } else {
            self.nodes[prev as usize].next = next;
        }
        if next == NIL {
            self.tail = prev;
        } else {
            self.nodes[next as usize].prev = prev;
        }
        self.len -= 1;
        self.free(at);
        user
    }

    /// Frees a node. Bit 1 of the generation is set while a node is in use, so that no handle names
    /// a free node.
    #[inline]
    fn free(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        node.generation = node.generation.wrapping_add(2);
        node.next = self.free;
        self.free = at;
    }

    fn remove_by_handle(&mut self, handle: Handle) -> Option<u64> {
        let node = self.nodes.get(handle.index() as usize)?;
        let is_current = node.generation == handle.generation() && node.generation & 3 == 2 | self.kind;
        is_current.then(|| self.remove(handle.index()))
    }
}

/// Both lists of a receiver.
pub(crate) struct List {
    posted: Queue,
    unexpected: Queue,
}

impl List {
    pub(crate) fn new(request_bytes: usize) -> Self {
        Self { posted: Queue::new(0, request_bytes), unexpected: Queue::new(1, request_bytes) }
    }

    #[inline]
    pub(crate) fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        if let Some(message) = self.mprobe(pattern) {
            return Ok(Posted::Matched(message));
        }
        Ok(Posted::Waiting(self.queue_receive(pattern, user)?))
    }

    #[inline]
    pub(crate) fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.posted.append(pattern, user)
    }

    #[inline]
    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        match self.take_receive(envelope) {
            Some(user) => Ok(Arrived::Matched { user }),
            None => Ok(Arrived::Unexpected(self.queue_message(envelope, user)?)),
        }
    }

    #[inline]
    pub(crate) fn take_receive(&mut self, envelope: Envelope) -> Option<u64> {
        let at = self.posted.find_receive(envelope)?;
        Some(self.posted.remove(at))
    }

    #[inline]
    pub(crate) fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.unexpected.append(Pattern::exactly(envelope), user)
    }

    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        self.posted.remove_by_handle(handle)
    }

    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        self.unexpected.remove_by_handle(handle)
    }

    #[inline]
    pub(crate) fn probe(&self, pattern: Pattern) -> Option<QueuedMessage> {
        self.unexpected.find_message(pattern).map(|at| self.unexpected.queued_message(at))
    }

    pub(crate) fn receives(&self, into: &mut Vec<QueuedReceive>) {
        into.extend(self.posted.walk().map(|at| self.posted.queued_receive(at)));
    }

    pub(crate) fn messages(&self, into: &mut Vec<QueuedMessage>) {
        into.extend(self.unexpected.walk().map(|at| self.unexpected.queued_message(at)));
    }

    #[inline]
    pub(crate) fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        let at = self.unexpected.find_message(pattern)?;
        let message = self.unexpected.message(at);
        self.unexpected.remove(at);
        Some(message)
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.posted.len as usize, self.unexpected.len as usize)
    }

    pub(crate) fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        self.posted.reserve(posted)?;
        self.unexpected.reserve(unexpected)
    }

    pub(crate) fn memory(&self) -> Memory {
        let bytes = |queue: &Queue| queue.nodes.capacity() * NODE_BYTES;
        Memory { posted: bytes(&self.posted), unexpected: bytes(&self.unexpected) }
    }
}
