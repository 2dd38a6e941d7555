// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The types of the interface: envelopes, patterns, handles and outcomes.

use std::fmt;

/// The matching information of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// 64 match bits.
    pub bits: u64,
    /// The sender.
    pub source: u32,
}

impl Envelope {
    /// The source of a message whose sender has no number yet: no process may have this number. A receive from any
    /// source accepts the message, and one that names a process does not, until
    /// [`Matcher::change_source`](crate::Matcher::change_source) gives the number.
    pub const UNKNOWN_SOURCE: u32 = u32::MAX;

    /// What [`Outcome::posted`] gets where no message matched, and does not read.
    pub(crate) const UNSET: Self = Self { bits: 0, source: 0 };
}

/// What a receive or a probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// Match bits; bits set in `ignore` have no meaning.
    pub bits: u64,
    /// Ignore bits: a set bit is not compared.
    pub ignore: u64,
    /// The accepted sender, or `None` for any.
    pub source: Option<u32>,
}

impl Pattern {
    /// A pattern without wildcards, which accepts `envelope` alone.
    #[must_use]
    pub const fn exactly(envelope: Envelope) -> Self {
        Self { bits: envelope.bits, ignore: 0, source: Some(envelope.source) }
    }

    /// Whether this pattern accepts every envelope that `other` accepts: the entries of a context, of a source, or all.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.ignore & !self.ignore == 0
            && (self.bits ^ other.bits) & !self.ignore == 0
            && self.source.is_none_or(|source| other.source == Some(source))
    }

    /// Whether this pattern accepts `envelope`.
    #[must_use]
    #[inline]
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        (self.bits ^ envelope.bits) & !self.ignore == 0 && self.source.is_none_or(|source| source == envelope.source)
    }
}

/// Names a queued receive or message, until it leaves its queue.
///
/// A stale handle is refused and names no other entry: a handle holds 30 bits of generation, which
/// tell the successive entries of a slot apart, and a bit that tells receives from messages.
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

    /// The handle as a number, never 0.
    #[must_use]
    pub const fn into_raw(self) -> u64 {
        self.0
    }

    /// The inverse of [`Handle::into_raw`]. Any other number is a stale handle, unless it happens
    /// to be that of a queued entry.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }
}

/// The outcome of [`Matcher::post`](crate::Matcher::post).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Posted {
    /// The receive took the oldest unexpected message that it accepts.
    Matched(Message),
    /// The receive is queued; the handle cancels it.
    Waiting(Handle),
}

/// The outcome of [`Matcher::arrive`](crate::Matcher::arrive).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// The message took the oldest posted receive that accepts it.
    Matched {
        /// The user value of the receive.
        user: u64,
    },
    /// The message is queued; the handle discards it.
    Unexpected(Handle),
}

/// What a post or an arrival did, as functions that are not inlined return it: in two registers. A
/// `Result<Posted, OutOfMemory>` is returned in memory, written word by word, and callers load two words at once, for
/// which store-to-load forwarding fails.
///
/// The order of the variants is not that of [`Arrived`]. With the same numbers in both, the compiler passes the two
/// registers on as one value, and tests after each fast path whether it matched, though that is known there.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    OutOfMemory,
    Queued(Handle),
    /// The user value of the entry that matched. The envelope of a message is written elsewhere.
    Matched(u64),
}

impl Outcome {
    /// A receive took `message`, whose envelope goes to `envelope`.
    #[inline(always)]
    pub(crate) fn took(message: Message, envelope: &mut Envelope) -> Self {
        Self::Matched(message.into_parts(envelope))
    }

    /// The result of appending an entry.
    #[inline(always)]
    pub(crate) fn queued(self) -> Result<Handle, OutOfMemory> {
        match self {
            Self::Queued(handle) => Ok(handle),
            Self::OutOfMemory | Self::Matched(_) => {
                debug_assert!(matches!(self, Self::OutOfMemory), "appending matches nothing");
                Err(OutOfMemory)
            }
        }
    }

    /// The result of an arrival.
    #[inline(always)]
    pub(crate) fn arrived(self) -> Result<Arrived, OutOfMemory> {
        match self {
            Self::Matched(user) => Ok(Arrived::Matched { user }),
            Self::Queued(handle) => Ok(Arrived::Unexpected(handle)),
            Self::OutOfMemory => Err(OutOfMemory),
        }
    }

    /// The result of a post. `envelope` is that of the message, if one matched.
    #[inline(always)]
    pub(crate) fn posted(self, envelope: Envelope) -> Result<Posted, OutOfMemory> {
        match self {
            Self::Matched(user) => Ok(Posted::Matched(Message { user, envelope })),
            Self::Queued(handle) => Ok(Posted::Waiting(handle)),
            Self::OutOfMemory => Err(OutOfMemory),
        }
    }
}

