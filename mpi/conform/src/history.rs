// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Observations resolved to steps and messages. Every status and payload is checked on the way, so
//! that the judge only sees which receive took which message, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::outcome::{
    CALLED_CANCELLED, FOREIGN, GAPS, INTACT, NO_PROCESS, NO_TAG, OVERRUN, Observation, ObservedStatus, RawEvent,
};
use crate::program::{Action, Comm, Form, Message, MessageSource, ProgramStep, ReceiveSpec, StepId, TestProgram};

/// An observation that is wrong in every order of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongObservation {
    /// The rank that observed it.
    pub rank: u8,
    /// What was observed.
    pub what: String,
}

impl fmt::Display for WrongObservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.what)
    }
}

/// An observation, resolved to steps and messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HistoryEvent {
    /// The receive posted by this step took this message.
    Received(StepId, StepId),
    /// The matched probe of this step took this message.
    TakenByProbe(StepId, StepId),
    /// A matched probe of the drain phase, with both wildcards in this communicator, took this
    /// message.
    Drained(Comm, StepId),
    /// The receive posted by this step was cancelled.
    Cancelled(StepId),
    /// The probe of this step found this message and left it.
    Found(StepId, StepId),
    /// The probe of this step found nothing.
    FoundNothing(StepId),
    /// The send of this step is complete.
    Sent(StepId),
    /// It has no part in matching.
    Irrelevant,
}

/// The events of each rank with the operation that brought them: those of each thread in the order
/// in which they came, one thread after the other, and those of the drain phase last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// For each rank: operation and event.
    pub ranks: Vec<Vec<(usize, HistoryEvent)>>,
    /// Defects of operations with `MPI_PROC_NULL`. Nothing is matched there, so that they do not
    /// affect other events.
    pub null: Vec<WrongObservation>,
    /// Defects of truncated receives. Their messages are matched nevertheless.
    pub truncation: Vec<WrongObservation>,
    /// Wrong statuses of `MPI_Isendrecv`. The payload shows what was matched.
    pub status: Vec<WrongObservation>,
}

/// Orders observations by thread; the drain phase is last.
#[must_use]
pub fn thread_key(program: &TestProgram, rank: u8, at: usize) -> u8 {
    program.thread_at(rank, at).unwrap_or(u8::MAX)
}

/// Resolves the observations of one rank.
struct Reader<'a> {
    program: &'a TestProgram,
    rank: u8,
    /// Messages that matched probes took and that are not received yet.
    held: BTreeMap<StepId, Option<StepId>>,
    /// Defects of operations with `MPI_PROC_NULL`.
    null: Vec<String>,
    /// Defects of truncated receives.
    truncation: Vec<String>,
    /// Wrong statuses of `MPI_Isendrecv`.
    status: Vec<String>,
}

impl History {
    /// Resolves the observations of each rank.
    ///
    /// # Errors
    /// The first defect. With `is_complete` the program ended, so that every message, receive and
    /// send must be accounted for.
    pub fn resolve(
        program: &TestProgram,
        observations: &[&[Observation]],
        is_complete: bool,
    ) -> Result<Self, WrongObservation> {
        let (mut ranks, mut null, mut truncation, mut status) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (rank, observations) in (0..program.ranks).zip(observations) {
            let mut reader = Reader {
                program,
                rank,
                held: BTreeMap::new(),
                null: Vec::new(),
                truncation: Vec::new(),
                status: Vec::new(),
            };
            let defect = |what| WrongObservation { rank, what };
            let operations = program.of_rank(rank).count();
            // The order between the records of two threads says nothing.
            let mut observations = observations.to_vec();
            observations.sort_by_key(|piece| thread_key(program, rank, piece.at));
            let mut events: Vec<(usize, HistoryEvent)> = Vec::new();
            for piece in &observations {
                let key = |at: usize| (thread_key(program, rank, at), at);
                let is_late = events.last().is_some_and(|(at, _)| key(*at) > key(piece.at)) || piece.at > operations;
                if is_late {
                    return Err(defect("its observations are out of order".to_owned()));
                }
                events.push((piece.at, reader.event(&piece.event).map_err(defect)?));
            }
            if is_complete && let Some((probe, _)) = reader.held.first_key_value() {
                return Err(defect(format!("the message that probe {probe} took was never received")));
            }
            null.extend(reader.null.into_iter().map(|what| WrongObservation { rank, what }));
            truncation.extend(reader.truncation.into_iter().map(|what| WrongObservation { rank, what }));
            status.extend(reader.status.into_iter().map(|what| WrongObservation { rank, what }));
            ranks.push(events);
        }
        let history = Self { ranks, null, truncation, status };
        history.check_once(program)?;
        if is_complete {
            history.check_whole(program)?;
        }
        Ok(history)
    }

