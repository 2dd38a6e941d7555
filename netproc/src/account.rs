// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The account of packets: every packet offered is refused, forwarded, dropped, consumed, or still in the machine.

use std::collections::BTreeMap;

use crate::contract::{Application, PacketDecision};

/// A packet that software has reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketOutcome {
    /// Its number, in order of arrival.
    pub packet: u64,
    /// The hart that reported it.
    pub hart: u32,
    /// Cycle in which the controller accepted the report.
    pub cycle: u64,
    /// The decision about it.
    pub verdict: PacketDecision,
    /// The application that handled it; none if the OS thread dropped it.
    pub application: Option<Application>,
    /// The filter that matched.
    pub class: Option<u32>,
    /// The result of the application.
    pub result: Vec<u8>,
    /// The frame in the buffer.
    pub frame: Vec<u8>,
}

/// A packet in a ring slot or with software.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct InFlight {
    /// Cycle of its arrival.
    arrived: u64,
    flow: u32,
    /// Packets received before it.
    index: u64,
}

/// The outcome of every packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Cycle of the start of reception.
    pub start: u64,
    /// Packets that arrived.
    pub offered: u64,
    /// Packets that found the input queue full.
    pub refused: u64,
    /// Packets that were passed to software.
    pub received: u64,
    /// Packets forwarded.
    pub forwarded: u64,
    /// Packets that applications kept.
    pub consumed: u64,
    /// Packets that software dropped, by reason.
    pub dropped: BTreeMap<u8, u64>,
    /// Packets reported, by application; those that the OS thread dropped have none.
    pub applications: BTreeMap<Option<Application>, u64>,
    /// Packets reported by each hart.
    pub harts: BTreeMap<u32, u64>,
    /// Packets reported after a later packet of their flow.
    pub reordered: u64,
    /// The largest number of later packets that were reported before a packet.
    pub most_overtaken: u64,
    /// Cycle of each report.
    pub completions: Vec<u64>,
    /// Cycles from arrival to report, in the order of reports.
    pub latencies: Vec<u64>,
    /// The longest input queue.
    pub longest_queue: usize,
    /// Bytes that the controller transferred.
    pub transferred_bytes: u64,
    in_flight: BTreeMap<u64, InFlight>,
    /// The last packet of each flow that was reported, of those in order.
    newest: BTreeMap<u32, u64>,
    /// Packets times cycles in the input queue, up to its last change.
    area: u128,
    /// When the queue changed last, and its length since.
    queue_since: (u64, usize),
}

impl Account {
    /// Packets in ring slots or with software.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether a packet is in a ring slot or with software.
    #[must_use]
    pub fn is_in_flight(&self, packet: u64) -> bool {
        self.in_flight.contains_key(&packet)
    }

    /// Packets times cycles in the input queue up to `cycle`.
    #[must_use]
    pub fn queue_area(&self, cycle: u64) -> u128 {
        let (since, length) = self.queue_since;
        self.area + u128::from(cycle.saturating_sub(since)) * length as u128
    }

    /// Packets reported.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completions.len() as u64
    }

    /// Packets that left the machine: forwarded, dropped or consumed.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.forwarded + self.consumed + self.dropped.values().sum::<u64>()
    }

    /// Whether every packet offered is accounted for once, with `queued` packets in the input queue.
    #[must_use]
    pub fn is_balanced(&self, queued: usize) -> bool {
        self.offered == self.refused + queued as u64 + self.received
            && self.received == self.left() + self.in_flight.len() as u64
            && self.left() == self.completed()
    }

    /// Software is given a packet.
    pub(crate) fn begin(&mut self, packet: u64, arrived: u64, flow: u32) {
        self.in_flight.insert(packet, InFlight { arrived, flow, index: self.received });
        self.received += 1;
    }

    /// Software reports a packet that is in flight.
    pub(crate) fn complete(&mut self, outcome: &PacketOutcome) {
        let Some(packet) = self.in_flight.remove(&outcome.packet) else { return };
        let earlier_in_flight = self.in_flight.range(..outcome.packet).count() as u64;
        let earlier_reported = packet.index - earlier_in_flight;
        self.most_overtaken = self.most_overtaken.max(self.completed() - earlier_reported);
        match self.newest.get(&packet.flow) {
            Some(newest) if *newest > outcome.packet => self.reordered += 1,
            _ => drop(self.newest.insert(packet.flow, outcome.packet)),
        }
        match outcome.verdict {
            PacketDecision::Forward(_) => self.forwarded += 1,
            PacketDecision::Consume => self.consumed += 1,
            PacketDecision::Drop(reason) => *self.dropped.entry(reason).or_default() += 1,
        }
        *self.applications.entry(outcome.application).or_default() += 1;
        *self.harts.entry(outcome.hart).or_default() += 1;
        self.completions.push(outcome.cycle);
        self.latencies.push(outcome.cycle.saturating_sub(packet.arrived));
    }

    /// From `cycle` on the input queue has `length` packets.
    pub(crate) fn note_queue(&mut self, cycle: u64, length: usize) {
        let (since, before) = self.queue_since;
        self.area += u128::from(cycle.saturating_sub(since)) * before as u128;
        self.queue_since = (cycle, length);
        self.longest_queue = self.longest_queue.max(length);
    }
}
