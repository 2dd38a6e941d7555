// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a matcher gets its memory: from the global allocator or from the caller's, with an optional limit.
//!
//! [`Array`] and [`Owned`] are the parts of `Vec` and `Box` that the structures use. The standard library's have no
//! allocator of their own and no limit.
//!
//! Safety: an `Array` owns `capacity` elements from `start`, of which `len` are initialized; an `Owned` owns one value.
//! Both came from the heap that they name, which outlives them: the matcher closes it last.

use std::alloc::Layout;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::types::OutOfMemory;

/// Returns memory of this many bytes and this alignment, a power of two, or null.
pub type Allocate = unsafe extern "C" fn(context: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void;
/// Takes memory back that [`Allocate`] returned for the same number of bytes and alignment.
pub type Release = unsafe extern "C" fn(context: *mut c_void, memory: *mut c_void, bytes: usize, alignment: usize);

/// The caller's functions for memory.
#[derive(Clone, Copy)]
pub struct Allocator {
    allocate: Allocate,
    release: Release,
    context: *mut c_void,
}

impl Allocator {
    /// An allocator of these functions, which are called with `context`.
    ///
    /// # Safety
    /// `allocate` returns null or memory as [`Allocate`] says, which nothing else uses until `release` gets it back.
    /// Neither function uses the matcher or unwinds. Any thread may call both, one at a time for each matcher.
    #[must_use]
    pub const unsafe fn new(allocate: Allocate, release: Release, context: *mut c_void) -> Self {
        Self { allocate, release, context }
    }

    /// The parts that tell one allocator from another.
    fn identity(&self) -> [usize; 3] {
        [self.allocate as usize, self.release as usize, self.context.addr()]
    }
}

// SAFETY: the context is passed on and not used here; `new` requires functions that any thread may call.
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

impl PartialEq for Allocator {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Allocator {}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocator").finish_non_exhaustive()
    }
}

/// Allocates from `allocator`, or else from the global allocator.
pub(crate) fn allocate_from(allocator: Option<Allocator>, layout: Layout) -> Result<NonNull<u8>, OutOfMemory> {
    debug_assert!(layout.size() > 0);
    let memory = match allocator {
        // SAFETY: the contract of `Allocator::new`.
        Some(Allocator { allocate, context, .. }) => unsafe {
            allocate(context, layout.size(), layout.align()).cast::<u8>()
        },
        // SAFETY: no layout of this library is of size zero.
        None => unsafe { std::alloc::alloc(layout) },
    };
    NonNull::new(memory).ok_or(OutOfMemory)
}

/// Returns memory to `allocator`, or else to the global allocator.
///
/// # Safety
/// The memory came from there, with this layout, and is not used any more.
pub(crate) unsafe fn release_to(allocator: Option<Allocator>, memory: NonNull<u8>, layout: Layout) {
    match allocator {
        // SAFETY: the contracts of `Allocator::new` and of the caller.
        Some(Allocator { release, context, .. }) => unsafe {
            release(context, memory.as_ptr().cast(), layout.size(), layout.align());
        },
        // SAFETY: the caller's contract.
        None => unsafe { std::alloc::dealloc(memory.as_ptr(), layout) },
    }
}

/// Names the heap of a matcher. `None`: the global allocator, without a limit.
#[derive(Clone, Copy)]
pub(crate) struct Heap(Option<NonNull<State>>);

struct State {
    allocator: Option<Allocator>,
    /// Bytes that may be in use.
    limit: Cell<usize>,
    used: Cell<usize>,
}

impl Heap {
    /// The global allocator, without a limit.
    pub(crate) const GLOBAL: Self = Self(None);

    /// A heap, which must be closed.
    pub(crate) fn open(allocator: Option<Allocator>, limit: usize) -> Result<Self, OutOfMemory> {
        if allocator.is_none() && limit == usize::MAX {
            return Ok(Self::GLOBAL);
        }
        let state = allocate_from(allocator, Layout::new::<State>())?.cast::<State>();
        // SAFETY: fresh memory of this layout.
        unsafe { state.write(State { allocator, limit: Cell::new(limit), used: Cell::new(0) }) };
        Ok(Self(Some(state)))
    }

