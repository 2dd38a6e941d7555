// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash function that gives each key its home slot in a table.

/// Maps keys to home slots. There is one home slot fewer than there are slots.
#[derive(Clone, Copy, Default)]
pub(super) struct HomeHash {
    homes: u64,
    /// 2^64 divided by the number of home slots.
    step: u64,
    /// Tags of this many bits cover all home slots once, or nearly twice.
    round_bits: u32,
}

impl HomeHash {
    /// The hash for a table of `slots` slots. The number of home slots is odd, so that tags at an
    /// even stride have different home slots after they have wrapped around the table.
    pub(super) fn new(slots: usize) -> Self {
        let homes = slots as u64 - 1;
        Self { homes, step: u64::MAX / homes + 1, round_bits: homes.ilog2() + 1 }
    }

    /// The home slot of a key. Consecutive tags have consecutive home slots until they have gone
    /// round once: the position is the remainder of the low bits divided by the number of home
    /// slots, as a fraction of 2^64. The start of each source, and of each round of tags, is
    /// pseudo-random: the square of a large odd multiple. A plain product would repeat itself at
    /// some strides; a square does not.
    #[inline(always)]
    pub(super) fn home_slot(self, bits: u64, source: u32) -> u32 {
        let start =
            (bits >> (self.round_bits % u64::BITS)).wrapping_add(u64::from(source)).wrapping_mul(0xaf25_1af3_b0f0_25b5);
        let fraction = bits.wrapping_mul(self.step).wrapping_add(start.wrapping_mul(start));
        ((u128::from(fraction) * u128::from(self.homes)) >> 64) as u32
    }
}
