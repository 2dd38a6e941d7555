// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Codes and records shared with the C runner. Generated from spec/conform/codes.toml: run `make gen`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First number of a program file: `MBCO` in little-endian bytes.
pub const PROGRAMS_MAGIC: i32 = 0x4f43_424d;

/// Identifies an outcome file: `MBOU` in little-endian bytes.
pub const OUTCOME_MAGIC: i32 = 0x554f_424d;

/// Version of both file formats.
pub const FORMAT: i32 = 2;

/// Step numbers are below this limit, and so is the number of operations of a rank.
pub const MAX_STEPS: i32 = 1024;

/// Threads of a rank are numbered below this limit.
pub const MAX_THREADS: i32 = 4;

/// `MPI_ANY_SOURCE` as a peer or `MPI_ANY_TAG` as a tag.
pub const ANY: i32 = -1;

/// `MPI_PROC_NULL` as a peer or source.
pub const NO_PROCESS: i32 = -2;

/// In an outcome record: the payload identifies no message.
pub const NO_MESSAGE: i32 = -1;

/// In a `Failed` record, in place of an error class: a completion of a request that was not active.
pub const INACTIVE_REQUEST: i32 = -1;

/// Flag of an outcome record: the payload is the one that was sent.
pub const INTACT: i32 = 1;

/// Flag of an outcome record: the payload belongs to another program of the same job.
pub const FOREIGN: i32 = 2;

/// Flag of an outcome record: the receive wrote past the end of its buffer.
pub const OVERRUN: i32 = 4;

/// Flag of an outcome record: the receive changed bytes between those of its datatype.
pub const GAPS: i32 = 8;

/// Flag of an outcome record: the status says that the receive was cancelled, and no call has
/// cancelled it.
pub const CALLED_CANCELLED: i32 = 16;

/// The communicators that every program may use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum Comm {
    /// A duplicate of `MPI_COMM_WORLD`.
    First = 0,
    /// Another duplicate.
    Second = 1,
    /// All ranks of `MPI_COMM_WORLD` in reverse order.
    Reversed = 2,
    /// `MPI_COMM_WORLD` split into even and odd ranks.
    Parity = 3,
    /// The intercommunicator between even and odd ranks.
    Across = 4,
    /// All ranks in their order in `MPI_COMM_WORLD`, made by `MPI_Comm_create_from_group` from the
    /// process set `mpi://WORLD` of a session.
    Session = 5,
}

impl Comm {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 6] = [
        Self::First,
        Self::Second,
        Self::Reversed,
        Self::Parity,
        Self::Across,
        Self::Session,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// How the bytes of a message lie in memory, and the datatype that says so. Every type has the
/// signature of as many `MPI_BYTE`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum Layout {
    /// One after the other: `MPI_BYTE`.
    Bytes = 0,
    /// One after the other: `MPI_Type_contiguous`, count 1.
    Contiguous = 1,
    /// Blocks of 8 bytes, each followed by a gap of 4, and the rest: `MPI_Type_create_struct` of an
    /// `MPI_Type_vector` and bytes, count 1.
    Vector = 2,
    /// Blocks of 512 bytes, the last one first in memory: `MPI_Type_create_hindexed` with
    /// descending displacements, count 1.
    Reversed = 3,
    /// Each byte followed by a gap of 2: `MPI_Type_create_resized` of `MPI_BYTE` with extent 3, as
    /// many as there are bytes.
    Resized = 4,
}

impl Layout {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 5] = [
        Self::Bytes,
        Self::Contiguous,
        Self::Vector,
        Self::Reversed,
        Self::Resized,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// The type and size of the counts of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum CountType {
    /// `int`: `MPI_Send`.
    Int = 0,
    /// `MPI_Count`: `MPI_Send_c`.
    Wide = 1,
    /// `MPI_Count`, and a receive has room for more than 2^32 bytes, of which a message uses the
    /// first.
    Large = 2,
}

