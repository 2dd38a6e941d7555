// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Chips on private L1 caches above a shared L2: results, runs in pieces, and code that changes.

use mb_core::random::Random;
use mb_processor::chip::{Chip, ChipConfig, ChipStop, cmp, cmp2, in_order, smt};
use mb_processor::shared_l2::{SharedL2, SharedL2Config};
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{Hart, Isa, Memory, Program, Rv64, Step};
use mb_testkit::streams::in_proportion;

use crate::assembler::{BYTES, NOP, TEXT, addi, address, exit, jal, jalr, lui, store};
use crate::generate::{Content, program};
use crate::random::{NoCalls, case, config, memory};
use crate::run::{Log, Watcher, finish, run_until, run_watched};
use crate::{Console, elf};

fn shared(config: &ChipConfig, memory: Memory) -> SharedL2 {
    SharedL2::new(&SharedL2Config::crowley2000(config.cores, config.contexts), memory, NoDevice).unwrap()
}

/// Small caches, so that lines are evicted.
fn small(config: &ChipConfig, memory: Memory) -> SharedL2 {
    let mut caches = SharedL2Config::crowley2000(config.cores, config.contexts);
    (caches.instruction.bytes, caches.data.bytes, caches.l2) = (256, 256, 1024);
    (caches.instruction.mshrs, caches.data.mshrs, caches.write_buffer) = (2, 2, 2);
    SharedL2::new(&caches, memory, NoDevice).unwrap()
}

#[test]
fn a_random_program_has_the_results_of_functional_execution_on_caches() {
    for seed in 0..in_proportion(500) {
        let mut random = Random::of(seed, &[4]);
        let content = Content { shared: false, counter: false };
        let bytes = program(&mut random, content, elf::CODE, elf::DATA);
        let file = Program::load(&elf::file(Isa::Rv64, &bytes)).unwrap();
        let mut hart = Rv64::load(&file, 1).unwrap().remove(0);
        let mut expected = file.memory(0);
        hart.set_argument(1, 1);
        while let Step::Retired(_) = hart.step(&mut expected, &mut NoCalls).unwrap() {}
        let config = config(&mut random, 1, 1);
        let build = if seed % 2 == 0 { shared } else { small };
        let mut memory = build(&config, file.memory(0));
        let mut chip = Chip::new(&config, file.entry()).unwrap();
        finish(&mut chip, &mut memory, &mut Log::default());
        for register in 0..32 {
            assert_eq!(chip.register(0, register), hart.register(register), "seed {seed}, x{register}, {config:?}");
        }
        drain(&chip, &mut memory);
        let length = elf::DATA_BYTES as usize;
        assert!(memory.bytes(elf::DATA, length) == expected.get(elf::DATA, length), "seed {seed}: other memory");
    }
}

/// Waits until all stores are performed.
fn drain(chip: &Chip, memory: &mut SharedL2) {
    let mut completed = Vec::new();
    memory.advance(chip.now(), &mut completed);
    while let Some(cycle) = memory.next_event() {
        memory.advance(cycle, &mut completed);
    }
}

#[test]
fn a_run_on_caches_that_skips_cycles_equals_a_run_of_every_cycle_and_a_run_in_pieces() {
    for seed in 0..in_proportion(500) {
        let (config, bytes, _) = case(seed);
        let build = if seed % 2 == 0 { shared } else { small };
        let mut runs = Vec::new();
        for mode in 0..3 {
            let mut memory = build(&config, memory(&bytes));
            let mut chip = Chip::new(&config, TEXT).unwrap();
            chip.simulate_every_cycle(mode == 1);
            let mut log = Log::default();
            let mut pieces = Random::of(seed, &[3]);
            let mut stop = ChipStop::Until;
            while mode == 2 && stop != ChipStop::Halted {
                let until = chip.now() + pieces.within(1, 40);
                stop = run_watched(&mut chip, until, &mut memory, &mut Watcher::Log(&mut log)).unwrap();
                assert!(chip.now() < 1_000_000, "seed {seed}");
            }
            finish(&mut chip, &mut memory, &mut log);
            let statistics: Vec<_> = (0..config.harts()).map(|hart| *chip.statistics(hart)).collect();
            drain(&chip, &mut memory);
            runs.push((log, chip.now(), statistics, memory.bytes(TEXT, BYTES).unwrap().to_vec()));
        }
        assert!(runs[0] == runs[1], "seed {seed}: every cycle, {config:?}\n{:?}\n{:?}", runs[0].2, runs[1].2);
        assert!(runs[0] == runs[2], "seed {seed}: pieces, {config:?}\n{:?}\n{:?}", runs[0].2, runs[2].2);
    }
}

#[test]
fn a_guest_program_has_its_results_on_caches() {
    for elf in
        [&include_bytes!("../../firmware/elf/md5.rv64.elf")[..], include_bytes!("../../firmware/elf/stream.rv64.elf")]
    {
        for config in [smt(8), cmp(2), cmp2(1), in_order(cmp(1))] {
            let program = Program::load(elf).unwrap();
            let mut memory = shared(&config, program.memory(0));
            let mut chip = Chip::new(&config, program.entry()).unwrap();
            for hart in 1..config.harts() {
                chip.halt(hart);
            }
            let stop = run_until(&mut chip, 100_000_000, &mut memory, &mut Console::default()).unwrap();
            assert_eq!(stop, ChipStop::Exited { hart: 0, status: 0 });
        }
    }
}

/// Calls a function that returns 1 in a0, replaces its first instruction by `addi a0, zero, 2`,
/// executes `between`, and calls it again.
fn changed_code(between: u32) -> u64 {
    let mut words = vec![jal(0, 12), addi(10, 0, 1), jalr(0, 1, 0)];
    words.extend(address(8, TEXT + 4));
    let two = addi(10, 0, 2);
    words.extend([lui(5, two), addi(5, 5, (two as i32) << 20 >> 20)]);
    let call = |words: &Vec<u32>| jal(1, 4 - 4 * words.len() as i32);
    words.push(call(&words));
    words.extend([store(2, 5, 8, 0), between]);
    // Long enough that the store is performed also without a fence.
    words.extend([NOP; 64]);
    words.push(call(&words));
    words.extend(exit());
    let config = smt(1);
    let mut memory = shared(&config, memory(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()));
    let mut chip = Chip::new(&config, TEXT).unwrap();
    finish(&mut chip, &mut memory, &mut Log::default());
    chip.register(0, 10)
}

#[test]
fn changed_code_is_executed_after_fence_i_and_not_before() {
    assert_eq!(changed_code(crate::assembler::FENCE_I), 2);
    assert_eq!(changed_code(crate::assembler::FENCE), 1);
}
