// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hardware locks and spin locks: closed formulas.

use super::*;

#[test]
fn a_lock_is_handed_to_the_thread_that_waits_longest() {
    const HELD: u64 = 50;
    for (cores, handoff, transfer) in [(1, 1, 0), (1, 4, 7), (3, 1, 0), (3, 4, 7)] {
        let mut config = config(cores, 3);
        config.calls =
            CallCosts { handoff: Cycles(handoff), transfer: Cycles(transfer), acquire: Cycles(2), ..config.calls };
        let code = program(&[&[acquire(5)], &[Do::Add; HELD as usize], &[LOOK, release(5), FINISH]]);
        let mut barrel = barrel(&config, &code);
        for start in 0..3 {
            barrel.spawn(CODE, &[], Cycles(10 * start));
        }
        let notes = finish(&mut barrel);
        let found: Vec<u64> = (0..3).map(|thread| notes.of(thread)[0]).collect();
        let one = cores == 1;
        // On one core unsuccessful attempts take slots of the holder, and so can the end of the
        // previous holder.
        let first = CREATE + 2 + HELD + if one { 2 } else { 0 };
        let transfer = if one { 0 } else { transfer };
        let end = u64::from(one && handoff == 1);
        // A release, the handoff, the successful attempt, and the work.
        let stage = 1 + handoff + transfer + 1 + HELD + end;
        assert_eq!(found, [first, first + stage, first + 2 * stage], "{cores} cores, handoff {handoff}");
    }
}

#[test]
fn a_free_lock_that_was_held_on_another_core_costs_a_transfer() {
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
fn spinning_takes_slots_from_the_lock_holder_and_waiting_does_not() {
    const HELD: u64 = 60;
    for spinners in 0..4 {
        let spin = program(&[&[Do::Spin(64)], &[Do::Add; HELD as usize], &[LOOK, Do::Clear(64), FINISH]]);
        let wait = program(&[&[acquire(64)], &[Do::Add; HELD as usize], &[LOOK, release(64), FINISH]]);
        let run = |code: &[Do]| {
            let mut barrel = barrel(&config(1, 4), code);
            barrel.hierarchy().warm(0, AccessKind::Load, DATA + 64, 4);
            barrel.spawn(CODE, &[], Cycles(0));
            for _ in 0..spinners {
                barrel.spawn(CODE, &[], Cycles(1));
            }
            finish(&mut barrel).of(0)[0]
        };
        // From its second instruction on, the holder waits for one attempt of each spinner per
        // instruction.
        assert_eq!(run(&spin), CREATE + 1 + (1 + spinners) * HELD + spinners);
        // One unsuccessful attempt of each waiting thread.
        assert_eq!(run(&wait), CREATE + 1 + HELD + spinners);
    }
}

#[test]
fn spinning_on_another_core_costs_transfers_of_the_line() {
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
    // One to the attempts of the second core, one back for the releasing store, one to the
    // successful attempt.
    assert_eq!(transfers, 3);
}
