// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of a TCP connection as HTTPMON sees it between the hosts (RFC 9293, section 3.3.2), and request lines of
//! HTTP/1 (RFC 9112, section 3). The contract is `netproc/spine/httpmon.h`.

use crate::headers::tcp;

/// States of a connection, in the order of their numbers in results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ConnectionState {
    /// No packet was seen.
    #[default]
    None,
    /// The client has sent SYN.
    SynSent,
    /// The server has answered it.
    SynReceived,
    /// The client has acknowledged the answer.
    Established,
    /// One side has sent FIN.
    OneEnded,
    /// Both sides have sent FIN.
    BothEnded,
    /// Both FIN were acknowledged, or the connection was reset.
    Closed,
}

/// A TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpSegment<'a> {
    /// Which of the two ends sent it; the numbers only distinguish them.
    pub side: usize,
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledge: u32,
    /// Flags.
    pub flags: u8,
    /// Its payload.
    pub payload: &'a [u8],
}

/// The content of a request line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HttpRequest {
    /// 1 GET, 2 HEAD, 3 POST, 4 PUT, 5 DELETE, 6 CONNECT, 7 OPTIONS, 8 TRACE; 0: no request.
    pub method: u8,
    /// 0 none, 1 good, 2 incomplete, 3 bad.
    pub line: u8,
    /// Major version in the upper, minor in the lower four bits.
    pub version: u8,
    /// Bytes of the target.
    pub target_length: u16,
    /// FNV-1a of the target.
    pub target_hash: u32,
}

/// A connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Connection {
    packets: u32,
    requests: u32,
    state: ConnectionState,
    client: usize,
    /// Sequence number after the FIN of each side.
    ends: [Option<u32>; 2],
    acknowledged: [bool; 2],
    /// Sequence number after the client's data.
    read_to: Option<u32>,
}

impl Connection {
    /// Length of a result.
    pub const RESULT: usize = 20;

    /// Follows a segment; returns `struct httpmon_result`.
    pub fn follow(&mut self, segment: &TcpSegment<'_>) -> [u8; Self::RESULT] {
        let before = self.state;
        self.packets += 1;
        self.advance(segment);
        let from_client = segment.side == self.client;
        let mut request = HttpRequest::default();
        if from_client && !segment.payload.is_empty() && self.state >= ConnectionState::Established {
            let is_new = self.read_to.is_none_or(|read_to| segment.sequence.wrapping_sub(read_to) < 1 << 31);
            if is_new {
                self.read_to = Some(segment.sequence.wrapping_add(segment.payload.len() as u32));
                request = read_request(segment.payload);
                self.requests += u32::from(request.method != 0);
            }
        }
        let mut result = [0; Self::RESULT];
        result[..4].copy_from_slice(&self.packets.to_le_bytes());
        result[4..8].copy_from_slice(&self.requests.to_le_bytes());
        result[8..14].copy_from_slice(&[
            before as u8,
            self.state as u8,
            from_client.into(),
            request.method,
            request.line,
            request.version,
        ]);
        result[14..16].copy_from_slice(&request.target_length.to_le_bytes());
        result[16..].copy_from_slice(&request.target_hash.to_le_bytes());
        result
    }

    /// A first packet: everything but the counts begins again.
    fn open(&mut self, state: ConnectionState, client: usize) {
        *self = Self { packets: self.packets, requests: self.requests, state, client, ..Self::default() };
    }

    fn advance(&mut self, segment: &TcpSegment<'_>) {
        let has = |flag| segment.flags & flag != 0;
        let (side, other) = (segment.side, 1 - segment.side);
        if has(tcp::RST) {
            self.state = ConnectionState::Closed;
            return;
        }
        match (has(tcp::SYN), has(tcp::ACK), self.state) {
            (true, false, ConnectionState::None | ConnectionState::Closed) => {
                return self.open(ConnectionState::SynSent, side);
            }
            (true, true, ConnectionState::None) => return self.open(ConnectionState::SynReceived, other),
            (true, true, ConnectionState::SynSent) if side != self.client => {
                self.state = ConnectionState::SynReceived;
                return;
            }
            (true, ..) => return,
            (false, _, ConnectionState::None) => {
                // The start was not seen: the server has the smaller port.
                let to_server = segment.ports.1 <= segment.ports.0;
                self.open(ConnectionState::Established, if to_server { side } else { other });
            }
            (false, true, ConnectionState::SynReceived) if side == self.client => {
                self.state = ConnectionState::Established;
            }
            _ => {}
        }
        if self.state < ConnectionState::Established || self.state == ConnectionState::Closed {
            return;
        }
        if has(tcp::FIN) && self.ends[side].is_none() {
            self.ends[side] = Some(segment.sequence.wrapping_add(segment.payload.len() as u32).wrapping_add(1));
            let both = self.ends.iter().all(Option::is_some);
            self.state = if both { ConnectionState::BothEnded } else { ConnectionState::OneEnded };
        }
        if let Some(end) = self.ends[other]
            && has(tcp::ACK)
            && segment.acknowledge.wrapping_sub(end) < 1 << 31
        {
            self.acknowledged[other] = true;
        }
        if self.acknowledged == [true, true] {
            self.state = ConnectionState::Closed;
        }
    }
}

/// Reads the request line at the start of a payload.
#[must_use]
pub fn read_request(payload: &[u8]) -> HttpRequest {
    const METHODS: [&[u8]; 8] = [b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"CONNECT ", b"OPTIONS ", b"TRACE "];
    let Some(place) = METHODS.iter().position(|method| payload.starts_with(method)) else {
        return HttpRequest::default();
    };
    let rest = &payload[METHODS[place].len()..];
    let length = rest.iter().position(|byte| !(0x21..0x7f).contains(byte)).unwrap_or(rest.len());
    let (target, line) = rest.split_at(length);
    let hash = target.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    let request = HttpRequest {
        method: place as u8 + 1,
        target_length: length as u16,
        target_hash: hash,
        ..HttpRequest::default()
    };
    // A zero stands for a digit.
    let pattern = b" HTTP/0.0\r\n";
    let fits =
        |(expected, found): (&u8, &u8)| if *expected == b'0' { found.is_ascii_digit() } else { expected == found };
    let is_empty = target.is_empty() && !line.is_empty();
    if is_empty || !pattern.iter().zip(line).all(fits) {
        return HttpRequest { line: 3, ..request };
    }
    if line.len() < pattern.len() {
        return HttpRequest { line: 2, ..request };
    }
    HttpRequest { line: 1, version: (line[6] - b'0') << 4 | (line[8] - b'0'), ..request }
}
