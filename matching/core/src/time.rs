// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Units that cannot be mixed: picoseconds, cycles and bytes.
//!
//! Only a [`Clock`] turns [`Cycles`] into [`Picos`]. There is no `From<u64>`, no arithmetic between
//! different units, and overflow is a panic that names the operation: 2^64 ps are 213 days, more than
//! any run this workbench replays, so an overflow is a bug and not an input.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

macro_rules! unit {
    ($name:ident, $doc:literal, $suffix:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(
            /// The bare count, for formatting and for the edges where units are in the name.
            pub u64,
        );

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            /// The largest value; used as "never".
            pub const MAX: Self = Self(u64::MAX);

            /// The difference, or zero when `earlier` is the larger one.
            #[must_use]
            pub const fn saturating_sub(self, earlier: Self) -> Self {
                Self(self.0.saturating_sub(earlier.0))
            }

            /// The sum, or `None` when it does not fit.
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0.checked_add(other.0).expect(concat!(stringify!($name), " + overflows 64 bits")))
            }
        }

        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0.checked_sub(other.0).expect(concat!(stringify!($name), " - is negative")))
            }
        }

        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, times: u64) -> Self {
                Self(self.0.checked_mul(times).expect(concat!(stringify!($name), " * overflows 64 bits")))
            }
        }

        impl Div<u64> for $name {
            type Output = Self;
            #[inline]
            fn div(self, parts: u64) -> Self {
                Self(self.0 / parts)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $suffix), self.0)
            }
        }
    };
}

unit!(Picos, "A time or a span of time in picoseconds.", "ps");
unit!(Cycles, "A number of clock cycles of one engine.", "cycles");
unit!(Bytes, "A size in bytes.", "B");

impl Picos {
    /// A span of whole nanoseconds.
    ///
    /// # Panics
    /// When `ns` exceeds 2^64 ps.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        match ns.checked_mul(1000) {
            Some(ps) => Self(ps),
            None => panic!("nanoseconds overflow 64 bits of picoseconds"),
        }
    }

    /// The value in nanoseconds, for reports.
    #[must_use]
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

/// A clock: the only place where [`Cycles`] become [`Picos`].
///
/// Edge `n` of a clock of `f` hertz is at `ceil(n * 10^12 / f)` ps, so that a clock whose period is no
/// whole number of picoseconds (150 MHz: 6666.67 ps) never drifts by more than one picosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    hertz: u64,
    /// The period in picoseconds if it is a whole number below 2^20, else zero: most clocks need no division.
    period: u64,
}

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

impl Clock {
    /// A clock of `mhz` megahertz.
    ///
    /// # Panics
    /// When `mhz` is zero.
    #[must_use]
    pub const fn from_mhz(mhz: u64) -> Self {
        Self::from_khz(mhz * 1000)
    }

    /// A clock of `khz` kilohertz.
    ///
    /// # Panics
    /// When `khz` is zero.
    #[must_use]
    pub const fn from_khz(khz: u64) -> Self {
        assert!(khz > 0, "a clock needs a frequency above zero");
        let hertz = khz * 1000;
        let period = 1_000_000_000_000 / hertz;
        let is_whole = period * hertz == 1_000_000_000_000 && period < 1 << 20;
        Self { hertz, period: if is_whole { period } else { 0 } }
    }

    /// The frequency in hertz.
    #[must_use]
    pub const fn hertz(self) -> u64 {
        self.hertz
    }

    /// The time that `cycles` take, counted from an edge at time zero, rounded up to a picosecond.
    ///
    /// # Panics
    /// When the span exceeds 2^64 ps.
    #[must_use]
    #[inline]
    pub fn span(self, cycles: Cycles) -> Picos {
        if self.period > 0 && cycles.0 < 1 << 40 {
            return Picos(cycles.0 * self.period);
        }
        let ps = (u128::from(cycles.0) * PICOS_PER_SECOND).div_ceil(u128::from(self.hertz));
        Picos(u64::try_from(ps).expect("span overflows 64 bits of picoseconds"))
    }

    /// The number of the first edge at or after `time` (edge 0 is at time zero).
    ///
    /// # Panics
    /// When that number exceeds 2^64, which takes a clock above a terahertz.
    #[must_use]
    pub fn edge_at_or_after(self, time: Picos) -> Cycles {
        // Edge n is at ceil(n * T / f); ceil(n * T / f) >= t  <=>  n * T / f > t - 1  <=>  n > (t - 1) * f / T.
        if time == Picos::ZERO {
            return Cycles::ZERO;
        }
        let below = u128::from(time.0 - 1) * u128::from(self.hertz) / PICOS_PER_SECOND;
        Cycles(u64::try_from(below + 1).expect("edge number overflows 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_500_mhz_cycle_is_2000_picoseconds() {
        assert_eq!(Clock::from_mhz(500).span(Cycles(31)), Picos(62_000));
    }

    #[test]
    fn a_period_that_is_no_whole_number_does_not_drift() {
        let clock = Clock::from_mhz(150);
        assert_eq!(clock.span(Cycles(1)), Picos(6667));
        assert_eq!(clock.span(Cycles(3)), Picos(20_000));
        assert_eq!(clock.span(Cycles(150_000_000)), Picos(1_000_000_000_000));
    }

    #[test]
    #[should_panic(expected = "Picos - is negative")]
    fn a_negative_span_is_a_bug() {
        let _ = Picos(1) - Picos(2);
    }

    proptest! {
        #[test]
        fn the_first_edge_after_a_time_is_tight(khz in 1_u64..5_000_000, time in 0_u64..1 << 50) {
            let clock = Clock::from_khz(khz);
            let edge = clock.edge_at_or_after(Picos(time));
            prop_assert!(clock.span(edge) >= Picos(time));
            if edge > Cycles::ZERO {
                prop_assert!(clock.span(edge - Cycles(1)) < Picos(time));
            }
        }
    }
}
