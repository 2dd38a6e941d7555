// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of `adaptive`.
//!
//! A few are in [`Short`]. Of more, a receive without wildcards can take only messages of one envelope: one chain. A
//! receive with wildcards takes the oldest that it accepts, whatever its envelope. The first such receive or probe has an
//! index made, envelopes in order of age, which are compared 64 at a time; what that finds is the oldest of its envelope
//! too, the first of its chain. Programs without wildcards never pay for it, and others once for each message at most: it
//! is given up only when the queue is empty, and had been so before without such a receive or probe in between, or with
//! so few messages that the queue is short from then on.

use super::chains::{Chains, Quick};
use super::short::{At, Entry, SLOTS, Short};
use crate::log::{Log, Room};
use crate::scan::{Heads, Unit, first_accepted};
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern};

/// So many messages in the index are sooner looked at one by one than 64 at once.
const SEVERAL: u32 = 16;

/// The age of the first message. Bit 1 tells a message's handle from a receive's, and bit 0 is free for [`Chains`].
const FIRST: u64 = 2;
/// From one age to the next.
const NEXT: u64 = 4;

/// What a message is stamped with where there is no index: its age. This is what its handle has of that.
#[inline(always)]
fn generation(age: u64) -> u32 {
    age as u32 & !1
}

/// The handle of a message in a chain whose age, bit 0 still zero, is the next.
#[inline(always)]
fn handle(place: u32, age: u64) -> Handle {
    Handle::from_raw(age << 32 | u64::from(place))
}

/// What a message is stamped with where there is an index: what its handle has, and its place there.
#[inline(always)]
fn indexed(generation: u32, place: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(place << 1)
}

/// The place in the index of a message that is stamped so.
#[inline(always)]
fn place_in_index(stamp: u64) -> u32 {
    stamp as u32 >> 1
}

/// Replaces the place and age of the oldest that a pattern accepts, where there is no index, by those of a message that is
/// older.
fn older(pattern: Pattern, oldest: &mut Option<(u32, u64)>) -> impl FnMut(u32, Envelope, u64) {
    move |place, envelope, age| {
        if pattern.accepts(&envelope) && oldest.is_none_or(|(_, least)| age < least) {
            *oldest = Some((place, age));
        }
    }
}

/// Where the messages are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    /// All in `short`, and else none.
    Short,
    /// In `chains`, without an index.
    Chained,
    /// In `chains`, and the index is there.
    Indexed,
}

pub(super) struct UnexpectedMessages {
    /// Whether no message is there, wherever it would be.
    is_empty: bool,
    /// Whether some are in `chains`, and there is no index: what comes next is most often a matter of a few instructions.
    is_quick: bool,
    kept: Kept,
    /// Whether the index was asked since the queue was last empty.
    was_searched: bool,
    /// The age of the next message.
    age: u64,
    /// The age when the queue was last empty and in chains.
    began: u64,
    short: Short,
    chains: Chains,
    index: Log<Heads>,
    unit: Unit,
}

