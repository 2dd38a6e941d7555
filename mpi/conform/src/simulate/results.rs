// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report of completed operations.

use super::{PlantedFault, Simulator, State};
use crate::history::thread_key;
use crate::outcome::{INTACT, NO_PROCESS, NO_TAG, Observation, ObservedStatus, RawEvent};
use crate::program::{Action, CountType, Lane, Layout, MessageSource, StepId};

impl Simulator<'_> {
    /// The status of `message`.
    pub(super) fn status_of(&self, id: StepId, is_probe: bool) -> ObservedStatus {
        let (from, message) = self.message(id);
        let count = message.bytes(id) as i32;
        ObservedStatus {
            source: i32::from(message.comm.rank_of(from, self.program.ranks)),
            tag: i32::from(message.tag),
            count,
            message: (!is_probe && count > 0).then_some(id),
            flags: if is_probe { 0 } else { INTACT },
        }
    }

    /// The event that completes the receive of `posting`; `None` while it is incomplete.
    pub(super) fn reception(&self, state: &State, posting: StepId) -> Option<RawEvent> {
        if self.spec(posting).source == MessageSource::Null {
            return Some(RawEvent::Received { step: posting, status: NO_PROCESS_STATUS });
        }
        let message = *state.matched.get(&posting)?;
        if self.spec(posting).truncates(message, self.message(message).1) {
            let status = ObservedStatus { count: 0, message: None, flags: 0, ..self.status_of(message, false) };
            return Some(RawEvent::Truncated { step: posting, status });
        }
        let mut status = self.status_of(message, false);
        let spec = self.spec(posting);
        match self.library.fault {
            Some(PlantedFault::WrongLayout) if spec.layout != Layout::Bytes => status.flags &= !INTACT,
            Some(PlantedFault::ShortCount) if spec.counts != CountType::Int => status.count -= 1,
            _ => {}
        }
        Some(RawEvent::Received { step: posting, status })
    }

    /// The event that completes the request of step `id`; `None` while it is incomplete.
    pub(super) fn completion(&self, state: &State, id: StepId) -> Option<RawEvent> {
        let posting = *state.active.get(&id)?;
        match &self.step(id).action {
            Action::Send(..) => self.is_sent(state, id).then_some(RawEvent::Sent { step: id }),
            Action::SendReceive(..) => self.reception(state, posting).filter(|_| self.is_sent(state, id)),
            Action::ReceiveProbed(of, _) => Some(RawEvent::Received { step: id, status: self.held_status(state, *of) }),
            _ => self.reception(state, posting),
        }
    }

    pub(super) fn held_status(&self, state: &State, probe: StepId) -> ObservedStatus {
        state.held.get(&probe).copied().flatten().map_or(NO_PROCESS_STATUS, |message| self.status_of(message, false))
    }

    /// Adds an observation of a thread, behind its earlier ones: how those of several threads
    /// interleave says nothing.
    pub(super) fn observe(&self, state: &mut State, lane: Lane, event: RawEvent) {
        let at = self.place(state, lane);
        let key = |at: usize| thread_key(self.program, lane.0, at);
        let rank = usize::from(lane.0);
        state.received[rank] += usize::from(match event {
            RawEvent::Received { status, .. } | RawEvent::Drained { status, .. } => status.source != NO_PROCESS,
            RawEvent::Truncated { .. } => true,
            _ => false,
        });
        let of_rank = &mut state.observations[rank];
        let index = of_rank.iter().position(|other| key(other.at) > key(at)).unwrap_or(of_rank.len());
        of_rank.insert(index, Observation { at, event });
    }

    /// Reports the completion of the request of step `id`, if it is complete.
    pub(super) fn report_completion(&self, state: &mut State, lane: Lane, id: StepId) -> bool {
        let Some(event) = self.completion(state, id) else { return false };
        state.active.remove(&id);
        if let Action::ReceiveProbed(of, _) = self.step(id).action {
            state.held.remove(&of);
        }
        if matches!(self.step(id).action, Action::SendReceive(..)) {
            self.observe(state, lane, RawEvent::Sent { step: id });
        }
        self.observe(state, lane, event);
        true
    }
}

/// The status of an operation with `MPI_PROC_NULL`.
pub(super) const NO_PROCESS_STATUS: ObservedStatus =
    ObservedStatus { source: NO_PROCESS, tag: NO_TAG, count: 0, message: None, flags: INTACT };
