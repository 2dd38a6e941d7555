// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 64-byte record and the 64-byte file header, field by field as in `spec/trace.md`, sections 3
//! and 4.

use mb_core::mpi::{ANY_TAG, PROC_NULL};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First eight bytes of every trace file.
pub const MAGIC: [u8; 8] = *b"MBTRACE\x01";

/// Version of the record layout of generated traces.
pub const VERSION: u16 = 1;

/// Newest version of the record layout that this code reads: that of recorded traces.
pub const NEWEST: u16 = 3;

/// Bytes of a record, and of the header.
pub const RECORD_BYTES: usize = 64;

/// The header at the start of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`] to [`NEWEST`].
    pub version: u16,
    /// [`RECORD_BYTES`].
    pub record_bytes: u16,
    /// Bit 0: finalized, i.e. the program called `MPI_Finalize` and `records` is exact. Bit 1: the
    /// recorder stopped early (full disk). Bit 2, from version 2 on: the rank called `MPI_Abort`.
    /// Other bits zero.
    pub flags: u32,
    /// World rank of the first segment in this file, mostly the only one.
    pub first_rank: u32,
    /// Segments in this file: 1, or more in a bundle, whose index follows the header.
    pub segments: u32,
    /// Ranks in the world.
    pub world: u32,
    /// Zero.
    pub reserved: u32,
    /// Number of records in the file if finalized, else 0. In a bundle: sum over its segments.
    pub records: u64,
    /// Wall clock at the first record, ns since 1970-01-01 UTC; 0 in generated traces.
    pub epoch_ns: u64,
    /// The run this file belongs to: equal in all files of a trace.
    pub run_id: u64,
    /// Checksum of the 56 bytes before it, see [`checksum`] with index [`HEADER_INDEX`], widened to
    /// 64 bits.
    pub check: u64,
}

/// Index under which a header is checksummed.
pub const HEADER_INDEX: u64 = u64::MAX;

impl Header {
    /// Flag: the rank finished and `records` is exact.
    pub const FINALIZED: u32 = 1;
    /// Flag: the recorder stopped before the program did.
    pub const STOPPED: u32 = 2;
    /// Flag: the rank called `MPI_Abort`.
    pub const ABORTED: u32 = 4;

    /// The checksum this header should carry.
    #[must_use]
    pub fn expected_check(&self) -> u64 {
        u64::from(checksum_words(&words(&Self { check: 0, ..*self }), HEADER_INDEX))
    }
}

/// One record. All fields little-endian; the host must be too (checked at compile time).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Record {
    /// A [`Kind`].
    pub kind: u8,
    /// [`Flags`]; their meaning depends on the kind.
    pub flags: u8,
    /// Slot of the calling thread. Slots are taken in order of the first MPI call; a [`Kind::Thread`]
    /// says that another thread has taken one again.
    pub thread: u16,
    /// Local number of the communicator (0 is `MPI_COMM_WORLD`, 1 `MPI_COMM_SELF`).
    pub comm: u32,
    /// Destination, posted source, resolved source or root: a rank of the communicator (remote
    /// group of an intercommunicator), or a wildcard or `MPI_PROC_NULL` as in [`mb_core::mpi`].
    pub peer: i32,
    /// Tag, or `MPI_ANY_TAG` (-2). In collectives: the [`CollectiveOp`].
    pub tag: i32,
    /// Bytes sent, buffer size of a receive, or bytes received.
    pub bytes: u64,
    /// Number of the request, of the message taken by a matched probe, or 0.
    pub request: u32,
    /// Checksum of this record with this field zero, and of its index.
    pub check: u32,
    /// [`Record::wall_ns`], and above it the lower half of [`Record::site`].
    pub wall: u64,
    /// [`Record::cpu_ns`], and above it the upper half of [`Record::site`].
    pub cpu: u64,
    /// Wall time within the call, ns; saturates at 2^32 - 1.
    pub wall_span_ns: u32,
    /// CPU time of the calling thread within the call, ns; saturates.
    pub cpu_span_ns: u32,
    /// Depends on the kind.
    pub aux: u64,
}

const _: () = assert!(size_of::<Record>() == RECORD_BYTES && size_of::<Header>() == RECORD_BYTES);
const _: () = assert!(cfg!(target_endian = "little"), "traces are read in place: the host must be little-endian");

