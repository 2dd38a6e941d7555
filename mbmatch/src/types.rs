// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What goes in and what comes out: envelopes, patterns, handles and outcomes.

use std::fmt;

/// What an arriving message carries to be matched by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// 64 match bits.
    pub bits: u64,
    /// The process that sent it.
    pub source: u32,
}

/// What a receive or a probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// Match bits; those under `ignore` have no meaning.
    pub bits: u64,
    /// A bit set here is not compared.
    pub ignore: u64,
    /// The one process that may send, or `None` for any.
    pub source: Option<u32>,
}

impl Pattern {
    /// A pattern without wildcards: accepts exactly `envelope`.
    #[must_use]
    pub const fn exactly(envelope: Envelope) -> Self {
        Self { bits: envelope.bits, ignore: 0, source: Some(envelope.source) }
    }

    /// Whether it has no wildcards.
    #[inline(always)]
    pub(crate) fn is_exact(&self) -> bool {
        self.ignore == 0 && self.source.is_some()
    }

    /// Whether this pattern accepts `envelope`.
    #[must_use]
    #[inline]
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        (self.bits ^ envelope.bits) & !self.ignore == 0 && self.source.is_none_or(|source| source == envelope.source)
    }
}

/// Names a receive or a message that waits in a matcher, until it leaves.
///
/// A handle that has gone stale is refused and never names another entry: a place of the pool is told apart from its
/// former tenants by 30 bits of generation, and receives from messages by one more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Handle(pub(crate) u64);

impl Handle {
    pub(crate) const fn new(index: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | index as u64)
    }

    pub(crate) const fn index(self) -> u32 {
        self.0 as u32
    }

    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The handle as a number, never 0, to be kept where there is no room for a type.
    #[must_use]
    pub const fn into_raw(self) -> u64 {
        self.0
    }

    /// The handle that [`Handle::into_raw`] made this number of. Any other number is a handle that nobody was given: a
    /// stale one, but for numbers by which a matcher knows an entry of its own besides.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }
}

/// What became of a posted receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Posted {
    /// It took the oldest unexpected message that it accepts.
    Matched(Message),
    /// It waits; the handle takes it back.
    Waiting(Handle),
}

/// What became of an arrived message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// It took the oldest posted receive that accepts it.
    Matched {
        /// The caller's value of the receive.
        user: u64,
    },
    /// It waits; the handle takes it back.
    Unexpected(Handle),
}

/// An unexpected message that a receive or a probe found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The caller's value of the message.
    pub user: u64,
    /// What it was matched by.
    pub envelope: Envelope,
}

/// There was no memory for one more entry, or there are as many already as the structure can number, 2^30 or nearly so
/// at least. The matcher is as it was before the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory for a receive or a message")
    }
}

impl std::error::Error for OutOfMemory {}

impl From<std::collections::TryReserveError> for OutOfMemory {
    fn from(_: std::collections::TryReserveError) -> Self {
        Self
    }
}

/// Bytes that a matcher has allocated, whether in use or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// For posted receives.
    pub posted: usize,
    /// For unexpected messages.
    pub unexpected: usize,
}