    /// Frees what [`Self::open`] allocated.
    ///
    /// # Safety
    /// Nothing that came from the heap is in use, and no copy of `self` is used afterwards.
    pub(crate) unsafe fn close(self) {
        let allocator = self.allocator();
        if let Some(state) = self.0 {
            debug_assert!(self.state().is_some_and(|state| state.used.get() == 0));
            // SAFETY: `open` allocated it there; the caller's contract.
            unsafe { release_to(allocator, state.cast(), Layout::new::<State>()) };
        }
    }

    fn state(&self) -> Option<&State> {
        // SAFETY: the heap is open.
        self.0.map(|state| unsafe { state.as_ref() })
    }

    /// The caller's allocator.
    pub(crate) fn allocator(self) -> Option<Allocator> {
        self.state().and_then(|state| state.allocator)
    }

    /// Replaces `old` bytes in use by `new` ones, if the limit allows it.
    fn account(self, old: usize, new: usize) -> Result<(), OutOfMemory> {
        if let Some(state) = self.state() {
            let used = state.used.get() - old;
            let limit = state.limit.get();
            if new > old && (new > limit || used > limit - new) {
                return Err(OutOfMemory);
            }
            state.used.set(used + new);
        }
        Ok(())
    }

    /// What `call` allocates is counted, but not refused by the limit.
    pub(crate) fn beyond_the_limit<R>(self, call: impl FnOnce() -> R) -> R {
        let limit = self.state().map(|state| state.limit.replace(usize::MAX));
        let result = call();
        if let (Some(state), Some(limit)) = (self.state(), limit) {
            state.limit.set(limit);
        }
        result
    }

    fn allocate(self, layout: Layout) -> Result<NonNull<u8>, OutOfMemory> {
        self.account(0, layout.size())?;
        let memory = allocate_from(self.allocator(), layout);
        if memory.is_err() {
            self.account(layout.size(), 0)?;
        }
        memory
    }

    /// # Safety
    /// As for [`release_to`].
    unsafe fn release(self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { release_to(self.allocator(), memory, layout) };
        // Fewer bytes are always within the limit.
        let accounted = self.account(layout.size(), 0);
        debug_assert!(accounted.is_ok());
    }
}

/// One value in memory of its own.
pub(crate) struct Owned<T> {
    value: NonNull<T>,
    heap: Heap,
}

impl<T> Owned<T> {
    pub(crate) fn new(heap: Heap, value: T) -> Result<Self, OutOfMemory> {
        const { assert!(size_of::<T>() > 0) };
        let memory = heap.allocate(Layout::new::<T>())?.cast::<T>();
        // SAFETY: fresh memory of this layout.
        unsafe { memory.write(value) };
        Ok(Self { value: memory, heap })
    }

    /// The address of the value, which stays valid until `self` is dropped.
    pub(crate) fn as_non_null(&self) -> NonNull<T> {
        self.value
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: see the module.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for Owned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: see the module.
        unsafe { self.value.as_mut() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: see the module.
        unsafe {
            self.value.drop_in_place();
            self.heap.release(self.value.cast(), Layout::new::<T>());
        }
    }
}

/// Elements side by side. Growth is explicit, since it can fail.
pub(crate) struct Array<T> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    heap: Heap,
}

impl<T> Array<T> {
    pub(crate) const fn new(heap: Heap) -> Self {
        const { assert!(size_of::<T>() > 0) };
        Self { start: NonNull::dangling(), len: 0, capacity: 0, heap }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn heap(&self) -> Heap {
        self.heap
    }

    /// Bytes of its memory.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity * size_of::<T>()
    }

    /// The memory of so many elements, which is the layout of an existing one if there are that many.
    fn layout(capacity: usize) -> Result<Layout, OutOfMemory> {
        Layout::array::<T>(capacity).map_err(|_| OutOfMemory)
    }

