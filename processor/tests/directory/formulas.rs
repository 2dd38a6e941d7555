// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Closed formulas. Each test states the times of the preset as a sum of its parameters.

use mb_processor::Memory;
use mb_processor::directory::protocol::{CacheState, DeviceTransactions, MessageKind};
use mb_processor::directory::{CoherentMemory, DirectoryConfig, SwitchConfig};
use mb_processor::line_port::{LineEvent, LinePort, LineRequest, LineRequestKind};
use mb_processor::rv64::AtomicKind;
use mb_processor::system::{
    CompletedKind, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem, NoDevice, RequestKind,
};

use super::bench::{BASE, Bench, request};

const LOAD: RequestKind = RequestKind::Load;

fn store(value: u64) -> RequestKind {
    RequestKind::Store { value }
}

const ADD: RequestKind = RequestKind::Atomic { kind: AtomicKind::Add, operand: 1 };

fn machine(config: &DirectoryConfig) -> Bench<CoherentMemory> {
    let memory = CoherentMemory::new(config, Memory::new(BASE, 4 << 20), NoDevice).expect("a valid configuration");
    Bench { memory, now: 0, completed: Vec::new() }
}

fn preset() -> DirectoryConfig {
    DirectoryConfig { migratory: false, ..DirectoryConfig::gu2011(16, 1) }
}

/// The address of a line whose directory is at a node.
fn line_of(home: u64) -> u64 {
    BASE + 64 * home
}

const HIT: u64 = 1;
const L2: u64 = HIT + 10;
const DIRECTORY: u64 = 10;
const MEMORY: u64 = 35;
const PROBE: u64 = 10;

/// A message over the links of a path, without data: 8 bytes, one cycle of the switch for each link.
fn control(links: u64) -> u64 {
    2 * links
}

/// A message with data: 72 bytes in five cycles of a link; the last ones follow the head.
fn data(links: u64) -> u64 {
    2 * links + 2 * 4
}

/// Waits until an even cycle, when the switch begins a cycle.
fn even(cycle: u64) -> u64 {
    cycle.next_multiple_of(2)
}

/// The cycles of a miss that memory serves, which begins in an even cycle.
fn from_memory(links: u64) -> u64 {
    let home = even(L2) + control(links) + DIRECTORY;
    even(home + MEMORY) + data(links)
}

impl Bench<CoherentMemory> {
    /// As `takes`, from an even cycle on, with everything at rest.
    fn takes_even(&mut self, request: MemoryRequest) -> (u64, u64) {
        self.settle();
        let start = even(self.now);
        self.to(start);
        self.takes(request)
    }
}

#[test]
fn a_load_takes_the_time_of_the_level_that_has_its_line() {
    let mut bench = machine(&preset());
    // Neighbours share a switch: two links. The root is two links further.
    for (home, links) in [(1, 2), (3, 2), (4, 4), (15, 4)] {
        let address = line_of(home);
        assert_eq!(bench.takes_even(request(0, 0, address, LOAD)), (from_memory(links), 0), "home {home}");
        assert_eq!(bench.takes_even(request(0, 0, address + 8, LOAD)), (HIT, 0));
    }
    assert_eq!(from_memory(2), 12 + 4 + 10 + 36 + 12);
    // In its own node a message takes one cycle.
    let own = L2 + 1 + DIRECTORY + MEMORY + 1;
    assert_eq!(bench.takes_even(request(0, 0, line_of(0), LOAD)).0, own);
    let statistics = bench.memory.statistics().nodes[0];
    assert_eq!((statistics.data_hits, statistics.load_misses), (4, 5));
    assert_eq!((statistics.core.global, statistics.core.private, statistics.core.local), (5, 0, 0));
}

