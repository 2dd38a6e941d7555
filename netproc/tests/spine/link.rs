// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The OS path: every packet is reported once, with the right reason if its headers are wrong.

use mb_core::random::Random;
use mb_netproc::spine::Spine;

use crate::contract::{Classifier, Config, Filter, app, reason, verdict};
use crate::frames::{Ipv4, TCP, UDP, ethernet, ipv6, udp};
use crate::harts::Hart;
use crate::machine::{Arrival, HandlerMachine, Stop, run};

fn datagram(bytes: usize) -> Vec<u8> {
    Ipv4::new([10, 0, 0, 1], [10, 0, 0, 2], UDP).packet(&udp(1, 2, &vec![7; bytes]))
}

#[test]
fn every_packet_is_reported_once_for_any_number_of_harts() {
    for (harts, spread, spin) in [
        (1, false, false),
        (2, false, true),
        (2, true, false),
        (3, false, false),
        (8, true, true),
        (8, false, false),
        (64, false, false),
    ] {
        // Few buffers, so that the ring runs out of them.
        for (ring_slots, buffers) in [(2, 3), (16, 17), (16, 100)] {
            let config = Config { harts, spin, spread, ring_slots, buffers, ..Config::of(app::MD5) };
            for seed in 0..2 {
                let machine = run(Spine::Plain, &config, seed, (0..150).map(|i| ethernet(&[], 0x0800, &datagram(i))));
                let packets = machine.by_number();
                assert_eq!(packets.len(), 150);
                for (number, packet) in packets.iter().enumerate() {
                    assert_eq!((packet.number, packet.verdict), (number, verdict::FORWARD));
                    assert_eq!(packet.frame, ethernet(&[], 0x0800, &datagram(number)));
                }
            }
        }
    }
}

#[test]
fn packets_that_arrive_one_by_one_wake_waiting_harts() {
    for (spread, spin) in [(false, false), (true, false), (false, true)] {
        let mut machine = HandlerMachine::new(Spine::Plain, &Config { spin, spread, ..Config::of(app::MD5) }, 1);
        for number in 0..50 {
            machine.run([Arrival::of(ethernet(&[], 0x0800, &datagram(number)))]).unwrap();
            assert_eq!(machine.completed.len(), number + 1);
            if !spin {
                machine.settle();
                assert!(machine.harts.iter().all(Hart::waits), "idle harts wait");
            }
        }
    }
}

/// Reports of frames by the null application.
fn outcomes(frames: &[Vec<u8>]) -> Vec<(u32, u8)> {
    let machine = run(Spine::Plain, &Config::of(app::NULL), 1, frames.iter().cloned());
    let packets = machine.by_number();
    assert!(packets.iter().all(|packet| packet.verdict == verdict::DROP));
    packets.into_iter().map(|packet| (packet.application, packet.reason)).collect()
}

/// The report of a packet that the OS thread drops.
const fn dropped(reason: u8) -> (u32, u8) {
    (app::NONE, reason)
}

/// The report of a packet that reaches the application.
const DELIVERED: (u32, u8) = (app::NULL, reason::HANDLER);

#[test]
fn link_headers_lead_to_the_network_header() {
    let packet = datagram(40);
    let six = ipv6(1, 2, UDP, &udp(1, 2, &[3; 40]));
    let snap = |organisation: u8, kind: u16, packet: &[u8]| {
        let header = [vec![0xaa, 0xaa, 3, 0, 0, organisation], kind.to_be_bytes().to_vec()].concat();
        ethernet(&[], (8 + packet.len()) as u16, &[&header, packet].concat())
    };
    let cases = [
        (ethernet(&[], 0x0800, &packet), DELIVERED),
        (ethernet(&[], 0x86dd, &six), DELIVERED),
        (ethernet(&[(0x8100, 7)], 0x0800, &packet), DELIVERED),
        (ethernet(&[(0x88a8, 7), (0x8100, 8)], 0x86dd, &six), DELIVERED),
        (ethernet(&[(0x8100, 7), (0x8100, 8), (0x8100, 9)], 0x0800, &packet), dropped(reason::TYPE)),
        (snap(0, 0x0800, &packet), DELIVERED),
        (snap(0, 0x86dd, &six), DELIVERED),
        (snap(1, 0x0800, &packet), dropped(reason::TYPE)),
        (ethernet(&[], 40, &packet), dropped(reason::TYPE)),
        (ethernet(&[], 0x0806, &packet), dropped(reason::TYPE)),
        // The type says one version, the header the other.
        (ethernet(&[], 0x86dd, &packet), dropped(reason::HEADER)),
        (ethernet(&[], 0x0800, &six), dropped(reason::HEADER)),
    ];
    let found = outcomes(&cases.iter().map(|(frame, _)| frame.clone()).collect::<Vec<_>>());
    for (i, (found, (_, expected))) in found.into_iter().zip(&cases).enumerate() {
        assert_eq!(found, *expected, "case {i}");
    }
}

#[test]
fn frames_that_end_in_a_header_are_truncated_at_every_length() {
    let tags = [(0x88a8, 7), (0x8100, 8)];
    for (frame, whole) in [
        (ethernet(&tags, 0x0800, &datagram(40)), 22 + 68),
        (ethernet(&tags, 0x86dd, &ipv6(1, 2, UDP, &udp(1, 2, &[3; 40]))), 22 + 88),
    ] {
        let frames: Vec<_> = (0..=frame.len()).map(|length| frame[..length].to_vec()).collect();
        for (length, found) in outcomes(&frames).into_iter().enumerate() {
            let expected = if length < whole { dropped(reason::TRUNCATED) } else { DELIVERED };
            assert_eq!(found, expected, "{length} bytes");
        }
    }
}

