// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Posted receives and unexpected messages in order of age.
//!
//! Every search also tells its *visits*: how many entries a walk from the oldest entry would compare, the hit
//! included, or the whole list on a miss (`spec/matching.md`, part V).

use mb_core::{Envelope, MsgId, Op, Outcome, Pattern, RecvId};

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
                    self.posted.append(recv, pattern);
                    (Outcome::Posted(recv), visits)
                }
            },
            Op::Arrive { msg, envelope } => match self.posted.take(&envelope) {
                (Some(recv), visits) => (Outcome::Matched(recv, msg), visits),
                (None, visits) => {
                    self.unexpected.append(msg, envelope);
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
    pub fn queue_lengths(&self) -> (usize, usize) {
        (self.posted.len(), self.unexpected.len())
    }
}

/// The posted receives in order of age.
#[derive(Clone, Debug, Default)]
pub struct PostedReceives {
    entries: Vec<(RecvId, Pattern)>,
}

impl PostedReceives {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Appends a receive, which becomes the youngest.
    pub fn append(&mut self, recv: RecvId, pattern: Pattern) {
        self.entries.push((recv, pattern));
    }

    /// Takes the oldest receive that accepts `envelope`.
    pub fn take(&mut self, envelope: &Envelope) -> (Option<RecvId>, u32) {
        match self.entries.iter().position(|(_, pattern)| pattern.accepts(envelope)) {
            Some(index) => (Some(self.entries.remove(index).0), index as u32 + 1),
            None => (None, self.entries.len() as u32),
        }
    }

    /// Takes `recv` back; tells whether it was there.
    pub fn cancel(&mut self, recv: RecvId) -> (bool, u32) {
        if let Some(index) = self.entries.iter().position(|(id, _)| *id == recv) {
            self.entries.remove(index);
            (true, index as u32 + 1)
        } else {
            (false, self.entries.len() as u32)
        }
    }
}

/// The unexpected messages in order of age.
#[derive(Clone, Debug, Default)]
pub struct UnexpectedMessages {
    entries: Vec<(MsgId, Envelope)>,
}

impl UnexpectedMessages {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Appends a message, which becomes the youngest.
    pub fn append(&mut self, msg: MsgId, envelope: Envelope) {
        self.entries.push((msg, envelope));
    }

    /// Finds the oldest message that `pattern` accepts and leaves it.
    pub fn find(&mut self, pattern: &Pattern) -> (Option<MsgId>, u32) {
        match self.entries.iter().position(|(_, envelope)| pattern.accepts(envelope)) {
            Some(index) => (Some(self.entries[index].0), index as u32 + 1),
            None => (None, self.entries.len() as u32),
        }
    }

    /// Takes the oldest message that `pattern` accepts.
    pub fn take(&mut self, pattern: &Pattern) -> (Option<MsgId>, u32) {
        let (found, visits) = self.find(pattern);
        if found.is_some() {
            self.entries.remove(visits as usize - 1);
        }
        (found, visits)
    }
}
