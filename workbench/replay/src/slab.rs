// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Slots with small numbers, reused: the ids that the engines see.

#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slab<T> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the value is then built in its slot instead of copied from the stack")]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            return slot;
        }
        self.slots.push(value);
        (self.slots.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.slots[slot as usize]
    }

    #[inline]
    pub(crate) fn at(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// Slots in use.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The values in use with their slots. Cost: all slots.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut used = vec![true; self.slots.len()];
        for &slot in &self.free {
            used[slot as usize] = false;
        }
        self.slots.iter().enumerate().filter(move |(slot, _)| used[*slot]).map(|(slot, value)| (slot as u32, value))
    }
}
