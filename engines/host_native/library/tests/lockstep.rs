// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every structure does what the oracle does, operation by operation: on the corpus, on the streams that engines are
//! judged by, and on long random ones with deep queues, floods of one envelope, masks of every kind and stale handles.

use std::collections::BTreeMap;

use mb_core::{Initiator, MsgId, Op, Outcome, RecvId};
use mb_matcher::{Arrived, Envelope, Handle, Matcher, Message, Options, Pattern, Posted, Structure};
use mb_oracle::Oracle;
use mb_testkit::{cases, streams};

/// A matcher that speaks the oracle's language.
struct Adapter {
    matcher: Matcher,
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
            // Handles are kept after the match, so that many are stale.
            Op::Cancel { recv } => match self.receives.get(&recv).and_then(|handle| self.matcher.cancel(*handle)) {
                Some(user) => Outcome::Cancelled(RecvId(user)),
                None => Outcome::NotCancelled(recv),
            },
            Op::Probe { probe, pattern } => Outcome::Probed(probe, self.matcher.probe(pattern_of(pattern)).map(found)),
            Op::MatchedProbe { probe, pattern } => {
                Outcome::Probed(probe, self.matcher.mprobe(pattern_of(pattern)).map(found))
            }
        }
    }

    /// Applies `ops` here and to an oracle.
    fn judge(&mut self, ops: impl Iterator<Item = Op>) -> Result<(), String> {
        let mut oracle = Oracle::new();
        for (op, number) in ops.zip(1..) {
            let (expected, _) = oracle.apply(op);
            let outcome = self.apply(op);
            let lengths = (self.matcher.posted_len(), self.matcher.unexpected_len());
            if outcome != expected {
                return Err(format!("operation {number}, {op:?}: `{outcome}`, the oracle says `{expected}`"));
            }
            if lengths != oracle.queue_lengths() {
                return Err(format!(
                    "operation {number}, {op:?}: lengths {lengths:?}, not {:?}",
                    oracle.queue_lengths()
                ));
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
#[cfg_attr(miri, ignore = "reads the corpus from files")]
fn every_structure_passes_the_corpus() {
    for &structure in Structure::ALL {
        for case in cases::corpus().expect("the corpus reads") {
            if let Err(objection) = Adapter::new(structure).judge(case.ops.iter().copied()) {
                panic!("{structure}: {}: {objection}", case.name);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "the random runs below do for the interpreter")]
fn every_outcome_of_a_random_stream_is_the_oracles() {
    for &structure in Structure::ALL {
        let judged = streams::check(400, |offers| Adapter::new(structure).judge(offers.iter().map(|offer| offer.op)));
        if let Err(objection) = judged {
            panic!("{structure}: {objection}");
        }
    }
}

/// The oracle's two lists again, with what it has no operation for: taking a message back.
#[derive(Default)]
struct Reference {
    posted: Vec<(Pattern, u64)>,
    unexpected: Vec<(Envelope, u64)>,
}

/// The generator of Steele, Lea and Flood (2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// What a stretch of a random run does: percentages, and how its envelopes and patterns differ.
struct Stretch {
    operations: u64,
    /// Of a hundred operations: posts, arrivals, cancels, discards, probes; matched probes are the rest.
    weights: [u64; 5],
    tags: u64,
    sources: u64,
    /// Of a hundred patterns, how many have a wildcard of MPI's kind, and how many a mask of any bits.
    wildcards: u64,
    scattered: u64,
}

impl Stretch {
    fn random(random: &mut Random, longest: u64) -> Self {
        const WEIGHTS: [[u64; 5]; 8] = [
            [45, 45, 3, 1, 4],
            [92, 5, 1, 0, 1],
            [5, 92, 0, 1, 1],
            [10, 30, 58, 0, 1],
            [30, 10, 0, 55, 3],
            [20, 20, 10, 10, 30],
            // Steady: as many in as out, with a queue that stays.
            [49, 51, 0, 0, 0],
            [51, 49, 0, 0, 0],
        ];
        let pick = |random: &mut Random, from: &[u64]| from[random.below(from.len() as u64) as usize];
        Self {
            operations: 1 + random.below(longest),
            weights: WEIGHTS[random.below(8) as usize],
            tags: pick(random, &[1, 2, 3, 8, 100, 1 << 20]),
            sources: pick(random, &[1, 1, 2, 5, 64]),
            wildcards: pick(random, &[0, 0, 1, 30, 100]),
            scattered: pick(random, &[0, 0, 0, 2, 30]),
        }
    }

    fn envelope(&self, random: &mut Random) -> Envelope {
        let (context, tag) = (random.below(2), random.below(self.tags));
        Envelope { bits: context << 33 | tag, source: random.below(self.sources) as u32 }
    }

    fn pattern(&self, random: &mut Random) -> Pattern {
        let exact = Pattern::exactly(self.envelope(random));
        let kind = random.below(100);
        if kind < self.wildcards {
            match random.below(5) {
                0 => Pattern { source: None, ..exact },
                1 => Pattern { ignore: 0xffff_ffff, ..exact },
                2 => Pattern { ignore: 0xffff_ffff, source: None, ..exact },
                // Bits under the ignore bits have no meaning.
                3 => Pattern { bits: random.next(), ignore: u64::MAX, ..exact },
                _ => Pattern { bits: random.next(), ignore: u64::MAX, source: None },
            }
        } else if kind < self.wildcards + self.scattered {
            let ignore = random.next() & random.next() & random.next();
            Pattern { ignore, source: exact.source.filter(|_| random.below(2) == 0), ..exact }
        } else {
            exact
        }
    }
}

/// A structure beside the reference for `operations` random operations from `seed`.
fn run(structure: Structure, seed: u64, operations: u64, deepest: usize) {
    let mut random = Random(seed);
    let mut matcher = Matcher::new(structure, Options::default());
    let mut reference = Reference::default();
    // Handles by the number of the operation that gave them, the living and the dead.
    let mut handles: Vec<(u64, Handle)> = Vec::new();
    let mut done = 0;
    let mut stretch = Stretch::random(&mut random, 1);
    let mut left = 0;
    while done < operations {
        if left == 0 {
            stretch = Stretch::random(&mut random, (operations / 20).clamp(20, 6000));
            left = stretch.operations;
            // Now and then from nothing, so that small queues are seen as often as deep ones.
            if random.below(4) == 0 {
                empty(&mut matcher, &mut reference, &handles);
                handles.clear();
            }
        }
        (done, left) = (done + 1, left - 1);
        let user = done;
        let place = || format!("{structure}, seed {seed}, operation {done}");
        let [post, arrive, cancel, discard, probe] = stretch.weights;
        let mut kind = random.below(100);
        // A queue that is deep enough drains.
        if kind < post && reference.posted.len() >= deepest {
            kind = post;
        } else if (post..post + arrive).contains(&kind) && reference.unexpected.len() >= deepest {
            kind = 0;
        }
        if kind < post {
            let pattern = stretch.pattern(&mut random);
            let found = matcher.post(pattern, user).expect("memory");
            let expected = reference.unexpected.iter().position(|(envelope, _)| pattern.accepts(envelope));
            match (found, expected.map(|at| reference.unexpected.remove(at))) {
                (Posted::Matched(message), Some(expected)) => {
                    assert_eq!((message.envelope, message.user), expected, "{}", place());
                }
                (Posted::Waiting(handle), None) => {
                    reference.posted.push((pattern, user));
                    handles.push((user, handle));
                }
                (found, expected) => panic!("{}: {pattern:?}: {found:?}, not {expected:?}", place()),
            }
        } else if kind < post + arrive {
            let envelope = stretch.envelope(&mut random);
            let found = matcher.arrive(envelope, user).expect("memory");
            let expected = reference.posted.iter().position(|(pattern, _)| pattern.accepts(&envelope));
            match (found, expected.map(|at| reference.posted.remove(at).1)) {
                (Arrived::Matched { user: found }, Some(expected)) => assert_eq!(found, expected, "{}", place()),
                (Arrived::Unexpected(handle), None) => {
                    reference.unexpected.push((envelope, user));
                    handles.push((user, handle));
                }
                (found, expected) => panic!("{}: {envelope:?}: {found:?}, not {expected:?}", place()),
            }
        } else if kind < post + arrive + cancel + discard {
            // Of either kind: a cancel of a message and a discard of a receive are refused.
            let (of, handle) = if handles.is_empty() {
                (0, Handle::from_raw(random.next()))
            } else if random.below(50) == 0 {
                (0, Handle::from_raw(random.next() >> (random.below(2) * 60)))
            } else {
                handles[random.below(handles.len() as u64) as usize]
            };
            if kind < post + arrive + cancel {
                let expected = reference.posted.iter().position(|(_, user)| *user == of);
                let expected = expected.map(|at| reference.posted.remove(at).1);
                assert_eq!(matcher.cancel(handle), expected, "{}", place());
            } else {
                let expected = reference.unexpected.iter().position(|(_, user)| *user == of);
                let expected = expected.map(|at| reference.unexpected.remove(at).1);
                assert_eq!(matcher.discard(handle), expected, "{}", place());
            }
        } else {
            let pattern = stretch.pattern(&mut random);
            let at = reference.unexpected.iter().position(|(envelope, _)| pattern.accepts(envelope));
            let (found, expected) = if kind < post + arrive + cancel + discard + probe {
                (matcher.probe(pattern), at.map(|at| reference.unexpected[at]))
            } else {
                (matcher.mprobe(pattern), at.map(|at| reference.unexpected.remove(at)))
            };
            assert_eq!(found.map(|message| (message.envelope, message.user)), expected, "{}", place());
        }
        let lengths = (reference.posted.len(), reference.unexpected.len());
        assert_eq!((matcher.posted_len(), matcher.unexpected_len()), lengths, "{}", place());
        if handles.len() > 4 * deepest {
            handles.drain(..2 * deepest);
        }
    }
}

/// Cancels what handles are known of; the rest goes by what accepts everything.
fn empty(matcher: &mut Matcher, reference: &mut Reference, handles: &[(u64, Handle)]) {
    for (_, handle) in handles {
        if matcher.cancel(*handle).is_some() {
            assert_eq!(matcher.cancel(*handle), None, "cancelled twice");
        }
    }
    reference.posted.retain(|(_, user)| handles.binary_search_by_key(user, |(of, _)| *of).is_err());
    let all = Pattern { bits: 0, ignore: u64::MAX, source: None };
    for (envelope, user) in reference.unexpected.drain(..) {
        assert_eq!(matcher.mprobe(all), Some(Message { user, envelope }));
    }
}

#[test]
fn every_structure_agrees_with_the_reference_on_random_runs() {
    let (seeds, operations) = if cfg!(miri) { (2, 400) } else { (12, 20_000) };
    for &structure in Structure::ALL {
        for seed in 0..seeds {
            // Every third one shallow: the smallest structures are entered and left most often there.
            run(structure, seed, operations, [6, 40, 900][seed as usize % 3]);
        }
    }
}

#[test]
#[ignore = "minutes; `make nightly` runs it"]
fn ten_million_random_operations_agree_with_the_reference() {
    for &structure in Structure::ALL {
        for (seed, deepest) in (1000..).zip([4, 9, 20, 70, 200, 1000, 300, 12, 30, 120]) {
            run(structure, seed, 1_000_000, deepest);
        }
    }
}

/// `count` messages of one envelope, and of as many different ones: taken from the front, the back and the middle.
#[test]
fn order_holds_in_every_drain_order_at_depth() {
    let count = if cfg!(miri) { 80 } else { 3000 };
    for &structure in Structure::ALL {
        for step in [1, count - 1, 7] {
            let mut matcher = Matcher::new(structure, Options::default());
            let envelope = |number: u64| Envelope { bits: number / 2, source: number as u32 % 2 };
            for number in 0..count {
                assert!(matches!(matcher.arrive(envelope(number), number), Ok(Arrived::Unexpected(_))));
                assert!(matches!(matcher.arrive(envelope(count), count + number), Ok(Arrived::Unexpected(_))));
            }
            for turn in 0..count {
                let number = (turn * step + step - 1) % count;
                let found = matcher.post(Pattern::exactly(envelope(number)), 0).expect("memory");
                assert_eq!(found, Posted::Matched(Message { user: number, envelope: envelope(number) }), "{structure}");
                let found = matcher.post(Pattern { source: None, ..Pattern::exactly(envelope(count)) }, 0);
                let expected = Message { user: count + turn, envelope: envelope(count) };
                assert_eq!(found, Ok(Posted::Matched(expected)), "{structure}");
            }
            assert_eq!((matcher.posted_len(), matcher.unexpected_len()), (0, 0));
        }
    }
}
