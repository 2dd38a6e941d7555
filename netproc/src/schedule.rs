// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets that arrive, and when.

use mb_core::Clock;
use mb_core::random::Random;

/// Parts of a cycle in which times between packets are counted.
const PARTS: u32 = 10;

/// A frame that arrives, with its flow, class and time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// From the Ethernet header on, without frame check sequence.
    pub frame: Vec<u8>,
    /// Number of the packet's flow; packets of a flow that leave in another order are counted.
    pub flow: u32,
    /// Number of the first filter that matches, for a classifier of hardware.
    pub class: Option<u32>,
    /// Nanoseconds after the first packet of the capture ([`ArrivalSchedule::Capture`]).
    pub stamp_ns: u64,
}

/// When packets arrive, from the start of reception on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalSchedule {
    /// A packet waits at all times: the unbounded line rate of crowley2000, section 3.4.
    Saturated,
    /// Packet `n` arrives after `n` of these intervals, in 1/1024 of a cycle.
    Interval(u64),
    /// A Poisson process: independent times with an exponential distribution before each packet.
    Poisson {
        /// Their mean, in 1/1024 of a cycle.
        mean: u64,
        /// Seed of the times.
        seed: u64,
    },
    /// With the time stamps of the capture: the first packet at once, and the others as long after it as in the
    /// capture. A capture that starts again does so one mean time between its packets after its last one.
    Capture {
        /// Clock of the cycles.
        clock: Clock,
        /// Speed in percent: 200 halves the times between packets.
        percent: u64,
    },
}

/// The times of the packets, one after the other. The times of one packet and the next are the same or increase.
#[derive(Clone, Debug)]
pub struct Schedule<'a> {
    input: ArrivalSchedule,
    arrivals: &'a [Arrival],
    random: Random,
    /// The next packet.
    number: u64,
    /// Its arrival, in 1/1024 of a cycle from the start of reception.
    at: u128,
}

impl<'a> Schedule<'a> {
    /// The times of the packets `arrivals[n % arrivals.len()]`.
    #[must_use]
    pub fn new(input: ArrivalSchedule, arrivals: &'a [Arrival]) -> Self {
        let seed = if let ArrivalSchedule::Poisson { seed, .. } = input { seed } else { 0 };
        let mut this = Self { input, arrivals, random: Random::of(seed, &[]), number: 0, at: 0 };
        this.at = this.gap();
        this
    }

    /// Cycles from the start of reception to the arrival of the next packet; none if a packet waits at all times.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        (self.input != ArrivalSchedule::Saturated).then(|| u64::try_from(self.at >> PARTS).unwrap_or(u64::MAX))
    }

    /// The next packet has arrived.
    pub fn advance(&mut self) {
        self.number += 1;
        self.at = match self.input {
            ArrivalSchedule::Saturated => 0,
            ArrivalSchedule::Interval(interval) => u128::from(interval) * u128::from(self.number),
            ArrivalSchedule::Poisson { .. } => self.at + self.gap(),
            ArrivalSchedule::Capture { clock, percent } => self.stamp(clock, percent).max(self.at),
        };
    }

    /// The time before a packet of a Poisson process; 0 for others.
    fn gap(&mut self) -> u128 {
        let ArrivalSchedule::Poisson { mean, .. } = self.input else { return 0 };
        // 53 bits, as many as a double has; never 0.
        let uniform = ((self.random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (-uniform.ln() * mean as f64) as u128
    }

    /// The arrival of the next packet by the stamps of the capture.
    fn stamp(&self, clock: Clock, percent: u64) -> u128 {
        let packets = self.arrivals.len() as u64;
        let span = self.arrivals.last().map_or(0, |last| last.stamp_ns);
        // From the first packet to the first packet of the next round.
        let round = span + span / packets.saturating_sub(1).max(1);
        let stamp = self.arrivals[(self.number % packets) as usize].stamp_ns;
        let ns = u128::from(self.number / packets) * u128::from(round) + u128::from(stamp);
        let parts = u128::from(clock.hertz()) << PARTS;
        // Nanoseconds in a second, times 100 per cent.
        ns.saturating_mul(parts) / (u128::from(percent) * 10_000_000)
    }
}
