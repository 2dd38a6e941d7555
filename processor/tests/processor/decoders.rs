// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What decodes is what the GNU disassembler takes for an instruction of the tables, of random words.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use mb_processor::{Hart, Machine, Ppc32, Program, Rv64};

use super::directed::lines;
use super::elf::{self, CODE};
use super::random::Random;

/// How many words are compared.
const WORDS: usize = 150_000;

/// Offset, bits and name of each instruction that the disassembler finds; none, and says so, if it is not installed.
fn disassemble(machine: Machine, code: &[u8]) -> Option<Vec<(u64, u32, String)>> {
    // As the words are: no names for special cases, and of what the 405 has, too.
    let (tool, options): (_, &[&str]) = match machine {
        Machine::Ppc32 => ("powerpc-linux-gnu-objdump", &["-m", "powerpc", "-M", "405,raw", "-EB"]),
        Machine::Rv64 => ("riscv64-linux-gnu-objdump", &["-m", "riscv:rv64", "-M", "no-aliases"]),
    };
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("words-{machine:?}-{}.bin", code.len()));
    std::fs::write(&path, code).expect("room on the disk");
    let output = match Command::new(tool).args(["-D", "-z", "-b", "binary"]).args(options).arg(&path).output() {
        Ok(output) => output,
        Err(error) => {
            // Straight to the terminal, or the test harness would keep it.
            writeln!(std::io::stderr(), "SKIPPED: {tool}: {error} (see `setup.sh guest`)").expect("somebody listens");
            return None;
        }
    };
    let text = String::from_utf8(output.stdout).expect("objdump prints text");
    let found = text.lines().filter_map(|line| {
        // Offset, bytes as they are or as a number, and the instruction.
        let mut columns = line.trim().split('\t');
        let offset = u64::from_str_radix(columns.next()?.strip_suffix(':')?, 16).ok()?;
        let bits = u32::from_str_radix(&columns.next()?.replace(' ', ""), 16).ok()?;
        let name = columns.next()?.split([' ', ',']).next()?;
        Some((offset, bits, base_name(machine, name)))
    });
    Some(found.collect())
}

/// The name without what says a form: record, link, absolute; order of atomic operations, wide amounts of shifts.
fn base_name(machine: Machine, name: &str) -> String {
    match machine {
        Machine::Ppc32 if name.starts_with('b') => {
            let known = ["bcctr", "bclr", "bc", "b"].into_iter().find(|known| name.starts_with(known));
            known.unwrap_or(name).to_owned()
        }
        Machine::Ppc32 => name.trim_end_matches('.').to_owned(),
        Machine::Rv64 => {
            let name = [".aqrl", ".aq", ".rl"].into_iter().find_map(|order| name.strip_suffix(order)).unwrap_or(name);
            name.strip_suffix("64").unwrap_or(name).to_owned()
        }
    }
}

/// Where the two may differ, and why.
fn is_free(machine: Machine, bits: u32) -> bool {
    let code = bits >> 1 & 0x3ff;
    match (machine, bits >> 26) {
        // Bits of BO without meaning are ignored here; hints, a counter that is the target, and bits beside sc are refused.
        (Machine::Ppc32, 16 | 17) => true,
        (Machine::Ppc32, 19) => matches!(code, 16 | 528),
        // Comparisons of 64 bits have the names of those of 32, and the disassembler passes over a reserved bit.
        (Machine::Ppc32, 10 | 11) => bits >> 21 & 3 != 0,
        // isel is of later processors; special registers are few; lwarx has a hint.
        (Machine::Ppc32, 31) => match code {
            0 | 32 => bits >> 21 & 3 != 0,
            20 => bits & 1 == 1,
            339 | 371 | 467 => true,
            _ => code & 31 == 15,
        },
        // Fields of fences are ignored, as the manual asks; control and status registers are few; c.addi16sp of 0 is reserved.
        (Machine::Rv64, _) => matches!(bits & 0x7f, 0x0f | 0x73) || bits == 0x6101,
        _ => false,
    }
}

/// Random words, many of them with zeros where instructions need them.
fn words(machine: Machine) -> Vec<u8> {
    let mut random = Random::new(7);
    let word = |random: &mut Random| {
        let word = random.next() as u32;
        if machine == Machine::Rv64 {
            let kept = random.pick(&[u32::MAX, 0x01ff_ffff, 0x41ff_ffff, 0x03ff_ffff, 0xf9ff_ffff]);
            // Half of them are compressed, with a c.nop after them.
            return if random.below(2) == 0 { word & 0xffff | 0x1_0000 } else { word & kept | 3 };
        }
        let opcode = random.pick(&[word >> 26, word >> 26, word >> 26, 31, 31, 31, 19, 4]);
        let zeros = random.pick(&[0, 0, 0x1f << 11, 0x1f << 16, 0x3 << 21, 0x001f_f801]) | random.pick(&[0, 1]);
        word & 0x03ff_ffff & !zeros | opcode << 26
    };
    (0..WORDS)
        .flat_map(|_| match machine {
            Machine::Ppc32 => word(&mut random).to_be_bytes(),
            Machine::Rv64 => word(&mut random).to_le_bytes(),
        })
        .collect()
}

fn check<H: Hart>(machine: Machine, table: &str, load: fn(&Program) -> H) {
    let encodings = lines(table).filter(|line| line.after != "illegal").map(|line| line.encoding);
    let accepted: Vec<u8> = encodings
        .flat_map(|encoding| {
            let bits = u32::from_str_radix(encoding, 16).expect("a hexadecimal number");
            let bytes = if machine == Machine::Ppc32 { bits.to_be_bytes() } else { bits.to_le_bytes() };
            bytes[..encoding.len() / 2].to_vec()
        })
        .collect();
    let Some(known) = disassemble(machine, &accepted) else { return };
    // Directives are what it does not know.
    let names = known.into_iter().map(|(_, _, name)| name).filter(|name| !name.starts_with('.'));
    let known: BTreeSet<String> = names.collect();
    let code = words(machine);
    let hart = load(&Program::load(&elf::file(machine, &code)).expect("a program"));
    let mut met = BTreeSet::new();
    for (offset, bits, name) in disassemble(machine, &code).expect("it was there before") {
        let found = hart.shape(CODE + offset).is_some();
        if !is_free(machine, bits) {
            assert_eq!(found, known.contains(&name), "{bits:#010x} is `{name}`; whether it decodes");
        }
        if found {
            met.insert(name);
        }
    }
    let share = met.intersection(&known).count() * 100 / known.len();
    assert!(share > 80, "random words are only {share} % of the instructions");
}

#[test]
fn ppc32_decodes_what_the_disassembler_knows() {
    check(Machine::Ppc32, include_str!("ppc32.txt"), |program| Ppc32::load(program, 1).expect("of PPC32").remove(0));
}

#[test]
fn rv64_decodes_what_the_disassembler_knows() {
    check(Machine::Rv64, include_str!("rv64.txt"), |program| Rv64::load(program, 1).expect("of RV64").remove(0));
}
