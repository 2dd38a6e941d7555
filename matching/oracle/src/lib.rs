// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The reference matcher: two lists in order of age and a search from the front. The judge of every engine.
//!
//! Contract: `spec/matching.md`, word for word; nothing here is fast, so that everything can be seen to be right.
//! Cost: linear in the entries visited, and in the list's length for a removal.

use mb_core::{Envelope, MsgId, Op, Outcome, Pattern, QueueLengths, RecvId};

/// One receiver's posted receives and unexpected messages, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    posted: Vec<(RecvId, Pattern)>,
    unexpected: Vec<(MsgId, Envelope)>,
}

impl Oracle {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies `op`; returns its outcome and its visits (clauses V-1 to V-4).
    pub fn apply(&mut self, op: Op) -> (Outcome, u32) {
        match op {
            Op::Post { recv, pattern } => {
                let (found, visits) = walk(&self.unexpected, |(_, envelope)| pattern.accepts(envelope));
                if let Some(index) = found {
                    (Outcome::Matched(recv, self.unexpected.remove(index).0), visits)
                } else {
                    self.posted.push((recv, pattern));
                    (Outcome::Posted(recv), visits)
                }
            }
            Op::Arrive { msg, envelope } => {
                let (found, visits) = walk(&self.posted, |(_, pattern)| pattern.accepts(&envelope));
                if let Some(index) = found {
                    (Outcome::Matched(self.posted.remove(index).0, msg), visits)
                } else {
                    self.unexpected.push((msg, envelope));
                    (Outcome::Unexpected(msg), visits)
                }
            }
            Op::Cancel { recv } => {
                let (found, visits) = walk(&self.posted, |(id, _)| *id == recv);
                if let Some(index) = found {
                    self.posted.remove(index);
                    (Outcome::Cancelled(recv), visits)
                } else {
                    (Outcome::NotCancelled(recv), visits)
                }
            }
            Op::Probe { probe, pattern } => {
                let (found, visits) = walk(&self.unexpected, |(_, envelope)| pattern.accepts(envelope));
                (Outcome::Probed(probe, found.map(|index| self.unexpected[index].0)), visits)
            }
            Op::MatchedProbe { probe, pattern } => {
                let (found, visits) = walk(&self.unexpected, |(_, envelope)| pattern.accepts(envelope));
                (Outcome::Probed(probe, found.map(|index| self.unexpected.remove(index).0)), visits)
            }
        }
    }

    /// The number of posted receives and of unexpected messages.
    #[must_use]
    pub fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: self.posted.len(), unexpected: self.unexpected.len() }
    }
}

/// Walks `list` from its oldest entry to the first hit: where that is, and how many entries were visited.
fn walk<T>(list: &[T], is_hit: impl FnMut(&T) -> bool) -> (Option<usize>, u32) {
    let found = list.iter().position(is_hit);
    (found, found.map_or(list.len(), |index| index + 1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mb_core::{Initiator, ProbeId};

    const HELLO: Envelope = Envelope { bits: 7, initiator: Initiator(1) };
    const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, initiator: None };

    #[test]
    fn the_oldest_posted_receive_wins() {
        let mut oracle = Oracle::new();
        for recv in [RecvId(1), RecvId(2)] {
            assert_eq!(oracle.apply(Op::Post { recv, pattern: ANY }), (Outcome::Posted(recv), 0));
        }
        let arrive = |msg| Op::Arrive { msg, envelope: HELLO };
        assert_eq!(oracle.apply(arrive(MsgId(1))), (Outcome::Matched(RecvId(1), MsgId(1)), 1));
        assert_eq!(oracle.apply(arrive(MsgId(2))), (Outcome::Matched(RecvId(2), MsgId(2)), 1));
        assert_eq!(oracle.apply(arrive(MsgId(3))), (Outcome::Unexpected(MsgId(3)), 0));
    }

    #[test]
    fn a_walk_visits_up_to_the_hit_or_the_whole_list() {
        let mut oracle = Oracle::new();
        for bits in 0..4 {
            let envelope = Envelope { bits, ..HELLO };
            oracle.apply(Op::Arrive { msg: MsgId(bits), envelope });
        }
        let probe = |bits| Op::Probe { probe: ProbeId(0), pattern: Pattern::exactly(Envelope { bits, ..HELLO }) };
        assert_eq!(oracle.apply(probe(2)), (Outcome::Probed(ProbeId(0), Some(MsgId(2))), 3));
        assert_eq!(oracle.apply(probe(9)), (Outcome::Probed(ProbeId(0), None), 4));
        assert_eq!(oracle.queue_lengths(), QueueLengths { posted: 0, unexpected: 4 });
    }

    #[test]
    fn a_matched_receive_cannot_be_cancelled() {
        let mut oracle = Oracle::new();
        oracle.apply(Op::Post { recv: RecvId(1), pattern: ANY });
        oracle.apply(Op::Post { recv: RecvId(2), pattern: ANY });
        oracle.apply(Op::Arrive { msg: MsgId(1), envelope: HELLO });
        assert_eq!(oracle.apply(Op::Cancel { recv: RecvId(1) }), (Outcome::NotCancelled(RecvId(1)), 1));
        assert_eq!(oracle.apply(Op::Cancel { recv: RecvId(2) }), (Outcome::Cancelled(RecvId(2)), 1));
        assert_eq!(oracle.queue_lengths(), QueueLengths::default());
    }
}
