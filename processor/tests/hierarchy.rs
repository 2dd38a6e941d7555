// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory hierarchy: its times as closed formulas, and its contents against caches kept as
//! lists.

use mb_core::Cycles;
use mb_processor::hierarchy::{
    AccessKind, CacheConfig, Coherence, Hierarchy, HierarchyConfig, MemoryConfig, Reply, WritePolicy,
};
use proptest::prelude::*;

const HIT: u64 = 2;
const LOOKUP: u64 = 1;
const LATENCY: u64 = 10;
const BITS: u64 = 128;

fn cache(bytes: u64, ways: u64, line: u64) -> CacheConfig {
    CacheConfig {
        bytes,
        ways,
        line,
        write: WritePolicy::Back,
        allocate: true,
        hit: Cycles(HIT),
        lookup: Cycles(LOOKUP),
        ports: 1,
        mshrs: 8,
    }
}

fn config(data: CacheConfig) -> HierarchyConfig {
    let memory = MemoryConfig { latency: Cycles(LATENCY), bits_per_cycle: BITS };
    HierarchyConfig { cores: 1, instruction: data, data, memory, coherence: Coherence::Ideal }
}

fn hierarchy(data: CacheConfig) -> Hierarchy {
    Hierarchy::new(&config(data)).unwrap()
}

/// Cycles for which a line occupies the channel.
fn beats(line: u64) -> u64 {
    (line * 8).div_ceil(BITS)
}

/// From a miss to the use of its line, when the channel is free.
fn miss(line: u64) -> u64 {
    LOOKUP + LATENCY + beats(line) - 1
}

fn ready(reply: Reply) -> u64 {
    match reply {
        Reply::Ready(at) => at.0,
        Reply::Retry(at) => panic!("refused until cycle {at}"),
    }
}

/// Loads one word at each address, each after the data of the one before; returns the total cycles.
fn chase(hierarchy: &mut Hierarchy, start: u64, addresses: impl IntoIterator<Item = u64>) -> u64 {
    let mut now = start;
    for address in addresses {
        now = ready(hierarchy.access(0, AccessKind::Load, address, 4, Cycles(now)));
    }
    now - start
}

#[test]
fn a_pointer_chase_costs_a_miss_per_cold_line_and_a_hit_per_warm_item() {
    for line in [16, 32, 64, 128] {
        let mut hierarchy = hierarchy(cache(32 << 10, 64, line));
        let items = || (0..100).map(|item| 0x1_0000 + item * 64);
        let cold_lines = if line > 64 { 50 } else { 100 };
        let cold = cold_lines * miss(line) + (100 - cold_lines) * HIT;
        assert_eq!(chase(&mut hierarchy, 0, items()), cold, "line of {line}");
        assert_eq!(chase(&mut hierarchy, cold, items()), 100 * HIT);
        assert_eq!(hierarchy.data_statistics(0).misses, cold_lines);
        assert_eq!(hierarchy.data_statistics(0).hits, 200 - cold_lines);
        hierarchy.invalidate(0x1_0000, 64 * 100);
        assert_eq!(chase(&mut hierarchy, 100_000, items()), cold, "invalidated lines miss");
        hierarchy.invalidate(0x1_0000, 64 * 100);
        hierarchy.warm(0, AccessKind::Load, 0x1_0000, 64 * 100);
        assert_eq!(chase(&mut hierarchy, 200_000, items()), 100 * HIT);
    }
}

#[test]
fn a_set_holds_as_many_lines_as_it_has_ways_and_evicts_the_least_recently_used() {
    let ways = 4;
    let sets = 8;
    let stride = sets * 32;
    let mut hierarchy = hierarchy(cache(ways * sets * 32, ways, 32));
    let of_a_set = |lines: u64| (0..lines).map(move |line| line * stride);
    chase(&mut hierarchy, 0, of_a_set(ways));
    assert_eq!(chase(&mut hierarchy, 1000, of_a_set(ways)), ways * HIT);
    // One line more than ways: each line is evicted just before its next use.
    assert_eq!(chase(&mut hierarchy, 2000, of_a_set(ways + 1)), ways * HIT + miss(32));
    assert_eq!(chase(&mut hierarchy, 3000, of_a_set(ways + 1)), (ways + 1) * miss(32));
}

#[test]
fn a_modified_victim_takes_the_channel_after_the_line_that_displaces_it() {
    for (access, write_back) in [(AccessKind::Load, 0), (AccessKind::Store, beats(32))] {
        let mut hierarchy = hierarchy(cache(32, 1, 32));
        let first = ready(hierarchy.access(0, access, 0, 4, Cycles(0)));
        assert_eq!(first, miss(32));
        let now = 100;
        assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 32, 4, Cycles(now))), now + miss(32));
        // The channel transfers the second line, then the write-back of the first one.
        let wait = beats(32) + write_back - 1;
        assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 64, 4, Cycles(now + 1))), now + 1 + wait + miss(32));
        assert_eq!(hierarchy.data_statistics(0).write_backs, u64::from(write_back > 0));
    }
}

