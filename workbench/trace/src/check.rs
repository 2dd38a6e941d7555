// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Proves the rules of records, T-6 to T-16, rank by rank, and gathers the communicators on the way.
//!
//! One pass; time is linear in the records. Memory: 8 bytes per request between the oldest unfinished one and the
//! newest, 16 to 32 per distinct destination of a rank's sends, and the communicators; all bounded by the records that are there,
//! whatever sizes they claim.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use mb_core::mpi::{ANY_SOURCE, ANY_TAG, PROC_NULL};

use crate::communicators::{Builder, Communicators, Run};
use crate::counts::{Counts, destination};
use crate::error::{Place, TraceError};
use crate::open::{RankEnd, Trace};
use crate::record::{CollectiveOp, Flags, Kind, Record, checksum};

/// T-6: no message and no buffer is larger (256 TiB).
const MAX_BYTES: u64 = 1 << 48;

/// T-6: no more calls are collapsed into one record.
const MAX_CALLS: u64 = 1 << 48;

/// T-12: no time is later, ns.
const MAX_TIME_NS: u64 = 1 << 53;

/// T-8: how far a request's number may run ahead of the records before it.
const NUMBERS_AHEAD: u64 = 1 << 10;

/// T-16: `MPI_ROOT` as traces write it (MPI 5.0 ABI).
const ROOT: i32 = -4;

impl Trace {
    /// Checks every field of every record. `progress` is told after each rank how many are done, and can stop the work.
    ///
    /// # Errors
    /// The first defect, by file, rank, record and rule; [`TraceError::Interrupted`] when `progress` breaks.
    pub fn check(&self, mut progress: impl FnMut(u32) -> ControlFlow<()>) -> Result<Communicators, TraceError> {
        let mut builder = Builder::new(self.ranks());
        let mut scratch = Scratch::default();
        for rank in 0..self.ranks() {
            builder.next_rank();
            scratch.clear();
            let records = self.rank(rank);
            let mut check = RankCheck {
                rank,
                world: self.ranks(),
                records,
                other_calls: self.meta().other_calls.len() as u64,
                builder: &mut builder,
                scratch: &mut scratch,
            };
            let finalized = self.end(rank) == RankEnd::Finalized;
            check.all(finalized).map_err(|(index, (rule, reason))| {
                let place = index.map_or(Place::Rank(rank), |index| Place::Record { rank, index: index as u64 });
                TraceError::defect(self.file(rank), place, rule, reason)
            })?;
            if progress(rank + 1).is_break() {
                return Err(TraceError::Interrupted);
            }
        }
        Ok(builder.finish())
    }
}

/// The number of the broken rule, and what was found and expected.
type Broken = (u8, String);

fn broken<T>(rule: u8, reason: impl Into<String>) -> Result<T, Broken> {
    Err((rule, reason.into()))
}

/// What the next record of a thread must be.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Owed {
    #[default]
    Nothing,
    /// The Done of this request.
    DoneOf(u32),
    /// So many Done records, for a Wait.
    Dones(u64),
}

#[derive(Clone, Copy, Default)]
struct Thread {
    /// One more than the rank this belongs to: what a former rank left is void.
    of_rank: u32,
    wall_ns: u64,
    cpu_ns: u64,
    owed: Owed,
}

/// Where a request stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Unused,
    /// Started by the record at this index.
    Active(usize),
    /// A matched probe, at this index, whose message was not received yet.
    Found(usize),
    Gone,
}

/// Requests by number. Finished ones at the front are dropped.
#[derive(Default)]
struct Requests {
    /// Numbers below this one (and 0) are gone; number `gone + i` is at `slots[i]`.
    gone: u32,
    slots: VecDeque<u64>,
}

impl Requests {
    const GONE: u64 = u64::MAX;

    #[inline]
    fn stage(&self, number: u32) -> Stage {
        let Some(at) = number.checked_sub(self.gone) else { return Stage::Gone };
        match self.slots.get(at as usize) {
            None | Some(0) => Stage::Unused,
            Some(&Self::GONE) => Stage::Gone,
            Some(slot) if slot & 1 == 1 => Stage::Active((slot >> 1) as usize),
            Some(slot) => Stage::Found((slot >> 1) as usize - 1),
        }
    }