impl CountType {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 3] = [
        Self::Int,
        Self::Wide,
        Self::Large,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// What some MPI libraries lack and some programs need; a bit of the number `needs` of a program
/// file each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum Need {
    /// `MPI_Isendrecv`.
    Isendrecv = 0,
    /// `MPI_Session_init` and `MPI_Comm_create_from_group`.
    Sessions = 1,
    /// `MPI_Psend_init` and `MPI_Precv_init`.
    Partitioned = 2,
    /// `MPI_THREAD_MULTIPLE`.
    Threads = 3,
    /// The calls with `MPI_Count` arguments, such as `MPI_Recv_c`.
    Counts = 4,
}

impl Need {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 5] = [
        Self::Isendrecv,
        Self::Sessions,
        Self::Partitioned,
        Self::Threads,
        Self::Counts,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum OperationCode {
    /// Standard send.
    Send = 1,
    /// Synchronous send.
    Ssend = 2,
    /// Ready send.
    Rsend = 3,
    /// Buffered send.
    Bsend = 4,
    /// Receive.
    Receive = 5,
    /// Cancel a persistent receive if it is active, then `MPI_Start` it.
    Restart = 6,
    /// `MPI_Sendrecv` or `MPI_Isendrecv`.
    Sendrecv = 7,
    /// One of the four probes.
    Probe = 8,
    /// `MPI_Mrecv` or `MPI_Imrecv` of the message that a matched probe took.
    ReceiveProbed = 9,
    /// `MPI_Cancel` and `MPI_Wait`.
    Cancel = 10,
    /// One of the eight completion calls.
    Complete = 11,
    /// `MPI_Barrier` of all ranks.
    Barrier = 12,
    /// A short time in which messages may arrive.
    Pause = 13,
    /// `MPI_Psend_init`, and after the start `MPI_Pready` of every partition.
    PartitionedSend = 14,
    /// `MPI_Precv_init`.
    PartitionedReceive = 15,
}

impl OperationCode {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 15] = [
        Self::Send,
        Self::Ssend,
        Self::Rsend,
        Self::Bsend,
        Self::Receive,
        Self::Restart,
        Self::Sendrecv,
        Self::Probe,
        Self::ReceiveProbed,
        Self::Cancel,
        Self::Complete,
        Self::Barrier,
        Self::Pause,
        Self::PartitionedSend,
        Self::PartitionedReceive,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code.checked_sub(1)?).ok()?).copied()
    }
}

/// How a send or receive is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum Form {
    /// `MPI_Send`, `MPI_Recv`.
    Blocking = 0,
    /// `MPI_Isend`, `MPI_Irecv`.
    Nonblocking = 1,
    /// `MPI_Send_init` or `MPI_Recv_init`, then `MPI_Start`.
    Persistent = 2,
    /// As `Persistent`, but consecutive steps of this form are started by one `MPI_Startall` before
    /// the rank's next other step, in an order that MPI leaves open (MPI 4.1, 3.9).
    Together = 3,
}

impl Form {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 4] = [
        Self::Blocking,
        Self::Nonblocking,
        Self::Persistent,
        Self::Together,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// The probe calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum ProbeCall {
    /// `MPI_Probe`.
    Probe = 0,
    /// `MPI_Iprobe`.
    Iprobe = 1,
    /// `MPI_Mprobe`.
    Mprobe = 2,
    /// `MPI_Improbe`.
    Improbe = 3,
}

impl ProbeCall {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 4] = [
        Self::Probe,
        Self::Iprobe,
        Self::Mprobe,
        Self::Improbe,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// The completion calls, those that wait first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum CompleteCall {
    /// `MPI_Wait`.
    Wait = 0,
    /// `MPI_Waitall`.
    Waitall = 1,
    /// `MPI_Waitany`.
    Waitany = 2,
    /// `MPI_Waitsome`.
    Waitsome = 3,
    /// `MPI_Test`.
    Test = 4,
    /// `MPI_Testall`.
    Testall = 5,
    /// `MPI_Testany`.
    Testany = 6,
    /// `MPI_Testsome`.
    Testsome = 7,
}

