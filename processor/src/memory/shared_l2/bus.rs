// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bus between the L1 caches and the L2.

use std::collections::VecDeque;

use super::l2::{Response, Which, Work};
use super::statistics::BusStatistics;
use super::write_buffer::WriteBuffer;

/// The transfer that occupies the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Message {
    ToL2(Work),
    /// The device access that is the oldest entry of the write buffer of a core.
    ToDevice {
        core: usize,
    },
    ToCore(Response),
}

/// The side of a core: requests for lines, and the write buffer.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// Requests for lines, with the cycles from which they can take the bus.
    pub(super) lines: VecDeque<(u64, Which, u64)>,
    pub(super) writes: WriteBuffer,
}

impl Requests {
    /// The cycle from which the oldest request can take the bus, and whether it is a write. At equal
    /// times, a request for a line precedes a write.
    pub(super) fn next(&self) -> Option<(u64, bool)> {
        let line = self.lines.front().map(|request| (request.0, false));
        let write = self.writes.next().map(|entry| (entry.ready, true));
        match (line, write) {
            (Some(line), Some(write)) => Some(if write.0 < line.0 { write } else { line }),
            (line, write) => line.or(write),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Bus {
    /// The transfer that occupies the bus, and the cycle in which it ends.
    pub(super) current: Option<(u64, Message)>,
    width: u64,
    line: u64,
    /// Responses that were ready when they were added, and those that are ready after the hit time of
    /// the L2; each in order of time.
    pub(super) early: VecDeque<(u64, Response)>,
    pub(super) late: VecDeque<(u64, Response)>,
    /// For each core, the cycle from which its oldest request can take the bus; the highest number if
    /// there is none.
    ready: Vec<u64>,
    /// The core that had a request granted last.
    last: usize,
    pub(super) statistics: BusStatistics,
}

impl Bus {
    pub(super) fn new(width: u64, line: u64, cores: usize) -> Self {
        Self {
            current: None,
            width,
            line,
            early: VecDeque::new(),
            late: VecDeque::new(),
            ready: vec![u64::MAX; cores],
            last: cores - 1,
            statistics: BusStatistics::default(),
        }
    }

    /// The next cycle in which the bus is released or taken.
    pub(super) fn next_event(&self) -> u64 {
        if let Some((end, _)) = self.current {
            return end;
        }
        let response = |queue: &VecDeque<(u64, Response)>| queue.front().map_or(u64::MAX, |first| first.0);
        let requests = self.ready.iter().fold(u64::MAX, |first, &ready| first.min(ready));
        requests.min(response(&self.early)).min(response(&self.late))
    }

    /// The requests of a core have changed.
    #[inline]
    pub(super) fn update(&mut self, core: usize, requests: &Requests) {
        self.ready[core] = requests.next().map_or(u64::MAX, |next| next.0);
    }

    /// Gives the free bus to a message that is ready: to the oldest response, or, if there is none,
    /// to the oldest request of the next core in turn.
    pub(super) fn grant(&mut self, cycle: u64, requests: &mut [Requests]) {
        let whole = self.line / self.width;
        let ready = |queue: &VecDeque<(u64, Response)>| queue.front().map(|first| first.0).filter(|&at| at <= cycle);
        let response = match (ready(&self.early), ready(&self.late)) {
            (Some(early), Some(late)) if late < early => self.late.pop_front(),
            (None, Some(_)) => self.late.pop_front(),
            (None, None) => None,
            _ => self.early.pop_front(),
        };
        if let Some((_, response)) = response {
            let (count, cycles) = match response {
                Response::Line { .. } => (&mut self.statistics.lines, whole),
                Response::Value { device: true, .. } => (&mut self.statistics.devices, 1),
                Response::Value { .. } => (&mut self.statistics.atomics, 1),
            };
            *count += cycles;
            self.current = Some((cycle + cycles, Message::ToCore(response)));
            return;
        }
        let (before, after) = self.ready.split_at(self.last + 1);
        let ready = |&ready: &u64| ready <= cycle;
        let after_last = after.iter().position(ready).map(|place| self.last + 1 + place);
        let Some(core) = after_last.or_else(|| before.iter().position(ready)) else { return };
        let Some((_, is_write)) = requests[core].next() else { return };
        self.last = core;
        let (message, cycles) = if is_write {
            self.write(core, &mut requests[core].writes)
        } else {
            let (_, which, line) = requests[core].lines.pop_front().expect("a request for a line");
            self.statistics.requests += 1;
            (Message::ToL2(Work::Line { core, which, line }), 1)
        };
        self.update(core, &requests[core]);
        self.current = Some((cycle + cycles, message));
    }

    /// Sends the next write of a core.
    fn write(&mut self, core: usize, writes: &mut WriteBuffer) -> (Message, u64) {
        let entry = *writes.next().expect("a write");
        writes.send();
        if entry.is_device() {
            self.statistics.devices += 1;
            return (Message::ToDevice { core }, 1);
        }
        // The beats that the bytes of the access touch.
        let last = entry.address + u64::from(entry.width) - 1;
        let cycles = last / self.width - entry.address / self.width + 1;
        let count = if entry.is_store() { &mut self.statistics.stores } else { &mut self.statistics.atomics };
        *count += cycles;
        (Message::ToL2(Work::Write { core }), cycles)
    }
}
