// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ports of the processes and the registers of the kernel.

use std::ops::Range;

use mb_processor::system::{Device, DeviceAnswer};

use crate::backoff::Bit;
use crate::contract::{
    self, CONTROL, DATA_PORT, FIELD_SHIFT, Field, Id, PAGE_BYTES, POLL_PORT, PORTS, ProcessAddress, REFUSED, RETRY,
    WORD_SHIFT, Word, control,
};
use crate::descriptor::{Descriptor, Role};
use crate::device::Moped;
use crate::message::{Access, Message};
use crate::node::Node;
use crate::parameters::Backoff;
use crate::pending::Pending;

impl Device for Moped {
    fn range(&self) -> Range<u64> {
        CONTROL..PORTS + self.nodes[0].parameters.programs as u64 * PAGE_BYTES
    }

    fn read(&mut self, cycle: u64, core: usize, _: u8, address: u64, width: u8) -> DeviceAnswer {
        self.access(cycle, core, address, width, None)
    }

    fn write(&mut self, cycle: u64, core: usize, _: u8, address: u64, width: u8, value: u64) -> DeviceAnswer {
        self.access(cycle, core, address, width, Some(value))
    }
}

impl Moped {
    fn access(&mut self, cycle: u64, core: usize, address: u64, width: u8, value: Option<u64>) -> DeviceAnswer {
        self.wake(cycle);
        let node = &mut self.nodes[core];
        node.changed = true;
        let key = (address, value);
        let pending = node.access.get_or_insert(Pending { key, started: cycle, away: false, answer: None });
        if pending.key != key {
            return DeviceAnswer::Wait;
        }
        if cycle + 1 < pending.started + node.parameters.port_cycles {
            return DeviceAnswer::Wait;
        }
        let answer = if pending.away { pending.answer } else { node.perform(address, width, value) };
        match answer {
            Some(value) => {
                node.access = None;
                DeviceAnswer::Value(value)
            }
            None => DeviceAnswer::Wait,
        }
    }
}

impl Node {
    /// Performs an access of the core; nothing if it must wait.
    fn perform(&mut self, address: u64, width: u8, value: Option<u64>) -> Option<u64> {
        if address < PORTS {
            return Some(self.control(address - CONTROL, width, value));
        }
        let (process, offset) = ProcessAddress::at(address);
        match (offset, width, value) {
            (DATA_PORT, 4, None) => self.reserve(process),
            (DATA_PORT, 8, Some(word)) => self.data_store(process, word),
            (POLL_PORT, 4, Some(word)) => {
                self.poll = Some((process, Id::of(word), Word::of(word >> WORD_SHIFT & 7)));
                Some(0)
            }
            (POLL_PORT, 4, None) => self.poll_load(process),
            _ => {
                self.counters.misuses += 1;
                Some(RETRY)
            }
        }
    }

    fn reserve(&mut self, owner: ProcessAddress) -> Option<u64> {
        let program = owner.program;
        match self.programs.get(program).bit {
            Bit::Raised | Bit::Ending => return None,
            Bit::Set => {
                self.counters.refused += 1;
                return Some(REFUSED);
            }
            Bit::Clear => {}
        }
        let Some(entry) = self.table.free() else {
            self.raise(program);
            if self.parameters.backoff == Backoff::Published {
                self.counters.refused += 1;
                return Some(REFUSED);
            }
            return None;
        };
        let id = Id { node: self.number as u8, entry: entry as u8 };
        self.table.put(entry, Descriptor::reserved(id, owner, self.root), Role::Own);
        self.programs.reserve(program);
        self.counters.reserved += 1;
        Some(id.number())
    }

    fn data_store(&mut self, owner: ProcessAddress, word: u64) -> Option<u64> {
        if Field::of(word >> FIELD_SHIFT & 15) == Some(Field::Resume) {
            self.programs.resume(owner.program, &mut self.outbox);
            return Some(0);
        }
        let node = usize::from(Id::of(word).node);
        if node == self.number {
            self.store(owner, word, None);
            return Some(0);
        }
        self.forward(owner, node, Access::Store(word))
    }

    fn poll_load(&mut self, process: ProcessAddress) -> Option<u64> {
        let Some((_, id, word)) = self.poll.filter(|(polled, _, _)| *polled == process) else {
            self.counters.retries += 1;
            return Some(RETRY);
        };
        let Some(word) = word else { return Some(0) };
        if word == Word::Backoff {
            return Some(self.programs.word(process.program));
        }
        if word == Word::InFlight {
            return Some(self.in_flight);
        }
        let node = usize::from(id.node);
        let word = contract::poll_store(id, word);
        if node == self.number {
            return Some(self.load(process, word));
        }
        self.forward(process, node, Access::Poll(word))
    }

    /// Lets another MOPED perform an access; its answer comes later.
    fn forward(&mut self, owner: ProcessAddress, node: usize, access: Access) -> Option<u64> {
        if node >= self.parameters.nodes {
            self.counters.misuses += 1;
            return Some(0);
        }
        self.counters.moved_accesses += 1;
        let from = self.number;
        self.send(node, Message::Access { owner, from, access });
        if let Some(pending) = &mut self.access {
            pending.away = true;
        }
        None
    }

    /// An access to the registers of the kernel.
    fn control(&mut self, offset: u64, width: u8, value: Option<u64>) -> u64 {
        if width != 8 {
            self.counters.misuses += 1;
            return RETRY;
        }
        match (offset, value) {
            (control::FAULT, None) => self
                .faults
                .front()
                .map_or(0, |fault| fault.address & !(PAGE_BYTES - 1) | 1 | if fault.is_receive { 2 } else { 0 }),
            (control::FAULT_OWNER, None) => self
                .faults
                .front()
                .map_or(0, |fault| u64::from(fault.owner.rank) | u64::from(fault.owner.program) << 16),
            (control::RESOLVE, Some(value)) => {
                if let Some(fault) = self.faults.pop_front() {
                    let mapped = value == contract::MAPPED;
                    self.send(fault.from, Message::Resolved { ticket: fault.ticket, mapped });
                }
                0
            }
            (control::INVALIDATE, Some(address)) => {
                let (root, page) = (self.root, address / PAGE_BYTES);
                for node in 0..self.parameters.nodes {
                    self.send(node, Message::Invalidate { root, page });
                    self.invalidating += 1;
                }
                0
            }
            (control::INVALIDATE, None) => self.invalidating,
            (control::IN_FLIGHT, None) => self.in_flight,
            _ => {
                self.counters.misuses += 1;
                RETRY
            }
        }
    }
}
