// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark on cores that execute the compiled match function: one out-of-order core, or
//! barrel-threaded cores with a thread for each header.
//!
//! Contract: the compiled C of `processor/firmware/` runs on the models of `processor/`; no loop of the
//! benchmark is outside it.
//! Cost: some tenths of a second for one processor and all four lists.

use mb_firmware::watched::{CoresConfig, PassMark, StackLayout, WatchOptions, WatchStop, WatchedCores};
use mb_processor::hierarchy::{AccessKind, CacheStatistics};

use super::super::setup::{Build, Delivery, Setup};
use super::{BenchmarkRun, System};
use crate::error::MeasureError;

/// One pass on cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CorePass {
    /// Cycles between its marks.
    pub cycles: u64,
    /// Calls of the match function.
    pub headers: u64,
    /// Items visited.
    pub visits: u64,
    /// Visits of an item that came after one of a later header.
    pub overtaken: u64,
    /// Threads started.
    pub threads: u64,
    /// Lines missed by all instruction caches.
    pub instruction_misses: u64,
    /// Lines missed by all data caches.
    pub data_misses: u64,
}

/// Runs the benchmark as `setup` says on a list of `length` items.
///
/// # Errors
/// When the cores cannot be built or the benchmark does not end well.
pub fn run(setup: &Setup, length: usize) -> Result<BenchmarkRun<CorePass>, MeasureError> {
    let program = setup.program.program(setup.machine);
    let config = match setup.build {
        Build::OutOfOrder(core, hierarchy) => CoresConfig::OutOfOrder(core, hierarchy),
        Build::Barrel(config) => {
            let layout = StackLayout { bytes: setup.stack, gap: setup.stack_gap, alignment: setup.stack_alignment };
            CoresConfig::Barrel(config, layout)
        }
    };
    let options =
        WatchOptions { items: length as u64, cold: setup.cold, lean: setup.lean, stop_at_end: setup.stop_at_end };
    let cores = WatchedCores::new(&program, &config, options)?;
    super::run(&mut Stepped { cores, delivery: setup.delivery, length, ahead: None }, length)
}

/// Cores that run the program from mark to mark.
struct Stepped {
    cores: WatchedCores,
    delivery: Delivery,
    length: usize,
    /// Why the cores stopped, if they ran past the end of the pass before.
    ahead: Option<WatchStop>,
}

impl Stepped {
    /// Runs until the program waits or ends.
    fn stop(&mut self) -> Result<WatchStop, MeasureError> {
        match self.ahead.take() {
            Some(stopped) => Ok(stopped),
            None => Ok(self.cores.run()?),
        }
    }

    /// Runs to the end of the pass; returns its cycle.
    fn end(&mut self) -> Result<u64, MeasureError> {
        self.ahead = Some(self.stop()?);
        if let Some(cycle) = self.cores.host().ended() {
            return Ok(cycle);
        }
        let PassMark::End(cycle) = self.mark()? else { return Err(MeasureError::NotSeen("the end of a pass")) };
        Ok(cycle)
    }

    /// Runs to the next mark at which the program waits, and lets it continue from there.
    fn mark(&mut self) -> Result<PassMark, MeasureError> {
        match self.stop()? {
            WatchStop::Waiting => self.cores.host().allow().ok_or(MeasureError::NotSeen("the mark of a pass")),
            WatchStop::Exited(status) => Err(MeasureError::Benchmark { length: self.length, status }),
        }
    }

    /// Counts since the start of the run.
    fn counts(&mut self) -> CorePass {
        let counts = self.cores.counts();
        let (hierarchy, cores) = self.cores.hierarchy();
        let sum = |of: &dyn Fn(usize) -> CacheStatistics| (0..cores).map(|core| of(core).misses).sum::<u64>();
        CorePass {
            cycles: 0,
            headers: counts.headers,
            visits: counts.visits,
            overtaken: counts.overtaken,
            threads: counts.threads,
            instruction_misses: sum(&|core| hierarchy.instruction_statistics(core)),
            data_misses: sum(&|core| hierarchy.data_statistics(core)),
        }
    }

    /// New headers arrive from outside.
    fn deliver(&mut self) {
        let headers = self.cores.headers();
        let (start, bytes) = (headers.start, headers.end - headers.start);
        let (hierarchy, cores) = self.cores.hierarchy();
        hierarchy.invalidate(start, bytes);
        if self.delivery == Delivery::Cache {
            for core in 0..cores {
                hierarchy.warm(core, AccessKind::Load, start, bytes);
            }
        }
    }
}

impl System for Stepped {
    type Pass = CorePass;

    /// The program itself decides at which position the headers of its next pass match, by the same
    /// formula.
    fn pass(&mut self, _position: usize) -> Result<CorePass, MeasureError> {
        let PassMark::Begin = self.mark()? else { return Err(MeasureError::NotSeen("the start of a pass")) };
        let before = self.counts();
        self.deliver();
        let cycle = self.end()?;
        let after = self.counts();
        Ok(CorePass {
            cycles: cycle - self.cores.host().began(),
            headers: after.headers - before.headers,
            visits: after.visits - before.visits,
            overtaken: after.overtaken - before.overtaken,
            threads: after.threads - before.threads,
            instruction_misses: after.instruction_misses - before.instruction_misses,
            data_misses: after.data_misses - before.data_misses,
        })
    }

    fn finish(&mut self) -> Result<(), MeasureError> {
        match self.stop()? {
            WatchStop::Exited(0) => Ok(()),
            WatchStop::Exited(status) => Err(MeasureError::Benchmark { length: self.length, status }),
            WatchStop::Waiting => Err(MeasureError::NotSeen("the end of the benchmark")),
        }
    }
}
