// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A trace as a table, in batches of columns: one row per record, with names for kinds and global
//! numbers for communicators and peers. Extra records have no row. A Done of several requests has
//! one row for each.
//!
//! One pass. Memory: one batch, and 8 bytes per request of the current rank, because a Done does
//! not hold its communicator.

use std::collections::BTreeMap;

use mb_core::mpi::PROC_NULL;

use crate::communicators::Communicators;
use crate::open::Trace;
use crate::record::{CollectiveOp, Flags, Kind, Record};

/// Values of a column, one per row; little-endian, as the host is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// Yes or no.
    Bool(Vec<bool>),
    /// 32 bits, unsigned.
    U32(Vec<u32>),
    /// 64 bits, unsigned.
    U64(Vec<u64>),
    /// 32 bits, signed.
    I32(Vec<i32>),
    /// Positions in a list of words.
    Word(Vec<u8>, &'static [&'static str]),
}

/// A column of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name; times and sizes carry their unit.
    pub name: &'static str,
    /// Its values; where `valid` is false, any.
    pub values: Values,
    /// Which rows have a value; `None` when all do.
    pub valid: Option<Vec<bool>>,
}

/// Kinds by number, from 1; the first is never used.
const KINDS: [&str; 20] = [
    "none",
    "init",
    "finalize",
    "send",
    "recv",
    "done",
    "wait",
    "probe",
    "miss",
    "cancel",
    "free",
    "collective",
    "comm",
    "comm_free",
    "extra",
    "other",
    "thread",
    "site",
    "topology",
    "partition",
];

/// Collectives by number, from 1; the first is never used.
const OPERATIONS: [&str; 15] = [
    "none",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce_scatter",
    "scan",
    "exscan",
    "neighbor",
    "neighbor_allgather",
    "neighbor_alltoall",
];

/// Modes of sending.
const MODES: [&str; 4] = ["standard", "synchronous", "buffered", "ready"];

/// Rows of the current batch.
#[derive(Default)]
struct Rows {
    rank: Vec<u32>,
    index: Vec<u64>,
    kind: Vec<u8>,
    thread: Vec<u32>,
    blocking: Vec<bool>,
    persistent: Vec<bool>,
    matched: Vec<bool>,
    sendrecv: Vec<bool>,
    cancelled: Vec<bool>,
    failed: Vec<bool>,
    mode: Vec<Option<u8>>,
    operation: Vec<Option<u8>>,
    comm: Vec<Option<u32>>,
    peer: Vec<Option<i32>>,
    peer_world: Vec<Option<u32>>,
    tag: Vec<Option<i32>>,
    bytes: Vec<Option<u64>>,
    request: Vec<Option<u32>>,
    aux: Vec<u64>,
    wall_ns: Vec<u64>,
    time_ns: Vec<u64>,
    wall_span_ns: Vec<u32>,
    cpu_ns: Vec<u64>,
    cpu_span_ns: Vec<u32>,
}

fn split<T: Copy + Default>(values: &[Option<T>]) -> (Vec<T>, Option<Vec<bool>>) {
    let filled = values.iter().map(|value| value.unwrap_or_default()).collect();
    (filled, Some(values.iter().map(Option::is_some).collect()))
}

impl Rows {
    fn push(
        &mut self,
        at: (u32, u64, u32),
        kind: Kind,
        record: &Record,
        comms: &Communicators,
        comm: Option<u32>,
        epoch_ns: u64,
    ) {
        let (rank, index, thread) = at;
        let has_envelope = match kind {
            Kind::Send | Kind::Recv | Kind::Probe => true,
            Kind::Done => comm.is_some(),
            Kind::Miss => record.has(Flags::PROBE),
            _ => false,
        };
        let view = comm.map(|local| comms.view(rank, local));
        let world = |peer: i32| {
            let view = view?;
            (0..comms.size(view.remote) as i32).contains(&peer).then(|| comms.world_rank(view.remote, peer as u32))
        };
        // Completed sends and cancelled requests have no status.
        let has_peer = has_envelope || kind == Kind::Collective;
        self.rank.push(rank);
        self.index.push(index);
        self.kind.push(kind as u8);
        self.thread.push(thread);
        let done = kind == Kind::Done;
        self.blocking.push(record.has(Flags::BLOCKING));
        self.persistent.push(record.has(Flags::PERSISTENT));
        self.matched.push(matches!(kind, Kind::Recv | Kind::Probe | Kind::Miss) && record.has(Flags::MATCHED));
        self.sendrecv.push(record.has(Flags::SENDRECV));
        self.cancelled.push(done && record.has(Flags::CANCELLED));
        self.failed.push(done && record.has(Flags::FAILED));
        let mode = [Flags::SYNCHRONOUS, Flags::BUFFERED, Flags::READY].iter().position(|&mode| record.has(mode));
        self.mode.push((kind == Kind::Send).then(|| mode.map_or(0, |mode| mode as u8 + 1)));
        let operation = CollectiveOp::from_tag(record.tag).filter(|_| kind == Kind::Collective);
        self.operation.push(operation.map(|operation| operation as u8));
        self.comm.push(view.map(|view| view.comm));
        self.peer.push(has_peer.then_some(record.peer));
        self.peer_world.push(if has_peer && record.peer != PROC_NULL { world(record.peer) } else { None });
        self.tag.push(has_envelope.then_some(record.tag));
        let has_bytes = matches!(kind, Kind::Send | Kind::Recv | Kind::Collective) || done && has_envelope;
        self.bytes.push(has_bytes.then_some(record.bytes));
        self.request.push((record.request != 0).then_some(record.request));
        self.aux.push(record.aux);
        self.wall_ns.push(record.wall_ns());
        self.time_ns.push(epoch_ns.saturating_add(record.wall_ns()));
        self.wall_span_ns.push(record.wall_span_ns);
        self.cpu_ns.push(record.cpu_ns());
        self.cpu_span_ns.push(record.cpu_span_ns);
    }

