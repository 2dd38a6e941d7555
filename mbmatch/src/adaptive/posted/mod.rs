// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The posted receives of `adaptive`.
//!
//! A short queue is a [`ShortQueue`]. In a longer one, a receive belongs to the class of its
//! wildcards ([`Classes`]). An arrival can match receives of one key only in each class: it looks
//! up that key in each class that has receives, and takes the oldest result. Receives that find no
//! free class are compared one by one ([`ScannedReceives`]).

mod classes;
#[cfg(test)]
mod tests;

use classes::{Classes, EXACT, MPI_CLASSES, SCANNED};

use super::fast_paths::FastPaths;
use super::scanned::ScannedReceives;
use super::short::{SHORT_CAPACITY, ShortQueue};
use super::table::{EntryTable, FastPath, Oldest};
use crate::heap::{Array, Heap};
use crate::scan::Unit;
use crate::types::{Envelope, Handle, Message, OutOfMemory, Pattern, QueuedReceive};

/// The age of the first receive. Its bit 7 becomes bit 0 of the generation in a handle; a message
/// has bit 1 there instead.
const FIRST_AGE: u64 = 1 << 7;
/// The difference of successive ages. The bits below it hold the class in a stamp.
const AGE_STEP: u64 = 1 << 9;

/// The stamp of a receive: its age and its class. Bits 0 and 1 belong to the table.
#[inline(always)]
fn stamp(age: u64, class: u8) -> u64 {
    age | u64::from(class) << 2
}

#[inline(always)]
fn age(stamp: u64) -> u64 {
    stamp & !(FIRST_AGE - 1)
}

#[inline(always)]
fn class(stamp: u64) -> u8 {
    (stamp & (FIRST_AGE - 1)) as u8 >> 2
}

/// The part of an age that a handle holds.
#[inline(always)]
fn generation(age: u64) -> u32 {
    (age >> 7) as u32
}

/// The handle of a receive in a slot of the table, or with an index of the short queue.
#[inline(always)]
fn handle(slot: u32, age: u64) -> Handle {
    // One shift of both parts: no age has a bit below `FIRST_AGE`.
    Handle::from_raw(age << 25 | u64::from(slot))
}

/// Replaces the oldest receive found so far, and its stamp, by one that is older. A function, since a closure that is
/// called in two places is not inlined.
#[inline(always)]
fn keep_older(oldest: &mut Option<(Oldest, u64)>, first: Oldest, stamp: u64) {
    if oldest.is_none_or(|(_, least)| stamp < least) {
        *oldest = Some((first, stamp));
    }
}

/// The table grows by one of this many parts.
const GROWTH_DIVISOR: usize = 4;

/// Where the ages and generations of a queue begin, so that handles of an earlier one stay stale.
#[derive(Clone, Copy)]
pub(super) struct PostedAges {
    next: u64,
    scanned: u32,
}

impl PostedAges {
    pub(super) const FIRST: Self = Self { next: FIRST_AGE, scanned: 0 };
}

/// Where the receives are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Storage {
    /// All in the short queue; the table is empty.
    ShortQueue,
    /// All in the table, and of one class.
    OneClass,
    /// In the table and among the scanned receives, of several classes. The queue is of one class
    /// again when the last receive with wildcards leaves, or when it is empty; not whenever the
    /// only receive without wildcards leaves, since the next one may follow at once.
    Mixed,
}

/// The posted-receive queue.
pub(super) struct PostedReceives {
    /// On if all receives are in the table and have no wildcards. The table keeps its fast paths when the last one is
    /// taken, until it is noticed that the table is empty.
    fast_paths: FastPaths<AGE_STEP>,
    storage: Storage,
    /// The class of all, with [`Storage::OneClass`].
    class: u8,
    /// The number of receives with wildcards.
    wildcards: u32,
    /// The age of the next receive.
    age: u64,
    /// The age when it was last noticed that the queue, not a short one, is empty.
    age_when_empty: u64,
    short: ShortQueue,
    table: EntryTable,
    classes: Classes,
    scanned: ScannedReceives,
    heap: Heap,
}

