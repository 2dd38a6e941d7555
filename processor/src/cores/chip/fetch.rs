// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a context fetches, and its fetch buffer.

use super::code::{Decoded, Fetched};
use super::config::ChipConfig;
use crate::isa::rv64::supervisor::Exception;

/// Where a context fetches, and what stops it.
#[derive(Clone, Debug)]
pub(super) struct Fetch {
    pub(super) pc: u64,
    /// The first cycle in which the context can fetch.
    pub(super) from: u64,
    /// Waits for a block of the instruction cache.
    pub(super) pending: bool,
    /// Waits for the commit of the last instruction fetched.
    pub(super) stopped: bool,
    /// The address of the block in the fetch buffer.
    pub(super) block: u64,
    /// The blocks that were fetched last, by their addresses; the one in the fetch buffer is at `place`.
    pub(super) recent: [Option<Fetched>; Fetch::RECENT],
    pub(super) place: usize,
    /// The first two bytes of the instruction at `pc`, if it crosses the end of a block that has
    /// been fetched.
    pub(super) half: Option<u16>,
    /// The branch whose target is known only after decoding: its number, the cycle of the
    /// redirection, and the target.
    pub(super) misfetch: Option<(u64, u64, u64)>,
    /// Why the last instruction of [`Kind::Outside`] could not be fetched: the exception and its address.
    pub(super) outside: (Exception, u64),
    /// Fetch was redirected, and nothing has been renamed since.
    pub(super) recovers: bool,
    /// The address that waits for a page-table walk.
    pub(super) translates: Option<u64>,
}

impl Fetch {
    /// No block: block addresses are multiples of 4.
    pub(super) const NO_BLOCK: u64 = 1;

    /// Blocks that a context keeps. It affects the speed of the simulation only.
    pub(super) const RECENT: usize = 64;

    /// The next instruction, if it is whole in the fetch buffer.
    #[inline]
    pub(super) fn buffered(&self, config: &ChipConfig) -> Option<&Decoded> {
        if self.pc & !(config.fetch_block - 1) != self.block || self.half.is_some() {
            return None;
        }
        self.recent[self.place % Self::RECENT].as_ref()?.block.at(self.pc)
    }
}

/// The block in the fetch buffer, taken out of [`Fetch`].
#[derive(Debug)]
pub(super) struct Buffer {
    /// Its address.
    address: u64,
    fetched: Fetched,
}

impl Buffer {
    /// The instruction at an address, if it is whole in the block.
    #[inline]
    pub(super) fn at(&self, config: &ChipConfig, pc: u64) -> Option<&Decoded> {
        if pc & !(config.fetch_block - 1) == self.address { self.fetched.block.at(pc) } else { None }
    }
}

impl Fetch {
    /// Takes the fetch buffer, unless the next instruction began in another block.
    #[inline]
    pub(super) fn take_buffer(&mut self) -> Option<Buffer> {
        if self.half.is_some() || self.block == Self::NO_BLOCK {
            return None;
        }
        Some(Buffer { address: self.block, fetched: self.recent[self.place % Self::RECENT].take()? })
    }

    /// Returns what [`take_buffer`](Self::take_buffer) took.
    #[inline]
    pub(super) fn put_buffer(&mut self, buffer: Option<Buffer>) {
        if let Some(buffer) = buffer {
            self.recent[self.place % Self::RECENT] = Some(buffer.fetched);
        }
    }
}
