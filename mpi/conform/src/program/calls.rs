// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The calls of MPI that a step can make. Their codes stand in `spec/conform/codes.toml`.

pub use crate::codes::{CompleteCall, Form, ProbeCall};

/// The send modes (MPI 4.1, 3.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SendMode {
    /// `MPI_Send` and its variants: MPI decides when the send completes.
    Standard,
    /// `MPI_Ssend`: completes only after the message was matched.
    Synchronous,
    /// `MPI_Rsend`: valid only if the receive is already posted.
    Ready,
    /// `MPI_Bsend`: completes without help of another rank.
    Buffered,
}

impl SendMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Standard, Self::Synchronous, Self::Ready, Self::Buffered];

    /// The letter in the names of MPI's calls.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Standard => "",
            Self::Synchronous => "s",
            Self::Ready => "r",
            Self::Buffered => "b",
        }
    }
}

impl Form {
    /// Whether the request can be started again.
    #[must_use]
    pub const fn is_persistent(self) -> bool {
        matches!(self, Self::Persistent | Self::Together)
    }
}

impl ProbeCall {
    /// Whether it is a matched probe, which removes the message from matching (clause P-3).
    #[must_use]
    pub const fn takes(self) -> bool {
        matches!(self, Self::Mprobe | Self::Improbe)
    }

    /// Whether it waits for a message.
    #[must_use]
    pub const fn waits(self) -> bool {
        matches!(self, Self::Probe | Self::Mprobe)
    }
}

impl CompleteCall {
    /// Whether it waits.
    #[must_use]
    pub const fn waits(self) -> bool {
        matches!(self, Self::Wait | Self::Waitall | Self::Waitany | Self::Waitsome)
    }

    /// Whether it takes a single request.
    #[must_use]
    pub const fn is_single(self) -> bool {
        matches!(self, Self::Wait | Self::Test)
    }

    /// The name of MPI's call.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "MPI_Wait",
            Self::Waitall => "MPI_Waitall",
            Self::Waitany => "MPI_Waitany",
            Self::Waitsome => "MPI_Waitsome",
            Self::Test => "MPI_Test",
            Self::Testall => "MPI_Testall",
            Self::Testany => "MPI_Testany",
            Self::Testsome => "MPI_Testsome",
        }
    }
}
