// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network interface: operations become packets, reports of packets become answers.
//!
//! ```text
//!  deliver --> queue --> DMA: frame, slot, status --> receive ring --> SPINE --> handler
//!                          ^                                                       |
//!     slots are read by DMA when software announces them        store to NP_REG_COMPLETE --> answers
//! ```
//!
//! It is the controller of `netproc/spine/netproc.h` as a memory system around the shared L2: it acts in each cycle
//! after the memory, and sees the stores and transfers of this cycle. Transfers follow one another on the memory bus.

use std::collections::VecDeque;

use mb_core::{Op, Outcome};
use mb_netproc::contract::{ControllerRegister, NO_CLASS, error_text, record, slot};
use mb_netproc::processor::DeviceStore;
use mb_netproc::receive::{self, FRAME_BYTES, RESULT_BYTES};
use mb_netproc::registers::ControllerRegisters;
use mb_processor::shared_l2::SharedL2;
use mb_processor::system::{
    AddressKind, CompletedKind, CompletedRequest, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem,
};

/// Tags of DMA transfers: their completion means nothing to the interface, or that slots are read.
const WRITE: u32 = 0;
const READ: u32 = 1;
/// The tag of a completion that interrupts the chip.
const ANSWERED: u32 = 2;

/// An operation that the firmware has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnsweredOperation {
    /// Number of its packet, in order of delivery.
    pub number: u64,
    /// The operation.
    pub op: Op,
    /// The hart that reported the packet.
    pub hart: usize,
    /// Its outcome.
    pub outcome: Outcome,
    /// The cycle of the report.
    pub cycle: u64,
}

/// The interface and the memory that its processor uses.
#[derive(Clone, Debug)]
pub struct Interface {
    memory: SharedL2<ControllerRegisters>,
    ring: u64,
    slots: u64,
    /// Slots given to the interface.
    announced: u64,
    /// Slots whose reading has begun.
    requested: u64,
    /// Slots given a packet.
    filled: u64,
    /// First slot and number of slots of each DMA read under way.
    reads: VecDeque<(u64, u64)>,
    /// Buffers of slots that were read and have no packet.
    buffers: VecDeque<u64>,
    /// Operations without a buffer.
    queue: VecDeque<Op>,
    /// The oldest packet that is not answered.
    first: u64,
    /// Operations of the packets from `first` on; none when answered.
    outstanding: VecDeque<Option<Op>>,
    answers: VecDeque<AnsweredOperation>,
    ready: bool,
    stop_at_answer: bool,
}

impl Interface {
    /// The interface of a processor that uses `memory`.
    #[must_use]
    pub const fn new(memory: SharedL2<ControllerRegisters>) -> Self {
        Self {
            memory,
            ring: 0,
            slots: 1,
            announced: 0,
            requested: 0,
            filled: 0,
            reads: VecDeque::new(),
            buffers: VecDeque::new(),
            queue: VecDeque::new(),
            first: 0,
            outstanding: VecDeque::new(),
            answers: VecDeque::new(),
            ready: false,
            stop_at_answer: false,
        }
    }

    /// Performs stores of the start, in cycle 0.
    pub fn replay(&mut self, stores: &[DeviceStore]) {
        for store in stores {
            self.store(&DeviceStore { cycle: 0, ..*store });
        }
        self.read_slots(0);
    }

