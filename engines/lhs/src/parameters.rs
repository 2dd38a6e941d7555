// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine.

use mb_core::parameters::Choice;
use mb_core::{Clock, Cycles, Parameters, Picos};

/// Bytes of an MPI envelope.
pub const ENVELOPE: u64 = 16;

/// In nanoseconds.
const MILLISECOND: u64 = 1_000_000;

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct LhsParameters {
    /// Clock of the NIC.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Entries of all LH buffers together; with 0 the NIC does not separate heads.
    #[parameter(range = 0..=1_048_576, holds = ByOtherRule)]
    pub slots: usize,
    /// Bytes of an LH buffer entry (entry length register); a power of two.
    #[parameter(range = ENVELOPE..=4096)]
    pub entry: u64,
    /// Bytes of the pointer to the rest at an entry's end; 0 if the slot's number identifies the rest.
    #[parameter(range = 0..=64)]
    pub pointer: u64,
    /// Byte of the envelope at which a message's length begins (size information location register).
    #[parameter(range = 0..=ENVELOPE - 4)]
    pub size_location: u64,
    /// Bytes of every message, envelope included; operations have no size.
    #[parameter(range = ENVELOPE..=1 << 30)]
    pub message: u64,
    /// LH buffers, which share the entries; the sender's rank modulo their number selects one.
    #[parameter(range = 1..=1024)]
    pub groups: usize,
    /// Cores that search groups in parallel if the receive accepts any sender.
    #[parameter(range = 1..=1024)]
    pub cores: usize,
    /// Time to start a search on several cores and to select the oldest of their matches.
    #[parameter(range = 0..=MILLISECOND)]
    pub join: Picos,
    /// Clock of the host.
    #[parameter(range = 1..=100_000)]
    pub host_clock: Clock,
    /// Cycles of the host to copy an envelope and compare three integers, all in its cache.
    #[parameter(range = 0..=1_000_000)]
    pub r#loop: Cycles,
    /// Cycles of the host to compare a message with a posted receive.
    #[parameter(range = 0..=1_000_000)]
    pub posted: Cycles,
    /// Fixed cycles of the host for every operation.
    #[parameter(range = 0..=1_000_000)]
    pub operation: Cycles,
    /// How the host maps the LH buffer: past its caches, through them, or always found in them.
    #[parameter]
    pub attribute: Attribute,
    /// From the host's request of a line of the LH buffer to its use.
    #[parameter(range = 0..=MILLISECOND)]
    pub latency: Picos,
    /// Time for the host to read an envelope in the large memory.
    #[parameter(range = 0..=MILLISECOND)]
    pub large: Picos,
    /// Of the bus to the LH buffer, in megabytes (10^6) per second.
    #[parameter(range = 1..=1_000_000)]
    pub bandwidth: u64,
    /// Bytes of one load past the caches; an envelope is a multiple of them.
    #[parameter(range = 1..=ENVELOPE)]
    pub word: u64,
    /// Bytes of a cache line; a power of two.
    #[parameter(range = ENVELOPE..=4096)]
    pub line: u64,
    /// Bytes that a read from memory fetches: a line, or several adjacent lines; a power of two.
    #[parameter(range = ENVELOPE..=4096)]
    pub sector: u64,
    /// The hardware prefetcher.
    #[parameter]
    pub hwp: bool,
    /// Misses in a page before the hardware prefetcher starts.
    #[parameter(range = 1..=1024)]
    pub hwp_misses: u32,
    /// Bytes that the hardware prefetcher stays ahead.
    #[parameter(range = 1..=65_536)]
    pub hwp_ahead: u64,
    /// Bytes of a page, whose end the hardware prefetcher does not pass; a power of two.
    #[parameter(range = 4096..=1 << 30)]
    pub hwp_page: u64,
    /// The loop has a software prefetch instruction for each envelope.
    #[parameter]
    pub swp: bool,
    /// Bytes from the envelope to the address that the software prefetch names.
    #[parameter(range = 0..=65_536)]
    pub swp_offset: u64,
    /// Cycles of the software prefetch instruction.
    #[parameter(range = 0..=1_000_000)]
    pub swp_cycles: Cycles,
}

/// How the host maps the LH buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Attribute {
    /// Past its caches.
    Uncacheable,
    /// Through its caches.
    WriteBack,
    /// Always found in its caches.
    Cached,
}
