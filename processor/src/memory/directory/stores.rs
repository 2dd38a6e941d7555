// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores, atomics and device accesses, in order.

use super::cache::Block;
use super::node::{Place, Waiter};
use super::protocol::Impossible;
use super::requests::{part, read};
use super::{CoherentMemory, Event};
use crate::memory::shared_l2::write_buffer::{BufferedAccess, BufferedKind};
use crate::memory::system::{
    AddressKind, CompletedKind, CompletedRequest, Device, DeviceAnswer, MemoryAnswer, MemoryRequest, MemorySystem,
    RequestKind,
};
use crate::rv64::extend;

/// Writes the bytes of `value` at `address` that are in a line.
fn write(block: &mut Block, line: u64, address: u64, width: u8, value: u64) {
    for place in 0..u64::from(width) {
        if (address + place) / 64 == line {
            block.bytes[((address + place) % 64) as usize] = (value >> (8 * place)) as u8;
        }
    }
}

impl<D: Device> CoherentMemory<D> {
    /// A store, store-conditional or atomic.
    #[inline]
    pub(super) fn store(&mut self, cycle: u64, request: &MemoryRequest) -> MemoryAnswer {
        let MemoryRequest { core, context, tag, address, width, kind } = *request;
        let (kind, value) = match kind {
            RequestKind::StoreConditional { value } => (BufferedKind::Conditional, value),
            RequestKind::Atomic { kind, operand } => (BufferedKind::Atomic(kind), operand),
            RequestKind::Store { value } => (BufferedKind::Store, value),
            RequestKind::Load | RequestKind::LoadReserved => return MemoryAnswer::Fault,
        };
        let at = cycle + self.config.l1.hit;
        let node = &mut self.nodes[core];
        if node.stores.entries.len() == self.config.store_buffer {
            node.statistics.store_buffer_full += 1;
            return MemoryAnswer::Retry;
        }
        if !node.data.take_port(cycle) {
            node.statistics.ports_full += 1;
            return MemoryAnswer::Retry;
        }
        let line = address / 64;
        if kind == BufferedKind::Conditional && !self.reservations.is(self.hart(core, context), line) {
            // It fails in any case.
            let hart = self.hart(core, context);
            self.reservations.release(hart);
            return MemoryAnswer::Ready { at, value: 1 };
        }
        let entry = BufferedAccess { address, value, ready: at, tag, context, width, kind };
        let node = &mut self.nodes[core];
        if node.stores.entries.is_empty()
            && address % 64 + u64::from(width) <= 64
            && let Some(way) = node.data.find(line)
            && let Some(next) = self.hits.write[way.state as usize]
        {
            way.state = next;
            let slot = way.slot as usize;
            node.statistics.data_hits += 1;
            let value = self.write_slot(core, slot, &entry);
            return MemoryAnswer::Ready { at, value: if kind == BufferedKind::Store { 0 } else { value } };
        }
        node.stores.push(entry);
        let hart = self.hart(core, context);
        self.undrained[hart] += 1;
        self.wake_stores(core, at);
        if kind == BufferedKind::Store { MemoryAnswer::Ready { at, value: 0 } } else { MemoryAnswer::Pending }
    }

    /// A store of the only context of a node that is performed at once. False: nothing has happened.
    #[inline]
    pub(super) fn store_hit(&mut self, cycle: u64, core: usize, address: u64, width: u8, value: u64) -> bool {
        if self.config.contexts != 1
            || !self.home.contains(address, width.into())
            || address % 64 + u64::from(width) > 64
        {
            return false;
        }
        let node = &mut self.nodes[core];
        if !node.stores.entries.is_empty() || !node.data.has_port(cycle) {
            return false;
        }
        let Some(way) = node.data.find(address / 64) else { return false };
        let Some(next) = self.hits.write[way.state as usize] else { return false };
        way.state = next;
        let slot = way.slot as usize;
        node.data.take_port(cycle);
        node.statistics.data_hits += 1;
        let kind = BufferedKind::Store;
        self.write_slot(core, slot, &BufferedAccess { address, value, ready: cycle, tag: 0, context: 0, width, kind });
        true
    }

