// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetch and dispatch.

use super::statistics::StallCause;
use super::timing::InstructionTiming;
use super::{DispatchStall, ONE, OutOfOrder, OutOfOrderStop};
use crate::hierarchy::{AccessKind, Hierarchy, Reply};
use crate::predictor::{Prediction, PredictionOutcome};
use crate::{BranchKind, Fault, Hart, InstructionClass, Memory, Retired, StaticInstruction, Step, SyscallHandler};

impl OutOfOrder {
    /// Whether an instruction cannot be dispatched because of a fence: itself, or one in the ROB.
    #[inline]
    pub(super) fn must_wait(&self, retired: &Retired) -> bool {
        self.alone || (retired.instruction.class == InstructionClass::Fence && !self.rob.is_empty())
    }

    /// Dispatches instructions from the fetch queue, or executes a waiting system call.
    pub(super) fn dispatch<H: Hart, S: SyscallHandler>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
    ) -> Result<Option<OutOfOrderStop>, Fault> {
        self.full = DispatchStall::Nothing;
        let ready = self.rob.ready.len();
        for _ in 0..self.config.decode_width {
            let Some(upcoming) = self.rob.upcoming() else {
                if let Some(stop) = self.call(hart, memory, host)? {
                    return Ok(Some(stop));
                }
                break;
            };
            let InstructionTiming { retired, fetched, outcome, .. } = &upcoming.timing;
            if *fetched + self.config.front_end > self.now || self.must_wait(retired) {
                break;
            }
            let (outcome, alone) = (*outcome, retired.instruction.class == InstructionClass::Fence);
            if self.rob.len() >= self.config.rob {
                self.full = DispatchStall::Rob;
                break;
            }
            if self.rob.lsq.slots.len() >= self.config.lsq {
                self.full = DispatchStall::Lsq;
                break;
            }
            self.rob.push(self.now);
            self.alone = alone;
            match outcome {
                PredictionOutcome::Correct if self.front.awaiting_redirect || self.front.resume > self.now => {}
                PredictionOutcome::Correct => self.front.cause = StallCause::Fill,
                PredictionOutcome::Misfetched => {
                    self.front.cause = StallCause::Misfetched;
                    self.front.awaiting_redirect = false;
                    self.front.resume = self.now + self.config.misfetched;
                }
                PredictionOutcome::Mispredicted => self.front.cause = StallCause::Mispredicted,
            }
        }
        if self.rob.ready.len() > ready {
            self.issue = self.now + ONE;
        }
        Ok(None)
    }

    /// Executes the waiting system call once the ROB is empty.
    pub(super) fn call<H: Hart, S: SyscallHandler>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
    ) -> Result<Option<OutOfOrderStop>, Fault> {
        let Some(at) = self.front.call else { return Ok(None) };
        if at + self.config.front_end > self.now || !self.rob.is_empty() {
            return Ok(None);
        }
        host.set_cycle(self.now.0);
        let stop = match hart.step(memory, host)? {
            Step::Waiting => return Ok(Some(OutOfOrderStop::Waiting)),
            Step::Retired(retired) => {
                let entry = self.rob.held();
                entry.timing.retired = retired;
                entry.fetch(Prediction::CORRECT, at);
                self.rob.fetch();
                self.rob.push(self.now);
                None
            }
            Step::Exited(status) => {
                self.front.block = None;
                Some(OutOfOrderStop::Exited(status))
            }
        };
        self.front.call = None;
        self.front.cause = StallCause::Fill;
        Ok(stop)
    }

    /// Whether fetch can continue in this cycle.
    #[inline]
    pub(super) fn can_fetch(&self) -> bool {
        !self.front.awaiting_redirect
            && self.front.call.is_none()
            && self.front.resume <= self.now
            && self.rob.queued() < self.config.fetch_queue
    }

    /// Fetches instructions; must be called only if [`can_fetch`](Self::can_fetch) holds.
    pub(super) fn fetch<H: Hart, S: SyscallHandler>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
        hierarchy: &mut Hierarchy,
    ) -> Result<(), Fault> {
        for _ in 0..self.config.fetch_width {
            if self.rob.queued() >= self.config.fetch_queue {
                break;
            }
            let (pc, bytes, branch, taken);
            if self.front.held {
                Retired { pc, taken, instruction: StaticInstruction { bytes, branch, .. }, .. } =
                    self.rob.held().timing.retired;
            } else {
                if hart.is_system() {
                    let bytes = hart.instruction_at(hart.pc()).map_or(1, |instruction| instruction.bytes.into());
                    if self.has_bytes(hart.pc(), bytes, hierarchy) {
                        self.front.call = Some(self.now);
                    }
                    break;
                }
                // Matched by reference: a copy would read the result in other widths than it was
                // just written in, and stall the store forwarding of the host's processor.
                match &hart.step(memory, host) {
                    Ok(Step::Retired(retired)) => {
                        Retired { pc, taken, instruction: StaticInstruction { bytes, branch, .. }, .. } = *retired;
                        self.rob.held().timing.retired = *retired;
                    }
                    // Not reached by our instruction sets: only system calls wait or end a program.
                    Ok(Step::Waiting | Step::Exited(_)) => {
                        self.front.call = Some(self.now);
                        break;
                    }
                    Err(fault) => return Err(*fault),
                }
            }
            self.front.held = !self.has_bytes(pc, u64::from(bytes.max(1)), hierarchy);
            if self.front.held {
                break;
            }
            let entry = self.rob.held();
            let changes = branch != BranchKind::None;
            let prediction = if changes { self.predictor.predict(&entry.timing.retired) } else { Prediction::CORRECT };
            entry.fetch(prediction, self.now);
            self.rob.fetch();
            if prediction.outcome != PredictionOutcome::Correct {
                self.front.awaiting_redirect = true;
            }
            if changes && (taken || self.front.awaiting_redirect) {
                break;
            }
        }
        Ok(())
    }

    /// Whether the fetch buffer holds `bytes` at `pc`. If not, reads them and sets the cycle in
    /// which fetch resumes.
    #[inline]
    pub(super) fn has_bytes(&mut self, pc: u64, bytes: u64, hierarchy: &mut Hierarchy) -> bool {
        let shift = self.config.fetch_block.trailing_zeros();
        let (first, last) = (pc >> shift, pc.wrapping_add(bytes - 1) >> shift);
        (first == last && self.front.block == Some(last)) || self.read_blocks(first, last, hierarchy)
    }

    /// Reads the blocks of an instruction that is not entirely in the buffer.
    fn read_blocks(&mut self, first: u64, last: u64, hierarchy: &mut Hierarchy) -> bool {
        let size = self.config.fetch_block;
        let shift = size.trailing_zeros();
        for block in [first, last] {
            if self.front.block == Some(block) {
                continue;
            }
            match hierarchy.access(self.core, AccessKind::Fetch, block << shift, size, self.now) {
                Reply::Ready(at) => {
                    self.front.block = Some(block);
                    if at > self.now + self.config.front_end {
                        self.front.resume = at;
                        self.front.cause = StallCause::InstructionMiss;
                        return false;
                    }
                }
                Reply::Retry(at) => {
                    self.front.resume = at;
                    return false;
                }
            }
        }
        true
    }
}
