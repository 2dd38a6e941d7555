// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host arithmetic for ordinary operands, rounded to nearest even.
//!
//! The basic operations of Rust's `f32` and `f64` are those of IEEE 754 with this rounding. Whether
//! a result is exact follows from integers, or for a sum from its rounding error, which is a value
//! of the format that three more additions give (Knuth, *The Art of Computer Programming*, volume 2,
//! section 4.2.2, theorem B). Operands are refused where a result could overflow or be subnormal,
//! but for sums, which are exact when they are subnormal.

use super::flags::{Flagged, INEXACT};
use super::format::{Double, Format, Single};

/// Operations with host arithmetic; `None` where the result may not be exact or not raise the right
/// exceptions.
pub(in crate::isa::rv64) trait Fast: Format {
    fn add_fast(a: u64, b: u64) -> Option<Flagged>;
    fn multiply_fast(a: u64, b: u64) -> Option<Flagged>;
    fn divide_fast(a: u64, b: u64) -> Option<Flagged>;
    fn root_fast(a: u64) -> Option<Flagged>;
}

macro_rules! host_arithmetic {
    ($name:ident, $float:ident, $bits:ident, $wide:ident, $format:ident) => {
        mod $name {
            use super::{Flagged, Format, INEXACT, $format as This};

            const FRACTION: u32 = This::FRACTION;
            /// The exponent field of infinity.
            const LIMIT: i32 = 2 * This::BIAS + 1;

            const fn host(value: u64) -> $float {
                $float::from_bits(value as $bits)
            }

            #[inline]
            fn flagged(result: $float, is_inexact: bool) -> Option<Flagged> {
                Some((result.to_bits().into(), if is_inexact { INEXACT } else { 0 }))
            }

            /// The significand of a normal value without its trailing zeros.
            #[inline]
            const fn odd(value: u64) -> u64 {
                let significand = value & (This::SMALLEST_NORMAL - 1) | This::SMALLEST_NORMAL;
                significand >> significand.trailing_zeros()
            }

            #[inline]
            pub(super) fn add(a: u64, b: u64) -> Option<Flagged> {
                if This::field(a).max(This::field(b)) >= LIMIT - 2 {
                    return None;
                }
                let (a, b) = (host(a), host(b));
                let sum = a + b;
                let second = sum - a;
                let error = (a - (sum - second)) + (b - second);
                flagged(sum, error != 0.0)
            }

            #[inline]
            pub(super) fn multiply(a: u64, b: u64) -> Option<Flagged> {
                let (ea, eb) = (This::field(a), This::field(b));
                let sum = ea + eb - This::BIAS;
                if ea == 0 || eb == 0 || ea == LIMIT || eb == LIMIT || !(2..=LIMIT - 3).contains(&sum) {
                    return None;
                }
                // The product of the odd parts is odd: it fits if it has at most FRACTION + 1 bits.
                let product = $wide::from(odd(a)) * $wide::from(odd(b));
                flagged(host(a) * host(b), product >> (FRACTION + 1) != 0)
            }

            #[inline]
            pub(super) fn divide(a: u64, b: u64) -> Option<Flagged> {
                let (ea, eb) = (This::field(a), This::field(b));
                let difference = ea - eb + This::BIAS;
                if ea == 0 || eb == 0 || ea == LIMIT || eb == LIMIT || !(2..=LIMIT - 3).contains(&difference) {
                    return None;
                }
                let quotient = host(a) / host(b);
                // Exact if quotient times divisor is the dividend, apart from powers of two.
                let (odd_q, odd_b) = (odd(quotient.to_bits().into()), odd(b));
                flagged(quotient, $wide::from(odd_q) * $wide::from(odd_b) != $wide::from(odd(a)))
            }

            #[inline]
            pub(super) fn square_root(a: u64) -> Option<Flagged> {
                let exponent = This::field(a);
                if exponent == 0 || exponent == LIMIT || a & This::SIGN != 0 {
                    return None;
                }
                let root = host(a).sqrt();
                let odd_root = $wide::from(odd(root.to_bits().into()));
                // An odd part that is not square has a root that is not exact; a factor of two
                // between the parts makes them different.
                flagged(root, odd_root * odd_root != $wide::from(odd(a)))
            }
        }

        impl Fast for $format {
            #[inline]
            fn add_fast(a: u64, b: u64) -> Option<Flagged> {
                $name::add(a, b)
            }
            #[inline]
            fn multiply_fast(a: u64, b: u64) -> Option<Flagged> {
                $name::multiply(a, b)
            }
            #[inline]
            fn divide_fast(a: u64, b: u64) -> Option<Flagged> {
                $name::divide(a, b)
            }
            #[inline]
            fn root_fast(a: u64) -> Option<Flagged> {
                $name::square_root(a)
            }
        }
    };
}

host_arithmetic!(single, f32, u32, u64, Single);
host_arithmetic!(double, f64, u64, u128, Double);
