// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The NIC: injection, arrival, and the three crossings of a large message. See [`crate::network`] for the model.

use std::collections::VecDeque;

use mb_core::matching::{MsgId, Op};
use mb_core::mpi::Traffic;
use mb_core::time::Picos;

use super::{Finished, Item, ItemKind, Message, Outgoing, Outside, Rank, Sending, Target, World, after, times};
use crate::assignment::Held;
use crate::config::Wildcards;
use crate::report::accumulate;

impl Rank<'_> {
    /// Sends `message`, which the processor has handed over at `ready`.
    #[inline(always)]
    pub(super) fn transmit(
        &mut self,
        world: &World,
        ready: Picos,
        traffic: Traffic,
        message: Outgoing,
        out: &mut Outside,
    ) {
        let Outgoing { destination, comm, tag, bytes, announced, target } = message;
        self.totals.sent += 1;
        self.totals.sent_bytes = self.totals.sent_bytes.saturating_add(bytes);
        let (kind, token, occupied) = if announced {
            (ItemKind::Announce, self.sends.insert(Sending { target, destination, bytes }), Picos::ZERO)
        } else {
            (ItemKind::Eager, 0, times(world.times.per_byte, bytes))
        };
        let inject = self.occupy_sender(world, destination, ready, occupied);
        let item = Item { at: inject, bytes, source: self.id, comm, tag, token, kind, traffic };
        self.launch(world, destination, inject, item, out);
    }

    /// When the NIC can begin to send; it is then busy for `occupied` or the gap.
    #[inline(always)]
    pub(super) fn occupy_sender(&mut self, world: &World, destination: u32, ready: Picos, occupied: Picos) -> Picos {
        if destination == self.id {
            return ready;
        }
        let inject = ready.max(self.tx_free);
        self.tx_free = after(inject, occupied.max(world.times.gap));
        inject
    }

    /// `item` leaves at `leaves`. What a rank sends to itself does not cross the network.
    #[inline(always)]
    pub(super) fn launch(&mut self, world: &World, destination: u32, leaves: Picos, item: Item, out: &mut Outside) {
        if destination == self.id {
            self.arrivals.insert(Item { at: leaves, ..item });
        } else {
            out.outbox.push((destination, Item { at: after(leaves, world.times.latency), ..item }));
        }
    }

    /// The first byte of `item` is taken in by the NIC at `now`.
    pub(super) fn receive_item(&mut self, world: &World, now: Picos, item: Item, out: &mut Outside) {
        let carried = if matches!(item.kind, ItemKind::Eager | ItemKind::Data) { item.bytes } else { 0 };
        let local = item.source == self.id;
        let taken = if local { Picos::ZERO } else { times(world.times.per_byte, carried) };
        if !local {
            self.rx_free = after(now, taken.max(world.times.gap));
        }
        match item.kind {
            ItemKind::Eager | ItemKind::Announce => {
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
            ItemKind::Reply => {
                let sending = self.sends.remove(item.token);
                let occupied = times(world.times.per_byte, sending.bytes);
                let inject = self.occupy_sender(world, sending.destination, now, occupied);
                let data = Item {
                    at: inject,
                    bytes: sending.bytes,
                    source: self.id,
                    token: item.tag,
                    kind: ItemKind::Data,
                    ..item
                };
                self.launch(world, sending.destination, inject, data, out);
                let at = after(inject, if local { Picos::ZERO } else { occupied });
                let finished = Finished { at, ideal: at.saturating_sub(Picos(item.bytes)), overhead: false };
                self.complete(world, sending.target, finished, out);
            }
            ItemKind::Data => {
                let message = self.messages.remove(item.token);
                let at = after(now, taken);
                let finished = Finished { at, ideal: at.saturating_sub(message.delay), overhead: true };
                self.complete(world, message.target, finished, out);
            }
        }
    }

    /// Offers a message to the engine, unless a bound receive must be closed first; says whether it was offered.
    fn admit(&mut self, world: &World, now: Picos, held: Held<Item>, out: &mut Outside) -> bool {
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

    /// Receive `ordinal` can take nothing that comes from now on: offers the messages that waited for that, and for them in turn.
    pub(super) fn close(&mut self, world: &World, now: Picos, ordinal: u32, out: &mut Outside) {
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
    fn deliver(&mut self, world: &World, now: Picos, held: &Held<Item>, out: &mut Outside) {
        let Held { item, envelope, ordinal, since } = *held;
        let announced = item.kind == ItemKind::Announce;
        let local = item.source == self.id;
        let taken = if announced || local { Picos::ZERO } else { times(world.times.per_byte, item.bytes) };
        let slot = self.messages.insert(Message {
            envelope,
            bytes: item.bytes,
            offered: now,
            ready: after(since, taken),
            ordinal,
            token: item.token,
            announced,
            listed: false,
            taken: false,
            target: Target::Nobody,
            delay: Picos::ZERO,
        });
        self.offer(world, now, Op::Arrive { msg: MsgId(u64::from(slot)), envelope }, out);
    }
}
