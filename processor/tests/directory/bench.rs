// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A memory system with its time.

use mb_processor::system::{CompletedKind, CompletedRequest, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};

/// First address of memory: of home 0 and of the first set of each cache.
pub(crate) const BASE: u64 = 0x10_0000;

pub(crate) struct Bench<M> {
    pub(crate) memory: M,
    pub(crate) now: u64,
    pub(crate) completed: Vec<CompletedRequest>,
}

pub(crate) fn request(core: usize, context: u8, address: u64, kind: RequestKind) -> MemoryRequest {
    MemoryRequest { core, context, tag: 0, address, width: 8, kind }
}

impl<M: MemorySystem> Bench<M> {
    /// Proceeds to a cycle.
    pub(crate) fn to(&mut self, cycle: u64) {
        self.now = cycle;
        self.memory.advance(cycle, &mut self.completed);
    }

    /// Runs until nothing happens without a request.
    pub(crate) fn settle(&mut self) {
        while let Some(next) = self.memory.next_event() {
            self.to(next.max(self.now));
        }
        self.to(self.now + 1);
        self.completed.clear();
    }

    /// The cycles that a request takes from now on, and its value. A refused one is repeated.
    pub(crate) fn takes(&mut self, request: MemoryRequest) -> (u64, u64) {
        self.completed.clear();
        let begin = self.now;
        loop {
            match self.memory.request(self.now, request) {
                MemoryAnswer::Ready { at, value } => return (at - begin, value),
                MemoryAnswer::Retry => self.to(self.now + 1),
                MemoryAnswer::Pending => break,
                MemoryAnswer::Fault => panic!("{request:x?}: a fault"),
            }
        }
        loop {
            let next = self.memory.next_event().expect("a pending request completes");
            self.to(next);
            if let Some(done) = self.completed.iter().find(|done| done.source == CompletedKind::Data) {
                return (done.at - begin, done.value);
            }
        }
    }

    /// Loads each address by core 0 in the first possible cycle; returns the times in order.
    pub(crate) fn stream(&mut self, addresses: &[u64]) -> Vec<u64> {
        let mut times = Vec::new();
        let mut place = 0;
        while place < addresses.len() || self.memory.next_event().is_some() {
            if let Some(&address) = addresses.get(place) {
                match self.memory.request(self.now, request(0, 0, address, RequestKind::Load)) {
                    MemoryAnswer::Retry => {}
                    MemoryAnswer::Ready { at, .. } => {
                        place += 1;
                        times.push(at);
                    }
                    _ => place += 1,
                }
            }
            self.to(self.now + 1);
            times.extend(self.completed.drain(..).map(|one| one.at));
        }
        times
    }
}
