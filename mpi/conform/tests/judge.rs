// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The judge permits exactly what a library that keeps MPI's rules can do.

use std::collections::BTreeSet;

use mb_conform::arrival::unexplained;
use mb_conform::feature::Feature;
use mb_conform::generate::{generate, generate_for_order, generate_within};
use mb_conform::history::History;
use mb_conform::judge::violation;
use mb_conform::outcome::{Observation, ObservedOutcome, ObservedStatus, RawEvent};
use mb_conform::program::{Action, SendMode, TestProgram};
use mb_conform::rules;
use mb_conform::shrink::candidates;
use mb_conform::simulate::{Contract, PlantedFault, SimulatedLibrary, explore, run};
use mb_conform::traits::traits;
use mb_core::random::Random;
use proptest::prelude::*;

fn slices(outcome: &[Vec<Observation>]) -> Vec<&[Observation]> {
    outcome.iter().map(Vec::as_slice).collect()
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_program_ends_in_every_interleaving(seed: u64, ranks in 1_u8..=4, draw: u64, arrival: bool) {
        let program = generate(seed, 0, ranks, &[]);
        prop_assert_eq!(rules::broken_rule(&program), None);
        let contract = if arrival { Contract::Arrival } else { Contract::Mpi };
        let library = SimulatedLibrary { rendezvous: true, ..SimulatedLibrary::of(contract) };
        prop_assert!(run(&program, library, &mut Random::of(draw, &[])).is_some(), "stuck:\n{}", program);
    }

    #[test]
    fn what_a_correct_library_does_is_allowed(seed: u64, ranks in 1_u8..=4, draw: u64, arrival: bool) {
        let program = generate(seed, 0, ranks, &[]);
        let contract = if arrival { Contract::Arrival } else { Contract::Mpi };
        let library = SimulatedLibrary { rendezvous: draw % 2 == 0, ..SimulatedLibrary::of(contract) };
        let outcome = run(&program, library, &mut Random::of(draw, &[])).expect("it ends");
        let found = violation(&program, &slices(&outcome), true);
        prop_assert!(found.is_none(), "{}\n{}", program, found.unwrap());
    }

    #[test]
    fn what_a_correct_library_does_with_programs_for_order_is_allowed(seed: u64, ranks in 1_u8..=4, draw: u64) {
        let program = generate_for_order(seed, 0, ranks, &[]);
        prop_assert_eq!(rules::broken_rule(&program), None);
        let outcome = run(&program, SimulatedLibrary::of(Contract::Mpi), &mut Random::of(draw, &[])).expect("it ends");
        let found = violation(&program, &slices(&outcome), true);
        prop_assert!(found.is_none(), "{}\n{}", program, found.unwrap());
    }

    #[test]
    fn arrival_explains_what_arrives(seed: u64, ranks in 1_u8..=4, draw: u64) {
        let program = generate(seed, 0, ranks, &[]);
        let library = SimulatedLibrary { rendezvous: draw % 2 == 0, ..SimulatedLibrary::of(Contract::Arrival) };
        let outcome = run(&program, library, &mut Random::of(draw, &[])).expect("it ends");
        let history = History::resolve(&program, &slices(&outcome), true).expect("nothing is wrong by itself");
        prop_assert_eq!(unexplained(&program, &history), None, "{}", program);
    }

    #[test]
    fn what_is_shrunk_keeps_the_rules_and_ends(seed: u64, ranks in 1_u8..=3, draw: u64) {
        let program = generate_within((2, 12), seed, 0, ranks, &[]);
        for simpler in candidates(&program) {
            prop_assert_eq!(rules::broken_rule(&simpler), None);
            let library = SimulatedLibrary { rendezvous: true, ..SimulatedLibrary::of(Contract::Mpi) };
            prop_assert!(run(&simpler, library, &mut Random::of(draw, &[])).is_some(), "stuck:\n{}", simpler);
        }
    }

    /// Small programs, of which every outcome can be listed: each of these is allowed, and what
    /// differs from one of them in a match, a probe, a cancel or an order is allowed if and only if
    /// it is among them.
    #[test]
    fn what_is_allowed_is_what_can_happen(seed: u64, ranks in 1_u8..=3) {
        let without = [Feature::Null, Feature::Threads, Feature::SharedThreads];
        allowed_is_possible(&generate_within((2, 7), seed, 0, ranks, &without))?;
    }

    /// The same for ranks with several threads. Whether a probe of one thread hides a message from
    /// another is left open by the judge alone.
    #[test]
    fn what_threads_may_do_is_what_can_happen(seed: u64, ranks in 1_u8..=2) {
        let without = [Feature::Null, Feature::Probe, Feature::Partitioned];
        let programs = (0..200).map(|number| generate_within((2, 6), seed, number, ranks, &without));
        for program in programs.filter(TestProgram::is_threaded).take(1) {
            allowed_is_possible(&program)?;
        }
    }

    /// The same for the order of arrivals, as far as it is checked: what each receiver observed.
    #[test]
    fn what_arrival_explains_is_what_can_arrive(seed: u64) {
        // One rank, so that nothing but its own order ties its messages down.
        let without = [Feature::Null, Feature::Threads, Feature::SharedThreads];
        let program = generate_within((2, 8), seed, 0, 1, &without);
        let library = SimulatedLibrary::of(Contract::Arrival);
        let Some(all) = explore(&program, library, 3000).expect("it ends") else { return Ok(()) };
        let mut tried = BTreeSet::new();
        let is_synchronous = program.messages().any(|(_, message)| message.mode == SendMode::Synchronous);
        for outcome in &all {
            for changed in changes(&program, outcome) {
                if tried.len() < 2000 && tried.insert(changed.clone()) {
                    let Ok(history) = History::resolve(&program, &slices(&changed), true) else { continue };
                    // What stands in the status of a message that does not fit is judged apart.
                    let explained = unexplained(&program, &history).is_none() && history.truncation.is_empty();
                    prop_assert!(explained || !all.contains(&changed), "{}\n{:#?}", program, changed);
                    // When a synchronous send completes is not asked for.
                    prop_assert!(!explained || is_synchronous || all.contains(&changed), "{}\n{:#?}", program, changed);
                }
            }
        }
    }
}

