// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Creation, swapping and waking of threads: closed formulas.

use super::*;

#[test]
fn a_new_thread_and_its_creator_continue_in_the_same_cycle() {
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
fn new_threads_spread_over_the_cores_or_fill_them_in_order() {
    for (placement, cores) in [(SpawnPolicy::Spread, [2, 1, 1]), (SpawnPolicy::Fill, [2, 2, 0])] {
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
fn a_call_that_starts_too_many_threads_waits_until_one_ends() {
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
    // The creator repeats its call in the cycle after the end, and continues when the thread is
    // created.
    assert_eq!(notes.of(0), [ended + 1 + CREATE]);
    assert_eq!(notes.of(1), [ended - 1, ended + 1 + CREATE + 40]);
}

#[test]
fn an_inactive_thread_is_swapped_in_when_no_other_is_active() {
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
fn threads_share_one_context_by_quanta_and_pay_a_swap_for_each() {
    const LENGTH: u64 = 5000;
    let config = config(1, 1);
    let (quantum, swap) = (config.quantum.0, config.swap.0);
    let code = program(&[&vec![Do::Add; LENGTH as usize], &[LOOK, FINISH]]);
    let mut barrel = barrel(&config, &code);
    barrel.spawn(CODE, &[], Cycles(0));
    barrel.spawn(CODE, &[], Cycles(0));
    let notes = finish(&mut barrel);
    // The first thread has every other quantum. The first quantum is shorter by its creation, the
    // others by a swap.
    let in_first = quantum - CREATE;
    let whole = (LENGTH - in_first) / (quantum - swap);
    let rest = (LENGTH - in_first) % (quantum - swap);
    let first = (1 + whole) * 2 * quantum + swap + rest;
    assert_eq!(notes.of(0), [first]);
    // When it has ended, the second thread is swapped in at once. It has had one full quantum less
    // so far.
    let ran = (1 + whole) * (quantum - swap);
    assert_eq!(notes.of(1), [first + 1 + swap + 1 + LENGTH - ran]);
}

#[test]
fn a_quantum_swaps_all_inactive_threads_in_one_after_the_other() {
    // Divisions, so that slots are free when a thread is swapped in.
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
fn the_host_wakes_the_thread_that_waits_longest() {
    let code = [Do::Call(NEXT, 0, 0), LOOK, FINISH];
    let mut barrel = barrel(&config(1, 4), &code);
    for start in 0..3 {
        barrel.spawn(CODE, &[], Cycles(5 * start));
    }
    let mut notes = Notes::default();
    assert_eq!(barrel.run_until(Cycles(1000), &mut notes), Ok(BarrelStop::Waiting));
    assert_eq!((barrel.now(), barrel.next_event()), (Cycles(1000), None));
    notes.open = true;
    for round in 0..3 {
        assert!(barrel.wake(Cycles(2000 + 100 * round)));
    }
    assert!(!barrel.wake(Cycles(5000)));
    assert_eq!(barrel.next_event(), Some(Cycles(2000)));
    assert_eq!(barrel.run_until(Cycles::MAX, &mut notes), Ok(BarrelStop::Waiting));
    assert_eq!(notes.marks, [(0, 2001), (1, 2101), (2, 2201)]);
}

/// The clock of a thread that waits does not go on to the limit, and a thread that never waits is stopped there.
#[test]
fn a_limit_stops_what_never_waits_and_does_not_move_the_clock_of_what_does() {
    let waits = [LOOK, Do::Call(NEXT, 0, 0)];
    let turns = [LOOK, Do::Jump(0)];
    for (code, limit, expected) in [
        (&waits, Cycles::MAX, BarrelStop::Waiting),
        (&waits, Cycles(1000), BarrelStop::Waiting),
        (&turns, Cycles(1000), BarrelStop::Until),
    ] {
        let mut barrel = barrel(&config(1, 4), code);
        barrel.spawn(CODE, &[], Cycles(0));
        let mut notes = Notes::default();
        assert_eq!(barrel.run_until_waiting(limit, &mut notes), Ok(expected));
        let now = if expected == BarrelStop::Until { limit } else { Cycles(CREATE + 1) };
        assert_eq!(barrel.now(), now, "{limit:?}");
        assert_eq!(notes.marks.len() > 1, expected == BarrelStop::Until);
    }
}
