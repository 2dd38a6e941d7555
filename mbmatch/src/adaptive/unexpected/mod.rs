// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of `adaptive`.
//!
//! A short queue is a [`ShortQueue`]. A longer one is a table by envelope: a receive without
//! wildcards looks up one key. A receive or probe with wildcards needs the oldest message of any
//! key that it accepts. The first one builds a second structure:
//!
//! - *lists by match bits* ([`by_bits`]), if it is from any source and compares all match bits:
//!   such a search is a lookup too;
//! - else an *age index*: all envelopes in order of age, compared 64 at a time.
//!
//! What they find is also the oldest message of its key, so that it leaves the table in a few steps.
//! The two are in the same memory, one at a time. A search that the lists cannot answer builds the
//! index in their place. Searches that they could answer scan the index, and build them again once
//! they have passed enough of it to pay for that. Each time that the index comes back before the lists
//! have paid for both changes doubles what pays, so that a program that needs both in turns does not
//! change between them, and one that needs them in phases does.
//!
//! Programs without wildcards build neither. Both are dropped when the queue is empty, if they were
//! not used since the queue was last empty or if the queue becomes a short one.

mod by_bits;
#[cfg(test)]
mod tests;
mod wildcards;

use super::fast_paths::FastPaths;
use super::short::{Position, SHORT_CAPACITY, ShortEntry, ShortQueue};
use super::table::{EntryTable, FastPath};
use crate::heap::{Array, Heap};
use crate::log::{Log, Room};
use crate::scan::{Heads, Unit};
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
    /// In the table and in lists by match bits, in the memory of the index.
    ByBits,
}

impl Storage {
    /// Whether the messages are in the table alone, or the queue is short. One comparison.
    #[inline(always)]
    fn is_without_index(self) -> bool {
        (self as u8) < Self::Indexed as u8
    }
}

/// Whether a pattern compares all match bits, and no source.
#[inline(always)]
fn is_of_bits(pattern: Pattern) -> bool {
    pattern.source.is_none() && pattern.ignore == 0
}

/// The unexpected-message queue.
pub(super) struct UnexpectedMessages {
    /// On if the messages are in the table alone. The table keeps its fast paths when the last one is taken,
    /// until it is noticed that the table is empty.
    fast_paths: FastPaths<AGE_STEP>,
    storage: Storage,
    /// Not 0 if the index was used since the queue was last empty. Four bytes, so that it is in no word with `unit`,
    /// which is loaded with its neighbours right after this is stored: store-to-load forwarding would fail.
    index_used: u32,
    /// The blocks of the index that receives which need none have passed since it was built; or an estimate of
    /// those that the lists have spared them since these were built.
    blocks: u32,
    /// How often in succession the index took the place of lists that had not paid for both changes.
    returns: u8,
    /// The age of the next message.
    age: u64,
    /// The age when it was last noticed that the queue, not a short one, is empty.
    age_when_empty: u64,
    short: ShortQueue,
    table: EntryTable,
    /// All messages, or none: then the lists by match bits, if there are any, are in its memory.
    index: Log<Heads>,
    unit: Unit,
    heap: Heap,
}

impl UnexpectedMessages {
    /// No messages yet; the first one has the age `age`, see [`Self::age`].
    pub(super) fn new(unit: Unit, heap: Heap, age: u64) -> Self {
        let table = EntryTable::new(GROWTH_DIVISOR, heap);
        Self {
            fast_paths: FastPaths::OFF,
            storage: Storage::ShortQueue,
            index_used: 0,
            blocks: 0,
            returns: 0,
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
        self.settle();
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
            self.drop_lists();
        }
    }

