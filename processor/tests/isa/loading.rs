// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ELF loader: programs, and errors with what was found and what was expected.

use std::path::Path;

use mb_processor::{Isa, LoadError, Ppc32, Program, Rv64};
use proptest::prelude::*;

use super::elf::{self, CODE, DATA, DATA_BYTES};

#[test]
fn every_program_of_the_firmware_loads_with_its_symbols() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware/elf");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a committed folder") {
        let path = entry.expect("a file").path();
        let program = Program::load(&std::fs::read(&path).expect("a file")).expect("a program");
        let expected = if path.to_string_lossy().contains(".ppc32.") { Isa::Ppc32 } else { Isa::Rv64 };
        assert_eq!(program.isa(), expected, "{}", path.display());
        let [start, main] = ["_start", "main"].map(|name| program.symbol(name).expect("a symbol"));
        assert_eq!(start.address, program.entry());
        assert!(program.code().contains(&main.address) && main.bytes > 0, "{}: {main:?}", path.display());
        let memory = program.memory(4096);
        for (name, symbol) in program.symbols() {
            let inside =
                memory.range().contains(&symbol.address) && symbol.address + symbol.bytes <= memory.range().end;
            assert!(inside, "{}: {name} is at {symbol:x?}, outside of {:x?}", path.display(), memory.range());
        }
        count += 1;
    }
    assert!(count >= 20, "only {count} programs");
}

#[test]
fn segments_are_at_the_addresses_of_the_file() {
    for machine in [Isa::Ppc32, Isa::Rv64] {
        let program = Program::load(&elf::file(machine, &[1, 2, 3, 4])).expect("a program");
        let memory = program.memory(16);
        assert_eq!(memory.range(), CODE..DATA + DATA_BYTES + 16);
        assert_eq!(memory.get(CODE - 1, 1), None);
        assert_eq!(memory.get(CODE, 5), Some(&[1, 2, 3, 4, 0][..]));
        assert_eq!(memory.get(DATA + DATA_BYTES + 15, 1), Some(&[0][..]));
        assert_eq!(memory.get(DATA + DATA_BYTES + 15, 2), None);
        assert_eq!(program.symbol("_start"), None);
    }
}

/// Offsets in a file and the bytes to write there.
type Changes<'a> = &'a [(usize, &'a [u8])];

/// Loads an RV64 file with changes.
fn changed(changes: Changes) -> Result<Program, LoadError> {
    let mut file = elf::file(Isa::Rv64, &[0x13, 0, 0, 0]);
    for (place, bytes) in changes {
        file[*place..place + bytes.len()].copy_from_slice(bytes);
    }
    Program::load(&file)
}

#[test]
fn an_unsupported_file_is_refused_with_what_was_found_and_expected() {
    // Offsets in the file header and in the program headers of code and data.
    let [header_type, machine, entry, segments] = [16, 18, 24, 56];
    let [code, data] = [64, 64 + 56];
    let [kind, flags, address, in_file, in_memory] = [0, 4, 16, 32, 40];
    let cases: [(&str, Changes); 16] = [
        ("not a well-formed ELF file: ", &[(0, b"#!/bin")]),
        ("not a well-formed ELF file: ", &[(segments, &[0xff, 0xff])]),
        (
            "found a program for 64-bit little-endian x86-64; expected one for 32-bit big-endian PowerPC or 64-bit \
             little-endian RISC-V",
            &[(machine, &[62])],
        ),
        ("found a program for 64-bit little-endian PowerPC; expected one for", &[(machine, &[20])]),
        ("found a program for 64-bit big-endian machine 62208; expected one for", &[(5, &[2])]),
        ("file of type 3; expected an executable at fixed addresses (2)", &[(header_type, &[3])]),
        ("dynamically linked; expected a static executable", &[(data + kind, &[3])]),
        (
            "segment at 0x200000 has 4097 bytes in the file and 4096 in memory; expected bytes inside the file, no \
             more than in memory, and addresses below 2^47",
            &[(data + in_file, &[1, 0x10])],
        ),
        (
            "segment at 0x100000 has 5 bytes in the file and 5 in memory;",
            &[(code + in_file, &[5]), (code + in_memory, &[5])],
        ),
        ("segment at 0x800000200000 has 0 bytes in the file and 4096 in memory;", &[(data + address + 5, &[0x80])]),
        ("segment at 0xffffffffffffffff has 0 bytes in the file and 4096 in memory;", &[(data + address, &[0xff; 8])]),
        (
            "segment at 0x100002 begins before the end of the segment listed before it; expected ascending addresses",
            &[(data + address, &[2, 0, 0x10])],
        ),
        (
            "segments span 5369761792 bytes; expected at most 268435456",
            &[(data + address + 4, &[1]), (data + address + 3, &[0x40])],
        ),
        ("found 0 code segments; expected 1", &[(code + flags, &[4])]),
        ("found 2 code segments; expected 1", &[(data + flags, &[5])]),
        ("code segment at 0x100000 is writable; expected read-only code; link without -N", &[(code + flags, &[7])]),
    ];
    assert!(changed(&[]).is_ok());
    for (message, changes) in cases {
        let error = changed(changes).expect_err(message).to_string();
        assert!(error.starts_with(message), "found `{error}`, expected `{message}`");
    }
    let error = changed(&[(entry, &[4])]).expect_err("the entry is after the code").to_string();
    assert_eq!(error, "entry 0x100004 is outside of the code; expected an address in 0x100000..0x100004");
    let rv64 = changed(&[]).expect("a program");
    let error = Ppc32::load(&rv64, 1).expect_err("not of PPC32").to_string();
    assert_eq!(error, "found a program for 64-bit little-endian RISC-V; expected one for 32-bit big-endian PowerPC");
}

proptest! {
    /// A short version of the fuzz target `fuzz/fuzz_targets/elf_load.rs`.
    #[test]
    fn a_damaged_file_is_an_error_or_a_program(
        wide in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
        cut in 0..4,
    ) {
        let mut file = if wide { RV64.to_vec() } else { PPC32.to_vec() };
        for (place, value) in changes {
            // Most tables are in the first and the last part of the file.
            let place = place.index(file.len() / 2);
            let place = if place < file.len() / 4 { place % 256 } else { file.len() - 1 - place };
            file[place] = value;
        }
        if cut == 0 {
            file.truncate(length.index(file.len()));
        }
        if let Ok(program) = Program::load(&file) {
            prop_assert!(program.code().contains(&program.entry()));
            let memory = program.memory(0);
            prop_assert!(memory.range().end - memory.range().start <= Program::LIMIT);
            prop_assert_eq!(Ppc32::load(&program, 1).is_ok(), program.isa() == Isa::Ppc32);
            prop_assert_eq!(Rv64::load(&program, 1).is_ok(), program.isa() == Isa::Rv64);
        }
    }
}

/// A program for each instruction set, with symbols.
const PPC32: &[u8] = include_bytes!("../../firmware/elf/queue.ppc32.elf");
const RV64: &[u8] = include_bytes!("../../firmware/elf/queue.rv64.elf");
