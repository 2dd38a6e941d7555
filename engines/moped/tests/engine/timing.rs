// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Back-off and return as closed formulas, and outcomes with small tables.

use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, RecvId, ReplayEngine};
use mb_kit::{OperationServer, Server};
use mb_moped_engine::{ENTRY, MopedEngine, MopedEngineParameters};
use mb_testkit::drive::Visits;
use mb_testkit::{cases, checked, preset, streams};

use crate::against_device::parameters;

fn envelope(number: u64) -> Envelope {
    Envelope { bits: number, initiator: Initiator(1) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

#[test]
fn small_tables_keep_the_order() {
    let corpus = cases::corpus().unwrap();
    for descriptors in [1, 2, 4, 5] {
        for program in [0, 1] {
            let parameters = MopedEngineParameters { descriptors, ..parameters("gu2011", program) };
            let make = || Box::new(Server::new(MopedEngine::new(checked(&parameters)))) as Box<dyn ReplayEngine>;
            assert_eq!(cases::run(&corpus, &make, Visits::Own), Ok(()), "{descriptors} entries");
            assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::Own), Ok(()), "{descriptors} entries");
            let stretched = streams::Amount::Full.stretching_offered_times_never_changes_outcomes(&make);
            assert_eq!(stretched, Ok(()), "{descriptors} entries");
        }
    }
}

#[test]
fn each_half_of_the_literal_form_breaks_the_order() {
    let literal: MopedEngineParameters = preset(&ENTRY, "literal");
    let corrected: MopedEngineParameters = preset(&ENTRY, "gu2011");
    for (order, backoff, descriptors) in [(literal.order, corrected.backoff, 64), (corrected.order, literal.backoff, 4)]
    {
        let parameters = MopedEngineParameters { order, backoff, descriptors, ..corrected.clone() };
        let make = || Box::new(Server::new(MopedEngine::new(&parameters))) as Box<dyn ReplayEngine>;
        assert!(streams::outcomes_are_the_oracles(&make, Visits::Own).is_err(), "{order:?} {backoff:?}");
    }
}

/// Entry and return to the picosecond: `posts` receives in a table of as many entries, and a message too many.
#[test]
fn a_back_off_costs_its_messages_polls_entries_and_barrier() {
    for posts in [1, 4, 64] {
        let base: MopedEngineParameters = preset(&ENTRY, "gu2011");
        let parameters = MopedEngineParameters { descriptors: posts as usize, ..base };
        let (m, p) = (parameters.switch.0, parameters.port_cycles);
        let mut engine = MopedEngine::new(&parameters);
        for number in 0..posts {
            engine.serve(Picos(number * 1_000_000), post(number));
        }
        let now = posts * 1_000_000;
        // The last receive is the one that matches.
        let answer = engine.serve(Picos(now), arrive(posts - 1)).completion;
        let revoked = now + (1 + m + 4 * m + 4 * p * posts + 1 + 2 * m) * 1000;
        let ready = revoked + posts * parameters.operation.0 + parameters.barrier.0;
        assert_eq!(answer.at.0, ready + parameters.operation.0 + posts * parameters.entry.0);
        assert_eq!(answer.outcome, Outcome::Matched(RecvId(posts - 1), MsgId(posts - 1)));
        assert_eq!(engine.counters().moved, posts);
        // The others match in software, the oldest first; with the last of them the back-off ends.
        let mut at = answer.at;
        for number in 0..posts - 1 {
            assert_eq!(engine.counters().returns, 0);
            let next = engine.serve(at, arrive(number)).completion;
            assert_eq!(next.at, at + parameters.operation + parameters.entry);
            at = next.at;
        }
        assert_eq!((engine.counters().backoffs, engine.counters().returns), (1, 1));
        assert_eq!(engine.counters().in_software, posts);
        // The next search cannot begin before a descriptor is granted.
        let resumed = (at + parameters.barrier).0.div_ceil(1000) + p + 1 + 4 * m;
        let next = engine.serve(at, arrive(99)).completion;
        assert_eq!(next.at, Picos((resumed + parameters.find_cycles + m) * 1000));
        assert_eq!(engine.counters().searches, posts + 1);
    }
}

/// Outcomes of operations a microsecond apart, with a table of `descriptors` entries.
fn outcomes(name: &str, descriptors: usize, ops: &[Op]) -> Vec<Outcome> {
    let base: MopedEngineParameters = preset(&ENTRY, name);
    let mut engine = MopedEngine::new(&MopedEngineParameters { descriptors, ..base });
    (0..).zip(ops).map(|(number, op)| engine.serve(Picos(number * 1_000_000), *op).completion.outcome).collect()
}

#[test]
fn the_literal_form_breaks_the_order_in_plain_sight() {
    let receive = |number, tag| {
        let Op::Post { pattern, .. } = post(tag) else { unreachable!("a post is a post") };
        Op::Post { recv: RecvId(number), pattern }
    };
    // Receive 1 leaves the first slot to receive 3, which then takes the message that receive 2 waits for.
    let ops = [receive(1, 1), receive(2, 7), arrive(1), receive(3, 7), arrive(7)];
    assert_eq!(outcomes("gu2011", 64, &ops)[4], Outcome::Matched(RecvId(2), MsgId(7)));
    assert_eq!(outcomes("literal", 64, &ops)[4], Outcome::Matched(RecvId(3), MsgId(7)));
    // The message of receive 1 begins a back-off, and software does not know the receive.
    let ops = [receive(1, 1), receive(2, 2), arrive(1)];
    assert_eq!(outcomes("gu2011", 2, &ops)[2], Outcome::Matched(RecvId(1), MsgId(1)));
    assert_eq!(outcomes("literal", 2, &ops)[2], Outcome::Unexpected(MsgId(1)));
}
