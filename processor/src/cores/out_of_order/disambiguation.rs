// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Disambiguation: which memory accesses of the load/store queue (LSQ) may begin, and where a load
//! reads its data.
//!
//! A load may access memory when its address is known and no earlier store or atomic stands in the
//! way ([`Disambiguation`](super::Disambiguation)). An atomic may when it is the oldest instruction and its data are
//! there. A store becomes ready with its data in `rob.rs`; its write happens at commit.

use super::rob::{ACCESS, MemoryKind, Rob, Tag};

/// Where a load reads its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoadSource {
    /// The cache.
    Memory,
    /// An earlier store in the queue that covers the load (forwarding).
    Store,
    /// An earlier store or atomic that overlaps the load; the load must wait for it.
    Blocked,
}

impl Rob {
    /// Makes accesses ready that nothing before them blocks any more.
    #[inline]
    pub(super) fn unblock_accesses(&mut self) {
        if std::mem::take(&mut self.lsq.changed) && self.lsq.blocked > 0 {
            self.scan_lsq();
        }
    }

    fn scan_lsq(&mut self) {
        for index in 0..self.lsq.slots.len() {
            let slot = self.lsq.slots[index];
            let entry = &self.entries[usize::from(slot)];
            match entry.kind {
                MemoryKind::Store => {
                    if !entry.first_done && !self.lsq.predicted {
                        return;
                    }
                    continue;
                }
                MemoryKind::Atomic => {
                    if entry.access_done {
                        continue;
                    }
                    if entry.access_ready || !entry.first_done || !entry.has_data() || entry.number != self.oldest {
                        return;
                    }
                }
                MemoryKind::Load | MemoryKind::None => {
                    if entry.access_ready || !entry.first_done || self.load_source(index) == LoadSource::Blocked {
                        continue;
                    }
                }
            }
            let atomic = entry.kind == MemoryKind::Atomic;
            self.entries[usize::from(slot)].access_ready = true;
            self.make_ready(slot << 1 | ACCESS);
            self.lsq.blocked -= 1;
            if atomic || self.lsq.blocked == 0 {
                return;
            }
        }
    }

    /// Where the load at `index` of the queue reads its data.
    fn load_source(&self, index: usize) -> LoadSource {
        let load = &self.entries[usize::from(self.lsq.slots[index])];
        for &slot in self.lsq.slots.range(..index).rev() {
            let earlier = &self.entries[usize::from(slot)];
            if earlier.kind == MemoryKind::Load || !earlier.overlaps(load) {
                continue;
            }
            return match earlier.kind {
                MemoryKind::Atomic if earlier.access_done => LoadSource::Memory,
                MemoryKind::Store if earlier.first_done && earlier.has_data() && earlier.covers(load) => {
                    LoadSource::Store
                }
                _ => LoadSource::Blocked,
            };
        }
        LoadSource::Memory
    }

    /// Whether the load of `tag`, which is ready, is forwarded from a store in the queue.
    #[inline]
    pub(super) fn is_forwarded(&self, tag: Tag) -> bool {
        let slot = tag >> 1;
        self.lsq.slots.front() != Some(&slot)
            && self
                .lsq
                .slots
                .iter()
                .position(|&other| other == slot)
                .is_some_and(|index| self.load_source(index) == LoadSource::Store)
    }
}
