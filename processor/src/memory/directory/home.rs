// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of the directory and the memory behind it.

use std::ops::Range;

use super::cache::Block;
use super::config::DirectoryConfig;
use super::protocol::DirectoryEntry;
use crate::memory::Memory;
use crate::memory::backing::Backing;

#[derive(Clone, Debug)]
pub(super) struct Home {
    memory: Backing,
    /// By line, from that of the first byte of memory on.
    pub(super) entries: Vec<DirectoryEntry>,
    versions: Vec<u32>,
    pub(super) first: u64,
    /// The cycle from which each bank can begin with a message.
    pub(super) banks: Vec<u64>,
    /// Messages that wait for a busy line, by bank, in the order of their arrival.
    pub(super) stalled: Vec<Vec<(u64, u32)>>,
    /// The cycle from which each port of memory can begin an access.
    pub(super) ports: Vec<u64>,
}

impl Home {
    pub(super) fn new(config: &DirectoryConfig, memory: Memory) -> Self {
        let first = memory.range().start / 64;
        let mut home = Self {
            memory: Backing::new(memory),
            entries: Vec::new(),
            versions: Vec::new(),
            first,
            banks: vec![0; config.nodes],
            stalled: vec![Vec::new(); config.nodes],
            ports: vec![0; config.memory_ports],
        };
        home.grow(0);
        home
    }

    pub(super) fn grow(&mut self, length: usize) {
        self.memory.grow(length);
        let lines = (self.range().end.saturating_sub(1) / 64).saturating_sub(self.first) + 1;
        self.entries.resize(lines as usize, DirectoryEntry::NEW);
        self.versions.resize(lines as usize, 0);
    }

    pub(super) fn into_memory(self) -> Memory {
        self.memory.into_memory()
    }

    pub(super) fn range(&self) -> Range<u64> {
        self.memory.base()..self.memory.base() + self.memory.length()
    }

    #[inline]
    pub(super) fn contains(&self, address: u64, length: u64) -> bool {
        self.memory.contains(address, length)
    }

    /// The content of memory, which may be stale.
    pub(super) fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.memory.get(address, length)
    }

    /// The part of a line that is in memory; the first and the last line may be parts.
    fn part(&self, line: u64) -> (u64, Range<usize>) {
        let range = self.range();
        let (start, end) = ((line * 64).max(range.start), (line * 64 + 64).min(range.end));
        (start, (start - line * 64) as usize..(end - line * 64) as usize)
    }

    pub(super) fn read(&self, line: u64) -> Block {
        let (start, part) = self.part(line);
        let mut block = Block { version: self.versions[(line - self.first) as usize], ..Block::ZERO };
        let bytes = self.memory.get(start, part.len()).expect("bytes of memory");
        block.bytes[part].copy_from_slice(bytes);
        block
    }

    /// Changes the bytes that memory has of a line.
    pub(super) fn patch(&mut self, line: u64, change: impl Fn(&mut Block)) {
        let mut block = self.read(line);
        change(&mut block);
        self.write(line, &block);
    }

    pub(super) fn write(&mut self, line: u64, block: &Block) {
        let (start, part) = self.part(line);
        self.versions[(line - self.first) as usize] = block.version;
        let bytes = self.memory.get_mut(start, part.len()).expect("bytes of memory");
        bytes.copy_from_slice(&block.bytes[part]);
    }
}