    /// Whether software has started.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.ready
    }

    /// Lets an answer end the run of the chip with its cycle, or not.
    pub const fn stop_at_answer(&mut self, stop: bool) {
        self.stop_at_answer = stop;
    }

    /// Takes an operation in `cycle`, before the cycle is simulated.
    pub fn deliver(&mut self, op: &Op, cycle: u64) {
        self.outstanding.push_back(Some(*op));
        self.queue.push_back(*op);
        self.fill(cycle);
    }

    /// Removes and returns the oldest answer.
    pub fn answered(&mut self) -> Option<AnsweredOperation> {
        self.answers.pop_front()
    }

    /// The memory.
    #[must_use]
    pub const fn memory(&self) -> &SharedL2<ControllerRegisters> {
        &self.memory
    }

    /// Adds zero bytes at the end of memory.
    pub fn grow(&mut self, bytes: usize) {
        self.memory.grow(bytes);
    }

    /// Writes packets to the slots that have a buffer, as long as there are both.
    fn fill(&mut self, cycle: u64) {
        while let (Some(&buffer), Some(op)) = (self.buffers.front(), self.queue.front()) {
            let frame = receive::frame(op);
            self.buffers.pop_front();
            self.queue.pop_front();
            let address = self.slot_address(self.filled);
            let mut fields = [0; 16];
            fields[..8].copy_from_slice(&self.filled.to_le_bytes());
            fields[8..12].copy_from_slice(&(FRAME_BYTES as u32).to_le_bytes());
            fields[12..].copy_from_slice(&NO_CLASS.to_le_bytes());
            self.filled += 1;
            let status = slot::FILLED.to_le_bytes();
            let parts =
                [(buffer, &frame[..]), (address + slot::NUMBER, &fields[..]), (address + slot::STATUS, &status[..])];
            for (to, bytes) in parts {
                assert!(
                    self.memory.dma_write(cycle, WRITE, to, bytes),
                    "firmware: a slot or buffer at {to:#x}; expected memory of the program"
                );
            }
        }
    }

    const fn slot_address(&self, count: u64) -> u64 {
        self.ring + count % self.slots * slot::BYTES
    }

    /// Reads the announced slots, those of one line in one transfer.
    fn read_slots(&mut self, cycle: u64) {
        while self.requested < self.announced {
            let first = self.requested;
            let address = self.slot_address(first);
            let in_line = (64 - address % 64).div_ceil(slot::BYTES).max(1);
            let count = in_line.min(self.announced - first).min(self.slots - first % self.slots);
            let length = (count - 1) * slot::BYTES + 8;
            assert!(
                self.memory.dma_read(cycle, READ, address, length as usize),
                "firmware: slots at {address:#x}; expected memory of the program"
            );
            self.reads.push_back((first, count));
            self.requested += count;
        }
    }

    /// A read of slots is complete.
    fn slots_read(&mut self) {
        let bytes = self.memory.take_read(READ).expect("a read that completes has bytes");
        let (_, count) = self.reads.pop_front().expect("reads complete in their order");
        let buffer = |place: u64| {
            let at = (place * slot::BYTES + slot::BUFFER) as usize;
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
        };
        self.buffers.extend((0..count).map(buffer));
    }

    fn store(&mut self, store: &DeviceStore) {
        let value = store.value;
        match ControllerRegister::at(store.offset) {
            Some(ControllerRegister::Ring) => self.ring = value,
            Some(ControllerRegister::Slots) => self.slots = value,
            Some(ControllerRegister::Refill) => self.announced = value,
            Some(ControllerRegister::Ready) => self.ready = true,
            Some(ControllerRegister::Complete) => self.complete(store),
            Some(ControllerRegister::Error) => panic!("firmware: hart {}: {}", store.hart, error_text(value as u32, 0)),
            None => panic!("firmware: a store to offset {:#x}; expected a register of netproc.h", store.offset),
        }
    }

    fn complete(&mut self, store: &DeviceStore) {
        /// `NP_CONSUME`
        const CONSUMED: u64 = 3;
        let address = store.value & !63;
        let bytes = self.memory.bytes(address, record::BYTES as usize).expect("a record is in memory");
        let field = |at: u64| u64::from_le_bytes(bytes[at as usize..][..8].try_into().expect("8 bytes"));
        let number = field(record::NUMBER);
        let result: &[u8; RESULT_BYTES] =
            bytes[record::RESULT as usize..].first_chunk().expect("a result is in the record");
        let length = usize::from(bytes[record::RESULT_LENGTH as usize]);
        assert!(
            store.value & 63 == CONSUMED && length == RESULT_BYTES,
            "firmware: packet {number} has verdict {} and a result of {length} bytes; expected {CONSUMED} and {RESULT_BYTES}",
            store.value & 63
        );
        let op = number.checked_sub(self.first).and_then(|place| self.outstanding.get_mut(place as usize)?.take());
        let op = op.expect("the firmware answers each packet once");
        let outcome = receive::outcome(&op, result);
        self.answers.push_back(AnsweredOperation {
            number,
            op,
            hart: store.hart as usize,
            outcome,
            cycle: store.cycle,
        });
        while let Some(None) = self.outstanding.front() {
            self.outstanding.pop_front();
            self.first += 1;
        }
    }
}

impl MemorySystem for Interface {
    #[inline]
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        self.memory.fetch(cycle, core, context, address)
    }

    #[inline]
    fn fetch_at_once(&mut self, cycle: u64, core: usize, address: u64) -> Option<(u64, u32)> {
        self.memory.fetch_at_once(cycle, core, address)
    }

    #[inline]
    fn code(&self, core: usize, address: u64) -> Option<u16> {
        self.memory.code(core, address)
    }

    #[inline]
    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        self.memory.request(cycle, request)
    }

    #[inline]
    fn load_at_once(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> Option<(u64, u64)> {
        self.memory.load_at_once(cycle, core, context, address, width)
    }

    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        self.memory.advance(cycle, completed);
        // The chip would stop after each transfer.
        let mut reads = 0;
        completed.retain(|completion| {
            let is_transfer = completion.source == CompletedKind::Dma;
            reads += u32::from(is_transfer && completion.tag == READ);
            !is_transfer
        });
        for _ in 0..reads {
            self.slots_read();
        }
        if !self.memory.device().is_idle() {
            if let Some((hart, address)) = self.memory.device().load() {
                panic!("firmware: hart {hart}: a load from register {address:#x}; expected stores only")
            }
            for store in self.memory.device_mut().take_stores() {
                self.store(&store);
            }
            self.read_slots(cycle);
        }
        if reads > 0 {
            self.fill(cycle);
        }
        if self.stop_at_answer && !self.answers.is_empty() {
            let source = CompletedKind::Dma;
            completed.push(CompletedRequest { source, core: 0, context: 0, tag: ANSWERED, at: cycle, value: 0 });
        }
    }

    #[inline]
    fn next_event(&self) -> Option<u64> {
        self.memory.next_event()
    }

    #[inline]
    fn drained(&self, core: usize, context: u8) -> bool {
        self.memory.drained(core, context)
    }

    #[inline]
    fn reserved(&self, core: usize, context: u8) -> bool {
        self.memory.reserved(core, context)
    }

    fn invalidate_instructions(&mut self, core: usize) {
        self.memory.invalidate_instructions(core);
    }

    #[inline]
    fn region(&self, address: u64, width: u8) -> AddressKind {
        self.memory.region(address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.memory.bytes(address, length)
    }
}
