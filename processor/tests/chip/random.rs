// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random programs on random chips: the results of functional execution, runs in pieces, and runs
//! that skip no cycle.

use mb_core::random::Random;
use mb_processor::chip::{Chip, ChipConfig, ChipStop, FetchPolicy, IssueOrder, Passage, blocking, smt};
use mb_processor::predictor::Direction;
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{FixedLatency, Hart, Isa, Memory, Program, Rv64, Step, Syscall, SyscallHandler, SyscallResult};
use mb_testkit::streams::in_proportion;

use crate::assembler::{BYTES, DATA, TEXT};
use crate::elf;
use crate::generate::{Content, program};
use crate::naive::{Fault, Naive};
use crate::run::{Log, Watcher, finish, run_watched};

/// A chip with random parameters.
pub(crate) fn config(random: &mut Random, contexts: usize, cores: usize) -> ChipConfig {
    let mut config = smt(contexts);
    config.cores = cores;
    config.fetch_width = random.within(1, 8) as u32;
    config.fetch_threads = random.within(1, 3) as u32;
    config.fetch_policy = random.pick(&[FetchPolicy::Icount, FetchPolicy::RoundRobin]);
    config.fetch_block = random.pick(&[4, 8, 16, 32, 64]);
    config.fetch_queue = random.within(1, 32) as usize;
    config.front_end = random.within(1, 6);
    config.misfetch = random.within(1, config.front_end);
    config.redirect = random.within(1, 3);
    config.rename_width = random.within(1, 8) as u32;
    config.instruction_queue = random.within(1, 32) as usize;
    config.rename_registers = random.within(1, 50) as usize;
    config.reorder_buffer = random.within(1, 64) as usize;
    config.load_store_queue = random.within(1, 16) as usize;
    config.issue_width = random.within(1, 8) as u32;
    config.commit_width = random.within(1, 8) as u32;
    config.order = random.pick(&[IssueOrder::OutOfOrder, IssueOrder::OutOfOrder, IssueOrder::InOrder]);
    for latency in [
        &mut config.latencies.integer,
        &mut config.latencies.multiply,
        &mut config.latencies.branch,
        &mut config.latencies.load,
        &mut config.latencies.store,
        &mut config.latencies.synchronisation,
        &mut config.float.simple,
        &mut config.float.convert,
        &mut config.float.add,
        &mut config.float.multiply,
        &mut config.float.fused,
        &mut config.float.divide,
        &mut config.float.square_root,
    ] {
        *latency = random.within(1, 5);
    }
    for priority in &mut config.priorities {
        *priority = random.below(3).saturating_sub(1) as u8;
    }
    config.predictor.direction = random.pick(&[
        Direction::NotTaken,
        Direction::Taken,
        Direction::Bimodal { entries: 16 },
        Direction::Gshare { entries: 64, history: 5 },
    ]);
    (config.predictor.target_sets, config.predictor.target_ways) = random.pick(&[(0, 0), (1, 1), (2, 2), (16, 2)]);
    config.predictor.return_stack = random.pick(&[0, 1, 2, 12]);
    config
}

/// A latency of memory: often a hit, sometimes longer than the masks of ends.
pub(crate) fn latency(random: &mut Random) -> u64 {
    random.pick(&[1, 1, 2, 7, 100])
}

/// The only call of the programs is exit.
pub(crate) struct NoCalls;

impl SyscallHandler for NoCalls {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, _: &mut Memory) -> SyscallResult {
        SyscallResult::Exit(call.arguments[0])
    }
}

