// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Private write-through L1 caches above a shared write-back L2, with values and time.
//!
//! ```text
//!   core 0                core 1
//!  +----+----+-----+     +----+----+-----+    L1: banks, MSHRs; a hit takes `hit` cycles
//!  | I  | D  | WB  |     | I  | D  | WB  |    WB: write buffer, in order
//!  +----+----+-----+     +----+----+-----+
//!     |    |    |           |    |    |
//!  =========================================  L1-L2 bus ------ device registers
//!              |       L2       |             one bank, direct-mapped, write-back
//!  =========================================  memory bus ----- DMA engine
//!              |     memory     |
//! ```
//!
//! # Time
//!
//! The L1-L2 bus carries one message at a time: a request for a line, an atomic, a device access or
//! a result takes one cycle; a line, and the data of a store, as many cycles as the width requires.
//! Responses precede requests. Cores take turns, and within a core the oldest request is first. A
//! message that is granted in cycle g with n cycles arrives in g + n. The L2 begins the accesses in
//! the order of arrival, one in `l2_interval` cycles; a hit is ready for the bus after `l2_hit`. A
//! miss goes to memory after `l2_hit`, its data is ready for the memory bus `memory` cycles later,
//! and the line is ready for the L1-L2 bus when it has crossed the memory bus. A modified victim
//! waits in the write-back buffer. The memory bus serves fills, write-backs and parts of DMA
//! transfers by age.
//!
//! Not modelled: a line that has left the array of the L2 when a store begins (the line arrives with
//! this store in it), address cycles of the memory bus, banks and rows of DRAM, a fill that takes a bank
//! of the L1, forwarding from the write-back buffer of the L2, merging of stores in the write buffer,
//! traffic of invalidations (the L1 caches see the stores on the bus).
//!
//! # Values and memory order
//!
//! The bytes of memory exist once, as the performed stores have made them. An instant is a point in
//! the sequence of events: within a cycle, the events of [`advance`](MemorySystem::advance) in their
//! order, then the requests in their order. The global memory order of RVWMO (The RISC-V Instruction
//! Set Manual, Volume I, chapter RVWMO) is the order of these instants:
//!
//! - A store, an atomic or a successful store-conditional is performed when the L2 begins its access,
//!   in the order of the bus. In this instant the bytes change, other L1 caches lose their copies, and
//!   other harts lose their reservations.
//! - A load that hits is performed when it is requested, a load that misses when its last line
//!   arrives. It reads the bytes of this instant, and over them the stores of its own hart that are
//!   still in the write buffer and precede it.
//! - A DMA write is performed part by part, each when it has crossed the memory bus.
//!
//! This obeys the axioms. *Load value*: for each byte, the load returns the youngest store of its own
//! hart that is not performed, which is later in the global order than every store before the load;
//! if there is none, the last store before the load. *Atomicity*: a store-conditional is performed
//! only if no other hart has written to the line since the load-reserved was performed; an atomic
//! reads and writes in one instant. *Progress*: buffers are served by age and cores in turn. *Preserved
//! program order* follows from the order in which a core makes requests (see [`MemorySystem`]): the
//! write buffer keeps stores in order, a store is sent after earlier loads are complete, and two loads
//! in order are requested one after the other. A fence that orders stores with later loads waits
//! until the write buffer has no entry of the hart.
//!
//! Memory is multi-copy atomic, because a store becomes visible to all other harts in one instant,
//! also to the other contexts of its core: only the hart itself reads its entries in the write buffer.
//! A copy in an L1 cache would hold the current bytes in every instant: a line arrives with the bytes
//! of its instant, and a store of another core removes the copy in the instant in which it changes
//! them, so that the tags decide only about time.
//!
//! An instruction cache holds bytes of its own, from the instant in which the line arrived until it is
//! replaced or the core executes fence.i.
//!
//! # Cost on the host
//!
//! `cargo bench -p mb-processor --bench shared_l2` reports it. A hit allocates nothing and takes some
//! nanoseconds.

mod bus;
mod config;
mod events;
mod l1;
mod l2;
mod memory_bus;
mod requests;
mod statistics;
pub(super) mod write_buffer;

pub use config::{L1Config, SharedL2Config};
pub use statistics::{BusStatistics, L1Statistics, L2Statistics, MemoryBusStatistics, SharedL2Statistics};

use mb_core::ParameterError;

use self::bus::{Bus, Requests};
use self::l1::L1;
use self::l2::{L2, Which};
use self::memory_bus::{MemoryBus, Transfer};
use self::write_buffer::{BufferedKind, WriteBuffer};
use super::Memory;
use super::backing::{Backing, Reservations, mask};
use super::system::{
    AddressKind, CompletedRequest, Device, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice,
    RequestKind,
};

