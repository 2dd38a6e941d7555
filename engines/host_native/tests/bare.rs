// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bare structure that the stopwatch times has the outcomes of the engine, in every run on
//! reused memory, and however the operations are divided into segments.

use mb_core::Op;
use mb_core::parameters::Choice;
use mb_host_native::{ENTRY, HostNative, HostNativeParameters, VectorUnitName};
use mb_kit::{OperationServer, Server};
use mb_oracle::Oracle;
use mb_testkit::drive::{Offer, Visits};
use mb_testkit::streams;
use mbmatch::Structure;
use proptest::prelude::*;

fn presets() -> impl Iterator<Item = (&'static str, HostNativeParameters)> {
    ENTRY.presets.iter().map(|preset| (preset.name, mb_testkit::preset(&ENTRY, preset.name)))
}

#[test]
fn every_structure_of_mbmatch_is_a_preset() {
    for structure in Structure::ALL {
        let (_, settings) = presets().find(|(name, _)| *name == structure.name()).expect("a preset of its name");
        assert_eq!(settings.structure.word(), structure.name());
    }
    assert_eq!(presets().count(), Structure::ALL.len());
    assert_eq!(ENTRY.presets[0].name, Structure::default().name());
}

#[test]
fn a_vector_unit_that_the_processor_lacks_is_refused_and_not_replaced() {
    let with =
        |unit| HostNative::new(&HostNativeParameters { vector_unit: unit, ..mb_testkit::preset(&ENTRY, "vector") });
    assert!(with(VectorUnitName::Scalar).is_ok() && with(VectorUnitName::Best).is_ok());
    let foreign = if cfg!(target_arch = "x86_64") { VectorUnitName::Neon } else { VectorUnitName::Avx2 };
    let error = with(foreign).unwrap_err().to_string();
    let word = foreign.word();
    assert_eq!(error, format!("invalid parameters: this processor has no vector unit `{word}`"));
}

#[test]
fn visits_are_those_of_a_list_walk() {
    for (name, settings) in presets() {
        let make = || Box::new(Server::new(HostNative::new(&settings).unwrap())) as Box<_>;
        streams::outcomes_are_the_oracles(&make, Visits::OfAWalk).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_bare_run_on_reused_memory_has_the_oracles_outcomes(
        offers in streams::streams(300),
        segment in 1_usize..80,
    ) {
        let ops: Vec<Op> = offers.iter().map(|offer: &Offer| offer.op).collect();
        let mut oracle = Oracle::new();
        let expected: Vec<_> = ops.iter().map(|&op| oracle.apply(op).0).collect();
        for (name, settings) in presets() {
            let mut run = HostNative::new(&settings).unwrap().bare_run(&ops).expect("the engine is a measured one");
            for _ in 0..3 {
                run.rewind();
                for _ in 0..ops.len().div_ceil(segment) {
                    run.perform(segment);
                }
                prop_assert_eq!(&run.outcomes(), &expected, "{}", name);
            }
        }
    }
}
