// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where keys are at home among the places of a table.

/// As many homes as places but one, and who is at home where.
#[derive(Clone, Copy, Default)]
pub(super) struct Homes {
    count: u64,
    /// The part of 2^64 that is a home.
    step: u64,
    /// So many bits of a tag go round the homes once, or nearly twice.
    round: u32,
}

impl Homes {
    /// Homes at all of `places` but one, so that they are odd in number: tags at an even stride then have different homes
    /// when they have gone round.
    pub(super) fn of(places: usize) -> Self {
        let count = places as u64 - 1;
        Self { count, step: u64::MAX / count + 1, round: count.ilog2() + 1 }
    }

    /// Tags in a row have homes in a row, as far as once round: what is left of the bits when they are divided by the
    /// number of homes, as a part of 2^64. Where each source, and each round of tags, begins is as good as chance: the
    /// square of a number that is large and odd, which unlike a product is the same at no stride.
    #[inline(always)]
    pub(super) fn home(self, bits: u64, source: u32) -> u32 {
        let begin =
            (bits >> (self.round % u64::BITS)).wrapping_add(u64::from(source)).wrapping_mul(0xaf25_1af3_b0f0_25b5);
        let part = bits.wrapping_mul(self.step).wrapping_add(begin.wrapping_mul(begin));
        ((u128::from(part) * u128::from(self.count)) >> 64) as u32
    }
}
