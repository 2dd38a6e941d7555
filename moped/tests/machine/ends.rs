// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What ends a run: deadlocks, faults, limits, bad parameters.

use mb_moped::kernel::{BootError, MemoryFiles};
use mb_moped::machine::{Machine, MachineError, MachineParameters, RunEnd};

use crate::{USER, program, run, small};

#[test]
fn processes_that_only_wait_are_a_deadlock_and_are_named() {
    let (end, machine) = run(&small(3, 64), &[program(USER, 2, &["p", "wait"], &[])]);
    let RunEnd::Deadlock(waiting) = end else { panic!("{end:?}") };
    let places: Vec<_> = waiting.iter().map(|place| (place.program, place.rank, place.hart)).collect();
    assert_eq!(places, [(0, 0, 0), (0, 1, 1)]);
    for place in &waiting {
        assert!(place.symbol.as_ref().is_some_and(|name| name.starts_with("wait+0x")), "{place}");
    }
    // Not before the stated time without progress, and soon after it.
    assert!((2_000_000..3_200_000).contains(&machine.time()), "{}", machine.time());
}

#[test]
fn a_process_that_computes_is_no_deadlock() {
    let parameters = MachineParameters { patience: 400_000, ..small(2, 64) };
    // Some 4 million instructions, more than ten times the patience.
    let (end, _) = run(&parameters, &[program(USER, 2, &["p", "pages"], &[])]);
    assert_eq!(end, RunEnd::Exited(0));
}

#[test]
fn a_fault_is_named_with_its_function_and_ends_the_program() {
    let (end, machine) = run(&small(2, 64), &[program(USER, 2, &["p", "illegal"], &[])]);
    assert_eq!(end, RunEnd::Exited(128 + 4));
    let said = machine.messages();
    assert!(said.starts_with("kernel: program 0 rank 1 pid 2 core 1: illegal instruction"), "{said}");
    assert!(said.contains(" in main+0x"), "{said}");
    let mut ended: Vec<_> = machine.ended().iter().map(|ended| (ended.rank, ended.status)).collect();
    ended.sort_unstable();
    assert_eq!(ended, [(0, 128 + 9), (1, 128 + 4)]);
}

#[test]
fn a_run_stops_at_its_limit() {
    let parameters = MachineParameters { limit: 50_000, patience: 1_000_000_000, ..small(2, 64) };
    let (end, machine) = run(&parameters, &[program(USER, 2, &["p", "wait"], &[])]);
    assert!(matches!(end, RunEnd::Limit(_)), "{end:?}");
    assert!((50_000..50_017).contains(&machine.time()));
}

#[test]
fn bad_input_is_an_error() {
    let start = |parameters: &MachineParameters, ranks| {
        Machine::new(parameters, &[program(USER, ranks, &["p"], &[])], MemoryFiles::new(b"")).err()
    };
    assert_eq!(start(&small(65, 64), 1).map(|error| error.to_string()), Some("harts: 65; expected 1 to 64".to_owned()));
    assert!(matches!(start(&small(1, 64), 0), Some(MachineError::Boot(BootError::Range { what: "ranks", .. }))));
    let parameters = MachineParameters { memory: 4096, ..small(1, 64) };
    assert!(matches!(start(&parameters, 1), Some(MachineError::Boot(BootError::Memory { .. }))));
    // What is not a program is refused by the kernel.
    let (end, machine) = run(&small(1, 64), &[program(b"text", 1, &["p"], &[])]);
    assert_eq!(end, RunEnd::Exited(255));
    assert!(machine.messages().starts_with("kernel: program 0: "), "{}", machine.messages());
}
