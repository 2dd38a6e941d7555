// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs for the interpreter (`conform/c/conform.c`), and what it writes down. Both are files of 32-bit
//! numbers in the byte order of the machine.
//!
//! A file of programs begins with the numbers magic, format, ranks, programs, bytes of the longest message. Each program
//! follows: its numbers in all, its place in the file, and for each rank how many numbers come, how many messages
//! it is sent, how many operations it has, and the operations, each as
//!
//! ```text
//! code  step  communicator  peer  tag  bytes  form  names  name...
//! ```
//!
//! with ranks of the communicator; -1 stands for any, peer -2 for `MPI_PROC_NULL`; the bytes of a receive are its room, 0
//! if there is enough for every message. A name is the place of an earlier
//! operation among those of the rank; the names of `MPI_Sendrecv` are communicator, source and tag of its receive.
//!
//! A file of outcomes holds records of eight numbers ([`Kind`] says of what):
//!
//! ```text
//! kind  at  step  source  tag  count  message  flags
//! ```
//!
//! *at* is the operation of the rank that brought the news, *step* what the news is of.

use crate::outcome::{Event, News, Seen};
use crate::program::{Action, Comm, CompleteCall, Form, Message, ProbeCall, Program, Source, StepId, Wanted};

const PROGRAMS_MAGIC: i32 = 0x4f43_424d;
const OUTCOME_MAGIC: i32 = 0x554f_424d;
const FORMAT: i32 = 1;
const ANY: i32 = -1;
const NO_PROCESS: i32 = -2;
/// Numbers of a record.
const RECORD: usize = 8;

/// Writes `programs`, all for the same number of ranks, as the interpreter reads them.
///
/// # Panics
/// When the programs are for different numbers of ranks.
#[must_use]
pub fn encode(programs: &[Program]) -> Vec<u8> {
    let ranks = programs.first().map_or(0, |program| program.ranks);
    let lengths = programs.iter().flat_map(Program::messages).map(|(step, message)| message.bulk.bytes(step.id));
    let largest = lengths.max().unwrap_or(0).max(Wanted::ROOM);
    let mut words = vec![PROGRAMS_MAGIC, FORMAT, i32::from(ranks), programs.len() as i32, largest as i32];
    for (place, program) in programs.iter().enumerate() {
        assert_eq!(program.ranks, ranks, "all programs of a file are for the same ranks");
        let start = words.len();
        words.extend([0, place as i32]);
        for rank in 0..ranks {
            encode_rank(program, rank, &mut words);
        }
        words[start] = (words.len() - start) as i32;
    }
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn encode_rank(program: &Program, rank: u8, words: &mut Vec<i32>) {
    let start = words.len();
    words.extend([0, program.messages_to(rank) as i32, program.of_rank(rank).count() as i32]);
    let place = |id: StepId| program.of_rank(rank).position(|step| step.id == id).map_or(ANY, |place| place as i32);
    let comm_rank = |comm: Comm, peer: u8| i32::from(comm.rank_of(peer, program.ranks));
    let dest = |message: &Message| message.dest.map_or(NO_PROCESS, |dest| comm_rank(message.comm, dest));
    let source = |wanted: &Wanted| match wanted.source {
        Source::Any => ANY,
        Source::Null => NO_PROCESS,
        Source::Rank(peer) => comm_rank(wanted.comm, peer),
    };
    let tag = |wanted: &Wanted| wanted.tag.map_or(ANY, i32::from);
    for step in program.of_rank(rank) {
        let mut op = [0, step.id as i32, 0, 0, 0, 0, 0, 0];
        let mut names = Vec::new();
        if let Some(message) = step.action.message() {
            op[2..6].copy_from_slice(&[
                message.comm as i32,
                dest(message),
                i32::from(message.tag),
                message.bulk.bytes(step.id) as i32,
            ]);
        }
        match &step.action {
            Action::Send(message, form) => {
                op[0] = 1 + message.mode as i32;
                op[6] = *form as i32;
            }
            Action::Receive(wanted, form) => {
                op[0] = 5;
                op[2..5].copy_from_slice(&[wanted.comm as i32, source(wanted), tag(wanted)]);
                op[5] = if wanted.short { Wanted::ROOM as i32 } else { 0 };
                op[6] = *form as i32;
            }
            Action::Restart(of) => {
                op[0] = 6;
                names.push(place(*of));
            }
            Action::SendReceive(_, wanted) => {
                op[0] = 7;
                names.extend([wanted.comm as i32, source(wanted), tag(wanted)]);
            }
            Action::Probe(wanted, call) => {
                op[0] = 8;
                op[2..5].copy_from_slice(&[wanted.comm as i32, source(wanted), tag(wanted)]);
                op[6] = match call {
                    ProbeCall::Probe => 0,
                    ProbeCall::Iprobe => 1,
                    ProbeCall::Mprobe => 2,
                    ProbeCall::Improbe => 3,
                };
            }
            Action::Take(of, nonblocking) => {
                op[0] = 9;
                op[6] = if *nonblocking { Form::Nonblocking } else { Form::Blocking } as i32;
                names.push(place(*of));
            }
            Action::Cancel(of) => {
                op[0] = 10;
                names.push(place(*of));
            }
            Action::Complete(call, of) => {
                op[0] = 11;
                op[6] = CompleteCall::ALL.iter().position(|other| other == call).map_or(0, |place| place as i32);
                names.extend(of.iter().map(|&id| place(id)));
            }
            Action::Barrier => op[0] = 12,
            Action::Pause => op[0] = 13,
        }
        op[7] = names.len() as i32;
        words.extend(op);
        words.extend(names);
    }
    words[start] = (words.len() - start - 1) as i32;
}

/// What a record of the outcomes is about; the numbers of the enumeration in `conform.c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Header = 1,
    Begin,
    End,
    Received,
    Cancelled,
    Sent,
    Found,
    Missed,
    Drained,
    Stuck,
    Failed,
    Truncated,
}

