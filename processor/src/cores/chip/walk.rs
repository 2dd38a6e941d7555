// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The walker of a core, which reads page tables through its caches, and the accesses that wait for it.

use super::code::Kind;
use super::context::Context;
use super::core::Shared;
use super::in_flight::bit;
use super::pages::{crosses, misaligned};
use super::setting::{Environment, Setting};
use super::translation::{Miss, State, WALK_TAG};
use crate::isa::rv64::supervisor::Exception;
use crate::isa::rv64::sv39::{Access, Next, PAGE_BYTES, Walk, WalkFault};
use crate::memory::system::{AddressKind, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};

impl Shared {
    /// The physical address of an access of a context; `None` if it waits for a walk.
    pub(super) fn find(
        &mut self,
        context: &Context,
        index: usize,
        address: u64,
        access: Access,
    ) -> Result<Option<u64>, Exception> {
        match (&mut self.translation, &context.supervisor) {
            (Some(translation), Some(supervisor)) => translation.find(index, supervisor, address, access),
            _ => Ok(Some(address)),
        }
    }

    /// Continues the walk, and the accesses that wait for it.
    pub(super) fn translate<S: Setting>(
        &mut self,
        contexts: &mut [Context],
        now: u64,
        environment: &mut Environment<'_, S>,
    ) {
        if self.translation.is_none() {
            return;
        }
        loop {
            for (index, context) in contexts.iter_mut().enumerate() {
                let mut waiting = context.untranslated;
                while waiting != 0 {
                    let number = context.oldest(waiting);
                    waiting &= !bit(number);
                    self.translate_access::<S>(context, index, number, now);
                }
            }
            if !self.walk(contexts, now, environment) {
                return;
            }
        }
    }

    /// Translates the address of an access, and continues the access if the translation is known.
    #[inline(never)]
    pub(super) fn translate_access<S: Setting>(&mut self, context: &mut Context, index: usize, number: u64, now: u64) {
        let entry = *context.entry(number);
        let (address, own) = (entry.address, bit(number));
        let access = entry.access();
        let width = u64::from(entry.width);
        let atomic = entry.decoded.kind == Kind::Atomic;
        let continues = context.across.belongs_to(number);
        if !atomic && !continues && crosses(address, entry.width) {
            Self::begin_across(context, number);
            return;
        }
        let found = if atomic && !address.is_multiple_of(width.max(1)) {
            Err(misaligned(access))
        } else {
            self.find(context, index, address, access)
        };
        if found == Ok(None) {
            context.untranslated |= own;
            return;
        }
        context.untranslated &= !own;
        if continues {
            self.across_found::<S>(context, index, found.map(|physical| physical.unwrap_or(address)), now);
            return;
        }
        let entry = context.entry_mut(number);
        entry.undo = address;
        match found {
            Ok(physical) => {
                entry.address = physical.unwrap_or(address);
                self.addressed::<S>(context, index, number, now);
            }
            Err(exception) => {
                entry.fails = true;
                entry.trap = Some(exception);
                let end = now + u64::from(entry.decoded.latency);
                let physical = entry.physical;
                context.performed |= own & context.loads;
                self.schedule::<S>(context, index, (number, physical), now, end);
            }
        }
    }

    /// Continues the walk, or begins one for an access that waits. True: a walk has ended, and
    /// accesses can be tried again.
    fn walk<S: Setting>(&mut self, contexts: &mut [Context], now: u64, environment: &mut Environment<'_, S>) -> bool {
        let Some(translation) = &mut self.translation else { return false };
        loop {
            let next = match translation.state {
                State::Pending(_) => return false,
                State::Idle => {
                    let data = contexts.iter().enumerate().find(|(_, context)| context.untranslated != 0);
                    let data = data.map(|(index, context)| {
                        (index, context.entry(context.oldest(context.untranslated)).address, false)
                    });
                    let fetch = || contexts.iter().position(|context| context.fetch.translates.is_some());
                    let fetch = || fetch().map(|index| (index, contexts[index].fetch.translates.unwrap_or(0), true));
                    let Some((context, address, fetch)) = data.or_else(fetch) else { return false };
                    let Some(supervisor) = &contexts[context].supervisor else { return false };
                    translation.miss = Miss { context, address: address & !(PAGE_BYTES - 1), fetch };
                    translation.asid = supervisor.asid();
                    translation.failed = None;
                    translation.stale = false;
                    let walk = Walk::new(supervisor.root().unwrap_or(0), address).map(State::Send);
                    contexts[context].statistics.walks += 1;
                    walk
                }
                State::Send(walk) => {
                    let address = walk.entry_address();
                    let context = translation.miss.context as u8;
                    let kind = RequestKind::Load;
                    let request = MemoryRequest { core: self.number, context, tag: WALK_TAG, address, width: 8, kind };
                    environment.active = true;
                    let answer = match environment.memory.region(address, 8) {
                        AddressKind::Memory => environment.memory.request(now, request),
                        AddressKind::Device | AddressKind::Nothing => MemoryAnswer::Fault,
                    };
                    match answer {
                        MemoryAnswer::Ready { at, value } => Ok(State::Arrived(walk, at, value)),
                        MemoryAnswer::Pending => Ok(State::Pending(walk)),
                        MemoryAnswer::Retry => {
                            self.retry = true;
                            return false;
                        }
                        MemoryAnswer::Fault => Err(WalkFault::Access),
                    }
                }
                State::Arrived(_, at, _) if at > now => {
                    self.deadline = self.deadline.min(at);
                    return false;
                }
                State::Arrived(walk, _, value) => match walk.step(value) {
                    Ok(Next::Walk(walk)) => Ok(State::Send(walk)),
                    Ok(Next::Leaf(leaf)) => {
                        let Miss { address, fetch, .. } = translation.miss;
                        let tlb = if fetch { &mut translation.instructions } else { &mut translation.data };
                        if !translation.stale {
                            tlb.insert(address, translation.asid, leaf);
                        }
                        Ok(State::Idle)
                    }
                    Err(fault) => Err(fault),
                },
            };
            let ended = matches!(next, Ok(State::Idle) | Err(_));
            translation.state = match next {
                Ok(state) => state,
                Err(fault) => {
                    if !translation.stale {
                        translation.failed = Some((translation.miss, fault));
                    }
                    State::Idle
                }
            };
            if ended {
                for context in contexts {
                    context.fetch.translates = None;
                }
                return true;
            }
        }
    }
}
