// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Issue, write-back and commit.

use mb_core::Cycles;

use super::rob::{ACCESS, MemoryKind, Tag};
use super::timing::CommitObserver;
use super::{ONE, OutOfOrder};
use crate::hierarchy::{AccessKind, Hierarchy, Reply};
use crate::predictor::PredictionOutcome;
use crate::{BranchKind, InstructionClass};

impl OutOfOrder {
    /// Commits complete instructions, and returns whether any did. Must be called only if the
    /// oldest is complete.
    pub(super) fn commit<O: CommitObserver>(&mut self, hierarchy: &mut Hierarchy, observer: &mut O) -> bool {
        self.retry = Cycles::ZERO;
        let mut committed = 0;
        while committed < self.config.commit_width
            && let Some(oldest) = self.rob.oldest()
            && oldest.is_complete()
        {
            let retired = &oldest.timing.retired;
            if oldest.kind == MemoryKind::Store {
                let bytes = u64::from(retired.instruction.access);
                if let Reply::Retry(at) =
                    hierarchy.access(self.core, AccessKind::Store, retired.address, bytes, self.now)
                {
                    self.retry = at;
                    break;
                }
            }
            let statistics = &mut self.statistics;
            statistics.instructions += 1;
            match oldest.kind {
                MemoryKind::None => {}
                MemoryKind::Load | MemoryKind::Atomic => statistics.loads += 1,
                MemoryKind::Store => statistics.stores += 1,
            }
            if retired.instruction.branch != BranchKind::None {
                statistics.branches += 1;
                statistics.misfetched += u64::from(oldest.prediction.outcome == PredictionOutcome::Misfetched);
                statistics.mispredicted += u64::from(oldest.prediction.outcome == PredictionOutcome::Mispredicted);
                self.predictor.learn(retired, oldest.prediction);
            }
            let timing = &mut self.rob.oldest_mut().timing;
            timing.committed = self.now;
            observer.committed(timing);
            self.rob.pop();
            self.alone = false;
            committed += 1;
        }
        committed > 0
    }

    /// Ends the operations whose results are due in this cycle.
    pub(super) fn write_back(&mut self) {
        self.event_queue.advance(self.now.0);
        while let Some(tag) = self.event_queue.pop(self.now.0) {
            let entry = self.rob.entry(tag);
            entry.timing.written = self.now;
            if entry.prediction.outcome == PredictionOutcome::Mispredicted {
                self.front.awaiting_redirect = false;
                self.front.resume = self.now + self.config.mispredicted;
            }
            self.rob.end(tag);
        }
    }

    /// Issues ready operations. Must be called only if there are any.
    pub(super) fn issue(&mut self, hierarchy: &mut Hierarchy) {
        self.issue = Cycles::MAX;
        let mut left = self.config.issue_width;
        let mut kept = 0;
        let count = self.rob.ready.len();
        for index in 0..count {
            let key = self.rob.ready[index];
            if left == 0 {
                self.issue = self.now + ONE;
                self.rob.ready.copy_within(index..count, kept);
                kept += count - index;
                break;
            }
            let tag = self.rob.tag_of(key);
            match self.start(tag, hierarchy) {
                Ok(()) => {
                    left -= 1;
                    if tag & ACCESS != 0 {
                        // An older access that was refused may now hit the line that this one
                        // requested.
                        self.retry = Cycles::ZERO;
                        if kept > 0 {
                            self.issue = self.now + ONE;
                        }
                    }
                }
                Err(at) => {
                    self.issue = self.issue.min(at);
                    self.rob.ready[kept] = key;
                    kept += 1;
                }
            }
        }
        self.rob.ready.truncate(kept);
    }

    /// Issues an operation, or returns the cycle in which to try again.
    #[inline]
    fn start(&mut self, tag: Tag, hierarchy: &mut Hierarchy) -> Result<(), Cycles> {
        let now = self.now;
        let end = if tag & ACCESS == 0 { self.start_first(tag)? } else { self.start_access(tag, hierarchy)? };
        self.rob.entry(tag).timing.accessed = now;
        if let Some(end) = end {
            self.event_queue.schedule(now.0, end.0, tag);
        } else {
            self.rob.entry(tag).timing.written = now;
            self.rob.end_store(tag);
        }
        Ok(())
    }

    /// Issues the first operation of an instruction to a functional unit; returns when it ends.
    #[inline]
    fn start_first(&mut self, tag: Tag) -> Result<Option<Cycles>, Cycles> {
        let entry = self.rob.entry(tag);
        let float;
        let (pool, unit) = match entry.timing.retired.instruction.class {
            InstructionClass::Integer => (0, &self.config.integer),
            InstructionClass::Multiply => (1, &self.config.multiply),
            InstructionClass::Divide => (if self.config.divide.count == 0 { 1 } else { 2 }, &self.config.divide),
            class @ (InstructionClass::FloatMove
            | InstructionClass::FloatConvert
            | InstructionClass::FloatAdd
            | InstructionClass::FloatMultiply
            | InstructionClass::FloatFused
            | InstructionClass::FloatDivide
            | InstructionClass::FloatSquareRoot) => {
                float = self.config.float.unit(class);
                (4, &float)
            }
            InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic => {
                (if self.config.address.count == 0 { 0 } else { 3 }, &self.config.address)
            }
            InstructionClass::Fence | InstructionClass::System => {
                entry.timing.issued = self.now;
                return Ok(Some(self.now + ONE));
            }
        };
        self.pools[pool].take(self.now, unit.interval)?;
        entry.timing.issued = self.now;
        Ok(Some(self.now + unit.latency))
    }

    /// Begins a memory access; returns when it ends, or `None` if it ends now.
    #[inline]
    fn start_access(&mut self, tag: Tag, hierarchy: &mut Hierarchy) -> Result<Option<Cycles>, Cycles> {
        let entry = self.rob.entry(tag);
        let kind = entry.kind;
        let (address, bytes) = (entry.timing.retired.address, u64::from(entry.timing.retired.instruction.access));
        let reply = match kind {
            // The data of a store are in the LSQ now; they are written at commit.
            MemoryKind::Store | MemoryKind::None => return Ok(None),
            MemoryKind::Atomic => hierarchy.access(self.core, AccessKind::Atomic, address, bytes, self.now),
            MemoryKind::Load if self.rob.is_forwarded(tag) => {
                let reply = hierarchy.use_port(self.core, AccessKind::Load, self.now);
                self.statistics.forwarded += u64::from(matches!(reply, Reply::Ready(_)));
                reply
            }
            MemoryKind::Load => hierarchy.access(self.core, AccessKind::Load, address, bytes, self.now),
        };
        match reply {
            Reply::Ready(at) => Ok(Some(at.max(self.now + ONE))),
            Reply::Retry(at) => Err(at),
        }
    }
}
