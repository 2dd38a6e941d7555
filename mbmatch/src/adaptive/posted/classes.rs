// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Classes of receives: those whose patterns compare the same bits.
//!
//! A class is the ignore bits of a pattern and whether it names a source. Within a class an
//! envelope can match receives of one key only, which the table finds. Class 0 is that of receives
//! without wildcards; the others are assigned as their first receive is posted. MPI needs four. More are assigned
//! once many receives are scanned: each class costs a lookup for every arrival, as much as a scan of some tens.

use crate::log::LANES;
use crate::types::{Envelope, Pattern};

/// The number of classes. With more, looking up a key in each takes longer than a scan of some
/// hundreds of receives.
pub(super) const CLASSES: usize = 8;
/// The classes of MPI: any source, any tag, both, neither.
pub(super) const MPI_CLASSES: u8 = 4;
/// With as many scanned receives as one comparison covers, classes beyond MPI's are assigned.
const WORTH_A_CLASS: u32 = LANES;
/// The class of receives without wildcards.
pub(super) const EXACT: u8 = 0;
/// Stands for the class of scanned receives, which found no free class.
pub(super) const SCANNED: u8 = u8::MAX;

/// What the receives of a class compare, and their number.
#[derive(Clone, Copy, Default)]
pub(super) struct Class {
    compared: u64,
    /// All ones if the source is compared, else zero.
    source_mask: u32,
    /// Receives in the table. Not counted for [`EXACT`].
    pub(super) len: u32,
}

impl Class {
    /// The pattern of a receive of this class, from its key.
    pub(super) fn pattern(&self, Envelope { bits, source }: Envelope) -> Pattern {
        Pattern { bits, ignore: !self.compared, source: (self.source_mask != 0).then_some(source) }
    }

    /// The key of an envelope in this class: what its receives compare.
    #[inline(always)]
    pub(super) fn key(&self, bits: u64, source: u32) -> (u64, u32) {
        (bits & self.compared, source & self.source_mask)
    }
}

/// All classes.
pub(super) struct Classes {
    /// Classes from this one on are unassigned.
    used: u8,
    classes: [Class; CLASSES],
}

impl Classes {
    pub(super) fn new() -> Self {
        Self { used: 1, classes: [Class { compared: u64::MAX, source_mask: u32::MAX, len: 0 }; CLASSES] }
    }

    #[inline(always)]
    pub(super) fn get(&self, class: u8) -> &Class {
        &self.classes[usize::from(class) % CLASSES]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, class: u8) -> &mut Class {
        &mut self.classes[usize::from(class) % CLASSES]
    }

    /// The classes that have wildcards, with their numbers.
    #[inline(always)]
    pub(super) fn with_wildcards(&self) -> impl Iterator<Item = (u8, &Class)> {
        (1..self.used).zip(&self.classes[1..])
    }

    /// The class of a pattern. A new one is assigned if one is free and worth it, with `scanned` receives that are
    /// scanned anyway; else [`SCANNED`].
    #[inline(always)]
    pub(super) fn of_pattern(&mut self, Pattern { ignore, source, .. }: Pattern, scanned: u32) -> u8 {
        if ignore == 0 && source.is_some() {
            return EXACT;
        }
        let (compared, source_mask) = (!ignore, if source.is_some() { u32::MAX } else { 0 });
        for class in 1..self.used {
            let Class { compared: other, source_mask: other_mask, .. } = *self.get(class);
            if (compared, source_mask) == (other, other_mask) {
                return class;
            }
        }
        self.assign(compared, source_mask, scanned)
    }

    #[cold]
    fn assign(&mut self, compared: u64, source_mask: u32, scanned: u32) -> u8 {
        let limit = if scanned < WORTH_A_CLASS { MPI_CLASSES.into() } else { CLASSES };
        let unused = || self.classes.iter().skip(1).position(|class| class.len == 0).map(|at| at + 1);
        let at = if usize::from(self.used) < limit { self.used.into() } else { unused().unwrap_or(CLASSES) };
        if at == CLASSES {
            return SCANNED;
        }
        self.classes[at] = Class { compared, source_mask, len: 0 };
        self.used = self.used.max(at as u8 + 1);
        at as u8
    }

    /// No receive has wildcards: forgets the classes, if there are more than MPI has.
    pub(super) fn forget_unusual(&mut self) {
        if self.used > MPI_CLASSES {
            self.used = 1;
        }
    }
}
