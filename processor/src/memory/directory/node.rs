// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of a node.

use std::collections::VecDeque;

use super::cache::{Block, Cache};
use super::config::DirectoryConfig;
use super::protocol::{CacheEvent, CacheState};
use super::statistics::NodeStatistics;
use crate::memory::line_port::{LineEvent, LineRequest};
use crate::memory::shared_l2::write_buffer::{BufferedAccess, forward};

/// Where a line goes when its transaction has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Data,
    Instruction,
    L2,
}

/// A request that waits for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waiter {
    /// The number of a load.
    Load(u32),
    /// The context of a fetch.
    Fetch(u8),
    /// The oldest entry of the store buffer.
    Store,
    /// The number of a request of the device.
    Device(u32),
}

impl Waiter {
    pub(super) fn is_device(self) -> bool {
        matches!(self, Self::Device(_))
    }
}

/// A line with requests that wait for it, in a transaction, or owned by the device.
#[derive(Clone, Debug)]
pub(super) struct Mshr {
    pub(super) line: u64,
    /// Whether the state and the bytes of the line are here; otherwise they are in the caches.
    pub(super) active: bool,
    pub(super) state: CacheState,
    pub(super) acks: i8,
    pub(super) block: Block,
    pub(super) waiters: Vec<Waiter>,
    pub(super) place: Place,
    /// The L1 whose limit it counts for.
    pub(super) class: Option<Place>,
}

/// A load that waits for lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) address: u64,
    /// The end of the store buffer when the load was requested.
    pub(super) end: u64,
    /// The bytes that have been read.
    pub(super) value: u64,
    pub(super) tag: u32,
    pub(super) context: u8,
    pub(super) width: u8,
    /// Lines that have not arrived.
    pub(super) missing: u8,
    pub(super) reserves: bool,
}

/// Accesses that are not performed, in order.
#[derive(Clone, Debug)]
pub(super) struct StoreBuffer {
    pub(super) entries: VecDeque<BufferedAccess>,
    /// Entries that were ever performed: the number of the front.
    performed: u64,
    /// Bytes of the front that are performed, if it crosses a line.
    pub(super) done: u8,
}

impl StoreBuffer {
    pub(super) fn push(&mut self, entry: BufferedAccess) {
        self.entries.push_back(entry);
    }

    pub(super) fn pop(&mut self) {
        self.entries.pop_front();
        self.performed += 1;
        self.done = 0;
    }

    /// The number of the next entry.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.performed + self.entries.len() as u64
    }

    /// The bytes of the stores of `context` with numbers below `end` among `width` bytes at
    /// `address`: a mask of them, and their values.
    #[inline]
    pub(super) fn forward(&self, context: u8, address: u64, width: u8, end: u64) -> (u64, u64) {
        let count = end.saturating_sub(self.performed);
        forward(self.entries.iter().zip(0..count).map(|(entry, _)| entry), context, address, width)
    }
}

/// A slab: elements with numbers that are used again.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    elements: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { elements: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn insert(&mut self, element: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.elements[number as usize] = element;
            return number;
        }
        self.elements.push(element);
        self.elements.len() as u32 - 1
    }

    /// All elements, also those that have been removed.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.elements.iter()
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &T {
        &self.elements[number as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.elements[number as usize]
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.elements[number as usize]
    }
}

/// A request of the device that is accepted, with its event.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineWork {
    pub(super) request: LineRequest,
    pub(super) event: CacheEvent,
}

/// The caches of a core, its store buffer, and the port of its device.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) data: Cache,
    pub(super) instruction: Cache,
    pub(super) l2: Cache,
    pub(super) mshrs: Vec<Mshr>,
    /// Lists of former MSHRs.
    pub(super) lists: Vec<Vec<Waiter>>,
    /// MSHRs that count for the L1 caches.
    pub(super) data_misses: usize,
    pub(super) instruction_misses: usize,
    pub(super) write_backs: usize,
    /// The cycle from which the L2 can begin a lookup.
    pub(super) l2_free: u64,
    pub(super) stores: StoreBuffer,
    /// Whether the front of the store buffer waits for an event.
    pub(super) draining: bool,
    pub(super) loads: Slab<Load>,
    pub(super) works: Slab<LineWork>,
    /// The latest cycle with an operation of the device, and how many.
    pub(super) operations: (u64, u64),
    pub(super) events: Vec<LineEvent>,
    /// The latest load-reserved.
    pub(super) reserved_at: u64,
    pub(super) statistics: NodeStatistics,
}

impl Node {
    pub(super) fn new(config: &DirectoryConfig) -> Self {
        Self {
            data: Cache::new(&config.l1),
            instruction: Cache::new(&config.l1),
            l2: Cache::new(&config.l2),
            mshrs: Vec::new(),
            lists: Vec::new(),
            data_misses: 0,
            instruction_misses: 0,
            write_backs: 0,
            l2_free: 0,
            stores: StoreBuffer { entries: VecDeque::with_capacity(config.store_buffer), performed: 0, done: 0 },
            draining: false,
            loads: Slab::new(),
            works: Slab::new(),
            operations: (u64::MAX, 0),
            events: Vec::new(),
            reserved_at: 0,
            statistics: NodeStatistics::default(),
        }
    }

    /// The MSHR of a line.
    #[inline]
    pub(super) fn mshr(&self, line: u64) -> Option<usize> {
        self.mshrs.iter().position(|mshr| mshr.line == line)
    }

    /// Takes an MSHR for a line that has none.
    pub(super) fn allocate(&mut self, line: u64, place: Place, class: Option<Place>) -> usize {
        match class {
            Some(Place::Data) => self.data_misses += 1,
            Some(Place::Instruction) => self.instruction_misses += 1,
            _ => {}
        }
        let waiters = self.lists.pop().unwrap_or_default();
        let (state, block) = (CacheState::I, Block::ZERO);
        self.mshrs.push(Mshr { line, active: false, state, acks: 0, block, waiters, place, class });
        self.mshrs.len() - 1
    }

    /// Frees an MSHR; another one gets its number.
    pub(super) fn free(&mut self, number: usize) {
        let mut mshr = self.mshrs.swap_remove(number);
        match mshr.class {
            Some(Place::Data) => self.data_misses -= 1,
            Some(Place::Instruction) => self.instruction_misses -= 1,
            _ => {}
        }
        mshr.waiters.clear();
        self.lists.push(mshr.waiters);
    }

    /// Takes a line out of the caches.
    pub(super) fn extract(&mut self, line: u64) -> Option<(CacheState, Block)> {
        self.data.remove(line).or_else(|| self.l2.remove(line)).or_else(|| self.instruction.remove(line))
    }

    /// The state and the bytes of a line, wherever they are.
    pub(super) fn look(&self, line: u64) -> (CacheState, Option<&Block>) {
        if let Some(mshr) = self.mshr(line).map(|number| &self.mshrs[number]).filter(|mshr| mshr.active) {
            return (mshr.state, Some(&mshr.block));
        }
        for cache in [&self.data, &self.l2, &self.instruction] {
            if let Some(way) = cache.peek(line) {
                return (way.state, Some(&cache.blocks[way.slot as usize]));
            }
        }
        (CacheState::I, None)
    }
}
