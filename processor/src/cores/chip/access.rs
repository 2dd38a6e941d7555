// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory accesses: loads, and forwarding from stores in flight.

use super::code::Kind;
use super::config::ChipConfig;
use super::context::Context;
use super::core::{Core, Shared, lowest_two};
use super::in_flight::bit;
use super::setting::{Environment, Setting};
use super::translation::WALK_TAG;
use crate::memory::system::{
    AddressKind, CompletedKind, CompletedRequest, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind,
};

/// A value of memory, and the cycle from which later instructions can use it.
pub(super) struct Known {
    pub(super) value: u64,
    pub(super) at: u64,
}

/// A memory access, or another instruction that executes alone, in a cycle.
pub(super) struct Access<'a, 'e, S: Setting> {
    pub(super) shared: &'a mut Shared,
    pub(super) context: &'a mut Context,
    /// The context's number in its core.
    pub(super) index: usize,
    /// The instruction's number in its context.
    pub(super) number: u64,
    pub(super) now: u64,
    pub(super) environment: &'a mut Environment<'e, S>,
}

impl Core {
    /// Executes instructions that are the oldest of their context and execute alone, contexts in
    /// turns, and sends loads, the older first.
    pub(super) fn access<S: Setting>(&mut self, now: u64, environment: &mut Environment<'_, S>) {
        let Self { contexts, shared } = self;
        if contexts.iter().all(|context| context.serial | context.unsent == 0) {
            return;
        }
        let count = contexts.len();
        let mut index = (now % count as u64) as usize;
        for _ in 0..count {
            let context = &mut contexts[index];
            let number = context.head;
            if context.serial & bit(number) != 0 {
                Access { shared, context, index, number, now, environment }.execute_alone();
            }
            index = if index + 1 == count { 0 } else { index + 1 };
        }
        let mut all = [u64::MAX; ChipConfig::MAX_CONTEXTS];
        let ages = &mut all[..count];
        let mut unsent = [0; ChipConfig::MAX_CONTEXTS];
        let mut any = false;
        for (index, context) in contexts.iter().enumerate() {
            if context.unsent != 0 {
                unsent[index] = context.unsent;
                ages[index] = context.entry(context.oldest(context.unsent)).age;
                any = true;
            }
        }
        if !any {
            return;
        }
        loop {
            let (index, age, _) = lowest_two(ages);
            if age == u64::MAX {
                break;
            }
            let context = &mut contexts[index];
            let number = context.oldest(unsent[index]);
            Access { shared, context, index, number, now, environment }.send_load();
            // The load may have removed younger ones.
            unsent[index] &= !bit(number) & context.unsent;
            ages[index] = match unsent[index] {
                0 => u64::MAX,
                rest => context.entry(context.oldest(rest)).age,
            };
        }
    }

    /// Takes a completed request.
    pub(super) fn complete<S: Setting>(
        &mut self,
        now: u64,
        completion: &CompletedRequest,
        environment: &mut Environment<'_, S>,
    ) {
        let index = usize::from(completion.context);
        if completion.source == CompletedKind::Data
            && completion.tag == WALK_TAG
            && let Some(translation) = &mut self.shared.translation
        {
            translation.arrived(completion.at.max(now), completion.value);
            return;
        }
        let context = &mut self.contexts[index];
        if completion.source == CompletedKind::Fetch {
            context.fetch.pending = false;
            return;
        }
        // The tag has the number of the instruction modulo 128; the other bits tell whether it is the
        // one that sent the request, and not a later one in its place.
        let offset = (u64::from(completion.tag) & 127).wrapping_sub(context.head) & 127;
        let number = context.head + offset;
        if number >= context.renamed
            || context.pending & bit(number) == 0
            || context.entry(number).tag != completion.tag
        {
            return;
        }
        context.pending &= !bit(number);
        if context.across.belongs_to(number) {
            self.shared.across_arrived(context, completion.value, completion.at.max(now));
            return;
        }
        let known = Known { value: completion.value, at: completion.at.max(now) };
        Access { shared: &mut self.shared, context, index, number, now, environment }.bind(known);
    }
}

impl Shared {
    /// As [`Core::access`], for the only context of a core.
    #[inline]
    pub(super) fn access_alone<S: Setting>(
        &mut self,
        context: &mut Context,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        if context.serial != 0 && context.serial & bit(context.head) != 0 {
            let number = context.head;
            Access { shared: self, context, index: 0, number, now, environment }.execute_alone();
        }
        let mut unsent = context.unsent;
        while unsent != 0 {
            let number = context.oldest(unsent);
            Access { shared: self, context, index: 0, number, now, environment }.send_load();
            // The load may have removed younger ones.
            unsent &= !bit(number) & context.unsent;
        }
    }
}

