// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The second structure of messages in a table, for receives and probes with wildcards: the age index or the lists by
//! match bits.

use super::{SCALAR_SCAN_THRESHOLD, Storage, UnexpectedMessages, generation, indexed_stamp, is_of_bits};
use crate::heap::Array;
use crate::log::{LANES, Room};
use crate::scan::first_accepted;
use crate::types::{Envelope, OutOfMemory, Pattern};

/// A visitor of messages without an index: keeps the slot and age of the oldest that a pattern
/// accepts.
fn keep_oldest(pattern: Pattern, oldest: &mut Option<(u32, u64)>) -> impl FnMut(u32, Envelope, u64) {
    move |slot, envelope, age| {
        if pattern.accepts(&envelope) && oldest.is_none_or(|(_, least)| age < least) {
            *oldest = Some((slot, age));
        }
    }
}

/// The last age before `limit` with this generation.
pub(super) fn last_age_before(limit: u64, generation: u32) -> u64 {
    const PERIOD: u64 = 1 << 33;
    let age = limit & !(PERIOD - 1) | u64::from(generation) << 1;
    if age < limit { age } else { age - PERIOD }
}

impl UnexpectedMessages {
    /// Appends the message in `slot` to the lists by match bits; the table had `slots` slots before.
    #[inline(never)]
    pub(super) fn append_to_lists(&mut self, slot: u32, slots: u32) {
        self.grow_lists(slots);
        if self.storage == Storage::ByBits {
            self.index.append_to_list(&self.table, slot);
        }
    }

    /// The table may have grown from `slots` slots: so do the lists by match bits. Without memory they are dropped.
    pub(super) fn grow_lists(&mut self, slots: u32) {
        if self.storage != Storage::ByBits || self.table.slots() == slots {
            return;
        }
        match self.index.reserve_blocks((self.table.slots() / LANES) as usize) {
            Ok(()) => self.index.rehash_lists(&self.table, slots),
            Err(OutOfMemory) => self.drop_lists(),
        }
    }

    /// Leaves the messages in the table alone, if they were in lists too.
    pub(super) fn drop_lists(&mut self) {
        if self.storage == Storage::ByBits {
            self.storage = Storage::Table;
            self.fast_paths.turn(self.table.len() > 0);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn compact_index(&mut self) {
        let table = &mut self.table;
        self.index
            .compact(|(_, owner), position| table.restamp(owner, |old| indexed_stamp((old >> 32) as u32, position)));
        // Compaction left lanes at the end.
        let made = self.index.make_room();
        debug_assert!(made == Ok(Room::Made));
    }

    /// The slot of the oldest message that a pattern with wildcards accepts, not in a short queue.
    #[inline(never)]
    pub(super) fn find_oldest(&mut self, pattern: Pattern) -> Option<u32> {
        self.index_used = 1;
        let by_bits = is_of_bits(pattern);
        if by_bits && (self.storage == Storage::ByBits || self.storage == Storage::Table && self.build_lists().is_ok())
        {
            // An estimate: what a search of an index that finds nothing passes.
            self.blocks = self.blocks.saturating_add(self.table.len().div_ceil(LANES));
            return self.index.oldest_with_bits(&self.table, pattern.bits);
        }
        if self.storage != Storage::Indexed && self.build_index().is_err() {
            // Without memory for an index, all messages are compared, in no order.
            let mut oldest = None;
            self.table.for_each_entry(keep_oldest(pattern, &mut oldest));
            return oldest.map(|(slot, _)| slot);
        }
        let found = self.find_in_index(pattern);
        let slot = found.map(|position| self.index.owner(position));
        if by_bits && !self.index.is_in_first_block(found) {
            self.count_passed(found);
        }
        slot
    }

    /// A search by match bits alone found this position of the index, or none. Builds lists by match bits if such
    /// searches have passed as many blocks as the table has slots: then they took about as long as building takes, or a
    /// multiple after the index has taken the place of lists too early.
    #[cold]
    #[inline(never)]
    fn count_passed(&mut self, found: Option<u32>) {
        self.blocks = self.blocks.saturating_add(self.index.blocks_before(found) as u32);
        if self.blocks >> self.returns >= self.table.slots() {
            self.blocks = 0;
            // Without memory, the index stays.
            let _unchanged = self.build_lists();
        }
    }

    /// Puts the messages of the table, or of the table and the index, into lists by match bits.
    #[cold]
    #[inline(never)]
    fn build_lists(&mut self) -> Result<(), OutOfMemory> {
        let mut slots = Array::new(self.heap);
        slots.reserve_exact(self.table.len() as usize)?;
        self.index.reserve_blocks((self.table.slots() / LANES) as usize)?;
        if self.storage == Storage::Indexed {
            slots.extend(self.index.keys().map(|(position, _)| self.index.owner(position)));
            self.index.clear();
            // Stamps are ages again. The index has kept the order of messages older than a period of the generations;
            // their ages are younger now, and in the same order.
            let mut age = self.age;
            for &slot in slots.iter().rev() {
                self.table.restamp(slot, |stamp| {
                    age = last_age_before(age, (stamp >> 32) as u32);
                    age
                });
            }
        } else {
            self.table.for_each_entry(|slot, _, _| slots.push(slot));
            slots.sort_unstable_by_key(|slot| self.table.stamp_at(*slot));
            self.returns = 0;
        }
        self.index.begin_lists(&self.table);
        for &slot in slots.iter() {
            self.index.append_to_list(&self.table, slot);
        }
        (self.storage, self.blocks) = (Storage::ByBits, 0);
        self.fast_paths.turn(false);
        Ok(())
    }

    /// The position in the index of the oldest message that a pattern accepts.
    #[inline(always)]
    pub(super) fn find_in_index(&self, pattern: Pattern) -> Option<u32> {
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
        // What both changes take, see `count_passed`.
        let paid = self.blocks / 2 >= self.table.slots();
        self.returns = match self.storage {
            Storage::ByBits if !paid => (self.returns + 1).min(u32::BITS as u8 - 1),
            _ => 0,
        };
        self.blocks = 0;
        for &(age, slot, envelope) in messages.iter() {
            // The index was empty, and blocks for all messages are reserved.
            let made = self.index.make_room();
            debug_assert!(made == Ok(Room::Made));
            let at = self.index.push((envelope, slot));
            self.table.restamp(slot, |_| indexed_stamp(generation(age), at));
        }
        self.storage = Storage::Indexed;
        self.fast_paths.turn(false);
        Ok(())
    }
}
