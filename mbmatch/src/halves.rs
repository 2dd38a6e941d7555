// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Posts and arrivals, each made of a search and an append.

use crate::types::{Arrived, Envelope, Handle, Message, OutOfMemory, Pattern, Posted};

/// The halves of a post and of an arrival; the whole ones follow.
pub(crate) trait Halves {
    /// Takes the oldest message that a pattern accepts.
    fn mprobe(&mut self, pattern: Pattern) -> Option<Message>;
    /// Appends a receive, without a search.
    fn queue_receive(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory>;
    /// Takes the oldest receive that accepts a message.
    fn take_receive(&mut self, envelope: Envelope) -> Option<u64>;
    /// Appends a message, without a search.
    fn queue_message(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory>;

    #[inline]
    fn post(&mut self, pattern: Pattern, user: u64) -> Result<Posted, OutOfMemory> {
        if let Some(message) = self.mprobe(pattern) {
            return Ok(Posted::Matched(message));
        }
        Ok(Posted::Waiting(self.queue_receive(pattern, user)?))
    }

    #[inline]
    fn arrive(&mut self, envelope: Envelope, user: u64) -> Result<Arrived, OutOfMemory> {
        match self.take_receive(envelope) {
            Some(user) => Ok(Arrived::Matched { user }),
            None => Ok(Arrived::Unexpected(self.queue_message(envelope, user)?)),
        }
    }
}
