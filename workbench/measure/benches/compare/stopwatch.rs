// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of repeated sequences, and the unit of a dependent load.

use fastrand::Rng;
use mb_measure::{HostClock, TimestampSource};

/// Times batches of sequences.
pub(crate) struct Stopwatch {
    clock: HostClock,
    /// Batches for each call.
    pub(crate) batches: u32,
}

/// Shortest batch, in nanoseconds: the timestamps around it take less than a thousandth.
const BATCH_NS: f64 = 40_000.0;
/// A sequence that takes longer is run once, without warm-up.
const LONG_NS: f64 = 20e6;

impl Stopwatch {
    pub(crate) fn new(batches: u32) -> Self {
        Self { clock: HostClock::new(), batches }
    }

    /// As [`Self::time`], for `different` sequences in rotation that touch different entries. All
    /// of them, or as many as there is time for, are run before, so that every batch starts with
    /// the same caches.
    pub(crate) fn time_of_many(&mut self, different: u32, items: u32, mut sequence: impl FnMut()) -> Vec<f64> {
        let begin = self.clock.read();
        for _ in 0..different {
            sequence();
            if (self.clock.read() - begin) as f64 * self.clock.tick_ps() / 1000.0 > LONG_NS {
                break;
            }
        }
        self.time(items, sequence)
    }

    /// Nanoseconds for each of the `items` of `sequence`, one value for each batch.
    pub(crate) fn time(&mut self, items: u32, mut sequence: impl FnMut()) -> Vec<f64> {
        let mut batch = |sequences: u32| {
            let begin = self.clock.read();
            (0..sequences).for_each(|_| sequence());
            (self.clock.read() - begin) as f64 * self.clock.tick_ps() / 1000.0
        };
        let first = batch(1);
        if first > LONG_NS {
            return vec![first / f64::from(items)];
        }
        // The second has warm caches. Either may have been interrupted: the shorter one counts.
        let once = first.min(batch(1)).max(1.0);
        let sequences = (BATCH_NS / once).ceil().max(1.0) as u32;
        batch(sequences);
        (0..self.batches).map(|_| batch(sequences) / (f64::from(sequences) * f64::from(items))).collect()
    }
}

/// Nanoseconds of a dependent load from the first-level cache: a unit of the same number of cycles
/// at any clock rate.
pub(crate) fn load_ns(stopwatch: &mut Stopwatch) -> Vec<f64> {
    let mut order: Vec<u32> = (0..512).collect();
    Rng::with_seed(1).shuffle(&mut order);
    let mut next = vec![0_usize; order.len()];
    for (at, &from) in order.iter().enumerate() {
        next[from as usize] = order[(at + 1) % order.len()] as usize;
    }
    let mut at = 0;
    stopwatch.time(512, || {
        for _ in 0..512 {
            // SAFETY: every element is an index of the vector.
            at = unsafe { *next.get_unchecked(at) };
        }
        at = std::hint::black_box(at);
    })
}
