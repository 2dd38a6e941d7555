// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Overlapping threads keep the contract, whatever the cores: outcomes and visits are those of a
//! walk in order of acceptance.

use mb_core::ReplayEngine;
use mb_list_mt::{ENTRY, ListMt};
use mb_testkit::drive::Visits;
use mb_testkit::{cases, preset, streams};

/// Presets with changes that threads could be thrown by: who waits, what is slow, who is where.
const VARIANTS: [(&str, &[(&str, &str)]); 5] = [
    ("mt16", &[("coherence", "invalidate"), ("lock_transfer", "17"), ("lock_handoff", "3"), ("list_cache", "cold")]),
    ("mt16", &[("locks", "spin"), ("coherence", "invalidate"), ("program", "mpi")]),
    ("mt2", &[("instruction_set", "rv64"), ("thread_create", "50"), ("header", "cache")]),
    // More threads than contexts, and quanta short enough to matter.
    ("mt2", &[("operations", "40"), ("contexts", "2"), ("quantum", "64"), ("program", "mpi"), ("placement", "fill")]),
    (
        "mt1",
        &[("operations", "12"), ("contexts", "2"), ("quantum", "64"), ("locks", "spin"), ("instruction_set", "rv64")],
    ),
];

fn every_variant(judge: impl Fn(&dyn Fn() -> Box<dyn ReplayEngine>) -> Result<(), String>) {
    for (name, changes) in VARIANTS {
        let parameters = preset(&ENTRY, name, changes);
        let make = || Box::new(ListMt::new(&parameters).unwrap()) as Box<dyn ReplayEngine>;
        if let Err(objection) = judge(&make) {
            panic!("{name} with {changes:?}: {objection}");
        }
    }
}

#[test]
fn the_corpus_passes_with_the_visits_of_a_walk() {
    let corpus = cases::corpus().unwrap();
    every_variant(|make| cases::run(&corpus, make, Visits::OfAWalk));
}

#[test]
fn random_streams_have_the_outcomes_and_visits_of_the_oracle() {
    every_variant(|make| streams::outcomes_are_the_oracles(make, Visits::OfAWalk));
}