/// Bits of [`Record::wall`] and [`Record::cpu`] that hold the time.
const TIME_BITS: u32 = 54;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// The kind of a record. The numbers are part of the format; 0 means "not written".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// `MPI_Init*` or `MPI_Session_init`. `aux` = thread level provided, `bytes` = number of extra
    /// words that follow: where the rank ran.
    Init = 1,
    /// The last `MPI_Finalize` or `MPI_Session_finalize`. From version 2 on `aux` = time in which the
    /// rank waited for a processor.
    Finalize = 2,
    /// A send was started: every blocking, nonblocking and persistent form, and the sending half of
    /// `MPI_Sendrecv`. `aux` = number of earlier sends from this rank to the same destination in
    /// the same communicator.
    Send = 3,
    /// A receive was posted: every form, and the receiving half of `MPI_Sendrecv`; or, with
    /// [`Flags::MATCHED`], a receive of the message that the matched probe numbered `aux` took.
    Recv = 4,
    /// A request, a blocking receive or a probe completed. `peer`, `tag`, `bytes` are the status;
    /// `request` is that of the completed [`Kind::Send`], [`Kind::Recv`], [`Kind::Probe`] or
    /// [`Kind::Collective`]. Cancelled: [`Flags::CANCELLED`]; an error in the status (truncation):
    /// [`Flags::FAILED`]. With `aux` above 0 it also completes the next `aux` request numbers, each
    /// with the status that its own record implies: [`Record::done_of`].
    Done = 5,
    /// `MPI_Wait*` or a successful `MPI_Test*`. `aux` = number of [`Kind::Done`] records that
    /// follow for it.
    Wait = 6,
    /// A probe: [`Flags::BLOCKING`] for `MPI_Probe`/`MPI_Mprobe`, [`Flags::MATCHED`] for the M
    /// forms. `request` is its number. Found: a [`Kind::Done`] with that number follows.
    Probe = 7,
    /// `aux` calls of `MPI_Test*` (with [`Flags::PROBE`]: of `MPI_Iprobe`/`MPI_Improbe` with `peer`
    /// and `tag`) that were unsuccessful since the last record of another kind in the thread,
    /// collapsed into one record. From version 3 on the gaps between them: [`Record::gaps_ns`]; of
    /// tests `request` = first incomplete request that they named, `peer` = requests that they named.
    Miss = 8,
    /// `MPI_Cancel` of `request`.
    Cancel = 9,
    /// `MPI_Request_free` of an active `request`.
    Free = 10,
    /// A collective; `tag` = [`CollectiveOp`], `peer` = root or -1, `bytes` = bytes this rank
    /// contributes (to each peer in all-to-all forms), `aux` = bytes it receives (from each peer,
    /// likewise). [`Flags::BLOCKING`] unless nonblocking; [`Flags::VECTOR`]: per-peer byte counts
    /// follow in [`Kind::Extra`] records (sent ones, then received ones).
    Collective = 11,
    /// A new communicator: `comm` = its local number, `aux` = its identity, equal on all its
    /// processes and different from all others; `bytes` = number of extra words that follow, `tag`
    /// = size of the local group, `peer` = size of the remote group or -1. Words: runs of world
    /// ranks, see `spec/trace.md` section 6.
    Comm = 12,
    /// `MPI_Comm_free` of `comm`.
    CommFree = 13,
    /// Up to six words that belong to the record before: `tag` = number of words here, and the
    /// words are in place of other fields. See [`Record::extra_words`].
    Extra = 14,
    /// A call that matters for communication but is not recorded in detail (one-sided, I/O,
    /// spawn); lower half of `aux` = index in the list `other_calls` of `meta.json`, upper half
    /// = processes that it started.
    Other = 15,
    /// The slot `thread` belongs to another thread from here on: `aux` = its number, in order of the
    /// first MPI call. Its CPU time starts again.
    Thread = 16,
    /// A call site: `aux` = its number, `bytes` = number of extra words that follow: return addresses,
    /// the innermost first.
    Site = 17,
    /// The neighbours in the topology of `comm`, whose [`Kind::Comm`] it follows: `peer` = number of sources,
    /// `tag` = number of destinations, `bytes` = number of extra words that follow: these ranks.
    /// `aux`: 1 Cartesian, 2 graph, 3 distributed graph.
    Topology = 18,
    /// Partitions of the active partitioned `request` are ready or have arrived: `aux` = the first one, and
    /// their number in the upper half.
    Partition = 19,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 19] = [
        Self::Init,
        Self::Finalize,
        Self::Send,
        Self::Recv,
        Self::Done,
        Self::Wait,
        Self::Probe,
        Self::Miss,
        Self::Cancel,
        Self::Free,
        Self::Collective,
        Self::Comm,
        Self::CommFree,
        Self::Extra,
        Self::Other,
        Self::Thread,
        Self::Site,
        Self::Topology,
        Self::Partition,
    ];

    /// The kinds of the version of the record layout: the first so many of [`Kind::ALL`].
    #[must_use]
    pub const fn count(version: u16) -> u8 {
        if version < 3 { 15 } else { 19 }
    }

    /// The kind numbered `byte`.
    #[must_use]
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte).wrapping_sub(1)).copied()
    }
}

