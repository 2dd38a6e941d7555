// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's search: from the oldest message on, envelope by envelope, by one core or by several.
//!
//! A search for a named sender walks that sender's group. One for any sender walks all groups: core
//! `c` of `n` takes groups
//! `c`, `c + n`, ..., and stops in each at its first match, or at a message younger than the best
//! match of that core; the oldest of the cores' matches wins. Cores have caches of their own and
//! share the bus, which serves requests in the order of their times.
//! Cost on the host: some nanoseconds for each message that the modelled host reads.

use mb_core::{Pattern, Picos};

use crate::cache::{Bus, Lines, Stream};
use crate::design::Design;
use crate::parameters::Attribute;
use crate::queue::{Group, Head, Place};

/// The message that a search found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) age: u64,
    pub(crate) group: usize,
    pub(crate) place: Place,
}

/// The walk of one core.
#[derive(Clone, Copy, Debug)]
struct Walk {
    now: Picos,
    group: usize,
    /// Groups from one to the next of this core.
    stride: usize,
    /// The next head and the next message in the large memory, as indices in order of age.
    head: usize,
    large: usize,
    line: Option<u64>,
    stream: Stream,
    best: Option<Hit>,
    visits: u32,
    /// Part of `now` that went to reads of the large memory.
    beyond: Picos,
}

/// The result of a search and its cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) hit: Option<Hit>,
    /// Messages read.
    pub(crate) visits: u32,
    pub(crate) span: Picos,
    /// Part of `span` in which the core that ended last read the large memory.
    pub(crate) beyond: Picos,
}

/// The host's cores and what they read through.
#[derive(Debug)]
pub(crate) struct Searcher {
    bus: Bus,
    lines: Vec<Lines>,
    walks: Vec<Walk>,
}

impl Searcher {
    pub(crate) fn new(design: &Design) -> Self {
        let bytes = design.slots_per_group as u64 * design.registers.entry;
        let lines = vec![Lines::new(bytes, &design.cache); design.groups];
        Self { bus: Bus::new(design.cache), lines, walks: Vec::new() }
    }

    /// Searches for the oldest message that `pattern` accepts.
    pub(crate) fn find(&mut self, design: &Design, groups: &[Group], pattern: &Pattern) -> Search {
        self.bus.begin();
        let walk = Walk {
            now: Picos::ZERO,
            group: 0,
            stride: groups.len(),
            head: 0,
            large: 0,
            line: None,
            stream: Stream::default(),
            best: None,
            visits: 0,
            beyond: Picos::ZERO,
        };
        let cores = if pattern.initiator.is_some() { 1 } else { design.cores.min(groups.len()) };
        if cores == 1 {
            let mut walk = match pattern.initiator {
                Some(initiator) => Walk { group: initiator.0 as usize % groups.len(), ..walk },
                None => Walk { stride: 1, ..walk },
            };
            while walk.step(design, &mut self.bus, &mut self.lines, groups, pattern) {}
            return Search { hit: walk.best, visits: walk.visits, span: walk.now, beyond: walk.beyond };
        }
        self.walks.clear();
        self.walks.extend((0..cores).map(|group| Walk { group, stride: cores, ..walk }));
        let (mut best, mut visits, mut last): (Option<Hit>, _, _) = (None, 0, (Picos::ZERO, Picos::ZERO));
        // The core that is least far on goes next, so that the bus gets its requests in order.
        while let Some(next) = (0..self.walks.len()).min_by_key(|core| self.walks[*core].now) {
            if !self.walks[next].step(design, &mut self.bus, &mut self.lines, groups, pattern) {
                let done = self.walks.swap_remove(next);
                if done.best.is_some_and(|hit| best.is_none_or(|best| hit.age < best.age)) {
                    best = done.best;
                }
                visits += done.visits;
                last = last.max((done.now, done.beyond));
            }
        }
        Search { hit: best, visits, span: last.0 + design.join, beyond: last.1 }
    }
}

