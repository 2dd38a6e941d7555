// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The calls of a rank: its next step, and its drain phase.

use super::matching::{remove_and_receive, remove_unexpected};
use super::results::NO_PROCESS_STATUS;
use super::{Contract, Queue, Simulator, State};
use crate::outcome::{ObservedStatus, RawEvent};
use crate::program::{Action, Comm, CompleteCall, Form, ReceiveSpec, Source, Step, StepId};

impl Simulator<'_> {
    /// Starts one request that an `MPI_Startall` of `rank` has not started yet; returns whether
    /// there was one.
    pub(super) fn startall_one(&self, state: &State, rank: u8, next: &mut Vec<State>) -> bool {
        let waiting = state.startall_pending.iter().copied().filter(|&id| self.step(id).rank == rank);
        let count = waiting.clone().count();
        for id in waiting.filter(|&id| self.may_begin(state, id)) {
            let mut after = state.clone();
            after.startall_pending.remove(&id);
            self.begin(&mut after, rank, id);
            next.push(after);
        }
        count > 0
    }

    pub(super) fn advance(state: &mut State, rank: u8) {
        state.blocked.remove(&rank);
        state.next[usize::from(rank)] += 1;
    }

    /// Adds every state that the next step of `rank` may lead to.
    pub(super) fn perform(&self, state: &State, rank: u8, step: &Step, next: &mut Vec<State>) {
        let id = step.id;
        let is_called = state.blocked.contains(&rank);
        if !is_called && !step.action.is_together() && !self.may_begin(state, id) {
            return;
        }
        let mut after = state.clone();
        // A blocking call is modelled as a start and a completion.
        if step.action.waits() && !is_called {
            match &step.action {
                Action::Send(..) => self.send(&mut after, id),
                Action::Receive(..) => self.post(&mut after, rank, id),
                Action::SendReceive(..) => {
                    self.send(&mut after, id);
                    self.post(&mut after, rank, id);
                }
                _ => {}
            }
            after.blocked.insert(rank);
            next.push(after);
            return;
        }
        match &step.action {
            Action::Send(_, Form::Blocking) => {
                if self.is_sent(state, id) {
                    Self::observe(&mut after, rank, RawEvent::Sent { step: id });
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::Receive(_, Form::Blocking) => {
                if let Some(event) = self.reception(state, id) {
                    Self::observe(&mut after, rank, event);
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::SendReceive(..) => {
                if let Some(event) = self.reception(state, id)
                    && self.is_sent(state, id)
                {
                    Self::observe(&mut after, rank, RawEvent::Sent { step: id });
                    Self::observe(&mut after, rank, event);
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::Send(_, Form::Together) | Action::Receive(_, Form::Together) => {
                after.startall_pending.insert(id);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Send(..) | Action::Receive(..) => {
                self.begin(&mut after, rank, id);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Restart(of) => {
                self.cancel(&mut after, rank, *of);
                self.post(&mut after, rank, id);
                after.active.insert(*of, id);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Cancel(of) => {
                self.cancel(&mut after, rank, *of);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Probe(spec, call) => self.probe(state, rank, id, spec, *call, next),
            Action::ReceiveProbed(of, nonblocking) => {
                if *nonblocking && state.held.contains_key(of) {
                    after.taken.extend(state.held[of]);
                    after.active.insert(id, id);
                } else {
                    self.receive_held(&mut after, rank, *of, id);
                }
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Complete(call, of) => self.complete(state, rank, *call, of, next),
            Action::Barrier => {
                let is_there = |other: u8| {
                    let place = self.program.of_rank(other).position(|step| step.id == id).unwrap_or_default();
                    let at = state.next[usize::from(other)];
                    at > place || at == place && state.blocked.contains(&other)
                };
                if (0..self.program.ranks).all(is_there) {
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::Pause => {
                Self::advance(&mut after, rank);
                next.push(after);
            }
        }
    }

    /// Receives the message held by matched probe `of`, for step `id`.
    pub(super) fn receive_held(&self, state: &mut State, rank: u8, of: StepId, id: StepId) {
        if state.held.contains_key(&of) {
            let status = self.held_status(state, of);
            state.taken.extend(state.held.remove(&of).flatten());
            Self::observe(state, rank, RawEvent::Received { step: id, status });
        }
    }

    /// Cancels the request of step `of` if it is active, and waits for it.
    pub(super) fn cancel(&self, state: &mut State, rank: u8, of: StepId) {
        let Some(&posting) = state.active.get(&of) else { return };
        if self.report_completion(state, rank, of) {
            return;
        }
        state.active.remove(&of);
        let spec = self.spec(posting);
        if let Some(queue) = state.queues.get_mut(&(rank, spec.comm)) {
            queue.posted.retain(|&other| other != posting);
        }
        Self::observe(state, rank, RawEvent::Cancelled { step: posting });
    }

    pub(super) fn probe(
        &self,
        state: &State,
        rank: u8,
        id: StepId,
        spec: &ReceiveSpec,
        call: crate::program::ProbeCall,
        next: &mut Vec<State>,
    ) {
        if spec.source == Source::Null {
            let mut after = state.clone();
            if call.takes() {
                after.held.insert(id, None);
            }
            Self::observe(
                &mut after,
                rank,
                RawEvent::Found { step: id, status: ObservedStatus { flags: 0, ..NO_PROCESS_STATUS } },
            );
            Self::advance(&mut after, rank);
            next.push(after);
            return;
        }
        let key = (rank, spec.comm);
        let empty = Queue::default();
        let queue = state.queues.get(&key).unwrap_or(&empty);
        for message in self.visible(queue, spec) {
            let mut after = state.clone();
            if call.takes() {
                remove_unexpected(&mut after, key, message);
                after.held.insert(id, Some(message));
            } else if self.library.contract == Contract::Mpi
                && let Some(queue) = after.queues.get_mut(&key)
                && !queue.probed.contains(&message)
            {
                queue.probed.push(message);
                queue.probed.sort_unstable();
            }
            Self::observe(&mut after, rank, RawEvent::Found { step: id, status: self.status_of(message, true) });
            Self::advance(&mut after, rank);
            next.push(after);
        }
        if !call.waits() && self.may_miss(queue, spec) {
            let mut after = state.clone();
            Self::observe(&mut after, rank, RawEvent::FoundNothing { step: id });
            Self::advance(&mut after, rank);
            next.push(after);
        }
    }

    pub(super) fn complete(&self, state: &State, rank: u8, call: CompleteCall, of: &[StepId], next: &mut Vec<State>) {
        let active: Vec<StepId> = of.iter().copied().filter(|id| state.active.contains_key(id)).collect();
        let ready: Vec<StepId> = active.iter().copied().filter(|&id| self.completion(state, id).is_some()).collect();
        let mut outcome = |reported: &[StepId]| {
            let mut after = state.clone();
            for &id in reported {
                self.report_completion(&mut after, rank, id);
            }
            Self::advance(&mut after, rank);
            next.push(after);
        };
        let is_all =
            matches!(call, CompleteCall::Wait | CompleteCall::Waitall | CompleteCall::Test | CompleteCall::Testall);
        if active.is_empty() {
            outcome(&[]);
            return;
        }
        if is_all && ready == active {
            outcome(&ready);
        } else if matches!(call, CompleteCall::Waitany | CompleteCall::Testany) {
            for &id in &ready {
                outcome(&[id]);
            }
        } else if !is_all {
            for choice in 1_u32..1 << ready.len() {
                let chosen = ready.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
                outcome(&chosen.map(|(_, &id)| id).collect::<Vec<_>>());
            }
        }
        if !call.waits() {
            outcome(&[]);
        }
    }

    /// Adds every state that the drain phase of `rank` may lead to next.
    pub(super) fn drain(&self, state: &State, rank: u8, next: &mut Vec<State>) {
        let own = |id: &StepId| self.step(*id).rank == rank;
        // Messages of matched probes come first, except those with an active request.
        let promised = |probe: &StepId| {
            state.active.keys().any(|id| matches!(self.step(*id).action, Action::ReceiveProbed(of, _) if of == *probe))
        };
        if let Some(&probe) = state.held.keys().find(|probe| own(probe) && !promised(probe)) {
            let mut after = state.clone();
            self.receive_held(&mut after, rank, probe, probe);
            next.push(after);
            return;
        }
        let is_send = |id: &StepId| matches!(self.step(*id).action, Action::Send(..));
        let active: Vec<StepId> = state.active.keys().copied().filter(own).collect();
        let is_complete = state.received[usize::from(rank)] >= self.program.messages_to(rank);
        if is_complete && !active.iter().any(is_send) {
            let mut after = state.clone();
            for id in active {
                self.cancel(&mut after, rank, id);
            }
            after.next[usize::from(rank)] += 1;
            next.push(after);
            return;
        }
        for id in active {
            let mut after = state.clone();
            if self.report_completion(&mut after, rank, id) {
                next.push(after);
            }
        }
        for comm in Comm::ALL {
            let key = (rank, comm);
            let Some(queue) = state.queues.get(&key) else { continue };
            for message in self.visible(queue, &ReceiveSpec::any(comm)) {
                let mut after = state.clone();
                remove_and_receive(&mut after, key, message);
                Self::observe(&mut after, rank, RawEvent::Drained { comm, status: self.status_of(message, false) });
                next.push(after);
            }
        }
    }
}
