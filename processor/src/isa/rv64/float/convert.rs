// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conversions between formats, and between them and integers.

use super::exact::{cut, not_a_number, round};
use super::flags::{Flagged, INEXACT, INVALID};
use super::format::{Class, Format};
use crate::isa::rv64::csr::Rounding;

/// The integer of `bits` (32 or 64) bits, sign-extended to a register. A value outside of its range
/// is invalid and gives the nearest limit, and NaN the highest one.
pub(super) fn to_integer<F: Format>(a: u64, bits: u32, is_signed: bool, rounding: Rounding) -> Flagged {
    let highest = if is_signed { u64::MAX >> (65 - bits) } else { u64::MAX >> (64 - bits) };
    // The magnitude of the lowest.
    let lowest = if is_signed { highest + 1 } else { 0 };
    let extend = |value: u64| if bits == 32 { value as i32 as u64 } else { value };
    let is_negative = a & F::SIGN != 0;
    let limit = if is_negative { lowest.wrapping_neg() } else { highest };
    match F::class(a) {
        Class::Nan => (extend(highest), INVALID),
        Class::Infinite => (extend(limit), INVALID),
        Class::Zero => (0, 0),
        Class::Finite => {
            let value = F::unpack(a);
            let significand = u128::from(value.significand);
            let (magnitude, is_inexact) = match value.exponent {
                exponent @ ..0 => cut(significand, exponent.unsigned_abs(), is_negative, rounding),
                exponent @ 0..64 => (significand << exponent, false),
                _ => return (extend(limit), INVALID),
            };
            if magnitude > u128::from(if is_negative { lowest } else { highest }) {
                return (extend(limit), INVALID);
            }
            let magnitude = magnitude as u64;
            let result = if is_negative { magnitude.wrapping_neg() } else { magnitude };
            (extend(result), if is_inexact { INEXACT } else { 0 })
        }
    }
}

pub(super) fn from_signed<F: Format>(value: i64, rounding: Rounding) -> Flagged {
    if value == 0 { (0, 0) } else { round::<F>(value < 0, 0, value.unsigned_abs().into(), rounding) }
}

pub(super) fn from_unsigned<F: Format>(value: u64, rounding: Rounding) -> Flagged {
    if value == 0 { (0, 0) } else { round::<F>(false, 0, value.into(), rounding) }
}

/// A value of another format.
pub(super) fn from_format<From: Format, To: Format>(a: u64, rounding: Rounding) -> Flagged {
    let is_negative = a & From::SIGN != 0;
    let sign = if is_negative { To::SIGN } else { 0 };
    match From::class(a) {
        Class::Nan => (To::NAN, not_a_number::<From>(&[a]).1),
        Class::Infinite => (sign | To::INFINITY, 0),
        Class::Zero => (sign, 0),
        Class::Finite => {
            let value = From::unpack(a);
            round::<To>(is_negative, value.exponent, value.significand.into(), rounding)
        }
    }
}
