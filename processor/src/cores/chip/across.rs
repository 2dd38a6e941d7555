// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads and stores with bytes in two pages, of contexts with supervisor mode.
//!
//! Such an access executes when it is the oldest instruction of its context, and no later load is sent
//! before it has ended. Both pages are translated first, so that a trap comes before any effect; it names
//! the first byte that has no right or no memory. Then the bytes are moved in parts of 1, 2 and 4 bytes,
//! the next one when memory has taken or answered the one before: the architecture requires no atomicity of
//! a misaligned access. Such accesses never reach devices.

use super::access::Access;
use super::code::Kind;
use super::commit::denied;
use super::context::Context;
use super::core::Shared;
use super::in_flight::bit;
use super::interface::ChipObserver;
use super::pages::{Across, next_page, part};
use super::setting::Setting;
use crate::isa::rv64::supervisor::Exception;
use crate::memory::system::{AddressKind, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};

impl Shared {
    /// Lets an access that was issued wait for its turn.
    pub(super) fn begin_across(context: &mut Context, number: u64) {
        context.serial |= bit(number);
        context.barriers |= bit(number);
    }

    /// Takes the result of a walk for one of the pages.
    pub(super) fn across_found<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        found: Result<u64, Exception>,
        now: u64,
    ) {
        let number = context.head;
        match found {
            Ok(physical) => {
                let pages = &mut context.across.pages;
                pages[usize::from(pages[0].is_some())] = Some(physical);
                context.serial |= bit(number);
                self.retry = true;
            }
            Err(exception) => {
                let address = context.entry(number).address;
                self.fail_across::<S>(context, index, exception, address, now);
            }
        }
    }

    fn fail_across<S: Setting>(
        &mut self,
        context: &mut Context,
        index: usize,
        exception: Exception,
        address: u64,
        now: u64,
    ) {
        let number = context.head;
        context.serial &= !bit(number);
        let entry = context.entry_mut(number);
        (entry.fails, entry.trap, entry.undo) = (true, Some(exception), address);
        let end = now + u64::from(entry.decoded.latency);
        let physical = entry.physical;
        context.performed |= bit(number) & context.loads;
        self.schedule::<S>(context, index, (number, physical), now, end);
    }

    /// Takes a part of a load.
    pub(super) fn across_arrived(&mut self, context: &mut Context, value: u64, at: u64) {
        let number = context.head;
        let width = context.entry(number).width;
        let address = context.entry(number).undo;
        let (_, part) = part(&context.across, address, width);
        context.across.take(part, value, at);
        context.serial |= bit(number);
        self.retry = true;
    }
}

impl<S: Setting> Access<'_, '_, S> {
    /// Continues the oldest instruction, a load, or a store of `stored`.
    pub(super) fn execute_across(&mut self, stored: Option<u64>) {
        let (index, number, now) = (self.index, self.number, self.now);
        let entry = *self.context.entry(number);
        if !self.context.across.belongs_to(number) {
            self.context.across = Across { owner: number + 1, ..Across::default() };
            self.context.entry_mut(number).undo = entry.address;
        }
        if stored.is_some() && !self.shared.has_second::<S>(self.context, number, now) {
            self.shared.retry = true;
            return;
        }
        let (address, width) = (self.context.entry(number).undo, entry.width);
        let Some(()) = self.find_across(address, width) else { return };
        let hart = self.shared.number * self.environment.config.contexts + index;
        while self.context.across.done < width {
            let (physical, part) = part(&self.context.across, address, width);
            let kind = match stored {
                Some(value) => RequestKind::Store { value: value >> (8 * self.context.across.done) },
                None => RequestKind::Load,
            };
            if stored.is_some() && !self.environment.observer.may_write(hart, entry.pc, physical, part) {
                self.shared.fail_hart(index, now, denied(entry.pc, physical, part), self.environment);
                return;
            }
            let tag = if stored.is_some() { 0 } else { self.shared.tag(number) };
            let entry = self.context.entry_mut(number);
            let core = self.shared.number;
            let request = MemoryRequest { core, context: index as u8, tag, address: physical, width: part, kind };
            self.environment.active = true;
            match (self.environment.memory.request(now, request), kind) {
                (MemoryAnswer::Ready { .. } | MemoryAnswer::Pending, RequestKind::Store { value }) => {
                    self.environment.observer.stored(hart, entry.pc, physical, part, value);
                    entry.accessed = now;
                    self.context.across.take(part, 0, now);
                }
                (MemoryAnswer::Ready { at, value }, _) => {
                    entry.accessed = now;
                    self.context.across.take(part, value, at);
                }
                (MemoryAnswer::Pending, _) => {
                    (entry.accessed, entry.tag) = (now, tag);
                    self.context.serial &= !bit(number);
                    self.context.pending |= bit(number);
                    return;
                }
                (MemoryAnswer::Retry, _) => {
                    self.shared.retry = true;
                    return;
                }
                (MemoryAnswer::Fault, _) => {
                    let exception = entry.access().access_fault();
                    self.shared.fail_across::<S>(self.context, index, exception, address, now);
                    return;
                }
            }
        }
        self.end_across();
    }

    /// Looks for the pages of an access; `None`: it waits for a walk, or fails.
    fn find_across(&mut self, address: u64, width: u8) -> Option<()> {
        let (index, number) = (self.index, self.number);
        let access = self.context.entry(number).access();
        let second = next_page(address);
        let first_bytes = second.wrapping_sub(address) as u8;
        for (page, (at, bytes)) in [(address, first_bytes), (second, width - first_bytes)].into_iter().enumerate() {
            let physical = match self.context.across.pages[page] {
                Some(physical) => physical,
                None => match self.shared.find(self.context, index, at, access) {
                    Ok(Some(physical)) => physical,
                    Ok(None) => {
                        self.context.entry_mut(number).address = at;
                        self.context.serial &= !bit(number);
                        self.context.untranslated |= bit(number);
                        self.shared.retry = true;
                        return None;
                    }
                    Err(exception) => {
                        self.shared.fail_across::<S>(self.context, index, exception, at, self.now);
                        return None;
                    }
                },
            };
            if self.environment.memory.region(physical, bytes) != AddressKind::Memory {
                self.shared.fail_across::<S>(self.context, index, access.access_fault(), at, self.now);
                return None;
            }
            self.context.across.pages[page] = Some(physical);
        }
        Some(())
    }

    /// All bytes of the oldest instruction are moved.
    fn end_across(&mut self) {
        let number = self.number;
        let own = bit(number);
        let Across { pages, value, at, .. } = self.context.across;
        self.context.serial &= !own;
        let entry = self.context.entry_mut(number);
        entry.address = pages[0].unwrap_or(0);
        let end = at.max(entry.accessed + u64::from(entry.decoded.latency)).max(self.now + 1);
        let physical = entry.physical;
        self.shared.schedule::<S>(self.context, self.index, (number, physical), self.now, end);
        let entry = self.context.entry_mut(number);
        if entry.decoded.kind == Kind::Store {
            // Memory has its bytes: nothing is sent at commit, and no load takes its value from here.
            entry.width = 0;
            return;
        }
        self.shared.registers.file[entry.physical].value = entry.extension.extend(value, entry.width);
        self.context.performed |= own;
        // A younger load, perhaps of the same bytes, may have an older value.
        let younger =
            (self.context.performed | self.context.pending) & self.context.loads & !self.context.before(number) & !own;
        if younger != 0 {
            self.repeat(self.context.oldest(younger));
        }
    }
}
