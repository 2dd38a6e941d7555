// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Closed formulas. Each test states the times of Table 4 of the paper as a sum of its parameters.

use mb_processor::Memory;
use mb_processor::rv64::AtomicKind;
use mb_processor::shared_l2::{L1Config, SharedL2, SharedL2Config};
use mb_processor::system::{
    CompletedKind, CompletedRequest, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind,
};

use super::{BASE, Bench, Counter, LENGTH, machine, request};

const LOAD: RequestKind = RequestKind::Load;

fn store(value: u64) -> RequestKind {
    RequestKind::Store { value }
}

/// Table 4 with one context for each core.
fn table(cores: usize) -> SharedL2Config {
    SharedL2Config::crowley2000(cores, 1)
}

// The parts of a miss: lookup in the L1, request on the bus, L2, line on the bus; and memory, line on
// the memory bus.
const HIT: u64 = 1;
const L2: u64 = HIT + 1 + 10 + 64 / 32;
const MEMORY: u64 = L2 + 68 + 64 / 16;

#[test]
fn a_load_takes_the_time_of_the_level_that_has_its_line() {
    let mut bench = machine(&table(1));
    assert_eq!(bench.takes(request(0, 0, BASE, LOAD)), (MEMORY, 0));
    assert_eq!(bench.takes(request(0, 0, BASE + 8, LOAD)), (HIT, 0));
    // Two other lines of the set of an L1 with two ways, and of other sets of the L2.
    for way in 1..=2 {
        assert_eq!(bench.takes(request(0, 0, BASE + way * (16 << 10), LOAD)).0, MEMORY);
    }
    assert_eq!(bench.takes(request(0, 0, BASE, LOAD)).0, L2);
    let statistics = bench.memory.statistics();
    assert_eq!((statistics.data[0].hits, statistics.data[0].misses), (1, 4));
    assert_eq!((statistics.l2.hits, statistics.l2.misses), (1, 3));
    assert_eq!((statistics.bus.requests, statistics.bus.lines), (4, 4 * 2));
    assert_eq!(statistics.memory.fills, 3 * 4);
}

#[test]
fn a_fetch_takes_the_time_of_the_level_that_has_its_line() {
    let mut bench = machine(&table(1));
    assert_eq!(bench.memory.fetch(0, 0, 0, BASE + 4), FetchAnswer::Pending);
    // A second fetch of the context is not a second request.
    bench.to(1);
    assert_eq!(bench.memory.fetch(1, 0, 0, BASE + 8), FetchAnswer::Pending);
    bench.to(MEMORY - 1);
    assert_eq!(bench.completed, []);
    bench.to(MEMORY);
    let expected =
        CompletedRequest { source: CompletedKind::Fetch, core: 0, context: 0, tag: 0, at: MEMORY, value: BASE };
    assert_eq!(bench.completed, [expected]);
    assert_eq!(bench.memory.fetch(MEMORY, 0, 0, BASE + 4), FetchAnswer::Ready { at: MEMORY + HIT, version: 1 });
    assert_eq!(bench.memory.statistics().bus.requests, 1);
    // The data cache of the core has no copy, the L2 has one.
    assert_eq!(bench.takes(request(0, 0, BASE, LOAD)).0, L2);
}

#[test]
fn fetches_of_contexts_share_banks_and_mshrs() {
    let mut bench = machine(&SharedL2Config::crowley2000(1, 4));
    // Three contexts want the same line; a bank takes one fetch in a cycle.
    for context in 0..3 {
        bench.to(context.into());
        assert_eq!(bench.memory.fetch(context.into(), 0, context, BASE), FetchAnswer::Pending);
        assert_eq!(bench.memory.fetch(context.into(), 0, 3, BASE + 32), FetchAnswer::Retry);
        // Eight lines on, the bank is the same; one line on, it is another one.
        assert_eq!(bench.memory.fetch(context.into(), 0, 3, BASE + 8 * 64), FetchAnswer::Retry);
        assert_eq!(bench.memory.fetch(context.into(), 0, 3, BASE + 64), FetchAnswer::Pending);
    }
    // The second line follows the first one on the memory bus.
    bench.to(MEMORY + 4);
    let found: Vec<(u8, u64, u64)> = bench.completed.iter().map(|one| (one.context, one.at, one.value)).collect();
    let second = (3, MEMORY + 4, BASE + 64);
    assert_eq!(found, [(0, MEMORY, BASE), (1, MEMORY, BASE), (2, MEMORY, BASE), second]);
    let statistics = bench.memory.statistics();
    assert_eq!((statistics.bus.requests, statistics.instruction[0].bank_conflicts), (2, 6));
}

