// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the entries of one queue are: the oldest in the CAM, the next ones in the lists, the
//! youngest in host memory.
//!
//! ```text
//!   rank     1 ... cam        cam + 1 ...                        the rest
//!           [   CAM   ]  <-  [ list 0 | list 1 | ... ]    <-    host memory
//! ```
//! Contract: entries are known by their rank in age; the caller that matches knows their contents.
//! Insertions come in order of age, and those that are not visible to a search are the youngest.
//! Invariant: lists hold entries only if the CAM is full, and host memory only if all lists are,
//! whenever no mover is at work; so a search that waits for the movers finds the levels in order of
//! age. (Test: `the_engine_is_the_hardware_cycle_by_cycle`.)

use std::collections::VecDeque;

use crate::lanes::Lanes;
use crate::parameters::HardwareConfig;

/// The events of a search, in cycles from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Search {
    /// Cycles until its result is known.
    pub(crate) cycles: u64,
    /// Steps along the lists.
    pub(crate) rows: u64,
    /// Entries compared.
    pub(crate) compared: u32,
}

/// The transfers that a removal starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moved {
    /// From a list to the CAM.
    pub(crate) to_cam: bool,
    /// From host memory to a list.
    pub(crate) to_list: bool,
}

/// The result of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Inserted {
    /// Cycles that it takes.
    pub(crate) cycles: u64,
    /// The CAM is full.
    pub(crate) overflows: bool,
    /// The lists are full too.
    pub(crate) spills: bool,
}

/// One queue.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    in_cam: usize,
    lanes: Lanes,
    spilled: usize,
    /// The list whose turn it is.
    turn: usize,
    /// When each of the youngest entries is in place, for those that a search may not see. An
    /// operation that takes one out takes effect when all are in place, before the next search:
    /// nothing but time empties this.
    fresh: VecDeque<u64>,
    /// When the movers have done what they have to do.
    pub(crate) movers_free: u64,
}

impl Levels {
    pub(crate) fn new(parameters: &HardwareConfig) -> Self {
        Self {
            in_cam: 0,
            lanes: Lanes::new(parameters.lists),
            spilled: 0,
            turn: 0,
            fresh: VecDeque::new(),
            movers_free: 0,
        }
    }

    fn len(&self) -> usize {
        self.in_cam + self.lanes.len() + self.spilled
    }

    /// How many entries are in place in cycle `now`, which never goes back.
    #[inline]
    pub(crate) fn visible(&mut self, now: u64) -> usize {
        while self.fresh.front().is_some_and(|&at| at <= now) {
            self.fresh.pop_front();
        }
        self.len() - self.fresh.len()
    }

    /// The search of the `visible` oldest entries that finds the one of this `rank`, or nothing.
    #[inline]
    pub(crate) fn search(&self, parameters: &HardwareConfig, visible: usize, rank: Option<usize>) -> Search {
        let in_cam = visible.min(parameters.cam);
        let depth = rank.unwrap_or(visible);
        if depth <= in_cam {
            return Search { cycles: parameters.cam_search, rows: 0, compared: in_cam as u32 };
        }
        // The age of the next entry is stored with the link to it, so a walk ends before the first younger entry.
        let (behind, listed) = (depth - in_cam, (visible - in_cam).min(self.lanes.len()));
        let passed = behind.min(self.lanes.len());
        let spilled = behind - passed;
        let rows = self.lanes.of_oldest(passed, |counts| counts.iter().copied().max().unwrap_or(0));
        let walked: u32 = self.lanes.of_oldest(listed, |counts| counts.iter().map(|&count| count.min(rows)).sum());
        Search {
            cycles: parameters.walk(u64::from(rows), spilled as u64),
            rows: u64::from(rows),
            compared: in_cam as u32 + walked + spilled as u32,
        }
    }

    /// Takes out the entry of `rank`; the movers close the gap from cycle `at` on. All entries are in place by then.
    pub(crate) fn remove(&mut self, parameters: &HardwareConfig, rank: usize, at: u64) -> Moved {
        let mut moved = Moved::default();
        if rank > self.in_cam + self.lanes.len() {
            self.spilled -= 1;
            return moved;
        }
        if rank > self.in_cam {
            self.lanes.remove(rank - self.in_cam - 1);
        } else if self.lanes.len() == 0 {
            self.in_cam -= 1;
            return moved;
        } else {
            self.lanes.remove(0);
            moved.to_cam = true;
            self.movers_free = at.max(self.movers_free) + parameters.transfer;
        }
        if self.spilled > 0 {
            self.spilled -= 1;
            self.append_to_list(parameters);
            moved.to_list = true;
            self.movers_free = at.max(self.movers_free) + parameters.spill;
        }
        moved
    }

    /// Makes an insertion: the entry is in place its cycles after `begin`.
    pub(crate) fn insert(&mut self, parameters: &HardwareConfig, begin: u64) -> Inserted {
        let overflows = self.in_cam == parameters.cam;
        let spills = overflows && self.lanes.len() == parameters.lists * parameters.entries_per_list;
        if spills {
            self.spilled += 1;
        } else if overflows {
            self.append_to_list(parameters);
        } else {
            self.in_cam += 1;
        }
        let cycles = if overflows { parameters.list_insert } else { parameters.cam_insert };
        self.fresh.push_back(begin + cycles);
        Inserted { cycles, overflows, spills }
    }

    /// Appends to the next list in turn with a free entry; there is one.
    fn append_to_list(&mut self, parameters: &HardwareConfig) {
        while self.lanes.lengths()[self.turn] as usize == parameters.entries_per_list {
            self.turn = (self.turn + 1) % parameters.lists;
        }
        self.lanes.push(self.turn);
        self.turn = (self.turn + 1) % parameters.lists;
    }
}
