// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The NIC: injection, arrival, and the three packets of a rendezvous message. See
//! [`crate::network`] for the model.

use std::collections::VecDeque;

use mb_core::matching::{MsgId, Op};
use mb_core::mpi::Traffic;
use mb_core::time::Picos;

use super::{
    CompletionTarget, Finished, Message, Outgoing, Packet, PacketKind, Rank, Sending, SharedSink, World, after, times,
};
use crate::assignment::Held;
use crate::config::Wildcards;
use crate::report::accumulate;

impl Rank<'_> {
    /// Sends `message`, which the processor passes to the NIC at `ready`.
    #[inline(always)]
    pub(super) fn transmit(
        &mut self,
        world: &World,
        ready: Picos,
        traffic: Traffic,
        message: Outgoing,
        out: &mut SharedSink,
    ) {
        let Outgoing { destination, comm, tag, bytes, rendezvous, target } = message;
        self.totals.sent += 1;
        self.totals.sent_bytes = self.totals.sent_bytes.saturating_add(bytes);
        let (kind, token, occupied) = if rendezvous {
            (PacketKind::RequestToSend, self.sends.insert(Sending { target, destination, bytes }) as u32, Picos::ZERO)
        } else {
            (PacketKind::Eager, 0, times(world.times.per_byte, bytes))
        };
        let inject = self.occupy_sender(world, destination, ready, occupied);
        let item = Packet { at: inject, bytes, source: self.id, comm, tag, token, kind, traffic };
        self.launch(world, destination, inject, item, out);
    }

    /// When the NIC can start to send. It is then busy for the longer of `occupied` and the gap.
    #[inline(always)]
    pub(super) fn occupy_sender(&mut self, world: &World, destination: u32, ready: Picos, occupied: Picos) -> Picos {
        if destination == self.id {
            return ready;
        }
        let inject = ready.max(self.tx_free);
        self.tx_free = after(inject, occupied.max(world.times.gap));
        inject
    }

    /// Sends `item`, which leaves at `leaves`. Packets of a rank to itself do not cross the
    /// network.
    #[inline(always)]
    pub(super) fn launch(
        &mut self,
        world: &World,
        destination: u32,
        leaves: Picos,
        item: Packet,
        out: &mut SharedSink,
    ) {
        if destination == self.id {
            self.arrivals.insert(Packet { at: leaves, ..item });
        } else {
            out.outbox.push((destination, Packet { at: after(leaves, world.times.latency), ..item }));
        }
    }

    /// The NIC receives the first byte of `item` at `now`.
    pub(super) fn receive_packet(&mut self, world: &World, now: Picos, item: Packet, out: &mut SharedSink) {
        let carried = if matches!(item.kind, PacketKind::Eager | PacketKind::Data | PacketKind::Partitions) {
            item.bytes
        } else {
            0
        };
        let local = item.source == self.id;
        let taken = if local { Picos::ZERO } else { times(world.times.per_byte, carried) };
        if !local {
            self.rx_free = after(now, taken.max(world.times.gap));
        }
        match item.kind {
            PacketKind::Eager | PacketKind::RequestToSend => {
                let envelope = item.envelope();
                match &mut self.assignment {
                    Some(assignment) if item.traffic == Traffic::User => {
                        let ordinal = assignment.arrival(&envelope);
                        let admitted = self.admit(world, now, Held { item, envelope, ordinal, since: now }, out);
                        self.totals.held_messages += u64::from(!admitted);
                    }
                    _ => self.deliver(world, now, &Held { item, envelope, ordinal: u32::MAX, since: now }, out),
                }
            }
            PacketKind::ClearToSend => {
                let sending = self.sends.remove(item.token as usize);
                let occupied = times(world.times.per_byte, sending.bytes);
                let inject = self.occupy_sender(world, sending.destination, now, occupied);
                let data = Packet {
                    at: inject,
                    bytes: sending.bytes,
                    source: self.id,
                    token: item.tag,
                    kind: PacketKind::Data,
                    ..item
                };
                self.launch(world, sending.destination, inject, data, out);
                let at = after(inject, if local { Picos::ZERO } else { occupied });
                let finished = Finished { at, ideal: at.saturating_sub(Picos(item.bytes)), overhead: false };
                self.complete(world, sending.target, finished, out);
            }
            PacketKind::Partitions => self.partitions_arrive(world, after(now, taken), item.token, out),
            PacketKind::Data => {
                let message = self.messages.remove(item.token as usize);
                let at = after(now, taken);
                let finished = Finished { at, ideal: at.saturating_sub(message.delay), overhead: true };
                self.complete(world, message.target, finished, out);
            }
        }
    }

    /// Offers a message to the engine, unless a bound receive must be closed first. Returns whether
    /// it was offered.
    fn admit(&mut self, world: &World, now: Picos, held: Held<Packet>, out: &mut SharedSink) -> bool {
        let recorded = world.config.wildcards == Wildcards::Recorded;
        let Some(assignment) = self.assignment.as_mut().filter(|_| recorded) else {
            self.deliver(world, now, &held, out);
            return true;
        };
        let Some(held) = assignment.admit(held) else { return false };
        self.deliver(world, now, &held, out);
        self.close(world, now, held.ordinal, out);
        true
    }

    /// Closes receive `ordinal`, which cannot take later messages: offers the messages held back
    /// for it, and in turn those held back for their receives.
    pub(super) fn close(&mut self, world: &World, now: Picos, ordinal: u32, out: &mut SharedSink) {
        let mut closed = VecDeque::from([ordinal]);
        while let Some(ordinal) = closed.pop_front() {
            let waiting = self.assignment.as_mut().map_or_else(Vec::new, |assignment| assignment.close(ordinal));
            for held in waiting {
                let Some(held) = self.assignment.as_mut().and_then(|assignment| assignment.admit(held)) else {
                    continue;
                };
                accumulate(&mut self.totals.held, now - held.since);
                self.deliver(world, now, &held, out);
                closed.push_back(held.ordinal);
            }
        }
    }

    /// Offers a message to the engine.
    #[inline(always)]
    fn deliver(&mut self, world: &World, now: Picos, held: &Held<Packet>, out: &mut SharedSink) {
        let Held { item, envelope, ordinal, since } = *held;
        let rendezvous = item.kind == PacketKind::RequestToSend;
        let local = item.source == self.id;
        let taken = if rendezvous || local { Picos::ZERO } else { times(world.times.per_byte, item.bytes) };
        let slot = self.messages.insert(Message {
            envelope,
            bytes: item.bytes,
            offered: now,
            accepted: now,
            ready: after(since, taken),
            ordinal,
            depth: 0,
            token: item.token,
            rendezvous,
            queued: false,
            taken: false,
            target: CompletionTarget::None,
            delay: Picos::ZERO,
        }) as u32;
        self.offer(world, now, Op::Arrive { msg: MsgId(u64::from(slot)), envelope }, out);
    }
}
