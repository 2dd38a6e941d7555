// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The operations of the F and D extensions on register values.
//!
//! Every operation has an exact integer implementation for all rounding modes (`exact`). Where the
//! operands are ordinary and the mode is nearest even, host arithmetic computes the result, and an
//! error-free test tells whether it is exact (`fast`). No state of the host's floating-point unit
//! is read or written.
//!
//! Source: The RISC-V Instruction Set Manual, Volume I, chapters "F" and "D"; IEEE 754-2019.

mod convert;
mod exact;
mod fast;
mod flags;
mod format;

#[cfg(test)]
mod tests;

pub use super::csr::Rounding;
use fast::Fast;
use flags::{Flagged, INVALID};
use format::{Class, Format};
pub(super) use format::{Double, Single};

/// An operation, apart from its format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    SquareRoot,
    /// a * b + c.
    MultiplyAdd,
    /// a * b - c.
    MultiplySubtract,
    /// -(a * b) + c.
    NegatedMultiplySubtract,
    /// -(a * b) - c.
    NegatedMultiplyAdd,
    Sign,
    SignNegated,
    SignXor,
    Minimum,
    Maximum,
    Equal,
    Less,
    LessOrEqual,
    Classify,
    ToWord,
    ToWordUnsigned,
    ToLong,
    ToLongUnsigned,
    FromWord,
    FromWordUnsigned,
    FromLong,
    FromLongUnsigned,
    /// From the other format.
    Convert,
    MoveToGeneral,
    MoveFromGeneral,
}

impl FloatOp {
    /// Whether the instruction has a rounding mode.
    pub(super) const fn rounds(self) -> bool {
        !matches!(
            self,
            Self::Sign
                | Self::SignNegated
                | Self::SignXor
                | Self::Minimum
                | Self::Maximum
                | Self::Equal
                | Self::Less
                | Self::LessOrEqual
                | Self::Classify
                | Self::MoveToGeneral
                | Self::MoveFromGeneral
        )
    }
}

/// The result of an operation of format `F` on register values, or `None` if its rounding mode is
/// reserved. `word` is the instruction. Not inlined, so that integer operations keep their registers.
#[inline(never)]
pub(super) fn evaluate<F: Fast>(op: FloatOp, word: u32, operands: [u64; 3], dynamic: Rounding) -> Option<Flagged> {
    let [a, b, c] = operands.map(F::unbox);
    let arithmetic = |result: Flagged| Some((F::boxed(result.0), result.1));
    if op.rounds() {
        let rounding = Rounding::effective(word, dynamic)?;
        let near = rounding == Rounding::NearestEven;
        let negate = |value: u64| value ^ F::SIGN;
        return match op {
            FloatOp::Add | FloatOp::Subtract => {
                let b = if op == FloatOp::Add { b } else { negate(b) };
                let fast = if near { F::add_fast(a, b) } else { None };
                arithmetic(fast.unwrap_or_else(|| exact::add::<F>(a, b, rounding)))
            }
            FloatOp::Multiply => {
                let fast = if near { F::multiply_fast(a, b) } else { None };
                arithmetic(fast.unwrap_or_else(|| exact::multiply::<F>(a, b, rounding)))
            }
            FloatOp::Divide => {
                let fast = if near { F::divide_fast(a, b) } else { None };
                arithmetic(fast.unwrap_or_else(|| exact::divide::<F>(a, b, rounding)))
            }
            FloatOp::SquareRoot => {
                let fast = if near { F::root_fast(a) } else { None };
                arithmetic(fast.unwrap_or_else(|| exact::square_root::<F>(a, rounding)))
            }
            FloatOp::MultiplyAdd => arithmetic(exact::fused::<F>(a, b, c, rounding)),
            FloatOp::MultiplySubtract => arithmetic(exact::fused::<F>(a, b, negate(c), rounding)),
            FloatOp::NegatedMultiplySubtract => arithmetic(exact::fused::<F>(negate(a), b, c, rounding)),
            FloatOp::NegatedMultiplyAdd => arithmetic(exact::fused::<F>(negate(a), b, negate(c), rounding)),
            FloatOp::ToWord => Some(convert::to_integer::<F>(a, 32, true, rounding)),
            FloatOp::ToWordUnsigned => Some(convert::to_integer::<F>(a, 32, false, rounding)),
            FloatOp::ToLong => Some(convert::to_integer::<F>(a, 64, true, rounding)),
            FloatOp::ToLongUnsigned => Some(convert::to_integer::<F>(a, 64, false, rounding)),
            FloatOp::FromWord => arithmetic(convert::from_signed::<F>(i64::from(operands[0] as i32), rounding)),
            FloatOp::FromWordUnsigned => arithmetic(convert::from_unsigned::<F>(operands[0] & 0xffff_ffff, rounding)),
            FloatOp::FromLong => arithmetic(convert::from_signed::<F>(operands[0] as i64, rounding)),
            FloatOp::FromLongUnsigned => arithmetic(convert::from_unsigned::<F>(operands[0], rounding)),
            _ => arithmetic(convert::from_format::<F::Other, F>(F::Other::unbox(operands[0]), rounding)),
        };
    }
    Some(match op {
        FloatOp::Sign => (F::boxed(a & !F::SIGN | b & F::SIGN), 0),
        FloatOp::SignNegated => (F::boxed(a & !F::SIGN | !b & F::SIGN), 0),
        FloatOp::SignXor => (F::boxed(a ^ b & F::SIGN), 0),
        FloatOp::Minimum | FloatOp::Maximum => {
            let (value, flags) = extreme::<F>(a, b, op == FloatOp::Maximum);
            (F::boxed(value), flags)
        }
        FloatOp::Equal => compare::<F>(a, b, false, |a, b| a == b),
        FloatOp::Less => compare::<F>(a, b, true, |a, b| a < b),
        FloatOp::LessOrEqual => compare::<F>(a, b, true, |a, b| a <= b),
        FloatOp::Classify => (classify::<F>(a), 0),
        // Moves keep the bits, boxed or not.
        FloatOp::MoveToGeneral => (F::to_general(operands[0]), 0),
        _ => (F::boxed(operands[0] & F::MASK), 0),
    })
}

