// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server of one operation after the other, in order of acceptance.
//!
//! An operation starts when it is offered or when the one before it ends, whichever is later, so its completion
//! is known at the offer: `at = max(now, free) + span`. Nothing offered later can change it, which is what
//! [`Engine::settle`](mb_core::Engine::settle) hands out. Cost: constant per operation.

use std::collections::VecDeque;

use mb_core::{Completion, Outcome, Picos};

/// Completions of a one-at-a-time server that were not handed out yet.
#[derive(Clone, Debug, Default)]
pub struct SerialServer {
    free: Picos,
    busy: Picos,
    pending: VecDeque<(Completion, Picos)>,
}

impl SerialServer {
    /// Idle since time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves an operation offered at `now` that takes `span`.
    #[inline]
    pub fn serve(&mut self, now: Picos, span: Picos, outcome: Outcome, visits: u32) {
        let at = self.free.max(now) + span;
        self.free = at;
        self.pending.push_back((Completion { at, outcome, visits }, span));
    }

    /// Serves an operation like [`serve`](Self::serve) and hands out its completion at once. The caller sees to it that none
    /// [is owed](Self::is_idle).
    #[inline]
    pub fn answer(&mut self, now: Picos, span: Picos, outcome: Outcome, visits: u32) -> Completion {
        let at = self.free.max(now) + span;
        self.free = at;
        self.busy += span;
        Completion { at, outcome, visits }
    }

    /// Whether every completion was handed out.
    #[must_use]
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// When the next completion is due.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Option<Picos> {
        self.pending.front().map(|(completion, _)| completion.at)
    }

    /// Hands out the completions that are due at `until`.
    #[inline]
    pub fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        while self.pending.front().is_some_and(|(completion, _)| completion.at <= until) {
            self.hand_out_first(done);
        }
    }

    /// Hands out every completion.
    #[inline]
    pub fn settle(&mut self, done: &mut Vec<Completion>) {
        while !self.pending.is_empty() {
            self.hand_out_first(done);
        }
    }

    /// The time spent on the operations whose completions were handed out.
    #[must_use]
    pub const fn busy(&self) -> Picos {
        self.busy
    }

    #[inline]
    fn hand_out_first(&mut self, done: &mut Vec<Completion>) {
        if let Some((completion, span)) = self.pending.pop_front() {
            self.busy += span;
            done.push(completion);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mb_core::RecvId;

    fn serve(server: &mut SerialServer, now: u64, span: u64, recv: u64) {
        server.serve(Picos(now), Picos(span), Outcome::Posted(RecvId(recv)), 0);
    }

    #[test]
    fn an_operation_waits_for_the_one_before_it() {
        let mut server = SerialServer::new();
        serve(&mut server, 100, 10, 1);
        serve(&mut server, 105, 10, 2);
        serve(&mut server, 200, 10, 3);
        let mut done = Vec::new();
        server.settle(&mut done);
        assert_eq!(done.iter().map(|completion| completion.at.0).collect::<Vec<_>>(), [110, 120, 210]);
        assert_eq!(server.busy(), Picos(30));
        assert_eq!(server.next_event(), None);
    }

    #[test]
    fn a_completion_comes_out_at_its_time_and_not_a_picosecond_earlier() {
        let mut server = SerialServer::new();
        serve(&mut server, 100, 10, 1);
        assert_eq!(server.next_event(), Some(Picos(110)));
        let mut done = Vec::new();
        server.run_until(Picos(109), &mut done);
        assert_eq!(done, []);
        assert_eq!(server.busy(), Picos::ZERO);
        server.run_until(Picos(110), &mut done);
        assert_eq!(done.len(), 1);
        assert_eq!(server.busy(), Picos(10));
    }
}
