// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TLBs of a core and the state of its walker.

use crate::isa::rv64::supervisor::{Exception, Supervisor};
use crate::isa::rv64::sv39::{Access, Leaf, PAGE_BYTES, Walk, WalkFault};

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
pub(super) struct Tlb {
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

    pub(super) fn insert(&mut self, address: u64, asid: u16, leaf: Leaf) {
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
pub(super) struct Miss {
    pub(super) context: usize,
    pub(super) address: u64,
    pub(super) fetch: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
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
    pub(super) instructions: Tlb,
    pub(super) data: Tlb,
    pub(super) miss: Miss,
    pub(super) asid: u16,
    pub(super) state: State,
    /// The last walk, if it found no page.
    pub(super) failed: Option<(Miss, WalkFault)>,
    /// A fence came during the walk: its result is not used.
    pub(super) stale: bool,
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
