// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the ranks wrote down: read back as it was meant, and refused when they cannot have written it.

use mb_conform::generate::generate_within;
use mb_conform::outcome::{Event, News, OVERRUN, Seen};
use mb_conform::program::{Program, StepId};
use mb_conform::report::{Failure, judge_run, news_of};
use mb_conform::simulate::{Library, Order, Outcome, run};
use mb_core::random::Random;
use proptest::prelude::*;

const MAGIC: i32 = 0x554f_424d;

/// The record of a piece of news, as `conform.c` writes it.
fn record(news: &News) -> [i32; 8] {
    let with = |kind: i32, step: i32, seen: Seen| {
        let message = seen.message.map_or(-1, |message| message as i32);
        [kind, news.at as i32, step, seen.source, seen.tag, seen.count, message, seen.flags]
    };
    let none = Seen { source: 0, tag: 0, count: 0, message: Some(0), flags: 0 };
    match news.event {
        Event::Received { step, seen } => with(4, step as i32, seen),
        Event::Truncated { step, seen } => with(12, step as i32, seen),
        Event::Cancelled { step } => with(5, step as i32, none),
        Event::Sent { step } => with(6, step as i32, none),
        Event::Found { step, seen } => with(7, step as i32, seen),
        Event::Missed { step } => with(8, step as i32, none),
        Event::Drained { comm, seen } => with(9, comm as i32, seen),
        Event::Failed { step, class } => with(11, step as i32, Seen { flags: class, ..none }),
    }
}

/// The file of each rank about one program; `stuck` is where the time limit struck.
fn files(outcome: &Outcome, stuck: Option<usize>) -> Vec<Vec<u8>> {
    let ranks = outcome.len() as i32;
    let file = |(rank, news): (usize, &Vec<News>)| {
        let mut all = vec![[1, MAGIC, 1, rank as i32, ranks, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]];
        all.extend(news.iter().map(record));
        all.push(stuck.map_or([3, 0, 0, 0, 0, 0, 0, 0], |at| [10, at as i32, 0, 0, 0, 0, 0, 0]));
        all.iter().flatten().flat_map(|number| number.to_ne_bytes()).collect()
    };
    outcome.iter().enumerate().map(file).collect()
}

fn sample(seed: u64) -> (Program, Outcome) {
    let program = generate_within((4, 20), seed, 0, 2, &[]);
    let library = Library { order: Order::Mpi, rendezvous: false };
    let outcome = run(&program, library, &mut Random::of(seed, &[1])).expect("it ends");
    (program, outcome)
}

#[test]
fn rubbish_is_refused_with_its_place() {
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
        "these are no outcomes of rank 1 of 2: the file begins with [1, 7, 1, 1, 2, 0, 0, 0]"
    );
    assert_eq!(refused(&set(8, 77)), "record 1 of the outcomes of rank 1: there is no such kind");
    assert_eq!(refused(&set(9, 1)), "record 1 of the outcomes of rank 1: a program begins that cannot");
    assert_eq!(refused(&set(8, 3)), "record 1 of the outcomes of rank 1: it belongs to no program");
    assert_eq!(refused(&set(9, -1)), "record 1 of the outcomes of rank 1: a place is negative");
}

#[test]
fn a_program_that_the_limit_struck_is_stuck_and_one_that_breaks_off_crashed() {
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

/// A program in which some message does not fit its receive, and the outcome of a correct library.
fn sample_of_truncation() -> (Program, Outcome, (usize, usize)) {
    let found = (0..).find_map(|seed| {
        let (program, outcome) = sample(seed);
        let is_truncated = |news: &News| matches!(news.event, Event::Truncated { .. });
        let place =
            outcome.iter().enumerate().find_map(|(rank, news)| Some((rank, news.iter().position(is_truncated)?)));
        place.map(|place| (program, outcome, place))
    });
    found.expect("there is one")
}

#[test]
fn a_message_that_does_not_fit_needs_its_error_and_leaves_what_is_behind_the_buffer_alone() {
    let (program, outcome, (rank, index)) = sample_of_truncation();
    let programs = [program];
    let verdict = |change: &dyn Fn(StepId, Seen) -> Event| {
        let mut outcome = outcome.clone();
        let Event::Truncated { step, seen } = outcome[rank][index].event else { panic!("it is truncated") };
        outcome[rank][index].event = change(step, seen);
        let judged = judge_run(&programs, 0, &files(&outcome, None)).expect("they can be read");
        judged.failures.first().map(|(_, failure)| (failure.kind(), failure.to_string()))
    };
    assert_eq!(verdict(&|step, seen| Event::Truncated { step, seen }), None);
    let (kind, text) = verdict(&|step, seen| Event::Truncated { step, seen: Seen { flags: OVERRUN, ..seen } }).unwrap();
    assert!(kind == "truncation" && text.contains("was written behind its buffer"), "{text}");
    let (kind, text) = verdict(&|step, seen| Event::Received { step, seen: Seen { count: 1039, ..seen } }).unwrap();
    assert!(kind == "truncation" && text.contains("does not fit, and there was no error"), "{text}");
    let (kind, text) = verdict(&|step, seen| Event::Truncated { step, seen: Seen { tag: 9, ..seen } }).unwrap();
    assert!(kind == "defect" && text.contains("was truncated, and names source"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(seed: u64) {
        let (program, outcome) = sample(seed);
        let files = files(&outcome, None);
        let programs = [program];
        prop_assert_eq!(news_of(&programs, 0, &files), outcome);
        let judged = judge_run(&programs, 0, &files).expect("they can be read");
        prop_assert_eq!(&judged.failures, &[]);
        prop_assert_eq!((judged.next, judged.counts.programs), (1, 1));
    }

    /// As the fuzz target `trial_outcomes` does, with fewer inputs.
    #[test]
    fn changed_numbers_give_a_verdict_or_an_error(seed: u64, edits in prop::collection::vec(any::<(u16, i8)>(), 1..6)) {
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
