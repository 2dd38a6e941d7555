// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Features of test programs, which the generator can exclude.

use crate::codes::Need;
use crate::program::{Action, Comm, CountType, Form, Layout, MessageSource, SendMode, SizeClass, TestProgram};

/// Features that programs can exclude, so that a known fault does not hide others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Feature {
    /// `MPI_PROC_NULL`.
    Null,
    /// Persistent requests.
    Persistent,
    /// `MPI_Cancel` before the drain phase.
    Cancel,
    /// Probes that leave the message.
    Probe,
    /// Matched probes before the drain phase.
    Mprobe,
    /// `MPI_Sendrecv`.
    Sendrecv,
    /// Synchronous sends.
    Synchronous,
    /// Messages of a rank to itself.
    SelfMessage,
    /// Messages of 64 KiB and more.
    Long,
    /// Ready sends.
    Ready,
    /// Buffered sends.
    Buffered,
    /// `MPI_Startall`.
    Startall,
    /// Receives with short buffers.
    Truncation,
    /// Intercommunicators.
    Intercomm,
    /// `MPI_Isendrecv`.
    Isendrecv,
    /// Derived datatypes.
    Datatypes,
    /// Communicators of a session.
    Sessions,
    /// Partitioned communication.
    Partitioned,
    /// Several threads per rank, each with its own communicators.
    Threads,
    /// Several threads per rank that use the same communicators.
    SharedThreads,
    /// The calls with `MPI_Count` arguments.
    Counts,
    /// Receives with room for more than 2^32 bytes.
    Large,
}

impl Feature {
    /// Every feature and its name in options.
    pub const ALL: [(Self, &'static str); 22] = [
        (Self::Null, "null"),
        (Self::Persistent, "persistent"),
        (Self::Cancel, "cancel"),
        (Self::Probe, "probe"),
        (Self::Mprobe, "mprobe"),
        (Self::Sendrecv, "sendrecv"),
        (Self::Synchronous, "synchronous"),
        (Self::SelfMessage, "self"),
        (Self::Long, "long"),
        (Self::Ready, "ready"),
        (Self::Buffered, "buffered"),
        (Self::Startall, "startall"),
        (Self::Truncation, "truncation"),
        (Self::Intercomm, "intercomm"),
        (Self::Isendrecv, "isendrecv"),
        (Self::Datatypes, "datatypes"),
        (Self::Sessions, "sessions"),
        (Self::Partitioned, "partitioned"),
        (Self::Threads, "threads"),
        (Self::SharedThreads, "shared-threads"),
        (Self::Counts, "counts"),
        (Self::Large, "large"),
    ];

    /// Features that programs have only on request: they reserve much address space.
    pub const OPTIONAL: [Self; 1] = [Self::Large];

    /// Features that programs for order alone do not have: the order of matching can be wrong without
    /// them, and libraries hang or fail in them for other reasons.
    pub const BESIDES_ORDER: [Self; 17] = [
        Self::Null,
        Self::Persistent,
        Self::Cancel,
        Self::Sendrecv,
        Self::SelfMessage,
        Self::Ready,
        Self::Buffered,
        Self::Startall,
        Self::Truncation,
        Self::Intercomm,
        Self::Isendrecv,
        Self::Datatypes,
        Self::Sessions,
        Self::Partitioned,
        Self::Threads,
        Self::SharedThreads,
        Self::Counts,
    ];

    /// Features that programs cannot have on a library that lacks `need`.
    #[must_use]
    pub const fn needing(need: Need) -> &'static [Self] {
        match need {
            Need::Isendrecv => &[Self::Isendrecv],
            Need::Sessions => &[Self::Sessions],
            Need::Partitioned => &[Self::Partitioned],
            Need::Threads => &[Self::Threads, Self::SharedThreads],
            Need::Counts => &[Self::Counts, Self::Large],
        }
    }

    /// Whether `program` has it.
    #[must_use]
    pub fn has(self, program: &TestProgram) -> bool {
        match self {
            Self::Threads => program.is_threaded(),
            Self::SharedThreads => program.shares_comms(),
            _ => program.steps.iter().any(|step| self.is_in(step.rank, &step.action)),
        }
    }

    /// Its name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(feature, _)| *feature == self).map_or("", |(_, name)| name)
    }

    /// The communicator that only it uses.
    pub(crate) const fn of_comm(comm: Comm) -> Option<Self> {
        match comm {
            Comm::Across => Some(Self::Intercomm),
            Comm::Session => Some(Self::Sessions),
            Comm::First | Comm::Second | Comm::Reversed | Comm::Parity => None,
        }
    }

    /// Whether a step of `rank` with this action has it; never for what the whole program decides.
    #[must_use]
    pub(crate) fn is_in(self, rank: u8, action: &Action) -> bool {
        let message = action.message();
        let spec = action.accepting();
        let uses = |comm: Comm| {
            message.is_some_and(|message| message.comm == comm) || spec.is_some_and(|spec| spec.comm == comm)
        };
        let counts = |counts: CountType| {
            message.is_some_and(|message| message.counts == counts) || spec.is_some_and(|spec| spec.counts == counts)
        };
        match self {
            Self::Null => {
                message.is_some_and(|message| message.dest.is_none())
                    || spec.is_some_and(|spec| spec.source == MessageSource::Null)
            }
            Self::Persistent => {
                matches!(action, Action::Send(_, form) | Action::Receive(_, form) if form.is_persistent())
            }
            Self::Cancel => matches!(action, Action::Cancel(_) | Action::Restart(_)),
            Self::Probe => matches!(action, Action::Probe(_, call) if !call.takes()),
            Self::Mprobe => matches!(action, Action::Probe(_, call) if call.takes()),
            Self::Sendrecv => matches!(action, Action::SendReceive(_, _, Form::Blocking)),
            Self::Isendrecv => matches!(action, Action::SendReceive(_, _, Form::Nonblocking)),
            Self::Datatypes => {
                message.is_some_and(|message| message.layout != Layout::Bytes)
                    || spec.is_some_and(|spec| spec.layout != Layout::Bytes)
            }
            Self::Sessions => uses(Comm::Session),
            Self::Partitioned => action.is_partitioned(),
            // Decided for the whole program.
            Self::Threads | Self::SharedThreads => false,
            Self::Counts => counts(CountType::Wide),
            Self::Large => counts(CountType::Large),
            Self::Synchronous => message.is_some_and(|message| message.mode == SendMode::Synchronous),
            Self::Ready => message.is_some_and(|message| message.mode == SendMode::Ready),
            Self::Buffered => message.is_some_and(|message| message.mode == SendMode::Buffered),
            Self::Startall => action.is_together(),
            Self::Truncation => spec.is_some_and(|spec| spec.short),
            Self::Intercomm => uses(Comm::Across),
            Self::SelfMessage => message.is_some_and(|message| message.dest == Some(rank)),
            Self::Long => message.is_some_and(|message| message.size >= SizeClass::Long),
        }
    }
}