#[test]
fn an_access_across_lines_takes_both() {
    let mut bench = machine(&table(1));
    // The second request and the second line take the bus after the first ones.
    assert_eq!(bench.takes(request(0, 0, BASE + 60, LOAD)).0, MEMORY + 4);
    bench.settle();
    assert_eq!(bench.takes(request(0, 0, BASE + 60, LOAD)).0, HIT);
    for way in 1..=2 {
        bench.takes(request(0, 0, BASE + way * (16 << 10) + 60, LOAD));
    }
    assert_eq!(bench.takes(request(0, 0, BASE + 60, LOAD)).0, L2 + 2);
}

#[test]
fn a_modified_victim_takes_the_memory_bus_but_delays_no_single_miss() {
    let mut bench = machine(&table(1));
    bench.takes(request(0, 0, BASE, store(1)));
    bench.settle();
    assert_eq!(bench.memory.statistics().memory.busy(), 4);
    assert_eq!(bench.takes(request(0, 0, BASE + (512 << 10), LOAD)).0, MEMORY);
    let statistics = bench.memory.statistics();
    assert_eq!((statistics.l2.write_backs, statistics.memory.write_backs), (1, 4));
    // Without a bypass of the memory bus: a victim that begins to cross it in the cycle before the
    // line is ready delays the line by the rest of its transfer.
    let config = SharedL2Config { memory: 1, ..table(1) };
    let mut bench = machine(&config);
    bench.takes(request(0, 0, BASE, store(1)));
    bench.settle();
    assert_eq!(bench.takes(request(0, 0, BASE + (512 << 10), LOAD)).0, L2 + 1 + 4 + (4 - 1));
}

#[test]
fn a_stream_of_misses_is_limited_by_the_memory_bus() {
    // Enough lines on their way to cover the latency.
    let l1 = L1Config { mshrs: 64, ..table(1).data };
    let config = SharedL2Config { data: l1, l2_mshrs: 64, write_backs: 64, ..table(1) };
    let clean: Vec<u64> = (0..400).map(|line| BASE + (512 << 10) + 64 * line).collect();
    let mut bench = machine(&config);
    let times = bench.stream(1, std::slice::from_ref(&clean), LOAD);
    let expected: Vec<u64> = (0..400).map(|line| MEMORY + 4 * line).collect();
    assert_eq!(times, expected);
    // With modified victims, each line takes the bus twice.
    let mut bench = machine(&config);
    for line in 0..400 {
        bench.takes(request(0, 0, BASE + 64 * line, store(1)));
        bench.settle();
    }
    let (before, begin) = (bench.memory.statistics().memory, bench.now);
    bench.stream(1, &[clean], LOAD);
    let after = bench.memory.statistics().memory;
    assert_eq!((after.fills - before.fills, after.write_backs - before.write_backs), (1600, 1600));
    // The bus is idle until the first line comes from memory, and when all MSHRs have been filled at
    // once and are requested again.
    let took = bench.now - begin;
    assert!((3200..=3200 + 2 * MEMORY).contains(&took), "{took} cycles");
}