/// The state of a line of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The cores whose data caches hold it, as bits.
    sharers: u32,
    /// Writes since it was first fetched as code, plus 1; 0 if it never was.
    version: u32,
}

/// A load that waits for lines.
#[derive(Clone, Copy, Debug)]
struct Load {
    address: u64,
    /// The end of the write buffer when the load was requested.
    end: u64,
    tag: u32,
    context: u8,
    width: u8,
    /// Lines that have not arrived.
    missing: u8,
    reserves: bool,
}

/// The caches of one core.
#[derive(Clone, Debug)]
struct Core {
    data: L1,
    instruction: L1,
    /// The bytes of the instruction cache, by slot.
    code: Vec<u8>,
    loads: Vec<Load>,
    /// Unused elements of `loads`.
    free: Vec<u32>,
    data_statistics: L1Statistics,
    instruction_statistics: L1Statistics,
}

/// Private L1 caches, a shared L2, memory and a DMA engine. See the module's documentation.
#[derive(Clone, Debug)]
pub struct SharedL2<D = NoDevice> {
    config: SharedL2Config,
    /// Binary logarithm of the line length.
    shift: u32,
    backing: Backing,
    /// The lines of memory, from that of its first byte on.
    lines: Vec<Line>,
    reservations: Reservations,
    /// Entries in the write buffer, by hart.
    undrained: Vec<u32>,
    cores: Vec<Core>,
    requests: Vec<Requests>,
    bus: Bus,
    l2: L2,
    memory: MemoryBus,
    device: D,
    /// Device accesses that have arrived, with the cycles of their effect and their cores.
    accesses: Vec<(u64, usize)>,
    /// DMA reads that are complete.
    read: Vec<(u32, Vec<u8>)>,
    /// No event is before this cycle.
    next: u64,
    /// Scratch: what waited for a line.
    arrived: Vec<u32>,
}

impl<D: Device> SharedL2<D> {
    /// A machine with empty caches. The bytes of `memory` can all be written, also those of code.
    ///
    /// # Errors
    /// An invalid configuration, or device addresses that overlap those of memory.
    pub fn new(config: &SharedL2Config, memory: Memory, device: D) -> Result<Self, ParameterError> {
        config.check()?;
        let (addresses, registers) = (memory.range(), device.range());
        if registers.start < registers.end && addresses.start < registers.end && registers.start < addresses.end {
            return Err(ParameterError::Contradiction(format!(
                "shared L2: device addresses are {registers:#x?} and memory is {addresses:#x?}; expected no overlap"
            )));
        }
        let shift = config.line.ilog2();
        let lines = (addresses.end.saturating_sub(1) >> shift) - (addresses.start >> shift) + 1;
        let core = Core {
            data: L1::new(&config.data, config.line),
            instruction: L1::new(&config.instruction, config.line),
            code: vec![0; config.instruction.bytes as usize],
            loads: Vec::new(),
            free: Vec::new(),
            data_statistics: L1Statistics::default(),
            instruction_statistics: L1Statistics::default(),
        };
        let requests =
            Requests { lines: std::collections::VecDeque::new(), writes: WriteBuffer::new(config.write_buffer) };
        Ok(Self {
            config: *config,
            shift,
            backing: Backing::new(memory),
            lines: vec![Line::default(); lines as usize],
            reservations: Reservations::new(config.cores * config.contexts),
            undrained: vec![0; config.cores * config.contexts],
            cores: vec![core; config.cores],
            requests: vec![requests; config.cores],
            bus: Bus::new(config.bus, config.line, config.cores),
            l2: L2::new(config),
            memory: MemoryBus::new(config.memory_bus, config.line),
            device,
            accesses: Vec::new(),
            read: Vec::new(),
            next: u64::MAX,
            arrived: Vec::new(),
        })
    }

    /// Gives the memory bus a clock of its own: `bus` of its cycles take as long as `processor` cycles of the
    /// cores. A transfer begins with a cycle of the bus and ends in the first cycle of the cores after its
    /// last one. The other times of the configuration stay in cycles of the cores. Counts of the bus are in
    /// its own cycles.
    ///
    /// # Panics
    /// A number is 0.
    #[must_use]
    pub fn with_memory_clock(mut self, processor: u64, bus: u64) -> Self {
        assert!(processor > 0 && bus > 0, "a clock has cycles");
        self.memory.set_clock(processor, bus);
        self
    }

