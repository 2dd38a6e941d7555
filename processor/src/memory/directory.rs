// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Private L1 and L2 caches of up to 64 nodes, kept coherent by a directory, with values and time.
//!
//! ```text
//!   node 0                        node 1
//!  +-----+-----+--------------+  +-----+-----+--------------+
//!  | L1I | L1D | store buffer |  | L1I | L1D | store buffer |   a line is in one L1, or in the L2,
//!  +-----+-----+--------------+  +-----+-----+--------------+   or in a transaction
//!  |     L2    |    device    |  |     L2    |    device    |   device: see `line_port`
//!  +-----------+--------------+  +-----------+--------------+
//!  |  cache controller        |  |  cache controller        |   executes the table of `protocol`
//!  |  directory bank, memory  |  |  directory bank, memory  |   of the lines of this home
//!  +--------------------------+  +--------------------------+
//!               |                             |
//!            ===== switch: a tree of links, see `switch` =====
//! ```
//!
//! # Time
//!
//! An access that hits in the L1 takes `hit` cycles. One that misses looks into the L2, which begins a
//! lookup in every `ports` cycles: a line that is there moves to the L1 after the `hit` of the L2, and
//! the victim of the L1 moves to the L2. Otherwise a request goes to the directory of the line, whose
//! bank takes a message in every `directory_interval` cycles and serves it `directory` cycles later.
//! The answer completes the access when it arrives. A cache controller answers the request of another
//! node after `probe` cycles, with the bytes and the state of the instant in which the request
//! arrives. A port of memory begins an access in every `memory_interval` cycles; its data leave after
//! `memory` cycles.
//!
//! Stores leave the store buffer in order, one in a cycle, when the L1 has the exclusive right. A
//! store whose line is there and whose buffer is empty is performed at once.
//!
//! Not modelled: banks and rows of DRAM, the way from a node to its memory port, a port of the L1 or
//! of the L2 for fills and probes, separate virtual channels and finite buffers in the switch, requests
//! for exclusive rights before a store is the oldest.
//!
//! # Values and memory order
//!
//! The bytes of a line are where the protocol puts them: in caches, in messages, in memory. There is
//! no other copy of memory. A load reads the bytes in the L1 of its node when it is requested, or those
//! that arrive; over them the stores of its own hart that are still in the buffer and precede it. A
//! store, atomic or store-conditional is performed in the L1 in an instant in which the node has the
//! only copy of the line, so memory is multi-copy atomic. An access across two lines is performed in
//! two parts, one for each line, which the architecture allows for misaligned accesses.
//!
//! A reservation is lost when the line leaves the node, when another hart of the core writes to it, or
//! when the device gets it. An eviction of the L2 is a spurious failure. Reads of other nodes for a
//! modified line take it away if reads are migratory; `reservation_hold` keeps harts that do this to
//! each other from making no progress.
//!
//! The instruction cache is coherent: a store moves the line to the data cache, or invalidates it in
//! other nodes. So fence.i orders only what a core has already fetched; it moves the lines of the
//! instruction cache to the L2.

mod bank;
mod cache;
mod calendar;
mod config;
mod controller;
mod device_port;
mod events;
mod home;
mod host;
mod node;
pub mod protocol;
mod requests;
mod statistics;
mod stores;
mod switch;

use std::cell::OnceCell;

pub use config::{DirectoryConfig, NodeCacheConfig, SwitchConfig};
use mb_core::ParameterError;
pub use statistics::{DirectoryStatistics, MessageStatistics, MissStatistics, NodeStatistics};

use self::cache::Block;
use self::calendar::Calendar;
use self::home::Home;
use self::node::{Node, Slab};
use self::protocol::{CacheEvent, CacheState, MessageKind, Protocol, ProtocolMessage};
use self::switch::Switch;
use super::Memory;
use super::backing::Reservations;
use super::system::{
    AddressKind, CompletedRequest, Device, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice,
    RequestKind,
};

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    message: ProtocolMessage,
    line: u64,
    /// The node.
    to: u8,
    /// The number of its bytes.
    data: Option<u32>,
    /// Whether its bytes come from memory.
    memory: bool,
    /// The cycle up to which a reservation delays it; 0 if none has.
    deadline: u64,
}

/// Events that happen in a cycle without a request.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A message enters the switch.
    Send(u32),
    /// A message arrives in a cache controller.
    Arrive(u32),
    /// A message arrives in a bank of the directory.
    Bank(u32),
    /// A bank serves a message.
    Serve(u32),
    /// The L2 has looked for a line.
    Lookup { node: u8, line: u64 },
    /// The oldest store can be performed.
    Drain(u8),
    /// The oldest device access has its effect.
    Access(u8),
    /// A request of the device has looked for its line.
    Line { node: u8, work: u32 },
    /// A message between devices arrives.
    Message(u32),
}

