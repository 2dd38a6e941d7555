// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files exchanged with the C runner (`mpi/conform/c/conform.c`): the programs that it performs and
//! the outcomes that it writes. Both consist of 32-bit numbers in the byte order of the machine;
//! `spec/conform/codes.toml` defines the records.
//!
//! A program file is a [`FileHeader`] and its programs. A program is a [`ProgramHeader`] and one
//! part per rank: a [`RankHeader`], then the rank's [`OperationRecord`]s, each followed by its arguments.
//! Ranks are those of the communicator.
//!
//! An outcome file is a sequence of [`OutcomeRecord`]s.

use zerocopy::{FromBytes, IntoBytes};

use crate::codes::{
    self, FORMAT, FileHeader, NO_PROCESS, Need, OUTCOME_MAGIC, OperationCode, OperationRecord, OutcomeRecord,
    PROGRAMS_MAGIC, ProgramHeader, RankHeader, RecordKind,
};
use crate::outcome::{Observation, ObservedStatus, RawEvent};
use crate::program::{
    Action, Comm, CountType, Form, Message, MessageSource, ProgramStep, ReceiveSpec, SendMode, StepId, TestProgram,
};

/// Writes `programs`, all for the same number of ranks, in the format that the runner reads.
///
/// # Panics
/// If the programs have different numbers of ranks.
#[must_use]
pub fn encode(programs: &[TestProgram]) -> Vec<u8> {
    let ranks = programs.first().map_or(0, |program| program.ranks);
    let header = FileHeader {
        magic: PROGRAMS_MAGIC,
        format: FORMAT,
        ranks: i32::from(ranks),
        programs: programs.len() as i32,
        longest_message: programs.iter().map(longest_message).max().unwrap_or(ReceiveSpec::SHORT_BUFFER) as i32,
        needs: programs.iter().map(needs).fold(0, |all, needs| all | needs),
    };
    let mut file = header.as_bytes().to_vec();
    for (index, program) in programs.iter().enumerate() {
        assert_eq!(program.ranks, ranks, "all programs of a file have the same number of ranks");
        let parts: Vec<u8> = (0..ranks).flat_map(|rank| encode_rank(program, rank)).collect();
        let words = words(size_of::<ProgramHeader>() + parts.len());
        file.extend_from_slice(ProgramHeader { words, index: index as i32 }.as_bytes());
        file.extend(parts);
    }
    file
}

/// Bytes of the longest message of `program`, and at least those of a short buffer.
#[must_use]
pub fn longest_message(program: &TestProgram) -> u32 {
    let lengths = program.messages().map(|(step, message)| message.bytes(step.id));
    lengths.max().unwrap_or(0).max(ReceiveSpec::SHORT_BUFFER)
}

/// The features of an MPI library that `program` needs: bit `1 << Need` for each.
#[must_use]
pub fn needs(program: &TestProgram) -> i32 {
    let has = |need: Need| {
        program.steps.iter().any(|step| {
            let action = &step.action;
            let (message, spec) = (action.message(), action.accepting());
            match need {
                Need::Isendrecv => matches!(action, Action::SendReceive(_, _, Form::Nonblocking)),
                Need::Sessions => {
                    message.is_some_and(|message| message.comm == Comm::Session)
                        || spec.is_some_and(|spec| spec.comm == Comm::Session)
                }
                Need::Partitioned => action.is_partitioned(),
                Need::Threads => step.thread > 0,
                Need::Counts => {
                    message.is_some_and(|message| message.counts != CountType::Int)
                        || spec.is_some_and(|spec| spec.counts != CountType::Int)
                }
            }
        })
    };
    Need::ALL.into_iter().filter(|&need| has(need)).map(|need| 1 << need.code()).sum()
}

fn words(bytes: usize) -> i32 {
    (bytes / size_of::<i32>()) as i32
}

fn encode_rank(program: &TestProgram, rank: u8) -> Vec<u8> {
    let operations = operations(program, rank);
    let body: Vec<u8> = operations
        .iter()
        .flat_map(|(operation, arguments)| [operation.as_bytes(), arguments.as_bytes()].concat())
        .collect();
    let header = RankHeader {
        words: words(size_of::<RankHeader>() + body.len()) - 1,
        messages: program.messages_to(rank) as i32,
        operations: operations.len() as i32,
    };
    [header.as_bytes(), &body].concat()
}

/// The operations of `rank`, each with its arguments.
#[must_use]
pub fn operations(program: &TestProgram, rank: u8) -> Vec<(OperationRecord, Vec<i32>)> {
    program.of_rank(rank).map(|step| operation(program, rank, step)).collect()
}

