// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events that happen in a cycle without a request.

use super::bus::Message;
use super::l1::L1;
use super::l2::{Access, Response, Which, Work};
use super::memory_bus::Job;
use super::write_buffer::{BufferedAccess, BufferedKind};
use super::{Core, SharedL2};
use crate::memory::system::{CompletedKind, CompletedRequest, Device, DeviceAnswer};
use crate::rv64::extend;

impl<D: Device> SharedL2<D> {
    /// Runs one cycle. Its steps have a fixed order: what ends comes before what begins, and the
    /// memory side before the core side.
    pub(super) fn run(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        if let Some((_, job)) = self.memory.current.take_if(|current| current.0 == cycle) {
            self.end_job(cycle, job, completed);
        }
        if self.memory.current.is_none() {
            self.memory.grant(cycle, &mut self.l2);
        }
        if !self.accesses.is_empty() {
            self.access_devices(cycle, completed);
        }
        if let Some((_, message)) = self.bus.current.take_if(|current| current.0 == cycle) {
            match message {
                Message::ToL2(work) => self.l2.queue.push_back(work),
                Message::ToDevice { core } => self.accesses.push((cycle + self.config.device, core)),
                Message::ToCore(Response::Line { core, which: Which::Data, line }) => {
                    self.data_arrives(cycle, core, line, completed);
                }
                Message::ToCore(Response::Line { core, which: Which::Instruction, line }) => {
                    self.code_arrives(cycle, core, line, completed);
                }
                Message::ToCore(Response::Value { core, context, tag, value, .. }) => {
                    completed.push(CompletedRequest {
                        source: CompletedKind::Data,
                        core,
                        context,
                        tag,
                        at: cycle,
                        value,
                    });
                }
            }
            // A device without latency.
            if self.accesses.iter().any(|access| access.0 == cycle) {
                self.access_devices(cycle, completed);
            }
        }
        if self.l2.free <= cycle
            && let Some(&work) = self.l2.queue.front()
        {
            self.begin(cycle, work);
        }
        if self.bus.current.is_none() {
            self.bus.grant(cycle, &mut self.requests);
        }
        self.next = self.next_cycle();
    }

    fn next_cycle(&self) -> u64 {
        let l2 = if self.l2.queue.is_empty() || self.l2.blocked { u64::MAX } else { self.l2.free };
        let devices = self.accesses.iter().map(|access| access.0).min().unwrap_or(u64::MAX);
        l2.min(devices).min(self.bus.next_event()).min(self.memory.next_event(&self.l2))
    }

    /// Begins an access to the L2, unless it has to wait.
    fn begin(&mut self, cycle: u64, work: Work) {
        match work {
            Work::Line { core, which, line } => {
                if !self.can_begin(line, line) {
                    return;
                }
                let response = Response::Line { core, which, line };
                match self.l2.access(line, false, cycle) {
                    Access::Hit => self.bus.late.push_back((cycle + self.config.l2_hit, response)),
                    Access::Wait(mshr) => self.l2.wait(mshr, response),
                }
            }
            Work::Write { core } => {
                let entry = self.requests[core].writes.front();
                if !self.begin_write(cycle, core, &entry) {
                    return;
                }
                self.end_write(core, entry.context);
            }
        }
        self.l2.queue.pop_front();
        // Also after a store-conditional that lost its reservation while it waited.
        self.l2.blocked = false;
        self.l2.free = cycle + self.config.l2_interval;
    }

    /// The oldest entry of a write buffer is performed.
    fn end_write(&mut self, core: usize, context: u8) {
        self.requests[core].writes.pop();
        self.bus.update(core, &self.requests[core]);
        let hart = self.hart(core, context);
        self.undrained[hart] -= 1;
    }

    /// Whether the L2 can access these lines.
    fn can_begin(&mut self, first: u64, last: u64) -> bool {
        let can = self.l2.can_access(first, last);
        if !can && !self.l2.blocked {
            self.l2.statistics.blocked += 1;
        }
        self.l2.blocked = !can;
        can
    }

    /// Performs the oldest entry of a write buffer, unless it has to wait.
    fn begin_write(&mut self, cycle: u64, core: usize, entry: &BufferedAccess) -> bool {
        let BufferedAccess { address, value, tag, context, width, kind, .. } = *entry;
        let (first, last) = (address >> self.shift, (address + u64::from(width) - 1) >> self.shift);
        let hart = self.hart(core, context);
        let conditional = kind == BufferedKind::Conditional;
        let succeeds = !conditional || self.reservations.is(hart, first);
        let old = self.backing.load(address, width);
        let result = if conditional { u64::from(!succeeds) } else { old };
        let response = Response::Value { core, context, tag, value: result, device: false };
        if !succeeds {
            self.reservations.release(hart);
            self.bus.late.push_back((cycle + self.config.l2_hit, response));
            return true;
        }
        if !self.can_begin(first, last) {
            return false;
        }
        let responds = kind != BufferedKind::Store;
        for line in first..=last {
            match self.l2.access(line, true, cycle) {
                Access::Hit if responds => self.bus.late.push_back((cycle + self.config.l2_hit, response)),
                Access::Wait(mshr) if responds => self.l2.wait(mshr, response),
                _ => {}
            }
            self.written(line, Some((core, hart)));
        }
        if conditional {
            self.reservations.release(hart);
        }
        let value = match kind {
            BufferedKind::Atomic(kind) => kind.combine(extend(old, width, true), value),
            _ => value,
        };
        self.backing.store(address, width, value);
        true
    }

