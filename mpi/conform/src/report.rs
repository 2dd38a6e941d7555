// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The verdicts on one run of the C runner, and counts.

use std::fmt;

use mb_core::random::Random;

use crate::arrival;
use crate::history::{History, HistoryEvent};
use crate::judge;
use crate::outcome::Observation;
use crate::program::{Action, Comm, Form, Layout, SendMode, StepId, TestProgram};
use crate::simulate::{self, Contract, SimulatedLibrary};
use crate::violation::Violation;
use crate::wire::{self, RankEnd, RankOutcome, WireError};

/// A failure of an MPI library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// MPI does not permit the outcome of the program.
    Violation(Violation),
    /// The program did not end in time.
    Stuck {
        /// The operation of each rank; `None` if the rank wrote nothing.
        at: Vec<Option<usize>>,
        /// Messages that no rank is known to have received.
        missing: Vec<StepId>,
        /// A violation before the program stopped, if there was one.
        before: Option<Violation>,
    },
    /// The job ended within the program.
    Crashed,
}

impl Failure {
    /// Its kind, as reports name it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Violation(Violation::Defect(_)) => "defect",
            Self::Violation(Violation::Order(_)) => "order",
            Self::Violation(Violation::Null(_)) => "null",
            Self::Violation(Violation::Truncation(_)) => "truncation",
            Self::Violation(Violation::Status(_)) => "status",
            Self::Stuck { .. } => "stuck",
            Self::Crashed => "crashed",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => write!(f, "{violation}"),
            Self::Stuck { at, missing, before } => {
                f.write_str("the program did not end within its time limit; on a correct MPI every program ends")?;
                for (rank, at) in at.iter().enumerate() {
                    match at {
                        Some(at) => write!(f, "\n  rank {rank} was in its operation {}", at + 1)?,
                        None => write!(f, "\n  rank {rank}: no outcome was written")?,
                    }
                }
                if !missing.is_empty() {
                    let list: Vec<String> = missing.iter().map(ToString::to_string).collect();
                    write!(f, "\n  not received: message {}", list.join(", "))?;
                }
                before.iter().try_for_each(|before| write!(f, "\n  before that: {before}"))
            }
            Self::Crashed => f.write_str("the job ended within the program"),
        }
    }
}

/// Counts over the programs of a run that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProgramCounts {
    /// Programs that ended.
    pub programs: u64,
    /// Their steps; a barrier is one.
    pub steps: u64,
    /// Checked results: events of [`History`].
    pub outcomes: u64,
    /// Receives that took a message.
    pub received: u64,
    /// Messages that a matched probe of a step took.
    pub matched_probes: u64,
    /// Messages received in the drain phase.
    pub drained: u64,
    /// Receives that were cancelled.
    pub cancelled: u64,
    /// Probes that found a message and left it.
    pub found: u64,
    /// Probes that found nothing.
    pub missed: u64,
    /// Sends that completed.
    pub sent: u64,
    /// Ready sends among them.
    pub ready: u64,
    /// Buffered sends among them.
    pub buffered: u64,
    /// Sends and receives started by an `MPI_Startall` of more than one request.
    pub together: u64,
    /// Truncated receives among `received`.
    pub truncated: u64,
    /// Messages that were received in an intercommunicator.
    pub across: u64,
    /// Messages that were received by an `MPI_Isendrecv`.
    pub isendrecv: u64,
    /// Messages that were sent or received with a derived datatype, by receives that posted one.
    pub derived: u64,
    /// Messages that were received in the communicator of a session.
    pub in_sessions: u64,
    /// Messages that were received by partitioned receives.
    pub partitioned: u64,
    /// Messages that were received by a call with an `MPI_Count` argument.
    pub wide: u64,
    /// Programs with several threads in a rank.
    pub threaded: u64,
    /// Programs with several threads that use one communicator.
    pub shared_threads: u64,
    /// Programs for which one of two simulated runs of a correct library had another outcome.
    pub free: u64,
    /// Programs with a permitted outcome that no order of arrivals explains.
    pub unexplained: u64,
}

