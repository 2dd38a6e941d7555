// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of `adaptive`.
//!
//! A receive without wildcards can take only messages of one envelope: one chain. A receive with wildcards takes the
//! oldest that it accepts, whatever its envelope. As long as such receives come to a few messages only, these are looked
//! at one by one. The first that comes to more has an index made, envelopes in order of age, which are compared 64 at a
//! time; what that finds is the oldest of its envelope too, the first of its chain. Programs without wildcards never pay
//! for it, and others once for each message at most: it is given up only when the queue is empty, and had been so
//! before without such a receive or probe in between.

use super::chains::{Chains, Quick};
use crate::log::{Log, Room};
use crate::scan::{Heads, Unit, first_accepted};
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern};

/// So many messages are looked at one by one, if they are near each other.
const FEW: u32 = 16;

/// What a message is stamped with: what its handle has, and its place in the index if there is one; else what the
/// handle lacks of its age.
#[inline(always)]
fn stamp(generation: u32, rest: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(rest)
}

/// The lower bits of the age, above two that say that this is a message.
#[inline(always)]
fn generation(stamp: u64) -> u32 {
    (stamp >> 32) as u32
}

/// The age of a message of which there is no index.
fn age(stamp: u64) -> u64 {
    u64::from(stamp as u32) << 30 | u64::from(generation(stamp) >> 2)
}

/// Replaces the place and age of the oldest that a pattern accepts, where there is no index, by those of a message that is
/// older.
#[inline(always)]
fn older(
    bits: u64,
    ignore: u64,
    source: Option<u32>,
    oldest: &mut Option<(u32, u64)>,
) -> impl FnMut(u32, Envelope, u64) {
    let (compared, source, source_mask) = (!ignore, source.unwrap_or(0), if source.is_some() { u32::MAX } else { 0 });
    move |place, envelope, stamp| {
        let other = (envelope.bits ^ bits) & compared | u64::from((envelope.source ^ source) & source_mask);
        if other == 0 && oldest.is_none_or(|(_, least)| age(stamp) < least) {
            *oldest = Some((place, age(stamp)));
        }
    }
}

pub(super) struct UnexpectedMessages {
    /// Whether the index is there.
    is_indexed: bool,
    /// Whether the index was asked since the queue was last empty.
    was_searched: bool,
    /// Numbers the messages in order of age.
    age: u64,
    chains: Chains,
    index: Log<Heads>,
    unit: Unit,
}

impl UnexpectedMessages {
    pub(super) fn new(unit: Unit) -> Self {
        // There may be an index besides, so that there is less room to spare.
        let chains = Chains::new(16);
        Self { is_indexed: false, was_searched: false, age: 0, chains, index: Log::new(), unit }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.chains.len()
    }

    /// Appends a message if that is a matter of a few instructions; else nothing happens.
    #[inline(always)]
    pub(super) fn append_quickly(&mut self, envelope: Envelope, user: u64) -> Option<Handle> {
        if self.is_indexed {
            return None;
        }
        let (generation, stamp) = self.next_stamp();
        let place = self.chains.append_quickly((envelope.bits, envelope.source), stamp, user, |_| true)?;
        self.age += 1;
        Some(Handle::new(place, generation))
    }

    /// The stamp of the next message if there is no index, and what its handle has of it.
    #[inline(always)]
    fn next_stamp(&self) -> (u32, u64) {
        let generation = (self.age as u32) << 2 | 3;
        (generation, stamp(generation, (self.age >> 30) as u32))
    }

    #[inline(always)]
    pub(super) fn append(&mut self, Envelope { bits, source }: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.chains.make_room()?;
        if !self.is_indexed {
            let (generation, stamp) = self.next_stamp();
            let place = self.chains.append((bits, source), stamp, user, |_| true);
            self.age += 1;
            return Ok(Handle::new(place, generation));
        }
        if self.index.make_room()? == Room::InHoles {
            self.squeeze();
        }
        let generation = (self.age as u32) << 2 | 3;
        let place = self.chains.append((bits, source), stamp(generation, self.index.next_place()), user, |_| true);
        self.index.push((Envelope { bits, source }, place));
        self.age += 1;
        Ok(Handle::new(place, generation))
    }

