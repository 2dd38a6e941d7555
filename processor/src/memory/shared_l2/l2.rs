// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The shared L2: tags, one bank, and lines on their way from memory.

use std::collections::VecDeque;

use super::config::SharedL2Config;
use super::l1::NONE;
use super::statistics::L2Statistics;

/// Which L1 cache of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Instruction,
    Data,
}

/// An access to the L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// A line for an L1 cache.
    Line { core: usize, which: Which, line: u64 },
    /// The oldest entry of the write buffer of a core.
    Write { core: usize },
}

/// A message from the L2 or a device to a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Response {
    Line { core: usize, which: Which, line: u64 },
    Value { core: usize, context: u8, tag: u32, value: u64, device: bool },
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    line: u64,
    modified: bool,
    /// The MSHR of a line on its way, or `ARRIVED`.
    mshr: u32,
}

const ARRIVED: u32 = u32::MAX;

/// The result of an access to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LookUp {
    Here,
    /// On its way, with this MSHR.
    Coming(u32),
    /// Absent. `evicts` tells whether the set holds a modified line.
    Absent {
        evicts: bool,
    },
    /// Absent, and the set is taken by a line on its way.
    Taken,
}

/// The kind of an access to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Hit,
    /// The line comes with this MSHR.
    Wait(u32),
}

#[derive(Clone, Debug)]
pub(super) struct L2 {
    slots: Vec<Slot>,
    /// Accesses that have arrived, in order; each begins when the bank is free.
    pub(super) queue: VecDeque<Work>,
    /// The cycle from which the bank is free.
    pub(super) free: u64,
    /// Whether the first access of the queue waits for something else than the bank.
    pub(super) blocked: bool,
    /// The requests that wait for each line that is being fetched.
    waiting: Vec<Vec<Response>>,
    free_mshrs: Vec<u32>,
    /// MSHRs whose requests are with memory, with the cycles in which their data is there.
    pub(super) reads: VecDeque<(u64, u32)>,
    /// Lines of MSHRs.
    lines: Vec<u64>,
    /// Evicted lines, by the cycles from which they can take the memory bus.
    pub(super) write_backs: VecDeque<u64>,
    /// Free entries of the write-back buffer.
    pub(super) free_write_backs: usize,
    hit: u64,
    memory: u64,
    pub(super) statistics: L2Statistics,
}

impl L2 {
    pub(super) fn new(config: &SharedL2Config) -> Self {
        let sets = (config.l2 / config.line) as usize;
        Self {
            slots: vec![Slot { line: NONE, modified: false, mshr: ARRIVED }; sets],
            queue: VecDeque::new(),
            free: 0,
            blocked: false,
            waiting: vec![Vec::new(); config.l2_mshrs],
            free_mshrs: (0..config.l2_mshrs as u32).rev().collect(),
            reads: VecDeque::new(),
            lines: vec![NONE; config.l2_mshrs],
            write_backs: VecDeque::new(),
            free_write_backs: config.write_backs,
            hit: config.l2_hit,
            memory: config.memory,
            statistics: L2Statistics::default(),
        }
    }

    fn slot(&mut self, line: u64) -> &mut Slot {
        let place = line as usize & (self.slots.len() - 1);
        &mut self.slots[place]
    }

    fn look_up(&mut self, line: u64) -> LookUp {
        let slot = *self.slot(line);
        match (slot.line == line, slot.mshr == ARRIVED) {
            (true, true) => LookUp::Here,
            (true, false) => LookUp::Coming(slot.mshr),
            (false, true) => LookUp::Absent { evicts: slot.modified },
            (false, false) => LookUp::Taken,
        }
    }

    /// Whether an access to the lines `first` to `last` can begin.
    pub(super) fn can_access(&mut self, first: u64, last: u64) -> bool {
        let (mut mshrs, mut write_backs) = (0, 0);
        for line in first..=last {
            match self.look_up(line) {
                LookUp::Here | LookUp::Coming(_) => {}
                LookUp::Absent { evicts } => {
                    mshrs += 1;
                    write_backs += usize::from(evicts);
                }
                LookUp::Taken => return false,
            }
        }
        mshrs <= self.free_mshrs.len() && write_backs <= self.free_write_backs
    }

    /// Holds a line as after an access that took no time.
    pub(super) fn warm(&mut self, line: u64, writes: bool) {
        let slot = self.slot(line);
        debug_assert!(slot.mshr == ARRIVED, "no line is on its way");
        let modified = writes || slot.line == line && slot.modified;
        *slot = Slot { line, modified, mshr: ARRIVED };
    }

    /// Begins an access to a line in `cycle`, which [`can_access`](Self::can_access) allows.
    pub(super) fn access(&mut self, line: u64, writes: bool, cycle: u64) -> Access {
        let access = match self.look_up(line) {
            LookUp::Here => {
                self.statistics.hits += 1;
                Access::Hit
            }
            LookUp::Coming(mshr) => {
                self.statistics.merged += 1;
                Access::Wait(mshr)
            }
            LookUp::Absent { evicts } => {
                self.statistics.misses += 1;
                let known = cycle + self.hit;
                if evicts {
                    self.statistics.write_backs += 1;
                    self.free_write_backs -= 1;
                    self.write_backs.push_back(known);
                }
                let mshr = self.free_mshrs.pop().expect("a free MSHR");
                self.lines[mshr as usize] = line;
                *self.slot(line) = Slot { line, modified: false, mshr };
                self.reads.push_back((known + self.memory, mshr));
                Access::Wait(mshr)
            }
            LookUp::Taken => unreachable!("can_access was asked before"),
        };
        self.slot(line).modified |= writes;
        access
    }

    /// Adds what is sent when the line of an MSHR arrives.
    pub(super) fn wait(&mut self, mshr: u32, response: Response) {
        self.waiting[mshr as usize].push(response);
    }

    /// The line of an MSHR has arrived; moves what waited for it to the end of `responses`, with the
    /// cycle.
    pub(super) fn arrive(&mut self, mshr: u32, cycle: u64, responses: &mut VecDeque<(u64, Response)>) {
        let line = self.lines[mshr as usize];
        self.slot(line).mshr = ARRIVED;
        self.free_mshrs.push(mshr);
        responses.extend(self.waiting[mshr as usize].drain(..).map(|response| (cycle, response)));
    }

    /// Whether the L2 holds a modified copy that has arrived.
    pub(super) fn is_modified(&mut self, line: u64) -> bool {
        let slot = self.slot(line);
        slot.line == line && slot.modified && slot.mshr == ARRIVED
    }

    /// A copy that has arrived becomes equal to memory.
    pub(super) fn clean(&mut self, line: u64) {
        let slot = self.slot(line);
        if slot.line == line && slot.mshr == ARRIVED {
            slot.modified = false;
        }
    }

    /// Drops a copy that has arrived.
    pub(super) fn invalidate(&mut self, line: u64) {
        let slot = self.slot(line);
        if slot.line == line && slot.mshr == ARRIVED {
            *slot = Slot { line: NONE, modified: false, mshr: ARRIVED };
            self.statistics.invalidated_by_dma += 1;
        }
    }
}