    #[inline]
    fn set(&mut self, number: u32, stage: Stage) {
        let at = (number - self.gone) as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, 0);
        }
        self.slots[at] = match stage {
            Stage::Unused => 0,
            Stage::Active(index) => (index as u64) << 1 | 1,
            Stage::Found(index) => (index as u64 + 1) << 1,
            Stage::Gone => Self::GONE,
        };
        while self.slots.front() == Some(&Self::GONE) {
            self.slots.pop_front();
            self.gone += 1;
        }
    }
}

/// A local communicator: size of the remote group, or `None` when freed.
type Peers = Option<u32>;

/// State of one rank, kept over ranks for its allocations.
#[derive(Default)]
struct Scratch {
    threads: Vec<Thread>,
    requests: Requests,
    sends: Counts,
    comms: Vec<Peers>,
    words: Vec<u64>,
}

impl Scratch {
    fn clear(&mut self) {
        self.requests.gone = 0;
        self.requests.slots.clear();
        // Number 0 means none: gone from the start.
        self.requests.set(0, Stage::Gone);
        self.sends.clear();
        self.comms.clear();
    }
}

struct RankCheck<'a> {
    rank: u32,
    world: u32,
    records: &'a [Record],
    other_calls: u64,
    builder: &'a mut Builder,
    scratch: &'a mut Scratch,
}

/// Fields beyond the common ones that a kind uses; the others must be zero.
#[derive(Clone, Copy)]
struct Fields(u8);

impl Fields {
    const NONE: Self = Self(0);
    const COMM: Self = Self(1);
    const PEER: Self = Self(2);
    const TAG: Self = Self(4);
    const BYTES: Self = Self(8);
    const REQUEST: Self = Self(16);
    const AUX: Self = Self(32);
    /// What a message is matched by.
    const ENVELOPE: Self = Self(1 | 2 | 4);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is wrong with a peer or tag, in words.
fn expected_rank(size: u32, also: &str) -> String {
    format!("expected a rank below {size}{also}")
}

impl<'a> RankCheck<'a> {
    fn all(&mut self, finalized: bool) -> Result<(), (Option<usize>, Broken)> {
        let mut index = 0;
        while index < self.records.len() {
            index += self.record(index).map_err(|broken| (Some(index), broken))?;
        }
        let last = self.records.last().and_then(Record::kind);
        if finalized && last != Some(Kind::Finalize) {
            let found = last.map_or("nothing".to_owned(), |kind| format!("{kind:?}"));
            let place = self.records.len().checked_sub(1);
            return Err((place, (11, format!("the last record is {found}, expected Finalize"))));
        }
        Ok(())
    }

    /// The record at `index` if its checksum is right.
    #[inline]
    fn sealed(&self, index: usize) -> Result<&'a Record, Broken> {
        let record = &self.records[index];
        let expected = checksum(record, index as u64);
        if record.check != expected {
            return broken(13, format!("checksum is {:08x}, expected {expected:08x}", record.check));
        }
        Ok(record)
    }

