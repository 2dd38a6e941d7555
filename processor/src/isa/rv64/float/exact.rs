// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arithmetic with integers, for every operand and rounding mode.
//!
//! An operation computes its result as `significand * 2^exponent` with a significand of 128 bits.
//! Where bits are cut off, the last bit is set if one of them was set; then at least two more bits
//! are below those that the format keeps, so that the rounding sees whether the rest is zero, less
//! than a half, a half, or more.

use super::flags::{Flagged, INEXACT, INVALID};
use super::format::{Class, Format, Unpacked};
use crate::isa::rv64::csr::{FloatStatus, Rounding};

/// Whether a magnitude is rounded up, for what is cut off.
#[inline]
const fn rounds_up(rounding: Rounding, is_negative: bool, is_odd: bool, rest: u128, half: u128) -> bool {
    match rounding {
        Rounding::NearestEven => rest > half || rest == half && is_odd,
        Rounding::NearestAway => rest >= half,
        Rounding::Down => is_negative && rest != 0,
        Rounding::Up => !is_negative && rest != 0,
        Rounding::TowardZero | Rounding::Reserved(_) => false,
    }
}

/// `significand` without its last `drop` bits, rounded; and whether it changed. Neither `drop` nor
/// the value has a limit.
#[inline]
pub(super) fn cut(significand: u128, drop: u32, is_negative: bool, rounding: Rounding) -> (u128, bool) {
    // Everything is less than a half.
    let (significand, drop) = if drop > 127 { ((significand != 0).into(), 2) } else { (significand, drop) };
    if drop == 0 {
        return (significand, false);
    }
    let kept = significand >> drop;
    let (rest, half) = (significand & ((1 << drop) - 1), 1 << (drop - 1));
    let up = rounds_up(rounding, is_negative, kept & 1 == 1, rest, half);
    (kept + u128::from(up), rest != 0)
}

/// Rounds `significand * 2^exponent`, which is not zero, to the format.
#[inline]
pub(super) fn round<F: Format>(is_negative: bool, exponent: i32, significand: u128, rounding: Rounding) -> Flagged {
    let sign = if is_negative { F::SIGN } else { 0 };
    let length = 128 - significand.leading_zeros();
    let excess = length as i32 - (F::FRACTION as i32 + 1);
    let top = exponent + length as i32 - 1;
    // A subnormal result keeps fewer bits.
    let drop = excess.max(F::MINIMUM - F::FRACTION as i32 - exponent);
    let (kept, is_inexact) =
        if drop > 0 { cut(significand, drop as u32, is_negative, rounding) } else { (significand << -drop, false) };
    let mut flags = if is_inexact { INEXACT } else { 0 };
    // A carry out of the fraction increments the exponent field, as it must.
    let field = (top - F::MINIMUM).max(0) as u64;
    let magnitude = (field << F::FRACTION) + kept as u64;
    if magnitude >= F::INFINITY {
        let to_infinity = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::Down => is_negative,
            Rounding::Up => !is_negative,
            Rounding::TowardZero | Rounding::Reserved(_) => false,
        };
        let magnitude = if to_infinity { F::INFINITY } else { F::INFINITY - 1 };
        return (sign | magnitude, FloatStatus::OVERFLOW | INEXACT);
    }
    if is_inexact && top < F::MINIMUM {
        // Tiny after rounding: with an unbounded exponent it would still be below the normal values.
        let reaches_normal = top == F::MINIMUM - 1
            && excess > 0
            && cut(significand, excess as u32, is_negative, rounding).0 == 1 << (F::FRACTION + 1);
        if !reaches_normal {
            flags |= FloatStatus::UNDERFLOW;
        }
    }
    (sign | magnitude, flags)
}

/// The result of an operation with a NaN operand.
pub(super) fn not_a_number<F: Format>(operands: &[u64]) -> Flagged {
    (F::NAN, if operands.iter().any(|&bits| F::is_signaling(bits)) { INVALID } else { 0 })
}

const fn invalid<F: Format>() -> Flagged {
    (F::NAN, INVALID)
}

/// The zero of an exact sum of values that cancel.
const fn cancelled<F: Format>(rounding: Rounding) -> Flagged {
    (if matches!(rounding, Rounding::Down) { F::SIGN } else { 0 }, 0)
}

/// The sum of two terms, neither of which is zero. Each has its sign, exponent and significand;
/// significands have at most 106 bits. The exponent of the first is not less than that of the
/// second if `a` is not cut off, see the callers.
#[inline]
fn sum<F: Format>(
    (a_negative, a_exponent, a): (bool, i32, u128),
    (b_negative, b_exponent, b): (bool, i32, u128),
    rounding: Rounding,
) -> Flagged {
    // The term with the higher last bit is shifted up as far as there is room, with one bit for a
    // carry; the other one is cut off if that is not enough.
    let ((upper_negative, upper_exponent, upper), (lower_negative, lower_exponent, lower)) = if a_exponent >= b_exponent
    {
        ((a_negative, a_exponent, a), (b_negative, b_exponent, b))
    } else {
        ((b_negative, b_exponent, b), (a_negative, a_exponent, a))
    };
    let distance = (upper_exponent - lower_exponent) as u32;
    let shift = distance.min(upper.leading_zeros() - 1);
    let rest = distance - shift;
    let upper = upper << shift;
    let lower = if rest == 0 {
        lower
    } else if rest > 127 {
        1
    } else {
        lower >> rest | u128::from(lower & ((1 << rest) - 1) != 0)
    };
    let exponent = upper_exponent - shift as i32;
    let (is_negative, significand) = if upper_negative == lower_negative {
        (upper_negative, upper + lower)
    } else if upper == lower {
        return cancelled::<F>(rounding);
    } else if upper > lower {
        (upper_negative, upper - lower)
    } else {
        (lower_negative, lower - upper)
    };
    round::<F>(is_negative, exponent, significand, rounding)
}

