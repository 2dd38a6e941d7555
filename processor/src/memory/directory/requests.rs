// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads and fetches.

use super::cache::Block;
use super::node::{Load, Place, Waiter};
use super::{CoherentMemory, Event};
use crate::memory::backing::mask;
use crate::memory::line_port::LineEvent;
use crate::memory::system::{CompletedKind, CompletedRequest, Device, FetchAnswer, MemoryAnswer, MemoryRequest};

/// The bits of the `width` bytes at `address` that are in a line.
pub(super) fn part(line: u64, address: u64, width: u8) -> u64 {
    let skipped = (line * 64).saturating_sub(address).min(8);
    let end = (line * 64 + 64).saturating_sub(address).min(width.into());
    let up_to = |bytes: u64| if bytes == 0 { 0 } else { mask(bytes as u8) };
    up_to(end) & !up_to(skipped)
}

/// The bytes at `address` that are in a line; the others are 0.
pub(super) fn read(block: &Block, line: u64, address: u64, width: u8) -> u64 {
    let mut value = 0;
    for place in 0..u64::from(width) {
        if (address + place) / 64 == line {
            value |= u64::from(block.bytes[((address + place) % 64) as usize]) << (8 * place);
        }
    }
    value
}

/// The `width` bytes from `offset` on, which are in the line.
#[inline]
fn within_line(block: &Block, offset: usize, width: u8) -> u64 {
    let line = &block.bytes;
    if let Some(bytes) = line[offset..].first_chunk::<8>() {
        return u64::from_le_bytes(*bytes) & mask(width);
    }
    let mut bytes = [0; 8];
    bytes[..width.into()].copy_from_slice(&line[offset..offset + usize::from(width)]);
    u64::from_le_bytes(bytes)
}

impl<D: Device> CoherentMemory<D> {
    #[inline]
    pub(super) fn load(&mut self, cycle: u64, request: &MemoryRequest, reserves: bool) -> MemoryAnswer {
        let MemoryRequest { core, context, address, width, .. } = *request;
        let node = &mut self.nodes[core];
        if !node.data.take_port(cycle) {
            node.statistics.ports_full += 1;
            return MemoryAnswer::Retry;
        }
        let at = cycle + self.config.l1.hit;
        let stores = &node.stores;
        let (covered, bytes) =
            if stores.entries.is_empty() { (0, 0) } else { stores.forward(context, address, width, stores.end()) };
        if covered == mask(width) && !reserves {
            node.statistics.forwarded += 1;
            return MemoryAnswer::Ready { at, value: bytes };
        }
        let offset = (address % 64) as usize;
        if offset + usize::from(width) <= 64
            && let Some(way) = node.data.find(address / 64)
            && self.hits.read[way.state as usize]
        {
            let slot = way.slot as usize;
            let value = within_line(&node.data.blocks[slot], offset, width);
            node.statistics.data_hits += 1;
            if reserves {
                self.reserve(core, context, address / 64);
            }
            return MemoryAnswer::Ready { at, value: value & !covered | bytes };
        }
        self.load_miss(cycle, request, reserves)
    }

    /// A load that hits a single line of the cache: its cycle and value. `None`: nothing has happened.
    #[inline]
    pub(super) fn load_hit(
        &mut self,
        cycle: u64,
        core: usize,
        context: u8,
        address: u64,
        width: u8,
    ) -> Option<(u64, u64)> {
        let offset = (address % 64) as usize;
        if !self.home.contains(address, width.into()) || offset + usize::from(width) > 64 {
            return None;
        }
        let node = &mut self.nodes[core];
        if !node.data.has_port(cycle) {
            return None;
        }
        let way = node.data.find(address / 64)?;
        if !self.hits.read[way.state as usize] {
            return None;
        }
        let slot = way.slot as usize;
        node.data.take_port(cycle);
        let mut value = within_line(&node.data.blocks[slot], offset, width);
        let stores = &node.stores;
        if !stores.entries.is_empty() {
            let (covered, bytes) = stores.forward(context, address, width, stores.end());
            if covered == mask(width) {
                node.statistics.forwarded += 1;
                return Some((cycle + self.config.l1.hit, bytes));
            }
            value = value & !covered | bytes;
        }
        node.statistics.data_hits += 1;
        Some((cycle + self.config.l1.hit, value))
    }

    pub(super) fn reserve(&mut self, core: usize, context: u8, line: u64) {
        let hart = self.hart(core, context);
        self.reservations.set(hart, line);
        self.nodes[core].reserved_at = self.now;
    }

    /// Whether the data cache has the bytes of a line, or a transaction that leaves them readable.
    fn readable(&self, core: usize, line: u64) -> Option<&Block> {
        let node = &self.nodes[core];
        if let Some(way) = node.data.peek(line) {
            return self.hits.read[way.state as usize].then(|| &node.data.blocks[way.slot as usize]);
        }
        let mshr = &node.mshrs[node.mshr(line)?];
        let reads = mshr.active && !mshr.state.is_stable() && self.hits.read[mshr.state as usize];
        reads.then_some(&mshr.block)
    }

