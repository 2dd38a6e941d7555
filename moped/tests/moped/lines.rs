// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A flat memory with the port of `LinePort`: latencies, revocations and foreign writes, without caches.

use std::collections::BTreeMap;

use mb_core::random::Random;
use mb_processor::line_port::{LINE_BYTES, LineData, LineEvent, LinePort, LineRequest, LineRequestKind};

/// First physical address.
pub(crate) const BASE: u64 = 0x8000_0000;

/// How long operations take, in cycles, and what disturbs them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// From a request to the bytes or the right: smallest and largest.
    pub(crate) access: (u64, u64),
    /// From a write-back to its end.
    pub(crate) write: (u64, u64),
    /// From one node to another.
    pub(crate) message: (u64, u64),
    /// Rights that are taken away, in 1000 owned lines and cycles.
    pub(crate) revocations: u64,
    /// Requests that are refused, in 1000.
    pub(crate) refusals: u64,
    /// Operations of a node that are accepted in a cycle.
    pub(crate) operations: usize,
}

impl Timing {
    pub(crate) const fn fixed(access: u64, write: u64, message: u64) -> Self {
        Self {
            access: (access, access),
            write: (write, write),
            message: (message, message),
            revocations: 0,
            refusals: 0,
            operations: 2,
        }
    }

    pub(crate) const fn unlimited(self) -> Self {
        Self { operations: 64, ..self }
    }

    pub(crate) const RANDOM: Self =
        Self { access: (1, 60), write: (1, 30), message: (2, 40), revocations: 20, refusals: 100, operations: 2 };
}

/// A planted fault of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plant {
    None,
    /// A write-back is performed although the right was lost before.
    WriteWithoutRight,
    /// A right comes with bytes of zero.
    RightWithoutBytes,
}

#[derive(Clone, Debug)]
enum Work {
    Request { node: usize, request: LineRequest, serial: u64 },
    Message { to: usize, from: usize, tag: u64 },
}

/// The memory.
pub(crate) struct Lines {
    pub(crate) bytes: Vec<u8>,
    pub(crate) timing: Timing,
    pub(crate) plant: Plant,
    random: Random,
    /// Line to its owner and the number of its grant.
    owned: BTreeMap<u64, (usize, u64)>,
    grants: u64,
    work: BTreeMap<(u64, u64), Work>,
    serial: u64,
    last: BTreeMap<(usize, usize), u64>,
    events: Vec<Vec<LineEvent>>,
    accepted: (u64, Vec<usize>),
    /// Bytes that others may write at any time; the others belong to messages or are never written.
    pub(crate) foreign: Vec<bool>,
    /// What foreign writers have written.
    pub(crate) written: BTreeMap<usize, u8>,
    pub(crate) revoked: u64,
    pub(crate) requests: Vec<(u64, usize, LineRequest)>,
}

impl Lines {
    pub(crate) fn new(nodes: usize, bytes: usize, timing: Timing, seed: u64) -> Self {
        Self {
            bytes: vec![0; bytes],
            timing,
            plant: Plant::None,
            random: Random::of(seed, &[1]),
            owned: BTreeMap::new(),
            grants: 0,
            work: BTreeMap::new(),
            serial: 0,
            last: BTreeMap::new(),
            events: vec![Vec::new(); nodes],
            accepted: (0, vec![0; nodes]),
            foreign: vec![false; bytes],
            written: BTreeMap::new(),
            revoked: 0,
            requests: Vec::new(),
        }
    }

    fn line(&self, address: u64) -> LineData {
        let at = (address - BASE) as usize;
        self.bytes[at..at + LINE_BYTES].try_into().expect("a line")
    }

    fn put(&mut self, address: u64, data: &LineData) {
        let at = (address - BASE) as usize;
        self.bytes[at..at + LINE_BYTES].copy_from_slice(data);
    }

    /// The next cycle in which something happens.
    pub(crate) fn next_event(&self) -> Option<u64> {
        self.work.keys().next().map(|(time, _)| *time)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.work.is_empty() && self.owned.is_empty() && self.events.iter().all(Vec::is_empty)
    }

