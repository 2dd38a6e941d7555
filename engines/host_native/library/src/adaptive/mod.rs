// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `adaptive`: short queues side by side in a window, long ones by hash and by vector, each entry in the structure that
//! serves its kind, and age across all of them.
//!
//! What decides, at run time:
//! - A queue starts with a window of 16 keys, which is searched as a list is. The seventeenth entry moves it to chains.
//! - A queue in which no more than eight entries were left for 256 removals in a row goes back to the window (for
//!   posted receives also an eighth of as many removals as the pool has places, which is walked once for this unless
//!   none is left).
//! - Among chains, receives without wildcards and those of each kind of wildcard are looked up by hash; receives of a
//!   ninth kind at once, and unexpected messages for a receive with wildcards, are compared 64 at a time.

mod chains;
mod posted;
mod unexpected;

use posted::PostedReceives;
use unexpected::UnexpectedMessages;

use crate::scan::Unit;
use crate::types::{Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted};

/// A queue of so many entries is served by the window at least as well as by chains.
const SHALLOW: u32 = 8;

pub(crate) struct Adaptive {
    posted: PostedReceives,
    unexpected: UnexpectedMessages,
}

impl Adaptive {
    pub(crate) fn new(unit: Unit) -> Self {
        Self { posted: PostedReceives::new(unit), unexpected: UnexpectedMessages::new(unit) }
    }

    #[inline]
    pub(crate) fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        if self.unexpected.len() != 0 {
            if !self.unexpected.is_short() {
                return self.post_beside_messages(pattern.bits, pattern.ignore, pattern.source, user);
            }
            if let Some(message) = self.unexpected.take_short(pattern) {
                return Ok(Posted::Matched(message));
            }
        }
        Ok(Posted::Waiting(self.posted.append(pattern, user)?))
    }

    /// One call deep, so that the outcome is written where the caller wants it and copied nowhere; the parts of
    /// the pattern come in registers.
    #[inline(never)]
    fn post_beside_messages(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
    ) -> Result<Posted, OutOfMemory> {
        let pattern = Pattern { bits, ignore, source };
        if let Some(message) = self.unexpected.take_long(pattern) {
            return Ok(Posted::Matched(message));
        }
        Ok(Posted::Waiting(self.posted.append(pattern, user)?))
    }

    #[inline]
    pub(crate) fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        if self.posted.len() != 0
            && let Some(user) = self.posted.take(envelope)
        {
            return Ok(Arrived::Matched { user });
        }
        Ok(Arrived::Unexpected(self.unexpected.append(envelope, user)?))
    }

    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        self.posted.cancel(handle)
    }

    pub(crate) fn discard(&mut self, handle: Handle) -> Option<u64> {
        self.unexpected.discard(handle)
    }

    #[inline]
    pub(crate) fn probe(&self, pattern: Pattern) -> Option<Message> {
        self.unexpected.probe(pattern)
    }

    #[inline]
    pub(crate) fn mprobe(&mut self, pattern: Pattern) -> Option<Message> {
        if self.unexpected.len() == 0 {
            return None;
        }
        if self.unexpected.is_short() {
            self.unexpected.take_short(pattern)
        } else {
            self.unexpected.take_long(pattern)
        }
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
