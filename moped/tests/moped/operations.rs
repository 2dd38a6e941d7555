// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operations one after the other: each outcome is that of the reference matcher, probes and cancels included.

use std::collections::BTreeMap;

use mb_core::random::Random;
use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, ProbeId, RecvId};
use mb_moped::contract::{Field, Go, Id, Kind, ProcessAddress, State, TRUNCATED, Word};
use mb_oracle::Oracle;

use crate::chip::{Chip, Post, VIRTUAL, rank, small};
use crate::lines::Timing;

/// The receiver, which runs on this core; sender s has rank s and runs on core s modulo the cores.
const RECEIVER: u16 = 5;
const TAGS: u64 = 3;

/// The room of a receive.
fn capacity(name: u64) -> u32 {
    (name % 20) as u32
}

struct Sequence {
    chip: Chip,
    cores: usize,
    core: usize,
    oracle: Oracle,
    random: Random,
    /// Descriptors of the names that the oracle knows.
    receives: BTreeMap<u64, Id>,
    sends: BTreeMap<u64, (Id, Post)>,
    next: u64,
    matched: usize,
    truncated: usize,
}

impl Sequence {
    fn new(seed: u64) -> Self {
        let mut random = Random::of(seed, &[11]);
        let cores = random.within(1, 4) as usize;
        let timing = Timing { revocations: 0, ..Timing::RANDOM };
        let mut chip = Chip::new(&small("optcopy", cores, 128), timing, seed);
        for core in 0..cores {
            let space = chip.space(2, 0);
            let root = chip.spaces[space].root;
            chip.moped.set_page_table(core, root);
        }
        let core = random.below(cores as u64) as usize;
        Self {
            chip,
            cores,
            core,
            oracle: Oracle::new(),
            random,
            receives: BTreeMap::new(),
            sends: BTreeMap::new(),
            next: 0,
            matched: 0,
            truncated: 0,
        }
    }

    fn bits(tag: u32) -> u64 {
        7 << 33 | u64::from(tag)
    }

    /// A pattern of a receive or probe, for the device and for the oracle.
    fn pattern(&mut self) -> (Post, Pattern) {
        let source = (self.random.below(3) > 0).then(|| self.random.below(4) as u16);
        let tag = (self.random.below(3) > 0).then(|| self.random.below(TAGS) as u32);
        let length = self.random.below(20) as u32;
        let post = Post::receive(source, tag, VIRTUAL + self.random.below(4096), length);
        let pattern = Pattern {
            bits: Self::bits(tag.unwrap_or(0)),
            ignore: if tag.is_none() { 0xffff_ffff } else { 0 },
            initiator: source.map(|source| Initiator(source.into())),
        };
        (post, pattern)
    }

    fn sender(&self, source: u16) -> (usize, ProcessAddress) {
        (usize::from(source) % self.cores, rank(source))
    }

    /// Both descriptors of a match are complete and say what was received.
    fn check_match(&mut self, receive: Id, capacity: u32, send: u64) {
        let (id, post) = self.sends.remove(&send).expect("a message");
        let to = rank(RECEIVER);
        for (word, expected) in [
            (Word::Source, u64::from(post.go.rank.unwrap_or(0))),
            (Word::Tagged, post.tag.into()),
            (Word::Bytes, post.length.into()),
        ] {
            assert_eq!(self.chip.poll(self.core, to, receive, word), expected, "{word:?}");
        }
        let truncated = if post.length > capacity { TRUNCATED } else { 0 };
        let state = self.chip.poll(self.core, to, receive, Word::State);
        assert_eq!(state, State::Complete as u64 | truncated);
        self.truncated += usize::from(truncated != 0);
        let (core, process) = self.sender(post.go.rank.unwrap_or(0));
        assert_eq!(self.chip.state(core, process, id, Word::State), State::Complete);
        self.matched += 1;
    }

    fn step(&mut self) {
        self.next += 1;
        let name = self.next;
        match self.random.below(10) {
            0..4 => self.send(name),
            4..7 => self.receive(name),
            7 => self.probe(name),
            8 => self.matched_probe(name),
            _ => self.cancel(),
        }
    }

