// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What completed operations report.

use super::{Simulator, State};
use crate::outcome::{INTACT, NO_PROCESS, NO_TAG, Observation, ObservedStatus, RawEvent};
use crate::program::{Action, Source, StepId};

impl Simulator<'_> {
    /// The status of `message`.
    pub(super) fn status_of(&self, id: StepId, is_probe: bool) -> ObservedStatus {
        let (from, message) = self.message(id);
        let count = message.size.bytes(id) as i32;
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
        if self.spec(posting).source == Source::Null {
            return Some(RawEvent::Received { step: posting, status: NO_PROCESS_STATUS });
        }
        let message = *state.matched.get(&posting)?;
        if self.spec(posting).truncates(message, self.message(message).1) {
            let status = ObservedStatus { count: 0, message: None, flags: 0, ..self.status_of(message, false) };
            return Some(RawEvent::Truncated { step: posting, status });
        }
        Some(RawEvent::Received { step: posting, status: self.status_of(message, false) })
    }

    /// The event that completes the request of step `id`; `None` while it is incomplete.
    pub(super) fn completion(&self, state: &State, id: StepId) -> Option<RawEvent> {
        let posting = *state.active.get(&id)?;
        match &self.step(id).action {
            Action::Send(..) => self.is_sent(state, id).then_some(RawEvent::Sent { step: id }),
            Action::ReceiveProbed(of, _) => Some(RawEvent::Received { step: id, status: self.held_status(state, *of) }),
            _ => self.reception(state, posting),
        }
    }

    pub(super) fn held_status(&self, state: &State, probe: StepId) -> ObservedStatus {
        state.held.get(&probe).copied().flatten().map_or(NO_PROCESS_STATUS, |message| self.status_of(message, false))
    }

    pub(super) fn observe(state: &mut State, rank: u8, event: RawEvent) {
        let rank = usize::from(rank);
        state.received[rank] += usize::from(match event {
            RawEvent::Received { status, .. } | RawEvent::Drained { status, .. } => status.source != NO_PROCESS,
            RawEvent::Truncated { .. } => true,
            _ => false,
        });
        state.observations[rank].push(Observation { at: state.next[rank], event });
    }

    /// Reports the completion of the request of step `id`, if it is complete.
    pub(super) fn report_completion(&self, state: &mut State, rank: u8, id: StepId) -> bool {
        let Some(event) = self.completion(state, id) else { return false };
        state.active.remove(&id);
        if let Action::ReceiveProbed(of, _) = self.step(id).action {
            state.held.remove(&of);
        }
        Self::observe(state, rank, event);
        true
    }
}

/// The status of an operation with `MPI_PROC_NULL`.
pub(super) const NO_PROCESS_STATUS: ObservedStatus =
    ObservedStatus { source: NO_PROCESS, tag: NO_TAG, count: 0, message: None, flags: INTACT };
