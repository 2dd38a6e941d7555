// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules of test programs: a program that keeps them is valid, and ends on every correct MPI in
//! every interleaving.
//!
//! # Why every program ends
//!
//! After its steps a rank enters the *drain phase*: it receives by testing its requests and by
//! matched probes with both wildcards until it has received every message that the program sends to
//! it; then it cancels its remaining receives. A program therefore ends if every rank completes its
//! steps, which is shown by induction along the schedule. Assume that all steps before step `g`
//! complete. If step `g` does not wait, there is nothing to show. A cancelled receive completes
//! without another rank, and so does the receive of a message taken by a matched probe. Otherwise:
//!
//! - *Barrier*: every rank enters it, because its earlier steps complete.
//! - *Receive* `r`, waited for in step `g`: let `S` be the messages that `r` accepts and that steps
//!   up to `g` send, and `K` the number of receives and matched probes before `r` that accept one
//!   of them. Each takes at most one message, and what is posted after `r` takes nothing that `r`
//!   accepts while `r` waits. If `|S| > K`, some message of `S` is left for `r`, and MPI's progress
//!   rule ends the wait. The same count holds for a probe.
//! - *Send* of `m` to rank `d`, waited for in step `g`: it suffices that no step of `d` after `g`
//!   waits, because `d` then enters its drain phase and receives `m` there at the latest. Otherwise
//!   let `Q` be the receives of `d` before `g` that accept `m` and are never cancelled, and `X` the
//!   other messages that one of `Q` accepts, without those that `m`'s sender sends after `m`, which
//!   cannot overtake it. If `|Q| > |X|`, one of `Q` is left for `m`. In this case no matched probe
//!   of `d` may accept `m`, because its message is received only later. A buffered send waits for
//!   no other rank.
//!
//! Requests of `MPI_Isendrecv` and of partitioned communication are never cancelled, so that the
//! drain phase waits for them. Their sends complete because every rank reaches its drain phase; for
//! their receives the count above holds with all messages of the program. Each partitioned send has
//! a partitioned receive of the same communicator, ranks and tag, and the other way round.
//!
//! Threads of a rank perform their steps one after the other, and what two threads do is not
//! ordered. The induction along the schedule stays valid, because each thread keeps the order of
//! the schedule. In the counts, a receive or matched probe of another thread of the rank counts as
//! older wherever it stands, and a message of another thread of the sender as one that may overtake.
//!
//! The requests of an `MPI_Startall` are started at the rank's next step at the latest, and nothing
//! waits before. They may start in any order, so that the rules must hold in each.
//!
//! # Why the receive of a ready message is posted
//!
//! Let `Q` be the receives of `d` that accept `m`, are never cancelled, and are called before a
//! barrier that precedes the send, or before a send of the rank to itself; `X` as above. If `|Q| >
//! |X|`, one of `Q` is pending whenever `m` is, and so `m` matches that one or an older one.
//!
//! Test: `every_program_ends_in_every_interleaving`; the simulated library stops at a ready send
//! without its receive.

use std::fmt;

use crate::program::{
    Action, Comm, CompleteCall, CountType, Form, Lane, Layout, MAX_STEP, MAX_THREADS, Message, MessageSource,
    ProgramStep, ReceiveSpec, SendMode, SizeClass, StepId, TestProgram,
};

/// A rule that a program breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BrokenRule {
    /// The step that breaks it.
    pub step: StepId,
    /// What was found.
    pub what: &'static str,
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.what)
    }
}

/// Most orders in which the `MPI_Startall` calls of one program may start their requests.
const MAX_ORDERS: usize = 12;

/// The first step of `program` that breaks a rule.
#[must_use]
pub fn broken_rule(program: &TestProgram) -> Option<BrokenRule> {
    let groups = program.startall_groups();
    let orders: usize = groups.iter().map(|group| (1..=group.len()).product::<usize>()).product();
    if orders > MAX_ORDERS {
        let step = groups.last().and_then(|group| group.last()).map_or(0, |&at| program.steps[at].id);
        return Some(BrokenRule { step, what: "too many steps are started together" });
    }
    program.orders().iter().find_map(broken_rule_in_order)
}

