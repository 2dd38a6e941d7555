// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MOPEDs on the flat memory, with address spaces, and the accesses of software.

use mb_core::random::Random;
use mb_moped::contract::{
    CONTROL, Field, Go, Id, Kind, ProcessAddress, RETRY, STATE_BITS, State, Word, data_store, poll_store, tag_value,
};
use mb_moped::{Moped, MopedParameters, presets};
use mb_processor::system::{Device, DeviceAnswer};

use crate::lines::{BASE, Lines, Timing};

/// First virtual address of the buffers of a process.
pub(crate) const VIRTUAL: u64 = 0x0010_0000;
const PAGE: u64 = 4096;
const VALID: u64 = 0xdf;

/// An address space: page table, and the physical pages of the buffers.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) root: u64,
    pub(crate) pages: Vec<u64>,
}

/// Devices, memory and address spaces.
pub(crate) struct Chip {
    pub(crate) moped: Moped,
    pub(crate) lines: Lines,
    pub(crate) cycle: u64,
    pub(crate) spaces: Vec<Space>,
    free: Vec<u64>,
    nodes: usize,
    /// Whether cycles in which nothing happens are skipped.
    pub(crate) skips: bool,
}

/// The parameters of a preset for a small chip.
pub(crate) fn small(preset: &str, nodes: usize, descriptors: usize) -> MopedParameters {
    MopedParameters { nodes, descriptors, programs: 4, ..presets::parameters(preset) }
}

impl Chip {
    pub(crate) fn new(parameters: &MopedParameters, timing: Timing, seed: u64) -> Self {
        const PAGES: u64 = 1024;
        let lines = Lines::new(parameters.nodes, (PAGES * PAGE) as usize, timing, seed);
        let mut free: Vec<u64> = (0..PAGES).map(|page| BASE + page * PAGE).collect();
        Random::of(seed, &[2]).shuffle(&mut free);
        Self {
            moped: Moped::new(parameters),
            lines,
            cycle: 0,
            spaces: Vec::new(),
            free,
            nodes: parameters.nodes,
            skips: false,
        }
    }

    fn page(&mut self) -> u64 {
        self.free.pop().expect("a free page")
    }

