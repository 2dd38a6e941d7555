// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine with time: the same results as without, and what is measured.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use mb_moped::kernel::MemoryFiles;
use mb_moped::machine::{
    CoreKind, ExecutionMode, Machine, MachineParameters, MeasuredRegion, RunEnd, TimingParameters,
};

use crate::mpi::{DEADLOCK, TRANSPORTS, compile, written};
use crate::{USER, output, program, run, small, total};

const DESIGNS: [&str; 3] = ["base", "optcopy", "optcache"];

/// A small machine with time.
fn timed(harts: u32, kind: CoreKind, design: &str, mode: ExecutionMode) -> MachineParameters {
    let moped = mb_moped::presets::parameters(design);
    let timing = TimingParameters::gu2011(kind, harts as usize, Some(&moped));
    MachineParameters { mode, timing: Some(timing), moped: Some(moped), ..small(harts, 64) }
}

/// Every message that devices moved has arrived.
fn is_sound(machine: &mut Machine<MemoryFiles>, what: &str) {
    let moved = machine.moved();
    assert_eq!(moved.different(), 0, "{what}: {:?}", moved.differences());
    assert_eq!(moved.compared(), moved.bytes(), "{what}");
    for node in 0..machine.harts() {
        assert_eq!(machine.descriptors(node), 0, "{what}, node {node}");
    }
}

#[test]
fn kernel_and_device_do_the_same_with_time() {
    let kinds = [CoreKind::OutOfOrder, CoreKind::Scalar];
    let cases = ["pages", "unmap", "bad", "move", "leave", "hostile"];
    for (what, kind) in cases.into_iter().flat_map(|what| kinds.map(|kind| (what, kind))) {
        let parameters = timed(4, kind, "optcopy", ExecutionMode::Timing);
        let (end, mut machine) = run(&parameters, &[program(USER, 2, &["p", what], &[])]);
        let RunEnd::Exited(status) = end else { panic!("{what}: {end:?}") };
        // The process ends while its message is copied from a page that does not exist so far: it depends on time
        // whether the kernel still maps it.
        assert!(status == 0 || what == "leave", "{what}: {status}");
        assert_eq!(machine.messages(), "", "{what}");
        is_sound(&mut machine, what);
        assert!(total(&mut machine, |counters| counters.matched) > 0, "{what}");
    }
}

#[test]
fn a_program_of_mpi_verifies_with_time() {
    let Some(file) = compile("imb", &["programs/imb.c", "programs/kernel.c", "programs/mark_chip.c"]) else { return };
    let wide = CoreKind::OutOfOrder;
    let runs = DESIGNS.iter().map(|design| (TRANSPORTS[1], *design, ExecutionMode::Markers, wide)).chain([
        (TRANSPORTS[0], "base", ExecutionMode::Markers, wide),
        (TRANSPORTS[0], "base", ExecutionMode::Timing, CoreKind::InOrder),
        (TRANSPORTS[1], "optcopy", ExecutionMode::Timing, CoreKind::InOrder),
        (TRANSPORTS[0], "base", ExecutionMode::Markers, CoreKind::Scalar),
        (TRANSPORTS[1], "optcache", ExecutionMode::Timing, CoreKind::Scalar),
    ]);
    for (transport, design, mode, kind) in runs {
        let what = format!("{transport} {design} {mode:?} {kind:?}");
        let parameters = MachineParameters { memory: 128 << 20, quantum: 64, ..timed(4, kind, design, mode) };
        let environment = [transport];
        let programs = [program(&file, 4, &["imb", "PP", "16384", "3", "1"], &environment)];
        let (end, mut machine) = run(&parameters, &programs);
        assert_eq!(end, RunEnd::Exited(0), "{what}: {}", output(&machine));
        assert!(output(&machine).starts_with("PP-16384 ranks=4 verified"), "{what}: {}", output(&machine));
        // Ranks 2 and 3 wait for the end of the exchange.
        for hart in 0..machine.harts() {
            let (user, waiting) = (machine.timed_instructions(hart).0, machine.waiting_instructions(hart));
            let least = if hart < 2 { 1 } else { user / 4 };
            assert!((least..user).contains(&waiting), "{what}, core {hart}: {waiting} of {user}");
        }
        is_sound(&mut machine, &what);
        let regions = machine.regions();
        assert_eq!(machine.has_time(), mode == ExecutionMode::Timing, "{what}");
        let kinds: Vec<_> = regions.iter().map(|region| region.kind).collect();
        assert_eq!(kinds, if mode == ExecutionMode::Timing { &[0, 1, 2, 0][..] } else { &[1, 2][..] }, "{what}");
        for region in &regions {
            accounts_for_every_cycle(region, &what);
        }
    }
}

