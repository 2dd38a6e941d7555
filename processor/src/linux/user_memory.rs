// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a program, as system calls read and write it.

use super::errno;
use crate::Memory;
use crate::system::MemorySystem;

/// The result of a call: a value, or an error number.
pub(super) type CallResult = Result<u64, u16>;

/// The memory of a program, as system calls read and write it.
pub(super) trait UserMemory {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]>;
    /// Whether all bytes are in memory and can be written.
    fn put(&mut self, address: u64, bytes: &[u8]) -> bool;

    fn number(&self, address: u64) -> Result<u64, u16> {
        let bytes = self.bytes(address, 8).and_then(|bytes| bytes.first_chunk());
        bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(errno::EFAULT)
    }

    fn set(&mut self, address: u64, bytes: &[u8]) -> Result<(), u16> {
        if self.put(address, bytes) { Ok(()) } else { Err(errno::EFAULT) }
    }

    /// The bytes of a string up to its zero byte.
    fn string(&self, address: u64) -> Result<Vec<u8>, u16> {
        const LONGEST: u64 = 4096;
        let mut text = Vec::new();
        for place in 0..LONGEST {
            match self.bytes(address.wrapping_add(place), 1) {
                Some([0]) => return Ok(text),
                Some(byte) => text.extend(byte),
                None => break,
            }
        }
        Err(errno::EFAULT)
    }
}

impl UserMemory for Memory {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.get(address, length)
    }

    fn put(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.write(address, bytes).is_ok()
    }
}

/// A memory system; its cores have no store in flight when a call is made.
pub(super) struct Shared<'a, M>(pub(super) &'a mut M);

impl<M: MemorySystem> UserMemory for Shared<'_, M> {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.0.bytes(address, length)
    }

    fn put(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.0.set_bytes(address, bytes)
    }
}
