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

    #[inline(always)]
    pub(crate) fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        if self.unexpected.len() != 0
            && let Some(message) = self.unexpected.take(bits, ignore, source)
        {
            return Ok(Posted::Matched(message));
        }
        Ok(Posted::Waiting(self.posted.append(bits, ignore, source, user)?))
    }

    #[inline(always)]
    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        if self.posted.len() != 0
            && let Some(user) = self.posted.take(envelope)
        {
            return Ok(Arrived::Matched { user });
        }
        Ok(Arrived::Unexpected(self.unexpected.append(envelope, user)?))
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
        if self.unexpected.len() == 0 {
            return None;
        }
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
