// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `linear` are a straight line, to the picosecond, and its visits those of a list walk.

use mb_core::engine::Placement;
use mb_core::{Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, RecvId, ReplayEngine, Shortcuts};
use mb_kit::Server;
use mb_linear::{Linear, LinearParameters};
use mb_testkit::drive::Visits;
use mb_testkit::{cases, checked, streams};

const ENTRY_PICOS: u64 = 44_400;
const OPERATION_PICOS: u64 = 36_000;

fn engine() -> Server<Linear> {
    Server::new(Linear::new(checked(&LinearParameters {
        entry: Picos(ENTRY_PICOS),
        operation: Picos(OPERATION_PICOS),
        placement: Placement::Host,
    })))
}

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, initiator: Initiator(1) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

/// Offers `op` to an engine that has served `before`; it must be answered after its fixed time and that of `visits`
/// entries, and not a picosecond earlier.
#[track_caller]
fn assert_visits(before: impl Iterator<Item = Op>, op: Op, visits: u64) {
    let mut engine = engine();
    let mut done = Vec::new();
    for op in before {
        engine.offer(Picos::ZERO, op);
    }
    engine.settle(&mut done);
    done.clear();
    let start = Picos::from_ns(1_000_000_000);
    engine.offer(start, op);
    let due = start + Picos(OPERATION_PICOS + ENTRY_PICOS * visits);
    engine.run_until(due - Picos(1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(due, &mut done);
    assert_eq!(done.len(), 1, "too late");
}

#[test]
fn an_arrival_costs_a_straight_line_over_the_receives_visited() {
    for depth in [1, 2, 16, 17, 300, 5000] {
        assert_visits((1..=depth).map(post), arrive(depth), depth);
    }
    assert_visits((1..=30).map(post), arrive(99), 30);
}

#[test]
fn a_post_or_probe_costs_the_same_line_over_the_messages_visited() {
    let pattern = Pattern::exactly(envelope(12));
    assert_visits((1..=30).map(arrive), post(7), 7);
    assert_visits((1..=30).map(arrive), post(99), 30);
    assert_visits((1..=30).map(arrive), Op::Probe { probe: ProbeId(1), pattern }, 12);
    assert_visits((1..=30).map(arrive), Op::MatchedProbe { probe: ProbeId(1), pattern }, 12);
}

#[test]
fn a_cancel_costs_the_same_line_over_the_receives_visited() {
    assert_visits((1..=30).map(post), Op::Cancel { recv: RecvId(9) }, 9);
    assert_visits((1..=30).map(post), Op::Cancel { recv: RecvId(99) }, 30);
}

#[test]
fn outcomes_and_visits_are_those_of_a_list_walk() {
    let make = || Box::new(engine()) as Box<dyn ReplayEngine>;
    assert_eq!(cases::run(&cases::corpus().unwrap(), &make, Visits::OfAWalk), Ok(()));
    assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::OfAWalk), Ok(()));
}
