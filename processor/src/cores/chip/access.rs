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
            if context.serial & bit(context.head) != 0 {
                shared.execute_alone(context, index, now, environment);
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
            shared.send_load(context, index, number, now, environment);
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
        self.shared.bind(context, index, number, known, now, environment);
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
            self.execute_alone(context, 0, now, environment);
        }
        let mut unsent = context.unsent;
        while unsent != 0 {
            let number = context.oldest(unsent);
            self.send_load(context, 0, number, now, environment);
            // The load may have removed younger ones.
            unsent &= !bit(number) & context.unsent;
        }
    }

    /// Sends a load, unless it has to wait: for an older instruction of its context, or because memory
    /// refuses it.
    fn send_load<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        number: u64,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let own = bit(number);
        let older = context.before_in_flight(number);
        // Every older store must have an address.
        if older & (context.barriers | context.stores & (context.queued | context.untranslated)) != 0 {
            return;
        }
        let load = context.entry(number);
        let mut stores = context.stores & older;
        while stores != 0 {
            let other = context.youngest(stores);
            let store = context.entry(other);
            if store.overlaps(load) {
                let ready = self.has_second::<S>(context, other, now);
                // A device answers each of its loads itself.
                let device = environment.memory.region(load.address, load.width) == AddressKind::Device;
                if store.decoded.kind != Kind::Store || !store.covers(load) || !ready || device {
                    return;
                }
                let data = self.registers.file[store.sources[1]].value;
                let value = data >> (8 * load.address.wrapping_sub(store.address));
                context.unsent &= !own;
                context.statistics.forwarded += 1;
                let entry = context.entry_mut(number);
                (entry.forwarded, entry.accessed) = (other + 1, now);
                self.bind(context, index, number, Known { value, at: now }, now, environment);
                return;
            }
            stores &= !bit(other);
        }
        // Loads of the same address are performed in order.
        let mut loads = older & (context.unsent | context.pending);
        while loads != 0 {
            let other = context.oldest(loads);
            if context.entry(other).overlaps(load) {
                return;
            }
            loads &= !bit(other);
        }
        let (address, width) = (load.address, load.width);
        if let Some((at, value)) = environment.memory.load_at_once(now, self.number, index as u8, address, width) {
            context.unsent &= !own;
            context.entry_mut(number).accessed = now;
            self.bind_inlined(context, index, number, Known { value, at }, now, environment);
            return;
        }
        match environment.memory.region(load.address, load.width) {
            AddressKind::Memory => {}
            AddressKind::Device if number == context.head => {
                context.barriers |= own;
                context.device_load = number;
            }
            AddressKind::Device => return,
            AddressKind::Nothing => {
                self.fail::<S>(context, index, number, now);
                return;
            }
        }
        let answer = self.request(context, index, number, RequestKind::Load, now, environment);
        match answer {
            MemoryAnswer::Ready { at, value } => {
                context.unsent &= !own;
                self.bind(context, index, number, Known { value, at }, now, environment);
            }
            MemoryAnswer::Pending => {
                context.unsent &= !own;
                context.pending |= own;
            }
            MemoryAnswer::Retry => self.retry = true,
            MemoryAnswer::Fault => self.fail::<S>(context, index, number, now),
        }
    }

    /// Ends an access to an invalid address; it faults if it becomes the oldest instruction.
    pub(super) fn fail<S: Setting>(&mut self, context: &mut Context, index: usize, number: u64, now: u64) {
        let own = bit(number);
        let entry = context.entry_mut(number);
        entry.fails = true;
        let end = now + u64::from(entry.decoded.latency);
        let physical = entry.physical;
        context.unsent &= !own;
        context.serial &= !own;
        context.performed |= own & context.loads;
        self.schedule::<S>(context, index, (number, physical), now, end);
    }

    /// Sends the access of an instruction.
    pub(super) fn request<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        number: u64,
        kind: RequestKind,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) -> MemoryAnswer {
        let tag = self.tag(number);
        let entry = context.entry_mut(number);
        (entry.tag, entry.accessed) = (tag, now);
        let request = MemoryRequest {
            core: self.number,
            context: index as u8,
            tag,
            address: entry.address,
            width: entry.width,
            kind,
        };
        environment.active = true;
        environment.memory.request(now, request)
    }

    /// Gives a load or an atomic its value, which is the content of its address in this cycle.
    pub(super) fn bind<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        number: u64,
        known: Known,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        self.bind_inlined(context, index, number, known, now, environment);
    }

    /// As [`bind`](Self::bind).
    #[expect(clippy::inline_always, reason = "for the frequent load that hits")]
    #[inline(always)]
    fn bind_inlined<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        number: u64,
        Known { value, at }: Known,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let entry = context.entry(number);
        let loads = entry.decoded.kind == Kind::Load;
        let physical = entry.physical;
        self.registers.file[physical].value = entry.extension.extend(value, entry.width);
        let end = at.max(entry.accessed + u64::from(entry.decoded.latency));
        self.schedule::<S>(context, index, (number, physical), now, end);
        // A narrow core that issues in order sends no load before an older one of the same address.
        if S::NARROW || !loads {
            return;
        }
        context.performed |= bit(number);
        // A younger load of the same address may have an older value.
        let younger = (context.performed | context.pending) & context.loads & !context.before(number) & !bit(number);
        if younger != 0 {
            self.repeat_younger(context, index, (number, younger), now, environment);
        }
    }

    /// Removes the loads that took their values from before those of an older load of the same address.
    fn repeat_younger<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        (number, mut younger): (u64, u64),
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        while younger != 0 {
            let other = context.oldest(younger);
            let load = context.entry(other);
            if load.overlaps(context.entry(number)) && load.forwarded <= number {
                self.repeat(context, index, other, now, environment);
                return;
            }
            younger &= !bit(other);
        }
    }

    /// Removes a load that took its value too early, and what follows it; both are fetched again.
    pub(super) fn repeat<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        number: u64,
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        let pc = context.entry(number).pc;
        context.statistics.reordered += 1;
        self.squash(context, index, number, now, environment.config, environment.observer);
        context.redirect(pc, now + environment.config.redirect);
    }
}
