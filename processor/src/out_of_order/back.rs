// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commit, write back and issue.

use mb_core::Cycles;

use super::window::{ACCESS, Kind, Tag};
use super::{ONE, Observer, OutOfOrder};
use crate::hierarchy::{Access, Hierarchy, Reply};
use crate::predictor::Verdict;
use crate::{Class, Control};

impl OutOfOrder {
    /// Takes complete instructions out of the window; to be called only if the oldest is.
    pub(super) fn commit<O: Observer>(&mut self, hierarchy: &mut Hierarchy, observer: &mut O) -> bool {
        self.retry = Cycles::ZERO;
        let mut committed = 0;
        while committed < self.config.commit_width
            && let Some(oldest) = self.window.oldest()
            && oldest.is_complete()
        {
            let retired = &oldest.passage.retired;
            if oldest.kind == Kind::Store {
                let bytes = u64::from(retired.shape.access);
                if let Reply::Retry(at) = hierarchy.access(self.core, Access::Store, retired.address, bytes, self.now) {
                    self.retry = at;
                    break;
                }
            }
            let statistics = &mut self.statistics;
            statistics.instructions += 1;
            match oldest.kind {
                Kind::Plain => {}
                Kind::Load | Kind::Atomic => statistics.loads += 1,
                Kind::Store => statistics.stores += 1,
            }
            if retired.shape.control != Control::None {
                statistics.branches += 1;
                statistics.misfetched += u64::from(oldest.prediction.verdict == Verdict::Misfetched);
                statistics.mispredicted += u64::from(oldest.prediction.verdict == Verdict::Mispredicted);
                self.predictor.learn(retired, oldest.prediction);
            }
            let passage = &mut self.window.oldest_mut().passage;
            passage.committed = self.now;
            observer.committed(passage);
            self.window.pop();
            self.alone = false;
            committed += 1;
        }
        committed > 0
    }

    pub(super) fn write_back(&mut self) {
        self.agenda.turn(self.now.0);
        while let Some(tag) = self.agenda.take(self.now.0) {
            let entry = self.window.entry(tag);
            entry.passage.written = self.now;
            if entry.prediction.verdict == Verdict::Mispredicted {
                self.front.lost = false;
                self.front.resume = self.now + self.config.mispredicted;
            }
            self.window.end(tag);
        }
    }

    /// Issues what is ready; to be called only if there is any.
    pub(super) fn issue(&mut self, hierarchy: &mut Hierarchy) {
        self.issue = Cycles::MAX;
        let mut left = self.config.issue_width;
        let mut kept = 0;
        let count = self.window.ready.len();
        for index in 0..count {
            let key = self.window.ready[index];
            if left == 0 {
                self.issue = self.now + ONE;
                self.window.ready.copy_within(index..count, kept);
                kept += count - index;
                break;
            }
            let tag = self.window.tag_of(key);
            match self.start(tag, hierarchy) {
                Ok(()) => {
                    left -= 1;
                    if tag & ACCESS != 0 {
                        // It may have fetched the line that an older access was refused.
                        self.retry = Cycles::ZERO;
                        if kept > 0 {
                            self.issue = self.now + ONE;
                        }
                    }
                }
                Err(at) => {
                    self.issue = self.issue.min(at);
                    self.window.ready[kept] = key;
                    kept += 1;
                }
            }
        }
        self.window.ready.truncate(kept);
    }

    /// Issues an operation, or says when to try again.
    #[inline]
    fn start(&mut self, tag: Tag, hierarchy: &mut Hierarchy) -> Result<(), Cycles> {
        let now = self.now;
        let end = if tag & ACCESS == 0 { self.start_first(tag)? } else { self.start_access(tag, hierarchy)? };
        self.window.entry(tag).passage.accessed = now;
        if let Some(end) = end {
            self.agenda.add(now.0, end.0, tag);
        } else {
            self.window.entry(tag).passage.written = now;
            self.window.end_store(tag);
        }
        Ok(())
    }

    /// Gives the first operation a unit; returns when it ends.
    #[inline]
    fn start_first(&mut self, tag: Tag) -> Result<Option<Cycles>, Cycles> {
        let entry = self.window.entry(tag);
        let (pool, unit) = match entry.passage.retired.shape.class {
            Class::Integer => (0, &self.config.integer),
            Class::Multiply => (1, &self.config.multiply),
            Class::Divide => (if self.config.divide.count == 0 { 1 } else { 2 }, &self.config.divide),
            Class::Load | Class::Store | Class::Atomic => {
                (if self.config.address.count == 0 { 0 } else { 3 }, &self.config.address)
            }
            Class::Fence | Class::System => {
                entry.passage.issued = self.now;
                return Ok(Some(self.now + ONE));
            }
        };
        self.pools[pool].take(self.now, unit.interval)?;
        entry.passage.issued = self.now;
        Ok(Some(self.now + unit.latency))
    }

    /// Begins a memory access; returns when it ends, unless that is now.
    #[inline]
    fn start_access(&mut self, tag: Tag, hierarchy: &mut Hierarchy) -> Result<Option<Cycles>, Cycles> {
        let entry = self.window.entry(tag);
        let kind = entry.kind;
        let (address, bytes) = (entry.passage.retired.address, u64::from(entry.passage.retired.shape.access));
        let reply = match kind {
            // What a store writes is in the queue already; memory has it at commit.
            Kind::Store | Kind::Plain => return Ok(None),
            Kind::Atomic => hierarchy.access(self.core, Access::Atomic, address, bytes, self.now),
            Kind::Load if self.window.is_forwarded(tag) => {
                let reply = hierarchy.pass(self.core, Access::Load, self.now);
                self.statistics.forwarded += u64::from(matches!(reply, Reply::Ready(_)));
                reply
            }
            Kind::Load => hierarchy.access(self.core, Access::Load, address, bytes, self.now),
        };
        match reply {
            Reply::Ready(at) => Ok(Some(at.max(self.now + ONE))),
            Reply::Retry(at) => Err(at),
        }
    }
}
