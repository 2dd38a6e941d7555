// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every structure does what the oracle does, operation by operation: on the corpus, on the streams that engines are
//! judged by, and on long random ones with deep queues, floods of one envelope, masks of every kind and stale handles.

use std::collections::BTreeMap;

use mb_core::{Initiator, MsgId, Op, Outcome, RecvId};
use mb_oracle::Oracle;
use mb_testkit::{cases, streams};
use mbmatch::{Arrived, Envelope, Handle, Matcher, Message, Options, Pattern, Posted, Structure};

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

/// The oracle's two lists again, with what it has no operation for: taking a message back. Oldest first, so that the
/// callers' numbers ascend.
#[derive(Default)]
struct Reference {
    posted: Vec<(Pattern, u64, Handle)>,
    unexpected: Vec<(Envelope, u64, Handle)>,
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
    /// Of a hundred envelopes and patterns, how many are made for an entry of the other queue, wherever it stands.
    aimed: u64,
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
            aimed: pick(random, &[0, 0, 20, 90]),
        }
    }

    fn envelope(&self, random: &mut Random) -> Envelope {
        let (context, tag) = (random.below(2), random.below(self.tags));
        Envelope { bits: context << 33 | tag, source: random.below(self.sources) as u32 }
    }

    fn pattern(&self, exactly: Envelope, random: &mut Random) -> Pattern {
        let exact = Pattern::exactly(exactly);
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

/// Any of `entries`.
fn any<'a, T>(entries: &'a [T], random: &mut Random) -> Option<&'a T> {
    entries.get(random.below(entries.len().max(1) as u64) as usize)
}

/// What random runs came to, so that none of it can have been missing.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    receives_met: u64,
    messages_met: u64,
    cancelled: u64,
    discarded: u64,
    found: u64,
    taken: u64,
    refused: u64,
    posted: usize,
    unexpected: usize,
}

/// A structure beside the reference.
struct Run {
    matcher: Matcher,
    reference: Reference,
    random: Random,
    stretch: Stretch,
    /// Receives and messages that are gone.
    old: Vec<(u64, Handle)>,
    deepest: usize,
    tally: Tally,
}

impl Run {
    /// `operations` random operations from `seed`, with up to `deepest` entries in each queue.
    fn perform(structure: Structure, seed: u64, operations: u64, deepest: usize) -> Tally {
        let mut random = Random(seed);
        let mut run = Self {
            matcher: Matcher::new(structure, Options::default()),
            reference: Reference::default(),
            stretch: Stretch::random(&mut random, 1),
            random,
            old: Vec::new(),
            deepest,
            tally: Tally::default(),
        };
        let longest = (operations / 20).clamp(20, 1000.max(2 * deepest as u64));
        let mut left = 0;
        for number in 1..=operations {
            if left == 0 {
                run.stretch = Stretch::random(&mut run.random, longest);
                left = run.stretch.operations;
                // Now and then from nothing, so that small queues are seen as often as deep ones.
                if run.random.below(4) == 0 {
                    run.empty();
                }
            }
            left -= 1;
            if let Err(objection) = run.operation(number) {
                panic!("{structure}, seed {seed}, operation {number}: {objection}");
            }
            let lengths = (run.reference.posted.len(), run.reference.unexpected.len());
            assert_eq!((run.matcher.posted_len(), run.matcher.unexpected_len()), lengths, "{structure}, seed {seed}");
            run.tally.posted = run.tally.posted.max(lengths.0);
            run.tally.unexpected = run.tally.unexpected.max(lengths.1);
        }
        run.tally
    }

