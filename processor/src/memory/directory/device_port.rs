// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The port of the devices beside the L2 caches.

use super::cache::Block;
use super::node::{LineWork, Place, Waiter};
use super::protocol::{CacheEvent, CacheState, DeviceTransactions, Impossible};
use super::{CoherentMemory, DeviceMessage, Event};
use crate::memory::line_port::{LineEvent, LinePort, LineRequest, LineRequestKind};
use crate::memory::system::{CompletedRequest, Device};

impl<D: Device> LinePort for CoherentMemory<D> {
    /// # Panics
    /// The line is not in memory.
    fn line_request(&mut self, cycle: u64, node: usize, request: LineRequest) -> bool {
        assert!(
            request.line.is_multiple_of(64) && self.home.contains(request.line, 1),
            "line request for {:#x}; expected the address of a line of memory",
            request.line
        );
        self.now = cycle;
        let event = match (request.kind, self.config.design) {
            (LineRequestKind::Copy, DeviceTransactions::Base) => CacheEvent::DeviceGetS,
            (LineRequestKind::Copy, _) => CacheEvent::DeviceCopy,
            (LineRequestKind::OwnWithoutData, DeviceTransactions::OptCache) => CacheEvent::DeviceBlank,
            (LineRequestKind::Own | LineRequestKind::OwnWithoutData, _) => CacheEvent::DeviceGetX,
            (LineRequestKind::Write(_), _) => CacheEvent::DeviceWrite,
            (LineRequestKind::Release, _) => CacheEvent::DeviceRelease,
            (LineRequestKind::Read, _) => CacheEvent::Read,
        };
        let limit = self.config.device_operations;
        let port = &mut self.nodes[node];
        if port.operations.0 != cycle {
            port.operations = (cycle, 0);
        }
        if port.operations.1 == limit {
            return false;
        }
        port.operations.1 += 1;
        let work = port.works.insert(LineWork { request, event });
        self.calendar.push(cycle + self.config.l2.hit, Event::Line { node: node as u8, work });
        true
    }

    fn send(&mut self, cycle: u64, from: usize, to: usize, bytes: u32, tag: u64) {
        self.now = cycle;
        let (at, busy) = self.switch.send(cycle, from, to, bytes.into());
        self.statistics.device_messages.messages += 1;
        self.statistics.device_messages.link_cycles += busy;
        let number = self.device_messages.insert(DeviceMessage { from: from as u8, to: to as u8, tag });
        self.calendar.push(at, Event::Message(number));
    }

    fn line_events(&mut self, node: usize, events: &mut Vec<LineEvent>) {
        let own = &mut self.nodes[node].events;
        self.line_events -= own.len();
        events.append(own);
    }
}

impl<D: Device> CoherentMemory<D> {
    /// A request of the device has looked for its line.
    pub(super) fn begin_work(
        &mut self,
        node: usize,
        work: u32,
        completed: &mut Vec<CompletedRequest>,
    ) -> Result<(), Impossible> {
        let caches = &mut self.nodes[node];
        let line = caches.works.get(work).request.line / 64;
        let mshr = caches.mshr(line).unwrap_or_else(|| {
            let (state, block) = caches.extract(line).unwrap_or((CacheState::I, Block::ZERO));
            let mshr = caches.allocate(line, Place::L2, None);
            let entry = &mut caches.mshrs[mshr];
            (entry.active, entry.state, entry.block) = (true, state, block);
            mshr
        });
        let entry = &mut caches.mshrs[mshr];
        entry.waiters.push(Waiter::Device(work));
        // Otherwise a lookup, or the end of a transaction, serves it.
        if entry.active && entry.state.is_stable() && entry.waiters.len() == 1 {
            return self.serve(node, mshr, completed);
        }
        Ok(())
    }

    /// The device of a node takes an event with its next [`LinePort::line_events`].
    pub(super) fn tell(&mut self, node: usize, event: LineEvent) {
        self.line_events += 1;
        self.nodes[node].events.push(event);
    }

    pub(super) fn message_arrives(&mut self, number: u32) {
        let DeviceMessage { from, to, tag } = self.device_messages.remove(number);
        let event = LineEvent::Message { from: from.into(), tag, at: self.now };
        self.tell(to.into(), event);
    }
}
