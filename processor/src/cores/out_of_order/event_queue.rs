// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The event queue of a core: a timing wheel with a list for each of the next 64 cycles, and a list
//! of later events.

use super::rob::{NONE, Tag};

const SPAN: u64 = 64;

/// Completion events of operations; an operation has at most one. Cost: constant for events within
/// 64 cycles.
#[derive(Clone, Debug)]
pub(super) struct EventQueue {
    /// The first tag of each cycle modulo 64.
    first: [Tag; SPAN as usize],
    /// Bit mask of the cycles that have events.
    used: u64,
    /// The next tag in the list of each tag.
    next: Vec<Tag>,
    /// Events that are beyond the wheel, with their cycles.
    late: Vec<(u64, Tag)>,
}

impl EventQueue {
    pub(super) fn new(tags: usize) -> Self {
        Self { first: [NONE; SPAN as usize], used: 0, next: vec![NONE; tags], late: Vec::with_capacity(tags) }
    }

    /// Schedules the end of `tag` in cycle `at`, which is after `now`.
    #[inline]
    pub(super) fn schedule(&mut self, now: u64, at: u64, tag: Tag) {
        debug_assert!(at > now);
        if at - now >= SPAN {
            self.late.push((at, tag));
            return;
        }
        let cycle = (at % SPAN) as usize;
        self.next[usize::from(tag)] = self.first[cycle];
        self.first[cycle] = tag;
        self.used |= 1 << cycle;
    }

    /// Whether there may be events in cycle `now`.
    #[inline]
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.used >> (now % SPAN) & 1 != 0 || !self.late.is_empty()
    }

    /// Removes one event of cycle `now`. All earlier events must have been removed.
    #[inline]
    pub(super) fn pop(&mut self, now: u64) -> Option<Tag> {
        let cycle = (now % SPAN) as usize;
        let tag = self.first[cycle];
        if tag == NONE {
            return None;
        }
        self.first[cycle] = self.next[usize::from(tag)];
        if self.first[cycle] == NONE {
            self.used &= !(1 << cycle);
        }
        Some(tag)
    }

    /// Moves late events onto the wheel; must be called in each cycle before `pop`.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        if self.late.is_empty() {
            return;
        }
        let mut index = 0;
        while let Some(&(at, tag)) = self.late.get(index) {
            if at - now < SPAN {
                self.late.swap_remove(index);
                let cycle = (at % SPAN) as usize;
                self.next[usize::from(tag)] = self.first[cycle];
                self.first[cycle] = tag;
                self.used |= 1 << cycle;
            } else {
                index += 1;
            }
        }
    }

    /// The cycle of the first event after `now`.
    #[inline]
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        if self.used == 0 {
            return self.late.iter().map(|&(at, _)| at).min();
        }
        let ahead = self.used.rotate_right(((now + 1) % SPAN) as u32);
        Some(now + 1 + u64::from(ahead.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_event_is_returned_in_its_cycle_and_none_is_skipped(spans in prop::collection::vec(1_u64..200, 1..40)) {
            let mut event_queue = EventQueue::new(spans.len());
            for (tag, &span) in spans.iter().enumerate() {
                event_queue.schedule(0, span, tag as Tag);
            }
            let mut now = 0;
            let mut ended = Vec::new();
            while let Some(next) = event_queue.next(now) {
                now = next;
                prop_assert!(event_queue.is_due(now));
                event_queue.advance(now);
                let before = ended.len();
                while let Some(tag) = event_queue.pop(now) {
                    ended.push((now, tag));
                }
                prop_assert!(ended.len() > before);
            }
            let mut expected: Vec<(u64, Tag)> =
                spans.iter().enumerate().map(|(tag, &span)| (span, tag as Tag)).collect();
            expected.sort_unstable();
            ended.sort_unstable();
            prop_assert_eq!(ended, expected);
        }
    }
}
