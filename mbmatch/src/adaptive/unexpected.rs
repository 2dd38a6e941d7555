// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of `adaptive`.
//!
//! A short queue is a [`ShortQueue`]. A longer one is a table by envelope: a receive without
//! wildcards looks up one key. A receive or probe with wildcards needs the oldest message of any
//! key that it accepts. The first one builds an *age index*: all envelopes in order of age,
//! compared 64 at a time. What it finds is also the oldest message of its key, so that it leaves
//! both structures in a few steps.
//!
//! Programs without wildcards never build the index. It is dropped when the queue is empty, if it
//! was not used since the queue was last empty or if the queue becomes a short one; so each message
//! is indexed at most once.

use super::short::{Position, SHORT_CAPACITY, ShortEntry, ShortQueue};
use super::table::{EntryTable, FastPath};
use crate::heap::{Array, Heap};
use crate::log::{Log, Room};
use crate::scan::{Heads, Unit, first_accepted};
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern, QueuedMessage};

/// Up to this many messages the index is compared one by one, which is faster than 16 or 64 at a time.
const SCALAR_SCAN_THRESHOLD: u32 = 3;

/// The age of the first message. Bit 2, bit 1 of a generation, tells its handle from a receive's. Bits 0 and 1 belong
/// to the table.
pub(super) const FIRST_AGE: u64 = 4;
/// The difference of successive ages.
const AGE_STEP: u64 = 8;

/// The part of an age that a handle holds. Without an index, the stamp of a message is its age.
#[inline(always)]
fn generation(age: u64) -> u32 {
    (age >> 1) as u32 & !1
}

/// The handle of a message in a slot of the table, or with an index of the short queue, from its age, whose
/// bits 0 and 1 are zero.
#[inline(always)]
fn handle(slot: u32, age: u64) -> Handle {
    Handle::from_raw(age << 31 | u64::from(slot))
}

/// The stamp of a message while there is an index: the generation in its handle, and its position
/// in the index.
#[inline(always)]
fn indexed_stamp(generation: u32, position: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(position << 2)
}

/// The position in the index, from such a stamp.
#[inline(always)]
fn index_position(stamp: u64) -> u32 {
    stamp as u32 >> 2
}

/// The part of the handle of a message of the table, from its stamp.
#[inline(always)]
fn generation_in(storage: Storage, stamp: u64) -> u32 {
    if storage == Storage::Indexed { (stamp >> 32) as u32 } else { generation(stamp) }
}

/// A visitor of messages without an index: keeps the slot and age of the oldest that a pattern
/// accepts.
fn keep_oldest(pattern: Pattern, oldest: &mut Option<(u32, u64)>) -> impl FnMut(u32, Envelope, u64) {
    move |slot, envelope, age| {
        if pattern.accepts(&envelope) && oldest.is_none_or(|(_, least)| age < least) {
            *oldest = Some((slot, age));
        }
    }
}

/// The table grows by one of this many parts: less than that of receives, since an index may need memory too.
const GROWTH_DIVISOR: usize = 16;

/// Where a message is.
enum Place {
    Short(Position),
    Table(u32),
}

/// Where the messages are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Storage {
    /// All in the short queue; the table is empty.
    ShortQueue,
    /// In the table, without an index.
    Table,
    /// In the table and in the index.
    Indexed,
}

/// The unexpected-message queue.
pub(super) struct UnexpectedMessages {
    /// Whether the table is not empty and there is no index.
    use_fast_path: bool,
    storage: Storage,
    /// Not 0 if the index was used since the queue was last empty. Four bytes, so that it is in no word with `unit`,
    /// which is loaded with its neighbours right after this is stored: store-to-load forwarding would fail.
    index_used: u32,
    /// The age of the next message.
    age: u64,
    /// The age when the queue, not a short one, was last empty.
    age_when_empty: u64,
    short: ShortQueue,
    table: EntryTable,
    index: Log<Heads>,
    unit: Unit,
    heap: Heap,
}

