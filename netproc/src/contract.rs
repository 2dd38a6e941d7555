// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contract between SPINE and its machine as Rust types: `netproc/spine/netproc.h`, structure by structure.
//!
//! All numbers in guest memory are little-endian.

mod application;
mod config;
mod tables;

use mb_core::parameters::Choice;

pub use application::{APP_NONE, Application};
pub use config::{Classifier, ClassifyIn, Idle, OsThread, SpineConfig, TableAddresses};
pub use tables::{ANY_PORT, Filter, Prefix, Route, Route6};

/// Address of the controller's registers (`NP_DEVICE`).
pub const DEVICE: u64 = 0x1000_0000;
/// Bytes of the page of registers.
pub const DEVICE_BYTES: u64 = 0x1000;
/// Most harts of a machine (`NP_HARTS`).
pub const MAX_HARTS: u32 = 64;
/// No filter matches (`NP_NO_CLASS`).
pub const NO_CLASS: u32 = u32::MAX;
/// A hart has no packet (`NP_NO_PACKET`).
pub const NO_PACKET: u64 = u64::MAX;
/// Registers of the controller, by their offset (`NP_REG_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControllerRegister {
    /// Address of the receive ring.
    Ring,
    /// Slots of the ring.
    Slots,
    /// Slots given to the controller since the start.
    Refill,
    /// A packet record and its verdict.
    Complete,
    /// Tables are built.
    Ready,
    /// An error of software.
    Error,
}

impl ControllerRegister {
    /// The register at an offset in the page.
    #[must_use]
    pub const fn at(offset: u64) -> Option<Self> {
        Some(match offset {
            0x00 => Self::Ring,
            0x08 => Self::Slots,
            0x10 => Self::Refill,
            0x18 => Self::Complete,
            0x20 => Self::Ready,
            0x28 => Self::Error,
            _ => return None,
        })
    }
}

/// A slot of the receive ring: `struct np_slot`.
pub mod slot {
    /// Length of a slot.
    pub const BYTES: u64 = 32;
    /// Offset of the address of the buffer, 8 bytes.
    pub const BUFFER: u64 = 0;
    /// Offset of packet number, length and class, 16 bytes that the controller writes together.
    pub const NUMBER: u64 = 8;
    /// Offset of the status, 4 bytes.
    pub const STATUS: u64 = 24;
    /// The slot has a packet.
    pub const FILLED: u32 = 1;
    /// The frame is longer than the buffer.
    pub const TOO_LONG: u32 = 2;
}

/// A packet record: `struct np_packet`.
pub mod record {
    /// Length of a record. The frame begins 2 bytes after it.
    pub const BYTES: u64 = 128;
    /// Offset of the packet number, 8 bytes.
    pub const NUMBER: u64 = 0;
    /// Offset of the address of the frame, 8 bytes.
    pub const DATA: u64 = 8;
    /// Offset of the length of the frame, 4 bytes.
    pub const LENGTH: u64 = 16;
    /// Offset of the class, 4 bytes.
    pub const CLASS: u64 = 36;
    /// Offset of the next hop, 4 bytes.
    pub const NEXT_HOP: u64 = 64;
    /// Offset of the application, 2 bytes.
    pub const APPLICATION: u64 = 68;
    /// Offset of the reason, 1 byte.
    pub const REASON: u64 = 70;
    /// Offset of the length of the result, 1 byte.
    pub const RESULT_LENGTH: u64 = 71;
    /// Offset of the result.
    pub const RESULT: u64 = 72;
    /// Most bytes of a result.
    pub const RESULT_BYTES: usize = 56;
}

/// The decision about a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PacketDecision {
    /// Transmitted to this next hop.
    Forward(u32),
    /// Dropped by software, for a reason ([`drop_reason`]).
    Drop(u8),
    /// Kept by the application.
    Consume,
}

/// The word of a reason of a drop (`NP_DROP_*`).
#[must_use]
pub fn drop_reason(number: u8) -> &'static str {
    const REASONS: [&str; 11] = [
        "handler",
        "truncated",
        "too long",
        "check sequence",
        "type",
        "header",
        "checksum",
        "time to live",
        "no route",
        "no class",
        "flow table full",
    ];
    usize::from(number).checked_sub(1).and_then(|place| REASONS.get(place)).copied().unwrap_or("unknown")
}

/// The phase of a hart (`NP_PHASE_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Phase {
    /// Has not begun.
    Start,
    /// Waits for a packet.
    Idle,
    /// Receives a packet.
    Os,
    /// Classifies a packet.
    Classify,
    /// Executes a handler.
    Handler,
    /// Reports a packet.
    Complete,
    /// Has found an error.
    Error,
}

/// The status of a hart, from its element of `np_status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HartStatus {
    /// Number of its packet.
    pub packet: Option<u64>,
    /// Its phase; none if memory holds another number.
    pub phase: Option<Phase>,
    /// The handler that it called last; none before the first.
    pub application: Option<Application>,
    /// Code of the error that it found; 0 for none.
    pub error: u32,
    /// Address after the call that found the error.
    pub error_pc: u64,
    /// A value of the error, whose meaning depends on the code.
    pub error_value: u64,
    /// Packets that it has completed.
    pub packets: u64,
}

impl HartStatus {
    /// Length of `struct np_status`.
    pub const BYTES: u64 = 64;

    /// Reads `struct np_status`.
    #[must_use]
    pub fn decode(bytes: &[u8; 64]) -> Self {
        let words: [u64; 8] = std::array::from_fn(|index| double(bytes, index));
        Self {
            packet: Some(words[0]).filter(|number| *number != NO_PACKET),
            phase: Phase::ALL.get(words[1] as u32 as usize).copied(),
            application: Application::of(words[2] as u16),
            error: (words[2] >> 32) as u32,
            error_pc: words[3],
            error_value: words[4],
            packets: words[7],
        }
    }
}

/// The `index`th double word.
fn double(bytes: &[u8; 64], index: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().expect("eight bytes"))
}

/// The text of an error of software (`NP_ERROR_*`): what was found with `value`, and what was expected.
#[must_use]
pub fn error_text(code: u32, value: u64) -> String {
    match code {
        1 => format!("the field of np_config at offset {value} is invalid"),
        2 => format!("the heap is too small for {value} more bytes; give the machine more memory"),
        3 => format!("filter {value} is invalid"),
        4 => format!("route {value} is invalid or out of order"),
        5 => format!("the compiled filters do not fit into {value} bytes; use fewer filters"),
        16 => format!("the handler returned {value}; expected the value of np_forward, np_drop or np_consume"),
        17 => format!("the handler returned with {value} locks held; expected none; call np_release"),
        18 => format!("the lock at {value:#x} is acquired by the hart that holds it; expected a free lock"),
        19 if value == 0 => "a flow is released by a hart that holds none; call np_flow before".to_owned(),
        19 => format!("the lock at {value:#x} is released by a hart that does not hold it; call np_acquire before"),
        20 => format!("np_result with {value} bytes; expected at most {}", record::RESULT_BYTES),
        21 => format!("np_allocate of {value} bytes while packets are handled; call it in np_handler_init"),
        22 => format!("a packet for application {value}, which is not linked; build the program with a handler"),
        23 => format!("np_flow for packet {value}, which has no addresses, or while the hart holds a flow"),
        _ => format!("error {code} with value {value}"),
    }
}
