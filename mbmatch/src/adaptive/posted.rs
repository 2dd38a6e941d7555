// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The posted receives of `adaptive`.
//!
//! A few are in [`Short`]. Of more, a receive belongs to the class of its wildcards: its ignore bits, and whether it
//! names a source. MPI has four. Among the receives of a class an arrival can fit only those of one key, so it looks into
//! each class that has receives, one chain each, and takes the oldest of what it finds. Classes are given out as they
//! come; receives of a class that found none left are compared one by one, 64 at a time.

use super::chains::{Chains, First, Quick};
use super::odd::Odd;
use super::short::{Entry, SLOTS, Short};
use crate::scan::Unit;
use crate::types::{Envelope, Handle, OutOfMemory, Pattern};

/// Classes with chains. More of them, and an arrival that looks into all takes longer than comparing some hundreds of
/// receives one by one.
const CLASSES: usize = 8;
/// Those that MPI has: any source, any tag, both, neither.
const MPI_CLASSES: u8 = 4;
/// The class of receives without wildcards; it is always there.
const EXACT: u8 = 0;
/// The class of receives that are compared one by one.
const ODD: u8 = u8::MAX;

/// The age of the first receive. Bit 7 is what its handle has in bit 0; a message's has bit 1 instead.
const FIRST: u64 = 1 << 7;
/// From one age to the next: below is room in a stamp.
const NEXT: u64 = 1 << 9;

/// What a receive is stamped with: its age, and its class; bit 0 is not ours.
#[inline(always)]
fn stamp(age: u64, class: u8) -> u64 {
    age | u64::from(class) << 1
}

#[inline(always)]
fn age(stamp: u64) -> u64 {
    stamp & !(FIRST - 1)
}

#[inline(always)]
fn class(stamp: u64) -> u8 {
    (stamp & (FIRST - 1)) as u8 >> 1
}

/// What a handle has of an age.
#[inline(always)]
fn generation(age: u64) -> u32 {
    (age >> 7) as u32
}

/// The handle of a receive in a chain.
#[inline(always)]
fn handle(place: u32, age: u64) -> Handle {
    // In one piece, since it is known that nothing of an age is below `FIRST`.
    Handle::from_raw(age << 25 | u64::from(place))
}

/// Receives of one kind of wildcard.
#[derive(Clone, Copy, Default)]
struct Class {
    compared: u64,
    /// All ones if a source is named, else zero.
    source_mask: u32,
    len: u32,
}

impl Class {
    /// What an envelope has of what receives of this class compare.
    #[inline(always)]
    fn key(&self, bits: u64, source: u32) -> (u64, u32) {
        (bits & self.compared, source & self.source_mask)
    }
}

/// Where the receives are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    /// All in `short`, and else none.
    Short,
    /// In `chains`, all of one class.
    Alike,
    /// In `chains` and `odd`. Alike again when there are none with wildcards, or none at all: not whenever the only one
    /// without leaves, since another may come as soon.
    Mixed,
}

pub(super) struct PostedReceives {
    /// Whether no receive is there, wherever it would be.
    is_empty: bool,
    /// Whether some are in `chains`, and none has wildcards: what comes next is most often a matter of a few instructions.
    is_quick: bool,
    kept: Kept,
    /// The class of all, if they are alike.
    class: u8,
    /// Receives with wildcards.
    wild: u32,
    /// The age of the next receive.
    age: u64,
    /// The age when the queue was last empty and in chains.
    began: u64,
    short: Short,
    chains: Chains,
    /// Classes from here on were never used.
    classes_used: u8,
    classes: [Class; CLASSES],
    odd: Odd,
}

impl PostedReceives {
    pub(super) fn new(unit: Unit) -> Self {
        Self {
            is_empty: true,
            is_quick: false,
            kept: Kept::Short,
            class: EXACT,
            wild: 0,
            age: FIRST,
            began: FIRST,
            short: Short::new(),
            chains: Chains::new(4),
            classes_used: 1,
            classes: [Class { compared: u64::MAX, source_mask: u32::MAX, len: 0 }; CLASSES],
            odd: Odd::new(unit),
        }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        debug_assert!(self.is_empty == (self.len() == 0));
        self.is_empty
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.short.len() + self.chains.len() + self.odd.len()
    }

    /// Appends a receive if that is a matter of a few instructions; else nothing happens.
    #[inline(always)]
    pub(super) fn append_quickly(&mut self, pattern: Pattern, user: u64) -> Option<Handle> {
        debug_assert!(self.is_quick == self.are_exact_in_chains());
        let age = self.age;
        if self.is_quick {
            let Pattern { bits, ignore: 0, source: Some(source) } = pattern else { return None };
            let place = self.chains.append_quickly((bits, source), stamp(age, EXACT), user, |_| true)?;
            self.age = age + NEXT;
            return Some(handle(place, age));
        }
        if self.kept != Kept::Short || !self.short.has_room() {
            return None;
        }
        let slot = self.short.insert(Entry::receive(pattern, user, age), pattern.is_exact());
        (self.age, self.is_empty) = (age + NEXT, false);
        Some(Short::handle(slot, generation(age)))
    }

