// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TLBs of a core and the hardware that walks page tables through its caches.

use super::across::{crosses, misaligned};
use super::code::Kind;
use super::context::Context;
use super::core::Shared;
use super::in_flight::bit;
use super::setting::{Environment, Setting};
use crate::isa::rv64::supervisor::{Exception, Supervisor};
use crate::isa::rv64::sv39::{Access, Leaf, Next, PAGE_BYTES, Walk, WalkFault};
use crate::memory::system::{AddressKind, MemoryAnswer, MemoryRequest, MemorySystem, RequestKind};

/// The TLBs of each core, which its contexts share. Both are fully associative with least recently
/// used replacement, and look up in the cycle of the fetch or of the address calculation, so that a
/// hit costs nothing.
///
/// A miss waits for the walker of the core, which serves one miss at a time: data before
/// instructions, contexts in order of their numbers, the oldest access first. Each entry of a page
/// table is a load of the core, which begins in the cycle in which the value before it is known, so
/// that a walk costs what caches and memory say. The access continues in the cycle in which the last
/// entry is known. Walks may be speculative; invalid entries are not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(preset)]
pub struct TranslationConfig {
    /// Entries of the instruction TLB.
    #[parameter(range = 1..=1024)]
    pub instruction_entries: usize,
    /// Entries of the data TLB.
    #[parameter(range = 1..=1024)]
    pub data_entries: usize,
}

impl Default for TranslationConfig {
    /// 64 and 64 entries: the instruction TLB of 128 entries in two contexts and the data TLB of 64
    /// entries of the Pentium 4 (Hinton et al., *The Microarchitecture of the Pentium 4 Processor*,
    /// Intel Technology Journal, 2001) have this size for one context.
    fn default() -> Self {
        Self { instruction_entries: 64, data_entries: 64 }
    }
}

/// Tag of the requests of the walker. Those of instructions begin at 128, that of stores is 0.
pub(super) const WALK_TAG: u32 = 1;

#[derive(Clone, Copy, Debug)]
struct TlbEntry {
    /// First address of the page.
    start: u64,
    asid: u16,
    leaf: Leaf,
    /// When it was used last.
    used: u64,
}

impl TlbEntry {
    #[inline]
    const fn has(&self, address: u64, asid: u16) -> bool {
        address.wrapping_sub(self.start) < self.leaf.bytes() && (self.asid == asid || self.leaf.is_global())
    }
}

#[derive(Clone, Debug)]
struct Tlb {
    entries: Vec<TlbEntry>,
    capacity: usize,
    uses: u64,
    /// The entry in which a page was found last, by the number of the page modulo the length. It affects the speed of
    /// the simulation only.
    found: [u16; Self::FOUND],
}

impl Tlb {
    const FOUND: usize = 64;

    fn new(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), capacity, uses: 0, found: [0; Self::FOUND] }
    }

    fn find(&mut self, address: u64, asid: u16) -> Option<Leaf> {
        if let Some(leaf) = self.find_again(address, asid) {
            return Some(leaf);
        }
        self.uses += 1;
        let place = self.entries.iter().position(|entry| entry.has(address, asid))?;
        self.found[Self::place(address)] = place as u16;
        let entry = &mut self.entries[place];
        entry.used = self.uses;
        Some(entry.leaf)
    }

    /// As [`find`](Self::find), in the entry in which the page was found last.
    #[inline]
    fn find_again(&mut self, address: u64, asid: u16) -> Option<Leaf> {
        let place = usize::from(self.found[Self::place(address)]);
        let entry = self.entries.get_mut(place).filter(|entry| entry.has(address, asid))?;
        self.uses += 1;
        entry.used = self.uses;
        Some(entry.leaf)
    }

    const fn place(address: u64) -> usize {
        (address / PAGE_BYTES) as usize % Self::FOUND
    }

    fn insert(&mut self, address: u64, asid: u16, leaf: Leaf) {
        self.uses += 1;
        let entry = TlbEntry { start: address & !(leaf.bytes() - 1), asid, leaf, used: self.uses };
        if self.entries.len() < self.capacity {
            self.entries.push(entry);
        } else if let Some(oldest) = self.entries.iter_mut().min_by_key(|entry| entry.used) {
            *oldest = entry;
        }
    }

    /// Drops the translations of an address and an address space; `None` for all of them. Global
    /// ones stay if an address space is named.
    fn drop(&mut self, address: Option<u64>, asid: Option<u16>) {
        self.entries.retain(|entry| {
            let other_page = address.is_some_and(|address| address.wrapping_sub(entry.start) >= entry.leaf.bytes());
            let other_space = asid.is_some_and(|asid| entry.leaf.is_global() || entry.asid != asid);
            other_page || other_space
        });
    }
}

