// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks every packet that software reports against the references.
//!
//! Connection state depends on the order in which workers lock a connection. The result of HTTPMON numbers the packets
//! of a connection in this order, and the reference follows it: a number that is missing or repeated is a mismatch.

use std::collections::BTreeMap;
use std::net::IpAddr;

use mb_netproc::contract::{Application, PacketDecision, drop_reason};
use mb_netproc::{Arrival, Judge, PacketOutcome};

use crate::filters::{FilterSet, TCP};
use crate::headers::Headers;
use crate::reference::connection::{Connection, TcpSegment};
use crate::reference::{self, network};
use crate::routes::Lookup;

/// Reasons of drops that the checker distinguishes.
const HANDLER: u8 = 1;
const TOO_LONG: u8 = 3;
const NO_CLASS: u8 = 10;
const FLOWS_FULL: u8 = 11;

/// The inputs of the references.
pub struct Expectations {
    /// The filters of the run.
    pub filters: FilterSet,
    /// The application for packets that no filter matches.
    pub default_application: Option<Application>,
    /// The routes of the run.
    pub routes: Lookup,
    /// Longest frame that a buffer holds.
    pub buffer_bytes: u32,
    /// DES keys.
    pub des_keys: [u8; 24],
    /// The initialisation vector of each packet.
    pub des_iv: [u8; 8],
    /// Most flows that the flow table holds.
    pub flows: u32,
}

/// A decision that differs from the reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecisionMismatch {
    /// Number of the packet, from 0.
    pub packet: u64,
    /// What was found and what was expected.
    pub text: String,
}

/// Addresses, ports and protocol of a connection, the smaller end first.
type Key = ((IpAddr, u16), (IpAddr, u16), u8);

/// A reported segment that waits for its turn: its packet and result.
struct Waiting {
    packet: u64,
    result: Vec<u8>,
    frame: Vec<u8>,
}

#[derive(Default)]
struct Followed {
    state: Connection,
    next: u32,
    /// By number in the connection.
    waiting: BTreeMap<u32, Waiting>,
}

/// Checks packets; a [`Judge`] of the machine.
pub struct Checker {
    expectations: Expectations,
    connections: BTreeMap<Key, Followed>,
    /// Packets checked.
    pub checked: u64,
    /// The first mismatches.
    pub mismatches: Vec<DecisionMismatch>,
    /// Number of all mismatches.
    pub mismatch_count: u64,
}

impl Checker {
    /// Mismatches that are kept.
    pub const KEPT: usize = 20;

    /// A checker before the first packet.
    #[must_use]
    pub const fn new(expectations: Expectations) -> Self {
        Self { expectations, connections: BTreeMap::new(), checked: 0, mismatches: Vec::new(), mismatch_count: 0 }
    }

    /// After the last packet: reported segments whose predecessors were never reported are mismatches. Not called after
    /// a run that ended early, in which workers still have the predecessors of such segments.
    pub fn finish(&mut self) {
        for followed in std::mem::take(&mut self.connections).into_values() {
            for (number, waiting) in followed.waiting {
                let text = format!("number {number} in its connection; expected {} before it", followed.next + 1);
                self.mismatch(waiting.packet, text);
            }
        }
    }

    fn mismatch(&mut self, packet: u64, text: String) {
        self.mismatch_count += 1;
        if self.mismatches.len() < Self::KEPT {
            self.mismatches.push(DecisionMismatch { packet, text });
        }
    }

    fn check(&mut self, outcome: &PacketOutcome, arrival: &Arrival) -> Result<(), String> {
        let frame = &arrival.frame;
        let dropped = |reason| compare("verdict", outcome.verdict, PacketDecision::Drop(reason), show);
        if frame.len() > self.expectations.buffer_bytes as usize {
            return dropped(TOO_LONG);
        }
        let network = match network::admit(frame) {
            Ok(network) => network,
            Err(reason) => return dropped(reason),
        };
        let headers = Headers::of(frame).ok_or("a datagram is reported that the reference cannot read")?;
        let class = self.expectations.filters.first(&headers);
        compare("class", outcome.class, class.map(|place| place as u32), |class| format!("{class:?}"))?;
        let filter = class.map(|place| self.expectations.filters.filters()[place].application);
        let Some(application) = filter.or(self.expectations.default_application) else { return dropped(NO_CLASS) };
        compare("application", outcome.application, Some(application), |found| format!("{found:?}"))?;
        match application {
            Application::Null => dropped(HANDLER),
            Application::IpForward => {
                let (verdict, after) = network::forward(frame, network, &self.expectations.routes);
                compare("verdict", outcome.verdict, verdict, show)?;
                same_frame(outcome, &after)
            }
            Application::Md5 => {
                compare("digest", &outcome.result[..], &reference::md5(&frame[headers.payload])[..], hex)?;
                forwarded(outcome, frame)
            }
            Application::TripleDes => {
                let mut after = frame.clone();
                let expectations = &self.expectations;
                reference::triple_des(&expectations.des_keys, expectations.des_iv, &mut after[headers.payload]);
                forwarded(outcome, &after)
            }
            Application::HttpMon => self.check_segment(outcome, frame, &headers),
            // Only the user knows what the handler must decide.
            Application::User => Ok(()),
        }
    }

