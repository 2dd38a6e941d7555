// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The posted receives of `adaptive`.
//!
//! A receive belongs to the class of its wildcards: its ignore bits, and whether it names a source. MPI has four. Among
//! the receives of a class an arrival can fit only those of one key, so it looks into each class that has receives,
//! one chain each, and takes the oldest of what it finds. Classes are given out as they come; receives of a class
//! that found none left are compared one by one, 64 at a time.

use super::chains::{Chains, Quick};
use super::odd::Odd;
use crate::scan::Unit;
use crate::types::{Envelope, Handle, OutOfMemory, Pattern};

/// Classes with chains. More of them, and an arrival that looks into all takes longer than comparing some hundreds of
/// receives one by one.
const CLASSES: usize = 8;
/// Those that MPI has: any source, any tag, both, neither.
const MPI_CLASSES: u8 = 4;
/// So many receives are sooner looked at one by one than by class, and of more than two classes twice as many as there are
/// classes.
const FEW: u32 = 2;
/// The class of receives without wildcards; it is always there.
const EXACT: u8 = 0;
/// The class of receives that are compared one by one.
const ODD: u8 = u8::MAX;

/// What a receive is stamped with: its number in order of age, and its class.
#[inline(always)]
fn stamp(age: u64, class: u8) -> u64 {
    age << 8 | u64::from(class)
}

#[inline(always)]
fn age(stamp: u64) -> u64 {
    stamp >> 8
}

#[inline(always)]
fn class(stamp: u64) -> u8 {
    stamp as u8
}

/// What a handle has of a stamp; a message's has bit 0.
#[inline(always)]
fn generation(stamp: u64) -> u32 {
    (age(stamp) as u32) << 2 | 2
}

/// Receives of one kind of wildcard.
#[derive(Clone, Copy, Default)]
struct Class {
    compared: u64,
    /// All ones if a source is named, else zero.
    source_mask: u32,
    len: u32,
}

pub(super) struct PostedReceives {
    /// Receives with wildcards.
    wild: u32,
    /// Numbers the receives in order of age.
    age: u64,
    chains: Chains,
    /// Classes from here on were never used.
    classes_used: u8,
    classes: [Class; CLASSES],
    odd: Odd,
}

impl PostedReceives {
    pub(super) fn new(unit: Unit) -> Self {
        Self {
            wild: 0,
            age: 0,
            chains: Chains::new(4),
            classes_used: 1,
            classes: [Class { compared: u64::MAX, source_mask: u32::MAX, len: 0 }; CLASSES],
            odd: Odd::new(unit),
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.chains.len() + self.odd.len()
    }

    /// Appends a receive without wildcards if that is a matter of a few instructions; else nothing happens.
    #[inline(always)]
    pub(super) fn append_quickly(&mut self, envelope: Envelope, user: u64) -> Option<Handle> {
        let stamp = stamp(self.age, EXACT);
        let place =
            self.chains.append_quickly((envelope.bits, envelope.source), stamp, user, |other| class(other) == EXACT)?;
        self.age += 1;
        Some(Handle::new(place, generation(stamp)))
    }

    /// Numbers one more receive.
    #[inline(always)]
    fn next_stamp(&mut self, class: u8) -> u64 {
        let stamp = stamp(self.age, class);
        self.age += 1;
        stamp
    }

    #[inline(always)]
    pub(super) fn append(
        &mut self,
        bits: u64,
        ignore: u64,
        source: Option<u32>,
        user: u64,
    ) -> Result<Handle, OutOfMemory> {
        let source_mask = if source.is_some() { u32::MAX } else { 0 };
        let its_class = self.class_of(!ignore, source_mask);
        if its_class == ODD {
            let handle = self.odd.append(Pattern { bits, ignore, source }, user, self.age)?;
            self.next_stamp(ODD);
            self.wild += 1;
            return Ok(handle);
        }
        self.chains.make_room()?;
        if its_class != EXACT {
            self.classes[usize::from(its_class) % CLASSES].len += 1;
            self.wild += 1;
        }
        let stamp = self.next_stamp(its_class);
        let key = (bits & !ignore, source.unwrap_or(0));
        let place = self.chains.append(key, stamp, user, |other| class(other) == its_class);
        Ok(Handle::new(place, generation(stamp)))
    }

    /// The class of a pattern, a new one if there is one to spare.
    #[inline(always)]
    fn class_of(&mut self, compared: u64, source_mask: u32) -> u8 {
        for class in 0..self.classes_used {
            let Class { compared: other, source_mask: other_mask, .. } = self.classes[usize::from(class) % CLASSES];
            if (compared, source_mask) == (other, other_mask) {
                return class;
            }
        }
        self.new_class(compared, source_mask)
    }

    #[cold]
    fn new_class(&mut self, compared: u64, source_mask: u32) -> u8 {
        let unused = || self.classes.iter().skip(1).position(|class| class.len == 0).map(|at| at + 1);
        let at = if usize::from(self.classes_used) < CLASSES {
            self.classes_used.into()
        } else {
            unused().unwrap_or(CLASSES)
        };
        if at == CLASSES {
            return ODD;
        }
        self.classes[at] = Class { compared, source_mask, len: 0 };
        self.classes_used = self.classes_used.max(at as u8 + 1);
        at as u8
    }

    /// Takes the oldest receive that accepts `envelope`, if that is a matter of a few instructions.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self, envelope: Envelope) -> Quick {
        if self.wild > 0 {
            Quick::Ask
        } else if self.chains.len() == 0 {
            Quick::Nothing
        } else {
            self.chains.take_quickly(envelope.bits, envelope.source)
        }
    }

