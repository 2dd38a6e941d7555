// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traits: what a test program makes use of. Programs that fail are compared by them with programs
//! that do not.
//!
//! The first traits are the features of [`Feature`], which the generator can exclude. The others
//! are so common that a generator without them would hardly test matching; programs that have them
//! can only be passed over.

use crate::feature::Feature;
use crate::program::{Action, Comm, Form, MessageSource, ReceiveSpec, SizeClass, TestProgram};

/// The traits of `program`: features first.
#[must_use]
pub fn traits(program: &TestProgram) -> Vec<&'static str> {
    let features = Feature::ALL.iter().filter(|(feature, _)| feature.has(program));
    let mut all: Vec<&'static str> = features.map(|(_, name)| *name).collect();
    let mut add = |name, is_in: &dyn Fn(&Action) -> bool| {
        if program.steps.iter().any(|step| is_in(&step.action)) {
            all.push(name);
        }
    };
    let size = |action: &Action, size| action.message().is_some_and(|message| message.size == size);
    add("any-source", &|action| receives(action).is_some_and(|spec| spec.source == MessageSource::Any));
    add("any-tag", &|action| {
        receives(action).is_some_and(|spec| spec.source != MessageSource::Null && spec.tag.is_none())
    });
    add("empty-message", &|action| size(action, SizeClass::Empty));
    add("middle-message", &|action| size(action, SizeClass::Middle));
    add("huge-message", &|action| size(action, SizeClass::Huge));
    add("blocking-send", &|action| matches!(action, Action::Send(_, Form::Blocking)));
    add("blocking-receive", &|action| matches!(action, Action::Receive(_, Form::Blocking)));
    add("nonblocking-send", &|action| matches!(action, Action::Send(_, Form::Nonblocking)));
    add("nonblocking-receive", &|action| matches!(action, Action::Receive(_, Form::Nonblocking)));
    add("completion", &|action| matches!(action, Action::Complete(..)));
    add("barrier", &|action| matches!(action, Action::Barrier));
    if communicators(program) > 1 {
        all.push("several-communicators");
    }
    if program.ranks > 2 {
        all.push("more-than-two-ranks");
    }
    all
}

/// The arguments of the receive or probe of `action`.
fn receives(action: &Action) -> Option<&ReceiveSpec> {
    match action {
        Action::Probe(spec, _) => Some(spec),
        action => action.spec(),
    }
}

fn communicators(program: &TestProgram) -> usize {
    let uses = |comm: Comm| {
        program.steps.iter().any(|step| {
            step.action.message().is_some_and(|message| message.comm == comm)
                || receives(&step.action).is_some_and(|spec| spec.comm == comm)
        })
    };
    Comm::ALL.into_iter().filter(|&comm| uses(comm)).count()
}