#[test]
fn a_stream_is_limited_by_the_channel() {
    for line in [16, 32, 64] {
        let lines = 1000;
        let mut hierarchy = hierarchy(CacheConfig { mshrs: 2000, ..cache(32 << 10, 64, line) });
        let mut last = 0;
        for number in 0..lines {
            last = ready(hierarchy.access(0, AccessKind::Load, number * line, 4, Cycles(number)));
        }
        // The channel is never idle after the first request, and the line arrives with its last
        // beat.
        assert_eq!(last, LOOKUP + LATENCY - 1 + lines * beats(line));
    }
}

#[test]
fn no_more_lines_are_outstanding_than_there_are_mshrs() {
    let mut hierarchy = hierarchy(CacheConfig { mshrs: 2, ports: 8, ..cache(32 << 10, 64, 32) });
    let mut load = |line: u64, now: u64| hierarchy.access(0, AccessKind::Load, line * 32, 4, Cycles(now));
    let first = ready(load(0, 0));
    let second = ready(load(1, 0));
    assert_eq!((first, second), (miss(32), miss(32) + beats(32)));
    assert_eq!(load(2, 0), Reply::Retry(Cycles(first)));
    assert_eq!(load(2, first - 1), Reply::Retry(Cycles(first)));
    assert_eq!(ready(load(2, first)), first + miss(32));
    assert_eq!(load(3, first), Reply::Retry(Cycles(second)));
    // An access to an outstanding line needs no MSHR.
    assert_eq!(ready(load(1, first)), second);
}

#[test]
fn accesses_to_an_outstanding_line_wait_for_it_and_send_one_request() {
    let mut hierarchy = hierarchy(cache(32 << 10, 64, 64));
    let there = ready(hierarchy.access(0, AccessKind::Load, 0, 4, Cycles(0)));
    for now in 1..there + 3 {
        let at = ready(hierarchy.access(0, AccessKind::Load, 4 * (now % 16), 4, Cycles(now)));
        assert_eq!(at, there.max(now + HIT), "in cycle {now}");
    }
    let statistics = hierarchy.data_statistics(0);
    assert_eq!((statistics.misses, statistics.mshr_hits, statistics.hits), (1, there - 1, 3));
}

#[test]
fn a_cycle_has_as_many_accesses_as_ports_and_fetches_have_ports_of_their_own() {
    for ports in 1..4 {
        let mut hierarchy = hierarchy(CacheConfig { ports, ..cache(32 << 10, 64, 64) });
        hierarchy.warm(0, AccessKind::Load, 0, 64);
        hierarchy.warm(0, AccessKind::Fetch, 0, 64);
        for _ in 0..ports {
            assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 0, 4, Cycles(7))), 7 + HIT);
        }
        assert_eq!(hierarchy.access(0, AccessKind::Load, 0, 4, Cycles(7)), Reply::Retry(Cycles(8)));
        assert_eq!(ready(hierarchy.access(0, AccessKind::Fetch, 0, 4, Cycles(7))), 7 + HIT);
        assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 0, 4, Cycles(8))), 8 + HIT);
        let statistics = [hierarchy.data_statistics(0), hierarchy.instruction_statistics(0)];
        assert_eq!(statistics.map(|one| (one.hits, one.retries)), [(u64::from(ports) + 1, 1), (1, 0)]);
    }
}

#[test]
fn an_access_across_two_lines_waits_for_both() {
    let mut hierarchy = hierarchy(cache(32 << 10, 64, 32));
    hierarchy.warm(0, AccessKind::Load, 0, 32);
    assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 30, 4, Cycles(0))), miss(32));
    assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 30, 4, Cycles(100))), 100 + HIT);
}

#[test]
fn a_write_through_store_takes_the_channel_for_its_own_bytes() {
    let through = CacheConfig { write: WritePolicy::Through, allocate: false, mshrs: 2, ..cache(32 << 10, 64, 32) };
    let mut hierarchy = hierarchy(CacheConfig { ports: 9, ..through });
    hierarchy.warm(0, AccessKind::Load, 0, 32);
    // A hit and a miss: the four bytes of each take one beat.
    assert_eq!(ready(hierarchy.access(0, AccessKind::Store, 0, 4, Cycles(0))), HIT);
    assert_eq!(ready(hierarchy.access(0, AccessKind::Store, 32, 4, Cycles(0))), LOOKUP + 1);
    assert_eq!(hierarchy.access(0, AccessKind::Store, 32, 4, Cycles(0)), Reply::Retry(Cycles(1)));
    assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 0, 4, Cycles(50))), 50 + HIT);
    assert_eq!(ready(hierarchy.access(0, AccessKind::Load, 32, 4, Cycles(60))), 60 + miss(32), "not allocated");
    assert_eq!(hierarchy.data_statistics(0).write_backs, 0);
}

