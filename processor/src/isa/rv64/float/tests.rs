// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arithmetic against `rustc_apfloat`, an implementation by others, in all rounding modes.

use mb_core::random::Random;
use rustc_apfloat::ieee;
use rustc_apfloat::{Float, FloatConvert, Round, Status, StatusAnd};

use super::*;
use crate::isa::rv64::csr::FloatStatus;

/// Random triples of operands for each operation, format and mode.
const TRIPLES: u64 = 100_000;

fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::NearestEven => Round::NearestTiesToEven,
        Rounding::TowardZero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
        _ => Round::NearestTiesToAway,
    }
}

fn flags(status: Status) -> u8 {
    let bits = [
        (Status::INEXACT, FloatStatus::INEXACT),
        (Status::UNDERFLOW, FloatStatus::UNDERFLOW),
        (Status::OVERFLOW, FloatStatus::OVERFLOW),
        (Status::DIV_BY_ZERO, FloatStatus::DIVISION_BY_ZERO),
        (Status::INVALID_OP, FloatStatus::INVALID),
    ];
    bits.iter().filter(|bit| status.contains(bit.0)).map(|bit| bit.1).sum()
}

/// A value of the format: any bits, few significant bits, exponents near to each other, near to the
/// limits, subnormal, or special.
fn operand<F: Format>(random: &mut Random) -> u64 {
    let sign = if random.below(2) == 0 { F::SIGN } else { 0 };
    let any = random.next() & F::MASK;
    let fraction = any & (F::SMALLEST_NORMAL - 1);
    let sparse = fraction & (u64::MAX << random.below(u64::from(F::FRACTION) + 1));
    let dense = !sparse & (F::SMALLEST_NORMAL - 1);
    let fraction = random.pick(&[fraction, fraction, sparse, sparse, dense]);
    let limit = 2 * F::BIAS as u64 + 1;
    let field = match random.below(8) {
        0 => return any,
        1 => return sign | random.pick(&[0, 1, F::SMALLEST_NORMAL, F::SMALLEST_NORMAL - 1, F::INFINITY - 1]),
        2 => return sign | random.pick(&[F::INFINITY, F::NAN, F::INFINITY + 1, F::NAN + 5]),
        3 => 0,
        4 => random.below(4),
        5 => limit - 1 - random.below(3),
        _ => F::BIAS as u64 - 3 + random.below(6 + u64::from(F::FRACTION) / 2),
    };
    sign | field << F::FRACTION | fraction
}

/// The exceptions in which the reference differs for a result. It detects tininess of the result
/// that it returns; RISC-V, before the exponent is limited. They differ where the smallest normal
/// value is reached only by rounding. And it signals no overflow to the largest finite value.
fn differing<F: Format>(bits: u64) -> u8 {
    match bits & !F::SIGN {
        magnitude if magnitude == F::SMALLEST_NORMAL => FloatStatus::UNDERFLOW,
        magnitude if magnitude == F::INFINITY - 1 => FloatStatus::OVERFLOW,
        _ => 0,
    }
}

/// The word of an instruction with a rounding mode.
fn word(rounding: Rounding) -> u32 {
    u32::from(rounding.bits()) << 12
}

/// Asserts that an operation has the value and the exceptions of `expected`.
fn check<F: Fast, A: Float>(op: FloatOp, operands: [u64; 3], rounding: Rounding, expected: StatusAnd<A>) {
    let boxed = operands.map(F::boxed);
    let (value, raised) = evaluate::<F>(op, word(rounding), boxed, Rounding::NearestEven).expect("a mode");
    let found = F::unbox(value);
    let bits = if expected.value.is_nan() { F::NAN } else { expected.value.to_bits() as u64 };
    let differs = differing::<F>(bits);
    assert_eq!(
        (found, raised & !differs),
        (bits, flags(expected.status) & !differs),
        "{op:?} {operands:x?} {rounding:?}, {} bits",
        F::FRACTION
    );
}

