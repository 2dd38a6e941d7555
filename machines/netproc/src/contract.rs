// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contract between SPINE and its machine as Rust types: `guest/netproc/netproc.h`, structure by structure.
//!
//! All numbers in guest memory are little-endian.

use mb_core::parameters::Choice;

/// What a worker does with a packet (`NP_APP_*`; the discriminants are its numbers).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Choice)]
pub enum Application {
    /// Drops the packet.
    Null = 0,
    /// Forwards a datagram by the longest prefix of its destination.
    IpForward = 1,
    /// Follows TCP connections and reads the request lines of HTTP.
    #[choice("httpmon")]
    HttpMon = 2,
    /// Computes the MD5 digest of the payload.
    #[choice("md5")]
    Md5 = 3,
    /// Encrypts the payload with 3DES.
    #[choice("3des")]
    TripleDes = 4,
    /// The user's handler.
    User = 5,
}

impl Application {
    /// The applications of crowley2000, in the order of its Table 2.
    pub const PAPER: [Self; 4] = [Self::IpForward, Self::HttpMon, Self::Md5, Self::TripleDes];

    /// The application of a number in guest memory; `None` for a packet that the OS thread dropped.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// An address prefix in network byte order; the bits after its length are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Prefix {
    /// Length in bits; 0: any address.
    pub bits: u8,
    /// IPv4 addresses have the first four bytes.
    pub address: [u8; 16],
}

impl Prefix {
    /// Whether `address`, of 4 or 16 bytes, begins with the prefix.
    #[must_use]
    pub fn covers(&self, address: &[u8]) -> bool {
        let (whole, rest) = (usize::from(self.bits / 8), self.bits % 8);
        address.len() * 8 >= usize::from(self.bits)
            && self.address[..whole] == address[..whole]
            && (rest == 0 || (self.address[whole] ^ address[whole]) >> (8 - rest) == 0)
    }
}

/// A filter: all its conditions hold. The first filter that matches a packet classifies it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Filter {
    /// IP version 4 or 6; none: any.
    pub version: Option<u8>,
    /// IP protocol number, in IPv6 that of the upper layer; none: any.
    pub protocol: Option<u8>,
    /// Prefix of the source address.
    pub source: Prefix,
    /// Prefix of the destination address.
    pub destination: Prefix,
    /// First and last source port. A packet without ports matches only 0 to 65535.
    pub source_ports: (u16, u16),
    /// First and last destination port, likewise.
    pub destination_ports: (u16, u16),
    /// What handles the packets.
    pub application: Application,
}

/// Every port.
pub const ANY_PORT: (u16, u16) = (0, u16::MAX);

impl Filter {
    /// Length in guest memory.
    pub const BYTES: usize = 56;
    /// The largest number of filters (`NP_FILTERS`).
    pub const MAX: usize = 256;

    /// A filter that matches every packet.
    #[must_use]
    pub const fn any(application: Application) -> Self {
        let prefix = Prefix { bits: 0, address: [0; 16] };
        Self {
            version: None,
            protocol: None,
            source: prefix,
            destination: prefix,
            source_ports: ANY_PORT,
            destination_ports: ANY_PORT,
            application,
        }
    }

    /// As `struct np_filter`.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.version.unwrap_or(0);
        bytes[1] = u8::from(self.protocol.is_none());
        bytes[2] = self.protocol.unwrap_or(0);
        bytes[3] = self.source.bits;
        bytes[4] = self.destination.bits;
        let ports = [self.source_ports.0, self.source_ports.1, self.destination_ports.0, self.destination_ports.1];
        for (at, port) in (8..).step_by(2).zip(ports) {
            bytes[at..at + 2].copy_from_slice(&port.to_le_bytes());
        }
        bytes[16..32].copy_from_slice(&self.source.address);
        bytes[32..48].copy_from_slice(&self.destination.address);
        bytes[48..52].copy_from_slice(&(self.application as u32).to_le_bytes());
        bytes
    }
}

/// A route of IPv4: `address` has zeros after its first `length` bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Route {
    /// The prefix.
    pub address: u32,
    /// Bits of the prefix, 0 to 32.
    pub length: u8,
    /// Number of the next hop.
    pub next_hop: u32,
}

impl Route {
    /// Length in guest memory.
    pub const BYTES: usize = 16;

    /// As `struct np_route4`.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (at, field) in (0..).step_by(4).zip([self.address, self.length.into(), self.next_hop]) {
            bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }
}

/// A route of IPv6: `address` has zeros after its first `length` bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Route6 {
    /// The prefix.
    pub address: u128,
    /// Bits of the prefix, 0 to 128.
    pub length: u8,
    /// Number of the next hop.
    pub next_hop: u32,
}

impl Route6 {
    /// Length in guest memory.
    pub const BYTES: usize = 24;