    fn operation(&mut self, number: u64) -> Result<(), String> {
        let [post, arrive, cancel, discard, probe] = self.stretch.weights;
        let mut kind = self.random.below(100);
        // A queue that is deep enough shrinks: what comes instead is made for one of its entries.
        if kind < post {
            let is_full = self.reference.posted.len() >= self.deepest;
            return if is_full { self.arrive(number, true) } else { self.post(number, false) };
        }
        if kind < post + arrive {
            let is_full = self.reference.unexpected.len() >= self.deepest;
            return if is_full { self.post(number, true) } else { self.arrive(number, false) };
        }
        kind -= post + arrive;
        if kind < cancel + discard {
            self.take_back(kind < cancel)
        } else {
            self.probe(kind >= cancel + discard + probe)
        }
    }

    /// A pattern, of which `must_match` says that it has to accept a message that is there.
    fn pattern(&mut self, must_match: bool) -> Pattern {
        let is_aimed = must_match || self.random.below(100) < self.stretch.aimed;
        let target = any(&self.reference.unexpected, &mut self.random).filter(|_| is_aimed).map(|(target, ..)| *target);
        let exactly = target.unwrap_or_else(|| self.stretch.envelope(&mut self.random));
        self.stretch.pattern(exactly, &mut self.random)
    }

    fn post(&mut self, user: u64, must_match: bool) -> Result<(), String> {
        let pattern = self.pattern(must_match);
        let found = self.matcher.post(pattern, user).expect("memory");
        let expected = self.reference.unexpected.iter().position(|(envelope, ..)| pattern.accepts(envelope));
        match (found, expected.map(|at| self.reference.unexpected.remove(at))) {
            (Posted::Matched(message), Some((envelope, user, handle))) if message == (Message { user, envelope }) => {
                self.tally.messages_met += 1;
                self.retire(user, handle);
            }
            (Posted::Waiting(handle), None) => self.reference.posted.push((pattern, user, handle)),
            (found, expected) => return Err(format!("{pattern:?}: {found:?}, not {expected:?}")),
        }
        Ok(())
    }

    fn arrive(&mut self, user: u64, must_match: bool) -> Result<(), String> {
        let is_aimed = must_match || self.random.below(100) < self.stretch.aimed;
        let target = any(&self.reference.posted, &mut self.random).filter(|_| is_aimed).map(|(target, ..)| *target);
        let mut envelope = self.stretch.envelope(&mut self.random);
        if let Some(target) = target {
            envelope.bits = target.bits & !target.ignore | envelope.bits & target.ignore;
            envelope.source = target.source.unwrap_or(envelope.source);
        }
        let found = self.matcher.arrive(envelope, user).expect("memory");
        let expected = self.reference.posted.iter().position(|(pattern, ..)| pattern.accepts(&envelope));
        match (found, expected.map(|at| self.reference.posted.remove(at))) {
            (Arrived::Matched { user }, Some((_, expected, handle))) if user == expected => {
                self.tally.receives_met += 1;
                self.retire(user, handle);
            }
            (Arrived::Unexpected(handle), None) => self.reference.unexpected.push((envelope, user, handle)),
            (found, expected) => return Err(format!("{envelope:?}: {found:?}, not {expected:?}")),
        }
        Ok(())
    }

    /// A cancel or a discard: of what is there, of what is gone, of the other kind, or of rubbish.
    fn take_back(&mut self, is_cancel: bool) -> Result<(), String> {
        let (posted, unexpected) = (&mut self.reference.posted, &mut self.reference.unexpected);
        let random = &mut self.random;
        let named = match random.below(100) {
            0 => Some((0, Handle::from_raw(random.next()))),
            1 => Some((0, Handle::from_raw(random.next() >> 60))),
            2..20 => any(&self.old, random).copied(),
            kind if (kind < 25) != is_cancel => any(posted, random).map(|&(_, user, handle)| (user, handle)),
            _ => any(unexpected, random).map(|&(_, user, handle)| (user, handle)),
        };
        let Some((user, handle)) = named else { return Ok(()) };
        let (found, expected) = if is_cancel {
            let at = posted.binary_search_by_key(&user, |(_, user, _)| *user).ok();
            (self.matcher.cancel(handle), at.map(|at| posted.remove(at).1))
        } else {
            let at = unexpected.binary_search_by_key(&user, |(_, user, _)| *user).ok();
            (self.matcher.discard(handle), at.map(|at| unexpected.remove(at).1))
        };
        if found != expected {
            return Err(format!("taking {handle:?} back: {found:?}, not {expected:?}"));
        }
        match (expected, is_cancel) {
            (None, _) => self.tally.refused += 1,
            (Some(_), true) => self.tally.cancelled += 1,
            (Some(_), false) => self.tally.discarded += 1,
        }
        if expected.is_some() {
            self.retire(user, handle);
        }
        Ok(())
    }

