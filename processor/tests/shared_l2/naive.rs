// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A naive version of the machine: every cycle is simulated, every part is a plain list that is
//! searched, and bytes are in a map. It shares no code with the model.

use std::collections::BTreeMap;

use mb_processor::rv64::AtomicKind;
use mb_processor::shared_l2::SharedL2Config;
use mb_processor::system::{Answer, Completion, FetchAnswer, Request, RequestKind, Source};

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
    request: Request,
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

    fn lines(&self, request: &Request) -> Vec<u64> {
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
    fn value(&self, request: &Request, number: u64) -> (u64, bool) {
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

    pub(crate) fn request(&mut self, request: Request) -> Answer {
        let Request { core, address, width, .. } = request;
        let at = self.now + self.config.data.hit;
        self.number += 1;
        let mut pending = Pending { request, number: self.number, ready: at, sent: false, lines: Vec::new(), early: 0 };
        let inside = self.range.contains(&address) && address + u64::from(width) <= self.range.end;
        let loads = inside && matches!(request.kind, RequestKind::Load | RequestKind::LoadReserved);
        if loads {
            let Some(banks) = self.banks(core, false, address, width.into()) else { return Answer::Retry };
            let (value, all) = self.value(&request, self.number);
            let reserves = request.kind == RequestKind::LoadReserved;
            if !all || reserves {
                let lines = self.lines(&request);
                let absent: Vec<u64> = lines.iter().copied().filter(|&line| !self.has(core, false, line)).collect();
                let coming = self.coming(core);
                let new: Vec<u64> = absent.iter().copied().filter(|line| !coming.contains(line)).collect();
                if coming.len() + new.len() > self.config.data.mshrs && !new.is_empty() {
                    return Answer::Retry;
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
                    return Answer::Pending;
                }
                if reserves {
                    self.reserved.insert((core, request.context), self.line(address));
                }
            }
            self.counts.data[if all && !reserves { 3 } else { 0 }] += 1;
            self.take(core, false, &banks);
            return Answer::Ready { at, value };
        }
        if self.cores[core].writes.len() == self.config.write_buffer {
            return Answer::Retry;
        }
        let stores = inside && matches!(request.kind, RequestKind::Store { .. });
        if stores {
            let Some(banks) = self.banks(core, false, address, width.into()) else { return Answer::Retry };
            self.take(core, false, &banks);
        }
        if matches!(request.kind, RequestKind::StoreConditional { .. }) {
            let hart = (core, request.context);
            if self.reserved.get(&hart) != Some(&self.line(address)) {
                self.reserved.remove(&hart);
                return Answer::Ready { at, value: 1 };
            }
        }
        self.cores[core].writes.push(pending);
        if stores { Answer::Ready { at, value: 0 } } else { Answer::Pending }
    }

    /// Simulates the cycles up to and including `cycle`.
    pub(crate) fn advance(&mut self, cycle: u64, completed: &mut Vec<Completion>) {
        while self.now < cycle {
            self.now += 1;
            self.cycle(completed);
        }
    }

    fn cycle(&mut self, completed: &mut Vec<Completion>) {
        let now = self.now;
        if self.memory_bus.as_ref().is_some_and(|bus| bus.0 == now) {
            match self.memory_bus.take().expect("a job").1 {
                Job::Fill(line) => {
                    let set = self.sets.values_mut().find(|set| set.line == line).expect("a set");
                    set.coming = false;
                    let (there, rest) = std::mem::take(&mut self.waiting).into_iter().partition(|one| one.0 == line);
                    self.waiting = rest;
                    let there: Vec<(u64, Message)> = there;
                    self.responses.extend(there.into_iter().map(|(_, message)| (now, true, message)));
                }
                Job::WriteBack => self.write_backs -= 1,
                Job::Dma => self.end_part(completed),
            }
        }
        if self.memory_bus.is_none() {
            self.take_memory_bus();
        }
        self.devices(completed);
        if self.bus.as_ref().is_some_and(|bus| bus.0 == now) {
            match self.bus.take().expect("a message").1 {
                message @ (Message::WantLine(..) | Message::Write(_)) => self.queue.push(message),
                Message::Device(core) => self.accesses.push((now + self.config.device, core)),
                Message::Line(core, code, line) => self.arrive(core, code, line, completed),
                Message::Value(core, context, tag, value) => {
                    completed.push(Completion { source: Source::Data, core, context, tag, at: now, value });
                }
            }
            self.devices(completed);
        }
        if self.l2_free <= now && !self.queue.is_empty() && self.begin() {
            self.queue.remove(0);
            self.l2_free = now + self.config.l2_interval;
        }
        if self.bus.is_none() {
            self.take_bus();
        }
        self.counts.bus += u64::from(self.bus.is_some());
    }

    fn take_memory_bus(&mut self) {
        let rank = |job: &Job| match job {
            Job::Fill(_) => 0,
            Job::WriteBack => 1,
            Job::Dma => 2,
        };
        let mut jobs: Vec<(u64, Job)> = self.jobs.clone();
        if let Some(first) = self.transfers.first() {
            jobs.push((first.ready, Job::Dma));
        }
        let Some(job) = jobs.into_iter().filter(|job| job.0 <= self.now).min_by_key(|job| (job.0, rank(&job.1))) else {
            return;
        };
        if let Some(place) = self.jobs.iter().position(|other| *other == job) {
            self.jobs.remove(place);
        }
        let whole = self.config.line / self.config.memory_bus;
        let mut cycles = whole;
        if job.1 == Job::Dma {
            let part = self.part();
            let beats = |byte: u64| byte / self.config.memory_bus;
            cycles = beats(part.end - 1) - beats(part.start) + 1;
            let line = self.line(part.start);
            let modified = self.sets.values().any(|set| set.line == line && set.modified && !set.coming);
            if modified && !(self.transfers[0].write && part.end - part.start == self.config.line) {
                cycles += whole;
            }
        }
        self.counts.memory_bus += cycles;
        self.memory_bus = Some((self.now + cycles, job.1));
    }

    /// The addresses of the next part of the first transfer.
    fn part(&self) -> std::ops::Range<u64> {
        let transfer = &self.transfers[0];
        let start = transfer.address + (transfer.bytes.len() - transfer.rest) as u64;
        let end = transfer.address + transfer.bytes.len() as u64;
        start..end.min((self.line(start) + 1) * self.config.line)
    }

    fn end_part(&mut self, completed: &mut Vec<Completion>) {
        let part = self.part();
        let line = self.line(part.start);
        let transfer = &mut self.transfers[0];
        for at in part.clone() {
            let place = (at - transfer.address) as usize;
            if transfer.write {
                self.bytes.insert(at, transfer.bytes[place]);
            } else {
                transfer.bytes[place] = *self.bytes.get(&at).unwrap_or(&0);
            }
        }
        transfer.rest -= (part.end - part.start) as usize;
        transfer.ready = self.now;
        let (write, done) = (transfer.write, transfer.rest == 0);
        if write {
            self.sets.retain(|_, set| set.line != line || set.coming);
            self.written(line, None);
        } else if let Some(set) = self.sets.values_mut().find(|set| set.line == line && !set.coming) {
            set.modified = false;
        }
        if done {
            let transfer = self.transfers.remove(0);
            let (tag, at) = (transfer.tag, self.now);
            completed.push(Completion { source: Source::Dma, core: 0, context: 0, tag, at, value: 0 });
            if !write {
                self.read.push((tag, transfer.bytes));
            }
        }
    }

    fn devices(&mut self, completed: &mut Vec<Completion>) {
        let now = self.now;
        for (due, core) in std::mem::take(&mut self.accesses) {
            if due > now {
                self.accesses.push((due, core));
                continue;
            }
            if now < self.device.busy_until {
                self.accesses.push((now + 1, core));
                continue;
            }
            let Request { context, tag, kind, .. } = self.cores[core].writes.remove(0).request;
            if let RequestKind::Store { value } = kind {
                self.device.value += value;
                completed.push(Completion { source: Source::Data, core, context, tag, at: now, value: 0 });
            } else {
                self.responses.push((now, true, Message::Value(core, context, tag, self.device.value)));
                self.device.value += 1;
            }
        }
    }

    fn arrive(&mut self, core: usize, code: bool, line: u64, completed: &mut Vec<Completion>) {
        let now = self.now;
        let config = if code { self.config.instruction } else { self.config.data };
        let sets = config.bytes / config.ways / self.config.line;
        let copies = &self.cores[core].copies[usize::from(code)];
        let same = copies.iter().filter(|copy| copy.line % sets == line % sets);
        if same.clone().count() as u64 == config.ways {
            let victim = same.min_by_key(|copy| copy.used).expect("ways").line;
            self.cores[core].copies[usize::from(code)].retain(|copy| copy.line != victim);
        }
        self.number += 1;
        let version = if code { *self.versions.entry(line).or_insert(1) } else { 0 };
        let bytes = self.bytes(line * self.config.line, self.config.line as usize);
        self.cores[core].copies[usize::from(code)].push(Copy { line, used: self.number, version, bytes });
        let mut complete = |context, tag, source, value| {
            completed.push(Completion { source, core, context, tag, at: now, value });
        };
        if code {
            let place = self.cores[core].fetches.iter().position(|fetch| fetch.0 == line).expect("a fetch");
            for context in self.cores[core].fetches.remove(place).1 {
                complete(context, 0, Source::Fetch, line * self.config.line);
            }
            return;
        }
        for mut load in std::mem::take(&mut self.cores[core].loads) {
            let waited = load.lines.contains(&line);
            load.lines.retain(|&other| other != line);
            if !waited || !load.lines.is_empty() {
                self.cores[core].loads.push(load);
                continue;
            }
            let Request { context, tag, address, kind, .. } = load.request;
            if kind == RequestKind::LoadReserved {
                self.reserved.insert((core, context), self.line(address));
            }
            let value = self.value(&load.request, load.number).0;
            complete(context, tag, Source::Data, if self.defect == Defect::EarlyValue { load.early } else { value });
        }
    }

    fn set(&self, line: u64) -> u64 {
        line % (self.config.l2 / self.config.line)
    }

    /// Begins the first access of the queue; false if it waits.
    fn begin(&mut self) -> bool {
        let message = self.queue[0].clone();
        let late = self.now + self.config.l2_hit;
        let (lines, modifies, response) = match message {
            Message::WantLine(core, code, line) => (vec![line], false, Some(Message::Line(core, code, line))),
            Message::Write(core) => {
                let write = self.cores[core].writes[0].request;
                let Request { context, tag, kind, .. } = write;
                let old = self.memory_value(&write);
                let hart = (core, context);
                let response = match kind {
                    RequestKind::Store { .. } => None,
                    RequestKind::StoreConditional { .. } => {
                        if self.reserved.get(&hart) != Some(&self.line(write.address)) {
                            self.reserved.remove(&hart);
                            self.responses.push((late, false, Message::Value(core, context, tag, 1)));
                            self.cores[core].writes.remove(0);
                            return true;
                        }
                        Some(Message::Value(core, context, tag, 0))
                    }
                    _ => Some(Message::Value(core, context, tag, old)),
                };
                (self.lines(&write), true, response)
            }
            _ => unreachable!("other messages do not go to the L2"),
        };
        let absent: Vec<u64> =
            lines.iter().copied().filter(|line| !self.sets.values().any(|set| set.line == *line)).collect();
        let victims: Vec<&Set> = absent.iter().filter_map(|&line| self.sets.get(&self.set(line))).collect();
        let coming = self.sets.values().filter(|set| set.coming).count();
        let evicted = victims.iter().filter(|set| set.modified).count();
        if victims.iter().any(|set| set.coming)
            || !absent.is_empty() && coming + absent.len() > self.config.l2_mshrs
            || evicted > 0 && self.write_backs + evicted > self.config.write_backs
        {
            return false;
        }
        self.counts.l2[3] += evicted as u64;
        if self.defect != Defect::NoWriteBack {
            self.write_backs += evicted;
            self.jobs.extend((0..evicted).map(|_| (late, Job::WriteBack)));
        }
        for &line in &absent {
            let place = self.set(line);
            self.sets.insert(place, Set { line, modified: false, coming: true });
            self.jobs.push((late + self.config.memory, Job::Fill(line)));
        }
        for &line in &lines {
            let set = self.sets.values_mut().find(|set| set.line == line).expect("a set");
            set.modified |= modifies;
            let coming = set.coming;
            self.counts.l2[if absent.contains(&line) { 1 } else { usize::from(coming) * 2 }] += 1;
            match response.clone() {
                Some(response) if coming => self.waiting.push((line, response)),
                Some(response) => self.responses.push((late, false, response)),
                None => {}
            }
        }
        if let Message::Write(core) = message {
            self.perform(core, &lines);
        }
        true
    }

    fn memory_value(&self, request: &Request) -> u64 {
        let mut bytes = self.bytes(request.address, request.width.into());
        bytes.resize(8, 0);
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    fn perform(&mut self, core: usize, lines: &[u64]) {
        let write = self.cores[core].writes.remove(0).request;
        let value = match write.kind {
            RequestKind::Store { value } | RequestKind::StoreConditional { value } => value,
            RequestKind::Atomic { kind, operand } => amo(kind, self.memory_value(&write), operand, write.width),
            _ => unreachable!("loads are not written"),
        };
        for place in 0..u64::from(write.width) {
            self.bytes.insert(write.address + place, value.to_le_bytes()[place as usize]);
        }
        if matches!(write.kind, RequestKind::StoreConditional { .. }) {
            self.reserved.remove(&(core, write.context));
        }
        for &line in lines {
            self.written(line, Some((core, write.context)));
        }
    }

    fn written(&mut self, line: u64, writer: Option<(usize, u8)>) {
        if let Some(version) = self.versions.get_mut(&line) {
            *version += 1;
        }
        let kept = if writer.is_some() { Defect::NoInvalidation } else { Defect::NoInvalidationByDma };
        if self.defect != kept {
            for (core, caches) in self.cores.iter_mut().enumerate() {
                if writer.is_none_or(|(own, _)| own != core) {
                    caches.copies[0].retain(|copy| copy.line != line);
                }
            }
        }
        if self.defect == Defect::CoherentCode {
            let bytes = self.bytes(line * self.config.line, self.config.line as usize);
            let copies = self.cores.iter_mut().flat_map(|core| &mut core.copies[1]);
            copies.filter(|copy| copy.line == line).for_each(|copy| copy.bytes.clone_from(&bytes));
        }
        if self.defect != Defect::KeptReservation {
            self.reserved.retain(|hart, reserved| *reserved != line || Some(*hart) == writer);
        }
    }

    fn take_bus(&mut self) {
        let now = self.now;
        let ready = |ready: u64| ready <= now;
        let width = self.config.bus;
        let first = (0..self.responses.len())
            .filter(|&place| ready(self.responses[place].0))
            .min_by_key(|&place| (self.responses[place].0, !self.responses[place].1));
        let requests_wait = (0..self.config.cores).any(|core| self.oldest(core).is_some_and(|one| ready(one.0)));
        if let Some(place) = first.filter(|_| self.defect != Defect::RequestsFirst || !requests_wait) {
            let (_, _, message) = self.responses.remove(place);
            let cycles = if matches!(message, Message::Line(..)) { self.config.line / width } else { 1 };
            self.bus = Some((now + cycles, message));
            return;
        }
        for step in 0..self.config.cores {
            let core = (self.turn + step) % self.config.cores;
            let Some((_, is_write)) = self.oldest(core).filter(|one| ready(one.0)) else { continue };
            self.turn = (core + 1) % self.config.cores;
            if !is_write {
                let (_, code, line) = self.cores[core].wanted.remove(0);
                self.bus = Some((now + 1, Message::WantLine(core, code, line)));
                return;
            }
            let inside = self.range.clone();
            let write = self.cores[core].writes.iter_mut().find(|write| !write.sent).expect("a write");
            write.sent = true;
            let Request { address, width: bytes, .. } = write.request;
            self.bus = Some(if inside.contains(&address) {
                let beats = (address + u64::from(bytes) - 1) / width - address / width + 1;
                (now + beats, Message::Write(core))
            } else {
                (now + 1, Message::Device(core))
            });
            return;
        }
    }

    /// The oldest request of a core, and whether it is a write.
    fn oldest(&self, core: usize) -> Option<(u64, bool)> {
        let caches = &self.cores[core];
        let line = caches.wanted.first().map(|wanted| (wanted.0, false));
        let device = |write: &Pending| !self.range.contains(&write.request.address);
        let mut write = caches.writes.iter().find(|write| !write.sent);
        // A device access is alone.
        let others = caches.writes.iter().filter(|write| write.sent).collect::<Vec<_>>();
        if others.iter().any(|other| device(other)) || write.is_some_and(device) && !others.is_empty() {
            write = None;
        }
        let write = write.map(|write| (write.ready, true));
        line.into_iter().chain(write).min_by_key(|one| (one.0, one.1))
    }
}

/// The value that an atomic writes, by the manual.
fn amo(kind: AtomicKind, old: u64, operand: u64, width: u8) -> u64 {
    let signed = |value: u64| if width == 4 { i64::from(value as i32) } else { value as i64 };
    let unsigned = |value: u64| if width == 4 { u64::from(value as u32) } else { value };
    let pick = |keep: bool| if keep { old } else { operand };
    match kind {
        AtomicKind::Swap => operand,
        AtomicKind::Add => old.wrapping_add(operand),
        AtomicKind::Xor => old ^ operand,
        AtomicKind::And => old & operand,
        AtomicKind::Or => old | operand,
        AtomicKind::Min => pick(signed(old) < signed(operand)),
        AtomicKind::Max => pick(signed(old) > signed(operand)),
        AtomicKind::MinUnsigned => pick(unsigned(old) < unsigned(operand)),
        AtomicKind::MaxUnsigned => pick(unsigned(old) > unsigned(operand)),
        AtomicKind::LoadReserved | AtomicKind::StoreConditional => unreachable!("not an AMO"),
    }
}