#[test]
fn two_accesses_to_a_bank_take_two_cycles() {
    let mut bench = machine(&table(1));
    bench.takes(request(0, 0, BASE, LOAD));
    let now = bench.now;
    assert_eq!(bench.memory.request(now, request(0, 0, BASE, LOAD)), MemoryAnswer::Ready { at: now + 1, value: 0 });
    // The same bank, another bank, and an access that touches both.
    assert_eq!(bench.memory.request(now, request(0, 0, BASE + 4, LOAD)), MemoryAnswer::Retry);
    assert_eq!(bench.memory.request(now, request(0, 0, BASE, store(1))), MemoryAnswer::Retry);
    assert_eq!(bench.memory.request(now, request(0, 0, BASE + 8, LOAD)), MemoryAnswer::Ready { at: now + 1, value: 0 });
    assert_eq!(bench.memory.request(now, request(0, 0, BASE + 12, LOAD)), MemoryAnswer::Retry);
    assert_eq!(bench.memory.statistics().data[0].bank_conflicts, 3);
    bench.to(now + 1);
    assert_eq!(
        bench.memory.request(now + 1, request(0, 0, BASE + 4, LOAD)),
        MemoryAnswer::Ready { at: now + 2, value: 0 }
    );
}

#[test]
fn accesses_to_a_line_on_its_way_share_an_mshr() {
    let mut bench = machine(&table(1));
    for (tag, cycle) in [0, 5, 85].into_iter().enumerate() {
        bench.to(cycle);
        let mut load = request(0, 0, BASE + 8 * tag as u64, LOAD);
        load.tag = tag as u32;
        assert_eq!(bench.memory.request(cycle, load), MemoryAnswer::Pending);
    }
    bench.to(MEMORY);
    let found: Vec<(u32, u64)> = bench.completed.iter().map(|one| (one.tag, one.at)).collect();
    assert_eq!(found, [(0, MEMORY), (1, MEMORY), (2, MEMORY)]);
    let statistics = bench.memory.statistics();
    assert_eq!((statistics.data[0].misses, statistics.data[0].merged, statistics.bus.requests), (1, 2, 1));
}

#[test]
fn a_miss_without_an_mshr_is_refused_until_a_line_arrives() {
    let mut bench = machine(&table(1));
    for line in 0..8 {
        bench.to(line);
        assert_eq!(bench.memory.request(line, request(0, 0, BASE + 64 * line, LOAD)), MemoryAnswer::Pending);
    }
    let ninth = request(0, 0, BASE + 64 * 8, LOAD);
    for cycle in 8..MEMORY {
        bench.to(cycle);
        assert_eq!(bench.memory.request(cycle, ninth), MemoryAnswer::Retry);
    }
    bench.to(MEMORY);
    assert_eq!(bench.memory.request(MEMORY, ninth), MemoryAnswer::Pending);
    assert_eq!(bench.memory.statistics().data[0].mshrs_full, MEMORY - 8);
}

#[test]
fn lines_from_the_l2_are_limited_by_the_bus_for_any_number_of_cores() {
    for cores in [2, 4, 8] {
        let mut bench = machine(&table(cores));
        // All lines are in the L2, and in no data cache: they were fetched as code.
        let lists: Vec<Vec<u64>> =
            (0..cores as u64).map(|core| (0..100).map(|line| BASE + (core * 100 + line) * 64).collect()).collect();
        for line in lists.iter().flatten() {
            assert_eq!(bench.memory.fetch(bench.now, 0, 0, *line), FetchAnswer::Pending);
            bench.settle();
        }
        let begin = bench.now;
        let mut times = bench.stream(cores, &lists, LOAD);
        times.sort_unstable();
        assert_eq!(times.len(), 100 * cores);
        let took = times[times.len() - 1] - begin;
        // Each line takes the bus for a request and two beats. Beyond that, the bus is idle for at
        // most one round trip at the begin and one at the end.
        let busy = 3 * times.len() as u64;
        assert!((busy..=busy + 2 * L2).contains(&took), "{cores} cores: {took} cycles, the bus is busy for {busy}");
    }
}

