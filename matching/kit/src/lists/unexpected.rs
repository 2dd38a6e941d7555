// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unexpected messages: a plain scan of a compact array while they are few, and an index for each kind of pattern
//! that looks for them when they are many.
//!
//! Patterns with the same ignore bits and the same openness of the initiator are a *class*. The first pattern of a
//! class indexes all messages by what the class compares; later messages enter every index. Patterns of a seventh
//! class walk. Cost: independent of the number of entries, but for that walk and the making of an index.

use mb_core::{Envelope, Initiator, MsgId, Pattern};

use super::index::{FEW, FEW_AGAIN, Found, Index, Link, Shape};
use super::ring::Ring;

const MOST_CLASSES: usize = 6;

/// One unexpected message.
#[derive(Clone, Copy, Debug, Default)]
struct UnexpectedEntry {
    msg: u64,
    bits: u64,
    initiator: u32,
}

impl UnexpectedEntry {
    #[inline]
    fn envelope(&self) -> Envelope {
        Envelope { bits: self.bits, initiator: Initiator(self.initiator) }
    }
}

/// The unexpected messages in order of age.
#[derive(Clone, Debug, Default)]
pub struct UnexpectedMessages {
    few: Vec<UnexpectedEntry>,
    many: Option<Box<Many>>,
}

impl UnexpectedMessages {
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

    /// Appends a message, which becomes the youngest.
    #[inline]
    pub fn append(&mut self, msg: MsgId, envelope: &Envelope) {
        let entry = UnexpectedEntry { msg: msg.0, bits: envelope.bits, initiator: envelope.initiator.0 };
        if let Some(many) = &mut self.many {
            many.append(entry);
        } else if self.few.len() < FEW {
            self.few.push(entry);
        } else {
            let mut many = Box::new(Many { ring: Ring::for_count(FEW), classes: Vec::new() });
            for entry in self.few.drain(..) {
                many.append(entry);
            }
            many.append(entry);
            self.many = Some(many);
        }
    }

    /// Finds the oldest message that `pattern` accepts and leaves it; also returns the visits.
    ///
    /// Takes `self` as mutable because a search may make an index.
    #[inline]
    pub fn find(&mut self, pattern: &Pattern) -> (Option<MsgId>, u32) {
        if let Some(many) = &mut self.many {
            return match many.find(pattern) {
                Hit::Nothing => (None, many.ring.len() as u32),
                Hit::InClass(_, Found { head: slot, .. }) | Hit::Walked(slot) => {
                    (Some(MsgId(many.ring.get(slot).msg)), many.ring.rank(slot))
                }
            };
        }
        match self.position(pattern) {
            Some(index) => (Some(MsgId(self.few[index].msg)), index as u32 + 1),
            None => (None, self.few.len() as u32),
        }
    }

    /// Takes the oldest message that `pattern` accepts; also returns the visits.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> (Option<MsgId>, u32) {
        if self.many.is_some() {
            return self.take_of_many(pattern);
        }
        match self.position(pattern) {
            Some(index) => (Some(MsgId(self.few.remove(index).msg)), index as u32 + 1),
            None => (None, self.few.len() as u32),
        }
    }

    #[inline]
    fn position(&self, pattern: &Pattern) -> Option<usize> {
        self.few.iter().position(|entry| pattern.accepts(&entry.envelope()))
    }

    fn take_of_many(&mut self, pattern: &Pattern) -> (Option<MsgId>, u32) {
        let Some(many) = &mut self.many else { return (None, 0) };
        let hit = many.find(pattern);
        let slot = match hit {
            Hit::Nothing => return (None, many.ring.len() as u32),
            Hit::InClass(_, Found { head, .. }) => head,
            Hit::Walked(slot) => slot,
        };
        let visits = many.ring.rank(slot);
        let msg = many.remove(slot, hit);
        // Goes back to the array when few entries are left.
        if let Some(many) = self.many.take_if(|many| many.ring.len() <= FEW_AGAIN) {
            self.few.extend(many.ring.slots().map(|slot| *many.ring.get(slot)));
        }
        (Some(MsgId(msg)), visits)
    }
}

/// All messages by what the patterns of one shape compare.
#[derive(Clone, Debug)]
struct Class {
    shape: Shape,
    /// Whether a pattern of this class was looked up since the last renumbering.
    used: bool,
    index: Index,
    links: Vec<Link>,
}

