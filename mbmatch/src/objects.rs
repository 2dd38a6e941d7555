// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Objects that begin with a node, side by side in memory that does not move.

use std::cell::UnsafeCell;

/// Zeroed memory of a number of objects of one size.
#[derive(Debug)]
pub(crate) struct Objects {
    /// In words, for the alignment of nodes. The library writes to it through pointers.
    memory: Box<[UnsafeCell<u64>]>,
    count: usize,
    /// Bytes from one object to the next.
    size: usize,
}

// SAFETY: the memory is reached through the exclusive reference to the matcher alone.
unsafe impl Send for Objects {}
// SAFETY: as above; no method with a shared reference reads it.
unsafe impl Sync for Objects {}

/// The word of an object that has its number: behind the larger node.
const NUMBER: usize = 12;

/// The smallest size of an object.
pub(crate) const SMALLEST: usize = 8 * (NUMBER + 1);

impl Objects {
    pub(crate) fn new(count: usize, size: usize) -> Self {
        let memory = (0..count * size / 8).map(|_| UnsafeCell::new(0)).collect();
        let objects = Self { memory, count, size };
        for number in 0..count {
            // SAFETY: the word is in the object, which is aligned and initialized.
            unsafe { objects.node(number).add(NUMBER).write(number as u64) };
        }
        objects
    }

    /// The node of an object.
    #[inline]
    pub(crate) fn node(&self, number: usize) -> *mut u64 {
        assert!(number < self.count, "object {number} found, expected one below {}", self.count);
        // SAFETY: the object is in the memory. The pointer is made from that of all, since the library writes to more
        // than its first word.
        UnsafeCell::raw_get(unsafe { self.memory.as_ptr().add(number * self.size / 8) })
    }

    /// The node of an object that is in no queue: its first word, the link to the next entry, is NULL.
    #[inline]
    pub(crate) fn idle(&self, number: usize) -> *mut u64 {
        let node = self.node(number);
        // SAFETY: the node is aligned and initialized, since the memory was zeroed.
        assert!(unsafe { node.cast::<usize>().read() } == 0, "object {number} waits already");
        node
    }

    /// The number of the object with this node, which the library returned.
    #[inline]
    pub(crate) fn number(node: *const u64) -> usize {
        // SAFETY: nodes are at the begin of objects.
        unsafe { node.add(NUMBER).read() as usize }
    }
}
