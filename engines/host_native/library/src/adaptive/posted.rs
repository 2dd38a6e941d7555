// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The posted receives of `adaptive`.
//!
//! A receive belongs to the class of its wildcards: its ignore bits, and whether it names a source. MPI has four. Among
//! the receives of a class an arrival can fit only those of one key, so it looks into each class that has receives,
//! one chain each, and takes the oldest of what it finds. Classes are given out as they come; receives of a class
//! that found none left are compared one by one, 64 at a time.

use super::SHALLOW;
use super::chains::{Chains, First, Item, mark};
use crate::log::{Log, Room};
use crate::pool::{Kind, NIL};
use crate::scan::{Patterns, Unit, first_accepting};
use crate::types::{Envelope, Handle, OutOfMemory, Pattern};
use crate::window::{SLOTS, Window};

/// Classes with chains. More of them, and an arrival that looks into all takes longer than comparing some hundreds of
/// receives one by one.
const CLASSES: usize = 8;
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
            classes_used: 0,
            window: Window::default(),
            classes: [Class::default(); CLASSES],
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
        self.chains.pool.make_room()?;
        if self.is_short {
            if self.window.has_room() {
                let item = Item::new(user, mark(self.age, 0));
                let handle = self.chains.pool.insert(item);
                self.window.push_pattern(pattern, handle.index());
                self.age += 1;
                self.len += 1;
                return Ok(handle);
            }
            self.grow_long()?;
        }
        self.append_long(pattern, user)
    }

    #[inline(always)]
    fn append_long(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        let class = self.class_of(pattern);
        self.make_room(class)?;
        let handle = self.chains.pool.insert(Item::new(user, mark(self.age, class)));
        self.index(handle.index(), pattern, class);
        self.age += 1;
        self.len += 1;
        Ok(handle)
    }

    /// The class of a pattern, a new one if there is one to spare.
    #[inline(always)]
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
        let unused = || self.classes.iter().position(|class| class.len == 0);
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

    /// Makes sure that a receive of `class` can be indexed.
    #[inline(always)]
    fn make_room(&mut self, class: u8) -> Result<(), OutOfMemory> {
        if class != ODD {
            return self.chains.make_room(1);
        }
        if self.odd.make_room()? == Room::InHoles {
            let pool = &mut self.chains.pool;
            self.odd.squeeze(|(_, owner), place| pool[owner].source = place);
            // Takes the next block if all that are left are full.
            self.odd.make_room()?;
        }
        Ok(())
    }

    /// Indexes the item at `place`, which has user, age and class, in chains or odd ones that have room.
    #[inline(always)]
    fn index(&mut self, place: u32, pattern: Pattern, class: u8) {
        if class == ODD {
            self.chains.pool[place].source = self.odd.push((pattern, place));
        } else {
            let item = &mut self.chains.pool[place];
            item.bits = pattern.bits & !pattern.ignore;
            item.source = pattern.source.unwrap_or(0);
            self.classes[usize::from(class) % CLASSES].len += 1;
            self.chains.append(place);
        }
    }

    /// Takes the oldest receive that accepts `envelope`; returns its user value.
    #[inline(always)]
    pub(super) fn take(&mut self, envelope: Envelope) -> Option<u64> {
        if self.is_short {
            let slot = self.window.find_pattern(envelope)?;
            let place = self.window.place(slot);
            self.window.remove(slot);
            return Some(self.leave(place));
        }
        self.take_long(envelope)
    }

    fn take_long(&mut self, envelope: Envelope) -> Option<u64> {
        let mut oldest: Option<First> = None;
        let mut age = u64::MAX;
        for class in 0..self.classes_used {
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
                return Some(self.leave_long(owner));
            }
        }
        let first = oldest?;
        self.chains.take(first);
        self.classes[usize::from(self.chains.pool[first.place()].class()) % CLASSES].len -= 1;
        Some(self.leave_long(first.place()))
    }

    /// Takes a receive back; returns its user value.
    pub(super) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        let place = self.chains.pool.find(handle)?;
        if self.is_short {
            self.window.remove(self.window.find_place(place)?);
            return Some(self.leave(place));
        }
        self.unindex(place);
        Some(self.leave_long(place))
    }

    /// Takes the item at `place` out of chains or odd ones.
    fn unindex(&mut self, place: u32) {
        let item = self.chains.pool[place];
        if item.class() == ODD {
            self.odd.remove(item.source);
        } else {
            self.chains.unlink(place);
            self.classes[usize::from(item.class()) % CLASSES].len -= 1;
        }
    }

    #[inline(always)]
    fn leave(&mut self, place: u32) -> u64 {
        self.len -= 1;
        let user = self.chains.pool[place].user;
        self.chains.pool.remove(place);
        user
    }

    #[inline(always)]
    fn leave_long(&mut self, place: u32) -> u64 {
        let user = self.leave(place);
        if self.len > SHALLOW {
            self.quiet = 0;
        } else {
            self.quiet += 1;
            // The pool is walked below: as many receives must have come and gone before as it has places.
            if self.quiet > self.chains.pool.used().max(SHALLOW * 32) {
                self.shrink_short();
            }
        }
        user
    }

    /// From the window to chains and odd ones.
    #[cold]
    fn grow_long(&mut self) -> Result<(), OutOfMemory> {
        // All of them may be of a kind, so both have room before anything moves.
        self.chains.make_room(SLOTS as u32 + 1)?;
        self.odd.reserve(SLOTS)?;
        for slot in self.window.clear() {
            let (place, pattern) = (self.window.place(slot), self.window.pattern(slot));
            let class = self.class_of(pattern);
            // There is room in a fresh log, whose blocks were reserved.
            self.make_room(class)?;
            let item = &mut self.chains.pool[place];
            item.mark = mark(item.number(), class);
            self.index(place, pattern, class);
        }
        (self.is_short, self.quiet) = (false, 0);
        Ok(())
    }

    /// From chains and odd ones, of which there are few, to the window.
    #[cold]
    fn shrink_short(&mut self) {
        let mut few: [(u64, u32); SLOTS] = [(u64::MAX, NIL); SLOTS];
        let mut count = 0;
        for place in 0..self.chains.pool.used() {
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
        (self.is_short, self.classes_used) = (true, 0);
    }

    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), OutOfMemory> {
        self.chains.pool.reserve(receives)?;
        if receives > SLOTS { self.chains.reserve(receives) } else { Ok(()) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.odd.bytes()
    }
}
