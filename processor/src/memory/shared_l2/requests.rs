// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Data requests of the cores.

use super::l2::Which;
use super::write_buffer::{BufferedAccess, BufferedKind};
use super::{Load, SharedL2};
use crate::memory::backing::mask;
use crate::memory::system::{AddressKind, Device, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};

impl<D: Device> SharedL2<D> {
    /// A core has a new request for a line or a write, which can take the bus from this cycle on.
    #[inline]
    pub(super) fn wakes_bus(&mut self, core: usize, ready: u64) {
        self.bus.update(core, &self.requests[core]);
        // The end of the current message is an event already.
        if self.bus.current.is_none() {
            self.next = self.next.min(ready);
        }
    }

    #[inline]
    pub(super) fn load(&mut self, cycle: u64, request: &MemoryRequest, reserves: bool) -> MemoryAnswer {
        let MemoryRequest { core, context, address, width, .. } = *request;
        let (first, last) = (address >> self.shift, (address + u64::from(width) - 1) >> self.shift);
        let caches = &mut self.cores[core];
        let writes = &self.requests[core].writes;
        let (covered, bytes) = writes.forward(context, address, width);
        let at = cycle + caches.data.hit;
        if !caches.data.banks_are_free(address, width.into(), cycle) {
            caches.data_statistics.bank_conflicts += 1;
            return MemoryAnswer::Retry;
        }
        if covered == mask(width) && !reserves {
            caches.data.take_banks(address, width.into(), cycle);
            caches.data_statistics.forwarded += 1;
            return MemoryAnswer::Ready { at, value: bytes };
        }
        if (first != last || caches.data.find(first).is_none())
            && let Some(answer) = self.miss(cycle, request, reserves, first, last)
        {
            return answer;
        }
        let caches = &mut self.cores[core];
        caches.data.take_banks(address, width.into(), cycle);
        caches.data_statistics.hits += 1;
        if reserves {
            let hart = self.hart(core, context);
            self.reservations.set(hart, first);
        }
        MemoryAnswer::Ready { at, value: self.backing.load(address, width) & !covered | bytes }
    }

    /// A load that does not hit a single line. `None` if it hits two lines.
    fn miss(
        &mut self,
        cycle: u64,
        request: &MemoryRequest,
        reserves: bool,
        first: u64,
        last: u64,
    ) -> Option<MemoryAnswer> {
        let MemoryRequest { core, context, tag, address, width, .. } = *request;
        let caches = &mut self.cores[core];
        let (mut absent, mut needed) = (0, 0);
        for line in first..=last {
            if caches.data.peek(line).is_none() {
                absent += 1;
                needed += usize::from(caches.data.mshr(line).is_none());
            }
        }
        if needed > caches.data.free_mshrs() {
            caches.data_statistics.mshrs_full += 1;
            return Some(MemoryAnswer::Retry);
        }
        if absent == 0 {
            for line in first..=last {
                caches.data.find(line);
            }
            return None;
        }
        caches.data.take_banks(address, width.into(), cycle);
        if needed > 0 {
            caches.data_statistics.misses += 1;
        } else {
            caches.data_statistics.merged += 1;
        }
        let end = self.requests[core].writes.end();
        let load = Load { address, end, tag, context, width, missing: absent, reserves };
        let index = caches.free.pop().unwrap_or(caches.loads.len() as u32);
        if index as usize == caches.loads.len() {
            caches.loads.push(load);
        } else {
            caches.loads[index as usize] = load;
        }
        let ready = cycle + caches.data.hit;
        for line in first..=last {
            if caches.data.find(line).is_some() {
                continue;
            }
            if let Some(mshr) = caches.data.mshr(line) {
                mshr.waiting.push(index);
            } else {
                caches.data.allocate(line).waiting.push(index);
                self.requests[core].lines.push_back((ready, Which::Data, line));
            }
        }
        self.wakes_bus(core, ready);
        Some(MemoryAnswer::Pending)
    }

    /// Puts an access into the write buffer of its core.
    pub(super) fn write(
        &mut self,
        cycle: u64,
        request: &MemoryRequest,
        kind: BufferedKind,
        value: u64,
    ) -> MemoryAnswer {
        let MemoryRequest { core, context, tag, address, width, .. } = *request;
        let caches = &mut self.cores[core];
        let stores = kind == BufferedKind::Store;
        if self.requests[core].writes.is_full() {
            caches.data_statistics.write_buffer_full += 1;
            return MemoryAnswer::Retry;
        }
        if stores {
            if !caches.data.banks_are_free(address, width.into(), cycle) {
                caches.data_statistics.bank_conflicts += 1;
                return MemoryAnswer::Retry;
            }
            caches.data.take_banks(address, width.into(), cycle);
            caches.data_statistics.stores += 1;
        }
        let at = cycle + caches.data.hit;
        let hart = self.hart(core, context);
        if kind == BufferedKind::Conditional && !self.reservations.is(hart, address >> self.shift) {
            // It fails in any case, so it needs no bus.
            self.reservations.release(hart);
            return MemoryAnswer::Ready { at, value: 1 };
        }
        self.requests[core].writes.push(BufferedAccess { address, value, ready: at, tag, context, width, kind });
        self.undrained[hart] += 1;
        self.wakes_bus(core, at);
        if stores { MemoryAnswer::Ready { at, value: 0 } } else { MemoryAnswer::Pending }
    }

    /// A request that is not to memory.
    #[cold]
    pub(super) fn outside(&mut self, cycle: u64, request: &MemoryRequest) -> MemoryAnswer {
        if self.region(request.address, request.width) != AddressKind::Device {
            return MemoryAnswer::Fault;
        }
        match request.kind {
            RequestKind::Load => self.write(cycle, request, BufferedKind::DeviceRead, 0),
            RequestKind::Store { value } => self.write(cycle, request, BufferedKind::DeviceWrite, value),
            _ => MemoryAnswer::Fault,
        }
    }
}