/// Each planted fault is found, in programs that have its feature; without the fault, and without the
/// feature, nothing is.
#[test]
fn a_planted_fault_of_each_feature_is_found() {
    let faults: [(PlantedFault, Feature, &[Feature], &str); 6] = [
        (PlantedFault::LateIsendrecv, Feature::Isendrecv, &[], "was posted before and accepts message"),
        (PlantedFault::WrongLayout, Feature::Datatypes, &[], "with changed bytes"),
        (PlantedFault::SessionOvertaking, Feature::Sessions, &[], "and is accepted as well"),
        (PlantedFault::PartitionedLast, Feature::Partitioned, &[], "and is accepted as well"),
        (PlantedFault::ThreadOvertaking, Feature::Threads, &[Feature::SharedThreads], "and is accepted as well"),
        (PlantedFault::ShortCount, Feature::Counts, &[Feature::Large], "in its status instead of"),
    ];
    // In programs that have a feature, the violation with the lowest number.
    let found = |fault: Option<PlantedFault>, without: &[Feature], needed: Feature| {
        (0..600).find_map(|number| {
            let program = generate_within((4, 16), 7, number, 2, without);
            let library = SimulatedLibrary { fault, ..SimulatedLibrary::of(Contract::Mpi) };
            // A program may also hang.
            let outcome = run(&program, library, &mut Random::of(number, &[]))?;
            violation(&program, &slices(&outcome), true).filter(|_| without.contains(&needed) || needed.has(&program))
        })
    };
    for (fault, feature, also, text) in faults {
        let violation = found(Some(fault), also, feature).unwrap_or_else(|| panic!("{fault:?} is not found"));
        assert!(violation.to_string().contains(text), "{fault:?}: {violation}");
        assert_eq!(found(None, also, feature), None);
        let without: Vec<Feature> = also.iter().copied().chain([feature]).collect();
        assert_eq!(found(Some(fault), &without, feature), None, "{fault:?} without {feature:?}");
    }
    let shared = found(Some(PlantedFault::ThreadOvertaking), &[], Feature::SharedThreads);
    assert!(shared.expect("found with shared communicators").to_string().contains("and is accepted as well"));
}

