// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Barrel-threaded cores: every time as a closed formula, and properties of random programs.

#[path = "../common/mod.rs"]
mod common;
mod locks;
mod random;
mod threads;

use common::{CODE, DATA, Do, Script, at};
use mb_core::Cycles;
use mb_processor::barrel::service::{ACQUIRE, END, JOIN, RELEASE, THREAD};
use mb_processor::barrel::{
    Barrel, BarrelConfig, BarrelKanata, BarrelStatistics, BarrelStop, CallCosts, Exchange, SpawnPolicy, Stacks, Wait,
};
use mb_processor::hierarchy::{AccessKind, Coherence, HierarchyConfig};
use mb_processor::{Memory, Service, Syscall, SyscallHandler, SyscallResult};

/// A service of the handler of these tests: it records thread and cycle of the call.
const MARK: u16 = 2;
/// A service that waits until the handler is open.
const NEXT: u16 = 0;

const CREATE: u64 = 2;

/// A system-call handler that records marks.
#[derive(Default)]
struct Notes {
    cycle: u64,
    marks: Vec<(u32, u64)>,
    open: bool,
}

impl Notes {
    /// The cycles in which `thread` called [`MARK`].
    fn of(&self, thread: u32) -> Vec<u64> {
        self.marks.iter().filter(|mark| mark.0 == thread).map(|mark| mark.1).collect()
    }
}

impl SyscallHandler for Notes {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, call: Syscall, _memory: &mut Memory) -> SyscallResult {
        match call.service {
            Service::Custom(NEXT) if !self.open => SyscallResult::Wait,
            Service::Custom(NEXT) => SyscallResult::Value(0),
            _ => {
                self.marks.push((call.thread, self.cycle));
                SyscallResult::Value(0)
            }
        }
    }
}

const LOOK: Do = Do::Call(MARK, 0, 0);
const FINISH: Do = Do::Call(END, 0, 0);

fn acquire(lock: u64) -> Do {
    Do::Call(ACQUIRE, lock, 0)
}

fn release(lock: u64) -> Do {
    Do::Call(RELEASE, lock, 0)
}

/// The one-core preset of Hemmert et al. with these numbers of cores and contexts.
fn config(cores: usize, contexts: usize) -> BarrelConfig {
    let hemmert2007 = BarrelConfig::hemmert2007(1).unwrap();
    BarrelConfig { contexts, hierarchy: HierarchyConfig { cores, ..hemmert2007.hierarchy }, ..hemmert2007 }
}

/// Cores whose instruction caches hold `program`.
fn barrel(config: &BarrelConfig, program: &[Do]) -> Barrel<Script> {
    let memory = Memory::new(DATA, 1 << 20);
    let stacks = Stacks { top: DATA + (1 << 20), bytes: 256 };
    let mut barrel = Barrel::new(config, Script::new(program), memory, stacks).unwrap();
    for core in 0..config.hierarchy.cores {
        barrel.hierarchy().warm(core, AccessKind::Fetch, CODE, 4 * program.len() as u64 + 4);
    }
    barrel
}

fn finish(barrel: &mut Barrel<Script>) -> Notes {
    let mut notes = Notes::default();
    assert_eq!(barrel.run_until(Cycles::MAX, &mut notes), Ok(BarrelStop::Waiting));
    assert_eq!(barrel.live_threads(), 0, "every thread has ended");
    notes
}

/// The concatenation of `parts`.
fn program(parts: &[&[Do]]) -> Vec<Do> {
    parts.concat()
}

/// From a miss to its data: a latency of ten cycles, and two cycles of the channel for a line of 32
/// bytes.
const MISS: u64 = 10 + 2 - 1;

