// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine of the catalog with every preset keeps the contract and the interface's promises.
//!
//! A new engine is judged here without an edit. Visits are judged in the tests of those engines that walk a list.

use mb_catalog::{EngineChoice, all, find, literal};
use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, RecvId, ReplayEngine};
use mb_testkit::cases;
use mb_testkit::drive::Visits;
use mb_testkit::streams::{self, Amount};

/// Runs `judge` on every engine and preset and reports all that object. Presets on request are slow.
fn judge_all(judge: impl Fn(Amount, &dyn Fn() -> Box<dyn ReplayEngine>) -> Result<(), String>) {
    let choices = all().unwrap();
    assert!(choices.len() > 2);
    let objection = |choice: &EngineChoice| {
        let builder = choice.builder().unwrap();
        let amount = if choice.is_on_request() { Amount::Eighth } else { Amount::Full };
        judge(amount, &|| builder.build()).err().map(|error| format!("{}: {error}", choice.spec()))
    };
    let objections: Vec<String> = choices.iter().filter_map(objection).collect();
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

fn build(choice: &EngineChoice) -> Box<dyn ReplayEngine> {
    choice.build().unwrap()
}

#[test]
fn every_engine_passes_the_corpus() {
    let corpus = cases::corpus().unwrap();
    judge_all(|_, make| cases::run(&corpus, make, Visits::Own));
}

#[test]
fn every_outcome_of_a_random_stream_is_the_oracles() {
    judge_all(|amount, make| amount.outcomes_are_the_oracles(make, Visits::Own));
}

#[test]
fn stretching_offered_times_never_changes_outcomes() {
    judge_all(Amount::stretching_offered_times_never_changes_outcomes);
}

#[test]
fn a_refused_operation_is_delayed_and_nothing_is_lost() {
    judge_all(|_, make| Amount::Eighth.refusals_delay_and_lose_nothing(make));
}

#[test]
fn the_same_stream_gives_the_same_completions_twice() {
    judge_all(|_, make| Amount::Eighth.the_same_stream_twice_gives_the_same(make));
}

#[test]
fn ideal_zero_is_never_slower_than_any_engine_on_any_operation() {
    let zero = find("ideal:zero").unwrap();
    judge_all(|amount, make| amount.bound_is_never_slower(&|| build(&zero), make));
}

/// A receive or a message of this tag.
fn post(recv: u64, tag: u64) -> Op {
    let Op::Arrive { envelope, .. } = arrive(0, tag) else { unreachable!("an arrival is an arrival") };
    Op::Post { recv: RecvId(recv), pattern: Pattern::exactly(envelope) }
}

fn arrive(msg: u64, tag: u64) -> Op {
    Op::Arrive { msg: MsgId(msg), envelope: Envelope { bits: tag, initiator: Initiator(1) } }
}

/// Offers operations a microsecond apart, or all at once; the outcomes in order of their times.
fn outcomes(choice: &EngineChoice, ops: &[Op], apart: bool) -> Vec<Outcome> {
    let mut engine = build(choice);
    let mut done = Vec::new();
    for (at, op) in (0..).map(|number| Picos(if apart { number * 1_000_000 } else { 0 })).zip(ops) {
        engine.run_until(at, &mut done);
        assert_eq!(engine.offer(at, *op), mb_core::Accepted::Yes);
    }
    while let Some(event) = engine.next_event() {
        engine.run_until(event, &mut done);
    }
    done.iter().map(|completion| completion.outcome).collect()
}

#[test]
fn the_literal_queues_of_s2_break_the_order_in_plain_sight() {
    let [corrected, published] = ["cam_list:p2l4", "cam_list:paper_literal"].map(|spec| find(spec).unwrap());
    // Receive 1 leaves the lowest slot of the CAM to receive 3, which then takes the message that receive 2 waits for.
    let ops = [post(1, 1), post(2, 7), arrive(1, 1), post(3, 7), arrive(2, 7)];
    let taker = |choice| outcomes(choice, &ops, true).pop().unwrap();
    assert_eq!(taker(&corrected), Outcome::Matched(RecvId(2), MsgId(2)));
    assert_eq!(taker(&published), Outcome::Matched(RecvId(3), MsgId(2)));
    // A receive and its message come at once, search at once, and pass each other without end.
    let ops = [post(1, 7), arrive(1, 7)];
    let met = |choice| outcomes(choice, &ops, false);
    assert_eq!(met(&corrected), [Outcome::Posted(RecvId(1)), Outcome::Matched(RecvId(1), MsgId(1))]);
    assert_eq!(met(&published), [Outcome::Posted(RecvId(1)), Outcome::Unexpected(MsgId(1))]);
}

#[test]
fn the_judge_rejects_every_literal_design() {
    let choices = literal().unwrap();
    assert!(!choices.is_empty());
    for choice in choices {
        let make = &|| build(&choice);
        assert!(streams::outcomes_are_the_oracles(make, Visits::Own).is_err(), "{} keeps the order", choice.spec());
    }
}