    /// Takes the oldest receive that accepts an envelope; returns its user value.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u64, source: u32) -> Option<u64> {
        if self.wild > 0 {
            return self.take_oldest(bits, source);
        }
        if self.chains.len() == 0 {
            return None;
        }
        let first = self.chains.find(bits, source, |_| true)?;
        Some(self.chains.take(first).user)
    }

    /// Takes the oldest receive that accepts an envelope, with wildcards or without.
    #[inline(always)]
    fn take_oldest(&mut self, bits: u64, source: u32) -> Option<u64> {
        let few = if self.classes_used > 3 { 2 * u32::from(self.classes_used) } else { FEW };
        let oldest = if self.chains.len() <= few && self.chains.is_near() {
            self.oldest_of_few(bits, source)
        } else {
            self.oldest_of_classes(bits, source)
        };
        if self.odd.len() > 0
            && let Some(first) = self.odd.find(Envelope { bits, source })
            && oldest.is_none_or(|(_, stamp)| self.odd.age(first) < age(stamp))
        {
            self.uncount(ODD);
            return Some(self.odd.take(first));
        }
        let (place, stamp) = oldest?;
        let its_class = class(stamp);
        self.uncount(its_class);
        Some(self.chains.take_first_at(place, |other| class(other) == its_class).user)
    }

    /// The place and stamp of the oldest receive in a chain that accepts an envelope, of receives that are looked at one by
    /// one.
    #[inline(always)]
    fn oldest_of_few(&self, bits: u64, source: u32) -> Option<(u32, u64)> {
        let mut oldest = None;
        self.chains.each_of_near(|place, key, stamp| {
            let Class { compared, source_mask, .. } = self.classes[usize::from(class(stamp)) % CLASSES];
            let other = (key.bits ^ bits) & compared | u64::from((key.source ^ source) & source_mask);
            if other == 0 && oldest.is_none_or(|(_, least)| stamp < least) {
                oldest = Some((place, stamp));
            }
        });
        oldest
    }

    /// The place and stamp of the oldest receive in a chain that accepts an envelope.
    #[inline(always)]
    fn oldest_of_classes(&self, bits: u64, source: u32) -> Option<(u32, u64)> {
        let mut oldest = None;
        let mut see = |place, stamp| {
            if oldest.is_none_or(|(_, least)| stamp < least) {
                oldest = Some((place, stamp));
            }
        };
        // Where nothing is missing of the key, a receive accepts the envelope, whatever its class.
        self.chains.each_first(bits, source, &mut see);
        for (at, kind) in (1..self.classes_used).zip(&self.classes[1..]) {
            let key = (bits & kind.compared, source & kind.source_mask);
            if kind.len > 0 && key != (bits, source) {
                self.chains.each_first(key.0, key.1, |place, stamp| {
                    if class(stamp) == at {
                        see(place, stamp);
                    }
                });
            }
        }
        oldest
    }

    /// A receive leaves.
    #[inline(always)]
    fn uncount(&mut self, class: u8) {
        if class != EXACT {
            self.wild -= 1;
            if class != ODD {
                self.classes[usize::from(class) % CLASSES].len -= 1;
            }
            // MPI's stay, so that one receive with a wildcard after the other finds its class.
            if self.wild == 0 && self.classes_used > MPI_CLASSES {
                self.classes_used = 1;
            }
        }
    }

    /// Takes a receive back; returns its user value.
    #[inline(always)]
    pub(super) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        let place = handle.index();
        let Some(stamp) = self.chains.stamp_at(place) else { return self.cancel_odd(handle) };
        let its_class = class(stamp);
        let is_it = |stamp| generation(stamp) == handle.generation();
        let user = self.chains.take_back(place, is_it, |other| class(other) == its_class)?;
        self.uncount(its_class);
        Some(user)
    }

    #[cold]
    fn cancel_odd(&mut self, handle: Handle) -> Option<u64> {
        let user = self.odd.cancel(handle)?;
        self.uncount(ODD);
        Some(user)
    }

    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), OutOfMemory> {
        self.chains.reserve(receives)
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.odd.bytes()
    }
}
