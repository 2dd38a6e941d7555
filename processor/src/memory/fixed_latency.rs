// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The simplest memory system: every access takes the same time, and nothing is ever in use.
//!
//! It is for tests of cores. An access of one cycle is answered at once. A longer one is pending,
//! and is performed when it completes. A store is performed when it is requested.

use super::Memory;
use super::backing::{Backing, Reservations};
use super::system::{
    AddressKind, CompletedKind, CompletedRequest, Device, DeviceAnswer, FetchAnswer, MemoryAnswer, MemoryRequest,
    MemorySystem, NoDevice, RequestKind,
};

/// The granule of a reservation, as a shift: 64 bytes.
const GRANULE: u32 = 6;

/// A memory with a fixed latency.
#[derive(Clone, Debug)]
pub struct FixedLatency<D = NoDevice> {
    contexts: usize,
    backing: Backing,
    /// Writes to each line so far.
    versions: Vec<u32>,
    reservations: Reservations,
    device: D,
    /// Cycles from a data request to its value, at least 1.
    latency: u64,
    /// The same for a fetch.
    fetch: u64,
    /// Data requests with the cycles in which they complete.
    pending: Vec<(u64, MemoryRequest)>,
    /// Fetches on their way: cycle, core, context, line.
    fetches: Vec<(u64, usize, u8, u64)>,
    /// The line that each hart has fetched last.
    fetched: Vec<Option<u64>>,
}

impl<D: Device> FixedLatency<D> {
    /// A memory for `cores` with `contexts` each. A data access takes `latency` cycles, and a fetch
    /// `fetch` cycles; 0 is taken as 1. A fetch of more than one cycle is pending if its line is not
    /// the line that its context has fetched last.
    #[must_use]
    pub fn new(memory: Memory, device: D, cores: usize, contexts: usize, latency: u64, fetch: u64) -> Self {
        let backing = Backing::new(memory);
        let lines = (backing.length() >> GRANULE) as usize + 2;
        Self {
            contexts,
            backing,
            versions: vec![0; lines],
            reservations: Reservations::new(cores * contexts),
            device,
            latency: latency.max(1),
            fetch: fetch.max(1),
            pending: Vec::new(),
            fetches: Vec::new(),
            fetched: vec![None; cores * contexts],
        }
    }

    /// The device.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    fn version(&mut self, line: u64) -> &mut u32 {
        &mut self.versions[(line - (self.backing.base() >> GRANULE)) as usize]
    }

    fn hart(&self, core: usize, context: u8) -> usize {
        core * self.contexts + usize::from(context)
    }

    /// Performs a request in `cycle`; `None` if the device has to wait.
    fn perform(&mut self, cycle: u64, request: &MemoryRequest) -> Option<u64> {
        let MemoryRequest { core, context, address, width, kind, .. } = *request;
        if self.region(address, width) == AddressKind::Device {
            let answer = if let RequestKind::Store { value } = kind {
                self.device.write(cycle, core, context, address, width, value)
            } else {
                self.device.read(cycle, core, context, address, width)
            };
            return match answer {
                DeviceAnswer::Value(value) => Some(value),
                DeviceAnswer::Wait => None,
            };
        }
        let hart = self.hart(core, context);
        let line = address >> GRANULE;
        let old = self.backing.load(address, width);
        let new = match kind {
            RequestKind::Load => return Some(old),
            RequestKind::LoadReserved => {
                self.reservations.set(hart, line);
                return Some(old);
            }
            RequestKind::Store { value } => value,
            RequestKind::StoreConditional { value } => {
                let held = self.reservations.is(hart, line);
                self.reservations.release(hart);
                if !held {
                    return Some(1);
                }
                value
            }
            RequestKind::Atomic { kind, operand } => {
                let old = crate::rv64::extend(old, width, true);
                kind.combine(old, operand)
            }
        };
        self.backing.store(address, width, new);
        for line in line..=(address + u64::from(width) - 1) >> GRANULE {
            self.reservations.written(line, Some(hart));
            *self.version(line) += 1;
        }
        Some(if matches!(kind, RequestKind::Atomic { .. }) { old } else { 0 })
    }
}

