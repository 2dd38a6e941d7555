// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The performed values of a memory system, and the reservations of its harts.

use super::Memory;

/// The bytes from `base` on; little-endian.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Backing {
    base: u64,
    bytes: Vec<u8>,
}

impl Backing {
    pub(super) fn new(memory: Memory) -> Self {
        let (base, bytes) = memory.into_bytes();
        Self { base, bytes }
    }

    pub(super) fn into_memory(self) -> Memory {
        Memory::of_program(self.base, self.bytes, self.base..self.base)
    }

    /// The first address.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The number of bytes.
    pub(super) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Adds zero bytes at the end.
    pub(super) fn grow(&mut self, length: usize) {
        self.bytes.resize(self.bytes.len() + length, 0);
    }

    #[inline]
    pub(super) fn contains(&self, address: u64, length: u64) -> bool {
        let start = address.wrapping_sub(self.base);
        start.checked_add(length).is_some_and(|end| end <= self.bytes.len() as u64)
    }

    pub(super) fn get(&self, address: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    pub(super) fn get_mut(&mut self, address: u64, length: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get_mut(start..start.checked_add(length)?)
    }

    /// The `width` bytes at `address`, which must be inside.
    #[inline]
    pub(super) fn load(&self, address: u64, width: u8) -> u64 {
        let start = address.wrapping_sub(self.base) as usize;
        // One load of eight bytes is faster than one of a variable length.
        if let Some(bytes) = self.bytes.get(start..).and_then(|rest| rest.first_chunk::<8>()) {
            return u64::from_le_bytes(*bytes) & mask(width);
        }
        self.load_near_end(start, width)
    }

    /// The `width` bytes from place `start` on, with fewer than eight bytes up to the end.
    #[cold]
    fn load_near_end(&self, start: usize, width: u8) -> u64 {
        let mut bytes = [0; 8];
        bytes[..width.into()].copy_from_slice(&self.bytes[start..start + usize::from(width)]);
        u64::from_le_bytes(bytes)
    }

    /// Writes the low `width` bytes of `value` to `address`, which must be inside.
    #[inline]
    pub(super) fn store(&mut self, address: u64, width: u8, value: u64) {
        let start = address.wrapping_sub(self.base) as usize;
        let bytes = value.to_le_bytes();
        match width {
            1 => self.bytes[start] = bytes[0],
            2 => self.bytes[start..start + 2].copy_from_slice(&bytes[..2]),
            4 => self.bytes[start..start + 4].copy_from_slice(&bytes[..4]),
            _ => self.bytes[start..start + 8].copy_from_slice(&bytes),
        }
    }
}

/// The bits of a value of `width` bytes.
#[inline]
pub(super) const fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - 8 * width as u32)
}

/// The reservations of harts, at most one each, on lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reservations {
    /// The reserved line of each hart, or [`Self::NONE`].
    lines: Vec<u64>,
    /// How many are held.
    held: usize,
}

impl Reservations {
    const NONE: u64 = u64::MAX;

    pub(super) fn new(harts: usize) -> Self {
        Self { lines: vec![Self::NONE; harts], held: 0 }
    }

    /// Whether a hart holds one.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.held > 0
    }

    pub(super) fn set(&mut self, hart: usize, line: u64) {
        self.release(hart);
        self.lines[hart] = line;
        self.held += 1;
    }

    pub(super) fn release(&mut self, hart: usize) {
        if std::mem::replace(&mut self.lines[hart], Self::NONE) != Self::NONE {
            self.held -= 1;
        }
    }

    pub(super) fn holds(&self, hart: usize) -> bool {
        self.lines[hart] != Self::NONE
    }

    pub(super) fn is(&self, hart: usize, line: u64) -> bool {
        self.lines[hart] == line
    }

    /// A write to `line` by `writer`, or by no hart: every other hart loses its reservation of it.
    #[inline]
    pub(super) fn written(&mut self, line: u64, writer: Option<usize>) {
        if self.held == 0 {
            return;
        }
        for hart in 0..self.lines.len() {
            if self.lines[hart] == line && Some(hart) != writer {
                self.release(hart);
            }
        }
    }
}