#[test]
fn stores_are_limited_by_the_bus_to_one_in_a_cycle() {
    for cores in [1, 4, 8] {
        let mut bench = machine(&table(cores));
        let lists: Vec<Vec<u64>> = (0..cores as u64).map(|core| vec![BASE + core * 64; 200]).collect();
        for core in 0..cores {
            bench.takes(request(core, 0, BASE + core as u64 * 64, LOAD));
        }
        bench.settle();
        let begin = bench.now;
        bench.stream(cores, &lists, store(1));
        // The first store is ready for the bus after the lookup; `stream` ends when the last one has
        // crossed it.
        assert_eq!(bench.now - begin, HIT + 200 * cores as u64, "{cores} cores");
        assert_eq!(bench.memory.statistics().bus.stores, 200 * cores as u64);
    }
    // A store across the width of the bus takes two cycles.
    let mut bench = machine(&table(1));
    bench.takes(request(0, 0, BASE, LOAD));
    let begin = bench.now;
    bench.stream(1, &[vec![BASE + 28; 200]], store(1));
    assert_eq!(bench.now - begin, HIT + 400);
}

#[test]
fn the_interval_of_the_l2_limits_stores() {
    let mut bench = machine(&SharedL2Config { l2_interval: 10, ..table(2) });
    bench.takes(request(0, 0, BASE, LOAD));
    bench.settle();
    let begin = bench.now;
    bench.stream(2, &[vec![BASE; 50], vec![BASE; 50]], store(1));
    // The first one arrives two cycles after its request; each waits for the one before.
    assert_eq!(bench.now - begin, HIT + 1 + 10 * 99);
}

#[test]
fn a_store_that_misses_the_l2_does_not_wait() {
    let mut bench = machine(&table(1));
    assert_eq!(bench.takes(request(0, 0, BASE, store(5))).0, HIT);
    assert!(!bench.memory.drained(0, 0));
    bench.to(HIT);
    assert!(!bench.memory.drained(0, 0));
    assert_eq!(bench.memory.bytes(BASE, 1), Some(&[0][..]));
    bench.to(HIT + 1);
    assert!(bench.memory.drained(0, 0));
    assert_eq!(bench.memory.bytes(BASE, 1), Some(&[5][..]));
    bench.settle();
    // No write-allocate in the L1, write-allocate in the L2.
    assert_eq!(bench.takes(request(0, 0, BASE, LOAD)), (L2, 5));
}

#[test]
fn atomics_and_store_conditionals_take_the_way_to_the_l2_and_back() {
    let mut bench = machine(&table(1));
    bench.takes(request(0, 0, BASE, LOAD));
    let add = RequestKind::Atomic { kind: AtomicKind::Add, operand: 7 };
    assert_eq!(bench.takes(request(0, 0, BASE, add)), (HIT + 1 + 10 + 1, 0));
    assert_eq!(bench.takes(request(0, 0, BASE, RequestKind::LoadReserved)), (HIT, 7));
    let conditional = RequestKind::StoreConditional { value: 9 };
    assert_eq!(bench.takes(request(0, 0, BASE, conditional)), (HIT + 1 + 10 + 1, 0));
    // Without a reservation it fails without the bus.
    assert_eq!(bench.takes(request(0, 0, BASE, conditional)), (HIT, 1));
    assert_eq!(bench.takes(request(0, 0, BASE, LOAD)), (HIT, 9));
    // An atomic whose line comes from memory.
    assert_eq!(bench.takes(request(0, 0, BASE + 64, add)), (HIT + 1 + 10 + 68 + 4 + 1, 0));
}

#[test]
fn a_store_of_another_core_makes_the_next_load_a_miss() {
    let mut bench = machine(&table(2));
    for core in 0..2 {
        bench.takes(request(core, 0, BASE, LOAD));
    }
    bench.takes(request(1, 0, BASE + 8, store(3)));
    // Before the instant of the store the copy is there.
    assert_eq!(bench.takes(request(0, 0, BASE + 8, LOAD)), (HIT, 0));
    bench.settle();
    assert_eq!(bench.takes(request(0, 0, BASE + 8, LOAD)), (L2, 3));
    // The writer keeps its copy.
    assert_eq!(bench.takes(request(1, 0, BASE + 8, LOAD)), (HIT, 3));
    assert_eq!(bench.memory.statistics().data[0].invalidated, 1);
    assert_eq!(bench.memory.statistics().data[1].invalidated, 0);
}

