// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Posted receives: a plain scan of a compact array while they are few, and an index for each kind of pattern when
//! they are many.
//!
//! Patterns with the same ignore bits and the same openness of the initiator are a *class*; a message is looked up
//! once in each class that has entries, and the oldest find wins. Classes beyond the eighth are not indexed:
//! their entries form one chain that is walked. Cost: independent of the number of entries, but for that chain.

use mb_core::{Envelope, Initiator, Pattern, RecvId};

use super::index::{FEW, FEW_AGAIN, Found, Index, Key, Link, Shape};
use super::ring::Ring;

/// Class of the entries that are not indexed.
const LOOSE: u8 = u8::MAX;
const MOST_CLASSES: usize = 8;

/// One posted receive.
#[derive(Clone, Copy, Debug, Default)]
struct PostedEntry {
    recv: u64,
    bits: u64,
    /// The complement of the ignore bits.
    care: u64,
    initiator: u32,
    any_initiator: bool,
    class: u8,
}

impl PostedEntry {
    #[inline]
    fn new(recv: RecvId, pattern: &Pattern) -> Self {
        let Shape { care, any_initiator } = Shape::of(pattern);
        let initiator = pattern.initiator.map_or(0, |Initiator(initiator)| initiator);
        Self { recv: recv.0, bits: pattern.bits, care, initiator, any_initiator, class: LOOSE }
    }

    fn shape(&self) -> Shape {
        Shape { care: self.care, any_initiator: self.any_initiator }
    }

    /// The bits that this receive's pattern compares.
    fn key(&self) -> Key {
        self.shape().key(self.bits, self.initiator)
    }

    #[inline]
    fn accepts(&self, envelope: &Envelope) -> bool {
        (self.bits ^ envelope.bits) & self.care == 0 && (self.any_initiator || self.initiator == envelope.initiator.0)
    }
}

/// The posted receives in order of age.
#[derive(Clone, Debug, Default)]
pub struct PostedReceives {
    few: Vec<PostedEntry>,
    many: Option<Box<Many>>,
}

impl PostedReceives {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.many.as_ref().map_or(self.few.len(), |many| many.ring.len())
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a receive, which becomes the youngest.
    #[inline]
    pub fn append(&mut self, recv: RecvId, pattern: &Pattern) {
        let entry = PostedEntry::new(recv, pattern);
        if let Some(many) = &mut self.many {
            many.append(entry);
        } else if self.few.len() < FEW {
            self.few.push(entry);
        } else {
            let mut many = Box::new(Many::with_room_for(FEW));
            for entry in self.few.drain(..) {
                many.append(entry);
            }
            many.append(entry);
            self.many = Some(many);
        }
    }

    /// Takes the oldest receive that accepts `envelope`; also returns the visits.
    #[inline]
    pub fn take(&mut self, envelope: &Envelope) -> (Option<RecvId>, u32) {
        if self.many.is_some() {
            return self.take_of_many(envelope);
        }
        match self.few.iter().position(|entry| entry.accepts(envelope)) {
            Some(index) => (Some(RecvId(self.few.remove(index).recv)), index as u32 + 1),
            None => (None, self.few.len() as u32),
        }
    }

    /// Removes `recv`; returns whether it was there, and the visits of a walk that compares ids.
    pub fn cancel(&mut self, recv: RecvId) -> (bool, u32) {
        let Some(many) = &mut self.many else {
            return match self.few.iter().position(|entry| entry.recv == recv.0) {
                Some(index) => {
                    self.few.remove(index);
                    (true, index as u32 + 1)
                }
                None => (false, self.few.len() as u32),
            };
        };
        let result = many.cancel(recv);
        self.leave_many();
        result
    }

    fn take_of_many(&mut self, envelope: &Envelope) -> (Option<RecvId>, u32) {
        let Some(many) = &mut self.many else { return (None, 0) };
        let result = many.take(envelope);
        self.leave_many();
        result
    }

    /// Goes back to the array when few entries are left.
    #[inline]
    fn leave_many(&mut self) {
        if let Some(many) = self.many.take_if(|many| many.ring.len() <= FEW_AGAIN) {
            self.few.extend(many.ring.slots().map(|slot| *many.ring.get(slot)));
        }
    }
}

/// Receives whose patterns have one shape.
#[derive(Clone, Debug)]
struct Class {
    shape: Shape,
    entries: usize,
    index: Index,
}

#[derive(Clone, Debug)]
struct Many {
    ring: Ring<PostedEntry>,
    links: Vec<Link>,
    classes: Vec<Class>,
    /// Slots that belong to no class, oldest first.
    loose: Vec<u32>,
    /// Made at the first cancel, dropped when a renumbering finds that there was none since the last.
    names: Option<Names>,
}

impl Many {
    fn with_room_for(count: usize) -> Self {
        let ring = Ring::for_count(count);
        let links = vec![Link::UNUSED; ring.capacity()];
        Self { ring, links, classes: Vec::new(), loose: Vec::new(), names: None }
    }

    fn append(&mut self, mut entry: PostedEntry) {
        if self.ring.is_full() {
            self.renumber();
        }
        entry.class = self.class_of(entry.shape());
        let slot = self.ring.push(entry);
        self.enter(slot);
    }

    /// The class of a shape, created if the table is not full.
    fn class_of(&mut self, shape: Shape) -> u8 {
        if let Some(class) = self.classes.iter().position(|class| class.shape == shape) {
            return class as u8;
        }
        let new = Class { shape, entries: 0, index: Index::new() };
        if self.classes.len() < MOST_CLASSES {
            self.classes.push(new);
            return self.classes.len() as u8 - 1;
        }
        match self.classes.iter().position(|class| class.entries == 0) {
            Some(unused) => {
                self.classes[unused] = new;
                unused as u8
            }
            None => LOOSE,
        }
    }

