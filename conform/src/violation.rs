// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why MPI does not allow an outcome, in words.

use std::fmt;

use crate::history::Defect;
use crate::program::StepId;

/// Why MPI does not allow an outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// Something is wrong by itself.
    Defect(Defect),
    /// The events contradict each other.
    Order(Vec<Link>),
    /// An operation with `MPI_PROC_NULL` did not do what it should.
    Null(Defect),
    /// A receive did not do what it should with a message that is too long for it.
    Truncation(Defect),
}

/// One event was before another, and why; the links of a violation form a circle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The earlier event.
    pub before: String,
    /// The later event.
    pub after: String,
    /// Why.
    pub why: Why,
}

/// Why one event is before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A rank performs its steps one after the other.
    Program,
    /// A message is sent before it is received.
    Sent,
    /// A receive is posted before it is matched.
    Posted,
    /// A completed operation is matched.
    Completed,
    /// A message is found before it is received.
    Found,
    /// Nobody leaves a barrier before all have come.
    Barrier,
    /// The rule of messages: these two of one sender, the first sent first, and both are accepted.
    Overtaking(StepId, StepId),
    /// The rule of receives: this receive is older and accepts this message too.
    OlderReceive(StepId, StepId),
    /// This probe had shown that this message is there.
    Known(StepId, StepId),
}

impl Why {
    /// The clauses of `spec/matching.md` and the places of the MPI standard that say so.
    #[must_use]
    pub const fn clauses(self) -> Option<&'static str> {
        match self {
            Self::Overtaking(..) => Some("MPI 4.1, 3.5; spec/matching.md, O-6 and O-3"),
            Self::OlderReceive(..) => Some("MPI 4.1, 3.5; spec/matching.md, O-4"),
            Self::Known(..) => Some("MPI 4.1, 3.8.1; spec/matching.md, P-1"),
            Self::Completed => Some("MPI 4.1, 3.4 and 3.7.3"),
            Self::Program | Self::Sent | Self::Posted | Self::Found | Self::Barrier => None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("a rank performs its steps in order"),
            Self::Sent => f.write_str("it was sent before"),
            Self::Posted => f.write_str("it was posted before"),
            Self::Completed => f.write_str("what is complete was matched"),
            Self::Found => f.write_str("it was still there"),
            Self::Barrier => f.write_str("nobody leaves a barrier before all have come"),
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
            Self::Defect(defect) | Self::Null(defect) | Self::Truncation(defect) => write!(f, "{defect}"),
            Self::Order(links) => {
                f.write_str("the events contradict each other:")?;
                links.iter().try_for_each(|link| {
                    write!(f, "\n  {}, before {}: {}", link.before, link.after, link.why)?;
                    link.why.clauses().iter().try_for_each(|clauses| write!(f, " ({clauses})"))
                })
            }
        }
    }
}
