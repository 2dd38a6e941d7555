// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Translations that a functional hart keeps. This is not a model of a TLB.

use crate::isa::rv64::supervisor::{Exception, Privilege, Supervisor};
use crate::isa::rv64::sv39::{Access, Leaf, PAGE_BYTES, WalkFault, walk};
use crate::memory::Memory;

/// Translations for each kind of access and mode; a power of two.
const ENTRIES: usize = 256;
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct KeptTranslation {
    /// Virtual page number.
    number: u64,
    /// First byte of the physical page, all of which is memory.
    physical: u64,
}

/// The translations of a hart.
#[derive(Clone, Debug)]
pub(super) struct Translations {
    /// By mode, then kind of access, then page number.
    entries: Vec<KeptTranslation>,
    /// Page number and index of the code page in use.
    pub(super) code: (u64, usize),
}

impl Translations {
    pub(super) fn new() -> Self {
        let empty = KeptTranslation { number: NONE, physical: 0 };
        Self { entries: vec![empty; 6 * ENTRIES], code: (NONE, 0) }
    }

    /// Drops all translations.
    pub(super) fn clear(&mut self) {
        self.entries.fill(KeptTranslation { number: NONE, physical: 0 });
        self.code.0 = NONE;
    }

    /// The next fetch translates its address again: the mode or the decoded code changed.
    pub(super) fn leave_code(&mut self) {
        self.code.0 = NONE;
    }

    #[inline]
    fn place(privilege: Privilege, access: Access, number: u64) -> usize {
        (privilege as usize * 3 + access as usize) * ENTRIES + number as usize % ENTRIES
    }

    /// The physical address of an access to bytes of one page.
    #[inline]
    pub(super) fn physical(
        &mut self,
        memory: &Memory,
        supervisor: &Supervisor,
        address: u64,
        access: Access,
    ) -> Result<u64, Exception> {
        let number = address / PAGE_BYTES;
        let place = Self::place(supervisor.privilege(), access, number);
        let entry = self.entries[place];
        if entry.number == number {
            return Ok(entry.physical + address % PAGE_BYTES);
        }
        self.find(memory, supervisor, address, access, place)
    }

    #[cold]
    fn find(
        &mut self,
        memory: &Memory,
        supervisor: &Supervisor,
        address: u64,
        access: Access,
        place: usize,
    ) -> Result<u64, Exception> {
        let physical = translate(memory, supervisor, address, access)?;
        let page = physical & !(PAGE_BYTES - 1);
        // Devices and pages that are memory in part only are checked at each access.
        if memory.get(page, PAGE_BYTES as usize).is_some() {
            self.entries[place] = KeptTranslation { number: address / PAGE_BYTES, physical: page };
        }
        Ok(physical)
    }
}

/// The physical address of a virtual address, by a walk.
fn translate(memory: &Memory, supervisor: &Supervisor, address: u64, access: Access) -> Result<u64, Exception> {
    let Some(root) = supervisor.root() else { return Ok(address) };
    let leaf = walk(root, address, |entry| memory.read(entry).map(u64::from_le_bytes));
    match leaf {
        Ok(leaf) if Leaf::permits(leaf, access, supervisor.mode()) => Ok(leaf.physical(address)),
        Ok(_) | Err(WalkFault::Page) => Err(access.page_fault()),
        Err(WalkFault::Access) => Err(access.access_fault()),
    }
}
