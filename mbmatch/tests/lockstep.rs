// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every structure beside a naive matcher of two vectors, operation by operation.
//!
//! The random runs have deep queues, many messages of one envelope, ignore bits of every kind, and
//! stale handles.

use fastrand::Rng;
use mbmatch::{
    Arrived, Envelope, Handle, Matcher, Message, Options, Pattern, Posted, QueuedMessage, QueuedReceive, SourceChange,
    Structure, Visit,
};

/// The naive matcher: both queues as vectors, oldest entry first. User values ascend in each.
#[derive(Default)]
struct Naive {
    posted: Vec<(Pattern, u64, Handle)>,
    unexpected: Vec<(Envelope, u64, Handle)>,
}

/// A phase of a random run: its mix of operations, and how its envelopes and patterns are drawn.
struct Phase {
    operations: u64,
    /// Percentages of posts, arrivals, cancels, discards and probes; the rest are matched probes.
    weights: [u64; 5],
    tags: u64,
    sources: u64,
    /// Percentage of patterns with one of MPI's wildcards.
    wildcards: u64,
    /// The number of kinds of these; 1: all are from any source with all match bits.
    kinds: u64,
    /// Percentage of patterns with random ignore bits.
    masks: u64,
    /// Percentage of messages from an unknown source.
    unknown: u64,
    /// Percentage of envelopes and patterns that match a random entry of the other queue.
    targeted: u64,
}

impl Phase {
    fn random(random: &mut Rng, longest: u64) -> Self {
        const WEIGHTS: [[u64; 5]; 8] = [
            [45, 45, 3, 1, 4],
            [92, 5, 1, 0, 1],
            [5, 92, 0, 1, 1],
            [10, 30, 58, 0, 1],
            [30, 10, 0, 55, 3],
            [20, 20, 10, 10, 30],
            // Steady state: as many arrivals as posts.
            [49, 51, 0, 0, 0],
            [51, 49, 0, 0, 0],
        ];
        let pick = |random: &mut Rng, from: &[u64]| from[random.usize(..from.len())];
        Self {
            operations: 1 + random.u64(..longest),
            weights: WEIGHTS[random.usize(..WEIGHTS.len())],
            tags: pick(random, &[1, 2, 3, 8, 100, 1 << 20]),
            sources: pick(random, &[1, 1, 2, 5, 64]),
            wildcards: pick(random, &[0, 0, 1, 30, 100]),
            kinds: pick(random, &[1, 5, 5]),
            masks: pick(random, &[0, 0, 0, 2, 30]),
            unknown: pick(random, &[0, 0, 5, 60]),
            targeted: pick(random, &[0, 0, 20, 90]),
        }
    }

    fn envelope(&self, random: &mut Rng) -> Envelope {
        let (context, tag) = (random.u64(..2), random.u64(..self.tags));
        Envelope { bits: context << 33 | tag, source: random.u64(..self.sources) as u32 }
    }

    fn pattern(&self, exactly: Envelope, random: &mut Rng) -> Pattern {
        let exact = Pattern::exactly(exactly);
        let kind = random.u64(..100);
        if kind < self.wildcards {
            match random.u64(..self.kinds) {
                0 => Pattern { source: None, ..exact },
                1 => Pattern { ignore: 0xffff_ffff, ..exact },
                2 => Pattern { ignore: 0xffff_ffff, source: None, ..exact },
                // Bits under the ignore bits have no meaning.
                3 => Pattern { bits: random.u64(..), ignore: u64::MAX, ..exact },
                _ => Pattern { bits: random.u64(..), ignore: u64::MAX, source: None },
            }
        } else if kind < self.wildcards + self.masks {
            let ignore = random.u64(..) & random.u64(..) & random.u64(..);
            Pattern { ignore, source: exact.source.filter(|_| random.u64(..2) == 0), ..exact }
        } else {
            exact
        }
    }
}

/// A random entry of `entries`.
fn any<'a, T>(entries: &'a [T], random: &mut Rng) -> Option<&'a T> {
    entries.get(random.usize(..entries.len().max(1)))
}

