// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch with a prepared sequence of operations: one call for each, whose result is stored as a
//! program would store it in the request.
//!
//! The call that posted the receive of a cancel is found beforehand; in a program the request holds
//! the handle. Between runs the matcher is emptied and not created again, so that its pools are as
//! fragmented as those of a long-running program.

use std::collections::BTreeMap;

use mb_core::matching;
use mb_core::{BareRun, MsgId, Op, Outcome, RecvId};
use mbmatch::{Arrived, Envelope, Handle, Matcher, Pattern, Posted};

/// Converts a pattern.
pub(crate) fn pattern(pattern: &matching::Pattern) -> Pattern {
    let source = pattern.initiator.map(|initiator| initiator.0);
    Pattern { bits: pattern.bits, ignore: pattern.ignore, source }
}

/// Converts an envelope.
pub(crate) fn envelope(envelope: &matching::Envelope) -> Envelope {
    Envelope { bits: envelope.bits, source: envelope.initiator.0 }
}

/// A call of mbmatch.
#[derive(Clone, Copy, Debug)]
enum Call {
    Post(Pattern, u64),
    Arrive(Envelope, u64),
    /// Cancels the receive posted by the call of this number.
    Cancel(usize),
    /// A cancel of a receive that was never posted: no call.
    Skip,
    Probe(Pattern),
    MatchedProbe(Pattern),
}

/// The result of a call.
#[derive(Clone, Copy, Debug)]
enum CallResult {
    /// The receive or message was queued.
    Queued(Handle),
    /// The user value of the entry that was matched, found or cancelled.
    Found(u64),
    None,
}

/// The operations of one receiver on a matcher.
#[derive(Debug)]
pub(crate) struct MatcherRun {
    matcher: Matcher,
    ops: Vec<Op>,
    calls: Vec<Call>,
    results: Vec<CallResult>,
}

impl MatcherRun {
    pub(crate) fn new(matcher: Matcher, ops: &[Op]) -> Self {
        let mut posted = BTreeMap::new();
        let call = |(at, op): (usize, &Op)| match op {
            Op::Post { recv, pattern: wanted } => {
                posted.insert(*recv, at);
                Call::Post(pattern(wanted), recv.0)
            }
            Op::Arrive { msg, envelope: sent } => Call::Arrive(envelope(sent), msg.0),
            Op::Cancel { recv } => posted.get(recv).map_or(Call::Skip, |&at| Call::Cancel(at)),
            Op::Probe { pattern: wanted, .. } => Call::Probe(pattern(wanted)),
            Op::MatchedProbe { pattern: wanted, .. } => Call::MatchedProbe(pattern(wanted)),
        };
        let calls = ops.iter().enumerate().map(call).collect();
        Self { matcher, ops: ops.to_vec(), calls, results: Vec::with_capacity(ops.len()) }
    }

    fn call(&mut self, call: Call) -> CallResult {
        const MEMORY: &str = "out of memory for one more entry";
        match call {
            Call::Post(pattern, user) => match self.matcher.post(pattern, user).expect(MEMORY) {
                Posted::Matched(message) => CallResult::Found(message.user),
                Posted::Waiting(handle) => CallResult::Queued(handle),
            },
            Call::Arrive(envelope, user) => match self.matcher.arrive(envelope, user).expect(MEMORY) {
                Arrived::Matched { user } => CallResult::Found(user),
                Arrived::Unexpected(handle) => CallResult::Queued(handle),
            },
            Call::Cancel(post) => match self.results[post] {
                // The handle of a receive that was matched since is stale.
                CallResult::Queued(handle) => self.matcher.cancel(handle).map_or(CallResult::None, CallResult::Found),
                CallResult::Found(_) | CallResult::None => CallResult::None,
            },
            Call::Skip => CallResult::None,
            Call::Probe(pattern) => {
                self.matcher.probe(pattern).map_or(CallResult::None, |found| CallResult::Found(found.user))
            }
            Call::MatchedProbe(pattern) => {
                self.matcher.mprobe(pattern).map_or(CallResult::None, |found| CallResult::Found(found.user))
            }
        }
    }
}

impl BareRun for MatcherRun {
    fn rewind(&mut self) {
        for result in self.results.drain(..) {
            if let CallResult::Queued(handle) = result {
                // The handles of matched entries are stale.
                if self.matcher.cancel(handle).is_none() {
                    self.matcher.discard(handle);
                }
            }
        }
        debug_assert_eq!((self.matcher.posted_len(), self.matcher.unexpected_len()), (0, 0));
    }

    fn perform(&mut self, count: usize) {
        let begin = self.results.len();
        let end = self.calls.len().min(begin.saturating_add(count));
        for at in begin..end {
            let result = self.call(self.calls[at]);
            self.results.push(result);
        }
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let outcome = |(op, result): (&Op, &CallResult)| match (*op, *result) {
            (Op::Post { recv, .. }, CallResult::Found(msg)) => Outcome::Matched(recv, MsgId(msg)),
            (Op::Post { recv, .. }, _) => Outcome::Posted(recv),
            (Op::Arrive { msg, .. }, CallResult::Found(recv)) => Outcome::Matched(RecvId(recv), msg),
            (Op::Arrive { msg, .. }, _) => Outcome::Unexpected(msg),
            (Op::Cancel { recv }, CallResult::Found(_)) => Outcome::Cancelled(recv),
            (Op::Cancel { recv }, _) => Outcome::NotCancelled(recv),
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, CallResult::Found(msg)) => {
                Outcome::Probed(probe, Some(MsgId(msg)))
            }
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, _) => Outcome::Probed(probe, None),
        };
        self.ops.iter().zip(&self.results).map(outcome).collect()
    }
}
