// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The harts and devices of the random tests, and what they may see.

use mb_core::random::Random;
use mb_processor::Memory;
use mb_processor::directory::protocol::{DeviceTransactions, Protocol};
use mb_processor::directory::{CoherentMemory, DirectoryConfig, NodeCacheConfig};
use mb_processor::line_port::{LineEvent, LinePort, LineRequest, LineRequestKind};
use mb_processor::rv64::AtomicKind;
use mb_processor::system::{
    CompletedKind, CompletedRequest, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind,
};

const BASE: u64 = 0x10_0000;
/// Bytes of the private area of a hart.
const PRIVATE: u64 = 256;

/// The doublewords of a shared line that are special.
const DEVICE: u64 = 5;
const ATOMIC: u64 = 6;
const CONDITIONAL: u64 = 7;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Wait {
    Load,
    Atomic,
    Reserved,
    Conditional(u64),
    Private(u8),
}

#[derive(Clone, Default)]
struct Hart {
    /// The place of the access on its way.
    waits: Option<(Wait, u64)>,
    /// The value of a load-reserved.
    reserved: Option<(u64, u64)>,
    /// The place of a fetch on its way.
    fetches: Option<u64>,
    seen: Vec<u64>,
}

/// What the device of a node does: one line at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Work {
    Idle,
    Copies(u64),
    Reads(u64),
    Owns(u64),
    Writes(u64),
    /// The value that the doublewords have after the write.
    Fills(u64, u64),
}

pub(crate) struct Tester {
    memory: CoherentMemory,
    random: Random,
    nodes: usize,
    contexts: usize,
    /// The lines that harts and devices share; those from `whole` on belong to devices.
    lines: Vec<u64>,
    whole: usize,
    flat: Vec<u64>,
    private: Vec<Vec<u8>>,
    harts: Vec<Hart>,
    /// By node, what the device does and what it has seen.
    works: Vec<(Work, Vec<u64>)>,
    now: u64,
    accesses: u64,
    kinds: [u64; 8],
    blanks: bool,
}

/// What went wrong, or the accesses of each kind.
pub(crate) type AccessResult = Result<[u64; 8], String>;

/// Caches of few lines, so that lines leave them all the time.
pub(crate) fn tiny() -> DirectoryConfig {
    let l1 = NodeCacheConfig { bytes: 128, ways: 1, hit: 1, ports: 2, mshrs: 2 };
    let l2 = NodeCacheConfig { bytes: 256, ways: 2, hit: 3, ports: 1, mshrs: 0 };
    DirectoryConfig { l1, l2, write_backs: 1, store_buffer: 3, ..DirectoryConfig::gu2011(4, 2) }
}

impl Tester {
    pub(crate) fn new(config: &DirectoryConfig, protocol: Option<Protocol>, seed: u64) -> Self {
        let protocol = protocol.unwrap_or_else(|| Protocol::new(config.design, config.migratory));
        // Few sets of each cache, more lines than their ways.
        let sets = (config.l2.bytes / 64 / config.l2.ways).max(4);
        let lines: Vec<u64> = (0..48).map(|number| BASE + 64 * (number % 4 + sets * (number / 4))).collect();
        let harts = config.nodes * config.contexts;
        let end = lines.last().unwrap() + 64 - BASE;
        let bytes = end + harts as u64 * PRIVATE;
        let memory = Memory::new(BASE, bytes as usize);
        let memory = CoherentMemory::with_protocol(config, protocol, memory, NoDevice).expect("a configuration");
        let seen = vec![0; lines.len() * 8];
        Self {
            memory,
            random: Random::of(seed, &[7]),
            nodes: config.nodes,
            contexts: config.contexts,
            whole: lines.len() * 3 / 4,
            flat: seen.clone(),
            private: vec![vec![0; PRIVATE as usize]; harts],
            harts: vec![Hart { seen: seen.clone(), ..Hart::default() }; harts],
            works: vec![(Work::Idle, seen); config.nodes],
            lines,
            now: 1,
            accesses: 0,
            kinds: [0; 8],
            blanks: config.design == DeviceTransactions::OptCache,
        }
    }

