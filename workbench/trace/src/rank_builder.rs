// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds the records of one rank in program order: numbers requests, counts sends, advances the
//! clock.
//!
//! The records satisfy every rule of the format if the caller completes each request at most once.
//! Tests that need invalid records modify the result. Calls take no time; [`RankBuilder::compute`]
//! advances it.

use mb_core::mpi::{ANY_SOURCE, ANY_TAG, PROC_NULL};

use crate::communicators::RankRun;
use crate::counts::{Counts, destination};
use crate::record::{CollectiveOp, Flags, Kind, Record};
use crate::topology::TopologyForm;

/// The result of a receive or probe: resolved source, tag and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Rank in the communicator.
    pub source: i32,
    /// Tag of the message.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
}

/// A started operation, and the status with which it will complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Request {
    /// Its number in the rank.
    pub number: u32,
    /// Zeros for sends; as posted for receives, unless set by [`Request::from`].
    pub status: Status,
    /// The status that its record implies (`spec/trace.md`, T-9); `None` for a receive with a
    /// wildcard.
    pub implied: Option<Status>,
}

impl Request {
    /// The same receive, completed by the message of `source` with `tag` and `bytes`.
    pub const fn from(self, source: i32, tag: i32, bytes: u64) -> Self {
        Self { status: Status { source, tag, bytes }, ..self }
    }

    /// A send or a collective, whose status is zeros.
    fn implied(number: u32) -> Self {
        Self { number, status: Status::default(), implied: Some(Status::default()) }
    }

    fn is_as_implied(&self) -> bool {
        self.implied == Some(self.status)
    }
}

/// Builder of the records of one rank.
#[derive(Clone, Debug)]
pub struct RankBuilder {
    rank: u32,
    records: Vec<Record>,
    wall_ns: u64,
    cpu_ns: u64,
    thread: u16,
    requests: u32,
    comms: u32,
    sends: Counts,
}

impl RankBuilder {
    /// World rank `rank` of `world`, after `MPI_Init`.
    #[must_use]
    pub fn new(rank: u32, world: u32) -> Self {
        let mut program = Self {
            rank,
            records: Vec::new(),
            wall_ns: 0,
            cpu_ns: 0,
            thread: 0,
            requests: 0,
            comms: 0,
            sends: Counts::default(),
        };
        program.push(Record { kind: Kind::Init as u8, ..Record::default() });
        program.comm(0, &[RankRun::all(world)], None);
        program.comm(1 + u64::from(rank), &[RankRun::one(rank)], None);
        program
    }

    /// World rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The records since the start, or since [`RankBuilder::take_records`].
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns and removes the records so far, so that long ranks need not be kept in memory.
    #[must_use]
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// Wall time since the first record, ns.
    #[must_use]
    pub fn wall_ns(&self) -> u64 {
        self.wall_ns
    }

    /// Appends `record` with the current thread and time, and its call site.
    pub fn push(&mut self, record: Record) {
        let (wall, cpu) = (record.wall | self.wall_ns, record.cpu | self.cpu_ns);
        self.records.push(Record { thread: self.thread, wall, cpu, ..record });
    }

    /// Appends `record` and the words that belong to it (version 3).
    pub fn push_with(&mut self, record: Record, words: &[u64]) {
        self.push(Record { bytes: words.len() as u64, ..record });
        self.extra(words);
    }

    /// Another thread, in order of the first MPI call `number`, takes the current slot (version 3).
    pub fn thread_begins(&mut self, number: u32) {
        self.cpu_ns = 0;
        self.push(Record { kind: Kind::Thread as u8, aux: u64::from(number), ..Record::default() });
    }

    /// The calls that follow are made by thread number `thread`.
    pub fn thread(&mut self, thread: u16) {
        self.thread = thread;
    }

    /// Computes for `ns`.
    pub fn compute(&mut self, ns: u64) {
        self.wall_ns = self.wall_ns.saturating_add(ns);
        self.cpu_ns = self.cpu_ns.saturating_add(ns);
    }

