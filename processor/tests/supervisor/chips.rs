// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TLBs and walks of chips: what they keep, and what they cost.

use std::ops::Range;

use mb_processor::FixedLatency;
use mb_processor::chip::{Chip, TranslationConfig, blocking, cmp, in_order};
use mb_processor::rv64::supervisor::number as csr;
use mb_processor::system::{Device, DeviceAnswer, NoDevice};

use crate::assembler::{ECALL, addi, csrrw, ld};
use crate::harts::{BASE, DATA, SupervisorHarts, TABLE, USER, map_gib, run_chip, trap_of};

#[test]
fn a_chip_keeps_translations_by_address_space_and_global_ones() {
    // The page of 1 GiB at 8 GiB differs between two tables; that of the code is the same.
    for (asid, global, expected) in [(1, 0, 2), (0, 0, 1), (1, 0x20, 1)] {
        let mut machine = SupervisorHarts::new(1);
        let other = TABLE + 0x1000;
        for (table, page) in [(TABLE, BASE), (other, BASE + (1 << 30))] {
            machine.entry(table + 2 * 8, BASE >> 2 | 0xcf);
            machine.entry(table + 8 * 8, page >> 2 | 0xcf | global);
        }
        machine.entry(BASE + 8, 1);
        // Without a fence, a translation of the same address space stays in use. The other page has
        // no memory.
        machine.put(USER, &[ld(10, 8, 5), csrrw(0, csr::SATP, 6), ld(11, 8, 5), addi(17, 0, 0), ECALL]);
        let state = machine.start(USER, false, true);
        state.registers[5..7].copy_from_slice(&[8 << 30, 8 << 60 | asid << 44 | other >> 12]);
        let (chip, _) = machine.time(&cmp(1), TranslationConfig::default(), 3);
        let outcome = if trap_of(&chip).0 == 5 { 2 } else { chip.registers[11] };
        assert_eq!((chip.registers[10], outcome), (1, expected), "{asid} {global:#x}");
    }
}

/// Dependent loads over `pages` pages of 4 KiB or of 1 GiB, the chain `passes` times, in supervisor
/// mode. With `one`, all of them are in one page.
fn chain(pages: u64, passes: u64, large: bool, one: bool) -> SupervisorHarts {
    let mut machine = SupervisorHarts::new(1);
    map_gib(&mut machine, BASE, 0xcf);
    let (middle, low) = (TABLE + 0x1000, TABLE + 0x2000);
    let address = |page: u64| match (one, large) {
        (true, _) => (8 << 30) + page * 8,
        (false, true) => ((8 + page) << 30) + page * 8,
        (false, false) => (8 << 30) + page * 0x1000 + page * 8,
    };
    for page in 0..pages {
        let physical = if large || one { BASE } else { DATA };
        // In one page of 4 KiB the chain is at DATA.
        let physical = if one && !large { DATA } else { physical };
        if large {
            machine.entry(TABLE + (8 + page) * 8, BASE >> 2 | 0xcf);
        } else {
            machine.entry(TABLE + 8 * 8, middle >> 2 | 1);
            machine.entry(middle, low >> 2 | 1);
            machine.entry(low + page * 8, physical >> 2 | 0xcf);
        }
        // All virtual pages are one physical page; the link of each is at a place of its own.
        let at = if large { BASE } else { DATA };
        machine.entry(at + page * 8, address((page + 1) % pages));
    }
    // The chain of large pages begins at BASE, where no code is executed.
    let mut code = vec![ld(5, 0, 5); (pages * passes) as usize];
    code.extend([addi(17, 0, 0), ECALL]);
    machine.put(USER, &code);
    machine.start(USER, false, true).registers[5] = address(0);
    machine
}

#[test]
fn a_walk_costs_the_loads_of_its_entries() {
    let big = TranslationConfig { instruction_entries: 64, data_entries: 64 };
    for config in [cmp(1), in_order(cmp(1)), blocking(cmp(1), 64)] {
        // Long enough that the loads, not fetch, decide about the time.
        for latency in [3, 10, 30] {
            for pages in [2, 7, 20] {
                for (large, levels) in [(false, 3), (true, 1)] {
                    let (_, cold) = chain(pages, 1, large, false).time(&config, big, latency);
                    let (_, warm) = chain(pages, 1, large, true).time(&config, big, latency);
                    // The code is in one page of 1 GiB.
                    assert_eq!((cold.statistics(0).walks, warm.statistics(0).walks), (1 + pages, 2));
                    assert_eq!(cold.now() - warm.now(), (pages - 1) * levels * latency, "{pages} {latency} {levels}");
                }
            }
        }
    }
}

