// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The unexpected messages of a table by their match bits alone, for receives from any source.
//!
//! The messages of the same match bits form a list, oldest first, whatever their sources; the lists of a home slot
//! form a collision chain. Both are as those of the table (`adaptive/table`), with links for every message: `head` of a
//! home slot is the oldest message of the first list, `next` of the youngest of a list is the oldest of the next list,
//! `prev` of the oldest is the youngest. A message leaves its list in a few steps, wherever it is in it.
//!
//! The lists need 12 bytes for each slot of the table, and take them from the memory of the age index, which has no
//! keys meanwhile: lane `n` of its blocks has the links of the message in slot `n`, and the head of home slot `n`. So a
//! matcher that uses now the one and now the other needs no more memory.

use crate::adaptive::table::{EntryTable, NIL, is_slot};
use crate::log::{LANES, Log};
use crate::scan::{Heads, LaneLinks};

/// The oldest message of a list, and the way to it.
struct Oldest {
    /// The oldest message of the list before it in the collision chain, or `NIL`.
    before: u32,
    slot: u32,
}

impl Log<Heads> {
    #[inline(always)]
    fn links(&self, slot: u32) -> LaneLinks {
        self.block_at(slot).links(slot % LANES)
    }

    #[inline(always)]
    fn set_links(&mut self, slot: u32, links: LaneLinks) {
        self.block(slot).set_links(slot % LANES, links);
    }

    fn set_next(&mut self, slot: u32, next: u32) {
        self.set_links(slot, LaneLinks { next, ..self.links(slot) });
    }

    fn set_prev(&mut self, slot: u32, prev: u32) {
        self.set_links(slot, LaneLinks { prev, ..self.links(slot) });
    }

    #[inline(always)]
    fn head(&self, home: u32) -> u32 {
        self.block_at(home).head(home % LANES)
    }

    #[inline(always)]
    fn set_head(&mut self, home: u32, slot: u32) {
        self.block(home).set_head(home % LANES, slot);
    }

    /// The next list of a collision chain, after the one whose oldest message is in `slot`; or `NIL`.
    #[inline(always)]
    fn next_list(&self, slot: u32) -> u32 {
        self.links(self.links(slot).prev).next
    }

    /// Begins lists for the slots of `table`, without messages. There are no keys, and blocks for all slots.
    pub(super) fn begin_lists(&mut self, table: &EntryTable) {
        debug_assert!(self.len() == 0);
        for home in 0..table.slots() {
            self.set_head(home, NIL);
        }
    }

    /// The table has grown from `slots` slots, which changes home slots: rebuilds the collision chains. There are
    /// blocks for all slots.
    pub(super) fn rehash_lists(&mut self, table: &EntryTable, slots: u32) {
        // First all lists are put into one chain, since a slot may be an old and a new home slot.
        let mut all = NIL;
        for home in 0..slots {
            let mut slot = self.head(home);
            while is_slot(slot) {
                let LaneLinks { prev: youngest, .. } = self.links(slot);
                let next_list = self.links(youngest).next;
                self.set_next(youngest, all);
                all = std::mem::replace(&mut slot, next_list);
            }
        }
        self.begin_lists(table);
        while is_slot(all) {
            let (slot, youngest) = (all, self.links(all).prev);
            all = self.links(youngest).next;
            let home = table.home_of_bits(table.bits_at(slot));
            self.set_next(youngest, self.head(home));
            self.set_head(home, slot);
        }
    }

    /// The list of these match bits in the collision chain of their home slot.
    #[inline(always)]
    fn list_of(&self, table: &EntryTable, home: u32, bits: u64) -> Option<Oldest> {
        let (mut slot, mut before) = (self.head(home), NIL);
        while is_slot(slot) {
            if table.bits_at(slot) == bits {
                return Some(Oldest { before, slot });
            }
            (before, slot) = (slot, self.next_list(slot));
        }
        None
    }

    /// The slot of the oldest message with these match bits.
    #[inline(always)]
    pub(super) fn oldest_with_bits(&self, table: &EntryTable, bits: u64) -> Option<u32> {
        self.list_of(table, table.home_of_bits(bits), bits).map(|oldest| oldest.slot)
    }

    /// The number of lists that a search for these match bits passes, their own included.
    pub(super) fn lists_compared(&self, table: &EntryTable, bits: u64) -> usize {
        let (mut count, mut slot) = (0, self.head(table.home_of_bits(bits)));
        while is_slot(slot) {
            count += 1;
            if table.bits_at(slot) == bits {
                break;
            }
            slot = self.next_list(slot);
        }
        count
    }

    /// Appends the message in a slot of the table to the list of its match bits, as the youngest.
    #[inline(always)]
    pub(super) fn append_to_list(&mut self, table: &EntryTable, slot: u32) {
        let bits = table.bits_at(slot);
        let home = table.home_of_bits(bits);
        let Some(Oldest { slot: first, .. }) = self.list_of(table, home, bits) else {
            self.set_links(slot, LaneLinks { next: self.head(home), prev: slot });
            return self.set_head(home, slot);
        };
        let LaneLinks { prev: youngest, .. } = self.links(first);
        let LaneLinks { next: next_list, .. } = self.links(youngest);
        self.set_links(slot, LaneLinks { next: next_list, prev: youngest });
        self.set_next(youngest, slot);
        self.set_prev(first, slot);
    }

    /// Removes the message that has just left a slot of the table from its list. The slot still has its match bits.
    #[inline(always)]
    pub(super) fn remove_from_list(&mut self, table: &EntryTable, slot: u32) {
        let bits = table.bits_at(slot);
        let home = table.home_of_bits(bits);
        let LaneLinks { next, prev } = self.links(slot);
        let mut before = NIL;
        if self.head(home) != slot {
            let oldest = self.list_of(table, home, bits).expect("every message is in the list of its match bits");
            if oldest.slot != slot {
                self.set_next(prev, next);
                // The oldest message holds the link to the youngest.
                let younger = if self.links(oldest.slot).prev == slot { oldest.slot } else { next };
                return self.set_prev(younger, prev);
            }
            before = oldest.before;
        }
        // The oldest: `prev` is the youngest, and `next` the second, or the next list if there is none.
        if prev != slot {
            self.set_prev(next, prev);
        }
        if is_slot(before) {
            let LaneLinks { prev: youngest, .. } = self.links(before);
            self.set_next(youngest, next);
        } else {
            self.set_head(home, next);
        }
    }

    /// Checks that each message of the table is in the list of its match bits, in order of age, and in no other.
    #[cfg(test)]
    pub(super) fn check_lists(&self, table: &EntryTable) {
        let mut listed = 0;
        for home in 0..table.slots() {
            let (mut first, mut earlier) = (self.head(home), Vec::new());
            while is_slot(first) {
                let bits = table.bits_at(first);
                assert_eq!(table.home_of_bits(bits), home);
                assert!(!earlier.contains(&bits), "two lists of the same match bits");
                earlier.push(bits);
                let youngest = self.links(first).prev;
                let (mut at, mut last_stamp) = (first, 0);
                loop {
                    let stamp = table.stamp_at(at).expect("only messages of the table are in lists");
                    assert!(stamp > last_stamp && table.bits_at(at) == bits);
                    (last_stamp, listed) = (stamp, listed + 1);
                    if at == youngest {
                        break;
                    }
                    let next = self.links(at).next;
                    assert_eq!(self.links(next).prev, at);
                    at = next;
                }
                first = self.links(youngest).next;
            }
        }
        assert_eq!(listed, table.len());
    }
}