    fn address(&self, place: u64) -> u64 {
        self.lines[(place / 8) as usize] + place % 8 * 8
    }

    fn area(&self, hart: usize) -> u64 {
        self.lines.last().unwrap() + 64 + hart as u64 * PRIVATE
    }

    /// Whether a hart owns a doubleword.
    fn owns(&self, hart: usize, place: u64) -> bool {
        place % 8 < DEVICE && (place / 8) < self.whole as u64 && (place / 8 + place) as usize % self.harts.len() == hart
    }

    /// A value that a hart or device has read.
    fn check(&self, who: &str, seen: u64, place: u64, value: u64) -> Result<(), String> {
        let line = (place / 8) as usize;
        // A line without data is zero until the device writes it.
        if line >= self.whole && self.blanks && value == 0 {
            return Ok(());
        }
        if value < seen && line < self.whole || value > self.flat[place as usize] {
            return Err(format!(
                "cycle {}: {who} reads {value} from doubleword {} of line {:#x}; expected {seen} to {}",
                self.now,
                place % 8,
                self.lines[line],
                self.flat[place as usize]
            ));
        }
        Ok(())
    }

    fn answer(&mut self, hart: usize, wait: Wait, place: u64, value: u64) -> Result<(), String> {
        if let Wait::Private(width) = wait {
            let start = (place - self.area(hart)) as usize;
            let mut bytes = [0; 8];
            bytes[..width.into()].copy_from_slice(&self.private[hart][start..start + usize::from(width)]);
            if u64::from_le_bytes(bytes) != value {
                return Err(format!("cycle {}: hart {hart} reads {value:#x} from {place:#x}", self.now));
            }
            return Ok(());
        }
        match wait {
            Wait::Conditional(old) => {
                if value == 0 {
                    if self.flat[place as usize] != old {
                        return Err(format!("cycle {}: hart {hart}: a store-conditional loses an update", self.now));
                    }
                    self.flat[place as usize] = old + 1;
                }
                return Ok(());
            }
            Wait::Reserved => self.harts[hart].reserved = Some((place, value)),
            // Others may have performed theirs, whose completions follow.
            Wait::Atomic => self.flat[place as usize] += 1,
            _ => {}
        }
        let seen = self.harts[hart].seen[place as usize];
        if self.owns(hart, place) && value != self.flat[place as usize] {
            return Err(format!("cycle {}: hart {hart} reads {value}, not its own last value", self.now));
        }
        if wait != Wait::Atomic {
            // A store-conditional of another hart can be performed without its answer.
            let running = u64::from(place % 8 >= ATOMIC) * self.harts.len() as u64;
            self.check(&format!("hart {hart}"), seen, place, value.saturating_sub(running).max(seen.min(value)))?;
        }
        self.harts[hart].seen[place as usize] = value.max(seen);
        Ok(())
    }