/// Removes the entries of a naive queue whose position and user value `is_removed` accepts.
fn remove_where<T>(queue: &mut Vec<(T, u64, Handle)>, is_removed: impl Fn(usize, u64) -> bool) -> Vec<(u64, Handle)> {
    let (mut gone, mut at) = (Vec::new(), 0);
    queue.retain(|(_, user, handle)| {
        at += 1;
        let is_gone = is_removed(at - 1, *user);
        if is_gone {
            gone.push((*user, *handle));
        }
        !is_gone
    });
    gone
}

/// User values and handles of entries.
fn named<T>(entries: Vec<(T, u64, Handle)>) -> Vec<(u64, Handle)> {
    entries.into_iter().map(|(_, user, handle)| (user, handle)).collect()
}

/// What happened in a random run, to show that no case was missing.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    receives_matched: u64,
    messages_matched: u64,
    cancelled: u64,
    discarded: u64,
    probed: u64,
    mprobed: u64,
    refused: u64,
    halved: u64,
    /// Entries removed by a visit.
    visited: u64,
    /// Entries removed by a pattern.
    removed: u64,
    /// Messages that stayed queued under another source.
    changed: u64,
    /// Messages that a receive took when their source changed.
    claimed: u64,
    deepest_posted: usize,
    deepest_unexpected: usize,
}

/// A structure beside the naive matcher.
struct Run {
    matcher: Matcher,
    naive: Naive,
    random: Rng,
    phase: Phase,
    /// User values and handles of receives and messages that have left.
    stale: Vec<(u64, Handle)>,
    deepest: usize,
    counts: Counts,
}

impl Run {
    /// Performs `operations` random operations from `seed`, with up to `deepest` entries in each
    /// queue.
    fn perform(structure: Structure, seed: u64, operations: u64, deepest: usize) -> Counts {
        let mut random = Rng::with_seed(seed);
        let mut run = Self {
            matcher: Matcher::new(structure, Options::default()),
            naive: Naive::default(),
            phase: Phase::random(&mut random, 1),
            random,
            stale: Vec::new(),
            deepest,
            counts: Counts::default(),
        };
        let longest = (operations / 20).clamp(20, 1000.max(2 * deepest as u64));
        let mut left = 0;
        for number in 1..=operations {
            if left == 0 {
                run.phase = Phase::random(&mut run.random, longest);
                left = run.phase.operations;
                // Restart from empty queues at times, so that short queues occur as often as deep
                // ones.
                if run.random.u64(..4) == 0 {
                    run.empty();
                }
            }
            left -= 1;
            if let Err(objection) = run.operation(number) {
                panic!("{structure}, seed {seed}, operation {number}: {objection}");
            }
            let lengths = (run.naive.posted.len(), run.naive.unexpected.len());
            assert_eq!((run.matcher.posted_len(), run.matcher.unexpected_len()), lengths, "{structure}, seed {seed}");
            run.counts.deepest_posted = run.counts.deepest_posted.max(lengths.0);
            run.counts.deepest_unexpected = run.counts.deepest_unexpected.max(lengths.1);
        }
        run.counts
    }

    fn operation(&mut self, number: u64) -> Result<(), String> {
        let [post, arrive, cancel, discard, probe] = self.phase.weights;
        let mut kind = self.random.u64(..100);
        // A full queue shrinks: the operation is replaced by one that matches an entry of it.
        if kind < post {
            let is_full = self.naive.posted.len() >= self.deepest;
            return if is_full { self.arrive(number, true) } else { self.post(number, false) };
        }
        if kind < post + arrive {
            let is_full = self.naive.unexpected.len() >= self.deepest;
            return if is_full { self.post(number, true) } else { self.arrive(number, false) };
        }
        kind -= post + arrive;
        match self.random.u64(..self.visit_period()) {
            0 => return self.visit(),
            1 => return self.remove_within(),
            2 => self.matcher.shrink(),
            3 => self.matcher.start_counters().map_err(|error| error.to_string())?,
            4 => self.matcher.stop_counters(),
            _ => {}
        }
        if self.random.u64(..8) == 0 {
            return self.change_source();
        }
        if kind < cancel + discard {
            self.take_back(kind < cancel)
        } else {
            self.probe(kind >= cancel + discard + probe)
        }
    }