impl UnexpectedMessages {
    /// No messages yet; the first one has the age `age`, see [`Self::age`].
    pub(super) fn new(unit: Unit, heap: Heap, age: u64) -> Self {
        let table = EntryTable::new(GROWTH_DIVISOR, heap);
        Self {
            use_fast_path: false,
            storage: Storage::ShortQueue,
            index_used: 0,
            age,
            age_when_empty: age,
            short: ShortQueue::new(),
            table,
            index: Log::new(heap),
            unit,
            heap,
        }
    }

    /// Where the ages of a later queue begin, so that handles of this one stay stale.
    pub(super) fn age(&self) -> u64 {
        self.age
    }

    /// Frees the memory that the messages do not need.
    pub(super) fn shrink(&mut self) {
        if self.table.len() == 0 {
            self.table = EntryTable::new(GROWTH_DIVISOR, self.heap);
            self.index = Log::new(self.heap);
            if self.storage != Storage::ShortQueue {
                (self.storage, self.age_when_empty, self.index_used) = (Storage::ShortQueue, self.age, 0);
                self.short.open();
            }
        } else if self.storage == Storage::Indexed {
            let table = &mut self.table;
            self.index
                .shrink(|(_, owner), position| table.restamp(owner, |old| indexed_stamp((old >> 32) as u32, position)));
        } else {
            self.index = Log::new(self.heap);
        }
    }

    /// The number of messages that a search by `pattern` compares. Where it builds the index, all of them.
    pub(super) fn compared(&self, pattern: Pattern) -> usize {
        if self.storage == Storage::ShortQueue {
            return self.short.compared(self.short.oldest_accepted(pattern));
        }
        match pattern.source {
            Some(source) if pattern.ignore == 0 => self.table.compared(pattern.bits, source),
            _ if self.storage == Storage::Table => self.table.len() as usize,
            _ => {
                let found = self.find_in_index(pattern);
                if self.table.len() > SCALAR_SCAN_THRESHOLD {
                    return self.index.compared(found);
                }
                let passed = self.index.keys().take_while(|(position, _)| Some(*position) != found).count();
                passed + usize::from(found.is_some())
            }
        }
    }

    /// The message that a handle names, unless it is stale.
    pub(super) fn queued(&self, handle: Handle) -> Option<Message> {
        Some(match self.locate(handle)? {
            Place::Short(at) => self.message_at(at),
            Place::Table(slot) => self.table.message_at(slot),
        })
    }

    fn locate(&self, handle: Handle) -> Option<Place> {
        let mut in_table = handle;
        if let Some(slot) = ShortQueue::slot(handle) {
            let is_named = |age| generation(age) == handle.generation();
            if self.storage == Storage::ShortQueue {
                return self.short.find_slot(slot, is_named).map(Place::Short);
            }
            in_table = self.short.forwarded(slot, is_named)?;
        }
        let stamp = self.table.stamp_at(in_table.index())?;
        (self.generation_of(stamp) == in_table.generation()).then_some(Place::Table(in_table.index()))
    }

