// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch with a prepared sequence of operations: one call for each, whose result is stored as a
//! program would store it in the request.
//!
//! Each post and each arrival has an object of its own, as it has a request or a fragment in a program.
//! Between runs the matcher is emptied and not created again, so that its tables are those of a
//! long-running program.

use std::collections::BTreeMap;

use mb_core::matching;
use mb_core::{BareRun, MsgId, Op, Outcome, RecvId};
use mbmatch::{Envelope, Matcher, Pattern};

/// Numbers of the senders, in order of their first use: every number of 32 bits is a sender in `spec/matching.md`, and
/// the largest is none for mbmatch. A library numbers its peers too.
#[derive(Default)]
struct Senders(BTreeMap<u32, u32>);

impl Senders {
    fn number(&mut self, sender: matching::Initiator) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(sender.0).or_insert(next)
    }

    fn pattern(&mut self, pattern: &matching::Pattern) -> Pattern {
        let source = pattern.initiator.map(|sender| self.number(sender));
        Pattern { bits: pattern.bits, ignore: pattern.ignore, source }
    }

    fn envelope(&mut self, envelope: &matching::Envelope) -> Envelope {
        Envelope { bits: envelope.bits, source: self.number(envelope.initiator) }
    }
}

/// A call of mbmatch. Objects have the number of the operation.
#[derive(Clone, Copy, Debug)]
enum Call {
    Post(Pattern),
    Arrive(Envelope),
    /// Cancels the receive posted by the call of this number.
    Cancel(usize),
    /// A cancel of a receive that was never posted: no call.
    Skip,
    Probe(Pattern),
    MatchedProbe(Pattern),
}

/// The operations of one receiver on a matcher.
#[derive(Debug)]
pub(crate) struct MatcherRun {
    matcher: Matcher,
    ops: Vec<Op>,
    calls: Vec<Call>,
    /// The number of the entry that was matched, found or cancelled.
    results: Vec<Option<usize>>,
}

impl MatcherRun {
    pub(crate) fn new(ops: &[Op], object: usize) -> Self {
        let mut posted = BTreeMap::new();
        let mut senders = Senders::default();
        let call = |(at, op): (usize, &Op)| match op {
            Op::Post { recv, pattern: wanted } => {
                posted.insert(*recv, at);
                Call::Post(senders.pattern(wanted))
            }
            Op::Arrive { envelope: sent, .. } => Call::Arrive(senders.envelope(sent)),
            Op::Cancel { recv } => posted.get(recv).map_or(Call::Skip, |&at| Call::Cancel(at)),
            Op::Probe { pattern: wanted, .. } => Call::Probe(senders.pattern(wanted)),
            Op::MatchedProbe { pattern: wanted, .. } => Call::MatchedProbe(senders.pattern(wanted)),
        };
        let calls = ops.iter().enumerate().map(call).collect();
        let matcher = Matcher::new(ops.len(), ops.len(), object);
        Self { matcher, ops: ops.to_vec(), calls, results: Vec::with_capacity(ops.len()) }
    }

    fn call(&mut self, at: usize) -> Option<usize> {
        match self.calls[at] {
            Call::Post(pattern) => self.matcher.post(at, pattern),
            Call::Arrive(envelope) => self.matcher.arrive(at, envelope),
            Call::Cancel(post) => self.matcher.cancel(post).then_some(post),
            Call::Skip => None,
            Call::Probe(pattern) => self.matcher.probe(pattern),
            Call::MatchedProbe(pattern) => self.matcher.take_message(pattern),
        }
    }

    /// The message that arrived in the operation of this number.
    fn message(&self, at: usize) -> MsgId {
        match self.ops[at] {
            Op::Arrive { msg, .. } => msg,
            _ => unreachable!("messages are matched by the number of their arrival"),
        }
    }

    /// The receive that was posted in the operation of this number.
    fn receive(&self, at: usize) -> RecvId {
        match self.ops[at] {
            Op::Post { recv, .. } => recv,
            _ => unreachable!("receives are matched by the number of their post"),
        }
    }
}

impl BareRun for MatcherRun {
    fn rewind(&mut self) {
        for at in 0..self.results.len() {
            match self.calls[at] {
                Call::Post(_) => _ = self.matcher.cancel(at),
                Call::Arrive(_) => _ = self.matcher.discard(at),
                _ => {}
            }
        }
        self.results.clear();
        debug_assert_eq!((self.matcher.posted_len(), self.matcher.unexpected_len()), (0, 0));
    }

    fn perform(&mut self, count: usize) {
        let begin = self.results.len();
        let end = self.calls.len().min(begin.saturating_add(count));
        for at in begin..end {
            let result = self.call(at);
            self.results.push(result);
        }
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let outcome = |(op, result): (&Op, &Option<usize>)| match (*op, *result) {
            (Op::Post { recv, .. }, Some(at)) => Outcome::Matched(recv, self.message(at)),
            (Op::Post { recv, .. }, None) => Outcome::Posted(recv),
            (Op::Arrive { msg, .. }, Some(at)) => Outcome::Matched(self.receive(at), msg),
            (Op::Arrive { msg, .. }, None) => Outcome::Unexpected(msg),
            (Op::Cancel { recv }, Some(_)) => Outcome::Cancelled(recv),
            (Op::Cancel { recv }, None) => Outcome::NotCancelled(recv),
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, found) => {
                Outcome::Probed(probe, found.map(|at| self.message(at)))
            }
        };
        self.ops.iter().zip(&self.results).map(outcome).collect()
    }
}
