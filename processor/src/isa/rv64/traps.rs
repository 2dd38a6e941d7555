// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Privilege modes, and the causes of traps.
//!
//! Source: The RISC-V Instruction Set Manual, Volume II: Privileged Architecture, chapter
//! "Supervisor-Level ISA"; sections in quotes below are of this chapter.

/// Privilege modes, with their encoding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Privilege {
    /// User mode.
    User = 0,
    /// Supervisor mode.
    Supervisor = 1,
}

/// Synchronous exceptions, with their codes ("Supervisor Cause Register").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exception {
    /// A fetch from an address without memory.
    FetchAccess = 1,
    /// An illegal instruction.
    Illegal = 2,
    /// ebreak.
    Breakpoint = 3,
    /// A misaligned load-reserved.
    LoadMisaligned = 4,
    /// A load from an address without memory, or a load-reserved from a device.
    LoadAccess = 5,
    /// A misaligned atomic other than load-reserved.
    StoreMisaligned = 6,
    /// A store to an address without memory, or an atomic to a device.
    StoreAccess = 7,
    /// ecall in user mode.
    UserCall = 8,
    /// A page fault of a fetch.
    FetchPage = 12,
    /// A page fault of a load.
    LoadPage = 13,
    /// A page fault of a store or atomic.
    StorePage = 15,
}

/// Interrupts, with their codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// Of another hart.
    Software = 1,
    /// time has reached stimecmp.
    Timer = 5,
    /// Of a device.
    External = 9,
}

/// The cause of a trap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrapCause {
    /// An exception, with the value for stval.
    Exception(Exception, u64),
    /// An interrupt.
    Interrupt(Interrupt),
}