    fn put64(&mut self, address: u64, value: u64) {
        let at = (address - BASE) as usize;
        self.lines.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// An address space with `pages` pages of buffers, of which the last `missing` are not mapped.
    pub(crate) fn space(&mut self, pages: usize, missing: usize) -> usize {
        let [root, middle, leaf] = [self.page(), self.page(), self.page()];
        let pages: Vec<u64> = (0..pages).map(|_| self.page()).collect();
        self.put64(root, middle >> 2 | 1);
        self.put64(middle, leaf >> 2 | 1);
        let mapped = pages.len() - missing;
        self.spaces.push(Space { root, pages: pages.clone() });
        let space = self.spaces.len() - 1;
        for number in 0..mapped {
            self.map(space, number as u64, true);
        }
        space
    }

    /// Maps or unmaps a page of buffers.
    pub(crate) fn map(&mut self, space: usize, number: u64, is_mapped: bool) {
        let Space { root, pages } = self.spaces[space].clone();
        let read = |at: u64, bytes: &[u8]| {
            let at = (at - BASE) as usize;
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")) >> 10 << 12
        };
        let middle = read(root, &self.lines.bytes);
        let leaf = read(middle, &self.lines.bytes);
        let value = if is_mapped { pages[number as usize] >> 2 | VALID } else { 0 };
        self.put64(leaf + (VIRTUAL / PAGE + number) % 512 * 8, value);
    }

    /// The place in memory of a virtual address.
    pub(crate) fn place(&self, space: usize, address: u64) -> usize {
        let offset = address - VIRTUAL;
        (self.spaces[space].pages[(offset / PAGE) as usize] + offset % PAGE - BASE) as usize
    }

    pub(crate) fn moped_nodes(&self) -> usize {
        self.nodes
    }

    /// Runs a cycle: memory and devices. Accesses of the cycle follow.
    pub(crate) fn step(&mut self) {
        self.cycle += 1;
        if self.skips {
            let next = [self.lines.next_event(), self.moped.next_event()].into_iter().flatten().min();
            self.cycle = next.map_or(self.cycle, |next| next.max(self.cycle));
        }
        self.lines.advance(self.cycle);
        self.moped.advance(self.cycle, &mut self.lines);
    }

    /// One attempt of an access in the current cycle.
    pub(crate) fn attempt(&mut self, core: usize, address: u64, width: u8, value: Option<u64>) -> Option<u64> {
        let answer = match value {
            Some(value) => self.moped.write(self.cycle, core, 0, address, width, value),
            None => self.moped.read(self.cycle, core, 0, address, width),
        };
        match answer {
            DeviceAnswer::Value(value) => Some(value),
            DeviceAnswer::Wait => None,
        }
    }

    /// An access that is repeated until it is performed, and the cycles that it took.
    pub(crate) fn access(&mut self, core: usize, address: u64, width: u8, value: Option<u64>) -> u64 {
        for _ in 0..100_000 {
            self.step();
            if let Some(value) = self.attempt(core, address, width, value) {
                return value;
            }
        }
        panic!("access to {address:#x} of core {core} waits for ever");
    }

    pub(crate) fn reserve(&mut self, core: usize, process: ProcessAddress) -> u64 {
        self.access(core, process.port(), 4, None)
    }

    pub(crate) fn store(&mut self, core: usize, process: ProcessAddress, id: Id, field: Field, value: u64) {
        self.access(core, process.port(), 8, Some(data_store(id, field, value)));
    }

    pub(crate) fn poll(&mut self, core: usize, process: ProcessAddress, id: Id, word: Word) -> u64 {
        loop {
            self.access(core, process.port() + 4, 4, Some(poll_store(id, word)));
            let value = self.access(core, process.port() + 4, 4, None);
            if value != RETRY {
                return value;
            }
        }
    }

    pub(crate) fn state(&mut self, core: usize, process: ProcessAddress, id: Id, word: Word) -> State {
        let value = self.poll(core, process, id, word);
        State::of(value & STATE_BITS).expect("a state")
    }

    /// Reserves and completes a descriptor.
    pub(crate) fn post(&mut self, core: usize, process: ProcessAddress, post: &Post) -> Id {
        let number = self.reserve(core, process);
        assert!(number <= 0xffff, "refused");
        let id = Id::of(number);
        for (field, value) in post.stores() {
            self.store(core, process, id, field, value);
        }
        id
    }

    /// Polls until the state is final.
    pub(crate) fn finish(&mut self, core: usize, process: ProcessAddress, id: Id) -> State {
        for _ in 0..100_000 {
            let state = self.state(core, process, id, Word::State);
            if state.is_final() {
                return state;
            }
        }
        panic!("descriptor {id:?} never ends");
    }

    /// Steps until nothing is under way.
    pub(crate) fn settle(&mut self) {
        for _ in 0..1_000_000 {
            self.step();
            if self.moped.is_idle() && self.lines.is_idle() {
                return;
            }
        }
        panic!("the devices never become idle");
    }

    pub(crate) fn step_by(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Steps until a condition holds.
    pub(crate) fn settle_until(&mut self, mut ends: impl FnMut(&Self) -> bool) {
        for _ in 0..1_000_000 {
            self.step();
            if ends(self) {
                return;
            }
        }
        panic!("waits for ever");
    }

    pub(crate) fn control(&mut self, core: usize, offset: u64, value: Option<u64>) -> u64 {
        self.access(core, CONTROL + offset, 8, value)
    }
}

/// A descriptor to be completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Post {
    pub(crate) go: Go,
    pub(crate) tag: u32,
    pub(crate) receiver: u16,
    pub(crate) address: u64,
    pub(crate) length: u32,
}

impl Post {
    pub(crate) const fn send(receiver: u16, rank: u16, tag: u32, address: u64, length: u32) -> Self {
        let go = Go { kind: Kind::Send, context: 7, rank: Some(rank), any_tag: false };
        Self { go, tag, receiver, address, length }
    }

    pub(crate) const fn receive(rank: Option<u16>, tag: Option<u32>, address: u64, length: u32) -> Self {
        let go = Go { kind: Kind::Receive, context: 7, rank, any_tag: tag.is_none() };
        let tag = match tag {
            Some(tag) => tag,
            None => 0,
        };
        Self { go, tag, receiver: 0, address, length }
    }

    pub(crate) const fn with(mut self, kind: Kind) -> Self {
        self.go.kind = kind;
        self
    }

    pub(crate) fn stores(&self) -> [(Field, u64); 4] {
        [
            (Field::Address, self.address),
            (Field::Length, self.length.into()),
            (Field::Tag, tag_value(self.tag, self.receiver)),
            (Field::Go, self.go.value()),
        ]
    }
}

/// A process of program 0.
pub(crate) const fn rank(rank: u16) -> ProcessAddress {
    ProcessAddress { program: 0, rank }
}
