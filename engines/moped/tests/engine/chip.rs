// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The devices of a chip with messages without bytes: a switch with one latency, and no memory.

use std::collections::VecDeque;

use mb_moped::contract::{
    Field, Go, Id, Kind, ProcessAddress, REFUSED, RETRY, Word, data_store, poll_store, tag_value,
};
use mb_moped::{Moped, MopedParameters};
use mb_processor::line_port::{LineEvent, LinePort, LineRequest};
use mb_processor::system::{Device, DeviceAnswer};

/// Every message takes the same time.
struct Switch {
    latency: u64,
    now: u64,
    to: Vec<VecDeque<LineEvent>>,
}

impl LinePort for Switch {
    fn line_request(&mut self, _: u64, _: usize, _: LineRequest) -> bool {
        panic!("a message without bytes has no line")
    }

    fn send(&mut self, cycle: u64, from: usize, to: usize, _: u32, tag: u64) {
        self.to[to].push_back(LineEvent::Message { from, tag, at: cycle + self.latency });
    }

    fn line_events(&mut self, node: usize, events: &mut Vec<LineEvent>) {
        let is_due = |event: &LineEvent| matches!(event, LineEvent::Message { at, .. } if *at <= self.now);
        while self.to[node].front().is_some_and(is_due) {
            events.extend(self.to[node].pop_front());
        }
    }
}

/// The devices. Rank `r` runs on core `r`.
pub(crate) struct Chip {
    pub(crate) moped: Moped,
    pub(crate) cycle: u64,
    switch: Switch,
    program: u16,
}

/// Tag, sender and receiver of a descriptor.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) sender: Option<u16>,
    pub(crate) tag: Option<u32>,
    pub(crate) receiver: u16,
}

impl Chip {
    pub(crate) fn new(parameters: &MopedParameters, latency: u64, program: u16) -> Self {
        let switch = Switch { latency, now: 0, to: vec![VecDeque::new(); parameters.nodes] };
        Self { moped: Moped::new(parameters), cycle: 0, switch, program }
    }

    const fn process(&self, core: usize) -> ProcessAddress {
        ProcessAddress { program: self.program, rank: core as u16 }
    }

    /// Runs a cycle.
    pub(crate) fn step(&mut self) {
        self.cycle += 1;
        self.switch.now = self.cycle;
        self.moped.advance(self.cycle, &mut self.switch);
    }

    pub(crate) fn run_to(&mut self, cycle: u64) {
        while self.cycle < cycle {
            self.step();
        }
    }

    /// One attempt of an access in this cycle.
    fn attempt(&mut self, core: usize, address: u64, width: u8, value: Option<u64>) -> Option<u64> {
        let answer = match value {
            Some(value) => self.moped.write(self.cycle, core, 0, address, width, value),
            None => self.moped.read(self.cycle, core, 0, address, width),
        };
        match answer {
            DeviceAnswer::Value(value) => Some(value),
            DeviceAnswer::Wait => None,
        }
    }

    fn access(&mut self, core: usize, address: u64, width: u8, value: Option<u64>) -> u64 {
        for _ in 0..10_000 {
            self.step();
            if let Some(value) = self.attempt(core, address, width, value) {
                return value;
            }
        }
        panic!("an access of core {core} waits for ever");
    }

    /// A reservation, and the cycle of its answer; nothing if it is refused.
    pub(crate) fn reserve(&mut self, core: usize) -> Option<Id> {
        let value = self.access(core, self.process(core).port(), 4, None);
        (value != REFUSED).then(|| Id::of(value))
    }

    /// Reserves a descriptor and stores all but what completes it.
    pub(crate) fn prepare(&mut self, core: usize, message: &Message) -> Id {
        let id = self.reserve(core).expect("a descriptor");
        let tag = tag_value(message.tag.unwrap_or(0), message.receiver);
        for (field, value) in [(Field::Address, 0), (Field::Length, 0), (Field::Tag, tag)] {
            self.access(core, self.process(core).port(), 8, Some(data_store(id, field, value)));
        }
        id
    }

    /// A store to a descriptor in this cycle.
    pub(crate) fn store(&mut self, core: usize, id: Id, field: Field, value: u64) {
        let done = self.attempt(core, self.process(core).port(), 8, Some(data_store(id, field, value)));
        assert!(done.is_some(), "a port that takes a cycle");
    }

    /// Completes a descriptor in this cycle.
    pub(crate) fn go(&mut self, core: usize, id: Id, message: &Message) {
        let go = Go { kind: message.kind, context: 7, rank: message.sender, any_tag: message.tag.is_none() };
        self.store(core, id, Field::Go, go.value());
    }

    /// What a poll loads.
    pub(crate) fn poll(&mut self, core: usize, id: Id) -> u64 {
        loop {
            let port = self.process(core).port() + 4;
            self.access(core, port, 4, Some(poll_store(id, Word::State)));
            let value = self.access(core, port, 4, None);
            if value != RETRY {
                return value;
            }
        }
    }
}