impl<D: Device> MemorySystem for FixedLatency<D> {
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        if !self.backing.contains(address, 2) {
            return FetchAnswer::Fault;
        }
        let (hart, line) = (self.hart(core, context), address >> GRANULE);
        let version = *self.version(line);
        if self.fetch == 1 {
            return FetchAnswer::Ready { at: cycle + 1, version };
        }
        if self.fetched[hart] == Some(line) {
            return FetchAnswer::Ready { at: cycle, version };
        }
        if !self.fetches.iter().any(|fetch| (fetch.1, fetch.2, fetch.3) == (core, context, line)) {
            self.fetches.push((cycle + self.fetch, core, context, line));
        }
        FetchAnswer::Pending
    }

    fn code(&self, _: usize, address: u64) -> Option<u16> {
        self.backing.get(address, 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        let plain = matches!(request.kind, RequestKind::Load | RequestKind::Store { .. });
        match self.region(request.address, request.width) {
            AddressKind::Device if plain => {}
            AddressKind::Memory => {
                if let RequestKind::Store { .. } = request.kind {
                    self.perform(cycle, &request);
                    return MemoryAnswer::Ready { at: cycle + 1, value: 0 };
                }
                if self.latency == 1 {
                    let value = self.perform(cycle, &request).unwrap_or(0);
                    return MemoryAnswer::Ready { at: cycle + 1, value };
                }
            }
            AddressKind::Device | AddressKind::Nothing => return MemoryAnswer::Fault,
        }
        self.pending.push((cycle + self.latency, request));
        MemoryAnswer::Pending
    }

    fn set_bytes(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(target) = self.backing.get_mut(address, bytes.len()) else { return false };
        target.copy_from_slice(bytes);
        if let Some(last) = bytes.len().checked_sub(1) {
            for line in address >> GRANULE..=(address + last as u64) >> GRANULE {
                self.reservations.written(line, None);
                *self.version(line) += 1;
            }
        }
        true
    }

    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        while let Some(at) = self.next_event().filter(|&at| at <= cycle) {
            let (arrived, rest): (Vec<_>, _) =
                std::mem::take(&mut self.fetches).into_iter().partition(|fetch| fetch.0 == at);
            self.fetches = rest;
            for (_, core, context, line) in arrived {
                let hart = self.hart(core, context);
                self.fetched[hart] = Some(line);
                let value = line << GRANULE;
                completed.push(CompletedRequest { source: CompletedKind::Fetch, core, context, tag: 0, at, value });
            }
            // Cores whose device access waits: their later stores, atomics and device accesses too.
            let mut waits = 0_u64;
            for (due, request) in std::mem::take(&mut self.pending) {
                let MemoryRequest { core, context, tag, .. } = request;
                let is_load = request.kind == RequestKind::Load
                    && self.region(request.address, request.width) == AddressKind::Memory;
                if due != at {
                    self.pending.push((due, request));
                } else if !is_load && waits >> (core & 63) & 1 != 0 {
                    self.pending.push((at + 1, request));
                } else if let Some(value) = self.perform(at, &request) {
                    completed.push(CompletedRequest { source: CompletedKind::Data, core, context, tag, at, value });
                } else {
                    waits |= 1 << (core & 63);
                    self.pending.push((at + 1, request));
                }
            }
        }
    }

    fn next_event(&self) -> Option<u64> {
        let data = self.pending.iter().map(|pending| pending.0);
        data.chain(self.fetches.iter().map(|fetch| fetch.0)).min()
    }

    fn drained(&self, _: usize, _: u8) -> bool {
        true
    }

    fn reserved(&self, core: usize, context: u8) -> bool {
        self.reservations.holds(self.hart(core, context))
    }

    fn invalidate_instructions(&mut self, _: usize) {}

    fn region(&self, address: u64, width: u8) -> AddressKind {
        if self.backing.contains(address, width.into()) {
            return AddressKind::Memory;
        }
        AddressKind::outside_memory(&self.device, address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.backing.get(address, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rv64::AtomicKind;

    fn memory(latency: u64, fetch: u64) -> FixedLatency {
        FixedLatency::new(Memory::new(0x1000, 0x1000), NoDevice, 2, 2, latency, fetch)
    }

    fn request(core: usize, kind: RequestKind) -> MemoryRequest {
        MemoryRequest { core, context: 1, tag: 7, address: 0x1040, width: 4, kind }
    }

    #[test]
    fn a_longer_access_is_performed_when_it_completes() {
        let mut memory = memory(5, 1);
        assert_eq!(memory.request(10, request(0, RequestKind::Load)), MemoryAnswer::Pending);
        let store = request(1, RequestKind::Store { value: 0xffff_ffff_0000_0009 });
        assert_eq!(memory.request(14, store), MemoryAnswer::Ready { at: 15, value: 0 });
        assert_eq!(memory.next_event(), Some(15));
        let mut completed = Vec::new();
        memory.advance(14, &mut completed);
        assert_eq!(completed, []);
        memory.advance(15, &mut completed);
        let expected = CompletedRequest { source: CompletedKind::Data, core: 0, context: 1, tag: 7, at: 15, value: 9 };
        assert_eq!(completed, [expected]);
        assert_eq!(memory.next_event(), None);
    }

    #[test]
    fn a_store_of_another_hart_ends_a_reservation() {
        let mut memory = memory(1, 1);
        let conditional = RequestKind::StoreConditional { value: 3 };
        let at = 2;
        for (writer, result) in [(0, 0), (1, 1)] {
            memory.request(1, request(0, RequestKind::LoadReserved));
            memory.request(1, request(writer, RequestKind::Store { value: 2 }));
            assert_eq!(memory.reserved(0, 1), result == 0);
            assert_eq!(memory.request(1, request(0, conditional)), MemoryAnswer::Ready { at, value: result });
            assert!(!memory.reserved(0, 1));
        }
        let add = RequestKind::Atomic { kind: AtomicKind::Add, operand: 5 };
        assert_eq!(memory.request(1, request(0, add)), MemoryAnswer::Ready { at, value: 2 });
        assert_eq!(memory.bytes(0x1040, 4), Some(&[7, 0, 0, 0][..]));
    }

    #[test]
    fn a_line_is_fetched_once_and_a_store_to_it_changes_its_version() {
        let mut memory = memory(1, 4);
        assert_eq!(memory.fetch(3, 0, 0, 0x1040), FetchAnswer::Pending);
        assert_eq!(memory.fetch(4, 0, 0, 0x1050), FetchAnswer::Pending);
        let mut completed = Vec::new();
        memory.advance(7, &mut completed);
        assert_eq!(completed.len(), 1);
        assert_eq!((completed[0].at, completed[0].value), (7, 0x1040));
        assert_eq!(memory.fetch(7, 0, 0, 0x1050), FetchAnswer::Ready { at: 7, version: 0 });
        memory.request(8, request(0, RequestKind::Store { value: 0x1234 }));
        assert_eq!(memory.fetch(8, 0, 0, 0x1050), FetchAnswer::Ready { at: 8, version: 1 });
        assert_eq!(memory.code(0, 0x1040), Some(0x1234));
        assert_eq!(memory.fetch(8, 0, 0, 0x1fff), FetchAnswer::Fault);
    }
}
