// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Outcome files: valid ones are read back unchanged, invalid ones are refused.

use mb_conform::codes::{FORMAT, Need, OUTCOME_MAGIC, RecordKind};
use mb_conform::feature::Feature;
use mb_conform::generate::{generate, generate_within};
use mb_conform::outcome::{CALLED_CANCELLED, GAPS, OVERRUN, Observation, ObservedOutcome, ObservedStatus, RawEvent};
use mb_conform::program::{Action, Form, Layout, MessageSource, StepId, TestProgram};
use mb_conform::report::{Failure, judge_run, observations_of};
use mb_conform::simulate::{Contract, SimulatedLibrary, run};
use mb_conform::wire::{encode, needs};
use mb_core::random::Random;
use proptest::prelude::*;

/// The record of an observation, as `conform.c` writes it.
fn record(observations: &Observation) -> [i32; 8] {
    let with = |kind: RecordKind, step: i32, status: ObservedStatus| {
        let message = status.message.map_or(-1, |message| message as i32);
        [kind.code(), observations.at as i32, step, status.source, status.tag, status.count, message, status.flags]
    };
    let none = ObservedStatus { source: 0, tag: 0, count: 0, message: Some(0), flags: 0 };
    match observations.event {
        RawEvent::Received { step, status } => with(RecordKind::Received, step as i32, status),
        RawEvent::Truncated { step, status } => with(RecordKind::Truncated, step as i32, status),
        RawEvent::Cancelled { step } => with(RecordKind::Cancelled, step as i32, none),
        RawEvent::Sent { step } => with(RecordKind::Sent, step as i32, none),
        RawEvent::Found { step, status } => with(RecordKind::Found, step as i32, status),
        RawEvent::FoundNothing { step } => with(RecordKind::FoundNothing, step as i32, none),
        RawEvent::Drained { comm, status } => with(RecordKind::Drained, comm as i32, status),
        RawEvent::Failed { step, class } => {
            with(RecordKind::Failed, step as i32, ObservedStatus { flags: class, ..none })
        }
    }
}

/// The file of each rank about one program; `stuck` is the operation in which the time limit
/// expired.
fn files(outcome: &ObservedOutcome, stuck: Option<usize>) -> Vec<Vec<u8>> {
    let ranks = outcome.len() as i32;
    let file = |(rank, observations): (usize, &Vec<Observation>)| {
        let mut all = vec![[1, OUTCOME_MAGIC, FORMAT, rank as i32, ranks, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]];
        all.extend(observations.iter().map(record));
        all.push(stuck.map_or([3, 0, 0, 0, 0, 0, 0, 0], |at| [10, at as i32, 0, 0, 0, 0, 0, 0]));
        all.iter().flatten().flat_map(|number| number.to_ne_bytes()).collect()
    };
    outcome.iter().enumerate().map(file).collect()
}

fn sample(seed: u64) -> (TestProgram, ObservedOutcome) {
    let program = generate_within((4, 20), seed, 0, 2, &[]);
    let library = SimulatedLibrary::of(Contract::Mpi);
    let outcome = run(&program, library, &mut Random::of(seed, &[1])).expect("it ends");
    (program, outcome)
}

#[test]
fn an_invalid_record_is_refused_with_its_index() {
    let (program, outcome) = sample(1);
    let refused = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut files = files(&outcome, None);
        change(&mut files);
        judge_run(std::slice::from_ref(&program), 0, &files).unwrap_err().to_string()
    };
    let set = |number: usize, value: i32| {
        move |files: &mut Vec<Vec<u8>>| files[1][4 * number..4 * number + 4].copy_from_slice(&value.to_ne_bytes())
    };
    assert_eq!(
        refused(&set(1, 7)),
        "outcomes of rank 1: found the first record [1, 7, 2, 1, 2]; expected [1, 1431257677, 2, 1, 2]"
    );
    assert_eq!(refused(&set(8, 77)), "outcomes of rank 1: record 1: found kind 77; expected 1 to 12");
    assert_eq!(
        refused(&set(9, 1)),
        "outcomes of rank 1: record 1: found the beginning of program 1; expected one of the programs 0 to 0"
    );
    assert_eq!(refused(&set(8, 3)), "outcomes of rank 1: record 1: End found outside of a program; expected Begin");
    assert_eq!(refused(&set(9, -1)), "outcomes of rank 1: record 1: found operation -1; expected 0 or more");
}

#[test]
fn an_expired_time_limit_is_stuck_and_a_cut_file_is_a_crash() {
    let (program, outcome) = sample(2);
    let programs = [program];
    let judged = judge_run(&programs, 0, &files(&outcome, Some(3))).expect("they can be read");
    assert!(matches!(&judged.failures[..], [(0, Failure::Stuck { at, .. })] if at == &[Some(3), Some(3)]));
    let mut cut = files(&outcome, None);
    cut[1].truncate(80);
    let judged = judge_run(&programs, 0, &cut).expect("they can be read");
    assert_eq!(judged.failures, [(0, Failure::Crashed)]);
    assert_eq!((judged.next, judged.counts.programs), (1, 0));
}

#[test]
fn the_runner_names_what_a_library_lacks_as_the_generator_does() {
    let (_, source) = mb_conform::RUNNER.into_iter().find(|(name, _)| *name == "communicators.c").unwrap();
    for need in Need::ALL {
        let name = format!("{need:?}");
        let entry = format!("[NEED_{}] = \"{}\"", name.to_uppercase(), name.to_lowercase());
        assert!(source.contains(&entry), "{entry}");
        assert!(!Feature::needing(need).is_empty());
    }
    // A program file says what its programs need.
    let without = Feature::needing(Need::Partitioned);
    let programs: Vec<TestProgram> = (0..50).map(|number| generate(3, number, 2, without)).collect();
    let needs = programs.iter().map(needs).fold(0, |all, needs| all | needs);
    assert_eq!(needs, 0b1_1011);
    assert_eq!(encode(&programs)[20..24], needs.to_ne_bytes());
}

