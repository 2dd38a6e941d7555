// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All registers are compared with an independent emulator after every instruction. Memory
//! addresses follow from registers, so they are compared too.

use std::path::Path;

use mb_processor::{Ppc32, Program, Rv64, Step};

use super::emulator::{self, Emulator};
use super::{LinuxCalls, State, Visible};

/// Runs the program at `path` on both, for at most `limit` instructions; returns the number of
/// instructions.
pub(crate) fn compare<H: Visible>(emulator: &Emulator, path: &Path, program: &Program, mut hart: H, limit: u64) -> u64 {
    let mut memory = program.memory(0);
    let mut handler = LinuxCalls::default();
    let mut count = 0;
    let mut ended = false;
    emulator.run(path, |expected| {
        assert!(!ended, "{}: ended here, but not in the emulator", path.display());
        if count == 0 {
            // Programs set their own stack pointer; until then they have that of the emulator.
            hart.set_stack(expected.registers[if program.isa() == mb_processor::Isa::Ppc32 { 1 } else { 2 }]);
        }
        let mut found = hart.state();
        // The emulator shows no fcsr.
        found.registers.truncate(expected.registers.len());
        assert!(found == *expected, "{}: before instruction {count}: {}", path.display(), difference(&found, expected));
        match hart.step(&mut memory, &mut handler) {
            Ok(Step::Retired(_)) => count += 1,
            Ok(Step::Exited(_)) => ended = true,
            other => panic!("{}: {other:x?} at instruction {count}", path.display()),
        }
        count < limit
    });
    assert!(ended || count == limit, "{}: ended in the emulator, but not here, at {:#x}", path.display(), hart.pc());
    count
}

fn difference(found: &State, expected: &State) -> String {
    let registers = found.registers.iter().zip(&expected.registers).enumerate();
    let registers = registers.filter(|(_, (found, expected))| found != expected);
    let list: Vec<String> =
        registers.map(|(index, (found, expected))| format!("{index}: {found:#x}, not {expected:#x}")).collect();
    format!("pc {:#x}, not {:#x}; registers {}", found.pc, expected.pc, list.join("; "))
}

/// Most instructions of each guest program.
const LIMIT: u64 = 25_000;

#[test]
fn guest_programs_have_the_registers_of_the_emulator() {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware/elf");
    for name in ["md5", "bench", "stream"] {
        if emulator::PPC32.is_installed() {
            let path = guest.join(format!("{name}.ppc32.elf"));
            let program = Program::load(&std::fs::read(&path).expect("a committed file")).expect("a program");
            let thread = Ppc32::load(&program, 1).expect("of PPC32").remove(0);
            assert!(compare(&emulator::PPC32, &path, &program, thread, LIMIT) > 20_000);
        }
    }
    for name in ["md5", "bench", "stream", "float"] {
        if emulator::RV64.is_installed() {
            let path = guest.join(format!("{name}.rv64.elf"));
            let program = Program::load(&std::fs::read(&path).expect("a committed file")).expect("a program");
            let thread = Rv64::load(&program, 1).expect("of RV64").remove(0);
            assert!(compare(&emulator::RV64, &path, &program, thread, LIMIT) > 20_000);
        }
    }
}
