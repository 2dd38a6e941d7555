// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `measured` follow the measured curve, to the picosecond, and visits are those of the chosen walk.

use mb_core::engine::Placement;
use mb_core::mpi::{Context, Traffic, envelope, pattern};
use mb_core::{Engine, Initiator, MsgId, Op, Picos, ProbeId, RecvId, ReplayEngine, Shortcuts};
use mb_kit::Server;
use mb_measured::{Measured, MeasuredParameters, Walk};
use mb_testkit::drive::Visits;
use mb_testkit::{cases, checked, streams};

const OPERATION: u64 = 50_000;

fn engine(walk: Walk) -> Server<Measured> {
    Server::new(Measured::new(checked(&MeasuredParameters {
        operation: Picos(OPERATION),
        posted_l1: Picos(1_000),
        posted_l2: Picos(3_000),
        posted_deep: Picos(20_000),
        unexpected_l1: Picos(2_000),
        unexpected_l2: Picos(4_000),
        unexpected_deep: Picos(30_000),
        walk,
        placement: Placement::Host,
    })))
}

fn post(number: u64, source: Option<u32>, tag: u32) -> Op {
    let pattern = pattern(Context::new(1), Traffic::User, source.map(Initiator), Some(tag));
    Op::Post { recv: RecvId(number), pattern }
}

fn arrive(number: u64, source: u32, tag: u32) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(Context::new(1), Traffic::User, Initiator(source), tag) }
}

/// Offers `op` after `before`; it must be answered after `picos`, not one picosecond earlier, with these visits.
#[track_caller]
fn assert_takes(walk: Walk, before: impl Iterator<Item = Op>, op: Op, visits: u32, picos: u64) {
    let mut engine = engine(walk);
    let mut done = Vec::new();
    for op in before {
        engine.offer(Picos::ZERO, op);
    }
    engine.settle(&mut done);
    done.clear();
    let start = Picos::from_ns(1_000_000_000);
    engine.offer(start, op);
    let due = start + Picos(picos);
    engine.run_until(due - Picos(1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(due, &mut done);
    assert_eq!(done.len(), 1, "too late");
    assert_eq!(done[0].visits, visits);
}

#[test]
fn a_search_takes_the_time_measured_at_its_depth_and_a_line_between_two_depths() {
    for (depth, picos) in [
        (1, 1_000),
        (256, 256_000),
        // Half of the way from 256 entries of 1 ns to 1024 of 3 ns.
        (640, u64::midpoint(256_000, 3_072_000)),
        (1024, 3_072_000),
        (4096, 4096 * 3_000),
        (10_240, u64::midpoint(4096 * 3_000, 16_384 * 20_000)),
        (16_384, 16_384 * 20_000),
        (20_000, 20_000 * 20_000),
    ] {
        let ahead = (1..=depth).map(|tag| post(u64::from(tag), Some(0), tag));
        assert_takes(Walk::All, ahead, arrive(1, 0, depth), depth, OPERATION + picos);
    }
    let ahead = (1..=256).map(|tag| arrive(u64::from(tag), 0, tag));
    assert_takes(Walk::All, ahead, post(1, Some(0), 256), 256, OPERATION + 512_000);
}

#[test]
fn a_walk_by_peer_skips_other_senders_and_visits_receives_from_any_source() {
    let receives = || {
        (0..40).map(|at| match at % 4 {
            0 => post(at, Some(7), 100 + at as u32),
            1 => post(at, None, 100 + at as u32),
            _ => post(at, Some(1000 + at as u32), 100 + at as u32),
        })
    };
    // 10 of its sender and 10 from any source; receive 21 is the sixth of those from any source, after six others.
    assert_takes(Walk::Peer, receives(), arrive(1, 7, 5), 20, OPERATION + 20_000);
    assert_takes(Walk::Peer, receives(), arrive(1, 7, 121), 12, OPERATION + 12_000);
    assert_takes(Walk::Peer, receives(), arrive(1, 99, 5), 10, OPERATION + 10_000);
    assert_takes(Walk::All, receives(), arrive(1, 7, 5), 40, OPERATION + 40_000);
    assert_takes(Walk::Peer, receives(), Op::Cancel { recv: RecvId(21) }, 0, OPERATION);
}

#[test]
fn a_receive_visits_the_messages_of_its_sender_or_all_of_its_communicator() {
    let messages = || (0..40).map(|at| arrive(at, at as u32 % 4, at as u32));
    assert_takes(Walk::Peer, messages(), post(1, Some(3), 39), 10, OPERATION + 20_000);
    assert_takes(Walk::Peer, messages(), post(1, Some(3), 11), 3, OPERATION + 6_000);
    assert_takes(Walk::Peer, messages(), post(1, None, 11), 12, OPERATION + 24_000);
    assert_takes(Walk::Peer, messages(), post(1, Some(9), 11), 0, OPERATION);
    let pattern = pattern(Context::new(1), Traffic::User, Some(Initiator(3)), Some(11));
    assert_takes(Walk::Peer, messages(), Op::Probe { probe: ProbeId(1), pattern }, 3, OPERATION + 6_000);
}

#[test]
fn outcomes_are_those_of_the_contract_with_both_walks() {
    for (walk, visits) in [(Walk::All, Visits::OfAWalk), (Walk::Peer, Visits::Own)] {
        let make = || Box::new(engine(walk)) as Box<dyn ReplayEngine>;
        assert_eq!(cases::run(&cases::corpus().unwrap(), &make, visits), Ok(()));
        assert_eq!(streams::outcomes_are_the_oracles(&make, visits), Ok(()));
    }
}