fn arithmetic<F: Fast, A: Float>(seed: u64) {
    let mut random = Random::of(seed, &[]);
    for _ in 0..TRIPLES {
        let operands = [0; 3].map(|_| operand::<F>(&mut random));
        let [a, b, c] = operands.map(|bits| A::from_bits(bits.into()));
        for rounding in Rounding::MODES {
            let mode = round(rounding);
            check::<F, A>(FloatOp::Add, operands, rounding, a.add_r(b, mode));
            check::<F, A>(FloatOp::Subtract, operands, rounding, a.sub_r(b, mode));
            check::<F, A>(FloatOp::Multiply, operands, rounding, a.mul_r(b, mode));
            check::<F, A>(FloatOp::Divide, operands, rounding, a.div_r(b, mode));
            // The reference does not signal infinity times zero if the addend is a quiet NaN.
            let invalid = a.is_infinite() && b.is_zero() || a.is_zero() && b.is_infinite();
            if !(invalid && c.is_nan()) {
                check::<F, A>(FloatOp::MultiplyAdd, operands, rounding, a.mul_add_r(b, c, mode));
                check::<F, A>(FloatOp::MultiplySubtract, operands, rounding, a.mul_add_r(b, -c, mode));
                check::<F, A>(FloatOp::NegatedMultiplySubtract, operands, rounding, (-a).mul_add_r(b, c, mode));
                check::<F, A>(FloatOp::NegatedMultiplyAdd, operands, rounding, (-a).mul_add_r(b, -c, mode));
            }
        }
    }
}

#[test]
fn single_precision_has_the_results_and_exceptions_of_another_implementation() {
    arithmetic::<Single, ieee::Single>(1);
}

#[test]
fn double_precision_has_the_results_and_exceptions_of_another_implementation() {
    arithmetic::<Double, ieee::Double>(2);
}

fn conversions<F: Fast<Other: Fast>, A: Float + FloatConvert<B>, B: Float>(seed: u64) {
    let mut random = Random::of(seed, &[]);
    for _ in 0..TRIPLES {
        let bits = operand::<F>(&mut random);
        // Values near the limits of integers too.
        let exponent = F::BIAS as u64 + random.pick(&[0, 30, 31, 32, 62, 63, 64]);
        let integral = bits & (F::SIGN | (F::SMALLEST_NORMAL - 1)) | exponent << F::FRACTION;
        let bits = random.pick(&[bits, integral]);
        let integer = random.next() >> random.below(64);
        let bit = random.below(64);
        let integer = random.pick(&[integer, integer.wrapping_neg(), u64::MAX << bit, 1 << bit]);
        let value = A::from_bits(bits.into());
        for rounding in Rounding::MODES {
            let mode = round(rounding);
            let run = |op, operand| evaluate::<F>(op, word(rounding), [operand, 0, 0], Rounding::NearestEven);
            for (op, width, is_signed) in [
                (FloatOp::ToWord, 32, true),
                (FloatOp::ToWordUnsigned, 32, false),
                (FloatOp::ToLong, 64, true),
                (FloatOp::ToLongUnsigned, 64, false),
            ] {
                let mut is_exact = false;
                let (expected, status) = if is_signed {
                    let StatusAnd { value, status } = value.to_i128_r(width, mode, &mut is_exact);
                    (value as u64, status)
                } else {
                    let StatusAnd { value, status } = value.to_u128_r(width, mode, &mut is_exact);
                    (value as u64, status)
                };
                // The limits that the reference does not define: NaN gives the highest value.
                let highest = if is_signed { u64::MAX >> (65 - width) } else { u64::MAX >> (64 - width) };
                let expected = if value.is_nan() { highest } else { expected };
                let expected = if width == 32 { expected as i32 as u64 } else { expected };
                let found = run(op, F::boxed(bits)).expect("a mode");
                assert_eq!(found, (expected, flags(status)), "{op:?} {bits:x} {rounding:?}");
            }
            let word_bits = i64::from(integer as i32);
            for (op, expected) in [
                (FloatOp::FromWord, A::from_i128_r(word_bits.into(), mode)),
                (FloatOp::FromWordUnsigned, A::from_u128_r((integer as u32).into(), mode)),
                (FloatOp::FromLong, A::from_i128_r((integer as i64).into(), mode)),
                (FloatOp::FromLongUnsigned, A::from_u128_r(integer.into(), mode)),
            ] {
                let (found, raised) = run(op, integer).expect("a mode");
                let bits = expected.value.to_bits() as u64;
                assert_eq!(
                    (F::unbox(found), raised),
                    (bits, flags(expected.status)),
                    "{op:?} {integer:x} {rounding:?}"
                );
            }
            let mut loses = false;
            let expected: StatusAnd<B> = value.convert_r(mode, &mut loses);
            let run =
                evaluate::<F::Other>(FloatOp::Convert, word(rounding), [F::boxed(bits), 0, 0], Rounding::NearestEven);
            let (found, raised) = run.expect("a mode");
            let bits_expected = if expected.value.is_nan() { F::Other::NAN } else { expected.value.to_bits() as u64 };
            let differs = differing::<F::Other>(bits_expected);
            assert_eq!(F::Other::unbox(found), bits_expected, "{bits:x} {rounding:?}");
            assert_eq!(raised & !differs, flags(expected.status) & !differs, "{bits:x} {rounding:?}");
        }
    }
}