#[test]
fn lengths_in_the_headers_are_checked() {
    let good = datagram(40);
    let with = |at: usize, bytes: &[u8]| {
        let mut packet = good.clone();
        packet[at..at + bytes.len()].copy_from_slice(bytes);
        ethernet(&[], 0x0800, &packet)
    };
    let length = good.len() as u16;
    let cases = [
        (with(0, &[0x44]), dropped(reason::HEADER)),
        (with(0, &[0x40]), dropped(reason::HEADER)),
        (with(0, &[0x55]), dropped(reason::HEADER)),
        (with(2, &19u16.to_be_bytes()), dropped(reason::HEADER)),
        (with(2, &0u16.to_be_bytes()), dropped(reason::HEADER)),
        (with(2, &20u16.to_be_bytes()), DELIVERED),
        (with(2, &length.to_be_bytes()), DELIVERED),
        (with(2, &(length + 1).to_be_bytes()), dropped(reason::TRUNCATED)),
        (with(2, &u16::MAX.to_be_bytes()), dropped(reason::TRUNCATED)),
    ];
    let found = outcomes(&cases.iter().map(|(frame, _)| frame.clone()).collect::<Vec<_>>());
    assert_eq!(found, cases.map(|(_, expected)| expected));
}

#[test]
fn frames_longer_than_a_buffer_or_damaged_on_the_link_are_dropped() {
    let config = Config { buffer_bytes: 128, ..Config::of(app::NULL) };
    let mut machine = HandlerMachine::new(Spine::Plain, &config, 1);
    let long = ethernet(&[], 0x0800, &datagram(200));
    let short = ethernet(&[], 0x0800, &datagram(100 - 14 - 28));
    let damaged = Arrival { damaged: true, ..Arrival::of(short.clone()) };
    machine.run([Arrival::of(long.clone()), damaged, Arrival::of(short)]).unwrap();
    let packets = machine.by_number();
    let reasons: Vec<_> = packets.iter().map(|packet| packet.reason).collect();
    assert_eq!(reasons, [reason::TOO_LONG, reason::CHECK, reason::HANDLER]);
    assert_eq!(packets[0].frame, long[..128]);
}

/// No packet leads a program outside of its data, whatever its bytes are.
#[test]
fn random_bytes_in_packets_never_fault() {
    let mut random = Random::of(9, &[]);
    for application in [app::IP_FORWARD, app::HTTPMON, app::MD5, app::TRIPLE_DES] {
        for classifier in [Classifier::Dpf, Classifier::Table] {
            let mut frames = Vec::new();
            for _ in 0..400 {
                let length = random.below(120) as usize;
                let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                let protocol = random.pick(&[TCP, UDP, 0, 43, 44, 51, 60]);
                let packet = match random.below(3) {
                    0 => ipv6(1, 2, protocol, &noise),
                    1 => Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], protocol).packet(&noise),
                    _ => noise,
                };
                let mut frame = ethernet(&[], random.pick(&[0x0800, 0x86dd]), &packet);
                for _ in 0..random.below(4) {
                    let at = 12 + random.below(frame.len() as u64 - 12) as usize;
                    frame[at] = random.pick(&[0, 1, 4, 5, 6, 44, 0xff, random.clone().next() as u8]);
                }
                frame.truncate(random.within(frame.len() as u64 / 2, frame.len() as u64) as usize);
                frames.push(frame);
            }
            let filters = vec![Filter::service(TCP, 80, application), Filter::any(application)];
            let routes4 = vec![(0, 1, 5)];
            let config = Config { classifier, filters, routes4, flows: 1000, ..Config::of(application) };
            let machine = run(Spine::Plain, &config, 1, frames);
            assert_eq!(machine.completed.len(), 400);
        }
    }
}

#[test]
fn invalid_configurations_are_named_by_the_offset_of_the_field() {
    let good = Config::of(app::NULL);
    let cases = [
        (Config { ring_slots: 3, ..good.clone() }, 28),
        (Config { ring_slots: 1, ..good.clone() }, 28),
        (Config { ring_slots: 8192, ..good.clone() }, 28),
        (Config { buffers: 16, ..good.clone() }, 32),
        (Config { buffer_bytes: 63, ..good.clone() }, 36),
        (Config { default_application: 6, ..good.clone() }, 40),
        (Config { filters: vec![Filter::any(0); 257], ..good.clone() }, 44),
        (Config { flow_buckets: 3, ..good.clone() }, 80),
    ];
    for (config, offset) in cases {
        let mut machine = HandlerMachine::new(Spine::Plain, &config, 1);
        assert_eq!(machine.start(), Err(Stop::Error { hart: 0, error: 1 }), "field at {offset}");
        let (_, error, _, value) = machine.error(0);
        assert_eq!((error, value), (1, offset));
    }
    let mut machine = HandlerMachine::new(Spine::Plain, &Config { heap_bytes: 1000, ..good }, 1);
    assert_eq!(machine.start(), Err(Stop::Error { hart: 0, error: 2 }));
}