const KINDS: [Kind; 12] = [
    Kind::Header,
    Kind::Begin,
    Kind::End,
    Kind::Received,
    Kind::Cancelled,
    Kind::Sent,
    Kind::Found,
    Kind::Missed,
    Kind::Drained,
    Kind::Stuck,
    Kind::Failed,
    Kind::Truncated,
];

/// A file of outcomes that the interpreter did not write.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// It does not begin as one.
    #[error("these are no outcomes of rank {rank} of {ranks}: the file begins with {found:?}")]
    Header {
        /// The rank that was expected.
        rank: u8,
        /// And of how many.
        ranks: u8,
        /// The first record, as far as there is one.
        found: Vec<i32>,
    },
    /// A record that makes no sense where it is.
    #[error("record {record} of the outcomes of rank {rank}: {what}")]
    Record {
        /// The rank.
        rank: u8,
        /// Which record, from 0.
        record: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// How a rank's part of a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// As it should.
    Finished,
    /// The time limit struck while the rank was at this operation; the number of its operations while it finished.
    Stuck(usize),
    /// The outcomes break off.
    Cut,
}

/// What a rank saw of one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The program's place in its file.
    pub place: usize,
    /// The news, in the order in which they came.
    pub news: Vec<News>,
    /// How it ended.
    pub end: End,
}

/// Reads what `rank` of `ranks` wrote about a file of `programs` programs; an incomplete record at the end is a cut.
///
/// # Errors
/// When the interpreter cannot have written `bytes`.
pub fn decode(bytes: &[u8], rank: u8, ranks: u8, programs: usize) -> Result<Vec<Part>, WireError> {
    let words: Vec<i32> = bytes.as_chunks().0.iter().map(|&bytes| i32::from_ne_bytes(bytes)).collect();
    let mut records = words.as_chunks::<RECORD>().0.iter().enumerate();
    let header = [Kind::Header as i32, OUTCOME_MAGIC, FORMAT, i32::from(rank), i32::from(ranks)];
    match records.next() {
        None => return Ok(Vec::new()),
        Some((_, first)) if first[..5] == header => {}
        Some((_, first)) => return Err(WireError::Header { rank, ranks, found: first.to_vec() }),
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut is_open = false;
    for (record, words) in records {
        let bad = |what| WireError::Record { rank, record, what };
        let &[kind, at, step, source, tag, count, message, flags] = words;
        let Some(kind) = KINDS.into_iter().find(|known| *known as i32 == kind) else {
            return Err(bad("there is no such kind"));
        };
        let at = usize::try_from(at).map_err(|_| bad("a place is negative"))?;
        if kind == Kind::Begin {
            if is_open || at >= programs || parts.last().is_some_and(|last| last.place >= at) {
                return Err(bad("a program begins that cannot"));
            }
            parts.push(Part { place: at, news: Vec::new(), end: End::Cut });
            is_open = true;
            continue;
        }
        let Some(part) = parts.last_mut().filter(|_| is_open) else {
            return Err(bad("it belongs to no program"));
        };
        let step = StepId::try_from(step).map_err(|_| bad("a step is negative"))?;
        let seen = Seen { source, tag, count, message: StepId::try_from(message).ok(), flags };
        let event = match kind {
            Kind::Header => return Err(bad("a second header")),
            Kind::Begin | Kind::End if at != part.place => return Err(bad("another program ends than began")),
            Kind::Begin | Kind::End => {
                part.end = End::Finished;
                is_open = false;
                continue;
            }
            Kind::Stuck => {
                part.end = End::Stuck(at);
                is_open = false;
                continue;
            }
            Kind::Received => Event::Received { step, seen },
            Kind::Truncated => Event::Truncated { step, seen },
            Kind::Cancelled => Event::Cancelled { step },
            Kind::Sent => Event::Sent { step },
            Kind::Found => Event::Found { step, seen },
            Kind::Missed => Event::Missed { step },
            Kind::Drained => {
                let comm = Comm::ALL.get(step as usize).copied().ok_or_else(|| bad("there is no such communicator"))?;
                Event::Drained { comm, seen }
            }
            Kind::Failed => Event::Failed { step, class: flags },
        };
        part.news.push(News { at, event });
    }
    Ok(parts)
}