    /// Checks the record at `index` and the Extra records behind it; returns how many these are together.
    #[inline]
    fn record(&mut self, index: usize) -> Result<usize, Broken> {
        let record = self.sealed(index)?;
        let Some(kind) = record.kind() else {
            return broken(6, format!("kind is {}, expected 1 to 15", record.kind));
        };
        if self.scratch.comms.len() < 2 {
            let expected = if index == 0 { Kind::Init } else { Kind::Comm };
            if kind != expected {
                return broken(11, format!("record is {kind:?}, expected {expected:?}"));
            }
        }
        self.common(kind, record)?;
        match kind {
            Kind::Init => Self::init(index, record)?,
            Kind::Finalize => self.finalize(index, record)?,
            Kind::Send => self.send(index, record)?,
            Kind::Recv => self.recv(index, record)?,
            Kind::Done => self.done(record)?,
            Kind::Wait => {
                only(record, Fields::AUX, Flags::BLOCKING)?;
                if record.aux > index as u64 {
                    return broken(8, format!("aux is {}, expected at most the {index} records before", record.aux));
                }
                if record.aux > 0 {
                    self.owe(record, Owed::Dones(record.aux));
                }
            }
            Kind::Probe => self.probe(index, record)?,
            Kind::Miss => self.miss(record)?,
            Kind::Cancel => {
                only(record, Fields::REQUEST, 0)?;
                self.active(record.request, &[Kind::Send, Kind::Recv])?;
                self.builder.may_race();
            }
            Kind::Free => {
                only(record, Fields::REQUEST, 0)?;
                self.active(record.request, &[Kind::Send, Kind::Recv, Kind::Collective])?;
                self.scratch.requests.set(record.request, Stage::Gone);
            }
            Kind::Collective => return self.collective(index, record),
            Kind::Comm => return self.comm(index, record),
            Kind::CommFree => {
                only(record, Fields::COMM, 0)?;
                self.peers(record.comm)?;
                if record.comm < 2 {
                    return broken(11, format!("communicator {} is freed, expected one above 1", record.comm));
                }
                self.scratch.comms[record.comm as usize] = None;
            }
            Kind::Extra => {
                return broken(16, "an Extra record stands alone, expected it behind a Comm or a Collective");
            }
            Kind::Other => {
                only(record, Fields::AUX, 0)?;
                if record.aux >= self.other_calls {
                    let listed = self.other_calls;
                    return broken(6, format!("aux is {}, expected an index in the {listed} other_calls", record.aux));
                }
            }
        }
        Ok(1)
    }

    /// Times of the thread, and what it owes.
    #[inline]
    fn common(&mut self, kind: Kind, record: &Record) -> Result<(), Broken> {
        if kind == Kind::Extra {
            return Ok(());
        }
        let at = usize::from(record.thread);
        if at >= self.scratch.threads.len() {
            self.scratch.threads.resize(at + 1, Thread::default());
        }
        let thread = &mut self.scratch.threads[at];
        if thread.of_rank != self.rank + 1 {
            *thread = Thread { of_rank: self.rank + 1, ..Thread::default() };
        }
        if record.wall_ns < thread.wall_ns || record.wall_ns > MAX_TIME_NS {
            return broken(12, format!("wall_ns is {}, expected {} to 2^53", record.wall_ns, thread.wall_ns));
        }
        if record.cpu_ns < thread.cpu_ns || record.cpu_ns > MAX_TIME_NS {
            return broken(12, format!("cpu_ns is {}, expected {} to 2^53", record.cpu_ns, thread.cpu_ns));
        }
        thread.wall_ns = record.wall_ns;
        thread.cpu_ns = record.cpu_ns;
        match thread.owed {
            Owed::Nothing if kind != Kind::Done => Ok(()),
            Owed::Nothing => broken(8, "a Done without a Wait, a blocking receive or a probe before it in its thread"),
            _ if kind != Kind::Done => {
                let thread = record.thread;
                broken(8, format!("record is {kind:?}, expected the Done that thread {thread} owes"))
            }
            Owed::DoneOf(request) if record.request == request && record.aux == 0 => {
                thread.owed = Owed::Nothing;
                Ok(())
            }
            Owed::DoneOf(request) if record.request == request => {
                broken(8, format!("Done of request {request} and {} more, expected {request} alone", record.aux))
            }
            Owed::DoneOf(request) => broken(8, format!("Done of request {}, expected {request}", record.request)),
            Owed::Dones(count) => {
                thread.owed = if count > 1 { Owed::Dones(count - 1) } else { Owed::Nothing };
                Ok(())
            }
        }
    }

    #[inline]
    fn owe(&mut self, record: &Record, owed: Owed) {
        self.scratch.threads[usize::from(record.thread)].owed = owed;
    }

    fn init(index: usize, record: &Record) -> Result<(), Broken> {
        only(record, Fields::AUX, 0)?;
        if index != 0 {
            return broken(11, "a second Init");
        }
        if record.aux > 3 {
            return broken(6, format!("the thread level is {}, expected 0 to 3", record.aux));
        }
        Ok(())
    }

