// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs, their build, and their output under an emulator.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mb_processor::linux::{Linux, Process};
use mb_processor::{Hart, Program, Step};

use crate::console::Console;

/// Bytes of memory of a program.
pub(crate) const MEMORY: u64 = 64 << 20;

/// Source files beside this one, with the compilers that build them.
const PROGRAMS: [(&str, &str); 3] = [
    ("library.c", "riscv64-linux-gnu-gcc"),
    ("exceptions.cpp", "riscv64-linux-gnu-g++"),
    ("arrays.f90", "riscv64-linux-gnu-gfortran"),
];

/// Prints a message outside of the test harness, which would capture it.
fn skip(what: &str, error: &std::io::Error) {
    writeln!(std::io::stderr(), "SKIPPED: {what}: {error} (see `setup.sh guest`)").expect("standard error is open");
}

/// Builds a program for a test; `None` if the compiler is not installed.
pub(crate) fn build(source: &str, compiler: &str, test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux");
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{source}-{test}.elf"));
    let result =
        Command::new(compiler).args(["-O2", "-static", "-o"]).arg(&output).arg(folder.join(source)).arg("-lm").output();
    match result {
        Err(error) => {
            skip(compiler, &error);
            None
        }
        Ok(done) => {
            assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
            Some(output)
        }
    }
}

/// Arguments after the path of the program.
pub(crate) const ARGUMENTS: [&str; 2] = ["three", "words here"];

/// The output and status under qemu, if it is installed.
fn emulated(program: &Path) -> Option<Output> {
    match Command::new("qemu-riscv64").arg(program).args(ARGUMENTS).env_clear().output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip("qemu-riscv64", &error);
            None
        }
    }
}

/// A program at its start.
pub(crate) fn start(path: &Path) -> Process<Console> {
    let file = std::fs::read(path).expect("a file of this test");
    let program = Program::load(&file).expect("a static program");
    let mut arguments = vec![path.to_str().expect("ASCII").as_bytes().to_vec()];
    arguments.extend(ARGUMENTS.iter().map(|word| word.as_bytes().to_vec()));
    Linux::start(&program, &arguments, &[], MEMORY, Console::default()).expect("enough memory")
}

/// Runs a program functionally; returns its status.
pub(crate) fn run(process: &mut Process<Console>) -> u64 {
    loop {
        match process.hart.step(&mut process.memory, &mut process.linux) {
            Ok(Step::Retired(_)) => {}
            Ok(Step::Exited(status)) => return status,
            other => panic!("{other:x?}; {:?}", String::from_utf8_lossy(&process.linux.files().output)),
        }
    }
}

#[test]
fn programs_of_three_languages_have_the_output_of_the_emulator() {
    for (source, compiler) in PROGRAMS {
        let Some(path) = build(source, compiler, "emulator") else { continue };
        let mut process = start(&path);
        let status = run(&mut process);
        assert_eq!(process.linux.refused(), None, "{source}");
        let found = String::from_utf8_lossy(&process.linux.files().output).into_owned();
        if let Some(expected) = emulated(&path) {
            assert_eq!(found, String::from_utf8_lossy(&expected.stdout), "{source}");
            assert_eq!(process.linux.files().error, expected.stderr, "{source}");
            assert_eq!(Some(status as i32), expected.status.code(), "{source}");
        }
        assert!(found.contains("all done"), "{source}: {found}");
        std::fs::remove_file(path).expect("a file of this test");
    }
}

#[test]
fn files_are_opened_with_the_numbers_and_flags_of_newlib() {
    let Some(path) = build("newlib.c", "riscv64-linux-gnu-gcc", "calls") else { return };
    let mut process = start(&path);
    assert_eq!(run(&mut process), 0, "the line of the program whose check failed");
    std::fs::remove_file(path).expect("a file of this test");
}
