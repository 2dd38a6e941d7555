// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Coherent caches with the devices beside their L2, as the cores see them.

use std::collections::VecDeque;
use std::ops::Range;

use mb_core::ParameterError;
use mb_processor::Memory;
use mb_processor::directory::{CoherentMemory, DirectoryConfig, DirectoryStatistics};
use mb_processor::line_port::{LINE_BYTES, LineEvent, LinePort, LineRequest, LineRequestKind};
use mb_processor::system::{
    AddressKind, CompletedRequest, Device, DeviceAnswer, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem,
};

use super::messages::Messages;
use crate::device::Moped;

/// The devices as the caches see them: uncached registers. `moped` is `None` while the devices themselves use the
/// caches.
#[derive(Clone, Debug)]
struct Ports {
    moped: Option<Box<Moped>>,
    range: Range<u64>,
    /// Accesses of each core.
    accesses: Vec<u64>,
}

impl Device for Ports {
    fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    fn read(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> DeviceAnswer {
        self.accesses[core] += 1;
        self.moped.as_mut().map_or(DeviceAnswer::Wait, |moped| moped.read(cycle, core, context, address, width))
    }

    fn write(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8, value: u64) -> DeviceAnswer {
        self.accesses[core] += 1;
        self.moped.as_mut().map_or(DeviceAnswer::Wait, |moped| moped.write(cycle, core, context, address, width, value))
    }
}

/// The memory system of the chip: caches, directory and devices.
///
/// In each cycle the caches advance first, then the devices. The external interrupt of a core is that of its device.
#[derive(Clone, Debug)]
pub(super) struct ChipMemory {
    caches: CoherentMemory<Ports>,
    /// Requests for lines that are not memory, which a page table with an address of a device has: they read zeros, and
    /// their writes are lost.
    outside: NonMemoryReads,
    /// The external interrupt of each core, as last reported to the core.
    pending: Vec<bool>,
    /// Cores whose interrupt may have changed are those from this on.
    next_interrupt: usize,
    messages: Messages,
}

#[derive(Clone, Debug, Default)]
struct NonMemoryReads {
    events: Vec<VecDeque<LineEvent>>,
    /// How many there are.
    count: usize,
    lines: Vec<u64>,
}

impl NonMemoryReads {
    #[inline]
    const fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    fn next_event(&self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let first = |events: &VecDeque<LineEvent>| match events.front() {
            Some(LineEvent::Data { at, .. } | LineEvent::Owned { at, .. } | LineEvent::Written { at, .. }) => Some(*at),
            _ => None,
        };
        self.events.iter().filter_map(first).min()
    }
}

/// The caches as the devices see them.
struct Lines<'a> {
    caches: &'a mut CoherentMemory<Ports>,
    outside: &'a mut NonMemoryReads,
}

impl LinePort for Lines<'_> {
    fn line_request(&mut self, cycle: u64, node: usize, request: LineRequest) -> bool {
        let LineRequest { tag, line, kind } = request;
        if self.caches.contains(line, LINE_BYTES as u64) {
            return self.caches.line_request(cycle, node, request);
        }
        let (at, data) = (cycle + 1, [0; LINE_BYTES]);
        self.outside.lines.push(line);
        self.outside.count += 1;
        self.outside.events[node].push_back(match kind {
            LineRequestKind::Copy | LineRequestKind::Read => LineEvent::Data { tag, at, data },
            LineRequestKind::Own => LineEvent::Owned { tag, at, data: Some(data) },
            LineRequestKind::OwnWithoutData => LineEvent::Owned { tag, at, data: None },
            LineRequestKind::Write(_) | LineRequestKind::Release => LineEvent::Written { tag, at },
        });
        true
    }

    fn send(&mut self, cycle: u64, from: usize, to: usize, bytes: u32, tag: u64) {
        self.caches.send(cycle, from, to, bytes, tag);
    }

    fn line_events(&mut self, node: usize, events: &mut Vec<LineEvent>) {
        self.caches.line_events(node, events);
        self.outside.count -= self.outside.events[node].len();
        events.extend(self.outside.events[node].drain(..));
    }
}

impl ChipMemory {
    /// Empty caches in front of this memory.
    pub(super) fn new(config: &DirectoryConfig, memory: Memory, mut moped: Moped) -> Result<Self, ParameterError> {
        moped.log();
        let ports = Ports { range: moped.range(), moped: Some(Box::new(moped)), accesses: vec![0; config.nodes] };
        Ok(Self {
            caches: CoherentMemory::new(config, memory, ports)?,
            outside: NonMemoryReads { events: vec![VecDeque::new(); config.nodes], ..NonMemoryReads::default() },
            pending: vec![false; config.nodes],
            next_interrupt: 0,
            messages: Messages::default(),
        })
    }

    pub(super) fn moped(&self) -> &Moped {
        self.caches.device().moped.as_ref().expect("the devices are away within `advance` only")
    }