fn broken_rule_in_order(program: &TestProgram) -> Option<BrokenRule> {
    program.steps.iter().enumerate().find_map(|(at, step)| {
        let what = invalid(program, at, step).or_else(|| unbounded(program, at, step))?;
        Some(BrokenRule { step: step.id, what })
    })
}

/// Why the step at `at` is not valid.
fn invalid(program: &TestProgram, at: usize, step: &ProgramStep) -> Option<&'static str> {
    let rank = step.rank;
    if step.id > MAX_STEP || program.steps[..at].iter().any(|other| other.id == step.id) {
        return Some("its number is too large or used twice");
    }
    if rank >= program.ranks {
        return Some("its rank is out of range");
    }
    if let Some(what) = invalid_thread(program, step).or_else(|| invalid_session(program, at, step)) {
        return Some(what);
    }
    let is_peer = |comm: Comm, peer: u8| peer < program.ranks && comm.joins(rank, peer);
    if let Some(message) = step.action.message() {
        if message.dest.is_some_and(|dest| !is_peer(message.comm, dest)) {
            return Some("the destination is not a rank of the communicator");
        }
        if message.partitions == 0 && message.size == SizeClass::Empty && has_indistinguishable(program, at, message) {
            return Some("two empty messages could not be told apart");
        }
        if message.mode == SendMode::Ready && !is_ready_certain(program, at, message) {
            return Some("its receive might not be posted");
        }
    }
    if let Action::SendReceive(message, spec, form) = &step.action
        && (message.comm != spec.comm || message.mode != SendMode::Standard || form.is_persistent())
    {
        return Some("MPI_Sendrecv needs one communicator and standard mode, and is not persistent");
    }
    if step.action.is_partitioned() && !is_valid_partitioned(&step.action) {
        return Some("partitioned communication has neither wildcards nor modes nor datatypes, and is persistent");
    }
    let spec = step.action.accepting();
    if let Some(spec) = spec
        && matches!(step.action, Action::Probe(..))
        && (spec.layout != Layout::Bytes || spec.counts != CountType::Int)
    {
        return Some("a probe has no datatype and no count");
    }
    if let Some(spec) = spec
        && let MessageSource::Rank(source) = spec.source
        && !is_peer(spec.comm, source)
    {
        return Some("the source is not a rank of the communicator");
    }
    if let Some(spec) = spec.filter(|spec| spec.short) {
        if !matches!(step.action, Action::Receive(..)) {
            return Some("only a receive can have a short buffer");
        }
        if has_indistinguishable_long(program, rank, spec) {
            return Some("two truncated messages could not be told apart");
        }
    }
    if let Action::Complete(call, of) = &step.action {
        // MPI does not say what its flag is when there is an error, and libraries differ.
        let is_short =
            |id: &StepId| program.step(*id).and_then(|(_, named)| named.action.spec()).is_some_and(|spec| spec.short);
        if *call == CompleteCall::Testall && of.iter().any(is_short) {
            return Some("MPI_Testall is not used with short buffers");
        }
        if of.is_empty() || call.is_single() && of.len() != 1 {
            return Some("the list of requests is empty, or too long for the call");
        }
        if of.iter().enumerate().any(|(index, id)| of[..index].contains(id)) {
            return Some("a request is named twice");
        }
    }
    let suits = |id: &StepId| {
        let Some(named) = program.steps[..at].iter().find(|other| other.id == *id && other.lane() == step.lane())
        else {
            return false;
        };
        let is_partitioned = named.action.is_partitioned();
        match (&step.action, &named.action) {
            (Action::Restart(_), Action::Receive(_, form)) => form.is_persistent() && !is_partitioned,
            (Action::Cancel(_), Action::Receive(spec, form)) => {
                *form != Form::Blocking && spec.source != MessageSource::Null && !is_partitioned
            }
            (
                Action::Complete(..),
                Action::Receive(_, form) | Action::Send(_, form) | Action::SendReceive(_, _, form),
            ) => *form != Form::Blocking,
            (Action::Complete(..), Action::ReceiveProbed(_, nonblocking)) => *nonblocking,
            (Action::ReceiveProbed(id, _), Action::Probe(_, call)) => {
                call.takes()
                    && !program.steps[..at]
                        .iter()
                        .any(|other| matches!(other.action, Action::ReceiveProbed(of, _) if of == *id))
            }
            _ => false,
        }
    };
    if !step.action.references().iter().all(suits) {
        return Some("it refers to a step that does not exist or is of the wrong kind");
    }
    None
}

