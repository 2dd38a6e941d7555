// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `adaptive`: each entry in the structure that serves its kind, and age across all of them.
//!
//! What decides, at run time:
//! - Receives without wildcards, and those of each of the first seven kinds of wildcards, are in a hash table at any
//!   depth, by what is compared of them; receives of a further kind are compared 64 at a time.
//! - Unexpected messages are in a hash table by envelope, and, once a receive or a probe with wildcards has come to more
//!   than a few of them, in blocks of 64 in order of age besides.

mod chains;
mod odd;
mod places;
mod posted;
mod unexpected;

use chains::Quick;
use posted::PostedReceives;
use unexpected::UnexpectedMessages;

use crate::scan::Unit;
use crate::types::{Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted};

pub(crate) struct Adaptive {
    posted: PostedReceives,
    unexpected: UnexpectedMessages,
}

impl Adaptive {
    pub(crate) fn new(unit: Unit) -> Self {
        Self { posted: PostedReceives::new(unit), unexpected: UnexpectedMessages::new(unit) }
    }

    // What is quick is inlined, and nothing else, so that it needs no registers for the rest.
    #[inline(always)]
    pub(crate) fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        match source {
            Some(source) if ignore == 0 => match self.post_quickly(Envelope { bits, source }, user) {
                Some(posted) => Ok(posted),
                None => self.post_exact(bits, source, user),
            },
            source if self.unexpected.len() == 0 => self.append_receive(bits, ignore, source, user),
            source if self.unexpected.is_few() => self.post_to_few(bits, ignore, source, user),
            source => self.post_to_many(bits, ignore, source, user),
        }
    }

    /// Posts a receive without wildcards if that is a matter of a few instructions; else nothing happens.
    #[inline(always)]
    fn post_quickly(&mut self, envelope: Envelope, user: u64) -> Option<Posted> {
        match self.unexpected.take_quickly(envelope) {
            Quick::Taken(user) => Some(Posted::Matched(Message { user, envelope })),
            Quick::Nothing => self.posted.append_quickly(envelope, user).map(Posted::Waiting),
            Quick::Ask => None,
        }
    }

    #[inline(never)]
    fn post_exact(&mut self, bits: u64, source: u32, user: u64) -> Result<Posted, OutOfMemory> {
        let envelope = Envelope { bits, source };
        if let Some(user) = self.unexpected.take_exact(envelope) {
            return Ok(Posted::Matched(Message { user, envelope }));
        }
        match self.posted.append_quickly(envelope, user) {
            Some(handle) => Ok(Posted::Waiting(handle)),
            None => self.append_receive(bits, 0, Some(source), user),
        }
    }

    /// Posts a receive with wildcards where few messages wait.
    #[inline(never)]
    fn post_to_few(&mut self, bits: u64, ignore: u64, source: Option<u32>, user: u64) -> Result<Posted, OutOfMemory> {
        match self.unexpected.take_of_few(bits, ignore, source) {
            Some(message) => Ok(Posted::Matched(message)),
            None => self.append_receive(bits, ignore, source, user),
        }
    }

    #[inline(never)]
    fn post_to_many(&mut self, bits: u64, ignore: u64, source: Option<u32>, user: u64) -> Result<Posted, OutOfMemory> {
        match self.unexpected.take_of_many(bits, ignore, source) {
            Some(message) => Ok(Posted::Matched(message)),
            None => self.append_receive(bits, ignore, source, user),
        }
    }

    #[inline(never)]
    fn append_receive(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
    ) -> Result<Posted, OutOfMemory> {
        Ok(Posted::Waiting(self.posted.append(bits, ignore, source, user)?))
    }

    #[inline(always)]
    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        match self.arrive_quickly(envelope, user) {
            Some(arrived) => Ok(arrived),
            None => self.arrive_any(envelope.bits, envelope.source, user),
        }
    }

    /// A message arrives if that is a matter of a few instructions; else nothing happens.
    #[inline(always)]
    fn arrive_quickly(&mut self, envelope: Envelope, user: u64) -> Option<Arrived> {
        match self.posted.take_quickly(envelope) {
            Quick::Taken(user) => Some(Arrived::Matched { user }),
            Quick::Nothing => self.unexpected.append_quickly(envelope, user).map(Arrived::Unexpected),
            Quick::Ask => None,
        }
    }

    #[inline(never)]
    fn arrive_any(&mut self, bits: u64, source: u32, user: u64) -> Result<Arrived, OutOfMemory> {
        if let Some(user) = self.posted.take(bits, source) {
            return Ok(Arrived::Matched { user });
        }
        let envelope = Envelope { bits, source };
        match self.unexpected.append_quickly(envelope, user) {
            Some(handle) => Ok(Arrived::Unexpected(handle)),
            None => self.append_message(bits, source, user),
        }
    }

    #[inline(never)]
    fn append_message(&mut self, bits: u64, source: u32, user: u64) -> Result<Arrived, OutOfMemory> {
        Ok(Arrived::Unexpected(self.unexpected.append(Envelope { bits, source }, user)?))
    }

    #[inline(always)]
    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        self.posted.cancel(handle)
    }

    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        self.unexpected.discard(handle)
    }

    #[inline(always)]
    pub(crate) fn probe(&mut self, pattern: Pattern) -> Option<Message> {
        self.unexpected.probe(pattern.bits, pattern.ignore, pattern.source)
    }

    #[inline(always)]
    pub(crate) fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        self.unexpected.take(pattern.bits, pattern.ignore, pattern.source)
    }

    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.posted.len() as usize, self.unexpected.len() as usize)
    }

    pub(crate) fn reserve(&mut self, posted: usize, unexpected: usize) -> Result<(), OutOfMemory> {
        self.posted.reserve(posted)?;
        self.unexpected.reserve(unexpected)
    }

    pub(crate) fn memory(&self) -> Memory {
        Memory { posted: self.posted.bytes(), unexpected: self.unexpected.bytes() }
    }
}
