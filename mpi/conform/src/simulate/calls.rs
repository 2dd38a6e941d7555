// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The calls of a rank: its next step, and its drain phase.

use super::matching::{remove_and_receive, remove_unexpected};
use super::results::NO_PROCESS_STATUS;
use super::{Contract, Queue, Simulator, State};
use crate::outcome::{ObservedStatus, RawEvent};
use crate::program::{Action, Comm, CompleteCall, Form, Lane, MessageSource, ProgramStep, ReceiveSpec, StepId};

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

    pub(super) fn advance(state: &mut State, lane: Lane) {
        state.blocked.remove(&lane);
        *state.next.entry(lane).or_default() += 1;
    }

    /// Adds every state that the next step of a thread may lead to.
    pub(super) fn perform(&self, state: &State, lane: Lane, step: &ProgramStep, next: &mut Vec<State>) {
        let (rank, _) = lane;
        let id = step.id;
        let is_called = state.blocked.contains(&lane);
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
            after.blocked.insert(lane);
            next.push(after);
            return;
        }
        match &step.action {
            Action::Send(_, Form::Blocking) => {
                if self.is_sent(state, id) {
                    self.observe(&mut after, lane, RawEvent::Sent { step: id });
                    Self::advance(&mut after, lane);
                    next.push(after);
                }
            }
            Action::Receive(_, Form::Blocking) => {
                if let Some(event) = self.reception(state, id) {
                    self.observe(&mut after, lane, event);
                    Self::advance(&mut after, lane);
                    next.push(after);
                }
            }
            Action::SendReceive(_, _, Form::Blocking) => {
                if let Some(event) = self.reception(state, id)
                    && self.is_sent(state, id)
                {
                    self.observe(&mut after, lane, RawEvent::Sent { step: id });
                    self.observe(&mut after, lane, event);
                    Self::advance(&mut after, lane);
                    next.push(after);
                }
            }
            // Partitioned communication is matched when it is initialized.
            Action::Send(_, Form::Together) | Action::Receive(_, Form::Together) if !step.action.is_partitioned() => {
                after.startall_pending.insert(id);
                Self::advance(&mut after, lane);
                next.push(after);
            }
            Action::Send(..) | Action::Receive(..) | Action::SendReceive(..) => {
                self.begin(&mut after, rank, id);
                Self::advance(&mut after, lane);
                next.push(after);
            }
            Action::Restart(of) => {
                self.cancel(&mut after, lane, *of);
                self.post(&mut after, rank, id);
                after.active.insert(*of, id);
                Self::advance(&mut after, lane);
                next.push(after);
            }
            Action::Cancel(of) => {
                self.cancel(&mut after, lane, *of);
                Self::advance(&mut after, lane);
                next.push(after);
            }
            Action::Probe(spec, call) => self.probe(state, lane, id, spec, *call, next),
            Action::ReceiveProbed(of, nonblocking) => {
                if *nonblocking && state.held.contains_key(of) {
                    after.taken.extend(state.held[of]);
                    after.active.insert(id, id);
                } else {
                    self.receive_held(&mut after, lane, *of, id);
                }
                Self::advance(&mut after, lane);
                next.push(after);
            }
            Action::Complete(call, of) => self.complete(state, lane, *call, of, next),
            Action::Barrier => {
                let is_there = |other: u8| {
                    let lane = (other, 0);
                    let of_lane = || self.program.steps.iter().filter(|step| step.is_of_lane(lane));
                    let place = of_lane().position(|step| step.id == id).unwrap_or_default();
                    let at = state.next[&lane];
                    at > place || at == place && state.blocked.contains(&lane)
                };
                if (0..self.program.ranks).all(is_there) {
                    Self::advance(&mut after, lane);
                    next.push(after);
                }
            }
            Action::Pause => {
                Self::advance(&mut after, lane);
                next.push(after);
            }
        }
    }

    /// Receives the message held by matched probe `of`, for step `id`.
    pub(super) fn receive_held(&self, state: &mut State, lane: Lane, of: StepId, id: StepId) {
        if state.held.contains_key(&of) {
            let status = self.held_status(state, of);
            state.taken.extend(state.held.remove(&of).flatten());
            self.observe(state, lane, RawEvent::Received { step: id, status });
        }
    }

    /// Cancels the request of step `of` if it is active, and waits for it.
    pub(super) fn cancel(&self, state: &mut State, lane: Lane, of: StepId) {
        let (rank, _) = lane;
        let Some(&posting) = state.active.get(&of) else { return };
        if self.report_completion(state, lane, of) {
            return;
        }
        state.active.remove(&of);
        let spec = self.spec(posting);
        if let Some(queue) = state.queues.get_mut(&(rank, spec.comm)) {
            queue.posted.retain(|&other| other != posting);
        }
        self.observe(state, lane, RawEvent::Cancelled { step: posting });
    }

    pub(super) fn probe(
        &self,
        state: &State,
        lane: Lane,
        id: StepId,
        spec: &ReceiveSpec,
        call: crate::program::ProbeCall,
        next: &mut Vec<State>,
    ) {
        let (rank, thread) = lane;
        if spec.source == MessageSource::Null {
            let mut after = state.clone();
            if call.takes() {
                after.held.insert(id, None);
            }
            self.observe(
                &mut after,
                lane,
                RawEvent::Found { step: id, status: ObservedStatus { flags: 0, ..NO_PROCESS_STATUS } },
            );
            Self::advance(&mut after, lane);
            next.push(after);
            return;
        }
        let key = (rank, spec.comm);
        let empty = Queue::default();
        let queue = state.queues.get(&key).unwrap_or(&empty);
        for message in self.visible(queue, spec, Some(thread)) {
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
            self.observe(&mut after, lane, RawEvent::Found { step: id, status: self.status_of(message, true) });
            Self::advance(&mut after, lane);
            next.push(after);
        }
        if !call.waits() && self.may_miss(queue, spec) {
            let mut after = state.clone();
            self.observe(&mut after, lane, RawEvent::FoundNothing { step: id });
            Self::advance(&mut after, lane);
            next.push(after);
        }
    }

    pub(super) fn complete(&self, state: &State, lane: Lane, call: CompleteCall, of: &[StepId], next: &mut Vec<State>) {
        let active: Vec<StepId> = of.iter().copied().filter(|id| state.active.contains_key(id)).collect();
        let ready: Vec<StepId> = active.iter().copied().filter(|&id| self.completion(state, id).is_some()).collect();
        let mut outcome = |reported: &[StepId]| {
            let mut after = state.clone();
            for &id in reported {
                self.report_completion(&mut after, lane, id);
            }
            Self::advance(&mut after, lane);
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
        let lane = (rank, 0);
        let own = |id: &StepId| self.step(*id).rank == rank;
        // Messages of matched probes come first, except those with an active request.
        let promised = |probe: &StepId| {
            state.active.keys().any(|id| matches!(self.step(*id).action, Action::ReceiveProbed(of, _) if of == *probe))
        };
        if let Some(&probe) = state.held.keys().find(|probe| own(probe) && !promised(probe)) {
            let mut after = state.clone();
            self.receive_held(&mut after, lane, probe, probe);
            next.push(after);
            return;
        }
        let must_complete = |id: &StepId| self.step(*id).action.must_complete();
        let active: Vec<StepId> = state.active.keys().copied().filter(own).collect();
        let is_complete = state.received[usize::from(rank)] >= self.program.messages_to(rank);
        if is_complete && !active.iter().any(must_complete) {
            let mut after = state.clone();
            for id in active {
                self.cancel(&mut after, lane, id);
            }
            after.ended[usize::from(rank)] = true;
            next.push(after);
            return;
        }
        for id in active {
            let mut after = state.clone();
            if self.report_completion(&mut after, lane, id) {
                next.push(after);
            }
        }
        for comm in Comm::ALL {
            let key = (rank, comm);
            let Some(queue) = state.queues.get(&key) else { continue };
            for message in self.visible(queue, &ReceiveSpec::any(comm), None) {
                let mut after = state.clone();
                remove_and_receive(&mut after, key, message);
                self.observe(&mut after, lane, RawEvent::Drained { comm, status: self.status_of(message, false) });
                next.push(after);
            }
        }
    }
}
