// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every structure of mbmatch beside the oracle, operation by operation: on the corpus and on the
//! random streams that engines are judged by. The matcher is driven directly and not through the
//! engine.

use std::collections::BTreeMap;

use mb_core::{Initiator, MsgId, Op, Outcome, QueueLengths, RecvId};
use mb_oracle::Oracle;
use mb_testkit::{cases, streams};
use mbmatch::{Arrived, Envelope, Handle, Matcher, Message, Options, Pattern, Posted, Structure};

/// A matcher behind the oracle's interface.
struct Adapter {
    matcher: Matcher,
    /// Handles are kept after the match, so that many of them are stale.
    receives: BTreeMap<RecvId, Handle>,
}

impl Adapter {
    fn new(structure: Structure) -> Self {
        Self { matcher: Matcher::new(structure, Options::default()), receives: BTreeMap::new() }
    }

    fn apply(&mut self, op: Op) -> Outcome {
        let found = |message: Message| MsgId(message.user);
        match op {
            Op::Post { recv, pattern } => match self.matcher.post(pattern_of(pattern), recv.0).expect("memory") {
                Posted::Matched(message) => Outcome::Matched(recv, found(message)),
                Posted::Waiting(handle) => {
                    self.receives.insert(recv, handle);
                    Outcome::Posted(recv)
                }
            },
            Op::Arrive { msg, envelope } => match self.matcher.arrive(envelope_of(envelope), msg.0).expect("memory") {
                Arrived::Matched { user } => Outcome::Matched(RecvId(user), msg),
                Arrived::Unexpected(_) => Outcome::Unexpected(msg),
            },
            Op::Cancel { recv } => match self.receives.get(&recv).and_then(|handle| self.matcher.cancel(*handle)) {
                Some(user) => Outcome::Cancelled(RecvId(user)),
                None => Outcome::NotCancelled(recv),
            },
            Op::Probe { probe, pattern } => {
                let probed = self.matcher.probe(pattern_of(pattern));
                Outcome::Probed(probe, probed.map(|message| MsgId(message.user)))
            }
            Op::MatchedProbe { probe, pattern } => {
                Outcome::Probed(probe, self.matcher.mprobe(pattern_of(pattern)).map(found))
            }
        }
    }

    /// Applies `ops` to the matcher and to an oracle, and compares outcomes and queue lengths.
    fn compare(&mut self, ops: impl Iterator<Item = Op>) -> Result<(), String> {
        let mut oracle = Oracle::new();
        for (op, number) in ops.zip(1..) {
            let (expected, _) = oracle.apply(op);
            let outcome = self.apply(op);
            if outcome != expected {
                return Err(format!("operation {number}, {op:?}: `{outcome}` found, `{expected}` expected"));
            }
            let lengths = QueueLengths { posted: self.matcher.posted_len(), unexpected: self.matcher.unexpected_len() };
            let expected = oracle.queue_lengths();
            if lengths != expected {
                return Err(format!("operation {number}, {op:?}: lengths {lengths:?} found, {expected:?} expected"));
            }
        }
        Ok(())
    }
}

fn envelope_of(envelope: mb_core::Envelope) -> Envelope {
    Envelope { bits: envelope.bits, source: envelope.initiator.0 }
}

fn pattern_of(pattern: mb_core::Pattern) -> Pattern {
    Pattern { bits: pattern.bits, ignore: pattern.ignore, source: pattern.initiator.map(|Initiator(source)| source) }
}

#[test]
fn every_structure_passes_the_corpus() {
    for &structure in Structure::ALL {
        for case in cases::corpus().expect("the corpus reads") {
            if let Err(difference) = Adapter::new(structure).compare(case.ops.iter().copied()) {
                panic!("{structure}: {}: {difference}", case.name);
            }
        }
    }
}

#[test]
fn every_structure_has_the_oracles_outcomes_on_random_streams() {
    for &structure in Structure::ALL {
        let judged = streams::check(400, |offers| Adapter::new(structure).compare(offers.iter().map(|offer| offer.op)));
        if let Err(difference) = judged {
            panic!("{structure}: {difference}");
        }
    }
}
