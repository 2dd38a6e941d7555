// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocking cores: closed formulas, and every cycle of random programs by the rules of their documentation.

use mb_processor::chip::{Chip, ChipConfig, IssueStall, Passage, blocking, cmp, smt};
use mb_processor::rv64::{Effect, Operation, Rounding};
use mb_processor::system::NoDevice;
use mb_processor::{FixedLatency, Memory};
use mb_testkit::streams::in_proportion;

use crate::assembler::{DATA, TEXT, addi, address, bne, exit, ld, mul};
use crate::random::{blocking_case, memory};
use crate::run::{Log, finish, passages, run};

/// A core of a chip multiprocessor, blocking.
fn core() -> ChipConfig {
    blocking(cmp(1), 64)
}

fn then_exit(mut words: Vec<u32>) -> Vec<u32> {
    words.extend(exit());
    words
}

#[test]
fn an_instruction_follows_in_the_next_cycle_or_when_its_operands_are_ready() {
    let issued = |words: Vec<u32>, latency| -> Vec<u64> {
        passages(&core(), &then_exit(words), latency).iter().map(|(passage, _)| passage.issued).collect()
    };
    assert_eq!(issued(vec![addi(5, 0, 1); 6], 1)[..6], [0, 1, 2, 3, 4, 5]);
    // A product takes 16 cycles; an instruction that does not need it is not delayed.
    assert_eq!(issued(vec![mul(5, 5, 5), addi(6, 0, 1), addi(7, 5, 1), addi(8, 0, 1)], 1)[..4], [0, 1, 16, 17]);
}

#[test]
fn a_taken_branch_costs_its_latency_and_the_redirection() {
    for (latency, redirect) in [(1, 1), (2, 1), (2, 3), (5, 2)] {
        let mut config = core();
        (config.latencies.branch, config.redirect) = (latency, redirect);
        // A loop of two instructions, ten times.
        let words = then_exit(vec![addi(5, 0, 10), addi(5, 5, -1), bne(5, 0, -4)]);
        let (chip, log) = run(&config, &words, 1);
        let last = &log.committed[0][20].0;
        assert_eq!((last.pc, last.issued), (TEXT + 8, 2 + 9 * (1 + latency + redirect)));
        let statistics = chip.statistics(0);
        assert_eq!((statistics.branches, statistics.mispredicted), (10, 9));
        assert_eq!(statistics.empty[IssueStall::Branch as usize], 9 * (latency + redirect - 1));
    }
}

#[test]
fn a_load_that_is_not_at_once_blocks_until_its_commit() {
    for latency in [1, 2, 10, 100] {
        let mut words = address(8, DATA);
        let first = words.len() as u64;
        words.extend([ld(5, 8, 0), addi(6, 0, 1), ld(7, 8, 8)]);
        let passages = passages(&core(), &then_exit(words), latency);
        let load = &passages[first as usize];
        assert_eq!((load.0.issued, load.0.accessed, load.0.written, load.1), {
            (first, first, first + latency, first + latency + 1)
        });
        assert_eq!(passages[first as usize + 1].0.issued, first + latency + 1);
    }
}

