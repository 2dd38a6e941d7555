// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fetch and dispatch.

use super::statistics::Cause;
use super::{Fetched, Full, ONE, OutOfOrder, Stop};
use crate::processor::hierarchy::{Access, Hierarchy, Reply};
use crate::processor::predictor::{Prediction, Verdict};
use crate::processor::{Class, Control, Fault, Hart, Host, Memory, Retired, Step};

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
            let Some(fetched) = self.front.queue.front() else {
                if let Some(stop) = self.call(hart, memory, host)? {
                    return Ok(Some(stop));
                }
                break;
            };
            if fetched.at + self.config.front_end > self.now || self.must_wait(&fetched.retired) {
                break;
            }
            if self.window.len() >= self.config.window {
                self.full = Full::Window;
                break;
            }
            if self.window.queue.len() >= self.config.memory_queue {
                self.full = Full::MemoryQueue;
                break;
            }
            self.window.push(&fetched.retired, fetched.prediction, fetched.at, self.now);
            self.alone = fetched.retired.shape.class == Class::Fence;
            let verdict = fetched.prediction.verdict;
            self.front.queue.pop_front();
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
                self.window.push(&retired, Prediction::RIGHT, at, self.now);
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

    pub(super) fn fetch<H: Hart, S: Host>(
        &mut self,
        hart: &mut H,
        memory: &mut Memory,
        host: &mut S,
        hierarchy: &mut Hierarchy,
    ) -> Result<(), Fault> {
        if self.front.lost || self.front.call.is_some() || self.front.resume > self.now {
            return Ok(());
        }
        for _ in 0..self.config.fetch_width {
            if self.front.queue.len() >= self.config.fetch_queue {
                break;
            }
            let retired = match self.front.held.take() {
                Some(retired) => retired,
                None if hart.is_system() => {
                    let bytes = hart.shape(hart.pc()).map_or(1, |shape| shape.bytes.into());
                    if self.reach(hart.pc(), bytes, hierarchy) {
                        self.front.call = Some(self.now);
                    }
                    break;
                }
                None => match hart.step(memory, host)? {
                    Step::Retired(retired) => retired,
                    // No instruction set of ours comes here: what can wait or end is a system call.
                    Step::Waiting | Step::Exited(_) => {
                        self.front.call = Some(self.now);
                        break;
                    }
                },
            };
            if !self.reach(retired.pc, u64::from(retired.shape.bytes.max(1)), hierarchy) {
                self.front.held = Some(retired);
                break;
            }
            let changes = retired.shape.control != Control::None;
            let prediction = if changes { self.predictor.predict(&retired) } else { Prediction::RIGHT };
            self.front.queue.push_back(Fetched { retired, prediction, at: self.now });
            if prediction.verdict != Verdict::Right {
                self.front.lost = true;
            }
            if changes && (retired.taken || self.front.lost) {
                break;
            }
        }
        Ok(())
    }

    /// Whether the instruction cache has given `bytes` at `pc`; if not, fetch is told when to go on.
    #[inline]
    pub(super) fn reach(&mut self, pc: u64, bytes: u64, hierarchy: &mut Hierarchy) -> bool {
        let size = self.config.fetch_block;
        let shift = size.trailing_zeros();
        let (first, last) = (pc >> shift, pc.wrapping_add(bytes - 1) >> shift);
        if self.front.block == Some(last) && first == last {
            return true;
        }
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
