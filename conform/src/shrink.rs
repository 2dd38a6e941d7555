// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that are a little simpler than one that fails; whoever shrinks runs them and goes on with one that still fails.

use crate::program::{
    Action, Bulk, Comm, CompleteCall, Form, Message, Mode, ProbeCall, Program, Source, Step, StepId, Wanted,
};
use crate::rules;

/// Every program that is one move simpler than `program`, the simplest first; all keep the rules of [`crate::rules`].
#[must_use]
pub fn candidates(program: &Program) -> Vec<Program> {
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
            other.steps.iter_mut().for_each(|step| move_comm(step, comm));
            simpler.push(other);
        }
    }
    let mut kept: Vec<Program> = Vec::new();
    for other in simpler {
        if other != *program && rules::fault(&other).is_none() && !kept.contains(&other) {
            kept.push(other);
        }
    }
    kept
}

/// `program` without the steps that `is_gone`, and without what refers to them.
fn without(program: &Program, is_gone: impl Fn(usize) -> bool) -> Program {
    let gone: Vec<StepId> =
        program.steps.iter().enumerate().filter(|(index, _)| is_gone(*index)).map(|(_, step)| step.id).collect();
    strip(program, &|step| gone.contains(&step.id))
}

fn strip(program: &Program, is_gone: &dyn Fn(&Step) -> bool) -> Program {
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
            Action::Restart(of) | Action::Take(of, _) | Action::Cancel(of) if gone.contains(of) => {
                gone.push(step.id);
                continue;
            }
            _ => {}
        }
        steps.push(step);
    }
    Program { ranks: program.ranks, steps }
}

/// `program` without `rank`; what it was sent and what names it goes too.
fn without_rank(program: &Program, rank: u8) -> Option<Program> {
    if program.ranks <= 1 {
        return None;
    }
    let names = |wanted: &Wanted| wanted.source == Source::Rank(rank);
    let is_gone = |step: &Step| {
        let is_about = match &step.action {
            Action::Send(message, _) => message.dest == Some(rank),
            Action::SendReceive(message, wanted) => message.dest == Some(rank) || names(wanted),
            Action::Receive(wanted, _) | Action::Probe(wanted, _) => names(wanted),
            _ => false,
        };
        step.action != Action::Barrier && (step.rank == rank || is_about)
    };
    let mut other = strip(program, &is_gone);
    other.ranks -= 1;
    let lower = |peer: &mut u8| *peer -= u8::from(*peer > rank);
    for step in &mut other.steps {
        lower(&mut step.rank);
        let lower_source = |wanted: &mut Wanted| {
            if let Source::Rank(source) = &mut wanted.source {
                lower(source);
            }
        };
        match &mut step.action {
            Action::Send(message, _) => message.dest.iter_mut().for_each(lower),
            Action::SendReceive(message, wanted) => {
                message.dest.iter_mut().for_each(lower);
                lower_source(wanted);
            }
            Action::Receive(wanted, _) | Action::Probe(wanted, _) => lower_source(wanted),
            _ => {}
        }
    }
    Some(other)
}

/// Plainer things to do in the place of `action`.
fn simpler_actions(action: &Action) -> Vec<Action> {
    let mut simpler = Vec::new();
    match action {
        Action::Send(message, form) => {
            if message.bulk > Bulk::Short {
                simpler.push(Action::Send(Message { bulk: Bulk::Short, ..*message }, *form));
            }
            if message.bulk == Bulk::Huge {
                simpler.push(Action::Send(Message { bulk: Bulk::Long, ..*message }, *form));
            }
            if message.bulk == Bulk::Empty {
                simpler.push(Action::Send(Message { bulk: Bulk::Short, ..*message }, *form));
            }
            if message.mode != Mode::Standard {
                simpler.push(Action::Send(Message { mode: Mode::Standard, ..*message }, *form));
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
        Action::Receive(wanted, form) => {
            if wanted.tag.is_some_and(|tag| tag > 0) {
                simpler.push(Action::Receive(Wanted { tag: Some(0), ..*wanted }, *form));
            }
            if wanted.tag.is_none() {
                simpler.push(Action::Receive(Wanted { tag: Some(0), ..*wanted }, *form));
            }
            if wanted.short {
                simpler.push(Action::Receive(Wanted { short: false, ..*wanted }, *form));
            }
            if form.is_persistent() {
                simpler.push(Action::Receive(*wanted, Form::Nonblocking));
            }
            if *form == Form::Together {
                simpler.push(Action::Receive(*wanted, Form::Persistent));
            }
        }
        Action::SendReceive(message, wanted) => {
            simpler.push(Action::Send(*message, Form::Nonblocking));
            simpler.push(Action::Receive(*wanted, Form::Nonblocking));
        }
        Action::Probe(wanted, ProbeCall::Probe) => simpler.push(Action::Probe(*wanted, ProbeCall::Iprobe)),
        Action::Probe(wanted, ProbeCall::Mprobe) => simpler.push(Action::Probe(*wanted, ProbeCall::Improbe)),
        Action::Take(of, true) => simpler.push(Action::Take(*of, false)),
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
        | Action::Take(..)
        | Action::Cancel(_)
        | Action::Barrier
        | Action::Pause => {}
    }
    simpler
}

/// What happens in `comm` happens in the first communicator instead.
fn move_comm(step: &mut Step, comm: Comm) {
    let set = |of: &mut Comm| {
        if *of == comm {
            *of = Comm::First;
        }
    };
    match &mut step.action {
        Action::Send(message, _) => set(&mut message.comm),
        Action::Receive(wanted, _) | Action::Probe(wanted, _) => set(&mut wanted.comm),
        Action::SendReceive(message, wanted) => {
            set(&mut message.comm);
            set(&mut wanted.comm);
        }
        _ => {}
    }
}