#[test]
fn a_random_program_has_the_results_of_functional_execution() {
    for seed in 0..in_proportion(1000) {
        let mut random = Random::of(seed, &[1]);
        let content = Content { shared: false, counter: false };
        let bytes = program(&mut random, content, elf::CODE, elf::DATA);
        let file = Program::load(&elf::file(Isa::Rv64, &bytes)).unwrap();
        let mut hart = Rv64::load(&file, 1).unwrap().remove(0);
        let mut expected = file.memory(0);
        hart.set_argument(1, 1);
        let mut count = 0;
        while let Step::Retired(_) = hart.step(&mut expected, &mut NoCalls).unwrap() {
            count += 1;
        }
        let mut config = config(&mut random, 1, 1);
        if seed % 4 == 0 {
            config = blocking(config, 1 << random.below(11));
        }
        let (latency, fetch) = (latency(&mut random), latency(&mut random));
        let mut memory = FixedLatency::new(file.memory(0), NoDevice, 1, 1, latency, fetch);
        let mut chip = Chip::new(&config, file.entry()).unwrap();
        finish(&mut chip, &mut memory, &mut Log::default());
        for register in 0..32 {
            assert_eq!(chip.register(0, register), hart.register(register), "seed {seed}, x{register}, {config:?}");
            let (found, expected) = (chip.register(0, 32 + register), hart.float_register(register));
            assert_eq!(found, expected, "seed {seed}, f{register}, {config:?}");
        }
        assert_eq!(chip.float_status(0), hart.float_status(), "seed {seed}");
        let length = elf::DATA_BYTES as usize;
        assert!(memory.bytes(elf::DATA, length) == expected.get(elf::DATA, length), "seed {seed}: other memory");
        assert_eq!(chip.statistics(0).committed, count, "seed {seed}");
        assert_eq!(chip.pc(0), hart.pc());
    }
}

/// A random program on a random chip with several harts.
pub(crate) fn case(seed: u64) -> (ChipConfig, Vec<u8>, u64) {
    let mut random = Random::of(seed, &[2]);
    let content = Content { shared: true, counter: true };
    let bytes = program(&mut random, content, TEXT, DATA);
    let (contexts, cores) = random.pick(&[(1, 1), (2, 1), (3, 1), (8, 1), (1, 2), (1, 5), (2, 2), (3, 2)]);
    let config = config(&mut random, contexts, cores);
    (config, bytes, latency(&mut random))
}

/// As [`case`], on cores with one context that issue in order and take one instruction in each stage: the simulation
/// has code of its own for them.
fn narrow_case(seed: u64) -> (ChipConfig, Vec<u8>, u64) {
    let mut random = Random::of(seed, &[4]);
    let bytes = program(&mut random, Content { shared: true, counter: true }, TEXT, DATA);
    let cores = random.pick(&[1, 2, 5]);
    let config = ChipConfig {
        fetch_width: 1,
        rename_width: 1,
        issue_width: 1,
        commit_width: 1,
        order: IssueOrder::InOrder,
        ..config(&mut random, 1, cores)
    };
    (config, bytes, latency(&mut random))
}

/// As [`case`], on blocking cores.
pub(crate) fn blocking_case(seed: u64) -> (ChipConfig, Vec<u8>, u64) {
    let mut random = Random::of(seed, &[5]);
    let bytes = program(&mut random, Content { shared: true, counter: true }, TEXT, DATA);
    let cores = random.pick(&[1, 2, 5]);
    let slack = random.pick(&[1, 2, 7, 64, 1024]);
    (blocking(config(&mut random, 1, cores), slack), bytes, latency(&mut random))
}

/// 1,000 programs on all kinds of chips, and 500 on narrow cores in order; with their seeds.
fn cases() -> impl Iterator<Item = (u64, (ChipConfig, Vec<u8>, u64))> {
    let all = (0..in_proportion(1_000)).map(|seed| (seed, case(seed)));
    all.chain((0..in_proportion(500)).map(|seed| (seed, narrow_case(seed))))
}

pub(crate) fn memory(bytes: &[u8]) -> Memory {
    let mut memory = Memory::new(TEXT, BYTES);
    memory.write(TEXT, bytes).unwrap();
    memory
}

#[test]
fn a_run_that_skips_cycles_equals_a_run_of_every_cycle_and_a_run_in_pieces() {
    let blocking = (0..in_proportion(500)).map(|seed| (seed, blocking_case(seed)));
    for (seed, (config, bytes, latency)) in cases().chain(blocking) {
        let mut runs = Vec::new();
        for mode in 0..3 {
            let fetch = [1, 3, 30][(seed % 3) as usize];
            let mut memory = FixedLatency::new(memory(&bytes), NoDevice, config.cores, config.contexts, latency, fetch);
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
            runs.push((log, chip.now(), statistics, memory.bytes(TEXT, BYTES).unwrap().to_vec()));
        }
        assert!(runs[0] == runs[1], "seed {seed}: every cycle, {config:?}\n{:?}\n{:?}", runs[0].2, runs[1].2);
        assert!(runs[0] == runs[2], "seed {seed}: pieces, {config:?}\n{:?}\n{:?}", runs[0].2, runs[2].2);
    }
}

