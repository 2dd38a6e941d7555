// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shrinking: programs one simplification away from a failing one. The caller runs them and
//! continues with one that fails.

use crate::generate::MAX_RANKS;
use crate::program::{
    Action, Comm, CompleteCall, CountType, Form, Layout, Message, MessageSource, ProbeCall, ProgramStep, ReceiveSpec,
    SendMode, SizeClass, StepId, TestProgram,
};
use crate::rules;

/// Every program one simplification away from `program`, simplest first; all keep the rules of
/// [`crate::rules`].
#[must_use]
pub fn candidates(program: &TestProgram) -> Vec<TestProgram> {
    let mut simpler = Vec::new();
    let count = program.steps.len();
    let mut length = count / 2;
    while length >= 2 {
        for start in (0..count).step_by(length) {
            simpler.push(without(program, |index| (start..start + length).contains(&index)));
        }
        length /= 2;
    }
    for rank in (0..program.ranks).rev() {
        simpler.extend(without_rank(program, rank));
    }
    simpler.extend(with_fewer_threads(program));
    simpler.push(with_partitioned_tag_0(program));
    // A partitioned send and its receive go together.
    let partitioned: Vec<usize> = (0..count).filter(|&index| program.steps[index].action.is_partitioned()).collect();
    if !partitioned.is_empty() {
        simpler.push(without(program, |index| partitioned.contains(&index)));
    }
    for (at, &first) in partitioned.iter().enumerate() {
        simpler.extend(
            partitioned[at + 1..].iter().map(|&second| without(program, |index| index == first || index == second)),
        );
    }
    for first in 0..count {
        simpler.push(without(program, |index| index == first));
    }
    // A message and its receive are often needed together or not at all.
    if count <= 16 {
        for first in 0..count {
            simpler
                .extend((first + 1..count).map(|second| without(program, |index| index == first || index == second)));
        }
    }
    for index in 0..count {
        for action in simpler_actions(&program.steps[index].action) {
            let mut other = program.clone();
            other.steps[index].action = action;
            simpler.push(other);
        }
    }
    for comm in Comm::ALL {
        if comm != Comm::First {
            let mut other = program.clone();
            other.steps.iter_mut().for_each(|step| move_to_first(step, comm));
            simpler.push(other);
        }
    }
    let mut kept: Vec<TestProgram> = Vec::new();
    for other in simpler {
        if other != *program && rules::broken_rule(&other).is_none() && !kept.contains(&other) {
            kept.push(other);
        }
    }
    kept
}

/// `program` without the steps that `is_gone` selects, and without references to them.
fn without(program: &TestProgram, is_gone: impl Fn(usize) -> bool) -> TestProgram {
    let gone: Vec<StepId> =
        program.steps.iter().enumerate().filter(|(index, _)| is_gone(*index)).map(|(_, step)| step.id).collect();
    strip(program, &|step| gone.contains(&step.id))
}

fn strip(program: &TestProgram, is_gone: &dyn Fn(&ProgramStep) -> bool) -> TestProgram {
    let mut gone: Vec<StepId> = program.steps.iter().filter(|step| is_gone(step)).map(|step| step.id).collect();
    let mut steps = Vec::new();
    for step in &program.steps {
        if gone.contains(&step.id) {
            continue;
        }
        let mut step = step.clone();
        match &mut step.action {
            Action::Complete(call, of) => {
                of.retain(|id| !gone.contains(id));
                if of.is_empty() {
                    continue;
                }
                debug_assert!(!call.is_single() || of.len() == 1);
            }
            Action::Restart(of) | Action::ReceiveProbed(of, _) | Action::Cancel(of) if gone.contains(of) => {
                gone.push(step.id);
                continue;
            }
            _ => {}
        }
        steps.push(step);
    }
    TestProgram { ranks: program.ranks, steps }
}

