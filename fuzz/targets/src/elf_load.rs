// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary bytes as an ELF file: an error, or a program that executes instructions and system
//! calls or faults.

use mb_processor::{Hart, Memory, Ppc32, Program, Rv64, Step, Syscall, SyscallHandler, SyscallResult};

/// A handler that returns a result for every call.
struct AcceptAll;

impl SyscallHandler for AcceptAll {
    fn set_cycle(&mut self, _: u64) {}

    fn cycle(&self) -> u64 {
        u64::MAX
    }

    fn call(&mut self, call: Syscall, memory: &mut Memory) -> SyscallResult {
        memory.write(call.arguments[0], &[0; 3]).ok();
        SyscallResult::Value(call.arguments[1])
    }
}

fn run<H: Hart>(mut hart: H, mut memory: Memory) {
    for _ in 0..1000 {
        let pc = hart.pc();
        match hart.step(&mut memory, &mut AcceptAll) {
            Ok(Step::Retired(retired)) => {
                assert_eq!((retired.pc, retired.next), (pc, hart.pc()));
                assert_eq!(hart.instruction_at(pc), Some(retired.instruction));
            }
            Ok(Step::Waiting | Step::Exited(_)) => unreachable!("the handler never waits or exits"),
            Err(_) => {
                assert_eq!(hart.pc(), pc);
                return;
            }
        }
    }
}

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn elf_load(data: &[u8]) {
    let Ok(program) = Program::load(data) else { return };
    // Large programs only cost time.
    let memory = program.memory(64);
    if memory.range().end - memory.range().start > 1 << 20 {
        return;
    }
    if let Ok(mut threads) = Ppc32::load(&program, 1) {
        run(threads.remove(0), memory);
    } else if let Ok(mut threads) = Rv64::load(&program, 1) {
        run(threads.remove(0), memory);
    }
}
