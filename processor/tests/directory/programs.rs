// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on the cores of a chip: results of functional execution, and code that changes.

use mb_processor::chip::{CallHandler, Chip, ChipConfig, ChipStop, blocking, cmp, cmp2, in_order, smt};
use mb_processor::directory::protocol::Protocol;
use mb_processor::directory::{CoherentMemory, DirectoryConfig};
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{Hart, Memory, Program, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult};

use super::assembler::{DATA, FENCE_I, NOP, TEXT, addi, address, bne, exit, jal, jalr, ld, lui, memory, store};
use super::tester::tiny;

/// What the program writes, from the performed values of memory.
#[derive(Default)]
pub(crate) struct Written(Vec<u8>);

impl CallHandler for Written {
    fn call<M: MemorySystem>(&mut self, _: u64, call: Syscall, memory: &mut M) -> SyscallResult {
        let [status, address, bytes, ..] = call.arguments;
        match call.service {
            Service::Exit => SyscallResult::Exit(status),
            Service::Write => {
                self.0.extend_from_slice(memory.bytes(address, bytes as usize).expect("memory"));
                SyscallResult::Value(bytes)
            }
            _ => SyscallResult::Value(0),
        }
    }
}

impl SyscallHandler for Written {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        let [status, address, bytes, ..] = call.arguments;
        match call.service {
            Service::Exit => SyscallResult::Exit(status),
            Service::Write => {
                self.0.extend_from_slice(memory.get(address, bytes as usize).expect("memory"));
                SyscallResult::Value(bytes)
            }
            _ => SyscallResult::Value(0),
        }
    }
}

#[test]
fn a_guest_program_has_the_results_of_functional_execution() {
    for elf in [
        &include_bytes!("../../firmware/elf/md5.rv64.elf")[..],
        include_bytes!("../../firmware/elf/stream.rv64.elf"),
        include_bytes!("../../firmware/elf/bench.rv64.elf"),
    ] {
        let program = Program::load(elf).unwrap();
        let mut untimed = Rv64::load(&program, 1).unwrap().remove(0);
        let (mut expected, mut handler) = (program.memory(0), Written::default());
        let status = loop {
            if let Step::Exited(status) = untimed.step(&mut expected, &mut handler).unwrap() {
                break status;
            }
        };
        for (config, caches) in [
            (cmp2(1), DirectoryConfig::gu2011(16, 1)),
            (cmp2(1), DirectoryConfig { nodes: 1, contexts: 1, ..tiny() }),
            (in_order(smt(1)), DirectoryConfig { nodes: 3, contexts: 1, ..tiny() }),
            (blocking(cmp(1), 64), DirectoryConfig::gu2011(4, 1)),
            (blocking(cmp(1), 1), DirectoryConfig { nodes: 1, contexts: 1, ..tiny() }),
        ] {
            let mut memory = CoherentMemory::new(&caches, program.memory(0), NoDevice).unwrap();
            let mut chip = Chip::new(&config, program.entry()).unwrap();
            let mut console = Written::default();
            let stop = chip.run_until(100_000_000, &mut memory, &mut console).unwrap();
            assert_eq!(stop, ChipStop::Exited { hart: 0, status });
            assert_eq!(console.0, handler.0);
            for register in 0..32 {
                assert_eq!(chip.register(0, register), untimed.register(register), "x{register}");
            }
            while let Some(next) = memory.next_event() {
                memory.advance(next, &mut Vec::new());
            }
            let range = expected.range();
            let length = (range.end - range.start) as usize;
            assert!(memory.bytes(range.start, length) == expected.get(range.start, length), "the memory differs");
        }
    }
}

fn finish(config: &ChipConfig, caches: &DirectoryConfig, words: &[u32]) -> Chip {
    let mut memory = CoherentMemory::new(caches, memory(words), NoDevice).unwrap();
    let mut chip = Chip::new(config, TEXT).unwrap();
    loop {
        match chip.run_until(1_000_000, &mut memory, &mut Written::default()).unwrap() {
            ChipStop::Halted => return chip,
            ChipStop::Exited { .. } => {}
            stop => panic!("{stop:?}"),
        }
    }
}

/// A loop of four loads that hit, an addition and a branch that is taken: a cycle each, and behind the branch its
/// latency of 2 and the redirection of 1.
#[test]
fn a_blocking_core_loads_in_every_cycle_what_is_in_the_cache() {
    let cycles = |slack, turns| {
        let mut words = address(8, DATA);
        words.extend([addi(5, 0, turns), ld(20, 8, 0), ld(21, 8, 8), ld(22, 8, 16), ld(23, 8, 24), addi(5, 5, -1)]);
        words.push(bne(5, 0, -20));
        words.extend(exit());
        finish(&blocking(cmp(1), slack), &DirectoryConfig::gu2011(1, 1), &words).now()
    };
    for slack in [1, 2, 64, 1024] {
        assert_eq!(cycles(slack, 30) - cycles(slack, 10), 20 * (5 + 2 + 1), "slack {slack}");
    }
}

#[test]
fn changed_code_is_executed_after_fence_i() {
    // A function that returns 1 in a0; its first instruction becomes `addi a0, zero, 2`.
    let mut words = vec![jal(0, 12), addi(10, 0, 1), jalr(0, 1, 0)];
    words.extend(address(8, TEXT + 4));
    let two = addi(10, 0, 2);
    words.extend([lui(5, two), addi(5, 5, (two as i32) << 20 >> 20)]);
    let call = |words: &Vec<u32>| jal(1, 4 - 4 * words.len() as i32);
    words.push(call(&words));
    words.extend([store(2, 5, 8, 0), FENCE_I]);
    words.extend([NOP; 64]);
    words.push(call(&words));
    words.extend(exit());
    for config in [smt(1), in_order(cmp(1)), blocking(cmp(1), 64)] {
        for caches in [DirectoryConfig::gu2011(1, 1), DirectoryConfig { nodes: 1, contexts: 1, ..tiny() }] {
            assert_eq!(finish(&config, &caches, &words).register(0, 10), 2);
        }
    }
}

#[test]
fn code_and_data_in_one_line_make_progress() {
    // Each load takes the line from the instruction cache, and each fetch takes it back.
    let mut words = address(8, TEXT);
    words.extend([ld(20, 8, 0), ld(21, 8, 8), ld(20, 8, 0), ld(21, 8, 8), store(3, 20, 8, 120), ld(22, 8, 120)]);
    words.extend(exit());
    for config in [smt(2), cmp2(2), in_order(cmp(4)), blocking(cmp(4), 64)] {
        let (nodes, contexts) = (config.cores, config.contexts);
        for caches in [DirectoryConfig::gu2011(nodes, contexts), DirectoryConfig { nodes, contexts, ..tiny() }] {
            let chip = finish(&config, &caches, &words);
            let first = u64::from(words[0]) | u64::from(words[1]) << 32;
            assert_eq!((chip.register(0, 20), chip.register(0, 22)), (first, first));
        }
    }
}

/// The page shows the table of the design with all its rows.
#[test]
fn the_documentation_shows_the_table() {
    let config = DirectoryConfig { design: mb_processor::directory::protocol::DeviceTransactions::OptCache, ..tiny() };
    let table = Protocol::new(config.design, true).to_string();
    let page = include_str!("../../docs/coherence.md");
    assert!(page.contains(&table), "processor/docs/coherence.md has another table; expected:\n{table}");
}
