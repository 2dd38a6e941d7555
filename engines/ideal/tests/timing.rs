// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The times of `ideal` are its formula, to the picosecond, and its visits those of a list walk.

use mb_core::{
    Clock, Cycles, Engine, Envelope, Initiator, MsgId, Op, Pattern, Picos, ProbeId, RecvId, ReplayEngine, Shortcuts,
};
use mb_ideal::{Ideal, IdealParameters};
use mb_kit::Server;
use mb_testkit::drive::Visits;
use mb_testkit::{cases, checked, streams};

const CLOCK: Clock = Clock::from_mhz(500);
const HEADER: u64 = 17;
const COMMAND: u64 = 5;
const ITEM: u64 = 8;

fn engine() -> Server<Ideal> {
    Server::new(Ideal::new(checked(&IdealParameters {
        clock: CLOCK,
        header: Cycles(HEADER),
        command: Cycles(COMMAND),
        item: Cycles(ITEM),
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

/// The time at which all of `ops`, offered at time zero, are answered.
fn fill(engine: &mut Server<Ideal>, ops: impl Iterator<Item = Op>) -> Picos {
    for op in ops {
        engine.offer(Picos::ZERO, op);
    }
    let mut done = Vec::new();
    engine.settle(&mut done);
    done.last().map_or(Picos::ZERO, |completion| completion.at)
}

/// Offers `op` long after everything else; it must be answered `span` later, and not a picosecond earlier.
#[track_caller]
fn assert_takes(engine: &mut Server<Ideal>, op: Op, span: Picos) {
    let start = Picos::from_ns(1_000_000_000);
    engine.offer(start, op);
    let due = start + span;
    assert_eq!(engine.next_event(), Some(due));
    let mut done = Vec::new();
    engine.run_until(due - Picos(1), &mut done);
    assert_eq!(done, [], "too early");
    engine.run_until(due, &mut done);
    assert_eq!(done.len(), 1, "too late");
    assert_eq!(done[0].at, due);
}

#[test]
fn an_arrival_costs_the_header_and_an_item_for_each_receive_visited() {
    for depth in [1, 2, 16, 17, 300] {
        let mut engine = engine();
        fill(&mut engine, (1..=depth).map(post));
        assert_takes(&mut engine, arrive(depth), CLOCK.span(Cycles(HEADER + ITEM * depth)));
    }
}

#[test]
fn an_arrival_that_finds_nothing_visits_the_whole_list() {
    let mut engine = engine();
    fill(&mut engine, (1..=30).map(post));
    assert_takes(&mut engine, arrive(99), CLOCK.span(Cycles(HEADER + ITEM * 30)));
}

#[test]
fn a_command_costs_its_fixed_cycles_and_an_item_for_each_message_visited() {
    for (op, visits) in [
        (post(7), 7),
        (post(99), 30),
        (Op::Probe { probe: ProbeId(1), pattern: Pattern::exactly(envelope(12)) }, 12),
        (Op::MatchedProbe { probe: ProbeId(1), pattern: Pattern::exactly(envelope(30)) }, 30),
        (Op::Cancel { recv: RecvId(4) }, 0),
    ] {
        let mut engine = engine();
        fill(&mut engine, (1..=30).map(arrive));
        assert_takes(&mut engine, op, CLOCK.span(Cycles(COMMAND + ITEM * visits)));
    }
}

#[test]
fn operations_wait_for_each_other() {
    let mut engine = engine();
    // A post into an empty list visits nothing; the arrival that follows visits one.
    let end = fill(&mut engine, [post(1), arrive(1)].into_iter());
    assert_eq!(end, CLOCK.span(Cycles(COMMAND + HEADER + ITEM)));
    assert_eq!(engine.busy(), end);
}

#[test]
fn outcomes_and_visits_are_those_of_a_list_walk() {
    let make = || Box::new(engine()) as Box<dyn ReplayEngine>;
    assert_eq!(cases::run(&cases::corpus().unwrap(), &make, Visits::OfAWalk), Ok(()));
    assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::OfAWalk), Ok(()));
}