#[test]
fn a_device_access_takes_the_bus_and_the_time_of_the_device() {
    let config = table(1);
    let device = Counter { value: 5, busy_until: 0 };
    let memory = SharedL2::new(&config, Memory::new(BASE, LENGTH), device).expect("a valid configuration");
    let mut bench = Bench { memory, now: 0, completed: Vec::new() };
    assert_eq!(bench.takes(request(0, 0, Counter::ADDRESS, LOAD)), (HIT + 1 + 20 + 1, 5));
    assert_eq!(bench.takes(request(0, 0, Counter::ADDRESS, store(10))), (HIT + 1 + 20, 0));
    assert_eq!(bench.memory.device().value, 16);
    bench.memory.device_mut().busy_until = bench.now + 100;
    assert_eq!(bench.takes(request(0, 0, Counter::ADDRESS, LOAD)), (100 + 1, 16));
    let atomic = RequestKind::Atomic { kind: AtomicKind::Add, operand: 7 };
    assert_eq!(bench.memory.request(bench.now, request(0, 0, Counter::ADDRESS, atomic)), MemoryAnswer::Fault);
    assert_eq!(bench.memory.request(bench.now, request(0, 0, Counter::ADDRESS + 0xffc, LOAD)), MemoryAnswer::Fault);
}

#[test]
fn a_dma_transfer_takes_its_cycles_on_the_memory_bus() {
    let mut bench = machine(&table(1));
    let packet: Vec<u8> = (0..=255).cycle().take(1500).collect();
    // From the middle of a line: 1500 bytes touch 94 beats of 16 bytes, or 95.
    for (address, beats) in [(BASE, 94), (BASE + 24, 95)] {
        let begin = bench.now;
        assert!(bench.memory.dma_write(begin, 3, address, &packet));
        bench.completed.clear();
        bench.to(begin + beats);
        assert_eq!(bench.completed, []);
        bench.to(begin + 1 + beats);
        let at = bench.now;
        let done = CompletedRequest { source: CompletedKind::Dma, core: 0, context: 0, tag: 3, at, value: 0 };
        assert_eq!(bench.completed, [done]);
        assert_eq!(bench.memory.bytes(address, 1500), Some(&packet[..]));
    }
    let begin = bench.now;
    assert!(bench.memory.dma_read(begin, 4, BASE + 24, 1500));
    bench.completed.clear();
    bench.to(begin + 1 + 68 + 94);
    assert_eq!(bench.completed, []);
    bench.to(begin + 1 + 68 + 95);
    assert_eq!(bench.completed.len(), 1);
    assert_eq!(bench.memory.take_read(4), Some(packet.clone()));
    assert_eq!(bench.memory.take_read(4), None);
    assert!(!bench.memory.dma_write(begin, 5, BASE + LENGTH as u64 - 1, &packet));
    assert!(!bench.memory.dma_read(begin, 5, BASE - 1, 2));
}

