// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long each operation of recorded sequences takes on the bare structures.
//!
//! One operation takes less time than reading the clock does, so it is measured in two ways, in turns:
//!
//! - *Readings far apart* tell how long operations take when nothing stands between them: the clock is read after each
//!   segment of [`Effort::segment`] operations, and the cost of a reading is subtracted. The median over the repetitions is
//!   the segment's time; repetitions that were interrupted fall out.
//! - *Readings after each operation* hinder the processor and are too long, but show which operation of the segment takes
//!   more. Their medians, the cost of a reading subtracted, divide the segment's time among its operations.
//!
//! So the times of a segment's operations add up to what the segment took, to the picosecond. All receivers are run one after
//! the other, as often as the effort says: what a cache or a branch predictor learns of one is displaced by the others, as far as
//! they are large enough; what the program between two operations would displace is not. Cost: `repetitions + warm_up` times two runs,
//! 4 bytes for each operation and repetition.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Instant;

use mb_core::{BareRun, Engine, Op, Picos};

use crate::MeasureError;
use crate::record::{Kind, Recorded};

/// A time for each operation, by receiver.
pub type Spans = Vec<Vec<Picos>>;

/// Something that is read before and after what is measured.
pub trait Clock {
    /// The present in ticks; all operations before it have ended, and none after it has begun.
    fn read(&mut self) -> u64;

    /// Picoseconds in a tick.
    fn tick_ps(&self) -> f64;

    /// What it is, in words.
    fn name(&self) -> String;
}

/// The clock of this host: the processor's time stamp counter where it runs evenly, else the system's.
#[derive(Clone, Copy, Debug)]
pub enum HostClock {
    /// The time stamp counter, with picoseconds in a tick.
    Counter(f64),
    /// `Instant`, in nanoseconds from its birth.
    System(Instant),
}

impl HostClock {
    /// Finds the better clock; the first call compares the counter with the system's clock for 20 ms.
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

impl Clock for HostClock {
    #[inline]
    fn read(&mut self) -> u64 {
        match self {
            Self::Counter(_) => counter(),
            Self::System(birth) => birth.elapsed().as_nanos() as u64,
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
    // SAFETY: every processor of this architecture has both instructions; they read and write no memory.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Picoseconds in a tick of the time stamp counter, if it runs at the same speed whatever the core does.
#[cfg(target_arch = "x86_64")]
fn counter_tick_ps() -> Option<f64> {
    use std::arch::x86_64::__cpuid;
    use std::time::Duration;
    // SAFETY: every processor of this architecture has the instruction.
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
    unreachable!("only a counter that was found is read")
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_tick_ps() -> Option<f64> {
    None
}

/// How much is done for a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Operations between two readings that are far apart.
    pub segment: usize,
    /// Runs before the first that counts.
    pub warm_up: u32,
    /// Fewest repetitions, whatever they take.
    pub least: u32,
    /// Most repetitions.
    pub most: u32,
    /// Time after which no more than the fewest are begun.
    pub budget: Picos,
}

impl Effort {
    /// Enough to tell in which order operations come when they take their time: a median of three.
    #[must_use]
    pub const fn draft(&self) -> Self {
        Self { warm_up: 1, least: 3, most: 3, ..*self }
    }
}

impl Default for Effort {
    /// Segments in which a reading costs a third of a nanosecond per operation before it is subtracted, and repetitions enough
    /// for a median that single interruptions do not move.
    fn default() -> Self {
        Self { segment: 64, warm_up: 2, least: 7, most: 31, budget: Picos(60_000_000_000) }
    }
}

/// What the operations of one kind took in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KindTimes {
    /// How many.
    pub operations: u64,
    /// Sum of their times, from the medians of the segments.
    pub time: Picos,
    /// The same from the lower quartiles of the segments.
    pub low: Picos,
    /// The same from the upper quartiles of the segments.
    pub high: Picos,
}

/// A measurement in numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measurement {
    /// Repetitions that count.
    pub repetitions: u32,
    /// Operations between two readings that are far apart.
    pub segment: usize,
    /// Cost of one reading, which was subtracted.
    pub reading: Picos,
    /// What the clock is.
    pub clock: String,
    /// By kind of operation, as in [`Kind::ALL`].
    pub kinds: [KindTimes; Kind::ALL.len()],
}

impl Measurement {
    /// All kinds together.
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

/// Measures what each operation of `recorded` takes on structures of the engine that `build` makes, one for each receiver.
/// The caller pins the thread. `keep_on` is asked between runs.
///
/// # Errors
/// [`MeasureError`].
pub fn measure(
    build: &dyn Fn() -> Box<dyn Engine>,
    recorded: &[Vec<Recorded>],
    effort: &Effort,
    clock: &mut dyn Clock,
    keep_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(Spans, Measurement), MeasureError> {
    let bare = |operations: &Vec<Recorded>| {
        let ops: Vec<Op> = operations.iter().map(|recorded| recorded.op).collect();
        build().bare_run(&ops).ok_or(MeasureError::NothingToMeasure)
    };
    let mut bench = Bench {
        runs: recorded.iter().map(bare).collect::<Result<_, _>>()?,
        lengths: recorded.iter().map(Vec::len).collect(),
        segment: effort.segment.max(1),
        reading: 0,
        clock,
    };
    bench.reading = bench.cost_of_reading();
    let mut keep_on = || if keep_on().is_break() { Err(MeasureError::Interrupted) } else { Ok(()) };

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
    let (mut far, mut near) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        keep_on()?;
        far.push(bench.run(bench.segment));
        keep_on()?;
        near.push(bench.run(1));
    }
    check(&bench.runs, recorded)?;
    Ok(bench.evaluate(recorded, &far, &near))
}

/// Objects to a structure that did not do what its engine did.
fn check(runs: &[Box<dyn BareRun>], recorded: &[Vec<Recorded>]) -> Result<(), MeasureError> {
    for (receiver, (run, operations)) in runs.iter().zip(recorded).enumerate() {
        let outcomes = run.outcomes();
        let differs = (0..operations.len().max(outcomes.len()))
            .find(|&at| outcomes.get(at) != operations.get(at).map(|recorded| &recorded.outcome));
        if let Some(at) = differs {
            let text = |outcome: Option<&mb_core::Outcome>| outcome.map_or("nothing".to_owned(), ToString::to_string);
            return Err(MeasureError::Outcome {
                receiver,
                operation: at + 1,
                found: text(outcomes.get(at)),
                expected: text(operations.get(at).map(|recorded| &recorded.outcome)),
            });
        }
    }
    Ok(())
}

/// Structures, a clock, and the cost of reading it in ticks.
struct Bench<'a> {
    runs: Vec<Box<dyn BareRun>>,
    lengths: Vec<usize>,
    segment: usize,
    reading: u64,
    clock: &'a mut dyn Clock,
}

/// Readings of which the median is the cost of one.
const EMPTY_READINGS: usize = 1001;

impl Bench<'_> {
    fn cost_of_reading(&mut self) -> u64 {
        let mut spans = Vec::with_capacity(EMPTY_READINGS);
        let mut last = self.clock.read();
        for _ in 0..EMPTY_READINGS {
            let now = self.clock.read();
            spans.push(now - last);
            last = now;
        }
        spans.sort_unstable();
        spans[EMPTY_READINGS / 2]
    }

