// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the records of a rank end (`spec/trace.md`, section 3).

/// How the records of a rank end. The state of a trace is the last of these, in this order, that one
/// of its ranks has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TraceState {
    /// With the last finalization of MPI.
    Complete,
    /// The recorder stopped before the program did, as with a full disk.
    Stopped,
    /// In the middle: a signal, `exit` or a fatal error ended the rank, or it still runs.
    Cut,
    /// The rank called `MPI_Abort`.
    Aborted,
}

impl TraceState {
    /// All states, in order.
    pub const ALL: [Self; 4] = [Self::Complete, Self::Stopped, Self::Cut, Self::Aborted];

    /// Its word, the same wherever a state is printed or stored.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stopped => "stopped",
            Self::Cut => "cut",
            Self::Aborted => "aborted",
        }
    }
}
