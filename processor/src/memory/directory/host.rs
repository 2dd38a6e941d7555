// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Accesses of a host to the memory, and the write-back of its caches.

use super::CoherentMemory;
use crate::memory::Memory;
use crate::memory::system::Device;

impl<D: Device> CoherentMemory<D> {
    /// Whether events of a device's port have not been taken.
    #[inline]
    #[must_use]
    pub fn has_line_events(&self) -> bool {
        self.line_events != 0
    }

    /// Whether `length` bytes from `address` on are memory.
    #[must_use]
    pub fn contains(&self, address: u64, length: u64) -> bool {
        self.home.contains(address, length)
    }

    /// Whether nothing is under way: no access, message, transaction, or line that a device owns.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.calendar.next == u64::MAX
            && self.nodes.iter().all(|node| node.mshrs.is_empty() && node.stores.entries.is_empty())
            && !self.has_line_events()
    }

    /// Memory with the latest bytes, and the device; the caches are lost.
    ///
    /// # Errors
    /// Something is under way, as [`is_idle`](Self::is_idle) says.
    pub fn into_parts(mut self) -> Result<(Memory, D), Box<Self>> {
        if !self.is_idle() {
            return Err(Box::new(self));
        }
        for node in &self.nodes {
            for cache in [&node.data, &node.instruction, &node.l2] {
                for way in cache.lines() {
                    self.home.write(way.line, &cache.blocks[way.slot as usize]);
                }
            }
        }
        Ok((self.home.into_memory(), self.device))
    }

    /// Writes bytes of the host into every copy of their lines, so that all agree.
    pub(super) fn write_everywhere(&mut self, address: u64, bytes: &[u8]) -> bool {
        let length = bytes.len() as u64;
        if !self.home.contains(address, length) {
            return false;
        }
        if length == 0 {
            return true;
        }
        self.version = self.version.wrapping_add(1);
        let version = self.version;
        for line in address / 64..=(address + length - 1) / 64 {
            let (start, end) = ((line * 64).max(address), (line * 64 + 64).min(address + length));
            let part = &bytes[(start - address) as usize..(end - address) as usize];
            let offset = (start - line * 64) as usize;
            let patch = |block: &mut super::cache::Block| {
                block.bytes[offset..offset + part.len()].copy_from_slice(part);
                block.version = version;
            };
            for node in &mut self.nodes {
                for cache in [&mut node.data, &mut node.instruction, &mut node.l2] {
                    if let Some(slot) = cache.peek(line).map(|way| way.slot as usize) {
                        patch(&mut cache.blocks[slot]);
                    }
                }
                if let Some(mshr) = node.mshr(line) {
                    patch(&mut node.mshrs[mshr].block);
                }
            }
            // Flights that have ended have no bytes.
            let carried: Vec<u32> =
                self.flights.iter().filter(|flight| flight.line == line).filter_map(|flight| flight.data).collect();
            for number in carried {
                patch(self.blocks.get_mut(number));
            }
            self.home.patch(line, patch);
            for hart in 0..self.undrained.len() {
                if self.reservations.is(hart, line) {
                    self.reservations.release(hart);
                }
            }
        }
        true
    }
}
