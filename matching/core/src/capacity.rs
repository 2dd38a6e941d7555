// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The behaviour of an engine whose structure is full, and the parts of the time of an operation.
//!
//! The *structure* of an engine is its memory of limited size for entries: the CAM, the cells, the local memory, the
//! table. An insertion while it is full is an *overflow*. The entry then lies beyond the structure, in slower lists, in
//! host memory or in lists of software, and searches that continue there take longer. Nothing is lost.

use crate::columns::{Columns, Mergeable};
use crate::time::Picos;

/// Which entries a structure of `n` entries holds, and so when an insertion overflows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// One structure for each queue, with the oldest `n` entries: those behind move up when one leaves. An insertion
    /// overflows if its queue has `n` entries or more.
    OldestOfQueue,
    /// One structure for both queues. An entry is put there if one of the `n` places is free, and stays where it is
    /// put. An insertion overflows if no place is free.
    PlacesOfBoth,
    /// By another rule; the engine's model card states it.
    ByOtherRule,
}

impl Holds {
    /// The word in tables and files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OldestOfQueue => "oldest_of_queue",
            Self::PlacesOfBoth => "places_of_both",
            Self::ByOtherRule => "by_other_rule",
        }
    }
}

/// How often the structure of an engine was full, for the operations accepted so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Columns, Mergeable)]
pub struct CapacityEvents {
    /// Posted receives inserted while the structure of the engine was full.
    #[column(unit = "receives")]
    pub posted_overflows: u64,
    /// Unexpected messages inserted while the structure of the engine was full.
    #[column(unit = "messages")]
    pub unexpected_overflows: u64,
    /// Entries that went to host memory or to lists of software.
    ///
    /// Either when they were inserted or later.
    #[column(unit = "entries")]
    pub spilled: u64,
}

impl CapacityEvents {
    /// Insertions while the structure was full, of either queue.
    #[must_use]
    pub const fn overflows(&self) -> u64 {
        self.posted_overflows + self.unexpected_overflows
    }
}

/// Two parts of the time from the acceptance of an operation to its completion; the rest is search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    /// The engine worked on older operations: from the acceptance to the start of service, and waits for the effects of
    /// older operations after that.
    pub waiting: Picos,
    /// Spent beyond the structure: comparing or fetching entries that it does not hold, and waiting for entries that
    /// move into it or out of it.
    pub beyond: Picos,
}