/// `program` without `rank`, without messages to it and receives that name it.
fn without_rank(program: &TestProgram, rank: u8) -> Option<TestProgram> {
    if program.ranks <= 1 {
        return None;
    }
    let names = |spec: &ReceiveSpec| spec.source == MessageSource::Rank(rank);
    let is_gone = |step: &ProgramStep| {
        let is_about = match &step.action {
            Action::Send(message, _) => message.dest == Some(rank),
            Action::SendReceive(message, spec, _) => message.dest == Some(rank) || names(spec),
            Action::Receive(spec, _) | Action::Probe(spec, _) => names(spec),
            _ => false,
        };
        step.action != Action::Barrier && (step.rank == rank || is_about)
    };
    let mut other = strip(program, &is_gone);
    other.ranks -= 1;
    let lower = |peer: &mut u8| *peer -= u8::from(*peer > rank);
    for step in &mut other.steps {
        lower(&mut step.rank);
        let lower_source = |spec: &mut ReceiveSpec| {
            if let MessageSource::Rank(source) = &mut spec.source {
                lower(source);
            }
        };
        match &mut step.action {
            Action::Send(message, _) => message.dest.iter_mut().for_each(lower),
            Action::SendReceive(message, spec, _) => {
                message.dest.iter_mut().for_each(lower);
                lower_source(spec);
            }
            Action::Receive(spec, _) | Action::Probe(spec, _) => lower_source(spec),
            _ => {}
        }
    }
    Some(other)
}

/// Simpler replacements of `action`.
fn simpler_actions(action: &Action) -> Vec<Action> {
    let mut simpler = Vec::new();
    match action {
        Action::Send(message, form) if message.partitions > 0 => {
            if message.partitions > 1 {
                simpler.push(Action::Send(Message { partitions: 1, ..*message }, *form));
            }
            if *form == Form::Together {
                simpler.push(Action::Send(*message, Form::Persistent));
            }
        }
        Action::Receive(spec, form) if spec.partitions > 0 => {
            if spec.partitions > 1 {
                simpler.push(Action::Receive(ReceiveSpec { partitions: 1, ..*spec }, *form));
            }
            if *form == Form::Together {
                simpler.push(Action::Receive(*spec, Form::Persistent));
            }
        }
        Action::Send(message, form) => {
            simpler.extend(plain_messages(message).into_iter().map(|message| Action::Send(message, *form)));
            if message.size > SizeClass::Short {
                simpler.push(Action::Send(Message { size: SizeClass::Short, ..*message }, *form));
            }
            if message.size == SizeClass::Huge {
                simpler.push(Action::Send(Message { size: SizeClass::Long, ..*message }, *form));
            }
            if message.size == SizeClass::Empty {
                simpler.push(Action::Send(Message { size: SizeClass::Short, ..*message }, *form));
            }
            if message.mode != SendMode::Standard {
                simpler.push(Action::Send(Message { mode: SendMode::Standard, ..*message }, *form));
            }
            if message.tag > 0 {
                simpler.push(Action::Send(Message { tag: 0, ..*message }, *form));
            }
            if form.is_persistent() {
                simpler.push(Action::Send(*message, Form::Nonblocking));
            }
            if *form == Form::Together {
                simpler.push(Action::Send(*message, Form::Persistent));
            }
        }
        Action::Receive(spec, form) => {
            simpler.extend(plain_specs(spec).into_iter().map(|spec| Action::Receive(spec, *form)));
            if spec.tag.is_some_and(|tag| tag > 0) {
                simpler.push(Action::Receive(ReceiveSpec { tag: Some(0), ..*spec }, *form));
            }
            if spec.tag.is_none() {
                simpler.push(Action::Receive(ReceiveSpec { tag: Some(0), ..*spec }, *form));
            }
            if spec.short {
                simpler.push(Action::Receive(ReceiveSpec { short: false, ..*spec }, *form));
            }
            if form.is_persistent() {
                simpler.push(Action::Receive(*spec, Form::Nonblocking));
            }
            if *form == Form::Together {
                simpler.push(Action::Receive(*spec, Form::Persistent));
            }
        }
        Action::SendReceive(message, spec, form) => {
            simpler.push(Action::Send(*message, Form::Nonblocking));
            simpler.push(Action::Receive(*spec, Form::Nonblocking));
            if *form == Form::Nonblocking {
                simpler.push(Action::SendReceive(*message, *spec, Form::Blocking));
            }
            let messages = plain_messages(message).into_iter();
            simpler.extend(messages.map(|message| Action::SendReceive(message, *spec, *form)));
            simpler.extend(plain_specs(spec).into_iter().map(|spec| Action::SendReceive(*message, spec, *form)));
        }
        Action::Probe(spec, ProbeCall::Probe) => simpler.push(Action::Probe(*spec, ProbeCall::Iprobe)),
        Action::Probe(spec, ProbeCall::Mprobe) => simpler.push(Action::Probe(*spec, ProbeCall::Improbe)),
        Action::ReceiveProbed(of, true) => simpler.push(Action::ReceiveProbed(*of, false)),
        Action::Complete(call, of) => {
            if of.len() > 1 {
                simpler.extend(
                    of.iter().map(|gone| Action::Complete(*call, of.iter().copied().filter(|id| id != gone).collect())),
                );
            } else if !call.is_single() {
                let single = if call.waits() { CompleteCall::Wait } else { CompleteCall::Test };
                simpler.push(Action::Complete(single, of.clone()));
            }
        }
        Action::Restart(_)
        | Action::Probe(..)
        | Action::ReceiveProbed(..)
        | Action::Cancel(_)
        | Action::Barrier
        | Action::Pause => {}
    }
    simpler
}

