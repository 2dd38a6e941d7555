// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the host reads the LH buffer: cache lines, the bus that brings them, and who asks for them ahead of time.
//!
//! ```text
//!   line     [ head | head | head | head ]        of `line` bytes; a walk reads one head after the other
//!   sector   [ line | line ]                      what a read from memory fetches, the line asked for first
//!   bus      one sector after the other: `transfer` for each line; the first one is there `latency` after its turn
//! ```
//! A search begins with no line in the cache and an idle bus: what was read is flushed after it,
//! since the host's caches do not see what the NIC writes. Addresses are those of one LH buffer;
//! each begins at a page of its own. Cost on the host: constant per line.

use mb_core::Picos;

/// The caches and the bus of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Shifts that turn an address into a line, a sector and a page.
    pub(crate) line: u32,
    pub(crate) sector: u32,
    pub(crate) page: u32,
    /// From the request of a line to its use, on an idle bus.
    pub(crate) latency: Picos,
    /// How long a line occupies the bus.
    pub(crate) transfer: Picos,
    /// The hardware prefetcher, if it is on.
    pub(crate) prefetcher: Option<Prefetcher>,
}

/// The hardware prefetcher, which follows a stream within a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefetcher {
    /// Misses in a page before it starts.
    pub(crate) misses: u32,
    /// Bytes that the hardware prefetcher stays ahead.
    pub(crate) ahead: u64,
}

/// The accesses that the prefetcher of one core has observed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    page: Option<u64>,
    misses: u32,
}

/// The lines of one LH buffer that are in the cache or on their way, during one search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// The search in which a line was requested, and when it is there.
    ready: Vec<(u64, Picos)>,
}

/// The bus, and the number of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bus {
    config: Config,
    search: u64,
    free: Picos,
}

impl Lines {
    /// No line of a buffer of `bytes`.
    pub(crate) fn new(bytes: u64, config: &Config) -> Self {
        Self { ready: vec![(0, Picos::ZERO); bytes.div_ceil(1 << config.line) as usize] }
    }
}

impl Bus {
    pub(crate) const fn new(config: Config) -> Self {
        Self { config, search: 0, free: Picos::ZERO }
    }

    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    /// A search begins: no line is in a cache.
    pub(crate) const fn begin(&mut self) {
        self.search += 1;
        self.free = Picos::ZERO;
    }

    /// A core reads `address` at `now`, for the first time since it read another line; returns when it has it.
    #[inline]
    pub(crate) fn read(&mut self, lines: &mut Lines, stream: &mut Stream, address: u64, now: Picos) -> Picos {
        self.request(lines, stream, address, now);
        if let Some(prefetcher) = self.config.prefetcher {
            self.run_ahead(prefetcher, lines, stream, address, now);
        }
        now.max(lines.ready[(address >> self.config.line) as usize].1)
    }

    /// Fetches the sector of `address` unless its line is there or on its way. Beyond the buffer
    /// there is nothing to fetch.
    #[inline]
    pub(crate) fn request(&mut self, lines: &mut Lines, stream: &mut Stream, address: u64, now: Picos) {
        let line = address >> self.config.line;
        if lines.ready.get(line as usize).is_none_or(|(search, _)| *search == self.search) {
            return;
        }
        let page = Some(address >> self.config.page);
        if stream.page != page {
            *stream = Stream { page, misses: 0 };
        }
        stream.misses += 1;
        self.fetch(lines, line, now);
    }

    /// Fetches the lines of a sector that are missing, `line` first.
    fn fetch(&mut self, lines: &mut Lines, line: u64, now: Picos) {
        let Config { latency, transfer, .. } = self.config;
        let in_sector = 1 << (self.config.sector - self.config.line);
        for nth in 0..in_sector {
            let line = line ^ nth;
            let Some(entry) = lines.ready.get_mut(line as usize) else { continue };
            if entry.0 == self.search {
                continue;
            }
            let start = self.free.max(now);
            *entry = (self.search, start + latency);
            self.free = start + transfer;
        }
    }

    /// The prefetcher sees a read of `address`.
    fn run_ahead(&mut self, by: Prefetcher, lines: &mut Lines, stream: &Stream, address: u64, now: Picos) {
        let Config { line, page, .. } = self.config;
        if stream.page != Some(address >> page) || stream.misses < by.misses {
            return;
        }
        let end_of_page = ((address >> page) + 1) << (page - line);
        let last = ((address + by.ahead) >> line).min(end_of_page - 1);
        for line in (address >> line) + 1..=last {
            if lines.ready.get(line as usize).is_some_and(|(search, _)| *search != self.search) {
                self.fetch(lines, line, now);
            }
        }
    }
}
