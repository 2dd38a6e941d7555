// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages, and what receives and probes accept.

use mb_core::mpi::{self, Context, Traffic};
use mb_core::{Envelope, Initiator, Pattern};

use super::calls::SendMode;
use super::step_id::{MAX_STEP, StepId};
pub use crate::codes::{Comm, CountType, Layout};

impl Comm {
    /// Whether world rank `one` can send to world rank `other` in it.
    #[must_use]
    pub const fn joins(self, one: u8, other: u8) -> bool {
        match self {
            Self::First | Self::Second | Self::Reversed | Self::Session => true,
            Self::Parity => one % 2 == other % 2,
            Self::Across => one % 2 != other % 2,
        }
    }

    /// The rank in this communicator of world rank `rank`, among `ranks`. In an intercommunicator
    /// it is the rank in the remote group, as seen by the other group.
    #[must_use]
    pub const fn rank_of(self, rank: u8, ranks: u8) -> u8 {
        match self {
            Self::First | Self::Second | Self::Session => rank,
            Self::Reversed => ranks - 1 - rank,
            Self::Parity | Self::Across => rank / 2,
        }
    }

    /// Its context for matching. Both halves of a split share one, which is safe because no process
    /// is in both. The two groups of an intercommunicator share one too: each receives from the
    /// other only.
    #[must_use]
    pub const fn context(self) -> Context {
        Context::new(self as u32)
    }

    /// The context of its partitioned communication, which matches nothing else (MPI 4.1, 4.2).
    const fn partitioned_context(self) -> Context {
        Context::new((Self::ALL.len() + self as usize) as u32)
    }

    const fn context_of(self, partitions: u8) -> Context {
        if partitions > 0 { self.partitioned_context() } else { self.context() }
    }
}

/// The size class of a message. The step number is added to every size but `Empty`, so that the
/// length identifies the message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SizeClass {
    /// No bytes.
    Empty,
    /// From 16 bytes.
    Short,
    /// From 2 KiB: still eager on most systems.
    Middle,
    /// From 64 KiB: rendezvous on most systems.
    Long,
    /// From 1 MiB.
    Huge,
}

impl SizeClass {
    /// Every class, ascending.
    pub const ALL: [Self; 5] = [Self::Empty, Self::Short, Self::Middle, Self::Long, Self::Huge];

    /// Bytes of the message that step `id` sends.
    #[must_use]
    pub const fn bytes(self, id: StepId) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Short => 16 + id,
            Self::Middle => 2048 + id,
            Self::Long => (64 << 10) + id,
            Self::Huge => (1 << 20) + id,
        }
    }
}

/// Bytes of a partitioned message with `tag`: both ends need the same size before they know which
/// message it is. Every number of partitions divides it.
const fn partitioned_bytes(tag: u8) -> u32 {
    match tag {
        0 => 1 << 10,
        1 => 16 << 10,
        _ => 96 << 10,
    }
}

/// The message of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Its communicator.
    pub comm: Comm,
    /// Destination as a world rank; `None` is `MPI_PROC_NULL`.
    pub dest: Option<u8>,
    /// Its tag.
    pub tag: u8,
    /// Its size.
    pub size: SizeClass,
    /// The send mode.
    pub mode: SendMode,
    /// Its datatype at the sender.
    pub layout: Layout,
    /// Whether the call has the large-count binding.
    pub counts: CountType,
    /// Partitions of a partitioned send; 0 for any other.
    pub partitions: u8,
}

impl Message {
    /// A short standard message of bytes to no process.
    #[must_use]
    pub const fn plain(comm: Comm) -> Self {
        let (size, mode, layout, counts) = (SizeClass::Short, SendMode::Standard, Layout::Bytes, CountType::Int);
        Self { comm, dest: None, tag: 0, size, mode, layout, counts, partitions: 0 }
    }

    /// Bytes of this message when sent by step `id`.
    #[must_use]
    pub const fn bytes(&self, id: StepId) -> u32 {
        if self.partitions > 0 { partitioned_bytes(self.tag) } else { self.size.bytes(id) }
    }

    /// The envelope of this message when sent by world rank `from`.
    #[must_use]
    pub fn envelope(&self, from: u8) -> Envelope {
        mpi::envelope(
            self.comm.context_of(self.partitions),
            Traffic::User,
            Initiator(u32::from(from)),
            u32::from(self.tag),
        )
    }
}

/// The source of a receive or probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageSource {
    /// `MPI_ANY_SOURCE`.
    Any,
    /// A world rank.
    Rank(u8),
    /// `MPI_PROC_NULL`.
    Null,
}

/// The arguments of a receive or probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveSpec {
    /// The communicator.
    pub comm: Comm,
    /// The source.
    pub source: MessageSource,
    /// The tag; `None` is `MPI_ANY_TAG`.
    pub tag: Option<u8>,
    /// Whether the buffer has [`ReceiveSpec::SHORT_BUFFER`] bytes only: a longer message is still
    /// matched, and truncated (clause S-4). Never set for a probe.
    pub short: bool,
    /// The datatype of the buffer; [`Layout::Bytes`] for a probe.
    pub layout: Layout,
    /// Whether the call has the large-count binding, and room for more than 2^32 bytes.
    pub counts: CountType,
    /// Partitions of a partitioned receive; 0 for any other.
    pub partitions: u8,
}

impl ReceiveSpec {
    /// Bytes of a short buffer: every message of [`SizeClass::Short`] fits.
    pub const SHORT_BUFFER: u32 = SizeClass::Short.bytes(MAX_STEP);

    /// Bytes of the buffer of a partitioned receive; 0 for any other.
    #[must_use]
    pub fn partitioned_bytes(&self) -> u32 {
        match (self.partitions, self.tag) {
            (0, _) | (_, None) => 0,
            (_, Some(tag)) => partitioned_bytes(tag),
        }
    }

    /// Both wildcards in `comm`, as the drain phase receives.
    #[must_use]
    pub const fn any(comm: Comm) -> Self {
        Self::of(comm, MessageSource::Any, None)
    }

    /// A receive of bytes into a buffer in which every message fits.
    #[must_use]
    pub const fn of(comm: Comm, source: MessageSource, tag: Option<u8>) -> Self {
        Self { comm, source, tag, short: false, layout: Layout::Bytes, counts: CountType::Int, partitions: 0 }
    }

    /// Whether the message of step `id` would be truncated.
    #[must_use]
    pub const fn truncates(&self, id: StepId, message: &Message) -> bool {
        self.short && message.bytes(id) > Self::SHORT_BUFFER
    }

    /// The pattern; `None` for `MPI_PROC_NULL`, which takes part in no matching (clause N-2).
    #[must_use]
    pub fn pattern(&self) -> Option<Pattern> {
        let source = match self.source {
            MessageSource::Null => return None,
            MessageSource::Any => None,
            MessageSource::Rank(rank) => Some(Initiator(u32::from(rank))),
        };
        Some(mpi::pattern(self.comm.context_of(self.partitions), Traffic::User, source, self.tag.map(u32::from)))
    }

    /// Whether it accepts `message` from world rank `from`.
    #[must_use]
    pub fn accepts(&self, from: u8, message: &Message) -> bool {
        self.pattern().is_some_and(|pattern| pattern.accepts(&message.envelope(from)))
    }
}
