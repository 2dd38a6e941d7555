// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control and status registers: accesses, counters, and the floating-point status.

/// An access to a control and status register (Zicsr).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CsrAccess {
    /// Number of the register, 0 to 0xfff.
    pub number: u16,
    /// The use of its old value.
    pub kind: CsrKind,
    /// The value of the source register, or the immediate.
    pub operand: u64,
    /// Whether the register is read. If not, the destination is x0.
    pub reads: bool,
    /// Whether the register is written.
    pub writes: bool,
    /// The bits of the instruction, for a fault.
    pub word: u32,
}

/// The operation of an access to a control and status register on its old value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CsrKind {
    /// Replaces it: csrrw, csrrwi.
    Write,
    /// Sets the bits of the operand: csrrs, csrrsi.
    Set,
    /// Clears the bits of the operand: csrrc, csrrci.
    Clear,
}

impl CsrAccess {
    /// The access of a CSR instruction, for a value of its source register.
    pub(super) const fn of(word: u32, register: u64) -> Self {
        let field = word >> 15 & 31;
        let kind = match word >> 12 & 3 {
            1 => CsrKind::Write,
            2 => CsrKind::Set,
            _ => CsrKind::Clear,
        };
        let replaces = matches!(kind, CsrKind::Write);
        Self {
            number: (word >> 20) as u16,
            kind,
            operand: if word >> 14 & 1 == 1 { field as u64 } else { register },
            reads: !replaces || word >> 7 & 31 != 0,
            writes: replaces || field != 0,
            word,
        }
    }

    /// The value that is written, for the old value.
    #[must_use]
    pub const fn combine(&self, old: u64) -> u64 {
        match self.kind {
            CsrKind::Write => self.operand,
            CsrKind::Set => old | self.operand,
            CsrKind::Clear => old & !self.operand,
        }
    }

    /// The counter that is read, if the access reads a counter and writes nothing.
    #[must_use]
    pub const fn counter(&self) -> Option<Counter> {
        match self.number {
            0xc00 if !self.writes => Some(Counter::Cycle),
            0xc01 if !self.writes => Some(Counter::Time),
            0xc02 if !self.writes => Some(Counter::Retired),
            _ => None,
        }
    }
}

/// The counters of Zicntr.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// Cycles.
    Cycle,
    /// Time, which counts cycles too.
    Time,
    /// Executed instructions of the hart.
    Retired,
}

/// A rounding mode, with the encodings of the field `rm` and of `frm`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rounding {
    /// RNE: to nearest, ties to even.
    #[default]
    NearestEven,
    /// RTZ: towards zero.
    TowardZero,
    /// RDN: towards negative infinity.
    Down,
    /// RUP: towards positive infinity.
    Up,
    /// RMM: to nearest, ties away from zero.
    NearestAway,
    /// 5, 6 or 7 in `frm`: an instruction that rounds dynamically is illegal.
    Reserved(u8),
}

impl Rounding {
    /// The five modes.
    pub const MODES: [Self; 5] = [Self::NearestEven, Self::TowardZero, Self::Down, Self::Up, Self::NearestAway];

    /// The mode of an encoding, 0 to 7.
    #[must_use]
    pub const fn of(bits: u8) -> Self {
        match bits {
            0 => Self::NearestEven,
            1 => Self::TowardZero,
            2 => Self::Down,
            3 => Self::Up,
            4 => Self::NearestAway,
            bits => Self::Reserved(bits),
        }
    }

    /// Its encoding.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NearestEven => 0,
            Self::TowardZero => 1,
            Self::Down => 2,
            Self::Up => 3,
            Self::NearestAway => 4,
            Self::Reserved(bits) => bits,
        }
    }

    /// The mode of an instruction, for the dynamic mode; `None` if it is reserved.
    #[inline]
    pub(super) const fn effective(word: u32, dynamic: Self) -> Option<Self> {
        match word >> 12 & 7 {
            7 => match dynamic {
                Self::Reserved(_) => None,
                mode => Some(mode),
            },
            bits => Some(Self::of(bits as u8)),
        }
    }
}

/// The floating-point status of a hart, `fcsr`: accrued exceptions and the dynamic rounding mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FloatStatus {
    /// Accrued exceptions, `fflags`: [`FloatStatus::INVALID`] and the others.
    pub flags: u8,
    /// The dynamic rounding mode, `frm`.
    pub rounding: Rounding,
}

impl FloatStatus {
    /// NX: the result is rounded.
    pub const INEXACT: u8 = 1;
    /// UF: the result is tiny and rounded.
    pub const UNDERFLOW: u8 = 2;
    /// OF: the result is larger than the largest finite value.
    pub const OVERFLOW: u8 = 4;
    /// DZ: an infinite result of finite operands.
    pub const DIVISION_BY_ZERO: u8 = 8;
    /// NV: the operation has no defined result.
    pub const INVALID: u8 = 16;

    /// Number of `fflags`.
    pub const FFLAGS: u16 = 1;
    /// Number of `frm`.
    pub const FRM: u16 = 2;
    /// Number of `fcsr`.
    pub const FCSR: u16 = 3;

    /// Performs an access to `fflags`, `frm` or `fcsr`, and returns the old value; `None` for
    /// another register.
    pub const fn access(&mut self, access: &CsrAccess) -> Option<u64> {
        let (flags, rounding) = (self.flags as u64, self.rounding.bits() as u64);
        let old = match access.number {
            Self::FFLAGS => flags,
            Self::FRM => rounding,
            Self::FCSR => rounding << 5 | flags,
            _ => return None,
        };
        if access.writes {
            let new = access.combine(old);
            if access.number != Self::FRM {
                self.flags = new as u8 & 31;
            }
            match access.number {
                Self::FRM => self.rounding = Rounding::of(new as u8 & 7),
                Self::FCSR => self.rounding = Rounding::of((new >> 5) as u8 & 7),
                _ => {}
            }
        }
        Some(old)
    }
}