    /// Performs an access that is within a line of the data cache. The value is that of an atomic, or
    /// the result of a store-conditional.
    #[inline]
    fn write_slot(&mut self, core: usize, slot: usize, entry: &BufferedAccess) -> u64 {
        let BufferedAccess { address, value, width, kind, context, .. } = *entry;
        let line = address / 64;
        self.written(core, context, line, kind);
        let version = self.version;
        let block = &mut self.nodes[core].data.blocks[slot];
        block.version = version;
        let offset = (address % 64) as usize;
        if kind == BufferedKind::Store
            && width == 8
            && let Some(place) = block.bytes[offset..].first_chunk_mut::<8>()
        {
            *place = value.to_le_bytes();
            return 0;
        }
        Self::write_block(block, line, entry)
    }

    fn write_block(block: &mut Block, line: u64, entry: &BufferedAccess) -> u64 {
        let BufferedAccess { address, value, width, kind, .. } = *entry;
        if let BufferedKind::Atomic(kind) = kind {
            let old = read(block, line, address, width);
            write(block, line, address, width, kind.combine(extend(old, width, true), value));
            return old;
        }
        write(block, line, address, width, value);
        0
    }

    /// A hart writes to a line of its node.
    #[inline]
    fn written(&mut self, core: usize, context: u8, line: u64, kind: BufferedKind) {
        self.version = self.version.wrapping_add(1);
        if !self.reservations.any() {
            return;
        }
        let writer = self.hart(core, context);
        for hart in core * self.config.contexts..(core + 1) * self.config.contexts {
            if hart != writer && self.reservations.is(hart, line) {
                self.reservations.release(hart);
            }
        }
        if kind == BufferedKind::Conditional {
            self.reservations.release(writer);
        }
    }

    /// The front of the store buffer can proceed from a cycle on.
    fn wake_stores(&mut self, core: usize, from: u64) {
        let node = &mut self.nodes[core];
        let Some(front) = node.stores.entries.front() else { return };
        if node.draining {
            return;
        }
        node.draining = true;
        let event = if front.is_device() {
            (front.ready.max(self.now) + self.config.device, Event::Access(core as u8))
        } else {
            (front.ready.max(from), Event::Drain(core as u8))
        };
        self.calendar.push(event.0, event.1);
    }

    /// Performs the front of the store buffer, or requests its line.
    pub(super) fn drain(&mut self, core: usize, completed: &mut Vec<CompletedRequest>) -> Result<(), Impossible> {
        let node = &mut self.nodes[core];
        let Some(&front) = node.stores.entries.front() else { return Ok(()) };
        let line = (front.address + u64::from(node.stores.done)) / 64;
        let held = node.data.find(line).map(|way| (way.slot as usize, way.state));
        if front.kind == BufferedKind::Conditional && !self.reservations.is(self.hart(core, front.context), line) {
            self.finish_front(core, &front, 1, completed);
            return Ok(());
        }
        let node = &mut self.nodes[core];
        if let Some((slot, state)) = held
            && let Some(next) = self.hits.write[state as usize]
        {
            node.data.find(line).expect("a line").state = next;
            node.statistics.data_hits += 1;
            let mut block = node.data.blocks[slot];
            self.perform(core, line, &mut block, completed);
            self.nodes[core].data.blocks[slot] = block;
            return Ok(());
        }
        let known = node.mshr(line);
        if !self.has_mshrs(core, Place::Data, usize::from(known.is_none())) {
            self.calendar.push(self.now + 1, Event::Drain(core as u8));
            return Ok(());
        }
        self.nodes[core].statistics.store_misses += 1;
        if held.is_none() || known.is_some() {
            self.miss(core, line, Waiter::Store, Place::Data, self.now);
            return Ok(());
        }
        // The L1 knows that the right is missing: no lookup in the L2.
        let node = &mut self.nodes[core];
        let mshr = node.allocate(line, Place::Data, Some(Place::Data));
        let (state, block) = node.extract(line).expect("a line of the data cache");
        let entry = &mut node.mshrs[mshr];
        (entry.active, entry.state, entry.block) = (true, state, block);
        entry.waiters.push(Waiter::Store);
        self.serve(core, mshr, completed)
    }

