// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The request table of one rank (T-8): what each request number stands for.

use std::collections::VecDeque;

/// The state of a request number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Unused,
    /// Started by the record at this index.
    Active(usize),
    /// A successful matched probe, at this index, whose message is not yet received.
    Probed(usize),
    Completed,
}

/// Requests by number. A deque over the numbers that may still be active; completed ones at its
/// front are dropped.
#[derive(Default)]
pub(super) struct Requests {
    /// Numbers below this one are completed; number `first + i` is at `slots[i]`.
    first: u32,
    /// 0: unused. All ones: completed. Bit 0 set: active, index above it. Else: probed, index + 1
    /// above it.
    slots: VecDeque<u64>,
}

impl Requests {
    const COMPLETED: u64 = u64::MAX;

    /// Forgets all requests. Number 0 means "none" in records, so it counts as completed.
    pub(super) fn clear(&mut self) {
        self.first = 1;
        self.slots.clear();
    }

    #[inline]
    pub(super) fn stage(&self, number: u32) -> Stage {
        let Some(at) = number.checked_sub(self.first) else { return Stage::Completed };
        match self.slots.get(at as usize) {
            None | Some(0) => Stage::Unused,
            Some(&Self::COMPLETED) => Stage::Completed,
            Some(slot) if slot & 1 == 1 => Stage::Active((slot >> 1) as usize),
            Some(slot) => Stage::Probed((slot >> 1) as usize - 1),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, number: u32, stage: Stage) {
        let at = (number - self.first) as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, 0);
        }
        self.slots[at] = match stage {
            Stage::Unused => 0,
            Stage::Active(index) => (index as u64) << 1 | 1,
            Stage::Probed(index) => (index as u64 + 1) << 1,
            Stage::Completed => Self::COMPLETED,
        };
        while self.slots.front() == Some(&Self::COMPLETED) {
            self.slots.pop_front();
            self.first += 1;
        }
    }
}
