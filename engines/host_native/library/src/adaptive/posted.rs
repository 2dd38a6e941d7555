// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The posted receives of `adaptive`.
//!
//! A receive belongs to the class of its wildcards: its ignore bits, and whether it names a source. MPI has four. Among
//! the receives of a class an arrival can fit only those of one key, so it looks into each class that has receives,
//! one chain each, and takes the oldest of what it finds. Classes are given out as they come; receives of a class
//! that found none left are compared one by one, 64 at a time.

use super::SHALLOW;
use super::chains::{Chains, First, mark};
use crate::log::{Log, Room};
use crate::pool::{Kind, NIL};
use crate::scan::{Patterns, Unit, first_accepting};
use crate::types::{Envelope, Handle, OutOfMemory, Pattern};
use crate::window::{SLOTS, Window};

/// Classes with chains. More of them, and an arrival that looks into all takes longer than comparing some hundreds of
/// receives one by one.
const CLASSES: usize = 8;
/// The class of receives without wildcards; it is always there.
const EXACT: u8 = 0;
/// The class of receives that are compared one by one.
const ODD: u8 = u8::MAX;

/// Receives of one kind of wildcard.
#[derive(Clone, Copy, Default)]
struct Class {
    compared: u64,
    /// All ones if a source is named, else zero.
    source_mask: u32,
    len: u32,
}

pub(super) struct PostedReceives {
    len: u32,
    /// Whether the window is the index; else the chains and the odd ones are.
    is_short: bool,
    /// Receives that left in a row while there were few, as long as the chains are the index.
    quiet: u32,
    /// Receives with wildcards, as long as the chains are the index.
    wild: u32,
    /// Classes from here on were never used.
    classes_used: u8,
    window: Window,
    classes: [Class; CLASSES],
    /// Numbers the receives in order of age.
    age: u64,
    chains: Chains,
    odd: Log<Patterns>,
    unit: Unit,
}

