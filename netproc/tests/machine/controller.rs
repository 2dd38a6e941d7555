// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller on a memory whose transfers take a known time: closed formulas of reception, and the account of
//! packets.

use mb_core::Clock;
use mb_netproc::contract::{PacketDecision, record, slot};
use mb_netproc::controller::{Controller, StoreEffect};
use mb_netproc::processor::{
    Bytes, DeviceStore, DmaTransfer, OutsideMemory, Processor, ProcessorCounts, ProcessorEvent, Stopped,
};
use mb_netproc::{Arrival, ArrivalSchedule, ControllerConfig};
use mb_processor::Memory;

/// Bytes of the bus in a cycle.
const BUS: u64 = 16;
/// Cycles from the last beat of a transfer to its completion.
const LATENCY: u64 = 7;

const RING: u64 = 0x1000;
const SLOTS: u64 = 8;
const RECORDS: u64 = 0x2000;
/// Distance of records with their buffers.
const PITCH: u64 = 4096;
const BUFFER_BYTES: u32 = 2000;

/// A processor whose harts do nothing: the bus transfers `BUS` bytes in a cycle, one transfer after the other, and each
/// is complete `LATENCY` cycles after its last beat.
struct Wire {
    memory: Memory,
    cycle: u64,
    /// First cycle in which the bus is free.
    free: u64,
    /// Completions: cycle and tag.
    pending: Vec<(u64, u64)>,
    /// Lengths of the transfers, in their order.
    lengths: Vec<u64>,
}

impl Wire {
    fn new() -> Self {
        Self { memory: Memory::new(0, 1 << 20), cycle: 0, free: 0, pending: Vec::new(), lengths: Vec::new() }
    }
}

impl Bytes for Wire {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.memory.get(address, length)
    }
}

impl Processor for Wire {
    fn run(&mut self, until: u64, events: &mut Vec<ProcessorEvent>) -> Result<(), Stopped> {
        while self.cycle <= until {
            let cycle = self.cycle;
            self.cycle += 1;
            self.pending.retain(|&(at, tag)| {
                if at == cycle {
                    events.push(ProcessorEvent::Transferred { cycle, tag });
                }
                at != cycle
            });
            if !events.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn transfer(&mut self, tag: u64, transfer: DmaTransfer<'_>) -> Result<(), OutsideMemory> {
        let length = match transfer {
            DmaTransfer::Write { address, bytes } => {
                self.memory.write(address, bytes).map_err(|_| OutsideMemory)?;
                bytes.len() as u64
            }
            DmaTransfer::Read { address, length } => {
                self.memory.get(address, length as usize).ok_or(OutsideMemory)?;
                length
            }
        };
        self.free = self.free.max(self.cycle) + length.div_ceil(BUS);
        self.pending.push((self.free - 1 + LATENCY, tag));
        self.lengths.push(length);
        Ok(())
    }

    fn pc(&self, _: u32) -> u64 {
        0
    }

    fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    fn counts(&self) -> ProcessorCounts {
        ProcessorCounts::default()
    }
}

fn config(input: ArrivalSchedule, outstanding: usize, packets: u64) -> ControllerConfig {
    ControllerConfig {
        input,
        input_queue: 4,
        outstanding,
        transmit: false,
        buffer_bytes: BUFFER_BYTES,
        classifies: true,
        packets,
    }
}

fn arrivals(lengths: &[usize]) -> Vec<Arrival> {
    let arrival = |(index, &length): (usize, &usize)| Arrival {
        frame: (0..length).map(|byte| (byte + index) as u8).collect(),
        flow: index as u32,
        class: Some(index as u32),
        stamp_ns: 0,
    };
    lengths.iter().enumerate().map(arrival).collect()
}

/// Software that a test writes: registers, ring and records.
struct Software<'a> {
    controller: Controller<'a>,
    wire: Wire,
}

impl<'a> Software<'a> {
    /// Ring and records are set up, `given` slots are announced, and reception begins in cycle 0.
    fn start(config: ControllerConfig, arrivals: &'a [Arrival], given: u64) -> Self {
        let mut this = Self { controller: Controller::new(config, arrivals), wire: Wire::new() };
        for number in 0..SLOTS {
            let buffer = RECORDS + number * PITCH + record::BYTES + 2;
            this.wire.memory.write(RING + number * slot::BYTES, &buffer.to_le_bytes()).unwrap();
        }
        this.store(0x00, RING).unwrap();
        this.store(0x08, SLOTS).unwrap();
        this.store(0x10, given).unwrap();
        assert_eq!(this.store(0x20, 1), Ok(StoreEffect::Ready));
        this
    }

