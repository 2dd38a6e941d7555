// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The time of each operation of recorded sequences on bare structures.
//!
//! An operation takes less time than reading the clock. It is therefore measured in two ways, in
//! turns:
//!
//! - *One timestamp per segment*, of [`Effort::segment`] operations, gives the time of the segment.
//!   The cost of a timestamp is subtracted. The median over the repetitions is the time of the
//!   segment, which interrupted repetitions do not change.
//! - *One timestamp per operation* perturbs the pipeline, and its times are too long, but it shows
//!   which operations of a segment take longer. The medians, less the cost of a timestamp, are the
//!   weights that divide the time of the segment among its operations.
//!
//! The times of the operations of a segment add up to the time of the segment, to the picosecond.
//! Each repetition runs all receivers in turn, so that they displace each other's lines and branch
//! history where they are large enough. What the program between two operations would displace is
//! not measured.
//!
//! Cost: `warm_up + repetitions` times two runs; 4 bytes for each operation and repetition.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Instant;

use mb_core::{BareRun, Op, Picos, ReplayEngine};

use crate::error::HostMeasureError;
use crate::record::{OperationKind, Recorded};

/// A time for each operation, by receiver.
pub type Spans = Vec<Vec<Picos>>;

/// A source of timestamps.
pub trait TimestampSource {
    /// A timestamp in ticks. Instructions before it have completed, and none after it has started.
    fn read(&mut self) -> u64;

    /// Picoseconds in a tick.
    fn tick_ps(&self) -> f64;

    /// Its description in reports.
    fn name(&self) -> String;
}

/// The clock of this host: the time stamp counter of the processor if its rate is constant, else
/// the system clock.
#[derive(Clone, Copy, Debug)]
pub enum HostClock {
    /// The time stamp counter, with the picoseconds of a tick.
    Counter(f64),
    /// `Instant`, in nanoseconds since creation.
    System(Instant),
}

impl HostClock {
    /// Selects the clock. The first call calibrates the counter against the system clock for 20 ms.
    #[must_use]
    pub fn new() -> Self {
        static TICK_PS: OnceLock<Option<f64>> = OnceLock::new();
        match *TICK_PS.get_or_init(counter_tick_ps) {
            Some(tick_ps) => Self::Counter(tick_ps),
            None => Self::System(now()),
        }
    }
}

impl Default for HostClock {
    fn default() -> Self {
        Self::new()
    }
}

impl TimestampSource for HostClock {
    #[inline]
    fn read(&mut self) -> u64 {
        match self {
            Self::Counter(_) => counter(),
            Self::System(created) => created.elapsed().as_nanos() as u64,
        }
    }

