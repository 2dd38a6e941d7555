// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The text segment of a program, decoded once.

use std::ops::Range;

/// Decoded operations by address, one for every `1 << STEP` bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DecodedText<Op, const STEP: u32> {
    base: u64,
    ops: Vec<Op>,
}

impl<Op, const STEP: u32> DecodedText<Op, STEP> {
    /// Decodes every address of `code` at which an instruction can begin.
    pub(super) fn new(code: &Range<u64>, decode: impl FnMut(u64) -> Op) -> Self {
        let ops = code.clone().step_by(1 << STEP).map(decode).collect();
        Self { base: code.start, ops }
    }

    /// The operation at `pc`, if `pc` is aligned and inside the code.
    #[inline]
    pub(super) fn at(&self, pc: u64) -> Option<&Op> {
        // The rotation moves misaligned bits to the top, so that one bounds check covers both
        // conditions.
        self.ops.get(pc.wrapping_sub(self.base).rotate_right(STEP) as usize)
    }
}