    /// Passes `ns` without computing.
    pub fn idle(&mut self, ns: u64) {
        self.wall_ns = self.wall_ns.saturating_add(ns);
    }

    fn number(&mut self) -> u32 {
        self.requests += 1;
        self.requests
    }

    /// Starts a send.
    fn start_send(&mut self, flags: u8, request: u32, comm: u32, peer: i32, tag: i32, bytes: u64) {
        let aux = if peer == PROC_NULL { 0 } else { self.sends.next(destination(comm, peer)) };
        self.push(Record { kind: Kind::Send as u8, flags, comm, peer, tag, bytes, request, aux, ..Record::default() });
    }

    /// `MPI_Isend` of `bytes` to rank `peer` of `comm`.
    pub fn isend(&mut self, comm: u32, peer: i32, tag: i32, bytes: u64) -> Request {
        self.isend_with(0, comm, peer, tag, bytes)
    }

    /// A nonblocking send in another mode or from a persistent request: see [`Flags`].
    pub fn isend_with(&mut self, flags: u8, comm: u32, peer: i32, tag: i32, bytes: u64) -> Request {
        let number = self.number();
        self.start_send(flags, number, comm, peer, tag, bytes);
        Request::implied(number)
    }

    /// `MPI_Send`.
    pub fn send(&mut self, comm: u32, peer: i32, tag: i32, bytes: u64) {
        self.start_send(Flags::BLOCKING, 0, comm, peer, tag, bytes);
    }

    /// `MPI_Irecv` with `room` bytes of buffer. Unless changed, it completes with the status that
    /// it was posted with.
    pub fn irecv(&mut self, comm: u32, source: i32, tag: i32, room: u64) -> Request {
        self.irecv_with(0, comm, source, tag, room)
    }

    /// A receive from a persistent request, or half of a send-receive: see [`Flags`].
    pub fn irecv_with(&mut self, flags: u8, comm: u32, source: i32, tag: i32, room: u64) -> Request {
        let request = self.number();
        self.push(Record {
            kind: Kind::Recv as u8,
            flags,
            comm,
            peer: source,
            tag,
            bytes: room,
            request,
            ..Record::default()
        });
        let status = match source {
            PROC_NULL => Status { source: PROC_NULL, tag: ANY_TAG, bytes: 0 },
            _ => Status { source, tag, bytes: room },
        };
        let wild = source == ANY_SOURCE || source != PROC_NULL && tag == ANY_TAG;
        Request { number: request, status, implied: (!wild).then_some(status) }
    }

    /// `MPI_Recv` that returned with `status`.
    pub fn recv(&mut self, comm: u32, source: i32, tag: i32, room: u64, status: Status) {
        let request = self.irecv_with(Flags::BLOCKING, comm, source, tag, room);
        self.done(request.from(status.source, status.tag, status.bytes));
    }

    /// `MPI_Sendrecv` with `tag`: peer and bytes of the message sent, and of the one received.
    pub fn sendrecv(&mut self, comm: u32, tag: i32, to: (i32, u64), from: (i32, u64)) {
        let halves = [
            self.isend_with(Flags::SENDRECV, comm, to.0, tag, to.1),
            self.irecv_with(Flags::SENDRECV, comm, from.0, tag, from.1),
        ];
        self.push(Record {
            kind: Kind::Wait as u8,
            flags: Flags::BLOCKING,
            aux: halves.len() as u64,
            ..Record::default()
        });
        for half in halves {
            self.done(half);
        }
    }

    /// `MPI_Waitall`, or another wait that completed these requests. Consecutive requests that
    /// completed as their records imply share one [`Kind::Done`].
    pub fn wait(&mut self, finished: &[Request]) {
        self.finish(Flags::BLOCKING, finished);
    }

    /// A `MPI_Test*` that completed these requests.
    pub fn test(&mut self, finished: &[Request]) {
        self.finish(0, finished);
    }

