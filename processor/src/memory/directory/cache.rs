// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A cache of a node: tags, states and bytes.

use super::config::NodeCacheConfig;
use super::protocol::CacheState;
use crate::memory::line_port::LineData;

/// The line number of an unused way.
pub(super) const NONE: u64 = u64::MAX;

/// The bytes of a line. Their version changes with every write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    pub(super) bytes: LineData,
    pub(super) version: u32,
}

impl Block {
    pub(super) const ZERO: Self = Self { bytes: [0; 64], version: 0 };
}

/// A line in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) line: u64,
    /// Where the bytes are.
    pub(super) slot: u32,
    pub(super) state: CacheState,
}

#[derive(Clone, Debug)]
pub(super) struct Cache {
    /// Sets of `associativity` ways, the most recently used first, unused ones last.
    ways: Vec<Way>,
    pub(super) blocks: Vec<Block>,
    associativity: usize,
    set_mask: u64,
    /// The latest cycle with an access, and its accesses.
    used: (u64, u64),
    ports: u64,
}

impl Cache {
    pub(super) fn new(config: &NodeCacheConfig) -> Self {
        let lines = config.bytes / 64;
        let way = |slot| Way { line: NONE, slot, state: CacheState::I };
        Self {
            ways: (0..lines as u32).map(way).collect(),
            blocks: vec![Block::ZERO; lines as usize],
            associativity: config.ways as usize,
            set_mask: lines / config.ways - 1,
            used: (u64::MAX, 0),
            ports: config.ports,
        }
    }

    /// Takes a port in this cycle, if one is free.
    #[inline]
    pub(super) fn take_port(&mut self, cycle: u64) -> bool {
        if self.used.0 != cycle {
            self.used = (cycle, 0);
        }
        self.used.1 += 1;
        self.used.1 <= self.ports
    }

    /// Whether a port is free in this cycle.
    #[inline]
    pub(super) const fn has_port(&self, cycle: u64) -> bool {
        self.used.0 != cycle || self.used.1 < self.ports
    }

    #[inline]
    fn set(&self, line: u64) -> usize {
        (line & self.set_mask) as usize * self.associativity
    }

    /// The way of a line, which is not used by this.
    #[inline]
    pub(super) fn peek(&self, line: u64) -> Option<&Way> {
        let start = self.set(line);
        self.ways[start..start + self.associativity].iter().find(|way| way.line == line)
    }

    /// The way of a line, which becomes the most recently used.
    #[inline]
    pub(super) fn find(&mut self, line: u64) -> Option<&mut Way> {
        let start = self.set(line);
        let set = &mut self.ways[start..start + self.associativity];
        if set[0].line != line {
            let place = set.iter().position(|way| way.line == line)?;
            set[..=place].rotate_right(1);
        }
        Some(&mut set[0])
    }

    /// Inserts a line that is not there. Returns the line that it replaces.
    pub(super) fn insert(&mut self, line: u64, state: CacheState, block: &Block) -> Option<(u64, CacheState, Block)> {
        let start = self.set(line);
        let set = &mut self.ways[start..start + self.associativity];
        set.rotate_right(1);
        let victim = set[0];
        set[0] = Way { line, slot: victim.slot, state };
        let old = std::mem::replace(&mut self.blocks[victim.slot as usize], *block);
        (victim.line != NONE).then_some((victim.line, victim.state, old))
    }

    /// Removes a line.
    pub(super) fn remove(&mut self, line: u64) -> Option<(CacheState, Block)> {
        let start = self.set(line);
        let set = &mut self.ways[start..start + self.associativity];
        let place = set.iter().position(|way| way.line == line)?;
        set[place].line = NONE;
        let Way { slot, state, .. } = set[place];
        set[place..].rotate_left(1);
        Some((state, self.blocks[slot as usize]))
    }

    /// Lines in the cache, in the order of sets.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Way> {
        self.ways.iter().filter(|way| way.line != NONE)
    }
}
