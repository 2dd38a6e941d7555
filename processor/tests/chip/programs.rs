// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The committed guest programs: the results are those of functional execution.

use mb_processor::chip::{Chip, ChipConfig, ChipStop, blocking, cmp, cmp2, in_order, smt};
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{FixedLatency, Hart, Memory, Program, Rv64, Service, Step, Syscall, SyscallHandler, SyscallResult};

use crate::Console;
use crate::run::run_until;

/// The same handler for functional execution.
#[derive(Default)]
struct Untimed(Vec<u8>);

impl SyscallHandler for Untimed {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        0
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        match call.service {
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            Service::Write => {
                let [_, address, bytes, ..] = call.arguments;
                self.0.extend_from_slice(memory.get(address, bytes as usize).unwrap());
                SyscallResult::Value(bytes)
            }
            _ => SyscallResult::Value(0),
        }
    }
}

fn check(elf: &[u8], config: &ChipConfig, latency: u64, fetch: u64) {
    let program = Program::load(elf).unwrap();
    let mut untimed = Rv64::load(&program, 1).unwrap().remove(0);
    let (mut expected, mut handler) = (program.memory(0), Untimed::default());
    untimed.set_argument(1, config.harts() as u64);
    let mut count = 0;
    let status = loop {
        match untimed.step(&mut expected, &mut handler).unwrap() {
            Step::Retired(_) => count += 1,
            Step::Exited(status) => break status,
            Step::Waiting => unreachable!("the handler never waits"),
        }
    };
    let (memory, contexts) = (program.memory(0), config.contexts);
    let mut memory = FixedLatency::new(memory, NoDevice, config.cores, contexts, latency, fetch);
    let mut chip = Chip::new(config, program.entry()).unwrap();
    for hart in 1..config.harts() {
        chip.halt(hart);
    }
    let mut console = Console::default();
    let stop = run_until(&mut chip, 100_000_000, &mut memory, &mut console).unwrap();
    assert_eq!(stop, ChipStop::Exited { hart: 0, status });
    assert_eq!(chip.statistics(0).committed, count);
    assert!(!console.written.is_empty() || count > 1000);
    assert_eq!(console.written, handler.0);
    for register in 0..32 {
        assert_eq!(chip.register(0, register), untimed.register(register), "x{register}");
    }
    let range = expected.range();
    let length = (range.end - range.start) as usize;
    assert!(memory.bytes(range.start, length) == expected.get(range.start, length), "the final memory differs");
}

#[test]
fn a_guest_program_has_the_results_of_functional_execution() {
    for elf in [
        &include_bytes!("../../firmware/elf/md5.rv64.elf")[..],
        include_bytes!("../../firmware/elf/stream.rv64.elf"),
        include_bytes!("../../firmware/elf/bench.rv64.elf"),
    ] {
        for config in [smt(8), cmp(2), cmp2(1), in_order(cmp(1)), in_order(smt(1)), blocking(cmp(1), 64)] {
            check(elf, &config, 1, 1);
            check(elf, &config, 7, 3);
        }
    }
}