/// Bits of [`Record::flags`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags;

impl Flags {
    /// The call returns only when the operation is complete (`MPI_Send`, `MPI_Recv`, `MPI_Probe`,
    /// blocking collectives, `MPI_Wait*`); in [`Kind::Wait`] its absence means a `MPI_Test*`.
    pub const BLOCKING: u8 = 1;
    /// Started by `MPI_Start(all)` from a persistent request.
    pub const PERSISTENT: u8 = 2;
    /// Send: synchronous mode. Done: the operation was cancelled.
    pub const SYNCHRONOUS: u8 = 4;
    /// Done: the operation was cancelled (same bit as [`Flags::SYNCHRONOUS`], other kind).
    pub const CANCELLED: u8 = 4;
    /// Send: buffered mode.
    pub const BUFFERED: u8 = 8;
    /// Done: the status carries an error (truncation).
    pub const FAILED: u8 = 8;
    /// Done, version 3: MPI does not report source, tag and size of the message that a wildcard took.
    pub const UNKNOWN: u8 = 16;
    /// Send: ready mode.
    pub const READY: u8 = 16;
    /// Probe: `MPI_Mprobe`/`MPI_Improbe`. Recv: `MPI_Mrecv`/`MPI_Imrecv`.
    pub const MATCHED: u8 = 16;
    /// Miss: the calls were probes. Collective: vector counts follow ([`Flags::VECTOR`], same bit).
    pub const PROBE: u8 = 32;
    /// Collective: per-peer byte counts follow.
    pub const VECTOR: u8 = 32;
    /// Send, Recv: a start of a partitioned request. `aux` = number of earlier inits of the same kind with
    /// the same peer, tag and communicator, and in the upper half the number of partitions.
    pub const PARTITIONED: u8 = 32;
    /// Send, Recv: half of a `MPI_Sendrecv` form.
    pub const SENDRECV: u8 = 64;
    /// `cpu_ns` was advanced with wall time, because the gap to the previous call was too short for
    /// reading the CPU clock.
    pub const CPU_CARRIED: u8 = 128;
}

/// Collectives, as in [`Record::tag`] of [`Kind::Collective`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
pub enum CollectiveOp {
    /// `MPI_Barrier`.
    Barrier = 1,
    /// `MPI_Bcast`.
    Bcast = 2,
    /// `MPI_Reduce`.
    Reduce = 3,
    /// `MPI_Allreduce`.
    Allreduce = 4,
    /// `MPI_Gather`, `MPI_Gatherv`.
    Gather = 5,
    /// `MPI_Scatter`, `MPI_Scatterv`.
    Scatter = 6,
    /// `MPI_Allgather`, `MPI_Allgatherv`.
    Allgather = 7,
    /// `MPI_Alltoall`, `MPI_Alltoallv`, `MPI_Alltoallw`.
    Alltoall = 8,
    /// `MPI_Reduce_scatter`, `MPI_Reduce_scatter_block`.
    ReduceScatter = 9,
    /// `MPI_Scan`.
    Scan = 10,
    /// `MPI_Exscan`.
    Exscan = 11,
    /// `MPI_Neighbor_*` on a communicator whose topology is not in the trace, as in versions 1 and 2.
    Neighbor = 12,
    /// `MPI_Neighbor_allgather`, `MPI_Neighbor_allgatherv`; from version 3 on.
    NeighborAllgather = 13,
    /// `MPI_Neighbor_alltoall`, `MPI_Neighbor_alltoallv`, `MPI_Neighbor_alltoallw`; from version 3 on.
    NeighborAlltoall = 14,
}

