// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The work of a MOPED for its active matches: selection, translation, coherence operations, page faults.

use mb_processor::line_port::{LineEvent, LinePort, LineRequest, LineRequestKind};

use crate::contract::State;
use crate::copy::{Active, LineOperation, RECEIVE, SEND, Use};
use crate::descriptor::{Descriptor, Pair, Role, TableEntry};
use crate::message::{Fault, Message};
use crate::node::{Node, Slot};
use crate::parameters::MatchOrder;
use crate::walk::{Target, Walk};

impl Node {
    /// Takes an event of the coherence protocol.
    pub(crate) fn line_event(&mut self, event: &LineEvent) {
        self.changed = true;
        let units = self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Active(active) => Some(active),
            _ => None,
        });
        for active in units {
            let taken = match event {
                LineEvent::Data { tag, data, .. } => active.data(*tag, data),
                LineEvent::Owned { tag, data, .. } => active.owned(*tag, data.as_ref()),
                LineEvent::Written { tag, .. } => active.was_written(*tag),
                LineEvent::Revoked { line, .. } => {
                    let lost = active.revoked(*line);
                    self.counters.revocations += u64::from(lost);
                    lost
                }
                LineEvent::Message { .. } => false,
            };
            if taken {
                return;
            }
        }
        if let LineEvent::Data { tag, data, .. } = event {
            self.walker.data(*tag, data);
        }
    }

    /// Selects matches for free slots, oldest match first, and begins their copies.
    pub(crate) fn step_slots(&mut self, cycle: u64) {
        for slot in 0..self.slots.len() {
            if self.slots_due && matches!(self.slots[slot], Slot::Free) {
                let matched = self.table.iter().filter(|(_, entry)| entry.pair != Pair::None);
                let next = match self.parameters.order {
                    MatchOrder::Age => matched.min_by_key(|(_, entry)| entry.age),
                    MatchOrder::Slot => matched.min_by_key(|(index, _)| *index),
                };
                let Some((receive, entry)) = next else {
                    self.slots_due = false;
                    continue;
                };
                self.changed = true;
                match entry.pair {
                    Pair::Held(node, entry) => {
                        let id = self.table.get(receive).map(|found| found.descriptor.id);
                        if let Some(id) = id {
                            self.send(node, Message::Pull { receive: id, entry });
                        }
                        if let Some(entry) = self.table.get_mut(receive) {
                            entry.pair = Pair::None;
                        }
                        self.counters.pulled += 1;
                        self.slots[slot] = Slot::Pulled { receive };
                        continue;
                    }
                    _ => self.slots[slot] = Slot::Selected { receive, ready: cycle + self.parameters.find_cycles },
                }
                // The pair leaves the candidates when it becomes active; the slot keeps it until then.
                if let Slot::Selected { receive, .. } = self.slots[slot] {
                    self.hide(receive);
                }
            }
            if let Slot::Selected { receive, ready } = self.slots[slot]
                && ready <= cycle
            {
                self.changed = true;
                self.activate_pair(slot, receive);
            }
        }
    }

    /// The first cycle in which a selected match becomes active.
    pub(crate) fn selection_end(&self) -> Option<u64> {
        let ready = |slot: &Slot| match slot {
            Slot::Selected { ready, .. } => Some(*ready),
            _ => None,
        };
        self.slots.iter().filter_map(ready).min()
    }

    /// Moves the entry of the send out of `pair` into `chosen`, so that no other slot selects it.
    fn hide(&mut self, receive: usize) {
        if let Some(entry) = self.table.get_mut(receive)
            && let Pair::Here(send) = entry.pair
        {
            entry.pair = Pair::None;
            entry.chosen = Some(send);
        }
    }

    fn activate_pair(&mut self, slot: usize, receive: usize) {
        let chosen = self.table.get_mut(receive).and_then(|entry| entry.chosen.take());
        let Some((index, entry)) = chosen.and_then(|send| Some((send, self.table.get(send)?))) else { return };
        let (send, role, pages) = (entry.descriptor, entry.role, entry.pages);
        let target = Target::Entry { entry: index, serial: entry.serial };
        self.activate(slot, receive, send, pages, Some(target));
        if role != Role::Own {
            self.free(index);
        }
    }

    pub(crate) fn receive_pulled(&mut self, receive: crate::contract::Id, send: Descriptor) {
        let receive = usize::from(receive.entry);
        let waits = |slot: &Slot| matches!(slot, Slot::Pulled { receive: waiting } if *waiting == receive);
        if let Some(slot) = self.slots.iter().position(waits) {
            self.activate(slot, receive, send, [None; 2], None);
        }
    }

    fn activate(
        &mut self,
        slot: usize,
        receive: usize,
        send: Descriptor,
        send_pages: [Option<u64>; 2],
        send_target: Option<Target>,
    ) {
        let serial = self.table.number();
        let Some(entry) = self.table.get_mut(receive) else { return };
        let (descriptor, pages) = (entry.descriptor, std::mem::take(&mut entry.pages));
        let receive_target = Target::Entry { entry: receive, serial: entry.serial };
        let length = send.length.min(descriptor.length);
        let (lines, design) = (self.parameters.lines, self.parameters.design);
        let mut active = Active::new(serial, receive, [send, descriptor], length, lines, design);
        for (side, early) in [(SEND, send_pages), (RECEIVE, pages)] {
            for (page, physical) in (0..).zip(early) {
                if let Some(physical) = physical {
                    active.translate(side, page, physical);
                }
            }
        }
        for (side, from) in [(SEND, send_target), (RECEIVE, Some(receive_target))] {
            let Some(from) = from else { continue };
            for page in self.walker.retarget(from, Target::Active { slot, serial, side }) {
                active.walking(side, page);
            }
        }
        self.slots[slot] = Slot::Active(Box::new(active));
    }

    /// The active match of a slot, if it is the one with this serial number.
    fn active(&mut self, slot: usize, serial: u64) -> Option<&mut Active> {
        match &mut self.slots[slot] {
            Slot::Active(active) if active.serial == serial => Some(active),
            _ => None,
        }
    }

    /// Queues the walks that active matches need, and does a step of the walk under way.
    pub(crate) fn step_walker(&mut self) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let Slot::Active(active) = slot {
                for walk in active.walks(index) {
                    self.walker.add(walk);
                    self.changed = true;
                }
            }
        }
        let (ended, changed) = self.walker.step();
        self.changed |= changed;
        let Some((walk, physical)) = ended else { return };
        match (walk.target, physical) {
            (Target::Entry { entry, serial }, Some(physical)) => {
                self.counters.walks += 1;
                if let Some(found) = self.entry_of(entry, serial) {
                    found.pages[(walk.page % 2) as usize] = Some(physical);
                }
            }
            // The walk of the active match finds the fault again.
            (Target::Entry { .. }, None) => {}
            (Target::Active { slot, serial, side }, Some(physical)) => {
                self.counters.walks += 1;
                if let Some(active) = self.active(slot, serial) {
                    active.translate(side, walk.page, physical);
                }
            }
            (Target::Active { slot, serial, side }, None) => {
                let Some(active) = self.active(slot, serial) else { return };
                let descriptor = *active.descriptor(side);
                self.counters.faults += 1;
                let ticket = self.table.number();
                self.walks_at_fault.push((ticket, walk));
                let fault = Fault {
                    owner: descriptor.owner,
                    address: walk.address,
                    is_receive: side == RECEIVE,
                    from: self.number,
                    ticket,
                };
                self.send(descriptor.id.node.into(), Message::Fault(fault));
            }
        }
    }

    /// The kernel has ended a fault.
    pub(crate) fn resolved(&mut self, ticket: u64, mapped: bool) {
        let Some(place) = self.walks_at_fault.iter().position(|(held, _)| *held == ticket) else { return };
        let (_, walk): (u64, Walk) = self.walks_at_fault.remove(place);
        self.walker.invalidate();
        if mapped {
            self.walker.add(walk);
        } else if let Target::Active { slot, serial, .. } = walk.target
            && let Some(active) = self.active(slot, serial)
        {
            active.fail();
        }
    }

    /// Moves bytes, and starts coherence operations.
    pub(crate) fn step_copies(&mut self, cycle: u64, port: &mut impl LinePort) {
        let halves = self.parameters.merge_halves;
        for slot in 0..self.slots.len() {
            let Slot::Active(active) = &mut self.slots[slot] else { continue };
            self.changed |= active.merge(halves) > 0;
            if active.is_done() {
                let (receive, send, bad) = (active.receive, *active.descriptor(SEND), active.has_failed());
                self.slots[slot] = Slot::Free;
                self.finish(receive, &send, bad);
                self.changed = true;
                continue;
            }
            self.changed |= active.reserve();
        }
        let mut left = self.parameters.operations;
        if let Some(line) = self.walker.wants() {
            let tag = self.next_tag();
            if port.line_request(cycle, self.number, LineRequest { tag, line, kind: LineRequestKind::Read }) {
                self.walker.requested(tag);
                self.counters.walk_reads += 1;
                left -= 1;
            }
            self.changed = true;
        }
        // Write-backs first; then rights and copies in turns, the oldest line of each first. A refused operation is
        // repeated in the next cycle.
        for slot in 0..self.slots.len() {
            while left > 0 {
                let Slot::Active(active) = &self.slots[slot] else { break };
                let Some(wanted) = active.next_write() else { break };
                if !self.start(cycle, slot, &wanted, port) {
                    break;
                }
                left -= 1;
            }
        }
        for slot in 0..self.slots.len() {
            let Slot::Active(active) = &self.slots[slot] else { continue };
            let owns = active.next_owns();
            let copies = active.next_copies();
            let count = owns.len().max(copies.len());
            for place in 0..count {
                if let Some(wanted) = owns.get(place)
                    && left > 0
                    && matches!(self.usage(wanted.line), Use::None)
                    && self.start(cycle, slot, wanted, port)
                {
                    left -= 1;
                }
                let Some(wanted) = copies.get(place) else { continue };
                match self.usage(wanted.line) {
                    Use::Owned(data) => {
                        if let Slot::Active(active) = &mut self.slots[slot] {
                            active.copied_here(wanted, &data);
                            self.changed = true;
                        }
                    }
                    Use::None if left > 0 => left -= usize::from(self.start(cycle, slot, wanted, port)),
                    // Another match of this MOPED copies the same line: copies do not exclude each other, but an
                    // answer belongs to one line.
                    Use::None | Use::Busy => {}
                }
            }
        }
    }

    /// The use of a line by the copy units of this MOPED.
    fn usage(&self, line: u64) -> Use {
        let units = self.slots.iter().filter_map(|slot| match slot {
            Slot::Active(active) => Some(active.usage(line)),
            _ => None,
        });
        let mut found = Use::None;
        for usage in units {
            match usage {
                Use::None => {}
                Use::Busy => found = Use::Busy,
                Use::Owned(_) => return usage,
            }
        }
        found
    }

    /// Requests an operation; whether it was accepted.
    fn start(&mut self, cycle: u64, slot: usize, wanted: &LineOperation, port: &mut impl LinePort) -> bool {
        let tag = self.next_tag();
        self.changed = true;
        if !port.line_request(cycle, self.number, LineRequest { tag, line: wanted.line, kind: wanted.kind }) {
            return false;
        }
        if let Slot::Active(active) = &mut self.slots[slot] {
            active.requested(wanted, tag);
        }
        match wanted.kind {
            LineRequestKind::Copy => self.counters.copies += 1,
            LineRequestKind::Own => self.counters.owns += 1,
            LineRequestKind::OwnWithoutData => self.counters.owns_without_data += 1,
            LineRequestKind::Write(_) => self.counters.writes += 1,
            LineRequestKind::Release | LineRequestKind::Read => {}
        }
        true
    }

    fn next_tag(&mut self) -> u32 {
        self.tag = self.tag.wrapping_add(1).max(1);
        self.tag
    }

    /// Drops translations that the kernel has withdrawn, and reports those of which nothing is held.
    pub(crate) fn step_invalidations(&mut self) {
        if self.invalidations.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.invalidations);
        waiting.retain(|invalidation| {
            for (_, entry) in self.table.iter_mut() {
                let first = entry.descriptor.address / 4096;
                for (page, held) in (first..).zip(&mut entry.pages) {
                    if entry.descriptor.root == invalidation.root && page == invalidation.page {
                        *held = None;
                    }
                }
            }
            let mut free = true;
            for slot in &mut self.slots {
                if let Slot::Active(active) = slot {
                    free &= active.invalidate(invalidation.root, invalidation.page);
                }
            }
            if free {
                self.outbox.push((invalidation.from, Message::Invalidated));
                self.changed = true;
            }
            !free
        });
        self.invalidations = waiting;
    }

    /// Whether no search or copy is under way here, and none is due.
    pub(crate) fn is_idle(&self) -> bool {
        let is_busy = |(_, entry): (usize, &TableEntry)| {
            entry.needs_match && !self.programs.is_stopped(entry.descriptor.owner.program)
                || entry.withdrawing
                || entry.role == Role::Own && entry.state == State::Matched
        };
        self.outbox.is_empty()
            && self.search.is_none()
            && self.slots.iter().all(|slot| matches!(slot, Slot::Free))
            && !self.table.iter().any(is_busy)
    }
}