/// Compares a chip with the naive one; returns how many accesses were reordered, and the exceptions.
fn compare(config: &ChipConfig, bytes: &[u8], latency: u64, fault: Option<Fault>) -> Result<(u64, u8), String> {
    let mut naive = Naive::new(config, memory(bytes), TEXT, latency).with(fault);
    naive.run();
    let mut memory = FixedLatency::new(memory(bytes), NoDevice, config.cores, config.contexts, latency, 1);
    let mut chip = Chip::new(config, TEXT).unwrap();
    let mut log = Log::default();
    finish(&mut chip, &mut memory, &mut log);
    let (mut reordered, mut flags) = (0, 0);
    for hart in 0..config.harts() {
        let (core, context) = (hart / config.contexts, hart % config.contexts);
        let stages = naive.stages(core, context);
        for (index, (passage, committed)) in log.committed[hart].iter().enumerate() {
            let Passage { pc, fetched, renamed, issued, accessed, written, .. } = *passage;
            let found = (pc, [fetched, renamed, issued, accessed, written, *committed]);
            if Some(&found) != stages.get(index) {
                let (instruction, expected) = (passage.instruction, stages.get(index));
                return Err(format!(
                    "hart {hart}, instruction {index}: {instruction:?}: {found:?}, expected {expected:?}"
                ));
            }
        }
        let (found, expected) = (log.committed[hart].len(), stages.len());
        if found != expected {
            return Err(format!("hart {hart}: {found} instructions, expected {expected}"));
        }
        let (found, expected) = (chip.statistics(hart).squashed, naive.squashed(core, context));
        if found != expected {
            return Err(format!("hart {hart}: {found} instructions squashed, expected {expected}"));
        }
        for register in 0..64 {
            let (found, expected) = (chip.register(hart, register), naive.register(core, context, register as u8));
            if found != expected {
                return Err(format!("hart {hart}, register {register}: {found:#x}, expected {expected:#x}"));
            }
        }
        let (found, expected) = (chip.float_status(hart), naive.float_status(core, context));
        if found != expected {
            return Err(format!("hart {hart}: {found:?}, expected {expected:?}"));
        }
        flags |= found.flags;
        reordered += chip.statistics(hart).reordered;
    }
    if memory.bytes(TEXT, BYTES) != naive.memory().get(TEXT, BYTES) {
        return Err("other memory".to_owned());
    }
    Ok((reordered, flags))
}

#[test]
fn every_stage_of_every_instruction_has_the_cycle_of_the_naive_chip() {
    let (mut reordered, mut flags) = (0, 0);
    for (seed, (config, bytes, latency)) in cases() {
        match compare(&config, &bytes, latency, None) {
            Ok(found) => {
                reordered += found.0;
                flags |= found.1;
            }
            Err(error) => panic!("seed {seed}: {error}, {config:?}, latency {latency}"),
        }
    }
    // The programs contain what the rules are about.
    assert!(reordered > 100, "{reordered}");
    assert_eq!(flags, 31, "every exception occurs");
}

/// The number of cases is large enough: a tenth of it finds each of these.
#[test]
#[expect(clippy::print_stdout, reason = "after how many programs is a result")]
fn every_planted_fault_is_found_within_a_tenth_of_the_programs() {
    let found = Fault::ALL.map(|fault| {
        let fails = |seed: &u64| {
            let (config, bytes, latency) = case(*seed);
            compare(&config, &bytes, latency, Some(fault)).is_err()
        };
        (fault, (0..100).find(fails))
    });
    println!("faults, and the programs that find them: {found:?}");
    assert!(found.iter().all(|(_, program)| program.is_some()), "{found:?}");
}
