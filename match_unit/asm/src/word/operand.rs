// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The operands of instructions other than register numbers: permutes, operand 2 and truth tables, each with its
//! meaning.

use super::AluReg;
use crate::layout::Half;

/// Which 16-bit field of a popped word goes to which field of the ternary register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldPermute(pub(super) u8);

impl FieldPermute {
    /// Every field to its own place.
    pub const IDENTITY: Self = Self(0b11_10_01_00);

    /// From the field's bits: bits 2i+1 and 2i name the source of field i.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The field's bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The source of field `place`, 0 to 3.
    #[must_use]
    pub const fn source(self, place: usize) -> usize {
        (self.0 >> (2 * place) & 3) as usize
    }

    /// The permuted word.
    #[must_use]
    pub const fn apply(self, word: u64) -> u64 {
        let mut result = 0;
        let mut place = 0;
        while place < 4 {
            result |= (word >> (16 * self.source(place)) & 0xffff) << (16 * place);
            place += 1;
        }
        result
    }
}

/// Where one byte of a permute's result comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ByteSource {
    /// Byte 0 to 7 of operand 1; 0 is the least significant.
    First(u8),
    /// Byte 0 to 7 of operand 2.
    Second(u8),
    /// Zero.
    Zero,
}

/// The eight byte selectors of a permute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ByteSelect(u64);

impl ByteSelect {
    const ZERO_CODE: u64 = 16;

    /// From the sources of bytes 0 to 7 of the result; byte numbers count modulo 8.
    #[must_use]
    pub fn new(sources: [ByteSource; 8]) -> Self {
        Self(sources.iter().enumerate().fold(0, |control, (place, source)| {
            let code = match source {
                ByteSource::First(byte) => u64::from(byte & 7),
                ByteSource::Second(byte) => u64::from(byte & 7) + 8,
                ByteSource::Zero => Self::ZERO_CODE,
            };
            control | code << (5 * place)
        }))
    }

    /// From the 40-bit control, if each of its selectors has a meaning.
    #[must_use]
    pub fn from_control(control: u64) -> Option<Self> {
        let valid = control >> 40 == 0 && (0..8).all(|place| control >> (5 * place) & 31 <= Self::ZERO_CODE);
        valid.then_some(Self(control))
    }

    /// The 40-bit control.
    #[must_use]
    pub const fn control(self) -> u64 {
        self.0
    }

    /// The source of byte `place`, 0 to 7, of the result.
    #[must_use]
    pub const fn source(self, place: usize) -> ByteSource {
        let code = (self.0 >> (5 * place) & 31) as u8;
        match code {
            0..=7 => ByteSource::First(code),
            8..=15 => ByteSource::Second(code - 8),
            _ => ByteSource::Zero,
        }
    }

    /// The permuted bytes of two operands.
    #[must_use]
    pub const fn apply(self, first: u64, second: u64) -> u64 {
        let mut result = 0;
        let mut place = 0;
        while place < 8 {
            let byte = match self.source(place) {
                ByteSource::First(byte) => first >> (8 * byte) & 0xff,
                ByteSource::Second(byte) => second >> (8 * byte) & 0xff,
                ByteSource::Zero => 0,
            };
            result |= byte << (8 * place);
            place += 1;
        }
        result
    }
}

/// Operand 2 of the ALU: a register, one half of which an immediate may replace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operand2 {
    /// The register, field `rs2`.
    pub reg: AluReg,
    /// The immediate and the half it replaces.
    pub immediate: Option<(Half, u32)>,
}

impl Operand2 {
    /// The operand, when the register reads as `reg`.
    #[must_use]
    pub const fn value(self, reg: u64) -> u64 {
        match self.immediate {
            None => reg,
            Some((Half::Low, value)) => reg & 0xffff_ffff_0000_0000 | value as u64,
            Some((Half::High, value)) => reg & 0xffff_ffff | (value as u64) << 32,
        }
    }
}

/// A boolean function of two inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TruthTable(pub(super) u8);

impl TruthTable {
    /// From four bits: bit 2a+b is the result for inputs a and b.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits < 16 { Some(Self(bits)) } else { None }
    }

    /// The four bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The function's value.
    #[must_use]
    pub const fn eval(self, a: bool, b: bool) -> bool {
        self.0 >> (2 * a as u8 + b as u8) & 1 == 1
    }
}
