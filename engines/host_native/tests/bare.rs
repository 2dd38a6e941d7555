// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch, as the stopwatch times it, beside the oracle: on the corpus and on the random streams that engines are
//! judged by, in every run on reused memory, and however the operations are divided into segments.

use mb_core::{BareRun, Op, Outcome};
use mb_host_native::{ENTRY, HostNative, HostNativeParameters};
use mb_kit::{OperationServer, Server};
use mb_oracle::Oracle;
use mb_testkit::drive::{Offer, Visits};
use mb_testkit::{cases, streams};
use proptest::prelude::*;

fn presets() -> impl Iterator<Item = (&'static str, HostNativeParameters)> {
    ENTRY.presets.iter().map(|preset| (preset.name, mb_testkit::preset(&ENTRY, preset.name)))
}

fn bare_run(settings: &HostNativeParameters, ops: &[Op]) -> Box<dyn BareRun> {
    HostNative::new(settings).bare_run(ops).expect("the engine is a measured one")
}

fn expected(ops: &[Op]) -> Vec<Outcome> {
    let mut oracle = Oracle::new();
    ops.iter().map(|&op| oracle.apply(op).0).collect()
}

#[test]
fn visits_are_those_of_a_list_walk() {
    for (name, settings) in presets() {
        let make = || Box::new(Server::new(HostNative::new(&settings))) as Box<_>;
        streams::outcomes_are_the_oracles(&make, Visits::OfAWalk).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_library_passes_the_corpus() {
    for case in cases::corpus().expect("the corpus reads") {
        for (name, settings) in presets() {
            let mut run = bare_run(&settings, &case.ops);
            run.perform(case.ops.len());
            assert_eq!(run.outcomes(), expected(&case.ops), "{name}: {}", case.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_bare_run_on_reused_memory_has_the_oracles_outcomes(
        offers in streams::streams(300),
        segment in 1_usize..80,
    ) {
        let ops: Vec<Op> = offers.iter().map(|offer: &Offer| offer.op).collect();
        for (name, settings) in presets() {
            let mut run = bare_run(&settings, &ops);
            for _ in 0..3 {
                run.rewind();
                for _ in 0..ops.len().div_ceil(segment) {
                    run.perform(segment);
                }
                prop_assert_eq!(&run.outcomes(), &expected(&ops), "{}", name);
            }
        }
    }
}
