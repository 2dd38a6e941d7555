// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sv39 address translation as a function of page-table entries, without memory and without time.
//!
//! A [`Walk`] names the entries that it needs one after the other, so that a hardware walker can
//! read them through caches; [`walk`] reads them at once. The result is a [`Leaf`], whose rights are
//! checked apart, so that a TLB can keep it.
//!
//! Accessed and dirty bits are not updated: a clear A bit, or a clear D bit at a store, is a page
//! fault (Svade). Svnapot, Svpbmt and Svadu do not exist; their bits are reserved.
//!
//! Source: The RISC-V Instruction Set Manual, Volume II: Privileged Architecture, sections "Sv32:
//! Page-Based 32-bit Virtual-Memory Systems" (virtual address translation process) and "Sv39".

use super::traps::{Exception, Privilege};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// The operation of an access on its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// An instruction fetch.
    Fetch,
    /// A load, also a load-reserved.
    Load,
    /// A store, a store-conditional, or another atomic.
    Store,
}

impl Access {
    /// The page fault of an access.
    #[must_use]
    pub const fn page_fault(self) -> Exception {
        match self {
            Self::Fetch => Exception::FetchPage,
            Self::Load => Exception::LoadPage,
            Self::Store => Exception::StorePage,
        }
    }

    /// The access fault of an access.
    #[must_use]
    pub const fn access_fault(self) -> Exception {
        match self {
            Self::Fetch => Exception::FetchAccess,
            Self::Load => Exception::LoadAccess,
            Self::Store => Exception::StoreAccess,
        }
    }
}

/// The state of a hart that decides about rights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrivilegeState {
    /// Privilege of the access.
    pub privilege: Privilege,
    /// sstatus.SUM: supervisor mode may load from and store to user pages.
    pub sum: bool,
    /// sstatus.MXR: loads from executable pages are allowed.
    pub mxr: bool,
}

/// Why a translation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalkFault {
    /// A page fault.
    Page,
    /// An access fault: an entry of the table is not in memory.
    Access,
}

const VALID: u64 = 1;
const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 2;
const EXECUTE: u64 = 1 << 3;
const USER: u64 = 1 << 4;
const GLOBAL: u64 = 1 << 5;
const ACCESSED: u64 = 1 << 6;
const DIRTY: u64 = 1 << 7;
const PPN: u64 = (1 << 44) - 1;

/// A leaf entry: a page of 4 KiB, 2 MiB or 1 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    entry: u64,
    level: u8,
}

impl Leaf {
    /// Bytes of the page.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        PAGE_BYTES << (9 * self.level)
    }

    /// The physical address of a virtual address in the page.
    #[must_use]
    pub const fn physical(self, address: u64) -> u64 {
        let mask = self.bytes() - 1;
        (self.entry >> 10 & PPN) << 12 & !mask | address & mask
    }

    /// Whether the page is in every address space (bit G).
    #[must_use]
    pub const fn is_global(self) -> bool {
        self.entry & GLOBAL != 0
    }

    /// Whether an access is allowed; if not, it is a page fault.
    #[must_use]
    pub fn permits(self, access: Access, mode: PrivilegeState) -> bool {
        let has = |bits: u64| self.entry & bits == bits;
        let owner = match mode.privilege {
            Privilege::User => has(USER),
            Privilege::Supervisor => !has(USER) || mode.sum && access != Access::Fetch,
        };
        let right = match access {
            Access::Fetch => has(EXECUTE | ACCESSED),
            Access::Load => has(ACCESSED) && (has(READ) || mode.mxr && has(EXECUTE)),
            Access::Store => has(WRITE | ACCESSED | DIRTY),
        };
        owner && right
    }
}

/// A walk that needs the entry at [`entry_address`](Self::entry_address).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    address: u64,
    table: u64,
    level: u8,
}

/// The next step of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// With another entry.
    Walk(Walk),
    /// It ends at a leaf.
    Leaf(Leaf),
}

impl Walk {
    /// Begins the translation of a virtual address with the root table at physical page `root`.
    ///
    /// # Errors
    /// A page fault: bits 63 to 39 of the address differ from bit 38.
    pub const fn new(root: u64, address: u64) -> Result<Self, WalkFault> {
        if (address << 25) as i64 >> 25 != address as i64 {
            return Err(WalkFault::Page);
        }
        Ok(Self { address, table: (root & PPN) << 12, level: 2 })
    }

    /// Physical address of the entry that the walk needs, of 8 bytes.
    #[must_use]
    pub const fn entry_address(self) -> u64 {
        self.table + (self.address >> (12 + 9 * self.level) & 511) * 8
    }

    /// Continues with the value of this entry.
    ///
    /// # Errors
    /// A page fault: the entry is not valid, or uses an encoding that is reserved.
    pub const fn step(self, entry: u64) -> Result<Next, WalkFault> {
        let reserved = entry >> 54 != 0 || entry & (READ | WRITE) == WRITE;
        if entry & VALID == 0 || reserved {
            return Err(WalkFault::Page);
        }
        let number = entry >> 10 & PPN;
        if entry & (READ | EXECUTE) != 0 {
            // A page larger than 4 KiB must be aligned to its size.
            if number & ((1 << (9 * self.level)) - 1) != 0 {
                return Err(WalkFault::Page);
            }
            return Ok(Next::Leaf(Leaf { entry, level: self.level }));
        }
        if self.level == 0 || entry & (USER | ACCESSED | DIRTY) != 0 {
            return Err(WalkFault::Page);
        }
        Ok(Next::Walk(Self { address: self.address, table: number << 12, level: self.level - 1 }))
    }
}

/// Translates a virtual address; `read` returns the entry at a physical address, or `None` if it is
/// not in memory.
///
/// # Errors
/// See [`WalkFault`]. Rights are not checked: see [`Leaf::permits`].
pub fn walk(root: u64, address: u64, mut read: impl FnMut(u64) -> Option<u64>) -> Result<Leaf, WalkFault> {
    let mut walk = Walk::new(root, address)?;
    loop {
        let entry = read(walk.entry_address()).ok_or(WalkFault::Access)?;
        match walk.step(entry)? {
            Next::Walk(next) => walk = next,
            Next::Leaf(leaf) => return Ok(leaf),
        }
    }
}