/// `message` as bytes, and with a count of type `int`.
fn plain_messages(message: &Message) -> Vec<Message> {
    let all = [Message { layout: Layout::Bytes, ..*message }, Message { counts: CountType::Int, ..*message }];
    all.into_iter().filter(|other| other != message).collect()
}

/// `spec` with a buffer of bytes, with a count of type `int`, and with each rank as the source in place of
/// `MPI_ANY_SOURCE`; not all of them are members of the communicator.
fn plain_specs(spec: &ReceiveSpec) -> Vec<ReceiveSpec> {
    let mut all = vec![ReceiveSpec { layout: Layout::Bytes, ..*spec }, ReceiveSpec { counts: CountType::Int, ..*spec }];
    if spec.source == MessageSource::Any {
        all.extend((0..MAX_RANKS).map(|rank| ReceiveSpec { source: MessageSource::Rank(rank), ..*spec }));
    }
    all.retain(|other| other != spec);
    all
}

/// `program` with tag 0, and so the smallest size, in all partitioned communication.
fn with_partitioned_tag_0(program: &TestProgram) -> TestProgram {
    let mut other = program.clone();
    for step in &mut other.steps {
        match &mut step.action {
            Action::Send(message, _) if message.partitions > 0 => message.tag = 0,
            Action::Receive(spec, _) if spec.partitions > 0 => spec.tag = Some(0),
            _ => {}
        }
    }
    other
}

/// `program` with one thread per rank, or with one thread of a rank joined to its first.
fn with_fewer_threads(program: &TestProgram) -> Vec<TestProgram> {
    let joined = |is_joined: &dyn Fn(&ProgramStep) -> bool| {
        let mut other = program.clone();
        other.steps.iter_mut().filter(|step| is_joined(step)).for_each(|step| step.thread = 0);
        other
    };
    let lanes = program.lanes().into_iter().filter(|(_, thread)| *thread > 0);
    let one_by_one = lanes.map(|lane| joined(&|step| step.lane() == lane));
    std::iter::once(joined(&|_| true)).chain(one_by_one).filter(|other| other != program).collect()
}

/// Replaces `comm` by the first communicator.
fn move_to_first(step: &mut ProgramStep, comm: Comm) {
    let set = |of: &mut Comm| {
        if *of == comm {
            *of = Comm::First;
        }
    };
    match &mut step.action {
        Action::Send(message, _) => set(&mut message.comm),
        Action::Receive(spec, _) | Action::Probe(spec, _) => set(&mut spec.comm),
        Action::SendReceive(message, spec, _) => {
            set(&mut message.comm);
            set(&mut spec.comm);
        }
        _ => {}
    }
}