/// The verdicts of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunVerdict {
    /// The first program that was not begun; the number of programs if all were.
    pub next: usize,
    /// Programs that failed, by index.
    pub failures: Vec<(usize, Failure)>,
    /// The first program whose outcome no order of arrivals explains.
    pub unexplained: Option<usize>,
    /// Counts.
    pub counts: ProgramCounts,
}

/// Judges the outcome files of a run that began with program `first`.
///
/// # Errors
/// If the runner cannot have written a file.
pub fn judge_run(programs: &[TestProgram], first: usize, files: &[Vec<u8>]) -> Result<RunVerdict, WireError> {
    let ranks = programs.first().map_or(0, |program| program.ranks);
    let parts = (0..ranks)
        .zip(files)
        .map(|(rank, bytes)| wire::decode(bytes, rank, ranks, programs.len()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut judged =
        RunVerdict { next: first, failures: Vec::new(), unexplained: None, counts: ProgramCounts::default() };
    let mut at = vec![0; parts.len()];
    while judged.next < programs.len() {
        let index = judged.next;
        let program = &programs[index];
        let here: Vec<Option<&RankOutcome>> = parts
            .iter()
            .zip(&mut at)
            .map(|(parts, at)| {
                let part = parts.get(*at).filter(|part| part.program == index);
                *at += usize::from(part.is_some());
                part
            })
            .collect();
        if here.iter().all(Option::is_none) {
            break;
        }
        judged.next += 1;
        let observations: Vec<&[Observation]> =
            here.iter().map(|part| part.map_or(&[][..], |part| &part.observations[..])).collect();
        if here.iter().all(|part| part.is_some_and(|part| part.end == RankEnd::Finished)) {
            judged.add_finished(index, program, &observations);
            continue;
        }
        let is_stuck = here.iter().any(|part| matches!(part, Some(RankOutcome { end: RankEnd::Stuck(_), .. })));
        judged.failures.push((index, if is_stuck { stuck(program, &here, &observations) } else { Failure::Crashed }));
        break;
    }
    Ok(judged)
}

/// The observations of each rank for the program at `index`, as far as the files are valid.
#[must_use]
pub fn observations_of(programs: &[TestProgram], index: usize, files: &[Vec<u8>]) -> Vec<Vec<Observation>> {
    let ranks = programs.first().map_or(0, |program| program.ranks);
    let of_rank = |(rank, bytes): (u8, &Vec<u8>)| {
        let parts = wire::decode(bytes, rank, ranks, programs.len()).unwrap_or_default();
        parts.into_iter().find(|part| part.program == index).map_or(Vec::new(), |part| part.observations)
    };
    (0..ranks).zip(files).map(of_rank).collect()
}

fn stuck(program: &TestProgram, parts: &[Option<&RankOutcome>], observations: &[&[Observation]]) -> Failure {
    let at = parts
        .iter()
        .map(|part| match part.map(|part| part.end) {
            Some(RankEnd::Stuck(at)) => Some(at),
            _ => None,
        })
        .collect();
    let missing =
        History::resolve(program, observations, false).map_or(Vec::new(), |history| judge::missing(program, &history));
    Failure::Stuck { at, missing, before: judge::violation(program, observations, false) }
}

impl RunVerdict {
    fn add_finished(&mut self, index: usize, program: &TestProgram, observations: &[&[Observation]]) {
        let history = match History::resolve(program, observations, true) {
            Ok(history) => history,
            Err(defect) => {
                self.failures.push((index, Failure::Violation(Violation::Defect(defect))));
                return;
            }
        };
        if let Some(violation) = judge::violation_of(program, &history) {
            self.failures.push((index, Failure::Violation(violation)));
            return;
        }
        let counts = &mut self.counts;
        counts.programs += 1;
        counts.steps += program.steps.len() as u64;
        for (_, event) in history.ranks.iter().flatten() {
            counts.outcomes += 1;
            *match event {
                HistoryEvent::Received(..) => &mut counts.received,
                HistoryEvent::TakenByProbe(..) => &mut counts.matched_probes,
                HistoryEvent::Drained(..) => &mut counts.drained,
                HistoryEvent::Cancelled(_) => &mut counts.cancelled,
                HistoryEvent::Found(..) => &mut counts.found,
                HistoryEvent::FoundNothing(_) => &mut counts.missed,
                HistoryEvent::Sent(_) => &mut counts.sent,
                HistoryEvent::Irrelevant => continue,
            } += 1;
        }
        counts.together += program.startall_groups().iter().map(|group| group.len() as u64).sum::<u64>();
        for (_, event) in history.ranks.iter().flatten() {
            counts.add_kinds(program, *event);
        }
        counts.threaded += u64::from(program.is_threaded());
        counts.shared_threads += u64::from(program.shares_comms());
        counts.free += u64::from(is_free(program, &history));
        if arrival::unexplained(program, &history).is_some() {
            counts.unexplained += 1;
            self.unexplained = self.unexplained.or(Some(index));
        }
    }
}

impl ProgramCounts {
    /// Counts the kinds of the send or receive of an event.
    fn add_kinds(&mut self, program: &TestProgram, event: HistoryEvent) {
        let message = |id| program.step(id).and_then(|(_, step)| step.action.message());
        match event {
            HistoryEvent::Sent(send) => {
                let mode = message(send).map(|message| message.mode);
                self.ready += u64::from(mode == Some(SendMode::Ready));
                self.buffered += u64::from(mode == Some(SendMode::Buffered));
            }
            HistoryEvent::Received(receive, taken) => {
                let spec = program.step(receive).and_then(|(_, step)| program.posted_spec(step));
                if let (Some(spec), Some(message)) = (spec, message(taken)) {
                    self.truncated += u64::from(spec.truncates(taken, message));
                    self.across += u64::from(message.comm == Comm::Across);
                    self.in_sessions += u64::from(message.comm == Comm::Session);
                    self.derived += u64::from((spec.layout, message.layout) != (Layout::Bytes, Layout::Bytes));
                    self.partitioned += u64::from(spec.partitions > 0);
                    self.wide += u64::from(spec.counts != crate::program::CountType::Int);
                    let by = program.step(receive).map(|(_, step)| &step.action);
                    self.isendrecv += u64::from(matches!(by, Some(Action::SendReceive(_, _, Form::Nonblocking))));
                }
            }
            HistoryEvent::TakenByProbe(_, taken) | HistoryEvent::Drained(_, taken) => {
                let comm = message(taken).map(|message| message.comm);
                self.across += u64::from(comm == Some(Comm::Across));
                self.in_sessions += u64::from(comm == Some(Comm::Session));
            }
            HistoryEvent::Cancelled(_)
            | HistoryEvent::Found(..)
            | HistoryEvent::FoundNothing(_)
            | HistoryEvent::Irrelevant => {}
        }
    }
}

/// Whether an outcome other than `history` is known to be permitted.
fn is_free(program: &TestProgram, history: &History) -> bool {
    let mut seen = pairs(history);
    seen.sort_unstable();
    (0..2).any(|draw| {
        let library = SimulatedLibrary { rendezvous: draw == 1, ..SimulatedLibrary::of(Contract::Mpi) };
        let other = simulate::run(program, library, &mut Random::of(draw, &[]));
        other.is_some_and(|observations| {
            let observations: Vec<&[Observation]> = observations.iter().map(Vec::as_slice).collect();
            History::resolve(program, &observations, true).is_ok_and(|other| {
                let mut other = pairs(&other);
                other.sort_unstable();
                other != seen
            })
        })
    })
}

/// The matching decisions, without the order in which they were reported.
fn pairs(history: &History) -> Vec<HistoryEvent> {
    let events = history.ranks.iter().flatten().map(|(_, event)| *event);
    events.filter(|event| !matches!(event, HistoryEvent::Sent(_) | HistoryEvent::Irrelevant)).collect()
}