#[test]
fn widths_contexts_and_slacks_that_do_not_exist_are_refused() {
    for (config, message) in [
        (blocking(smt(2), 64), "order is Blocking with 2 contexts"),
        (ChipConfig { issue_width: 2, ..core() }, "issue and commit of 1, 1, 2 and 1; expected 1 for all"),
        (blocking(cmp(1), 0), "parameter `slack`: found `0`, expected a whole number from 1 to 1024 (cycles)"),
        (blocking(cmp(1), 1025), "parameter `slack`: found `1025`, expected a whole number from 1 to 1024 (cycles)"),
    ] {
        let error = Chip::new(&config, TEXT).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// What an instruction is, as far as the rules distinguish.
enum What {
    AtOnce,
    Load,
    Atomic,
    /// It executes in the cycle of its issue, and passes the stages.
    Alone,
    Exit,
}

fn what(operation: &Operation) -> What {
    match operation.evaluate(0, [0; 3], Rounding::NearestEven) {
        Effect::Value(_) | Effect::Float { .. } | Effect::Branch { .. } | Effect::Store { .. } | Effect::Pause => {
            What::AtOnce
        }
        Effect::Load { .. } => What::Load,
        Effect::Atomic { .. } => What::Atomic,
        Effect::Call => What::Exit,
        _ => What::Alone,
    }
}

/// The issue and the commit of each instruction of a core, from their addresses. Whether a branch to the next
/// instruction is taken is the only thing that the passages tell besides.
fn cycles(config: &ChipConfig, code: &Memory, passages: &[(Passage, u64)], latency: u64) -> Vec<(u64, u64)> {
    let latencies = &config.latencies;
    let mut from = [0; 64];
    let (mut now, mut block, mut found) = (0, None, Vec::new());
    for (index, (passage, _)) in passages.iter().enumerate() {
        let pc = passage.pc;
        let half = |pc: u64| code.read(pc).map_or(0, u16::from_le_bytes);
        let operation = Operation::decode(u32::from(half(pc)) | u32::from(half(pc + 2)) << 16, pc);
        let bytes = u64::from(operation.instruction().bytes);
        // Each block that the fetch buffer has not takes an access; the second one comes a cycle later.
        let blocks = [pc, pc + bytes - 2].map(|address| Some(address / config.fetch_block));
        now += u64::from(block != blocks[0] && blocks[0] != blocks[1]);
        block = blocks[1];
        let ready = operation.sources().iter().map(|&source| from[usize::from(source)]).max().unwrap_or(0);
        let issued = now.max(ready);
        let cost = crate::naive::latency_of(config, &operation);
        let (end, committed) = match what(&operation) {
            What::AtOnce => (issued + cost, issued),
            What::Load => (issued + latency.max(latencies.load), issued + latency.max(latencies.load) + 1),
            What::Atomic => {
                let end = issued + latency.max(latencies.synchronisation);
                (end, end + 1)
            }
            What::Alone => (issued + latencies.integer, issued + latencies.integer + 1),
            What::Exit => (issued, issued),
        };
        if operation.destination() != 0 {
            from[usize::from(operation.destination())] = end;
        }
        found.push((issued, committed));
        let leaves = passages.get(index + 1).is_some_and(|(next, _)| next.pc != pc + bytes);
        let taken = leaves || passage.mispredicted;
        now = match what(&operation) {
            What::AtOnce if taken => issued + latencies.branch + config.redirect,
            What::AtOnce => issued + 1,
            _ => committed,
        };
    }
    found
}

#[test]
fn every_instruction_of_a_random_program_has_the_cycles_of_the_rules() {
    let mut counts = [0; 2];
    for seed in 0..in_proportion(1_000) {
        let (config, bytes, latency) = blocking_case(seed);
        let code = memory(&bytes);
        let mut memory = FixedLatency::new(code.clone(), NoDevice, config.cores, 1, latency, 1);
        let mut chip = Chip::new(&config, TEXT).unwrap();
        let mut log = Log::default();
        finish(&mut chip, &mut memory, &mut log);
        for (core, committed) in log.committed.iter().enumerate() {
            let found: Vec<_> = committed.iter().map(|(passage, at)| (passage.issued, *at)).collect();
            let expected = cycles(&config, &code, committed, latency);
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(
                    found, expected,
                    "seed {seed}, core {core}, instruction {index} at {:#x}",
                    committed[index].0.pc
                );
            }
            counts[0] += found.len();
            counts[1] += committed.iter().filter(|(passage, at)| passage.issued < *at).count();
            let statistics = chip.statistics(core);
            assert_eq!(statistics.committed, found.len() as u64, "seed {seed}, core {core}");
        }
    }
    assert!(counts.iter().all(|&count| count > 10_000), "{counts:?}");
}
