// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's memory: one range of bytes, without time.
//!
//! Bytes have no order of their own: who reads a number says `u32::from_be_bytes(memory.read(address)?)` or the like.

use std::fmt;
use std::ops::Range;

/// Why a thread cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// No such instruction in the subset.
    Illegal {
        /// Where.
        pc: u64,
        /// The bits there.
        word: u32,
    },
    /// An access outside of memory, across its end, or one that its alignment rules out.
    Access {
        /// The instruction.
        pc: u64,
        /// What it accessed.
        address: u64,
        /// How much.
        bytes: u8,
    },
    /// A write to code, which is decoded once.
    Code {
        /// The instruction.
        pc: u64,
        /// Where it wrote.
        address: u64,
    },
}

impl Fault {
    /// What a denied write is to the instruction at `pc`.
    pub(super) fn of(denied: Denied, pc: u64, address: u64, bytes: u8) -> Self {
        match denied {
            Denied::Outside => Self::Access { pc, address, bytes },
            Denied::Code => Self::Code { pc, address },
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Illegal { pc, word } => write!(f, "illegal instruction {word:#010x} at pc {pc:#x}"),
            Self::Access { pc, address, bytes } => {
                write!(f, "access to {bytes} bytes at {address:#x}, outside of memory or misaligned, at pc {pc:#x}")
            }
            Self::Code { pc, address } => write!(f, "write to code at {address:#x}, at pc {pc:#x}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Why memory was not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denied {
    /// A byte is outside of memory.
    Outside,
    /// A byte is code.
    Code,
}

/// A thread's hope that nobody writes to a granule before it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reservation {
    thread: u32,
    granule: u64,
}

/// Bytes from address `base` on, some of them code, and the reservations of threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    base: u64,
    bytes: Vec<u8>,
    /// Offsets of bytes that nobody may write.
    code: Range<usize>,
    /// At most one of each thread.
    reservations: Vec<Reservation>,
}

impl Memory {
    /// Bytes that are reserved together; both instruction sets leave this to the machine.
    pub const GRANULE: u64 = 64;

    /// `length` zero bytes from `base` on.
    #[must_use]
    pub fn new(base: u64, length: usize) -> Self {
        Self { base, bytes: vec![0; length], code: 0..0, reservations: Vec::new() }
    }

    /// These bytes from `base` on, of which those at the addresses `code`, which are inside, cannot be written.
    pub(super) fn of_program(base: u64, bytes: Vec<u8>, code: Range<u64>) -> Self {
        let code = (code.start - base) as usize..(code.end - base) as usize;
        Self { base, bytes, code, reservations: Vec::new() }
    }

    /// The addresses that there are.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.bytes.len() as u64
    }

    /// Adds `length` zero bytes at the end.
    pub fn grow(&mut self, length: usize) {
        self.bytes.resize(self.bytes.len() + length, 0);
    }

    /// `length` bytes at `address`, if they are there.
    #[must_use]
    pub fn get(&self, address: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    /// `N` bytes at `address`, if they are there.
    #[inline]
    #[must_use]
    pub fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let start = address.wrapping_sub(self.base) as usize;
        Some(*self.bytes.get(start..)?.first_chunk()?)
    }

    /// Writes `bytes` from `address` on, which breaks every reservation there.
    ///
    /// # Errors
    /// A byte is outside of memory or code; then none is written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Denied> {
        let start = address.wrapping_sub(self.base) as usize;
        let end = start.checked_add(bytes.len()).ok_or(Denied::Outside)?;
        let place = self.bytes.get_mut(start..end).ok_or(Denied::Outside)?;
        if start < self.code.end && self.code.start < end {
            return Err(Denied::Code);
        }
        place.copy_from_slice(bytes);
        let touched = granule(address)..=granule(address.saturating_add(bytes.len().saturating_sub(1) as u64));
        self.reservations.retain(|held| !touched.contains(&held.granule));
        Ok(())
    }

    /// Writes `bytes` from `address` on for a thread, which breaks the reservations that others have there.
    ///
    /// # Errors
    /// A byte is outside of memory or code; then none is written.
    #[inline]
    pub(super) fn store<const N: usize>(&mut self, thread: u32, address: u64, bytes: [u8; N]) -> Result<(), Denied> {
        let start = address.wrapping_sub(self.base) as usize;
        let place = self.bytes.get_mut(start..).and_then(|rest| rest.first_chunk_mut()).ok_or(Denied::Outside)?;
        if start < self.code.end && self.code.start < start + N {
            return Err(Denied::Code);
        }
        *place = bytes;
        if !self.reservations.is_empty() {
            let touched = granule(address)..=granule(address + N as u64 - 1);
            self.reservations.retain(|held| held.thread == thread || !touched.contains(&held.granule));
        }
        Ok(())
    }

    /// Reserves the granule of `address` for a thread, which gives up any other.
    pub(super) fn reserve(&mut self, thread: u32, address: u64) {
        self.release(thread);
        self.reservations.push(Reservation { thread, granule: granule(address) });
    }

    /// Ends a thread's reservation; its granule's first address, if there was one.
    pub(super) fn release(&mut self, thread: u32) -> Option<u64> {
        let held = self.reservations.iter().position(|held| held.thread == thread)?;
        Some(self.reservations.swap_remove(held).granule)
    }

    /// Whether a thread still has the granule of `address`.
    pub(super) fn reserved(&self, thread: u32, address: u64) -> bool {
        self.reservations.contains(&Reservation { thread, granule: granule(address) })
    }
}

/// First address of the granule that `address` is in.
const fn granule(address: u64) -> u64 {
    address & !(Memory::GRANULE - 1)
}
