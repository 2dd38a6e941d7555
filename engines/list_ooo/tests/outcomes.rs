// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware's answers, and the entries that it reads, are those of the contract: on both
//! instruction sets, with both programs, and whatever caches and headers are assumed to do.

use mb_core::ReplayEngine;
use mb_list_ooo::parameters::{Delivery, Entries, InstructionSet, ListOooParameters, ListOooParts, MatchFunction};
use mb_list_ooo::{ENTRY, ListOoo};
use mb_processor::out_of_order::{cortex_a72, ppc440};
use mb_testkit::drive::Visits;
use mb_testkit::streams::Amount;
use mb_testkit::{cases, checked, preset};

#[test]
fn outcomes_and_visits_are_those_of_a_list_walk() {
    let corpus = cases::corpus().unwrap();
    let base: ListOooParameters = preset(&ENTRY, "hemmert2007");
    let with = |&(instruction_set, program)| ListOooParameters { instruction_set, program, ..base.clone() };
    let sets_and_programs = [
        (InstructionSet::Ppc32, MatchFunction::Mpi),
        (InstructionSet::Ppc32, MatchFunction::Portals),
        (InstructionSet::Rv64, MatchFunction::Mpi),
        (InstructionSet::Rv64, MatchFunction::Portals),
    ];
    let cold = ListOooParameters { list_cache: Entries::Cold, header: Delivery::Cache, ..base.clone() };
    for parameters in sets_and_programs.iter().map(with).chain([cold]) {
        let make = || Box::new(ListOoo::new(checked(&parameters)).unwrap()) as Box<dyn ReplayEngine>;
        assert_eq!(cases::run(&corpus, &make, Visits::OfAWalk), Ok(()), "{parameters:?}");
        assert_eq!(Amount::Eighth.outcomes_are_the_oracles(&make, Visits::OfAWalk), Ok(()), "{parameters:?}");
    }
}

/// The presets write out what `mb_processor` has as cores; multipliers, dividers and floating-point
/// units apart, which the firmware has no use for.
#[test]
fn presets_are_the_cores_of_the_processor_library() {
    for (name, (mut core, hierarchy)) in
        [("hemmert2007", ppc440(32)), ("hemmert2007_cold", ppc440(32)), ("nic64", cortex_a72())]
    {
        let parameters = ListOooParts::new(&preset(&ENTRY, name));
        core.multiply = parameters.core.multiply;
        core.divide = parameters.core.divide;
        core.float = parameters.core.float;
        assert_eq!(parameters.core, core, "{name}");
        assert_eq!(parameters.hierarchy, hierarchy, "{name}");
    }
}

#[test]
fn caches_that_cannot_be_built_are_refused() {
    let mut parameters: ListOooParameters = preset(&ENTRY, "hemmert2007");
    parameters.hierarchy.data.ways = 3;
    let error = ListOoo::new(checked(&parameters)).expect_err("1024 lines in sets of 3");
    let reason = "data cache: bytes is 32768 with 3 ways of 32-byte lines; expected a power of two of sets";
    assert!(error.to_string().ends_with(reason), "{error}");
}