/// A number that has the order of the values; both zeros are 0. Not for NaN.
#[inline]
const fn ordered<F: Format>(bits: u64) -> i64 {
    let magnitude = (bits & !F::SIGN) as i64;
    if bits & F::SIGN == 0 { magnitude } else { -magnitude }
}

/// A comparison: 0 if an operand is NaN, which is invalid for a signaling NaN, and for every NaN if
/// the comparison is signaling.
#[inline]
fn compare<F: Format>(a: u64, b: u64, is_signaling: bool, holds: impl FnOnce(i64, i64) -> bool) -> Flagged {
    if F::is_nan(a) || F::is_nan(b) {
        let invalid = is_signaling || F::is_signaling(a) || F::is_signaling(b);
        return (0, if invalid { INVALID } else { 0 });
    }
    (holds(ordered::<F>(a), ordered::<F>(b)).into(), 0)
}

/// minimumNumber or maximumNumber of IEEE 754-2019; -0 is less than +0.
#[inline]
fn extreme<F: Format>(a: u64, b: u64, is_maximum: bool) -> Flagged {
    let flags = if F::is_signaling(a) || F::is_signaling(b) { INVALID } else { 0 };
    let value = match (F::is_nan(a), F::is_nan(b)) {
        (true, true) => F::NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let (key_a, key_b) = (ordered::<F>(a), ordered::<F>(b));
            let a_is_less = key_a < key_b || key_a == key_b && a & F::SIGN != 0;
            if a_is_less == is_maximum { b } else { a }
        }
    };
    (value, flags)
}

/// The mask of fclass.
fn classify<F: Format>(bits: u64) -> u64 {
    let negative = bits & F::SIGN != 0;
    let place = match F::class(bits) {
        Class::Nan => 8 + u32::from(!F::is_signaling(bits)),
        Class::Infinite => {
            if negative {
                0
            } else {
                7
            }
        }
        Class::Zero => {
            if negative {
                3
            } else {
                4
            }
        }
        Class::Finite => match (bits & !F::SIGN < F::SMALLEST_NORMAL, negative) {
            (false, true) => 1,
            (true, true) => 2,
            (true, false) => 5,
            (false, false) => 6,
        },
    };
    1 << place
}