    /// Whether the next post or arrival is done in its two halves.
    fn in_halves(&mut self) -> bool {
        let is_halved = self.random.u64(..4) == 0;
        self.counts.halved += u64::from(is_halved);
        is_halved
    }

    /// A random pattern; with `must_match` one that accepts a message of the queue.
    fn pattern(&mut self, must_match: bool) -> Pattern {
        let is_targeted = must_match || self.random.u64(..100) < self.phase.targeted;
        let target = any(&self.naive.unexpected, &mut self.random).filter(|_| is_targeted).map(|(target, ..)| *target);
        let exactly = target.unwrap_or_else(|| self.phase.envelope(&mut self.random));
        self.phase.pattern(exactly, &mut self.random)
    }

    fn post(&mut self, user: u64, must_match: bool) -> Result<(), String> {
        let pattern = self.pattern(must_match);
        let found = if self.in_halves() {
            match self.matcher.mprobe(pattern) {
                Some(message) => Posted::Matched(message),
                None => Posted::Waiting(self.matcher.queue_receive(pattern, user).expect("memory")),
            }
        } else {
            self.matcher.post(pattern, user).expect("memory")
        };
        let expected = self.naive.unexpected.iter().position(|(envelope, ..)| pattern.accepts(envelope));
        match (found, expected.map(|at| self.naive.unexpected.remove(at))) {
            (Posted::Matched(message), Some((envelope, user, handle))) if message == (Message { user, envelope }) => {
                self.counts.messages_matched += 1;
                self.retire(user, handle);
            }
            (Posted::Waiting(handle), None) => self.naive.posted.push((pattern, user, handle)),
            (found, expected) => return Err(format!("{pattern:?}: {found:?} found, {expected:?} expected")),
        }
        Ok(())
    }

    fn arrive(&mut self, user: u64, must_match: bool) -> Result<(), String> {
        let is_targeted = must_match || self.random.u64(..100) < self.phase.targeted;
        let target = any(&self.naive.posted, &mut self.random).filter(|_| is_targeted).map(|(target, ..)| *target);
        let mut envelope = self.phase.envelope(&mut self.random);
        if self.random.u64(..100) < self.phase.unknown {
            envelope.source = Envelope::UNKNOWN_SOURCE;
        }
        if let Some(target) = target {
            envelope.bits = target.bits & !target.ignore | envelope.bits & target.ignore;
            envelope.source = target.source.unwrap_or(envelope.source);
        }
        let found = if self.in_halves() {
            match self.matcher.take_receive(envelope) {
                Some(user) => Arrived::Matched { user },
                None => Arrived::Unexpected(self.matcher.queue_message(envelope, user).expect("memory")),
            }
        } else {
            self.matcher.arrive(envelope, user).expect("memory")
        };
        let expected = self.naive.posted.iter().position(|(pattern, ..)| pattern.accepts(&envelope));
        match (found, expected.map(|at| self.naive.posted.remove(at))) {
            (Arrived::Matched { user }, Some((_, expected, handle))) if user == expected => {
                self.counts.receives_matched += 1;
                self.retire(user, handle);
            }
            (Arrived::Unexpected(handle), None) => self.naive.unexpected.push((envelope, user, handle)),
            (found, expected) => return Err(format!("{envelope:?}: {found:?} found, {expected:?} expected")),
        }
        Ok(())
    }

    /// A cancel or a discard, with the handle of a queued entry, a stale one, one of the other
    /// kind, or a random number.
    fn take_back(&mut self, is_cancel: bool) -> Result<(), String> {
        let (posted, unexpected) = (&mut self.naive.posted, &mut self.naive.unexpected);
        let random = &mut self.random;
        let named = match random.u64(..100) {
            0 => Some((0, Handle::from_raw(random.u64(..)))),
            1 => Some((0, Handle::from_raw(random.u64(..) >> 60))),
            2..20 => any(&self.stale, random).copied(),
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
            return Err(format!("taking back {handle:?}: {found:?} found, {expected:?} expected"));
        }
        match (expected, is_cancel) {
            (None, _) => self.counts.refused += 1,
            (Some(_), true) => self.counts.cancelled += 1,
            (Some(_), false) => self.counts.discarded += 1,
        }
        if expected.is_some() {
            self.retire(user, handle);
        }
        Ok(())
    }

