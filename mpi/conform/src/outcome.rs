// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Observed outcomes: what the calls of a test program returned, as the C runner reports it.

use crate::codes;
pub use crate::codes::{CALLED_CANCELLED, FOREIGN, GAPS, INTACT, NO_PROCESS, OVERRUN};
use crate::program::{Comm, StepId};

/// Stands for `MPI_ANY_TAG` in a status.
pub const NO_TAG: i32 = codes::ANY;

/// The contents of a status, and the result of checking the payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ObservedStatus {
    /// Source in the status, a rank of the communicator.
    pub source: i32,
    /// Tag in the status.
    pub tag: i32,
    /// Bytes, as returned by `MPI_Get_count`.
    pub count: i32,
    /// The message that the payload identifies; `None` for an empty message and for a probe.
    pub message: Option<StepId>,
    /// [`INTACT`], [`FOREIGN`], [`OVERRUN`], [`GAPS`] and [`CALLED_CANCELLED`].
    pub flags: i32,
}

/// A report of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "`step` is always the step that the event concerns")]
pub enum RawEvent {
    /// A receive is complete.
    Received { step: StepId, status: ObservedStatus },
    /// A receive is complete with `MPI_ERR_TRUNCATE`.
    Truncated { step: StepId, status: ObservedStatus },
    /// A receive was cancelled.
    Cancelled { step: StepId },
    /// A send is complete.
    Sent { step: StepId },
    /// A probe found a message.
    Found { step: StepId, status: ObservedStatus },
    /// A probe found no message.
    FoundNothing { step: StepId },
    /// A matched probe of the drain phase, with both wildcards, received a message.
    Drained { comm: Comm, status: ObservedStatus },
    /// A call returned an error of this class; [`codes::INACTIVE_REQUEST`]: it completed a request
    /// that was not active.
    Failed { step: StepId, class: i32 },
}

/// An event, and the operation of the rank that reported it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Observation {
    /// The operation, from 0; the number of the rank's operations in the drain phase.
    pub at: usize,
    /// The event.
    pub event: RawEvent,
}

/// The observations of each rank, in order.
pub type ObservedOutcome = Vec<Vec<Observation>>;
