// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine with time: the same results as without, and what is measured.

use mb_guest::kernel::MemoryFiles;
use mb_moped::machine::{CoreKind, End, Machine, MachineParameters, Mode, Region, TimingParameters};

use crate::mpi::{TRANSPORTS, compile};
use crate::{USER, output, program, run, small, total};

const DESIGNS: [&str; 3] = ["base", "optcopy", "optcache"];

/// A small machine with time.
fn timed(harts: u32, kind: CoreKind, design: &str, mode: Mode) -> MachineParameters {
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
    for what in ["pages", "unmap", "bad", "move", "leave", "hostile"] {
        let parameters = timed(4, CoreKind::OutOfOrder, "optcopy", Mode::Timing);
        let (end, mut machine) = run(&parameters, &[program(USER, 2, &["p", what], &[])]);
        let End::Exited(status) = end else { panic!("{what}: {end:?}") };
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
    let runs = DESIGNS.iter().map(|design| (TRANSPORTS[1], *design, Mode::Markers)).chain([
        (TRANSPORTS[0], "base", Mode::Markers),
        (TRANSPORTS[0], "base", Mode::Timing),
        (TRANSPORTS[1], "optcopy", Mode::Timing),
    ]);
    for (transport, design, mode) in runs {
        let what = format!("{transport} {design} {mode:?}");
        let kind = if mode == Mode::Timing { CoreKind::InOrder } else { CoreKind::OutOfOrder };
        let parameters = MachineParameters { memory: 128 << 20, quantum: 64, ..timed(4, kind, design, mode) };
        let environment = [transport];
        let programs = [program(&file, 4, &["imb", "PP", "16384", "3", "1"], &environment)];
        let (end, mut machine) = run(&parameters, &programs);
        assert_eq!(end, End::Exited(0), "{what}: {}", output(&machine));
        assert!(output(&machine).starts_with("PP-16384 ranks=4 verified"), "{what}: {}", output(&machine));
        is_sound(&mut machine, &what);
        let regions = machine.regions();
        assert_eq!(machine.has_time(), mode == Mode::Timing, "{what}");
        let kinds: Vec<_> = regions.iter().map(|region| region.kind).collect();
        assert_eq!(kinds, if mode == Mode::Timing { &[0, 1, 2, 0][..] } else { &[1, 2][..] }, "{what}");
        for region in &regions {
            accounts_for_every_cycle(region, &what);
        }
    }
}

/// Every cycle of every core belongs to one process and one activity, or to none.
fn accounts_for_every_cycle(region: &Region, what: &str) {
    let sum: u64 = region.processes().iter().flatten().chain(&region.unused()).sum();
    assert_eq!(sum, region.cycles() * region.end.cores.len() as u64, "{what}");
}