#[test]
fn a_victim_of_the_l1_is_in_the_l2() {
    let mut bench = machine(&preset());
    // Five lines of a set with four ways; the set of the L2 has eight.
    for way in 0..5 {
        bench.takes_even(request(0, 0, BASE + way * (8 << 10), LOAD));
    }
    assert_eq!(bench.takes_even(request(0, 0, BASE, LOAD)).0, L2);
    // Another one has made room for it.
    assert_eq!(bench.takes_even(request(0, 0, BASE + (8 << 10), LOAD)).0, L2);
    assert_eq!(bench.takes_even(request(0, 0, BASE + 4 * (8 << 10), LOAD)).0, HIT);
    let statistics = bench.memory.statistics();
    assert_eq!(statistics.nodes[0].core.local, 2);
    assert_eq!(statistics.of(MessageKind::PutE).messages, 0);
}

#[test]
fn a_fetch_takes_the_time_of_the_level_that_has_its_line() {
    let mut bench = machine(&preset());
    let address = line_of(1);
    assert_eq!(bench.memory.fetch(0, 0, 0, address), FetchAnswer::Pending);
    bench.to(from_memory(2) - 1);
    assert_eq!(bench.completed, []);
    bench.to(from_memory(2));
    assert_eq!(bench.completed[0].source, CompletedKind::Fetch);
    assert_eq!(bench.memory.fetch(bench.now, 0, 0, address), FetchAnswer::Ready { at: bench.now + HIT, version: 0 });
    // fence.i moves it to the L2; a load moves it from there to the data cache.
    bench.memory.invalidate_instructions(0);
    assert_eq!(bench.memory.code(0, address), None);
    assert_eq!(bench.takes_even(request(0, 0, address, LOAD)).0, L2);
}

/// The cycles of a read that another cache serves.
fn from_cache(to_home: u64, to_owner: u64, back: u64) -> u64 {
    let owner = even(even(L2) + control(to_home) + DIRECTORY) + control(to_owner) + PROBE;
    even(owner) + data(back)
}

#[test]
fn a_load_takes_the_time_of_the_cache_that_has_its_line() {
    // The requester, the home and the owner are under different switches, or under one.
    for (home, owner, links) in [(4, 8, (4, 4, 4)), (1, 2, (2, 2, 2)), (1, 8, (2, 4, 4))] {
        let expected = from_cache(links.0, links.1, links.2);
        let address = line_of(home);
        for (writes, migratory, states) in [
            (false, false, (CacheState::S, CacheState::S)),
            (true, false, (CacheState::O, CacheState::S)),
            (true, true, (CacheState::I, CacheState::M)),
        ] {
            let mut bench = machine(&DirectoryConfig { migratory, ..preset() });
            let kind = if writes { store(7) } else { LOAD };
            bench.takes_even(request(owner, 0, address, kind));
            bench.settle();
            let before = if writes { CacheState::M } else { CacheState::E };
            assert_eq!(bench.memory.state(owner, address), before);
            assert_eq!(bench.takes_even(request(0, 0, address, LOAD)), (expected, if writes { 7 } else { 0 }));
            assert_eq!((bench.memory.state(owner, address), bench.memory.state(0, address)), states);
            // A third node: memory serves a clean line, the owner a modified one.
            let third = bench.takes_even(request(3, 0, address, LOAD)).0;
            let statistics = bench.memory.statistics();
            assert_eq!(statistics.nodes[0].core.private, 1);
            assert_eq!(statistics.nodes[3].core.private, u64::from(writes));
            if !writes {
                assert_eq!(third, from_memory(if home == 4 { 4 } else { 2 }));
            }
        }
    }
    assert_eq!(from_cache(2, 2, 2), 12 + 4 + 10 + 4 + 10 + 12);
}

#[test]
fn an_upgrade_waits_for_the_acknowledgements_of_all_sharers() {
    let address = line_of(1);
    for sharers in [0_u64, 1, 2, 3] {
        // Sharers are 2, 3, 12: the last one is far away.
        let nodes = [2, 3, 12];
        let mut bench = machine(&preset());
        for &node in [0].iter().chain(&nodes[..sharers as usize]) {
            bench.takes_even(request(node, 0, address, LOAD));
            bench.settle();
        }
        let took = bench.takes_even(request(0, 0, address, ADD)).0;
        // The L1 knows that the right is missing. The directory sends its messages one after the other
        // over its link: the right, then Inv to each sharer.
        let home = even(HIT) + control(2) + DIRECTORY;
        let acknowledged = |number: u64, links: u64| even(even(home) + 2 * number + control(links) + PROBE);
        let expected = match sharers {
            // E needs no request.
            0 => HIT,
            1 => acknowledged(1, 2) + control(2),
            2 => acknowledged(2, 2) + control(2),
            _ => acknowledged(3, 4) + control(4),
        };
        assert_eq!(took, expected, "{sharers} sharers");
        assert_eq!(bench.memory.statistics().of(MessageKind::Inv).messages, sharers);
        assert_eq!(bench.memory.statistics().nodes[0].core.upgrades, u64::from(sharers > 0));
    }
}

