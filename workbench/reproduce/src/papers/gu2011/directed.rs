// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One message of 16 KB between two nodes of the chip, without processors: what the device does by itself.

use mb_moped::contract::{Field, Go, Id, Kind, ProcessAddress, data_store, tag_value};
use mb_moped::{Moped, MopedParameters, presets};
use mb_processor::Memory;
use mb_processor::directory::protocol::{CacheState, DeviceTransactions};
use mb_processor::directory::{CoherentMemory, DirectoryConfig};
use mb_processor::system::{Device, DeviceAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind};

use super::model::Model;
use super::runs::Transport;
use crate::error::MeasureError;

/// Bytes of the message.
pub const LENGTH: u64 = 16384;
const LINE: u64 = 64;
const PAGE: u64 = 4096;
const BASE: u64 = 0x8000_0000;
/// First virtual address of the buffers: that to send from, and that to receive into behind it.
const VIRTUAL: u64 = 0x10_0000;
/// Cycles after which an access or the message is given up.
const PATIENCE: u64 = 1_000_000;

/// The cycles, the counts and the final states of lines of the message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageTransfer {
    /// Cycles from the match to the end of the copy.
    pub cycles: u64,
    /// Accesses of the ports between the last store of a descriptor and the end.
    pub accesses: u64,
    /// Lines read from the send buffer.
    pub copies: u64,
    /// Rights to lines of the receive buffer, with and without their bytes.
    pub rights: u64,
    /// Of these, without their bytes.
    pub rights_without_data: u64,
    /// States of the lines of the send buffer in the sender's caches.
    pub send_lines: Vec<CacheState>,
    /// States of the lines of the receive buffer in the receiver's caches.
    pub receive_lines: Vec<CacheState>,
}

struct Chip {
    moped: Moped,
    memory: CoherentMemory,
    cycle: u64,
    accesses: u64,
}

fn run(what: &str) -> MeasureError {
    MeasureError::Run { run: "one message of 16 KB between two nodes".to_owned(), what: what.to_owned() }
}

impl Chip {
    fn step(&mut self) {
        self.cycle += 1;
        self.memory.advance(self.cycle, &mut Vec::new());
        self.moped.advance(self.cycle, &mut self.memory);
    }

    /// An access of a port, repeated until it is performed.
    fn access(&mut self, core: usize, address: u64, width: u8, value: Option<u64>) -> Result<u64, MeasureError> {
        self.accesses += 1;
        for _ in 0..PATIENCE {
            self.step();
            let answer = match value {
                Some(value) => self.moped.write(self.cycle, core, 0, address, width, value),
                None => self.moped.read(self.cycle, core, 0, address, width),
            };
            if let DeviceAnswer::Value(value) = answer {
                return Ok(value);
            }
        }
        Err(run("an access of a port is not performed"))
    }

    fn store(&mut self, core: usize, address: u64, value: u64) -> Result<(), MeasureError> {
        let request = MemoryRequest { core, context: 0, tag: 0, address, width: 8, kind: RequestKind::Store { value } };
        for _ in 0..PATIENCE {
            self.step();
            if let MemoryAnswer::Ready { .. } = self.memory.request(self.cycle, request) {
                return Ok(());
            }
        }
        Err(run("a store is not performed"))
    }

    fn post(&mut self, core: usize, kind: Kind, address: u64) -> Result<(), MeasureError> {
        let port = ProcessAddress { program: 0, rank: core as u16 }.port();
        let id = Id::of(self.access(core, port, 4, None)?);
        let go = Go { kind, context: 1, rank: Some(0), any_tag: false };
        for (field, value) in
            [(Field::Address, address), (Field::Length, LENGTH), (Field::Tag, tag_value(1, 1)), (Field::Go, go.value())]
        {
            self.access(core, port, 8, Some(data_store(id, field, value)))?;
        }
        Ok(())
    }
}

/// Moves the message with a design of the device. The sender has written its buffer before.
///
/// # Errors
/// When the message does not arrive.
pub fn transfer(model: &Model, design: Transport) -> Result<MessageTransfer, MeasureError> {
    transfer_at(model, design, 0)
}