/// Every outcome of a simulated library is allowed, and each change of one is allowed if and only if
/// it is another.
fn allowed_is_possible(program: &TestProgram) -> Result<(), TestCaseError> {
    let library = SimulatedLibrary::of(Contract::Mpi);
    let Some(all) = explore(program, library, 3000).expect("it ends") else { return Ok(()) };
    let mut tried = BTreeSet::new();
    for outcome in &all {
        let found = violation(program, &slices(outcome), true);
        prop_assert!(found.is_none(), "{}\n{}", program, found.unwrap());
        for changed in changes(program, outcome) {
            if tried.len() < 2000 && tried.insert(changed.clone()) {
                let found = violation(program, &slices(&changed), true);
                prop_assert_eq!(found.is_none(), all.contains(&changed), "{}\n{:#?}\n{:?}", program, changed, found);
            }
        }
    }
    Ok(())
}

/// Outcomes that differ from `outcome` in one thing that a library might do wrong.
fn changes(program: &TestProgram, outcome: &ObservedOutcome) -> Vec<ObservedOutcome> {
    let mut all = Vec::new();
    let places: Vec<(usize, usize)> = outcome
        .iter()
        .enumerate()
        .flat_map(|(rank, observations)| (0..observations.len()).map(move |index| (rank, index)))
        .collect();
    let reception = |(rank, index): (usize, usize)| match outcome[rank][index].event {
        RawEvent::Received { status, .. } | RawEvent::Drained { status, .. } => Some(status),
        _ => None,
    };
    let set = |event: &mut RawEvent, new: ObservedStatus| match event {
        RawEvent::Received { status, .. } | RawEvent::Drained { status, .. } => *status = new,
        _ => {}
    };
    // Two receptions change their messages.
    for (at, &one) in places.iter().enumerate() {
        for &other in &places[at + 1..] {
            if let (Some(first), Some(second)) = (reception(one), reception(other))
                && !is_of_a_matched_probe(program, &outcome[one.0][one.1].event)
                && !is_of_a_matched_probe(program, &outcome[other.0][other.1].event)
            {
                let mut changed = outcome.clone();
                set(&mut changed[one.0][one.1].event, second);
                set(&mut changed[other.0][other.1].event, first);
                all.push(changed);
            }
        }
    }
    for &(rank, index) in &places {
        let piece = outcome[rank][index];
        let end = program.of_rank(rank as u8).count();
        match piece.event {
            // A probe finds another message, or none, or one instead of none.
            RawEvent::Found { step, .. } | RawEvent::FoundNothing { step } => {
                let Some((_, Step { call, .. })) = probe(program, step) else { continue };
                if call.takes() {
                    continue;
                }
                if !call.waits() {
                    let mut changed = outcome.clone();
                    changed[rank][index].event = RawEvent::FoundNothing { step };
                    all.push(changed);
                }
                for message in everything(program, rank as u8) {
                    let mut changed = outcome.clone();
                    changed[rank][index].event = RawEvent::Found { step, status: message };
                    all.push(changed);
                }
            }
            // A message that was left takes a cancelled receive, or the other way round.
            RawEvent::Drained { status, .. } => {
                for (other, cancelled) in outcome[rank].iter().enumerate() {
                    if let RawEvent::Cancelled { step } = cancelled.event
                        && cancelled.at == end
                    {
                        let mut changed = outcome.clone();
                        changed[rank][index].event = RawEvent::Received { step, status };
                        changed[rank].remove(other);
                        all.push(changed);
                    }
                }
            }
            // Two observations of the drain phase change places.
            _ => {}
        }
        if let Some(next) = outcome[rank].get(index + 1)
            && (piece.at, next.at) == (end, end)
            && !matches!(next.event, RawEvent::Cancelled { .. })
            && ![&piece.event, &next.event]
                .into_iter()
                .any(|event| is_of_a_matched_probe(program, event) || is_of_both_halves(program, event))
        {
            let mut changed = outcome.clone();
            changed[rank].swap(index, index + 1);
            all.push(changed);
        }
    }
    all
}

