// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interface between cores whose instructions take values at their own time and the memory that
//! gives them.

use crate::rv64::AtomicKind;

/// A memory that times accesses and holds values: caches, buses and main memory.
///
/// # Time
///
/// Time is in processor cycles, and never decreases. In each cycle in which a core does anything it
/// first calls [`advance`](Self::advance) with this cycle, and then makes its requests: what happens
/// in a cycle precedes the requests of the cycle, in all cores. Cycles in which no core makes a
/// request and [`next_event`](Self::next_event) is not reached may be skipped.
///
/// A request that is answered with `Retry` had no effect. Repeat it in the next cycle or later; the
/// cause is a port, a bank, a miss status holding register or a buffer. A pending request cannot be
/// withdrawn: a core that squashes a load ignores its completion.
///
/// # Values and order
///
/// A load or store is performed at one instant, at which its bytes are read or written for all
/// harts at once (multi-copy atomicity). A load also sees the earlier stores of its own hart that
/// are not performed yet. Loads are performed between their request and their completion, so a core
/// keeps two loads in order by requesting the second when the first is complete. Stores, atomics and
/// device accesses of one core are performed in the order of their requests, so only a store that
/// must precede a *load* makes the core wait, until [`drained`](Self::drained).
///
/// A core sends a store when it commits, so that every earlier load of the hart is complete. It
/// sends a load-reserved, store-conditional, atomic or device access when it is the oldest
/// instruction of its hart, and waits for the answer before it sends another access of this hart.
///
/// # Instructions
///
/// A fetch that is ready makes the bytes of the fetch block readable by [`code`](Self::code). They
/// are those of the core's copy, which stores do not change: after a store to code, fence.i waits
/// until the hart is drained and calls [`invalidate_instructions`](Self::invalidate_instructions).
/// `version` tells copies apart, so that a core can keep decoded instructions by address and version.
pub trait MemorySystem {
    /// Fetches the block that holds `address`, for a context of a core. After `Pending`, a completion
    /// with [`CompletedKind::Fetch`] tells when to repeat the fetch; repeating it earlier is allowed.
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer;

    /// A short way to [`FetchAnswer::Ready`], for the frequent fetch: its cycle and version. `None`: nothing
    /// has happened, and [`fetch`](Self::fetch) has the answer.
    #[inline]
    fn fetch_at_once(&mut self, cycle: u64, core: usize, address: u64) -> Option<(u64, u32)> {
        let _ = (cycle, core, address);
        None
    }

    /// Two bytes of an instruction, at a multiple of 2, as the core's copy holds them; `None` if the
    /// core has no copy. It takes no time: only `fetch` does.
    fn code(&self, core: usize, address: u64) -> Option<u16>;

    /// A data request.
    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer;

    /// A short way to [`MemoryAnswer::Ready`], for the frequent load: its cycle and value. `None`: nothing has
    /// happened, and [`request`](Self::request) has the answer.
    #[inline]
    fn load_at_once(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> Option<(u64, u64)> {
        let _ = (cycle, core, context, address, width);
        None
    }

    /// A short way to [`MemoryAnswer::Ready`] for a store of the first context of a core, if it is performed at once.
    /// False: nothing has happened, and [`request`](Self::request) has the answer.
    #[inline]
    fn store_at_once(&mut self, cycle: u64, core: usize, address: u64, width: u8, value: u64) -> bool {
        let _ = (cycle, core, address, width, value);
        false
    }

    /// Runs everything up to and including `cycle`, and appends the requests that completed, in the
    /// order of their times.
    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>);

    /// The next cycle in which something happens without a new request.
    fn next_event(&self) -> Option<u64>;

    /// Whether all stores of a context are performed.
    fn drained(&self, core: usize, context: u8) -> bool;

    /// Whether the reservation of a context is held. It is lost when another hart, or a DMA transfer,
    /// writes to its granule; a store-conditional ends it too. A context that waits for the loss
    /// (wrs.nto) asks after each `advance`.
    fn reserved(&self, core: usize, context: u8) -> bool;