    fn issue(&mut self, hart: usize) -> Result<(), String> {
        let (core, context) = (hart / self.contexts, (hart % self.contexts) as u8);
        let count = self.lines.len() as u64 * 8;
        let mut place = self.random.below(count);
        let kind = self.random.below(20);
        let mut width = 8;
        let (wait, request) = match kind {
            _ if kind == 16 || self.harts[hart].fetches.is_some() => return self.fetch(core, context, hart, place),
            0..=6 => (Wait::Load, RequestKind::Load),
            7..=10 => {
                // The next doubleword of this hart.
                while !self.owns(hart, place) {
                    place = (place + 1) % count;
                }
                let value = self.flat[place as usize] + 1;
                (Wait::Load, RequestKind::Store { value })
            }
            11 | 12 => {
                place = self.random.below(self.whole as u64) * 8 + ATOMIC;
                (Wait::Atomic, RequestKind::Atomic { kind: AtomicKind::Add, operand: 1 })
            }
            13..=15 => {
                if let Some((reserved, value)) = self.harts[hart].reserved.take() {
                    place = reserved;
                    (Wait::Conditional(value), RequestKind::StoreConditional { value: value + 1 })
                } else {
                    place = self.random.below(self.whole as u64) * 8 + CONDITIONAL;
                    (Wait::Reserved, RequestKind::LoadReserved)
                }
            }
            _ => {
                width = self.random.pick(&[1, 2, 4, 8]);
                place = self.area(hart) + self.random.below(PRIVATE - 8);
                let value = self.random.below(u64::MAX);
                (Wait::Private(width), if kind == 17 { RequestKind::Load } else { RequestKind::Store { value } })
            }
        };
        let address = if matches!(wait, Wait::Private(_)) { place } else { self.address(place) };
        let request_of_hart = MemoryRequest { core, context, tag: 0, address, width, kind: request };
        let at_once = if self.random.below(2) == 0 { self.at_once(&request_of_hart) } else { None };
        let answer = at_once.unwrap_or_else(|| self.memory.request(self.now, request_of_hart));
        if answer == MemoryAnswer::Retry {
            if let Wait::Conditional(value) = wait {
                self.harts[hart].reserved = Some((place, value));
            }
            return Ok(());
        }
        self.accesses += 1;
        self.kinds[match request {
            RequestKind::Load => 0,
            RequestKind::Store { .. } => 1,
            RequestKind::LoadReserved => 2,
            RequestKind::StoreConditional { .. } => 3,
            RequestKind::Atomic { .. } => 4,
        }] += 1;
        match (answer, request) {
            (_, RequestKind::Store { value }) => {
                if let Wait::Private(width) = wait {
                    let start = (place - self.area(hart)) as usize;
                    let bytes = &value.to_le_bytes()[..width.into()];
                    self.private[hart][start..start + usize::from(width)].copy_from_slice(bytes);
                } else {
                    self.flat[place as usize] = value;
                }
                Ok(())
            }
            (MemoryAnswer::Ready { value, .. }, _) => self.answer(hart, wait, place, value),
            (MemoryAnswer::Pending, _) => {
                self.harts[hart].waits = Some((wait, place));
                Ok(())
            }
            (answer, _) => Err(format!("cycle {}: {answer:?} for {address:#x}", self.now)),
        }
    }

    /// The short way to the answer of a request, if it has one.
    fn at_once(&mut self, request: &MemoryRequest) -> Option<MemoryAnswer> {
        let MemoryRequest { core, context, address, width, kind, .. } = *request;
        match kind {
            RequestKind::Load => {
                let (at, value) = self.memory.load_at_once(self.now, core, context, address, width)?;
                Some(MemoryAnswer::Ready { at, value })
            }
            RequestKind::Store { value } => {
                let is_done = self.memory.store_at_once(self.now, core, address, width, value);
                is_done.then_some(MemoryAnswer::Ready { at: self.now, value: 0 })
            }
            _ => None,
        }
    }

    /// A fetch; the bytes of the instruction cache are as new as those of the data cache.
    fn fetch(&mut self, core: usize, context: u8, hart: usize, place: u64) -> Result<(), String> {
        let place = self.harts[hart].fetches.unwrap_or(place);
        let address = self.address(place);
        if self.random.below(64) == 0 {
            self.memory.invalidate_instructions(core);
        }
        let at_once = if self.random.below(2) == 0 { self.memory.fetch_at_once(self.now, core, address) } else { None };
        let answer = match at_once {
            Some((at, version)) => FetchAnswer::Ready { at, version },
            None => self.memory.fetch(self.now, core, context, address),
        };
        self.harts[hart].fetches = (answer == FetchAnswer::Pending).then_some(place);
        if let FetchAnswer::Ready { .. } = answer {
            self.accesses += 1;
            self.kinds[5] += 1;
            let part =
                |part: u64| self.memory.code(core, address + 2 * part).map(|half| u64::from(half) << (16 * part));
            let value = (0..4).map(part).sum::<Option<u64>>().ok_or("a fetch without bytes")?;
            // The hart's stores may be in its buffer.
            if !self.owns(hart, place) && place % 8 < DEVICE {
                let seen = self.harts[hart].seen[place as usize];
                self.check(&format!("hart {hart} (fetch)"), seen, place, value)?;
                self.harts[hart].seen[place as usize] = value.max(seen);
            }
        }
        Ok(())
    }

