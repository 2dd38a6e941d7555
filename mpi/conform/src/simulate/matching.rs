// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Matching: which message and receive may meet, and what a probe may find.

use super::{Contract, PlantedFault, Queue, Simulator, State};
use crate::program::{Action, Comm, Form, MessageSource, ReceiveSpec, SendMode, StepId};

impl Simulator<'_> {
    /// Adds every match that the two rules permit: a message and the oldest receive of a thread that
    /// accepts it, if no earlier message of the sending thread is accepted too.
    pub(super) fn matches(&self, state: &State, key: (u8, Comm), queue: &Queue, next: &mut Vec<State>) {
        for &message in &queue.sent {
            for receive in self.oldest(queue, message) {
                if self.is_first(queue, &self.spec(receive), message) {
                    let mut after = state.clone();
                    let queue = after.queues.get_mut(&key).expect("this queue");
                    queue.posted.retain(|&other| other != receive);
                    remove_and_receive(&mut after, key, message);
                    after.matched.insert(receive, message);
                    next.push(after);
                }
            }
        }
    }

    /// Of each thread, the oldest posted receive that accepts `message`.
    fn oldest(&self, queue: &Queue, message: StepId) -> Vec<StepId> {
        let accepting = || queue.posted.iter().copied().filter(|&posted| self.accepts(&self.spec(posted), message));
        let is_late = |id: StepId| {
            self.library.fault == Some(PlantedFault::LateIsendrecv)
                && matches!(self.step(id).action, Action::SendReceive(_, _, Form::Nonblocking))
        };
        if accepting().any(is_late) && !accepting().all(is_late) {
            return accepting().filter(|&id| !is_late(id)).take(1).collect();
        }
        let is_oldest =
            |id: &StepId| accepting().find(|&other| self.step(other).thread == self.step(*id).thread) == Some(*id);
        accepting().filter(is_oldest).collect()
    }

    /// Whether no earlier message of the thread that sent `message` is pending that `spec` accepts
    /// as well.
    pub(super) fn is_first(&self, queue: &Queue, spec: &ReceiveSpec, message: StepId) -> bool {
        let lane = self.step(message).lane();
        let of_sender = queue.sent.iter().copied().filter(|&other| self.step(other).lane() == lane);
        let mut accepted = of_sender.filter(|&other| self.accepts(spec, other));
        let (_, sent) = self.message(message);
        let is_reversed = match self.library.fault {
            Some(PlantedFault::SessionOvertaking) => sent.comm == Comm::Session,
            Some(PlantedFault::PartitionedLast) => sent.partitions > 0,
            Some(PlantedFault::ThreadOvertaking) => self.program.is_threaded(),
            _ => false,
        };
        (if is_reversed { accepted.next_back() } else { accepted.next() }) == Some(message)
    }

    /// The next message of each sender arrives.
    pub(super) fn arrivals(&self, state: &State, key: (u8, Comm), queue: &Queue, next: &mut Vec<State>) {
        for from in 0..self.program.ranks {
            let Some(&message) = queue.sent.iter().find(|&&message| self.message(message).0 == from) else { continue };
            let mut after = state.clone();
            let queue = after.queues.get_mut(&key).expect("this queue");
            queue.sent.retain(|&other| other != message);
            match queue.posted.iter().position(|&posted| self.accepts(&self.spec(posted), message)) {
                Some(index) => {
                    let receive = queue.posted.remove(index);
                    after.taken.insert(message);
                    after.matched.insert(receive, message);
                }
                None => queue.arrived.push(message),
            }
            next.push(after);
        }
    }

    /// The messages that a probe of `thread`, or of the drain phase, may find now, or that a receive
    /// takes under [`Contract::Arrival`].
    pub(super) fn visible(&self, queue: &Queue, spec: &ReceiveSpec, thread: Option<u8>) -> Vec<StepId> {
        match self.library.contract {
            Contract::Mpi => {
                let is_visible = |message: &StepId| {
                    self.accepts(spec, *message)
                        && self.is_first(queue, spec, *message)
                        && !queue.posted.iter().any(|&posted| {
                            thread.is_none_or(|thread| self.step(posted).thread == thread)
                                && self.accepts(&self.spec(posted), *message)
                        })
                };
                queue.sent.iter().copied().filter(is_visible).collect()
            }
            Contract::Arrival => {
                queue.arrived.iter().copied().find(|&message| self.accepts(spec, message)).into_iter().collect()
            }
        }
    }

    /// Whether a probe may find nothing now.
    pub(super) fn may_miss(&self, queue: &Queue, spec: &ReceiveSpec) -> bool {
        match self.library.contract {
            Contract::Mpi => !queue.probed.iter().any(|&message| self.accepts(spec, message)),
            Contract::Arrival => self.visible(queue, spec, None).is_empty(),
        }
    }

    /// Whether step `id` may start: a ready send needs its receive posted.
    pub(super) fn may_begin(&self, state: &State, id: StepId) -> bool {
        let Some(message) = self.step(id).action.message() else { return true };
        let Some(dest) = message.dest.filter(|_| message.mode == SendMode::Ready) else { return true };
        let queue = state.queues.get(&(dest, message.comm));
        queue.is_some_and(|queue| queue.posted.iter().any(|&posted| self.accepts(&self.spec(posted), id)))
    }

    /// Sends, or posts, without waiting.
    pub(super) fn begin(&self, state: &mut State, rank: u8, id: StepId) {
        if self.step(id).action.message().is_some() {
            self.send(state, id);
        }
        if self.step(id).action.spec().is_some() {
            self.post(state, rank, id);
        }
        state.active.insert(id, id);
    }

    pub(super) fn post(&self, state: &mut State, rank: u8, id: StepId) {
        let spec = self.spec(id);
        if spec.source == MessageSource::Null {
            return;
        }
        let key = (rank, spec.comm);
        let found = {
            let queue = state.queues.entry(key).or_default();
            queue.probed.retain(|&message| !self.accepts(&spec, message));
            match self.library.contract {
                Contract::Mpi => None,
                Contract::Arrival => self.visible(queue, &spec, None).first().copied(),
            }
        };
        if let Some(message) = found {
            remove_and_receive(state, key, message);
            state.matched.insert(id, message);
        } else if let Some(queue) = state.queues.get_mut(&key) {
            queue.posted.push(id);
        }
    }

    pub(super) fn send(&self, state: &mut State, id: StepId) {
        let (_, message) = self.message(id);
        if let Some(dest) = message.dest {
            state.queues.entry((dest, message.comm)).or_default().sent.push(id);
        }
    }

    /// Whether the send of step `id` may be complete.
    pub(super) fn is_sent(&self, state: &State, id: StepId) -> bool {
        let (_, message) = self.message(id);
        message.dest.is_none()
            || state.taken.contains(&id)
            || match message.mode {
                SendMode::Synchronous => false,
                SendMode::Standard | SendMode::Ready => !self.library.rendezvous,
                SendMode::Buffered => true,
            }
    }
}

/// `message` leaves matching and is received.
pub(super) fn remove_and_receive(state: &mut State, key: (u8, Comm), message: StepId) {
    remove_unexpected(state, key, message);
    state.taken.insert(message);
}

/// `message` leaves matching.
pub(super) fn remove_unexpected(state: &mut State, key: (u8, Comm), message: StepId) {
    if let Some(queue) = state.queues.get_mut(&key) {
        queue.sent.retain(|&other| other != message);
        queue.arrived.retain(|&other| other != message);
        queue.probed.retain(|&other| other != message);
    }
}