    /// Runs everything up to `cycle`.
    pub(crate) fn advance(&mut self, cycle: u64) {
        while let Some(entry) = self.work.first_entry().filter(|entry| entry.key().0 <= cycle) {
            let ((at, _), work) = entry.remove_entry();
            match work {
                Work::Message { to, from, tag } => self.events[to].push(LineEvent::Message { from, tag, at }),
                Work::Request { node, request, serial } => self.perform(at, node, request, serial),
            }
        }
        let lines: Vec<u64> = self.owned.keys().copied().collect();
        for line in lines {
            if self.random.below(1000) < self.timing.revocations {
                self.revoke(line, cycle);
                self.write_foreign(line);
            }
        }
    }

    fn revoke(&mut self, line: u64, at: u64) {
        if let Some((owner, _)) = self.owned.remove(&line) {
            self.revoked += 1;
            self.events[owner].push(LineEvent::Revoked { line, at });
        }
    }

    /// Another core writes to a byte of a line that belongs to no message.
    fn write_foreign(&mut self, line: u64) {
        let at = (line - BASE) as usize + self.random.below(LINE_BYTES as u64) as usize;
        if self.foreign[at] {
            self.bytes[at] = self.bytes[at].wrapping_add(1);
            self.written.insert(at, self.bytes[at]);
        }
    }

    fn perform(&mut self, at: u64, node: usize, request: LineRequest, serial: u64) {
        let LineRequest { tag, line, kind } = request;
        let event = match kind {
            LineRequestKind::Copy | LineRequestKind::Read => LineEvent::Data { tag, at, data: self.line(line) },
            LineRequestKind::Own | LineRequestKind::OwnWithoutData => {
                assert!(
                    self.owned.get(&line).is_none_or(|(owner, _)| *owner != node),
                    "node {node} requests the right to line {line:#x}, which it has"
                );
                self.revoke(line, at);
                self.grants += 1;
                self.owned.insert(line, (node, self.grants));
                if kind == LineRequestKind::OwnWithoutData {
                    self.put(line, &[0; LINE_BYTES]);
                }
                let zero = self.plant == Plant::RightWithoutBytes;
                let data = if zero { [0; LINE_BYTES] } else { self.line(line) };
                LineEvent::Owned { tag, at, data: (kind == LineRequestKind::Own).then_some(data) }
            }
            LineRequestKind::Write(_) | LineRequestKind::Release => {
                let holds = self.owned.get(&line).is_some_and(|held| *held == (node, serial));
                if !holds {
                    if let LineRequestKind::Write(data) = kind
                        && self.plant == Plant::WriteWithoutRight
                    {
                        self.put(line, &data);
                    }
                    return;
                }
                self.owned.remove(&line);
                if let LineRequestKind::Write(data) = kind {
                    self.put(line, &data);
                }
                LineEvent::Written { tag, at }
            }
        };
        self.events[node].push(event);
    }

    fn later(&mut self, cycle: u64, (low, high): (u64, u64), work: Work) {
        let at = cycle + self.random.within(low, high);
        self.serial += 1;
        self.work.insert((at, self.serial), work);
    }
}

impl LinePort for Lines {
    fn line_request(&mut self, cycle: u64, node: usize, request: LineRequest) -> bool {
        assert_eq!(request.line % LINE_BYTES as u64, 0, "line {:#x}", request.line);
        assert!((BASE..BASE + self.bytes.len() as u64).contains(&request.line), "line {:#x}", request.line);
        if self.accepted.0 != cycle {
            self.accepted = (cycle, vec![0; self.events.len()]);
        }
        if self.accepted.1[node] == self.timing.operations || self.random.below(1000) < self.timing.refusals {
            return false;
        }
        self.accepted.1[node] += 1;
        self.requests.push((cycle, node, request));
        let is_write = matches!(request.kind, LineRequestKind::Write(_) | LineRequestKind::Release);
        let serial = self.owned.get(&request.line).filter(|(owner, _)| *owner == node).map_or(0, |held| held.1);
        let span = if is_write { self.timing.write } else { self.timing.access };
        self.later(cycle, span, Work::Request { node, request, serial });
        true
    }

    fn send(&mut self, cycle: u64, from: usize, to: usize, bytes: u32, tag: u64) {
        assert!(bytes > 0 && from != to);
        let (low, high) = self.timing.message;
        let earliest = self.last.get(&(from, to)).copied().unwrap_or(0);
        let at = (cycle + self.random.within(low, high)).max(earliest);
        self.last.insert((from, to), at);
        self.serial += 1;
        self.work.insert((at, self.serial), Work::Message { to, from, tag });
    }

    fn line_events(&mut self, node: usize, events: &mut Vec<LineEvent>) {
        events.append(&mut self.events[node]);
    }
}
