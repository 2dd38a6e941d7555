// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The library with a sequence of operations made ready for it: one call each, and its answer kept, as a caller would in the request.
//!
//! Which receive a cancel means is looked up beforehand; in a program the request has the handle. The matcher is emptied and not
//! made anew between runs, so that its memory is as used as that of a program that has been running for a while.

use std::collections::BTreeMap;

use mb_core::matching;
use mb_core::{BareRun, MsgId, Op, Outcome, RecvId};
use mbmatch::{Arrived, Envelope, Handle, Matcher, Pattern, Posted};

/// A pattern in the library's words.
pub(crate) fn pattern(pattern: &matching::Pattern) -> Pattern {
    let source = pattern.initiator.map(|initiator| initiator.0);
    Pattern { bits: pattern.bits, ignore: pattern.ignore, source }
}

/// An envelope in the library's words.
pub(crate) fn envelope(envelope: &matching::Envelope) -> Envelope {
    Envelope { bits: envelope.bits, source: envelope.initiator.0 }
}

/// A call of the library.
#[derive(Clone, Copy, Debug)]
enum Call {
    Post(Pattern, u64),
    Arrive(Envelope, u64),
    /// Of the receive that was posted by the call of this number.
    Cancel(usize),
    /// Of a receive that was never posted: nothing to call.
    Nothing,
    Probe(Pattern),
    MatchedProbe(Pattern),
}

/// What the library answered.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// The receive or message waits.
    Waiting(Handle),
    /// The caller's value of what was found or taken back.
    Found(u64),
    Nothing,
}

/// Operations of one receiver on a matcher.
#[derive(Debug)]
pub(crate) struct Run {
    matcher: Matcher,
    ops: Vec<Op>,
    calls: Vec<Call>,
    answers: Vec<Answer>,
}

impl Run {
    pub(crate) fn new(matcher: Matcher, ops: &[Op]) -> Self {
        let mut posted = BTreeMap::new();
        let call = |(at, op): (usize, &Op)| match op {
            Op::Post { recv, pattern: wanted } => {
                posted.insert(*recv, at);
                Call::Post(pattern(wanted), recv.0)
            }
            Op::Arrive { msg, envelope: sent } => Call::Arrive(envelope(sent), msg.0),
            Op::Cancel { recv } => posted.get(recv).map_or(Call::Nothing, |&at| Call::Cancel(at)),
            Op::Probe { pattern: wanted, .. } => Call::Probe(pattern(wanted)),
            Op::MatchedProbe { pattern: wanted, .. } => Call::MatchedProbe(pattern(wanted)),
        };
        let calls = ops.iter().enumerate().map(call).collect();
        Self { matcher, ops: ops.to_vec(), calls, answers: Vec::with_capacity(ops.len()) }
    }

    fn call(&mut self, call: Call) -> Answer {
        const MEMORY: &str = "the host has memory for one more entry";
        match call {
            Call::Post(pattern, user) => match self.matcher.post(pattern, user).expect(MEMORY) {
                Posted::Matched(message) => Answer::Found(message.user),
                Posted::Waiting(handle) => Answer::Waiting(handle),
            },
            Call::Arrive(envelope, user) => match self.matcher.arrive(envelope, user).expect(MEMORY) {
                Arrived::Matched { user } => Answer::Found(user),
                Arrived::Unexpected(handle) => Answer::Waiting(handle),
            },
            Call::Cancel(post) => match self.answers[post] {
                // A receive that has been matched since has a handle that is stale.
                Answer::Waiting(handle) => self.matcher.cancel(handle).map_or(Answer::Nothing, Answer::Found),
                Answer::Found(_) | Answer::Nothing => Answer::Nothing,
            },
            Call::Nothing => Answer::Nothing,
            Call::Probe(pattern) => {
                self.matcher.probe(pattern).map_or(Answer::Nothing, |found| Answer::Found(found.user))
            }
            Call::MatchedProbe(pattern) => {
                self.matcher.mprobe(pattern).map_or(Answer::Nothing, |found| Answer::Found(found.user))
            }
        }
    }
}

impl BareRun for Run {
    fn rewind(&mut self) {
        for answer in self.answers.drain(..) {
            if let Answer::Waiting(handle) = answer {
                // Whatever was matched meanwhile has a handle that is stale.
                if self.matcher.cancel(handle).is_none() {
                    self.matcher.discard(handle);
                }
            }
        }
        debug_assert_eq!((self.matcher.posted_len(), self.matcher.unexpected_len()), (0, 0));
    }

    fn perform(&mut self, count: usize) {
        let begin = self.answers.len();
        let end = self.calls.len().min(begin.saturating_add(count));
        for at in begin..end {
            let answer = self.call(self.calls[at]);
            self.answers.push(answer);
        }
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let outcome = |(op, answer): (&Op, &Answer)| match (*op, *answer) {
            (Op::Post { recv, .. }, Answer::Found(msg)) => Outcome::Matched(recv, MsgId(msg)),
            (Op::Post { recv, .. }, _) => Outcome::Posted(recv),
            (Op::Arrive { msg, .. }, Answer::Found(recv)) => Outcome::Matched(RecvId(recv), msg),
            (Op::Arrive { msg, .. }, _) => Outcome::Unexpected(msg),
            (Op::Cancel { recv }, Answer::Found(_)) => Outcome::Cancelled(recv),
            (Op::Cancel { recv }, _) => Outcome::NotCancelled(recv),
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, Answer::Found(msg)) => {
                Outcome::Probed(probe, Some(MsgId(msg)))
            }
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, _) => Outcome::Probed(probe, None),
        };
        self.ops.iter().zip(&self.answers).map(outcome).collect()
    }
}
