// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of a program: first as an MPI library tells it, then as matches, probes and cancels by name.

use crate::program::{Comm, StepId};

/// The bytes of the message are those that were sent.
pub const INTACT: i32 = 1;
/// The message belongs to another program of the same run.
pub const FOREIGN: i32 = 2;
/// A receive wrote behind its buffer.
pub const OVERRUN: i32 = 4;
/// Rank that stands for `MPI_PROC_NULL` in a status.
pub const NO_PROCESS: i32 = -2;
/// Tag that stands for `MPI_ANY_TAG` in a status.
pub const NO_TAG: i32 = -1;

/// What a status and a buffer say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Seen {
    /// Source in the status, a rank of the communicator.
    pub source: i32,
    /// Tag in the status.
    pub tag: i32,
    /// Bytes, as `MPI_Get_count` says.
    pub count: i32,
    /// The message, as its bytes say; nothing when it has none, and of a probe.
    pub message: Option<StepId>,
    /// [`INTACT`], [`FOREIGN`] and [`OVERRUN`].
    pub flags: i32,
}

/// One piece of news.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "`step` is always the step that the news is of")]
pub enum Event {
    /// A receive is complete.
    Received { step: StepId, seen: Seen },
    /// A receive is complete, and its message did not fit: `MPI_ERR_TRUNCATE`.
    Truncated { step: StepId, seen: Seen },
    /// A receive was cancelled.
    Cancelled { step: StepId },
    /// A send is complete.
    Sent { step: StepId },
    /// A probe found a message.
    Found { step: StepId, seen: Seen },
    /// A probe found none.
    Missed { step: StepId },
    /// A message was received at the end, by a matched probe with both wildcards.
    Drained { comm: Comm, seen: Seen },
    /// A call returned an error of this class; -1: a completion that makes no sense.
    Failed { step: StepId, class: i32 },
}

/// An event, and the operation of the rank that brought it; the number of its operations while it finished.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct News {
    /// The operation, from 0.
    pub at: usize,
    /// What it told.
    pub event: Event,
}
