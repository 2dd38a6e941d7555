// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Latencies of floating-point instructions, with their sources.

use crate::InstructionClass;

/// Cycles from the issue of a floating-point instruction to the issue of one that needs its result.
/// Both formats take the same time: that of binary64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct FloatLatencies {
    /// Moves, sign changes, comparisons, minimum and maximum.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub simple: u64,
    /// Conversions between formats, and between them and integers.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub convert: u64,
    /// Addition and subtraction.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub add: u64,
    /// Multiplication.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub multiply: u64,
    /// Multiplication with addition.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub fused: u64,
    /// Division.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub divide: u64,
    /// Square root.
    #[parameter(range = 1..=1024, unit = Cycles)]
    pub square_root: u64,
}

impl FloatLatencies {
    /// The defaults of sim-outorder (`SimpleScalar` 3.0, `fu_config` in `sim-outorder.c`). It has no
    /// fused operation; assumed: a multiplication and an addition.
    pub const SIM_OUTORDER: Self =
        Self { simple: 2, convert: 2, add: 2, multiply: 4, fused: 6, divide: 12, square_root: 24 };

    /// Tullsen et al., *Exploiting Choice* (ISCA 1996), Table 1: division 30 cycles, everything else 4. Assumed: a
    /// square root takes as long as a division.
    pub const TULLSEN1996: Self =
        Self { simple: 4, convert: 4, add: 4, multiply: 4, fused: 4, divide: 30, square_root: 30 };

    /// LLVM's `AArch64SchedA57.td`, which also serves the Cortex-A72. Conversions are
    /// those from and to general registers.
    pub const CORTEX_A57: Self =
        Self { simple: 3, convert: 10, add: 5, multiply: 5, fused: 9, divide: 32, square_root: 32 };

    /// The latency of a class, or `None` if it is not one of floating point.
    #[inline]
    #[must_use]
    pub const fn of(&self, class: InstructionClass) -> Option<u64> {
        Some(match class {
            InstructionClass::FloatMove => self.simple,
            InstructionClass::FloatConvert => self.convert,
            InstructionClass::FloatAdd => self.add,
            InstructionClass::FloatMultiply => self.multiply,
            InstructionClass::FloatFused => self.fused,
            InstructionClass::FloatDivide => self.divide,
            InstructionClass::FloatSquareRoot => self.square_root,
            _ => return None,
        })
    }
}