#[test]
fn a_single_thread_takes_the_sum_of_the_cycles_of_its_instructions() {
    let config = BarrelConfig { multiply: Cycles(3), divide: Cycles(20), taken: Cycles(2), ..config(1, 4) };
    let code = program(&[
        &[LOOK],
        &[Do::Add; 100],
        &[Do::Multiply; 10],
        &[Do::Divide; 5],
        &[Do::Jump(117)],
        &[Do::Load(0); 20],
        &[LOOK, FINISH],
    ]);
    let mut barrel = barrel(&config, &code);
    barrel.hierarchy().warm(0, AccessKind::Load, DATA, 4);
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    let took = 1 + 100 + 10 * 3 + 5 * 20 + 2 + 20;
    assert_eq!(notes.of(0), [CREATE, CREATE + took]);
    let BarrelStatistics { cycles, instructions, .. } = barrel.statistics(0);
    assert_eq!((cycles, instructions), (CREATE + took + 2, 100 + 10 + 5 + 1 + 20 + 3));
    assert_eq!(barrel.statistics(0).lost(Wait::Execution), CREATE + 10 * 2 + 5 * 19 + 1);
}

#[test]
fn threads_hide_load_latency_until_slots_or_the_channel_are_used_up() {
    const LOADS: u64 = 50;
    for threads in [1, 2, 4, 5, 8, 11, 16, 40] {
        let mut config = config(1, threads as usize);
        config.hierarchy.memory.bits_per_cycle = 256;
        let code = program(&[&[Do::LoadNext(32); LOADS as usize], &[LOOK, FINISH]]);
        let mut barrel = barrel(&config, &code);
        for thread in 0..threads {
            barrel.spawn(CODE, &[DATA + thread * LOADS * 32], Cycles(0));
        }
        let notes = finish(&mut barrel);
        // A line takes one cycle of the channel, so the latency is 10. In each round every thread
        // loads once.
        let round = threads.max(10);
        let last = CREATE + threads - 1 + LOADS * round;
        assert_eq!(notes.of(threads as u32 - 1), [last], "{threads} threads");
        assert_eq!(notes.of(0), [last - (threads - 1)]);
        // A line takes two cycles of the channel, which is saturated at five or six threads.
        config.hierarchy.memory.bits_per_cycle = 128;
        let mut barrel = self::barrel(&config, &code);
        for thread in 0..threads {
            barrel.spawn(CODE, &[DATA + thread * LOADS * 32], Cycles(0));
        }
        let notes = finish(&mut barrel);
        let end = notes.of(threads as u32 - 1)[0];
        let channel = CREATE + 2 * LOADS * threads + 10 - 1;
        let latency = CREATE + threads - 1 + LOADS * MISS;
        if threads <= 5 {
            assert_eq!(end, latency + (threads - 1), "{threads} threads: the first loads queue once");
        } else {
            assert_eq!(end, channel, "{threads} threads");
        }
    }
}

#[test]
fn slots_are_given_to_threads_in_round_robin_order() {
    const TURNS: usize = 30;
    for threads in 1..9_u32 {
        let code = program(&[&[LOOK; TURNS], &[FINISH]]);
        let mut barrel = barrel(&config(1, 8), &code);
        for _ in 0..threads {
            barrel.spawn(CODE, &[], Cycles(0));
        }
        let expected: Vec<(u32, u64)> =
            (0..threads * TURNS as u32).map(|slot| (slot % threads, CREATE + u64::from(slot))).collect();
        assert_eq!(finish(&mut barrel).marks, expected);
    }
}

#[test]
fn a_fence_waits_for_the_stores_before_it_and_a_store_does_not_wait() {
    let code = [Do::Store(0), Do::Store(64), LOOK, Do::Fence, LOOK, FINISH];
    let mut barrel = barrel(&config(1, 1), &code);
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    // The line of the second store arrives after that of the first, which takes two cycles of the
    // channel.
    assert_eq!(notes.of(0), [CREATE + 2, CREATE + 2 + MISS]);
}

#[test]
fn an_instruction_fetch_that_misses_takes_a_slot_of_its_own() {
    let code = program(&[&[LOOK; 20], &[FINISH]]);
    let memory = Memory::new(DATA, 4096);
    let mut barrel =
        Barrel::new(&config(1, 1), Script::new(&code), memory, Stacks { top: DATA + 4096, bytes: 256 }).unwrap();
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    // A line has eight instructions. One that arrives in cycle c + 11 serves the slot of cycle c +
    // 10, because a hit takes one cycle.
    let expected: Vec<u64> = (0..20).map(|number| CREATE + number + (number / 8 + 1) * (MISS - 1)).collect();
    assert_eq!(notes.of(0), expected);
}

