// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the design as published breaks MPI's order: for each hazard a few operations that go wrong
//! without its correction, and right with it.

#[path = "../examples/price_of_order.rs"]
mod price_of_order;

use mb_cam_list::hardware::Done;
use mb_cam_list::{CamListParameters, Corrections, HardwareConfig, Hazard, SteppedHardware};
use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, RecvId};
use mb_oracle::Oracle;

use super::BASE;

/// A CAM of two slots and two lists of four elements, with the cycles of the presets.
fn parameters() -> HardwareConfig {
    let parameters = CamListParameters { cam: 2, lists: 2, list_entries: 8, fifo: 64, ..BASE };
    HardwareConfig::new(mb_testkit::checked(&parameters)).unwrap()
}

fn post(recv: u64, tag: u64) -> Op {
    let envelope = Envelope { bits: tag, initiator: Initiator(1) };
    Op::Post { recv: RecvId(recv), pattern: Pattern::exactly(envelope) }
}

fn arrive(msg: u64, tag: u64) -> Op {
    Op::Arrive { msg: MsgId(msg), envelope: Envelope { bits: tag, initiator: Initiator(1) } }
}

/// Runs operations, each in its cycle; the outcomes in order of acceptance.
fn run(corrections: Corrections, offers: &[(u64, Op)]) -> Vec<Outcome> {
    let mut machine = SteppedHardware::new(&parameters(), corrections);
    for (cycle, op) in offers {
        while machine.now() < *cycle {
            machine.step();
        }
        machine.offer(*op);
    }
    while !machine.is_idle() {
        machine.step();
    }
    let mut done: Vec<Done> = machine.done().to_vec();
    done.sort_by_key(|done| done.number);
    done.iter().map(|done| done.outcome).collect()
}

/// Operations far apart, so that each is over before the next.
fn apart(ops: &[Op]) -> Vec<(u64, Op)> {
    (0..).step_by(100).zip(ops.iter().copied()).collect()
}

/// The tag that receives share; all others have one of their own.
const SAME: u64 = 0;

/// The last operation goes wrong if `hazard` is not corrected, and then as `wrong` says; it goes right if it is.
#[track_caller]
fn assert_violates(hazard: Hazard, offers: &[(u64, Op)], wrong: Outcome) {
    let mut oracle = Oracle::new();
    let right: Vec<_> = offers.iter().map(|(_, op)| oracle.apply(*op).0).collect();
    assert_eq!(run(Corrections::ALL, offers), right);
    assert_eq!(run(Corrections::NONE.with(hazard), offers), right, "it is this hazard and no other");
    for corrections in [Corrections::ALL.without(hazard), Corrections::NONE] {
        let literal = run(corrections, offers);
        assert_eq!(literal[..right.len() - 1], right[..right.len() - 1]);
        assert_eq!(literal.last(), Some(&wrong));
    }
    assert_ne!(right.last(), Some(&wrong));
}

#[test]
fn a_reused_slot_lets_a_younger_receive_win() {
    // Receive 1 leaves the lowest slot, which receive 3 takes; it is found before receive 2.
    let ops = [post(1, 1), post(2, SAME), arrive(1, 1), post(3, SAME), arrive(2, SAME)];
    assert_violates(Hazard::CamSlots, &apart(&ops), Outcome::Matched(RecvId(3), MsgId(2)));
}

#[test]
fn a_freed_slot_lets_a_new_receive_pass_the_list() {
    // Message 1 frees a slot in the very cycle in which receive 4 is inserted, before the mover has brought receive 3.
    let mut offers = apart(&[post(1, 1), post(2, 2), post(3, SAME)]);
    offers.extend([(1000, arrive(1, 1)), (1001, post(4, SAME)), (2000, arrive(2, SAME))]);
    assert_violates(Hazard::CamBeforeLists, &offers, Outcome::Matched(RecvId(4), MsgId(2)));
}

#[test]
fn the_shorter_list_finds_a_younger_receive_first() {
    // First list: 3, 5, 7; second: 4, 6, 8, of which 4 and 6 leave. 5 is the second there, 8 now the first here.
    let posts = [post(1, 1), post(2, 2), post(3, 3), post(4, 4), post(5, SAME), post(6, 6), post(7, 7), post(8, SAME)];
    let ops = [posts.as_slice(), &[arrive(1, 4), arrive(2, 6), arrive(3, SAME)]].concat();
    assert_violates(Hazard::ParallelLists, &apart(&ops), Outcome::Matched(RecvId(8), MsgId(3)));
}

#[test]
fn refilling_in_turn_brings_a_younger_receive_into_the_cam() {
    // As above; then two slots of the CAM are refilled, from each list once: with receives 3 and 8,
    // while 5 stays behind.
    let posts = [post(1, 1), post(2, 2), post(3, 3), post(4, 4), post(5, SAME), post(6, 6), post(7, 7), post(8, SAME)];
    let arrivals = [arrive(1, 4), arrive(2, 6), arrive(3, 1), arrive(4, 2), arrive(5, SAME)];
    let ops = [posts.as_slice(), &arrivals].concat();
    assert_violates(Hazard::Refill, &apart(&ops), Outcome::Matched(RecvId(8), MsgId(5)));
}

#[test]
fn a_receive_and_its_message_pass_each_other() {
    // Both search at once, both find nothing, both are inserted; they will never meet.
    let offers = [(0, post(1, SAME)), (0, arrive(1, SAME))];
    assert_violates(Hazard::Race, &offers, Outcome::Unexpected(MsgId(1)));
}

#[test]
fn the_study_shows_the_price_of_order_as_measured() {
    let table = price_of_order::table();
    let study = include_str!("../../../studies/price_of_order/README.md");
    assert!(study.contains(&table), "the study must contain\n{table}");
}
