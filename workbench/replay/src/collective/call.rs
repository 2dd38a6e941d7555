// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A call of a collective at one rank, and the messages that it becomes.

use mb_trace::CollectiveOp;

use crate::config::Algorithm;

/// The other group of an intercommunicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherGroup {
    /// Its members.
    pub(crate) ranks: u32,
    /// `Record::peer`.
    pub(crate) root: i32,
}

/// One message of a round, from the point of view of its rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RoundMessage {
    /// Rank of the communicator.
    pub(crate) peer: u32,
    /// Number of the round.
    pub(crate) round: u32,
    /// `Some(bytes)` is sent; `None` is received.
    pub(crate) sends: Option<u64>,
    /// Size of the buffer of a receive.
    pub(crate) room: u64,
    /// `peer` is a rank of the other group of an intercommunicator.
    pub(crate) across: bool,
}

impl RoundMessage {
    /// A receive within the group.
    pub(super) const WITHIN: Self = Self { peer: 0, round: 0, sends: None, room: u64::MAX, across: false };
    /// A receive from the other group.
    pub(super) const ACROSS: Self = Self { across: true, ..Self::WITHIN };
}

/// A call of a collective at one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectiveCall<'a> {
    pub(crate) op: CollectiveOp,
    pub(crate) algorithm: Algorithm,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) root: u32,
    /// `Record::bytes`.
    pub(crate) sent: u64,
    /// `Record::aux`.
    pub(crate) received: u64,
    /// Per-peer sizes of the vector forms (`spec/trace.md`, T-16), or empty.
    pub(crate) counts: &'a [u64],
    /// The other group, if this is an intercommunicator; `root` is not used then.
    pub(crate) other: Option<OtherGroup>,
}

pub(super) struct ScheduleBuilder<'a> {
    pub(super) steps: &'a mut Vec<RoundMessage>,
    pub(super) round: u32,
}

impl ScheduleBuilder<'_> {
    pub(super) fn send(&mut self, peer: u32, bytes: u64) {
        let (round, sends) = (self.round, Some(bytes));
        self.steps.push(RoundMessage { peer, round, sends, ..RoundMessage::WITHIN });
    }

    pub(super) fn receive(&mut self, peer: u32) {
        self.steps.push(RoundMessage { peer, round: self.round, ..RoundMessage::WITHIN });
    }

    pub(super) fn next(&mut self) {
        self.round += 1;
    }
}