    /// A load that does not hit a single line of the cache.
    #[inline(never)]
    fn load_miss(&mut self, cycle: u64, request: &MemoryRequest, reserves: bool) -> MemoryAnswer {
        let MemoryRequest { core, context, tag, address, width, .. } = *request;
        let (first, last) = (address / 64, (address + u64::from(width) - 1) / 64);
        let (mut absent, mut needed) = (0, 0);
        for line in first..=last {
            if self.readable(core, line).is_none() {
                absent += 1;
                needed += usize::from(self.nodes[core].mshr(line).is_none());
            }
        }
        if !self.has_mshrs(core, Place::Data, needed) {
            return MemoryAnswer::Retry;
        }
        let end = self.nodes[core].stores.end();
        let mut load = Load { address, end, value: 0, tag, context, width, missing: absent, reserves };
        for line in first..=last {
            if let Some(block) = self.readable(core, line) {
                let value = read(block, line, address, width);
                load.value |= self.over(core, &load, line, value);
            }
        }
        let at = cycle + self.config.l1.hit;
        if absent == 0 {
            self.nodes[core].statistics.data_hits += 1;
            if reserves {
                self.reserve(core, context, first);
            }
            return MemoryAnswer::Ready { at, value: load.value };
        }
        let node = &mut self.nodes[core];
        node.statistics.load_misses += u64::from(absent);
        let number = node.loads.insert(load);
        for line in first..=last {
            if self.readable(core, line).is_none() {
                self.miss(core, line, Waiter::Load(number), Place::Data, at);
            }
        }
        MemoryAnswer::Pending
    }

    /// The part of a load in a line: the bytes of the line, and over them the stores of its hart.
    fn over(&self, core: usize, load: &Load, line: u64, value: u64) -> u64 {
        let part = part(line, load.address, load.width);
        let (covered, bytes) = self.nodes[core].stores.forward(load.context, load.address, load.width, load.end);
        (value & !covered | bytes) & part
    }

    /// Whether a miss of an L1 can be accepted.
    pub(super) fn has_mshrs(&mut self, core: usize, place: Place, needed: usize) -> bool {
        let node = &mut self.nodes[core];
        let free = match place {
            Place::Instruction => self.config.l1.mshrs - node.instruction_misses,
            _ => self.config.l1.mshrs - node.data_misses,
        };
        let has = needed == 0 || needed <= free && node.write_backs < self.config.write_backs;
        node.statistics.mshrs_full += u64::from(!has);
        has
    }

    /// A request waits for a line; the L2 looks for it from cycle `from` on.
    pub(super) fn miss(&mut self, core: usize, line: u64, waiter: Waiter, place: Place, from: u64) {
        let node = &mut self.nodes[core];
        let (mshr, new) = match node.mshr(line) {
            Some(mshr) => (mshr, false),
            None => (node.allocate(line, place, Some(place)), true),
        };
        let entry = &mut node.mshrs[mshr];
        entry.waiters.push(waiter);
        if new || entry.active && entry.state.is_stable() {
            let start = from.max(node.l2_free);
            node.l2_free = start + self.config.l2.ports;
            self.calendar.push(start + self.config.l2.hit, Event::Lookup { node: core as u8, line });
        }
    }

    #[inline(never)]
    pub(super) fn fetch_miss(&mut self, cycle: u64, core: usize, context: u8, line: u64) -> FetchAnswer {
        let known = self.nodes[core].mshr(line);
        let waiter = Waiter::Fetch(context);
        if known.is_some_and(|mshr| self.nodes[core].mshrs[mshr].waiters.contains(&waiter)) {
            return FetchAnswer::Pending;
        }
        if !self.has_mshrs(core, Place::Instruction, usize::from(known.is_none())) {
            return FetchAnswer::Retry;
        }
        self.nodes[core].statistics.fetch_misses += 1;
        self.miss(core, line, waiter, Place::Instruction, cycle + self.config.l1.hit);
        FetchAnswer::Pending
    }

    /// A request is served from the line in an MSHR.
    pub(super) fn hit(&mut self, core: usize, mshr: usize, waiter: Waiter, completed: &mut Vec<CompletedRequest>) {
        let at = self.now;
        let entry = &mut self.nodes[core].mshrs[mshr];
        let (line, block) = (entry.line, entry.block);
        match waiter {
            Waiter::Load(number) => {
                entry.place = Place::Data;
                let load = *self.nodes[core].loads.get(number);
                let Load { address, width, context, tag, .. } = load;
                let value = load.value | self.over(core, &load, line, read(&block, line, address, width));
                if load.missing > 1 {
                    *self.nodes[core].loads.get_mut(number) = Load { value, missing: load.missing - 1, ..load };
                    return;
                }
                self.nodes[core].loads.remove(number);
                if load.reserves {
                    self.reserve(core, context, line);
                }
                completed.push(CompletedRequest { source: CompletedKind::Data, core, context, tag, at, value });
            }
            Waiter::Fetch(context) => {
                entry.place = Place::Instruction;
                completed.push(CompletedRequest {
                    source: CompletedKind::Fetch,
                    core,
                    context,
                    tag: 0,
                    at,
                    value: line * 64,
                });
            }
            Waiter::Store => {
                entry.place = Place::Data;
                let mut block = block;
                self.perform(core, line, &mut block, completed);
                self.nodes[core].mshrs[mshr].block = block;
            }
            Waiter::Device(number) => {
                entry.place = Place::L2;
                let tag = self.nodes[core].works.remove(number).request.tag;
                self.tell(core, LineEvent::Data { tag, at, data: block.bytes });
            }
        }
    }

    /// Moves the lines of the instruction cache to the L2.
    pub(super) fn empty_instructions(&mut self, core: usize) {
        let lines: Vec<u64> = self.nodes[core].instruction.lines().map(|way| way.line).collect();
        for line in lines {
            if let Some((state, block)) = self.nodes[core].instruction.remove(line) {
                // Evictions complete no request.
                let result = self.insert_l2(core, line, state, &block, &mut Vec::new());
                if let Err(impossible) = result {
                    panic!("cycle {}: {impossible}", self.now);
                }
            }
        }
    }
}