/// Why the thread of `step` is not valid.
fn invalid_thread(program: &TestProgram, step: &ProgramStep) -> Option<&'static str> {
    if step.thread >= MAX_THREADS || step.action == Action::Barrier && step.thread > 0 {
        return Some("its thread is out of range, or not the first for a barrier");
    }
    if program.is_threaded()
        && (step.action.is_together() || step.action.message().is_some_and(|message| message.mode == SendMode::Ready))
    {
        return Some("threads use neither MPI_Startall nor ready sends");
    }
    None
}

/// Why `step` is not valid because of a session, or of a message that its payload does not identify.
fn invalid_session(program: &TestProgram, at: usize, step: &ProgramStep) -> Option<&'static str> {
    let rank = step.rank;
    if step.action.is_together() {
        let before = program.steps[..at].iter().rev().find(|other| other.is_of(rank));
        if before.is_some_and(|before| {
            before.action.is_together() && program.is_of_session(before) != program.is_of_session(step)
        }) {
            return Some("MPI_Startall mixes requests of a session with others");
        }
    }
    if let Action::SendReceive(_, spec, Form::Nonblocking) = &step.action
        && program.messages().any(|(from, message)| {
            message.dest == Some(rank) && message.bytes(from.id) == 0 && spec.accepts(from.rank, message)
        })
    {
        return Some("an MPI_Isendrecv could receive an empty message, which its payload does not identify");
    }
    if let Action::Complete(_, of) = &step.action {
        let sessions = |is_of: bool| {
            of.iter().any(|id| program.step(*id).is_some_and(|(_, named)| program.is_of_session(named) == is_of))
        };
        if sessions(true) && sessions(false) {
            return Some("a call mixes requests of a session with others");
        }
    }
    None
}

/// Whether the arguments of partitioned communication are valid. Intercommunicators and large counts
/// are left out, because the standard says little about them.
fn is_valid_partitioned(action: &Action) -> bool {
    let is_number = |partitions: u8| (1..=8).contains(&partitions) && partitions.is_power_of_two();
    match action {
        Action::Send(message, form) => {
            is_number(message.partitions)
                && form.is_persistent()
                && message.mode == SendMode::Standard
                && message.comm != Comm::Across
                && message.dest.is_some()
                && (message.layout, message.counts) == (Layout::Bytes, CountType::Int)
        }
        Action::Receive(spec, form) => {
            is_number(spec.partitions)
                && form.is_persistent()
                && spec.comm != Comm::Across
                && matches!(spec.source, MessageSource::Rank(_))
                && spec.tag.is_some()
                && !spec.short
                && (spec.layout, spec.counts) == (Layout::Bytes, CountType::Int)
        }
        _ => false,
    }
}

/// Whether an earlier empty message has the same envelope and destination.
fn has_indistinguishable(program: &TestProgram, at: usize, message: &Message) -> bool {
    let rank = program.steps[at].rank;
    message.dest.is_some()
        && program.steps[..at].iter().any(|other| {
            other.rank == rank
                && other.action.message().is_some_and(|twin| {
                    (twin.size, twin.dest, twin.comm, twin.tag, twin.partitions)
                        == (message.size, message.dest, message.comm, message.tag, 0)
                })
        })
}

