// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark of figure 5: 64 identical headers that match at 0 to 100 % of a list, and nothing
//! is removed.
//!
//! One driver runs it on every [`System`]: on the match unit ([`match_unit`]) and on cores that
//! execute the compiled match function ([`cores`]).
//!
//! Contract: twelve passes over one list. The first matches the first item and primes caches; the
//! others, which are measured, match at 0, 10, ... 100 % of the list.
//! Source: sections 5.1, 5.3 and 6.1.

pub mod cores;
pub mod match_unit;

pub use mb_firmware::HEADERS;

use crate::error::MeasureError;

/// The benchmark of its figures, as tables of curves name it.
pub const FIGURE5: &str = "figure 5 of Hemmert et al.";

/// Lengths of the list in figures 6 and 7.
pub const LENGTHS: [usize; 4] = [10, 30, 100, 300];

/// Depths that are measured, in percent of the list.
const PERCENTS: [u32; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// A system that holds the list and can run the benchmark.
pub trait System {
    /// What it reports of a pass.
    type Pass;

    /// Runs the next pass: [`HEADERS`] headers that match the item at `position`, counted from 0.
    ///
    /// # Errors
    /// When a header does not match there, or the system fails.
    fn pass(&mut self, position: usize) -> Result<Self::Pass, MeasureError>;

    /// Ends the run after the last pass.
    ///
    /// # Errors
    /// When the system does not end well.
    fn finish(&mut self) -> Result<(), MeasureError> {
        Ok(())
    }
}

/// The benchmark on one list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BenchmarkRun<P> {
    /// Items of the list.
    pub length: usize,
    /// Every pass; the first primes.
    pub passes: Vec<P>,
}

/// One measured pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredPass<P> {
    /// How deep the match lies, in percent of the list.
    pub percent: u32,
    /// Items traversed for each header, the one that matches included.
    pub traversed: usize,
    /// What the system reports.
    pub pass: P,
}

/// The item that matches at `percent` of a list, counted from 0: 0 % is the first item, 100 % the
/// last.
#[must_use]
pub const fn position(percent: u32, length: usize) -> usize {
    mb_firmware::position(percent as u64, length as u64) as usize
}

/// Runs all passes on `system`, whose list has `length` items.
///
/// # Errors
/// As [`System::pass`] and [`System::finish`].
pub fn run<S: System>(system: &mut S, length: usize) -> Result<BenchmarkRun<S::Pass>, MeasureError> {
    let percents = std::iter::once(0).chain(PERCENTS);
    let passes = percents.map(|percent| system.pass(position(percent, length))).collect::<Result<_, _>>()?;
    system.finish()?;
    Ok(BenchmarkRun { length, passes })
}

impl<P> BenchmarkRun<P> {
    /// The passes that are measured, from 0 to 100 %.
    #[must_use]
    pub fn measured(&self) -> &[P] {
        self.passes.get(1..).unwrap_or_default()
    }

    /// The same with their depths.
    pub fn points(&self) -> impl Iterator<Item = MeasuredPass<&P>> {
        let depths = PERCENTS.map(|percent| (percent, position(percent, self.length) + 1));
        depths.into_iter().zip(self.measured()).map(|((percent, traversed), pass)| MeasuredPass {
            percent,
            traversed,
            pass,
        })
    }
}