    /// Accesses to the device by a core.
    pub(super) fn accesses(&self, core: usize) -> u64 {
        self.caches.device().accesses[core]
    }

    pub(super) fn statistics(&self) -> DirectoryStatistics {
        self.caches.statistics()
    }

    /// Addresses of lines that the device copied and that are not memory.
    pub(super) fn refused(&self) -> &[u64] {
        &self.outside.lines
    }

    pub(super) fn messages(&self) -> &Messages {
        &self.messages
    }

    /// The messages that the devices have moved so far continue a record.
    pub(super) fn continue_messages(&mut self, messages: Messages) {
        self.messages = messages;
    }

    /// Whether nothing is under way in caches and devices; page faults wait for the kernel.
    pub(super) fn is_idle(&self) -> bool {
        self.caches.is_idle()
            && self.moped().is_idle()
            && self.moped().next_event().is_none()
            && self.outside.is_empty()
    }

    /// Runs everything up to and including `cycle`, the caches before the devices in each cycle.
    fn advance_devices(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        loop {
            let at = self.next_event().map_or(cycle, |next| next.min(cycle));
            self.caches.advance(at, completed);
            self.run_devices(at);
            if at == cycle {
                return;
            }
        }
    }

    /// The memory with the latest bytes, the devices, and the record of messages.
    pub(super) fn into_parts(self) -> Result<(Memory, Moped, Messages), Box<Self>> {
        let Self { caches, outside, pending, next_interrupt, messages } = self;
        match caches.into_parts() {
            Ok((memory, ports)) => {
                let mut moped = ports.moped.expect("the devices are away within `advance` only");
                for node in &mut moped.nodes {
                    node.log = None;
                }
                Ok((memory, *moped, messages))
            }
            Err(caches) => Err(Box::new(Self { caches: *caches, outside, pending, next_interrupt, messages })),
        }
    }

    /// Lets the devices act in a cycle.
    fn run_devices(&mut self, cycle: u64) {
        let due = self.moped().next_event().is_some_and(|next| next <= cycle);
        if !due && !self.caches.has_line_events() && self.outside.is_empty() {
            return;
        }
        let Some(mut moped) = self.caches.device_mut().moped.take() else { return };
        moped.advance(cycle, &mut Lines { caches: &mut self.caches, outside: &mut self.outside });
        self.messages.observe(cycle, &mut moped, |address, length| self.caches.bytes(address, length));
        self.caches.device_mut().moped = Some(moped);
        self.next_interrupt = 0;
    }
}

impl MemorySystem for ChipMemory {
    #[inline]
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        self.caches.fetch(cycle, core, context, address)
    }

    #[inline]
    fn fetch_at_once(&mut self, cycle: u64, core: usize, address: u64) -> Option<(u64, u32)> {
        self.caches.fetch_at_once(cycle, core, address)
    }

    #[inline]
    fn load_at_once(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> Option<(u64, u64)> {
        self.caches.load_at_once(cycle, core, context, address, width)
    }

    #[inline]
    fn store_at_once(&mut self, cycle: u64, core: usize, address: u64, width: u8, value: u64) -> bool {
        self.caches.store_at_once(cycle, core, address, width, value)
    }

    #[inline]
    fn code(&self, core: usize, address: u64) -> Option<u16> {
        self.caches.code(core, address)
    }

    #[inline]
    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        self.caches.request(cycle, request)
    }

    #[inline]
    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        if self.next_event().is_none_or(|next| next > cycle)
            && !self.caches.has_line_events()
            && self.outside.is_empty()
        {
            self.caches.advance(cycle, completed);
            return;
        }
        self.advance_devices(cycle, completed);
    }

    #[inline]
    fn next_event(&self) -> Option<u64> {
        [self.outside.next_event(), self.caches.next_event(), self.moped().next_event()].into_iter().flatten().min()
    }

    #[inline]
    fn drained(&self, core: usize, context: u8) -> bool {
        self.caches.drained(core, context)
    }

    #[inline]
    fn reserved(&self, core: usize, context: u8) -> bool {
        self.caches.reserved(core, context)
    }

    fn invalidate_instructions(&mut self, core: usize) {
        self.caches.invalidate_instructions(core);
    }

    #[inline]
    fn region(&self, address: u64, width: u8) -> AddressKind {
        self.caches.region(address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.caches.bytes(address, length)
    }

    fn set_bytes(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.caches.set_bytes(address, bytes)
    }

    #[inline]
    fn external_interrupt(&mut self) -> Option<(usize, bool)> {
        while self.next_interrupt < self.pending.len() {
            let core = self.next_interrupt;
            self.next_interrupt += 1;
            let pending = self.moped().interrupts(core);
            if pending != self.pending[core] {
                self.pending[core] = pending;
                return Some((core, pending));
            }
        }
        None
    }

    fn page_table(&mut self, core: usize, _: u8, root: u64) {
        if let Some(moped) = &mut self.caches.device_mut().moped {
            moped.set_page_table(core, root);
        }
    }
}
