// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The settings of the engine, and what they are as numbers.

use mb_core::settings::{SettingError, SettingSpec, Settings, Unit};
use mb_core::{Clock, Picos};

use crate::cache::{Config, Prefetcher};
use crate::divider::{ENVELOPE, Registers};

const MILLISECOND: u64 = 1_000_000;
const OFF_ON: Unit = Unit::Choice(&["off", "on"]);

pub(crate) const SETTINGS: &[SettingSpec] = &[
    SettingSpec { key: "clock", unit: Unit::Megahertz, help: "Clock of the NIC.", range: (1, 100_000) },
    SettingSpec {
        key: "slots",
        unit: Unit::Count,
        help: "Entries of all LH buffers together; none: the NIC does not separate heads.",
        range: (0, 1_048_576),
    },
    SettingSpec {
        key: "entry",
        unit: Unit::Count,
        help: "Bytes of an LH buffer entry (entry length register); a power of two.",
        range: (ENVELOPE, 4096),
    },
    SettingSpec {
        key: "pointer",
        unit: Unit::Count,
        help: "Bytes of the pointer to the rest at an entry's end; none if the slot's number says where it is.",
        range: (0, 64),
    },
    SettingSpec {
        key: "size_location",
        unit: Unit::Count,
        help: "Byte of the envelope at which a message's length begins (size information location register).",
        range: (0, ENVELOPE - 4),
    },
    SettingSpec {
        key: "message",
        unit: Unit::Count,
        help: "Bytes of every message, envelope included; no operation tells its size.",
        range: (ENVELOPE, 1 << 30),
    },
    SettingSpec {
        key: "groups",
        unit: Unit::Count,
        help: "LH buffers, which share the entries; the sender's rank modulo their number selects one.",
        range: (1, 1024),
    },
    SettingSpec {
        key: "cores",
        unit: Unit::Count,
        help: "Cores that search groups side by side if the sender is open.",
        range: (1, 1024),
    },
    SettingSpec {
        key: "join",
        unit: Unit::Nanoseconds,
        help: "Handing a search to several cores and taking the oldest of their matches.",
        range: (0, MILLISECOND),
    },
    SettingSpec { key: "host_clock", unit: Unit::Megahertz, help: "Clock of the host.", range: (1, 100_000) },
    SettingSpec {
        key: "loop",
        unit: Unit::Cycles,
        help: "The host copies an envelope and compares three integers, all in its cache.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "posted",
        unit: Unit::Cycles,
        help: "The host compares a message with a posted receive.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "operation",
        unit: Unit::Cycles,
        help: "Fixed cycles of the host for every operation.",
        range: (0, 1_000_000),
    },
    SettingSpec {
        key: "attribute",
        unit: Unit::Choice(&["uncacheable", "write_back", "cached"]),
        help: "How the host maps the LH buffer: past its caches, through them, or always found in them.",
        range: (0, 0),
    },
    SettingSpec {
        key: "latency",
        unit: Unit::Nanoseconds,
        help: "From the host's request of a line of the LH buffer to its use.",
        range: (0, MILLISECOND),
    },
    SettingSpec {
        key: "large",
        unit: Unit::Nanoseconds,
        help: "The host reads an envelope in the large memory.",
        range: (0, MILLISECOND),
    },
    SettingSpec {
        key: "bandwidth",
        unit: Unit::Count,
        help: "Of the bus to the LH buffer, in megabytes (10^6) per second.",
        range: (1, 1_000_000),
    },
    SettingSpec {
        key: "word",
        unit: Unit::Count,
        help: "Bytes of one load past the caches; an envelope is a multiple of them.",
        range: (1, ENVELOPE),
    },
    SettingSpec {
        key: "line",
        unit: Unit::Count,
        help: "Bytes of a cache line; a power of two.",
        range: (ENVELOPE, 4096),
    },
    SettingSpec {
        key: "sector",
        unit: Unit::Count,
        help: "Bytes that a read from memory fetches: a line, or several beside each other; a power of two.",
        range: (ENVELOPE, 4096),
    },
    SettingSpec { key: "hwp", unit: OFF_ON, help: "The hardware prefetcher.", range: (0, 0) },
    SettingSpec {
        key: "hwp_misses",
        unit: Unit::Count,
        help: "Misses in a page before the hardware prefetcher starts.",
        range: (1, 1024),
    },
    SettingSpec { key: "hwp_ahead", unit: Unit::Count, help: "Bytes that it stays ahead.", range: (1, 65_536) },
    SettingSpec {
        key: "hwp_page",
        unit: Unit::Count,
        help: "Bytes of a page, whose end it does not pass; a power of two.",
        range: (4096, 1 << 30),
    },
    SettingSpec {
        key: "swp",
        unit: OFF_ON,
        help: "The loop has a software prefetch instruction for each envelope.",
        range: (0, 0),
    },
    SettingSpec {
        key: "swp_offset",
        unit: Unit::Count,
        help: "Bytes from the envelope to the address that it prefetches.",
        range: (0, 65_536),
    },
    SettingSpec { key: "swp_cycles", unit: Unit::Cycles, help: "Cycles of that instruction.", range: (0, 1_000_000) },
];

