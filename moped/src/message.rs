// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages between the MOPEDs of a chip.

use crate::contract::{Id, ProcessAddress};
use crate::descriptor::Descriptor;

/// A message from one MOPED to another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// A completed descriptor to its matching MOPED. `reply`: the node where a process waits that has moved.
    Descriptor { descriptor: Descriptor, reply: Option<usize> },
    /// The matching MOPED has it.
    Taken { reply: Option<usize> },
    /// The table of the matching MOPED is full, or the program is in back-off there.
    Rejected { id: Id, reply: Option<usize> },
    /// A matched pair, to the MOPED of the receive; the send is in this entry of the matching MOPED.
    Pair { receive: Id, send: Descriptor, entry: usize },
    /// The send of a pair has arrived.
    PairTaken { entry: usize },
    /// The send of a pair that found no entry is copied next.
    Pull { receive: Id, entry: usize },
    /// The answer to `Pull`.
    Pulled { receive: Id, send: Descriptor },
    /// Removes an unmatched descriptor from its matching MOPED.
    Withdraw { id: Id, owner: ProcessAddress, revoke: bool },
    /// The answer to `Withdraw`.
    Withdrawn { id: Id, removed: bool, revoke: bool },
    /// The result of a probe: rank of the sender, tag and bytes.
    Probed { id: Id, found: Option<(u16, u32, u32)> },
    /// A send is complete.
    Complete { id: Id, bad: bool },
    /// An access of a process that has moved.
    Access { owner: ProcessAddress, from: usize, access: Access },
    /// Its answer.
    Answer { value: u64 },
    /// Steps of back-off.
    Backoff { program: u16, step: Step },
    /// A page fault, to the MOPED of the descriptor.
    Fault(Fault),
    /// Its answer.
    Resolved { ticket: u64, mapped: bool },
    /// Withdraws the translations of a page.
    Invalidate { root: u64, page: u64 },
    /// No translation of the page is held.
    Invalidated,
}

/// An access to a descriptor of another MOPED.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    Store(u64),
    Poll(u64),
}

/// A page fault of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) owner: ProcessAddress,
    pub(crate) address: u64,
    pub(crate) is_receive: bool,
    pub(crate) from: usize,
    pub(crate) ticket: u64,
}

/// Steps of the back-off of a program. Its home MOPED orders them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// To the home: a MOPED refuses.
    Raise,
    /// To all: the bit is set.
    Set { episode: u32 },
    /// To the home: the bit is set here.
    SetHere,
    /// To all: the bit is set everywhere.
    SetEverywhere,
    /// To the home: no descriptor of the program is reserved here.
    DrainedHere,
    /// To all: none is reserved anywhere.
    DrainedEverywhere,
    /// To the home: software ends the back-off.
    Resume,
    /// To all: the bit will be clear.
    End,
    /// To the home: nothing is refused here any more.
    EndHere,
    /// To all: nothing is refused anywhere; the bit is clear.
    Clear,
}

impl Message {
    /// Whether it carries a descriptor; the other messages are of equal length.
    pub(crate) fn has_descriptor(&self) -> bool {
        matches!(self, Self::Descriptor { .. } | Self::Pair { .. } | Self::Pulled { .. })
    }
}