#[test]
fn dma_invalidates_copies_and_writes_modified_lines_back_first() {
    let mut bench = machine(&table(1));
    bench.takes(request(0, 0, BASE, store(0x1111_1111_1111_1111)));
    bench.settle();
    bench.takes(request(0, 0, BASE, LOAD));
    // A part of a modified line: 4 cycles for the line, then 1.
    let begin = bench.now;
    assert!(bench.memory.dma_write(begin, 0, BASE + 2, &[7, 8]));
    bench.to(begin + 1 + 4);
    assert_eq!(bench.completed.iter().filter(|one| one.source == CompletedKind::Dma).count(), 0);
    bench.to(begin + 1 + 4 + 1);
    assert_eq!(bench.completed.iter().filter(|one| one.source == CompletedKind::Dma).count(), 1);
    // Neither the L1 nor the L2 has a copy.
    assert_eq!(bench.takes(request(0, 0, BASE, LOAD)), (MEMORY, 0x1111_1111_0807_1111));
    // All of a modified line: nothing is written back. A read writes back, and the copies stay.
    bench.takes(request(0, 0, BASE, store(1)));
    bench.settle();
    let before = bench.memory.statistics().memory.dma_write_backs;
    assert!(bench.memory.dma_write(bench.now, 0, BASE, &[0; 64]));
    bench.settle();
    assert_eq!(bench.memory.statistics().memory.dma_write_backs, before);
    bench.takes(request(0, 0, BASE, store(1)));
    bench.settle();
    bench.takes(request(0, 0, BASE, LOAD));
    for expected in [4, 4] {
        assert!(bench.memory.dma_read(bench.now, 0, BASE, 64));
        bench.settle();
        assert_eq!(bench.memory.statistics().memory.dma_write_backs, before + expected);
    }
    assert_eq!(bench.takes(request(0, 0, BASE, LOAD)), (HIT, 1));
}

#[test]
fn a_line_waits_for_at_most_one_part_of_a_dma_transfer() {
    for phase in 0..8 {
        let mut bench = machine(&table(1));
        assert!(bench.memory.dma_write(0, 0, BASE + (1 << 20), &[1; 1 << 14]));
        let begin = 20 + phase;
        bench.to(begin);
        // Parts begin at 1, 5, 9 and so on. The line is ready for the memory bus after 80 cycles.
        let ready = begin + HIT + 1 + 10 + 68;
        let wait = (1 + 4 * 1000 - ready) % 4;
        assert_eq!(bench.takes(request(0, 0, BASE, LOAD)).0, MEMORY + wait, "phase {phase}");
    }
}

#[test]
fn a_part_of_a_transfer_waits_for_the_lines_before_it() {
    // Misses and a packet together take the bus for the sum of their cycles.
    let mut bench = machine(&table(4));
    assert!(bench.memory.dma_write(0, 9, BASE + (1 << 20), &[1; 6400]));
    let lists: Vec<Vec<u64>> =
        (0..4).map(|core| (0..50).map(|line| BASE + (core * 50 + line) * 64).collect()).collect();
    let times = bench.stream(4, &lists, LOAD);
    let statistics = bench.memory.statistics().memory;
    assert_eq!((statistics.fills, statistics.dma_writes), (200 * 4, 100 * 4));
    let last = *times.iter().max().expect("times");
    // The bus is idle only while the first line comes from memory and DMA is done or not begun, and
    // while the last line crosses the other bus.
    assert!((1200..=1200 + MEMORY + 20).contains(&last), "{last} cycles");
}

#[test]
fn a_transfer_or_a_store_of_another_hart_ends_a_reservation() {
    let config = SharedL2Config::crowley2000(2, 2);
    // Writer, address, whether it ends the reservation of context 0 of core 0.
    let writers = [(0, 0, BASE, false), (0, 1, BASE, true), (1, 0, BASE + 56, true), (1, 0, BASE + 64, false)];
    for (core, context, address, ends) in writers {
        let mut bench = machine(&config);
        bench.takes(request(0, 0, BASE, RequestKind::LoadReserved));
        assert!(bench.memory.reserved(0, 0));
        bench.takes(request(core, context, address, store(1)));
        assert!(bench.memory.reserved(0, 0), "before the store is performed");
        bench.settle();
        assert_eq!(bench.memory.reserved(0, 0), !ends, "{core} {context} {address:#x}");
        let conditional = RequestKind::StoreConditional { value: 2 };
        assert_eq!(bench.takes(request(0, 0, BASE, conditional)).1, u64::from(ends));
    }
    let mut bench = machine(&config);
    bench.takes(request(0, 0, BASE, RequestKind::LoadReserved));
    assert!(bench.memory.dma_write(bench.now, 0, BASE + 63, &[1]));
    bench.settle();
    assert!(!bench.memory.reserved(0, 0));
}