    /// Makes room for `more` elements, and for no others.
    pub(crate) fn reserve_exact(&mut self, more: usize) -> Result<(), OutOfMemory> {
        if more > self.capacity - self.len { self.grow(self.len.checked_add(more).ok_or(OutOfMemory)?) } else { Ok(()) }
    }

    /// Makes room for `more` elements, and for half as many again as there are: repeated growth costs little.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), OutOfMemory> {
        if more <= self.capacity - self.len {
            return Ok(());
        }
        self.grow(self.len.checked_add(more.max(self.len / 2).max(4)).ok_or(OutOfMemory)?)
    }

    #[cold]
    fn grow(&mut self, capacity: usize) -> Result<(), OutOfMemory> {
        self.relocate(capacity)
    }

    /// Moves the elements to memory for `capacity` of them, which is not fewer than there are.
    fn relocate(&mut self, capacity: usize) -> Result<(), OutOfMemory> {
        let (old, new) = (Self::layout(self.capacity)?, Self::layout(capacity)?);
        if new.size() == 0 {
            self.release();
            return Ok(());
        }
        self.heap.account(old.size(), new.size())?;
        let memory = match self.heap.allocator() {
            // SAFETY: the memory came from the global allocator with this layout; the new size is not zero.
            None if old.size() > 0 => {
                NonNull::new(unsafe { std::alloc::realloc(self.start.as_ptr().cast(), old, new.size()) })
                    .ok_or(OutOfMemory)
            }
            allocator => allocate_from(allocator, new).inspect(|memory| {
                // SAFETY: both hold `len` elements and are different; the old memory came from there.
                unsafe {
                    memory.cast::<T>().copy_from_nonoverlapping(self.start, self.len);
                    if old.size() > 0 {
                        release_to(allocator, self.start.cast(), old);
                    }
                }
            }),
        };
        let Ok(memory) = memory else {
            // What is in use has not changed.
            self.heap.account(new.size(), old.size())?;
            return Err(OutOfMemory);
        };
        (self.start, self.capacity) = (memory.cast(), capacity);
        Ok(())
    }

    /// Frees the memory. There are no elements.
    fn release(&mut self) {
        debug_assert!(self.len == 0);
        if self.capacity > 0
            && let Ok(layout) = Self::layout(self.capacity)
        {
            // SAFETY: see the module.
            unsafe { self.heap.release(self.start.cast(), layout) };
            (self.start, self.capacity) = (NonNull::dangling(), 0);
        }
    }

    /// Frees the memory beyond the elements, if it can be done.
    pub(crate) fn shrink(&mut self) {
        if self.capacity > self.len {
            // Without memory for a smaller copy, the larger one stays.
            let _unchanged = self.relocate(self.len);
        }
    }

    /// Appends an element, for which there must be room.
    #[inline(always)]
    pub(crate) fn push(&mut self, element: T) {
        assert!(self.len < self.capacity, "room is made before");
        // SAFETY: within the capacity.
        unsafe { self.start.add(self.len).write(element) };
        self.len += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: it was the last of the elements.
        Some(unsafe { self.start.add(self.len).read() })
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        while self.len > len {
            drop(self.pop());
        }
    }
}

impl<T: Copy> Array<T> {
    /// Appends elements, for which there must be room.
    pub(crate) fn extend(&mut self, elements: impl IntoIterator<Item = T>) {
        elements.into_iter().for_each(|element| self.push(element));
    }

    /// Changes the number of elements, for which there must be room; new ones are copies of `element`.
    pub(crate) fn resize(&mut self, len: usize, element: T) {
        assert!(len <= self.capacity, "room is made before");
        for at in self.len..len {
            // SAFETY: within the capacity.
            unsafe { self.start.add(at).write(element) };
        }
        self.len = len;
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: see the module.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: see the module.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        self.truncate(0);
        self.release();
    }
}