struct Step {
    call: mb_conform::program::ProbeCall,
}

fn probe(program: &TestProgram, id: u32) -> Option<(usize, Step)> {
    let (at, step) = program.step(id)?;
    match &step.action {
        Action::Probe(spec, call) if spec.pattern().is_some() => Some((at, Step { call: *call })),
        _ => None,
    }
}

/// What a matched probe took is received in its own way, and at the end before everything else.
fn is_of_a_matched_probe(program: &TestProgram, event: &RawEvent) -> bool {
    matches!(event, RawEvent::Received { step, .. }
        if program.step(*step).is_some_and(|(_, step)| matches!(step.action, Action::ReceiveProbed(..) | Action::Probe(..))))
}

/// The two results of an `MPI_Isendrecv` are reported together.
fn is_of_both_halves(program: &TestProgram, event: &RawEvent) -> bool {
    matches!(event, RawEvent::Received { step, .. } | RawEvent::Sent { step }
        if program.step(*step).is_some_and(|(_, step)| matches!(step.action, Action::SendReceive(..))))
}

/// The status of a probe of `rank` for each message to it.
fn everything(program: &TestProgram, rank: u8) -> Vec<ObservedStatus> {
    let to_rank = program.messages().filter(|(_, message)| message.dest == Some(rank));
    let status = to_rank.map(|(step, message)| ObservedStatus {
        source: i32::from(message.comm.rank_of(step.rank, program.ranks)),
        tag: i32::from(message.tag),
        count: message.bytes(step.id) as i32,
        message: None,
        flags: 0,
    });
    status.collect()
}

#[test]
fn a_program_has_no_feature_that_was_excluded() {
    for (feature, name) in Feature::ALL {
        let with = (0..200).filter(|&number| traits(&generate(1, number, 2, &[])).contains(&name)).count();
        assert!(with > 0, "{name}");
        assert!((0..50).all(|number| !traits(&generate(1, number, 2, &[feature])).contains(&name)), "{name}");
    }
}

#[test]
fn programs_for_order_have_wildcards_and_one_receiver_of_most_messages() {
    for ranks in 2..=4 {
        let programs: Vec<TestProgram> = (0..100).map(|number| generate_for_order(1, number, ranks, &[])).collect();
        let besides: Vec<&str> = Feature::BESIDES_ORDER.iter().map(|feature| feature.name()).collect();
        let has_feature = |program| traits(program).iter().any(|name| besides.contains(name));
        assert!(!programs.iter().any(has_feature));
        let has_wildcard = |program: &&TestProgram| traits(program).contains(&"any-source");
        assert!(programs.iter().filter(has_wildcard).count() > 60);
        let to =
            |program: &TestProgram, rank| program.messages().filter(|(_, message)| message.dest == Some(rank)).count();
        let most = |program: &TestProgram| (0..ranks).map(|rank| to(program, rank)).max().unwrap_or(0);
        let (to_one, all) = programs
            .iter()
            .fold((0, 0), |(to_one, all), program| (to_one + most(program), all + program.messages().count()));
        assert!(4 * to_one > 3 * all, "{ranks} ranks: {to_one} of {all}");
        assert!(all > 500, "{all}");
    }
}
