// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine of the catalog with every preset keeps the contract and the interface's promises.
//!
//! A new engine is judged here without an edit. Visits are judged in the tests of those engines that walk a list.

use mb_catalog::{EngineChoice, all, find};
use mb_core::Engine;
use mb_testkit::drive::Visits;
use mb_testkit::{cases, streams};

/// Runs `judge` on every engine and preset and reports all that object.
fn judge_all(judge: impl Fn(&dyn Fn() -> Box<dyn Engine>) -> Result<(), String>) {
    let choices = all().unwrap();
    assert!(choices.len() > 2);
    let objections: Vec<String> = choices
        .iter()
        .filter_map(|choice| judge(&|| build(choice)).err().map(|error| format!("{}: {error}", choice.spec())))
        .collect();
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

fn build(choice: &EngineChoice) -> Box<dyn Engine> {
    choice.build().unwrap()
}

#[test]
fn every_engine_passes_the_corpus() {
    let corpus = cases::corpus().unwrap();
    judge_all(|make| cases::run(&corpus, make, Visits::Own));
}

#[test]
fn every_outcome_of_a_random_stream_is_the_oracles() {
    judge_all(|make| streams::outcomes_are_the_oracles(make, Visits::Own));
}

#[test]
fn stretching_offered_times_never_changes_outcomes() {
    judge_all(streams::stretching_offered_times_never_changes_outcomes);
}

#[test]
fn ideal_zero_is_never_slower_than_any_engine_on_any_operation() {
    let zero = find("ideal:zero").unwrap();
    judge_all(|make| streams::bound_is_never_slower(&|| build(&zero), make));
}