impl UnexpectedMessages {
    pub(super) fn new(unit: Unit) -> Self {
        // There may be an index besides, so that there is less room to spare.
        let chains = Chains::new(16);
        Self {
            is_empty: true,
            is_quick: false,
            kept: Kept::Short,
            was_searched: false,
            age: FIRST,
            began: FIRST,
            short: Short::new(),
            chains,
            index: Log::new(),
            unit,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        debug_assert!(self.is_empty == (self.len() == 0));
        self.is_empty
    }

    pub(super) fn len(&self) -> u32 {
        self.short.len() + self.chains.len()
    }

    /// Appends a message if that is a matter of a few instructions; else nothing happens.
    #[inline(always)]
    pub(super) fn append_quickly(&mut self, envelope: Envelope, user: u64) -> Option<Handle> {
        if self.is_quick {
            let (Envelope { bits, source }, age) = (envelope, self.age);
            let place = self.chains.append_quickly((bits, source), age, user, |_| true)?;
            self.age = age + NEXT;
            return Some(handle(place, age));
        }
        if self.kept != Kept::Short || !self.short.has_room() {
            return None;
        }
        Some(self.append_short(envelope, user))
    }

    /// Appends a message to the short queue, which has room.
    #[inline(always)]
    fn append_short(&mut self, envelope: Envelope, user: u64) -> Handle {
        let age = self.age;
        let slot = self.short.insert(Entry::message(envelope, user, age), true);
        (self.age, self.is_empty) = (age + NEXT, false);
        Short::handle(slot, generation(age))
    }

    #[cfg(test)]
    fn append_any(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.append_quickly(envelope, user).map_or_else(|| self.append(envelope, user), Ok)
    }

    #[inline(always)]
    pub(super) fn append(&mut self, Envelope { bits, source }: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        // What was not quick was perhaps that of the other queue.
        if self.kept == Kept::Short && self.short.has_room() {
            return Ok(self.append_short(Envelope { bits, source }, user));
        }
        if self.kept == Kept::Short {
            self.leave_short()?;
        }
        self.chains.make_room()?;
        let place = if self.kept == Kept::Indexed {
            if self.index.make_room()? == Room::InHoles {
                self.squeeze();
            }
            let stamp = indexed(generation(self.age), self.index.next_place());
            let place = self.chains.append((bits, source), stamp, user, |_| true);
            self.index.push((Envelope { bits, source }, place));
            place
        } else {
            self.chains.append((bits, source), self.age, user, |_| true)
        };
        let handle = handle(place, self.age);
        (self.age, self.is_empty) = (self.age + NEXT, false);
        self.is_quick = self.kept == Kept::Chained;
        Ok(handle)
    }

    /// Moves all messages to where many can be.
    #[cold]
    #[inline(never)]
    fn leave_short(&mut self) -> Result<(), OutOfMemory> {
        self.chains.reserve(SLOTS)?;
        for at in self.short.each() {
            let Entry { bits, user, stamp, source, .. } = *self.short.entry(at);
            let place = self.chains.append((bits, source), stamp, user, |_| true);
            self.short.move_to(at, Handle::new(place, generation(stamp)));
        }
        self.short.end();
        self.kept = Kept::Chained;
        Ok(())
    }

    /// The last message has left a queue that is not short: the next ones are in a short one again, if that had been
    /// enough since it was empty before. The index is given up then, and if nobody asked for it in that time.
    #[cold]
    #[inline(never)]
    fn empty(&mut self) {
        self.chains.begin_anew();
        self.kept = match self.kept {
            _ if self.age - self.began <= SLOTS as u64 * NEXT => Kept::Short,
            Kept::Indexed if self.was_searched => Kept::Indexed,
            _ => Kept::Chained,
        };
        (self.is_empty, self.began, self.was_searched) = (true, self.age, false);
        self.is_quick = false;
    }

    #[cold]
    #[inline(never)]
    fn squeeze(&mut self) {
        let chains = &mut self.chains;
        self.index.squeeze(|(_, owner), place| chains.restamp(owner, |old| indexed((old >> 32) as u32, place)));
        // There are holes at the end now.
        let made = self.index.make_room();
        debug_assert!(made == Ok(Room::Made));
    }

    /// The place of the oldest message that a pattern with wildcards accepts, of a queue that is not short.
    #[inline(never)]
    fn oldest(&mut self, pattern: Pattern) -> Option<u32> {
        self.was_searched = true;
        if self.kept == Kept::Chained && self.make_index().is_err() {
            // One by one, as many as there are.
            let mut oldest = None;
            self.chains.each_item(older(pattern, &mut oldest));
            return oldest.map(|(place, _)| place);
        }
        let found = if self.chains.len() <= SEVERAL {
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
        messages.try_reserve_exact(self.chains.len() as usize)?;
        self.index.reserve(self.chains.len() as usize)?;
        self.chains.each_item(|place, envelope, age| messages.push((age, place, envelope)));
        messages.sort_unstable_by_key(|(age, ..)| *age);
        for (age, place, envelope) in messages {
            // The index was empty, and has blocks for all.
            let made = self.index.make_room();
            debug_assert!(made == Ok(Room::Made));
            let at = self.index.push((envelope, place));
            self.chains.restamp(place, |_| indexed(generation(age), at));
        }
        (self.kept, self.is_quick) = (Kept::Indexed, false);
        Ok(())
    }

    /// The oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn probe(&mut self, pattern: Pattern) -> Option<Message> {
        if self.short.len() == 0 {
            return if self.kept == Kept::Short { None } else { self.probe_many(pattern) };
        }
        self.short.first_accepted(pattern).map(|at| self.message_at(at))
    }

    /// The oldest message that a pattern accepts, of a queue that is not short. Out of the way of short ones, whose probe
    /// is a few cycles.
    #[cold]
    #[inline(never)]
    fn probe_many(&mut self, pattern: Pattern) -> Option<Message> {
        if self.chains.len() == 0 {
            return None;
        }
        match pattern.source {
            Some(source) if pattern.ignore == 0 => {
                let first = self.chains.find(pattern.bits, source, |_| true)?;
                Some(self.chains.message(first))
            }
            _ => {
                let place = self.oldest(pattern)?;
                Some(self.chains.message_at(place))
            }
        }
    }

    /// A message of the short queue.
    #[inline(always)]
    fn message_at(&self, at: At) -> Message {
        let Entry { bits, source, user, .. } = *self.short.entry(at);
        Message { user, envelope: Envelope { bits, source } }
    }

    /// Takes the oldest message that a pattern accepts, if that is a matter of a few instructions.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self, pattern: Pattern) -> Quick<Message> {
        debug_assert!(self.is_quick == (self.kept == Kept::Chained && self.chains.len() > 0));
        if self.is_quick {
            // More is to be done with the last.
            if self.chains.len() == 1 {
                return Quick::Ask;
            }
            let Pattern { bits, ignore: 0, source: Some(source) } = pattern else { return Quick::Ask };
            let taken = self.chains.take_quickly(bits, source);
            return taken.map(|user| Message { user, envelope: Envelope { bits, source } });
        }
        if self.short.len() == 0 {
            return if self.kept == Kept::Short { Quick::Nothing } else { Quick::Ask };
        }
        let Some(at) = self.short.first_accepted(pattern) else { return Quick::Nothing };
        let message = self.message_at(at);
        self.short.remove(at);
        self.is_empty = self.short.len() == 0;
        Quick::Taken(message)
    }