    fn finalize(&self, index: usize, record: &Record) -> Result<(), Broken> {
        only(record, Fields::NONE, 0)?;
        if index + 1 != self.records.len() {
            let behind = self.records.len() - index - 1;
            return broken(11, format!("{behind} records behind Finalize, expected none"));
        }
        Ok(())
    }

    /// Size of the group that peers in `comm` count.
    #[inline]
    fn peers(&self, comm: u32) -> Result<u32, Broken> {
        match self.scratch.comms.get(comm as usize) {
            Some(Some(size)) => Ok(*size),
            Some(None) => broken(11, format!("communicator {comm} was freed")),
            None => broken(11, format!("comm is {comm}, expected one of the {} so far", self.scratch.comms.len())),
        }
    }

    /// Checks that `number` can be the next request and starts it.
    #[inline]
    fn start(&mut self, index: usize, number: u32) -> Result<(), Broken> {
        let limit = index as u64 + NUMBERS_AHEAD;
        if number == 0 || u64::from(number) > limit {
            return broken(8, format!("request is {number}, expected 1 to {limit}"));
        }
        if self.scratch.requests.stage(number) != Stage::Unused {
            return broken(8, format!("request {number} was used before"));
        }
        self.scratch.requests.set(number, Stage::Active(index));
        Ok(())
    }

    /// The record that started the active request `number`, which must be of one of `kinds`.
    #[inline]
    fn active(&self, number: u32, kinds: &[Kind]) -> Result<(usize, &'a Record, Kind), Broken> {
        match self.scratch.requests.stage(number) {
            Stage::Active(index) => {
                let record = &self.records[index];
                let kind = record.kind().expect("checked when it started");
                if kinds.contains(&kind) {
                    return Ok((index, record, kind));
                }
                broken(11, format!("request {number} is a {kind:?}, expected one of {kinds:?}"))
            }
            Stage::Unused => broken(11, format!("request {number} was not started")),
            Stage::Found(_) | Stage::Gone => broken(11, format!("request {number} is finished")),
        }
    }

    #[inline]
    fn send(&mut self, index: usize, record: &Record) -> Result<(), Broken> {
        const MODES: u8 = Flags::SYNCHRONOUS | Flags::BUFFERED | Flags::READY;
        const FIELDS: Fields = Fields::ENVELOPE.and(Fields::BYTES).and(Fields::REQUEST).and(Fields::AUX);
        only(record, FIELDS, Flags::BLOCKING | Flags::PERSISTENT | MODES | Flags::SENDRECV)?;
        if (record.flags & MODES).count_ones() > 1 {
            return broken(6, format!("flags are {:#04x}, expected at most one mode of sending", record.flags));
        }
        form(record)?;
        let size = self.peers(record.comm)?;
        let count = if record.peer == PROC_NULL {
            0
        } else {
            if record.peer < 0 || record.peer as u32 >= size {
                let expected = expected_rank(size, " or -3 (MPI_PROC_NULL)");
                return broken(6, format!("peer is {}, {expected}", record.peer));
            }
            if record.tag < 0 {
                return broken(6, format!("tag is {}, expected one from 0 on", record.tag));
            }
            self.scratch.sends.next(destination(record.comm, record.peer))
        };
        if record.aux != count {
            return broken(6, format!("aux is {}, expected {count} earlier sends to peer {}", record.aux, record.peer));
        }
        size_of_message(record.bytes)?;
        if record.has(Flags::BLOCKING) {
            if record.request != 0 {
                return broken(8, format!("request of a blocking send is {}, expected 0", record.request));
            }
            return Ok(());
        }
        self.start(index, record.request)
    }

    /// Checks source and tag as posted or probed for.
    #[inline]
    fn pattern(&mut self, record: &Record) -> Result<(), Broken> {
        let size = self.peers(record.comm)?;
        if !(record.peer >= 0 && (record.peer as u32) < size || matches!(record.peer, ANY_SOURCE | PROC_NULL)) {
            let expected = expected_rank(size, ", -1 (MPI_ANY_SOURCE) or -3 (MPI_PROC_NULL)");
            return broken(6, format!("peer is {}, {expected}", record.peer));
        }
        if record.tag < 0 && record.tag != ANY_TAG && record.peer != PROC_NULL {
            return broken(6, format!("tag is {}, expected one from 0 on or -2 (MPI_ANY_TAG)", record.tag));
        }
        if record.peer == ANY_SOURCE || record.tag == ANY_TAG {
            self.builder.may_race();
        }
        Ok(())
    }