#[test]
fn conversions_have_the_results_and_exceptions_of_another_implementation() {
    conversions::<Single, ieee::Single, ieee::Double>(3);
    conversions::<Double, ieee::Double, ieee::Single>(4);
}

/// The root of a positive value is the largest value of the format whose square is not above it,
/// and rounding selects between that and the next one.
fn roots<F: Fast>(seed: u64) {
    let mut random = Random::of(seed, &[]);
    for _ in 0..TRIPLES {
        let bits = operand::<F>(&mut random) & !F::SIGN;
        if F::class(bits) != format::Class::Finite {
            continue;
        }
        let run = |rounding| {
            let found = evaluate::<F>(FloatOp::SquareRoot, word(rounding), [F::boxed(bits), 0, 0], rounding);
            let (value, flags) = found.expect("a mode");
            (F::unbox(value), flags)
        };
        let (low, flags) = run(Rounding::TowardZero);
        let value = F::unpack(bits);
        // `significand * 2^exponent` of a square, against the operand: both shifted to the lower
        // exponent.
        let compare = |root: u128, exponent: i32| {
            let (square, exponent) = (root * root, 2 * exponent);
            let shift = value.exponent - exponent;
            assert!(shift >= 0, "a root has fewer bits below the point");
            square.cmp(&(u128::from(value.significand) << shift))
        };
        let root = F::unpack(low);
        let significand = u128::from(root.significand);
        let is_exact = compare(significand, root.exponent).is_eq();
        assert!(compare(significand, root.exponent).is_le(), "{bits:x}");
        assert!(compare(significand + 1, root.exponent).is_gt(), "{bits:x}");
        assert_eq!(flags, if is_exact { 0 } else { FloatStatus::INEXACT }, "{bits:x}");
        let high = if is_exact { low } else { low + 1 };
        // The middle is never a square of a value of the format.
        let middle = compare(2 * significand + 1, root.exponent - 1);
        let nearest = if middle.is_gt() { low } else { high };
        assert_eq!(run(Rounding::Down), (low, flags));
        assert_eq!(run(Rounding::Up), (high, flags), "{bits:x}");
        assert_eq!(run(Rounding::NearestEven), (nearest, flags), "{bits:x}");
        assert_eq!(run(Rounding::NearestAway), (nearest, flags), "{bits:x}");
    }
}

#[test]
fn square_roots_are_rounded_correctly() {
    roots::<Single>(5);
    roots::<Double>(6);
}

/// The same results without host arithmetic.
fn agree<F: Fast>(seed: u64) {
    let mut random = Random::of(seed, &[]);
    let mut taken = 0;
    for _ in 0..5 * TRIPLES {
        let [a, b] = [0; 2].map(|_| operand::<F>(&mut random));
        let near = Rounding::NearestEven;
        for (fast, exact) in [
            (F::add_fast(a, b), exact::add::<F>(a, b, near)),
            (F::multiply_fast(a, b), exact::multiply::<F>(a, b, near)),
            (F::divide_fast(a, b), exact::divide::<F>(a, b, near)),
            (F::root_fast(a), exact::square_root::<F>(a, near)),
        ] {
            if let Some(fast) = fast {
                assert_eq!(fast, exact, "{a:x} {b:x}");
                taken += 1;
            }
        }
    }
    assert!(taken > TRIPLES, "only {taken} with host arithmetic");
}

#[test]
fn host_arithmetic_agrees_with_integers() {
    agree::<Single>(7);
    agree::<Double>(8);
}

#[test]
fn a_reserved_dynamic_mode_has_no_result() {
    let operands = [0x3ff0_0000_0000_0000; 3];
    for bits in 5..8 {
        assert_eq!(evaluate::<Double>(FloatOp::Add, 7 << 12, operands, Rounding::of(bits)), None);
        assert!(evaluate::<Double>(FloatOp::Add, 0, operands, Rounding::of(bits)).is_some());
        assert!(evaluate::<Double>(FloatOp::Minimum, 7 << 12, operands, Rounding::of(bits)).is_some());
    }
}