#[test]
fn a_write_through_store_across_two_lines_waits_for_an_mshr_once() {
    // Two bytes to each line, one byte per cycle of the channel, and one MSHR.
    let through = CacheConfig { write: WritePolicy::Through, allocate: false, mshrs: 1, ..cache(32 << 10, 64, 32) };
    let memory = MemoryConfig { latency: Cycles(LATENCY), bits_per_cycle: 8 };
    let mut hierarchy = Hierarchy::new(&HierarchyConfig { memory, ..config(through) }).unwrap();
    let mut store = |now: u64| hierarchy.access(0, AccessKind::Store, 30, 4, Cycles(now));
    // The second part begins when the first is written, and has a lookup of its own.
    let first = LOOKUP + 2;
    let second = first + LOOKUP + 2;
    assert_eq!(store(0), Reply::Ready(Cycles(second)));
    assert_eq!(store(1), Reply::Retry(Cycles(second)));
    assert_eq!(store(second), Reply::Ready(Cycles(2 * second)));
}

const UPGRADE: u64 = 3;
const TRANSFER: u64 = 7;

fn two_cores() -> Hierarchy {
    let coherence = Coherence::Invalidate { upgrade: Cycles(UPGRADE), transfer: Cycles(TRANSFER) };
    Hierarchy::new(&HierarchyConfig { cores: 2, coherence, ..config(cache(32 << 10, 64, 32)) }).unwrap()
}

#[test]
fn a_store_invalidates_other_copies_and_a_modified_line_is_transferred() {
    let mut hierarchy = two_cores();
    let mut at = |core, access, now| ready(hierarchy.access(core, access, 64, 4, Cycles(now))) - now;
    assert_eq!(at(0, AccessKind::Load, 0), miss(32));
    assert_eq!(at(0, AccessKind::Store, 100), HIT, "in no other cache");
    assert_eq!(at(1, AccessKind::Load, 200), LOOKUP + TRANSFER);
    assert_eq!(at(0, AccessKind::Load, 300), HIT, "both have it now");
    assert_eq!(at(0, AccessKind::Store, 400), HIT + UPGRADE);
    assert_eq!(at(0, AccessKind::Store, 500), HIT);
    assert_eq!(at(1, AccessKind::Atomic, 600), LOOKUP + TRANSFER);
    assert_eq!(at(0, AccessKind::Load, 700), LOOKUP + TRANSFER);
    assert_eq!(hierarchy.data_statistics(0).invalidated, 1);
    assert_eq!(hierarchy.data_statistics(1).invalidated, 1);
    assert_eq!(hierarchy.data_statistics(1).transfers, 2);
}

#[test]
fn a_line_is_transferred_only_after_it_has_arrived() {
    let mut hierarchy = two_cores();
    let there = ready(hierarchy.access(0, AccessKind::Store, 0, 4, Cycles(0)));
    assert_eq!(ready(hierarchy.access(1, AccessKind::Atomic, 0, 4, Cycles(1))), there + TRANSFER);
}

/// The message of an error without its first part.
fn reason(error: &impl ToString) -> String {
    let text = error.to_string();
    text.split_once(": ").map_or(text.clone(), |(_, reason)| reason.to_owned())
}

#[test]
fn an_invalid_configuration_is_refused_with_the_parameter() {
    let refused = |data: CacheConfig| reason(&Hierarchy::new(&config(data)).unwrap_err());
    assert_eq!(refused(cache(32 << 10, 64, 48)), "instruction cache: line is 48 bytes; expected a power of two");
    assert_eq!(
        refused(cache(1000, 4, 32)),
        "instruction cache: bytes is 1000 with 4 ways of 32-byte lines; expected a power of two of sets"
    );
    assert_eq!(
        refused(CacheConfig { ports: 0, ..cache(1024, 4, 32) }),
        "found `0`, expected a whole number from 1 to 64 (count)"
    );
    let odd = MemoryConfig { latency: Cycles(1), bits_per_cycle: 12 };
    let error = Hierarchy::new(&HierarchyConfig { memory: odd, ..config(cache(1024, 4, 32)) }).unwrap_err();
    assert_eq!(reason(&error), "memory_bits is 12; expected a multiple of 8");
}

/// The copy of a line in one core.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Copy {
    line: u64,
    modified: bool,
}

