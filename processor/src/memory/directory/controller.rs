// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cache controller of a node: executes the transitions of its table.

use super::cache::Block;
use super::node::{Mshr, Place, Waiter};
use super::protocol::{
    CacheAction, CacheEvent, CacheState, Impossible, MessageKind, MessageTarget, ProtocolMessage, cache_event,
};
use super::{CoherentMemory, Event, Flight};
use crate::memory::line_port::{LineEvent, LineRequestKind};
use crate::memory::system::{CompletedRequest, Device};

impl<D: Device> CoherentMemory<D> {
    /// A message arrives in a cache controller.
    pub(super) fn arrive(&mut self, number: u32, completed: &mut Vec<CompletedRequest>) -> Result<(), Impossible> {
        let flight = *self.flights.get(number);
        let (node, line) = (usize::from(flight.to), flight.line);
        let kind = flight.message.kind;
        if matches!(kind, MessageKind::FwdGetS | MessageKind::FwdGetX | MessageKind::Inv) && self.holds(node, number) {
            self.calendar.push(self.now + 1, Event::Arrive(number));
            return Ok(());
        }
        self.flights.get_mut(number).data = None;
        self.flights.remove(number);
        let active = self.nodes[node].mshr(line).filter(|&mshr| self.nodes[node].mshrs[mshr].active);
        let Some(mshr) = active else { return self.probe(node, &flight) };
        let Mshr { state, acks, .. } = self.nodes[node].mshrs[mshr];
        let event = cache_event(state, acks, &flight.message).expect("a message to a cache controller");
        if let Some(block) = flight.data {
            let bytes = *self.blocks.get(block);
            self.answered(node, mshr, &flight);
            let result = self.step(node, mshr, event, Some((&flight, &bytes)), completed);
            self.blocks.remove(block);
            return result;
        }
        if matches!(kind, MessageKind::Grant | MessageKind::GrantBlank) {
            self.answered(node, mshr, &flight);
        }
        let none = Block::ZERO;
        self.step(node, mshr, event, Some((&flight, &none)), completed)
    }

    /// Counts what an answer means for those who wait for it.
    fn answered(&mut self, node: usize, mshr: usize, flight: &Flight) {
        let node = &mut self.nodes[node];
        let device = node.mshrs[mshr].waiters.first().is_some_and(|waiter| waiter.is_device());
        let misses = if device { &mut node.statistics.device } else { &mut node.statistics.core };
        match flight.message.kind {
            MessageKind::Grant => misses.upgrades += 1,
            MessageKind::GrantBlank => misses.blanks += 1,
            _ if flight.memory => misses.global += 1,
            _ => misses.private += 1,
        }
    }

    /// Whether a reservation delays a request of another node.
    fn holds(&mut self, node: usize, number: u32) -> bool {
        if self.config.reservation_hold == 0 || !self.reservations.any() {
            return false;
        }
        let hold = self.config.reservation_hold;
        let flight = self.flights.get_mut(number);
        if flight.deadline == 0 {
            flight.deadline = self.now + hold;
        }
        let (line, deadline) = (flight.line, flight.deadline);
        let harts = node * self.config.contexts..(node + 1) * self.config.contexts;
        self.now < deadline.min(self.nodes[node].reserved_at + hold)
            && harts.into_iter().any(|hart| self.reservations.is(hart, line))
    }

    /// A request of another node for a line that is not in a transaction of this one.
    fn probe(&mut self, node: usize, flight: &Flight) -> Result<(), Impossible> {
        let line = flight.line;
        let (state, block) = self.nodes[node].look(line);
        let block = block.copied();
        let event = cache_event(state, 0, &flight.message).expect("a message to a cache controller");
        let transition = self.protocol.cache(state, event, line)?;
        let next = transition.next;
        let mut drops = false;
        for place in 0..transition.actions.len() {
            let action = self.protocol.cache(state, event, line)?.actions[place];
            match action.message() {
                Some((_, kind)) => self.answer(node, flight, kind, block.as_ref()),
                None if action == CacheAction::Drop => drops = true,
                None => {}
            }
        }
        if drops {
            self.lose(node, line);
            self.nodes[node].statistics.invalidated += 1;
            self.nodes[node].extract(line);
        } else if next != state {
            let caches = &mut self.nodes[node];
            for cache in [&mut caches.data, &mut caches.l2, &mut caches.instruction] {
                if cache.peek(line).is_some() {
                    cache.find(line).expect("a line").state = next;
                }
            }
        }
        Ok(())
    }

    /// Sends the answer to the request of another node.
    fn answer(&mut self, node: usize, flight: &Flight, kind: MessageKind, block: Option<&Block>) {
        let ProtocolMessage { requester, acks, .. } = flight.message;
        let data = if kind.has_data() { block.map(|block| self.blocks.insert(*block)) } else { None };
        let message = ProtocolMessage { kind, from: node as u8, requester: node as u8, acks };
        let to = requester;
        let number = self.flights.insert(Flight { message, line: flight.line, to, data, memory: false, deadline: 0 });
        self.calendar.push(self.now + self.config.probe, Event::Send(number));
    }