    /// Visits are rarer where queues are longer: their cost is linear.
    fn visit_period(&self) -> u64 {
        20 + self.deepest as u64 / 2
    }

    /// Visits one queue: compares the entries up to a random one, and removes some of them.
    fn visit(&mut self) -> Result<(), String> {
        let (modulus, stop) = (self.random.u64(1..5), self.random.usize(..2 * self.deepest));
        let verdict = |at: usize, user: u64| match user.is_multiple_of(modulus) {
            _ if at == stop => Visit::Stop,
            true => Visit::Remove,
            false => Visit::Keep,
        };
        let is_removed = |at: usize, user: u64| at < stop && user.is_multiple_of(modulus);
        let mut found = Vec::new();
        let (removed, expected, gone) = if self.random.bool() {
            let removed = self.matcher.visit_receives(|&QueuedReceive { user, pattern, .. }| {
                found.push((Pattern { bits: pattern.bits & !pattern.ignore, ..pattern }, user));
                verdict(found.len() - 1, user)
            });
            let queued = |(pattern, user, _): &(Pattern, u64, Handle)| {
                (Pattern { bits: pattern.bits & !pattern.ignore, ..*pattern }, *user)
            };
            let expected = self.naive.posted.iter().map(queued).take(stop + 1).collect();
            (removed, expected, remove_where(&mut self.naive.posted, is_removed))
        } else {
            let removed = self.matcher.visit_messages(|&QueuedMessage { user, envelope, .. }| {
                found.push((Pattern::exactly(envelope), user));
                verdict(found.len() - 1, user)
            });
            let queued = |(envelope, user, _): &(Envelope, u64, Handle)| (Pattern::exactly(*envelope), *user);
            let expected: Vec<_> = self.naive.unexpected.iter().map(queued).take(stop + 1).collect();
            (removed, expected, remove_where(&mut self.naive.unexpected, is_removed))
        };
        if (removed, &found) != (Ok(gone.len()), &expected) {
            let number = gone.len();
            return Err(format!("visit: {found:?}, {removed:?} removed; {expected:?}, {number} expected"));
        }
        self.counts.visited += removed.unwrap_or(0) as u64;
        for (user, handle) in gone {
            self.retire(user, handle);
        }
        Ok(())
    }

    /// Removes the entries of a context, of a source, or of a random pattern, from one queue.
    fn remove_within(&mut self) -> Result<(), String> {
        let exact = Pattern::exactly(self.phase.envelope(&mut self.random));
        let within = match self.random.u64(..4) {
            0 => Pattern { ignore: (1 << 33) - 1, source: None, ..exact },
            1 => Pattern { ignore: u64::MAX, ..exact },
            _ => self.pattern(false),
        };
        let mut found = Vec::new();
        let (removed, gone) = if self.random.bool() {
            let removed = self.matcher.remove_receives(within, |receive| found.push(receive.user));
            // By examples: `within` accepts every message that such a receive accepts.
            let is_removed = |pattern: &Pattern| {
                let source = pattern.source.unwrap_or(1 << 20);
                let examples = (0..64).map(|bit| pattern.bits ^ (1 << bit & pattern.ignore));
                let accepts_all = { examples }.all(|bits| within.accepts(&Envelope { bits, source }));
                accepts_all && (pattern.source.is_some() || within.source.is_none())
            };
            let queued = std::mem::take(&mut self.naive.posted);
            let (gone, kept) = queued.into_iter().partition(|(pattern, ..)| is_removed(pattern));
            self.naive.posted = kept;
            (removed, named(gone))
        } else {
            let removed = self.matcher.remove_messages(within, |message| found.push(message.user));
            let queued = std::mem::take(&mut self.naive.unexpected);
            let (gone, kept) = queued.into_iter().partition(|(envelope, ..)| within.accepts(envelope));
            self.naive.unexpected = kept;
            (removed, named(gone))
        };
        let expected: Vec<u64> = gone.iter().map(|(user, _)| *user).collect();
        if (removed, &found) != (Ok(expected.len()), &expected) {
            return Err(format!("removal within {within:?}: {found:?}, {removed:?} found; {expected:?} expected"));
        }
        self.counts.removed += expected.len() as u64;
        for (user, handle) in gone {
            self.retire(user, handle);
        }
        Ok(())
    }