    fn store(&mut self, offset: u64, value: u64) -> Result<StoreEffect, String> {
        let store = DeviceStore { cycle: self.wire.cycle, hart: 0, pc: 0, offset, width: 8, value };
        self.controller.store(&store, &self.wire.memory).map_err(|misuse| misuse.to_string())
    }

    /// Runs until the status of slot `number` is written; returns the cycle in which it is visible.
    fn until_filled(&mut self, number: u64) -> u64 {
        let address = RING + number % SLOTS * slot::BYTES + slot::STATUS;
        let mut events = Vec::new();
        for _ in 0..100_000 {
            self.controller.advance(self.wire.cycle, &mut self.wire).unwrap();
            let until = self.controller.next_event().unwrap_or(u64::MAX).max(self.wire.cycle);
            self.wire.run(until.min(self.wire.cycle + 1000), &mut events).unwrap();
            for event in events.drain(..) {
                let ProcessorEvent::Transferred { cycle, tag } = event else { unreachable!() };
                self.controller.transferred(tag, &self.wire.memory);
                let status = u32::from_le_bytes(self.wire.memory.read(address).unwrap());
                if status != 0 && self.controller.account.received > number && self.wire.pending.is_empty() {
                    return cycle;
                }
            }
        }
        panic!("slot {number} is never filled");
    }