/// How the host maps the LH buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attribute {
    Uncacheable,
    WriteBack,
    Cached,
}

/// The NIC, the host and the way between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    pub(crate) nic: Clock,
    pub(crate) registers: Registers,
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

impl Parameters {
    /// How many heads from `slot` on are read without a word to the bus once the first one is there: those of its line, which ends
    /// with the ring at the latest.
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

    /// The numbers of complete settings.
    ///
    /// # Errors
    /// When sizes do not divide each other; see [`Registers::new`] for those of an entry.
    pub(crate) fn new(settings: &Settings) -> Result<Self, SettingError> {
        let [slots, groups] = ["slots", "groups"].map(|key| settings.whole(key));
        let [line, sector, page] = ["line", "sector", "hwp_page"].map(|key| settings.whole(key));
        let [word, bandwidth] = ["word", "bandwidth"].map(|key| settings.whole(key));
        let refuse = |why: String| Err(SettingError::Contradiction(why));
        if slots % groups > 0 {
            return refuse(format!("{slots} slots cannot be shared evenly by {groups} groups"));
        }
        if [line, sector, page].iter().any(|bytes| !bytes.is_power_of_two()) || sector < line || page < sector {
            return refuse(format!(
                "a line of {line} bytes, a sector of {sector} and a page of {page}, but each is a power of two and holds the one \
                 before"
            ));
        }
        if !ENVELOPE.is_multiple_of(word) {
            return refuse(format!("an envelope of {ENVELOPE} bytes is no whole number of words of {word}"));
        }
        let host = settings.clock("host_clock");
        let cycles = |key| host.span(settings.cycles(key));
        let is_on = |key| settings.word(key) == "on";
        let prefetcher = Prefetcher { misses: settings.whole("hwp_misses") as u32, ahead: settings.whole("hwp_ahead") };
        Ok(Self {
            nic: settings.clock("clock"),
            registers: Registers::new(settings)?,
            message: settings.whole("message"),
            slots_per_group: (slots / groups) as usize,
            groups: groups as usize,
            cores: settings.whole("cores") as usize,
            join: settings.time("join"),
            entry: cycles("loop"),
            posted: cycles("posted"),
            operation: cycles("operation"),
            attribute: match settings.word("attribute") {
                "uncacheable" => Attribute::Uncacheable,
                "cached" => Attribute::Cached,
                _ => Attribute::WriteBack,
            },
            uncached: settings.time("latency") * (ENVELOPE / word),
            large: settings.time("large"),
            cache: Config {
                line: line.trailing_zeros(),
                sector: sector.trailing_zeros(),
                page: page.trailing_zeros(),
                latency: settings.time("latency"),
                transfer: Picos(line * 1_000_000) / bandwidth,
                prefetcher: is_on("hwp").then_some(prefetcher),
            },
            software: is_on("swp").then(|| (cycles("swp_cycles"), settings.whole("swp_offset"))),
        })
    }
}