    fn finish(&mut self, flags: u8, finished: &[Request]) {
        let follows = |one: &Request, next: &Request| {
            one.is_as_implied() && next.is_as_implied() && next.number == one.number + 1
        };
        let runs = || finished.chunk_by(follows);
        self.push(Record { kind: Kind::Wait as u8, flags, aux: runs().count() as u64, ..Record::default() });
        for run in runs() {
            if let [one] = run {
                self.done(*one);
            } else {
                let (request, aux) = (run[0].number, run.len() as u64 - 1);
                self.push(Record { kind: Kind::Done as u8, request, aux, ..Record::default() });
            }
        }
    }

    /// A single [`Kind::Done`].
    pub fn done(&mut self, request: Request) {
        self.done_with(0, request);
    }

    /// A [`Kind::Done`] that is cancelled or failed.
    pub fn done_with(&mut self, flags: u8, request: Request) {
        let Request { number: request, status: Status { source: peer, tag, bytes }, .. } = request;
        self.push(Record { kind: Kind::Done as u8, flags, peer, tag, bytes, request, ..Record::default() });
    }

    /// A probe that found `status`; with [`Flags::MATCHED`] the returned number is for
    /// [`RankBuilder::mrecv`].
    pub fn probe(&mut self, flags: u8, comm: u32, source: i32, tag: i32, status: Status) -> u32 {
        let number = self.number();
        self.push(Record {
            kind: Kind::Probe as u8,
            flags,
            comm,
            peer: source,
            tag,
            request: number,
            ..Record::default()
        });
        self.done(Request { number, status, implied: None });
        number
    }

    /// `MPI_Imrecv` of the message of matched probe `probe`.
    pub fn mrecv(&mut self, comm: u32, probe: u32, room: u64) -> Request {
        let number = self.number();
        self.push(Record {
            kind: Kind::Recv as u8,
            flags: Flags::MATCHED,
            comm,
            peer: ANY_SOURCE,
            tag: ANY_TAG,
            bytes: room,
            request: number,
            aux: u64::from(probe),
            ..Record::default()
        });
        Request { number, status: Status::default(), implied: None }
    }

    /// `calls` unsuccessful tests in a row.
    pub fn miss(&mut self, calls: u64) {
        self.push(Record { kind: Kind::Miss as u8, aux: calls, ..Record::default() });
    }

    /// `calls` unsuccessful probes in a row.
    pub fn probe_miss(&mut self, comm: u32, source: i32, tag: i32, calls: u64) {
        let flags = Flags::PROBE;
        self.push(Record { kind: Kind::Miss as u8, flags, comm, peer: source, tag, aux: calls, ..Record::default() });
    }

    /// `MPI_Start` of a partitioned send or receive, by kind: of those to or from `peer` with `tag`, the one that
    /// was initialized after `earlier` others (version 3).
    pub fn start_partitioned(
        &mut self,
        kind: Kind,
        comm: u32,
        (peer, tag): (i32, i32),
        bytes: u64,
        earlier: u32,
        partitions: u32,
    ) -> Request {
        let request = self.number();
        let flags = Flags::PERSISTENT | Flags::PARTITIONED;
        let aux = u64::from(earlier) | u64::from(partitions) << 32;
        self.push(Record { kind: kind as u8, flags, comm, peer, tag, bytes, request, aux, ..Record::default() });
        let status = match kind {
            Kind::Recv => Status { source: peer, tag, bytes },
            _ => Status::default(),
        };
        Request { number: request, status, implied: Some(status) }
    }

    /// `MPI_Pready` of partitions of a send, or `MPI_Parrived` of a receive that found its partition (version 3).
    pub fn partition(&mut self, request: Request, first: u32, count: u32) {
        let aux = u64::from(first) | u64::from(count) << 32;
        self.push(Record { kind: Kind::Partition as u8, request: request.number, aux, ..Record::default() });
    }

    /// `MPI_Cancel`; finish the request with [`RankBuilder::done_with`] and [`Flags::CANCELLED`].
    pub fn cancel(&mut self, request: Request) {
        self.push(Record { kind: Kind::Cancel as u8, request: request.number, ..Record::default() });
    }