    /// Changes the source of a message, named by the handle of a queued one or by a stale one.
    fn change_source(&mut self) -> Result<(), String> {
        let named = if self.random.u64(..10) == 0 {
            any(&self.stale, &mut self.random).copied()
        } else {
            any(&self.naive.unexpected, &mut self.random).map(|&(_, user, handle)| (user, handle))
        };
        let Some((user, handle)) = named else { return Ok(()) };
        let source = self.random.u64(..self.phase.sources) as u32;
        let found = self.matcher.change_source(handle, source);
        let at = self.naive.unexpected.iter().position(|(_, other, _)| *other == user);
        let expected = at.map(|at| {
            let envelope = Envelope { source, ..self.naive.unexpected[at].0 };
            let taken = self.naive.posted.iter().position(|(pattern, ..)| pattern.accepts(&envelope));
            let Some(taken) = taken else {
                self.naive.unexpected[at].0 = envelope;
                self.counts.changed += 1;
                return SourceChange::Waiting;
            };
            let (_, receive, of_receive) = self.naive.posted.remove(taken);
            self.naive.unexpected.remove(at);
            self.retire(receive, of_receive);
            self.retire(user, handle);
            self.counts.claimed += 1;
            SourceChange::Matched { receive, message: user }
        });
        if found != expected {
            return Err(format!("source {source} of {handle:?}: {found:?} found, {expected:?} expected"));
        }
        Ok(())
    }

    fn probe(&mut self, takes: bool) -> Result<(), String> {
        let pattern = self.pattern(false);
        let at = self.naive.unexpected.iter().position(|(envelope, ..)| pattern.accepts(envelope));
        let expected = at.map(|at| self.naive.unexpected[at]);
        let found = if takes {
            self.matcher.mprobe(pattern)
        } else {
            let probed = self.matcher.probe(pattern);
            if let (Some(QueuedMessage { handle, .. }), Some(at)) = (probed, at)
                && self.random.u64(..4) == 0
            {
                // The handle of a probe names the message, as that of its arrival does.
                let (_, user, arrived) = self.naive.unexpected.remove(at);
                let discarded = (self.matcher.discard(handle), self.matcher.discard(arrived));
                if discarded != (Some(user), None) {
                    return Err(format!("discard of {handle:?} from a probe: {discarded:?} found, {user} expected"));
                }
                self.retire(user, handle);
                self.counts.discarded += 1;
            }
            probed.map(|QueuedMessage { user, envelope, .. }| Message { user, envelope })
        };
        if found != expected.map(|(envelope, user, _)| Message { user, envelope }) {
            return Err(format!("probe of {pattern:?}: {found:?} found, {expected:?} expected"));
        }
        if let (true, Some(at)) = (takes, at) {
            let (_, user, handle) = self.naive.unexpected.remove(at);
            self.retire(user, handle);
        }
        *(if takes { &mut self.counts.mprobed } else { &mut self.counts.probed }) += u64::from(at.is_some());
        Ok(())
    }

    /// Keeps the handle of an entry that has left, to be tried later as a stale one.
    fn retire(&mut self, user: u64, handle: Handle) {
        if self.stale.len() >= 4 * self.deepest {
            self.stale.drain(..2 * self.deepest);
        }
        self.stale.push((user, handle));
    }

    /// Cancels every receive and takes every message by a pattern that accepts all.
    fn empty(&mut self) {
        for (_, user, handle) in std::mem::take(&mut self.naive.posted) {
            assert_eq!(self.matcher.cancel(handle), Some(user));
            assert_eq!(self.matcher.cancel(handle), None, "cancelled twice");
        }
        let all = Pattern { bits: 0, ignore: u64::MAX, source: None };
        for (envelope, user, _) in std::mem::take(&mut self.naive.unexpected) {
            assert_eq!(self.matcher.mprobe(all), Some(Message { user, envelope }));
        }
    }
}