    /// Takes the oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn take(&mut self, pattern: Pattern) -> Option<Message> {
        match self.take_quickly(pattern) {
            Quick::Taken(message) => Some(message),
            Quick::Nothing => None,
            Quick::Ask => self.take_of_many(pattern),
        }
    }

    /// Takes the oldest message that a pattern accepts, of a queue that is not short.
    #[inline(always)]
    pub(super) fn take_of_many(&mut self, pattern: Pattern) -> Option<Message> {
        if self.chains.len() == 0 {
            return None;
        }
        let (stamp, message) = match pattern.source {
            Some(source) if pattern.ignore == 0 => {
                let first = self.chains.find(pattern.bits, source, |_| true)?;
                (self.chains.stamp_of(first), self.chains.take(first))
            }
            _ => {
                let place = self.oldest(pattern)?;
                (self.chains.stamp_at(place)?, self.chains.take_first_at(place, |_| true))
            }
        };
        self.has_left(stamp);
        Some(message)
    }

    /// A message with this stamp has left the chains.
    #[inline(always)]
    fn has_left(&mut self, stamp: u64) {
        if self.kept == Kept::Indexed {
            self.index.remove(place_in_index(stamp));
        }
        if self.chains.len() == 0 {
            self.empty();
        }
    }

    /// Takes a message back; returns its user value.
    pub(super) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let Some(slot) = Short::slot(handle) else { return self.discard_moved(handle) };
        let is_it = |age| generation(age) == handle.generation();
        if self.kept == Kept::Short {
            let user = self.short.take_back(slot, is_it);
            self.is_empty = self.short.len() == 0;
            return user;
        }
        self.discard_moved(self.short.moved(slot, is_it)?)
    }

    /// Takes a message back that is not in a short queue.
    fn discard_moved(&mut self, handle: Handle) -> Option<u64> {
        let place = handle.index();
        let stamp = self.chains.stamp_at(place)?;
        let generation = if self.kept == Kept::Indexed { (stamp >> 32) as u32 } else { generation(stamp) };
        let user = self.chains.take_back(place, |_| generation == handle.generation(), |_| true)?;
        self.has_left(stamp);
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

    fn envelope(number: u32) -> Envelope {
        Envelope { bits: (number * 7 % 11).into(), source: number }
    }

    fn messages(count: u32) -> (UnexpectedMessages, Vec<Handle>) {
        let mut messages = UnexpectedMessages::new(VectorUnit::or_best(None));
        messages.age = FIRST + ((1 << 30) - 3) * NEXT;
        messages.began = messages.age;
        let handles = (0..count).map(|n| messages.append_any(envelope(n), n.into()).unwrap()).collect();
        (messages, handles)
    }

    const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, source: None };

    /// As many messages as a handle can tell apart, and around there a short queue and others, with an index of few and of
    /// many.
    #[test]
    fn age_goes_on_where_handles_begin_anew() {
        for count in [5, SLOTS as u32 + 1, SEVERAL + 2, 300] {
            let (mut messages, handles) = messages(count);
            assert_eq!(messages.discard(handles[3]), Some(3));
            assert_eq!(messages.discard(handles[3]), None);
            for number in (0..count).filter(|number| *number != 3) {
                let expected = Message { user: number.into(), envelope: envelope(number) };
                assert_eq!(messages.probe(ANY), Some(expected));
                assert_eq!(messages.kept, if count > SLOTS as u32 { Kept::Indexed } else { Kept::Short });
                assert_eq!(messages.take(ANY), Some(expected));
            }
            assert_eq!(messages.len(), 0);
        }
    }

    /// Handles name their messages through the end of a short queue, and it comes again after a time with few messages.
    #[test]
    fn a_queue_is_short_again_when_that_was_enough() {
        let (mut messages, handles) = messages(SLOTS as u32);
        assert_eq!(messages.discard(handles[2]), Some(2));
        let last = messages.append_any(envelope(99), 99).unwrap();
        assert_eq!(messages.kept, Kept::Short);
        let many = messages.append_any(envelope(100), 100).unwrap();
        assert_eq!(messages.kept, Kept::Chained);
        assert_eq!(messages.discard(handles[2]), None);
        for (handle, user) in [(handles[1], 1), (last, 99), (many, 100), (handles[0], 0)] {
            assert_eq!(messages.discard(handle), Some(user));
            assert_eq!(messages.discard(handle), None);
        }
        assert_eq!(messages.probe(ANY).map(|message| message.user), Some(3));
        while messages.take(ANY).is_some() {}
        // The last time was too much for it, and an index was asked for.
        assert_eq!(messages.kept, Kept::Indexed);
        for _ in 0..2 {
            messages.append_any(envelope(0), 0).unwrap();
            messages.take(Pattern::exactly(envelope(0))).expect("it is there");
            assert_eq!(messages.kept, Kept::Short);
        }
    }
}