/// Every cycle of every core belongs to one process and one activity, or to none.
fn accounts_for_every_cycle(region: &MeasuredRegion, what: &str) {
    let sum: u64 = region.processes().iter().flatten().chain(&region.unused()).sum();
    assert_eq!(sum, region.cycles() * region.end.cores.len() as u64, "{what}");
}

/// Pages appear at the first access to one of them, also in the middle of an access.
#[test]
fn accesses_across_pages_are_those_of_the_emulator() {
    let Some(file) = compile("across", &["mpi/tests/across.c"]) else { return };
    let mut outputs = BTreeSet::new();
    for (kind, mode) in [
        (CoreKind::OutOfOrder, ExecutionMode::Functional),
        (CoreKind::OutOfOrder, ExecutionMode::Timing),
        (CoreKind::InOrder, ExecutionMode::Timing),
        (CoreKind::Scalar, ExecutionMode::Timing),
    ] {
        let parameters = MachineParameters { memory: 64 << 20, ..timed(1, kind, "base", mode) };
        let (end, machine) = run(&parameters, &[program(&file, 1, &["across"], &[])]);
        assert_eq!(end, RunEnd::Exited(0), "{kind:?} {mode:?}: {}", output(&machine));
        outputs.insert(output(&machine));
    }
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machine_across");
    match Command::new("qemu-riscv64").arg(binary).output() {
        Ok(done) => outputs.extend([String::from_utf8_lossy(&done.stdout).into_owned()]),
        // Without the emulator, the runs are compared with each other.
        Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
    }
    assert_eq!(outputs.len(), 1, "{outputs:?}");
}

/// Ranks r and r + n/2 exchange messages, eight times of them with time.
const HALVES: &str = "#include <mpi.h>\n\
    extern void mb_mark(int);\n\
    int main(int argc, char **argv)\n\
    { int rank, size, in = -1, wrong = 0; MPI_Init(&argc, &argv);\n\
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);\n\
    const int other = (rank + size / 2) % size;\n\
    for (int i = 0; i < 12; i++) {\n\
    if (i == 4) { MPI_Barrier(MPI_COMM_WORLD); mb_mark(2); }\n\
    int out = 100 * rank + i;\n\
    MPI_Sendrecv(&out, 1, MPI_INT, other, i, &in, 1, MPI_INT, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
    wrong += in != 100 * other + i; }\n\
    mb_mark(0); MPI_Finalize(); return wrong; }\n";

/// The MOPED of the receiver's node matches its messages, and a rank without packets of software looks at no queue: the
/// 63 queues of a rank have a page each, more than its TLB has room for beside others.
#[test]
fn sixty_four_cores_exchange_messages_with_time() {
    let mark = "programs/mark_chip.c";
    let Some(file) = compile("halves", &[&written("halves", HALVES), mark]) else { return };
    let parameters = timed(64, CoreKind::InOrder, "optcopy", ExecutionMode::Markers);
    let parameters = MachineParameters { memory: 256 << 20, quantum: 64, patience: 20_000_000, ..parameters };
    let environment = [TRANSPORTS[1]];
    let (end, mut machine) = run(&parameters, &[program(&file, 64, &["halves"], &environment)]);
    assert_eq!(end, RunEnd::Exited(0), "{}", output(&machine));
    is_sound(&mut machine, "64 cores");
    for node in 0..64 {
        let matched = machine.device(node).matched;
        assert!(matched >= 12, "node {node}: {matched}");
    }
    let regions = machine.regions();
    let [region] = &regions[..] else { panic!("{} regions", regions.len()) };
    let count = |name: &str| region.counts().find(|(found, _)| *found == name).map_or(0, |(_, count)| count);
    assert!(count("messages") >= 8 * 64 - 64, "{}", count("messages"));
    assert!(count("tlb_walks") < 64 * 100, "{} walks", count("tlb_walks"));
}

