// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An instruction in flight: what is kept of it from fetch to commit.

use super::code::Decoded;
use super::registers::Physical;
use crate::isa::rv64::supervisor::Exception;
use crate::isa::rv64::sv39::Access;
use crate::isa::{AtomicKind, Effect, Extension, Rounding};

/// The bit of an instruction in the masks.
#[inline]
pub(super) const fn bit(number: u64) -> u64 {
    1_u64 << (number & 63)
}

/// The cycles in which an instruction passed the stages of the pipeline; 0 where it has not been.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Times {
    pub(super) renamed: u64,
    pub(super) issued: u64,
    pub(super) written: u64,
}

/// An instruction in flight. The first 64 bytes, a cache line of the host, are what every instruction
/// uses. What follows has no meaning for instructions of [`Kind::Integer`], except `age`. What concerns
/// an access is set when the instruction is issued.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct InFlight {
    pub(super) decoded: Decoded,
    pub(super) pc: u64,
    /// Cycle of its fetch.
    pub(super) fetched: u64,
    /// The register that it writes.
    pub(super) physical: Physical,
    /// The register that held the value before.
    pub(super) previous: Physical,
    /// The registers that it reads.
    pub(super) sources: [Physical; 3],
    /// Floating-point exceptions that it raises.
    pub(super) flags: u8,
    /// Whether its access is invalid, which is a fault when the instruction is the oldest.
    pub(super) fails: bool,
    /// Address of the next instruction: predicted until the instruction executes.
    pub(super) next: u64,
    /// Order of fetch in its core, if this has several contexts.
    pub(super) age: u64,
    /// Address of its access. The deadline of a wrs.sto.
    pub(super) address: u64,
    /// Cycle of its access.
    pub(super) accessed: u64,
    /// What undoes the fetch of the instruction: of a call, what it overwrote in the return stack; of
    /// a conditional branch, the history before it. Of an access, and of an instruction that cannot
    /// be fetched, its address before translation.
    pub(super) undo: u64,
    /// The store that a load took its value from, by its number plus 1; 0 for memory.
    pub(super) forwarded: u64,
    /// Index of the counter that predicted a conditional branch.
    pub(super) counter: u32,
    /// Tag of its request.
    pub(super) tag: u32,
    /// Length of its access.
    pub(super) width: u8,
    /// The extension of a loaded value to the width of the register.
    pub(super) extension: Extension,
    /// Whether it is a taken branch.
    pub(super) taken: bool,
    /// The exception of a context with supervisor mode, if it is not that of an invalid access.
    pub(super) trap: Option<Exception>,
}

impl InFlight {
    /// Clears the fields of an access, which an earlier instruction in the same slot has left.
    #[inline]
    pub(super) const fn begin_access(&mut self) {
        self.address = 0;
        self.accessed = 0;
        self.undo = 0;
        self.forwarded = 0;
        self.tag = 0;
        self.width = 0;
        self.extension = Extension::Zero;
        self.trap = None;
    }

    /// The addresses of its access.
    #[inline]
    pub(super) const fn overlaps(&self, other: &Self) -> bool {
        // Differences instead of sums: an access may end at the highest address.
        other.address.wrapping_sub(self.address) < self.width as u64
            || self.address.wrapping_sub(other.address) < other.width as u64
    }

    /// The kind of its access: an atomic is a store, except a load-reserved.
    pub(super) fn access(&self) -> Access {
        let effect = self.decoded.operation.evaluate(self.pc, [0; 3], Rounding::NearestEven);
        match effect {
            Effect::Load { .. } | Effect::Atomic { kind: AtomicKind::LoadReserved, .. } => Access::Load,
            _ => Access::Store,
        }
    }

    /// Whether the access of `other` is inside its own.
    #[inline]
    pub(super) const fn covers(&self, other: &Self) -> bool {
        let offset = other.address.wrapping_sub(self.address);
        offset < self.width as u64 && offset + other.width as u64 <= self.width as u64
    }
}
