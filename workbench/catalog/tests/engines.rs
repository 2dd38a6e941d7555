// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine of the catalog with every preset keeps the contract and the interface's promises.
//!
//! A new engine is judged here without an edit. Visits are judged in the tests of those engines that walk a list.
//! A test is called `engine::test of preset`, so that those of one engine can run alone: a part of the name selects tests.

use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Failed, Trial};
use mb_catalog::{ENGINES, EngineChoice, all, find, literal};
use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, RecvId, ReplayEngine};
use mb_testkit::cases::{self, Case};
use mb_testkit::drive::Visits;
use mb_testkit::streams::{self, Amount};

type Make<'a> = &'a dyn Fn() -> Box<dyn ReplayEngine>;
type Judge = fn(Amount, Make<'_>) -> Result<(), String>;

static CORPUS: LazyLock<Vec<Case>> = LazyLock::new(|| cases::corpus().unwrap());

fn build(choice: &EngineChoice) -> Box<dyn ReplayEngine> {
    choice.build().unwrap()
}

fn at_most_an_eighth(amount: Amount) -> Amount {
    if amount == Amount::Full { Amount::Eighth } else { amount }
}

fn every_engine_passes_the_corpus(_: Amount, make: Make<'_>) -> Result<(), String> {
    cases::run(&CORPUS, make, Visits::Own)
}

fn every_outcome_of_a_random_stream_is_the_oracles(amount: Amount, make: Make<'_>) -> Result<(), String> {
    amount.outcomes_are_the_oracles(make, Visits::Own)
}

fn stretching_offered_times_never_changes_outcomes(amount: Amount, make: Make<'_>) -> Result<(), String> {
    amount.stretching_offered_times_never_changes_outcomes(make)
}

fn a_refused_operation_is_delayed_and_nothing_is_lost(amount: Amount, make: Make<'_>) -> Result<(), String> {
    at_most_an_eighth(amount).refusals_delay_and_lose_nothing(make)
}

fn the_same_stream_gives_the_same_completions_twice(amount: Amount, make: Make<'_>) -> Result<(), String> {
    at_most_an_eighth(amount).the_same_stream_twice_gives_the_same(make)
}

fn ideal_zero_is_never_slower_than_any_engine_on_any_operation(amount: Amount, make: Make<'_>) -> Result<(), String> {
    let zero = find("ideal:zero").unwrap();
    amount.bound_is_never_slower(&|| build(&zero), make)
}

fn the_judge_rejects_every_literal_design(_: Amount, make: Make<'_>) -> Result<(), String> {
    match streams::outcomes_are_the_oracles(make, Visits::Own) {
        Ok(()) => Err("found the oracle's outcomes, expected others".to_owned()),
        Err(_) => Ok(()),
    }
}

/// Functions with their names.
macro_rules! judges {
    ($($judge:ident),* $(,)?) => { &[$((stringify!($judge), $judge)),*] };
}

/// What every preset keeps.
const KEPT: &[(&str, Judge)] = judges![
    every_engine_passes_the_corpus,
    every_outcome_of_a_random_stream_is_the_oracles,
    stretching_offered_times_never_changes_outcomes,
    a_refused_operation_is_delayed_and_nothing_is_lost,
    the_same_stream_gives_the_same_completions_twice,
    ideal_zero_is_never_slower_than_any_engine_on_any_operation,
];
/// What presets that break MPI's order show.
const BROKEN: &[(&str, Judge)] = judges![the_judge_rejects_every_literal_design];

/// Engines whose simulation is slow with every preset, and what they are tested with; those on request are slow too.
const SLOW: &[(&str, Amount)] =
    &[("list_mt", Amount::Eighth), ("list_ooo", Amount::Eighth), ("netproc", Amount::Short)];

fn judged(spec: &str, judge: Judge) -> Result<(), Failed> {
    let choice = find(spec)?;
    let builder = choice.builder()?;
    let slow = SLOW.iter().find(|(name, _)| *name == choice.entry.card.name).map(|(_, amount)| *amount);
    let usual = if choice.is_on_request() { Amount::Eighth } else { Amount::Full };
    let amount = slow.unwrap_or(usual);
    Ok(judge(amount, &|| builder.build()).map_err(|error| format!("{spec}: {error}"))?)
}

fn tests_of(choices: Vec<EngineChoice>, judges: &'static [(&str, Judge)]) -> impl Iterator<Item = Trial> {
    choices.into_iter().flat_map(|choice| {
        judges.iter().map(move |&(name, judge)| {
            let spec = choice.spec();
            let full = format!("{}::{name} of {}", choice.entry.card.name, choice.preset);
            Trial::test(full, move || judged(&spec, judge))
        })
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let (kept, broken) = (all().unwrap(), literal().unwrap());
    // Without one of them, no test would fail.
    assert!(SLOW.iter().all(|(slow, _)| ENGINES.iter().any(|entry| entry.card.name == *slow)));
    assert!(ENGINES.iter().all(|entry| kept.iter().any(|choice| choice.entry.card.name == entry.card.name)));
    assert!(kept.len() > ENGINES.len() && ENGINES.len() > 2 && !broken.is_empty());
    let mut tests: Vec<_> = tests_of(kept, KEPT).chain(tests_of(broken, BROKEN)).collect();
    tests.push(Trial::test("cam_list::the_literal_queues_of_s2_break_the_order_in_plain_sight", || {
        the_literal_queues_of_s2_break_the_order_in_plain_sight();
        Ok(())
    }));
    libtest_mimic::run(&arguments, tests).exit_code()
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
