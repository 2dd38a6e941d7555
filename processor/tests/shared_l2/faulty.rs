// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A memory system with a planted fault around a correct one.

use std::collections::BTreeMap;

use mb_processor::rv64::AtomicKind;
use mb_processor::shared_l2::SharedL2;
use mb_processor::system::{
    AddressKind, CompletedRequest, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    None,
    /// A fence does not wait for the write buffer.
    FenceWithoutWait,
    /// A store is held back until the next store of its core is sent, or for some cycles.
    ReorderedStores,
    /// A core keeps the first value that it has read from a place.
    StaleCopies,
    /// A store is visible to the other contexts of its core before it is performed.
    SharedForwarding,
    /// A store-conditional always succeeds.
    KeptReservation,
    /// An atomic addition is a load and a later store.
    SplitAtomics,
}

pub(crate) struct Faulty {
    inner: SharedL2,
    fault: Fault,
    /// A store that is held back, by core, with the last cycle.
    held: BTreeMap<usize, (u64, MemoryRequest)>,
    /// Values by core and address.
    copies: BTreeMap<(usize, u64), u64>,
    /// Stores that were not performed when they were last looked at.
    buffered: Vec<MemoryRequest>,
    /// Loads of atomics, and stores that follow them.
    split: Vec<MemoryRequest>,
    later: Vec<MemoryRequest>,
    /// Addresses of loads on their way, by core, context and tag.
    loads: BTreeMap<(usize, u8, u32), u64>,
}

impl Faulty {
    pub(crate) fn new(inner: SharedL2, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            held: BTreeMap::new(),
            copies: BTreeMap::new(),
            buffered: Vec::new(),
            split: Vec::new(),
            later: Vec::new(),
            loads: BTreeMap::new(),
        }
    }

    fn stale(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        let place = (request.core, request.address);
        if let RequestKind::Store { value } = request.kind {
            self.copies.insert(place, value);
        } else if let Some(&value) = self.copies.get(&place) {
            return MemoryAnswer::Ready { at: cycle + 1, value };
        }
        let answer = self.inner.request(cycle, request);
        match (request.kind, answer) {
            (RequestKind::Load, MemoryAnswer::Ready { value, .. }) => {
                self.copies.insert(place, value);
            }
            (RequestKind::Load, MemoryAnswer::Pending) => {
                self.loads.insert((request.core, request.context, request.tag), request.address);
            }
            _ => {}
        }
        answer
    }
}

impl MemorySystem for Faulty {
    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        let MemoryRequest { core, context, address, kind, .. } = request;
        match (self.fault, kind) {
            (Fault::ReorderedStores, RequestKind::Store { .. }) if !self.held.contains_key(&core) => {
                self.held.insert(core, (cycle + 30, request));
                MemoryAnswer::Ready { at: cycle + 1, value: 0 }
            }
            (Fault::StaleCopies, _) => self.stale(cycle, request),
            (Fault::SharedForwarding, RequestKind::Store { .. }) => {
                let answer = self.inner.request(cycle, request);
                if matches!(answer, MemoryAnswer::Ready { .. }) {
                    self.buffered.push(request);
                }
                answer
            }
            (Fault::SharedForwarding, RequestKind::Load) => {
                self.buffered.retain(|store| !self.inner.drained(store.core, store.context));
                let store = self.buffered.iter().find(|store| (store.core, store.address) == (core, address));
                match store.map(|store| store.kind) {
                    Some(RequestKind::Store { value }) => MemoryAnswer::Ready { at: cycle + 1, value },
                    _ => self.inner.request(cycle, request),
                }
            }
            (Fault::KeptReservation, RequestKind::StoreConditional { value }) => {
                self.inner.request(cycle, MemoryRequest { kind: RequestKind::Store { value }, ..request })
            }
            (Fault::SplitAtomics, RequestKind::Atomic { kind: AtomicKind::Add, operand }) => {
                let answer = self.inner.request(cycle, MemoryRequest { kind: RequestKind::Load, ..request });
                match answer {
                    MemoryAnswer::Ready { value, .. } => {
                        let kind = RequestKind::Store { value: value + operand };
                        self.later.push(MemoryRequest { kind, ..request });
                    }
                    MemoryAnswer::Pending => {
                        self.split.push(MemoryRequest { core, context, ..request });
                    }
                    _ => {}
                }
                answer
            }
            _ => self.inner.request(cycle, request),
        }
    }

    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        let before = completed.len();
        self.inner.advance(cycle, completed);
        for done in &completed[before..] {
            if let Some(address) = self.loads.remove(&(done.core, done.context, done.tag)) {
                self.copies.insert((done.core, address), done.value);
            }
            if let Some(place) = self.split.iter().position(|one| (one.core, one.context) == (done.core, done.context))
            {
                let kind = RequestKind::Store { value: done.value + 1 };
                self.later.push(MemoryRequest { kind, ..self.split.remove(place) });
            }
        }
        let inner = &mut self.inner;
        self.later.retain(|store| inner.request(cycle, *store) == MemoryAnswer::Retry);
        self.held.retain(|_, (until, store)| *until > cycle || inner.request(cycle, *store) == MemoryAnswer::Retry);
    }

    fn drained(&self, core: usize, context: u8) -> bool {
        self.fault == Fault::FenceWithoutWait || self.inner.drained(core, context) && !self.held.contains_key(&core)
    }

    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        self.inner.fetch(cycle, core, context, address)
    }

    fn code(&self, core: usize, address: u64) -> Option<u16> {
        self.inner.code(core, address)
    }

    fn next_event(&self) -> Option<u64> {
        self.inner.next_event()
    }

    fn reserved(&self, core: usize, context: u8) -> bool {
        self.inner.reserved(core, context)
    }

    fn invalidate_instructions(&mut self, core: usize) {
        self.inner.invalidate_instructions(core);
    }

    fn region(&self, address: u64, width: u8) -> AddressKind {
        self.inner.region(address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.inner.bytes(address, length)
    }
}
