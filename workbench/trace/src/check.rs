// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks the rules of records, T-6 to T-16, rank by rank, and collects the communicators.
//!
//! One pass. Time: linear in the records. Memory: 8 bytes per request between the oldest active one
//! and the newest, 16 to 32 per distinct destination of a rank's sends, and the communicators. All
//! of it is bounded by the number of records present, whatever sizes the records claim.

mod fields;
mod groups;
mod messages;
mod requests;
mod violation;

use std::ops::ControlFlow;

use self::fields::{Fields, only};
use self::requests::{Requests, Stage};
use self::violation::{Violation, violation};
use crate::communicators::{Builder, Communicators};
use crate::counts::Counts;
use crate::error::{FileLocation, TraceError};
use crate::open::Trace;
use crate::record::{Flags, Kind, Record, checksum};
use crate::state::other_parts;

/// T-12: no time is later, ns.
const MAX_TIME_NS: u64 = 1 << 53;

/// T-8: how far a request number may exceed the number of records before it.
const NUMBERS_AHEAD: u64 = 1 << 10;

impl Trace {
    /// Checks every field of every record. `progress` receives the number of ranks done after each
    /// one, and can stop the check.
    ///
    /// # Errors
    /// The first defect, with file, rank, record and rule; [`TraceError::Interrupted`] when
    /// `progress` breaks.
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
                version: self.version(rank),
                other_calls: self.meta().other_calls.len() as u64,
                builder: &mut builder,
                scratch: &mut scratch,
            };
            check.all(self.is_finalized(rank)).map_err(|(index, (rule, reason))| {
                let place =
                    index.map_or(FileLocation::Rank(rank), |index| FileLocation::Record { rank, index: index as u64 });
                TraceError::defect(self.file(rank), place, rule, reason)
            })?;
            if progress(rank + 1).is_break() {
                return Err(TraceError::Interrupted);
            }
        }
        Ok(builder.finish())
    }
}

/// Which Done records must come next in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Owed {
    #[default]
    Nothing,
    /// The Done of this request.
    DoneOf(u32),
    /// This many Done records, for a Wait.
    Dones(u64),
}

#[derive(Clone, Copy, Default)]
struct Thread {
    /// The rank that this state belongs to, plus one. State of an earlier rank is invalid.
    of_rank: u32,
    wall_ns: u64,
    cpu_ns: u64,
    owed: Owed,
}

/// A local communicator: size of the group that peers index, or `None` once freed.
type Peers = Option<u32>;

/// State of one rank, reused for all ranks to save allocations.
#[derive(Default)]
struct Scratch {
    threads: Vec<Thread>,
    requests: Requests,
    sends: Counts,
    comms: Vec<Peers>,
    words: Vec<u64>,
    /// Call sites so far.
    sites: u32,
}

impl Scratch {
    fn clear(&mut self) {
        self.sites = 0;
        self.requests.clear();
        self.sends.clear();
        self.comms.clear();
    }
}

struct RankCheck<'a> {
    rank: u32,
    world: u32,
    records: &'a [Record],
    version: u16,
    other_calls: u64,
    builder: &'a mut Builder,
    scratch: &'a mut Scratch,
}

/// T-12, T-19: the upper bits of the times are not those of a known call site.
#[cold]
fn unknown_site(version: u16, record: &Record, sites: u32) -> Result<(), Violation> {
    if version >= 3 {
        return violation(19, format!("call site is {}, expected at most {sites}", record.site()));
    }
    let (name, time) = if record.wall == record.wall_ns() { ("cpu_ns", record.cpu) } else { ("wall_ns", record.wall) };
    violation(12, format!("{name} is {time}, expected at most 2^53"))
}

fn expected_rank(size: u32, also: &str) -> String {
    format!("expected a rank below {size}{also}")
}