    #[cold]
    #[inline(never)]
    fn squeeze(&mut self) {
        let chains = &mut self.chains;
        self.index.squeeze(|(_, owner), place| chains.restamp(owner, |old| stamp(generation(old), place)));
        // There are holes at the end now.
        let made = self.index.make_room();
        debug_assert!(made == Ok(Room::Made));
    }

    /// The place of the oldest message that a pattern with wildcards accepts. There must be messages.
    #[inline(always)]
    fn find(&mut self, bits: u64, ignore: u64, source: Option<u32>) -> Option<u32> {
        if self.is_few() { self.oldest_of_few(bits, ignore, source) } else { self.oldest(bits, ignore, source) }
    }

    /// Whether messages are looked at one by one.
    #[inline(always)]
    pub(super) fn is_few(&self) -> bool {
        !self.is_indexed && self.len() <= FEW && self.chains.is_near()
    }

    /// The place of the oldest message that a pattern accepts, of few.
    #[inline(always)]
    fn oldest_of_few(&self, bits: u64, ignore: u64, source: Option<u32>) -> Option<u32> {
        let mut oldest = None;
        self.chains.each_of_near(older(bits, ignore, source, &mut oldest));
        oldest.map(|(place, _)| place)
    }

    /// The place of the oldest message that a pattern with wildcards accepts, of many.
    #[inline(never)]
    fn oldest(&mut self, bits: u64, ignore: u64, source: Option<u32>) -> Option<u32> {
        let pattern = Pattern { bits, ignore, source };
        self.was_searched = true;
        if !self.is_indexed && self.make_index().is_err() {
            // One by one, as many as there are.
            let mut oldest = None;
            self.chains.each_item(older(bits, ignore, source, &mut oldest));
            return oldest.map(|(place, _)| place);
        }
        let found = if self.len() <= FEW {
            self.index.keys().find(|(_, envelope)| pattern.accepts(envelope)).map(|(place, _)| place)
        } else {
            first_accepted(self.unit, &self.index, pattern)
        };
        Some(self.index.owner(found?))
    }

    #[cold]
    #[inline(never)]
    fn make_index(&mut self) -> Result<(), OutOfMemory> {
        let mut messages = Vec::new();
        messages.try_reserve_exact(self.len() as usize)?;
        self.index.reserve(self.len() as usize)?;
        self.chains.each_item(|place, envelope, stamp| messages.push((stamp, place, envelope)));
        messages.sort_unstable_by_key(|(stamp, ..)| age(*stamp));
        for (old, place, envelope) in messages {
            // The index was empty, and has blocks for all.
            let made = self.index.make_room();
            debug_assert!(made == Ok(Room::Made));
            let at = self.index.push((envelope, place));
            self.chains.restamp(place, |_| stamp(generation(old), at));
        }
        self.is_indexed = true;
        Ok(())
    }

