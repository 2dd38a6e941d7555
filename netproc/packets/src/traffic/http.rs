// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HTTP connections: three segments to open, requests and responses with sequence numbers, three segments to close or
//! a reset (RFC 9293, RFC 9112).

use std::collections::VecDeque;

use mb_core::random::Random;
use mb_netproc::contract::Application;

use super::build::{self, Endpoints, Segment};
use super::parameters::{Sizes, TrafficParameters};
use crate::filters::FilteredService;
use crate::headers::tcp;
use crate::routes::RouteTable;

/// Segments that a client receives before it acknowledges them (RFC 9293, section 3.8.6.3).
const SEGMENTS_PER_ACK: u64 = 2;

/// Connections that end with a reset, per cent; assumed.
const RESET_PERCENT: u64 = 5;

/// Open connections; a random one sends next, so that connections interleave and each is in order.
pub(super) struct Connections<'a> {
    parameters: &'a TrafficParameters,
    routes: &'a RouteTable,
    open: Vec<VecDeque<Vec<u8>>>,
}

impl<'a> Connections<'a> {
    pub(super) const fn new(parameters: &'a TrafficParameters, routes: &'a RouteTable) -> Self {
        Self { parameters, routes, open: Vec::new() }
    }

    /// The next frame of a random connection; a connection that has ended makes room for another.
    pub(super) fn next(&mut self, services: &[FilteredService], random: &mut Random) -> Vec<u8> {
        while self.open.len() < self.parameters.connections {
            let ends = Endpoints::random(self.parameters, random.pick(services), self.routes, random);
            self.open.push(Conversation::new(ends, random).frames(self.parameters, random));
        }
        let place = random.below(self.open.len() as u64) as usize;
        let frame = self.open[place].pop_front().expect("an open connection has frames");
        if self.open[place].is_empty() {
            self.open.swap_remove(place);
        }
        frame
    }
}

/// Writes one connection down.
struct Conversation {
    client: Endpoints,
    /// Next sequence numbers of client and server.
    next: [u32; 2],
    frames: VecDeque<Vec<u8>>,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl Conversation {
    fn new(client: Endpoints, random: &mut Random) -> Self {
        Self { client, next: [random.next() as u32, random.next() as u32], frames: VecDeque::new() }
    }

    /// Adds a segment from `side`; SYN and FIN count as one byte of the sequence.
    fn send(&mut self, side: usize, segment: Segment, payload: &[u8]) {
        let ends = if side == CLIENT { self.client } else { self.client.reversed() };
        let segment = Segment { sequence: self.next[side], ..segment };
        self.frames.push_back(ends.frame(&segment, payload));
        let control = (segment.flags & (tcp::SYN | tcp::FIN)).count_ones();
        self.next[side] = self.next[side].wrapping_add(payload.len() as u32 + control);
    }

    /// A segment that acknowledges all that the other side has sent.
    const fn acknowledging(&self, side: usize) -> Segment {
        Segment { sequence: 0, acknowledge: Some(self.next[1 - side]), flags: 0 }
    }

    fn frames(mut self, parameters: &TrafficParameters, random: &mut Random) -> VecDeque<Vec<u8>> {
        self.send(CLIENT, Segment { flags: tcp::SYN, ..Segment::default() }, &[]);
        self.send(SERVER, Segment { flags: tcp::SYN, ..self.acknowledging(SERVER) }, &[]);
        self.send(CLIENT, self.acknowledging(CLIENT), &[]);
        for _ in 0..random.within(1, 3) {
            let request = request(random);
            self.send(CLIENT, Segment { flags: tcp::PSH, ..self.acknowledging(CLIENT) }, &request);
            self.respond(parameters.sizes, parameters.datagram_bytes, random);
        }
        if random.below(100) < RESET_PERCENT {
            self.send(CLIENT, Segment { flags: tcp::RST, ..self.acknowledging(CLIENT) }, &[]);
        } else {
            self.send(CLIENT, Segment { flags: tcp::FIN, ..self.acknowledging(CLIENT) }, &[]);
            self.send(SERVER, Segment { flags: tcp::FIN, ..self.acknowledging(SERVER) }, &[]);
            self.send(CLIENT, self.acknowledging(CLIENT), &[]);
        }
        self.frames
    }

    /// A response of one to six segments, with acknowledgements between them.
    fn respond(&mut self, sizes: Sizes, fixed: u64, random: &mut Random) {
        let header = self.client.header_bytes(0);
        let bodies: Vec<usize> = (0..random.within(1, 6))
            .map(|_| sizes.draw(Application::HttpMon, fixed, random).saturating_sub(header).max(1))
            .collect();
        let length: usize = bodies.iter().sum();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n");
        self.send(SERVER, Segment { flags: tcp::PSH, ..self.acknowledging(SERVER) }, head.as_bytes());
        for (count, length) in (1..).zip(bodies) {
            let body = build::random_bytes(length, random);
            self.send(SERVER, self.acknowledging(SERVER), &body);
            if count % SEGMENTS_PER_ACK == 0 {
                self.send(CLIENT, self.acknowledging(CLIENT), &[]);
            }
        }
    }
}

/// A request line with the header fields that every client sends.
fn request(random: &mut Random) -> Vec<u8> {
    let method = random.pick(&["GET", "GET", "GET", "HEAD", "POST"]);
    let parts: Vec<String> = (0..random.within(1, 4)).map(|_| format!("{:x}", random.below(1 << 20))).collect();
    let path = parts.join("/");
    let host = random.below(1000);
    let length = if method == "POST" { "Content-Length: 0\r\n" } else { "" };
    format!("{method} /{path} HTTP/1.1\r\nHost: www{host}.example.com\r\nAccept: */*\r\n{length}\r\n").into_bytes()
}
