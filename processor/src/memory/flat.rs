// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a program: one range of bytes and the LR/SC reservations of its threads.
//!
//! Reads and writes are in bytes; the caller converts them to its byte order, for example with
//! `u32::from_be_bytes(memory.read(address)?)`.

use std::fmt;
use std::ops::Range;

/// Why a thread cannot execute its next instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An encoding that the instruction set does not define.
    Illegal {
        /// Address of the instruction.
        pc: u64,
        /// Its encoding.
        word: u32,
    },
    /// An access that is outside of memory, partly or entirely, or misaligned where alignment is
    /// required.
    Access {
        /// Address of the instruction.
        pc: u64,
        /// Address of the access.
        address: u64,
        /// Length of the access.
        bytes: u8,
    },
    /// A write to code. Code is decoded once and cannot change.
    Code {
        /// Address of the instruction.
        pc: u64,
        /// Address of the write.
        address: u64,
    },
}

impl Fault {
    /// The fault of the instruction at `pc` whose write was refused.
    pub(crate) fn of(error: WriteError, pc: u64, address: u64, bytes: u8) -> Self {
        match error {
            WriteError::OutOfRange => Self::Access { pc, address, bytes },
            WriteError::Code => Self::Code { pc, address },
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Illegal { pc, word } => write!(f, "pc {pc:#x}: illegal instruction {word:#010x}"),
            Self::Access { pc, address, bytes } => {
                write!(f, "pc {pc:#x}: access of {bytes} bytes at {address:#x}; expected aligned bytes inside memory")
            }
            Self::Code { pc, address } => write!(f, "pc {pc:#x}: write to code at {address:#x}; expected data"),
        }
    }
}

impl std::error::Error for Fault {}

/// Why a write was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// A byte is outside of memory.
    OutOfRange,
    /// A byte is code.
    Code,
}

/// The reservation of a thread on one granule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reservation {
    thread: u32,
    granule: u64,
}

/// The bytes from address `base` on, a part of them code, and the reservations of threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    base: u64,
    bytes: Vec<u8>,
    /// Offsets of the bytes that cannot be written.
    code: Range<usize>,
    /// At most one for each thread.
    reservations: Vec<Reservation>,
}

impl Memory {
    /// Bytes of a reservation granule; both instruction sets leave it to the implementation.
    pub const RESERVATION_GRANULE: u64 = 64;

    /// Memory of `length` zero bytes from `base` on, without code.
    #[must_use]
    pub fn new(base: u64, length: usize) -> Self {
        Self { base, bytes: vec![0; length], code: 0..0, reservations: Vec::new() }
    }

    /// Memory with these bytes from `base` on. The addresses `code`, which must be inside, cannot
    /// be written.
    pub(crate) fn of_program(base: u64, bytes: Vec<u8>, code: Range<u64>) -> Self {
        let code = (code.start - base) as usize..(code.end - base) as usize;
        Self { base, bytes, code, reservations: Vec::new() }
    }

    /// A copy in which the bytes from address `end` on are zero. The host allocates those only when they
    /// are written, so that a large heap costs what is used of it.
    #[must_use]
    pub fn copy_up_to(&self, end: u64) -> Self {
        let kept = (end.saturating_sub(self.base) as usize).min(self.bytes.len());
        let mut bytes = vec![0; self.bytes.len()];
        bytes[..kept].copy_from_slice(&self.bytes[..kept]);
        Self { base: self.base, bytes, code: self.code.clone(), reservations: self.reservations.clone() }
    }

    /// The addresses of all bytes.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.bytes.len() as u64
    }

    /// The first address and all bytes, for a memory system that keeps them.
    pub(crate) fn into_bytes(self) -> (u64, Vec<u8>) {
        (self.base, self.bytes)
    }

    /// Adds `length` zero bytes at the end.
    pub fn grow(&mut self, length: usize) {
        self.bytes.resize(self.bytes.len() + length, 0);
    }

    /// The `length` bytes at `address`, or `None` if one of them is outside of memory.
    #[must_use]
    pub fn get(&self, address: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    /// The `N` bytes at `address`, or `None` if one of them is outside of memory.
    #[inline]
    #[must_use]
    pub fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let start = address.wrapping_sub(self.base) as usize;
        Some(*self.bytes.get(start..)?.first_chunk()?)
    }

    /// Writes `bytes` from `address` on as an external agent: breaks every reservation on the
    /// granules written.
    ///
    /// # Errors
    /// A byte is outside of memory or is code. Then nothing is written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), WriteError> {
        let start = address.wrapping_sub(self.base) as usize;
        let end = start.checked_add(bytes.len()).ok_or(WriteError::OutOfRange)?;
        let target = self.bytes.get_mut(start..end).ok_or(WriteError::OutOfRange)?;
        if start < self.code.end && self.code.start < end {
            return Err(WriteError::Code);
        }
        target.copy_from_slice(bytes);
        let touched = granule(address)..=granule(address.saturating_add(bytes.len().saturating_sub(1) as u64));
        self.reservations.retain(|held| !touched.contains(&held.granule));
        Ok(())
    }

    /// Writes `bytes` from `address` on as `thread`: breaks the reservations of other threads on
    /// the granules written.
    ///
    /// # Errors
    /// A byte is outside of memory or is code. Then nothing is written.
    #[inline]
    pub(crate) fn store<const N: usize>(
        &mut self,
        thread: u32,
        address: u64,
        bytes: [u8; N],
    ) -> Result<(), WriteError> {
        let start = address.wrapping_sub(self.base) as usize;
        let target =
            self.bytes.get_mut(start..).and_then(|rest| rest.first_chunk_mut()).ok_or(WriteError::OutOfRange)?;
        if start < self.code.end && self.code.start < start + N {
            return Err(WriteError::Code);
        }
        *target = bytes;
        if !self.reservations.is_empty() {
            let touched = granule(address)..=granule(address + N as u64 - 1);
            self.reservations.retain(|held| held.thread == thread || !touched.contains(&held.granule));
        }
        Ok(())
    }

    /// Reserves the granule of `address` for `thread`, and releases its previous reservation.
    pub(crate) fn reserve(&mut self, thread: u32, address: u64) {
        self.release(thread);
        self.reservations.push(Reservation { thread, granule: granule(address) });
    }

    /// Ends the reservation of `thread`; returns the address of its granule, if it had one.
    pub(crate) fn release(&mut self, thread: u32) -> Option<u64> {
        let held = self.reservations.iter().position(|held| held.thread == thread)?;
        Some(self.reservations.swap_remove(held).granule)
    }

    /// Whether `thread` holds a reservation on the granule of `address`.
    pub(crate) fn reserved(&self, thread: u32, address: u64) -> bool {
        self.reservations.contains(&Reservation { thread, granule: granule(address) })
    }
}

/// The first address of the granule that contains `address`.
const fn granule(address: u64) -> u64 {
    address & !(Memory::RESERVATION_GRANULE - 1)
}
