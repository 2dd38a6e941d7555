// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random words decode if and only if the GNU disassembler prints an instruction of the tables.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use mb_core::random::Random;
use mb_processor::{Hart, Isa, Ppc32, Program, Rv64};

use super::directed::lines;
use super::elf::{self, CODE};

/// Number of words.
const WORDS: usize = 150_000;

/// What the disassembler accepts of RISC-V.
const ARCHITECTURE: &str =
    "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0_zihintpause2p0_zawrs1p0_zba1p0_zbb1p0";

/// Offset, bits and name of each disassembled instruction, or `None` with a message if the
/// disassembler is not installed.
fn disassemble(machine: Isa, code: &[u8]) -> Option<Vec<(u64, u32, String)>> {
    // No aliases, and with the instructions of the 405.
    let (tool, options): (_, &[&str]) = match machine {
        Isa::Ppc32 => ("powerpc-linux-gnu-objdump", &["-b", "binary", "-m", "powerpc", "-M", "405,raw", "-EB"]),
        Isa::Rv64 => ("riscv64-linux-gnu-objdump", &["-j", ".text", "-M", "no-aliases"]),
    };
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("words-{machine:?}-{}.bin", code.len()));
    let file = if machine == Isa::Rv64 { elf::riscv_object(code, ARCHITECTURE) } else { code.to_vec() };
    std::fs::write(&path, file).expect("a writable directory");
    let output = match Command::new(tool).args(["-D", "-z"]).args(options).arg(&path).output() {
        Ok(output) => output,
        Err(error) => {
            // Not through `eprintln`, which the test harness would capture.
            writeln!(std::io::stderr(), "SKIPPED: {tool}: {error} (see `setup.sh guest`)")
                .expect("standard error is open");
            return None;
        }
    };
    let text = String::from_utf8(output.stdout).expect("objdump prints text");
    let found = text.lines().filter_map(|line| {
        // Offset, bytes (separate or as one number), and instruction.
        let mut columns = line.trim().split('\t');
        let offset = u64::from_str_radix(columns.next()?.strip_suffix(':')?, 16).ok()?;
        let bits = u32::from_str_radix(&columns.next()?.replace(' ', ""), 16).ok()?;
        let name = columns.next()?.split([' ', ',']).next()?;
        Some((offset, bits, base_name(machine, name)))
    });
    Some(found.collect())
}

/// The mnemonic without the suffixes of its forms: record, link, absolute, ordering, 64-bit shift
/// amounts.
fn base_name(machine: Isa, name: &str) -> String {
    match machine {
        Isa::Ppc32 if name.starts_with('b') => {
            let known = ["bcctr", "bclr", "bc", "b"].into_iter().find(|known| name.starts_with(known));
            known.unwrap_or(name).to_owned()
        }
        Isa::Ppc32 => name.trim_end_matches('.').to_owned(),
        Isa::Rv64 => {
            let name = [".aqrl", ".aq", ".rl"].into_iter().find_map(|order| name.strip_suffix(order)).unwrap_or(name);
            name.strip_suffix("64").unwrap_or(name).to_owned()
        }
    }
}

/// Whether decoder and disassembler may differ.
fn is_exception(machine: Isa, bits: u32) -> bool {
    let code = bits >> 1 & 0x3ff;
    match (machine, bits >> 26) {
        // Our decoder ignores reserved bits of BO, and refuses bcctr with a decrement and reserved
        // bits of sc.
        (Isa::Ppc32, 16 | 17) => true,
        (Isa::Ppc32, 19) => matches!(code, 16 | 528),
        // 64-bit comparisons have the mnemonics of 32-bit ones, and the disassembler ignores a
        // reserved bit.
        (Isa::Ppc32, 10 | 11) => bits >> 21 & 3 != 0,
        // isel is not in the 405, few special registers are implemented, and lwarx has a hint bit.
        (Isa::Ppc32, 31) => match code {
            0 | 32 => bits >> 21 & 3 != 0,
            20 => bits & 1 == 1,
            339 | 371 | 467 => true,
            _ => code & 31 == 15,
        },
        // Our decoder ignores the fields of fences, as the manual requires; CSR accesses of every
        // number decode; c.addi16sp with 0 is reserved; and the disassembler prints reserved
        // rounding modes.
        (Isa::Rv64, _) => {
            let rounds = matches!(bits & 0x7f, 0x43 | 0x47 | 0x4b | 0x4f | 0x53);
            let reserved = rounds && matches!(bits >> 12 & 7, 5 | 6);
            // Conversions that are always exact, with a mode.
            let exact = matches!(bits & 0xffe0_007f, 0xd200_0053 | 0x4200_0053) && bits >> 12 & 7 != 0;
            reserved || exact || matches!(bits & 0x7f, 0x0f | 0x73) || bits == 0x6101
        }
        _ => false,
    }
}

