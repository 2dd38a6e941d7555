// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kernel and device together, by a program without a C library that checks what it gets.

use mb_moped::kernel::MemoryFiles;
use mb_moped::machine::{Machine, RunEnd};

use crate::{USER, program, run, small, total};

/// Two ranks on four harts; they must succeed and leave nothing in the device.
fn succeeds(what: &str) -> Machine<MemoryFiles> {
    let (end, mut machine) = run(&small(4, 64), &[program(USER, 2, &["p", what], &[])]);
    assert_eq!((end, machine.messages()), (RunEnd::Exited(0), String::new()), "{what}");
    for node in 0..4 {
        assert_eq!(machine.descriptors(node), 0, "{what}, node {node}");
    }
    assert!(machine.refused_lines().is_empty());
    machine
}

#[test]
fn pages_that_do_not_exist_appear_under_a_copy() {
    let mut machine = succeeds("pages");
    // Each round has 9 or 10 pages on each side. A receive's do not exist; of a send's, every second.
    let faults = total(&mut machine, |counters| counters.faults);
    assert!((6 * (9 + 4)..=6 * (10 + 5)).contains(&faults), "{faults}");
    assert_eq!(total(&mut machine, |counters| counters.completed), 6);
}

#[test]
fn a_page_that_is_unmapped_is_not_written_any_more() {
    let mut machine = succeeds("unmap");
    assert_eq!(total(&mut machine, |counters| counters.completed), 4);
    assert!(total(&mut machine, |counters| counters.faults) >= 4);
}

#[test]
fn a_buffer_that_the_process_must_not_use_fails_on_both_sides() {
    let mut machine = succeeds("bad");
    assert_eq!(total(&mut machine, |counters| counters.matched), 12);
}

#[test]
fn messages_of_a_process_that_moves_keep_their_order() {
    let mut machine = succeeds("move");
    // At the end the kernel asks the three other nodes for each of 256 descriptors; the rest is the processes' own.
    let moved = total(&mut machine, |counters| counters.moved_accesses);
    assert!(moved > 2 * 3 * 256 + 36, "{moved}");
}

#[test]
fn a_process_that_ends_leaves_nothing_in_the_device() {
    succeeds("leave");
}

#[test]
fn a_process_does_not_reach_descriptors_of_another() {
    let mut machine = succeeds("hostile");
    assert!(total(&mut machine, |counters| counters.misuses) > 200);
}

#[test]
fn programs_share_the_device() {
    let names = ["pages", "move", "hostile", "bad"].map(|what| ["p", what]);
    let programs: Vec<_> = names.iter().map(|words| program(USER, 2, words, &[])).collect();
    let (end, mut machine) = run(&small(4, 64), &programs);
    assert_eq!((end, machine.messages(), machine.ended().len()), (RunEnd::Exited(0), String::new(), 8));
    assert_eq!((0..4).map(|node| machine.descriptors(node)).sum::<usize>(), 0);
}
