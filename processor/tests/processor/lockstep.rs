// SPDX-License-Identifier: Apache-2.0 OR MIT
//! After each instruction, all registers are those of an independent emulator; so are pc and addresses, which come from them.

use std::path::Path;

use mb_processor::{Ppc32, Program, Rv64, Step};

use super::emulator::{self, Emulator};
use super::{Bare, State, Visible};

/// Runs the program at `path` on both, for at most `limit` instructions; how many there were.
pub(crate) fn compare<H: Visible>(emulator: &Emulator, path: &Path, program: &Program, mut hart: H, limit: u64) -> u64 {
    let mut memory = program.memory(0);
    let mut host = Bare::default();
    let mut count = 0;
    let mut ended = false;
    emulator.run(path, |expected| {
        assert!(!ended, "{}: it has ended here, but not there", path.display());
        if count == 0 {
            // Programs set their own; before that, it is the emulator's.
            hart.set_stack(expected.registers[if program.machine() == mb_processor::Machine::Ppc32 { 1 } else { 2 }]);
        }
        let found = hart.state();
        assert!(found == *expected, "{}: before instruction {count}: {}", path.display(), difference(&found, expected));
        match hart.step(&mut memory, &mut host) {
            Ok(Step::Retired(_)) => count += 1,
            Ok(Step::Exited(_)) => ended = true,
            other => panic!("{}: {other:x?} at instruction {count}", path.display()),
        }
        count < limit
    });
    assert!(ended || count == limit, "{}: it has ended there, but not here, at {:#x}", path.display(), hart.pc());
    count
}

fn difference(found: &State, expected: &State) -> String {
    let registers = found.registers.iter().zip(&expected.registers).enumerate();
    let registers = registers.filter(|(_, (found, expected))| found != expected);
    let list: Vec<String> =
        registers.map(|(index, (found, expected))| format!("{index}: {found:#x}, not {expected:#x}")).collect();
    format!("pc {:#x}, not {:#x}; registers {}", found.pc, expected.pc, list.join("; "))
}

/// Of each program that runs without a host of ours, at most so many instructions.
const LIMIT: u64 = 25_000;

#[test]
fn guest_programs_do_as_in_the_emulator() {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/elf");
    for name in ["md5", "bench", "stream"] {
        if emulator::PPC32.is_here() {
            let path = guest.join(format!("{name}.ppc32.elf"));
            let program = Program::load(&std::fs::read(&path).expect("it is committed")).expect("a program");
            let thread = Ppc32::load(&program, 1).expect("of PPC32").remove(0);
            assert!(compare(&emulator::PPC32, &path, &program, thread, LIMIT) > 20_000);
        }
        if emulator::RV64.is_here() {
            let path = guest.join(format!("{name}.rv64.elf"));
            let program = Program::load(&std::fs::read(&path).expect("it is committed")).expect("a program");
            let thread = Rv64::load(&program, 1).expect("of RV64").remove(0);
            assert!(compare(&emulator::RV64, &path, &program, thread, LIMIT) > 20_000);
        }
    }
}