/// The states in which a line can be read and written at once.
#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    read: [bool; CacheState::ALL.len()],
    /// The state after the write.
    write: [Option<CacheState>; CacheState::ALL.len()],
}

/// A message between devices.
#[derive(Clone, Copy, Debug)]
struct DeviceMessage {
    from: u8,
    to: u8,
    tag: u64,
}

/// Bytes that were gathered from caches, until time proceeds.
#[derive(Clone, Debug, Default)]
struct Gathered {
    bytes: Box<[u8]>,
    next: OnceCell<Box<Self>>,
}

/// Coherent caches, a directory and memory. See the module's documentation.
#[derive(Clone, Debug)]
pub struct CoherentMemory<D = NoDevice> {
    config: DirectoryConfig,
    protocol: Protocol,
    /// The entries of the table for loads and stores that hit, by state.
    hits: Hits,
    now: u64,
    calendar: Calendar<Event>,
    nodes: Vec<Node>,
    home: Home,
    switch: Switch,
    flights: Slab<Flight>,
    blocks: Slab<Block>,
    device_messages: Slab<DeviceMessage>,
    reservations: Reservations,
    /// Entries in the store buffer, by hart.
    undrained: Vec<u32>,
    device: D,
    /// The version of the latest write.
    version: u32,
    statistics: DirectoryStatistics,
    gathered: OnceCell<Box<Gathered>>,
    /// Events of the ports of all devices that have not been taken.
    line_events: usize,
}

impl<D: Device> CoherentMemory<D> {
    /// A machine with empty caches. The bytes of `memory` can all be written, also those of code.
    ///
    /// # Errors
    /// An invalid configuration, or device addresses that overlap those of memory.
    pub fn new(config: &DirectoryConfig, memory: Memory, device: D) -> Result<Self, ParameterError> {
        Self::with_protocol(config, Protocol::new(config.design, config.migratory), memory, device)
    }

    /// As [`new`](Self::new), with other tables, to plant faults.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_protocol(
        config: &DirectoryConfig,
        protocol: Protocol,
        memory: Memory,
        device: D,
    ) -> Result<Self, ParameterError> {
        config.check()?;
        let (addresses, registers) = (memory.range(), device.range());
        if registers.start < registers.end && addresses.start < registers.end && registers.start < addresses.end {
            return Err(ParameterError::Contradiction(format!(
                "directory: device addresses are {registers:#x?} and memory is {addresses:#x?}; expected no overlap"
            )));
        }
        let harts = config.nodes * config.contexts;
        let mut hits = Hits::default();
        for &state in CacheState::ALL {
            hits.read[state as usize] = protocol.hit(state, CacheEvent::Read) == Some(state);
            hits.write[state as usize] = protocol.hit(state, CacheEvent::Write);
        }
        Ok(Self {
            config: *config,
            protocol,
            hits,
            now: 0,
            calendar: Calendar::new(),
            nodes: (0..config.nodes).map(|_| Node::new(config)).collect(),
            home: Home::new(config, memory),
            switch: Switch::new(config.switch, config.nodes),
            flights: Slab::new(),
            blocks: Slab::new(),
            device_messages: Slab::new(),
            reservations: Reservations::new(harts),
            undrained: vec![0; harts],
            device,
            version: 0,
            statistics: DirectoryStatistics {
                messages: vec![MessageStatistics::default(); MessageKind::ALL.len()],
                ..DirectoryStatistics::default()
            },
            gathered: OnceCell::new(),
            line_events: 0,
        })
    }

    /// The parameters.
    pub fn config(&self) -> &DirectoryConfig {
        &self.config
    }

    /// The tables of transitions.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
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
        self.home.grow(length);
        let range = self.home.range();
        let registers = self.device.range();
        assert!(
            registers.is_empty() || range.end <= registers.start || registers.end <= range.start,
            "directory: memory grows to {:#x}; expected an end before the device at {:#x}",
            range.end,
            registers.start
        );
    }

    /// Event counts so far.
    #[must_use]
    pub fn statistics(&self) -> DirectoryStatistics {
        DirectoryStatistics {
            nodes: self.nodes.iter().map(|node| node.statistics).collect(),
            ..self.statistics.clone()
        }
    }

    /// The state of the line at `address` in a node.
    #[must_use]
    pub fn state(&self, node: usize, address: u64) -> CacheState {
        self.nodes[node].look(address / 64).0
    }

    #[inline]
    fn hart(&self, node: usize, context: u8) -> usize {
        node * self.config.contexts + usize::from(context)
    }

    /// The node of the directory bank of a line.
    #[inline]
    fn home(&self, line: u64) -> u8 {
        (line % self.nodes.len() as u64) as u8
    }

    /// The latest bytes of a line, from where they are.
    fn latest(&self, line: u64) -> Option<&Block> {
        use CacheState::{D, E, EI, M, MA, MI, O, OI, OM};
        for node in &self.nodes {
            let (state, block) = node.look(line);
            if matches!(state, E | O | M | D | OM | MA | MI | OI | EI) {
                return block;
            }
        }
        // The owner's bytes may be on their way to the next one.
        let owns = |kind| matches!(kind, MessageKind::DataX | MessageKind::Modified | MessageKind::Exclusive);
        let flight = self.flights.iter().find(|one| one.line == line && one.data.is_some() && owns(one.message.kind));
        flight.and_then(|flight| flight.data).map(|number| self.blocks.get(number))
    }

    fn gather(&self, address: u64, length: usize) -> Option<&[u8]> {
        let memory = self.home.bytes(address, length)?;
        if length == 0 {
            return Some(memory);
        }
        let last = (address + length as u64 - 1) / 64;
        if (address / 64..=last).all(|line| self.latest(line).is_none()) {
            return Some(memory);
        }
        let mut bytes = memory.to_vec();
        for line in address / 64..=last {
            if let Some(block) = self.latest(line) {
                let (start, end) = ((line * 64).max(address), (line * 64 + 64).min(address + length as u64));
                bytes[(start - address) as usize..(end - address) as usize]
                    .copy_from_slice(&block.bytes[(start - line * 64) as usize..(end - line * 64) as usize]);
            }
        }
        let mut place = &self.gathered;
        while let Some(full) = place.get() {
            place = &full.next;
        }
        Some(&place.get_or_init(|| Box::new(Gathered { bytes: bytes.into(), next: OnceCell::new() })).bytes)
    }
}