fn operation(program: &TestProgram, rank: u8, step: &ProgramStep) -> (OperationRecord, Vec<i32>) {
    let index_of =
        |id: StepId| program.of_rank(rank).position(|step| step.id == id).map_or(codes::ANY, |index| index as i32);
    let comm_rank = |comm: Comm, peer: u8| i32::from(comm.rank_of(peer, program.ranks));
    let dest = |message: &Message| message.dest.map_or(NO_PROCESS, |dest| comm_rank(message.comm, dest));
    let source = |spec: &ReceiveSpec| match spec.source {
        MessageSource::Any => codes::ANY,
        MessageSource::Null => NO_PROCESS,
        MessageSource::Rank(peer) => comm_rank(spec.comm, peer),
    };
    let tag = |spec: &ReceiveSpec| spec.tag.map_or(codes::ANY, i32::from);
    let sending = |code: OperationCode, message: &Message| OperationRecord {
        code: code.code(),
        comm: message.comm.code(),
        peer: dest(message),
        tag: i32::from(message.tag),
        bytes: message.bytes(step.id) as i32,
        layout: message.layout.code(),
        partitions: i32::from(message.partitions),
        counts: message.counts.code(),
        ..OperationRecord::default()
    };
    let receiving = |code: OperationCode, spec: &ReceiveSpec| OperationRecord {
        code: code.code(),
        comm: spec.comm.code(),
        peer: source(spec),
        tag: tag(spec),
        bytes: if spec.short { ReceiveSpec::SHORT_BUFFER as i32 } else { spec.partitioned_bytes() as i32 },
        layout: spec.layout.code(),
        partitions: i32::from(spec.partitions),
        counts: spec.counts.code(),
        ..OperationRecord::default()
    };
    let plain =
        |code: OperationCode, form: i32| OperationRecord { code: code.code(), form, ..OperationRecord::default() };
    let (operation, arguments) = match &step.action {
        Action::Send(message, form) => {
            let code = match message.mode {
                SendMode::Standard if message.partitions > 0 => OperationCode::PartitionedSend,
                SendMode::Standard => OperationCode::Send,
                SendMode::Synchronous => OperationCode::Ssend,
                SendMode::Ready => OperationCode::Rsend,
                SendMode::Buffered => OperationCode::Bsend,
            };
            (OperationRecord { form: form.code(), ..sending(code, message) }, Vec::new())
        }
        Action::Receive(spec, form) => {
            let code = if spec.partitions > 0 { OperationCode::PartitionedReceive } else { OperationCode::Receive };
            (OperationRecord { form: form.code(), ..receiving(code, spec) }, Vec::new())
        }
        Action::Restart(of) => (plain(OperationCode::Restart, 0), vec![index_of(*of)]),
        Action::SendReceive(message, spec, form) => (
            OperationRecord { form: form.code(), ..sending(OperationCode::Sendrecv, message) },
            vec![spec.comm.code(), source(spec), tag(spec), spec.layout.code()],
        ),
        Action::Probe(spec, call) => {
            (OperationRecord { form: call.code(), ..receiving(OperationCode::Probe, spec) }, Vec::new())
        }
        Action::ReceiveProbed(of, nonblocking) => {
            let form = if *nonblocking { Form::Nonblocking } else { Form::Blocking };
            (plain(OperationCode::ReceiveProbed, form.code()), vec![index_of(*of)])
        }
        Action::Cancel(of) => (plain(OperationCode::Cancel, 0), vec![index_of(*of)]),
        Action::Complete(call, of) => {
            (plain(OperationCode::Complete, call.code()), of.iter().map(|&id| index_of(id)).collect())
        }
        Action::Barrier => (plain(OperationCode::Barrier, 0), Vec::new()),
        Action::Pause => (plain(OperationCode::Pause, 0), Vec::new()),
    };
    let thread = i32::from(step.thread);
    (OperationRecord { step: step.id as i32, thread, arguments: arguments.len() as i32, ..operation }, arguments)
}

/// An outcome file that the runner did not write.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// The first record is not the header.
    #[error("outcomes of rank {rank}: found the first record {found:?}; expected {expected:?}")]
    Header {
        /// The rank.
        rank: u8,
        /// The first record.
        found: [i32; 5],
        /// The header.
        expected: [i32; 5],
    },
    /// A record that is not valid where it stands.
    #[error("outcomes of rank {rank}: record {record}: {what}")]
    Record {
        /// The rank.
        rank: u8,
        /// The record, from 0.
        record: usize,
        /// What was found and what was expected.
        what: String,
    },
}