    #[inline(always)]
    pub(super) fn append(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        // What was not quick was perhaps that of the other queue.
        if self.kept == Kept::Short && self.short.has_room() {
            return self.append_quickly(pattern, user).ok_or(OutOfMemory);
        }
        if self.kept == Kept::Short {
            self.leave_short()?;
        }
        // What was quick was tried before. To try again would be to fill the table with entries that are not at home.
        if !self.is_quick
            && let Some(handle) = self.append_among_others(pattern, user)
        {
            return Ok(handle);
        }
        let handle = self.append_aged(pattern, user, self.age)?;
        (self.age, self.is_empty) = (self.age + NEXT, false);
        self.see_whether_quick();
        Ok(handle)
    }

    /// Appends a receive where nothing changes but that there is one more, with wildcards or without, if that is a matter of
    /// a few instructions; else nothing happens.
    #[inline(always)]
    fn append_among_others(&mut self, pattern: Pattern, user: u64) -> Option<Handle> {
        if self.kept == Kept::Short || self.chains.len() == 0 {
            return None;
        }
        let Pattern { bits, ignore, source } = pattern;
        let its_class = self.class_of_pattern(pattern);
        if its_class == ODD || self.kept == Kept::Alike && self.class != its_class {
            return None;
        }
        let age = self.age;
        let key = (bits & !ignore, source.unwrap_or(0));
        let place = self.chains.append_quickly(key, stamp(age, its_class), user, |other| class(other) == its_class)?;
        self.count(its_class);
        self.age = age + NEXT;
        Some(handle(place, age))
    }