    #[inline]
    fn recv(&mut self, index: usize, record: &Record) -> Result<(), Broken> {
        const FIELDS: Fields = Fields::ENVELOPE.and(Fields::BYTES).and(Fields::REQUEST);
        let matched = record.has(Flags::MATCHED);
        let fields = if matched { FIELDS.and(Fields::AUX) } else { FIELDS };
        only(record, fields, Flags::BLOCKING | Flags::PERSISTENT | Flags::MATCHED | Flags::SENDRECV)?;
        form(record)?;
        self.pattern(record)?;
        size_of_message(record.bytes)?;
        if matched {
            let probe = u32::try_from(record.aux).map_or(Stage::Unused, |number| self.scratch.requests.stage(number));
            let Stage::Found(found) = probe else {
                let reason = format!("aux is {}, expected a matched probe whose message is not received", record.aux);
                return broken(8, reason);
            };
            let comm = self.records[found].comm;
            if (record.comm, record.peer, record.tag) != (comm, ANY_SOURCE, ANY_TAG) {
                let reason = format!(
                    "comm, peer and tag are {}, {} and {}, expected {comm}, -1 and -2",
                    record.comm, record.peer, record.tag
                );
                return broken(8, reason);
            }
            self.scratch.requests.set(record.aux as u32, Stage::Gone);
        }
        self.start(index, record.request)?;
        if record.has(Flags::BLOCKING) {
            self.owe(record, Owed::DoneOf(record.request));
        }
        Ok(())
    }

    fn probe(&mut self, index: usize, record: &Record) -> Result<(), Broken> {
        only(record, Fields::ENVELOPE.and(Fields::REQUEST), Flags::BLOCKING | Flags::MATCHED)?;
        self.pattern(record)?;
        self.start(index, record.request)?;
        self.owe(record, Owed::DoneOf(record.request));
        Ok(())
    }

    fn miss(&mut self, record: &Record) -> Result<(), Broken> {
        if record.has(Flags::PROBE) {
            only(record, Fields::ENVELOPE.and(Fields::AUX), Flags::PROBE | Flags::MATCHED)?;
            self.pattern(record)?;
        } else {
            only(record, Fields::AUX, 0)?;
        }
        if record.aux == 0 || record.aux > MAX_CALLS {
            return broken(6, format!("aux is {}, expected 1 to 2^48 calls", record.aux));
        }
        Ok(())
    }

    #[inline]
    fn done(&mut self, record: &Record) -> Result<(), Broken> {
        const FIELDS: Fields = Fields::PEER.and(Fields::TAG).and(Fields::BYTES).and(Fields::REQUEST).and(Fields::AUX);
        if record.aux > 0 {
            return self.done_of_several(record);
        }
        only(record, FIELDS, Flags::CANCELLED | Flags::FAILED)?;
        let kinds = [Kind::Recv, Kind::Send, Kind::Probe, Kind::Collective];
        let (index, begun, kind) = self.active(record.request, &kinds)?;
        let stage = if kind == Kind::Probe && begun.has(Flags::MATCHED) && record.peer != PROC_NULL {
            Stage::Found(index)
        } else {
            Stage::Gone
        };
        self.scratch.requests.set(record.request, stage);
        let status = (record.peer, record.tag, record.bytes);
        let cancelled = record.has(Flags::CANCELLED);
        if cancelled || matches!(kind, Kind::Send | Kind::Collective) {
            if status != (0, 0, 0) {
                return broken(9, format!("peer, tag and bytes are {status:?}, expected zeros"));
            }
            if cancelled && !matches!(kind, Kind::Send | Kind::Recv) {
                return broken(9, format!("a {kind:?} is cancelled, expected a Send or a Recv"));
            }
            return Ok(());
        }
        if begun.peer == PROC_NULL {
            if status != (PROC_NULL, ANY_TAG, 0) {
                return broken(10, format!("peer, tag and bytes are {status:?}, expected (-3, -2, 0)"));
            }
            return Ok(());
        }
        // The communicator may be freed by now; its group is known all the same.
        let size = self.builder.size(self.builder.view(self.rank, begun.comm).remote);
        if record.peer < 0 || record.peer as u32 >= size || (begun.peer != ANY_SOURCE && begun.peer != record.peer) {
            let expected =
                if begun.peer == ANY_SOURCE { expected_rank(size, "") } else { format!("expected {}", begun.peer) };
            return broken(9, format!("peer is {}, {expected}", record.peer));
        }
        if record.tag < 0 || (begun.tag != ANY_TAG && begun.tag != record.tag) {
            let expected = if begun.tag == ANY_TAG { "one from 0 on".to_owned() } else { begun.tag.to_string() };
            return broken(9, format!("tag is {}, expected {expected}", record.tag));
        }
        size_of_message(record.bytes)?;
        if kind == Kind::Recv && record.bytes > begun.bytes && !record.has(Flags::FAILED) {
            return broken(9, format!("bytes is {}, expected at most the room of {}", record.bytes, begun.bytes));
        }
        Ok(())
    }

