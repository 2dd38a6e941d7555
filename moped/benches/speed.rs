// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed of the chip with time: a whole run of CG of class S (`moped/programs`) with 16 processes on 16 coherent cores
//! with OPTCOPY, from the start of the kernel to the end of the last process, with its result verified.
//!
//! Instructions of waiting loops are not counted: those of rounds of the MPI library's loops that found nothing. The
//! references are the cores of other machines, on MD5; they are run for a tenth of a second before each turn. A run
//! of CG takes one to four minutes: `cargo bench -p mb-moped --bench speed -- 3 scalar` has three with scalar cores.
//! Without a kind of core, those run for which a ratio is expected.

#[path = "../../processor/benches/common/mod.rs"]
mod common;
#[path = "../../processor/benches/common/rates.rs"]
mod rates;

use std::path::Path;
use std::process::Command;

use mb_moped::kernel::{MemoryFiles, UserProgram};
use mb_moped::machine::{CoreKind, ExecutionMode, Machine, MachineParameters, RunEnd, TimingParameters};
use mb_moped::presets;
use mb_processor::Program;
use rates::{Count, Measured, barrel, out_of_order, report, run_time};

const CORES: u32 = 16;

fn make(folder: &str, words: &[String]) {
    let done = Command::new("make")
        .arg("--silent")
        .arg("-C")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
        .args(words)
        .status();
    assert!(done.expect("make is installed").success(), "make in moped/{folder}");
}

/// Builds CG and the MPI library.
fn cg() -> Vec<u8> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("speed");
    let library = out.join("chip/libmpi.a");
    make("mpi", &[library.display().to_string(), format!("OUT={}", out.display())]);
    let compiler = "riscv64-linux-gnu-gcc -march=rv64gc -mabi=lp64d -static -I../mpi";
    let binary = out.join("cg");
    make(
        "programs",
        &[
            format!("MPICC={compiler}"),
            format!("LIBS={}", library.display()),
            "WITH=mark_chip.c".to_owned(),
            format!("BUILD={}", out.display()),
            binary.display().to_string(),
        ],
    );
    std::fs::read(binary).expect("the binary")
}

/// Runs CG; returns its instructions without those of waiting loops.
fn run(file: &[u8], kind: CoreKind) -> Count {
    let moped = presets::parameters("optcopy");
    let timing = TimingParameters::gu2011(kind, CORES as usize, Some(&moped));
    let parameters = MachineParameters {
        harts: CORES,
        patience: 5_000_000,
        moped: Some(moped),
        mode: ExecutionMode::Timing,
        timing: Some(timing),
        ..MachineParameters::default()
    };
    let environment = ["MB_MPI_TRANSPORT=moped"];
    let program = UserProgram { file, ranks: CORES, first_core: 0, arguments: &["cg"], environment: &environment };
    let mut machine = Machine::new(&parameters, &[program], MemoryFiles::new(b"")).expect("a machine");
    assert_eq!(machine.run(), RunEnd::Exited(0));
    let output = String::from_utf8_lossy(machine.host().files().output()).into_owned();
    assert!(output.starts_with("CG ranks=16 verified"), "{output}");
    let mut count = Count::default();
    for hart in 0..machine.harts() {
        let (user, kernel) = machine.timed_instructions(hart);
        count.committed += user + kernel - machine.waiting_instructions(hart);
    }
    for region in machine.regions() {
        count.cycles += region.cycles();
        count.squashed +=
            region.end.cores.iter().zip(&region.begin.cores).map(|(e, b)| e.squashed - b.squashed).sum::<u64>();
    }
    count
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let turns = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(1);
    let (program, program32): (Program, Program) = (common::program("md5.rv64"), common::program("md5.ppc32"));
    let file = cg();
    let seconds = std::cell::RefCell::new(Vec::new());
    let timed = &|kind: CoreKind| {
        let start = run_time();
        let count = run(&file, kind);
        seconds.borrow_mut().push((kind.name(), count.committed, (run_time() - start) as f64 / 1e9));
        count
    };
    let words: Vec<String> = std::env::args().collect();
    let expected = [(CoreKind::OutOfOrder, (0, 0.5)), (CoreKind::Scalar, (1, 0.3)), (CoreKind::InOrder, (1, 0.0))];
    let named = |kind: CoreKind| words.iter().any(|word| word == kind.name());
    let any_named = CoreKind::ALL.into_iter().any(named);
    let mut cores: Vec<Measured<'_>> = vec![
        ("cortex_a72, md5", Box::new(|| out_of_order(&program)), None),
        ("barrel, md5", Box::new(|| barrel(&program32)), None),
    ];
    for (kind, reference) in expected {
        if if any_named { named(kind) } else { reference.1 > 0.0 } {
            let name = match kind {
                CoreKind::OutOfOrder => "16 out of order, CG",
                CoreKind::InOrder => "16 in order, CG",
                CoreKind::Scalar => "16 scalar, CG",
            };
            cores.push((name, Box::new(move || timed(kind)), Some(reference)));
        }
    }
    report(&cores, turns);
    for (name, instructions, elapsed) in seconds.borrow().iter() {
        println!(
            "CG, cores {name}: {:.1} million instructions, {elapsed:.1} s of the host",
            *instructions as f64 / 1e6
        );
    }
}
