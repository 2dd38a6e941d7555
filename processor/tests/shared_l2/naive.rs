// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A naive version of the machine: every cycle is simulated, every part is a plain list that is
//! searched, and bytes are in a map. It shares no code with the model.

mod cycle;

use std::collections::BTreeMap;

use mb_processor::shared_l2::SharedL2Config;
use mb_processor::system::{FetchAnswer, MemoryAnswer, MemoryRequest, RequestKind};

use super::Counter;

/// A planted fault, of which the comparison must notice the effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defect {
    None,
    /// A store does not remove the copies of other cores.
    NoInvalidation,
    /// DMA does not remove copies in the data caches.
    NoInvalidationByDma,
    /// All contexts of a core read the entries of its write buffer.
    SharedForwarding,
    /// A load that misses reads its bytes when it is requested.
    EarlyValue,
    /// A load also sees stores of its hart that follow it.
    LateForwarding,
    /// Requests precede responses on the bus.
    RequestsFirst,
    /// A store of another hart does not end a reservation.
    KeptReservation,
    /// The least recently used line is that which came first.
    FirstInFirstOut,
    /// A modified victim is forgotten.
    NoWriteBack,
    /// Bytes of an instruction cache follow stores.
    CoherentCode,
}

#[derive(Clone, Debug)]
struct Copy {
    line: u64,
    used: u64,
    version: u32,
    bytes: Vec<u8>,
}

/// An access in a write buffer, or a load that waits.
#[derive(Clone, Debug)]
struct Pending {
    request: MemoryRequest,
    number: u64,
    ready: u64,
    sent: bool,
    /// Lines that a load waits for.
    lines: Vec<u64>,
    early: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Message {
    /// Core, whether for code, line.
    WantLine(usize, bool, u64),
    Write(usize),
    Device(usize),
    Line(usize, bool, u64),
    Value(usize, u8, u32, u64),
}

#[derive(Clone, Debug, PartialEq)]
enum Job {
    Fill(u64),
    WriteBack,
    Dma,
}

#[derive(Clone, Debug)]
struct Set {
    line: u64,
    modified: bool,
    coming: bool,
}

#[derive(Clone, Debug)]
struct Transfer {
    tag: u32,
    write: bool,
    address: u64,
    rest: usize,
    bytes: Vec<u8>,
    ready: u64,
}

#[derive(Clone, Debug, Default)]
struct Core {
    /// Data cache, instruction cache.
    copies: [Vec<Copy>; 2],
    taken: [Vec<(u64, u64)>; 2],
    loads: Vec<Pending>,
    /// Fetches: line, contexts.
    fetches: Vec<(u64, Vec<u8>)>,
    wanted: Vec<(u64, bool, u64)>,
    writes: Vec<Pending>,
}

/// Event counts, summed over all cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) data: [u64; 4],
    pub(crate) code: [u64; 3],
    pub(crate) bus: u64,
    pub(crate) memory_bus: u64,
    pub(crate) l2: [u64; 4],
}

pub(crate) struct Naive {
    config: SharedL2Config,
    defect: Defect,
    range: std::ops::Range<u64>,
    bytes: BTreeMap<u64, u8>,
    versions: BTreeMap<u64, u32>,
    reserved: BTreeMap<(usize, u8), u64>,
    cores: Vec<Core>,
    now: u64,
    number: u64,
    bus: Option<(u64, Message)>,
    turn: usize,
    responses: Vec<(u64, bool, Message)>,
    queue: Vec<Message>,
    l2_free: u64,
    sets: BTreeMap<u64, Set>,
    waiting: Vec<(u64, Message)>,
    write_backs: usize,
    memory_bus: Option<(u64, Job)>,
    jobs: Vec<(u64, Job)>,
    transfers: Vec<Transfer>,
    accesses: Vec<(u64, usize)>,
    pub(crate) device: Counter,
    pub(crate) read: Vec<(u32, Vec<u8>)>,
    pub(crate) counts: Counts,
}

