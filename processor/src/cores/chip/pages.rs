// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The progress of a load or store with bytes in two pages, and its parts.

use crate::isa::rv64::supervisor::Exception;
use crate::isa::rv64::sv39::{Access, PAGE_BYTES};

/// The progress of an access across two pages that is the oldest instruction of a context.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Across {
    /// The number of the instruction plus 1; 0: none is begun.
    pub(super) owner: u64,
    /// The physical address of the first byte in each page, once it is known.
    pub(super) pages: [Option<u64>; 2],
    /// Bytes that are moved.
    pub(super) done: u8,
    /// The bytes of a load.
    pub(super) value: u64,
    /// The cycle in which they are known.
    pub(super) at: u64,
}

impl Across {
    /// Whether the instruction with this number has begun such an access.
    pub(super) const fn belongs_to(&self, number: u64) -> bool {
        self.owner == number + 1
    }

    /// Discards an access of the instructions from number `first` on, whose numbers are used again.
    pub(super) const fn squash(&mut self, first: u64) {
        if self.owner > first {
            self.owner = 0;
        }
    }

    pub(super) fn take(&mut self, width: u8, value: u64, at: u64) {
        let mask = (1 << (8 * width)) - 1;
        self.value |= (value & mask) << (8 * self.done);
        self.done += width;
        self.at = self.at.max(at);
    }
}

/// Whether an access has bytes in two pages.
pub(super) const fn crosses(address: u64, width: u8) -> bool {
    address % PAGE_BYTES + width as u64 > PAGE_BYTES
}

/// The first address of the page after that of `address`.
pub(super) const fn next_page(address: u64) -> u64 {
    (address | (PAGE_BYTES - 1)).wrapping_add(1)
}

/// The physical address and the bytes of the next part of an access at a virtual address.
pub(super) fn part(across: &Across, address: u64, width: u8) -> (u64, u8) {
    let first = next_page(address).wrapping_sub(address) as u8;
    let (page, offset, left) = if across.done < first {
        (0, across.done, first - across.done)
    } else {
        (1, across.done - first, width - across.done)
    };
    let bytes = 1 << left.ilog2();
    (across.pages[page].unwrap_or(0) + u64::from(offset), bytes)
}

/// The exception of an access to two pages that is an atomic, which must be aligned.
pub(super) const fn misaligned(access: Access) -> Exception {
    match access {
        Access::Load => Exception::LoadMisaligned,
        _ => Exception::StoreMisaligned,
    }
}
