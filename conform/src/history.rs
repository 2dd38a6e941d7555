// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of a program, told in names of messages: every status and every byte is checked on the way, so that what is
//! left to judge is who took what, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::outcome::{Event, FOREIGN, INTACT, NO_PROCESS, NO_TAG, News, OVERRUN, Seen};
use crate::program::{Action, Comm, Message, Program, Source, Step, StepId, Wanted};

/// Something that no order of events explains, because it is wrong by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defect {
    /// The rank that saw it.
    pub rank: u8,
    /// What it saw.
    pub what: String,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.what)
    }
}

/// What a rank learned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// The receive posted by this step took this message.
    Took(StepId, StepId),
    /// The matched probe of this step took this message.
    Plucked(StepId, StepId),
    /// A matched probe at the end, with both wildcards in this communicator, took this message.
    Drained(Comm, StepId),
    /// The receive posted by this step was cancelled.
    Cancelled(StepId),
    /// The probe of this step found this message and left it.
    Found(StepId, StepId),
    /// The probe of this step found nothing.
    Missed(StepId),
    /// The send of this step is complete.
    Sent(StepId),
    /// Something without a part in matching.
    Nothing,
}

/// The facts of each rank with the operation that brought them, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// For each rank: operation and fact.
    pub ranks: Vec<Vec<(usize, Fact)>>,
    /// What was wrong about `MPI_PROC_NULL`, where nothing is matched: it spoils nothing else.
    pub null: Vec<Defect>,
    /// What was wrong about messages that are too long for their receives: they are matched all the same.
    pub truncation: Vec<Defect>,
}

/// Who takes messages, and when a rank learns of it.
struct Reader<'a> {
    program: &'a Program,
    rank: u8,
    /// What each matched probe took that was not received yet.
    held: BTreeMap<StepId, Option<StepId>>,
    /// What was wrong about `MPI_PROC_NULL`.
    null: Vec<String>,
    /// And about messages that are too long.
    truncation: Vec<String>,
}

impl History {
    /// Reads the news of each rank.
    ///
    /// # Errors
    /// The first thing that is wrong by itself. `is_whole`: the program came to its end, so that nothing may be missing.
    pub fn read(program: &Program, news: &[&[News]], is_whole: bool) -> Result<Self, Defect> {
        let (mut ranks, mut null, mut truncation) = (Vec::new(), Vec::new(), Vec::new());
        for (rank, news) in (0..program.ranks).zip(news) {
            let mut reader = Reader { program, rank, held: BTreeMap::new(), null: Vec::new(), truncation: Vec::new() };
            let defect = |what| Defect { rank, what };
            let operations = program.of_rank(rank).count();
            let mut facts = Vec::new();
            for piece in *news {
                let is_late = facts.last().is_some_and(|(at, _)| *at > piece.at) || piece.at > operations;
                if is_late {
                    return Err(defect("what it wrote down is out of order".to_owned()));
                }
                facts.push((piece.at, reader.fact(&piece.event).map_err(defect)?));
            }
            if is_whole && let Some((probe, _)) = reader.held.first_key_value() {
                return Err(defect(format!("the message that probe {probe} took was never received")));
            }
            null.extend(reader.null.into_iter().map(|what| Defect { rank, what }));
            truncation.extend(reader.truncation.into_iter().map(|what| Defect { rank, what }));
            ranks.push(facts);
        }
        let history = Self { ranks, null, truncation };
        history.check_once(program)?;
        if is_whole {
            history.check_whole(program)?;
        }
        Ok(history)
    }