pub(super) fn add<F: Format>(a: u64, b: u64, rounding: Rounding) -> Flagged {
    match (F::class(a), F::class(b)) {
        (Class::Nan, _) | (_, Class::Nan) => not_a_number::<F>(&[a, b]),
        (Class::Infinite, Class::Infinite) if a != b => invalid::<F>(),
        (Class::Infinite, _) | (Class::Finite, Class::Zero) => (a, 0),
        (_, Class::Infinite) | (Class::Zero, Class::Finite) => (b, 0),
        (Class::Zero, Class::Zero) if a == b => (a, 0),
        (Class::Zero, Class::Zero) => cancelled::<F>(rounding),
        (Class::Finite, Class::Finite) => {
            let [a, b] = [a, b].map(F::unpack);
            sum::<F>(term(&a), term(&b), rounding)
        }
    }
}

/// A value as a term of [`sum`].
fn term(value: &Unpacked) -> (bool, i32, u128) {
    (value.is_negative, value.exponent, value.significand.into())
}

pub(super) fn multiply<F: Format>(a: u64, b: u64, rounding: Rounding) -> Flagged {
    let sign = (a ^ b) & F::SIGN;
    match (F::class(a), F::class(b)) {
        (Class::Nan, _) | (_, Class::Nan) => not_a_number::<F>(&[a, b]),
        (Class::Infinite, Class::Zero) | (Class::Zero, Class::Infinite) => invalid::<F>(),
        (Class::Infinite, _) | (_, Class::Infinite) => (sign | F::INFINITY, 0),
        (Class::Zero, _) | (_, Class::Zero) => (sign, 0),
        (Class::Finite, Class::Finite) => {
            let [a, b] = [a, b].map(F::unpack);
            let product = u128::from(a.significand) * u128::from(b.significand);
            round::<F>(sign != 0, a.exponent + b.exponent, product, rounding)
        }
    }
}

/// `a * b + c`, rounded once.
#[inline]
pub(super) fn fused<F: Format>(a: u64, b: u64, c: u64, rounding: Rounding) -> Flagged {
    let is_negative = (a ^ b) & F::SIGN != 0;
    let sign = if is_negative { F::SIGN } else { 0 };
    match (F::class(a), F::class(b), F::class(c)) {
        (Class::Finite, Class::Finite, Class::Finite) => {
            let [a, b, c] = [a, b, c].map(F::unpack);
            let product = u128::from(a.significand) * u128::from(b.significand);
            sum::<F>((is_negative, a.exponent + b.exponent, product), term(&c), rounding)
        }
        // Invalid also if the addend is a quiet NaN.
        (Class::Infinite, Class::Zero, _) | (Class::Zero, Class::Infinite, _) => invalid::<F>(),
        (Class::Nan, ..) | (_, Class::Nan, _) | (.., Class::Nan) => not_a_number::<F>(&[a, b, c]),
        (Class::Infinite, ..) | (_, Class::Infinite, _) => add::<F>(sign | F::INFINITY, c, rounding),
        (.., Class::Infinite) => (c, 0),
        (Class::Zero, ..) | (_, Class::Zero, _) => add::<F>(sign, c, rounding),
        (Class::Finite, Class::Finite, Class::Zero) => multiply::<F>(a, b, rounding),
    }
}

pub(super) fn divide<F: Format>(a: u64, b: u64, rounding: Rounding) -> Flagged {
    let sign = (a ^ b) & F::SIGN;
    match (F::class(a), F::class(b)) {
        (Class::Nan, _) | (_, Class::Nan) => not_a_number::<F>(&[a, b]),
        (Class::Infinite, Class::Infinite) | (Class::Zero, Class::Zero) => invalid::<F>(),
        (Class::Infinite, _) => (sign | F::INFINITY, 0),
        (Class::Finite, Class::Zero) => (sign | F::INFINITY, FloatStatus::DIVISION_BY_ZERO),
        (Class::Zero, _) | (_, Class::Infinite) => (sign, 0),
        (Class::Finite, Class::Finite) => {
            let [a, b] = [a, b].map(F::unpack);
            // The quotient has at least FRACTION + 4 bits, one of which says whether there is a
            // remainder.
            let shift = F::FRACTION + 4;
            let (numerator, denominator) = (u128::from(a.significand) << shift, u128::from(b.significand));
            let quotient = numerator / denominator;
            let significand = quotient | u128::from(quotient * denominator != numerator);
            round::<F>(sign != 0, a.exponent - b.exponent - shift as i32, significand, rounding)
        }
    }
}

pub(super) fn square_root<F: Format>(a: u64, rounding: Rounding) -> Flagged {
    match F::class(a) {
        Class::Nan => not_a_number::<F>(&[a]),
        Class::Zero => (a, 0),
        _ if a & F::SIGN != 0 => invalid::<F>(),
        Class::Infinite => (a, 0),
        Class::Finite => {
            let value = F::unpack(a);
            // An even exponent, and a radicand of at least 2 * (FRACTION + 3) bits.
            let shift = F::FRACTION + 6 + u32::from((value.exponent - (F::FRACTION as i32 + 6)) % 2 != 0);
            let radicand = u128::from(value.significand) << shift;
            let root = radicand.isqrt();
            let significand = root | u128::from(root * root != radicand);
            round::<F>(false, (value.exponent - shift as i32) / 2, significand, rounding)
        }
    }
}
