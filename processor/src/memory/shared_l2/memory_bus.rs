// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bus between the L2, memory and the DMA engine.

use std::collections::VecDeque;

use super::l2::L2;
use super::statistics::MemoryBusStatistics;

/// Cycles of the processor in those of the bus: `processor` of them take as long as `bus` of the bus.
#[derive(Clone, Copy, Debug)]
struct BusClock {
    processor: u64,
    bus: u64,
}

impl BusClock {
    /// The first cycle of the processor in which a job has ended that takes `cycles` of the bus, from
    /// its first edge in `now` or later on.
    fn end(self, now: u64, cycles: u64) -> u64 {
        if self.processor == self.bus {
            return now + cycles;
        }
        let (processor, bus) = (u128::from(self.processor), u128::from(self.bus));
        let first = (u128::from(now) * bus).div_ceil(processor);
        let end = ((first + u128::from(cycles)) * processor).div_ceil(bus) as u64;
        end.max(now + 1)
    }
}

/// The transfer that occupies the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Job {
    /// A line for an MSHR of the L2.
    Fill(u32),
    WriteBack,
    /// The next part of the oldest DMA transfer.
    Dma,
}

/// A DMA transfer.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) tag: u32,
    pub(super) writes: bool,
    pub(super) address: u64,
    /// The bytes to write, or those that are read.
    pub(super) bytes: Vec<u8>,
    /// How many of them are transferred.
    pub(super) done: usize,
    /// The cycle from which the next part can take the bus.
    pub(super) ready: u64,
}

impl Transfer {
    /// Address and length of the next part: it ends at the end of a line.
    pub(super) fn part(&self, line: u64) -> (u64, usize) {
        let address = self.address + self.done as u64;
        let rest = (self.bytes.len() - self.done) as u64;
        (address, rest.min(line - address % line) as usize)
    }
}

#[derive(Clone, Debug)]
pub(super) struct MemoryBus {
    /// The transfer that occupies the bus, and the cycle in which it ends.
    pub(super) current: Option<(u64, Job)>,
    width: u64,
    line: u64,
    clock: BusClock,
    pub(super) transfers: VecDeque<Transfer>,
    pub(super) statistics: MemoryBusStatistics,
}

impl MemoryBus {
    pub(super) fn new(width: u64, line: u64) -> Self {
        let statistics = MemoryBusStatistics::default();
        let clock = BusClock { processor: 1, bus: 1 };
        Self { current: None, width, line, clock, transfers: VecDeque::new(), statistics }
    }

    /// The bus has a clock of its own, of which `bus` cycles take as long as `processor` of the cores.
    pub(super) fn set_clock(&mut self, processor: u64, bus: u64) {
        self.clock = BusClock { processor, bus };
    }

    /// The cycle from which the next job can take the bus, and the job: the oldest one. At equal
    /// times, a fill precedes a write-back, which precedes DMA.
    fn next(&self, l2: &L2) -> Option<(u64, Job)> {
        let fill = l2.reads.front().map(|&(ready, mshr)| (ready, Job::Fill(mshr)));
        let write_back = l2.write_backs.front().map(|&ready| (ready, Job::WriteBack));
        let dma = self.transfers.front().map(|transfer| (transfer.ready, Job::Dma));
        [fill, write_back, dma].into_iter().flatten().min_by_key(|job| job.0)
    }

    /// The next cycle in which the bus is released or taken.
    pub(super) fn next_event(&self, l2: &L2) -> u64 {
        match self.current {
            Some((end, _)) => end,
            None => self.ready(l2),
        }
    }

    /// The cycle from which the next job can take the bus; the highest number if there is none.
    fn ready(&self, l2: &L2) -> u64 {
        let fill = l2.reads.front().map_or(u64::MAX, |&(ready, _)| ready);
        let write_back = l2.write_backs.front().map_or(u64::MAX, |&ready| ready);
        let dma = self.transfers.front().map_or(u64::MAX, |transfer| transfer.ready);
        fill.min(write_back).min(dma)
    }

    /// Gives the free bus to the next job, if one is ready.
    pub(super) fn grant(&mut self, cycle: u64, l2: &mut L2) {
        if self.ready(l2) > cycle {
            return;
        }
        let Some((_, job)) = self.next(l2) else { return };
        let whole = self.line / self.width;
        let cycles = match job {
            Job::Fill(_) => {
                l2.reads.pop_front();
                self.statistics.fills += whole;
                whole
            }
            Job::WriteBack => {
                l2.write_backs.pop_front();
                self.statistics.write_backs += whole;
                whole
            }
            Job::Dma => {
                let transfer = &self.transfers[0];
                let (address, length) = transfer.part(self.line);
                let last = address + length as u64 - 1;
                let own = last / self.width - address / self.width + 1;
                // A modified line is written to memory first, unless DMA replaces all of it.
                let replaces = transfer.writes && length as u64 == self.line;
                let before = if l2.is_modified(address / self.line) && !replaces { whole } else { 0 };
                if transfer.writes {
                    self.statistics.dma_writes += own;
                } else {
                    self.statistics.dma_reads += own;
                }
                self.statistics.dma_write_backs += before;
                own + before
            }
        };
        self.current = Some((self.clock.end(cycle, cycles), job));
    }
}