#[test]
fn a_stream_is_limited_by_the_link_of_the_requester() {
    let mut config = preset();
    config.l1.mshrs = 64;
    (config.memory_ports, config.memory_interval) = (16, 1);
    let mut bench = machine(&config);
    // Lines of three homes under the same switch; all data come over one link, 10 cycles each.
    let lines: Vec<u64> = (0..60).map(|number| BASE + 64 * (number / 3 * 16 + 1 + number % 3)).collect();
    let times = bench.stream(&lines);
    let steady: Vec<u64> = times.windows(2).skip(4).map(|pair| pair[1] - pair[0]).collect();
    assert!(steady.iter().all(|&gap| gap == 10), "{steady:?}");
    // A link twice as wide needs three cycles of the switch for 72 bytes.
    config.switch = SwitchConfig { link: 32, ..config.switch };
    let times = machine(&config).stream(&lines);
    let steady: Vec<u64> = times.windows(2).skip(4).map(|pair| pair[1] - pair[0]).collect();
    assert!(steady.iter().all(|&gap| gap == 6), "{steady:?}");
}

#[test]
fn a_stream_is_limited_by_its_memory_port() {
    let mut config = preset();
    config.l1.mshrs = 64;
    config.memory_interval = 40;
    let mut bench = machine(&config);
    // Every line is of port 1 and home 1.
    let lines: Vec<u64> = (0..40).map(|number| BASE + 64 * (16 * number + 1)).collect();
    let times = bench.stream(&lines);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 40), "{times:?}");
}

#[test]
fn a_write_back_costs_its_data_and_an_acknowledgement() {
    let mut bench = machine(&preset());
    // Twelve ways of a set of the L2 and of the L1, and one more.
    let lines: Vec<u64> = (0..13).map(|way| line_of(1) + way * (64 << 10)).collect();
    for &line in &lines {
        bench.takes_even(request(0, 0, line, store(line)));
        bench.settle();
    }
    let statistics = bench.memory.statistics();
    let put = statistics.of(MessageKind::PutM);
    // Two links, five cycles of the switch each.
    assert_eq!((put.messages, put.link_cycles), (1, 2 * 5 * 2));
    assert_eq!((statistics.of(MessageKind::PutAck).messages, statistics.memory_writes), (1, 1));
    assert_eq!(statistics.nodes[0].write_backs, 1);
    assert_eq!(bench.memory.state(0, lines[0]), CacheState::I);
    // Its value is in memory, the others' are not, and all are found.
    for &line in &lines {
        assert_eq!(bench.memory.bytes(line, 8), Some(&line.to_le_bytes()[..]));
    }
    // It comes back from memory in the time of any miss.
    assert_eq!(bench.takes_even(request(0, 0, lines[0], LOAD)), (from_memory(2), lines[0]));
}

fn line_request(tag: u32, line: u64, kind: LineRequestKind) -> LineRequest {
    LineRequest { tag, line, kind }
}

