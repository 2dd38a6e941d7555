// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A memory bus with its own clock, and an L2 that is not empty at the start.

use mb_processor::shared_l2::SharedL2Config;
use mb_processor::system::RequestKind;

use super::{BASE, machine, request};

/// With a clock of its own, the memory bus starts a transfer with one of its cycles, and the cores see its end in their
/// first cycle after it.
#[test]
fn a_memory_bus_with_its_own_clock_takes_its_own_cycles() {
    // Cycles of the cores, of the bus, beats, and the end of a transfer that is ready in cycle 1.
    let cases = [
        // The bus has edges at 0, 1.25, 2.5, 3.75, ...: from 1.25 to 6.25.
        (5, 4, 4, 7),
        (5, 4, 1, 3),
        // From 2 to 10; from 1 to 3.
        (2, 1, 4, 10),
        (1, 2, 4, 3),
        (1, 1, 4, 5),
    ];
    for (processor, bus, beats, end) in cases {
        let mut bench = machine(&SharedL2Config::crowley2000(1, 1));
        bench.memory = bench.memory.with_memory_clock(processor, bus);
        assert!(bench.memory.dma_write(0, 3, BASE, &vec![1; beats * 16]));
        bench.to(end - 1);
        assert_eq!(bench.completed, [], "{processor}/{bus}");
        bench.to(end);
        assert_eq!(bench.completed.len(), 1, "{processor}/{bus}");
        // Counts are in cycles of the bus.
        assert_eq!(bench.memory.statistics().memory.dma_writes, beats as u64);
    }
    // A stream of lines takes the bandwidth of the bus without rounding: 4 of its cycles are 5 of the cores.
    let mut bench = machine(&SharedL2Config::crowley2000(1, 1));
    bench.memory = bench.memory.with_memory_clock(5, 4);
    assert!(bench.memory.dma_write(4, 3, BASE, &[1; 6400]));
    bench.to(5 + 100 * 5 - 1);
    assert_eq!(bench.completed, []);
    bench.to(5 + 100 * 5);
    assert_eq!(bench.completed.len(), 1);
}

/// Lines of accesses before cycle 0 hit in the L2: the last one of each set, and a modified one is written back when it
/// leaves.
#[test]
fn an_l2_that_was_warmed_has_the_last_line_of_each_set() {
    const HIT: u64 = 1 + 1 + 10 + 2;
    let config = SharedL2Config::crowley2000(1, 1);
    let mut bench = machine(&config);
    for (address, writes) in [(BASE, true), (BASE + 64, false), (BASE + 64 + config.l2, false), (0, true)] {
        bench.memory.warm(address, writes);
    }
    assert_eq!(bench.takes(request(0, 0, BASE + 8, RequestKind::Load)).0, HIT);
    assert_eq!(bench.takes(request(0, 0, BASE + 64 + config.l2, RequestKind::Load)).0, HIT);
    assert_eq!(bench.memory.statistics().l2.misses, 0);
    // The first line left its set; the modified line goes to memory.
    assert_eq!(bench.takes(request(0, 0, BASE + 64, RequestKind::Load)).0, HIT + 68 + 4);
    assert_eq!(bench.memory.statistics().l2.write_backs, 0);
    bench.takes(request(0, 0, BASE + config.l2, RequestKind::Load));
    assert_eq!(bench.memory.statistics().l2.write_backs, 1);
}
