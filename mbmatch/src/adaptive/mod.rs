// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `adaptive`: each entry in the structure that serves its kind, and age across all of them.
//!
//! What decides, at run time:
//! - Up to nine receives, and up to nine messages, are side by side. A queue that has had more goes on as follows, until
//!   it was empty twice and had up to nine in between.
//! - Receives without wildcards, and those of each of the first seven kinds of wildcards, are in a hash table at any
//!   depth, by what is compared of them; receives of a further kind are compared 64 at a time.
//! - Unexpected messages are in a hash table by envelope, and, once a receive or a probe with wildcards has come to them,
//!   in blocks of 64 in order of age besides.

mod chains;
mod homes;
mod odd;
mod places;
mod posted;
mod short;
mod unexpected;

use chains::Quick;
use posted::PostedReceives;
use unexpected::UnexpectedMessages;

use crate::matcher::InMemory;
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
        // Twice the same, but without wildcards less is to be kept in registers.
        if let Pattern { bits, ignore: 0, source: Some(source) } = pattern {
            self.post_one(Pattern { bits, ignore: 0, source: Some(source) }, user)
        } else {
            self.post_one(pattern, user)
        }
    }

    /// Posts a receive; inlined for each kind of pattern.
    #[inline(always)]
    fn post_one(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        let taken = if self.unexpected.is_empty() { Quick::Nothing } else { self.unexpected.take_quickly(pattern) };
        match taken {
            Quick::Taken(message) => return Ok(Posted::Matched(message)),
            Quick::Nothing => {
                if let Some(handle) = self.posted.append_quickly(pattern, user) {
                    return Ok(Posted::Waiting(handle));
                }
            }
            Quick::Ask => {}
        }
        self.post_any(bits, ignore, source, user)
    }

    /// Posts a receive where that is no matter of a few instructions.
    #[inline(never)]
    fn post_any(&mut self, bits: u64, ignore: u64, source: Option<u32>, user: u64) -> Result<Posted, OutOfMemory> {
        let pattern = Pattern { bits, ignore, source };
        if let Some(message) = self.unexpected.take_of_many(pattern) {
            return Ok(Posted::Matched(message));
        }
        // Twice the same here too.
        let handle = match source {
            Some(source) if ignore == 0 => self.posted.append(Pattern { bits, ignore: 0, source: Some(source) }, user),
            _ => self.posted.append(pattern, user),
        };
        Ok(Posted::Waiting(handle?))
    }

    #[inline(always)]
    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        let Envelope { bits, source } = envelope;
        let taken = if self.posted.is_empty() { Quick::Nothing } else { self.posted.take_quickly(envelope) };
        match taken {
            Quick::Taken(user) => return Ok(Arrived::Matched { user }),
            Quick::Nothing => {
                if let Some(handle) = self.unexpected.append_quickly(envelope, user) {
                    return Ok(Arrived::Unexpected(handle));
                }
            }
            Quick::Ask => {}
        }
        self.arrive_any(bits, source, user).value
    }

    /// A message arrives where that is no matter of a few instructions.
    #[inline(never)]
    fn arrive_any(&mut self, bits: u64, source: u32, user: u64) -> InMemory<Result<Arrived, OutOfMemory>> {
        let envelope = Envelope { bits, source };
        InMemory::new(match self.posted.take_of_many(envelope) {
            Some(user) => Ok(Arrived::Matched { user }),
            None => self.unexpected.append(envelope, user).map(Arrived::Unexpected),
        })
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
        self.unexpected.probe(pattern)
    }

    #[inline(always)]
    pub(crate) fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        self.unexpected.take(pattern)
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