    /// A Done of more than one request. At most as long as requests are active, whatever it claims.
    fn done_of_several(&mut self, record: &Record) -> Result<(), Broken> {
        only(record, Fields::REQUEST.and(Fields::AUX), 0)?;
        for number in u64::from(record.request)..=u64::from(record.request).saturating_add(record.aux) {
            let Ok(number) = u32::try_from(number) else {
                return broken(11, format!("request {number} was not started"));
            };
            let (_, begun, kind) = self.active(number, &[Kind::Send, Kind::Recv, Kind::Collective])?;
            let is_wild = begun.peer == ANY_SOURCE || begun.tag == ANY_TAG;
            if kind == Kind::Recv && is_wild && begun.peer != PROC_NULL {
                return broken(9, format!("request {number} has a wildcard, expected a Done of its own"));
            }
            self.scratch.requests.set(number, Stage::Gone);
        }
        Ok(())
    }

    fn collective(&mut self, index: usize, record: &Record) -> Result<usize, Broken> {
        const FIELDS: Fields = Fields::ENVELOPE.and(Fields::BYTES).and(Fields::REQUEST).and(Fields::AUX);
        only(record, FIELDS, Flags::BLOCKING | Flags::PERSISTENT | Flags::VECTOR)?;
        let Some(op) = CollectiveOp::from_tag(record.tag) else {
            return broken(6, format!("tag is {}, expected a collective, 1 to 12", record.tag));
        };
        let size = self.peers(record.comm)?;
        let view = self.builder.view(self.rank, record.comm);
        let rooted =
            matches!(op, CollectiveOp::Bcast | CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Scatter);
        let in_group = record.peer >= 0 && (record.peer as u32) < size;
        if rooted && !(in_group || view.is_inter() && matches!(record.peer, PROC_NULL | ROOT)) {
            let also = if view.is_inter() { ", -3 or -4 (MPI_ROOT)" } else { "" };
            return broken(6, format!("the root is {}, {}", record.peer, expected_rank(size, also)));
        }
        if !rooted && record.peer != -1 {
            return broken(6, format!("peer is {}, expected -1", record.peer));
        }
        size_of_message(record.bytes)?;
        size_of_message(record.aux)?;
        if record.has(Flags::BLOCKING) {
            if record.has(Flags::PERSISTENT) {
                return broken(6, format!("flags are {:#04x}, expected not BLOCKING and PERSISTENT", record.flags));
            }
            if record.request != 0 {
                return broken(8, format!("request of a blocking collective is {}, expected 0", record.request));
            }
        } else {
            self.start(index, record.request)?;
        }
        if !record.has(Flags::VECTOR) {
            return Ok(1);
        }
        let is_root = if view.is_inter() { record.peer == ROOT } else { record.peer == view.rank as i32 };
        let size = u64::from(size);
        let words = match op {
            CollectiveOp::Scatter | CollectiveOp::Gather if is_root => size,
            CollectiveOp::Allgather | CollectiveOp::ReduceScatter => size,
            CollectiveOp::Alltoall => 2 * size,
            _ => return broken(16, format!("{op:?} has VECTOR, expected no counts here")),
        };
        let records = self.words(index, words)?;
        for &bytes in &self.scratch.words {
            size_of_message(bytes)?;
        }
        Ok(1 + records)
    }