impl<D: Device> MemorySystem for CoherentMemory<D> {
    #[inline]
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        self.now = cycle;
        if !self.home.contains(address, 2) {
            return FetchAnswer::Fault;
        }
        let node = &mut self.nodes[core];
        if !node.instruction.take_port(cycle) {
            node.statistics.ports_full += 1;
            return FetchAnswer::Retry;
        }
        if let Some(way) = node.instruction.find(address / 64) {
            let slot = way.slot as usize;
            node.statistics.fetch_hits += 1;
            let version = node.instruction.blocks[slot].version;
            return FetchAnswer::Ready { at: cycle + self.config.l1.hit, version };
        }
        self.fetch_miss(cycle, core, context, address / 64)
    }

    #[inline]
    fn fetch_at_once(&mut self, cycle: u64, core: usize, address: u64) -> Option<(u64, u32)> {
        if !self.home.contains(address, 2) {
            return None;
        }
        let node = &mut self.nodes[core];
        if !node.instruction.has_port(cycle) {
            return None;
        }
        let slot = node.instruction.find(address / 64)?.slot as usize;
        node.instruction.take_port(cycle);
        node.statistics.fetch_hits += 1;
        Some((cycle + self.config.l1.hit, node.instruction.blocks[slot].version))
    }

    #[inline]
    fn load_at_once(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> Option<(u64, u64)> {
        self.load_hit(cycle, core, context, address, width)
    }

    #[inline]
    fn store_at_once(&mut self, cycle: u64, core: usize, address: u64, width: u8, value: u64) -> bool {
        self.store_hit(cycle, core, address, width, value)
    }

    #[inline]
    fn code(&self, core: usize, address: u64) -> Option<u16> {
        let cache = &self.nodes[core].instruction;
        let block = &cache.blocks[cache.peek(address / 64)?.slot as usize];
        let bytes = block.bytes.get((address % 64) as usize..)?.first_chunk()?;
        Some(u16::from_le_bytes(*bytes))
    }

    #[inline]
    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        self.now = cycle;
        if !self.home.contains(request.address, request.width.into()) {
            return self.outside(cycle, &request);
        }
        match request.kind {
            RequestKind::Load => self.load(cycle, &request, false),
            RequestKind::LoadReserved => self.load(cycle, &request, true),
            _ => self.store(cycle, &request),
        }
    }

    #[inline]
    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        if self.gathered.get().is_some() {
            self.gathered.take();
        }
        while self.calendar.next <= cycle {
            self.run(completed);
        }
        self.now = cycle;
    }

    fn next_event(&self) -> Option<u64> {
        Some(self.calendar.next).filter(|&next| next != u64::MAX)
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
        self.empty_instructions(core);
    }

    #[inline]
    fn region(&self, address: u64, width: u8) -> AddressKind {
        if self.home.contains(address, width.into()) {
            return AddressKind::Memory;
        }
        AddressKind::outside_memory(&self.device, address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.gather(address, length)
    }

    fn set_bytes(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.write_everywhere(address, bytes)
    }
}