#[test]
fn an_instruction_cache_keeps_its_bytes_until_it_is_invalidated() {
    let mut bench = machine(&table(2));
    for core in 0..2 {
        bench.memory.fetch(bench.now, core, 0, BASE);
        bench.settle();
    }
    assert_eq!(bench.memory.code(0, BASE + 2), Some(0));
    bench.takes(request(0, 0, BASE, store(0x1234_5678)));
    bench.settle();
    let now = bench.now;
    assert_eq!(bench.memory.fetch(now, 0, 0, BASE), FetchAnswer::Ready { at: now + 1, version: 1 });
    assert_eq!((bench.memory.code(0, BASE), bench.memory.code(0, BASE + 2)), (Some(0), Some(0)));
    bench.memory.invalidate_instructions(0);
    assert_eq!(bench.memory.code(0, BASE), None);
    bench.to(now + 1);
    assert_eq!(bench.memory.fetch(now + 1, 0, 0, BASE), FetchAnswer::Pending);
    bench.settle();
    let now = bench.now;
    assert_eq!(bench.memory.fetch(now, 0, 0, BASE), FetchAnswer::Ready { at: now + 1, version: 2 });
    assert_eq!((bench.memory.code(0, BASE), bench.memory.code(0, BASE + 2)), (Some(0x5678), Some(0x1234)));
    // The other core has not executed fence.i.
    assert_eq!(bench.memory.fetch(now, 1, 0, BASE), FetchAnswer::Ready { at: now + 1, version: 1 });
    assert_eq!(bench.memory.code(1, BASE), Some(0));
}

#[test]
fn memory_may_begin_and_end_inside_a_line() {
    let mut bytes = Memory::new(BASE + 10, 64);
    bytes.write(BASE + 10, &[1; 64]).expect("inside");
    let memory = SharedL2::new(&table(1), bytes, NoDevice).expect("a valid configuration");
    let mut bench = Bench { memory, now: 0, completed: Vec::new() };
    for (address, inside) in [(BASE + 8, false), (BASE + 10, true), (BASE + 72, true), (BASE + 74, false)] {
        let fetch = bench.memory.fetch(bench.now, 0, 0, address);
        let two = MemoryRequest { width: 2, ..request(0, 0, address, LOAD) };
        let load = bench.memory.request(bench.now, two);
        if inside {
            assert_eq!((fetch, load), (FetchAnswer::Pending, MemoryAnswer::Pending), "{address:#x}");
            bench.settle();
            assert_eq!(bench.memory.code(0, address), Some(0x0101));
            assert_eq!(bench.takes(two), (HIT, 0x0101));
        } else {
            assert_eq!((fetch, load), (FetchAnswer::Fault, MemoryAnswer::Fault), "{address:#x}");
        }
    }
}

#[test]
fn an_invalid_configuration_names_the_parameter() {
    let message = |config: SharedL2Config| {
        let refused = SharedL2::new(&config, Memory::new(BASE, LENGTH), Counter::default());
        refused.expect_err("an error").to_string()
    };
    let config = table(1);
    let found = message(SharedL2Config { cores: 33, ..config });
    assert_eq!(found, "parameter `cores`: found `33`, expected a whole number from 1 to 32 (count)");
    let found = message(SharedL2Config { l2: 48 << 10, ..config });
    assert!(found.contains("shared L2: l2_bytes is 49152; expected a power of two"), "{found}");
    let found = message(SharedL2Config { data: L1Config { mshrs: 1, ..config.data }, ..config });
    assert_eq!(found, "parameter `data_mshrs`: found `1`, expected a whole number from 2 to 1024 (count)");
    let memory = Memory::new(Counter::ADDRESS - 4, 8);
    let found = SharedL2::new(&config, memory, Counter::default()).expect_err("an overlap").to_string();
    assert!(found.contains("device addresses are 0x10000000..0x10001000"), "{found}");
}