    fn columns(self) -> Vec<Column> {
        let column = |name, values| Column { name, values, valid: None };
        let words = |name, values: &[Option<u8>], list| {
            let (values, valid) = split(values);
            Column { name, values: Values::Word(values, list), valid }
        };
        let u32s = |name, values: &[Option<u32>]| {
            let (values, valid) = split(values);
            Column { name, values: Values::U32(values), valid }
        };
        let i32s = |name, values: &[Option<i32>]| {
            let (values, valid) = split(values);
            Column { name, values: Values::I32(values), valid }
        };
        let (bytes, has_bytes) = split(&self.bytes);
        vec![
            column("rank", Values::U32(self.rank)),
            column("index", Values::U64(self.index)),
            column("kind", Values::Word(self.kind, &KINDS)),
            column("thread", Values::U32(self.thread)),
            column("blocking", Values::Bool(self.blocking)),
            column("persistent", Values::Bool(self.persistent)),
            column("matched", Values::Bool(self.matched)),
            column("sendrecv", Values::Bool(self.sendrecv)),
            column("cancelled", Values::Bool(self.cancelled)),
            column("failed", Values::Bool(self.failed)),
            words("mode", &self.mode, &MODES),
            words("operation", &self.operation, &OPERATIONS),
            u32s("comm", &self.comm),
            i32s("peer", &self.peer),
            u32s("peer_world", &self.peer_world),
            i32s("tag", &self.tag),
            Column { name: "bytes", values: Values::U64(bytes), valid: has_bytes },
            u32s("request", &self.request),
            column("aux", Values::U64(self.aux)),
            column("wall_ns", Values::U64(self.wall_ns)),
            column("time_ns", Values::U64(self.time_ns)),
            column("wall_span_ns", Values::U32(self.wall_span_ns)),
            column("cpu_ns", Values::U64(self.cpu_ns)),
            column("cpu_span_ns", Values::U32(self.cpu_span_ns)),
        ]
    }
}

/// The batches of a trace, in order of ranks and records. See [`Trace::batches`].
pub struct Batches<'a> {
    trace: &'a Trace,
    comms: &'a Communicators,
    rows: usize,
    rank: u32,
    index: usize,
    /// Requests of the current Done that already have a row.
    within: u32,
    /// Index of the Recv or Probe by request, plus one; 0 for those whose end has no status.
    begun: Vec<u64>,
    /// Numbers of the threads whose slot was used before.
    threads: BTreeMap<u16, u32>,
}

impl Trace {
    /// The trace as columns, `rows` records at a time. `comms` are those that [`Trace::check`]
    /// returned.
    #[must_use]
    pub fn batches<'a>(&'a self, comms: &'a Communicators, rows: usize) -> Batches<'a> {
        Batches {
            trace: self,
            comms,
            rows: rows.max(1),
            rank: 0,
            index: 0,
            within: 0,
            begun: Vec::new(),
            threads: BTreeMap::new(),
        }
    }
}

impl Batches<'_> {
    /// The local communicator of `record`.
    fn comm(&mut self, kind: Kind, record: &Record) -> Option<u32> {
        match kind {
            Kind::Recv | Kind::Probe => {
                let request = record.request as usize;
                if request >= self.begun.len() {
                    self.begun.resize(request + 1, 0);
                }
                self.begun[request] = self.index as u64 + 1;
                Some(record.comm)
            }
            Kind::Send | Kind::Collective | Kind::Comm | Kind::CommFree => Some(record.comm),
            Kind::Miss if record.has(Flags::PROBE) => Some(record.comm),
            _ => None,
        }
    }
}

impl Iterator for Batches<'_> {
    type Item = Vec<Column>;

    fn next(&mut self) -> Option<Vec<Column>> {
        let mut rows = Rows::default();
        while self.rank < self.trace.ranks() && rows.rank.len() < self.rows {
            let records = self.trace.rank(self.rank);
            let epoch_ns = self.trace.epoch_ns(self.rank);
            while self.index < records.len() && rows.rank.len() < self.rows {
                let record = &records[self.index];
                if record.kind == Kind::Thread as u8 {
                    self.threads.insert(record.thread, record.aux as u32);
                }
                let thread = self.threads.get(&record.thread).copied().unwrap_or(u32::from(record.thread));
                let at = (self.rank, self.index as u64, thread);
                if record.kind == Kind::Done as u8 {
                    let number = record.request + self.within;
                    let begun = self.begun.get(number as usize).and_then(|at| records.get(at.checked_sub(1)? as usize));
                    let done = record.done_of(number, begun.unwrap_or(&Record::default()));
                    let comm = begun.filter(|_| !done.has(Flags::CANCELLED)).map(|begun| begun.comm);
                    rows.push(at, Kind::Done, &done, self.comms, comm, epoch_ns);
                    if u64::from(self.within) < record.aux {
                        self.within += 1;
                        continue;
                    }
                    self.within = 0;
                } else if let Some(kind) = record.kind().filter(|&kind| kind != Kind::Extra) {
                    let comm = self.comm(kind, record);
                    rows.push(at, kind, record, self.comms, comm, epoch_ns);
                }
                self.index += 1;
            }
            if self.index >= records.len() {
                self.rank += 1;
                self.index = 0;
                self.begun.clear();
                self.threads.clear();
            }
        }
        (!rows.rank.is_empty()).then(|| rows.columns())
    }
}
