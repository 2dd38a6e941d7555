// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The out-of-order core against closed formulas.
//!
//! With the core of Hemmert et al. and warm caches, an instruction that is fetched in cycle f is
//! dispatched in f+1, issued in f+2, ends in f+3 if its latency is one cycle, and commits in f+4. A
//! memory access is issued one cycle after its address computation, and a hit takes one cycle.
//! Every expected number follows from these rules.

mod diagram;
mod flow;
mod naive;
mod programs;
mod random;
mod script;

use mb_processor::InstructionClass;
use mb_processor::out_of_order::{Disambiguation, ppc440};
use mb_processor::predictor::Direction;
use script::{Bench, CoreConfig, DATA, Program};

/// The core of Hemmert et al. with lines of 32 bytes and perfect branch prediction.
pub(crate) fn perfect() -> CoreConfig {
    let (mut core, caches) = ppc440(32);
    core.predictor.direction = Direction::Perfect;
    (core, caches)
}

#[test]
fn dependent_operations_take_their_latency_each() {
    for n in [1, 2, 40] {
        for (class, latency) in
            [(InstructionClass::Integer, 1), (InstructionClass::Multiply, 3), (InstructionClass::Divide, 20)]
        {
            let mut program = Program::new();
            for _ in 0..n {
                program.compute(class, 3, 3);
            }
            assert_eq!(Bench::warm(&perfect(), 0).run(&program), latency * n + 3, "{n} of {class:?}");
        }
    }
}

#[test]
fn independent_operations_take_the_width_or_the_interval_of_their_unit() {
    for n in [1_u64, 2, 7, 40] {
        // The last one is issued after ceil(n / 2) - 1 pairs, or after n - 1 operations of the same
        // unit.
        for (class, expected) in [
            (InstructionClass::Integer, n.div_ceil(2) + 3),
            (InstructionClass::Multiply, (n - 1) + 2 + 3 + 1),
            (InstructionClass::Divide, 19 * (n - 1) + 2 + 20 + 1),
        ] {
            let mut program = Program::new();
            for _ in 0..n {
                program.constant(class, 3);
            }
            assert_eq!(Bench::warm(&perfect(), 0).run(&program), expected, "{n} of {class:?}");
        }
    }
}

#[test]
fn a_pointer_chase_takes_two_cycles_per_load_in_the_cache() {
    for n in [1, 2, 40] {
        let mut program = Program::new();
        for k in 0..n {
            program.load(3, 3, DATA + 8 * k);
        }
        let mut bench = Bench::warm(&perfect(), 0x1000);
        // Address in 2, access in 3, end in 4, commit in 5: the next address is computed in 4.
        assert_eq!(bench.run(&program), 2 * n + 3);
        assert_eq!(bench.statistics().loads, n);
        assert_eq!(bench.data().misses, 0);
    }
}

#[test]
fn a_cold_pointer_chase_takes_memory_latency_and_transfer_per_line() {
    // 1 cycle for the address, 10 to the first 16 bytes, and 1 for each further 16: 12 and 14.
    for (line, per_load) in [(32, 12), (64, 14)] {
        for n in [1, 2, 40] {
            let mut program = Program::new();
            for k in 0..n {
                program.load(3, 3, DATA + line * k);
            }
            let mut config = ppc440(line);
            config.0.predictor.direction = Direction::Perfect;
            let mut bench = Bench::warm(&config, 0);
            assert_eq!(bench.run(&program), per_load * n + 3, "{n} lines of {line} bytes");
            assert_eq!(bench.data().misses, n);
        }
    }
}

#[test]
fn independent_loads_take_a_port_each() {
    for n in [1, 2, 40] {
        let mut program = Program::new();
        for k in 0..n {
            program.load(3, 4, DATA + 8 * k);
        }
        // The first access is issued in cycle 3 and commits in 5.
        assert_eq!(Bench::warm(&perfect(), 0x1000).run(&program), n + 4);
        // With two ports the two operations of each load fill the two issue slots. Only in the
        // first cycle two addresses are computed.
        let mut config = perfect();
        config.1.data.ports = 2;
        assert_eq!(Bench::warm(&config, 0x1000).run(&program), n + 4 - u64::from(n > 1));
    }
}

#[test]
fn cold_instructions_take_a_miss_per_line() {
    for lines in [1, 2, 9] {
        let mut program = Program::new();
        for _ in 0..8 * lines {
            program.constant(InstructionClass::Integer, 3);
        }
        // A line has eight instructions: 4 cycles, and 11 before them if it comes from memory.
        assert_eq!(Bench::warm(&perfect(), 0).run(&program), 4 * lines + 3);
        let mut cold = Bench::new(&perfect());
        assert_eq!(cold.run(&program), 15 * lines + 3);
        // The ROB is empty until the first instruction of a line is dispatched: from cycle 1 to 12,
        // and then from the commit of the line before, 4 cycles after its last fetch, to the
        // dispatch, 13 cycles after that fetch.
        assert_eq!(cold.statistics().cycles.instruction_miss, 12 + 9 * (lines - 1));
        assert_eq!(cold.statistics().cycles.total(), 15 * lines + 4, "cycles 0 to the last commit");
    }
}