/// Whose page is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Miss {
    context: usize,
    address: u64,
    fetch: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    /// The next entry is to be requested.
    Send(Walk),
    Pending(Walk),
    /// The value of an entry, known in this cycle.
    Arrived(Walk, u64, u64),
}

/// The TLBs and the walker of a core.
#[derive(Clone, Debug)]
pub(super) struct Translation {
    instructions: Tlb,
    data: Tlb,
    miss: Miss,
    asid: u16,
    state: State,
    /// The last walk, if it found no page.
    failed: Option<(Miss, WalkFault)>,
    /// A fence came during the walk: its result is not used.
    stale: bool,
}

impl Translation {
    pub(super) fn new(config: &TranslationConfig) -> Self {
        Self {
            instructions: Tlb::new(config.instruction_entries),
            data: Tlb::new(config.data_entries),
            miss: Miss { context: 0, address: 0, fetch: false },
            asid: 0,
            state: State::Idle,
            failed: None,
            stale: false,
        }
    }

    /// sfence.vma.
    pub(super) fn fence(&mut self, address: Option<u64>, asid: Option<u16>) {
        self.instructions.drop(address, asid);
        self.data.drop(address, asid);
        self.failed = None;
        self.stale = true;
    }

    /// The physical address of data that may be accessed, in a page that was found before. `None`: [`find`](Self::find)
    /// has the answer.
    #[inline]
    pub(super) fn find_again(&mut self, supervisor: &Supervisor, address: u64, access: Access) -> Option<u64> {
        if supervisor.root().is_none() {
            return Some(address);
        }
        let leaf = self.data.find_again(address, supervisor.asid())?;
        leaf.permits(access, supervisor.mode()).then(|| leaf.physical(address))
    }

    /// The physical address; `None` if the page must be looked for.
    pub(super) fn find(
        &mut self,
        context: usize,
        supervisor: &Supervisor,
        address: u64,
        access: Access,
    ) -> Result<Option<u64>, Exception> {
        if supervisor.root().is_none() {
            return Ok(Some(address));
        }
        let fetch = access == Access::Fetch;
        let tlb = if fetch { &mut self.instructions } else { &mut self.data };
        if let Some(leaf) = tlb.find(address, supervisor.asid()) {
            let allowed = leaf.permits(access, supervisor.mode());
            return if allowed { Ok(Some(leaf.physical(address))) } else { Err(access.page_fault()) };
        }
        let miss = Miss { context, address: address & !(PAGE_BYTES - 1), fetch };
        match self.failed {
            Some((failed, fault)) if failed == miss => {
                self.failed = None;
                Err(match fault {
                    WalkFault::Page => access.page_fault(),
                    WalkFault::Access => access.access_fault(),
                })
            }
            _ => Ok(None),
        }
    }

    /// Whether no walk is under way.
    #[inline]
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Takes the value of the entry that was requested.
    pub(super) fn arrived(&mut self, at: u64, value: u64) {
        if let State::Pending(walk) = self.state {
            self.state = State::Arrived(walk, at, value);
        }
    }
}

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