    /// A line changes: by a hart of a core, or by DMA.
    pub(super) fn written(&mut self, line: u64, writer: Option<(usize, usize)>) {
        let info = self.line(line);
        if info.version != 0 {
            // A copy does not live for 2^32 writes.
            info.version = info.version.wrapping_add(1).max(1);
        }
        let own = writer.map_or(0, |(core, _)| 1 << core);
        let mut others = info.sharers & !own;
        info.sharers &= own;
        while others != 0 {
            let Core { data, data_statistics, .. } = &mut self.cores[others.trailing_zeros() as usize];
            others &= others - 1;
            data.remove(line);
            if writer.is_some() {
                data_statistics.invalidated += 1;
            } else {
                data_statistics.invalidated_by_dma += 1;
            }
        }
        self.reservations.written(line, writer.map(|(_, hart)| hart));
    }

    /// A line arrives in a data cache: the loads that need no other line are performed.
    fn data_arrives(&mut self, cycle: u64, core: usize, line: u64, completed: &mut Vec<CompletedRequest>) {
        let mut arrived = std::mem::take(&mut self.arrived);
        let cache = &mut self.cores[core].data;
        cache.release(line, &mut arrived);
        if let (_, Some(victim)) = cache.insert(line, 0) {
            self.line(victim).sharers &= !(1 << core);
        }
        self.line(line).sharers |= 1 << core;
        for &index in &arrived {
            let load = &mut self.cores[core].loads[index as usize];
            load.missing -= 1;
            if load.missing > 0 {
                continue;
            }
            let load = *load;
            self.cores[core].free.push(index);
            if load.reserves {
                let hart = self.hart(core, load.context);
                self.reservations.set(hart, load.address >> self.shift);
            }
            let value = self.value(core, load.context, load.address, load.width, load.end);
            let (context, tag) = (load.context, load.tag);
            completed.push(CompletedRequest { source: CompletedKind::Data, core, context, tag, at: cycle, value });
        }
        self.arrived = arrived;
    }

    /// A line arrives in an instruction cache, with the bytes of this cycle.
    fn code_arrives(&mut self, cycle: u64, core: usize, line: u64, completed: &mut Vec<CompletedRequest>) {
        let info = self.line(line);
        info.version = info.version.max(1);
        let version = info.version;
        let cache: &mut L1 = &mut self.cores[core].instruction;
        cache.release(line, &mut self.arrived);
        let (slot, _) = cache.insert(line, version);
        // The first and the last line of memory may be parts.
        let address = line << self.shift;
        let start = address.max(self.backing.base());
        let end = (address + self.config.line).min(self.backing.base() + self.backing.length());
        let slot = (slot as usize) << self.shift;
        let copy = &mut self.cores[core].code[slot..slot + self.config.line as usize];
        copy.fill(0);
        let bytes = self.backing.get(start, (end - start) as usize).expect("bytes of memory");
        copy[(start - address) as usize..(end - address) as usize].copy_from_slice(bytes);
        completed.extend(self.arrived.iter().map(|&context| CompletedRequest {
            source: CompletedKind::Fetch,
            core,
            context: context as u8,
            tag: 0,
            at: cycle,
            value: address,
        }));
    }

    /// Performs the device accesses whose time has come, in the order of their arrival.
    fn access_devices(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        let mut accesses = std::mem::take(&mut self.accesses);
        accesses.retain_mut(|(due, core)| {
            let core = *core;
            if *due > cycle {
                return true;
            }
            let BufferedAccess { address, value, tag, context, width, kind, .. } = self.requests[core].writes.front();
            let writes = kind == BufferedKind::DeviceWrite;
            let answer = if writes {
                self.device.write(cycle, core, context, address, width, value)
            } else {
                self.device.read(cycle, core, context, address, width)
            };
            let DeviceAnswer::Value(value) = answer else {
                *due = cycle + 1;
                return true;
            };
            if writes {
                completed.push(CompletedRequest {
                    source: CompletedKind::Data,
                    core,
                    context,
                    tag,
                    at: cycle,
                    value: 0,
                });
            } else {
                let response = Response::Value { core, context, tag, value, device: true };
                self.bus.early.push_back((cycle, response));
            }
            self.end_write(core, context);
            false
        });
        self.accesses = accesses;
    }

    /// Something has crossed the memory bus.
    fn end_job(&mut self, cycle: u64, job: Job, completed: &mut Vec<CompletedRequest>) {
        match job {
            Job::Fill(mshr) => self.l2.arrive(mshr, cycle, &mut self.bus.early),
            Job::WriteBack => self.l2.free_write_backs += 1,
            Job::Dma => self.end_part(cycle, completed),
        }
    }

    /// The next part of the oldest DMA transfer has crossed the memory bus.
    fn end_part(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        let Some(mut transfer) = self.memory.transfers.pop_front() else { return };
        let (address, length) = transfer.part(self.config.line);
        let line = address >> self.shift;
        let bytes = &mut transfer.bytes[transfer.done..transfer.done + length];
        if transfer.writes {
            self.backing.get_mut(address, length).expect("bytes of memory").copy_from_slice(bytes);
            self.l2.invalidate(line);
            self.written(line, None);
        } else {
            bytes.copy_from_slice(self.backing.get(address, length).expect("bytes of memory"));
            self.l2.clean(line);
        }
        transfer.done += length;
        transfer.ready = cycle;
        if transfer.done < transfer.bytes.len() {
            self.memory.transfers.push_front(transfer);
            return;
        }
        let (tag, at) = (transfer.tag, cycle);
        completed.push(CompletedRequest { source: CompletedKind::Dma, core: 0, context: 0, tag, at, value: 0 });
        if !transfer.writes {
            self.read.push((tag, transfer.bytes));
        }
    }
}
