// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware's answers, and the entries that it reads, are those of the contract: on both
//! instruction sets, with both programs, and whatever caches and headers are assumed to do.

use mb_core::ReplayEngine;
use mb_list_ooo::parameters::Parameters;
use mb_list_ooo::{ENTRY, ListOoo};
use mb_processor::out_of_order::{cortex_a72, ppc440};
use mb_testkit::drive::Visits;
use mb_testkit::{cases, preset, streams};

#[test]
fn outcomes_and_visits_are_those_of_a_list_walk() {
    let corpus = cases::corpus().unwrap();
    for changes in [
        &[("instruction_set", "ppc32"), ("program", "mpi")],
        &[("instruction_set", "ppc32"), ("program", "portals")],
        &[("instruction_set", "rv64"), ("program", "mpi")],
        &[("instruction_set", "rv64"), ("program", "portals")],
        &[("list_cache", "cold"), ("header", "cache")],
    ] {
        let make = || Box::new(ListOoo::new(&preset(&ENTRY, "hemmert2007", changes)).unwrap()) as Box<dyn ReplayEngine>;
        assert_eq!(cases::run(&corpus, &make, Visits::OfAWalk), Ok(()), "{changes:?}");
        assert_eq!(streams::outcomes_are_the_oracles(&make, Visits::OfAWalk), Ok(()), "{changes:?}");
    }
}

/// The presets write out what `mb_processor` has as cores; multipliers and dividers apart, which
/// the firmware has no use for.
#[test]
fn presets_are_the_cores_of_the_processor_library() {
    for (name, (mut core, hierarchy)) in
        [("hemmert2007", ppc440(32)), ("hemmert2007_cold", ppc440(32)), ("nic64", cortex_a72())]
    {
        let parameters = Parameters::new(&preset(&ENTRY, name, &[]));
        core.multiply = parameters.core.multiply;
        core.divide = parameters.core.divide;
        assert_eq!(parameters.core, core, "{name}");
        assert_eq!(parameters.hierarchy, hierarchy, "{name}");
    }
}

#[test]
fn caches_that_cannot_be_built_are_refused() {
    let parameters = preset(&ENTRY, "hemmert2007", &[("data_ways", "3")]);
    let error = ListOoo::new(&parameters).expect_err("1024 lines in sets of 3");
    let reason = "data cache: bytes is 32768 with 3 ways of 32-byte lines; expected a power of two of sets";
    assert!(error.to_string().ends_with(reason), "{error}");
}
