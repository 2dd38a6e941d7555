// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's memory: one range of bytes, without time.

use std::fmt;

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

/// Bytes from address `base` on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    base: u64,
    bytes: Vec<u8>,
}

impl Memory {
    /// `length` zero bytes from `base` on.
    #[must_use]
    pub fn new(base: u64, length: usize) -> Self {
        Self { base, bytes: vec![0; length] }
    }

    /// `length` bytes at `address`, if they are there.
    #[must_use]
    pub fn get(&self, address: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    /// `length` bytes at `address`, if they are there.
    pub fn get_mut(&mut self, address: u64, length: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get_mut(start..start.checked_add(length)?)
    }
}
