// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs for the fuzzer, which no test compiles, and their functions on a few inputs.

use mb_core::random::Random;

/// A program: its name, its text, the function that it calls, and its kept corpus.
type Target = (&'static str, &'static str, fn(&[u8]), &'static str);

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        &[$((
            stringify!($name),
            include_str!(concat!("../../fuzz_targets/", stringify!($name), ".rs")),
            mb_targets::$name,
            include_str!(concat!("../../corpus/", stringify!($name), ".txt")),
        )),*]
    };
}

const TARGETS: &[Target] = targets![
    asm_text,
    capture_read,
    conform_outcomes,
    elf_load,
    engine_description,
    preset,
    replay,
    trace_killed,
    trace_read,
    trace_sealed,
    unit_run,
    word_decode,
];

const MANIFEST: &str = include_str!("../../Cargo.toml");

/// What is wrong with the manifest of the programs, or with a program.
fn objection(manifest: &str, targets: &[Target]) -> Option<String> {
    let found = manifest.matches("[[bin]]").count();
    if found != targets.len() {
        return Some(format!("fuzz/Cargo.toml: found {found} programs, expected {}", targets.len()));
    }
    for (name, text, ..) in targets {
        let bin = format!("[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
        if !manifest.contains(&bin) {
            return Some(format!("fuzz/Cargo.toml: found no\n{bin}"));
        }
        let call = format!(
            "// SPDX-License-Identifier: Apache-2.0 OR MIT\n//! Calls `mb_targets::{name}`.\n\n#![no_main]\n\n\
             libfuzzer_sys::fuzz_target!(|data: &[u8]| mb_targets::{name}(data));\n"
        );
        if *text != call {
            return Some(format!("fuzz/fuzz_targets/{name}.rs: found\n{text}expected\n{call}"));
        }
    }
    None
}

#[test]
fn every_program_calls_the_function_of_its_name() {
    assert_eq!(objection(MANIFEST, TARGETS), None);
}

#[test]
fn a_program_that_is_missing_unnamed_or_does_something_else_is_found() {
    let found = objection(MANIFEST, &TARGETS[1..]).unwrap();
    assert_eq!(found, "fuzz/Cargo.toml: found 12 programs, expected 11");
    let unnamed = MANIFEST.replace("\"elf_load\"", "\"elf\"");
    let found = objection(&unnamed, TARGETS).unwrap();
    assert!(found.starts_with("fuzz/Cargo.toml: found no\n[[bin]]\nname = \"elf_load\""), "{found}");
    let mut other = TARGETS.to_vec();
    (other[0].1, other[1].1) = (other[1].1, other[0].1);
    let found = objection(MANIFEST, &other).unwrap();
    assert!(found.starts_with("fuzz/fuzz_targets/asm_text.rs: found\n"), "{found}");
}

/// An input on which the target did not end: its program sends words of an answer without end.
#[test]
fn a_match_program_that_never_ends_its_answer_is_refused() {
    mb_targets::unit_run(&[0x12, 0x16, 0x00, 0x26, 0x12, 0x00, 0x00, 0x00]);
}

/// The bytes of a line of hexadecimal digits.
fn bytes_of(line: &str) -> Vec<u8> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16).expect("a hexadecimal digit") as u8;
    line.as_bytes().chunks(2).map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect()
}

/// The smallest inputs that together reach what the fuzzer has reached.
#[test]
fn no_target_panics_on_its_kept_corpus() {
    for (name, _, target, corpus) in TARGETS {
        assert!(corpus.lines().count() > 5, "fuzz/corpus/{name}.txt");
        for (line, text) in (1..).zip(corpus.lines()) {
            let run = std::panic::catch_unwind(|| target(&bytes_of(text)));
            assert!(run.is_ok(), "fuzz/corpus/{name}.txt:{line}: {text}");
        }
    }
}

#[test]
fn no_target_panics_on_random_bytes() {
    for (name, _, target, _) in TARGETS {
        for seed in 0..100 {
            let mut random = Random::of(seed, &[]);
            let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
            let run = std::panic::catch_unwind(|| target(&bytes));
            assert!(run.is_ok(), "{name}: seed {seed}, {bytes:?}");
        }
    }
}