impl<S: Setting> Access<'_, '_, S> {
    /// Sends a load, unless it has to wait: for an older instruction of its context, or because memory
    /// refuses it.
    fn send_load(&mut self) {
        let (number, now) = (self.number, self.now);
        let own = bit(number);
        let older = self.context.before_in_flight(number);
        // Every older store must have an address.
        if older & (self.context.barriers | self.context.stores & (self.context.queued | self.context.untranslated))
            != 0
        {
            return;
        }
        let load = self.context.entry(number);
        let mut stores = self.context.stores & older;
        while stores != 0 {
            let other = self.context.youngest(stores);
            let store = self.context.entry(other);
            if store.overlaps(load) {
                let ready = self.shared.has_second::<S>(self.context, other, now);
                // A device answers each of its loads itself.
                let device = self.environment.memory.region(load.address, load.width) == AddressKind::Device;
                if store.decoded.kind != Kind::Store || !store.covers(load) || !ready || device {
                    return;
                }
                let data = self.shared.registers.file[store.sources[1]].value;
                let value = data >> (8 * load.address.wrapping_sub(store.address));
                self.context.unsent &= !own;
                self.context.statistics.forwarded += 1;
                let entry = self.context.entry_mut(number);
                (entry.forwarded, entry.accessed) = (other + 1, now);
                self.bind(Known { value, at: now });
                return;
            }
            stores &= !bit(other);
        }
        // Loads of the same address are performed in order.
        let mut loads = older & (self.context.unsent | self.context.pending);
        while loads != 0 {
            let other = self.context.oldest(loads);
            if self.context.entry(other).overlaps(load) {
                return;
            }
            loads &= !bit(other);
        }
        let (address, width) = (load.address, load.width);
        if let Some((at, value)) =
            self.environment.memory.load_at_once(now, self.shared.number, self.index as u8, address, width)
        {
            self.context.unsent &= !own;
            self.context.entry_mut(number).accessed = now;
            self.bind_inlined(Known { value, at });
            return;
        }
        match self.environment.memory.region(load.address, load.width) {
            AddressKind::Memory => {}
            AddressKind::Device if number == self.context.head => {
                self.context.barriers |= own;
                self.context.device_load = number;
            }
            AddressKind::Device => return,
            AddressKind::Nothing => {
                self.fail();
                return;
            }
        }
        let answer = self.request(RequestKind::Load);
        match answer {
            MemoryAnswer::Ready { at, value } => {
                self.context.unsent &= !own;
                self.bind(Known { value, at });
            }
            MemoryAnswer::Pending => {
                self.context.unsent &= !own;
                self.context.pending |= own;
            }
            MemoryAnswer::Retry => self.shared.retry = true,
            MemoryAnswer::Fault => self.fail(),
        }
    }

    /// Ends an access to an invalid address; it faults if it becomes the oldest instruction.
    pub(super) fn fail(&mut self) {
        let number = self.number;
        let own = bit(number);
        let entry = self.context.entry_mut(number);
        entry.fails = true;
        let end = self.now + u64::from(entry.decoded.latency);
        let physical = entry.physical;
        self.context.unsent &= !own;
        self.context.serial &= !own;
        self.context.performed |= own & self.context.loads;
        self.shared.schedule::<S>(self.context, self.index, (number, physical), self.now, end);
    }

    /// Sends the access of an instruction.
    pub(super) fn request(&mut self, kind: RequestKind) -> MemoryAnswer {
        let tag = self.shared.tag(self.number);
        let entry = self.context.entry_mut(self.number);
        (entry.tag, entry.accessed) = (tag, self.now);
        let request = MemoryRequest {
            core: self.shared.number,
            context: self.index as u8,
            tag,
            address: entry.address,
            width: entry.width,
            kind,
        };
        self.environment.active = true;
        self.environment.memory.request(self.now, request)
    }

    /// Gives a load or an atomic its value, which is the content of its address in this cycle.
    pub(super) fn bind(&mut self, known: Known) {
        self.bind_inlined(known);
    }

    /// As [`bind`](Self::bind).
    #[expect(clippy::inline_always, reason = "for the frequent load that hits")]
    #[inline(always)]
    fn bind_inlined(&mut self, Known { value, at }: Known) {
        let number = self.number;
        let entry = self.context.entry(number);
        let loads = entry.decoded.kind == Kind::Load;
        let physical = entry.physical;
        self.shared.registers.file[physical].value = entry.extension.extend(value, entry.width);
        let end = at.max(entry.accessed + u64::from(entry.decoded.latency));
        self.shared.schedule::<S>(self.context, self.index, (number, physical), self.now, end);
        // A narrow core that issues in order sends no load before an older one of the same address.
        if S::NARROW || !loads {
            return;
        }
        self.context.performed |= bit(number);
        // A younger load of the same address may have an older value.
        let younger = (self.context.performed | self.context.pending)
            & self.context.loads
            & !self.context.before(number)
            & !bit(number);
        if younger != 0 {
            self.repeat_younger(younger);
        }
    }

    /// Removes the loads that took their values from before those of an older load of the same address.
    fn repeat_younger(&mut self, mut younger: u64) {
        while younger != 0 {
            let other = self.context.oldest(younger);
            let load = self.context.entry(other);
            if load.overlaps(self.context.entry(self.number)) && load.forwarded <= self.number {
                self.repeat(other);
                return;
            }
            younger &= !bit(other);
        }
    }

    /// Removes a load that took its value too early, and what follows it; both are fetched again.
    pub(super) fn repeat(&mut self, load: u64) {
        let pc = self.context.entry(load).pc;
        self.context.statistics.reordered += 1;
        self.squash(load);
        self.context.redirect(pc, self.now + self.environment.config.redirect);
    }

    /// Removes an instruction and what follows it.
    pub(super) fn squash(&mut self, first: u64) {
        let Self { shared, context, index, now, environment, .. } = self;
        shared.squash(context, *index, first, *now, environment.config, environment.observer);
    }
}
