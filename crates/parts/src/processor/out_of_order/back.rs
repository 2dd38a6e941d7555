// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commit, write back and issue.

use mb_core::Cycles;

use super::window::{ACCESS, Kind, Tag};
use super::{ONE, Observer, OutOfOrder, Passage};
use crate::processor::hierarchy::{Access, Hierarchy, Reply};
use crate::processor::predictor::Verdict;
use crate::processor::{Class, Control};

impl OutOfOrder {
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
            observer.committed(&Passage { committed: self.now, ..oldest.passage });
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
            match self.start(self.window.tag_of(key), hierarchy) {
                Ok(()) => left -= 1,
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
    pub(super) fn start(&mut self, tag: Tag, hierarchy: &mut Hierarchy) -> Result<(), Cycles> {
        let now = self.now;
        let Passage { retired, .. } = self.window.entry(tag).passage;
        let kind = self.window.entry(tag).kind;
        let class = retired.shape.class;
        let end = if tag & ACCESS != 0 {
            let bytes = u64::from(retired.shape.access);
            let reply = match kind {
                Kind::Store | Kind::Plain => {
                    // What a store writes is in the queue already; memory has it at commit.
                    let entry = self.window.entry(tag);
                    entry.passage.accessed = now;
                    entry.passage.written = now;
                    self.window.end(tag);
                    return Ok(());
                }
                Kind::Atomic => hierarchy.access(self.core, Access::Atomic, retired.address, bytes, now),
                Kind::Load if self.window.is_forwarded(tag) => {
                    let reply = hierarchy.pass(self.core, Access::Load, now);
                    self.statistics.forwarded += u64::from(matches!(reply, Reply::Ready(_)));
                    reply
                }
                Kind::Load => hierarchy.access(self.core, Access::Load, retired.address, bytes, now),
            };
            match reply {
                Reply::Ready(at) => at.max(now + ONE),
                Reply::Retry(at) => return Err(at),
            }
        } else {
            let (pool, unit) = match class {
                Class::Integer => (0, &self.config.integer),
                Class::Multiply => (1, &self.config.multiply),
                Class::Divide => (2, &self.config.divide),
                Class::Load | Class::Store | Class::Atomic => (3, &self.config.address),
                Class::Fence | Class::System => {
                    self.window.entry(tag).passage.issued = now;
                    self.window.entry(tag).passage.accessed = now;
                    self.agenda.add(now.0, now.0 + 1, tag);
                    return Ok(());
                }
            };
            let pool = match (pool, unit.count) {
                (2, 0) => 1,
                (3, 0) => 0,
                (pool, _) => pool,
            };
            self.pools[pool].take(now, unit.interval)?;
            self.window.entry(tag).passage.issued = now;
            now + unit.latency
        };
        self.window.entry(tag).passage.accessed = now;
        self.agenda.add(now.0, end.0, tag);
        Ok(())
    }
}
