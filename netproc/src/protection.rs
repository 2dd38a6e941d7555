// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory that the user's handler may write, and the component that detects other writes.
//!
//! A hart has no protection of memory, so the machine checks the stores of the handler: those of instructions in its
//! code, and those of `memcpy`, `memmove` and `memset` while it runs. Stores of SPINE and of its applications are not
//! checked.
//!
//! Not found: a store to the state of another flow while the hart holds a flow, and stores of a compiler's other
//! support functions.

use std::fmt;
use std::ops::Range;

use crate::contract::{Application, DEVICE, DEVICE_BYTES, HartStatus, MAX_HARTS, Phase, SpineConfig, record};

/// Bytes of a hart's stack with the distance to the next (`NP_STACK_PITCH`).
const STACK_PITCH: u64 = 9216;
/// Bytes of `np_hart_state`, and their distance (`NP_STATE_BYTES` and a line).
const STATE_BYTES: u64 = 1024;
const STATE_PITCH: u64 = 1088;
/// Bytes of a bucket and of a flow in `flow.c`, and the offset of the state in a flow.
const BUCKET_BYTES: u64 = 16;
const FLOW_BYTES: u64 = 128;
const FLOW_STATE: u64 = 64;
/// A frame begins 2 bytes after its record.
const FRAME_OFFSET: u64 = record::BYTES + 2;
/// Bytes of a cache line at most (`NP_LINE`).
const LINE: u64 = 64;
/// Offsets in `struct np_status`.
const LOCKS: usize = 40;
const RECORD: usize = 48;

/// The target of a store that a handler must not make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtectedTarget {
    /// Instructions, or constants beside them.
    Code,
    /// Registers of the controller.
    Controller,
    /// Constants or data of SPINE.
    Data,
    /// The stack of another hart.
    Stack(u32),
    /// `np_hart_state` of another hart.
    State(u32),
    /// The flow table.
    Flows,
    /// Another table of SPINE in the heap.
    Table,
    /// The receive ring.
    Ring,
    /// Record or buffer of another packet.
    Buffer,
    /// Memory of the heap that was not allocated.
    Unused,
}

impl fmt::Display for ProtectedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code => f.write_str("code"),
            Self::Controller => f.write_str("a register of the controller"),
            Self::Data => f.write_str("constants or data of SPINE"),
            Self::Stack(hart) => write!(f, "the stack of hart {hart}"),
            Self::State(hart) => write!(f, "np_hart_state of hart {hart}"),
            Self::Flows => f.write_str("the flow table"),
            Self::Table => f.write_str("a table of SPINE in the heap"),
            Self::Ring => f.write_str("the receive ring"),
            Self::Buffer => f.write_str("the record or buffer of another packet"),
            Self::Unused => f.write_str("memory that was not allocated"),
        }
    }
}

/// The parts of a program's memory, as far as they decide what a handler may write. The default has no handler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandlerRules {
    /// Code of the handler.
    pub text: Range<u64>,
    /// Its static data.
    pub data: Range<u64>,
    /// Functions of SPINE that write for their caller.
    pub library: Vec<Range<u64>>,
    /// All code.
    pub code: Range<u64>,
    /// The stacks of all harts.
    pub stacks: Range<u64>,
    /// `np_hart_state` of all harts; none if the program does not say.
    pub states: Option<Range<u64>>,
    /// `np_status`.
    pub status: Range<u64>,
    /// Flows of the flow table.
    pub flows: Range<u64>,
    /// Memory that SPINE divides.
    pub heap: Range<u64>,
    /// Longest frame.
    pub buffer_bytes: u64,
    /// Packet buffers.
    pub buffers: u64,
}

impl HandlerRules {
    /// Bytes of the states of all harts.
    pub const STATES_BYTES: u64 = STATE_PITCH * MAX_HARTS as u64;

    /// The flows in a heap that begins at `heap`: SPINE allocates the flow table first.
    #[must_use]
    pub fn flows_of(spine: &SpineConfig, heap: u64) -> Range<u64> {
        let start = (heap + u64::from(spine.flow_buckets) * BUCKET_BYTES).next_multiple_of(LINE);
        start..start + u64::from(spine.flows) * FLOW_BYTES
    }
}

/// Follows what harts do, and finds stores that a handler must not make.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    rules: HandlerRules,
    /// `np_status` of each hart after its last committed store.
    statuses: Vec<[u8; HartStatus::BYTES as usize]>,
    /// Memory of `np_allocate`.
    allocated: Vec<Range<u64>>,
    ring: Range<u64>,
}

impl Protection {
    /// The protection of a program at its start, with `harts` harts.
    #[must_use]
    pub fn new(rules: HandlerRules, harts: u32) -> Self {
        let statuses = vec![[0; HartStatus::BYTES as usize]; harts as usize];
        Self { rules, statuses, allocated: Vec::new(), ring: 0..0 }
    }

    /// `np_allocate` has given this memory to the handler.
    pub fn allocate(&mut self, memory: Range<u64>) {
        self.allocated.push(memory);
    }

    /// SPINE has written the address of the receive ring to the controller.
    pub fn set_ring(&mut self, ring: Range<u64>) {
        self.ring = ring;
    }

    /// The status of a hart, by its stores up to now; none if the program has no `np_status`.
    #[must_use]
    pub fn status(&self, hart: u32) -> Option<HartStatus> {
        (!self.rules.status.is_empty()).then(|| HartStatus::decode(&self.statuses[hart as usize]))
    }

    /// Follows a store that a hart has made.
    #[inline]
    pub fn stored(&mut self, address: u64, width: u8, value: u64) {
        if self.rules.status.contains(&address) {
            self.follow(address, width, value);
        }
    }

