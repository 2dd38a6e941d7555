// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of lengths, searches and entries compared.

use super::side::Side;
use super::{Inner, Matcher, Other};
use crate::heap::Owned;
use crate::types::{Counters, Envelope, OutOfMemory, Pattern, QueueCounters};

impl Matcher {
    /// Starts counting, from zero. Until then, and after [`Matcher::stop_counters`], counting takes no instruction.
    /// While it is on, each operation searches twice.
    ///
    /// # Errors
    /// Out of memory for the counters.
    pub fn start_counters(&mut self) -> Result<(), OutOfMemory> {
        self.stop_counters();
        let length = |longest: usize| QueueCounters { longest: longest as u64, ..QueueCounters::default() };
        let (posted, unexpected) = self.lengths();
        let counters = Counters { posted: length(posted), unexpected: length(unexpected) };
        self.counters = Some(self.heap.beyond_the_limit(|| Owned::new(self.heap, counters))?);
        self.update_path();
        Ok(())
    }

    /// Stops counting.
    pub fn stop_counters(&mut self) {
        self.counters = None;
        self.update_path();
    }

    /// The counters, unless counting is off.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        let mut counters = **self.counters.as_ref()?;
        let (posted, unexpected) = self.lengths();
        (counters.posted.length, counters.unexpected.length) = (posted as u64, unexpected as u64);
        Some(counters)
    }

    /// Counts the search of the posted receives that an envelope is about to make.
    pub(super) fn count_search_for(&mut self, envelope: Envelope) {
        if let Some(counters) = &mut self.counters {
            let compared = each!(&self.inner, structure => structure.compared_with_receives(envelope), else 0);
            counters.posted.count_search(compared);
        }
    }

    /// Counts the search of the unexpected messages that a pattern is about to make.
    pub(super) fn count_search_by(&mut self, pattern: Pattern) {
        if let Some(counters) = &mut self.counters {
            let compared = each!(&self.inner, structure => structure.compared_with_messages(pattern), else 0);
            counters.unexpected.count_search(compared);
        }
    }

    /// Counts an entry that was appended.
    pub(super) fn count_appended(&mut self, side: Side) {
        let (posted, unexpected) = self.lengths();
        if let Some(counters) = &mut self.counters {
            match side {
                Side::Posted => counters.posted.count_appended(posted),
                Side::Unexpected => counters.unexpected.count_appended(unexpected),
            }
        }
    }
}

impl QueueCounters {
    fn count_search(&mut self, compared: usize) {
        let compared = compared as u64;
        self.searches += 1;
        self.compared += compared;
        self.longest_search = self.longest_search.max(compared);
    }

    fn count_appended(&mut self, length: usize) {
        self.appended += 1;
        self.longest = self.longest.max(length as u64);
    }
}
