// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens in a cycle of the naive machine.

use mb_processor::rv64::AtomicKind;
use mb_processor::system::{CompletedKind, CompletedRequest, MemoryRequest, RequestKind};

use super::{Copy, Defect, Job, Message, Naive, Pending, Set};

impl Naive {
    /// Simulates the cycles up to and including `cycle`.
    pub(crate) fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        while self.now < cycle {
            self.now += 1;
            self.cycle(completed);
        }
    }

    fn cycle(&mut self, completed: &mut Vec<CompletedRequest>) {
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
                    completed.push(CompletedRequest {
                        source: CompletedKind::Data,
                        core,
                        context,
                        tag,
                        at: now,
                        value,
                    });
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

    fn end_part(&mut self, completed: &mut Vec<CompletedRequest>) {
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
            completed.push(CompletedRequest { source: CompletedKind::Dma, core: 0, context: 0, tag, at, value: 0 });
            if !write {
                self.read.push((tag, transfer.bytes));
            }
        }
    }

    fn devices(&mut self, completed: &mut Vec<CompletedRequest>) {
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
            let MemoryRequest { context, tag, kind, .. } = self.cores[core].writes.remove(0).request;
            if let RequestKind::Store { value } = kind {
                self.device.value += value;
                completed.push(CompletedRequest { source: CompletedKind::Data, core, context, tag, at: now, value: 0 });
            } else {
                self.responses.push((now, true, Message::Value(core, context, tag, self.device.value)));
                self.device.value += 1;
            }
        }
    }

    fn arrive(&mut self, core: usize, code: bool, line: u64, completed: &mut Vec<CompletedRequest>) {
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
            completed.push(CompletedRequest { source, core, context, tag, at: now, value });
        };
        if code {
            let place = self.cores[core].fetches.iter().position(|fetch| fetch.0 == line).expect("a fetch");
            for context in self.cores[core].fetches.remove(place).1 {
                complete(context, 0, CompletedKind::Fetch, line * self.config.line);
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
            let MemoryRequest { context, tag, address, kind, .. } = load.request;
            if kind == RequestKind::LoadReserved {
                self.reserved.insert((core, context), self.line(address));
            }
            let value = self.value(&load.request, load.number).0;
            complete(
                context,
                tag,
                CompletedKind::Data,
                if self.defect == Defect::EarlyValue { load.early } else { value },
            );
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
                let MemoryRequest { context, tag, kind, .. } = write;
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

    fn memory_value(&self, request: &MemoryRequest) -> u64 {
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
            let MemoryRequest { address, width: bytes, .. } = write.request;
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
