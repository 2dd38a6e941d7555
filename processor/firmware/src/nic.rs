// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system-call handler of a receive engine's firmware: a ring of descriptors, the answers, and
//! memory on demand.
//!
//! ```text
//!   deliver --> [ slot | slot | slot | ... ] --next--> firmware --answer--> answers
//!                 descriptors in guest memory             |
//!                                                         +--more--> entries above all other memory
//! ```
//!
//! Entries are aligned to their 64 bytes, and only entries are above [`Nic::entries`]. The firmware
//! reuses free entries before it requests more, so memory grows with the maximum length of the
//! lists.

use std::collections::VecDeque;

use mb_core::{Cycles, Op, Outcome};
use mb_processor::{InstructionClass, Isa, Memory, Retired, Service, Syscall, SyscallHandler, SyscallResult};

use crate::layout::{self, BYTES, ByteOrder};
use crate::service;

/// An operation that the firmware has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirmwareAnswer {
    /// The operation.
    pub op: Op,
    /// The slot of its descriptor.
    pub slot: usize,
    /// The thread that answered.
    pub thread: u32,
    /// Its outcome.
    pub outcome: Outcome,
    /// The cycle of the answer.
    pub at: Cycles,
}

/// Recognises visits of entries among executed instructions: each visit reads one field of an entry
/// once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    /// Address of that field in the first entry.
    first: u64,
}

impl Visit {
    /// Whether this instruction is a visit.
    #[inline]
    #[must_use]
    pub fn is(self, retired: &Retired) -> bool {
        retired.instruction.class == InstructionClass::Load
            && retired.address >= self.first
            && (retired.address - self.first).is_multiple_of(BYTES)
    }
}

/// The handler of a firmware.
#[derive(Clone, Debug)]
pub struct Nic {
    order: ByteOrder,
    ring: u64,
    /// The operation of each occupied slot.
    slots: Vec<Option<Op>>,
    /// The slot of the next operation.
    next: usize,
    ready: VecDeque<u64>,
    entries: u64,
    answers: VecDeque<FirmwareAnswer>,
    cycle: u64,
}

impl Nic {
    /// Upper bound of the addresses of programs and their memory (`processor/firmware/match.h`).
    pub const LIMIT: u64 = 1 << 31;

    /// A handler with a ring of `slots` descriptors, which is appended to `memory`.
    #[must_use]
    pub fn new(isa: Isa, memory: &mut Memory, slots: usize) -> Self {
        let end = memory.range().end;
        let ring = end.next_multiple_of(BYTES);
        memory.grow((ring - end + slots as u64 * BYTES) as usize);
        Self {
            order: ByteOrder(isa),
            ring,
            slots: vec![None; slots],
            next: 0,
            ready: VecDeque::with_capacity(slots),
            entries: memory.range().end,
            answers: VecDeque::new(),
            cycle: 0,
        }
    }

    /// Writes the descriptor of `op` and returns its address, or `None` without effect while the
    /// next slot is occupied.
    ///
    /// # Panics
    /// When `memory` is not the memory that was passed to [`Nic::new`].
    pub fn deliver(&mut self, op: &Op, memory: &mut Memory) -> Option<u64> {
        let slot = &mut self.slots[self.next];
        if slot.is_some() {
            return None;
        }
        *slot = Some(*op);
        let address = self.ring + self.next as u64 * BYTES;
        memory.write(address, &layout::descriptor(self.order, op)).expect("the ring is in memory");
        self.ready.push_back(address);
        self.next = (self.next + 1) % self.slots.len();
        Some(address)
    }

    /// Descriptors that the firmware has not taken yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.ready.len()
    }

    /// Whether there are answers that [`answered`](Self::answered) has not returned.
    #[inline]
    #[must_use]
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Removes and returns the oldest answer.
    pub fn answered(&mut self) -> Option<FirmwareAnswer> {
        self.answers.pop_front()
    }

    /// Address of the first entry; entries reach to the end of memory.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// The visits of entries while the firmware performs `op`.
    #[must_use]
    pub const fn visit(&self, op: &Op) -> Visit {
        Visit { first: self.entries + layout::visited(op) }
    }

    /// Whether an instruction that was executed for `op` visits an entry.
    #[inline]
    #[must_use]
    pub fn is_visit(&self, op: &Op, retired: &Retired) -> bool {
        self.visit(op).is(retired)
    }

    /// Records the answer of the operation whose descriptor is at `address`.
    fn answer(&mut self, thread: u32, address: u64, memory: &Memory) {
        let slot = (address.wrapping_sub(self.ring) / BYTES) as usize;
        let op = self.slots.get_mut(slot).and_then(Option::take).expect("the firmware answers each operation once");
        let outcome = layout::outcome(self.order, &op, memory, address).expect("the ring is in memory");
        self.answers.push_back(FirmwareAnswer { op, slot, thread, outcome, at: Cycles(self.cycle) });
    }
}

impl SyscallHandler for Nic {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    /// # Panics
    /// When the firmware breaks the protocol, or needs more than its 2 GiB of addresses: about 33
    /// million entries.
    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        let first = call.arguments[0];
        match call.service {
            Service::Custom(service::NEXT) => self.ready.pop_front().map_or(SyscallResult::Wait, SyscallResult::Value),
            Service::Custom(service::ANSWER) => {
                self.answer(call.thread, first, memory);
                SyscallResult::Value(0)
            }
            Service::Custom(service::MARK) => SyscallResult::Value(0),
            Service::Custom(service::MORE) => {
                let address = memory.range().end;
                assert!(
                    address + first <= Self::LIMIT,
                    "firmware: entries at {address:#x}; expected addresses below 2^31"
                );
                memory.grow(first.next_multiple_of(BYTES) as usize);
                SyscallResult::Value(address)
            }
            Service::Exit => SyscallResult::Exit(first),
            Service::Write | Service::Custom(_) | Service::Unknown(_) => {
                panic!("firmware: unexpected call {call:?}")
            }
        }
    }
}