/// The message of an error without its first part.
fn reason(error: &impl ToString) -> String {
    let text = error.to_string();
    text.split_once(": ").map_or(text.clone(), |(_, reason)| reason.to_owned())
}

#[test]
fn a_trap_names_thread_and_cycle_and_an_invalid_configuration_its_parameter() {
    let mut barrel = barrel(&config(1, 2), &[Do::Add, Do::Illegal]);
    barrel.spawn(CODE, &[], Cycles(0));
    let trap = barrel.run_until(Cycles::MAX, &mut Notes::default()).unwrap_err();
    assert_eq!(trap.to_string(), "thread 0: cycle 3: pc 0x1004: illegal instruction 0x00000000");
    let refused = |config: BarrelConfig| {
        let memory = Memory::new(DATA, 64);
        reason(&Barrel::new(&config, Script::new(&[]), memory, Stacks { top: 0, bytes: 0 }).unwrap_err())
    };
    assert_eq!(refused(config(1, 0)), "found `0`, expected a whole number from 1 to 1048576 (count)");
    assert_eq!(
        refused(BarrelConfig { taken: Cycles(0), ..config(1, 1) }),
        "found `0`, expected a whole number from 1 to 1000 (cycles)"
    );
    assert_eq!(
        refused(BarrelConfig { swap: Cycles(128), ..config(1, 8) }),
        "barrel: quantum is too short; expected more than swap times contexts"
    );
    assert_eq!(
        reason(&BarrelConfig::hemmert2007(3).unwrap_err()),
        "hemmert2007: cores is 3; expected 1, 2 or 16 as in table 3"
    );
}

#[test]
fn the_exit_of_a_program_ends_the_run() {
    let mut barrel = barrel(&config(1, 2), &[LOOK, Do::Exit]);
    barrel.spawn(CODE, &[], Cycles(0));
    assert_eq!(barrel.run_until(Cycles(3), &mut Notes::default()), Ok(BarrelStop::Until));
    assert_eq!(barrel.run_until(Cycles(4), &mut Notes::default()), Ok(BarrelStop::Exited(0)));
    assert_eq!(barrel.next_event(), None);
}

#[test]
fn a_kanata_diagram_has_a_row_for_each_instruction_on_its_core() {
    let mut barrel = barrel(&config(2, 1), &[Do::Load(0), Do::Add, FINISH]);
    barrel.spawn(CODE, &[], Cycles(0));
    barrel.spawn(CODE, &[], Cycles(1));
    let mut chart =
        BarrelKanata::new(Notes::default(), String::new(), |retired| format!("{:?}", retired.instruction.class));
    barrel.run_observed(Cycles::MAX, &mut chart).unwrap();
    let (_, text) = chart.finish().unwrap();
    // Thread 0 loads in cycle 2 and has its line in 13. Thread 1 loads the same line into its own
    // cache and has it after that of thread 0.
    let expected = "Kanata 0004;C= 2;I 0 0 0;L 0 0 core 0 thread 0 Load;L 0 1 pc 0x1000, Load, 4 bytes at 0x100000;\
                    S 0 0 Ex;C 1;E 0 0 Ex;S 0 0 Wt;I 1 1 0;L 1 0 core 1 thread 1 Load;\
                    L 1 1 pc 0x1000, Load, 4 bytes at 0x100000;S 1 0 Ex;C 1;E 1 0 Ex;S 1 0 Wt;C 9;E 0 0 Wt;R 0 0 0;\
                    I 2 2 0;L 2 0 core 0 thread 0 Integer;L 2 1 pc 0x1004, Integer;S 2 0 Ex;C 1;E 2 0 Ex;R 2 2 0;\
                    C 1;E 1 0 Wt;R 1 1 0;I 3 3 0;L 3 0 core 1 thread 1 Integer;L 3 1 pc 0x1004, Integer;S 3 0 Ex;\
                    C 1;E 3 0 Ex;R 3 3 0;";
    assert_eq!(text.replace('\t', " ").replace('\n', ";"), expected);
}