    /// Gathers `count` words from the Extra records behind the one at `index`; returns how many records these are.
    fn words(&mut self, index: usize, count: u64) -> Result<usize, Broken> {
        self.scratch.words.clear();
        let behind = (self.records.len() - index - 1) as u64;
        if count.div_ceil(6) > behind {
            return broken(16, format!("{behind} records follow, expected {count} words in Extra records"));
        }
        let records = count.div_ceil(6) as usize;
        for at in 0..records {
            let record = self.sealed(index + 1 + at)?;
            let here = (count as usize - 6 * at).min(6);
            let fields = (record.kind, record.flags, record.thread, record.tag, record.request);
            if fields != (Kind::Extra as u8, 0, 0, here as i32, 0) {
                let reason = format!(
                    "kind, flags, thread, words and request of the record {} behind are {fields:?}, expected {:?}",
                    1 + at,
                    (Kind::Extra as u8, 0, 0, here, 0)
                );
                return broken(16, reason);
            }
            let words = record.extra_words();
            if words[here..].iter().any(|&word| word != 0) {
                return broken(16, format!("the record {} behind has more than its {here} words", 1 + at));
            }
            self.scratch.words.extend(&words[..here]);
        }
        Ok(records)
    }

    fn comm(&mut self, index: usize, record: &Record) -> Result<usize, Broken> {
        only(record, Fields::ENVELOPE.and(Fields::BYTES).and(Fields::AUX), 0)?;
        let number = self.scratch.comms.len() as u32;
        if record.comm != number {
            return broken(11, format!("comm is {}, expected {number}", record.comm));
        }
        let world = self.world;
        let identity = match number {
            0 => 0,
            1 => 1 + u64::from(self.rank),
            _ => record.aux | 1 << 63,
        };
        if record.aux != identity {
            return broken(14, format!("identity is {:016x}, expected {identity:016x}", record.aux));
        }
        let is_inter = record.peer != -1;
        let sizes = (record.tag, if is_inter { record.peer } else { 1 });
        let valid = |size: i32| size >= 1 && size as u32 <= world;
        if !valid(sizes.0) || !valid(sizes.1) || (number < 2 && is_inter) {
            let reason = format!("group sizes are {} and {}, expected 1 to {world}", record.tag, record.peer);
            return broken(15, reason);
        }
        if !record.bytes.is_multiple_of(2) {
            return broken(15, format!("{} words of runs, expected an even number", record.bytes));
        }
        let records = self.words(index, record.bytes)?;
        let words = std::mem::take(&mut self.scratch.words);
        let mut runs = words.as_chunks::<2>().0.iter();
        let local = self.runs(&mut runs, sizes.0 as u32)?;
        let rank = position(&local, self.rank);
        let expected = match number {
            0 => Some(Run::all(world)),
            1 => Some(Run::one(self.rank)),
            _ => None,
        };
        if expected.is_some_and(|expected| local != [expected]) {
            return broken(
                15,
                format!(
                    "communicator {number} lists {local:?}, expected {:?}",
                    expected.into_iter().collect::<Vec<_>>()
                ),
            );
        }
        let Some(rank) = rank else {
            return broken(15, format!("the local group does not list the rank itself, {}", self.rank));
        };
        let remote = if is_inter { Some(self.runs(&mut runs, record.peer as u32)?) } else { None };
        if runs.next().is_some() {
            return broken(15, format!("{} words of runs, expected fewer for these groups", record.bytes));
        }
        self.scratch.words = words;
        if number >= 2 {
            let local = self.builder.group(local).or_else(|reason| broken(15, reason))?;
            let remote = match remote {
                Some(runs) => self.builder.group(runs).or_else(|reason| broken(15, reason))?,
                None => local,
            };
            if is_inter && local == remote {
                return broken(15, "the two groups of an intercommunicator are the same");
            }
            self.builder.add(record.aux, local, remote, rank).or_else(|reason| broken(14, reason))?;
        }
        let size = if is_inter { record.peer } else { record.tag };
        self.scratch.comms.push(Some(size as u32));
        Ok(1 + records)
    }