    /// Lets the L2 hold the line at `address`, as after an access before cycle 0; another line of its set is
    /// gone. Addresses outside of memory have no effect.
    pub fn warm(&mut self, address: u64, writes: bool) {
        if self.backing.contains(address, 1) {
            self.l2.warm(address >> self.shift, writes);
        }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, to be changed from outside.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Adds `length` zero bytes at the end of memory.
    ///
    /// # Panics
    /// The bytes would overlap the registers of the device.
    pub fn grow(&mut self, length: usize) {
        self.backing.grow(length);
        let (start, end) = (self.backing.base(), self.backing.base() + self.backing.length());
        let registers = self.device.range();
        assert!(
            registers.is_empty() || end <= registers.start || registers.end <= start,
            "shared L2: memory grows to {end:#x}; expected an end before the device at {:#x}",
            registers.start
        );
        let lines = (end.saturating_sub(1) >> self.shift) - (start >> self.shift) + 1;
        self.lines.resize(lines as usize, Line::default());
    }

    /// Begins a DMA transfer to memory. Transfers follow one another. A part of at most a line takes
    /// the memory bus from the next cycle on, and is performed when it has crossed it: caches lose
    /// their copies, except instruction caches, and harts their reservations. The completion has the
    /// source [`Source::Dma`](super::system::Source::Dma) and this tag.
    ///
    /// Returns false, and does nothing, if `bytes` is empty or a byte is outside of memory.
    #[must_use]
    pub fn dma_write(&mut self, cycle: u64, tag: u32, address: u64, bytes: &[u8]) -> bool {
        self.transfer(Transfer { tag, writes: true, address, bytes: bytes.to_vec(), done: 0, ready: cycle + 1 })
    }

    /// Begins a DMA transfer from memory; its first part is ready for the memory bus after the latency
    /// of memory. [`take_read`](Self::take_read) has the bytes when the transfer is complete; until they
    /// are taken, no other read should have this tag. The rest is as for [`dma_write`](Self::dma_write).
    #[must_use]
    pub fn dma_read(&mut self, cycle: u64, tag: u32, address: u64, length: usize) -> bool {
        let ready = cycle + 1 + self.config.memory;
        // Checked before the bytes are allocated.
        self.backing.contains(address, length as u64)
            && self.transfer(Transfer { tag, writes: false, address, bytes: vec![0; length], done: 0, ready })
    }

    fn transfer(&mut self, transfer: Transfer) -> bool {
        let length = transfer.bytes.len() as u64;
        if length == 0 || !self.backing.contains(transfer.address, length) {
            return false;
        }
        self.next = self.next.min(transfer.ready);
        self.memory.transfers.push_back(transfer);
        true
    }

    /// The bytes of a complete DMA read, once.
    pub fn take_read(&mut self, tag: u32) -> Option<Vec<u8>> {
        let place = self.read.iter().position(|read| read.0 == tag)?;
        Some(self.read.swap_remove(place).1)
    }

    /// Event counts so far.
    #[must_use]
    pub fn statistics(&self) -> SharedL2Statistics {
        SharedL2Statistics {
            instruction: self.cores.iter().map(|core| core.instruction_statistics).collect(),
            data: self.cores.iter().map(|core| core.data_statistics).collect(),
            bus: self.bus.statistics,
            l2: self.l2.statistics,
            memory: self.memory.statistics,
        }
    }

    #[inline]
    fn hart(&self, core: usize, context: u8) -> usize {
        core * self.config.contexts + usize::from(context)
    }

    /// The state of a line that is, at least partly, in memory.
    #[inline]
    fn line(&mut self, line: u64) -> &mut Line {
        &mut self.lines[(line - (self.backing.base() >> self.shift)) as usize]
    }

    /// The value of a load that is performed now.
    #[inline]
    fn value(&self, core: usize, context: u8, address: u64, width: u8, end: u64) -> u64 {
        let value = self.backing.load(address, width);
        let writes = &self.requests[core].writes;
        if writes.is_empty() {
            return value;
        }
        let (covered, bytes) = writes.forward_before(end, context, address, width);
        value & !covered | bytes
    }
}

impl<D: Device> MemorySystem for SharedL2<D> {
    #[inline]
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        if !self.backing.contains(address, 2) {
            return FetchAnswer::Fault;
        }
        let line = address >> self.shift;
        let Core { instruction: cache, instruction_statistics: statistics, .. } = &mut self.cores[core];
        if !cache.banks_are_free(address, 1, cycle) {
            statistics.bank_conflicts += 1;
            return FetchAnswer::Retry;
        }
        let at = cycle + cache.hit;
        if let Some(way) = cache.find(line) {
            cache.take_banks(address, 1, cycle);
            statistics.hits += 1;
            return FetchAnswer::Ready { at, version: way.version };
        }
        if let Some(mshr) = cache.mshr(line) {
            if !mshr.waiting.contains(&context.into()) {
                mshr.waiting.push(context.into());
            }
            cache.take_banks(address, 1, cycle);
            statistics.merged += 1;
            return FetchAnswer::Pending;
        }
        if cache.free_mshrs() == 0 {
            statistics.mshrs_full += 1;
            return FetchAnswer::Retry;
        }
        cache.take_banks(address, 1, cycle);
        cache.allocate(line).waiting.push(context.into());
        statistics.misses += 1;
        self.requests[core].lines.push_back((at, Which::Instruction, line));
        self.wakes_bus(core, at);
        FetchAnswer::Pending
    }

