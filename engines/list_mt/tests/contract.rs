// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Overlapping threads keep the contract, whatever the cores: outcomes and visits are those of a
//! walk in order of acceptance.

use mb_core::{Cycles, ReplayEngine};
use mb_list_mt::parameters::{Delivery, Entries, InstructionSet, ListMtParameters, LockStyle, MatchFunction};
use mb_list_mt::{ENTRY, ListMt};
use mb_processor::barrel::SpawnPolicy;
use mb_processor::hierarchy::Coherence;
use mb_testkit::drive::Visits;
use mb_testkit::streams::Amount;
use mb_testkit::{cases, checked, preset};

const INVALIDATE: Coherence = Coherence::Invalidate { upgrade: Cycles(0), transfer: Cycles(10) };

/// A preset, and changes to it.
type Variant = (&'static str, fn(&mut ListMtParameters));

/// Presets with changes that threads could be thrown by: who waits, what is slow, who is where.
const VARIANTS: [Variant; 5] = [
    ("mt16", |parameters| {
        parameters.cores.hierarchy.coherence = INVALIDATE;
        parameters.cores.calls.transfer = Cycles(17);
        parameters.cores.calls.handoff = Cycles(3);
        parameters.list_cache = Entries::Cold;
    }),
    ("mt16", |parameters| {
        parameters.locks = LockStyle::Spin;
        parameters.cores.hierarchy.coherence = INVALIDATE;
        parameters.program = MatchFunction::Mpi;
    }),
    ("mt2", |parameters| {
        parameters.instruction_set = InstructionSet::Rv64;
        parameters.cores.calls.create = Cycles(50);
        parameters.header = Delivery::Cache;
    }),
    // More threads than contexts, and quanta short enough to matter.
    ("mt2", |parameters| {
        parameters.operations = 40;
        parameters.cores.contexts = 2;
        parameters.cores.quantum = Cycles(64);
        parameters.program = MatchFunction::Mpi;
        parameters.cores.placement = SpawnPolicy::Fill;
    }),
    ("mt1", |parameters| {
        parameters.operations = 12;
        parameters.cores.contexts = 2;
        parameters.cores.quantum = Cycles(64);
        parameters.locks = LockStyle::Spin;
        parameters.instruction_set = InstructionSet::Rv64;
    }),
];

fn every_variant(judge: impl Fn(&dyn Fn() -> Box<dyn ReplayEngine>) -> Result<(), String>) {
    for (name, change) in VARIANTS {
        let mut parameters = preset(&ENTRY, name);
        change(&mut parameters);
        let make = || Box::new(ListMt::new(checked(&parameters)).unwrap()) as Box<dyn ReplayEngine>;
        if let Err(objection) = judge(&make) {
            panic!("{name}, {parameters:?}: {objection}");
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
    every_variant(|make| Amount::Eighth.outcomes_are_the_oracles(make, Visits::OfAWalk));
}
