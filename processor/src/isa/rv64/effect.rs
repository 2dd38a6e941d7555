// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The effect of an RV64 instruction on its state, as values.

use super::csr::CsrAccess;

/// The effect of an instruction with given operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Writes this value to the destination.
    Value(u64),
    /// Writes this value to the destination, which is a general or a floating-point register, and
    /// accrues exceptions.
    Float {
        /// The value; one of single precision is NaN-boxed.
        value: u64,
        /// The exceptions: bits of `fflags`.
        flags: u8,
    },
    /// A branch or jump.
    Branch {
        /// Whether a conditional branch is taken; true for a jump.
        taken: bool,
        /// Address of the next instruction.
        next: u64,
        /// The value for the destination, if there is one: the address after this instruction.
        link: u64,
    },
    /// Writes the value at `address`, [extended](Extension), to the destination. Any alignment.
    Load {
        /// First byte.
        address: u64,
        /// Length in bytes: 1, 2, 4 or 8.
        width: u8,
        /// The extension to the higher bits of the destination.
        extension: Extension,
    },
    /// Writes the low `width` bytes of `value` to memory. Any alignment.
    Store {
        /// First byte.
        address: u64,
        /// Length in bytes: 1, 2, 4 or 8.
        width: u8,
        /// The value; its higher bytes have no meaning.
        value: u64,
    },
    /// An access of the A extension. `address` must be a multiple of `width`; if not, the
    /// instruction faults. The destination receives the old value, sign-extended, or for a
    /// store-conditional 0 (success) or 1.
    Atomic {
        /// First byte.
        address: u64,
        /// Length in bytes: 4 or 8.
        width: u8,
        /// Which access.
        kind: AtomicKind,
        /// The second operand; sign-extended if `width` is 4.
        operand: u64,
    },
    /// Orders memory accesses.
    Fence(FenceOrder),
    /// fence.i: later fetches of this hart see its earlier stores.
    FenceInstruction,
    /// A hint that the hart spins.
    Pause,
    /// Waits until the reservation of the hart is lost. Waiting may also end at any time.
    WaitOnReservation {
        /// Whether the wait ends after a short time in any case (wrs.sto).
        short: bool,
    },
    /// Accesses a control and status register. Who executes it decides whether the register exists.
    Csr(CsrAccess),
    /// A system call.
    Call,
    /// An illegal instruction: its bits.
    Illegal(u32),
}

/// What a fence orders: the accesses before it of one set with those after it of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceOrder {
    /// Device inputs (bit 3), device outputs (2), reads (1) and writes (0) before the fence.
    pub predecessors: u8,
    /// The same sets, after the fence.
    pub successors: u8,
    /// fence.tso: writes before the fence are not ordered with reads after it.
    pub tso: bool,
}

impl FenceOrder {
    /// The fields of a fence instruction.
    pub(super) const fn of(word: u32) -> Self {
        let (predecessors, successors) = (word >> 24 & 15, word >> 20 & 15);
        Self { predecessors: predecessors as u8, successors: successors as u8, tso: word >> 28 == 8 }
    }

    /// Whether a write before the fence, to memory or to a device, must be performed before a read
    /// after it. Only then must the hart wait for its store buffer, if the buffer keeps the order of
    /// stores.
    #[must_use]
    pub const fn writes_before_reads(self) -> bool {
        !self.tso && self.predecessors & 0b0101 != 0 && self.successors & 0b1010 != 0
    }
}

/// The accesses of the A extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicKind {
    /// lr: reads, and reserves.
    LoadReserved,
    /// sc: writes if the reservation is held.
    StoreConditional,
    /// amoswap.
    Swap,
    /// amoadd.
    Add,
    /// amoxor.
    Xor,
    /// amoand.
    And,
    /// amoor.
    Or,
    /// amomin.
    Min,
    /// amomax.
    Max,
    /// amominu.
    MinUnsigned,
    /// amomaxu.
    MaxUnsigned,
}

impl AtomicKind {
    /// The value that the access writes. Values of 4 bytes are sign-extended, which changes neither
    /// the signed nor the unsigned order; of the result, only the low bytes have a meaning. A
    /// load-reserved keeps the old value, a successful store-conditional writes its operand.
    #[inline]
    #[must_use]
    pub const fn combine(self, old: u64, operand: u64) -> u64 {
        let (signed, unsigned) = ((old as i64) < operand as i64, old < operand);
        let keeps = match self {
            Self::LoadReserved => true,
            Self::StoreConditional | Self::Swap => false,
            Self::Add => return old.wrapping_add(operand),
            Self::Xor => return old ^ operand,
            Self::And => return old & operand,
            Self::Or => return old | operand,
            Self::Min => signed,
            Self::Max => !signed,
            Self::MinUnsigned => unsigned,
            Self::MaxUnsigned => !unsigned,
        };
        if keeps { old } else { operand }
    }
}

/// The extension of a loaded value to the width of the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extension {
    /// Zeros.
    Zero,
    /// Copies of the sign bit.
    Sign,
    /// Ones: the NaN box of a value of single precision.
    NanBox,
}

impl Extension {
    /// The value that a load of `width` bytes (1, 2, 4 or 8) writes to its register; `value` holds
    /// the bytes in its low part.
    #[inline]
    #[must_use]
    pub const fn extend(self, value: u64, width: u8) -> u64 {
        match self {
            Self::Zero => extend(value, width, false),
            Self::Sign => extend(value, width, true),
            Self::NanBox => match width {
                8 => value,
                width => value | u64::MAX << (8 * width),
            },
        }
    }
}

/// A value of `width` bytes (1, 2, 4 or 8) as a register holds it; `value` holds the bytes in its
/// low part.
#[inline]
#[must_use]
pub const fn extend(value: u64, width: u8, signed: bool) -> u64 {
    // Without a jump for each width, as widths are hard to predict.
    let unused = (u64::BITS - 8 * width as u32) % u64::BITS;
    let shifted = value << unused;
    if signed { (shifted as i64 >> unused) as u64 } else { shifted >> unused }
}
