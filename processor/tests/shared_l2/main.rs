// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Private L1 caches above a shared L2: closed formulas of time, memory order, and random requests
//! against a naive model.

mod clock;
mod faulty;
mod formulas;
mod litmus;
mod naive;
mod programs;
mod random;

use mb_processor::Memory;
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{
    CompletedKind, CompletedRequest, Device, DeviceAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice,
    RequestKind,
};

/// First address of memory.
pub(crate) const BASE: u64 = 0x1_0000;
/// Bytes of memory.
pub(crate) const LENGTH: usize = 4 << 20;

/// A device of one register: a read returns its value and adds 1; a write adds the value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter {
    pub(crate) value: u64,
    /// Accesses before this cycle wait.
    pub(crate) busy_until: u64,
}

impl Counter {
    pub(crate) const ADDRESS: u64 = 0x1000_0000;
}

impl Device for Counter {
    fn range(&self) -> std::ops::Range<u64> {
        Self::ADDRESS..Self::ADDRESS + 0x1000
    }

    fn read(&mut self, cycle: u64, _: usize, _: u8, _: u64, _: u8) -> DeviceAnswer {
        if cycle < self.busy_until {
            return DeviceAnswer::Wait;
        }
        self.value += 1;
        DeviceAnswer::Value(self.value - 1)
    }

    fn write(&mut self, cycle: u64, _: usize, _: u8, _: u64, _: u8, value: u64) -> DeviceAnswer {
        if cycle < self.busy_until {
            return DeviceAnswer::Wait;
        }
        self.value += value;
        DeviceAnswer::Value(0)
    }
}

/// A memory system with its time.
pub(crate) struct Bench<M> {
    pub(crate) memory: M,
    pub(crate) now: u64,
    pub(crate) completed: Vec<CompletedRequest>,
}

pub(crate) fn machine(config: &SharedL2Config) -> Bench<SharedL2> {
    let memory = SharedL2::new(config, Memory::new(BASE, LENGTH), NoDevice).expect("a valid configuration");
    Bench { memory, now: 0, completed: Vec::new() }
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

    /// Makes a request now; returns the cycle and the value of its answer or completion. A refused
    /// request is repeated in every cycle.
    pub(crate) fn run(&mut self, request: MemoryRequest) -> (u64, u64) {
        loop {
            match self.memory.request(self.now, request) {
                MemoryAnswer::Ready { at, value } => return (at, value),
                MemoryAnswer::Retry => self.to(self.now + 1),
                MemoryAnswer::Pending => break,
                MemoryAnswer::Fault => panic!("{request:x?}: a fault"),
            }
        }
        loop {
            let next = self.memory.next_event().expect("a pending request completes");
            self.to(next);
            let mine = |one: &&CompletedRequest| {
                one.source == CompletedKind::Data
                    && (one.core, one.context, one.tag) == (request.core, request.context, request.tag)
            };
            if let Some(done) = self.completed.iter().find(mine) {
                return (done.at, done.value);
            }
        }
    }

    /// The cycles that a request takes from now on, and its value.
    pub(crate) fn takes(&mut self, request: MemoryRequest) -> (u64, u64) {
        self.completed.clear();
        let begin = self.now;
        let (at, value) = self.run(request);
        self.to(at.max(self.now));
        (at - begin, value)
    }

    /// Requests a load of each address in the first possible cycle, for each core in turn; returns
    /// the times of all completions in order.
    pub(crate) fn stream(&mut self, cores: usize, addresses: &[Vec<u64>], kind: RequestKind) -> Vec<u64> {
        let mut place = vec![0; cores];
        let mut times = Vec::new();
        self.completed.clear();
        while place.iter().zip(addresses).any(|(place, list)| *place < list.len()) || self.memory.next_event().is_some()
        {
            for core in 0..cores {
                let Some(&address) = addresses[core].get(place[core]) else { continue };
                match self.memory.request(self.now, request(core, 0, address, kind)) {
                    MemoryAnswer::Retry => {}
                    MemoryAnswer::Ready { at, .. } => {
                        place[core] += 1;
                        times.push(at);
                    }
                    _ => place[core] += 1,
                }
            }
            self.to(self.now + 1);
            times.extend(self.completed.drain(..).map(|one| one.at));
        }
        times
    }
}
