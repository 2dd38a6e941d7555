// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The four 16-bit sections of a word: how an operation groups them, and sets of them.

use std::fmt;

/// Which of the three boundaries between 16-bit sections an operation crosses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Chain(pub(super) u8);

/// Sections `low` to `high` that act as one number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    /// Lowest section, 0 to 3.
    pub low: usize,
    /// Highest section, `low` to 3; a comparison gives its result here.
    pub high: usize,
}

impl Group {
    /// The bits of a 64-bit word that belong to the group.
    #[must_use]
    pub const fn mask(self) -> u64 {
        (u64::MAX << (16 * self.low)) & (u64::MAX >> (16 * (3 - self.high)))
    }

    /// Width in bits: 16, 32, 48 or 64.
    #[must_use]
    pub const fn width(self) -> u32 {
        16 * (self.high - self.low + 1) as u32
    }
}

impl Chain {
    /// All boundaries crossed: one number of 64 bits.
    pub const WHOLE: Self = Self(0b111);
    /// No boundary crossed: four numbers of 16 bits; also what logic operations carry.
    pub const SPLIT: Self = Self(0);

    /// From the `simd` bits: bit i chains section i to section i+1.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits < 8 { Some(Self(bits)) } else { None }
    }

    /// The `simd` bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether section `section` is chained to the next higher one; never so for section 3.
    #[must_use]
    pub const fn crosses(self, section: usize) -> bool {
        self.0 >> section & 1 == 1
    }

    /// The groups, the one with section 0 first.
    pub fn groups(self) -> impl Iterator<Item = Group> {
        let mut low = 0;
        (0..4).filter(move |&high| !self.crosses(high)).map(move |high| {
            let group = Group { low, high };
            low = high + 1;
            group
        })
    }

    /// Whether `section` is the highest of its group.
    #[must_use]
    pub const fn ends_at(self, section: usize) -> bool {
        !self.crosses(section)
    }
}

/// The widths of the groups from the highest to the lowest, as programs write them: `32:16:16`.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<Group> = self.groups().collect();
        for (place, group) in groups.iter().rev().enumerate() {
            let colon = if place == 0 { "" } else { ":" };
            write!(f, "{colon}{}", group.width())?;
        }
        Ok(())
    }
}

/// A set of the four sections.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sections(pub(super) u8);

impl Sections {
    /// From four bits: bit s is section s.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits < 16 { Some(Self(bits)) } else { None }
    }

    /// The four bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether `section` is in it.
    #[must_use]
    pub const fn contains(self, section: usize) -> bool {
        self.0 >> section & 1 == 1
    }

    /// Its sections, lowest first.
    #[must_use]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..4).filter(move |&section| self.contains(section))
    }
}