impl<'a> RankCheck<'a> {
    fn all(&mut self, finalized: bool) -> Result<(), (Option<usize>, Violation)> {
        let mut index = 0;
        while index < self.records.len() {
            index += self.record(index).map_err(|error| (Some(index), error))?;
        }
        let last = self.records.last().and_then(Record::kind);
        if finalized && last != Some(Kind::Finalize) {
            let found = last.map_or("none".to_owned(), |kind| format!("{kind:?}"));
            let place = self.records.len().checked_sub(1);
            return Err((place, (11, format!("last record: found {found}, expected Finalize"))));
        }
        Ok(())
    }

    /// The record at `index`, if its checksum is right.
    #[inline]
    fn sealed(&self, index: usize) -> Result<&'a Record, Violation> {
        let record = &self.records[index];
        let expected = checksum(record, index as u64);
        if record.check != expected {
            return violation(
                13,
                format!("checksum is {:08x}, expected {expected:08x}; copy or record this file again", record.check),
            );
        }
        Ok(record)
    }

    /// Checks the record at `index` and its Extra records; returns how many records these are in
    /// total.
    #[inline]
    fn record(&mut self, index: usize) -> Result<usize, Violation> {
        let record = self.sealed(index)?;
        let kinds = Kind::count(self.version);
        let Some(kind) = record.kind().filter(|_| record.kind <= kinds) else {
            return violation(6, format!("kind is {}, expected 1 to {kinds}", record.kind));
        };
        if self.scratch.comms.len() < 2 {
            let expected = if index == 0 { Kind::Init } else { Kind::Comm };
            if kind != expected {
                return violation(11, format!("record is {kind:?}, expected {expected:?}"));
            }
        }
        self.common(kind, record)?;
        match kind {
            Kind::Init => return self.init(index, record),
            Kind::Finalize => self.finalize(index, record)?,
            Kind::Send => self.send(index, record)?,
            Kind::Recv => self.recv(index, record)?,
            Kind::Done => self.done(record)?,
            Kind::Wait => {
                only(record, Fields::AUX, Flags::BLOCKING)?;
                if record.aux > index as u64 {
                    return violation(8, format!("aux is {}, expected at most the {index} records before", record.aux));
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
                self.scratch.requests.set(record.request, Stage::Completed);
            }
            Kind::Collective => return self.collective(index, record),
            Kind::Comm => return self.comm(index, record),
            Kind::CommFree => {
                only(record, Fields::COMM, 0)?;
                self.peers(record.comm)?;
                if record.comm < 2 {
                    return violation(11, format!("communicator {} is freed, expected a number above 1", record.comm));
                }
                self.scratch.comms[record.comm as usize] = None;
            }
            Kind::Extra => {
                return violation(16, "found an Extra record, expected only directly after a record with words");
            }
            Kind::Thread => only(record, Fields::AUX, 0)?,
            Kind::Site => return self.site(index, record),
            Kind::Topology => return self.topology(index, record),
            Kind::Partition => self.partition(record)?,
            Kind::Other => {
                only(record, Fields::AUX, 0)?;
                let (name, _) = other_parts(self.version, record);
                if name >= self.other_calls {
                    let listed = self.other_calls;
                    return violation(
                        6,
                        format!("aux is {name}, expected an index below {listed}, the length of other_calls"),
                    );
                }
            }
        }
        Ok(1)
    }

    /// Checks the times of the thread and its outstanding Done records.
    #[inline]
    fn common(&mut self, kind: Kind, record: &Record) -> Result<(), Violation> {
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
        if kind == Kind::Thread {
            thread.cpu_ns = 0;
        }
        let site = record.site();
        if site > self.scratch.sites {
            return unknown_site(self.version, record, self.scratch.sites);
        }
        if record.wall_ns() < thread.wall_ns || record.wall_ns() > MAX_TIME_NS {
            return violation(12, format!("wall_ns is {}, expected {} to 2^53", record.wall_ns(), thread.wall_ns));
        }
        if record.cpu_ns() < thread.cpu_ns || record.cpu_ns() > MAX_TIME_NS {
            return violation(12, format!("cpu_ns is {}, expected {} to 2^53", record.cpu_ns(), thread.cpu_ns));
        }
        thread.wall_ns = record.wall_ns();
        thread.cpu_ns = record.cpu_ns();
        match thread.owed {
            Owed::Nothing if kind != Kind::Done => Ok(()),
            Owed::Nothing => {
                violation(8, "found a Done record, expected only after a Wait, blocking receive or probe of its thread")
            }
            _ if kind != Kind::Done => {
                let thread = record.thread;
                violation(8, format!("record is {kind:?}, expected the outstanding Done of thread {thread}"))
            }
            Owed::DoneOf(request) if record.request == request && record.aux == 0 => {
                thread.owed = Owed::Nothing;
                Ok(())
            }
            Owed::DoneOf(request) if record.request == request => violation(
                8,
                format!("Done of request {request} and {} more, expected request {request} alone", record.aux),
            ),
            Owed::DoneOf(request) => {
                violation(8, format!("Done of request {}, expected request {request}", record.request))
            }
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

    fn init(&mut self, index: usize, record: &Record) -> Result<usize, Violation> {
        only(record, if self.version == 1 { Fields::AUX } else { Fields::AUX.and(Fields::BYTES) }, 0)?;
        if index != 0 {
            return violation(11, "found a second Init record, expected one");
        }
        if record.aux > 3 {
            return violation(6, format!("thread level is {}, expected 0 to 3", record.aux));
        }
        Ok(1 + self.words(index, record.bytes)?)
    }

    /// T-19.
    fn site(&mut self, index: usize, record: &Record) -> Result<usize, Violation> {
        only(record, Fields::AUX.and(Fields::BYTES), 0)?;
        let number = self.scratch.sites + 1;
        if record.aux != u64::from(number) || record.bytes == 0 {
            let found = (record.aux, record.bytes);
            return violation(19, format!("call site and words are {found:?}, expected {number} and at least 1"));
        }
        self.scratch.sites = number;
        Ok(1 + self.words(index, record.bytes)?)
    }

    fn finalize(&self, index: usize, record: &Record) -> Result<(), Violation> {
        only(record, if self.version == 1 { Fields::NONE } else { Fields::AUX }, 0)?;
        if index + 1 != self.records.len() {
            let behind = self.records.len() - index - 1;
            return violation(11, format!("{behind} records found after Finalize, expected 0"));
        }
        Ok(())
    }

    /// Size of the group that peers in `comm` index.
    #[inline]
    fn peers(&self, comm: u32) -> Result<u32, Violation> {
        match self.scratch.comms.get(comm as usize) {
            Some(Some(size)) => Ok(*size),
            Some(None) => violation(11, format!("communicator {comm} was freed before, expected a valid communicator")),
            None => violation(11, format!("comm is {comm}, expected a number below {}", self.scratch.comms.len())),
        }
    }

    /// Starts request `number`, if it is new and not too large.
    #[inline]
    fn start(&mut self, index: usize, number: u32) -> Result<(), Violation> {
        let limit = index as u64 + NUMBERS_AHEAD;
        if number == 0 || u64::from(number) > limit {
            return violation(8, format!("request is {number}, expected 1 to {limit}"));
        }
        if self.scratch.requests.stage(number) != Stage::Unused {
            return violation(8, format!("request {number} was used before, expected a new number"));
        }
        self.scratch.requests.set(number, Stage::Active(index));
        Ok(())
    }

    /// The record that started the active request `number`, which must be of one of `kinds`.
    #[inline]
    fn active(&self, number: u32, kinds: &[Kind]) -> Result<(usize, &'a Record, Kind), Violation> {
        match self.scratch.requests.stage(number) {
            Stage::Active(index) => {
                let record = &self.records[index];
                let kind = record.kind().expect("checked when it started");
                if kinds.contains(&kind) {
                    return Ok((index, record, kind));
                }
                violation(11, format!("request {number} is a {kind:?}, expected one of {kinds:?}"))
            }
            Stage::Unused => violation(11, format!("request {number} was never started, expected an active request")),
            Stage::Probed(_) | Stage::Completed => {
                violation(11, format!("request {number} is completed, expected an active request"))
            }
        }
    }
}
