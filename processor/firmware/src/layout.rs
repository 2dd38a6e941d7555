// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Items, headers and descriptors in guest memory (`match.h` and `list.h` of this folder), 64 bytes each.
//!
//! An initiator of the general form is a nid. In the items of Hemmert et al. a nid of all ones
//! stands for any, so initiator 2^32 - 1 has pid 1 and every other one pid 0. A wildcard initiator
//! has nid and pid of all ones.

use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, RecvId};
use mb_processor::{Isa, Memory};

/// Length of an item, of a header slot and of a descriptor.
pub const BYTES: u64 = 64;

/// Offsets of the fields of an item that each visit reads exactly once.
mod visited {
    /// The match bits, in a search.
    pub(super) const MATCH_BITS: u64 = 0;
    /// The name, in a cancel.
    pub(super) const NAME: u64 = 48;
}

/// Offsets in a descriptor.
mod at {
    pub(super) const MATCH: usize = 0;
    pub(super) const NID: usize = 8;
    pub(super) const PID: usize = 12;
    pub(super) const OP: usize = 14;
    pub(super) const CARE: usize = 32;
    pub(super) const NAME: usize = 40;
    pub(super) const PARTNER: u64 = 48;
    pub(super) const FOUND: u64 = 56;
}

const PUT: u16 = 1;
const POST: u16 = 16;
const CANCEL: u16 = 17;
const PROBE: u16 = 18;
const MATCHED_PROBE: u16 = 19;

const ANY_NID: u32 = u32::MAX;
const ANY_PID: u16 = u16::MAX;

/// Numbers in the byte order of an instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteOrder(pub Isa);

impl ByteOrder {
    /// 16 bits.
    #[must_use]
    pub const fn half(self, value: u16) -> [u8; 2] {
        match self.0 {
            Isa::Ppc32 => value.to_be_bytes(),
            Isa::Rv64 => value.to_le_bytes(),
        }
    }

    /// 32 bits.
    #[must_use]
    pub const fn word(self, value: u32) -> [u8; 4] {
        match self.0 {
            Isa::Ppc32 => value.to_be_bytes(),
            Isa::Rv64 => value.to_le_bytes(),
        }
    }

    /// 64 bits.
    #[must_use]
    pub const fn double(self, value: u64) -> [u8; 8] {
        match self.0 {
            Isa::Ppc32 => value.to_be_bytes(),
            Isa::Rv64 => value.to_le_bytes(),
        }
    }

    /// Reads 32 bits, or `None` if they are outside of memory.
    #[must_use]
    pub fn read_word(self, memory: &Memory, address: u64) -> Option<u32> {
        let bytes = memory.read(address)?;
        Some(match self.0 {
            Isa::Ppc32 => u32::from_be_bytes(bytes),
            Isa::Rv64 => u32::from_le_bytes(bytes),
        })
    }

    /// Reads 64 bits, or `None` if they are outside of memory.
    #[must_use]
    pub fn read_double(self, memory: &Memory, address: u64) -> Option<u64> {
        let bytes = memory.read(address)?;
        Some(match self.0 {
            Isa::Ppc32 => u64::from_be_bytes(bytes),
            Isa::Rv64 => u64::from_le_bytes(bytes),
        })
    }
}

/// The descriptor of an operation.
#[must_use]
pub fn descriptor(order: ByteOrder, op: &Op) -> [u8; BYTES as usize] {
    let (kind, name, pattern) = match *op {
        Op::Arrive { msg, envelope } => (PUT, msg.0, Pattern::exactly(envelope)),
        Op::Post { recv, pattern } => (POST, recv.0, pattern),
        Op::Cancel { recv } => (CANCEL, recv.0, Pattern::exactly(Envelope { bits: 0, initiator: Initiator(0) })),
        Op::Probe { probe, pattern } => (PROBE, probe.0, pattern),
        Op::MatchedProbe { probe, pattern } => (MATCHED_PROBE, probe.0, pattern),
    };
    let (nid, pid) = match pattern.initiator {
        Some(Initiator(nid)) => (nid, u16::from(nid == ANY_NID)),
        None => (ANY_NID, ANY_PID),
    };
    let mut bytes = [0; BYTES as usize];
    let mut put = |offset: usize, field: &[u8]| bytes[offset..offset + field.len()].copy_from_slice(field);
    put(at::MATCH, &order.double(pattern.bits));
    put(at::NID, &order.word(nid));
    put(at::PID, &order.half(pid));
    put(at::OP, &order.half(kind));
    put(at::CARE, &order.double(!pattern.ignore));
    put(at::NAME, &order.double(name));
    bytes
}

/// The outcome of an operation by the answer in its descriptor at `address`, or `None` if that is
/// outside of memory.
#[must_use]
pub fn outcome(order: ByteOrder, op: &Op, memory: &Memory, address: u64) -> Option<Outcome> {
    let found = order.read_word(memory, address + at::FOUND)? != 0;
    let partner = order.read_double(memory, address + at::PARTNER)?;
    Some(outcome_of(op, found.then_some(partner)))
}

/// The outcome of an operation that has found the entry of this name, or none.
#[must_use]
pub const fn outcome_of(op: &Op, found: Option<u64>) -> Outcome {
    match (*op, found) {
        (Op::Arrive { msg, .. }, Some(partner)) => Outcome::Matched(RecvId(partner), msg),
        (Op::Arrive { msg, .. }, None) => Outcome::Unexpected(msg),
        (Op::Post { recv, .. }, Some(partner)) => Outcome::Matched(recv, MsgId(partner)),
        (Op::Post { recv, .. }, None) => Outcome::Posted(recv),
        (Op::Cancel { recv }, Some(_)) => Outcome::Cancelled(recv),
        (Op::Cancel { recv }, None) => Outcome::NotCancelled(recv),
        (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, Some(partner)) => {
            Outcome::Probed(probe, Some(MsgId(partner)))
        }
        (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, None) => Outcome::Probed(probe, None),
    }
}

/// Offset of the field of an item that an operation reads exactly once in each visit. A load of
/// this field counts as a visit, so counting costs the firmware no instructions.
#[must_use]
pub const fn visited(op: &Op) -> u64 {
    match op {
        Op::Cancel { .. } => visited::NAME,
        _ => visited::MATCH_BITS,
    }
}
