// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which key list grew last.

/// The key list that grew last.
#[derive(Clone, Copy)]
pub(super) struct Fifo {
    pub(super) bits: u64,
    /// [`NONE`] if there is no such list: one comparison covers both.
    pub(super) source: u64,
    pub(super) home: u32,
    pub(super) youngest: u32,
}

/// No source has this number.
pub(super) const NONE: u64 = u64::MAX;

impl Fifo {
    pub(super) const NONE: Self = Self { bits: 0, source: NONE, home: 0, youngest: 0 };

    #[inline(always)]
    pub(super) fn has_key(&self, bits: u64, source: u32) -> bool {
        self.bits == bits && self.source == u64::from(source)
    }
}
