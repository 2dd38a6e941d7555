// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The reorder buffer (ROB) and the fetch queue, in one ring: dependences and the list of ready
//! operations.
//!
//! ```text
//!   oldest ..... newest ........ fetched
//!     | ROB        | fetch queue   | one instruction that fetch has executed but not fetched
//! ```
//!
//! Each memory instruction has two operations: the first computes the address, the second accesses
//! memory. Every other instruction has only the first.

use mb_core::Cycles;

use super::config::OutOfOrderConfig;
use super::lsq::Lsq;
use super::timing::InstructionTiming;
use crate::predictor::Prediction;
use crate::{BranchKind, InstructionClass, RegisterNumber};

/// An operation: twice the slot of its instruction, plus 1 for the memory access.
pub(super) type Tag = u16;

/// No tag, and no operand.
pub(super) const NONE: u16 = u16::MAX;

/// The bit of a tag that marks the memory access.
pub(super) const ACCESS: Tag = 1;

/// Index of a store's data among its sources.
const DATA: usize = 2;

/// How an instruction accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MemoryKind {
    /// No memory access.
    None,
    Load,
    Store,
    Atomic,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct RobEntry {
    pub(super) timing: InstructionTiming,
    pub(super) prediction: Prediction,
    pub(super) kind: MemoryKind,
    /// Position in program order.
    pub(super) number: u64,
    /// Operands that are missing: those of the first operation, and the data of a store or an
    /// atomic.
    pending: [u8; 2],
    /// The first operation has ended.
    pub(super) first_done: bool,
    /// The access is ready, in progress or done.
    pub(super) access_ready: bool,
    /// The access has ended.
    pub(super) access_done: bool,
    /// The first operand in the list of those that wait for each operation.
    waiting: [u16; 2],
}

impl RobEntry {
    /// Whether all operations have ended.
    pub(super) const fn is_complete(&self) -> bool {
        self.first_done && (self.access_done || matches!(self.kind, MemoryKind::None))
    }

    /// Records the fetch in cycle `at`.
    #[inline]
    pub(super) fn fetch(&mut self, prediction: Prediction, at: Cycles) {
        self.timing.outcome = prediction.outcome;
        self.timing.fetched = at;
        self.prediction = prediction;
    }

    /// Whether the data operand of a store or an atomic is available.
    pub(super) const fn has_data(&self) -> bool {
        self.pending[1] == 0
    }

    /// Whether the accesses of both have a byte in common.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (&self.timing.retired, &other.timing.retired);
        b.address.wrapping_sub(a.address) < u64::from(a.instruction.access)
            || a.address.wrapping_sub(b.address) < u64::from(b.instruction.access)
    }

    /// Whether the access of `other` is within this one.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let (a, b) = (&self.timing.retired, &other.timing.retired);
        let offset = b.address.wrapping_sub(a.address);
        offset < u64::from(a.instruction.access)
            && offset + u64::from(b.instruction.access) <= u64::from(a.instruction.access)
    }
}

/// The ROB, the fetch queue, the LSQ and the list of ready operations.
#[derive(Clone, Debug)]
pub(super) struct Rob {
    pub(super) entries: Vec<RobEntry>,
    /// The slot of an instruction is its number modulo a power of two.
    mask: u64,
    /// Number of the oldest instruction in the ROB.
    pub(super) oldest: u64,
    /// Number of the first instruction in the fetch queue.
    newest: u64,
    /// Number of the first instruction after the fetch queue.
    fetched: u64,
    /// The operation that produces each register, while it is outstanding. 256 elements, so that no
    /// register number needs a bounds check.
    producers: [Tag; 256],
    /// The next operand in the list of each waiting operand, which is four times its slot plus its
    /// index.
    next_operand: Vec<u16>,
    pub(super) lsq: Lsq,
    /// Keys of ready operations in issue order: accesses, long operations and branches first, then
    /// the others; the older first in each group.
    pub(super) ready: Vec<u64>,
}

/// Set in the key of an operation of the second group.
const LOW_PRIORITY: u64 = 1 << 63;

const EMPTY: RobEntry = RobEntry {
    timing: InstructionTiming::EMPTY,
    prediction: Prediction::CORRECT,
    kind: MemoryKind::None,
    number: 0,
    pending: [0; 2],
    first_done: false,
    access_ready: false,
    access_done: false,
    waiting: [NONE; 2],
};

