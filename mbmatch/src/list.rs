// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `list`: a linked list through request objects, the structure of most MPI libraries.
//!
//! The baseline of every comparison, and therefore fast: nodes of 48 bytes in one array, a free list that reuses the
//! most recent node first, and no other work but a call, since its code is not inlined into the callers of a
//! [`Matcher`](crate::Matcher).
//! [`Options::request_bytes`](crate::Options) spreads the nodes to the distance that request
//! objects have in an MPI library, with its cost in cache misses.
//!
//! Cost: one node for each entry visited. The two queues share no state.

use crate::heap::{Array, Heap};
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern};
use crate::walked::{self, Walked};

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
pub(crate) struct Queue {
    nodes: Array<Node>,
    /// Nodes from one request object to the next.
    stride: u32,
    /// Parity of the generations, different for receives and messages.
    kind: u32,
    free: u32,
    head: u32,
    tail: u32,
    len: u32,
    /// The generation of a node that was never used: none below it names a node of memory that was given back.
    unused: u32,
}

impl Queue {
    fn new(kind: u32, request_bytes: usize, heap: Heap) -> Self {
        let stride = request_bytes.div_ceil(NODE_BYTES).max(1) as u32;
        Self { nodes: Array::new(heap), stride, kind, free: NIL, head: NIL, tail: NIL, len: 0, unused: kind }
    }

    /// Allocates `more` nodes and puts them on the free list, the first of them on top.
    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), OutOfMemory> {
        let stride = self.stride as usize;
        let (start, extra) = (self.nodes.len(), more.checked_mul(stride).ok_or(OutOfMemory)?);
        if start.checked_add(extra).is_none_or(|nodes| nodes > NIL as usize - 63) {
            return Err(OutOfMemory);
        }
        self.nodes.reserve_exact(extra)?;
        self.nodes.resize(start + extra, Node { generation: self.unused, ..Node::default() });
        for at in (start..start + extra).step_by(stride).rev() {
            self.nodes[at].next = self.free;
            self.free = at as u32;
        }
        Ok(())
    }

    /// Frees a node. Bit 1 of the generation is set while a node is in use, so that no handle names
    /// a free node.
    #[inline(always)]
    fn free(&mut self, at: u32) {
        let node = &mut self.nodes[at as usize];
        node.generation = node.generation.wrapping_add(2);
        node.next = self.free;
        self.free = at;
    }
}

impl walked::Queue for Queue {
    type At = u32;

    #[inline(always)]
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

    #[inline(always)]
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

    #[inline(always)]
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

    fn find(&self, handle: Handle) -> Option<u32> {
        let node = self.nodes.get(handle.index() as usize)?;
        let is_current = node.generation == handle.generation() && node.generation & 3 == 2 | self.kind;
        is_current.then_some(handle.index())
    }

    #[inline(always)]
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

    fn walk(&self) -> impl Iterator<Item = u32> {
        let node = |at: u32| (at != NIL).then_some(at);
        std::iter::successors(node(self.head), move |at| node(self.nodes[*at as usize].next))
    }

    fn handle(&self, at: u32) -> Handle {
        Handle::new(at, self.nodes[at as usize].generation)
    }

    fn message(&self, at: u32) -> Message {
        let node = &self.nodes[at as usize];
        Message { user: node.user, envelope: Envelope { bits: node.bits, source: node.source } }
    }

    fn pattern(&self, at: u32) -> Pattern {
        let Node { bits, ignore, source, source_mask, .. } = self.nodes[at as usize];
        Pattern { bits, ignore, source: (source_mask != 0).then_some(source) }
    }

    fn set_source(&mut self, at: u32, source: u32) {
        self.nodes[at as usize].source = source;
    }

    fn len(&self) -> usize {
        self.len as usize
    }

    fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        let have = self.nodes.len() / self.stride as usize;
        if entries > have { self.grow(entries - have) } else { Ok(()) }
    }

    /// Frees the memory after the last entry.
    fn shrink(&mut self) {
        let is_used = |node: &Node| node.generation & 2 != 0;
        let used = self.nodes.iter().rposition(is_used).map_or(0, |last| last + 1);
        let kept = used.next_multiple_of(self.stride as usize);
        let generations = self.nodes[kept..].iter().map(|node| node.generation);
        self.unused = generations.max().unwrap_or(0).max(self.unused);
        self.nodes.truncate(kept);
        self.nodes.shrink();
        self.free = NIL;
        for at in (0..kept).step_by(self.stride as usize).rev() {
            if !is_used(&self.nodes[at]) {
                self.nodes[at].next = std::mem::replace(&mut self.free, at as u32);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.nodes.bytes()
    }
}

/// Both lists of a receiver.
pub(crate) type List = Walked<Queue>;

impl List {
    pub(crate) fn new(request_bytes: usize, heap: Heap) -> Self {
        Self::of(Queue::new(0, request_bytes, heap), Queue::new(1, request_bytes, heap))
    }
}