    fn device(&mut self, node: usize) {
        let line = self.random.below(self.lines.len() as u64);
        let (work, kind) = match self.works[node].0 {
            Work::Owns(line) => return self.device_writes(node, line, None),
            Work::Idle if self.random.below(3) == 0 => (Work::Reads(line), LineRequestKind::Read),
            Work::Idle if self.random.below(2) == 0 => (Work::Copies(line), LineRequestKind::Copy),
            Work::Idle => {
                let line = line - line % self.nodes as u64 + node as u64;
                if line >= self.lines.len() as u64 {
                    return;
                }
                let whole = line >= self.whole as u64;
                (Work::Writes(line), if whole { LineRequestKind::OwnWithoutData } else { LineRequestKind::Own })
            }
            _ => return,
        };
        let (Work::Reads(line) | Work::Copies(line) | Work::Writes(line)) = work else { return };
        let request = LineRequest { tag: 1, line: self.lines[line as usize], kind };
        if self.memory.line_request(self.now, node, request) {
            self.accesses += 1;
            self.kinds[6] += 1;
            self.works[node].0 = work;
        }
    }

    /// The device writes a line that it owns, or gives it back.
    fn device_writes(&mut self, node: usize, line: u64, data: Option<[u8; 64]>) {
        let whole = line >= self.whole as u64;
        let (Some(_) | None, mut bytes) = (data, data.unwrap_or([0; 64]));
        let value = self.flat[(line * 8 + DEVICE) as usize] + 1;
        for place in 0..8_u64 {
            if whole || place == DEVICE {
                bytes[place as usize * 8..][..8].copy_from_slice(&value.to_le_bytes());
            }
        }
        let kind = if data.is_none() && !whole { LineRequestKind::Release } else { LineRequestKind::Write(bytes) };
        if self.memory.line_request(self.now, node, LineRequest { tag: 2, line: self.lines[line as usize], kind }) {
            self.accesses += 1;
            self.kinds[7] += 1;
            let fills = if kind == LineRequestKind::Release { 0 } else { value };
            self.works[node].0 = Work::Fills(line, fills);
            // Readers can see it before its event is looked at.
            if fills > 0 {
                self.write_flat(line, fills);
            }
        } else {
            self.works[node].0 = Work::Owns(line);
        }
    }

    fn write_flat(&mut self, line: u64, value: u64) {
        for place in line * 8..line * 8 + 8 {
            if line >= self.whole as u64 || place % 8 == DEVICE {
                self.flat[place as usize] = value;
            }
        }
    }