impl Rob {
    pub(super) fn new(config: &OutOfOrderConfig) -> Self {
        let slots = (config.rob + config.fetch_queue).next_power_of_two();
        Self {
            entries: vec![EMPTY; slots],
            mask: slots as u64 - 1,
            oldest: 0,
            newest: 0,
            fetched: 0,
            producers: [NONE; 256],
            next_operand: vec![NONE; slots * 4],
            lsq: Lsq::new(config),
            ready: Vec::with_capacity(slots * 2),
        }
    }

    /// Slots of the ring.
    pub(super) fn slots(&self) -> usize {
        self.entries.len()
    }

    /// Instructions in the ROB.
    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.newest - self.oldest) as usize
    }

    /// Whether the ROB holds no instruction.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.newest == self.oldest
    }

    /// The oldest instruction in the ROB.
    #[inline]
    pub(super) fn oldest(&self) -> Option<&RobEntry> {
        (!self.is_empty()).then(|| &self.entries[(self.oldest & self.mask) as usize])
    }

    /// The instruction of an operation.
    #[inline]
    pub(super) fn entry(&mut self, tag: Tag) -> &mut RobEntry {
        &mut self.entries[usize::from(tag >> 1)]
    }

    /// The operation of a key in `ready`.
    #[inline]
    pub(super) fn tag_of(&self, key: u64) -> Tag {
        ((key >> 1 & self.mask) << 1 | key & 1) as Tag
    }

    /// Instructions in the fetch queue.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        (self.fetched - self.newest) as usize
    }

    /// The instruction to be dispatched next.
    #[inline]
    pub(super) fn upcoming(&self) -> Option<&RobEntry> {
        (self.fetched != self.newest).then(|| &self.entries[(self.newest & self.mask) as usize])
    }

    /// The slot after the fetch queue.
    #[inline]
    pub(super) fn held(&mut self) -> &mut RobEntry {
        &mut self.entries[(self.fetched & self.mask) as usize]
    }

    /// Moves the instruction after the fetch queue into it.
    #[inline]
    pub(super) fn fetch(&mut self) {
        self.fetched += 1;
    }

    /// Dispatches the next instruction of the fetch queue.
    #[inline]
    pub(super) fn push(&mut self, now: Cycles) {
        debug_assert!(self.newest < self.fetched);
        let number = self.newest;
        let slot = (number & self.mask) as u16;
        self.newest += 1;
        let instruction = self.entries[usize::from(slot)].timing.retired.instruction;
        let kind = match instruction.class {
            InstructionClass::Load => MemoryKind::Load,
            InstructionClass::Store => MemoryKind::Store,
            InstructionClass::Atomic => MemoryKind::Atomic,
            _ => MemoryKind::None,
        };
        let mut pending = [0; 2];
        for (index, source) in instruction.sources.iter().enumerate() {
            let producer = self.producers[usize::from(source.0)];
            if producer == NONE {
                continue;
            }
            let operand = slot << 2 | index as u16;
            let first = &mut self.entries[usize::from(producer >> 1)].waiting[usize::from(producer & 1)];
            self.next_operand[usize::from(operand)] = std::mem::replace(first, operand);
            pending[usize::from(is_data(kind, index))] += 1;
        }
        for (index, destination) in instruction.destinations.iter().enumerate() {
            self.producers[usize::from(destination.0)] = slot << 1 | Tag::from(from_memory(kind, index));
        }
        self.producers[usize::from(RegisterNumber::NONE.0)] = NONE;
        if kind != MemoryKind::None {
            self.lsq.slots.push_back(slot);
        }
        let entry = &mut self.entries[usize::from(slot)];
        entry.timing.dispatched = now;
        entry.kind = kind;
        entry.number = number;
        entry.pending = pending;
        entry.first_done = false;
        entry.access_ready = false;
        entry.access_done = false;
        entry.waiting = [NONE; 2];
        if pending[0] == 0 {
            self.make_ready(slot << 1);
        }
    }

    /// Removes the oldest instruction.
    #[inline]
    pub(super) fn pop(&mut self) {
        if self.entries[(self.oldest & self.mask) as usize].kind != MemoryKind::None {
            self.lsq.slots.pop_front();
            self.lsq.changed = true;
        }
        self.oldest += 1;
        // An atomic accesses memory when it is the oldest.
        self.lsq.changed |= self.entries[(self.oldest & self.mask) as usize].kind == MemoryKind::Atomic;
    }

    /// The oldest instruction, mutably.
    #[inline]
    pub(super) fn oldest_mut(&mut self) -> &mut RobEntry {
        &mut self.entries[(self.oldest & self.mask) as usize]
    }

    /// Ends an operation and wakes the operands that wait for it.
    #[inline]
    pub(super) fn end(&mut self, tag: Tag) {
        let access = usize::from(tag & ACCESS);
        let entry = self.entry(tag);
        if access == 1 {
            entry.access_done = true;
        } else {
            entry.first_done = true;
        }
        let kind = entry.kind;
        let destinations = entry.timing.retired.instruction.destinations;
        let mut operand = std::mem::replace(&mut entry.waiting[access], NONE);
        if kind != MemoryKind::None {
            self.lsq.changed |= kind != MemoryKind::Load || access == 0;
            self.lsq.blocked += u32::from(kind != MemoryKind::Store && access == 0);
            if kind == MemoryKind::Store && access == 0 && self.entry(tag).has_data() {
                self.make_ready(tag | ACCESS);
            }
        }
        for destination in &destinations {
            let producer = &mut self.producers[usize::from(destination.0)];
            if *producer == tag {
                *producer = NONE;
            }
        }
        while operand != NONE {
            let next = self.next_operand[usize::from(operand)];
            self.arrive(operand);
            operand = next;
        }
    }

    /// Ends the second operation of a store: its data are in the LSQ, and loads can be forwarded.
    #[inline]
    pub(super) fn end_store(&mut self, tag: Tag) {
        self.entry(tag).access_done = true;
        self.lsq.changed = true;
    }

    /// An operand has become available.
    #[inline]
    fn arrive(&mut self, operand: u16) {
        let tag = operand >> 2 << 1;
        let entry = self.entry(tag);
        let data = is_data(entry.kind, usize::from(operand & 3));
        let pending = &mut entry.pending[usize::from(data)];
        *pending -= 1;
        if *pending > 0 {
            return;
        }
        if !data {
            self.make_ready(tag);
            return;
        }
        let is_ready = entry.kind == MemoryKind::Store && entry.first_done;
        self.lsq.changed = true;
        if is_ready {
            self.make_ready(tag | ACCESS);
        }
    }

    /// Inserts an operation into `ready`.
    #[inline]
    pub(super) fn make_ready(&mut self, tag: Tag) {
        let entry = &self.entries[usize::from(tag >> 1)];
        let instruction = entry.timing.retired.instruction;
        let high_priority = tag & ACCESS != 0 || is_long(instruction.class) || instruction.branch != BranchKind::None;
        let key = entry.number << 1 | u64::from(tag & ACCESS) | if high_priority { 0 } else { LOW_PRIORITY };
        // Insertion sort: the list is short, and most keys belong at its end.
        let mut index = self.ready.len();
        self.ready.push(key);
        while index > 0 && self.ready[index - 1] > key {
            self.ready[index] = self.ready[index - 1];
            index -= 1;
        }
        self.ready[index] = key;
    }
}

/// Whether operations of the class are issued before others of the same cycle.
const fn is_long(class: InstructionClass) -> bool {
    matches!(
        class,
        InstructionClass::Multiply
            | InstructionClass::Divide
            | InstructionClass::FloatConvert
            | InstructionClass::FloatAdd
            | InstructionClass::FloatMultiply
            | InstructionClass::FloatFused
            | InstructionClass::FloatDivide
            | InstructionClass::FloatSquareRoot
    )
}

/// Whether the source at `index` is the data of a store or an atomic.
const fn is_data(kind: MemoryKind, index: usize) -> bool {
    index == DATA && matches!(kind, MemoryKind::Store | MemoryKind::Atomic)
}

/// Whether the destination at `index` is produced by the memory access.
const fn from_memory(kind: MemoryKind, index: usize) -> bool {
    match kind {
        MemoryKind::None | MemoryKind::Store => false,
        MemoryKind::Load => index == 0,
        MemoryKind::Atomic => true,
    }
}
