// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The walker of page tables: Sv39 of the RISC-V privileged architecture, one walk at a time.
//!
//! A page that is not valid, not for user mode, not readable, not writable for a receive, or without the accessed
//! (and for a receive the dirty) bit is a fault: the device never writes to a page table.

use std::collections::VecDeque;

use mb_processor::line_port::{LINE_BYTES, LineData};

const LEVELS: u32 = 3;
const PAGE_BITS: u32 = 12;
const INDEX_BITS: u32 = 9;
const PTE_BYTES: u64 = 8;
/// Sv39 user addresses are below half of its range; the kernel has the other half.
const USER_END: u64 = 1 << 38;

mod bit {
    pub(super) const VALID: u64 = 1;
    pub(super) const READ: u64 = 2;
    pub(super) const WRITE: u64 = 4;
    pub(super) const EXECUTE: u64 = 8;
    pub(super) const USER: u64 = 16;
    pub(super) const ACCESSED: u64 = 64;
    pub(super) const DIRTY: u64 = 128;
}

/// Whose buffer is translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// That of a descriptor that is not active.
    Entry { entry: usize, serial: u64 },
    /// The send's (0) or receive's (1) of an active match.
    Active { slot: usize, serial: u64, side: usize },
}

/// A translation to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    pub(crate) target: Target,
    /// Number of the page in the buffer.
    pub(crate) page: u64,
    pub(crate) root: u64,
    /// Virtual address in the page.
    pub(crate) address: u64,
    pub(crate) is_receive: bool,
}

#[derive(Clone, Debug)]
struct Current {
    walk: Walk,
    level: u32,
    table: u64,
    /// The read that is under way.
    read: Option<u32>,
    /// The page was invalidated during the walk.
    restart: bool,
}

/// The walker of a MOPED.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    queue: VecDeque<Walk>,
    current: Option<Current>,
    staged: VecDeque<(u64, LineData)>,
    capacity: usize,
}

impl Walker {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { queue: VecDeque::new(), current: None, staged: VecDeque::new(), capacity }
    }

    pub(crate) fn add(&mut self, walk: Walk) {
        self.queue.push_back(walk);
    }

    /// Gives the walks of a descriptor to its active match.
    pub(crate) fn retarget(&mut self, from: Target, to: Target) -> Vec<u64> {
        let current = self.current.as_mut().map(|current| &mut current.walk);
        let walks = self.queue.iter_mut().chain(current).filter(|walk| walk.target == from);
        walks
            .map(|walk| {
                walk.target = to;
                walk.page
            })
            .collect()
    }

    /// The page table of a page has changed.
    pub(crate) fn invalidate(&mut self) {
        self.staged.clear();
        if let Some(current) = &mut self.current {
            current.restart = true;
        }
    }

    /// The line that must be read.
    pub(crate) fn wants(&self) -> Option<u64> {
        let current = self.current.as_ref().filter(|current| current.read.is_none())?;
        let line = line_of(current.entry_address());
        self.staged.iter().all(|(staged, _)| *staged != line).then_some(line)
    }

    pub(crate) fn requested(&mut self, tag: u32) {
        if let Some(current) = &mut self.current {
            current.read = Some(tag);
        }
    }

    /// Takes the line that was read, if the tag is that of the read.
    pub(crate) fn data(&mut self, tag: u32, data: &LineData) -> bool {
        let Some(current) = self.current.as_mut().filter(|current| current.read == Some(tag)) else { return false };
        current.read = None;
        if self.staged.len() == self.capacity {
            self.staged.pop_front();
        }
        self.staged.push_back((line_of(current.entry_address()), *data));
        true
    }

    /// One level of the walk, if its line is staged. Returns a walk that has ended, with the physical address of the
    /// page, or nothing for a fault. The second value tells whether anything happened.
    pub(crate) fn step(&mut self) -> (Option<(Walk, Option<u64>)>, bool) {
        if self.current.is_none() {
            let is_active = |walk: &Walk| matches!(walk.target, Target::Active { .. });
            let first = self.queue.iter().position(is_active).unwrap_or(0);
            self.current = self.queue.remove(first).map(Current::new);
        }
        let Some(current) = &mut self.current else { return (None, false) };
        if current.read.is_some() {
            return (None, false);
        }
        if current.restart {
            *current = Current::new(current.walk);
            self.staged.clear();
            return (None, true);
        }
        if current.walk.address >= USER_END {
            return (self.end(None), true);
        }
        let address = current.entry_address();
        let Some((_, line)) = self.staged.iter().find(|(staged, _)| *staged == line_of(address)) else {
            return (None, false);
        };
        let at = (address % LINE_BYTES as u64) as usize;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&line[at..at + 8]);
        let entry = u64::from_le_bytes(bytes);
        let target = (entry >> 10 & ((1 << 44) - 1)) << PAGE_BITS;
        if entry & bit::VALID == 0 || entry & (bit::READ | bit::WRITE) == bit::WRITE {
            return (self.end(None), true);
        }
        if entry & (bit::READ | bit::EXECUTE) == 0 {
            if current.level == 0 {
                return (self.end(None), true);
            }
            current.level -= 1;
            current.table = target;
            return (None, true);
        }
        let writes = if current.walk.is_receive { bit::WRITE | bit::DIRTY } else { 0 };
        let needed = bit::READ | bit::USER | bit::ACCESSED | writes;
        let inside = (1 << (PAGE_BITS + INDEX_BITS * current.level)) - 1;
        if entry & needed != needed || target & inside != 0 {
            return (self.end(None), true);
        }
        let page = target | current.walk.address & inside & !((1 << PAGE_BITS) - 1);
        (self.end(Some(page)), true)
    }

    fn end(&mut self, page: Option<u64>) -> Option<(Walk, Option<u64>)> {
        self.current.take().map(|current| (current.walk, page))
    }
}