    /// Empties the instruction cache of a core: fence.i. A fetch that is pending gets bytes of the
    /// cycle in which it completes.
    fn invalidate_instructions(&mut self, core: usize);

    /// What is at `width` bytes from `address` on. A core asks before it sends an access: device
    /// accesses may have side effects, so they are never speculative.
    fn region(&self, address: u64, width: u8) -> AddressKind;

    /// The performed values of memory, for system calls; `None` if a byte is not memory. Stores that
    /// are not drained are not in it.
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]>;

    /// Writes bytes for a call of the host, at once and for all harts; breaks reservations of these
    /// bytes. False: a byte is not memory, or the memory has no such access; nothing is written. The
    /// caller has no store in flight that overlaps them.
    fn set_bytes(&mut self, address: u64, bytes: &[u8]) -> bool {
        let _ = (address, bytes);
        false
    }

    /// A change of the external interrupt of a hart up to the last [`advance`](Self::advance): the
    /// hart, and whether its interrupt is pending. `None`: no further change.
    #[inline]
    fn external_interrupt(&mut self) -> Option<(usize, bool)> {
        None
    }

    /// A context has written satp: the physical address of its root page table, 0 without
    /// translation.
    #[inline]
    fn page_table(&mut self, core: usize, context: u8, root: u64) {
        let _ = (core, context, root);
    }
}

/// A reference to a memory, with [`dyn MemorySystem`](MemorySystem) behind it too: a chip on several kinds of memory is
/// compiled once.
impl<M: MemorySystem + ?Sized> MemorySystem for &mut M {
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        (**self).fetch(cycle, core, context, address)
    }

    fn fetch_at_once(&mut self, cycle: u64, core: usize, address: u64) -> Option<(u64, u32)> {
        (**self).fetch_at_once(cycle, core, address)
    }

    fn code(&self, core: usize, address: u64) -> Option<u16> {
        (**self).code(core, address)
    }

    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        (**self).request(cycle, request)
    }

    fn load_at_once(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> Option<(u64, u64)> {
        (**self).load_at_once(cycle, core, context, address, width)
    }

    fn store_at_once(&mut self, cycle: u64, core: usize, address: u64, width: u8, value: u64) -> bool {
        (**self).store_at_once(cycle, core, address, width, value)
    }

    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        (**self).advance(cycle, completed);
    }

    fn next_event(&self) -> Option<u64> {
        (**self).next_event()
    }

    fn drained(&self, core: usize, context: u8) -> bool {
        (**self).drained(core, context)
    }

    fn reserved(&self, core: usize, context: u8) -> bool {
        (**self).reserved(core, context)
    }

    fn invalidate_instructions(&mut self, core: usize) {
        (**self).invalidate_instructions(core);
    }

    fn region(&self, address: u64, width: u8) -> AddressKind {
        (**self).region(address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        (**self).bytes(address, length)
    }

    fn set_bytes(&mut self, address: u64, bytes: &[u8]) -> bool {
        (**self).set_bytes(address, bytes)
    }

    fn external_interrupt(&mut self) -> Option<(usize, bool)> {
        (**self).external_interrupt()
    }

    fn page_table(&mut self, core: usize, context: u8, root: u64) {
        (**self).page_table(core, context, root);
    }
}

/// The kind of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressKind {
    /// Memory: it can be cached, and accessed speculatively.
    Memory,
    /// Registers of a device.
    Device,
    /// Nothing: an access faults.
    Nothing,
}

impl AddressKind {
    /// The kind of `width` bytes at `address`, which are not memory, beside `device`.
    #[inline]
    #[must_use]
    pub fn outside_memory(device: &impl Device, address: u64, width: u8) -> Self {
        let range = device.range();
        let end = address.checked_add(width.into());
        if range.contains(&address) && end.is_some_and(|end| end <= range.end) { Self::Device } else { Self::Nothing }
    }
}