    /// The node gives up a line: reservations of it are lost.
    pub(super) fn lose(&mut self, node: usize, line: u64) {
        if !self.reservations.any() {
            return;
        }
        for hart in node * self.config.contexts..(node + 1) * self.config.contexts {
            if self.reservations.is(hart, line) {
                self.reservations.release(hart);
            }
        }
    }

    /// Executes the transition of a line in an MSHR for a message or an eviction.
    pub(super) fn step(
        &mut self,
        node: usize,
        mshr: usize,
        event: CacheEvent,
        flight: Option<(&Flight, &Block)>,
        completed: &mut Vec<CompletedRequest>,
    ) -> Result<(), Impossible> {
        let Mshr { line, state, .. } = self.nodes[node].mshrs[mshr];
        let transition = self.protocol.cache(state, event, line)?;
        let (next, count) = (transition.next, transition.actions.len());
        let mut restarts = false;
        for place in 0..count {
            let action = self.protocol.cache(state, event, line)?.actions[place];
            if let Some((target, kind)) = action.message() {
                match (&flight, target) {
                    (Some((flight, _)), MessageTarget::Requester) => {
                        let block = self.nodes[node].mshrs[mshr].block;
                        self.answer(node, flight, kind, Some(&block));
                    }
                    _ => self.request_home(node, mshr, kind),
                }
                continue;
            }
            let entry = &mut self.nodes[node].mshrs[mshr];
            match (action, &flight) {
                (CacheAction::Fill, Some((_, block))) => entry.block = **block,
                (CacheAction::Zero, _) => {
                    self.version = self.version.wrapping_add(1);
                    entry.block = Block { bytes: [0; 64], version: self.version };
                }
                (CacheAction::Expect, Some((flight, _))) => entry.acks += flight.message.acks as i8,
                (CacheAction::Count, _) => entry.acks -= 1,
                (CacheAction::Deliver, Some((_, block))) => {
                    let data = block.bytes;
                    self.deliver(node, mshr, data);
                }
                (CacheAction::Restart, _) => restarts = true,
                (CacheAction::Revoke, _) => self.revoke(node, line),
                // The reservation was lost with the eviction.
                (CacheAction::Drop, Some(_)) if event != CacheEvent::PutAck => {
                    self.nodes[node].statistics.invalidated += 1;
                    self.lose(node, line);
                }
                _ => {}
            }
        }
        self.nodes[node].mshrs[mshr].state = next;
        if event == CacheEvent::PutAck {
            self.nodes[node].write_backs -= 1;
        }
        if restarts || next.is_stable() && self.nodes[node].mshrs[mshr].waiters.is_empty() {
            self.serve(node, mshr, completed)?;
        }
        Ok(())
    }

    /// The first request of the device that waits for a copy gets it.
    fn deliver(&mut self, node: usize, mshr: usize, data: [u8; 64]) {
        let at = self.now;
        let caches = &mut self.nodes[node];
        let waiters = &mut caches.mshrs[mshr].waiters;
        let place = waiters.iter().position(|waiter| waiter.is_device()).expect("a request of the device");
        if let Waiter::Device(number) = waiters.remove(place) {
            let tag = caches.works.remove(number).request.tag;
            self.tell(node, LineEvent::Data { tag, at, data });
        }
    }

    pub(super) fn revoke(&mut self, node: usize, line: u64) {
        let at = self.now;
        self.nodes[node].statistics.revoked += 1;
        self.tell(node, LineEvent::Revoked { line: line * 64, at });
    }

    /// Sends a message to the home of a line in an MSHR.
    fn request_home(&mut self, node: usize, mshr: usize, kind: MessageKind) {
        let Mshr { line, block, .. } = self.nodes[node].mshrs[mshr];
        if matches!(kind, MessageKind::PutM | MessageKind::PutO | MessageKind::PutE) {
            self.nodes[node].write_backs += 1;
            self.nodes[node].statistics.write_backs += u64::from(kind.has_data());
        }
        let data = kind.has_data().then(|| self.blocks.insert(block));
        let message = ProtocolMessage { kind, from: node as u8, requester: node as u8, acks: 0 };
        let to = self.home(line);
        let number = self.flights.insert(Flight { message, line, to, data, memory: false, deadline: 0 });
        self.inject(number);
    }

