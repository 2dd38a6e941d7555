// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User's handlers: the example, correct use of locks and state, and errors with hart, packet and
//! caller.

use std::collections::BTreeMap;

use mb_netproc::spine::Spine;

use crate::contract::{Config, app, phase, reason, verdict};
use crate::frames::{Ipv4, Segment, TCP, UDP, udp};
use crate::machine::{Arrival, HandlerMachine, Stop, run};

/// A datagram of one of ten flows, in one of both directions.
fn frame(letter: u8, flow: u8) -> Vec<u8> {
    let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2 + flow / 2]);
    let ports = (1000, 2000);
    if flow.is_multiple_of(2) {
        Ipv4::new(a, b, UDP).frame(&udp(ports.0, ports.1, &[letter]))
    } else {
        Ipv4::new(b, a, UDP).frame(&udp(ports.1, ports.0, &[letter]))
    }
}

#[test]
fn the_example_drops_packets_of_its_port() {
    let to = |protocol, port: u16| {
        let upper = if protocol == TCP { Segment::new(9, port, 2, b"").bytes() } else { udp(9, port, b"") };
        Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], protocol).frame(&upper)
    };
    let frames = [to(TCP, 23), to(TCP, 80), to(UDP, 23), to(1, 23)];
    let machine = run(Spine::BlockPort, &Config::of(app::USER), 1, frames);
    let found: Vec<_> = machine.by_number().iter().map(|packet| (packet.verdict, packet.next_hop)).collect();
    let expected = [verdict::DROP, verdict::FORWARD, verdict::DROP, verdict::FORWARD];
    for ((verdict, next_hop), expected) in found.into_iter().zip(expected) {
        assert_eq!(verdict, expected);
        assert!(verdict == verdict::DROP || next_hop == 1);
    }
}

#[test]
fn locks_and_states_lose_no_packet_under_random_schedules() {
    for seed in 0..12 {
        let (harts, spin, spread) = ([2, 4, 8][seed as usize % 3], seed % 2 == 1, seed % 4 > 1);
        let config = Config { harts, spin, spread, flow_buckets: 2, ..Config::of(app::USER) };
        let machine = run(Spine::BadHandler, &config, seed, (0..400u16).map(|i| frame(b'k', (i % 10) as u8)));
        let (mut locks, mut by_hart, mut by_flow) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for packet in machine.by_number() {
            let number = |at: usize| u64::from_le_bytes(packet.result[at..at + 8].try_into().unwrap());
            locks.push(number(0));
            by_hart.entry(packet.hart).or_insert_with(Vec::new).push(number(8));
            by_flow.entry(packet.number % 10 / 2).or_insert_with(Vec::new).push(number(16));
            assert_eq!((packet.verdict, packet.next_hop), (verdict::FORWARD, 7));
        }
        // Each count was given to one packet.
        for mut counts in by_hart.into_values().chain(by_flow.into_values()).chain([locks]) {
            counts.sort_unstable();
            assert!(counts.iter().copied().eq(1..=counts.len() as u64), "seed {seed}: {counts:?}");
        }
    }
}

/// Runs packets of which the one in the middle breaks a rule.
fn stop(letter: u8) -> (HandlerMachine, Stop) {
    let mut machine = HandlerMachine::new(Spine::BadHandler, &Config::of(app::USER), letter.into());
    let letters = [b'k', b'k', letter, b'k', b'k'];
    let stop = machine.run(letters.map(|letter| Arrival::of(frame(letter, 0)))).expect_err("an error");
    (machine, stop)
}

/// Whether an address is in the code of the user's handler.
fn in_handler(pc: u64) -> bool {
    let program = Spine::BadHandler.program();
    let [begin, end] = ["np_handler_text", "np_handler_text_end"].map(|name| program.symbol(name).unwrap().address);
    (begin..=end).contains(&pc)
}

#[test]
fn misused_calls_are_named_with_packet_and_caller() {
    for (letter, expected, value) in [
        (b'v', 16, Some(0)),
        (b'h', 17, Some(1)),
        (b'r', 18, None),
        (b'u', 19, None),
        (b'b', 20, Some(57)),
        (b'a', 21, Some(64)),
        (b'o', 23, Some(2)),
        (b'e', 19, Some(0)),
    ] {
        let (machine, stop) = stop(letter);
        let Stop::Error { hart, error } = stop else { panic!("{}: {stop:?}", letter as char) };
        let (packet, of_status, pc, found) = machine.error(hart);
        assert_eq!((error, u64::from(of_status), packet), (expected, expected, 2), "{}", letter as char);
        assert!(in_handler(pc), "{}: {pc:#x}", letter as char);
        assert!(value.is_none_or(|value| value == found), "{}: {found}", letter as char);
    }
}

#[test]
fn faults_leave_packet_and_phase_in_the_status() {
    for (letter, address) in [(b'f', Some(8)), (b'i', None), (b'j', None), (b'w', Some(0x70_0000_0000)), (b'c', None)] {
        let (machine, stop) = stop(letter);
        let Stop::Fault { hart, pc, address: found } = stop else { panic!("{}: {stop:?}", letter as char) };
        assert!(in_handler(pc) || letter == b'j', "{}: {pc:#x}", letter as char);
        assert!(address.is_none_or(|address| address == found), "{}: {found:#x}", letter as char);
        assert_eq!((machine.error(hart).0, machine.harts[hart].phase), (2, phase::HANDLER));
    }
}

#[test]
fn a_loop_for_ever_keeps_packet_and_phase_in_the_status() {
    let (machine, stop) = stop(b'l');
    assert_eq!(stop, Stop::Turns);
    let looping: Vec<_> = machine.harts.iter().filter(|hart| hart.phase == phase::HANDLER).collect();
    assert_eq!(looping.len(), 1);
    assert_eq!(machine.error(looping[0].number()).0, 2);
    assert!(in_handler(looping[0].pc));
    assert_eq!(machine.completed.len(), 4, "the other packets are reported");
}

#[test]
fn a_packet_for_a_handler_that_is_not_linked_is_an_error() {
    let mut machine = HandlerMachine::new(Spine::Plain, &Config::of(app::USER), 1);
    let Err(Stop::Error { hart, error: 22 }) = machine.run([Arrival::of(frame(0, 0))]) else { panic!("an error") };
    assert_eq!(machine.error(hart).0, 0);
}

#[test]
fn a_full_flow_table_drops_packets_of_new_flows_only() {
    let config = Config { flows: 3, ..Config::of(app::USER) };
    let machine = run(Spine::BadHandler, &config, 1, (0..50).map(|i| frame(b'k', i % 10)));
    let mut kept = BTreeMap::new();
    for packet in machine.by_number() {
        let forwarded = packet.verdict == verdict::FORWARD;
        assert!(forwarded || packet.reason == reason::HANDLER);
        let before = kept.insert(packet.number % 10 / 2, forwarded);
        assert!(before.is_none_or(|before| before == forwarded), "packet {}", packet.number);
    }
    assert_eq!(kept.values().filter(|&&forwarded| forwarded).count(), 3);
}
