// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The activity of the MOPEDs.

use crate::contract::Id;
use crate::descriptor::Descriptor;

/// Counts of one MOPED.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MopedCounters {
    /// Descriptors that were granted.
    pub reserved: u64,
    /// Sends and receives that software completed; probes are not counted.
    pub posted: u64,
    /// Reservations that were refused.
    pub refused: u64,
    /// Descriptors sent to another MOPED for matching.
    pub forwarded: u64,
    /// Descriptors that were complete and not accepted for matching: table full, or back-off.
    pub rejected: u64,
    /// Unmatched descriptors that were removed by a poll in back-off.
    pub revoked: u64,
    /// Searches for a match.
    pub searches: u64,
    /// Entries that these searches visited.
    pub visited: u64,
    /// Matches.
    pub matched: u64,
    /// Copies that ended here.
    pub completed: u64,
    /// Pairs whose send found no entry here and was fetched later.
    pub pulled: u64,
    /// Polls that must be repeated.
    pub retries: u64,
    /// Accesses forwarded for a process that has moved.
    pub moved_accesses: u64,
    /// Accesses of a wrong width, or to a descriptor of another process; peeks are not counted.
    pub misuses: u64,
    /// Lines copied from.
    pub copies: u64,
    /// Rights to lines that were requested with their bytes, and without.
    pub owns: u64,
    /// Rights to lines that were requested without their bytes.
    pub owns_without_data: u64,
    /// Lines written back.
    pub writes: u64,
    /// Rights to lines that were lost before the write-back.
    pub revocations: u64,
    /// Translations made.
    pub walks: u64,
    /// Lines of page tables read.
    pub walk_reads: u64,
    /// Page faults.
    pub faults: u64,
}

/// An event of matching, in the order in which the matching MOPED performs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchEvent {
    /// The search for a descriptor begins, and its decision is made. An event about what it finds follows.
    Searched(Descriptor),
    /// A receive, or matched probe, has taken a send.
    Matched {
        /// The receive or matched probe.
        receive: Id,
        /// The send.
        send: Id,
    },
    /// A probe is answered.
    Probed {
        /// The probe.
        probe: Id,
        /// The send that it found.
        found: Option<Id>,
    },
    /// A cancel or revocation has removed a descriptor.
    Withdrawn(Id),
}