/// The same with both buffers `offset` bytes behind the start of a line.
///
/// # Errors
/// When the message does not arrive.
pub fn transfer_at(model: &Model, design: Transport, offset: u64) -> Result<MessageTransfer, MeasureError> {
    const NODES: usize = 2;
    // A page more than the message needs.
    let buffer = LENGTH / PAGE + 1;
    // For each node a page table of three pages, and both buffers.
    let own = 3 + 2 * buffer;
    let mut memory = Memory::new(BASE, (NODES as u64 * own * PAGE) as usize);
    let design_of = presets::parameters(design.word()).design;
    let mut moped = Moped::new(&MopedParameters { nodes: NODES, design: design_of, ..model.device.clone() });
    for node in 0..NODES as u64 {
        let page = |number: u64| BASE + (node * own + number) * PAGE;
        let [root, middle, leaf] = [0, 1, 2].map(page);
        // Sv39: pointers, and leaves that are readable, writable, accessed and dirty.
        let mut entries = vec![(root, middle >> 2 | 1), (middle, leaf >> 2 | 1)];
        entries.extend(
            (0..2 * buffer).map(|number| (leaf + (VIRTUAL / PAGE + number) % 512 * 8, page(3 + number) >> 2 | 0xdf)),
        );
        for (address, entry) in entries {
            memory.write(address, &entry.to_le_bytes()).map_err(|_| run("a page table is outside of memory"))?;
        }
        moped.set_page_table(node as usize, root);
    }
    let protocol = match design {
        Transport::OptCache => DeviceTransactions::OptCache,
        Transport::OptCopy => DeviceTransactions::OptCopy,
        Transport::Base | Transport::Shm => DeviceTransactions::Base,
    };
    let config = DirectoryConfig { design: protocol, nodes: NODES, ..model.memory };
    let memory = CoherentMemory::new(&config, memory, NoDevice)?;
    let mut chip = Chip { moped, memory, cycle: 0, accesses: 0 };
    let (from, to) = (BASE + 3 * PAGE, BASE + (own + 3 + buffer) * PAGE);
    for line in 0..LENGTH / LINE {
        chip.store(0, from + line * LINE, line)?;
    }
    while !chip.memory.drained(0, 0) {
        chip.step();
    }
    chip.post(1, Kind::Receive, VIRTUAL + buffer * PAGE + offset)?;
    chip.post(0, Kind::Send, VIRTUAL + offset)?;
    let accesses = chip.accesses;
    let count = |chip: &Chip, count: fn(&mb_moped::MopedCounters) -> u64| {
        (0..NODES).map(|node| count(&chip.moped.counters(node))).sum::<u64>()
    };
    let mut matched = None;
    for _ in 0..PATIENCE {
        chip.step();
        if matched.is_none() && count(&chip, |counters| counters.matched) == 1 {
            matched = Some(chip.cycle);
        }
        if count(&chip, |counters| counters.completed) == 1 {
            break;
        }
    }
    let end = chip.cycle;
    let Some(matched) = matched.filter(|_| count(&chip, |counters| counters.completed) == 1) else {
        return Err(run("the message does not arrive"));
    };
    // Operations in progress end before states are read.
    for _ in 0..1000 {
        chip.step();
    }
    let bytes = |first: u64| chip.memory.bytes(first + offset, LENGTH as usize).map(<[u8]>::to_vec);
    let sent = bytes(from);
    if sent.is_none() || bytes(to) != sent {
        return Err(run("the receive buffer has other bytes than the send buffer"));
    }
    let states =
        |node: usize, first: u64| (0..LENGTH / LINE).map(|line| chip.memory.state(node, first + line * LINE)).collect();
    Ok(MessageTransfer {
        cycles: end - matched,
        accesses: chip.accesses - accesses,
        copies: count(&chip, |counters| counters.copies),
        rights: count(&chip, |counters| counters.owns + counters.owns_without_data),
        rights_without_data: count(&chip, |counters| counters.owns_without_data),
        send_lines: states(0, from),
        receive_lines: states(1, to),
    })
}
