// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `adaptive`: short queues as packed arrays, longer ones as hash tables, with order of age across
//! all of them.
//!
//! Each queue picks its structure at run time:
//!
//! | entries | receives ([`posted`]) | messages ([`unexpected`]) |
//! |---|---|---|
//! | up to 9 | side by side ([`short`]) | side by side ([`short`]) |
//! | more | hash table by class and key ([`table`]) | hash table by envelope ([`table`]) |
//! | with wildcards | a class for each kind of MPI's, and for up to 7 kinds if there are many; others are scanned ([`scanned`]) | from any source with all match bits: lists by match bits ([`unexpected`]); else an age index, scanned 64 at a time |
//!
//! A queue that had ten entries or more becomes short again when it was found empty twice with at most
//! nine entries in between.
//!
//! # The hash table
//!
//! Open addressing with chains: the slots hold the entries, and each slot also holds the head of a
//! collision chain. `free` is a bitmap of slots that may be free ([`free_slots`]); `hash` gives the
//! home slot of a key ([`hash`]).
//!
//! ```text
//! slots, of 32 bytes                                             links, of 8 bytes
//!       bits  user  stamp          source  head                  next  prev
//!   0   B     ..    age 4          ..      1    home of A and B  (no links)
//!   1   A     ..    age 5, linked  ..      NIL                   3     4
//!   2   C     ..    age 6          ..      2    home of C        (no links)
//!   3   A     ..    age 7, linked  ..      NIL                   4     1
//!   4   A     ..    age 8, linked  ..      NIL                   0     3
//!   5               free                   NIL
//!
//! collision chain of slot 0:   head -> A -> B
//! key list of A:               slot 1 -> slot 3 -> slot 4
//! ```
//!
//! - *Home slot*: the slot that the hash gives a key. An entry takes its home slot if it is free;
//!   else it is *displaced* to the next slot of the bitmap. The entries of A are displaced, since B
//!   has their home slot.
//! - *Key list*: the entries of one key, oldest first, doubly linked. A search returns its oldest
//!   entry, so that entries of one key never lengthen the search for another.
//! - *Collision chain*: the keys that share a home slot. `head` of the home slot is the oldest
//!   entry of the first key; `next` of the youngest entry of a key is the oldest entry of the next
//!   key; `prev` of the oldest entry of a key is the youngest, so that both are found from the
//!   oldest.
//! - *Stamp*: the age of the entry and data of the queue; 0 says that the slot is free, bit 0 that
//!   the links are valid, bit 1 that the bitmap cleared the bit of the slot. An entry gets links when
//!   its key list or its collision chain continues after it.
//! - *FIFO queue*: both ends of the key list that grew last are remembered. An operation with its key
//!   needs no hash and compares no entry, and an entry takes the slot after the youngest if it is
//!   free.
//!
//! Invariants: every entry is in exactly one key list; every key list is in the collision chain of
//! its home slot; an entry never moves, since handles name its slot; growth changes home slots and
//! rebuilds the chains only.
//!
//! Cost: post and match touch one line of the cache where the entry is in its home slot and alone.
//! Consecutive tags have consecutive home slots, so that this is the common case and the hardware
//! prefetcher covers it.
//!
//! # Fast paths
//!
//! An operation first tries a *fast path*: inlined, without calls, for a short queue or a table
//! without wildcards and index, and in a table for the FIFO queue and for entries without links. It
//! either completes or declines and leaves the queues unchanged ([`FastPath`]); then the slow path,
//! which a post or an arrival does not inline, does the whole operation.
//!
//! When the last entry of a table without wildcards and index is taken, by the fast path unless it has links, the fast
//! paths stay on for the next entries: a program that fills and drains a queue has no branch that depends on how many
//! entries are left. The first search of the empty queue notices that it is empty: until an entry comes, searches then
//! end before they look into the table, or the queue becomes a short one. Where every search finds an entry, some
//! appends notice it ([`fast_paths`]). The removal of the last entry by its handle notices it at once.

mod fast_paths;
mod free_slots;
mod hash;
mod posted;
mod scanned;
mod short;
mod table;
mod unexpected;

use posted::{PostedAges, PostedReceives};
use table::FastPath;
use unexpected::{FIRST_AGE, UnexpectedMessages};

use crate::heap::{Array, Heap};
use crate::scan::Unit;
use crate::types::{
    Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Outcome, Pattern, Posted, QueuedMessage, QueuedReceive,
};

// In this order: the short queue of receives is at the start, so that instructions that use it are shorter.
#[repr(C)]
pub(crate) struct Adaptive {
    posted: PostedReceives,
    unexpected: UnexpectedMessages,
}

/// What is left of the queues when their memory is given back: where later ages begin, so that the handles of earlier
/// entries stay stale.
#[derive(Clone, Copy)]
pub(crate) struct Ages {
    posted: PostedAges,
    unexpected: u64,
}

