// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Violations: why MPI does not permit an outcome, in words.

use std::fmt;

use crate::history::WrongObservation;
use crate::program::StepId;

/// Why MPI does not permit an outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// An observation is wrong by itself.
    Defect(WrongObservation),
    /// The rules order the events in a cycle.
    Order(Vec<Link>),
    /// An operation with `MPI_PROC_NULL` returned a wrong result.
    Null(WrongObservation),
    /// A message that does not fit was received without an error, or written past the end of the
    /// buffer.
    Truncation(WrongObservation),
    /// The status of an `MPI_Isendrecv` is not that of the message that it received.
    Status(WrongObservation),
}

/// One event was before another, with the reason; the links of a violation form a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The earlier event.
    pub before: String,
    /// The later event.
    pub after: String,
    /// The reason.
    pub reason: Reason,
}

/// Why one event is before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A rank performs its steps one after the other.
    TestProgram,
    /// A message is sent before it is received.
    Sent,
    /// A receive is posted before it is matched.
    Posted,
    /// A completed operation is matched.
    Completed,
    /// A message is found before it is received.
    Found,
    /// No rank leaves a barrier before all ranks entered it.
    Barrier,
    /// Messages do not overtake: the first was sent before the second by the same sender, and both
    /// are accepted.
    Overtaking(StepId, StepId),
    /// Older receives come first: this receive is older and accepts this message too.
    OlderReceive(StepId, StepId),
    /// This probe had found this message.
    Known(StepId, StepId),
}

impl Reason {
    /// The clauses of `spec/matching.md` and the sections of the MPI standard that state the rule.
    #[must_use]
    pub const fn clauses(self) -> Option<&'static str> {
        match self {
            Self::Overtaking(..) => Some("MPI 4.1, 3.5; spec/matching.md, O-6 and O-3"),
            Self::OlderReceive(..) => Some("MPI 4.1, 3.5; spec/matching.md, O-4"),
            Self::Known(..) => Some("MPI 4.1, 3.8.1; spec/matching.md, P-1"),
            Self::Completed => Some("MPI 4.1, 3.4 and 3.7.3"),
            Self::TestProgram | Self::Sent | Self::Posted | Self::Found | Self::Barrier => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TestProgram => f.write_str("a rank performs its steps in order"),
            Self::Sent => f.write_str("it was sent before"),
            Self::Posted => f.write_str("it was posted before"),
            Self::Completed => f.write_str("an operation is matched before it completes"),
            Self::Found => f.write_str("the message was still unmatched"),
            Self::Barrier => f.write_str("no rank leaves a barrier before all ranks entered it"),
            Self::Overtaking(first, second) => {
                write!(f, "message {first} was sent before message {second} and is accepted as well")
            }
            Self::OlderReceive(receive, message) => {
                write!(f, "receive {receive} was posted before and accepts message {message} as well")
            }
            Self::Known(probe, message) => write!(f, "probe {probe} had found message {message}"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defect(defect) | Self::Null(defect) | Self::Truncation(defect) | Self::Status(defect) => {
                write!(f, "{defect}")
            }
            Self::Order(links) => {
                f.write_str("the rules order these events in a cycle:")?;
                links.iter().try_for_each(|link| {
                    write!(f, "\n  {}, before {}: {}", link.before, link.after, link.reason)?;
                    link.reason.clauses().iter().try_for_each(|clauses| write!(f, " ({clauses})"))
                })
            }
        }
    }
}
