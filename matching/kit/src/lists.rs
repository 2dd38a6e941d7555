// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Posted receives and unexpected messages in order of age.
//!
//! Every search also returns its *visits*: how many entries a walk from the oldest entry would compare, the hit
//! included, or the whole list on a miss (`spec/matching.md`, part V). They are counted without being visited, so
//! that a replay's own cost does not grow with the depth that it models.
//! Cost: a scan of at most 16 entries while a list is short; beyond, some hash look-ups and the rank of an age.

mod index;
mod posted;
mod ring;
mod unexpected;

use mb_core::{Op, Outcome, QueueLengths};

pub use posted::PostedReceives;
pub use unexpected::UnexpectedMessages;

/// A receiver's two lists and the matching between them.
#[derive(Clone, Debug, Default)]
pub struct MatchLists {
    posted: PostedReceives,
    unexpected: UnexpectedMessages,
}

impl MatchLists {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies `op`; returns its outcome and its visits.
    #[inline]
    pub fn apply(&mut self, op: Op) -> (Outcome, u32) {
        match op {
            Op::Post { recv, pattern } => match self.unexpected.take(&pattern) {
                (Some(msg), visits) => (Outcome::Matched(recv, msg), visits),
                (None, visits) => {
                    self.posted.append(recv, &pattern);
                    (Outcome::Posted(recv), visits)
                }
            },
            Op::Arrive { msg, envelope } => match self.posted.take(&envelope) {
                (Some(recv), visits) => (Outcome::Matched(recv, msg), visits),
                (None, visits) => {
                    self.unexpected.append(msg, &envelope);
                    (Outcome::Unexpected(msg), visits)
                }
            },
            Op::Cancel { recv } => match self.posted.cancel(recv) {
                (true, visits) => (Outcome::Cancelled(recv), visits),
                (false, visits) => (Outcome::NotCancelled(recv), visits),
            },
            Op::Probe { probe, pattern } => {
                let (found, visits) = self.unexpected.find(&pattern);
                (Outcome::Probed(probe, found), visits)
            }
            Op::MatchedProbe { probe, pattern } => {
                let (found, visits) = self.unexpected.take(&pattern);
                (Outcome::Probed(probe, found), visits)
            }
        }
    }

    /// The number of posted receives and of unexpected messages.
    #[must_use]
    pub fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: self.posted.len(), unexpected: self.unexpected.len() }
    }
}
