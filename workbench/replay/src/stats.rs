// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Distributions gathered while replaying: match latency by search depth and by entries visited, and
//! queue lengths over time.

use mb_core::columns::Mergeable;
use mb_core::time::Picos;

use crate::report::{LatencyBin, TimeBin};

/// Match latencies by a number of entries: exact up to 8, then four bins to a power of two.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    bins: Vec<LatencyBin>,
}

const SUB_BITS: u32 = 2;

fn bin_of(entries: u32) -> usize {
    if entries < 1 << (SUB_BITS + 1) {
        return entries as usize;
    }
    let exponent = entries.ilog2();
    let sub = (entries >> (exponent - SUB_BITS)) as usize & ((1 << SUB_BITS) - 1);
    (((exponent - SUB_BITS + 1) as usize) << SUB_BITS) + sub
}

fn first_of(bin: usize) -> u32 {
    if bin < 1 << (SUB_BITS + 1) {
        return bin as u32;
    }
    let exponent = (bin >> SUB_BITS) as u32 + SUB_BITS - 1;
    let sub = (bin & ((1 << SUB_BITS) - 1)) as u32;
    (1 << exponent) + (sub << (exponent - SUB_BITS))
}

impl Latencies {
    #[inline]
    pub(crate) fn add(&mut self, entries: u32, latency: Picos) {
        let bin = bin_of(entries);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, LatencyBin::default());
        }
        let bin = &mut self.bins[bin];
        bin.matches += 1;
        bin.latency.add(latency);
    }

    /// The bins with matches.
    pub(crate) fn finish(self) -> Vec<LatencyBin> {
        let bounded =
            |(at, bin): (usize, LatencyBin)| LatencyBin { from: first_of(at), to: first_of(at + 1) - 1, ..bin };
        self.bins.into_iter().enumerate().filter(|(_, bin)| bin.matches > 0).map(bounded).collect()
    }
}

/// At most this many bins over the whole time.
const TIME_BINS: usize = 1024;

/// Bins of time whose width doubles as the replay goes on.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Bins are `2^shift` ps wide.
    shift: u32,
    bins: Vec<TimeBin>,
}

impl Timeline {
    pub(crate) fn new() -> Self {
        Self { shift: 10, bins: Vec::new() }
    }

    #[inline]
    pub(crate) fn add(&mut self, at: Picos, posted: u32, unexpected: u32) {
        let mut bin = (at.0 >> self.shift) as usize;
        if bin >= self.bins.len() {
            bin = self.grow(at);
        }
        let bin = &mut self.bins[bin];
        bin.posted_max = bin.posted_max.max(posted);
        bin.unexpected_max = bin.unexpected_max.max(unexpected);
        bin.operations += 1;
    }

    #[cold]
    fn grow(&mut self, at: Picos) -> usize {
        while (at.0 >> self.shift) as usize >= TIME_BINS {
            self.shift += 1;
            let halves = self.bins.len().div_ceil(2);
            for half in 0..halves {
                let mut joined = self.bins[2 * half];
                if let Some(other) = self.bins.get(2 * half + 1) {
                    joined.merge(other);
                }
                self.bins[half] = joined;
            }
            self.bins.truncate(halves);
        }
        let bin = (at.0 >> self.shift) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, TimeBin::default());
        }
        bin
    }

    pub(crate) fn finish(mut self) -> Vec<TimeBin> {
        for (at, bin) in self.bins.iter_mut().enumerate() {
            bin.from = Picos((at as u64) << self.shift);
        }
        self.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_of_entries_ends_where_the_next_begins() {
        for bin in 0..100 {
            assert_eq!(bin_of(first_of(bin)), bin);
            assert_eq!(bin_of(first_of(bin + 1) - 1), bin);
        }
    }

    #[test]
    fn doubling_the_width_keeps_maxima_and_counts() {
        let mut timeline = Timeline::new();
        for step in 0..10_000_u64 {
            timeline.add(Picos(step * 1_000_000), (step % 97) as u32, u32::from(step == 5000));
        }
        let bins = timeline.finish();
        assert!(bins.len() <= TIME_BINS);
        assert_eq!(bins.iter().map(|bin| bin.operations).sum::<u64>(), 10_000);
        assert_eq!(bins.iter().map(|bin| bin.posted_max).max(), Some(96));
        let at = bins.iter().position(|bin| bin.unexpected_max == 1).unwrap();
        let width = bins[1].from;
        assert_eq!(at as u64, 5_000_000_000 / width.0);
    }
}
