// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HTTPMON against a model of connections in Rust. A connection's packets are compared in the order
//! in which workers took its lock, which the result contains.

use std::collections::BTreeMap;

use mb_core::random::Random;
use mb_netproc::spine::Spine;

use crate::contract::{Config, app, reason, verdict};
use crate::frames::flag::{ACK, FIN, RST, SYN};
use crate::frames::{Ipv4, Segment, TCP, UDP, ethernet, ipv6, udp};
use crate::machine::run;

/// `struct httpmon_result`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Found {
    packet: u32,
    requests: u32,
    before: u8,
    after: u8,
    from_client: bool,
    request: Request,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Request {
    method: u8,
    line: u8,
    version: u8,
    target_length: u16,
    target_hash: u32,
}

impl Found {
    fn of(bytes: &[u8]) -> Self {
        assert_eq!(bytes.len(), 20);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let request = Request {
            method: bytes[11],
            line: bytes[12],
            version: bytes[13],
            target_length: u16::from_le_bytes([bytes[14], bytes[15]]),
            target_hash: word(16),
        };
        Self {
            packet: word(0),
            requests: word(4),
            before: bytes[8],
            after: bytes[9],
            from_client: bytes[10] == 1,
            request,
        }
    }
}

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE"];

/// The request line at the start of a segment.
fn request(text: &[u8]) -> Request {
    let none = Request::default();
    let Some(space) = text.iter().position(|&byte| byte == b' ') else { return none };
    let Some(method) = METHODS.iter().position(|method| method.as_bytes() == &text[..space]) else { return none };
    let rest = &text[space + 1..];
    let length = rest.iter().position(|byte| !(33..127).contains(byte)).unwrap_or(rest.len());
    let (target, rest) = rest.split_at(length);
    let target_hash =
        target.iter().fold(0x811c_9dc5, |hash: u32, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut found = Request { method: method as u8 + 1, target_length: length as u16, target_hash, ..none };
    let pattern = b" HTTP/d.d\r\n";
    let agrees =
        |(found, expected): (&u8, &u8)| if *expected == b'd' { found.is_ascii_digit() } else { found == expected };
    let good = rest.iter().zip(pattern).all(agrees) && (length > 0 || rest.is_empty());
    found.line = match (good, rest.len() >= pattern.len()) {
        (false, _) => 3,
        (true, false) => 2,
        (true, true) => 1,
    };
    if found.line == 1 {
        found.version = (rest[6] - b'0') << 4 | (rest[8] - b'0');
    }
    found
}

/// A connection. Directions are 0 and 1.
#[derive(Default)]
struct Connection {
    state: u8,
    client: usize,
    packets: u32,
    requests: u32,
    /// Sequence number after each side's FIN, and whether it was acknowledged.
    ends: [Option<(u32, bool)>; 2],
    next: Option<u32>,
}

const ESTABLISHED: u8 = 3;
const CLOSED: u8 = 6;

impl Connection {
    fn reopen(&mut self, state: u8, client: usize) {
        *self = Self { state, client, packets: self.packets, requests: self.requests, ..Self::default() };
    }

    fn advance(&mut self, segment: &Segment, from: usize) {
        let has = |flag| segment.flags & flag != 0;
        let by_port = if segment.destination <= segment.source { from } else { 1 - from };
        if has(RST) {
            if self.state == 0 {
                self.reopen(CLOSED, by_port);
            }
            self.state = CLOSED;
        } else if has(SYN) {
            match (self.state, has(ACK)) {
                (0 | CLOSED, false) => self.reopen(1, from),
                (0, true) => self.reopen(2, 1 - from),
                (1, true) if from != self.client => self.state = 2,
                _ => {}
            }
        } else {
            if self.state == 0 {
                self.reopen(ESTABLISHED, by_port);
            }
            if self.state == 2 && has(ACK) && from == self.client {
                self.state = ESTABLISHED;
            }
            if (ESTABLISHED..CLOSED).contains(&self.state) {
                self.end(segment, from);
            }
        }
    }

    fn end(&mut self, segment: &Segment, from: usize) {
        if segment.flags & FIN != 0 && self.ends[from].is_none() {
            self.ends[from] = Some((segment.sequence.wrapping_add(segment.payload.len() as u32 + 1), false));
            self.state = if self.ends[1 - from].is_some() { 5 } else { 4 };
        }
        if let Some((end, acknowledged)) = &mut self.ends[1 - from] {
            *acknowledged |= segment.flags & ACK != 0 && segment.acknowledgment.wrapping_sub(*end) as i32 >= 0;
        }
        if self.ends.iter().all(|end| end.is_some_and(|(_, acknowledged)| acknowledged)) {
            self.state = CLOSED;
        }
    }

    fn packet(&mut self, segment: &Segment, from: usize) -> Found {
        self.packets += 1;
        let mut found = Found { packet: self.packets, before: self.state, ..Found::default() };
        self.advance(segment, from);
        found.after = self.state;
        found.from_client = from == self.client;
        let fresh = self.next.is_none_or(|next| segment.sequence.wrapping_sub(next) as i32 >= 0);
        if !segment.payload.is_empty() && found.from_client && self.state >= ESTABLISHED && fresh {
            self.next = Some(segment.sequence.wrapping_add(segment.payload.len() as u32));
            found.request = request(&segment.payload);
            self.requests += u32::from(found.request.method != 0);
        }
        found.requests = self.requests;
        found
    }
}

/// A segment of connection `number`, from one of its sides.
fn segment(random: &mut Random, side: usize) -> Segment {
    let texts: [&[u8]; 14] = [
        b"",
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /form HTTP/1.0\r\n",
        b"DELETE /a%20b HTTP/1.1\r\n\r\n",
        b"GET /unfinished",
        b"GET /a HTTP/1.",
        b"GET  HTTP/1.1\r\n",
        b"GET /a\tHTTP/1.1\r\n",
        b"GET /a HTTX/1.1\r\n",
        b"OPTIONS * HTTP/1.1\r\n",
        b"GE",
        b"GETS / HTTP/1.1\r\n",
        b"TRACE ",
    ];
    let flags = random.pick(&[SYN, SYN | ACK, ACK, ACK, ACK, ACK, FIN | ACK, FIN | ACK, ACK, ACK, RST, 0, FIN]);
    let ports = if side == 0 { (4000, 80) } else { (80, 4000) };
    let payload = random.pick(&texts);
    Segment {
        sequence: 0xffff_ffe0u32.wrapping_add(random.below(120) as u32),
        acknowledgment: 0xffff_ffe0u32.wrapping_add(random.below(240) as u32),
        options: vec![1; 4 * random.below(11) as usize],
        ..Segment::new(ports.0, ports.1, flags, payload)
    }
}

#[test]
fn states_and_requests_equal_those_of_a_model_in_the_order_of_the_lock() {
    let (mut states, mut lines) = ([0; 7], [0; 4]);
    for seed in 0..16 {
        let mut random = Random::of(seed, &[]);
        let packets: Vec<_> = (0..500)
            .map(|_| {
                let (connection, side) = (random.below(24), random.below(2) as usize);
                (connection, side, segment(&mut random, side))
            })
            .collect();
        let frames = packets.iter().map(|(connection, side, segment)| {
            let mut ends = [[10, 0, 0, 1], [10, 0, 1, *connection as u8 / 2]];
            let mut wide = [1u128, 2 + u128::from(*connection)];
            if *side == 1 {
                ends.reverse();
                wide.reverse();
            }
            if connection % 2 == 0 {
                Ipv4::new(ends[0], ends[1], TCP).frame(&segment.bytes())
            } else {
                ethernet(&[], 0x86dd, &ipv6(wide[0], wide[1], TCP, &segment.bytes()))
            }
        });
        let harts = [2, 4, 8][seed as usize % 3];
        let config = Config { harts, flow_buckets: 4, spread: seed % 2 == 1, ..Config::of(app::HTTPMON) };
        let machine = run(Spine::Plain, &config, seed, frames);
        let mut connections: BTreeMap<u64, Vec<(Found, usize)>> = BTreeMap::new();
        for packet in machine.by_number() {
            assert_eq!(packet.verdict, verdict::FORWARD);
            let found = Found::of(&packet.result);
            connections.entry(packets[packet.number].0).or_default().push((found, packet.number));
        }
        for (connection, mut found) in connections {
            found.sort_by_key(|(found, _)| found.packet);
            let mut model = Connection::default();
            for (found, number) in found {
                let (_, side, segment) = &packets[number];
                let expected = model.packet(segment, *side);
                states[usize::from(expected.after)] += 1;
                lines[usize::from(expected.request.line)] += 1;
                assert_eq!(found, expected, "seed {seed}, connection {connection}, {segment:?}");
            }
        }
    }
    assert!(states[1..].iter().chain(&lines).all(|&count| count > 10), "{states:?} {lines:?}");
}

#[test]
fn damaged_and_other_packets_are_forwarded_without_a_state() {
    let ipv4 = |protocol| Ipv4::new([1, 2, 3, 4], [5, 6, 7, 8], protocol);
    let mut short = Segment::new(4000, 80, ACK, b"GET / HTTP/1.1\r\n").bytes();
    let mut frames = vec![
        ipv4(UDP).frame(&udp(1, 80, b"GET / HTTP/1.1\r\n")),
        Ipv4 { fragment: 3, ..ipv4(TCP) }.frame(&short),
        ipv4(TCP).frame(b""),
        ipv4(TCP).frame(&short[..19]),
    ];
    for offset in [0, 4, 10, 15] {
        // A data offset below 5 words, or beyond the end of the packet.
        short[12] = offset << 4;
        frames.push(ipv4(TCP).frame(&short));
    }
    let machine = run(Spine::Plain, &Config::of(app::HTTPMON), 1, frames);
    for packet in machine.by_number() {
        assert_eq!((packet.verdict, packet.result.len()), (verdict::FORWARD, 0), "packet {}", packet.number);
    }
}

#[test]
fn a_full_flow_table_drops_segments_of_new_connections() {
    let config = Config { flows: 2, ..Config::of(app::HTTPMON) };
    let frames =
        (0..3).map(|i| Ipv4::new([1, 2, 3, i], [5, 6, 7, 8], TCP).frame(&Segment::new(1, 80, SYN, b"").bytes()));
    let machine = run(Spine::Plain, &config, 1, frames);
    let dropped: Vec<_> = machine.completed.iter().filter(|packet| packet.verdict == verdict::DROP).collect();
    assert_eq!(dropped.iter().map(|packet| packet.reason).collect::<Vec<_>>(), [reason::FLOWS]);
}