    fn follow(&mut self, address: u64, width: u8, value: u64) {
        let offset = address - self.rules.status.start;
        let (hart, at) = ((offset / HartStatus::BYTES) as usize, (offset % HartStatus::BYTES) as usize);
        let bytes = &value.to_le_bytes()[..usize::from(width)];
        if let Some(place) = self.statuses.get_mut(hart).and_then(|status| status.get_mut(at..at + bytes.len())) {
            place.copy_from_slice(bytes);
        }
    }

    /// What a store of `hart` hits that its handler must not write; none if it may. Addresses that are no memory are
    /// left to the memory.
    #[must_use]
    #[inline]
    pub fn refuses(&self, hart: u32, pc: u64, address: u64, width: u8) -> Option<ProtectedTarget> {
        let by_handler = self.rules.text.contains(&pc);
        if !by_handler && !self.rules.library.iter().any(|function| function.contains(&pc)) {
            return None;
        }
        self.check(hart, by_handler, address, width)
    }

    fn check(&self, hart: u32, by_handler: bool, address: u64, width: u8) -> Option<ProtectedTarget> {
        let status = self.status(hart)?;
        let runs = status.phase == Some(Phase::Handler) && status.application == Some(Application::User);
        if !by_handler && !runs {
            return None;
        }
        let end = address.checked_add(width.into())?;
        let inside = |range: &Range<u64>| range.start <= address && end <= range.end;
        let rules = &self.rules;
        let own = u64::from(hart);
        let stack = rules.stacks.start + own * STACK_PITCH;
        if inside(&rules.data)
            || inside(&(stack..stack + STACK_PITCH))
            || self.allocated.iter().any(inside)
            || self.record(hart).is_some_and(|at| inside(&(at..at + FRAME_OFFSET + rules.buffer_bytes)))
        {
            return None;
        }
        if let Some(states) = &rules.states {
            let state = states.start + own * STATE_PITCH;
            if inside(&(state..state + STATE_BYTES)) {
                return None;
            }
        } else if address >= rules.data.end && end <= rules.stacks.start && !rules.status.contains(&address) {
            // States of harts are somewhere here.
            return None;
        }
        if inside(&rules.flows) {
            // `np_flow` itself writes keys by a function of the library.
            let state = (address - rules.flows.start) % FLOW_BYTES >= FLOW_STATE;
            let allowed = if by_handler { state && self.holds_a_lock(hart) } else { true };
            return (!allowed).then_some(ProtectedTarget::Flows);
        }
        self.target(address)
    }

    /// The record of a hart's packet; none if it has no packet.
    fn record(&self, hart: u32) -> Option<u64> {
        let status = &self.statuses[hart as usize];
        let address = u64::from_le_bytes(*status[RECORD..].first_chunk()?);
        self.status(hart)?.packet.map(|_| address)
    }

    fn holds_a_lock(&self, hart: u32) -> bool {
        self.statuses[hart as usize][LOCKS..LOCKS + 4] != [0; 4]
    }

    /// The target at an address that no handler owns; none if it is not memory.
    fn target(&self, address: u64) -> Option<ProtectedTarget> {
        let rules = &self.rules;
        let heap_used = if self.ring.is_empty() { rules.heap.end } else { self.ring.start };
        Some(if rules.code.contains(&address) {
            ProtectedTarget::Code
        } else if (DEVICE..DEVICE + DEVICE_BYTES).contains(&address) {
            ProtectedTarget::Controller
        } else if rules.stacks.contains(&address) {
            ProtectedTarget::Stack(((address - rules.stacks.start) / STACK_PITCH) as u32)
        } else if let Some(states) = rules.states.as_ref().filter(|states| states.contains(&address)) {
            ProtectedTarget::State(((address - states.start) / STATE_PITCH) as u32)
        } else if (rules.code.start..rules.heap.start).contains(&address) {
            ProtectedTarget::Data
        } else if (rules.heap.start..heap_used).contains(&address) {
            ProtectedTarget::Table
        } else if self.ring.contains(&address) {
            ProtectedTarget::Ring
        } else if !self.ring.is_empty() && (self.ring.end..rules.heap.end).contains(&address) {
            // An odd number of lines, as in `os.c`.
            let pitch = ((FRAME_OFFSET + rules.buffer_bytes).div_ceil(LINE) | 1) * LINE;
            let buffers_end = self.ring.end.next_multiple_of(LINE) + rules.buffers * pitch;
            if address < buffers_end { ProtectedTarget::Buffer } else { ProtectedTarget::Unused }
        } else {
            return None;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before SPINE has a ring there are no buffers.
    #[test]
    fn an_address_without_memory_is_left_to_the_memory_at_any_time() {
        let rules = HandlerRules {
            text: 0x1000..0x2000,
            code: 0x1000..0x2000,
            data: 0x2000..0x3000,
            stacks: 0x3000..0x3000 + STACK_PITCH,
            status: 0x7000..0x7000 + HartStatus::BYTES,
            heap: 0x8000..0x10_0000,
            buffer_bytes: 2048,
            buffers: 16,
            ..HandlerRules::default()
        };
        let status = rules.status.start;
        let mut protection = Protection::new(rules, 1);
        protection.stored(status, 8, u64::MAX); // no packet
        assert_eq!(protection.refuses(0, 0x1000, 8, 4), None);
        assert_eq!(protection.refuses(0, 0x1000, 0x9000, 4), Some(ProtectedTarget::Table));
        protection.set_ring(0x9000..0x9400);
        assert_eq!(protection.refuses(0, 0x1000, 8, 4), None);
        assert_eq!(protection.refuses(0, 0x1000, 0x9400, 4), Some(ProtectedTarget::Buffer));
    }
}
