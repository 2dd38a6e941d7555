// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times at which packets arrive.

use mb_core::Clock;
use mb_netproc::schedule::Schedule;
use mb_netproc::{Arrival, ArrivalSchedule};

/// A capture with these time stamps.
fn capture(stamps: &[u64]) -> Vec<Arrival> {
    let arrival = |&stamp_ns: &u64| Arrival { frame: vec![0; 60], flow: 0, class: None, stamp_ns };
    stamps.iter().map(arrival).collect()
}

/// The cycles of the first `count` packets.
fn times(input: ArrivalSchedule, arrivals: &[Arrival], count: usize) -> Vec<u64> {
    let mut schedule = Schedule::new(input, arrivals);
    let mut next = || {
        let at = schedule.next().unwrap();
        schedule.advance();
        at
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn a_constant_rate_has_multiples_of_the_interval() {
    // 2.5 cycles.
    let found = times(ArrivalSchedule::Interval(2560), &capture(&[0]), 6);
    assert_eq!(found, [0, 2, 5, 7, 10, 12]);
    assert_eq!(Schedule::new(ArrivalSchedule::Saturated, &capture(&[0])).next(), None);
}

#[test]
fn time_stamps_become_cycles_of_the_clock_and_of_the_speed() {
    let arrivals = capture(&[0, 1000, 1000, 4000]);
    let at = |mhz, percent| times(ArrivalSchedule::Capture { clock: Clock::from_mhz(mhz), percent }, &arrivals, 9);
    // The mean time between the packets is 4000/3 ns: a round takes 5333 ns.
    assert_eq!(at(1000, 100), [0, 1000, 1000, 4000, 5333, 6333, 6333, 9333, 10_666]);
    assert_eq!(at(500, 100), [0, 500, 500, 2000, 2666, 3166, 3166, 4666, 5333]);
    assert_eq!(at(500, 200), [0, 250, 250, 1000, 1333, 1583, 1583, 2333, 2666]);
    assert_eq!(at(500, 50)[..4], [0, 1000, 1000, 4000]);
    // One packet, or equal stamps: all at once.
    assert_eq!(
        times(ArrivalSchedule::Capture { clock: Clock::from_mhz(500), percent: 100 }, &capture(&[0]), 3),
        [0; 3]
    );
}

#[test]
fn long_captures_do_not_overflow() {
    // A century, at the lowest speed and the highest clock.
    let century = 100 * 365 * 86_400 * 1_000_000_000;
    let arrivals = capture(&[0, century]);
    let input = ArrivalSchedule::Capture { clock: Clock::from_mhz(100_000), percent: 1 };
    let found = times(input, &arrivals, 2);
    assert_eq!(u128::from(found[1]), (u128::from(century) * 100 * 100).min(u128::from(u64::MAX)));
}

/// The gaps of a Poisson process are independent of the mean but for their scale, and have an exponential distribution:
/// the share of gaps above `k` means is `exp(-k)`.
#[test]
fn gaps_of_a_poisson_process_are_exponential() {
    const COUNT: usize = 200_000;
    const MEAN: u64 = 1000;
    let arrivals = capture(&[0]);
    let of = |mean, seed| times(ArrivalSchedule::Poisson { mean: mean << 10, seed }, &arrivals, COUNT);
    let found = of(MEAN, 7);
    assert_eq!(found, of(MEAN, 7));
    assert_ne!(found[..10], of(MEAN, 8)[..10]);
    for (once, twice) in found.iter().zip(of(2 * MEAN, 7)).take(1000) {
        assert!((2 * once..=2 * once + 2).contains(&twice), "{once} {twice}");
    }
    let gaps: Vec<u64> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    // Four standard deviations of the mean, and of the shares.
    assert!((mean / MEAN as f64 - 1.0).abs() < 4.0 / (COUNT as f64).sqrt(), "{mean}");
    for k in [0.5, 1.0, 2.0, 4.0_f64] {
        let above = gaps.iter().filter(|gap| **gap as f64 >= k * MEAN as f64).count() as f64 / gaps.len() as f64;
        let expected = (-k).exp();
        let deviation = (expected * (1.0 - expected) / COUNT as f64).sqrt();
        assert!((above - expected).abs() < 4.0 * deviation + 1e-3, "{k}: {above} {expected}");
    }
    // Neighbours are not correlated.
    let product: f64 = gaps.windows(2).map(|pair| (pair[0] as f64 - mean) * (pair[1] as f64 - mean)).sum();
    let correlation = product / COUNT as f64 / (mean * mean);
    assert!(correlation.abs() < 4.0 / (COUNT as f64).sqrt(), "{correlation}");
}