/// Whether two long messages with the same envelope may match the short receive `spec` of `rank`: a
/// truncated message is identified by its status alone.
fn has_indistinguishable_long(program: &TestProgram, rank: u8, spec: &ReceiveSpec) -> bool {
    let long: Vec<_> = program
        .messages()
        .filter(|(step, message)| {
            message.dest == Some(rank) && spec.truncates(step.id, message) && spec.accepts(step.rank, message)
        })
        .map(|(step, message)| (step.rank, message.tag))
        .collect();
    long.iter().enumerate().any(|(index, envelope)| long[..index].contains(envelope))
}

/// Why the step at `at` might wait forever.
fn unbounded(program: &TestProgram, at: usize, step: &ProgramStep) -> Option<&'static str> {
    const SEND: &str = "the message might never be received";
    const RECEIVE: &str = "no message might be left for it";
    let lane = step.lane();
    let last = program.steps.len() - 1;
    if step.action.is_partitioned() && !has_partner(program, step) {
        return Some("the numbers of its partitioned sends and receives differ");
    }
    match &step.action {
        Action::Send(message, Form::Blocking) => (!is_send_certain(program, at, message, at)).then_some(SEND),
        Action::Receive(spec, Form::Blocking) => (!is_receive_certain(program, lane, spec, at, at)).then_some(RECEIVE),
        Action::Probe(spec, call) if call.waits() => {
            (!is_receive_certain(program, lane, spec, at, at)).then_some(RECEIVE)
        }
        Action::SendReceive(message, spec, Form::Blocking) => {
            if is_send_certain(program, at, message, at) {
                (!is_receive_certain(program, lane, spec, at, at)).then_some(RECEIVE)
            } else {
                Some(SEND)
            }
        }
        // The drain phase waits for it.
        Action::SendReceive(_, spec, _) => (!is_receive_certain(program, lane, spec, at, last)).then_some(RECEIVE),
        Action::Complete(call, of) if call.waits() => {
            (!of.iter().all(|&id| is_completion_certain(program, id, at))).then_some("a request might never complete")
        }
        _ => None,
    }
}

/// Whether the request of step `id` certainly completes when the step at `now` waits for it.
fn is_completion_certain(program: &TestProgram, id: StepId, now: usize) -> bool {
    let Some((at, step)) = program.step(id) else { return false };
    match &step.action {
        Action::Send(message, _) => is_send_certain(program, at, message, now),
        Action::SendReceive(message, spec, _) => {
            is_send_certain(program, at, message, now) && is_receive_certain(program, step.lane(), spec, at, now)
        }
        Action::Receive(spec, _) => {
            let is_about = |other: &ProgramStep| other.action.references() == [id];
            let later = program.steps[at..now].iter().enumerate().rev();
            let last = later.clone().find(|(_, other)| matches!(other.action, Action::Restart(_)) && is_about(other));
            let posted = last.map_or(at, |(index, _)| at + index);
            let cancelled = program.steps[posted..now]
                .iter()
                .any(|other| matches!(other.action, Action::Cancel(_)) && is_about(other));
            cancelled || is_receive_certain(program, step.lane(), spec, posted, now)
        }
        Action::ReceiveProbed(..) => true,
        _ => false,
    }
}

/// Whether as many partitioned receives as sends have the communicator, ranks and tag of `step`.
fn has_partner(program: &TestProgram, step: &ProgramStep) -> bool {
    let channel = |step: &ProgramStep| match &step.action {
        Action::Send(message, _) if message.partitions > 0 => {
            Some((message.comm, step.rank, message.dest?, message.tag))
        }
        Action::Receive(spec, _) if spec.partitions > 0 => match spec.source {
            MessageSource::Rank(source) => Some((spec.comm, source, step.rank, spec.tag?)),
            _ => None,
        },
        _ => None,
    };
    let of_channel = || program.steps.iter().filter(|other| channel(other) == channel(step));
    let sends = of_channel().filter(|other| other.action.message().is_some()).count();
    channel(step).is_some() && 2 * sends == of_channel().count()
}