    fn tick_ps(&self) -> f64 {
        match self {
            Self::Counter(tick_ps) => *tick_ps,
            Self::System(_) => 1000.0,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Counter(tick_ps) => format!("time stamp counter, {:.0} MHz", 1e6 / tick_ps),
            Self::System(_) => "system clock".to_owned(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the crate that reads clocks")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 processor has both instructions; they access no memory.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Picoseconds of a tick of the time stamp counter, if the processor guarantees a constant rate.
#[cfg(target_arch = "x86_64")]
fn counter_tick_ps() -> Option<f64> {
    use std::arch::x86_64::__cpuid;
    use std::time::Duration;
    // SAFETY: every x86-64 processor has the instruction.
    #[allow(unused_unsafe, reason = "safe in newer versions of the standard library")]
    let invariant = unsafe { __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0 };
    if !invariant {
        return None;
    }
    let (begin, first) = (now(), counter());
    while begin.elapsed() < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
    let (elapsed, last) = (begin.elapsed(), counter());
    Some(elapsed.as_nanos() as f64 * 1000.0 / (last - first) as f64)
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    unreachable!("there is no counter on this architecture")
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_tick_ps() -> Option<f64> {
    None
}

/// The effort of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Operations of a segment.
    pub segment: usize,
    /// Repetitions before the first that is evaluated.
    pub warm_up: u32,
    /// Minimum number of repetitions.
    pub least: u32,
    /// Maximum number of repetitions.
    pub most: u32,
    /// Time for all repetitions; exceeded only to reach the minimum.
    pub budget: Picos,
}

impl Effort {
    /// A draft, enough to find the order in which operations come with times: a median of three.
    #[must_use]
    pub const fn draft(&self) -> Self {
        Self { warm_up: 1, least: 3, most: 3, ..*self }
    }
}

impl Default for Effort {
    /// Segments long enough that a timestamp costs a third of a nanosecond per operation before it
    /// is subtracted, and enough repetitions for a median that single interrupts do not move.
    fn default() -> Self {
        Self { segment: 64, warm_up: 2, least: 7, most: 31, budget: Picos(60_000_000_000) }
    }
}

/// The total time of the operations of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KindTimes {
    /// Number of operations.
    pub operations: u64,
    /// Sum of their times, from the medians of the segments.
    pub time: Picos,
    /// The same from the lower quartiles of the segments.
    pub low: Picos,
    /// The same from the upper quartiles of the segments.
    pub high: Picos,
}

/// Summary of a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measurement {
    /// Repetitions evaluated.
    pub repetitions: u32,
    /// Operations of a segment.
    pub segment: usize,
    /// Cost of a timestamp, which was subtracted.
    pub timestamp: Picos,
    /// Description of the clock.
    pub clock: String,
    /// By kind of operation, as in [`OperationKind::ALL`].
    pub kinds: [KindTimes; OperationKind::ALL.len()],
}

impl Measurement {
    /// The sum over all kinds.
    #[must_use]
    pub fn all(&self) -> KindTimes {
        self.kinds.iter().fold(KindTimes::default(), |sum, kind| KindTimes {
            operations: sum.operations + kind.operations,
            time: sum.time + kind.time,
            low: sum.low + kind.low,
            high: sum.high + kind.high,
        })
    }
}

/// Measures the time of each operation of `recorded` on bare structures of the engine that `build`
/// makes, one for each receiver. The caller pins the thread. `keep_on` is called between runs and
/// may stop the measurement.
///
/// # Errors
/// [`HostMeasureError`].
pub fn measure(
    build: &dyn Fn() -> Box<dyn ReplayEngine>,
    recorded: &[Vec<Recorded>],
    effort: &Effort,
    clock: &mut dyn TimestampSource,
    keep_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(Spans, Measurement), HostMeasureError> {
    let bare = |operations: &Vec<Recorded>| {
        let ops: Vec<Op> = operations.iter().map(|recorded| recorded.op).collect();
        build().bare_run(&ops).ok_or(HostMeasureError::NothingToMeasure)
    };
    let mut bench = Bench {
        runs: recorded.iter().map(bare).collect::<Result<_, _>>()?,
        lengths: recorded.iter().map(Vec::len).collect(),
        segment: effort.segment.max(1),
        timestamp_cost: 0,
        clock,
    };
    bench.timestamp_cost = bench.cost_of_timestamp();
    let mut keep_on = || if keep_on().is_break() { Err(HostMeasureError::Interrupted) } else { Ok(()) };

    let mut pair = 0;
    for _ in 0..effort.warm_up.max(1) {
        keep_on()?;
        let begin = bench.clock.read();
        bench.run(bench.segment);
        bench.run(1);
        pair = bench.clock.read() - begin;
    }
    check(&bench.runs, recorded)?;
    let affordable = effort.budget.0 as f64 / (pair as f64 * bench.clock.tick_ps()).max(1.0);
    let repetitions = (affordable as u32).clamp(effort.least.max(1), effort.most.max(effort.least).max(1));
    let (mut per_segment, mut per_operation) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        keep_on()?;
        per_segment.push(bench.run(bench.segment));
        keep_on()?;
        per_operation.push(bench.run(1));
    }
    check(&bench.runs, recorded)?;
    Ok(bench.evaluate(recorded, &per_segment, &per_operation))
}

/// Compares the outcomes of the structures with those of their engines.
fn check(runs: &[Box<dyn BareRun>], recorded: &[Vec<Recorded>]) -> Result<(), HostMeasureError> {
    for (receiver, (run, operations)) in runs.iter().zip(recorded).enumerate() {
        let outcomes = run.outcomes();
        let differs = (0..operations.len().max(outcomes.len()))
            .find(|&at| outcomes.get(at) != operations.get(at).map(|recorded| &recorded.outcome));
        if let Some(at) = differs {
            let text =
                |outcome: Option<&mb_core::Outcome>| outcome.map_or("no outcome".to_owned(), ToString::to_string);
            return Err(HostMeasureError::Outcome {
                receiver,
                operation: at + 1,
                found: text(outcomes.get(at)),
                expected: text(operations.get(at).map(|recorded| &recorded.outcome)),
            });
        }
    }
    Ok(())
}

/// Structures, a clock, and the cost of a timestamp in ticks.
struct Bench<'a> {
    runs: Vec<Box<dyn BareRun>>,
    lengths: Vec<usize>,
    segment: usize,
    timestamp_cost: u64,
    clock: &'a mut dyn TimestampSource,
}

/// Timestamps in a row; the median of their distances is the cost of one.
const EMPTY_TIMESTAMPS: usize = 1001;

impl Bench<'_> {
    fn cost_of_timestamp(&mut self) -> u64 {
        let mut spans = Vec::with_capacity(EMPTY_TIMESTAMPS);
        let mut last = self.clock.read();
        for _ in 0..EMPTY_TIMESTAMPS {
            let now = self.clock.read();
            spans.push(now - last);
            last = now;
        }
        spans.sort_unstable();
        spans[EMPTY_TIMESTAMPS / 2]
    }