    /// The oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn probe(&mut self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Message> {
        if self.len() == 0 {
            return None;
        }
        match source {
            Some(source) if ignore == 0 => {
                let first = self.chains.find(bits, source, |_| true)?;
                Some(self.chains.message(first))
            }
            source => {
                let place = self.find(bits, ignore, source)?;
                Some(self.chains.message_at(place))
            }
        }
    }

    /// Takes the oldest message of an envelope, if that is a matter of a few instructions.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self, Envelope { bits, source }: Envelope) -> Quick {
        if self.len() == 0 {
            Quick::Nothing
        } else if self.is_indexed {
            Quick::Ask
        } else {
            self.chains.take_quickly(bits, source)
        }
    }

    /// Takes the oldest message of an envelope; returns its user value.
    #[inline(always)]
    pub(super) fn take_exact(&mut self, Envelope { bits, source }: Envelope) -> Option<u64> {
        if self.len() == 0 {
            return None;
        }
        let first = self.chains.find(bits, source, |_| true)?;
        let stamp = self.chains.stamp_of(first);
        let user = self.chains.take(first).user;
        if self.is_indexed {
            self.leave_index(stamp);
        }
        Some(user)
    }

    /// Takes the oldest message that a pattern with wildcards accepts, of few.
    #[inline(always)]
    pub(super) fn take_of_few(&mut self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Message> {
        let place = self.oldest_of_few(bits, ignore, source)?;
        Some(self.chains.take_first_at(place, |_| true))
    }

    /// Takes the oldest message that a pattern with wildcards accepts, of many.
    #[inline(always)]
    pub(super) fn take_of_many(&mut self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Message> {
        let place = self.oldest(bits, ignore, source)?;
        let stamp = self.chains.stamp_at(place)?;
        let message = self.chains.take_first_at(place, |_| true);
        if self.is_indexed {
            self.leave_index(stamp);
        }
        Some(message)
    }

    /// Takes the oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u64, ignore: u64, source: Option<u32>) -> Option<Message> {
        match source {
            Some(source) if ignore == 0 => {
                let envelope = Envelope { bits, source };
                Some(Message { user: self.take_exact(envelope)?, envelope })
            }
            source if self.is_few() => self.take_of_few(bits, ignore, source),
            source => self.take_of_many(bits, ignore, source),
        }
    }

    /// A message leaves the index, which is given up if it is the last and nobody asked for it.
    #[inline(never)]
    fn leave_index(&mut self, stamp: u64) {
        self.index.remove(stamp as u32);
        if self.len() == 0 {
            (self.is_indexed, self.was_searched) = (self.was_searched, false);
        }
    }

    /// Takes a message back; returns its user value.
    pub(super) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let place = handle.index();
        let stamp = self.chains.stamp_at(place)?;
        let user = self.chains.take_back(place, |stamp| generation(stamp) == handle.generation(), |_| true)?;
        if self.is_indexed {
            self.leave_index(stamp);
        }
        Some(user)
    }

    pub(super) fn reserve(&mut self, messages: usize) -> Result<(), OutOfMemory> {
        self.chains.reserve(messages)?;
        if messages > 0 { self.index.reserve(messages) } else { Ok(()) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.chains.bytes() + self.index.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::VectorUnit;

    /// As many messages as a handle can tell apart, and around there few and many, with an index and without.
    #[test]
    fn age_goes_on_where_handles_begin_anew() {
        for count in [5, FEW + 1, FEW + 2, 300] {
            let mut messages = UnexpectedMessages::new(VectorUnit::or_best(None));
            messages.age = (1 << 30) - 3;
            let envelope = |number: u32| Envelope { bits: (number * 7 % 11).into(), source: number };
            let handles: Vec<_> = (0..count).map(|n| messages.append(envelope(n), n.into()).unwrap()).collect();
            assert_eq!(messages.discard(handles[3]), Some(3));
            assert_eq!(messages.discard(handles[3]), None);
            for number in (0..count).filter(|number| *number != 3) {
                let expected = Message { user: number.into(), envelope: envelope(number) };
                assert_eq!(messages.probe(0, u64::MAX, None), Some(expected));
                assert_eq!(messages.is_indexed, count > FEW + 1);
                assert_eq!(messages.take(0, u64::MAX, None), Some(expected));
            }
            // It stays for as long as it is asked.
            assert_eq!((messages.len(), messages.is_indexed), (0, count > FEW + 1));
            messages.append(envelope(0), 0).unwrap();
            messages.take(envelope(0).bits, 0, Some(0)).expect("it is there");
            assert!(!messages.is_indexed);
        }
    }
}