    /// Changes the source of the message that a handle names. It keeps its age.
    pub(super) fn set_source(&mut self, handle: Handle, source: u32) {
        match self.locate(handle) {
            None => {}
            Some(Place::Short(at)) => self.short.set_source(at, source),
            Some(Place::Table(slot)) => {
                let position = |table: &EntryTable, slot| table.stamp_at(slot).map_or(0, index_position);
                if self.storage == Storage::Indexed {
                    self.index.set_source(position(&self.table, slot), source);
                    let index = &self.index;
                    self.table.set_source(slot, source, |table, one, other| {
                        index.is_older(position(table, one), position(table, other))
                    });
                } else {
                    self.table
                        .set_source(slot, source, |table, one, other| table.stamp_at(one) < table.stamp_at(other));
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        debug_assert!(self.short.none_queued() == (self.len() == 0));
        self.short.none_queued()
    }

    pub(super) fn len(&self) -> u32 {
        self.short.len() + self.table.len()
    }

    /// Fast path of [`Self::append`]. `None`: it does not apply, and nothing was changed.
    #[inline(always)]
    pub(super) fn append_fast(&mut self, envelope: Envelope, user: u64) -> Option<Handle> {
        if self.use_fast_path {
            let (Envelope { bits, source }, age) = (envelope, self.age);
            let key = (bits, source);
            let slot = match self.table.append_to_fifo(key, age, user) {
                Some(slot) => slot,
                None => self.table.append_fast(key, age, user, |_| true)?,
            };
            self.age = age + AGE_STEP;
            return Some(handle(slot, age));
        }
        debug_assert!(self.short.is_open() == (self.storage == Storage::ShortQueue));
        if !self.short.has_room() {
            return None;
        }
        Some(self.append_short(envelope, user))
    }

    /// Appends a message to the short queue, which must have room.
    #[inline(always)]
    fn append_short(&mut self, envelope: Envelope, user: u64) -> Handle {
        let age = self.age;
        let slot = self.short.insert_message(envelope, user, age);
        self.age = age + AGE_STEP;
        handle(ShortQueue::index(slot), age)
    }

    #[cfg(test)]
    fn append_any(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.append_fast(envelope, user).map_or_else(|| self.append(envelope, user), Ok)
    }

    #[inline(always)]
    pub(super) fn append(&mut self, Envelope { bits, source }: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        // The caller may have declined the fast path of the other queue without trying this one.
        if self.short.has_room() {
            return Ok(self.append_short(Envelope { bits, source }, user));
        }
        if self.storage == Storage::ShortQueue {
            self.move_to_table()?;
        }
        self.table.make_room()?;
        let slot = if self.storage == Storage::Indexed {
            if self.index.make_room()? == Room::NeedsCompaction {
                self.compact_index();
            }
            let stamp = indexed_stamp(generation(self.age), self.index.next_position());
            let slot = self.table.append((bits, source), stamp, user, |_| true);
            self.index.push((Envelope { bits, source }, slot));
            slot
        } else {
            self.table.append((bits, source), self.age, user, |_| true)
        };
        let handle = handle(slot, self.age);
        self.age += AGE_STEP;
        self.short.set_queued_elsewhere(true);
        self.use_fast_path = self.storage == Storage::Table;
        Ok(handle)
    }

    /// The short queue is full: moves its messages to the table.
    #[cold]
    #[inline(never)]
    fn move_to_table(&mut self) -> Result<(), OutOfMemory> {
        self.table.reserve(SHORT_CAPACITY)?;
        for at in self.short.positions() {
            let ShortEntry { bits, user, stamp, source, .. } = self.short.entry(at);
            let slot = self.table.append((bits, source), stamp, user, |_| true);
            self.short.set_forward(at, Handle::new(slot, generation(stamp)));
        }
        self.short.close();
        self.storage = Storage::Table;
        Ok(())
    }

    /// The last message of the table has left. The queue becomes a short queue again if no more
    /// messages arrived since it was last empty than a short queue holds.
    #[cold]
    #[inline(never)]
    fn on_empty(&mut self) {
        self.table.restart_free_slots();
        self.storage = match self.storage {
            _ if self.age - self.age_when_empty <= SHORT_CAPACITY as u64 * AGE_STEP => Storage::ShortQueue,
            Storage::Indexed if self.index_used != 0 => Storage::Indexed,
            _ => Storage::Table,
        };
        self.short.set_queued_elsewhere(false);
        if self.storage == Storage::ShortQueue {
            self.short.open();
        }
        (self.age_when_empty, self.index_used) = (self.age, 0);
        self.use_fast_path = false;
    }

    #[cold]
    #[inline(never)]
    fn compact_index(&mut self) {
        let table = &mut self.table;
        self.index
            .compact(|(_, owner), position| table.restamp(owner, |old| indexed_stamp((old >> 32) as u32, position)));
        // Compaction left lanes at the end.
        let made = self.index.make_room();
        debug_assert!(made == Ok(Room::Made));
    }

    /// The slot of the oldest message that a pattern with wildcards accepts, not in a short queue.
    #[inline(never)]
    fn find_oldest(&mut self, pattern: Pattern) -> Option<u32> {
        self.index_used = 1;
        if self.storage == Storage::Table && self.build_index().is_err() {
            // Without memory for an index, all messages are compared, in no order.
            let mut oldest = None;
            self.table.for_each_entry(keep_oldest(pattern, &mut oldest));
            return oldest.map(|(slot, _)| slot);
        }
        self.find_in_index(pattern).map(|position| self.index.owner(position))
    }

    /// The position in the index of the oldest message that a pattern accepts.
    #[inline(always)]
    fn find_in_index(&self, pattern: Pattern) -> Option<u32> {
        if self.table.len() <= SCALAR_SCAN_THRESHOLD {
            self.index.keys().find(|(_, envelope)| pattern.accepts(envelope)).map(|(position, _)| position)
        } else {
            first_accepted(self.unit, &self.index, pattern)
        }
    }

    #[cold]
    #[inline(never)]
    fn build_index(&mut self) -> Result<(), OutOfMemory> {
        let mut messages = Array::new(self.heap);
        messages.reserve_exact(self.table.len() as usize)?;
        self.index.reserve(self.table.len() as usize)?;
        self.table.for_each_entry(|slot, envelope, age| messages.push((age, slot, envelope)));
        messages.sort_unstable_by_key(|(age, ..)| *age);
        for &(age, slot, envelope) in messages.iter() {
            // The index was empty, and blocks for all messages are reserved.
            let made = self.index.make_room();
            debug_assert!(made == Ok(Room::Made));
            let at = self.index.push((envelope, slot));
            self.table.restamp(slot, |_| indexed_stamp(generation(age), at));
        }
        (self.storage, self.use_fast_path) = (Storage::Indexed, false);
        Ok(())
    }

    /// The oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn probe(&mut self, pattern: Pattern) -> Option<QueuedMessage> {
        if !self.short.has_entries() {
            if self.is_empty() {
                return None;
            }
            let Pattern { bits, ignore: 0, source: Some(source) } = pattern else { return self.probe_slow(pattern) };
            return match self.table.find_fast(bits, source) {
                FastPath::Taken(slot) => Some(self.queued_in_table(slot)),
                FastPath::NoMatch => None,
                FastPath::Decline => self.probe_slow(pattern),
            };
        }
        self.short.oldest_accepted(pattern).map(|at| self.queued_in_short(at))
    }

    /// As [`Self::probe`], in a table that is not empty. Outlined, since a probe of a short queue takes a
    /// few cycles.
    #[cold]
    #[inline(never)]
    fn probe_slow(&mut self, pattern: Pattern) -> Option<QueuedMessage> {
        match pattern.source {
            Some(source) if pattern.ignore == 0 => {
                let first = self.table.find(pattern.bits, source, |_| true)?;
                Some(self.queued_in_table(first.slot))
            }
            _ => {
                let slot = self.find_oldest(pattern)?;
                Some(self.queued_in_table(slot))
            }
        }
    }

    fn queued_in_short(&self, at: Position) -> QueuedMessage {
        let Message { user, envelope } = self.message_at(at);
        QueuedMessage { handle: self.short.handle_at(at, generation), user, envelope }
    }

    /// The message in a slot of the table, which must be occupied.
    #[inline(always)]
    fn queued_in_table(&self, slot: u32) -> QueuedMessage {
        let Message { user, envelope } = self.table.message_at(slot);
        let generation = self.generation_of(self.table.stamp_at(slot).unwrap_or(FIRST_AGE));
        QueuedMessage { handle: Handle::new(slot, generation), user, envelope }
    }

    #[inline(always)]
    fn generation_of(&self, stamp: u64) -> u32 {
        generation_in(self.storage, stamp)
    }

    /// Appends all messages to `into`, which is empty, oldest first.
    pub(super) fn messages(&self, into: &mut Array<QueuedMessage>) {
        into.extend(self.short.positions().map(|at| self.queued_in_short(at)));
        if self.storage == Storage::Indexed {
            into.extend(self.index.keys().map(|(position, _)| self.queued_in_table(self.index.owner(position))));
        } else {
            self.table.for_each_entry(|slot, _, _| into.push(self.queued_in_table(slot)));
            if self.storage == Storage::Table {
                into.sort_unstable_by_key(|message| self.table.stamp_at(message.handle.index()));
            }
        }
    }

    /// A message of the short queue.
    #[inline(always)]
    fn message_at(&self, at: Position) -> Message {
        let ShortEntry { bits, source, user, .. } = self.short.entry(at);
        Message { user, envelope: Envelope { bits, source } }
    }

    /// Fast path of matching: takes the oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn take_fast(&mut self, pattern: Pattern) -> FastPath<Message> {
        debug_assert!(self.use_fast_path == (self.storage == Storage::Table && self.table.len() > 0));
        if self.use_fast_path {
            let Pattern { bits, ignore: 0, source: Some(source) } = pattern else { return FastPath::Decline };
            let envelope = Envelope { bits, source };
            if let Some(user) = self.table.take_from_fifo(bits, source) {
                return FastPath::Taken(Message { user, envelope });
            }
            // The last message needs `on_empty`.
            if self.table.len() == 1 {
                return FastPath::Decline;
            }
            return self.table.take_fast(bits, source).map(|user| Message { user, envelope });
        }
        if self.storage != Storage::ShortQueue {
            if self.is_empty() {
                return FastPath::NoMatch;
            }
            // With an index too, a receive without wildcards looks up its key. Most find no message.
            let Pattern { bits, ignore: 0, source: Some(source) } = pattern else { return FastPath::Decline };
            return match self.table.find_fast(bits, source) {
                FastPath::NoMatch => FastPath::NoMatch,
                FastPath::Taken(_) | FastPath::Decline => FastPath::Decline,
            };
        }
        let Some(at) = self.short.oldest_accepted(pattern) else { return FastPath::NoMatch };
        let message = self.message_at(at);
        self.short.remove_exact(at);
        FastPath::Taken(message)
    }

    /// Takes the oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn take(&mut self, pattern: Pattern) -> Option<Message> {
        match self.take_fast(pattern) {
            FastPath::Taken(message) => Some(message),
            FastPath::NoMatch => None,
            FastPath::Decline => self.take_slow(pattern),
        }
    }