/// Random words, many of them with zeros in fields that are often reserved.
fn words(machine: Isa) -> Vec<u8> {
    let mut random = Random::of(7, &[]);
    let word = |random: &mut Random| {
        let word = random.next() as u32;
        if machine == Isa::Rv64 {
            let kept =
                random.pick(&[u32::MAX, 0x01ff_ffff, 0x41ff_ffff, 0x03ff_ffff, 0xf9ff_ffff, 0xfa0f_ffff, 0xfa7f_ffff]);
            // Half of the words are a compressed instruction and a c.nop.
            return if random.below(2) == 0 { word & 0xffff | 0x1_0000 } else { word & kept | 3 };
        }
        let opcode = random.pick(&[word >> 26, word >> 26, word >> 26, 31, 31, 31, 19, 4]);
        let zeros = random.pick(&[0, 0, 0x1f << 11, 0x1f << 16, 0x3 << 21, 0x001f_f801]) | random.pick(&[0, 1]);
        word & 0x03ff_ffff & !zeros | opcode << 26
    };
    (0..WORDS)
        .flat_map(|_| match machine {
            Isa::Ppc32 => word(&mut random).to_be_bytes(),
            Isa::Rv64 => word(&mut random).to_le_bytes(),
        })
        .collect()
}

fn check<H: Hart>(machine: Isa, table: &str, load: fn(&Program) -> H) {
    let encodings = lines(table).filter(|line| line.after != "illegal").map(|line| line.encoding);
    let accepted: Vec<u8> = encodings
        .flat_map(|encoding| {
            let bits = u32::from_str_radix(encoding, 16).expect("a hexadecimal number");
            let bytes = if machine == Isa::Ppc32 { bits.to_be_bytes() } else { bits.to_le_bytes() };
            bytes[..encoding.len() / 2].to_vec()
        })
        .collect();
    let Some(known) = disassemble(machine, &accepted) else { return };
    // The disassembler prints a directive for an unknown encoding.
    let names = known.into_iter().map(|(_, _, name)| name).filter(|name| !name.starts_with('.'));
    let known: BTreeSet<String> = names.collect();
    let code = words(machine);
    let hart = load(&Program::load(&elf::file(machine, &code)).expect("a program"));
    let mut seen = BTreeSet::new();
    for (offset, bits, name) in disassemble(machine, &code).expect("an installed disassembler") {
        let found = hart.instruction_at(CODE + offset).is_some();
        if !is_exception(machine, bits) {
            assert_eq!(found, known.contains(&name), "{bits:#010x} is `{name}`; whether it decodes");
        }
        if found {
            seen.insert(name);
        }
    }
    let share = seen.intersection(&known).count() * 100 / known.len();
    assert!(share > 80, "random words cover only {share} % of the instructions");
}

#[test]
fn ppc32_decodes_the_instructions_of_the_disassembler() {
    check(Isa::Ppc32, include_str!("ppc32.txt"), |program| Ppc32::load(program, 1).expect("of PPC32").remove(0));
}

#[test]
fn rv64_decodes_the_instructions_of_the_disassembler() {
    check(Isa::Rv64, include_str!("rv64.txt"), |program| Rv64::load(program, 1).expect("of RV64").remove(0));
}