    /// Serves the requests that wait for a line, in order, until one has to wait longer; then puts
    /// the line into its cache.
    pub(super) fn serve(
        &mut self,
        node: usize,
        mshr: usize,
        completed: &mut Vec<CompletedRequest>,
    ) -> Result<(), Impossible> {
        let line = self.nodes[node].mshrs[mshr].line;
        let mut begin = 0;
        loop {
            let entry = &self.nodes[node].mshrs[mshr];
            let Some(&waiter) = entry.waiters.get(begin) else { break };
            let (state, event) = (entry.state, self.event_of(node, waiter));
            let transition = self.protocol.cache(state, event, line)?;
            if transition.actions.first() == Some(&CacheAction::Stall) {
                break;
            }
            let (next, count) = (transition.next, transition.actions.len());
            let mut sent = false;
            for place in 0..count {
                let action = self.protocol.cache(state, event, line)?.actions[place];
                if let Some((_, kind)) = action.message() {
                    self.request_home(node, mshr, kind);
                    sent = true;
                    continue;
                }
                match action {
                    CacheAction::Revoke => self.revoke(node, line),
                    CacheAction::Drop => self.lose(node, line),
                    CacheAction::Hit => self.hit(node, mshr, waiter, completed),
                    _ => self.serve_device(node, mshr, waiter, action),
                }
            }
            self.nodes[node].mshrs[mshr].state = next;
            if sent {
                break;
            }
            begin += 1;
        }
        let entry = &mut self.nodes[node].mshrs[mshr];
        entry.waiters.drain(..begin);
        if entry.waiters.is_empty() && entry.state.is_stable() && entry.state != CacheState::D {
            let Mshr { state, block, place, .. } = *entry;
            self.nodes[node].free(mshr);
            if state != CacheState::I {
                self.install(node, line, state, &block, place, completed)?;
            }
        }
        Ok(())
    }

    fn event_of(&self, node: usize, waiter: Waiter) -> CacheEvent {
        match waiter {
            Waiter::Load(_) | Waiter::Fetch(_) => CacheEvent::Read,
            Waiter::Store => CacheEvent::Write,
            Waiter::Device(number) => self.nodes[node].works.get(number).event,
        }
    }

    /// An action for a request of the device.
    fn serve_device(&mut self, node: usize, mshr: usize, waiter: Waiter, action: CacheAction) {
        let Waiter::Device(number) = waiter else { return };
        let at = self.now;
        let line = self.nodes[node].mshrs[mshr].line;
        let work = self.nodes[node].works.remove(number);
        let tag = work.request.tag;
        let Mshr { block, .. } = self.nodes[node].mshrs[mshr];
        let writes = matches!(work.request.kind, LineRequestKind::Write(_));
        let place = if writes && self.config.device_level == 1 { Place::Data } else { Place::L2 };
        self.nodes[node].mshrs[mshr].place = place;
        let event = match action {
            CacheAction::GiveCopy => {
                self.nodes[node].statistics.device.local += 1;
                LineEvent::Data { tag, at, data: block.bytes }
            }
            CacheAction::GiveLine => {
                self.lose(node, line);
                let blank = work.event == CacheEvent::DeviceBlank;
                LineEvent::Owned { tag, at, data: (!blank).then_some(block.bytes) }
            }
            CacheAction::TakeBytes | CacheAction::TakeBack => {
                if let LineRequestKind::Write(bytes) = work.request.kind {
                    self.version = self.version.wrapping_add(1);
                    self.nodes[node].mshrs[mshr].block = Block { bytes, version: self.version };
                }
                LineEvent::Written { tag, at }
            }
            _ => return,
        };
        self.tell(node, event);
    }

    /// Puts a line into a cache of the node; victims move down.
    fn install(
        &mut self,
        node: usize,
        line: u64,
        state: CacheState,
        block: &Block,
        place: Place,
        completed: &mut Vec<CompletedRequest>,
    ) -> Result<(), Impossible> {
        let caches = &mut self.nodes[node];
        let victim = match place {
            Place::Data => caches.data.insert(line, state, block),
            Place::Instruction => caches.instruction.insert(line, state, block),
            Place::L2 => Some((line, state, *block)),
        };
        let Some((line, state, block)) = victim else { return Ok(()) };
        self.insert_l2(node, line, state, &block, completed)
    }

    /// Puts a line into the L2, and evicts another one if its set is full.
    pub(super) fn insert_l2(
        &mut self,
        node: usize,
        line: u64,
        state: CacheState,
        block: &Block,
        completed: &mut Vec<CompletedRequest>,
    ) -> Result<(), Impossible> {
        let Some((line, state, block)) = self.nodes[node].l2.insert(line, state, block) else { return Ok(()) };
        let mshr = match self.nodes[node].mshr(line) {
            Some(mshr) => mshr,
            None => self.nodes[node].allocate(line, Place::L2, None),
        };
        let entry = &mut self.nodes[node].mshrs[mshr];
        (entry.active, entry.state, entry.block) = (true, state, block);
        self.lose(node, line);
        let waits = !self.nodes[node].mshrs[mshr].waiters.is_empty();
        let transition = self.protocol.cache(state, CacheEvent::Replace, line)?;
        if waits && transition.next == CacheState::I {
            // The lookup that is under way finds no line.
            self.nodes[node].mshrs[mshr].state = CacheState::I;
            return Ok(());
        }
        self.step(node, mshr, CacheEvent::Replace, None, completed)
    }
}
