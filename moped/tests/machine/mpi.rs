// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs with the MPI library of `moped/mpi` and glibc, where the cross compiler has it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use mb_moped::machine::{MachineParameters, RunEnd};

use crate::{output, program, run, small, total};

const COMPILER: &str = "riscv64-linux-gnu-gcc";

fn guest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// Compiles a program; `None` without a cross compiler that has a C library.
pub(crate) fn compile(name: &str, sources: &[&str]) -> Option<Vec<u8>> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = LIBRARY.get_or_init(|| {
        let (empty, file) = (target.join("machine_empty"), target.join("machine_empty.c"));
        std::fs::write(&file, "int main(void) { return 0; }\n").unwrap();
        let probe = Command::new(COMPILER).args(["-static", "-o"]).args([&empty, &file]).output().ok()?;
        if !probe.status.success() {
            return None;
        }
        let out = target.join("machine_mpi");
        let archive = out.join("chip/libmpi.a");
        let made = Command::new("make")
            .arg("-C")
            .arg(guest().join("mpi"))
            .arg(format!("OUT={}", out.display()))
            .arg(&archive)
            .output()
            .expect("make is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Some(archive)
    });
    let archive = library.as_ref()?;
    let binary = target.join(format!("machine_{name}"));
    let made = Command::new(COMPILER)
        .args(["-static", "-O2", "-march=rv64gc", "-o"])
        .arg(&binary)
        .arg("-I")
        .arg(guest().join("mpi"))
        .args(sources.iter().map(|source| guest().join(source)))
        .arg(archive)
        .arg("-lm")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(std::fs::read(binary).unwrap())
}

fn large(harts: u32, descriptors: usize) -> MachineParameters {
    MachineParameters { memory: 256 << 20, quantum: 64, patience: 20_000_000, ..small(harts, descriptors) }
}

pub(crate) const TRANSPORTS: [&str; 2] = ["MB_MPI_TRANSPORT=shm", "MB_MPI_TRANSPORT=moped"];

#[test]
fn the_calls_do_what_the_standard_says() {
    for name in ["collectives", "objects"] {
        let Some(file) = compile(name, &[&format!("mpi/tests/{name}.c")]) else { return };
        for transport in TRANSPORTS {
            // Only devices have descriptors.
            let descriptors: &[usize] = if transport.ends_with("moped") { &[64, 4] } else { &[64] };
            for &descriptors in descriptors {
                let (end, mut machine) = run(&large(4, descriptors), &[program(&file, 4, &["p"], &[transport])]);
                assert_eq!(end, RunEnd::Exited(0), "{name} {transport} {descriptors}: {}", output(&machine));
                assert!(output(&machine).contains(&format!("{name}: passed on 4 ranks")));
                let used = total(&mut machine, |counters| counters.completed);
                assert_eq!(used > 0, transport.ends_with("moped"), "{name} {transport}: {used} messages");
            }
        }
    }
}

#[test]
fn a_kernel_of_nas_verifies_its_answer() {
    let Some(file) = compile("mg", &["programs/mg.c", "programs/kernel.c", "programs/mark_chip.c"]) else { return };
    for transport in TRANSPORTS {
        let (end, mut machine) = run(&large(4, 64), &[program(&file, 4, &["mg"], &[transport])]);
        assert_eq!(end, RunEnd::Exited(0), "{transport}");
        assert!(output(&machine).starts_with("MG ranks=4 verified"), "{}", output(&machine));
        // One marker of each rank for warm-up, measured part and verification.
        assert_eq!(machine.host().marks().len(), 3 * 4);
        assert_eq!(total(&mut machine, |counters| counters.completed) > 1000, transport.ends_with("moped"));
    }
}

/// Each rank receives from its neighbour and from rank 0.
const RING: &str = "#include <mpi.h>\n\
    int main(int argc, char **argv)\n\
    { int rank, size, from = -1, all = -1; MPI_Init(&argc, &argv);\n\
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);\n\
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &from, 1, MPI_INT, (rank + size - 1) % size, 0,\n\
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
    if (rank == 0) all = 4711;\n\
    MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD); MPI_Finalize();\n\
    return size != 64 || from != (rank + size - 1) % size || all != 4711; }\n";

