// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An L1 cache: tags, banks, and lines on their way. It holds no values of data.

use super::config::L1Config;

/// The line number of an unused way or register.
pub(super) const NONE: u64 = u64::MAX;

/// A line in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    line: u64,
    /// The version of the copied bytes; only in instruction caches.
    pub(super) version: u32,
    /// Where the copied bytes are; only in instruction caches.
    pub(super) slot: u32,
}

/// A line on its way.
#[derive(Clone, Debug)]
pub(super) struct Mshr {
    pub(super) line: u64,
    /// Indices of the loads that wait for it; for a fetch, contexts.
    pub(super) waiting: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct L1 {
    pub(super) hit: u64,
    /// Sets of `associativity` ways, the most recently used first, unused ones last.
    ways: Vec<Way>,
    associativity: usize,
    set_mask: u64,
    bank_shift: u32,
    bank_mask: u64,
    /// The cycle after the latest access of each bank.
    taken: Vec<u64>,
    mshrs: Vec<Mshr>,
    /// MSHRs in use.
    used: usize,
}

impl L1 {
    pub(super) fn new(config: &L1Config, line: u64) -> Self {
        let lines = config.bytes / line;
        Self {
            hit: config.hit,
            ways: (0..lines as u32).map(|slot| Way { line: NONE, version: 0, slot }).collect(),
            associativity: config.ways as usize,
            set_mask: lines / config.ways - 1,
            bank_shift: config.interleave.ilog2(),
            bank_mask: config.banks - 1,
            taken: vec![0; config.banks as usize],
            mshrs: vec![Mshr { line: NONE, waiting: Vec::new() }; config.mshrs],
            used: 0,
        }
    }

    /// Whether the banks of an access are free in this cycle.
    #[inline]
    pub(super) fn banks_are_free(&self, address: u64, width: u64, cycle: u64) -> bool {
        let (first, last) = self.banks(address, width);
        self.taken[first] != cycle + 1 && (first == last || self.taken[last] != cycle + 1)
    }

    #[inline]
    pub(super) fn take_banks(&mut self, address: u64, width: u64, cycle: u64) {
        let (first, last) = self.banks(address, width);
        self.taken[first] = cycle + 1;
        if first != last {
            self.taken[last] = cycle + 1;
        }
    }

    /// The way of a line, if it is the most recently used of its set, and if the access is to one bank, which
    /// is free and is taken. If not, nothing changes.
    #[inline]
    pub(super) fn hit_at_once(&mut self, line: u64, address: u64, width: u64, cycle: u64) -> Option<&Way> {
        let (first, last) = self.banks(address, width);
        let way = &self.ways[self.set(line)];
        let taken = &mut self.taken[first];
        if way.line != line || first != last || *taken == cycle + 1 {
            return None;
        }
        *taken = cycle + 1;
        Some(way)
    }

    #[inline]
    fn banks(&self, address: u64, width: u64) -> (usize, usize) {
        let bank = |address: u64| (address >> self.bank_shift & self.bank_mask) as usize;
        (bank(address), bank(address + width - 1))
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
    pub(super) fn find(&mut self, line: u64) -> Option<Way> {
        let start = self.set(line);
        let set = &mut self.ways[start..start + self.associativity];
        if set[0].line != line {
            let place = set.iter().position(|way| way.line == line)?;
            set[..=place].rotate_right(1);
        }
        Some(set[0])
    }

    /// Inserts a line that is not there. Returns the slot and the line that it replaces.
    pub(super) fn insert(&mut self, line: u64, version: u32) -> (u32, Option<u64>) {
        let start = self.set(line);
        let set = &mut self.ways[start..start + self.associativity];
        set.rotate_right(1);
        let victim = std::mem::replace(&mut set[0].line, line);
        set[0].version = version;
        (set[0].slot, Some(victim).filter(|&victim| victim != NONE))
    }

    /// Removes a line; returns whether it was there.
    pub(super) fn remove(&mut self, line: u64) -> bool {
        let start = self.set(line);
        let set = &mut self.ways[start..start + self.associativity];
        let Some(place) = set.iter().position(|way| way.line == line) else { return false };
        set[place].line = NONE;
        set[place..].rotate_left(1);
        true
    }

    pub(super) fn clear(&mut self) {
        for way in &mut self.ways {
            way.line = NONE;
        }
    }

    /// Unused MSHRs.
    pub(super) fn free_mshrs(&self) -> usize {
        self.mshrs.len() - self.used
    }

    /// The MSHR of a line on its way.
    pub(super) fn mshr(&mut self, line: u64) -> Option<&mut Mshr> {
        self.mshrs.iter_mut().find(|mshr| mshr.line == line)
    }

    /// Takes a free MSHR, which there must be.
    pub(super) fn allocate(&mut self, line: u64) -> &mut Mshr {
        self.used += 1;
        let mshr = self.mshr(NONE).expect("a free MSHR");
        mshr.line = line;
        mshr
    }

    /// Frees the MSHR of a line; what waited for it is moved to `waiting`.
    pub(super) fn release(&mut self, line: u64, waiting: &mut Vec<u32>) {
        let mshr = self.mshr(line).expect("a line on its way");
        mshr.line = NONE;
        waiting.clear();
        std::mem::swap(&mut mshr.waiting, waiting);
        self.used -= 1;
    }
}