impl CollectiveOp {
    /// All collectives, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::Barrier,
        Self::Bcast,
        Self::Reduce,
        Self::Allreduce,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::Alltoall,
        Self::ReduceScatter,
        Self::Scan,
        Self::Exscan,
        Self::Neighbor,
        Self::NeighborAllgather,
        Self::NeighborAlltoall,
    ];

    /// The collective numbered `tag`.
    #[must_use]
    pub fn from_tag(tag: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(tag).ok()?.wrapping_sub(1)).copied()
    }

    /// Its name in `spec/trace.md`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
            Self::ReduceScatter => "reduce_scatter",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
            Self::Neighbor => "neighbor",
            Self::NeighborAllgather => "neighbor_allgather",
            Self::NeighborAlltoall => "neighbor_alltoall",
        }
    }
}

/// Odd multipliers of the checksum, one for each 8-byte word of a record and one for its index.
/// Digits of pi in hexadecimal, made odd: nothing-up-my-sleeve numbers whose high and low halves
/// are both far from all zeros and all ones, so that no flip of a single bit leaves the upper half
/// of a product sum unchanged (test `every_single_bit_flip_is_found`).
pub const CHECK_KEYS: [u64; 9] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7345,
    0xa409_3822_299f_31d1,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6d,
    0xc0ac_29b7_c97c_50dd,
    0x3f84_d5b5_b547_0917,
    0x9216_d5d9_8979_fb1b,
];

fn words<T: IntoBytes + Immutable>(value: &T) -> [u64; 8] {
    let bytes = value.as_bytes();
    std::array::from_fn(|word| {
        let at = word * 8;
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
    })
}

/// Upper 32 bits of `sum(word[i] * key[i]) + (index + 1) * key[8]`, modulo 2^64.
#[inline]
fn checksum_words(words: &[u64; 8], index: u64) -> u32 {
    let mut sum = index.wrapping_add(1).wrapping_mul(CHECK_KEYS[8]);
    for (word, key) in words.iter().zip(CHECK_KEYS) {
        sum = sum.wrapping_add(word.wrapping_mul(key));
    }
    (sum >> 32) as u32
}

/// The checksum of `record` (its `check` field taken as zero) as record number `index` of its rank.
#[must_use]
#[inline]
pub fn checksum(record: &Record, index: u64) -> u32 {
    checksum_words(&words(&Record { check: 0, ..*record }), index)
}

impl Record {
    /// This record with its checksum filled in for position `index` of its rank.
    #[must_use]
    pub fn sealed(self, index: u64) -> Self {
        Self { check: checksum(&self, index), ..self }
    }

