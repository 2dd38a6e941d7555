// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The formats binary32 and binary64.

/// The class of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::isa::rv64) enum Class {
    Nan,
    Infinite,
    Zero,
    /// Normal or subnormal.
    Finite,
}

/// A finite value that is not zero: `significand * 2^exponent`. The significand has exactly
/// `FRACTION + 1` bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::isa::rv64) struct Unpacked {
    pub(super) is_negative: bool,
    pub(super) exponent: i32,
    pub(super) significand: u64,
}

/// A binary format. Values are the bits of the format in a `u64`.
pub(in crate::isa::rv64) trait Format: Copy {
    /// The other format.
    type Other: Format;
    /// Bits of the fraction.
    const FRACTION: u32;
    /// The largest exponent of a finite value, which is also the bias.
    const BIAS: i32;
    /// The sign bit.
    const SIGN: u64;
    /// All bits.
    const MASK: u64;
    const INFINITY: u64 = (2 * Self::BIAS as u64 + 1) << Self::FRACTION;
    /// The canonical NaN.
    const NAN: u64 = Self::INFINITY | Self::QUIET;
    /// The bit that is set in a quiet NaN.
    const QUIET: u64 = 1 << (Self::FRACTION - 1);
    const SMALLEST_NORMAL: u64 = 1 << Self::FRACTION;
    /// The lowest exponent of a normal value.
    const MINIMUM: i32 = 1 - Self::BIAS;

    /// The value of a register: a value that is not correctly boxed is the canonical NaN.
    fn unbox(register: u64) -> u64;
    /// The register that holds a value.
    fn boxed(bits: u64) -> u64;
    /// The value that a move from a floating-point to a general register writes.
    fn to_general(register: u64) -> u64;

    #[inline]
    fn is_nan(bits: u64) -> bool {
        bits & !Self::SIGN > Self::INFINITY
    }

    #[inline]
    fn is_signaling(bits: u64) -> bool {
        Self::is_nan(bits) && bits & Self::QUIET == 0
    }

    /// The exponent field.
    #[inline]
    fn field(bits: u64) -> i32 {
        ((bits & Self::INFINITY) >> Self::FRACTION) as i32
    }

    #[inline]
    fn class(bits: u64) -> Class {
        match bits & !Self::SIGN {
            0 => Class::Zero,
            magnitude if magnitude < Self::INFINITY => Class::Finite,
            magnitude if magnitude == Self::INFINITY => Class::Infinite,
            _ => Class::Nan,
        }
    }

    /// The parts of a finite value that is not zero.
    #[inline]
    fn unpack(bits: u64) -> Unpacked {
        let is_negative = bits & Self::SIGN != 0;
        let fraction = bits & (Self::SMALLEST_NORMAL - 1);
        let field = Self::field(bits);
        // The exponent of the last bit of a value with field 1.
        let last = Self::MINIMUM - Self::FRACTION as i32;
        if field == 0 {
            let shift = fraction.leading_zeros() - (63 - Self::FRACTION);
            return Unpacked { is_negative, exponent: last - shift as i32, significand: fraction << shift };
        }
        Unpacked { is_negative, exponent: last + field - 1, significand: fraction | Self::SMALLEST_NORMAL }
    }
}

/// binary32.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa::rv64) struct Single;

/// binary64.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa::rv64) struct Double;

const BOX: u64 = 0xffff_ffff << 32;

impl Format for Single {
    type Other = Double;
    const FRACTION: u32 = 23;
    const BIAS: i32 = 127;
    const SIGN: u64 = 1 << 31;
    const MASK: u64 = 0xffff_ffff;

    #[inline]
    fn unbox(register: u64) -> u64 {
        if register >= BOX { register & Self::MASK } else { Self::NAN }
    }
    #[inline]
    fn boxed(bits: u64) -> u64 {
        bits | BOX
    }
    #[inline]
    fn to_general(register: u64) -> u64 {
        register as i32 as u64
    }
}

impl Format for Double {
    type Other = Single;
    const FRACTION: u32 = 52;
    const BIAS: i32 = 1023;
    const SIGN: u64 = 1 << 63;
    const MASK: u64 = u64::MAX;

    #[inline]
    fn unbox(register: u64) -> u64 {
        register
    }
    #[inline]
    fn boxed(bits: u64) -> u64 {
        bits
    }
    #[inline]
    fn to_general(register: u64) -> u64 {
        register
    }
}