#[test]
fn two_runs_are_equal() {
    let once = || {
        let parameters = timed(4, CoreKind::OutOfOrder, "optcache", ExecutionMode::Timing);
        let (end, machine) = run(&parameters, &[program(USER, 2, &["p", "move"], &[])]);
        assert_eq!(end, RunEnd::Exited(0));
        let counts: Vec<_> = machine.regions().iter().flat_map(|region| region.counts().collect::<Vec<_>>()).collect();
        (machine.time(), counts, machine.moved().records().to_vec())
    };
    assert_eq!(once(), once());
}

#[test]
fn processes_that_wait_with_time_are_a_deadlock_and_are_named() {
    let parameters =
        MachineParameters { patience: 200_000, ..timed(2, CoreKind::InOrder, "base", ExecutionMode::Timing) };
    let (end, machine) = run(&parameters, &[program(USER, 2, &["p", "wait"], &[])]);
    let RunEnd::Deadlock(waiting) = end else { panic!("{end:?}") };
    let places: Vec<_> = waiting.iter().map(|place| (place.program, place.rank, place.hart)).collect();
    assert_eq!(places, [(0, 0, 0), (0, 1, 1)]);
    for place in &waiting {
        assert!(place.symbol.as_ref().is_some_and(|name| name.starts_with("wait+0x")), "{place}");
    }
    assert!(machine.time() > 200_000, "{}", machine.time());
}

#[test]
fn a_deadlock_with_time_names_the_calls() {
    let Some(file) = compile("deadlock_timed", &[&written("deadlock_timed", DEADLOCK)]) else { return };
    for transport in TRANSPORTS {
        let timing = timed(2, CoreKind::OutOfOrder, "optcopy", ExecutionMode::Timing);
        let parameters = MachineParameters { patience: 200_000, memory: 128 << 20, ..timing };
        let environment = [transport];
        let (end, _) = run(&parameters, &[program(&file, 2, &["p"], &environment)]);
        let RunEnd::Deadlock(waiting) = end else { panic!("{transport}: {end:?}") };
        let calls: Vec<_> = waiting.iter().map(|place| (place.rank, place.call.as_deref())).collect();
        assert_eq!(calls, [(0, Some("MPI_Recv")), (1, Some("MPI_Recv"))], "{transport}");
    }
}

#[test]
fn programs_share_the_device_with_time() {
    let names = ["pages", "move", "hostile", "bad"].map(|what| ["p", what]);
    let programs: Vec<_> = names.iter().map(|words| program(USER, 2, words, &[])).collect();
    let (end, mut machine) = run(&timed(4, CoreKind::InOrder, "base", ExecutionMode::Timing), &programs);
    assert_eq!((end, machine.messages(), machine.ended().len()), (RunEnd::Exited(0), String::new(), 8));
    is_sound(&mut machine, "four programs");
}

