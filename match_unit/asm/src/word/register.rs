// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registers of the three files, and addresses of the microcode store.

use std::fmt;

use crate::layout::STORE_WORDS;

macro_rules! register {
    ($name:ident, $prefix:literal, $doc:literal, $constant:ident, $value:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub(super) u8);

        impl $name {
            #[doc = concat!("Register 0, which reads as ", $value, " and cannot be written.")]
            pub const $constant: Self = Self(0);
            /// How many there are.
            pub const COUNT: usize = 16;

            /// Register number `index`, if there is one.
            #[must_use]
            pub const fn new(index: u8) -> Option<Self> {
                if index < 16 { Some(Self(index)) } else { None }
            }

            /// Its number, below 16.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether it is register 0.
            #[must_use]
            pub const fn is_constant(self) -> bool {
                self.0 == 0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

register!(AluReg, "a", "One of the 16 ALU registers of 64 bits.", ZERO, "zero");
register!(TernaryReg, "t", "One of the 16 ternary registers of 64 bits.", ONES, "all ones");
register!(Predicate, "p", "One of the 16 predicates of one bit.", TRUE, "one");

impl Predicate {
    /// Where the ALU's comparison of `section` (0 to 3) goes: p8 to p11.
    ///
    /// # Panics
    /// When there is no such section.
    #[must_use]
    pub const fn of_alu(section: usize) -> Self {
        assert!(section < 4, "a word has four sections");
        Self(8 + section as u8)
    }

    /// Where the ternary comparison of `section` (0 to 3) goes: p12 to p15.
    ///
    /// # Panics
    /// When there is no such section.
    #[must_use]
    pub const fn of_ternary(section: usize) -> Self {
        assert!(section < 4, "a word has four sections");
        Self(12 + section as u8)
    }

    /// Whether the predicate unit can write it: p1 to p7.
    #[must_use]
    pub const fn is_free(self) -> bool {
        self.0 >= 1 && self.0 <= 7
    }
}

/// An address in the microcode store, in words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Address(pub(super) u16);

impl Address {
    /// Word number `index`, if the largest store has it.
    #[must_use]
    pub const fn new(index: usize) -> Option<Self> {
        if index < STORE_WORDS { Some(Self(index as u16)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A register of any of the three files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Register {
    /// Of the ALU.
    Alu(AluReg),
    /// Of the ternary unit.
    Ternary(TernaryReg),
    /// A predicate.
    Predicate(Predicate),
}

impl Register {
    /// The register with this name: `a3`, `t15`, `p0`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let (file, number) = name.split_at_checked(1)?;
        let is_number = !number.is_empty() && number.len() <= 2 && number.bytes().all(|byte| byte.is_ascii_digit());
        let index = number.parse().ok().filter(|_| is_number && (number == "0" || !number.starts_with('0')))?;
        match file {
            "a" => AluReg::new(index).map(Self::Alu),
            "t" => TernaryReg::new(index).map(Self::Ternary),
            "p" => Predicate::new(index).map(Self::Predicate),
            _ => None,
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alu(reg) => reg.fmt(f),
            Self::Ternary(reg) => reg.fmt(f),
            Self::Predicate(reg) => reg.fmt(f),
        }
    }
}