/// Whether a receive or probe of a thread posted at index `posted` certainly gets a message when the
/// step at `now` waits.
fn is_receive_certain(
    program: &TestProgram,
    (rank, thread): Lane,
    spec: &ReceiveSpec,
    posted: usize,
    now: usize,
) -> bool {
    if spec.source == MessageSource::Null {
        return true;
    }
    let on_their_way: Vec<(u8, &Message)> = program.steps[..=now]
        .iter()
        .filter_map(|step| Some((step.rank, step.action.message()?)))
        .filter(|(from, message)| message.dest == Some(rank) && spec.accepts(*from, message))
        .collect();
    let takers = program.steps.iter().enumerate().filter(|(index, step)| {
        step.rank == rank
            && (*index < posted || step.thread != thread)
            && taker(program, step)
                .is_some_and(|other| on_their_way.iter().any(|(from, message)| other.accepts(*from, message)))
    });
    on_their_way.len() > takers.count()
}

/// The arguments with which `step` may take a message, as a receive or a matched probe.
fn taker<'a>(program: &'a TestProgram, step: &'a ProgramStep) -> Option<&'a ReceiveSpec> {
    match &step.action {
        Action::Probe(spec, call) if call.takes() => Some(spec),
        _ => program.posted_spec(step),
    }
}

/// Whether the message sent at `at` is certainly received when the step at `now` waits for the
/// send.
fn is_send_certain(program: &TestProgram, at: usize, message: &Message, now: usize) -> bool {
    let Some(dest) = message.dest else { return true };
    let from = program.steps[at].rank;
    if message.mode == SendMode::Buffered {
        return true;
    }
    if dest != from && program.steps[now + 1..].iter().all(|step| !(step.is_of(dest) && step.action.waits())) {
        return true;
    }
    let may_be_probed = program.steps.iter().any(|step| {
        step.rank == dest
            && matches!(&step.action, Action::Probe(spec, call) if call.takes() && spec.accepts(from, message))
    });
    !may_be_probed && is_one_left(program, at, message, &program.steps[..=now])
}

/// Whether the receive of the message sent at `at` is certainly posted by then.
fn is_ready_certain(program: &TestProgram, at: usize, message: &Message) -> bool {
    let Some(dest) = message.dest else { return true };
    let before = &program.steps[..at];
    let over = if dest == program.steps[at].rank {
        at
    } else {
        before.iter().rposition(|step| step.action == Action::Barrier).unwrap_or(0)
    };
    is_one_left(program, at, message, &before[..over])
}

/// Whether `steps` post more receives that accept the message sent at `at` than other messages can
/// match.
fn is_one_left(program: &TestProgram, at: usize, message: &Message, steps: &[ProgramStep]) -> bool {
    let from = program.steps[at].rank;
    let lane = program.steps[at].lane();
    let Some(dest) = message.dest else { return false };
    let is_given_up = |id: StepId| {
        program.steps.iter().any(|step| matches!(step.action, Action::Cancel(of) | Action::Restart(of) if of == id))
    };
    let takers: Vec<&ReceiveSpec> = steps
        .iter()
        .filter(|step| step.rank == dest && !is_given_up(step.id))
        .filter_map(|step| step.action.spec())
        .filter(|spec| spec.accepts(from, message))
        .collect();
    let rivals = program.steps.iter().enumerate().filter(|(index, step)| {
        *index != at
            && !(step.lane() == lane && *index > at)
            && step.action.message().is_some_and(|other| {
                other.dest == Some(dest) && takers.iter().any(|spec| spec.accepts(step.rank, other))
            })
    });
    takers.len() > rivals.count()
}