#[test]
fn a_tlb_keeps_the_pages_used_last() {
    for (entries, pages, walks) in [(4, 4, 4), (4, 5, 15), (5, 5, 5), (1, 3, 9), (16, 3, 3)] {
        let translation = TranslationConfig { data_entries: entries, ..TranslationConfig::default() };
        let (_, chip) = chain(pages, 3, false, false).time(&cmp(1), translation, 3);
        assert_eq!(chip.statistics(0).walks, 1 + walks, "{entries} entries, {pages} pages");
    }
}

#[test]
fn cycles_that_are_skipped_change_nothing() {
    for machine in [chain(7, 2, false, false), chain(3, 1, true, false)] {
        let run = |every: bool| {
            let mut memory = FixedLatency::new(machine.memory.clone(), NoDevice, 1, 1, 10, 5);
            let mut chip =
                Chip::with_supervisor(&cmp(1), &TranslationConfig::default(), &machine.states, 0).expect("a chip");
            chip.simulate_every_cycle(every);
            run_chip(&mut chip, &mut memory);
            (chip.now(), *chip.statistics(0))
        };
        assert_eq!(run(true), run(false));
    }
}

/// Counts its loads. Each waits for some cycles.
#[derive(Default)]
struct Counter {
    loads: u64,
    delay: u64,
    waited: u64,
}

impl Device for Counter {
    fn range(&self) -> Range<u64> {
        0x1000..0x2000
    }

    fn read(&mut self, _: u64, _: usize, _: u8, _: u64, _: u8) -> DeviceAnswer {
        if self.waited < self.delay {
            self.waited += 1;
            return DeviceAnswer::Wait;
        }
        self.waited = 0;
        self.loads += 1;
        DeviceAnswer::Value(self.loads)
    }

    fn write(&mut self, _: u64, _: usize, _: u8, _: u64, _: u8, _: u64) -> DeviceAnswer {
        DeviceAnswer::Value(0)
    }
}

/// An interrupt at any cycle is taken before a load from a device is performed, or after it has
/// committed: no load is performed twice, and none is lost.
#[test]
fn an_interrupt_does_not_divide_a_load_from_a_device() {
    const LOADS: u64 = 20;
    for config in [cmp(1), in_order(cmp(1)), blocking(cmp(1), 64)] {
        for delay in [0, 5] {
            let mut interrupted = 0;
            for time in (0..200).step_by(3) {
                let mut machine = SupervisorHarts::new(1);
                for load in 0..LOADS {
                    machine.put(USER + 12 * load, &[ld(10, 0, 5), addi(11, 11, 1), addi(12, 10, 0)]);
                }
                machine.put(USER + 12 * LOADS, &[addi(17, 0, 0), ECALL]);
                let state = machine.start(USER, false, false);
                state.registers[5] = 0x1000;
                state.supervisor.write(csr::SIE, 1 << 5);
                state.supervisor.write(csr::STIMECMP, time);
                state.supervisor.write(csr::SSTATUS, 2);
                let device = Counter { delay, ..Counter::default() };
                let mut memory = FixedLatency::new(machine.memory.clone(), device, 1, 1, 3, 2);
                let mut chip =
                    Chip::with_supervisor(&config, &TranslationConfig::default(), &machine.states, 0).expect("a chip");
                run_chip(&mut chip, &mut memory);
                let state = chip.state(0).expect("a precise state");
                let (cause, pc, _) = trap_of(&state);
                if cause == 1 << 63 | 5 {
                    let committed = (pc - USER).div_ceil(12).min(LOADS);
                    let loads = memory.device_mut().loads;
                    assert_eq!((loads, state.registers[10]), (committed, committed), "{delay} {time}");
                    interrupted += u64::from((1..LOADS).contains(&committed));
                }
            }
            assert!(interrupted > 15, "{interrupted}");
        }
    }
}