    fn send(&mut self, name: u64) {
        let source = self.random.below(4) as u16;
        let tag = self.random.below(TAGS) as u32;
        let (core, process) = self.sender(source);
        let post = Post::send(RECEIVER, source, tag, VIRTUAL + 4096, self.random.below(20) as u32);
        let id = self.chip.post(core, process, &post);
        self.chip.settle();
        self.sends.insert(name, (id, post));
        let envelope = Envelope { bits: Self::bits(tag), initiator: Initiator(source.into()) };
        if let Outcome::Matched(RecvId(receive), _) = self.oracle.apply(Op::Arrive { msg: MsgId(name), envelope }).0 {
            let id = self.receives.remove(&receive).expect("a receive");
            self.check_match(id, capacity(receive), name);
        } else {
            assert_eq!(self.chip.state(core, process, id, Word::State), State::Pending);
        }
    }

    fn receive(&mut self, name: u64) {
        let (post, pattern) = self.pattern();
        let capacity = capacity(name);
        let id = self.chip.post(self.core, rank(RECEIVER), &Post { length: capacity, ..post });
        self.chip.settle();
        if let Outcome::Matched(_, MsgId(send)) = self.oracle.apply(Op::Post { recv: RecvId(name), pattern }).0 {
            self.check_match(id, capacity, send);
        } else {
            assert_eq!(self.chip.state(self.core, rank(RECEIVER), id, Word::State), State::Pending);
            self.receives.insert(name, id);
        }
    }

    fn probe(&mut self, name: u64) {
        let (post, pattern) = self.pattern();
        let id = self.chip.post(self.core, rank(RECEIVER), &post.with(Kind::Probe));
        self.chip.settle();
        let found = self.oracle.apply(Op::Probe { probe: ProbeId(name), pattern }).0;
        if let Outcome::Probed(_, Some(MsgId(send))) = found {
            let post = self.sends[&send].1;
            let words = [(Word::Tagged, u64::from(post.tag)), (Word::Bytes, post.length.into())];
            for (word, expected) in words {
                assert_eq!(self.chip.poll(self.core, rank(RECEIVER), id, word), expected);
            }
            assert_eq!(self.chip.state(self.core, rank(RECEIVER), id, Word::State), State::Complete);
        } else {
            assert_eq!(self.chip.state(self.core, rank(RECEIVER), id, Word::State), State::NoMessage);
        }
    }

    fn matched_probe(&mut self, name: u64) {
        let (post, pattern) = self.pattern();
        let to = rank(RECEIVER);
        let id = self.chip.post(self.core, to, &post.with(Kind::MatchedProbe));
        self.chip.settle();
        let Outcome::Probed(_, Some(MsgId(send))) =
            self.oracle.apply(Op::MatchedProbe { probe: ProbeId(name), pattern }).0
        else {
            assert_eq!(self.chip.state(self.core, to, id, Word::State), State::NoMessage);
            return;
        };
        assert_eq!(self.chip.state(self.core, to, id, Word::State), State::Found);
        assert_eq!(self.chip.poll(self.core, to, id, Word::Tagged), self.sends[&send].1.tag.into());
        let go = Go { kind: Kind::Take, context: 0, rank: None, any_tag: false };
        let stores = [(Field::Address, post.address), (Field::Length, 10), (Field::Go, go.value())];
        for (field, value) in stores {
            self.chip.store(self.core, to, id, field, value);
        }
        self.chip.settle();
        self.check_match(id, 10, send);
    }

    fn cancel(&mut self) {
        let names: Vec<u64> = self.receives.keys().copied().collect();
        if names.is_empty() {
            return;
        }
        let name = self.random.pick(&names);
        let id = self.receives.remove(&name).expect("a receive");
        self.chip.store(self.core, rank(RECEIVER), id, Field::Cancel, 0);
        self.chip.settle();
        assert_eq!(self.oracle.apply(Op::Cancel { recv: RecvId(name) }).0, Outcome::Cancelled(RecvId(name)));
        assert_eq!(self.chip.state(self.core, rank(RECEIVER), id, Word::State), State::Cancelled);
    }
}

#[test]
fn every_operation_has_the_outcome_of_the_oracle() {
    let (mut matched, mut truncated) = (0, 0);
    for seed in 0..40 {
        let mut sequence = Sequence::new(seed);
        for _ in 0..100 {
            sequence.step();
        }
        let lengths = sequence.oracle.queue_lengths();
        assert_eq!((lengths.posted, lengths.unexpected), (sequence.receives.len(), sequence.sends.len()));
        matched += sequence.matched;
        truncated += sequence.truncated;
    }
    assert!(matched > 1000 && truncated > 300, "{matched} {truncated}");
}