    /// Enters a slot into what finds it.
    fn enter(&mut self, slot: u32) {
        let Self { ring, links, classes, loose, names } = self;
        let entry = ring.get(slot);
        if let Some(class) = classes.get_mut(entry.class as usize) {
            class.entries += 1;
            let (key, class_number) = (entry.key(), entry.class);
            class.index.append(links, slot, key.hash(), |other| is_of(ring.get(other), class_number, key));
        } else {
            loose.push(slot);
        }
        if let Some(names) = names {
            names.enter(ring, slot);
        }
    }

    fn take(&mut self, envelope: &Envelope) -> (Option<RecvId>, u32) {
        let ring = &self.ring;
        let mut oldest: Option<(usize, usize, Found)> = None;
        for (number, class) in self.classes.iter().enumerate() {
            if class.entries == 0 {
                continue;
            }
            let hash = class.shape.key_of(envelope).hash();
            let found = class.index.find(hash, |slot| ring.get(slot).accepts(envelope));
            if let Some(found) = found {
                let age = ring.age(found.head);
                if oldest.is_none_or(|(other, ..)| age < other) {
                    oldest = Some((age, number, found));
                }
            }
        }
        let is_older = |slot: u32| oldest.is_none_or(|(age, ..)| ring.age(slot) < age);
        let mut candidates = self.loose.iter().take_while(|slot| is_older(**slot));
        let loose = candidates.position(|slot| ring.get(*slot).accepts(envelope));
        let slot = if let Some(index) = loose {
            self.loose.remove(index)
        } else if let Some((_, number, found)) = oldest {
            let class = &mut self.classes[number];
            class.entries -= 1;
            class.index.remove_head(&mut self.links, found);
            found.head
        } else {
            return (None, self.ring.len() as u32);
        };
        let visits = self.ring.rank(slot);
        if let Some(names) = &mut self.names {
            names.remove(&self.ring, slot);
        }
        (Some(RecvId(self.ring.remove(slot).recv)), visits)
    }

    fn cancel(&mut self, recv: RecvId) -> (bool, u32) {
        let Self { ring, links, classes, loose, names } = self;
        let names = names.get_or_insert_with(|| Names::of(ring));
        names.used = true;
        let Some(slot) = names.find(ring, recv) else { return (false, ring.len() as u32) };
        names.remove(ring, slot);
        let visits = ring.rank(slot);
        let entry = ring.get(slot);
        if let Some(class) = classes.get_mut(entry.class as usize) {
            class.entries -= 1;
            let (key, class_number) = (entry.key(), entry.class);
            class.index.remove(links, slot, key.hash(), |other| is_of(ring.get(other), class_number, key));
        } else {
            loose.retain(|other| *other != slot);
        }
        ring.remove(slot);
        (true, visits)
    }

    /// Renumbers the ring and enters every slot again; entries without a class get one if the table is no longer full.
    fn renumber(&mut self) {
        let names_are_used = self.names.as_ref().is_some_and(|names| names.used);
        self.ring.renumber();
        self.links = vec![Link::UNUSED; self.ring.capacity()];
        self.loose.clear();
        self.classes.retain(|class| class.entries > 0);
        for class in &mut self.classes {
            class.entries = 0;
            class.index.clear();
        }
        self.names = None;
        for slot in 0..self.ring.len() as u32 {
            let shape = self.ring.get(slot).shape();
            self.ring.get_mut(slot).class = self.class_of(shape);
            self.enter(slot);
        }
        if names_are_used {
            self.names = Some(Names { used: false, ..Names::of(&self.ring) });
        }
    }
}

/// Whether `entry` is of a class and has `key` in it.
#[inline]
fn is_of(entry: &PostedEntry, class: u8, key: Key) -> bool {
    entry.class == class && entry.key() == key
}

/// From a receive's name to its slot.
#[derive(Clone, Debug)]
struct Names {
    index: Index,
    links: Vec<Link>,
    used: bool,
}

impl Names {
    fn of(ring: &Ring<PostedEntry>) -> Self {
        let mut names = Self { index: Index::new(), links: vec![Link::UNUSED; ring.capacity()], used: true };
        for slot in ring.slots() {
            names.enter(ring, slot);
        }
        names
    }

    fn enter(&mut self, ring: &Ring<PostedEntry>, slot: u32) {
        let name = ring.get(slot).recv;
        let hash = Key::of_name(name).hash();
        self.index.append(&mut self.links, slot, hash, |other| ring.get(other).recv == name);
    }

    fn find(&self, ring: &Ring<PostedEntry>, recv: RecvId) -> Option<u32> {
        let found = self.index.find(Key::of_name(recv.0).hash(), |slot| ring.get(slot).recv == recv.0);
        found.map(|found| found.head)
    }

    fn remove(&mut self, ring: &Ring<PostedEntry>, slot: u32) {
        let name = ring.get(slot).recv;
        let hash = Key::of_name(name).hash();
        self.index.remove(&mut self.links, slot, hash, |other| ring.get(other).recv == name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_posted_receive_takes_less_than_a_hundred_bytes() {
        // Just after the ring has grown, and when it is nearly full.
        for count in [65_537, 131_072] {
            let mut posted = PostedReceives::new();
            for number in 0..count {
                let envelope = Envelope { bits: number, initiator: Initiator(7) };
                posted.append(RecvId(number), &Pattern::exactly(envelope));
            }
            let many = posted.many.expect("there are many");
            let classes: usize = many.classes.iter().map(|class| class.index.heap_bytes()).sum();
            let bytes = many.ring.heap_bytes() + size_of_val(&*many.links) + classes;
            assert!(bytes <= 100 * count as usize, "{bytes} bytes for {count} receives");
        }
    }
}