    /// No message is received twice and no step reported twice.
    fn check_once(&self, program: &TestProgram) -> Result<(), WrongObservation> {
        let mut taken = BTreeSet::new();
        let mut reported = BTreeSet::new();
        for (rank, events) in (0..program.ranks).zip(&self.ranks) {
            for (_, event) in events {
                let (step, message) = match *event {
                    HistoryEvent::Received(step, message) | HistoryEvent::TakenByProbe(step, message) => {
                        (Some(step), Some(message))
                    }
                    HistoryEvent::Drained(_, message) => (None, Some(message)),
                    HistoryEvent::Cancelled(step) | HistoryEvent::Found(step, _) | HistoryEvent::FoundNothing(step) => {
                        (Some(step), None)
                    }
                    HistoryEvent::Sent(_) | HistoryEvent::Irrelevant => (None, None),
                };
                if let Some(message) = message
                    && !taken.insert(message)
                {
                    return Err(WrongObservation { rank, what: format!("message {message} was received twice") });
                }
                if let Some(step) = step
                    && !reported.insert(step)
                {
                    return Err(WrongObservation { rank, what: format!("step {step} was reported twice") });
                }
            }
        }
        Ok(())
    }

    /// Every message was received, every receive reported and every send completed.
    fn check_whole(&self, program: &TestProgram) -> Result<(), WrongObservation> {
        let events: Vec<&HistoryEvent> = self.ranks.iter().flatten().map(|(_, event)| event).collect();
        for (step, message) in program.messages() {
            let is_taken = events.iter().any(|event| match **event {
                HistoryEvent::Received(_, other)
                | HistoryEvent::TakenByProbe(_, other)
                | HistoryEvent::Drained(_, other) => other == step.id,
                _ => false,
            });
            if !is_taken {
                let rank = message.dest.unwrap_or(step.rank);
                return Err(WrongObservation { rank, what: format!("message {} was never received", step.id) });
            }
        }
        for step in &program.steps {
            let is_reported = |is_result: &dyn Fn(&HistoryEvent) -> bool| events.iter().any(|event| is_result(event));
            let id = step.id;
            if program.posted_spec(step).is_some_and(|spec| spec.source != MessageSource::Null)
                && !is_reported(
                    &|event| matches!(*event, HistoryEvent::Received(of, _) | HistoryEvent::Cancelled(of) if of == id),
                )
            {
                return Err(WrongObservation {
                    rank: step.rank,
                    what: format!("receive {id} neither completed nor was cancelled"),
                });
            }
            if step.action.message().is_some() && !is_reported(&|event| *event == HistoryEvent::Sent(id)) {
                return Err(WrongObservation { rank: step.rank, what: format!("send {id} never completed") });
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn event(&mut self, event: &RawEvent) -> Result<HistoryEvent, String> {
        match *event {
            RawEvent::Received { step, status } => self.received(step, &status),
            RawEvent::Truncated { step, status } => self.truncated(step, &status),
            RawEvent::Found { step, status } => self.found(step, &status),
            RawEvent::Drained { comm, status } => {
                let any = ReceiveSpec::any(comm);
                let message =
                    self.message(&any, &status).map_err(|what| format!("a matched probe of the drain phase {what}"))?;
                Ok(HistoryEvent::Drained(comm, message))
            }
            RawEvent::Cancelled { step } => match self.posting(step)?.source {
                MessageSource::Null => Err(impossible_result(step)),
                _ => Ok(HistoryEvent::Cancelled(step)),
            },
            RawEvent::FoundNothing { step } => match self.step(step)?.action {
                Action::Probe(spec, _) if spec.source == MessageSource::Null => {
                    self.null.push(format!("probe {step} of MPI_PROC_NULL found nothing (spec/matching.md, N-3)"));
                    Ok(HistoryEvent::Irrelevant)
                }
                Action::Probe(..) => Ok(HistoryEvent::FoundNothing(step)),
                _ => Err(impossible_result(step)),
            },
            RawEvent::Sent { step } => match self.step(step)?.action.message() {
                Some(_) => Ok(HistoryEvent::Sent(step)),
                None => Err(impossible_result(step)),
            },
            RawEvent::Failed { step, class: -1 } => {
                Err(format!("step {step}: the call completed a request that was not active, or with no valid index"))
            }
            RawEvent::Failed { step, class } => {
                Err(format!("step {step}: the call returned an error of class {class}"))
            }
        }
    }

    fn step(&self, id: StepId) -> Result<&ProgramStep, String> {
        let step = self.program.step(id).map(|(_, step)| step).filter(|step| step.is_of(self.rank));
        step.ok_or_else(|| format!("it reported step {id}, which it does not perform"))
    }

    fn posting(&self, id: StepId) -> Result<ReceiveSpec, String> {
        let step = self.step(id)?;
        self.program.posted_spec(step).copied().ok_or_else(|| impossible_result(id))
    }

    fn received(&mut self, step: StepId, status: &ObservedStatus) -> Result<HistoryEvent, String> {
        let probe = match self.step(step)?.action {
            Action::ReceiveProbed(of, _) => Some(of),
            Action::Probe(_, call) if call.takes() => Some(step),
            _ => None,
        };
        if let Some(probe) = probe {
            let Action::Probe(spec, _) = self.step(probe)?.action else { return Err(impossible_result(step)) };
            let held = self.held.remove(&probe);
            let Some(held) = held else {
                return Err(format!("step {step} received, but probe {probe} took no message"));
            };
            let Some(taken) = held else {
                return Ok(self.no_process("step", step, status));
            };
            let message = self.message(&spec, status).map_err(|what| format!("step {step} {what}"))?;
            if message != taken {
                return Err(format!("step {step} received message {message}, but probe {probe} took message {taken}"));
            }
            return Ok(HistoryEvent::Irrelevant);
        }
        let spec = self.posting(step)?;
        if status.flags & CALLED_CANCELLED != 0 {
            self.status.push(format!(
                "receive {step} completed, its status says that it was cancelled, and no call has cancelled it \
                 (MPI 4.1, 3.8.4)"
            ));
        }
        if spec.source == MessageSource::Null {
            return Ok(self.no_process("receive", step, status));
        }
        if matches!(self.step(step)?.action, Action::SendReceive(_, _, Form::Nonblocking)) {
            return self.isendrecv(step, &spec, status);
        }
        let message = self.message(&spec, status);
        let long = self.too_long(&spec, status);
        if let Some(id) = long.filter(|id| message.as_ref().map_or(true, |message| message == id)) {
            let behind =
                if status.flags & OVERRUN == 0 { "" } else { ", and it was written past the end of its buffer" };
            self.truncation.push(format!(
                "receive {step} has a buffer of {} bytes; message {id} does not fit, \
                 and no error was returned{behind} (MPI 4.1, \
                 3.2.4; spec/matching.md, S-4)",
                ReceiveSpec::SHORT_BUFFER
            ));
            return Ok(HistoryEvent::Received(step, id));
        }
        message.map(|message| HistoryEvent::Received(step, message)).map_err(|what| format!("receive {step} {what}"))
    }

    /// The payload identifies the message, because no empty one is accepted.
    fn isendrecv(&mut self, step: StepId, spec: &ReceiveSpec, status: &ObservedStatus) -> Result<HistoryEvent, String> {
        let sent = self.program.messages().find(|(from, _)| Some(from.id) == status.message);
        if let Some((from, message)) = sent {
            let source = i32::from(message.comm.rank_of(from.rank, self.program.ranks));
            let right = (source, i32::from(message.tag), message.bytes(from.id) as i32);
            let &ObservedStatus { source, tag, count, .. } = status;
            if (source, tag, count) != right {
                self.status.push(format!(
                    "receive {step} of MPI_Isendrecv took message {} and has source {source}, tag {tag} and {count} \
                     bytes in its status instead of source {}, tag {} and {} bytes (MPI 4.1, 3.2.5)",
                    from.id, right.0, right.1, right.2
                ));
            }
            let status = ObservedStatus { source: right.0, tag: right.1, count: right.2, ..*status };
            let message = self.message(spec, &status);
            return message
                .map(|message| HistoryEvent::Received(step, message))
                .map_err(|what| format!("receive {step} {what}"));
        }
        let message = self.message(spec, status);
        message.map(|message| HistoryEvent::Received(step, message)).map_err(|what| format!("receive {step} {what}"))
    }

    /// The message that does not fit the buffer of `spec`, as far as the status identifies it.
    fn too_long(&self, spec: &ReceiveSpec, status: &ObservedStatus) -> Option<StepId> {
        let like = self.envelope_of(spec, status).ok()?;
        like.iter().find(|(id, message)| spec.truncates(*id, message)).map(|(id, _)| *id)
    }

    /// Only the status identifies a truncated message; the rules make sure that this is enough.
    fn truncated(&mut self, step: StepId, status: &ObservedStatus) -> Result<HistoryEvent, String> {
        let spec = self.posting(step)?;
        let like =
            self.envelope_of(&spec, status).map_err(|what| format!("receive {step} was truncated, and {what}"))?;
        match like.iter().find(|(id, message)| spec.truncates(*id, message)) {
            Some((id, _)) => {
                if status.flags & OVERRUN != 0 {
                    self.truncation.push(format!(
                        "receive {step} has a buffer of {} bytes; it returned MPI_ERR_TRUNCATE, \
                         and message {id} was written \
                         past the end of its buffer (MPI 4.1, 3.2.4; spec/matching.md, S-4)",
                        ReceiveSpec::SHORT_BUFFER
                    ));
                }
                Ok(HistoryEvent::Received(step, *id))
            }
            None => Err(format!(
                "receive {step} returned MPI_ERR_TRUNCATE, and every message from {} with tag {} fits",
                status.source, status.tag
            )),
        }
    }

    fn found(&mut self, step: StepId, status: &ObservedStatus) -> Result<HistoryEvent, String> {
        let Action::Probe(spec, call) = self.step(step)?.action else { return Err(impossible_result(step)) };
        if spec.source == MessageSource::Null {
            if call.takes() {
                self.held.insert(step, None);
            }
            return Ok(self.no_process("probe", step, status));
        }
        let from = self.envelope_of(&spec, status).map_err(|what| format!("probe {step} {what}"))?;
        let Some((id, _)) = from.into_iter().find(|(id, message)| message.bytes(*id) as i32 == status.count) else {
            let ObservedStatus { source, tag, count, .. } = status;
            return Err(format!("probe {step} found {count} bytes from {source} with tag {tag}, which no rank sends"));
        };
        if call.takes() {
            self.held.insert(step, Some(id));
            Ok(HistoryEvent::TakenByProbe(step, id))
        } else {
            Ok(HistoryEvent::Found(step, id))
        }
    }

    /// Clauses N-2 and N-3: the status of an operation with `MPI_PROC_NULL`.
    fn no_process(&mut self, what: &str, step: StepId, status: &ObservedStatus) -> HistoryEvent {
        let &ObservedStatus { source, tag, count, .. } = status;
        if (source, tag, count) != (NO_PROCESS, NO_TAG, 0) {
            self.null.push(format!(
                "{what} {step} of MPI_PROC_NULL has source {source}, tag {tag} and {count} bytes in its status \
                 (MPI 4.1, 3.10: source MPI_PROC_NULL, tag MPI_ANY_TAG, no bytes; spec/matching.md, N-2 and N-3)"
            ));
        }
        HistoryEvent::Irrelevant
    }

    /// The messages to this rank that agree with a status in communicator, source and tag.
    fn envelope_of(&self, spec: &ReceiveSpec, status: &ObservedStatus) -> Result<Vec<(StepId, Message)>, String> {
        let ranks = self.program.ranks;
        let Some(from) = (0..ranks).find(|&from| {
            spec.comm.joins(from, self.rank) && i32::from(spec.comm.rank_of(from, ranks)) == status.source
        }) else {
            return Err(format!(
                "names source {} in its status, which is not a rank of the communicator",
                status.source
            ));
        };
        let is_it = |step: &ProgramStep, message: &Message| {
            step.rank == from
                && message.dest == Some(self.rank)
                && message.comm == spec.comm
                && (message.partitions > 0) == (spec.partitions > 0)
                && i32::from(message.tag) == status.tag
        };
        let all = self.program.messages().filter(|(step, message)| is_it(step, message));
        let all: Vec<_> = all.map(|(step, message)| (step.id, *message)).collect();
        match all.first() {
            None => Err(format!("names source {} and tag {}, which no message has", status.source, status.tag)),
            Some((_, message)) if !spec.accepts(from, message) => Err(format!(
                "names source {} and tag {} in its status, which it does not accept",
                status.source, status.tag
            )),
            Some(_) => Ok(all),
        }
    }

    /// The message that was received.
    fn message(&self, spec: &ReceiveSpec, status: &ObservedStatus) -> Result<StepId, String> {
        if status.flags & FOREIGN != 0 {
            return Err("received a message of another program".to_owned());
        }
        let Some(id) = status.message else {
            let empty = self.envelope_of(spec, status)?.into_iter().find(|(id, message)| message.bytes(*id) == 0);
            return match empty {
                Some((id, _)) if status.count == 0 => Ok(id),
                _ => Err(format!("received {} bytes that are not a message", status.count)),
            };
        };
        let Some((step, message)) = self.program.messages().find(|(step, _)| step.id == id) else {
            return Err(format!("received message {id}, which no rank sends"));
        };
        if message.dest != Some(self.rank) {
            return Err(format!("received message {id}, which is for rank {}", message.dest.unwrap_or_default()));
        }
        if message.comm != spec.comm {
            return Err(format!("received message {id}, which was sent in another communicator"));
        }
        if !spec.accepts(step.rank, message) {
            return Err(format!("received message {id}, which it does not accept"));
        }
        let expected = [
            ("source", status.source, i32::from(message.comm.rank_of(step.rank, self.program.ranks))),
            ("tag", status.tag, i32::from(message.tag)),
            ("count", status.count, message.bytes(id) as i32),
        ];
        for (name, found, expected) in expected {
            if found != expected {
                return Err(format!("received message {id} with {name} {found} in its status instead of {expected}"));
            }
        }
        if status.flags & GAPS != 0 {
            return Err(format!("received message {id}, and bytes changed that are not part of its datatype"));
        }
        if status.flags & INTACT == 0 {
            return Err(format!("received message {id} with changed bytes"));
        }
        Ok(id)
    }
}

fn impossible_result(step: StepId) -> String {
    format!("it reported a result of step {step} that this step cannot have")
}