    /// The front of the store buffer is performed in a line that the node has exclusively.
    pub(super) fn perform(&mut self, core: usize, line: u64, block: &mut Block, completed: &mut Vec<CompletedRequest>) {
        let front = *self.nodes[core].stores.entries.front().expect("a store that waits for the line");
        let BufferedAccess { address, width, context, kind, .. } = front;
        let hart = self.hart(core, context);
        if kind == BufferedKind::Conditional && !self.reservations.is(hart, line) {
            self.finish_front(core, &front, 1, completed);
            return;
        }
        self.written(core, context, line, kind);
        block.version = self.version;
        let value = Self::write_block(block, line, &front);
        let last = (address + u64::from(width) - 1) / 64;
        if line < last {
            let bits = part(line, address, width);
            self.nodes[core].stores.done = (bits.count_ones() / 8) as u8;
            self.calendar.push(self.now + 1, Event::Drain(core as u8));
            return;
        }
        self.finish_front(core, &front, value, completed);
    }

    /// The front of the store buffer is done.
    fn finish_front(&mut self, core: usize, front: &BufferedAccess, value: u64, completed: &mut Vec<CompletedRequest>) {
        let BufferedAccess { context, tag, .. } = *front;
        if !front.is_store() {
            if front.kind == BufferedKind::Conditional {
                let hart = self.hart(core, context);
                self.reservations.release(hart);
            }
            completed.push(CompletedRequest { source: CompletedKind::Data, core, context, tag, at: self.now, value });
        }
        let hart = self.hart(core, context);
        self.undrained[hart] -= 1;
        let node = &mut self.nodes[core];
        node.stores.pop();
        node.draining = false;
        self.wake_stores(core, self.now + 1);
    }

    /// The front of the store buffer accesses a device.
    pub(super) fn access_device(&mut self, core: usize, completed: &mut Vec<CompletedRequest>) {
        let front = *self.nodes[core].stores.entries.front().expect("a device access");
        let BufferedAccess { address, value, context, width, kind, .. } = front;
        let answer = if kind == BufferedKind::DeviceWrite {
            self.device.write(self.now, core, context, address, width, value)
        } else {
            self.device.read(self.now, core, context, address, width)
        };
        match answer {
            DeviceAnswer::Wait => self.calendar.push(self.now + 1, Event::Access(core as u8)),
            DeviceAnswer::Value(value) => {
                let value = if kind == BufferedKind::DeviceWrite { 0 } else { value };
                self.finish_front(core, &front, value, completed);
            }
        }
    }

    /// A request that is not to memory.
    #[cold]
    pub(super) fn outside(&mut self, cycle: u64, request: &MemoryRequest) -> MemoryAnswer {
        let MemoryRequest { core, context, tag, address, width, kind } = *request;
        if self.region(address, width) != AddressKind::Device {
            return MemoryAnswer::Fault;
        }
        let (kind, value) = match kind {
            RequestKind::Load => (BufferedKind::DeviceRead, 0),
            RequestKind::Store { value } => (BufferedKind::DeviceWrite, value),
            _ => return MemoryAnswer::Fault,
        };
        if self.nodes[core].stores.entries.len() == self.config.store_buffer {
            self.nodes[core].statistics.store_buffer_full += 1;
            return MemoryAnswer::Retry;
        }
        let at = cycle + self.config.l1.hit;
        self.nodes[core].stores.push(BufferedAccess { address, value, ready: at, tag, context, width, kind });
        let hart = self.hart(core, context);
        self.undrained[hart] += 1;
        self.wake_stores(core, at);
        MemoryAnswer::Pending
    }
}
