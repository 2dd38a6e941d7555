// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times and sizes that follow from the parameters.

use mb_core::{Clock, ParameterError, Picos};

use crate::cache::{Config, Prefetcher};
use crate::divider::DividerRegisters;
use crate::parameters::{Attribute, ENVELOPE, LhsParameters};

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