impl Class {
    #[inline]
    fn append(&mut self, ring: &Ring<UnexpectedEntry>, slot: u32) {
        let shape = self.shape;
        let key = shape.key_of(&ring.get(slot).envelope());
        let has_key = |other| shape.key_of(&ring.get(other).envelope()) == key;
        self.index.append(&mut self.links, slot, key.hash(), has_key);
    }

    #[inline]
    fn remove(&mut self, ring: &Ring<UnexpectedEntry>, slot: u32) {
        let shape = self.shape;
        let key = shape.key_of(&ring.get(slot).envelope());
        let has_key = |other| shape.key_of(&ring.get(other).envelope()) == key;
        self.index.remove(&mut self.links, slot, key.hash(), has_key);
    }

    /// Removes all slots and enters those of `ring`.
    fn fill(&mut self, ring: &Ring<UnexpectedEntry>) {
        self.index.clear();
        self.links = vec![Link::UNUSED; ring.capacity()];
        for slot in ring.slots() {
            self.append(ring, slot);
        }
    }
}

#[derive(Clone, Debug)]
struct Many {
    ring: Ring<UnexpectedEntry>,
    classes: Vec<Class>,
}

/// The result of a search, and how it was found.
#[derive(Clone, Copy, Debug)]
enum Hit {
    Nothing,
    InClass(usize, Found),
    Walked(u32),
}

impl Many {
    fn append(&mut self, entry: UnexpectedEntry) {
        if self.ring.is_full() {
            self.ring.renumber();
            self.classes.retain(|class| class.used);
            for class in &mut self.classes {
                class.used = false;
                class.fill(&self.ring);
            }
        }
        let slot = self.ring.push(entry);
        for class in &mut self.classes {
            class.append(&self.ring, slot);
        }
    }

    #[inline]
    fn find(&mut self, pattern: &Pattern) -> Hit {
        let Some(number) = self.class_of(Shape::of(pattern)) else { return self.walk(pattern) };
        let Self { ring, classes } = self;
        let class = &mut classes[number];
        class.used = true;
        let key = class.shape.key(pattern.bits, pattern.initiator.map_or(0, |Initiator(initiator)| initiator));
        let found = class.index.find(key.hash(), |slot| pattern.accepts(&ring.get(slot).envelope()));
        found.map_or(Hit::Nothing, |found| Hit::InClass(number, found))
    }

    /// The class of a shape, created if the table is not full.
    #[inline]
    fn class_of(&mut self, shape: Shape) -> Option<usize> {
        if let Some(number) = self.classes.iter().position(|class| class.shape == shape) {
            return Some(number);
        }
        if self.classes.len() == MOST_CLASSES {
            return None;
        }
        let mut class = Class { shape, used: true, index: Index::new(), links: Vec::new() };
        class.fill(&self.ring);
        self.classes.push(class);
        Some(self.classes.len() - 1)
    }

    fn walk(&self, pattern: &Pattern) -> Hit {
        let mut slots = self.ring.slots();
        let found = slots.find(|slot| pattern.accepts(&self.ring.get(*slot).envelope()));
        found.map_or(Hit::Nothing, Hit::Walked)
    }

    fn remove(&mut self, slot: u32, hit: Hit) -> u64 {
        for (number, class) in self.classes.iter_mut().enumerate() {
            match hit {
                Hit::InClass(found_in, found) if found_in == number => {
                    class.index.remove_head(&mut class.links, found);
                }
                _ => class.remove(&self.ring, slot),
            }
        }
        self.ring.remove(slot).msg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unexpected_message_takes_less_than_a_hundred_bytes() {
        // Just after the ring has grown, and when it is nearly full.
        for count in [65_537, 131_072] {
            let mut unexpected = UnexpectedMessages::new();
            for number in 0..count {
                unexpected.append(MsgId(number), &Envelope { bits: number, initiator: Initiator(7) });
            }
            let last = Envelope { bits: count - 1, initiator: Initiator(7) };
            assert_eq!(unexpected.find(&Pattern::exactly(last)), (Some(MsgId(count - 1)), count as u32));
            let many = unexpected.many.expect("there are many");
            let class = &many.classes[0];
            let bytes = many.ring.heap_bytes() + size_of_val(&*class.links) + class.index.heap_bytes();
            assert!(bytes <= 100 * count as usize, "{bytes} bytes for {count} messages");
        }
    }
}
