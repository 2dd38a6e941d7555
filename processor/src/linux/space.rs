// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address space: the break after the program, mapped areas below the stack. All of it is one
//! range of memory; pages have no protection.

use super::errno;
use super::user_memory::{CallResult, UserMemory};

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// The area between the end of the program and the stack.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// First address of memory.
    first: u64,
    /// First address of the break.
    least_break: u64,
    current_break: u64,
    /// First address of the stack.
    end: u64,
    /// Mapped areas, as ranges, in order of addresses and apart from each other.
    areas: Vec<(u64, u64)>,
}

/// A number of bytes as whole pages.
const fn pages(bytes: u64) -> Option<u64> {
    match bytes.checked_next_multiple_of(PAGE) {
        Some(0) | None => None,
        rounded => rounded,
    }
}

/// Zeros an area.
fn clear(from: u64, to: u64, memory: &mut dyn UserMemory) -> Result<(), u16> {
    let zeros = [0; PAGE as usize];
    let mut at = from;
    while at < to {
        let length = (to - at).min(PAGE);
        memory.set(at, &zeros[..length as usize])?;
        at += length;
    }
    Ok(())
}

impl Space {
    pub(super) fn new(first: u64, program_end: u64, end: u64) -> Self {
        let least_break = program_end.next_multiple_of(PAGE);
        Self { first, least_break, current_break: least_break, end, areas: Vec::new() }
    }

    /// Bytes of program, break and mapped areas.
    pub(super) const fn bytes(&self) -> u64 {
        self.end - self.first
    }

    /// brk: sets the break if there is room, and returns it.
    pub(super) fn set_break(&mut self, address: u64, memory: &mut dyn UserMemory) -> u64 {
        let limit = self.areas.first().map_or(self.end, |area| area.0);
        if address >= self.least_break && address <= limit {
            if address < self.current_break && clear(address, self.current_break, memory).is_err() {
                return self.current_break;
            }
            self.current_break = address;
        }
        self.current_break
    }

    /// mmap: the highest gap that is large enough, or a fixed address. The area is zero.
    pub(super) fn map(&mut self, address: u64, length: u64, flags: u64, memory: &mut dyn UserMemory) -> CallResult {
        const FIXED: u64 = 0x10;
        let length = pages(length).ok_or(errno::EINVAL)?;
        let at = if flags & FIXED != 0 {
            let end = address.checked_add(length).filter(|end| *end <= self.end && address >= self.first);
            if !address.is_multiple_of(PAGE) || end.is_none() {
                return Err(errno::ENOMEM);
            }
            address
        } else {
            self.gap(length).ok_or(errno::ENOMEM)?
        };
        clear(at, at + length, memory)?;
        self.remove(at, at + length);
        if at >= self.current_break {
            self.areas.push((at, at + length));
            self.areas.sort_unstable();
        }
        Ok(at)
    }

    /// The highest free address for `length` bytes.
    fn gap(&self, length: u64) -> Option<u64> {
        let mut end = self.end;
        for &(from, to) in self.areas.iter().rev() {
            if end - to >= length {
                return Some(end - length);
            }
            end = from;
        }
        let least = self.current_break.next_multiple_of(PAGE);
        (end.checked_sub(length)? >= least).then(|| end - length)
    }

    /// Removes addresses from the mapped areas.
    fn remove(&mut self, from: u64, to: u64) {
        let parts = std::mem::take(&mut self.areas).into_iter().flat_map(|(start, end)| {
            [(start, end.min(from)), (start.max(to), end)].into_iter().filter(|part| part.0 < part.1)
        });
        self.areas = parts.collect();
    }

    pub(super) fn unmap(&mut self, address: u64, length: u64) -> CallResult {
        let end = pages(length).and_then(|length| address.checked_add(length)).ok_or(errno::EINVAL)?;
        if !address.is_multiple_of(PAGE) {
            return Err(errno::EINVAL);
        }
        self.remove(address, end);
        Ok(0)
    }

    /// mremap: in place if the area shrinks; otherwise a copy, if the area may move.
    pub(super) fn remap(
        &mut self,
        old: u64,
        bytes: u64,
        new: u64,
        flags: u64,
        memory: &mut dyn UserMemory,
    ) -> CallResult {
        const MAY_MOVE: u64 = 1;
        let (bytes, new) = (pages(bytes).ok_or(errno::EINVAL)?, pages(new).ok_or(errno::EINVAL)?);
        if new <= bytes {
            self.remove(old + new, old + bytes);
            return Ok(old);
        }
        if flags & MAY_MOVE == 0 {
            return Err(errno::ENOMEM);
        }
        let content = memory.bytes(old, bytes as usize).ok_or(errno::EFAULT)?.to_vec();
        let at = self.map(0, new, 0, memory)?;
        memory.set(at, &content)?;
        self.remove(old, old + bytes);
        Ok(at)
    }
}
