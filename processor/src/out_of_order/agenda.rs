// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What ends when: a wheel of lists, one for each of the next 64 cycles, and a list of what is later.

use super::window::{NONE, Tag};

const SPAN: u64 = 64;

/// Ends of operations, each at most once under way. Cost: constant for ends within 64 cycles.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    /// The first tag of each cycle modulo 64.
    first: [Tag; SPAN as usize],
    /// Which of them is one.
    used: u64,
    /// After each tag, the next in its cycle.
    next: Vec<Tag>,
    late: Vec<(u64, Tag)>,
}

impl Agenda {
    pub(super) fn new(tags: usize) -> Self {
        Self { first: [NONE; SPAN as usize], used: 0, next: vec![NONE; tags], late: Vec::with_capacity(tags) }
    }

    /// `tag` ends at `at`, after `now`.
    #[inline]
    pub(super) fn add(&mut self, now: u64, at: u64, tag: Tag) {
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

    /// Whether something may end at `now`.
    #[inline]
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.used >> (now % SPAN) & 1 != 0 || !self.late.is_empty()
    }

    /// One of what ends at `now`, where no earlier end may be left.
    #[inline]
    pub(super) fn take(&mut self, now: u64) -> Option<Tag> {
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

    /// Lets what is late come onto the wheel; to be called in each cycle before `take`.
    #[inline]
    pub(super) fn turn(&mut self, now: u64) {
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

    /// The first end after `now`.
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
        fn every_end_comes_at_its_cycle_and_none_is_skipped(spans in prop::collection::vec(1_u64..200, 1..40)) {
            let mut agenda = Agenda::new(spans.len());
            for (tag, &span) in spans.iter().enumerate() {
                agenda.add(0, span, tag as Tag);
            }
            let mut now = 0;
            let mut ended = Vec::new();
            while let Some(next) = agenda.next(now) {
                now = next;
                prop_assert!(agenda.is_due(now));
                agenda.turn(now);
                let before = ended.len();
                while let Some(tag) = agenda.take(now) {
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