#[test]
fn a_device_has_two_operations_in_a_cycle() {
    let mut bench = machine(&preset());
    for tag in 0..6 {
        bench.takes_even(request(0, 0, line_of(tag), LOAD));
    }
    bench.settle();
    let start = bench.now;
    for tag in 0..6_u32 {
        let request = line_request(tag, line_of(tag.into()), LineRequestKind::Copy);
        let mut refused = 0;
        while !bench.memory.line_request(bench.now, 0, request) {
            refused += 1;
            bench.to(bench.now + 1);
        }
        assert_eq!(refused, u64::from(tag > 0 && tag % 2 == 0), "request {tag}");
    }
    bench.to(start + 100);
    let mut events = Vec::new();
    bench.memory.line_events(0, &mut events);
    let times: Vec<u64> = events
        .iter()
        .map(|event| match event {
            LineEvent::Data { at, .. } => at - start,
            other => panic!("{other:?}"),
        })
        .collect();
    // The lookup of the L2.
    assert_eq!(times, [10, 10, 11, 11, 12, 12]);
    // The lines are in the L2.
    assert_eq!(bench.takes_even(request(0, 0, line_of(0), LOAD)).0, L2);
}

#[test]
fn designs_differ_in_what_a_copy_leaves_behind() {
    for (design, migratory) in [
        (DeviceTransactions::Base, true),
        (DeviceTransactions::Base, false),
        (DeviceTransactions::OptCopy, true),
        (DeviceTransactions::OptCopy, false),
        (DeviceTransactions::OptCache, true),
    ] {
        let mut bench = machine(&DirectoryConfig { design, migratory, ..preset() });
        let address = line_of(1);
        bench.takes_even(request(2, 0, address, store(9)));
        bench.settle();
        let start = even(bench.now);
        bench.to(start);
        assert!(bench.memory.line_request(start, 0, line_request(1, address, LineRequestKind::Copy)));
        bench.settle();
        let mut events = Vec::new();
        bench.memory.line_events(0, &mut events);
        let [LineEvent::Data { tag: 1, at, data: bytes }] = events[..] else { panic!("{events:?}") };
        assert_eq!(bytes[..8], 9_u64.to_le_bytes());
        // As a miss of the core, which begins one cycle later: both reach an even cycle.
        let home = even(10) + control(2) + DIRECTORY;
        assert_eq!(at - start, even(even(home) + control(2) + PROBE) + data(2), "{design:?}");
        assert_eq!(bench.memory.state(0, address), CacheState::I);
        let owner = match (design, migratory) {
            // The line went to the device, and from there to memory.
            (DeviceTransactions::Base, true) => CacheState::I,
            (DeviceTransactions::Base, false) => CacheState::O,
            _ => CacheState::M,
        };
        assert_eq!(bench.memory.state(2, address), owner, "{design:?}");
        // It counts for the device and not for the core.
        let statistics = bench.memory.statistics().nodes[0];
        assert_eq!((statistics.device.private, statistics.device.global), (1, 0));
        assert_eq!((statistics.core.private, statistics.core.global, statistics.l1_misses()), (0, 0, 0));
        let writes = bench.memory.statistics().memory_writes;
        assert_eq!(writes, u64::from(design == DeviceTransactions::Base && migratory), "{design:?}");
        assert_eq!(bench.memory.bytes(address, 8), Some(&9_u64.to_le_bytes()[..]));
    }
}

#[test]
fn a_device_owns_writes_and_loses_lines() {
    let mut bench = machine(&DirectoryConfig { design: DeviceTransactions::OptCache, ..preset() });
    let address = line_of(1);
    bench.takes_even(request(2, 0, address, store(9)));
    bench.settle();
    let mut events = Vec::new();
    let own = line_request(1, address, LineRequestKind::OwnWithoutData);
    assert!(bench.memory.line_request(bench.now, 0, own));
    bench.settle();
    bench.memory.line_events(0, &mut events);
    assert!(matches!(events[..], [LineEvent::Owned { tag: 1, data: None, .. }]), "{events:?}");
    assert_eq!((bench.memory.state(0, address), bench.memory.state(2, address)), (CacheState::D, CacheState::I));
    // No data were sent to the device.
    assert_eq!(bench.memory.statistics().of(MessageKind::DataX).messages, 1);
    events.clear();
    let write = line_request(2, address, LineRequestKind::Write([5; 64]));
    assert!(bench.memory.line_request(bench.now, 0, write));
    bench.settle();
    bench.memory.line_events(0, &mut events);
    assert!(matches!(events[..], [LineEvent::Written { tag: 2, .. }]), "{events:?}");
    assert_eq!(bench.memory.state(0, address), CacheState::M);
    assert_eq!(bench.takes_even(request(0, 0, address, LOAD)), (L2, 0x0505_0505_0505_0505));
    // A line with its data; a load of another node takes it away.
    events.clear();
    assert!(bench.memory.line_request(bench.now, 0, line_request(3, address, LineRequestKind::Own)));
    bench.settle();
    bench.memory.line_events(0, &mut events);
    assert!(matches!(events[..], [LineEvent::Owned { tag: 3, data: Some(data), .. }] if data == [5; 64]));
    assert_eq!(bench.takes_even(request(3, 0, address, LOAD)).1, 0x0505_0505_0505_0505);
    events.clear();
    assert!(bench.memory.line_request(bench.now, 0, line_request(4, address, LineRequestKind::Write([6; 64]))));
    bench.settle();
    bench.memory.line_events(0, &mut events);
    assert!(matches!(events[..], [LineEvent::Revoked { line, .. }] if line == address), "{events:?}");
    assert_eq!(bench.memory.bytes(address, 4), Some(&[5; 4][..]));
}

