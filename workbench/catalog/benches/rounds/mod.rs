// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The workload of the benches of engines: rounds of two operations that do not change the lengths of the lists.
//!
//! `posted/D`: D receives with different tags are posted; each round an arrival takes one of them, chosen at random,
//! and it is posted again. `unexpected/D`: the same with messages. `wildcard/D`: as `posted`, every fourth receive of
//! any source. At depth 0 a round is an entry into the empty list and what takes it out.

use mb_catalog::EngineChoice;
use mb_core::parameters::{Domain, ParameterSpec, Unit};
use mb_core::{Accepted, Envelope, Initiator, MsgId, Op, Pattern, Picos, RecvId, ReplayEngine};

/// Operations of a round.
pub(crate) const OPERATIONS: u64 = 2;

/// What is kept at its depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    Posted,
    Wildcard,
    Unexpected,
}

impl Kept {
    pub(crate) const ALL: [Self; 3] = [Self::Posted, Self::Wildcard, Self::Unexpected];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Posted => "posted",
            Self::Wildcard => "wildcard",
            Self::Unexpected => "unexpected",
        }
    }
}

/// Every engine in each of its structures: presets with other words or sizes. Those that differ in
/// times alone cost the same on the host.
pub(crate) fn structures() -> Vec<EngineChoice> {
    let structure = |choice: &EngineChoice| {
        let structural =
            |spec: &ParameterSpec| matches!(spec.domain, Domain::Choice(_) | Domain::Range { unit: Unit::Count, .. });
        let values = choice.parameters.iter().filter(|(spec, _)| structural(spec));
        (choice.entry.card.name, values.map(|(spec, parameter)| (spec.key, parameter.value)).collect::<Vec<_>>())
    };
    let all = mb_catalog::all().and_then(|mut all| {
        all.extend(mb_catalog::literal()?);
        Ok(all)
    });
    let mut choices: Vec<EngineChoice> = Vec::new();
    for choice in all.expect("presets can be read") {
        if choices.iter().all(|other| structure(other) != structure(&choice)) {
            choices.push(choice);
        }
    }
    choices
}

/// An engine whose lists are filled, and what its rounds came to.
pub(crate) struct Rounds {
    engine: Box<dyn ReplayEngine>,
    kept: Kept,
    depth: u64,
    now: Picos,
    names: u64,
    done: Vec<mb_core::Completion>,
    random: u64,
    /// Entries compared so far.
    #[allow(dead_code, reason = "a bench of times alone reads no counts")]
    pub(crate) visits: u64,
    /// Modelled time from offers to answers so far.
    #[allow(dead_code, reason = "as above")]
    pub(crate) modelled: Picos,
}

impl Rounds {
    pub(crate) fn new(choice: &EngineChoice, kept: Kept, depth: u64) -> Self {
        let engine = choice.build().expect("presets are right");
        let random = 88_172_645_463_325_252;
        let (now, modelled) = (Picos::ZERO, Picos::ZERO);
        let mut run = Self { engine, kept, depth, now, names: 0, done: Vec::new(), random, visits: 0, modelled };
        for tag in 0..depth {
            run.enter(tag);
        }
        (run.visits, run.modelled) = (0, Picos::ZERO);
        run
    }

    pub(crate) fn round(&mut self) {
        let tag = self.random(self.depth.max(1));
        if self.depth == 0 {
            self.enter(tag);
            self.leave(tag);
        } else {
            self.leave(tag);
            self.enter(tag);
        }
    }

    /// An entry of the list that is kept.
    fn enter(&mut self, tag: u64) {
        if self.kept == Kept::Unexpected { self.arrive(tag) } else { self.post(tag) }
    }

    fn leave(&mut self, tag: u64) {
        if self.kept == Kept::Unexpected { self.post(tag) } else { self.arrive(tag) }
    }

    fn name(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    /// The next number of Marsaglia's xorshift.
    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn post(&mut self, tag: u64) {
        let recv = RecvId(self.name());
        let exact = Pattern::exactly(envelope(tag));
        let is_any = self.kept == Kept::Wildcard && tag % 4 == 3;
        let initiator = if is_any { None } else { exact.initiator };
        self.serve(Op::Post { recv, pattern: Pattern { initiator, ..exact } });
    }

    fn arrive(&mut self, tag: u64) {
        let msg = MsgId(self.name());
        self.serve(Op::Arrive { msg, envelope: envelope(tag) });
    }

    /// Offers `op` and fetches its completion.
    fn serve(&mut self, op: Op) {
        assert_eq!(self.engine.offer(self.now, op), Accepted::Yes, "an idle engine takes an operation");
        self.done.clear();
        self.engine.settle(&mut self.done);
        while self.done.is_empty() {
            let event = self.engine.next_event().expect("an operation is answered");
            self.engine.run_until(event, &mut self.done);
        }
        let completion = self.done[0];
        self.visits += u64::from(completion.visits);
        self.modelled += completion.at - self.now;
        self.now = completion.at;
    }
}

fn envelope(tag: u64) -> Envelope {
    Envelope { bits: tag, initiator: Initiator(tag as u32 % 26) }
}