    /// Runs all receivers from empty lists on; gives the ticks of each `segment` operations, without the reading.
    fn run(&mut self, segment: usize) -> Vec<u32> {
        let segments = self.lengths.iter().map(|length| length.div_ceil(segment)).sum();
        let mut spans = Vec::with_capacity(segments);
        for (run, &length) in self.runs.iter_mut().zip(&self.lengths) {
            run.rewind();
            let mut last = self.clock.read();
            for _ in 0..length.div_ceil(segment) {
                run.perform(segment);
                let now = self.clock.read();
                spans.push(u32::try_from((now - last).saturating_sub(self.reading)).unwrap_or(u32::MAX));
                last = now;
            }
        }
        spans
    }

    /// Divides the time of each segment among its operations.
    fn evaluate(&self, recorded: &[Vec<Recorded>], far: &[Vec<u32>], near: &[Vec<u32>]) -> (Spans, Measurement) {
        let mut kinds = [KindTimes::default(); Kind::ALL.len()];
        let (mut segments, mut operation) = (0, 0);
        let mut scratch = Vec::with_capacity(far.len());
        let mut spans: Spans = Vec::with_capacity(recorded.len());
        for operations in recorded {
            let mut mine = Vec::with_capacity(operations.len());
            for part in operations.chunks(self.segment) {
                let [low, time, high] = quartiles(far, segments, &mut scratch).map(|ticks| self.picos(ticks));
                segments += 1;
                let weights: Vec<u64> = (operation..operation + part.len())
                    .map(|at| u64::from(quartiles(near, at, &mut scratch)[1]))
                    .collect();
                operation += part.len();
                for (sum, of) in [(low, 0), (time, 1), (high, 2)] {
                    for (recorded, share) in part.iter().zip(divide(sum, &weights)) {
                        let kind = &mut kinds[Kind::of(&recorded.op) as usize];
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
            repetitions: far.len() as u32,
            segment: self.segment,
            reading: Picos((self.reading as f64 * self.clock.tick_ps()).round() as u64),
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

/// `sum` in parts as `weights`, to the picosecond; in equal parts where all weigh nothing.
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
    fn the_clock_of_this_host_goes_on_and_never_back() {
        let mut clock = HostClock::new();
        let first = clock.read();
        let readings: Vec<u64> = (0..1000).map(|_| clock.read()).collect();
        assert!(readings.is_sorted() && readings[0] >= first && readings[999] > first);
        // From 100 MHz to 10 GHz: more is no time stamp counter.
        assert!((100.0..=10_000.0).contains(&clock.tick_ps()), "{}", clock.name());
    }

    #[test]
    fn parts_add_up_to_the_picosecond() {
        for (sum, weights) in [(1000, vec![1, 1, 1]), (7, vec![0, 5, 0, 2]), (0, vec![3]), (10, vec![0, 0, 0, 0])] {
            let parts: Vec<Picos> = divide(Picos(sum), &weights).collect();
            assert_eq!(parts.iter().copied().sum::<Picos>(), Picos(sum));
            // Each part is what is due, but for the rounding of its two ends.
            let all = weights.iter().sum::<u64>();
            for (part, weight) in parts.iter().zip(&weights) {
                let due = (sum * weight).checked_div(all).unwrap_or(sum / weights.len() as u64);
                assert!(part.0.abs_diff(due) <= 1, "{parts:?}");
            }
        }
    }
}