#[test]
fn every_structure_agrees_with_the_naive_matcher_on_random_runs() {
    let (seeds, operations) = if cfg!(miri) { (2, 400) } else { (12, 20_000) };
    for &structure in Structure::ALL {
        for seed in 0..seeds {
            // Every third run is shallow: the changes between a short queue and a table are most
            // frequent there.
            Run::perform(structure, seed, operations, [12, 40, 900][seed as usize % 3]);
        }
    }
}

#[test]
#[ignore = "a minute; `make nightly` runs it"]
fn ten_million_random_operations_agree_with_the_naive_matcher() {
    // The most entries in each queue, and millions of operations.
    const DEPTHS: [(usize, u64); 9] =
        [(3, 1), (6, 1), (9, 1), (14, 1), (30, 1), (70, 2), (300, 1), (1000, 1), (20_000, 1)];
    assert_eq!(DEPTHS.iter().map(|(_, millions)| millions).sum::<u64>(), 10);
    for &structure in Structure::ALL {
        for (seed, (deepest, millions)) in (1000..).zip(DEPTHS) {
            let counts = Run::perform(structure, seed, millions * 1_000_000, deepest);
            assert_eq!((counts.deepest_posted, counts.deepest_unexpected), (deepest, deepest));
            let Counts { receives_matched, messages_matched, cancelled, discarded, .. } = counts;
            let Counts { probed, mprobed, refused, halved, visited, removed, changed, claimed, .. } = counts;
            let taken = [receives_matched, messages_matched, cancelled, discarded, mprobed, visited];
            let each = taken.into_iter().chain([probed, refused, halved, removed, changed]);
            let rarest = each.min();
            // In a shallow queue, a message whose source changes seldom finds a receive.
            assert!(rarest >= Some(1000) && claimed >= 100, "{structure}, up to {deepest} entries: {counts:?}");
        }
    }
}

/// `count` messages of one envelope and `count` of different ones, taken from the front, the back
/// and the middle.
#[test]
fn order_holds_in_every_drain_order_at_depth() {
    let count = if cfg!(miri) { 40 } else { 3000 };
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

/// Queues that are filled and drained in turns, where every search of a queue that was filled finds an entry: short
/// turns after long ones, of one envelope and of many.
#[test]
fn order_holds_where_every_search_finds_an_entry() {
    for seed in 0..if cfg!(miri) { 1 } else { 12 } {
        let mut random = Rng::with_seed(seed);
        let mut matcher = Matcher::new(Structure::Adaptive, Options::default());
        let mut user = 0;
        while user < if cfg!(miri) { 5_000 } else { 60_000 } {
            let (longest, tags) = ([1, 9, 12, 200][random.usize(..4)], [1, 3, 1 << 20][random.usize(..3)]);
            let (are_posted, last) = (random.bool(), user + random.u64(1..8_000));
            while user < last {
                let mut queued = Vec::new();
                for _ in 0..random.u64(1..=longest) {
                    let envelope = Envelope { bits: random.u64(..tags), source: random.u32(..2) };
                    user += 1;
                    if are_posted {
                        assert!(matches!(matcher.post(Pattern::exactly(envelope), user), Ok(Posted::Waiting(_))));
                    } else {
                        assert!(matches!(matcher.arrive(envelope, user), Ok(Arrived::Unexpected(_))));
                    }
                    queued.push((envelope, user));
                }
                while !queued.is_empty() {
                    let envelope = queued[random.usize(..queued.len())].0;
                    let oldest = queued.iter().position(|entry| entry.0 == envelope).expect("it is queued");
                    let user = queued.remove(oldest).1;
                    if are_posted {
                        assert_eq!(matcher.arrive(envelope, 0), Ok(Arrived::Matched { user }), "seed {seed}");
                    } else {
                        let posted = matcher.post(Pattern::exactly(envelope), 0);
                        assert_eq!(posted, Ok(Posted::Matched(Message { user, envelope })), "seed {seed}");
                    }
                }
            }
        }
    }
}