    /// Appends a receive to a queue that is not short.
    #[inline(never)]
    fn append_aged(&mut self, pattern: Pattern, user: u64, age: u64) -> Result<Handle, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        let its_class = self.class_of_pattern(pattern);
        if its_class == ODD {
            let handle = self.odd.append(pattern, user, age)?;
            self.kept = Kept::Mixed;
            self.count(ODD);
            return Ok(handle);
        }
        self.chains.make_room()?;
        if self.chains.len() + self.odd.len() == 0 {
            (self.kept, self.class) = (Kept::Alike, its_class);
        } else if self.class != its_class {
            self.kept = Kept::Mixed;
        }
        self.count(its_class);
        let key = (bits & !ignore, source.unwrap_or(0));
        let place = self.chains.append(key, stamp(age, its_class), user, |other| class(other) == its_class);
        Ok(handle(place, age))
    }

    /// Moves all receives to where many can be.
    #[cold]
    #[inline(never)]
    fn leave_short(&mut self) -> Result<(), OutOfMemory> {
        // Everything that may fail comes before anything is changed.
        self.chains.reserve(SLOTS)?;
        if self.short.kinds() >= CLASSES {
            self.odd.reserve(SLOTS)?;
        }
        self.kept = Kept::Alike;
        for at in self.short.each() {
            let entry = *self.short.entry(at);
            let handle = self.append_aged(entry.pattern(), entry.user, entry.stamp)?;
            self.short.move_to(at, handle);
        }
        self.short.end();
        self.see_whether_quick();
        Ok(())
    }

    /// The last receive has left the chains of a queue that is not short: if it is empty, the next ones are in a short one
    /// again, if that had been enough since it was empty before.
    #[cold]
    #[inline(never)]
    fn empty(&mut self) {
        self.chains.begin_anew();
        if self.odd.len() == 0 {
            let was_enough = self.age - self.began <= SLOTS as u64 * NEXT;
            self.kept = if was_enough { Kept::Short } else { Kept::Alike };
            (self.is_empty, self.began) = (true, self.age);
        }
        self.see_whether_quick();
    }

    fn see_whether_quick(&mut self) {
        self.is_quick = self.are_exact_in_chains();
    }

    fn are_exact_in_chains(&self) -> bool {
        self.kept == Kept::Alike && self.class == EXACT && self.chains.len() > 0
    }

    /// The class of a pattern, a new one if there is one to spare.
    #[inline(always)]
    fn class_of_pattern(&mut self, Pattern { ignore, source, .. }: Pattern) -> u8 {
        if ignore == 0 && source.is_some() {
            return EXACT;
        }
        let (compared, source_mask) = (!ignore, if source.is_some() { u32::MAX } else { 0 });
        for class in 1..self.classes_used {
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
    pub(super) fn take_quickly(&mut self, envelope: Envelope) -> Quick<u64> {
        debug_assert!(self.is_quick == self.are_exact_in_chains());
        if self.is_quick {
            // More is to be done with the last.
            let is_last = self.chains.len() == 1;
            return if is_last { Quick::Ask } else { self.chains.take_quickly(envelope.bits, envelope.source) };
        }
        if self.kept != Kept::Short {
            return Quick::Ask;
        }
        let Some(at) = self.short.first_accepting(envelope) else { return Quick::Nothing };
        let user = self.short.remove(at);
        self.is_empty = self.short.len() == 0;
        Quick::Taken(user)
    }

    /// Takes the oldest receive that accepts an envelope, of a queue that is not short; returns its user value.
    #[inline(always)]
    pub(super) fn take_of_many(&mut self, Envelope { bits, source }: Envelope) -> Option<u64> {
        let (its_class, user) = match self.kept {
            Kept::Alike if self.chains.len() > 0 => {
                let (bits, source) = self.classes[usize::from(self.class) % CLASSES].key(bits, source);
                let first = self.chains.find(bits, source, |_| true)?;
                (self.class, self.chains.take(first).user)
            }
            Kept::Mixed => self.take_oldest(bits, source)?,
            Kept::Short | Kept::Alike => return None,
        };
        self.has_left(its_class);
        Some(user)
    }

    /// Takes the oldest receive that accepts an envelope, whatever its class; that and its user value.
    #[inline(always)]
    fn take_oldest(&mut self, bits: u64, source: u32) -> Option<(u8, u64)> {
        let oldest = self.oldest_of_classes(bits, source);
        if self.odd.len() > 0
            && let Some(first) = self.odd.find(Envelope { bits, source })
            && oldest.is_none_or(|(_, stamp)| self.odd.age(first) < age(stamp))
        {
            return Some((ODD, self.odd.take(first)));
        }
        let (first, stamp) = oldest?;
        Some((class(stamp), self.chains.take(first).user))
    }

    /// The oldest receive in a chain that accepts an envelope, and its stamp.
    #[inline(always)]
    fn oldest_of_classes(&self, bits: u64, source: u32) -> Option<(First, u64)> {
        let mut oldest = None;
        let mut see = |first, stamp| {
            if oldest.is_none_or(|(_, least)| stamp < least) {
                oldest = Some((first, stamp));
            }
        };
        // Where nothing is missing of the key, a receive accepts the envelope, whatever its class.
        let has_exact = self.chains.len() + self.odd.len() > self.wild;
        if has_exact {
            self.chains.each_first(bits, source, &mut see);
        }
        for (at, kind) in (1..self.classes_used).zip(&self.classes[1..]) {
            let key = kind.key(bits, source);
            if kind.len > 0 && (key != (bits, source) || !has_exact) {
                self.chains.each_first(key.0, key.1, |first, stamp| {
                    if class(stamp) == at {
                        see(first, stamp);
                    }
                });
            }
        }
        oldest
    }

    /// There is one more of a class.
    #[inline(always)]
    fn count(&mut self, class: u8) {
        if class != EXACT {
            self.wild += 1;
            if class != ODD {
                self.classes[usize::from(class) % CLASSES].len += 1;
            }
        }
    }

    /// A receive of a class has left a queue that is not short.
    #[inline(always)]
    fn has_left(&mut self, class: u8) {
        if class != EXACT {
            self.wild -= 1;
            if class != ODD {
                self.classes[usize::from(class) % CLASSES].len -= 1;
            }
            if self.wild == 0 {
                self.no_wildcards_are_left();
            }
        }
        if self.chains.len() == 0 {
            self.empty();
        }
    }

    fn no_wildcards_are_left(&mut self) {
        (self.kept, self.class) = (Kept::Alike, EXACT);
        self.see_whether_quick();
        // MPI's stay, so that one receive with a wildcard after the other finds its class.
        if self.classes_used > MPI_CLASSES {
            self.classes_used = 1;
        }
    }

    /// Takes a receive back; returns its user value.
    #[inline(always)]
    pub(super) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        if let Some(slot) = Short::slot(handle) {
            return self.cancel_short(slot, handle);
        }
        self.cancel_moved(handle)
    }

    #[inline(always)]
    fn cancel_short(&mut self, slot: u32, handle: Handle) -> Option<u64> {
        let is_it = |age| generation(age) == handle.generation();
        if self.kept == Kept::Short {
            let user = self.short.take_back(slot, is_it);
            self.is_empty = self.short.len() == 0;
            return user;
        }
        self.cancel_moved(self.short.moved(slot, is_it)?)
    }

    /// Takes a receive back that is not in a short queue.
    #[inline(never)]
    fn cancel_moved(&mut self, handle: Handle) -> Option<u64> {
        let place = handle.index();
        let Some(stamp) = self.chains.stamp_at(place) else { return self.cancel_odd(handle) };
        let its_class = class(stamp);
        let is_it = |stamp| generation(age(stamp)) == handle.generation();
        let user = self.chains.take_back(place, is_it, |other| class(other) == its_class)?;
        self.has_left(its_class);
        Some(user)
    }

    #[cold]
    fn cancel_odd(&mut self, handle: Handle) -> Option<u64> {
        let user = self.odd.cancel(handle)?;
        self.has_left(ODD);
        Some(user)
    }

    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), OutOfMemory> {
        self.chains.reserve(receives)
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.odd.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::VectorUnit;

    fn post(receives: &mut PostedReceives, pattern: Pattern, user: u64) -> Handle {
        receives.append_quickly(pattern, user).unwrap_or_else(|| receives.append(pattern, user).unwrap())
    }

    fn take(receives: &mut PostedReceives, envelope: Envelope) -> Option<u64> {
        match receives.take_quickly(envelope) {
            Quick::Taken(user) => Some(user),
            Quick::Nothing => None,
            Quick::Ask => receives.take_of_many(envelope),
        }
    }

    /// More kinds of wildcards than have classes leave the short queue together; handles and age stay.
    #[test]
    fn receives_leave_a_short_queue_in_order_and_keep_their_handles() {
        let mut receives = PostedReceives::new(VectorUnit::or_best(None));
        let envelope = Envelope { bits: 0, source: 1 };
        let pattern = |number: u64| Pattern { bits: 1 << number, ignore: 1 << number, source: Some(1) };
        let mut handles: Vec<Handle> = (0..9).map(|number| post(&mut receives, pattern(number), number)).collect();
        assert_eq!(receives.cancel(handles[4]), Some(4));
        handles.push(post(&mut receives, Pattern::exactly(envelope), 9));
        assert_eq!(receives.kept, Kept::Short);
        handles.push(post(&mut receives, Pattern::exactly(envelope), 10));
        assert_eq!((receives.kept, receives.odd.len() > 0), (Kept::Mixed, true));
        assert_eq!(receives.len(), 10);
        for (number, expected) in [(4, None), (0, Some(0)), (0, None), (8, Some(8)), (10, Some(10))] {
            assert_eq!(receives.cancel(handles[number]), expected);
        }
        for user in [1, 2, 3, 5, 6, 7, 9] {
            assert_eq!(take(&mut receives, envelope), Some(user));
            assert_eq!(receives.cancel(handles[user as usize]), None);
        }
        assert_eq!((take(&mut receives, envelope), receives.len()), (None, 0));
        // That was too much for a short queue; this is not.
        for expected in [Kept::Alike, Kept::Short] {
            assert_eq!(receives.kept, expected);
            let handle = post(&mut receives, pattern(3), 3);
            assert_eq!(receives.cancel(handle), Some(3));
        }
    }

    /// Receives of one kind are told from a mixture, whatever comes and leaves.
    #[test]
    fn receives_of_one_class_are_alike_until_another_comes_and_when_it_has_left() {
        let mut receives = PostedReceives::new(VectorUnit::or_best(None));
        let envelope = |bits| Envelope { bits, source: 7 };
        let from_any = |bits| Pattern { bits, ignore: 0, source: None };
        for tag in 0..12 {
            post(&mut receives, from_any(tag), tag);
        }
        let any_source = receives.class;
        assert_eq!((receives.kept, any_source == EXACT, receives.is_quick), (Kept::Alike, false, false));
        post(&mut receives, Pattern::exactly(envelope(20)), 20);
        let last = post(&mut receives, Pattern::exactly(envelope(21)), 21);
        assert_eq!(receives.kept, Kept::Mixed);
        assert_eq!(take(&mut receives, envelope(20)), Some(20));
        assert_eq!(receives.kept, Kept::Mixed);
        assert_eq!(receives.cancel(last), Some(21));
        assert_eq!(receives.kept, Kept::Mixed);
        for tag in 20..30 {
            post(&mut receives, Pattern::exactly(envelope(tag)), tag);
        }
        for tag in 0..12 {
            assert_eq!((receives.kept, receives.is_quick), (Kept::Mixed, false));
            assert_eq!(take(&mut receives, envelope(tag)), Some(tag));
        }
        assert_eq!((receives.kept, receives.class, receives.is_quick), (Kept::Alike, EXACT, true));
        for tag in 20..30 {
            assert_eq!(take(&mut receives, envelope(tag)), Some(tag));
        }
        assert_eq!((receives.len(), receives.is_quick, receives.is_empty()), (0, false, true));
    }
}
