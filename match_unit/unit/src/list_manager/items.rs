// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Item memory: slots, free lists, and the order of both lists.

use super::parameters::{ListManagerParameters, MAX_HEAD_CACHE};
use super::protocol::List;
use crate::layout::ItemWords;

/// A slot of item memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct ItemSlot {
    pub(super) id: u64,
    pub(super) spilled: bool,
}

/// One list: slots from the oldest item on, and the cycle from which each cached item is available.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemList {
    pub(super) slots: Vec<u32>,
    pub(super) ready: [u64; MAX_HEAD_CACHE],
}

/// Free slots: returned ones, last in first out, then those never used.
#[derive(Clone, Debug, Default)]
struct FreeList {
    returned: Vec<u32>,
    used: usize,
}

/// Both lists and the slots that hold their items. Slots from `capacity` on are in host memory.
#[derive(Clone, Debug)]
pub(super) struct ItemMemory {
    pub(super) slots: Vec<ItemSlot>,
    /// The words of every slot, one slot after the other.
    words: Vec<u64>,
    item_words: usize,
    local: FreeList,
    spilled: FreeList,
    posted: ItemList,
    unexpected: ItemList,
}

impl ItemMemory {
    pub(super) fn new(item_words: usize) -> Self {
        Self {
            slots: Vec::new(),
            words: Vec::new(),
            item_words,
            local: FreeList::default(),
            spilled: FreeList::default(),
            posted: ItemList::default(),
            unexpected: ItemList::default(),
        }
    }

    /// The words of a slot.
    #[inline]
    pub(super) fn words(&self, slot: u32) -> &[u64] {
        let first = slot as usize * self.item_words;
        &self.words[first..first + self.item_words]
    }

    #[inline]
    pub(super) const fn list(&self, list: List) -> &ItemList {
        match list {
            List::Posted => &self.posted,
            List::Unexpected => &self.unexpected,
        }
    }

    const fn list_mut(&mut self, list: List) -> &mut ItemList {
        match list {
            List::Posted => &mut self.posted,
            List::Unexpected => &mut self.unexpected,
        }
    }

    /// The slot of the item at `position`.
    pub(super) fn slot(&self, list: List, position: usize) -> &ItemSlot {
        &self.slots[self.list(list).slots[position] as usize]
    }

    /// Items of both lists in host memory.
    pub(super) fn spilled_items(&self) -> usize {
        let in_host = |list: &ItemList| list.slots.iter().filter(|&&slot| self.slots[slot as usize].spilled).count();
        in_host(&self.posted) + in_host(&self.unexpected)
    }

    /// Reserves a slot: its number, and whether it is in host memory.
    pub(super) fn reserve(&mut self, capacity: usize) -> (usize, bool) {
        match self.local.take(capacity) {
            Some(slot) => (slot, false),
            None => (capacity + self.spilled.take(usize::MAX).expect("host memory has no limit"), true),
        }
    }

    /// Writes `slot` and appends it to `list`; the item is available from cycle `done` on.
    pub(super) fn append(
        &mut self,
        list: List,
        slot: usize,
        item: ItemSlot,
        words: &ItemWords,
        head_cache: usize,
        done: u64,
    ) {
        // Host allocation is lazy for both memories and does not affect simulated times.
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, ItemSlot { id: 0, spilled: false });
            self.words.resize((slot + 1) * self.item_words, 0);
        }
        self.slots[slot] = item;
        self.words[slot * self.item_words..][..self.item_words].copy_from_slice(&words[..self.item_words]);
        let list = self.list_mut(list);
        if list.slots.len() < head_cache {
            list.ready[list.slots.len()] = done;
        }
        list.slots.push(slot as u32);
    }

    /// Unlinks the item at `position`, which ends in cycle `done`; returns its id.
    pub(super) fn remove(&mut self, list: List, position: usize, done: u64, parameters: &ListManagerParameters) -> u64 {
        let head_cache = parameters.head_cache;
        let order = self.list_mut(list);
        let slot = order.slots.remove(position);
        if position < head_cache {
            order.ready.copy_within(position + 1..head_cache, position);
            // The item that moves into the cache is fetched when the removal ends.
            let next = order.slots.get(head_cache - 1).copied();
            let spilled = next.is_some_and(|slot| self.slots[slot as usize].spilled);
            let latency = if spilled { parameters.spill_latency } else { parameters.latency };
            self.list_mut(list).ready[head_cache - 1] = done + latency;
        }
        match (slot as usize).checked_sub(parameters.capacity) {
            Some(host_slot) => self.spilled.give_back(host_slot as u32),
            None => self.local.give_back(slot),
        }
        self.slots[slot as usize].id
    }
}

impl FreeList {
    fn take(&mut self, limit: usize) -> Option<usize> {
        if let Some(slot) = self.returned.pop() {
            return Some(slot as usize);
        }
        let fresh = self.used;
        (fresh < limit).then(|| {
            self.used += 1;
            fresh
        })
    }

    fn give_back(&mut self, slot: u32) {
        self.returned.push(slot);
    }
}
