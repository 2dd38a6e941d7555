// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The code of a program, decoded once.

use std::ops::Range;

/// Operations by address, `1 << STEP` bytes apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Text<Op, const STEP: u32> {
    base: u64,
    ops: Vec<Op>,
}

impl<Op, const STEP: u32> Text<Op, STEP> {
    /// Decodes what begins at each of these addresses.
    pub(super) fn new(code: &Range<u64>, decode: impl FnMut(u64) -> Op) -> Self {
        let ops = code.clone().step_by(1 << STEP).map(decode).collect();
        Self { base: code.start, ops }
    }

    /// What begins at `pc`, if that is code and may be the beginning of an instruction.
    #[inline]
    pub(super) fn at(&self, pc: u64) -> Option<&Op> {
        // A rotation makes misaligned addresses large.
        self.ops.get(pc.wrapping_sub(self.base).rotate_right(STEP) as usize)
    }
}
