// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes, their memory, and how they share cores.

use mb_moped::kernel::{Boot, UserProgram};
use mb_processor::functional::HartStop;

use crate::{KernelRun, USER, user};

#[test]
fn a_program_gets_its_arguments_and_its_environment() {
    let program = UserProgram {
        file: USER,
        ranks: 1,
        first_core: 0,
        arguments: &["program", "hello", "first", "second"],
        environment: &["A=1", "LONGER=value"],
    };
    assert_eq!(KernelRun::on(1).succeeds(&[program]).output(), "rank 0 of 1 first second A=1 LONGER=value\n");
}

#[test]
fn every_rank_of_every_program_runs_once() {
    for (harts, ranks) in [(1, 1), (1, 5), (2, 2), (4, 3), (4, 9), (16, 16), (16, 40), (64, 64)] {
        let first: &[&str] = &["p", "hello", "a"];
        let second: &[&str] = &["p", "hello", "b"];
        let output = KernelRun::on(harts).succeeds(&[user(first, ranks, 0), user(second, 2, 1)]).output();
        let mut lines: Vec<&str> = output.lines().collect();
        lines.sort_unstable();
        let rank = |rank: u32, ranks: u32, name| format!("rank {rank} of {ranks} {name}");
        let mut expected: Vec<String> = (0..ranks).map(|number| rank(number, ranks, "a")).collect();
        expected.extend((0..2).map(|number| rank(number, 2, "b")));
        expected.sort_unstable();
        assert_eq!(lines, expected);
    }
}

#[test]
fn memory_is_zero_at_first_and_pages_come_back() {
    // 40 MiB are mapped and unmapped in turn; the machine has 8 MiB.
    let run = KernelRun { boot: Boot { memory: 8 << 20, ..KernelRun::on(2).boot }, ..KernelRun::on(2) };
    run.succeeds(&[user(&["p", "memory"], 2, 0)]);
}

#[test]
fn a_program_that_needs_more_memory_than_there_is_ends_by_name() {
    let run = KernelRun { boot: Boot { memory: 8 << 20, ..KernelRun::on(1).boot }, ..KernelRun::on(1) };
    let outcome = run.run(&[user(&["p", "touch", "4096"], 1, 0)]);
    assert_eq!(outcome.stop, HartStop::Exited(128 + 11));
    assert!(outcome.host.messages().contains("rank 0 pid 1 core 0: store to a page"), "{}", outcome.host.messages());
    assert!(outcome.host.messages().contains(": no free memory, pc 0x"), "{}", outcome.host.messages());
}

#[test]
fn a_token_passes_by_atomics_in_a_shared_segment() {
    for harts in [2, 4, 16] {
        for quantum in [1, 17, 1000] {
            let run = KernelRun { quantum, ..KernelRun::on(harts) };
            let size = u64::from(harts);
            let sum = 20 * size * (size - 1) / 2;
            assert_eq!(run.succeeds(&[user(&["p", "ring", "20"], harts, 0)]).output(), format!("sum {sum}\n"));
        }
    }
}

#[test]
fn more_processes_than_harts_take_turns() {
    // With a spinning wait, every step of the token needs the timer; with a yielding one, none does.
    for (program, harts, ranks) in [("ring", 1, 3), ("ring", 2, 5), ("ring_yield", 1, 8), ("ring_yield", 4, 16)] {
        let outcome = KernelRun::on(harts).succeeds(&[user(&["p", program, "5"], ranks, 0)]);
        let size = u64::from(ranks);
        assert_eq!(outcome.output(), format!("sum {}\n", 5 * size * (size - 1) / 2));
        let timers: u64 = outcome.counts.iter().map(|counts| counts.interrupts).sum();
        assert!(program != "ring" || timers >= 5, "{timers} interrupts");
    }
}

#[test]
fn registers_survive_interrupts() {
    let run = KernelRun { boot: Boot { slice: 500, ..KernelRun::on(2).boot }, ..KernelRun::on(2) };
    let outcome = run.succeeds(&[user(&["p", "registers", "5000"], 6, 0)]);
    let timers: u64 = outcome.counts.iter().map(|counts| counts.interrupts).sum();
    assert!(timers > 100, "{timers} interrupts");
}

#[test]
fn processes_move_between_cores() {
    KernelRun::on(4).succeeds(&[user(&["p", "move", "4"], 7, 0)]);
}

#[test]
fn sleeping_processes_cost_no_instructions() {
    // 3 sleep for 100 ms of simulated time at once.
    let outcome = KernelRun::on(2).succeeds(&[user(&["p", "sleep", "100000000"], 3, 0)]);
    assert!((100_000_000..110_000_000).contains(&outcome.time), "time {}", outcome.time);
    let executed: u64 = outcome.counts.iter().map(|counts| counts.user + counts.supervisor).sum();
    assert!(executed < 1_000_000, "{executed} instructions");
}

#[test]
fn markers_reach_the_host() {
    let outcome = KernelRun::on(2).succeeds(&[user(&["p", "mark", "0"], 2, 0)]);
    let mut marks: Vec<_> = outcome.host.marks().iter().map(|mark| (mark.kind, mark.program, mark.rank)).collect();
    marks.sort_unstable();
    assert_eq!(marks, [(0, 0, 0), (0, 0, 1)]);
}

#[test]
fn the_status_of_a_process_is_the_one_it_gave() {
    let outcome = KernelRun::on(1).run(&[user(&["p", "exit", "7"], 1, 0)]);
    assert_eq!(outcome.stop, HartStop::Exited(7));
    assert_eq!(outcome.host.ended()[0].status, 7);
}

#[test]
fn a_run_in_parts_equals_one_run() {
    use mb_moped::kernel::{KernelHost, MemoryFiles};
    use mb_processor::functional::{Functional, FunctionalParameters};
    use mb_processor::system::NoDevice;
    let boot = KernelRun::on(4).boot;
    let program = user(&["p", "ring", "10"], 6, 0);
    let programs = [program];
    let whole = KernelRun::on(4).succeeds(&programs);
    let (memory, states) = boot.start(&programs).unwrap();
    let mut host = KernelHost::new(MemoryFiles::new(b"input"), 1);
    let (mut memory, mut device, mut states, mut time) = (memory, NoDevice, states, 0);
    // The whole state moves to another machine after each part, as between modes.
    loop {
        let mut machine = Functional::new(memory, device, &states, time, FunctionalParameters { quantum: 17 });
        let stop = machine.run(&mut host, time + 17 * 100);
        (memory, device, states, time) = machine.into_parts();
        if stop != HartStop::Until {
            assert_eq!(stop, whole.stop);
            break;
        }
    }
    assert_eq!(time, whole.time);
    assert_eq!(host.files().output(), whole.host.files().output());
    assert_eq!(host.ended(), whole.host.ended());
}