impl Current {
    fn new(walk: Walk) -> Self {
        Self { walk, level: LEVELS - 1, table: walk.root, read: None, restart: false }
    }

    fn entry_address(&self) -> u64 {
        let index = self.walk.address >> (PAGE_BITS + INDEX_BITS * self.level) & ((1 << INDEX_BITS) - 1);
        self.table + index * PTE_BYTES
    }
}

fn line_of(address: u64) -> u64 {
    address & !(LINE_BYTES as u64 - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ROOT: u64 = 0x8000_0000;
    const ALL: u64 = 0xdf;

    fn pointer(table: u64) -> u64 {
        table >> 2 | bit::VALID
    }

    fn leaf(page: u64, bits: u64) -> u64 {
        page >> 2 | bits
    }

    /// Walks page tables, given as words; also how many lines were read.
    fn walk(words: &[(u64, u64)], address: u64, is_receive: bool) -> (Option<u64>, usize) {
        let words: BTreeMap<_, _> = words.iter().copied().collect();
        let mut walker = Walker::new(1);
        let target = Target::Entry { entry: 0, serial: 0 };
        walker.add(Walk { target, page: 0, root: ROOT, address, is_receive });
        let mut reads = 0;
        loop {
            if let (Some((_, page)), _) = walker.step() {
                return (page, reads);
            }
            let Some(line) = walker.wants() else { continue };
            reads += 1;
            walker.requested(reads as u32);
            let mut data = [0; LINE_BYTES];
            for (place, chunk) in data.chunks_mut(8).enumerate() {
                let word = words.get(&(line + place as u64 * 8)).copied().unwrap_or(0);
                chunk.copy_from_slice(&word.to_le_bytes());
            }
            assert!(walker.data(reads as u32, &data));
        }
    }

    /// Tables for the pages from 0 on, with a leaf entry for page 3.
    fn tables(entry: u64) -> [(u64, u64); 3] {
        [(ROOT, pointer(ROOT + 0x1000)), (ROOT + 0x1000, pointer(ROOT + 0x2000)), (ROOT + 0x2018, entry)]
    }

    #[test]
    fn three_levels_lead_to_a_page() {
        assert_eq!(walk(&tables(leaf(0x8123_4000, ALL)), 0x3678, true), (Some(0x8123_4000), 3));
    }

    #[test]
    fn a_missing_right_is_a_fault() {
        for (bits, send, receive) in [
            (ALL, true, true),
            (ALL & !bit::VALID, false, false),
            (ALL & !bit::READ, false, false),
            (ALL & !bit::WRITE, true, false),
            (ALL & !(bit::READ | bit::EXECUTE), false, false),
            (ALL & !bit::USER, false, false),
            (ALL & !bit::ACCESSED, false, false),
            (ALL & !bit::DIRTY, true, false),
            (bit::VALID | bit::EXECUTE | bit::USER | bit::ACCESSED, false, false),
            (bit::VALID, false, false),
        ] {
            for (is_receive, expected) in [(false, send), (true, receive)] {
                let (found, _) = walk(&tables(leaf(0x8123_4000, bits)), 0x3000, is_receive);
                assert_eq!(found.is_some(), expected, "{bits:#x}, receive: {is_receive}");
            }
        }
    }

    #[test]
    fn large_pages_end_a_walk_early() {
        let large = [(ROOT, pointer(ROOT + 0x1000)), (ROOT + 0x1000, leaf(0x8020_0000, ALL))];
        assert_eq!(walk(&large, 0x1_2345, true), (Some(0x8021_2000), 2));
        let huge = [(ROOT + 8, leaf(0xc000_0000, ALL))];
        assert_eq!(walk(&huge, 0x4765_4321, true), (Some(0xc765_4000), 1));
        let misaligned = [(ROOT + 8, leaf(0xc000_1000, ALL))];
        assert_eq!(walk(&misaligned, 0x4765_4321, true), (None, 1));
    }

    #[test]
    fn an_address_of_the_kernel_is_a_fault_without_a_read() {
        let last = [(ROOT + 8 * 255, leaf(0x8000_0000, ALL)), (ROOT + 8 * 256, leaf(0x8000_0000, ALL))];
        assert_eq!(walk(&last, USER_END - 1, false), (Some(0xbfff_f000), 1));
        assert_eq!(walk(&last, USER_END, false), (None, 0));
    }
}
