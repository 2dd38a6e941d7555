// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What stands around a receive engine's firmware: a ring of descriptors, the answers, and memory on demand.
//!
//! ```text
//!   deliver --> [ slot | slot | slot | ... ] --next--> firmware --answer--> answers
//!                 descriptors in guest memory             |
//!                                                         +--more--> entries behind all other memory
//! ```
//!
//! Entries are 64 bytes and aligned, and nothing but entries is behind [`Nic::entries`]; the firmware uses those that it has
//! anew before it asks for more, so memory grows with the longest that the lists were.

use std::collections::VecDeque;

use mb_core::{Cycles, Op, Outcome};
use mb_processor::{Answer, Call, Class, Host, Machine, Memory, Retired, Service};

use crate::layout::{self, BYTES, Order};
use crate::service;

/// An operation that the firmware has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// Which one.
    pub op: Op,
    /// The slot of its descriptor.
    pub slot: usize,
    /// Who answered.
    pub thread: u32,
    /// What was found.
    pub outcome: Outcome,
    /// When.
    pub at: Cycles,
}

/// A visit, for who watches instructions: each reads one place of an entry once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    /// That place in the first of all entries.
    first: u64,
}

impl Visit {
    /// Whether this instruction is one.
    #[inline]
    #[must_use]
    pub fn is(self, retired: &Retired) -> bool {
        retired.shape.class == Class::Load
            && retired.address >= self.first
            && (retired.address - self.first).is_multiple_of(BYTES)
    }
}

/// The host of a firmware.
#[derive(Clone, Debug)]
pub struct Nic {
    order: Order,
    ring: u64,
    /// The operation of each slot that is taken.
    slots: Vec<Option<Op>>,
    /// The slot that is taken next.
    next: usize,
    ready: VecDeque<u64>,
    entries: u64,
    answers: VecDeque<Answered>,
    cycle: u64,
}

impl Nic {
    /// Programs and their memory lie below this address (`guest/match.h`).
    pub const LIMIT: u64 = 1 << 31;

    /// A ring of `slots` descriptors behind everything in `memory`.
    #[must_use]
    pub fn new(machine: Machine, memory: &mut Memory, slots: usize) -> Self {
        let end = memory.range().end;
        let ring = end.next_multiple_of(BYTES);
        memory.grow((ring - end + slots as u64 * BYTES) as usize);
        Self {
            order: Order(machine),
            ring,
            slots: vec![None; slots],
            next: 0,
            ready: VecDeque::with_capacity(slots),
            entries: memory.range().end,
            answers: VecDeque::new(),
            cycle: 0,
        }
    }

    /// Writes the descriptor of `op` and gives its address, or `None` without effect while the oldest is not answered
    /// and every slot is taken.
    ///
    /// # Panics
    /// When `memory` is another one than [`Nic::new`] was given.
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

    /// Whether there are answers that were not handed out.
    #[inline]
    #[must_use]
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The oldest answer that was not handed out.
    pub fn answered(&mut self) -> Option<Answered> {
        self.answers.pop_front()
    }

    /// Where entries begin; they reach to the end of memory.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// What a visit looks like while the firmware performs `op`.
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

    /// The operation in the slot whose descriptor is at `address` is answered.
    fn answer(&mut self, thread: u32, address: u64, memory: &Memory) {
        let slot = (address.wrapping_sub(self.ring) / BYTES) as usize;
        let op = self.slots.get_mut(slot).and_then(Option::take).expect("the firmware answers what it was asked, once");
        let outcome = layout::outcome(self.order, &op, memory, address).expect("the ring is in memory");
        self.answers.push_back(Answered { op, slot, thread, outcome, at: Cycles(self.cycle) });
    }
}

impl Host for Nic {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    /// # Panics
    /// When the firmware breaks the protocol, or needs more memory than it can address: some 33 million entries.
    fn call(&mut self, call: Call, memory: &mut Memory) -> Answer {
        let first = call.arguments[0];
        match call.service {
            Service::Own(service::NEXT) => self.ready.pop_front().map_or(Answer::Wait, Answer::Value),
            Service::Own(service::ANSWER) => {
                self.answer(call.thread, first, memory);
                Answer::Value(0)
            }
            Service::Own(service::MARK) => Answer::Value(0),
            Service::Own(service::MORE) => {
                let address = memory.range().end;
                assert!(address + first <= Self::LIMIT, "lists too long for the firmware's 31 bits of address");
                memory.grow(first.next_multiple_of(BYTES) as usize);
                Answer::Value(address)
            }
            Service::Exit => Answer::Exit(first),
            Service::Write | Service::Own(_) | Service::Unknown(_) => {
                panic!("the firmware makes no such call: {call:?}")
            }
        }
    }
}