/// Caches kept as lists, the most recently used line first. Accesses are far apart, so that none
/// overlap.
struct Plain {
    config: HierarchyConfig,
    /// `caches[core][set]`.
    caches: Vec<Vec<Vec<Copy>>>,
    write_backs: u64,
}

impl Plain {
    fn new(config: HierarchyConfig) -> Self {
        let sets = config.data.bytes / config.data.line / config.data.ways;
        Self { config, caches: vec![vec![Vec::new(); sets as usize]; config.cores], write_backs: 0 }
    }

    /// The cycles that an access takes.
    fn access(&mut self, core: usize, store: bool, address: u64) -> u64 {
        let data = self.config.data;
        let line = address / data.line;
        let set = (line % self.caches[0].len() as u64) as usize;
        let protocol = match self.config.coherence {
            Coherence::Ideal => None,
            Coherence::Invalidate { upgrade, transfer } => Some((upgrade.0, transfer.0)),
        };
        let mine = self.caches[core][set].iter().position(|copy| copy.line == line);
        let others: Vec<Copy> = (0..self.config.cores)
            .filter(|&other| other != core && protocol.is_some())
            .flat_map(|other| self.caches[other][set].iter().copied().filter(|copy| copy.line == line))
            .collect();
        for other in (0..self.config.cores).filter(|&other| other != core && protocol.is_some()) {
            if store {
                self.caches[other][set].retain(|copy| copy.line != line);
            }
            for copy in self.caches[other][set].iter_mut().filter(|copy| copy.line == line && mine.is_none()) {
                self.write_backs += u64::from(copy.modified);
                copy.modified = false;
            }
        }
        let through = data.write == WritePolicy::Through;
        let bytes = if store && through { LOOKUP + 1 } else { 0 };
        let Some(mine) = mine else {
            if store && !data.allocate {
                self.write_backs += u64::from(others.iter().any(|copy| copy.modified));
                return if others.iter().any(|copy| copy.modified) {
                    LOOKUP + beats(data.line) + 1
                } else {
                    LOOKUP + 1
                };
            }
            let copy = Copy { line, modified: store && !through };
            self.caches[core][set].insert(0, copy);
            let mut channel = 0;
            if self.caches[core][set].len() > data.ways as usize {
                let modified = self.caches[core][set].pop().unwrap().modified;
                self.write_backs += u64::from(modified);
            }
            let time = match protocol {
                Some((_, transfer)) if others.iter().any(|copy| copy.modified) => LOOKUP + transfer,
                _ => {
                    channel = beats(data.line);
                    miss(data.line)
                }
            };
            return time.max(HIT).max(if bytes > 0 { bytes + channel } else { 0 });
        };
        let mut copy = self.caches[core][set].remove(mine);
        let upgrade = match protocol {
            Some((upgrade, _)) if store && !others.is_empty() => upgrade,
            _ => 0,
        };
        if store {
            copy.modified = !through;
        }
        self.caches[core][set].insert(0, copy);
        (HIT + upgrade).max(u64::from(bytes > 0))
    }
}

proptest! {
    #[test]
    fn hits_misses_and_write_backs_are_those_of_caches_kept_as_lists(
        geometry in (0..4_u32, 0..3_u32, 0..2_u32),
        through in any::<bool>(),
        allocate in any::<bool>(),
        coherent in any::<bool>(),
        accesses in prop::collection::vec((0..3_usize, any::<bool>(), 0..64_u64), 1..400),
    ) {
        let (ways, sets, line) = (1 << geometry.0, 1 << geometry.1, 16 << geometry.2);
        let write = if through { WritePolicy::Through } else { WritePolicy::Back };
        let data = CacheConfig { write, allocate, ..cache(ways * sets * line, ways, line) };
        let coherence = if coherent {
            Coherence::Invalidate { upgrade: Cycles(UPGRADE), transfer: Cycles(TRANSFER) }
        } else {
            Coherence::Ideal
        };
        let config = HierarchyConfig { cores: 3, coherence, ..config(data) };
        let mut hierarchy = Hierarchy::new(&config).unwrap();
        let mut plain = Plain::new(config);
        for (index, &(core, store, word)) in accesses.iter().enumerate() {
            let now = index as u64 * 1000;
            let access = if store { AccessKind::Store } else { AccessKind::Load };
            let found = ready(hierarchy.access(core, access, word * 8, 8, Cycles(now))) - now;
            prop_assert_eq!(found, plain.access(core, store, word * 8), "access {} of core {}", index, core);
        }
        let write_backs: u64 = (0..3).map(|core| hierarchy.data_statistics(core).write_backs).sum();
        prop_assert_eq!(write_backs, plain.write_backs);
    }
}