impl PostedReceives {
    pub(super) fn new(unit: Unit) -> Self {
        Self {
            len: 0,
            is_short: true,
            quiet: 0,
            wild: 0,
            classes_used: 1,
            window: Window::default(),
            classes: [Class { compared: u64::MAX, source_mask: u32::MAX, len: 0 }; CLASSES],
            age: 0,
            chains: Chains::new(Kind::Receives),
            odd: Log::new(),
            unit,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(super) fn append(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        if !(self.is_short && self.window.has_room() && self.chains.pool.has_room()) {
            return self.append_slow(pattern, user);
        }
        let (item, handle) = self.chains.pool.take_place();
        item.user = user;
        self.window.push_pattern(pattern, handle.index());
        self.len += 1;
        Ok(handle)
    }

    #[inline(never)]
    fn append_slow(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.chains.pool.make_room()?;
        if self.is_short {
            if self.window.has_room() {
                return self.append(pattern, user);
            }
            self.grow_long()?;
        }
        self.chains.make_room(1)?;
        let handle = match pattern.source {
            Some(source) if pattern.ignore == 0 => {
                self.chains.append_new(pattern.bits, source, mark(self.age, EXACT), user)
            }
            _ => return self.append_wild(pattern, user),
        };
        self.age += 1;
        self.len += 1;
        Ok(handle)
    }

    /// Appends a receive with wildcards to chains or odd ones; the chains have room.
    #[inline(never)]
    fn append_wild(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        let class = self.class_of(pattern);
        if class == ODD {
            return self.append_odd(pattern, user);
        }
        let (bits, source) = (pattern.bits & !pattern.ignore, pattern.source.unwrap_or(0));
        let handle = self.chains.append_new(bits, source, mark(self.age, class), user);
        self.classes[usize::from(class) % CLASSES].len += 1;
        self.wild += 1;
        self.age += 1;
        self.len += 1;
        Ok(handle)
    }

    /// Appends to the odd ones; the pool has room.
    #[cold]
    fn append_odd(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        self.make_odd_room()?;
        let (item, handle) = self.chains.pool.take_place();
        item.user = user;
        self.index_odd(handle.index(), pattern);
        self.len += 1;
        Ok(handle)
    }

    /// Indexes the item at `place`, which has its user, among the odd ones, where there must be room.
    fn index_odd(&mut self, place: u32, pattern: Pattern) {
        let item = &mut self.chains.pool[place];
        (item.mark, item.source) = (mark(self.age, ODD), self.odd.push((pattern, place)));
        self.wild += 1;
        self.age += 1;
    }

    /// The class of a pattern, a new one if there is one to spare.
    fn class_of(&mut self, pattern: Pattern) -> u8 {
        let source_mask = if pattern.source.is_some() { u32::MAX } else { 0 };
        let wanted = (!pattern.ignore, source_mask);
        for class in 0..self.classes_used {
            let Class { compared, source_mask, .. } = self.classes[usize::from(class) % CLASSES];
            if (compared, source_mask) == wanted {
                return class;
            }
        }
        self.new_class(wanted)
    }

    #[cold]
    fn new_class(&mut self, (compared, source_mask): (u64, u32)) -> u8 {
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

    /// Makes sure that the odd ones have room for a receive.
    fn make_odd_room(&mut self) -> Result<(), OutOfMemory> {
        if self.odd.make_room()? == Room::InHoles {
            let pool = &mut self.chains.pool;
            self.odd.squeeze(|(_, owner), place| pool[owner].source = place);
            // Takes the next block if all that are left are full.
            self.odd.make_room()?;
        }
        Ok(())
    }

    /// Takes the oldest receive that accepts `envelope`; returns its user value.
    #[inline(always)]
    pub(super) fn take(&mut self, envelope: Envelope) -> Option<u64> {
        if self.is_short {
            let slot = self.window.find_pattern(envelope)?;
            let place = self.window.place(slot);
            self.window.remove(slot);
            self.len -= 1;
            return Some(self.chains.pool.remove(place).user);
        }
        self.take_long(envelope)
    }

    #[inline(never)]
    fn take_long(&mut self, envelope: Envelope) -> Option<u64> {
        let exact = self.chains.find(envelope.bits, envelope.source, EXACT);
        if self.wild > 0 {
            return self.take_oldest(envelope, exact);
        }
        let user = self.chains.take(exact?).user;
        self.left();
        Some(user)
    }

    /// Takes the oldest receive that accepts `envelope`: `exact`, or one with wildcards.
    #[inline(never)]
    fn take_oldest(&mut self, envelope: Envelope, exact: Option<First>) -> Option<u64> {
        let mut oldest = exact;
        let mut age = exact.map_or(u64::MAX, |first| self.chains.pool[first.place()].number());
        for class in 1..self.classes_used {
            let Class { compared, source_mask, len } = self.classes[usize::from(class) % CLASSES];
            if len == 0 {
                continue;
            }
            if let Some(first) = self.chains.find(envelope.bits & compared, envelope.source & source_mask, class) {
                let number = self.chains.pool[first.place()].number();
                if number < age {
                    (oldest, age) = (Some(first), number);
                }
            }
        }
        if self.odd.len() > 0
            && let Some(at) = first_accepting(self.unit, &self.odd, envelope)
        {
            let owner = self.odd.owner(at);
            if self.chains.pool[owner].number() < age {
                self.odd.remove(at);
                self.wild -= 1;
                let user = self.chains.pool.remove(owner).user;
                self.left();
                return Some(user);
            }
        }
        let item = self.chains.take(oldest?);
        self.uncount(item.class());
        self.left();
        Some(item.user)
    }

    /// A receive left the chain of its class.
    #[inline(always)]
    fn uncount(&mut self, class: u8) {
        if class != EXACT {
            self.classes[usize::from(class) % CLASSES].len -= 1;
            self.wild -= 1;
        }
    }

    /// Takes a receive back; returns its user value.
    pub(super) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        let place = self.chains.pool.find(handle)?;
        if self.is_short {
            self.window.remove(self.window.find_place(place)?);
            self.len -= 1;
            return Some(self.chains.pool.remove(place).user);
        }
        self.unindex(place);
        let user = self.chains.pool.remove(place).user;
        self.left();
        Some(user)
    }

    /// Takes the item at `place` out of chains or odd ones.
    fn unindex(&mut self, place: u32) {
        let item = self.chains.pool[place];
        if item.class() == ODD {
            self.odd.remove(item.source);
            self.wild -= 1;
        } else {
            self.chains.unlink(place);
            self.uncount(item.class());
        }
    }

    /// A receive left chains or odd ones.
    #[inline(always)]
    fn left(&mut self) {
        self.len -= 1;
        if self.len <= SHALLOW {
            self.quiet = if self.len == SHALLOW { 0 } else { self.quiet + 1 };
            // Unless there are none, the pool is walked below, in order: an eighth of as many removals before that make
            // it eight places for each of them.
            if self.quiet > SHALLOW * 32 && (self.len == 0 || self.quiet > self.chains.pool.used() / 8) {
                self.shrink_short();
            }
        }
    }

    /// From the window to chains and odd ones.
    #[cold]
    fn grow_long(&mut self) -> Result<(), OutOfMemory> {
        // There is room before anything moves; fewer kinds of wildcards than classes leave no odd ones.
        self.chains.make_room(SLOTS as u32 + 1)?;
        if self.window.wildcards() >= CLASSES {
            self.odd.reserve(SLOTS)?;
        }
        while let Some(slot) = self.window.oldest() {
            let (place, pattern) = (self.window.place(slot), self.window.pattern(slot));
            self.window.remove(slot);
            let class = self.class_of(pattern);
            if class == ODD {
                // In an empty log, whose blocks were reserved.
                self.make_odd_room()?;
                self.index_odd(place, pattern);
            } else {
                let (bits, source) = (pattern.bits & !pattern.ignore, pattern.source.unwrap_or(0));
                self.chains.append_old(place, bits, source, mark(self.age, class));
                if class != EXACT {
                    self.classes[usize::from(class) % CLASSES].len += 1;
                    self.wild += 1;
                }
                self.age += 1;
            }
        }
        (self.is_short, self.quiet) = (false, 0);
        Ok(())
    }

    /// From chains and odd ones, of which there are few, to the window.
    #[cold]
    fn shrink_short(&mut self) {
        let mut few: [(u64, u32); SLOTS] = [(u64::MAX, NIL); SLOTS];
        let mut count = 0;
        let places = if self.len > 0 { self.chains.pool.used() } else { 0 };
        for place in 0..places {
            if self.chains.pool.is_live(place) {
                few[count % SLOTS] = (self.chains.pool[place].number(), place);
                count += 1;
            }
        }
        few.sort_unstable();
        for &(_, place) in &few[..count.min(SLOTS)] {
            let item = self.chains.pool[place];
            let pattern = if item.class() == ODD {
                self.odd.key(item.source).0
            } else {
                let Class { compared, source_mask, .. } = self.classes[usize::from(item.class()) % CLASSES];
                Pattern { bits: item.bits, ignore: !compared, source: (source_mask != 0).then_some(item.source) }
            };
            self.unindex(place);
            self.window.push_pattern(pattern, place);
        }
        (self.is_short, self.classes_used) = (true, 1);
    }

    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), OutOfMemory> {
        self.chains.pool.reserve(receives)?;
        if receives > SLOTS { self.chains.reserve(receives) } else { Ok(()) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.odd.bytes()
    }
}
