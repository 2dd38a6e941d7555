// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network controller: input queue, receive ring, DMA, and the account of every packet.
//!
//! A packet takes these steps: it arrives and waits in the input queue, or is dropped if the queue is full; when a ring
//! slot is available the controller writes frame, slot and status by DMA, in this order; software reports the packet.
//! Slots are read by DMA when software announces them. Transfers are performed in the order of their starts, and
//! [`ControllerConfig::outstanding`] of them may be under way.
//!
//! Not modelled: the link. A frame that is transmitted is read by DMA and leaves at once.

use std::collections::{BTreeMap, VecDeque};

use crate::account::Account;
pub use crate::account::PacketOutcome;
use crate::contract::{APP_NONE, Application, ControllerRegister, NO_CLASS, PacketDecision, record, slot};
use crate::processor::{Bytes, DeviceStore, DmaTransfer, OutsideMemory, Processor};
use crate::schedule::Schedule;

pub use crate::schedule::{Arrival, ArrivalSchedule};

/// The parameters of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControllerConfig {
    /// When packets arrive.
    pub input: ArrivalSchedule,
    /// Packets that the input queue holds.
    pub input_queue: usize,
    /// Transfers under way at a time.
    pub outstanding: usize,
    /// Whether frames that are forwarded are read by DMA.
    pub transmit: bool,
    /// Longest frame that a buffer holds.
    pub buffer_bytes: u32,
    /// Whether slots have the packet's class.
    pub classifies: bool,
    /// Packets to offer.
    pub packets: u64,
}

/// A use of the controller that the contract excludes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{found}; expected {expected}")]
pub struct Misuse {
    /// The action of the software.
    pub found: String,
    /// The actions or values that the contract allows.
    pub expected: &'static str,
}

/// The consequence of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreEffect {
    /// None for the machine.
    None,
    /// Reception has begun.
    Ready,
    /// A packet is complete.
    Complete(Box<PacketOutcome>),
    /// Software has found an error; its status says which.
    Error,
}

/// A transfer, by its purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// Reads `count` slots from `first` on.
    Slots {
        first: u64,
        count: u64,
    },
    Frame,
    Slot,
    Status,
    Transmit,
}

/// The part of a packet that is not yet written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Writing {
    number: u64,
    /// Address of the slot.
    slot: u64,
    buffer: u64,
    next: Purpose,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Controller<'a> {
    config: ControllerConfig,
    arrivals: &'a [Arrival],
    /// The outcome of every packet.
    pub account: Account,
    ring: Option<u64>,
    slots: Option<u64>,
    announced: u64,
    /// Slots whose reading has begun.
    requested: u64,
    /// Buffers of slots that were read and have no packet.
    buffers: VecDeque<u64>,
    /// Slots given a packet.
    filled: u64,
    /// Cycle of the start of reception.
    ready: Option<u64>,
    /// Packets that have arrived.
    arrived: u64,
    /// When the others arrive.
    schedule: Schedule<'a>,
    /// Packets in the input queue, with their cycles.
    queue: VecDeque<(u64, u64)>,
    writing: Option<Writing>,
    /// Frames to read for transmission: address and length.
    transmissions: VecDeque<(u64, u64)>,
    under_way: BTreeMap<u64, Purpose>,
    next_tag: u64,
}

impl<'a> Controller<'a> {
    /// A controller before its first packet. Packet `n` is `arrivals[n % arrivals.len()]`.
    ///
    /// # Panics
    /// There are no arrivals.
    #[must_use]
    pub fn new(config: ControllerConfig, arrivals: &'a [Arrival]) -> Self {
        assert!(!arrivals.is_empty(), "at least one packet");
        Self {
            config,
            arrivals,
            account: Account::default(),
            ring: None,
            slots: None,
            announced: 0,
            requested: 0,
            buffers: VecDeque::new(),
            filled: 0,
            ready: None,
            arrived: 0,
            schedule: Schedule::new(config.input, arrivals),
            queue: VecDeque::new(),
            writing: None,
            transmissions: VecDeque::new(),
            under_way: BTreeMap::new(),
            next_tag: 0,
        }
    }