impl CompleteCall {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 8] = [
        Self::Wait,
        Self::Waitall,
        Self::Waitany,
        Self::Waitsome,
        Self::Test,
        Self::Testall,
        Self::Testany,
        Self::Testsome,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// What an outcome record reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum RecordKind {
    /// First record of a file: magic, format, rank and ranks in the fields from `at` on.
    Header = 1,
    /// A program begins; `at` is its index.
    Begin = 2,
    /// The program ended; `at` is its index.
    End = 3,
    /// A receive is complete.
    Received = 4,
    /// A receive was cancelled.
    Cancelled = 5,
    /// A send is complete.
    Sent = 6,
    /// A probe found a message.
    Found = 7,
    /// A probe found no message.
    FoundNothing = 8,
    /// A matched probe of the drain phase received a message; `step` is the communicator.
    Drained = 9,
    /// The time limit expired in operation `at`.
    Stuck = 10,
    /// A call returned an error; `flags` is its class.
    Failed = 11,
    /// A receive is complete with `MPI_ERR_TRUNCATE`.
    Truncated = 12,
}

impl RecordKind {
    /// Every value, in the order of the codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 12] = [
        Self::Header,
        Self::Begin,
        Self::End,
        Self::Received,
        Self::Cancelled,
        Self::Sent,
        Self::Found,
        Self::FoundNothing,
        Self::Drained,
        Self::Stuck,
        Self::Failed,
        Self::Truncated,
    ];

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The value with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code.checked_sub(1)?).ok()?).copied()
    }
}

/// The beginning of a program file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct FileHeader {
    /// `PROGRAMS_MAGIC`.
    pub magic: i32,
    /// `FORMAT`.
    pub format: i32,
    /// Ranks of every program.
    pub ranks: i32,
    /// Number of programs.
    pub programs: i32,
    /// Bytes of the longest message.
    pub longest_message: i32,
    /// What the programs need: bit `1 << NEED` for each `Need`.
    pub needs: i32,
}

/// The beginning of a program; the parts of ranks 0, 1, ... follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct ProgramHeader {
    /// Numbers of the program, this header included.
    pub words: i32,
    /// Index of the program in the file.
    pub index: i32,
}

/// The beginning of one rank's part of a program; its operations follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct RankHeader {
    /// Numbers that follow this one.
    pub words: i32,
    /// Messages that the program sends to this rank.
    pub messages: i32,
    /// Operations of this rank.
    pub operations: i32,
}

/// One operation of a rank; its arguments follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct OperationRecord {
    /// An `OperationCode`.
    pub code: i32,
    /// The step's number, which also identifies its message or receive.
    pub step: i32,
    /// The thread that performs it, from 0.
    pub thread: i32,
    /// A `Comm`.
    pub comm: i32,
    /// Rank in the communicator, `ANY` or `NO_PROCESS`.
    pub peer: i32,
    /// The tag, or `ANY`.
    pub tag: i32,
    /// Of a send: length of the message; of a receive: length of its buffer, 0 if every message
    /// fits.
    pub bytes: i32,
    /// A `Layout`.
    pub layout: i32,
    /// Of partitioned communication: number of partitions.
    pub partitions: i32,
    /// A `CountType`.
    pub counts: i32,
    /// A `Form`, `ProbeCall` or `CompleteCall`.
    pub form: i32,
    /// Number of arguments: indices of earlier operations of the rank; of `MPI_Sendrecv`
    /// communicator, source, tag and `Layout` of its receive.
    pub arguments: i32,
}

/// One record of an outcome file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct OutcomeRecord {
    /// A `RecordKind`.
    pub kind: i32,
    /// The operation that reported it, as an index; the number of operations in the drain phase.
    pub at: i32,
    /// The step that it concerns.
    pub step: i32,
    /// Source in the status: a rank of the communicator, or `NO_PROCESS`.
    pub source: i32,
    /// Tag in the status, or `ANY`.
    pub tag: i32,
    /// Bytes, as returned by `MPI_Get_count`, or by `MPI_Get_elements` for a derived datatype.
    pub count: i32,
    /// The message that the payload identifies, or `NO_MESSAGE`.
    pub message: i32,
    /// `INTACT`, `FOREIGN`, `OVERRUN`, `GAPS`, `CALLED_CANCELLED`.
    pub flags: i32,
}
