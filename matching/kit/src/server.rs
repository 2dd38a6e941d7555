// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines that compute every answer when they accept the operation.
//!
//! Nothing that is offered later changes such an answer. An [`OperationServer`] computes outcome and time of an
//! operation; a [`Server`] around it keeps the answers until their times, or returns them ahead of them
//! ([`Shortcuts::answer`], [`Shortcuts::settle`]). [`InTurn`] and [`InputQueue`] are what most of them contain.
//! Cost: constant per operation.

use std::collections::VecDeque;

use mb_core::{
    Accepted, BareRun, CapacityEvents, Completion, Delays, Engine, Measurable, Op, Outcome, Picos, QueueLengths,
    Shortcuts,
};

/// The answer to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    /// Outcome and time.
    pub completion: Completion,
    /// The time that the operation adds to that in which the engine was busy.
    pub busy: Picos,
}

/// Computes outcomes and times of the operations of a receiver.
pub trait OperationServer: Send {
    /// When to offer `op` again, if it cannot be taken at `now`.
    #[inline]
    fn refuses_until(&mut self, now: Picos, op: &Op) -> Option<Picos> {
        let _ = (now, op);
        None
    }

    /// Takes `op` at `now` and answers it, never before the operation that was taken last.
    fn serve(&mut self, now: Picos, op: Op) -> Served;

    /// As [`Engine::queue_lengths`].
    fn queue_lengths(&self) -> QueueLengths;

    /// As [`Engine::capacity_events`].
    fn capacity_events(&self) -> CapacityEvents {
        CapacityEvents::default()
    }

    /// As [`Measurable::bare_run`].
    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        let _ = ops;
        None
    }
}

/// The engine of a service.
#[derive(Clone, Debug)]
pub struct Server<S> {
    service: S,
    /// Answers that were not returned.
    pending: VecDeque<Served>,
    busy: Picos,
    /// The time of the last offer, to check that offers are in order of time.
    #[cfg(debug_assertions)]
    now: Picos,
}

impl<S> Server<S> {
    /// No answer is outstanding.
    #[must_use]
    pub const fn new(service: S) -> Self {
        Self {
            service,
            pending: VecDeque::new(),
            busy: Picos::ZERO,
            #[cfg(debug_assertions)]
            now: Picos::ZERO,
        }
    }

    /// The service inside.
    #[must_use]
    pub const fn service(&self) -> &S {
        &self.service
    }

    #[cfg(debug_assertions)]
    fn check_time(&mut self, now: Picos) {
        assert!(now >= self.now, "offered at {now}, after an offer at {}", self.now);
        self.now = now;
    }

    #[inline]
    fn hand_out_first(&mut self, done: &mut Vec<Completion>) {
        if let Some(Served { completion, busy }) = self.pending.pop_front() {
            self.busy += busy;
            done.push(completion);
        }
    }
}

impl<S: OperationServer> Engine for Server<S> {
    #[inline]
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        #[cfg(debug_assertions)]
        self.check_time(now);
        if let Some(retry_at) = self.service.refuses_until(now, &op) {
            return Accepted::Busy { retry_at };
        }
        let served = self.service.serve(now, op);
        self.pending.push_back(served);
        Accepted::Yes
    }

    #[inline]
    fn next_event(&self) -> Option<Picos> {
        self.pending.front().map(|served| served.completion.at)
    }

    #[inline]
    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        while self.pending.front().is_some_and(|served| served.completion.at <= until) {
            self.hand_out_first(done);
        }
    }

    #[inline]
    fn queue_lengths(&self) -> QueueLengths {
        self.service.queue_lengths()
    }

    fn busy(&self) -> Picos {
        self.busy
    }

    fn capacity_events(&self) -> CapacityEvents {
        self.service.capacity_events()
    }
}

impl<S: OperationServer> Shortcuts for Server<S> {
    #[inline]
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        #[cfg(debug_assertions)]
        self.check_time(now);
        if !self.pending.is_empty() || self.service.refuses_until(now, &op).is_some() {
            return None;
        }
        let Served { completion, busy } = self.service.serve(now, op);
        self.busy += busy;
        Some(completion)
    }

    #[inline]
    fn settle(&mut self, done: &mut Vec<Completion>) {
        while !self.pending.is_empty() {
            self.hand_out_first(done);
        }
    }
}

impl<S: OperationServer> Measurable for Server<S> {
    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        self.service.bare_run(ops)
    }
}

