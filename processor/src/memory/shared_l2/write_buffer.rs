// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The write buffer of a core: accesses that are performed beyond the L1, in order.

use std::collections::VecDeque;

use crate::memory::backing::mask;
use crate::rv64::AtomicKind;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::memory) enum BufferedKind {
    Store,
    Conditional,
    Atomic(AtomicKind),
    DeviceRead,
    DeviceWrite,
}

/// An access that is not performed.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct BufferedAccess {
    pub(in crate::memory) address: u64,
    /// The value or operand.
    pub(in crate::memory) value: u64,
    /// The cycle from which it can take the bus.
    pub(in crate::memory) ready: u64,
    pub(in crate::memory) tag: u32,
    pub(in crate::memory) context: u8,
    pub(in crate::memory) width: u8,
    pub(in crate::memory) kind: BufferedKind,
}

impl BufferedAccess {
    pub(in crate::memory) fn is_device(&self) -> bool {
        matches!(self.kind, BufferedKind::DeviceRead | BufferedKind::DeviceWrite)
    }

    pub(in crate::memory) fn is_store(&self) -> bool {
        self.kind == BufferedKind::Store
    }
}

#[derive(Clone, Debug)]
pub(super) struct WriteBuffer {
    /// The oldest first.
    entries: VecDeque<BufferedAccess>,
    /// How many of them have taken the bus.
    sent: usize,
    /// Entries that were ever performed: the number of the front.
    performed: u64,
    capacity: usize,
}

impl WriteBuffer {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::with_capacity(capacity), sent: 0, performed: 0, capacity }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() == self.capacity
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn push(&mut self, entry: BufferedAccess) {
        self.entries.push_back(entry);
    }

    /// The number of the next entry.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.performed + self.entries.len() as u64
    }

    /// The entry that takes the bus next. A device access has no other access in flight beside it,
    /// so that it is the oldest entry when it is performed.
    #[inline]
    pub(super) fn next(&self) -> Option<&BufferedAccess> {
        let next = self.entries.get(self.sent)?;
        let alone = self.sent > 0 && (next.is_device() || self.entries[0].is_device());
        (!alone).then_some(next)
    }

    pub(super) fn send(&mut self) {
        self.sent += 1;
    }

    /// The oldest entry, which must have taken the bus.
    pub(super) fn front(&self) -> BufferedAccess {
        debug_assert!(self.sent > 0, "an access that is performed has taken the bus");
        self.entries[0]
    }

    /// Removes the oldest entry, which is performed.
    pub(super) fn pop(&mut self) {
        self.entries.pop_front();
        self.sent -= 1;
        self.performed += 1;
    }

    /// The bytes of the stores of `context` among `width` bytes at `address`: a mask of them, and their
    /// values.
    #[inline(never)]
    pub(super) fn forward(&self, context: u8, address: u64, width: u8) -> (u64, u64) {
        forward(self.entries.iter(), context, address, width)
    }

    /// As [`forward`](Self::forward), of stores with numbers below `end`.
    pub(super) fn forward_before(&self, end: u64, context: u8, address: u64, width: u8) -> (u64, u64) {
        let count = end.saturating_sub(self.performed);
        forward(self.entries.iter().zip(0..count).map(|(entry, _)| entry), context, address, width)
    }
}

/// The bytes of the stores of `context` among `width` bytes at `address`: a mask of them, and their
/// values. Later entries replace earlier ones.
#[inline]
pub(in crate::memory) fn forward<'a>(
    entries: impl Iterator<Item = &'a BufferedAccess>,
    context: u8,
    address: u64,
    width: u8,
) -> (u64, u64) {
    let (mut covered, mut bytes) = (0, 0);
    for entry in entries {
        if entry.context != context || !entry.is_store() {
            continue;
        }
        let (above, below) = (entry.address.wrapping_sub(address), address.wrapping_sub(entry.address));
        let part = mask(entry.width);
        let (part, value) = if above < 8 {
            (part << (8 * above), entry.value << (8 * above))
        } else if below < 8 {
            (part >> (8 * below), entry.value >> (8 * below))
        } else {
            continue;
        };
        covered |= part;
        bytes = bytes & !part | value & part;
    }
    (covered & mask(width), bytes & mask(width))
}
