// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark of figure 5 on the processors of tables 2 and 3.
//!
//! Cost: some tenths of a second for one processor under one set of assumptions, all four lists.

use super::assumptions::Assumptions;
use super::figure5::cores::{self, CorePass};
use super::figure5::{BenchmarkRun, LENGTHS};
use super::setup::{PaperProcessor, Setup};
use crate::error::MeasureError;
use crate::study::AssumptionSet;

/// A processor and its benchmark, all lists.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Which one.
    pub processor: PaperProcessor,
    /// How it was built.
    pub setup: Setup,
    /// List by list.
    pub runs: Vec<BenchmarkRun<CorePass>>,
}

impl Simulated {
    /// Runs the benchmark on `processor` under `assumptions`.
    ///
    /// # Errors
    /// When the cores cannot be built or the benchmark does not end well.
    pub fn new(processor: PaperProcessor, assumptions: &AssumptionSet) -> Result<Self, MeasureError> {
        let setup = Setup::new(processor, Assumptions::read(assumptions)?)?;
        let runs = LENGTHS.iter().map(|&length| cores::run(&setup, length)).collect::<Result<_, _>>()?;
        Ok(Self { processor, setup, runs })
    }

    /// Cycles of all matches when `n` items are traversed: the first of ten, or the last of a list.
    pub(crate) fn at(&self, n: usize) -> Result<u64, MeasureError> {
        if n == 1 { self.cycles(10, 0) } else { self.cycles(n, 100) }
    }

    /// Cycles of all matches of a list of `length` items at `percent` of its depth.
    pub(crate) fn cycles(&self, length: usize, percent: u32) -> Result<u64, MeasureError> {
        let run = self.runs.iter().find(|run| run.length == length).ok_or(MeasureError::NotSeen("this list"))?;
        let pass = run.measured().get(percent as usize / 10).ok_or(MeasureError::NotSeen("this depth"))?;
        Ok(pass.cycles)
    }
}