impl Naive {
    pub(crate) fn new(config: &SharedL2Config, range: std::ops::Range<u64>, device: Counter, defect: Defect) -> Self {
        Self {
            config: *config,
            defect,
            range,
            bytes: BTreeMap::new(),
            versions: BTreeMap::new(),
            reserved: BTreeMap::new(),
            cores: vec![Core::default(); config.cores],
            now: 0,
            number: 0,
            bus: None,
            turn: 0,
            responses: Vec::new(),
            queue: Vec::new(),
            l2_free: 0,
            sets: BTreeMap::new(),
            waiting: Vec::new(),
            write_backs: 0,
            memory_bus: None,
            jobs: Vec::new(),
            transfers: Vec::new(),
            accesses: Vec::new(),
            device,
            read: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub(crate) fn bytes(&self, address: u64, length: usize) -> Vec<u8> {
        (address..address + length as u64).map(|at| *self.bytes.get(&at).unwrap_or(&0)).collect()
    }

    pub(crate) fn drained(&self, core: usize, context: u8) -> bool {
        self.cores[core].writes.iter().all(|write| write.request.context != context)
    }

    pub(crate) fn reserved(&self, core: usize, context: u8) -> bool {
        self.reserved.contains_key(&(core, context))
    }

    pub(crate) fn code(&self, core: usize, address: u64) -> Option<u16> {
        let copy = self.cores[core].copies[1].iter().find(|copy| copy.line == self.line(address))?;
        let place = (address % self.config.line) as usize;
        Some(u16::from_le_bytes([copy.bytes[place], copy.bytes[place + 1]]))
    }

    pub(crate) fn invalidate_instructions(&mut self, core: usize) {
        self.cores[core].copies[1].clear();
    }

    pub(crate) fn dma(&mut self, tag: u32, address: u64, bytes: &[u8], write: bool) {
        let ready = self.now + 1 + if write { 0 } else { self.config.memory };
        self.transfers.push(Transfer { tag, write, address, rest: bytes.len(), bytes: bytes.to_vec(), ready });
    }

    fn line(&self, address: u64) -> u64 {
        address / self.config.line
    }

    fn lines(&self, request: &MemoryRequest) -> Vec<u64> {
        (self.line(request.address)..=self.line(request.address + u64::from(request.width) - 1)).collect()
    }

    /// Uses the copy of a line, if the cache has one.
    fn touch(&mut self, core: usize, code: bool, line: u64) -> Option<u32> {
        self.number += 1;
        let copy = self.cores[core].copies[usize::from(code)].iter_mut().find(|copy| copy.line == line)?;
        if self.defect != Defect::FirstInFirstOut {
            copy.used = self.number;
        }
        Some(copy.version)
    }

    fn has(&self, core: usize, code: bool, line: u64) -> bool {
        self.cores[core].copies[usize::from(code)].iter().any(|copy| copy.line == line)
    }

    /// The banks that an access needs, or `None` if one is taken in this cycle.
    fn banks(&self, core: usize, code: bool, address: u64, width: u64) -> Option<Vec<u64>> {
        let config = if code { &self.config.instruction } else { &self.config.data };
        let banks: Vec<u64> =
            [address, address + width - 1].iter().map(|byte| byte / config.interleave % config.banks).collect();
        let taken = &self.cores[core].taken[usize::from(code)];
        banks.iter().all(|bank| !taken.contains(&(self.now, *bank))).then_some(banks)
    }

    fn take(&mut self, core: usize, code: bool, banks: &[u64]) {
        let now = self.now;
        let taken = &mut self.cores[core].taken[usize::from(code)];
        taken.retain(|one| one.0 == now);
        taken.extend(banks.iter().map(|bank| (now, *bank)));
    }

    /// The bytes of a load now: those of memory, replaced by those of earlier stores of its hart. Also
    /// returns whether all of them are of stores.
    fn value(&self, request: &MemoryRequest, number: u64) -> (u64, bool) {
        let mut all = true;
        let mut value = 0;
        for place in 0..u64::from(request.width) {
            let at = request.address + place;
            let mut byte = *self.bytes.get(&at).unwrap_or(&0);
            let mut stored = false;
            for write in &self.cores[request.core].writes {
                let RequestKind::Store { value } = write.request.kind else { continue };
                let own = write.request.context == request.context || self.defect == Defect::SharedForwarding;
                let earlier = write.number < number || self.defect == Defect::LateForwarding;
                let inside = at.checked_sub(write.request.address).filter(|&at| at < write.request.width.into());
                if let Some(inside) = inside.filter(|_| own && earlier) {
                    byte = value.to_le_bytes()[inside as usize];
                    stored = true;
                }
            }
            all &= stored;
            value |= u64::from(byte) << (8 * place);
        }
        (value, all)
    }

    /// Lines on their way to a data cache.
    fn coming(&self, core: usize) -> Vec<u64> {
        let mut lines: Vec<u64> = self.cores[core].loads.iter().flat_map(|load| load.lines.iter().copied()).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    pub(crate) fn fetch(&mut self, core: usize, context: u8, address: u64) -> FetchAnswer {
        let line = self.line(address);
        let Some(banks) = self.banks(core, true, address, 1) else { return FetchAnswer::Retry };
        if let Some(version) = self.touch(core, true, line) {
            self.take(core, true, &banks);
            self.counts.code[0] += 1;
            return FetchAnswer::Ready { at: self.now + self.config.instruction.hit, version };
        }
        if let Some(fetch) = self.cores[core].fetches.iter_mut().find(|fetch| fetch.0 == line) {
            if !fetch.1.contains(&context) {
                fetch.1.push(context);
            }
            self.counts.code[2] += 1;
        } else {
            if self.cores[core].fetches.len() == self.config.instruction.mshrs {
                return FetchAnswer::Retry;
            }
            self.counts.code[1] += 1;
            self.cores[core].fetches.push((line, vec![context]));
            let ready = self.now + self.config.instruction.hit;
            self.cores[core].wanted.push((ready, true, line));
        }
        self.take(core, true, &banks);
        FetchAnswer::Pending
    }

    pub(crate) fn request(&mut self, request: MemoryRequest) -> MemoryAnswer {
        let MemoryRequest { core, address, width, .. } = request;
        let at = self.now + self.config.data.hit;
        self.number += 1;
        let mut pending = Pending { request, number: self.number, ready: at, sent: false, lines: Vec::new(), early: 0 };
        let inside = self.range.contains(&address) && address + u64::from(width) <= self.range.end;
        let loads = inside && matches!(request.kind, RequestKind::Load | RequestKind::LoadReserved);
        if loads {
            let Some(banks) = self.banks(core, false, address, width.into()) else { return MemoryAnswer::Retry };
            let (value, all) = self.value(&request, self.number);
            let reserves = request.kind == RequestKind::LoadReserved;
            if !all || reserves {
                let lines = self.lines(&request);
                let absent: Vec<u64> = lines.iter().copied().filter(|&line| !self.has(core, false, line)).collect();
                let coming = self.coming(core);
                let new: Vec<u64> = absent.iter().copied().filter(|line| !coming.contains(line)).collect();
                if coming.len() + new.len() > self.config.data.mshrs && !new.is_empty() {
                    return MemoryAnswer::Retry;
                }
                for line in lines {
                    self.touch(core, false, line);
                }
                if !absent.is_empty() {
                    self.take(core, false, &banks);
                    self.counts.data[if new.is_empty() { 2 } else { 1 }] += 1;
                    self.cores[core].wanted.extend(new.iter().map(|&line| (at, false, line)));
                    pending.lines = absent;
                    pending.early = value;
                    self.cores[core].loads.push(pending);
                    return MemoryAnswer::Pending;
                }
                if reserves {
                    self.reserved.insert((core, request.context), self.line(address));
                }
            }
            self.counts.data[if all && !reserves { 3 } else { 0 }] += 1;
            self.take(core, false, &banks);
            return MemoryAnswer::Ready { at, value };
        }
        if self.cores[core].writes.len() == self.config.write_buffer {
            return MemoryAnswer::Retry;
        }
        let stores = inside && matches!(request.kind, RequestKind::Store { .. });
        if stores {
            let Some(banks) = self.banks(core, false, address, width.into()) else { return MemoryAnswer::Retry };
            self.take(core, false, &banks);
        }
        if matches!(request.kind, RequestKind::StoreConditional { .. }) {
            let hart = (core, request.context);
            if self.reserved.get(&hart) != Some(&self.line(address)) {
                self.reserved.remove(&hart);
                return MemoryAnswer::Ready { at, value: 1 };
            }
        }
        self.cores[core].writes.push(pending);
        if stores { MemoryAnswer::Ready { at, value: 0 } } else { MemoryAnswer::Pending }
    }
}