    /// The kind, or `None` if the number is invalid.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_byte(self.kind)
    }

    /// Whether this record, of this kind, takes a message from matching: a receive or a matched probe. The receive of
    /// the message that a matched probe took does not, nor does a partitioned one.
    #[must_use]
    #[inline]
    pub const fn is_receiving(&self, kind: Kind) -> bool {
        self.peer != PROC_NULL
            && match kind {
                Kind::Recv => !self.has(Flags::MATCHED) && !self.has(Flags::PARTITIONED),
                Kind::Probe => self.has(Flags::MATCHED),
                _ => false,
            }
    }

    /// Of a partitioned Send or Recv, and of a [`Kind::Partition`]: the number of partitions.
    #[must_use]
    #[inline]
    pub const fn partitions(&self) -> u32 {
        (self.aux >> 32) as u32
    }

    /// Whether `flag` (of [`Flags`]) is set.
    #[must_use]
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Wall time at the start of the call, ns since the rank's first record.
    #[must_use]
    #[inline]
    pub const fn wall_ns(&self) -> u64 {
        self.wall & TIME_MASK
    }

    /// CPU time of the calling thread at the start of the call, ns.
    #[must_use]
    #[inline]
    pub const fn cpu_ns(&self) -> u64 {
        self.cpu & TIME_MASK
    }

    /// Number of the call site, 0 if unknown. From version 3 on.
    #[must_use]
    #[inline]
    pub const fn site(&self) -> u32 {
        ((self.wall >> TIME_BITS) | (self.cpu >> TIME_BITS) << (64 - TIME_BITS)) as u32
    }

    /// Of a [`Kind::Miss`] of version 3: minimum and median of the wall times between the return of the poll
    /// before and the start of a poll of this record, ns; saturates at 2^32 - 1.
    #[must_use]
    pub const fn gaps_ns(&self) -> (u32, u32) {
        (self.bytes as u32, (self.bytes >> 32) as u32)
    }

    /// The six words of a [`Kind::Extra`] record in their order: `comm | peer << 32`, `bytes`,
    /// `wall`, `cpu`, `wall_span_ns | cpu_span_ns << 32`, `aux`. Only the first `tag` of them
    /// count.
    #[must_use]
    pub const fn extra_words(&self) -> [u64; 6] {
        [
            self.comm as u64 | (self.peer as u32 as u64) << 32,
            self.bytes,
            self.wall,
            self.cpu,
            self.wall_span_ns as u64 | (self.cpu_span_ns as u64) << 32,
            self.aux,
        ]
    }

    /// Numbers of the requests that a [`Kind::Done`] completes: its own, and `aux` more.
    #[inline]
    pub fn ended(&self) -> impl Iterator<Item = u32> + use<> {
        let first = u64::from(self.request);
        let behind = first.saturating_add(self.aux).saturating_add(1).min(1 << 32);
        (first..behind).map(|number| number as u32)
    }

    /// The part of a [`Kind::Done`] that completes request `number`, started by the record `begun`,
    /// as a Done of this request alone. A Done of several has no sizes: each receive received as
    /// many bytes as its buffer holds.
    #[must_use]
    #[inline]
    pub fn done_of(&self, number: u32, begun: &Self) -> Self {
        if self.aux == 0 {
            return *self;
        }
        let (peer, tag, bytes) = match begun.kind() {
            Some(Kind::Recv) if begun.peer == PROC_NULL => (PROC_NULL, ANY_TAG, 0),
            Some(Kind::Recv) => (begun.peer, begun.tag, begun.bytes),
            _ => (0, 0, 0),
        };
        Self { request: number, aux: 0, peer, tag, bytes, ..*self }
    }

    /// A [`Kind::Extra`] record of up to six words, unsealed.
    ///
    /// # Panics
    /// When `words` is empty or longer than six.
    #[must_use]
    pub fn extra(words: &[u64]) -> Self {
        assert!((1..=6).contains(&words.len()), "an extra record holds one to six words");
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        Self {
            kind: Kind::Extra as u8,
            tag: words.len() as i32,
            comm: word(0) as u32,
            peer: (word(0) >> 32) as u32 as i32,
            bytes: word(1),
            wall: word(2),
            cpu: word(3),
            wall_span_ns: word(4) as u32,
            cpu_span_ns: (word(4) >> 32) as u32,
            aux: word(5),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_bit_flip_is_found() {
        let record = Record { kind: 3, peer: 5, tag: 77, bytes: 4096, wall: 123_456, aux: 9, ..Record::default() };
        let sealed = record.sealed(41);
        for bit in 0..512 {
            let mut bytes = <[u8; 64]>::try_from(sealed.as_bytes()).unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let flipped = Record::read_from_bytes(&bytes).unwrap();
            assert_ne!(flipped.check, checksum(&flipped, 41), "bit {bit}");
        }
        assert_ne!(sealed.check, checksum(&sealed, 42), "a record that moved");
    }

    #[test]
    fn every_kind_is_found_by_its_number() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_byte(kind as u8), Some(kind));
        }
        assert_eq!(Kind::from_byte(0), None);
        assert_eq!(Kind::from_byte(20), None);
    }

    #[test]
    fn extra_words_come_back() {
        let words = [u64::MAX, 1, 2, 3, 0xdead_beef_0000_0001, 5];
        assert_eq!(Record::extra(&words).extra_words(), words);
        assert_eq!(Record::extra(&words[..2]).extra_words(), [u64::MAX, 1, 0, 0, 0, 0]);
    }
}