impl Ages {
    pub(crate) const FIRST: Self = Self { posted: PostedAges::FIRST, unexpected: FIRST_AGE };
}

impl Adaptive {
    pub(crate) fn new(unit: Unit, heap: Heap, ages: Ages) -> Self {
        Self {
            posted: PostedReceives::new(unit, heap, ages.posted),
            unexpected: UnexpectedMessages::new(unit, heap, ages.unexpected),
        }
    }

    /// Where the ages of later queues begin.
    pub(crate) fn ages(&self) -> Ages {
        Ages { posted: self.posted.ages(), unexpected: self.unexpected.age() }
    }

    pub(crate) fn shrink(&mut self) {
        self.posted.shrink();
        self.unexpected.shrink();
    }

    pub(crate) fn queued(&self, message: Handle) -> Option<Message> {
        self.unexpected.queued(message)
    }

    pub(crate) fn set_source(&mut self, message: Handle, source: u32) {
        self.unexpected.set_source(message, source);
    }

    pub(crate) fn compared_with_receives(&self, envelope: Envelope) -> usize {
        self.posted.compared(envelope)
    }

    pub(crate) fn compared_with_messages(&self, pattern: Pattern) -> usize {
        self.unexpected.compared(pattern)
    }

    // The fast path is inlined and nothing else is, here and in `arrive`: a caller's function saves, at its start, the
    // registers of all that is inlined in it. Receives with wildcards take a call for this reason.
    #[inline(always)]
    pub(crate) fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        let (0, Some(source)) = (ignore, source) else {
            if self.unexpected.is_empty() {
                return self.append_with_wildcards(bits, ignore, source, user).posted(Envelope::UNSET);
            }
            let mut envelope = Envelope::UNSET;
            if self.unexpected.is_short() {
                return self.post_with_wildcards(bits, ignore, source, user, &mut envelope).posted(envelope);
            }
            return self.post_slow(bits, ignore, source, user, &mut envelope).posted(envelope);
        };
        let envelope = Envelope { bits, source };
        let taken = if self.unexpected.is_empty() { FastPath::NoMatch } else { self.unexpected.take_fast(envelope) };
        match taken {
            FastPath::Taken(user) => Ok(Posted::Matched(Message { user, envelope })),
            FastPath::NoMatch => match self.posted.append_fast(pattern, user) {
                Some(handle) => Ok(Posted::Waiting(handle)),
                None => self.append_slow(bits, 0, Some(source), user).posted(Envelope::UNSET),
            },
            FastPath::Decline => {
                let mut envelope = Envelope::UNSET;
                self.post_slow(bits, 0, Some(source), user, &mut envelope).posted(envelope)
            }
        }
    }

    /// Posts a receive with wildcards where all messages are in a short queue.
    #[inline(never)]
    fn post_with_wildcards(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
        envelope: &mut Envelope,
    ) -> Outcome {
        match self.unexpected.take_short(Pattern { bits, ignore, source }) {
            Some(message) => Outcome::took(message, envelope),
            None => self.append_with_wildcards(bits, ignore, source, user),
        }
    }

    /// Posts a receive with wildcards that accepts no message.
    #[inline(never)]
    fn append_with_wildcards(&mut self, bits: u64, ignore: u64, source: Option<u32>, user: u64) -> Outcome {
        match self.posted.append_short_with_wildcards(Pattern { bits, ignore, source }, user) {
            Some(handle) => Outcome::Queued(handle),
            None => self.append_slow(bits, ignore, source, user),
        }
    }

    /// Posts a receive where the fast path of taking a message declined.
    #[inline(never)]
    fn post_slow(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
        envelope: &mut Envelope,
    ) -> Outcome {
        let pattern = Pattern { bits, ignore, source };
        if let Some(message) = self.unexpected.take_slow(pattern) {
            return Outcome::took(message, envelope);
        }
        match self.posted.append_fast(pattern, user) {
            Some(handle) => Outcome::Queued(handle),
            None => self.append_slow(bits, ignore, source, user),
        }
    }

    /// Posts a receive that accepts no message, where the fast path declined.
    #[inline(never)]
    fn append_slow(&mut self, bits: u64, ignore: u64, source: Option<u32>, user: u64) -> Outcome {
        // Two copies: without wildcards the compiler keeps fewer values in registers.
        match source {
            Some(source) if ignore == 0 => {
                self.posted.append(Pattern { bits, ignore: 0, source: Some(source) }, user).into()
            }
            _ => self.posted.append(Pattern { bits, ignore, source }, user).into(),
        }
    }

    #[inline(always)]
    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        let Envelope { bits, source } = envelope;
        let taken = if self.posted.is_empty() { FastPath::NoMatch } else { self.posted.take_fast(envelope) };
        match taken {
            FastPath::Taken(user) => Ok(Arrived::Matched { user }),
            FastPath::NoMatch => match self.unexpected.append_fast(envelope, user) {
                Some(handle) => Ok(Arrived::Unexpected(handle)),
                None => self.append_message_slow(bits, source, user).arrived(),
            },
            FastPath::Decline => self.arrive_declined(bits, source, user).arrived(),
        }
    }

    /// Delivers a message where the fast path of taking a receive declined: a short queue with wildcards, or as
    /// [`Self::arrive_slow`].
    #[inline(never)]
    fn arrive_declined(&mut self, bits: u64, source: u32, user: u64) -> Outcome {
        match self.posted.take_short(Envelope { bits, source }) {
            FastPath::Taken(user) => Outcome::Matched(user),
            FastPath::NoMatch => self.append_message(bits, source, user),
            FastPath::Decline => self.arrive_slow(bits, source, user),
        }
    }

    /// Delivers a message where the receives are in a table, or scanned.
    #[inline(never)]
    fn arrive_slow(&mut self, bits: u64, source: u32, user: u64) -> Outcome {
        match self.posted.take_slow(Envelope { bits, source }) {
            Some(user) => Outcome::Matched(user),
            None => self.append_message(bits, source, user),
        }
    }

    /// Queues a message that no receive accepts.
    #[inline(never)]
    fn append_message(&mut self, bits: u64, source: u32, user: u64) -> Outcome {
        match self.unexpected.append_fast(Envelope { bits, source }, user) {
            Some(handle) => Outcome::Queued(handle),
            None => self.append_message_slow(bits, source, user),
        }
    }

    /// As [`Self::append_message`], where the fast path declined.
    #[inline(never)]
    fn append_message_slow(&mut self, bits: u64, source: u32, user: u64) -> Outcome {
        self.unexpected.append(Envelope { bits, source }, user).into()
    }

    #[inline(always)]
    pub(crate) fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        let (0, Some(_)) = (ignore, source) else {
            return self.append_with_wildcards(bits, ignore, source, user).queued();
        };
        match self.posted.append_fast(pattern, user) {
            Some(handle) => Ok(handle),
            None => self.append_slow(bits, 0, source, user).queued(),
        }
    }

    #[inline(always)]
    pub(crate) fn take_receive(&mut self, envelope: Envelope) -> Option<u64> {
        if self.posted.is_empty() {
            return None;
        }
        match self.posted.take_fast(envelope) {
            FastPath::Taken(user) => Some(user),
            FastPath::NoMatch => None,
            FastPath::Decline => self.take_receive_slow(envelope.bits, envelope.source),
        }
    }

    #[inline(never)]
    fn take_receive_slow(&mut self, bits: u64, source: u32) -> Option<u64> {
        match self.posted.take_short(Envelope { bits, source }) {
            FastPath::Taken(user) => Some(user),
            FastPath::NoMatch => None,
            FastPath::Decline => self.posted.take_slow(Envelope { bits, source }),
        }
    }

    #[inline(always)]
    pub(crate) fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        match self.unexpected.append_fast(envelope, user) {
            Some(handle) => Ok(handle),
            None => self.append_message_slow(envelope.bits, envelope.source, user).queued(),
        }
    }

    #[inline(always)]
    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        self.posted.cancel(handle)
    }

    #[inline(always)]
    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        self.unexpected.discard(handle)
    }

    #[inline(always)]
    pub(crate) fn probe(&mut self, pattern: Pattern) -> Option<QueuedMessage> {
        self.unexpected.probe(pattern)
    }

    pub(crate) fn receives(&self, into: &mut Array<QueuedReceive>) {
        self.posted.receives(into);
    }

    pub(crate) fn messages(&self, into: &mut Array<QueuedMessage>) {
        self.unexpected.messages(into);
    }

    #[inline(always)]
    pub(crate) fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        if self.unexpected.is_empty() {
            return None;
        }
        let Pattern { bits, ignore, source } = pattern;
        if let (0, Some(source)) = (ignore, source) {
            let envelope = Envelope { bits, source };
            match self.unexpected.take_fast(envelope) {
                FastPath::Taken(user) => return Some(Message { user, envelope }),
                FastPath::NoMatch => return None,
                FastPath::Decline => {}
            }
        }
        Message::found(|envelope| self.mprobe_slow(bits, ignore, source, envelope))
    }

    #[inline(never)]
    fn mprobe_slow(&mut self, bits: u64, ignore: u64, source: Option<u32>, envelope: &mut Envelope) -> Option<u64> {
        self.unexpected.take_any(Pattern { bits, ignore, source }).map(|message| message.into_parts(envelope))
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.posted.len() as usize, self.unexpected.len() as usize)
    }

    pub(crate) fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        self.posted.reserve(posted)?;
        self.unexpected.reserve(unexpected)
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory {
            posted: size_of::<PostedReceives>() + self.posted.bytes(),
            unexpected: size_of::<UnexpectedMessages>() + self.unexpected.bytes(),
        }
    }
}