/// One operation after the other, in order of acceptance: each starts when it can or when the one
/// before it ends, whichever is later, so that `at = max(start, free) + span`.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTurn {
    free: Picos,
}

impl InTurn {
    /// Idle since time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves an operation that can start at `start` and takes `span`.
    #[inline]
    pub fn serve(&mut self, start: Picos, span: Picos, outcome: Outcome, visits: u32) -> Served {
        let begin = self.free.max(start);
        let at = begin + span;
        self.free = at;
        let delays = Delays { waiting: begin - start, beyond: Picos::ZERO };
        Served { completion: Completion { at, outcome, visits, delays }, busy: span }
    }
}

/// A bounded queue of operations that wait for their start. When it is full, more are refused.
#[derive(Clone, Debug)]
pub struct InputQueue {
    capacity: usize,
    /// Starts of the operations that may not have started.
    starts: VecDeque<Picos>,
}

impl InputQueue {
    /// An empty queue for `capacity` operations.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { capacity, starts: VecDeque::new() }
    }

    /// When an entry becomes free, if none is at `now`, which never decreases.
    #[inline]
    pub fn full_until(&mut self, now: Picos) -> Option<Picos> {
        while self.starts.front().is_some_and(|&start| start <= now) {
            self.starts.pop_front();
        }
        if self.starts.len() < self.capacity { None } else { self.starts.front().copied() }
    }

    /// Takes an operation that starts at `start`, which is not before the start of the one taken last.
    #[inline]
    pub fn push(&mut self, start: Picos) {
        self.starts.push_back(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mb_core::RecvId;

    /// Takes two operations at a time; each takes 10 ps.
    struct Ten {
        turn: InTurn,
        queue: InputQueue,
    }

    impl OperationServer for Ten {
        fn refuses_until(&mut self, now: Picos, _: &Op) -> Option<Picos> {
            self.queue.full_until(now)
        }

        fn serve(&mut self, now: Picos, op: Op) -> Served {
            let Op::Cancel { recv } = op else { unreachable!("the tests cancel") };
            let served = self.turn.serve(now, Picos(10), Outcome::NotCancelled(recv), 0);
            self.queue.push(Picos(served.completion.at.0 - 10));
            served
        }

        fn queue_lengths(&self) -> QueueLengths {
            QueueLengths::default()
        }
    }

    fn server() -> Server<Ten> {
        Server::new(Ten { turn: InTurn::new(), queue: InputQueue::new(2) })
    }

    const OP: Op = Op::Cancel { recv: RecvId(1) };

    #[test]
    fn an_operation_waits_for_the_one_before_it() {
        let mut server = server();
        for now in [100, 105, 200] {
            assert_eq!(server.offer(Picos(now), OP), Accepted::Yes);
        }
        assert_eq!(server.answer(Picos(200), OP), None, "three answers are outstanding");
        let mut done = Vec::new();
        server.settle(&mut done);
        assert_eq!(done.iter().map(|completion| completion.at.0).collect::<Vec<_>>(), [110, 120, 210]);
        assert_eq!(server.busy(), Picos(30));
        assert_eq!(server.next_event(), None);
        assert_eq!(server.answer(Picos(205), OP).unwrap().at, Picos(220));
        assert_eq!(server.busy(), Picos(40));
    }

    #[test]
    fn a_completion_comes_out_at_its_time_and_not_a_picosecond_earlier() {
        let mut server = server();
        assert_eq!(server.offer(Picos(100), OP), Accepted::Yes);
        assert_eq!(server.next_event(), Some(Picos(110)));
        let mut done = Vec::new();
        server.run_until(Picos(109), &mut done);
        assert_eq!(done, []);
        assert_eq!(server.busy(), Picos::ZERO);
        server.run_until(Picos(110), &mut done);
        assert_eq!(done.len(), 1);
        assert_eq!(server.busy(), Picos(10));
    }

    #[test]
    fn an_entry_is_free_when_its_operation_starts_and_not_a_picosecond_earlier() {
        let mut server = server();
        // Started at once, and two that wait until 110 and 120.
        for now in [100, 101, 102] {
            assert_eq!(server.offer(Picos(now), OP), Accepted::Yes);
        }
        for now in [103, 109] {
            assert_eq!(server.offer(Picos(now), OP), Accepted::Busy { retry_at: Picos(110) });
        }
        assert_eq!(server.offer(Picos(110), OP), Accepted::Yes);
        assert_eq!(server.offer(Picos(110), OP), Accepted::Busy { retry_at: Picos(120) });
    }
}
