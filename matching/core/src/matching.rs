// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Envelopes, patterns, match operations and their outcomes (`spec/matching.md`).
//!
//! The general form is that of Portals 4, libfabric and UEC: 64 match bits, 64 ignore bits and the
//! initiator of the message, which a receive names or leaves open. [`crate::mpi`] maps MPI onto it.

use std::fmt;

macro_rules! id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Chosen by the caller; unique among outstanding operations on one engine.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(
            /// The number itself.
            pub u64,
        );
    };
}

id!(RecvId, "Names a posted receive.");
id!(MsgId, "Names a message.");
id!(ProbeId, "Names a probe.");

/// The process that sent a message: in MPI its rank in the world (`spec/matching.md`, clause M-2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Initiator(
    /// The process number.
    pub u32,
);

/// The part of an arriving message that is matched. Its size has no influence on matching.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// 64 match bits.
    pub bits: u64,
    /// The process that sent it.
    pub initiator: Initiator,
}

/// The messages that a receive or a probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// Match bits; those under `ignore` have no meaning.
    pub bits: u64,
    /// A bit set here is not compared.
    pub ignore: u64,
    /// The one process that may send, or `None` for any.
    pub initiator: Option<Initiator>,
}

impl Pattern {
    /// A pattern without wildcards: accepts exactly `envelope`.
    #[must_use]
    pub const fn exactly(envelope: Envelope) -> Self {
        Self { bits: envelope.bits, ignore: 0, initiator: Some(envelope.initiator) }
    }

    /// Whether this pattern accepts `envelope` (`spec/matching.md`, clause G-1).
    #[must_use]
    #[inline]
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        (self.bits ^ envelope.bits) & !self.ignore == 0
            && self.initiator.is_none_or(|initiator| initiator == envelope.initiator)
    }

    /// Whether any wildcard is in this pattern.
    #[must_use]
    pub const fn is_wildcard(&self) -> bool {
        self.ignore != 0 || self.initiator.is_none()
    }
}

/// One operation offered to an engine. The order of acceptance is the order of matching.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// The host posts a receive: it takes the oldest unexpected message it accepts, or is appended to
    /// the posted receives. Both in one step (clause O-3).
    Post {
        /// Its name in the outcome.
        recv: RecvId,
        /// What it accepts.
        pattern: Pattern,
    },
    /// The header of a message arrives: it takes the oldest posted receive that accepts it, or is
    /// appended to the unexpected messages (clause O-4).
    Arrive {
        /// Its name in the outcome.
        msg: MsgId,
        /// The envelope by which it is matched.
        envelope: Envelope,
    },
    /// Take a posted receive back, if it is still unmatched (clause C-1).
    Cancel {
        /// The receive to take back.
        recv: RecvId,
    },
    /// Find the oldest unexpected message that `pattern` accepts and leave it where it is (clause P-1).
    Probe {
        /// Its name in the outcome.
        probe: ProbeId,
        /// What it looks for.
        pattern: Pattern,
    },
    /// As [`Op::Probe`], but take the message out of matching (clause P-3).
    MatchedProbe {
        /// Its name in the outcome.
        probe: ProbeId,
        /// What it looks for.
        pattern: Pattern,
    },
}

/// The result of an operation. Every accepted operation has exactly one outcome, decided by the
/// sequence of accepted operations alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// The receive waits among the posted receives.
    Posted(RecvId),
    /// A receive and a message met: the answer to the later of the two operations.
    Matched(RecvId, MsgId),
    /// The message waits among the unexpected messages.
    Unexpected(MsgId),
    /// The receive was taken back.
    Cancelled(RecvId),
    /// The receive could not be taken back: it was matched before, or never posted.
    NotCancelled(RecvId),
    /// The result of a probe or matched probe.
    Probed(ProbeId, Option<MsgId>),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Posted(recv) => write!(f, "receive {} posted", recv.0),
            Self::Matched(recv, msg) => write!(f, "receive {} matched message {}", recv.0, msg.0),
            Self::Unexpected(msg) => write!(f, "message {} unexpected", msg.0),
            Self::Cancelled(recv) => write!(f, "receive {} cancelled", recv.0),
            Self::NotCancelled(recv) => write!(f, "receive {} not cancelled", recv.0),
            Self::Probed(probe, Some(msg)) => write!(f, "probe {} found message {}", probe.0, msg.0),
            Self::Probed(probe, None) => write!(f, "probe {} found nothing", probe.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Envelope = Envelope { bits: 0xabcd, initiator: Initiator(3) };

    #[test]
    fn an_exact_pattern_accepts_its_envelope_alone() {
        let pattern = Pattern::exactly(HELLO);
        assert!(pattern.accepts(&HELLO));
        assert!(!pattern.accepts(&Envelope { bits: 0xabcc, ..HELLO }));
        assert!(!pattern.accepts(&Envelope { initiator: Initiator(4), ..HELLO }));
    }

    #[test]
    fn ignored_bits_and_an_open_initiator_are_not_compared() {
        let pattern = Pattern { bits: 0xabff, ignore: 0x00ff, initiator: None };
        assert!(pattern.accepts(&HELLO));
        assert!(pattern.accepts(&Envelope { initiator: Initiator(9), ..HELLO }));
        assert!(!pattern.accepts(&Envelope { bits: 0xbbcd, ..HELLO }));
    }
}