    /// The number of messages that a search by `pattern` compares. Where it builds the index, all of them.
    pub(super) fn compared(&self, pattern: Pattern) -> usize {
        if self.storage == Storage::ShortQueue {
            return self.short.compared(self.short.oldest_accepted(pattern));
        }
        match pattern.source {
            Some(source) if pattern.ignore == 0 => self.table.compared(pattern.bits, source),
            _ if self.storage == Storage::ByBits && is_of_bits(pattern) => {
                self.index.lists_compared(&self.table, pattern.bits)
            }
            _ if self.storage != Storage::Indexed => self.table.len() as usize,
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

    /// Whether it is known that there is no message.
    pub(super) fn is_empty(&self) -> bool {
        debug_assert!(self.short.none_queued() == (self.len() == 0 && !self.fast_paths.are_on()));
        self.short.none_queued()
    }

    pub(super) fn len(&self) -> u32 {
        self.short.len() + self.table.len()
    }

    /// Fast path of [`Self::append`]. `None`: it does not apply, and nothing was changed.
    #[inline(always)]
    pub(super) fn append_fast(&mut self, envelope: Envelope, user: u64) -> Option<Handle> {
        let age = self.age;
        if self.fast_paths.take_append(age) {
            let slot = self.table.append_fast((envelope.bits, envelope.source), age, user)?;
            self.age = age + AGE_STEP;
            return Some(handle(slot, age));
        }
        debug_assert!(self.short.is_open() == (self.storage == Storage::ShortQueue));
        self.append_short(envelope, user)
    }

    /// Appends a message to the short queue. `None`: it has no room.
    #[inline(always)]
    pub(super) fn append_short(&mut self, envelope: Envelope, user: u64) -> Option<Handle> {
        if !self.short.has_room() {
            return None;
        }
        let age = self.age;
        let slot = self.short.insert_exact(envelope, user, age);
        self.age = age + AGE_STEP;
        Some(handle(ShortQueue::index(slot), age))
    }

    #[cfg(test)]
    fn append_any(&mut self, envelope: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        self.append_fast(envelope, user).map_or_else(|| self.append(envelope, user), Ok)
    }

    #[inline(always)]
    pub(super) fn append(&mut self, Envelope { bits, source }: Envelope, user: u64) -> Result<Handle, OutOfMemory> {
        let fast_path_declined = self.fast_paths.take_append(self.age);
        self.settle();
        self.fast_paths.on_slow_append(self.age);
        // `settle` may have opened the short queue.
        if let Some(handle) = self.append_short(Envelope { bits, source }, user) {
            return Ok(handle);
        }
        if self.storage == Storage::ShortQueue {
            self.move_to_table()?;
        }
        if self.fast_paths.are_on() {
            let (key, age) = ((bits, source), self.age);
            // As in the queue of receives.
            let fast = if fast_path_declined { None } else { self.table.append_fast(key, age, user) };
            let slot = match fast {
                None => self.table.append_to_chain(key, age, user, |_| true),
                appended => appended,
            };
            if let Some(slot) = slot {
                self.age = age + AGE_STEP;
                return Ok(handle(slot, age));
            }
        }
        let slots = self.table.slots();
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
        if self.storage == Storage::ByBits {
            self.append_to_lists(slot, slots);
        }
        let handle = handle(slot, self.age);
        self.age += AGE_STEP;
        self.short.set_queued_elsewhere(true);
        self.fast_paths.turn(self.storage == Storage::Table);
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

    /// The table is empty. The queue becomes a short queue again if no more messages arrived since this
    /// was last noticed than a short queue holds.
    #[cold]
    #[inline(never)]
    fn on_empty(&mut self) {
        self.table.restart_free_slots();
        // No message since: this is the same time, noticed again.
        let stayed_short = (1..=SHORT_CAPACITY as u64 * AGE_STEP).contains(&(self.age - self.age_when_empty));
        self.storage = match self.storage {
            _ if stayed_short => Storage::ShortQueue,
            storage if self.index_used != 0 => storage,
            _ => Storage::Table,
        };
        self.short.set_queued_elsewhere(false);
        if self.storage == Storage::ShortQueue {
            self.short.open();
        }
        (self.age_when_empty, self.index_used) = (self.age, 0);
        self.fast_paths.turn(false);
    }

    fn is_fast_path_right(&self) -> bool {
        if self.table.len() > 0 {
            return self.fast_paths.are_on() == (self.storage == Storage::Table);
        }
        !self.fast_paths.are_on() || self.storage == Storage::Table && self.table.slots() > 0
    }

    /// Notices that the last message has left, where the table has kept its fast path.
    #[inline(always)]
    fn settle(&mut self) {
        if self.fast_paths.are_on() && self.table.len() == 0 {
            self.on_empty();
        }
    }

    /// The oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn probe(&mut self, pattern: Pattern) -> Option<QueuedMessage> {
        if self.short.has_entries() {
            return self.short.oldest_accepted(pattern).map(|at| self.queued_in_short(at));
        }
        if self.is_empty() {
            return None;
        }
        let Pattern { bits, ignore, source } = pattern;
        if let (0, Some(source)) = (ignore, source) {
            match self.table.find_fast(bits, source) {
                FastPath::Taken(slot) => return Some(self.queued_in_table(slot)),
                FastPath::NoMatch if self.table.len() > 0 => return None,
                FastPath::NoMatch | FastPath::Decline => {}
            }
        }
        QueuedMessage::found(|found| self.probe_slow(bits, ignore, source, found))
    }

    /// As [`Self::probe`], in a table. Outlined, since a probe of a short queue takes a few cycles.
    #[cold]
    #[inline(never)]
    fn probe_slow(&mut self, bits: u64, ignore: u64, source: Option<u32>, found: &mut QueuedMessage) -> bool {
        if self.table.len() == 0 {
            self.settle();
            return false;
        }
        let slot = match source {
            Some(source) if ignore == 0 => self.table.find(bits, source, |_| true).map(|first| first.slot),
            _ => self.find_oldest(Pattern { bits, ignore, source }),
        };
        found.set(slot.map(|slot| self.queued_in_table(slot)))
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
            if self.storage != Storage::ShortQueue {
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

    /// Whether all messages are in the short queue.
    #[inline(always)]
    pub(super) fn is_short(&self) -> bool {
        self.storage == Storage::ShortQueue
    }

    /// Fast path of matching: takes the oldest message of an envelope; returns its user value. It must not be known
    /// that there is no message.
    #[inline(always)]
    pub(super) fn take_fast(&mut self, envelope: Envelope) -> FastPath<u64> {
        debug_assert!(self.is_fast_path_right());
        let Envelope { bits, source } = envelope;
        if self.fast_paths.are_on() {
            return self.table.take_fast(bits, source);
        }
        if self.storage != Storage::ShortQueue {
            debug_assert!(!self.is_empty());
            // With an index too, a receive without wildcards looks up its key. Most find no message.
            return match self.table.find_fast(bits, source) {
                FastPath::NoMatch => FastPath::NoMatch,
                FastPath::Taken(_) | FastPath::Decline => FastPath::Decline,
            };
        }
        let Some(at) = self.short.oldest_accepted(Pattern::exactly(envelope)) else { return FastPath::NoMatch };
        FastPath::Taken(self.short.remove_exact(at))
    }

    /// Takes the oldest message that a pattern accepts from the short queue, where all messages must be.
    #[inline(always)]
    pub(super) fn take_short(&mut self, pattern: Pattern) -> Option<Message> {
        debug_assert!(self.is_short());
        let at = self.short.oldest_accepted(pattern)?;
        let message = self.message_at(at);
        self.short.remove_exact(at);
        Some(message)
    }

    #[cfg(test)]
    fn take(&mut self, pattern: Pattern) -> Option<Message> {
        let Pattern { bits, ignore: 0, source: Some(source) } = pattern else { return self.take_any(pattern) };
        let envelope = Envelope { bits, source };
        if self.is_empty() {
            return None;
        }
        match self.take_fast(envelope) {
            FastPath::Taken(user) => Some(Message { user, envelope }),
            FastPath::NoMatch => None,
            FastPath::Decline => self.take_any(pattern),
        }
    }

    /// Takes the oldest message that a pattern accepts, which may have wildcards.
    #[inline(always)]
    pub(super) fn take_any(&mut self, pattern: Pattern) -> Option<Message> {
        if self.is_short() { self.take_short(pattern) } else { self.take_slow(pattern) }
    }

    /// Takes the oldest message that a pattern accepts, not from a short queue.
    #[inline(always)]
    pub(super) fn take_slow(&mut self, pattern: Pattern) -> Option<Message> {
        if self.table.len() == 0 {
            self.settle();
            return None;
        }
        let (slot, stamp, message) = match pattern.source {
            Some(source) if pattern.ignore == 0 => {
                let first = self.table.find(pattern.bits, source, |_| true)?;
                (first.slot, self.table.stamp_of(first), self.table.take(first))
            }
            _ => {
                let slot = self.find_oldest(pattern)?;
                (slot, self.table.stamp_at(slot)?, self.table.take_oldest_at(slot, |_| true))
            }
        };
        // The table keeps its fast path, also if this was its last message.
        if !self.fast_paths.are_on() {
            self.on_removed(slot, stamp);
        }
        Some(message)
    }

    /// A message with this stamp has left a slot of the table.
    #[inline(always)]
    fn on_removed(&mut self, slot: u32, stamp: u64) {
        if !self.storage.is_without_index() {
            if self.storage == Storage::Indexed {
                self.index.remove(index_position(stamp));
            } else {
                self.remove_from_lists(slot);
            }
        }
        if self.table.len() == 0 {
            self.on_empty();
        }
    }

    #[inline(never)]
    fn remove_from_lists(&mut self, slot: u32) {
        self.index.remove_from_list(&self.table, slot);
    }

    /// Removes a message by its handle; returns its user value.
    #[inline(always)]
    pub(super) fn discard(&mut self, handle: Handle) -> Option<u64> {
        let storage = self.storage;
        let is_named = |stamp| generation_in(storage, stamp) == handle.generation();
        // No slot of the table has the number of a handle of the short queue.
        match self.table.remove_fast(handle.index(), is_named) {
            Some((user, stamp)) => {
                self.on_removed(handle.index(), stamp);
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
        self.on_removed(slot, stamp);
        Some(user)
    }

    pub(super) fn reserve(&mut self, messages: usize) -> Result<(), OutOfMemory> {
        let slots = self.table.slots();
        self.table.reserve(messages)?;
        let reserved = if messages > 0 { self.index.reserve(messages) } else { Ok(()) };
        self.grow_lists(slots);
        reserved
    }

    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.index.bytes()
    }
}