/// The answer to an instruction fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchAnswer {
    /// The block can be decoded.
    Ready {
        /// The cycle from which its bytes are usable.
        at: u64,
        /// Equal versions of a line hold equal bytes, on every core.
        version: u32,
    },
    /// The line is on its way.
    Pending,
    /// A bank or an MSHR is in use. Fetch again in the next cycle or later.
    Retry,
    /// The address is not memory.
    Fault,
}

/// A data request of a hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryRequest {
    /// The core.
    pub core: usize,
    /// The context in the core.
    pub context: u8,
    /// Comes back in the completion.
    pub tag: u32,
    /// First byte. Loads and stores may have any alignment; the others are aligned.
    pub address: u64,
    /// Length in bytes: 1, 2, 4 or 8.
    pub width: u8,
    /// What to do.
    pub kind: RequestKind,
}

/// The kind of a data request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// A load.
    Load,
    /// A store. To memory, `Ready` means that it is taken over, and `Pending` is never the answer. To
    /// a device, the completion tells that it is performed.
    Store {
        /// The value; bytes beyond the width have no meaning.
        value: u64,
    },
    /// A load that sets the reservation of the hart when it is performed.
    LoadReserved,
    /// A store that is performed only if the reservation is held. Its value is 0 for success and 1
    /// for failure.
    StoreConditional {
        /// The value.
        value: u64,
    },
    /// A read-modify-write. Its value is the old one.
    Atomic {
        /// The operation: one of the AMOs.
        kind: AtomicKind,
        /// The operand, sign-extended if the width is 4.
        operand: u64,
    },
}

/// The answer to a data request. Values are zero-extended; the core extends them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryAnswer {
    /// Done, or for a store taken over.
    Ready {
        /// The cycle from which the value is usable.
        at: u64,
        /// The value of a load, of an atomic, or the result of a store-conditional.
        value: u64,
    },
    /// A completion with the tag of the request follows.
    Pending,
    /// Not accepted. Repeat it in the next cycle or later.
    Retry,
    /// A byte is neither memory nor a device, or an atomic is to a device.
    Fault,
}

/// The kind of request that completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletedKind {
    /// A data request.
    Data,
    /// A fetch: the line at `value` has arrived.
    Fetch,
    /// A DMA transfer; `core` and `context` are 0.
    Dma,
}

/// A request that was pending and is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompletedRequest {
    /// The kind of request that completed.
    pub source: CompletedKind,
    /// The core of the request.
    pub core: usize,
    /// The context of the request.
    pub context: u8,
    /// The tag of the request; 0 for a fetch.
    pub tag: u32,
    /// The cycle from which the value is usable.
    pub at: u64,
    /// As in [`MemoryAnswer::Ready`]; for a fetch, the address of the line.
    pub value: u64,
}

/// Registers of devices, which are not cached. Each read and each write happens once, in the order
/// in which the accesses arrive; reads may have side effects.
pub trait Device {
    /// The range of its addresses.
    fn range(&self) -> std::ops::Range<u64>;

    /// A read by a context of a core, in this cycle.
    fn read(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> DeviceAnswer;

    /// A write by a context of a core, in this cycle. The value of the answer is ignored.
    fn write(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8, value: u64) -> DeviceAnswer;
}

/// The answer of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceAnswer {
    /// Done; the value of a read.
    Value(u64),
    /// Not yet, and nothing changed: the access is repeated in every cycle, and the accesses of the
    /// same core after it wait.
    Wait,
}

/// No device: an empty range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoDevice;

impl Device for NoDevice {
    fn range(&self) -> std::ops::Range<u64> {
        0..0
    }

    fn read(&mut self, _: u64, _: usize, _: u8, _: u64, _: u8) -> DeviceAnswer {
        DeviceAnswer::Value(0)
    }

    fn write(&mut self, _: u64, _: usize, _: u8, _: u64, _: u8, _: u64) -> DeviceAnswer {
        DeviceAnswer::Value(0)
    }
}