    /// Packet `number` as it arrived.
    #[must_use]
    pub fn arrival(&self, number: u64) -> &'a Arrival {
        &self.arrivals[(number % self.arrivals.len() as u64) as usize]
    }

    /// Whether every packet was offered and accounted for.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.arrived == self.config.packets
            && self.queue.is_empty()
            && self.account.in_flight() == 0
            && self.under_way.is_empty()
            && self.transmissions.is_empty()
    }

    /// Packets in the input queue.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Cycle of the start of reception.
    #[must_use]
    pub const fn ready(&self) -> Option<u64> {
        self.ready
    }

    /// Whether nothing is under way, so that only software can continue.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.under_way.is_empty()
    }

    /// The next cycle in which the controller acts without an event of the processor.
    #[must_use]
    pub fn next_event(&self) -> Option<u64> {
        (self.arrived < self.config.packets).then(|| self.next_arrival()).flatten()
    }

    /// The cycle in which the next packet arrives; none if a packet waits at all times, or before reception.
    fn next_arrival(&self) -> Option<u64> {
        Some(self.ready?.saturating_add(self.schedule.next()?))
    }

    /// Lets packets arrive up to `cycle` and starts transfers.
    ///
    /// # Errors
    /// A slot or buffer is outside of memory.
    pub fn advance<P: Processor>(&mut self, cycle: u64, processor: &mut P) -> Result<(), Misuse> {
        self.arrive(cycle);
        while self.under_way.len() < self.config.outstanding {
            if !self.start(cycle, processor)? {
                break;
            }
        }
        Ok(())
    }

    fn arrive(&mut self, cycle: u64) {
        if self.ready.is_none() {
            return;
        }
        if self.config.input == ArrivalSchedule::Saturated {
            // The packet that waits; it counts as arrived when its transfer begins.
            if self.queue.is_empty() && self.arrived < self.config.packets {
                self.queue.push_back((self.arrived, cycle));
                self.arrived += 1;
            }
        }
        while let Some(at) = self.next_event().filter(|at| *at <= cycle) {
            if self.queue.len() < self.config.input_queue {
                self.queue.push_back((self.arrived, at));
                self.account.note_queue(at, self.queue.len());
            } else {
                self.account.refused += 1;
            }
            self.arrived += 1;
            self.schedule.advance();
        }
        self.account.offered = self.arrived;
    }

    /// Starts the next transfer, if there is one. Slots are read before they are needed: otherwise a controller whose
    /// input is never empty would wait for each of them.
    fn start<P: Processor>(&mut self, cycle: u64, processor: &mut P) -> Result<bool, Misuse> {
        if let Some(writing) = self.writing {
            return self.write(writing, processor).map(|()| true);
        }
        if self.requested < self.announced {
            return self.read_slots(processor).map(|()| true);
        }
        if let (Some(&buffer), Some(&(number, arrived))) = (self.buffers.front(), self.queue.front()) {
            self.buffers.pop_front();
            self.queue.pop_front();
            let at = if self.config.input == ArrivalSchedule::Saturated { cycle } else { arrived };
            self.account.note_queue(cycle, self.queue.len());
            self.account.begin(number, at, self.arrival(number).flow);
            let slot = self.slot_address(self.filled);
            self.filled += 1;
            self.writing = Some(Writing { number, slot, buffer, next: Purpose::Frame });
            self.arrive(cycle);
            return Ok(true);
        }
        if let Some((address, length)) = self.transmissions.pop_front() {
            self.transfer(Purpose::Transmit, DmaTransfer::Read { address, length }, processor)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn slot_address(&self, count: u64) -> u64 {
        let (ring, slots) = (self.ring.unwrap_or(0), self.slots.unwrap_or(1));
        ring + count % slots * slot::BYTES
    }

    /// Reads the announced slots of one cache line.
    fn read_slots<P: Processor>(&mut self, processor: &mut P) -> Result<(), Misuse> {
        let first = self.requested;
        let address = self.slot_address(first);
        let slots = self.slots.unwrap_or(1);
        let in_line = (64 - address % 64).div_ceil(slot::BYTES).max(1);
        let count = in_line.min(self.announced - first).min(slots - first % slots);
        self.requested += count;
        let length = (count - 1) * slot::BYTES + 8;
        self.transfer(Purpose::Slots { first, count }, DmaTransfer::Read { address, length }, processor)
    }

    /// Writes the next part of a packet.
    fn write<P: Processor>(&mut self, writing: Writing, processor: &mut P) -> Result<(), Misuse> {
        let arrival = self.arrival(writing.number);
        let limit = self.config.buffer_bytes as usize;
        match writing.next {
            Purpose::Frame => {
                self.writing = Some(Writing { next: Purpose::Slot, ..writing });
                let bytes = &arrival.frame[..arrival.frame.len().min(limit)];
                self.transfer(Purpose::Frame, DmaTransfer::Write { address: writing.buffer, bytes }, processor)
            }
            Purpose::Slot => {
                self.writing = Some(Writing { next: Purpose::Status, ..writing });
                let class = arrival.class.filter(|_| self.config.classifies).unwrap_or(NO_CLASS);
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&writing.number.to_le_bytes());
                bytes[8..12].copy_from_slice(&(arrival.frame.len() as u32).to_le_bytes());
                bytes[12..].copy_from_slice(&class.to_le_bytes());
                let address = writing.slot + slot::NUMBER;
                self.transfer(Purpose::Slot, DmaTransfer::Write { address, bytes: &bytes }, processor)
            }
            _ => {
                self.writing = None;
                let status = slot::FILLED | if arrival.frame.len() > limit { slot::TOO_LONG } else { 0 };
                let address = writing.slot + slot::STATUS;
                self.transfer(Purpose::Status, DmaTransfer::Write { address, bytes: &status.to_le_bytes() }, processor)
            }
        }
    }

    fn transfer<P: Processor>(
        &mut self,
        purpose: Purpose,
        transfer: DmaTransfer<'_>,
        processor: &mut P,
    ) -> Result<(), Misuse> {
        let tag = self.next_tag;
        self.next_tag += 1;
        let (address, length) = match transfer {
            DmaTransfer::Write { address, bytes } => (address, bytes.len() as u64),
            DmaTransfer::Read { address, length } => (address, length),
        };
        processor.transfer(tag, transfer).map_err(|OutsideMemory| Misuse {
            found: format!("a ring slot or buffer of {length} bytes at {address:#x}"),
            expected: "memory of the program",
        })?;
        self.account.transferred_bytes += length;
        self.under_way.insert(tag, purpose);
        Ok(())
    }

    /// A transfer is complete.
    pub fn transferred(&mut self, tag: u64, memory: &impl Bytes) {
        if let Some(Purpose::Slots { first, count }) = self.under_way.remove(&tag) {
            for number in first..first + count {
                let address = self.slot_address(number) + slot::BUFFER;
                self.buffers.push_back(double(memory, address).unwrap_or(0));
            }
        }
    }

    /// Serves a store.
    ///
    /// # Errors
    /// The contract excludes it.
    pub fn store(&mut self, store: &DeviceStore, memory: &impl Bytes) -> Result<StoreEffect, Misuse> {
        let misuse = |found: String, expected| Err(Misuse { found, expected });
        let Some(register) = ControllerRegister::at(store.offset).filter(|_| store.width == 8) else {
            let found = format!("a store of {} bytes to offset {:#x} of the controller", store.width, store.offset);
            return misuse(found, "8 bytes to a register of netproc.h");
        };
        let value = store.value;
        match register {
            ControllerRegister::Ring if self.ring.is_none() && value.is_multiple_of(slot::BYTES) => {
                self.ring = Some(value);
            }
            ControllerRegister::Ring => {
                return misuse(format!("ring address {value:#x}"), "one address, aligned to 32");
            }
            ControllerRegister::Slots if self.slots.is_none() && value.is_power_of_two() && value <= 4096 => {
                self.slots = Some(value);
            }
            ControllerRegister::Slots => {
                return misuse(format!("{value} ring slots"), "a power of two up to 4096, once");
            }
            ControllerRegister::Refill => {
                let Some(slots) = self.slots.filter(|_| self.ring.is_some()) else {
                    return misuse("slots given without a ring".to_owned(), "ring address and length before");
                };
                // A slot belongs to software again when its packet was given to it; more cannot be free.
                if value < self.announced || value > self.filled + slots {
                    let found =
                        format!("{value} slots given after {} of which {} are used", self.announced, self.filled);
                    return misuse(found, "a count that grows, and at most the ring's length of unused slots");
                }
                self.announced = value;
            }
            ControllerRegister::Ready if self.ready.is_none() && store.hart == 0 => {
                self.ready = Some(store.cycle);
                self.account.start = store.cycle;
                return Ok(StoreEffect::Ready);
            }
            ControllerRegister::Ready => return misuse(format!("hart {} reports ready", store.hart), "hart 0, once"),
            ControllerRegister::Complete => {
                return self.complete(store, memory).map(|found| StoreEffect::Complete(Box::new(found)));
            }
            ControllerRegister::Error => return Ok(StoreEffect::Error),
        }
        Ok(StoreEffect::None)
    }

    fn complete(&mut self, store: &DeviceStore, memory: &impl Bytes) -> Result<PacketOutcome, Misuse> {
        let misuse = |found: String, expected| Err(Misuse { found, expected });
        let (address, verdict) = (store.value & !63, store.value & 63);
        let Some(bytes) = memory.bytes(address, record::BYTES as usize) else {
            return misuse(format!("a packet record at {address:#x}"), "memory of the program");
        };
        let field = |offset: u64, length: usize| {
            let mut value = [0; 8];
            value[..length].copy_from_slice(&bytes[offset as usize..][..length]);
            u64::from_le_bytes(value)
        };
        let packet = field(record::NUMBER, 8);
        if !self.account.is_in_flight(packet) {
            let found = format!("packet {packet} is reported, whose record is at {address:#x}");
            return misuse(found, "a packet that was received and not reported before");
        }
        let reason = field(record::REASON, 1) as u8;
        let verdict = match verdict {
            1 => PacketDecision::Forward(field(record::NEXT_HOP, 4) as u32),
            2 => PacketDecision::Drop(reason),
            3 => PacketDecision::Consume,
            _ => return misuse(format!("verdict {verdict} of packet {packet}"), "1, 2 or 3"),
        };
        let length = field(record::LENGTH, 4).min(self.config.buffer_bytes.into());
        let data = field(record::DATA, 8);
        let Some(frame) = memory.bytes(data, length as usize) else {
            return misuse(format!("the frame of packet {packet} at {data:#x}"), "memory of the program");
        };
        if self.config.transmit && matches!(verdict, PacketDecision::Forward(_)) {
            self.transmissions.push_back((data, length.max(1)));
        }
        let application = field(record::APPLICATION, 2) as u16;
        let result = (field(record::RESULT_LENGTH, 1) as usize).min(record::RESULT_BYTES);
        let outcome = PacketOutcome {
            packet,
            hart: store.hart,
            cycle: store.cycle,
            verdict,
            application: Application::of(application).filter(|_| application != APP_NONE),
            class: Some(field(record::CLASS, 4) as u32).filter(|class| *class != NO_CLASS),
            result: bytes[record::RESULT as usize..][..result].to_vec(),
            frame: frame.to_vec(),
        };
        self.account.complete(&outcome);
        Ok(outcome)
    }
}

fn double(memory: &impl Bytes, address: u64) -> Option<u64> {
    memory.read(address).map(u64::from_le_bytes)
}