#[test]
fn a_full_rob_stops_dispatch_until_its_oldest_instruction_commits() {
    let mut program = Program::new();
    program.load(3, 4, DATA);
    for _ in 0..40 {
        program.constant(InstructionClass::Integer, 5);
    }
    let mut bench = Bench::warm(&perfect(), 0);
    bench.run(&program);
    // The load misses in 3, ends in 14 and commits in 15 with two others. Until the ROB is full,
    // two instructions are dispatched in each cycle.
    let dispatched = |bench: &Bench, index: usize| bench.timings[index].dispatched.0;
    assert_eq!(bench.timings[0].committed.0, 15);
    assert_eq!(dispatched(&bench, 15), 8);
    assert_eq!(dispatched(&bench, 16), 15);
    assert_eq!(bench.statistics().rob_full, 15 - 9, "cycles 9 to 14");
    let mut config = perfect();
    config.0.rob = 17;
    let mut bench = Bench::warm(&config, 0);
    bench.run(&program);
    assert_eq!((dispatched(&bench, 16), dispatched(&bench, 17)), (9, 15));
}

#[test]
fn a_full_lsq_also_stops_dispatch_of_instructions_that_need_no_entry() {
    let mut program = Program::new();
    for k in 0..4 {
        program.load(3, 4, DATA + 32 * k);
    }
    program.constant(InstructionClass::Integer, 5);
    program.load(3, 4, DATA + 128);
    let mut bench = Bench::warm(&perfect(), 0);
    bench.run(&program);
    // As in sim-outorder.
    assert_eq!(bench.timings[3].dispatched.0, 2);
    assert_eq!(bench.timings[4].dispatched.0, 15, "the first load commits in 15");
    assert_eq!(bench.statistics().lsq_full, 15 - 3, "cycles 3 to 14");
    let mut config = perfect();
    config.0.lsq = 5;
    let mut bench = Bench::warm(&config, 0);
    bench.run(&program);
    assert_eq!(bench.timings[5].dispatched.0, 3);
}

#[test]
fn a_load_is_forwarded_from_the_store_before_it() {
    let mut program = Program::new();
    program.store(3, 4, DATA);
    program.load(3, 5, DATA);
    let mut bench = Bench::warm(&perfect(), 0);
    // The line is cold: from memory the load would commit in 15.
    assert_eq!(bench.run(&program), 5);
    assert_eq!(bench.statistics().forwarded, 1);

    // The data come from a multiplication that is issued in 2: it ends in 5, the load in 6.
    let mut program = Program::new();
    program.constant(InstructionClass::Multiply, 4);
    program.store(3, 4, DATA);
    program.load(3, 5, DATA);
    program.load(3, 6, DATA + 8);
    let mut bench = Bench::warm(&perfect(), 64);
    bench.run(&program);
    assert_eq!(bench.timings[2].accessed.0, 5);
    assert_eq!(bench.timings[3].accessed.0, 4, "a load of another address does not wait: address in 3, access in 4");

    // A load of a part of the stored bytes is forwarded. A load of more bytes waits until the store
    // commits, in 4.
    for (offset, bytes, accessed) in [(0, 8, 3), (4, 4, 3), (7, 1, 3), (4, 8, 4), (7, 2, 4)] {
        let mut program = Program::new();
        program.store(3, 4, DATA);
        program.load_part(3, 5, DATA + offset, bytes);
        let mut bench = Bench::warm(&perfect(), 64);
        // The store takes the port first.
        let port = u64::from(accessed == 4);
        bench.run(&program);
        assert_eq!(bench.timings[1].accessed.0, accessed + port, "{bytes} bytes at {offset}");
        assert_eq!(bench.statistics().forwarded, 1 - port);
    }
}

#[test]
fn a_load_waits_for_the_addresses_of_the_stores_before_it() {
    let mut program = Program::new();
    program.constant(InstructionClass::Multiply, 3);
    program.store(3, 4, DATA);
    program.load(5, 6, DATA + 64);
    // The multiplication ends in 5, and the address of the store is known in 6; then the load can
    // begin. The address of the load is known in 4.
    for (disambiguation, accessed) in [(Disambiguation::AllAddresses, 6), (Disambiguation::Predicted, 4)] {
        let mut config = perfect();
        config.0.disambiguation = disambiguation;
        let mut bench = Bench::warm(&config, 128);
        bench.run(&program);
        assert_eq!(bench.timings[2].accessed.0, accessed, "{disambiguation:?}");
    }
}

#[test]
fn a_store_that_commits_takes_the_port_before_a_load() {
    let mut program = Program::new();
    program.store(3, 4, DATA);
    program.constant(InstructionClass::Integer, 7);
    program.load(3, 5, DATA + 8);
    let mut bench = Bench::warm(&perfect(), 64);
    bench.run(&program);
    // The store commits in 4, when the address of the load is known.
    assert_eq!(bench.timings[0].committed.0, 4);
    assert_eq!(bench.timings[2].accessed.0, 5);
    let mut config = perfect();
    config.1.data.ports = 2;
    let mut bench = Bench::warm(&config, 64);
    bench.run(&program);
    assert_eq!(bench.timings[2].accessed.0, 4);
}

#[test]
fn accesses_take_an_issue_slot_for_the_address_and_one_for_memory() {
    let mut program = Program::new();
    for k in 0..20 {
        program.load(3, 4, DATA + 8 * k);
    }
    let mut config = perfect();
    config.0.issue_width = 1;
    // The last of 40 operations is issued in 2 + 39.
    assert_eq!(Bench::warm(&config, 0x1000).run(&program), 2 + 39 + 2);
}