    /// A fetch that hits the line that its set used last.
    #[inline]
    fn fetch_at_once(&mut self, cycle: u64, core: usize, address: u64) -> Option<(u64, u32)> {
        if !self.backing.contains(address, 2) {
            return None;
        }
        let Core { instruction: cache, instruction_statistics: statistics, .. } = &mut self.cores[core];
        let version = cache.hit_at_once(address >> self.shift, address, 1, cycle)?.version;
        statistics.hits += 1;
        Some((cycle + cache.hit, version))
    }

    #[inline]
    fn code(&self, core: usize, address: u64) -> Option<u16> {
        let caches = &self.cores[core];
        let slot = caches.instruction.peek(address >> self.shift)?.slot;
        let place = (u64::from(slot) << self.shift) + address % self.config.line;
        let bytes = caches.code.get(place as usize..)?.first_chunk()?;
        Some(u16::from_le_bytes(*bytes))
    }

    /// A load that hits the line that its set used last, and does not take all its bytes from the write
    /// buffer.
    #[expect(clippy::inline_always, reason = "a call costs half as much as the load")]
    #[inline(always)]
    fn load_at_once(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> Option<(u64, u64)> {
        if !self.backing.contains(address, width.into()) {
            return None;
        }
        let (first, last) = (address >> self.shift, (address + u64::from(width) - 1) >> self.shift);
        let writes = &self.requests[core].writes;
        if first != last {
            return None;
        }
        let (mut covered, mut bytes) = (0, 0);
        if !writes.is_empty() {
            (covered, bytes) = writes.forward(context, address, width);
            if covered == mask(width) {
                return None;
            }
        }
        let caches = &mut self.cores[core];
        caches.data.hit_at_once(first, address, width.into(), cycle)?;
        caches.data_statistics.hits += 1;
        Some((cycle + caches.data.hit, self.backing.load(address, width) & !covered | bytes))
    }

    #[inline]
    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        if !self.backing.contains(request.address, request.width.into()) {
            return self.outside(cycle, &request);
        }
        match request.kind {
            RequestKind::Load => self.load(cycle, &request, false),
            RequestKind::LoadReserved => self.load(cycle, &request, true),
            RequestKind::Store { value } => self.write(cycle, &request, BufferedKind::Store, value),
            RequestKind::StoreConditional { value } => self.write(cycle, &request, BufferedKind::Conditional, value),
            RequestKind::Atomic { kind, operand } => self.write(cycle, &request, BufferedKind::Atomic(kind), operand),
        }
    }

    #[inline]
    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        while self.next <= cycle {
            self.run(self.next, completed);
        }
    }

    fn next_event(&self) -> Option<u64> {
        Some(self.next).filter(|&next| next != u64::MAX)
    }

    #[inline]
    fn drained(&self, core: usize, context: u8) -> bool {
        self.undrained[self.hart(core, context)] == 0
    }

    #[inline]
    fn reserved(&self, core: usize, context: u8) -> bool {
        self.reservations.holds(self.hart(core, context))
    }

    fn invalidate_instructions(&mut self, core: usize) {
        self.cores[core].instruction.clear();
    }

    #[inline]
    fn region(&self, address: u64, width: u8) -> AddressKind {
        if self.backing.contains(address, width.into()) {
            return AddressKind::Memory;
        }
        AddressKind::outside_memory(&self.device, address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.backing.get(address, length)
    }

    fn set_bytes(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(target) = self.backing.get_mut(address, bytes.len()) else { return false };
        target.copy_from_slice(bytes);
        if let Some(last) = bytes.len().checked_sub(1) {
            for line in address >> self.shift..=(address + last as u64) >> self.shift {
                self.written(line, None);
            }
        }
        true
    }
}