impl PostedReceives {
    /// No receives yet; `ages` are those of an earlier queue.
    pub(super) fn new(unit: Unit, heap: Heap, ages: PostedAges) -> Self {
        Self {
            fast_paths: FastPaths::OFF,
            storage: Storage::ShortQueue,
            class: EXACT,
            wildcards: 0,
            age: ages.next,
            age_when_empty: ages.next,
            short: ShortQueue::new(),
            table: EntryTable::new(GROWTH_DIVISOR, heap),
            classes: Classes::new(),
            scanned: ScannedReceives::new(unit, heap, ages.scanned),
            heap,
        }
    }

    /// Where the ages and generations of a later queue begin.
    pub(super) fn ages(&self) -> PostedAges {
        PostedAges { next: self.age, scanned: self.scanned.unused() }
    }

    /// Frees the memory that the receives do not need.
    pub(super) fn shrink(&mut self) {
        self.settle();
        self.scanned.shrink();
        if self.table.len() == 0 {
            self.table = EntryTable::new(GROWTH_DIVISOR, self.heap);
        }
        if self.is_empty() {
            self.storage = Storage::ShortQueue;
            self.short.open();
            self.age_when_empty = self.age;
        }
    }

    /// The number of receives that a search for `envelope` compares.
    pub(super) fn compared(&self, envelope: Envelope) -> usize {
        if self.storage == Storage::ShortQueue {
            return self.short.compared(self.short.oldest_accepting(envelope));
        }
        let Envelope { bits, source } = envelope;
        if self.storage == Storage::OneClass {
            let (bits, source) = self.classes.get(self.class).key(bits, source);
            return self.table.compared(bits, source);
        }
        let of_classes = self.classes.with_wildcards().filter(|(_, class)| class.len > 0).map(|(_, class)| {
            let (bits, source) = class.key(bits, source);
            self.table.compared(bits, source)
        });
        of_classes.sum::<usize>() + self.table.compared(bits, source) + self.scanned.compared(envelope)
    }

