// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the times and sizes that follow from them.

use mb_core::parameters::Choice;
use mb_core::{Clock, Cycles, ParameterError, Parameters, Picos};

use crate::cache::{Config, Prefetcher};
use crate::divider::{DividerRegisters, ENVELOPE};

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

/// The NIC, the host and the way between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Design {
    pub(crate) nic: Clock,
    pub(crate) registers: DividerRegisters,
    pub(crate) message: u64,
    pub(crate) slots_per_group: usize,
    pub(crate) groups: usize,
    pub(crate) cores: usize,
    pub(crate) join: Picos,
    /// The loop over an envelope that is in the cache.
    pub(crate) entry: Picos,
    pub(crate) posted: Picos,
    pub(crate) operation: Picos,
    pub(crate) attribute: Attribute,
    /// The loads of an envelope past the caches.
    pub(crate) uncached: Picos,
    /// The read of an envelope in the large memory.
    pub(crate) large: Picos,
    pub(crate) cache: Config,
    /// The software prefetch instruction and its offset.
    pub(crate) software: Option<(Picos, u64)>,
}

impl Design {
    /// How many heads from `slot` on are read without a word to the bus once the first one is
    /// there: those of its line, which ends with the ring at the latest.
    #[inline]
    pub(crate) const fn read_at_once(&self, slot: usize) -> usize {
        match self.attribute {
            Attribute::Cached if self.software.is_none() => usize::MAX,
            Attribute::WriteBack if self.software.is_none() => {
                let in_line = (1 << self.cache.line) / self.registers.entry as usize;
                let (line, ring) =
                    (if in_line > 1 { in_line - slot % in_line } else { 1 }, self.slots_per_group - slot);
                if line < ring { line } else { ring }
            }
            _ => 1,
        }
    }

    /// The design that `parameters` describe.
    ///
    /// # Errors
    /// When sizes do not divide each other; see [`DividerRegisters::new`] for those of an entry.
    pub(crate) fn new(parameters: &LhsParameters) -> Result<Self, ParameterError> {
        let &LhsParameters { slots, groups, line, sector, hwp_page: page, word, host_clock, latency, .. } = parameters;
        let refuse = |why: String| Err(ParameterError::Contradiction(why));
        if slots % groups > 0 {
            return refuse(format!("{slots} slots cannot be shared evenly by {groups} groups"));
        }
        if [line, sector, page].iter().any(|bytes| !bytes.is_power_of_two()) || sector < line || page < sector {
            return refuse(format!(
                "a line of {line} bytes, a sector of {sector} and a page of {page}; expected powers of two, each at least \
                 as large as the one before"
            ));
        }
        if !ENVELOPE.is_multiple_of(word) {
            return refuse(format!("an envelope of {ENVELOPE} bytes is not a whole number of words of {word}"));
        }
        Ok(Self {
            nic: parameters.clock,
            registers: DividerRegisters::new(parameters)?,
            message: parameters.message,
            slots_per_group: slots / groups,
            groups,
            cores: parameters.cores,
            join: parameters.join,
            entry: host_clock.span(parameters.r#loop),
            posted: host_clock.span(parameters.posted),
            operation: host_clock.span(parameters.operation),
            attribute: parameters.attribute,
            uncached: latency * (ENVELOPE / word),
            large: parameters.large,
            cache: Config {
                line: line.trailing_zeros(),
                sector: sector.trailing_zeros(),
                page: page.trailing_zeros(),
                latency,
                transfer: Picos(line * 1_000_000) / parameters.bandwidth,
                prefetcher: parameters
                    .hwp
                    .then_some(Prefetcher { misses: parameters.hwp_misses, ahead: parameters.hwp_ahead }),
            },
            software: parameters.swp.then(|| (host_clock.span(parameters.swp_cycles), parameters.swp_offset)),
        })
    }
}