    fn check_segment(&mut self, outcome: &PacketOutcome, frame: &[u8], headers: &Headers) -> Result<(), String> {
        if headers.protocol != TCP || headers.flags.is_none() || segment(frame, headers, 0).is_none() {
            compare("result", &outcome.result[..], &[][..], hex)?;
            return forwarded(outcome, frame);
        }
        if outcome.verdict == PacketDecision::Drop(FLOWS_FULL) {
            let open = self.connections.len();
            let full = open >= self.expectations.flows as usize;
            return if full {
                Ok(())
            } else {
                Err(format!("dropped, as the flow table is full; expected room for flow {open}"))
            };
        }
        forwarded(outcome, frame)?;
        let number = outcome.result.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (key, _) = key(headers).ok_or("a segment without ports is reported")?;
        let followed = self.connections.entry(key).or_default();
        let waiting = Waiting { packet: outcome.packet, result: outcome.result.clone(), frame: frame.to_vec() };
        if number <= followed.next || followed.waiting.insert(number, waiting).is_some() {
            return Err(format!("number {number} in its connection twice"));
        }
        let mut failed = Vec::new();
        while let Some(waiting) = followed.waiting.remove(&(followed.next + 1)) {
            followed.next += 1;
            let followed_headers = Headers::of(&waiting.frame);
            let found = followed_headers.as_ref().and_then(|headers| {
                let (_, side) = self::key(headers)?;
                segment(&waiting.frame, headers, side)
            });
            let Some(found) = found else { continue };
            let expected = followed.state.follow(&found);
            if let Err(text) = compare("connection", &waiting.result[..], &expected[..], hex) {
                failed.push((waiting.packet, text));
            }
        }
        for (packet, text) in failed {
            self.mismatch(packet, text);
        }
        Ok(())
    }
}

impl Judge for Checker {
    fn judge(&mut self, outcome: &PacketOutcome, arrival: &Arrival) {
        self.checked += 1;
        if let Err(text) = self.check(outcome, arrival) {
            self.mismatch(outcome.packet, text);
        }
    }
}

/// The connection of a segment, and which end sent it.
#[must_use]
pub fn key(headers: &Headers) -> Option<(Key, usize)> {
    let (source_port, destination_port) = headers.ports?;
    let (source, destination) = ((headers.source, source_port), (headers.destination, destination_port));
    Some(if source <= destination {
        ((source, destination, headers.protocol), 0)
    } else {
        ((destination, source, headers.protocol), 1)
    })
}

/// The TCP segment of a frame; none if its header is longer than the segment, or shorter than a header can be.
fn segment<'a>(frame: &'a [u8], headers: &Headers, side: usize) -> Option<TcpSegment<'a>> {
    let payload = &frame[headers.payload.clone()];
    // The header lies directly before the payload, and has 20 to 60 bytes.
    let start = (20..=60).step_by(4).find_map(|length| {
        let start = headers.payload.start.checked_sub(length)?;
        let offset = usize::from(*frame.get(start + 12)? >> 4) * 4;
        let ports = (number(frame, start, 2)? as u16, number(frame, start + 2, 2)? as u16);
        (offset == length && Some(ports) == headers.ports).then_some(start)
    })?;
    Some(TcpSegment {
        side,
        ports: headers.ports?,
        sequence: number(frame, start + 4, 4)?,
        acknowledge: number(frame, start + 8, 4)?,
        flags: headers.flags?,
        payload,
    })
}

/// A big-endian number.
fn number(frame: &[u8], at: usize, length: usize) -> Option<u32> {
    frame.get(at..at + length).map(|bytes| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn forwarded(outcome: &PacketOutcome, expected: &[u8]) -> Result<(), String> {
    compare("verdict", outcome.verdict, PacketDecision::Forward(0), show)?;
    same_frame(outcome, expected)
}

fn same_frame(outcome: &PacketOutcome, expected: &[u8]) -> Result<(), String> {
    if outcome.frame.len() != expected.len() {
        return Err(format!("a frame of {} bytes; expected {}", outcome.frame.len(), expected.len()));
    }
    match outcome.frame.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => {
            Err(format!("byte {at} of the frame is {:#04x}; expected {:#04x}", outcome.frame[at], expected[at]))
        }
    }
}

fn compare<T: PartialEq>(what: &str, found: T, expected: T, show: impl Fn(T) -> String) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} {}; expected {}", show(found), show(expected))) }
}

fn show(verdict: PacketDecision) -> String {
    match verdict {
        PacketDecision::Forward(hop) => format!("forward to {hop}"),
        PacketDecision::Drop(reason) => format!("drop ({})", drop_reason(reason)),
        PacketDecision::Consume => "consume".to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string succeeds.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