    /// As `struct np_route6`.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&((self.address >> 64) as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&(self.address as u64).to_le_bytes());
        bytes[16..20].copy_from_slice(&u32::from(self.length).to_le_bytes());
        bytes[20..].copy_from_slice(&self.next_hop.to_le_bytes());
        bytes
    }
}

/// Who classifies packets (`NP_CLASSIFIER_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Classifier {
    /// The controller, in no time: the ideal hardware of crowley2000, section 4.2.
    Hardware,
    /// Code that the guest compiles from the filters.
    Dpf,
    /// A loop over the filters.
    Table,
}

/// Which thread calls a classifier of software (`NP_CLASSIFY_IN_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ClassifyIn {
    /// The worker that takes the packet.
    Worker,
    /// The OS thread.
    Os,
}

/// How a hart waits (`NP_IDLE_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Idle {
    /// wrs.nto: it fetches nothing until another hart writes the line.
    Wait,
    /// A loop with pause.
    Spin,
}

/// Which harts receive packets (`NP_OS_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum OsThread {
    /// Hart 0, which does nothing else (with one hart it works too).
    Pinned,
    /// Every hart receives its own packets.
    Spread,
}

/// What SPINE is configured with: `struct np_config`, without the addresses that the machine assigns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpineConfig {
    /// Who classifies.
    pub classifier: Classifier,
    /// Where software classifies.
    pub classify_in: ClassifyIn,
    /// How workers wait, and how every hart waits for a lock.
    pub idle: Idle,
    /// How the OS thread waits for a packet.
    pub os_idle: Idle,
    /// Which harts receive.
    pub os: OsThread,
    /// Slots of the receive ring, a power of two from 2 to 4096.
    pub ring_slots: u32,
    /// Packet buffers, more than `ring_slots`.
    pub buffers: u32,
    /// Longest frame, 64 to 16000 bytes.
    pub buffer_bytes: u32,
    /// What handles packets that no filter matches; none: they are dropped.
    pub default_application: Option<Application>,
    /// Buckets of the flow table, a power of two.
    pub flow_buckets: u32,
    /// Most flows that the table holds.
    pub flows: u32,
    /// Three DES keys.
    pub des_keys: [u8; 24],
    /// The initialisation vector of each packet.
    pub des_iv: [u8; 8],
}

/// Where the machine has put what the configuration names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Address of the filters, and their number.
    pub filters: (u64, usize),
    /// Address of the routes of IPv4, and their number.
    pub routes4: (u64, usize),
    /// Address of the routes of IPv6, and their number.
    pub routes6: (u64, usize),
    /// Memory for tables and buffers.
    pub heap: (u64, u64),
}

impl SpineConfig {
    /// Length of `struct np_config`.
    pub const BYTES: usize = 136;
    const MAGIC: u32 = 0x0031_504e;

    /// As `struct np_config`, for `harts` harts.
    #[must_use]
    pub fn encode(&self, harts: u32, layout: &Layout) -> [u8; Self::BYTES] {
        let application = self.default_application.map_or(u32::from(APP_NONE), |application| application as u32);
        let mut bytes = [0; Self::BYTES];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        let first = [
            Self::MAGIC,
            harts,
            self.classifier as u32,
            self.classify_in as u32,
            self.idle as u32,
            self.os_idle as u32,
            self.os as u32,
            self.ring_slots,
            self.buffers,
            self.buffer_bytes,
            application,
            layout.filters.1 as u32,
        ];
        for field in first {
            put(&field.to_le_bytes());
        }
        for field in [layout.filters.0, layout.routes4.0, layout.routes6.0] {
            put(&field.to_le_bytes());
        }
        let second = [layout.routes4.1 as u32, layout.routes6.1 as u32, self.flow_buckets, self.flows];
        for field in second {
            put(&field.to_le_bytes());
        }
        put(&self.des_keys);
        put(&self.des_iv);
        for field in [layout.heap.0, layout.heap.1] {
            put(&field.to_le_bytes());
        }
        bytes
    }
}

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
/// The OS thread dropped the packet (`NP_APP_NONE`).
pub const APP_NONE: u16 = 0xff;

/// Registers of the controller, by their offset (`NP_REG_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Register {
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

impl Register {
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

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
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

/// What a hart does (`NP_PHASE_*`).
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

/// What a hart does, from its element of `np_status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HartStatus {
    /// Number of its packet.
    pub packet: Option<u64>,
    /// What it does; none if memory holds another number.
    pub phase: Option<Phase>,
    /// The handler that it called last; none before the first.
    pub application: Option<Application>,
    /// Code of the error that it found; 0 for none.
    pub error: u32,
    /// Address after the call that found the error.
    pub error_pc: u64,
    /// What the error is about; its meaning depends on the code.
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

/// What an error of software means (`NP_ERROR_*`): what was found with `value`, and what was expected.
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
