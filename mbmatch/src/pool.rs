// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A pool of entries that never move. Generations tell the successive entries of a slot apart.
//!
//! Chunks of 64 entries: growth copies nothing, and wastes less than one chunk. The slot that was
//! freed last is reused first, because it is in the cache.

use std::ops::{Index, IndexMut};

use crate::heap::{Array, Heap, Owned};
use crate::types::{Handle, OutOfMemory};

/// No entry.
pub(crate) const NIL: u32 = u32::MAX;
const CHUNK: usize = 64;

/// The fields of an entry that the pool uses.
pub(crate) trait Entry: Copy + Default {
    /// Links free entries.
    fn link(&mut self) -> &mut u32;
    /// Bit 0 tells messages from receives, bit 1 used slots from free ones; the rest counts the
    /// entries of the slot.
    fn generation(&mut self) -> &mut u32;
}

/// Whose handles a pool gives out.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Receives = 0,
    Messages = 1,
}

pub(crate) struct Pool<T> {
    chunks: Array<Owned<[T; CHUNK]>>,
    /// Head of the list of freed slots, or `NIL`.
    free: u32,
    /// Slots from here on were never used.
    fresh: u32,
    kind: Kind,
    /// The generation of a slot that was never used: none below it names a slot of memory that was given back.
    unused: u32,
    heap: Heap,
}

/// Refuses at once what cannot be allocated in one piece, before it is allocated in many.
pub(crate) fn check_allocation<T>(heap: Heap, count: usize) -> Result<(), OutOfMemory> {
    if count >= NIL as usize { Err(OutOfMemory) } else { Array::<T>::new(heap).reserve_exact(count) }
}

/// Prefetches the cache lines of a slice.
pub(crate) fn prefetch<T>(some: &[T]) {
    let bytes = some.as_ptr_range();
    let mut line = bytes.start.cast::<u8>();
    while line < bytes.end.cast() {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch reads nothing, and any address is allowed.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.cast());
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags));
        }
        line = line.wrapping_add(64);
    }
}

impl<T: Entry> Pool<T> {
    pub(crate) const fn new(kind: Kind, heap: Heap) -> Self {
        Self { chunks: Array::new(heap), free: NIL, fresh: 0, kind, unused: kind as u32, heap }
    }

    /// The generation of a slot that was never used.
    pub(crate) fn unused(&self) -> u32 {
        self.unused
    }

    /// Continues after a pool whose memory was given back and whose [`Self::unused`] this is.
    pub(crate) fn continue_from(&mut self, unused: u32) {
        self.unused = self.unused.max(unused);
    }

    fn capacity(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    #[cold]
    fn grow(&mut self) -> Result<(), OutOfMemory> {
        if self.capacity() + CHUNK > NIL as usize {
            return Err(OutOfMemory);
        }
        self.chunks.reserve(1)?;
        let mut entry = T::default();
        *entry.generation() = self.unused;
        self.chunks.push(Owned::new(self.heap, [entry; CHUNK])?);
        Ok(())
    }

    pub(crate) fn reserve(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        check_allocation::<[T; CHUNK]>(self.heap, entries.saturating_sub(self.capacity()).div_ceil(CHUNK))?;
        while self.capacity() < entries {
            self.grow()?;
        }
        Ok(())
    }

    /// Makes sure that there is room for the next [`Self::insert`].
    #[inline]
    pub(crate) fn make_room(&mut self) -> Result<(), OutOfMemory> {
        if self.free == NIL && self.fresh as usize == self.capacity() { self.grow() } else { Ok(()) }
    }

    /// Allocates a slot, for which there must be room. Returns the slot with its old contents, and
    /// its handle.
    #[inline(always)]
    pub(crate) fn allocate(&mut self) -> (&mut T, Handle) {
        let at = if self.free == NIL { self.fresh } else { self.free };
        let entry = &mut self.chunks[at as usize / CHUNK][at as usize % CHUNK];
        if self.free == NIL {
            self.fresh += 1;
        } else {
            self.free = *entry.link();
        }
        let generation = entry.generation().wrapping_add(2);
        *entry.generation() = generation;
        (entry, Handle::new(at, generation))
    }

    /// Stores `entry`, for which there must be room; returns its handle.
    #[inline(always)]
    pub(crate) fn insert(&mut self, mut entry: T) -> Handle {
        let (slot, handle) = self.allocate();
        *entry.generation() = handle.generation();
        *slot = entry;
        handle
    }

    /// Removes an entry and frees its slot.
    #[inline(always)]
    pub(crate) fn remove(&mut self, at: u32) -> T {
        let free = self.free;
        let entry = &mut self[at];
        let removed = *entry;
        *entry.generation() = entry.generation().wrapping_add(2);
        *entry.link() = free;
        self.free = at;
        removed
    }

    /// The handle of an entry.
    pub(crate) fn handle(&self, at: u32) -> Handle {
        let mut entry = self[at];
        Handle::new(at, *entry.generation())
    }

    /// The index of the entry that `handle` names, unless it is stale.
    pub(crate) fn find(&self, handle: Handle) -> Option<u32> {
        let at = handle.index() as usize;
        let mut entry = *self.chunks.get(at / CHUNK)?.get(at % CHUNK)?;
        let generation = *entry.generation();
        let is_current = generation == handle.generation() && generation & 3 == 2 | self.kind as u32;
        is_current.then_some(handle.index())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.len() * size_of::<[T; CHUNK]>() + self.chunks.bytes()
    }

    /// Frees the chunks after the last entry.
    pub(crate) fn shrink(&mut self) {
        let is_used = |entry: &T| {
            let mut entry = *entry;
            *entry.generation() & 2 != 0
        };
        let used = self.chunks.iter().rposition(|chunk| chunk.iter().any(is_used)).map_or(0, |last| last + 1);
        let generations = self.chunks[used..].iter().flat_map(|chunk| chunk.iter()).map(|entry| {
            let mut entry = *entry;
            *entry.generation()
        });
        self.unused = generations.max().unwrap_or(0).max(self.unused);
        self.chunks.truncate(used);
        self.chunks.shrink();
        // The list of free slots again, the first slot on top.
        self.fresh = self.fresh.min((used * CHUNK) as u32);
        self.free = NIL;
        for at in (0..self.fresh).rev() {
            if !is_used(&self[at]) {
                let free = std::mem::replace(&mut self.free, at);
                *self[at].link() = free;
            }
        }
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: u32) -> &T {
        &self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.chunks[at as usize / CHUNK][at as usize % CHUNK]
    }
}