/// How a rank's part of a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankEnd {
    /// As expected.
    Finished,
    /// The time limit expired in this operation; the number of the rank's operations in the drain
    /// phase.
    Stuck(usize),
    /// The file breaks off.
    Cut,
}

/// The observations of one rank in one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankOutcome {
    /// Index of the program in its file.
    pub program: usize,
    /// The observations, in order.
    pub observations: Vec<Observation>,
    /// How it ended.
    pub end: RankEnd,
}

/// Reads the outcome file of `rank` of `ranks` about `programs` programs. An incomplete record at
/// the end is ignored: the job was killed while it wrote.
///
/// # Errors
/// If the runner cannot have written `bytes`.
pub fn decode(bytes: &[u8], rank: u8, ranks: u8, programs: usize) -> Result<Vec<RankOutcome>, WireError> {
    let mut records = bytes
        .chunks_exact(size_of::<OutcomeRecord>())
        .filter_map(|bytes| OutcomeRecord::read_from_bytes(bytes).ok())
        .enumerate();
    let Some((_, first)) = records.next() else { return Ok(Vec::new()) };
    let expected = [RecordKind::Header.code(), OUTCOME_MAGIC, FORMAT, i32::from(rank), i32::from(ranks)];
    let found = [first.kind, first.at, first.step, first.source, first.tag];
    if found != expected {
        return Err(WireError::Header { rank, found, expected });
    }
    let mut reader = Reader { programs, outcomes: Vec::new(), is_open: false };
    for (record, fields) in records {
        reader.add(&fields).map_err(|what| WireError::Record { rank, record, what })?;
    }
    Ok(reader.outcomes)
}

struct Reader {
    programs: usize,
    outcomes: Vec<RankOutcome>,
    /// Whether the last outcome has not ended yet.
    is_open: bool,
}

impl Reader {
    fn add(&mut self, record: &OutcomeRecord) -> Result<(), String> {
        let &OutcomeRecord { kind, at, step, source, tag, count, message, flags } = record;
        let kind = RecordKind::from_code(kind)
            .ok_or_else(|| format!("found kind {kind}; expected 1 to {}", RecordKind::ALL.len()))?;
        let at = usize::try_from(at).map_err(|_| format!("found operation {at}; expected 0 or more"))?;
        if kind == RecordKind::Begin {
            return self.begin(at);
        }
        let Some(outcome) = self.outcomes.last_mut().filter(|_| self.is_open) else {
            return Err(format!("{kind:?} found outside of a program; expected Begin"));
        };
        let step = StepId::try_from(step).map_err(|_| format!("found step {step}; expected 0 or more"))?;
        let status = ObservedStatus { source, tag, count, message: StepId::try_from(message).ok(), flags };
        let event = match kind {
            RecordKind::Header | RecordKind::Begin => {
                return Err(format!("{kind:?} found in program {}; expected an event or End", outcome.program));
            }
            RecordKind::End if at != outcome.program => {
                return Err(format!("found the end of program {at}; expected that of program {}", outcome.program));
            }
            RecordKind::End => {
                outcome.end = RankEnd::Finished;
                self.is_open = false;
                return Ok(());
            }
            RecordKind::Stuck => {
                outcome.end = RankEnd::Stuck(at);
                self.is_open = false;
                return Ok(());
            }
            RecordKind::Received => RawEvent::Received { step, status },
            RecordKind::Truncated => RawEvent::Truncated { step, status },
            RecordKind::Cancelled => RawEvent::Cancelled { step },
            RecordKind::Sent => RawEvent::Sent { step },
            RecordKind::Found => RawEvent::Found { step, status },
            RecordKind::FoundNothing => RawEvent::FoundNothing { step },
            RecordKind::Drained => {
                let comm = i32::try_from(step).ok().and_then(Comm::from_code);
                let comm =
                    comm.ok_or_else(|| format!("found communicator {step}; expected 0 to {}", Comm::ALL.len() - 1))?;
                RawEvent::Drained { comm, status }
            }
            RecordKind::Failed => RawEvent::Failed { step, class: flags },
        };
        outcome.observations.push(Observation { at, event });
        Ok(())
    }

    fn begin(&mut self, program: usize) -> Result<(), String> {
        let next = self.outcomes.last().map_or(0, |last| last.program + 1);
        if self.is_open {
            return Err(format!("found the beginning of program {program}; expected the end of program {}", next - 1));
        }
        if !(next..self.programs).contains(&program) {
            return Err(format!(
                "found the beginning of program {program}; expected one of the programs {next} to {}",
                self.programs.saturating_sub(1)
            ));
        }
        self.outcomes.push(RankOutcome { program, observations: Vec::new(), end: RankEnd::Cut });
        self.is_open = true;
        Ok(())
    }
}