    /// Takes runs of `size` members in all, each within the world.
    fn runs(&self, words: &mut std::slice::Iter<'_, [u64; 2]>, size: u32) -> Result<Vec<Run>, Broken> {
        let mut runs = Vec::new();
        let mut members = 0;
        while members < size {
            let Some(&[start, length]) = words.next() else {
                return broken(15, format!("the runs list {members} ranks, expected {size}"));
            };
            if length == 0 || length > u64::from(size - members) {
                return broken(15, format!("a run lists {length} ranks, expected 1 to {}", size - members));
            }
            let mut run = Run { first: start as u32, stride: (start >> 32) as i32, length: length as u32 };
            let last = i64::from(run.first) + i64::from(run.stride) * i64::from(run.length - 1);
            if run.first >= self.world || last < 0 || last >= i64::from(self.world) {
                let reason = format!("a run goes from {} to {last}, expected ranks below {}", run.first, self.world);
                return broken(15, reason);
            }
            if run.length == 1 {
                run.stride = 1;
            } else if run.stride == 0 {
                return broken(15, format!("a run lists world rank {} {length} times", run.first));
            }
            members += run.length;
            runs.push(run);
        }
        Ok(runs)
    }
}

/// Rank of `world_rank` in the group that `runs` list.
fn position(runs: &[Run], world_rank: u32) -> Option<u32> {
    let mut from = 0;
    for run in runs {
        if let Some(at) = run.position(world_rank) {
            return Some(from + at);
        }
        from += run.length;
    }
    None
}

/// T-6: only `fields` and `flags` (and `CPU_CARRIED`) may differ from zero.
#[inline]
fn only(record: &Record, fields: Fields, flags: u8) -> Result<(), Broken> {
    let unused = |field: Fields| fields.0 & field.0 == 0;
    if record.flags & !(flags | Flags::CPU_CARRIED) != 0
        || unused(Fields::COMM) && record.comm != 0
        || unused(Fields::PEER) && record.peer != 0
        || unused(Fields::TAG) && record.tag != 0
        || unused(Fields::BYTES) && record.bytes != 0
        || unused(Fields::REQUEST) && record.request != 0
        || unused(Fields::AUX) && record.aux != 0
    {
        return unused_is_set(record, fields, flags);
    }
    Ok(())
}

#[cold]
fn unused_is_set(record: &Record, fields: Fields, flags: u8) -> Result<(), Broken> {
    if record.flags & !(flags | Flags::CPU_CARRIED) != 0 {
        let allowed = flags | Flags::CPU_CARRIED;
        return broken(6, format!("flags are {:#04x}, expected only some of {allowed:#04x}", record.flags));
    }
    let all = [
        (Fields::COMM, "comm", i128::from(record.comm)),
        (Fields::PEER, "peer", i128::from(record.peer)),
        (Fields::TAG, "tag", i128::from(record.tag)),
        (Fields::BYTES, "bytes", i128::from(record.bytes)),
        (Fields::REQUEST, "request", i128::from(record.request)),
        (Fields::AUX, "aux", i128::from(record.aux)),
    ];
    for (field, name, value) in all {
        if fields.0 & field.0 == 0 && value != 0 {
            let kind = record.kind().expect("checked before");
            return broken(6, format!("{name} is {value}, expected 0 in {kind:?}"));
        }
    }
    Ok(())
}

/// A call that returns when the operation is complete is neither persistent nor half of another.
#[inline]
fn form(record: &Record) -> Result<(), Broken> {
    if (record.flags & (Flags::BLOCKING | Flags::PERSISTENT | Flags::SENDRECV)).count_ones() > 1 {
        let reason = format!("flags are {:#04x}, expected one of BLOCKING, PERSISTENT, SENDRECV", record.flags);
        return broken(6, reason);
    }
    Ok(())
}

#[inline]
fn size_of_message(bytes: u64) -> Result<(), Broken> {
    if bytes > MAX_BYTES {
        return broken(6, format!("size is {bytes} bytes, expected at most 2^48"));
    }
    Ok(())
}