impl From<Result<Handle, OutOfMemory>> for Outcome {
    #[inline(always)]
    fn from(queued: Result<Handle, OutOfMemory>) -> Self {
        queued.map_or(Self::OutOfMemory, Self::Queued)
    }
}

/// An unexpected message that a receive or a probe found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The user value of the message.
    pub user: u64,
    /// Its envelope.
    pub envelope: Envelope,
}

impl Message {
    /// The message that `find`, which is not inlined, returns in two parts; see [`QueuedMessage::found`].
    #[inline(always)]
    pub(crate) fn found(find: impl FnOnce(&mut Envelope) -> Option<u64>) -> Option<Self> {
        let mut envelope = Envelope::UNSET;
        find(&mut envelope).map(|user| Self { user, envelope })
    }

    /// The user value, after the envelope was written to `envelope`.
    #[inline(always)]
    pub(crate) fn into_parts(self, envelope: &mut Envelope) -> u64 {
        *envelope = self.envelope;
        self.user
    }
}

/// A posted receive in its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedReceive {
    /// Names the receive until it leaves the queue. Not always equal to the handle that
    /// [`Matcher::post`](crate::Matcher::post) returned; both are valid.
    pub handle: Handle,
    /// The user value of the receive.
    pub user: u64,
    /// What it accepts. Match bits that are ignored may be returned as zero.
    pub pattern: Pattern,
}

/// An unexpected message in its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedMessage {
    /// Names the message until it leaves the queue. Not always equal to the handle that
    /// [`Matcher::arrive`](crate::Matcher::arrive) returned; both are valid.
    pub handle: Handle,
    /// The user value of the message.
    pub user: u64,
    /// Its envelope.
    pub envelope: Envelope,
}

impl QueuedMessage {
    /// The message that `find`, which is not inlined, sets. It returns whether there is one: an `Option` of a message
    /// would be returned in memory, which the inlined paths of a caller would use too.
    #[inline(always)]
    pub(crate) fn found(find: impl FnOnce(&mut Self) -> bool) -> Option<Self> {
        let mut found = Self { handle: Handle(0), user: 0, envelope: Envelope::UNSET };
        find(&mut found).then_some(found)
    }

    /// Becomes the message that was found; returns whether there is one.
    #[inline(always)]
    pub(crate) fn set(&mut self, found: Option<Self>) -> bool {
        if let Some(found) = found {
            *self = found;
        }
        found.is_some()
    }
}

/// The outcome of [`Matcher::change_source`](crate::Matcher::change_source).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceChange {
    /// The oldest posted receive that accepts the message from its new source took it; both have left their queues.
    Matched {
        /// The user value of the receive.
        receive: u64,
        /// The user value of the message.
        message: u64,
    },
    /// The message is queued under its new source, and as old as before.
    Waiting,
}

/// What becomes of a visited entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visit {
    /// It stays in its queue.
    Keep,
    /// It is removed.
    Remove,
    /// It stays, and no further entry is visited.
    Stop,
}

/// Out of memory for one more entry, or the queue is at the limit of its structure, which is about
/// 2^29 entries or more, or out of memory for a list of the entries to visit. Also the
/// limit of [`Options`](crate::Options). The matcher is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory: no room for one more receive or message; the matcher is unchanged")
    }
}

impl std::error::Error for OutOfMemory {}

impl From<std::collections::TryReserveError> for OutOfMemory {
    fn from(_: std::collections::TryReserveError) -> Self {
        Self
    }
}

/// What happened in one queue since [`Matcher::start_counters`](crate::Matcher::start_counters).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueCounters {
    /// Entries now.
    pub length: u64,
    /// The most entries at once.
    pub longest: u64,
    /// Entries appended.
    pub appended: u64,
    /// Searches: of the posted receives by arriving messages, of the unexpected messages by receives and probes.
    pub searches: u64,
    /// Entries compared in all searches. This depends on the structure: `list` passes every older entry, and
    /// `adaptive` those of a short queue, the keys of a collision chain, or the blocks of a scan.
    pub compared: u64,
    /// The most entries compared in one search.
    pub longest_search: u64,
}

/// The counters of both queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Of the posted receives.
    pub posted: QueueCounters,
    /// Of the unexpected messages.
    pub unexpected: QueueCounters,
}

/// Bytes allocated by a matcher, whether in use or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// For posted receives.
    pub posted: usize,
    /// For unexpected messages.
    pub unexpected: usize,
}
