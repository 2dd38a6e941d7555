// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Barrel-threaded cores: every time as a closed formula, and what holds of any program.

mod common;

use common::{CODE, DATA, Do, Script, at};
use mb_core::Cycles;
use mb_processor::barrel::service::{ACQUIRE, END, JOIN, RELEASE, THREAD};
use mb_processor::barrel::{
    Barrel, BarrelConfig, CallCosts, Chart, CoreStatistics, Exchange, Placement, Stacks, Stop, Wait,
};
use mb_processor::hierarchy::{Access, Coherence, HierarchyConfig};
use mb_processor::{Answer, Call, Host, Memory, Service};
use proptest::prelude::*;

/// A service of the tests' host: it notes who calls when.
const MARK: u16 = 2;
/// A service that waits until the host is open.
const NEXT: u16 = 0;

const CREATE: u64 = 2;

/// Notes marks.
#[derive(Default)]
struct Notes {
    cycle: u64,
    marks: Vec<(u32, u64)>,
    open: bool,
}

impl Notes {
    /// The cycles in which `thread` called.
    fn of(&self, thread: u32) -> Vec<u64> {
        self.marks.iter().filter(|mark| mark.0 == thread).map(|mark| mark.1).collect()
    }
}

impl Host for Notes {
    fn set_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn call(&mut self, call: Call, _memory: &mut Memory) -> Answer {
        match call.service {
            Service::Own(NEXT) if !self.open => Answer::Wait,
            Service::Own(NEXT) => Answer::Value(0),
            _ => {
                self.marks.push((call.thread, self.cycle));
                Answer::Value(0)
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

/// One core of Hemmert et al. with other numbers of contexts and cores.
fn config(cores: usize, contexts: usize) -> BarrelConfig {
    let hemmert2007 = BarrelConfig::hemmert2007(1).unwrap();
    BarrelConfig { contexts, hierarchy: HierarchyConfig { cores, ..hemmert2007.hierarchy }, ..hemmert2007 }
}

/// Cores with `program` in their instruction caches.
fn barrel(config: &BarrelConfig, program: &[Do]) -> Barrel<Script> {
    let memory = Memory::new(DATA, 1 << 20);
    let stacks = Stacks { top: DATA + (1 << 20), bytes: 256 };
    let mut barrel = Barrel::new(config, Script::new(program), memory, stacks).unwrap();
    for core in 0..config.hierarchy.cores {
        barrel.hierarchy().touch(core, Access::Fetch, CODE, 4 * program.len() as u64 + 4);
    }
    barrel
}

fn finish(barrel: &mut Barrel<Script>) -> Notes {
    let mut notes = Notes::default();
    assert_eq!(barrel.run_until(Cycles::MAX, &mut notes), Ok(Stop::Waiting));
    assert_eq!(barrel.live(), 0, "every thread has ended");
    notes
}

/// `parts`, one after the other.
fn program(parts: &[&[Do]]) -> Vec<Do> {
    parts.concat()
}

#[test]
fn a_single_thread_takes_the_cycles_of_its_instructions_one_after_the_other() {
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
    barrel.hierarchy().touch(0, Access::Load, DATA, 4);
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    let took = 1 + 100 + 10 * 3 + 5 * 20 + 2 + 20;
    assert_eq!(notes.of(0), [CREATE, CREATE + took]);
    let CoreStatistics { cycles, instructions, .. } = barrel.statistics(0);
    assert_eq!((cycles, instructions), (CREATE + took + 2, 100 + 10 + 5 + 1 + 20 + 3));
    assert_eq!(barrel.statistics(0).lost(Wait::Execution), CREATE + 10 * 2 + 5 * 19 + 1);
}

/// From a miss to its data: ten cycles, and a line of 32 bytes is two cycles of the channel.
const MISS: u64 = 10 + 2 - 1;

#[test]
fn threads_hide_the_latency_of_each_others_loads_until_slots_or_the_channel_are_used_up() {
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
        // One cycle of the channel a line: the latency is 10. In each round every thread loads once.
        let round = threads.max(10);
        let last = CREATE + threads - 1 + LOADS * round;
        assert_eq!(notes.of(threads as u32 - 1), [last], "{threads} threads");
        assert_eq!(notes.of(0), [last - (threads - 1)]);
        // With two cycles a line the channel is full at five or six threads.
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
fn slots_go_round_among_threads() {
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
fn a_thread_begins_when_its_creator_goes_on_and_no_earlier() {
    for create in [1, 2, 9] {
        let mut config = config(2, 1);
        config.calls.create = Cycles(create);
        let code = [LOOK, Do::Call(THREAD, at(5), 0), LOOK, Do::Call(JOIN, 0, 0), FINISH, LOOK, FINISH];
        let mut barrel = barrel(&config, &code);
        barrel.spawn(CODE, &[], Cycles(0));
        let notes = finish(&mut barrel);
        let begin = create;
        assert_eq!(notes.of(0), [begin, begin + 1 + create]);
        assert_eq!(notes.of(1), [begin + 1 + create]);
    }
}

#[test]
fn new_threads_spread_over_the_cores_or_fill_one_after_the_other() {
    for (placement, cores) in [(Placement::Spread, [2, 1, 1]), (Placement::Fill, [2, 2, 0])] {
        let config = BarrelConfig { placement, ..config(3, 2) };
        let mut barrel = barrel(&config, &[FINISH]);
        for _ in 0..4 {
            barrel.spawn(CODE, &[], Cycles(0));
        }
        finish(&mut barrel);
        assert_eq!([0, 1, 2].map(|core| barrel.statistics(core).instructions), cores, "{placement:?}");
    }
}

#[test]
fn a_thread_too_many_waits_until_one_has_ended() {
    let config = BarrelConfig { threads: 2, ..config(2, 2) };
    let child = at(4);
    let code = program(&[
        &[Do::Call(THREAD, child, 0), Do::Call(THREAD, child, 0), LOOK, FINISH],
        &[Do::Add; 40],
        &[LOOK, FINISH],
    ]);
    let mut barrel = barrel(&config, &code);
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    let first = CREATE + CREATE;
    let ended = first + 40 + 1;
    // The creator tries again in the cycle after the end, and goes on when the thread is created.
    assert_eq!(notes.of(0), [ended + 1 + CREATE]);
    assert_eq!(notes.of(1), [ended - 1, ended + 1 + CREATE + 40]);
}

#[test]
fn an_inactive_thread_comes_in_when_no_other_is_active() {
    for swap in [1, 10, 30] {
        let config = BarrelConfig { swap: Cycles(swap), exchange: Exchange::Idle, ..config(1, 1) };
        let code = program(&[&vec![Do::Add; 2000], &[LOOK, FINISH]]);
        let mut barrel = barrel(&config, &code);
        for _ in 0..3 {
            barrel.spawn(CODE, &[], Cycles(0));
        }
        let one = 2000 + 2;
        let first = CREATE + 2000;
        let marks = [first, first + swap + one, first + 2 * (swap + one)];
        let notes = finish(&mut barrel);
        assert_eq!(notes.marks.iter().map(|mark| mark.1).collect::<Vec<_>>(), marks);
        assert_eq!(barrel.statistics(0).lost(Wait::Swap), 2 * swap);
        assert_eq!(barrel.statistics(0).swaps, 2);
    }
}

#[test]
fn threads_of_one_context_share_it_by_quanta_and_pay_a_swap_for_each() {
    const LENGTH: u64 = 5000;
    let config = config(1, 1);
    let (quantum, swap) = (config.quantum.0, config.swap.0);
    let code = program(&[&vec![Do::Add; LENGTH as usize], &[LOOK, FINISH]]);
    let mut barrel = barrel(&config, &code);
    barrel.spawn(CODE, &[], Cycles(0));
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    // The first thread has every other quantum from the first on, shorter by its creation; the others by a swap.
    let in_first = quantum - CREATE;
    let whole = (LENGTH - in_first) / (quantum - swap);
    let rest = (LENGTH - in_first) % (quantum - swap);
    let first = (1 + whole) * 2 * quantum + swap + rest;
    assert_eq!(notes.of(0), [first]);
    // When it has ended the second one comes in at once. So far that had one full quantum less.
    let ran = (1 + whole) * (quantum - swap);
    assert_eq!(notes.of(1), [first + 1 + swap + 1 + LENGTH - ran]);
}

#[test]
fn a_quantum_brings_in_as_many_as_there_are_one_after_the_other() {
    // Divisions, so that slots are free when a thread comes in.
    let config = BarrelConfig { divide: Cycles(25), ..config(1, 4) };
    let (quantum, swap) = (config.quantum.0, config.swap.0);
    let code = program(&[&[LOOK], &[Do::Divide; 100], &[FINISH]]);
    let mut barrel = barrel(&config, &code);
    for _ in 0..7 {
        barrel.spawn(CODE, &[], Cycles(0));
    }
    let notes = finish(&mut barrel);
    for inactive in 0..3 {
        assert_eq!(notes.of(4 + inactive), [quantum + u64::from(1 + inactive) * swap]);
    }
}

#[test]
fn a_lock_goes_to_whoever_waits_longest_on_the_same_core_or_on_another() {
    const HELD: u64 = 50;
    for (cores, hand_over, transfer) in [(1, 1, 0), (1, 4, 7), (3, 1, 0), (3, 4, 7)] {
        let mut config = config(cores, 3);
        config.calls =
            CallCosts { hand_over: Cycles(hand_over), transfer: Cycles(transfer), acquire: Cycles(2), ..config.calls };
        let code = program(&[&[acquire(5)], &[Do::Add; HELD as usize], &[LOOK, release(5), FINISH]]);
        let mut barrel = barrel(&config, &code);
        for start in 0..3 {
            barrel.spawn(CODE, &[], Cycles(10 * start));
        }
        let notes = finish(&mut barrel);
        let found: Vec<u64> = (0..3).map(|thread| notes.of(thread)[0]).collect();
        let one = cores == 1;
        // On one core the attempts in vain take the holder's slots, and so may the end of the holder before it.
        let first = CREATE + 2 + HELD + if one { 2 } else { 0 };
        let transfer = if one { 0 } else { transfer };
        let end = u64::from(one && hand_over == 1);
        // A release, the hand-over, the attempt that succeeds, and the work.
        let stage = 1 + hand_over + transfer + 1 + HELD + end;
        assert_eq!(found, [first, first + stage, first + 2 * stage], "{cores} cores, hand-over {hand_over}");
    }
}

#[test]
fn a_lock_that_was_held_elsewhere_costs_its_transfer_also_when_it_is_free() {
    let mut config = config(2, 1);
    config.calls.transfer = Cycles(7);
    let code = [acquire(5), LOOK, release(5), acquire(5), LOOK, release(5), FINISH];
    let mut barrel = barrel(&config, &code);
    barrel.spawn(CODE, &[], Cycles(0));
    barrel.spawn(CODE, &[], Cycles(100));
    let notes = finish(&mut barrel);
    assert_eq!(notes.of(0), [CREATE + 1, CREATE + 4]);
    assert_eq!(notes.of(1), [100 + CREATE + 1 + 7, 100 + CREATE + 4 + 7]);
}

#[test]
fn spinning_takes_slots_from_the_holder_and_waiting_for_a_lock_does_not() {
    const HELD: u64 = 60;
    for spinners in 0..4 {
        let spin = program(&[&[Do::Spin(64)], &[Do::Add; HELD as usize], &[LOOK, Do::Clear(64), FINISH]]);
        let wait = program(&[&[acquire(64)], &[Do::Add; HELD as usize], &[LOOK, release(64), FINISH]]);
        let run = |code: &[Do]| {
            let mut barrel = barrel(&config(1, 4), code);
            barrel.hierarchy().touch(0, Access::Load, DATA + 64, 4);
            barrel.spawn(CODE, &[], Cycles(0));
            for _ in 0..spinners {
                barrel.spawn(CODE, &[], Cycles(1));
            }
            finish(&mut barrel).of(0)[0]
        };
        // From the second on, every instruction of the holder waits for one attempt of each spinner.
        assert_eq!(run(&spin), CREATE + 1 + (1 + spinners) * HELD + spinners);
        // An attempt in vain of each thread that waits, and no more.
        assert_eq!(run(&wait), CREATE + 1 + HELD + spinners);
    }
}

#[test]
fn a_spin_on_another_core_costs_the_lines_way() {
    const HELD: u64 = 30;
    const TRANSFER: u64 = 9;
    let mut config = config(2, 1);
    config.hierarchy.coherence = Coherence::Invalidate { upgrade: Cycles(0), transfer: Cycles(TRANSFER) };
    let code = program(&[&[Do::Spin(64)], &[Do::Add; HELD as usize], &[Do::Clear(64), FINISH]]);
    let mut barrel = barrel(&config, &code);
    barrel.spawn(CODE, &[], Cycles(0));
    barrel.spawn(CODE, &[], Cycles(0));
    finish(&mut barrel);
    let transfers: u64 = (0..2).map(|core| barrel.hierarchy().data_statistics(core).transfers).sum();
    // To the second core's attempts, back for the store that frees, and to the attempt that succeeds.
    assert_eq!(transfers, 3);
}

#[test]
fn a_fence_waits_for_the_stores_before_it_and_a_store_for_nothing() {
    let code = [Do::Store(0), Do::Store(64), LOOK, Do::Fence, LOOK, FINISH];
    let mut barrel = barrel(&config(1, 1), &code);
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    // The second store's line comes after the first one's, which has the channel for two cycles.
    assert_eq!(notes.of(0), [CREATE + 2, CREATE + 2 + MISS]);
}

#[test]
fn an_instruction_whose_line_is_missing_waits_for_it_in_a_slot_of_its_own() {
    let code = program(&[&[LOOK; 20], &[FINISH]]);
    let memory = Memory::new(DATA, 4096);
    let mut barrel =
        Barrel::new(&config(1, 1), Script::new(&code), memory, Stacks { top: DATA + 4096, bytes: 256 }).unwrap();
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    // Eight instructions a line; a line that comes in cycle c + 11 serves the slot of cycle c + 10, with a hit of one cycle.
    let expected: Vec<u64> = (0..20).map(|number| CREATE + number + (number / 8 + 1) * (MISS - 1)).collect();
    assert_eq!(notes.of(0), expected);
}

#[test]
fn the_host_wakes_who_waits_longest() {
    let code = [Do::Call(NEXT, 0, 0), LOOK, FINISH];
    let mut barrel = barrel(&config(1, 4), &code);
    for start in 0..3 {
        barrel.spawn(CODE, &[], Cycles(5 * start));
    }
    let mut notes = Notes::default();
    assert_eq!(barrel.run_until(Cycles(1000), &mut notes), Ok(Stop::Waiting));
    assert_eq!((barrel.now(), barrel.next_event()), (Cycles(1000), None));
    notes.open = true;
    for round in 0..3 {
        assert!(barrel.wake(Cycles(2000 + 100 * round)));
    }
    assert!(!barrel.wake(Cycles(5000)));
    assert_eq!(barrel.next_event(), Some(Cycles(2000)));
    assert_eq!(barrel.run_until(Cycles::MAX, &mut notes), Ok(Stop::Waiting));
    assert_eq!(notes.marks, [(0, 2001), (1, 2101), (2, 2201)]);
}

#[test]
fn what_cannot_go_on_says_which_thread_and_when() {
    let mut barrel = barrel(&config(1, 2), &[Do::Add, Do::Illegal]);
    barrel.spawn(CODE, &[], Cycles(0));
    let trap = barrel.run_until(Cycles::MAX, &mut Notes::default()).unwrap_err();
    assert_eq!(trap.to_string(), "thread 0 in cycle 3: illegal instruction 0x00000000 at pc 0x1004");
    let refused = |config: BarrelConfig| {
        let memory = Memory::new(DATA, 64);
        Barrel::new(&config, Script::new(&[]), memory, Stacks { top: 0, bytes: 0 }).unwrap_err().to_string()
    };
    let because = |text: &str| format!("settings contradict each other: {text}");
    assert_eq!(refused(config(1, 0)), because("a core without a thread"));
    assert_eq!(
        refused(BarrelConfig { taken: Cycles(0), ..config(1, 1) }),
        because("an instruction or a call that takes no cycle")
    );
    assert_eq!(
        refused(BarrelConfig { swap: Cycles(128), ..config(1, 8) }),
        because("a quantum that ends before all contexts are swapped")
    );
    assert_eq!(
        BarrelConfig::hemmert2007(3).unwrap_err().to_string(),
        because("Hemmert et al. have 1, 2 or 16 cores, not 3")
    );
}

#[test]
fn the_status_of_a_program_ends_the_run() {
    let mut barrel = barrel(&config(1, 2), &[LOOK, Do::Exit]);
    barrel.spawn(CODE, &[], Cycles(0));
    assert_eq!(barrel.run_until(Cycles(3), &mut Notes::default()), Ok(Stop::Time));
    assert_eq!(barrel.run_until(Cycles(4), &mut Notes::default()), Ok(Stop::Exited(0)));
    assert_eq!(barrel.next_event(), None);
}

#[test]
fn a_chart_has_a_row_for_each_instruction_on_its_core() {
    let mut barrel = barrel(&config(2, 1), &[Do::Load(0), Do::Add, FINISH]);
    barrel.spawn(CODE, &[], Cycles(0));
    barrel.spawn(CODE, &[], Cycles(1));
    let mut chart = Chart::new(Notes::default(), String::new(), |retired| format!("{:?}", retired.shape.class));
    barrel.run_watched(Cycles::MAX, &mut chart).unwrap();
    let (_, text) = chart.finish().unwrap();
    // Thread 0 loads in cycle 2 and has its line in 13; that of thread 1 comes behind it on the channel, both with the same
    // line in caches of their own.
    let expected = "Kanata 0004;C= 2;I 0 0 0;L 0 0 core 0 thread 0 Load;L 0 1 pc 0x1000, Load, 4 bytes at 0x100000;S 0 0 Ex;\
                    C 1;E 0 0 Ex;S 0 0 Wt;I 1 1 0;L 1 0 core 1 thread 1 Load;\
                    L 1 1 pc 0x1000, Load, 4 bytes at 0x100000;S 1 0 Ex;C 1;E 1 0 Ex;S 1 0 Wt;C 9;E 0 0 Wt;R 0 0 0;\
                    I 2 2 0;L 2 0 core 0 thread 0 Integer;L 2 1 pc 0x1004, Integer;S 2 0 Ex;C 1;E 2 0 Ex;R 2 2 0;C 1;\
                    E 1 0 Wt;R 1 1 0;I 3 3 0;L 3 0 core 1 thread 1 Integer;L 3 1 pc 0x1004, Integer;S 3 0 Ex;C 1;E 3 0 Ex;\
                    R 3 3 0;";
    assert_eq!(text.replace('\t', " ").replace('\n', ";"), expected);
}

fn instruction() -> impl Strategy<Value = Vec<Do>> {
    prop_oneof![
        4 => Just(vec![Do::Add]),
        1 => Just(vec![Do::Multiply]),
        1 => Just(vec![LOOK]),
        2 => (0..64_u64).prop_map(|word| vec![Do::Load(word * 16)]),
        2 => (0..64_u64).prop_map(|word| vec![Do::Store(word * 16)]),
        1 => (0..4_u64).prop_map(|lock| vec![acquire(lock), Do::Add, Do::Load(lock * 64), LOOK, release(lock)]),
        1 => (0..2_u64).prop_map(|lock| vec![Do::Spin(4096 + lock * 64), LOOK, Do::Clear(4096 + lock * 64)]),
    ]
}

proptest! {
    #[test]
    fn a_run_in_pieces_is_the_run_in_one_and_every_cycle_is_accounted_for(
        body in prop::collection::vec(instruction(), 1..60),
        shape in (1..4_usize, 1..4_usize, 1..16_u64),
        quantum in 50..200_u64,
        invalidate in any::<bool>(),
        pieces in prop::collection::vec(prop_oneof![1..300_u64, Just(1)], 1..20),
    ) {
        let (cores, contexts, threads) = shape;
        let mut config = BarrelConfig { quantum: Cycles(quantum), ..config(cores, contexts) };
        config.calls.transfer = Cycles(3);
        if invalidate {
            config.hierarchy.coherence = Coherence::Invalidate { upgrade: Cycles(2), transfer: Cycles(8) };
        }
        let body = body.concat();
        let code = program(&[&body, &[FINISH]]);
        let start = || {
            let mut barrel = barrel(&config, &code);
            for number in 0..threads {
                barrel.spawn(CODE, &[], Cycles(number * 3));
            }
            barrel
        };
        let mut whole = start();
        let notes = finish(&mut whole);
        let mut parts = start();
        let mut of_parts = Notes::default();
        let mut until = 0;
        for piece in pieces.iter().cycle() {
            until += piece;
            if parts.run_until(Cycles(until), &mut of_parts).unwrap() == Stop::Waiting {
                break;
            }
        }
        prop_assert_eq!(&notes.marks, &of_parts.marks);
        let mut instructions = 0;
        for core in 0..cores {
            let (a, b) = (whole.statistics(core), parts.statistics(core));
            prop_assert_eq!((a.instructions, a.swaps), (b.instructions, b.swaps));
            prop_assert_eq!(a.cycles, a.instructions + a.waited.iter().sum::<u64>());
            prop_assert_eq!(b.cycles, b.instructions + b.waited.iter().sum::<u64>());
            instructions += a.instructions;
        }
        // Attempts of a spin are instructions; all others are executed once.
        let once = threads * code.iter().filter(|instruction| !matches!(instruction, Do::Spin(_))).count() as u64;
        prop_assert!(instructions >= once);
        if !code.iter().any(|instruction| matches!(instruction, Do::Spin(_))) {
            prop_assert_eq!(instructions, once);
        }
        // No thread looks before its creation, and no two at a time on one core.
        let mut cycles: Vec<u64> = notes.marks.iter().map(|mark| mark.1).collect();
        prop_assert!(cycles.is_sorted());
        cycles.dedup();
        prop_assert!(notes.marks.len() <= cycles.len() * cores);
    }
}