    fn device_events(&mut self, node: usize) -> Result<(), String> {
        let mut events = Vec::new();
        self.memory.line_events(node, &mut events);
        for event in events {
            match (event, self.works[node].0) {
                (LineEvent::Data { data, .. }, Work::Copies(line) | Work::Reads(line)) => {
                    for place in line * 8..line * 8 + ATOMIC {
                        let bytes = data[(place % 8 * 8) as usize..].first_chunk().expect("eight bytes");
                        let (seen, value) = (self.works[node].1[place as usize], u64::from_le_bytes(*bytes));
                        self.check(&format!("device {node}"), seen, place, value)?;
                        self.works[node].1[place as usize] = value.max(seen);
                    }
                    self.works[node].0 = Work::Idle;
                }
                (LineEvent::Owned { data, .. }, Work::Writes(line)) => {
                    if line < self.whole as u64 && self.random.below(4) > 0 {
                        let data = data.ok_or("a line without data")?;
                        let bytes = data[DEVICE as usize * 8..].first_chunk().expect("eight bytes");
                        let value = self.flat[(line * 8 + DEVICE) as usize];
                        if u64::from_le_bytes(*bytes) != value {
                            return Err(format!("cycle {}: device {node} does not read its own value", self.now));
                        }
                        self.device_writes(node, line, Some(data));
                    } else {
                        self.works[node].0 = Work::Owns(line);
                    }
                }
                (LineEvent::Written { .. }, Work::Fills(..)) | (LineEvent::Revoked { .. }, Work::Owns(_)) => {
                    self.works[node].0 = Work::Idle;
                }
                (LineEvent::Revoked { .. }, Work::Fills(line, value)) => {
                    // The write is not performed.
                    if value > 0 {
                        self.write_flat(line, value - 1);
                    }
                    self.works[node].0 = Work::Idle;
                }
                (event, work) => return Err(format!("cycle {}: {event:?} for {work:?}", self.now)),
            }
        }
        Ok(())
    }

    fn step(&mut self, issues: bool, completed: &mut Vec<CompletedRequest>) -> Result<(), String> {
        self.now += 1;
        self.memory.advance(self.now, completed);
        for node in 0..self.nodes {
            self.device_events(node)?;
        }
        for done in completed.drain(..).filter(|done| done.source == CompletedKind::Data) {
            let hart = done.core * self.contexts + usize::from(done.context);
            let (wait, place) = self.harts[hart].waits.take().ok_or("a completion without a request")?;
            self.answer(hart, wait, place, done.value)?;
        }
        if !issues {
            return Ok(());
        }
        for hart in 0..self.harts.len() {
            if self.harts[hart].waits.is_none() && self.random.below(2) == 0 {
                self.issue(hart)?;
            }
        }
        for node in 0..self.nodes {
            if self.random.below(8) == 0 {
                self.device(node);
            }
        }
        Ok(())
    }

    /// Lets everything come to rest, and compares all of memory.
    fn rest(&mut self, completed: &mut Vec<CompletedRequest>) -> Result<(), String> {
        let limit = self.now + 200_000;
        while self.memory.next_event().is_some() {
            self.step(false, completed)?;
            if self.now > limit {
                return Err("requests are not answered".into());
            }
        }
        self.step(false, completed)?;
        let waits = self.harts.iter().any(|hart| hart.waits.is_some());
        let works = self.works.iter().any(|(work, _)| !matches!(work, Work::Idle | Work::Owns(_)));
        if waits || works {
            return Err(format!("cycle {}: a request is not answered", self.now));
        }
        for place in 0..self.flat.len() as u64 {
            let bytes = self.memory.bytes(self.address(place), 8).expect("memory");
            let value = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let line = place / 8;
            let owned = self.works.iter().any(|(work, _)| *work == Work::Owns(line));
            let blank = self.blanks && line >= self.whole as u64 && value == 0;
            if value != self.flat[place as usize] && !owned && !blank {
                return Err(format!("memory has {value} at {place}; expected {}", self.flat[place as usize]));
            }
        }
        for hart in 0..self.harts.len() {
            let bytes = self.memory.bytes(self.area(hart), PRIVATE as usize).expect("memory");
            if bytes != self.private[hart] {
                return Err(format!("the private area of hart {hart} differs"));
            }
        }
        Ok(())
    }

    pub(crate) fn run(mut self, accesses: u64) -> AccessResult {
        let mut completed = Vec::new();
        while self.accesses < accesses {
            for _ in 0..5000 {
                self.step(true, &mut completed)?;
            }
            self.rest(&mut completed)?;
        }
        Ok(self.kinds)
    }
}