    /// Whether it is known that there is no receive.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        debug_assert!(self.short.none_queued() == (self.len() == 0 && !self.fast_paths.are_on()));
        self.short.none_queued()
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.short.len() + self.table.len() + self.scanned.len()
    }

    /// Fast path of [`Self::append`]. `None`: it does not apply, and nothing was changed.
    #[inline(always)]
    pub(super) fn append_fast(&mut self, pattern: Pattern, user: u64) -> Option<Handle> {
        debug_assert!(self.is_fast_path_right());
        debug_assert!(self.short.is_open() == (self.storage == Storage::ShortQueue));
        let age = self.age;
        if self.fast_paths.take_append(age) {
            let Pattern { bits, ignore: 0, source: Some(source) } = pattern else { return None };
            let slot = self.table.append_fast((bits, source), stamp(age, EXACT), user)?;
            self.age = age + AGE_STEP;
            return Some(handle(slot, age));
        }
        self.append_short(|short, age| short.insert_receive(pattern, user, age))
    }

    /// Appends a receive of the next age to the short queue with `insert`. `None`: it has no room.
    #[inline(always)]
    fn append_short(&mut self, insert: impl FnOnce(&mut ShortQueue, u64) -> u32) -> Option<Handle> {
        if !self.short.has_room() {
            return None;
        }
        let age = self.age;
        let slot = insert(&mut self.short, age);
        self.age = age + AGE_STEP;
        Some(handle(ShortQueue::index(slot), age))
    }

    /// Appends a receive with wildcards to the short queue. `None`: it has no room.
    #[inline(always)]
    pub(super) fn append_short_with_wildcards(&mut self, pattern: Pattern, user: u64) -> Option<Handle> {
        self.append_short(|short, age| short.insert_with_wildcards(pattern, user, age))
    }

    #[inline(always)]
    pub(super) fn append(&mut self, pattern: Pattern, user: u64) -> Result<Handle, OutOfMemory> {
        let fast_path_declined = self.fast_paths.take_append(self.age);
        self.settle();
        self.fast_paths.on_slow_append(self.age);
        // `settle` may have opened the short queue.
        if self.short.has_room() {
            return self.append_fast(pattern, user).ok_or(OutOfMemory);
        }
        if self.storage == Storage::ShortQueue {
            self.move_to_table()?;
        }
        if let Some(handle) = self.append_at_head(pattern, user, fast_path_declined) {
            return Ok(handle);
        }
        let handle = self.append_with_age(pattern, user, self.age)?;
        self.age += AGE_STEP;
        self.short.set_queued_elsewhere(true);
        self.update_fast_path();
        Ok(handle)
    }

    /// Appends a receive of a class that the queue already has to the table, at the head of a collision chain. `None`:
    /// it has another place, and no entry was changed.
    #[inline(always)]
    fn append_at_head(&mut self, pattern: Pattern, user: u64, fast_path_declined: bool) -> Option<Handle> {
        if self.storage == Storage::ShortQueue || self.table.len() == 0 {
            return None;
        }
        let Pattern { bits, ignore, source } = pattern;
        let of_class = self.classes.of_pattern(pattern, self.scanned.len());
        if of_class == SCANNED || self.storage == Storage::OneClass && self.class != of_class {
            return None;
        }
        let age = self.age;
        let key = (bits & !ignore, source.unwrap_or(0));
        let same_class = |other| class(other) == of_class;
        let stamp = stamp(age, of_class);
        let slot = if fast_path_declined {
            debug_assert!(of_class == EXACT);
            // It has tried the rest. Trying it again would take one more slot of the bitmap, and fill the table with
            // displaced entries.
            self.table.append_to_chain(key, stamp, user, same_class)?
        } else if self.fast_paths.are_on() {
            match self.table.append_fast(key, stamp, user) {
                Some(slot) => slot,
                None => self.table.append_to_chain(key, stamp, user, same_class)?,
            }
        } else {
            self.table.append_at_head(key, stamp, user, same_class)?
        };
        self.count_in(of_class);
        self.age = age + AGE_STEP;
        Some(handle(slot, age))
    }

    /// Appends a receive to the table or to the scanned receives.
    #[inline(never)]
    fn append_with_age(&mut self, pattern: Pattern, user: u64, age: u64) -> Result<Handle, OutOfMemory> {
        let Pattern { bits, ignore, source } = pattern;
        let of_class = self.classes.of_pattern(pattern, self.scanned.len());
        if of_class == SCANNED {
            let handle = self.scanned.append(pattern, user, age)?;
            self.storage = Storage::Mixed;
            self.count_in(SCANNED);
            return Ok(handle);
        }
        self.table.make_room()?;
        if self.table.len() + self.scanned.len() == 0 {
            (self.storage, self.class) = (Storage::OneClass, of_class);
        } else if self.class != of_class {
            self.storage = Storage::Mixed;
        }
        self.count_in(of_class);
        let key = (bits & !ignore, source.unwrap_or(0));
        let slot = self.table.append(key, stamp(age, of_class), user, |other| class(other) == of_class);
        Ok(handle(slot, age))
    }

    /// The short queue is full: moves its receives to the table.
    #[cold]
    #[inline(never)]
    fn move_to_table(&mut self) -> Result<(), OutOfMemory> {
        // Everything that can fail comes before the first change.
        self.table.reserve(SHORT_CAPACITY)?;
        if self.short.wildcard_kinds() >= usize::from(MPI_CLASSES) {
            self.scanned.reserve(SHORT_CAPACITY)?;
        }
        self.storage = Storage::OneClass;
        for at in self.short.positions() {
            let entry = self.short.entry(at);
            let handle = self.append_with_age(entry.pattern(), entry.user, entry.stamp)?;
            self.short.set_forward(at, handle);
        }
        self.short.close();
        self.update_fast_path();
        Ok(())
    }

    /// The table is empty. If the queue is too, it becomes a short queue again, provided that no more
    /// receives were posted since this was last noticed than a short queue holds.
    #[cold]
    #[inline(never)]
    fn on_empty(&mut self) {
        self.table.restart_free_slots();
        if self.scanned.len() == 0 {
            // No receive since: this is the same time, noticed again.
            let stayed_short = (1..=SHORT_CAPACITY as u64 * AGE_STEP).contains(&(self.age - self.age_when_empty));
            self.short.set_queued_elsewhere(false);
            if stayed_short {
                self.storage = Storage::ShortQueue;
                self.short.open();
            } else {
                self.storage = Storage::OneClass;
            }
            self.age_when_empty = self.age;
        }
        self.update_fast_path();
    }

    /// Notices that the last receive has left, where the table has kept its fast path.
    #[inline(always)]
    fn settle(&mut self) {
        if self.fast_paths.are_on() && self.table.len() == 0 {
            self.on_empty();
        }
    }

    fn is_fast_path_right(&self) -> bool {
        let is_exact = self.storage == Storage::OneClass && self.class == EXACT;
        if self.table.len() > 0 {
            return self.fast_paths.are_on() == is_exact;
        }
        !self.fast_paths.are_on() || is_exact && self.table.slots() > 0
    }

    fn update_fast_path(&mut self) {
        self.fast_paths.turn(self.only_exact_in_table());
    }

    fn only_exact_in_table(&self) -> bool {
        self.storage == Storage::OneClass && self.class == EXACT && self.table.len() > 0
    }

    /// Fast path of matching: takes the oldest receive that accepts `envelope`.
    #[inline(always)]
    pub(super) fn take_fast(&mut self, envelope: Envelope) -> FastPath<u64> {
        debug_assert!(self.is_fast_path_right());
        if self.fast_paths.are_on() {
            let Envelope { bits, source } = envelope;
            return self.table.take_fast(bits, source);
        }
        if !self.short.is_open_and_exact() {
            return FastPath::Decline;
        }
        let Some(at) = self.short.oldest_with_key(envelope) else { return FastPath::NoMatch };
        FastPath::Taken(self.short.remove_exact(at))
    }

    /// Takes the oldest receive that accepts an envelope from a short queue, which may have wildcards: the masks of
    /// receives without them are all ones. Declines if the queue is not short.
    #[inline(always)]
    pub(super) fn take_short(&mut self, envelope: Envelope) -> FastPath<u64> {
        if self.storage != Storage::ShortQueue {
            return FastPath::Decline;
        }
        let Some(at) = self.short.oldest_accepting_beside_wildcards(envelope) else { return FastPath::NoMatch };
        FastPath::Taken(self.short.remove(at))
    }

    /// Takes the oldest receive that accepts an envelope, where [`Self::take_fast`] declined; returns its user
    /// value.
    #[inline(always)]
    pub(super) fn take_slow(&mut self, Envelope { bits, source }: Envelope) -> Option<u64> {
        if self.fast_paths.are_on() {
            self.settle();
            // The table keeps its fast path, also if this is its last receive.
            let first = self.table.find(bits, source, |_| true)?;
            return Some(self.table.take(first).user);
        }
        let (of_class, user) = match self.storage {
            Storage::ShortQueue => {
                return self.short.oldest_accepting(Envelope { bits, source }).map(|at| self.short.remove(at));
            }
            Storage::OneClass if self.table.len() > 0 => {
                let (bits, source) = self.classes.get(self.class).key(bits, source);
                let first = self.table.find(bits, source, |_| true)?;
                (self.class, self.table.take(first).user)
            }
            Storage::Mixed => self.take_oldest(bits, source)?,
            Storage::OneClass => return None,
        };
        self.on_removed(of_class);
        Some(user)
    }

    /// Takes the oldest receive that accepts an envelope, of any class; returns its class and user
    /// value.
    #[inline(always)]
    fn take_oldest(&mut self, bits: u64, source: u32) -> Option<(u8, u64)> {
        let oldest = self.oldest_of_classes(bits, source);
        if self.scanned.len() > 0
            && let Some(first) = self.scanned.find(Envelope { bits, source })
            && oldest.is_none_or(|(_, stamp)| self.scanned.age(first) < age(stamp))
        {
            return Some((SCANNED, self.scanned.take(first)));
        }
        let (first, stamp) = oldest?;
        Some((class(stamp), self.table.take(first).user))
    }

    /// The oldest receive of the table that accepts an envelope, and its stamp.
    #[inline(always)]
    fn oldest_of_classes(&self, bits: u64, source: u32) -> Option<(Oldest, u64)> {
        let mut oldest = None;
        // Any receive whose stored key equals the full envelope accepts it, whatever its class.
        let has_exact = self.table.len() + self.scanned.len() > self.wildcards;
        if has_exact {
            self.table.for_each_oldest(bits, source, |first, stamp| keep_older(&mut oldest, first, stamp));
        }
        for (of_class, class_of_wildcards) in self.classes.with_wildcards() {
            let key = class_of_wildcards.key(bits, source);
            if class_of_wildcards.len > 0 && (key != (bits, source) || !has_exact) {
                self.table.for_each_oldest(key.0, key.1, |first, stamp| {
                    if class(stamp) == of_class {
                        keep_older(&mut oldest, first, stamp);
                    }
                });
            }
        }
        oldest
    }

    /// A receive of a class was appended, not to a short queue.
    #[inline(always)]
    fn count_in(&mut self, class: u8) {
        if class != EXACT {
            self.wildcards += 1;
            if class != SCANNED {
                self.classes.get_mut(class).len += 1;
            }
        }
    }

    /// A receive of a class has left, not from a short queue.
    #[inline(always)]
    fn on_removed(&mut self, class: u8) {
        if class != EXACT {
            self.wildcards -= 1;
            if class != SCANNED {
                self.classes.get_mut(class).len -= 1;
            }
            if self.wildcards == 0 {
                self.on_last_wildcard_removed();
            }
        }
        if self.table.len() == 0 {
            self.on_empty();
        }
    }

    fn on_last_wildcard_removed(&mut self) {
        (self.storage, self.class) = (Storage::OneClass, EXACT);
        self.update_fast_path();
        // The classes of MPI stay, so that the next receive with a wildcard finds its class.
        self.classes.forget_unusual();
    }

    /// Removes a receive by its handle; returns its user value.
    #[inline(always)]
    pub(super) fn cancel(&mut self, handle: Handle) -> Option<u64> {
        if let Some(slot) = ShortQueue::slot(handle) {
            return self.cancel_short(slot, handle);
        }
        self.cancel_in_table(handle)
    }

    #[inline(always)]
    fn cancel_short(&mut self, slot: u32, handle: Handle) -> Option<u64> {
        let is_named = |age| generation(age) == handle.generation();
        if self.storage == Storage::ShortQueue {
            return self.short.remove_slot(slot, is_named);
        }
        self.cancel_in_table(self.short.forwarded(slot, is_named)?)
    }

    /// Removes a receive that is not in a short queue.
    #[inline(never)]
    fn cancel_in_table(&mut self, handle: Handle) -> Option<u64> {
        let slot = handle.index();
        let Some(stamp) = self.table.stamp_at(slot) else { return self.cancel_scanned(handle) };
        let of_class = class(stamp);
        let is_named = |stamp| generation(age(stamp)) == handle.generation();
        let user = self.table.remove_at(slot, is_named, |other| class(other) == of_class)?;
        self.on_removed(of_class);
        Some(user)
    }

    #[cold]
    fn cancel_scanned(&mut self, handle: Handle) -> Option<u64> {
        let user = self.scanned.cancel(handle)?;
        self.on_removed(SCANNED);
        Some(user)
    }

    /// Appends all receives to `into`, which is empty, oldest first.
    pub(super) fn receives(&self, into: &mut Array<QueuedReceive>) {
        into.extend(self.short.positions().map(|at| {
            let entry = self.short.entry(at);
            QueuedReceive { handle: self.short.handle_at(at, generation), user: entry.user, pattern: entry.pattern() }
        }));
        if self.storage == Storage::ShortQueue {
            return;
        }
        self.table.for_each_entry(|slot, key, stamp| {
            let Message { user, .. } = self.table.message_at(slot);
            let pattern = self.classes.get(class(stamp)).pattern(key);
            into.push(QueuedReceive { handle: handle(slot, age(stamp)), user, pattern });
        });
        self.scanned.receives(into);
        into.sort_unstable_by_key(|receive| match self.table.stamp_at(receive.handle.index()) {
            Some(stamp) => age(stamp),
            None => self.scanned.age_of(receive.handle),
        });
    }

    pub(super) fn reserve(&mut self, receives: usize) -> Result<(), OutOfMemory> {
        self.table.reserve(receives)
    }

    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.scanned.bytes()
    }
}