    /// Takes the oldest message that a pattern accepts, not from a short queue.
    #[inline(always)]
    pub(super) fn take_slow(&mut self, pattern: Pattern) -> Option<Message> {
        if self.table.len() == 0 {
            return None;
        }
        let (stamp, message) = match pattern.source {
            Some(source) if pattern.ignore == 0 => {
                let first = self.table.find(pattern.bits, source, |_| true)?;
                (self.table.stamp_of(first), self.table.take(first))
            }
            _ => {
                let slot = self.find_oldest(pattern)?;
                (self.table.stamp_at(slot)?, self.table.take_oldest_at(slot, |_| true))
            }
        };
        self.on_removed(stamp);
        Some(message)
    }

    /// A message with this stamp has left the table.
    #[inline(always)]
    fn on_removed(&mut self, stamp: u64) {
        if self.storage == Storage::Indexed {
            self.index.remove(index_position(stamp));
        }
        if self.table.len() == 0 {
            self.on_empty();
        }
    }

    /// Removes a message by its handle; returns its user value.
    #[inline(always)]
    pub(super) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let storage = self.storage;
        let is_named = |stamp| generation_in(storage, stamp) == handle.generation();
        // No slot of the table has the number of a handle of the short queue.
        match self.table.remove_fast(handle.index(), is_named) {
            Some((user, stamp)) => {
                self.on_removed(stamp);
                Some(user)
            }
            None => self.discard_slow(handle),
        }
    }

    /// As [`Self::discard`].
    #[inline(never)]
    fn discard_slow(&mut self, handle: Handle) -> Option<u64> {
        let Some(slot) = ShortQueue::slot(handle) else { return self.discard_in_table(handle) };
        let is_named = |age| generation(age) == handle.generation();
        if self.storage == Storage::ShortQueue {
            return self.short.remove_slot(slot, is_named);
        }
        self.discard_in_table(self.short.forwarded(slot, is_named)?)
    }

    /// Removes a message that is not in a short queue.
    fn discard_in_table(&mut self, handle: Handle) -> Option<u64> {
        let slot = handle.index();
        let stamp = self.table.stamp_at(slot)?;
        let generation = self.generation_of(stamp);
        let user = self.table.remove_at(slot, |_| generation == handle.generation(), |_| true)?;
        self.on_removed(stamp);
        Some(user)
    }

    pub(super) fn reserve(&mut self, messages: usize) -> Result<(), OutOfMemory> {
        self.table.reserve(messages)?;
        if messages > 0 { self.index.reserve(messages) } else { Ok(()) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.index.bytes()
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
        let mut messages = UnexpectedMessages::new(VectorUnit::or_best(None), Heap::GLOBAL, FIRST_AGE);
        messages.age = FIRST_AGE + ((1 << 30) - 3) * AGE_STEP;
        messages.age_when_empty = messages.age;
        let handles = (0..count).map(|n| messages.append_any(envelope(n), n.into()).unwrap()).collect();
        (messages, handles)
    }

    const ANY: Pattern = Pattern { bits: 0, ignore: u64::MAX, source: None };

    /// Runs up to the last generation and beyond it: a short queue and longer ones, with an index
    /// of few and of many messages.
    #[test]
    fn order_holds_when_the_generation_wraps() {
        for count in [5, SHORT_CAPACITY as u32 + 1, SCALAR_SCAN_THRESHOLD + 2, 300] {
            let (mut messages, handles) = messages(count);
            assert_eq!(messages.discard(handles[3]), Some(3));
            assert_eq!(messages.discard(handles[3]), None);
            for number in (0..count).filter(|number| *number != 3) {
                let expected = Message { user: number.into(), envelope: envelope(number) };
                let probed = messages.probe(ANY).map(|QueuedMessage { user, envelope, .. }| Message { user, envelope });
                assert_eq!(probed, Some(expected));
                assert_eq!(
                    messages.storage,
                    if count > SHORT_CAPACITY as u32 { Storage::Indexed } else { Storage::ShortQueue }
                );
                assert_eq!(messages.take(ANY), Some(expected));
            }
            assert_eq!(messages.len(), 0);
        }
    }

    /// Handles stay valid when a short queue overflows, and the queue becomes short again after a
    /// phase with few messages.
    #[test]
    fn a_queue_becomes_short_again_after_few_messages() {
        let (mut messages, handles) = messages(SHORT_CAPACITY as u32);
        assert_eq!(messages.discard(handles[2]), Some(2));
        let last = messages.append_any(envelope(99), 99).unwrap();
        assert_eq!(messages.storage, Storage::ShortQueue);
        let many = messages.append_any(envelope(100), 100).unwrap();
        assert_eq!(messages.storage, Storage::Table);
        assert_eq!(messages.discard(handles[2]), None);
        for (handle, user) in [(handles[1], 1), (last, 99), (many, 100), (handles[0], 0)] {
            assert_eq!(messages.discard(handle), Some(user));
            assert_eq!(messages.discard(handle), None);
        }
        assert_eq!(messages.probe(ANY).map(|message| message.user), Some(3));
        while messages.take(ANY).is_some() {}
        // This phase was too long for a short queue, and used the index.
        assert_eq!(messages.storage, Storage::Indexed);
        for _ in 0..2 {
            messages.append_any(envelope(0), 0).unwrap();
            messages.take(Pattern::exactly(envelope(0))).expect("the message is queued");
            assert_eq!(messages.storage, Storage::ShortQueue);
        }
    }
}