/// The buffers of all pairs of 64 processes are more than a GiB of addresses.
#[test]
fn sixty_four_processes_have_a_node_each() {
    let Some(file) = compile("ring", &[&written("ring", RING)]) else { return };
    for transport in TRANSPORTS {
        let (end, machine) = run(&large(64, 64), &[program(&file, 64, &["ring"], &[transport])]);
        assert_eq!(end, RunEnd::Exited(0), "{transport}: {}", output(&machine));
    }
}

/// The path of a program with this source.
pub(crate) fn written(name: &str, source: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("machine_{name}.c"));
    std::fs::write(&path, source).unwrap();
    path.to_str().expect("a path of UTF-8").to_owned()
}

/// Two processes receive, and none sends.
pub(crate) const DEADLOCK: &str = "#include <mpi.h>\n\
    int main(int argc, char **argv)\n\
    { int rank, n; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
    MPI_Recv(&n, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); return 0; }\n";

#[test]
fn a_program_that_deadlocks_is_named_with_its_calls() {
    let Some(file) = compile("deadlock", &[&written("deadlock", DEADLOCK)]) else { return };
    for transport in TRANSPORTS {
        let parameters = MachineParameters { patience: 4_000_000, ..large(2, 64) };
        let (end, _) = run(&parameters, &[program(&file, 2, &["p"], &[transport])]);
        let RunEnd::Deadlock(waiting) = end else { panic!("{transport}: {end:?}") };
        let calls: Vec<_> = waiting.iter().map(|place| (place.rank, place.call.as_deref())).collect();
        assert_eq!(calls, [(0, Some("MPI_Recv")), (1, Some("MPI_Recv"))], "{transport}");
    }
}

/// One process waits in a probe, the other asks again and again.
const PROBES: &str = "#include <mpi.h>\n\
    int main(int argc, char **argv)\n\
    { int rank, flag = 0; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
    if (rank == 0) MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
    while (!flag) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); return 0; }\n";

#[test]
fn probes_that_find_nothing_are_a_deadlock() {
    let Some(file) = compile("probes", &[&written("probes", PROBES)]) else { return };
    for transport in TRANSPORTS {
        let parameters = MachineParameters { patience: 2_000_000, limit: 30_000_000, ..large(2, 64) };
        let (end, _) = run(&parameters, &[program(&file, 2, &["p"], &[transport])]);
        let RunEnd::Deadlock(waiting) = end else { panic!("{transport}: {end:?}") };
        let calls: Vec<_> = waiting.iter().map(|place| (place.rank, place.call.as_deref())).collect();
        assert_eq!(calls, [(0, Some("MPI_Probe")), (1, Some("MPI_Iprobe"))], "{transport}");
        assert!(waiting.iter().all(|place| place.symbol.is_some()), "{transport}: {waiting:?}");
    }
}

/// A call that the library lacks, behind one that leaves its return address on the stack.
const LACKING: &str = "#include <mpi.h>\n\
    __attribute__((noinline)) static void ask(int *n, MPI_Request *r)\n\
    { MPI_Sendrecv(n, 1, MPI_INT, 0, 0, n + 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);\n\
    MPI_Ibcast(n, 1, MPI_INT, 0, MPI_COMM_WORLD, r); *r = 0; }\n\
    int main(int argc, char **argv) { int n[2] = {0, 0}; MPI_Request r; MPI_Init(&argc, &argv); ask(n, &r); return 0; }\n";

#[test]
fn a_call_that_the_library_lacks_is_named_with_its_place() {
    let Some(file) = compile("lacking", &[&written("lacking", LACKING)]) else { return };
    let (end, machine) = run(&large(1, 64), &[program(&file, 1, &["p"], &[TRANSPORTS[0]])]);
    assert_eq!(end, RunEnd::Exited(1));
    let said = machine.messages();
    assert!(said.contains("core 0: MPI_Ibcast: not supported by this library"), "{said}");
    assert!(said.contains(", called from MPI_Ibcast in ask+0x"), "{said}");
}