    /// No message is taken twice and no step answered twice.
    fn check_once(&self, program: &Program) -> Result<(), Defect> {
        let mut taken = BTreeSet::new();
        let mut answered = BTreeSet::new();
        for (rank, facts) in (0..program.ranks).zip(&self.ranks) {
            for (_, fact) in facts {
                let (step, message) = match *fact {
                    Fact::Took(step, message) | Fact::Plucked(step, message) => (Some(step), Some(message)),
                    Fact::Drained(_, message) => (None, Some(message)),
                    Fact::Cancelled(step) | Fact::Found(step, _) | Fact::Missed(step) => (Some(step), None),
                    Fact::Sent(_) | Fact::Nothing => (None, None),
                };
                if let Some(message) = message
                    && !taken.insert(message)
                {
                    return Err(Defect { rank, what: format!("message {message} was received twice") });
                }
                if let Some(step) = step
                    && !answered.insert(step)
                {
                    return Err(Defect { rank, what: format!("step {step} was answered twice") });
                }
            }
        }
        Ok(())
    }

    /// Every message was taken, every receive answered and every send completed.
    fn check_whole(&self, program: &Program) -> Result<(), Defect> {
        let facts: Vec<&Fact> = self.ranks.iter().flatten().map(|(_, fact)| fact).collect();
        for (step, message) in program.messages() {
            let is_taken = facts.iter().any(|fact| match **fact {
                Fact::Took(_, other) | Fact::Plucked(_, other) | Fact::Drained(_, other) => other == step.id,
                _ => false,
            });
            if !is_taken {
                let rank = message.dest.unwrap_or(step.rank);
                return Err(Defect { rank, what: format!("message {} was never received", step.id) });
            }
        }
        for step in &program.steps {
            let is_answered = |is_answer: &dyn Fn(&Fact) -> bool| facts.iter().any(|fact| is_answer(fact));
            let id = step.id;
            if program.posted_by(step).is_some_and(|wanted| wanted.source != Source::Null)
                && !is_answered(&|fact| matches!(*fact, Fact::Took(of, _) | Fact::Cancelled(of) if of == id))
            {
                return Err(Defect {
                    rank: step.rank,
                    what: format!("receive {id} neither completed nor was cancelled"),
                });
            }
            if step.action.message().is_some() && !is_answered(&|fact| *fact == Fact::Sent(id)) {
                return Err(Defect { rank: step.rank, what: format!("send {id} never completed") });
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn fact(&mut self, event: &Event) -> Result<Fact, String> {
        match *event {
            Event::Received { step, seen } => self.received(step, &seen),
            Event::Truncated { step, seen } => self.truncated(step, &seen),
            Event::Found { step, seen } => self.found(step, &seen),
            Event::Drained { comm, seen } => {
                let any = Wanted::any(comm);
                let message = self.message(&any, &seen).map_err(|what| format!("the final matched probe {what}"))?;
                Ok(Fact::Drained(comm, message))
            }
            Event::Cancelled { step } => match self.posting(step)?.source {
                Source::Null => Err(nonsense(step)),
                _ => Ok(Fact::Cancelled(step)),
            },
            Event::Missed { step } => match self.step(step)?.action {
                Action::Probe(wanted, _) if wanted.source == Source::Null => {
                    self.null.push(format!("probe {step} of MPI_PROC_NULL found nothing (spec/matching.md, N-3)"));
                    Ok(Fact::Nothing)
                }
                Action::Probe(..) => Ok(Fact::Missed(step)),
                _ => Err(nonsense(step)),
            },
            Event::Sent { step } => match self.step(step)?.action.message() {
                Some(_) => Ok(Fact::Sent(step)),
                None => Err(nonsense(step)),
            },
            Event::Failed { step, class: -1 } => {
                Err(format!("step {step}: the call completed a request that was not active, or with no valid index"))
            }
            Event::Failed { step, class } => Err(format!("step {step}: the call returned an error of class {class}")),
        }
    }

    fn step(&self, id: StepId) -> Result<&Step, String> {
        let step = self.program.step(id).map(|(_, step)| step).filter(|step| step.is_of(self.rank));
        step.ok_or_else(|| format!("it wrote about step {id}, which is none of its steps"))
    }

    fn posting(&self, id: StepId) -> Result<Wanted, String> {
        let step = self.step(id)?;
        self.program.posted_by(step).copied().ok_or_else(|| nonsense(id))
    }

    fn received(&mut self, step: StepId, seen: &Seen) -> Result<Fact, String> {
        let probe = match self.step(step)?.action {
            Action::Take(of, _) => Some(of),
            Action::Probe(_, call) if call.takes() => Some(step),
            _ => None,
        };
        if let Some(probe) = probe {
            let Action::Probe(wanted, _) = self.step(probe)?.action else { return Err(nonsense(step)) };
            let held = self.held.remove(&probe);
            let Some(held) = held else {
                return Err(format!("step {step} received, but probe {probe} took no message"));
            };
            let Some(taken) = held else {
                return Ok(self.no_process("step", step, seen));
            };
            let message = self.message(&wanted, seen).map_err(|what| format!("step {step} {what}"))?;
            if message != taken {
                return Err(format!("step {step} received message {message}, but probe {probe} took message {taken}"));
            }
            return Ok(Fact::Nothing);
        }
        let wanted = self.posting(step)?;
        if wanted.source == Source::Null {
            return Ok(self.no_process("receive", step, seen));
        }
        let message = self.message(&wanted, seen);
        let long = self.too_long(&wanted, seen);
        if let Some(id) = long.filter(|id| message.as_ref().map_or(true, |message| message == id)) {
            let behind = if seen.flags & OVERRUN == 0 { "" } else { ", and it was written behind its buffer" };
            self.truncation.push(format!(
                "receive {step} has room for {} bytes; message {id} does not fit, and there was no error{behind} (MPI 4.1, \
                 3.2.4; spec/matching.md, S-4)",
                Wanted::ROOM
            ));
            return Ok(Fact::Took(step, id));
        }
        message.map(|message| Fact::Took(step, message)).map_err(|what| format!("receive {step} {what}"))
    }

    /// The message that `wanted` has no room for, as far as the status tells.
    fn too_long(&self, wanted: &Wanted, seen: &Seen) -> Option<StepId> {
        let like = self.envelope_of(wanted, seen).ok()?;
        like.iter().find(|(id, message)| wanted.truncates(*id, message)).map(|(id, _)| *id)
    }

    /// Only the status tells which message did not fit; the rules see to it that this is enough.
    fn truncated(&mut self, step: StepId, seen: &Seen) -> Result<Fact, String> {
        let wanted = self.posting(step)?;
        let like =
            self.envelope_of(&wanted, seen).map_err(|what| format!("receive {step} was truncated, and {what}"))?;
        match like.iter().find(|(id, message)| wanted.truncates(*id, message)) {
            Some((id, _)) => {
                if seen.flags & OVERRUN != 0 {
                    self.truncation.push(format!(
                        "receive {step} has room for {} bytes; it returned MPI_ERR_TRUNCATE, and message {id} was written \
                         behind its buffer (MPI 4.1, 3.2.4; spec/matching.md, S-4)",
                        Wanted::ROOM
                    ));
                }
                Ok(Fact::Took(step, *id))
            }
            None => Err(format!(
                "receive {step} returned MPI_ERR_TRUNCATE, and every message from {} with tag {} fits",
                seen.source, seen.tag
            )),
        }
    }

    fn found(&mut self, step: StepId, seen: &Seen) -> Result<Fact, String> {
        let Action::Probe(wanted, call) = self.step(step)?.action else { return Err(nonsense(step)) };
        if wanted.source == Source::Null {
            if call.takes() {
                self.held.insert(step, None);
            }
            return Ok(self.no_process("probe", step, seen));
        }
        let from = self.envelope_of(&wanted, seen).map_err(|what| format!("probe {step} {what}"))?;
        let Some((id, _)) = from.into_iter().find(|(id, message)| message.bulk.bytes(*id) as i32 == seen.count) else {
            let Seen { source, tag, count, .. } = seen;
            return Err(format!("probe {step} found {count} bytes from {source} with tag {tag}, which nobody sends"));
        };
        if call.takes() {
            self.held.insert(step, Some(id));
            Ok(Fact::Plucked(step, id))
        } else {
            Ok(Fact::Found(step, id))
        }
    }

    /// Clauses N-2 and N-3: what a status says when there is no process.
    fn no_process(&mut self, what: &str, step: StepId, seen: &Seen) -> Fact {
        let &Seen { source, tag, count, .. } = seen;
        if (source, tag, count) != (NO_PROCESS, NO_TAG, 0) {
            self.null.push(format!(
                "{what} {step} of MPI_PROC_NULL has source {source}, tag {tag} and {count} bytes in its status \
                 (MPI 4.1, 3.10: source MPI_PROC_NULL, tag MPI_ANY_TAG, no bytes; spec/matching.md, N-2 and N-3)"
            ));
        }
        Fact::Nothing
    }

    /// The messages that a status may be of: those to this rank that agree in communicator, source and tag.
    fn envelope_of(&self, wanted: &Wanted, seen: &Seen) -> Result<Vec<(StepId, Message)>, String> {
        let ranks = self.program.ranks;
        let Some(from) = (0..ranks).find(|&from| {
            wanted.comm.joins(from, self.rank) && i32::from(wanted.comm.rank_of(from, ranks)) == seen.source
        }) else {
            return Err(format!("names source {} in its status, no rank of the communicator", seen.source));
        };
        let is_it = |step: &Step, message: &Message| {
            step.rank == from
                && message.dest == Some(self.rank)
                && message.comm == wanted.comm
                && i32::from(message.tag) == seen.tag
        };
        let all = self.program.messages().filter(|(step, message)| is_it(step, message));
        let all: Vec<_> = all.map(|(step, message)| (step.id, *message)).collect();
        match all.first() {
            None => Err(format!("names source {} and tag {}, from where no message comes", seen.source, seen.tag)),
            Some((_, message)) if !wanted.accepts(from, message) => Err(format!(
                "names source {} and tag {} in its status, which it does not accept",
                seen.source, seen.tag
            )),
            Some(_) => Ok(all),
        }
    }

    /// The message that was received.
    fn message(&self, wanted: &Wanted, seen: &Seen) -> Result<StepId, String> {
        if seen.flags & FOREIGN != 0 {
            return Err("received a message of another program".to_owned());
        }
        let Some(id) = seen.message else {
            let empty = self.envelope_of(wanted, seen)?.into_iter().find(|(id, message)| message.bulk.bytes(*id) == 0);
            return match empty {
                Some((id, _)) if seen.count == 0 => Ok(id),
                _ => Err(format!("received {} bytes that are no message", seen.count)),
            };
        };
        let Some((step, message)) = self.program.messages().find(|(step, _)| step.id == id) else {
            return Err(format!("received message {id}, which nobody sends"));
        };
        if message.dest != Some(self.rank) {
            return Err(format!("received message {id}, which is for rank {}", message.dest.unwrap_or_default()));
        }
        if message.comm != wanted.comm {
            return Err(format!("received message {id}, which was sent in another communicator"));
        }
        if !wanted.accepts(step.rank, message) {
            return Err(format!("received message {id}, which it does not accept"));
        }
        let expected = [
            ("source", seen.source, i32::from(message.comm.rank_of(step.rank, self.program.ranks))),
            ("tag", seen.tag, i32::from(message.tag)),
            ("count", seen.count, message.bulk.bytes(id) as i32),
        ];
        for (name, found, expected) in expected {
            if found != expected {
                return Err(format!("received message {id} with {name} {found} in its status instead of {expected}"));
            }
        }
        if seen.flags & INTACT == 0 {
            return Err(format!("received message {id} with changed bytes"));
        }
        Ok(id)
    }
}

fn nonsense(step: StepId) -> String {
    format!("it wrote something about step {step} that cannot come of that step")
}