    /// `MPI_Request_free` of an active request.
    pub fn free(&mut self, request: Request) {
        self.push(Record { kind: Kind::Free as u8, request: request.number, ..Record::default() });
    }

    /// A blocking collective: `root` or -1, bytes sent and received as in [`Kind::Collective`];
    /// `words` are the counts per peer of a vector form.
    pub fn collective(&mut self, op: CollectiveOp, comm: u32, root: i32, sent: u64, received: u64, words: &[u64]) {
        self.start_collective(Flags::BLOCKING, 0, op, comm, root, (sent, received), words);
    }

    /// A nonblocking collective: see [`RankBuilder::collective`].
    pub fn icollective(
        &mut self,
        op: CollectiveOp,
        comm: u32,
        root: i32,
        sent: u64,
        received: u64,
        words: &[u64],
    ) -> Request {
        let number = self.number();
        self.start_collective(0, number, op, comm, root, (sent, received), words);
        Request::implied(number)
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of one record")]
    fn start_collective(
        &mut self,
        flags: u8,
        request: u32,
        op: CollectiveOp,
        comm: u32,
        root: i32,
        (bytes, aux): (u64, u64),
        words: &[u64],
    ) {
        let flags = if words.is_empty() { flags } else { flags | Flags::VECTOR };
        let kind = Kind::Collective as u8;
        self.push(Record { kind, flags, comm, peer: root, tag: op as i32, bytes, request, aux, ..Record::default() });
        self.extra(words);
    }

    /// A communicator with these groups; `remote` makes it an intercommunicator. Returns its local
    /// number.
    ///
    /// # Panics
    /// When a group has more than 2^31 - 1 members.
    pub fn comm(&mut self, identity: u64, local: &[RankRun], remote: Option<&[RankRun]>) -> u32 {
        let size =
            |runs: &[RankRun]| i32::try_from(runs.iter().map(|run| run.length).sum::<u32>()).expect("31 bits of ranks");
        let words: Vec<u64> = local
            .iter()
            .chain(remote.unwrap_or_default())
            .flat_map(|run| [u64::from(run.first) | u64::from(run.stride as u32) << 32, u64::from(run.length)])
            .collect();
        let number = self.comms;
        self.comms += 1;
        self.push(Record {
            kind: Kind::Comm as u8,
            comm: number,
            tag: size(local),
            peer: remote.map_or(-1, size),
            bytes: words.len() as u64,
            aux: identity,
            ..Record::default()
        });
        self.extra(&words);
        number
    }

    /// The topology of the newest communicator (version 3): the sources and destinations of this rank, with
    /// `MPI_PROC_NULL` as in [`mb_core::mpi`].
    ///
    /// # Panics
    /// When there are more than 2^31 - 1 of them.
    pub fn topology(&mut self, form: TopologyForm, sources: &[i32], destinations: &[i32]) {
        let words: Vec<u64> = sources.iter().chain(destinations).map(|&rank| u64::from(rank as u32)).collect();
        let count = |ranks: &[i32]| i32::try_from(ranks.len()).expect("31 bits of neighbours");
        let record = Record {
            kind: Kind::Topology as u8,
            comm: self.comms - 1,
            peer: count(sources),
            tag: count(destinations),
            aux: form as u64,
            ..Record::default()
        };
        self.push_with(record, &words);
    }

    /// `MPI_Comm_free`.
    pub fn comm_free(&mut self, comm: u32) {
        self.push(Record { kind: Kind::CommFree as u8, comm, ..Record::default() });
    }

    fn extra(&mut self, words: &[u64]) {
        self.records.extend(words.chunks(6).map(Record::extra));
    }

    /// `MPI_Finalize`. Returns the records, not yet sealed.
    #[must_use]
    pub fn finalize(mut self) -> Vec<Record> {
        self.push(Record { kind: Kind::Finalize as u8, ..Record::default() });
        self.records
    }
}