    /// Writes the record of a packet in slot `number` and reports it.
    fn report(&mut self, number: u64, packet: u64, verdict: u64) -> Result<StoreEffect, String> {
        let address = RECORDS + number % SLOTS * PITCH;
        let mut bytes = [0; record::BYTES as usize];
        bytes[..8].copy_from_slice(&packet.to_le_bytes());
        bytes[8..16].copy_from_slice(&(address + record::BYTES + 2).to_le_bytes());
        bytes[16..20].copy_from_slice(&60_u32.to_le_bytes());
        bytes[36..40].copy_from_slice(&5_u32.to_le_bytes());
        bytes[64..68].copy_from_slice(&9_u32.to_le_bytes());
        bytes[68] = 1;
        bytes[70] = 3;
        bytes[71] = 4;
        bytes[72..76].copy_from_slice(b"done");
        self.wire.memory.write(address, &bytes).unwrap();
        self.store(0x18, address + verdict)
    }
}

/// One slot is read, then frame, slot and status are written, each after the one before: with one transfer at a time
/// every transfer costs its beats and the latency, and one cycle passes from a completion to the next start.
#[test]
fn a_packet_is_visible_after_four_transfers() {
    for length in [60_usize, 64, 65, 1514] {
        let arrivals = arrivals(&[length]);
        let mut software = Software::start(config(ArrivalSchedule::Saturated, 1, 1), &arrivals, 1);
        let frame = (length as u64).div_ceil(BUS);
        // Each of 8, `length`, 16 and 4 bytes; a transfer that starts in cycle t completes in t + beats - 1 + LATENCY.
        let transfers = [1, frame, 1, 1];
        let expected = transfers.iter().map(|beats| beats - 1 + LATENCY).sum::<u64>() + 3;
        assert_eq!(software.until_filled(0), expected, "{length} bytes");
        assert_eq!(software.wire.lengths, [8, length as u64, 16, 4]);
        let memory = &software.wire.memory;
        let buffer = RECORDS + record::BYTES + 2;
        assert_eq!(memory.get(buffer, length).unwrap(), arrivals[0].frame);
        let written = [0_u64.to_le_bytes().to_vec(), (length as u32).to_le_bytes().to_vec(), vec![0; 4]].concat();
        assert_eq!(memory.get(RING + slot::NUMBER, 16).unwrap(), written);
        assert_eq!(memory.get(RING + slot::STATUS, 4).unwrap(), [1, 0, 0, 0]);
    }
}

/// With transfers that overlap, packets follow each other at the rate of the bus.
#[test]
fn with_overlapping_transfers_the_bus_is_the_limit() {
    let arrivals = arrivals(&[640]);
    let packets = SLOTS;
    let mut software = Software::start(config(ArrivalSchedule::Saturated, 64, packets), &arrivals, packets);
    // Slots lie in lines of two, and each line is read once.
    let slots = (packets / 2) * (slot::BYTES + 8).div_ceil(BUS);
    let each = 640 / BUS + 1 + 1;
    // The first line's slots are known while the others are read, so that the bus is never idle.
    assert!(3 - 1 + LATENCY < slots);
    assert_eq!(software.until_filled(packets - 1), slots + packets * each - 1 + LATENCY);
}

#[test]
fn a_frame_longer_than_the_buffer_is_cut_and_marked() {
    let arrivals = arrivals(&[BUFFER_BYTES as usize + 1]);
    let mut software = Software::start(config(ArrivalSchedule::Saturated, 1, 1), &arrivals, 1);
    software.until_filled(0);
    assert_eq!(software.wire.lengths[1], u64::from(BUFFER_BYTES));
    assert_eq!(software.wire.memory.get(RING + slot::STATUS, 4).unwrap(), [3, 0, 0, 0]);
}

/// At a rate, packet n arrives at n intervals; without free slots the input queue of 4 fills, and every later packet is
/// refused.
#[test]
fn packets_that_find_the_queue_full_are_refused_and_counted() {
    let arrivals = arrivals(&[60]);
    // 100.5 cycles between packets.
    let input = ArrivalSchedule::Interval(100 * 1024 + 512);
    let mut software = Software::start(config(input, 1, 12), &arrivals, 2);
    software.until_filled(0);
    assert_eq!(software.controller.next_event(), Some(100));
    software.until_filled(1);
    let mut events = Vec::new();
    for packet in 2..12 {
        let at = (packet * 201) / 2;
        assert_eq!(software.controller.next_event(), Some(at));
        software.wire.run(at, &mut events).unwrap();
        software.controller.advance(at - 1, &mut software.wire).unwrap();
        assert_eq!(software.controller.account.offered, packet);
        software.controller.advance(at, &mut software.wire).unwrap();
        assert_eq!(software.controller.account.offered, packet + 1);
    }
    let account = &software.controller.account;
    assert_eq!((account.received, account.refused, software.controller.queued()), (2, 6, 4));
    assert_eq!(account.longest_queue, 4);
    assert!(account.is_balanced(4) && !account.is_balanced(3));
    assert!(!software.controller.is_finished());
}

/// A capture by hand, with a packet in every 10 cycles: without slots the queue of 4 fills, and the three packets
/// behind are refused. Slots come in cycle 100. Queue, drops and latencies follow exactly.
#[test]
fn queue_drops_and_latencies_of_a_capture_are_exact() {
    let mut arrivals = arrivals(&[60; 7]);
    for (stamp_ns, arrival) in (0..).step_by(10).zip(&mut arrivals) {
        arrival.stamp_ns = stamp_ns;
    }
    let input = ArrivalSchedule::Capture { clock: Clock::from_mhz(1000), percent: 100 };
    let mut software = Software::start(config(input, 64, 7), &arrivals, 0);
    let mut events = Vec::new();
    for cycle in 0..100 {
        software.wire.run(cycle, &mut events).unwrap();
        software.controller.advance(cycle, &mut software.wire).unwrap();
        // Packets 0, 10, 20 and so on cycles after the first one.
        assert_eq!(software.controller.queued() as u64, (cycle / 10 + 1).min(4));
        assert_eq!(software.controller.account.refused, (cycle / 10 + 1).min(7).saturating_sub(4));
    }
    assert_eq!(software.controller.account.queue_area(100), 100 + 90 + 80 + 70);
    software.store(0x10, 4).unwrap();
    software.until_filled(3);
    // Slots lie in lines of two, each read in 3 beats; the next cycle takes two packets from the queue.
    let taken = [100 + 3 - 1 + LATENCY + 1, 100 + 6 - 1 + LATENCY + 1];
    assert_eq!(software.controller.account.queue_area(1000), u128::from(2 * taken[0] - 10 + 2 * taken[1] - 50));
    for (packet, at) in [(0, 200), (2, 205), (1, 210), (3, 230)] {
        software.wire.run(at - 1, &mut events).unwrap();
        assert!(matches!(software.report(packet, packet, 1), Ok(StoreEffect::Complete(_))));
    }
    let account = &software.controller.account;
    assert_eq!(account.latencies, [200, 205 - 20, 210 - 10, 230 - 30]);
    assert_eq!((account.offered, account.refused, account.received, account.longest_queue), (7, 3, 4, 4));
    assert!(software.controller.is_finished() && account.is_balanced(0));
}

#[test]
fn reports_are_accounted_for_and_reordering_is_counted() {
    // Packets 0 and 2 belong to one flow, 1 and 3 to another.
    let mut arrivals = arrivals(&[60, 60, 60, 60]);
    arrivals[2].flow = 0;
    arrivals[3].flow = 1;
    let mut software = Software::start(config(ArrivalSchedule::Saturated, 1, 4), &arrivals, 4);
    software.until_filled(3);
    let Ok(StoreEffect::Complete(outcome)) = software.report(2, 2, 1) else { panic!() };
    assert_eq!((outcome.packet, outcome.verdict, outcome.class), (2, PacketDecision::Forward(9), Some(5)));
    assert_eq!((&outcome.result[..], outcome.frame.len()), (&b"done"[..], 60));
    assert_eq!(outcome.frame, software.controller.arrival(2).frame);
    for (packet, verdict) in [(3, 3), (1, 2), (0, 2)] {
        let found = software.report(packet, packet, verdict).unwrap();
        assert!(matches!(found, StoreEffect::Complete(_)));
    }
    let account = &software.controller.account;
    // Packet 1 left after 3, and packet 0 after 2.
    assert_eq!((account.reordered, account.most_overtaken), (2, 3));
    assert_eq!((account.forwarded, account.consumed, account.dropped[&3]), (1, 1, 2));
    assert!(software.controller.is_finished() && account.is_balanced(0));
}

#[test]
fn misuse_of_the_controller_is_named() {
    let arrivals = arrivals(&[60]);
    let mut software = Software::start(config(ArrivalSchedule::Saturated, 1, 2), &arrivals, 2);
    software.until_filled(1);
    let cases = [
        (0x30, 0, "a store of 8 bytes to offset 0x30 of the controller; expected 8 bytes to a register of netproc.h"),
        (0x00, RING, "ring address 0x1000; expected one address, aligned to 32"),
        (0x08, 8, "8 ring slots; expected a power of two up to 4096, once"),
        (0x20, 1, "hart 0 reports ready; expected hart 0, once"),
        (
            0x10,
            1,
            "1 slots given after 2 of which 2 are used; expected a count that grows, and at most the ring's length of \
             unused slots",
        ),
        (
            0x10,
            11,
            "11 slots given after 2 of which 2 are used; expected a count that grows, and at most the ring's length of \
             unused slots",
        ),
        (0x18, 1 << 30, "a packet record at 0x40000000; expected memory of the program"),
    ];
    for (offset, value, message) in cases {
        assert_eq!(software.store(offset, value), Err(message.to_owned()));
    }
    assert_eq!(software.report(0, 0, 4).unwrap_err(), "verdict 4 of packet 0; expected 1, 2 or 3");
    software.report(0, 0, 1).unwrap();
    assert_eq!(
        software.report(0, 0, 1).unwrap_err(),
        "packet 0 is reported, whose record is at 0x2000; expected a packet that was received and not reported before"
    );
    assert_eq!(software.store(0x28, 1), Ok(StoreEffect::Error));
}

#[test]
fn a_forwarded_frame_is_read_if_the_controller_transmits() {
    let arrivals = arrivals(&[60]);
    let mut software =
        Software::start(ControllerConfig { transmit: true, ..config(ArrivalSchedule::Saturated, 1, 1) }, &arrivals, 1);
    software.until_filled(0);
    let before = software.wire.lengths.len();
    software.report(0, 0, 1).unwrap();
    assert!(!software.controller.is_finished());
    software.controller.advance(software.wire.cycle, &mut software.wire).unwrap();
    assert_eq!(software.wire.lengths[before..], [60]);
}