/// The lines that the device of a node writes, then a load of the core: it hits the level into which they go.
#[test]
fn a_line_of_the_device_is_in_the_cache_of_the_chosen_level() {
    for (level, expected) in [(2, L2), (1, HIT)] {
        let mut bench =
            machine(&DirectoryConfig { design: DeviceTransactions::OptCache, device_level: level, ..preset() });
        // Five lines of a set of the L1, which has four ways.
        for way in 0..5 {
            let address = BASE + way * (8 << 10);
            for kind in [LineRequestKind::Own, LineRequestKind::Write([way as u8 + 1; 64])] {
                assert!(bench.memory.line_request(bench.now, 0, line_request(1, address, kind)));
                bench.settle();
            }
            assert_eq!(bench.memory.state(0, address), CacheState::M);
        }
        assert_eq!(bench.takes_even(request(0, 0, BASE + 4 * (8 << 10), LOAD)), (expected, 0x0505_0505_0505_0505));
        // The first one has moved down.
        assert_eq!(bench.takes_even(request(0, 0, BASE, LOAD)), (L2, 0x0101_0101_0101_0101));
    }
}

#[test]
fn messages_of_devices_take_their_links() {
    let mut bench = machine(&preset());
    // 24 bytes and a header of 8: two cycles of a link.
    bench.memory.send(0, 0, 1, 24, 7);
    bench.memory.send(0, 0, 9, 24, 8);
    bench.settle();
    for (node, tag, at) in [(1, 7, control(2) + 2), (9, 8, 4 + control(4) + 2)] {
        let mut events = Vec::new();
        bench.memory.line_events(node, &mut events);
        assert_eq!(events, [LineEvent::Message { from: 0, tag, at }]);
    }
}

#[test]
fn an_invalid_configuration_names_the_parameter() {
    type Change = fn(&mut DirectoryConfig);
    let changes: [(&str, Change); 6] = [
        ("`nodes`: found `65`", |config| config.nodes = 65),
        ("l1.bytes is 100", |config| config.l1.bytes = 100),
        ("`l1.mshrs`: found `1`", |config| config.l1.mshrs = 1),
        ("`memory_ports`: found `0`", |config| config.memory_ports = 0),
        ("`switch.fan_out`: found `1`", |config| config.switch.fan_out = 1),
        ("`device_level`: found `3`", |config| config.device_level = 3),
    ];
    for (name, change) in changes {
        let mut config = preset();
        change(&mut config);
        let error = CoherentMemory::new(&config, Memory::new(BASE, 4096), NoDevice).expect_err("an invalid value");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn accesses_outside_of_memory_fault() {
    let mut bench = machine(&preset());
    assert_eq!(bench.memory.request(0, request(0, 0, 8, LOAD)), MemoryAnswer::Fault);
    assert_eq!(bench.memory.fetch(0, 0, 0, 8), FetchAnswer::Fault);
    assert_eq!(bench.memory.bytes(8, 8), None);
}