/// A program with a truncated message, and the outcome of a correct library.
fn sample_of_truncation() -> (TestProgram, ObservedOutcome, (usize, usize)) {
    let found = (0..).find_map(|seed| {
        let (program, outcome) = sample(seed);
        let is_truncated = |observations: &Observation| matches!(observations.event, RawEvent::Truncated { .. });
        let place = outcome
            .iter()
            .enumerate()
            .find_map(|(rank, observations)| Some((rank, observations.iter().position(is_truncated)?)));
        place.map(|place| (program, outcome, place))
    });
    found.expect("there is one")
}

#[test]
fn a_message_that_does_not_fit_needs_an_error_and_an_intact_guard() {
    let (program, outcome, (rank, index)) = sample_of_truncation();
    let programs = [program];
    let verdict = |change: &dyn Fn(StepId, ObservedStatus) -> RawEvent| {
        let mut outcome = outcome.clone();
        let RawEvent::Truncated { step, status } = outcome[rank][index].event else { panic!("it is truncated") };
        outcome[rank][index].event = change(step, status);
        let judged = judge_run(&programs, 0, &files(&outcome, None)).expect("they can be read");
        judged.failures.first().map(|(_, failure)| (failure.kind(), failure.to_string()))
    };
    assert_eq!(verdict(&|step, status| RawEvent::Truncated { step, status }), None);
    let (kind, text) =
        verdict(&|step, status| RawEvent::Truncated { step, status: ObservedStatus { flags: OVERRUN, ..status } })
            .unwrap();
    assert!(kind == "truncation" && text.contains("was written past the end of its buffer"), "{text}");
    let (kind, text) =
        verdict(&|step, status| RawEvent::Received { step, status: ObservedStatus { count: 1039, ..status } }).unwrap();
    assert!(kind == "truncation" && text.contains("does not fit, and no error was returned"), "{text}");
    let (kind, text) =
        verdict(&|step, status| RawEvent::Truncated { step, status: ObservedStatus { tag: 9, ..status } }).unwrap();
    assert!(kind == "defect" && text.contains("was truncated, and names source"), "{text}");
}

#[test]
fn bytes_outside_of_a_datatype_and_a_wrong_status_of_isendrecv_are_found() {
    let verdict = |is_chosen: &dyn Fn(&Action) -> bool, change: &dyn Fn(&mut ObservedStatus)| {
        let found = (0..).find_map(|seed| {
            let (program, mut outcome) = sample(seed);
            let status = outcome.iter_mut().flatten().find_map(|piece| match &mut piece.event {
                RawEvent::Received { step, status } if is_chosen(&program.step(*step)?.1.action) => Some(status),
                _ => None,
            })?;
            change(status);
            Some((program, outcome))
        });
        let (program, outcome) = found.expect("there is one");
        let judged = judge_run(&[program], 0, &files(&outcome, None)).expect("they can be read");
        judged.failures.first().map(|(_, failure)| (failure.kind(), failure.to_string())).expect("it fails")
    };
    let is_derived =
        |action: &Action| matches!(action, Action::Receive(spec, _) if spec.layout == Layout::Vector && !spec.short);
    let (kind, text) = verdict(&is_derived, &|status| status.flags |= GAPS);
    assert!(kind == "defect" && text.contains("bytes changed that are not part of its datatype"), "{text}");
    let is_isendrecv = |action: &Action| matches!(action, Action::SendReceive(_, spec, Form::Nonblocking) if spec.source != MessageSource::Null);
    let (kind, text) = verdict(&is_isendrecv, &|status| status.tag += 1);
    assert!(kind == "status" && text.contains("of MPI_Isendrecv took message"), "{text}");
    // A message that it does not accept is no matter of the status.
    let (kind, text) = verdict(&is_isendrecv, &|status| status.flags = 0);
    assert!(kind == "defect" && text.contains("with changed bytes"), "{text}");
    let is_receive =
        |action: &Action| matches!(action, Action::Receive(spec, _) if !spec.short && spec.partitions == 0);
    let (kind, text) = verdict(&is_receive, &|status| status.flags |= CALLED_CANCELLED);
    assert!(kind == "status" && text.contains("no call has cancelled it"), "{text}");
    // What it received is judged too.
    let (kind, text) = verdict(&is_receive, &|status| status.flags = CALLED_CANCELLED);
    assert!(kind == "defect" && text.contains("with changed bytes"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_outcome_survives_the_file_format(seed: u64) {
        let (program, outcome) = sample(seed);
        let files = files(&outcome, None);
        let programs = [program];
        prop_assert_eq!(observations_of(&programs, 0, &files), outcome);
        let judged = judge_run(&programs, 0, &files).expect("they can be read");
        prop_assert_eq!(&judged.failures, &[]);
        prop_assert_eq!((judged.next, judged.counts.programs), (1, 1));
    }

    /// As the fuzz target `conform_outcomes` does, with fewer inputs.
    #[test]
    fn corrupted_files_give_a_verdict_or_an_error(seed: u64, edits in prop::collection::vec(any::<(u16, i8)>(), 1..6)) {
        let (program, outcome) = sample(seed);
        let mut files = files(&outcome, None);
        for (place, value) in edits {
            let file = &mut files[usize::from(place % 2)];
            let number = usize::from(place / 2) % (file.len() / 4);
            file[4 * number..4 * number + 4].copy_from_slice(&i32::from(value).to_ne_bytes());
        }
        let _ = judge_run(&[program], 0, &files);
    }
}