    fn probe(&mut self, takes: bool) -> Result<(), String> {
        let pattern = self.pattern(false);
        let at = self.reference.unexpected.iter().position(|(envelope, ..)| pattern.accepts(envelope));
        let expected = at.map(|at| self.reference.unexpected[at]);
        let found = if takes { self.matcher.mprobe(pattern) } else { self.matcher.probe(pattern) };
        if found != expected.map(|(envelope, user, _)| Message { user, envelope }) {
            return Err(format!("probe of {pattern:?}: {found:?}, not {expected:?}"));
        }
        if let (true, Some(at)) = (takes, at) {
            let (_, user, handle) = self.reference.unexpected.remove(at);
            self.retire(user, handle);
        }
        *(if takes { &mut self.tally.taken } else { &mut self.tally.found }) += u64::from(at.is_some());
        Ok(())
    }

    /// Keeps the handle of an entry that is gone, for a while.
    fn retire(&mut self, user: u64, handle: Handle) {
        if self.old.len() >= 4 * self.deepest {
            self.old.drain(..2 * self.deepest);
        }
        self.old.push((user, handle));
    }

    /// Cancels every receive; the messages go by what accepts everything.
    fn empty(&mut self) {
        for (_, user, handle) in std::mem::take(&mut self.reference.posted) {
            assert_eq!(self.matcher.cancel(handle), Some(user));
            assert_eq!(self.matcher.cancel(handle), None, "cancelled twice");
        }
        let all = Pattern { bits: 0, ignore: u64::MAX, source: None };
        for (envelope, user, _) in std::mem::take(&mut self.reference.unexpected) {
            assert_eq!(self.matcher.mprobe(all), Some(Message { user, envelope }));
        }
    }
}

#[test]
fn every_structure_agrees_with_the_reference_on_random_runs() {
    let (seeds, operations) = if cfg!(miri) { (2, 400) } else { (12, 20_000) };
    for &structure in Structure::ALL {
        for seed in 0..seeds {
            // Every third one shallow: the smallest structures are entered and left most often there.
            Run::perform(structure, seed, operations, [12, 40, 900][seed as usize % 3]);
        }
    }
}
#[test]
#[ignore = "a minute; `make nightly` runs it"]
fn ten_million_random_operations_agree_with_the_reference() {
    // Millions of operations with so many entries at most in each queue.
    const DEPTHS: [(usize, u64); 9] =
        [(3, 1), (6, 1), (9, 1), (14, 1), (30, 1), (70, 2), (300, 1), (1000, 1), (20_000, 1)];
    assert_eq!(DEPTHS.iter().map(|(_, millions)| millions).sum::<u64>(), 10);
    for &structure in Structure::ALL {
        for (seed, (deepest, millions)) in (1000..).zip(DEPTHS) {
            let tally = Run::perform(structure, seed, millions * 1_000_000, deepest);
            // Nothing has been missing.
            let Tally { receives_met, messages_met, cancelled, discarded, found, taken, refused, posted, unexpected } =
                tally;
            assert_eq!((posted, unexpected), (deepest, deepest));
            let rarest = [receives_met, messages_met, cancelled, discarded, found, taken, refused].into_iter().min();
            assert!(rarest >= Some(1000), "{structure}, up to {deepest} entries: {tally:?}");
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