    /// Runs all receivers from empty queues; returns the ticks of each `segment` operations, less
    /// the cost of a timestamp.
    fn run(&mut self, segment: usize) -> Vec<u32> {
        let segments = self.lengths.iter().map(|length| length.div_ceil(segment)).sum();
        let mut spans = Vec::with_capacity(segments);
        for (run, &length) in self.runs.iter_mut().zip(&self.lengths) {
            run.rewind();
            let mut last = self.clock.read();
            for _ in 0..length.div_ceil(segment) {
                run.perform(segment);
                let now = self.clock.read();
                spans.push(u32::try_from((now - last).saturating_sub(self.timestamp_cost)).unwrap_or(u32::MAX));
                last = now;
            }
        }
        spans
    }

    /// Divides the time of each segment among its operations by their weights.
    fn evaluate(
        &self,
        recorded: &[Vec<Recorded>],
        per_segment: &[Vec<u32>],
        per_operation: &[Vec<u32>],
    ) -> (Spans, Measurement) {
        let mut kinds = [KindTimes::default(); OperationKind::ALL.len()];
        let (mut segments, mut operation) = (0, 0);
        let mut scratch = Vec::with_capacity(per_segment.len());
        let mut spans: Spans = Vec::with_capacity(recorded.len());
        for operations in recorded {
            let mut mine = Vec::with_capacity(operations.len());
            for part in operations.chunks(self.segment) {
                let [low, time, high] = quartiles(per_segment, segments, &mut scratch).map(|ticks| self.picos(ticks));
                segments += 1;
                let weights: Vec<u64> = (operation..operation + part.len())
                    .map(|at| u64::from(quartiles(per_operation, at, &mut scratch)[1]))
                    .collect();
                operation += part.len();
                for (sum, of) in [(low, 0), (time, 1), (high, 2)] {
                    for (recorded, share) in part.iter().zip(divide(sum, &weights)) {
                        let kind = &mut kinds[OperationKind::of(&recorded.op) as usize];
                        match of {
                            0 => kind.low += share,
                            1 => {
                                kind.operations += 1;
                                kind.time += share;
                                mine.push(share);
                            }
                            _ => kind.high += share,
                        }
                    }
                }
            }
            spans.push(mine);
        }
        let measurement = Measurement {
            repetitions: per_segment.len() as u32,
            segment: self.segment,
            timestamp: Picos((self.timestamp_cost as f64 * self.clock.tick_ps()).round() as u64),
            clock: self.clock.name(),
            kinds,
        };
        (spans, measurement)
    }

    fn picos(&self, ticks: u32) -> Picos {
        Picos((f64::from(ticks) * self.clock.tick_ps()).round() as u64)
    }
}

/// Lower quartile, median and upper quartile of column `at`.
fn quartiles(rows: &[Vec<u32>], at: usize, scratch: &mut Vec<u32>) -> [u32; 3] {
    scratch.clear();
    scratch.extend(rows.iter().map(|row| row[at]));
    scratch.sort_unstable();
    let last = scratch.len() - 1;
    [scratch[last / 4], scratch[last / 2], scratch[last - last / 4]]
}

/// Divides `sum` in proportion to `weights`, to the picosecond; in equal parts if all weights are
/// zero.
fn divide(sum: Picos, weights: &[u64]) -> impl Iterator<Item = Picos> + '_ {
    let all: u64 = weights.iter().sum();
    let (all, equal) = if all == 0 { (weights.len() as u64, 1) } else { (all, 0) };
    let (mut before, mut given) = (0_u64, 0_u64);
    weights.iter().map(move |weight| {
        before += weight + equal;
        let due = (u128::from(sum.0) * u128::from(before) / u128::from(all.max(1))) as u64;
        let part = due - given;
        given = due;
        Picos(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_this_host_never_goes_back() {
        let mut clock = HostClock::new();
        let first = clock.read();
        let timestamps: Vec<u64> = (0..1000).map(|_| clock.read()).collect();
        assert!(timestamps.is_sorted() && timestamps[0] >= first && timestamps[999] > first);
        // From 100 MHz to 10 GHz.
        assert!((100.0..=10_000.0).contains(&clock.tick_ps()), "{}", clock.name());
    }

    #[test]
    fn parts_add_up_to_the_picosecond() {
        for (sum, weights) in [(1000, vec![1, 1, 1]), (7, vec![0, 5, 0, 2]), (0, vec![3]), (10, vec![0, 0, 0, 0])] {
            let parts: Vec<Picos> = divide(Picos(sum), &weights).collect();
            assert_eq!(parts.iter().copied().sum::<Picos>(), Picos(sum));
            // Each part is exact up to the rounding of its two ends.
            let all = weights.iter().sum::<u64>();
            for (part, weight) in parts.iter().zip(&weights) {
                let due = (sum * weight).checked_div(all).unwrap_or(sum / weights.len() as u64);
                assert!(part.0.abs_diff(due) <= 1, "{parts:?}");
            }
        }
    }
}
