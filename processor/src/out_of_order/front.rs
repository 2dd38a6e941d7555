// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetch and dispatch.

use super::statistics::Cause;
use super::{Full, ONE, OutOfOrder, Passage, Stop};
use crate::hierarchy::{Access, Hierarchy, Reply};
use crate::predictor::{Prediction, Verdict};
use crate::{Class, Control, Fault, Hart, Host, Memory, Retired, Shape, Step};

impl OutOfOrder {
    /// Whether an instruction cannot be dispatched now because it, or the one before it, is alone in the window.
    #[inline]
    pub(super) fn must_wait(&self, retired: &Retired) -> bool {
        self.alone || (retired.shape.class == Class::Fence && !self.window.is_empty())
    }

    pub(super) fn dispatch<H: Hart, S: Host>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
    ) -> Result<Option<Stop>, Fault> {
        self.full = Full::Nothing;
        let ready = self.window.ready.len();
        for _ in 0..self.config.decode_width {
            let Some(upcoming) = self.window.upcoming() else {
                if let Some(stop) = self.call(hart, memory, host)? {
                    return Ok(Some(stop));
                }
                break;
            };
            let Passage { retired, fetched, verdict, .. } = &upcoming.passage;
            if *fetched + self.config.front_end > self.now || self.must_wait(retired) {
                break;
            }
            let (verdict, alone) = (*verdict, retired.shape.class == Class::Fence);
            if self.window.len() >= self.config.window {
                self.full = Full::Window;
                break;
            }
            if self.window.queue.len() >= self.config.memory_queue {
                self.full = Full::MemoryQueue;
                break;
            }
            self.window.push(self.now);
            self.alone = alone;
            match verdict {
                Verdict::Right if self.front.lost || self.front.resume > self.now => {}
                Verdict::Right => self.front.cause = Cause::Fill,
                Verdict::Misfetched => {
                    self.front.cause = Cause::Misfetched;
                    self.front.lost = false;
                    self.front.resume = self.now + self.config.misfetched;
                }
                Verdict::Mispredicted => self.front.cause = Cause::Mispredicted,
            }
        }
        if self.window.ready.len() > ready {
            self.issue = self.now + ONE;
        }
        Ok(None)
    }

    /// Executes the system call that waits, if it is alone.
    pub(super) fn call<H: Hart, S: Host>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
    ) -> Result<Option<Stop>, Fault> {
        let Some(at) = self.front.call else { return Ok(None) };
        if at + self.config.front_end > self.now || !self.window.is_empty() {
            return Ok(None);
        }
        host.set_cycle(self.now.0);
        let stop = match hart.step(memory, host)? {
            Step::Waiting => return Ok(Some(Stop::Waiting)),
            Step::Retired(retired) => {
                let entry = self.window.held();
                entry.passage.retired = retired;
                entry.fetch(Prediction::RIGHT, at);
                self.window.fetch();
                self.window.push(self.now);
                None
            }
            Step::Exited(status) => {
                self.front.block = None;
                Some(Stop::Exited(status))
            }
        };
        self.front.call = None;
        self.front.cause = Cause::Fill;
        Ok(stop)
    }

    /// Whether fetch knows where to go on, and may in this cycle.
    #[inline]
    pub(super) fn can_fetch(&self) -> bool {
        !self.front.lost
            && self.front.call.is_none()
            && self.front.resume <= self.now
            && self.window.queued() < self.config.fetch_queue
    }

    /// Fetches, if it [can](Self::can_fetch).
    pub(super) fn fetch<H: Hart, S: Host>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
        hierarchy: &mut Hierarchy,
    ) -> Result<(), Fault> {
        for _ in 0..self.config.fetch_width {
            if self.window.queued() >= self.config.fetch_queue {
                break;
            }
            let (pc, bytes, control, taken);
            if self.front.held {
                Retired { pc, taken, shape: Shape { bytes, control, .. }, .. } = self.window.held().passage.retired;
            } else {
                if hart.is_system() {
                    let bytes = hart.shape(hart.pc()).map_or(1, |shape| shape.bytes.into());
                    if self.reach(hart.pc(), bytes, hierarchy) {
                        self.front.call = Some(self.now);
                    }
                    break;
                }
                // Taken apart where it was put: the host's processor waits for what it has just written in other pieces.
                match &hart.step(memory, host) {
                    Ok(Step::Retired(retired)) => {
                        Retired { pc, taken, shape: Shape { bytes, control, .. }, .. } = *retired;
                        self.window.held().passage.retired = *retired;
                    }
                    // No instruction set of ours comes here: what can wait or end is a system call.
                    Ok(Step::Waiting | Step::Exited(_)) => {
                        self.front.call = Some(self.now);
                        break;
                    }
                    Err(fault) => return Err(*fault),
                }
            }
            self.front.held = !self.reach(pc, u64::from(bytes.max(1)), hierarchy);
            if self.front.held {
                break;
            }
            let entry = self.window.held();
            let changes = control != Control::None;
            let prediction = if changes { self.predictor.predict(&entry.passage.retired) } else { Prediction::RIGHT };
            entry.fetch(prediction, self.now);
            self.window.fetch();
            if prediction.verdict != Verdict::Right {
                self.front.lost = true;
            }
            if changes && (taken || self.front.lost) {
                break;
            }
        }
        Ok(())
    }

    /// Whether the instruction cache has given `bytes` at `pc`; if not, fetch is told when to go on.
    #[inline]
    pub(super) fn reach(&mut self, pc: u64, bytes: u64, hierarchy: &mut Hierarchy) -> bool {
        let shift = self.config.fetch_block.trailing_zeros();
        let (first, last) = (pc >> shift, pc.wrapping_add(bytes - 1) >> shift);
        (first == last && self.front.block == Some(last)) || self.read(first, last, hierarchy)
    }

    /// The same for blocks that are not both the one that is being read.
    fn read(&mut self, first: u64, last: u64, hierarchy: &mut Hierarchy) -> bool {
        let size = self.config.fetch_block;
        let shift = size.trailing_zeros();
        for block in [first, last] {
            if self.front.block == Some(block) {
                continue;
            }
            match hierarchy.access(self.core, Access::Fetch, block << shift, size, self.now) {
                Reply::Ready(at) => {
                    self.front.block = Some(block);
                    if at > self.now + self.config.front_end {
                        self.front.resume = at;
                        self.front.cause = Cause::InstructionMiss;
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