/// A message of one aligned line between two processes that do nothing else, to its completion:
///
/// - the receiver's MOPED walks the receiver's page table from the time on at which the receive is valid: 3 reads;
/// - it selects the pair (`find` after the match) and, when the walker is free, walks the sender's page table: 3 reads;
/// - the line to receive into is in the receiver's L2; the line to send comes from the sender's caches;
/// - it is written into the L2: a lookup.
///
/// With two nodes a line from the other node takes a lookup, a request to its home, the directory, a request to its
/// owner, the probe, and the way of the line; one of the requests stays in its node. A request may wait for a cycle of
/// the switch, and the device sees an event one cycle later.
///
/// The kernel wrote the page tables. With migratory reads each device takes their lines from the other one each time;
/// without, both have copies in their L2.
#[test]
fn a_message_of_one_line_takes_what_its_steps_take() {
    let source = "#include <mpi.h>\n\
        static _Alignas(64) char to[64], from[64];\n\
        int main(int argc, char **argv)\n\
        { int rank; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
        for (int i = 0; i < 64; i++) to[i] = (char)(i + rank);\n\
        for (int i = 0; i < 12; i++) {\n\
        if (rank == 0) MPI_Send(to, 64, MPI_CHAR, 1, 0, MPI_COMM_WORLD);\n\
        MPI_Recv(from, 64, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
        if (rank == 1) MPI_Send(to, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD); }\n\
        MPI_Finalize(); return from[5] != 6 - rank; }\n";
    let Some(file) = compile("line", &[&written("line", source)]) else { return };
    for migratory in [true, false] {
        let mut parameters =
            MachineParameters { memory: 64 << 20, ..timed(2, CoreKind::InOrder, "optcopy", ExecutionMode::Timing) };
        let timing = parameters.timing.as_mut().expect("time");
        timing.memory.migratory = migratory;
        let (memory, switch) = (timing.memory, timing.memory.switch);
        let devices = parameters.moped.as_ref().expect("devices");
        // From a valid receive to the end of its search, which visits one entry at most: its walk begins before.
        let (find, search) = (devices.find_cycles, devices.find_cycles + devices.walk_cycles + 1);
        let environment = [TRANSPORTS[1]];
        let (end, machine) = run(&parameters, &[program(&file, 2, &["p"], &environment)]);
        assert_eq!(end, RunEnd::Exited(0), "{}", output(&machine));
        // Two links.
        let way = |bytes: u64| {
            2 * switch.hop * switch.period + (switch.header + bytes).div_ceil(switch.link) * switch.period
                - switch.period
        };
        let line = memory.l2.hit + way(0) + memory.directory + memory.probe + way(64);
        let waits = switch.local + 2 * (switch.period - 1) + 2;
        let (read, read_waits) = if migratory { (line, waits) } else { (memory.l2.hit, 2) };
        let times = machine.moved().records().iter().filter(|record| record.bytes == 64);
        let times: Vec<_> = times.skip(8).map(|record| (record.posted, record.matched, record.completed)).collect();
        assert_eq!(times.len(), 16);
        let mut kept = 0;
        for &(posted, matched, completed) in &times {
            // The sender's walk begins with the choice of the pair, or at the end of the receiver's walk.
            let end = |begin: u64| begin + 3 * read + line + memory.l2.hit;
            let earliest = end((matched + find).max(posted - search + 3 * read));
            let latest = end((matched + find).max(posted + 3 * (read + read_waits))) + 3 * read_waits + waits + 4;
            // A core that has walked the same page table for another page has the lines of its two upper levels.
            let in_l2 = 2 * (read - memory.l2.hit);
            let fits = |less: u64| (earliest - less..=latest - less).contains(&completed);
            assert!(
                fits(0) || fits(in_l2),
                "migratory {migratory}: {completed} is not from {earliest} to {latest}, nor {in_l2} earlier: {times:?}"
            );
            kept += usize::from(!fits(0));
        }
        assert!(kept <= times.len() / 2, "migratory {migratory}: {kept} of {times:?}");
        // Whether the receiver's walk goes on at the match depends on how early the sender is, which is a matter of the
        // library's code. Both cases occur.
        let late = times.iter().filter(|(posted, matched, _)| posted + 3 * read > matched + find).count();
        assert!(if migratory { late > 0 } else { late < times.len() }, "migratory {migratory}: {late} of {times:?}");
    }
}

#[test]
#[ignore = "minutes; `make nightly` runs it"]
fn patterns_and_a_kernel_verify_with_time_on_sixteen_cores() {
    let compiled = |name: &str| {
        let own = format!("programs/{name}.c");
        compile(&format!("{name}_nightly"), &[&own, "programs/kernel.c", "programs/mark_chip.c"])
    };
    let (Some(imb), Some(mg)) = (compiled("imb"), compiled("mg")) else { return };
    let patterns = ["XC", "BC", "RD", "GA", "AA"].map(|pattern| vec!["imb", pattern, "16384", "2", "1"]);
    let runs: Vec<_> = patterns.into_iter().map(|words| (&imb, words)).chain([(&mg, vec!["mg"])]).collect();
    for (file, arguments) in runs {
        for (transport, design) in
            DESIGNS.map(|design| (TRANSPORTS[1], design)).into_iter().chain([(TRANSPORTS[0], "base")])
        {
            let what = format!("{arguments:?} {transport} {design}");
            let timing = timed(16, CoreKind::OutOfOrder, design, ExecutionMode::Markers);
            let parameters = MachineParameters { memory: 512 << 20, quantum: 64, patience: 5_000_000, ..timing };
            let environment = [transport];
            let (end, mut machine) = run(&parameters, &[program(file, 16, &arguments, &environment)]);
            assert_eq!(end, RunEnd::Exited(0), "{what}: {}", output(&machine));
            assert!(output(&machine).contains("ranks=16 verified"), "{what}: {}", output(&machine));
            is_sound(&mut machine, &what);
            for region in &machine.regions() {
                accounts_for_every_cycle(region, &what);
            }
        }
    }
}