impl Walk {
    /// Reads and compares one head and all later ones that are in the cache with it, or messages in
    /// the large memory up to the next head; false when there is none left for this core. Neither
    /// asks the bus for more than that head's line, so the bus gets its requests in order all the same.
    #[inline]
    fn step(
        &mut self,
        design: &Design,
        bus: &mut Bus,
        lines: &mut [Lines],
        groups: &[Group],
        pattern: &Pattern,
    ) -> bool {
        loop {
            let Some(group) = groups.get(self.group) else { return false };
            // Nothing is read that is younger than the best match, and no head before an older
            // message in the large memory.
            let best = self.best.map_or(u64::MAX, |best| best.age);
            let large = group.large(self.large).filter(|(large, _)| large.age < best);
            let end = large.map_or(best, |(large, _)| large.age);
            let found = match (group.head(self.head), large) {
                (Some((head, slot)), _) if head.message.age < end => {
                    self.read_head(design, bus, &mut lines[self.group], slot);
                    let heads = group.beside(self.head, design.read_at_once(slot));
                    self.compare(design, heads, end, pattern)
                }
                (head, Some((_, place))) => {
                    self.large = place;
                    let end = head.map_or(best, |(head, _)| head.message.age.min(best));
                    self.compare_large(design, group, end, pattern)
                }
                _ => {
                    self.next_group();
                    continue;
                }
            };
            if let Some((age, place)) = found {
                self.best = Some(Hit { age, group: self.group, place });
                self.next_group();
            }
            return true;
        }
    }

    /// Compares heads that are in the cache, those before age `end`, up to the first match.
    #[inline]
    fn compare(&mut self, design: &Design, heads: &[Head], end: u64, pattern: &Pattern) -> Option<(u64, Place)> {
        let first = self.head;
        let mut found = None;
        for head in heads {
            if head.message.age >= end {
                break;
            }
            self.head += 1;
            if head.is_living && pattern.accepts(&head.message.envelope) {
                found = Some((head.message.age, Place::Slot(self.head - 1)));
                break;
            }
        }
        let compared = (self.head - first) as u64;
        self.now += design.entry * compared;
        self.visits += compared as u32;
        found
    }

    /// Reads and compares messages in the large memory, those before age `end`, up to the first match.
    #[inline]
    fn compare_large(&mut self, design: &Design, group: &Group, end: u64, pattern: &Pattern) -> Option<(u64, Place)> {
        let mut found = None;
        let mut compared = 0;
        for message in group.large_from(self.large) {
            match message {
                Some(message) if message.age >= end => break,
                Some(message) => {
                    compared += 1;
                    if pattern.accepts(&message.envelope) {
                        found = Some((message.age, Place::Large(self.large)));
                    }
                }
                None => {}
            }
            self.large += 1;
            if found.is_some() {
                break;
            }
        }
        self.now += (design.large + design.entry) * compared;
        self.beyond += design.large * compared;
        self.visits += compared as u32;
        found
    }

    fn next_group(&mut self) {
        self.group += self.stride;
        (self.head, self.large, self.line) = (0, 0, None);
        // The next buffer begins at a page of its own, in which the prefetcher has seen nothing.
        self.stream = Stream::default();
    }

    /// Waits for the envelope in `slot`.
    #[inline]
    fn read_head(&mut self, design: &Design, bus: &mut Bus, lines: &mut Lines, slot: usize) {
        let address = slot as u64 * design.registers.entry;
        let is_cacheable = design.attribute != Attribute::Uncacheable;
        if let Some((cycles, offset)) = design.software {
            self.now += cycles;
            if design.attribute == Attribute::WriteBack {
                bus.request(lines, &mut self.stream, address + offset, self.now);
            }
        }
        if !is_cacheable {
            self.now += design.uncached;
        } else if design.attribute == Attribute::WriteBack {
            let line = address >> bus.config().line;
            if self.line != Some(line) {
                self.line = Some(line);
                self.now = bus.read(lines, &mut self.stream, address, self.now);
            }
        }
    }
}
