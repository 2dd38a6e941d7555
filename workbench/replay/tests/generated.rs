// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a replay promises of every pattern of the generator, on every engine.

mod common;
#[path = "../../trace/tests/common/expand_done.rs"]
mod expand_done;

use std::ops::ControlFlow;

use common::{Narrow, engine, linear, plain, replayed_trace};
use mb_catalog::EngineChoice;
use mb_core::engine::{Placement, ReplayEngine};
use mb_core::time::Picos;
use mb_replay::{Report, replay};
use mb_trace::Trace;
use mb_trace::generate::{PATTERNS, Plan, PostOrder, TransposeParameters};

/// Every pattern of the generator, small.
fn generated() -> impl Iterator<Item = (&'static str, Trace)> {
    PATTERNS.iter().map(|pattern| {
        let ranks = pattern.least_ranks.max(8);
        let few = pattern.parameters.iter().filter(|parameter| parameter.key == "iterations");
        let settings = few.map(|parameter| (parameter.key.to_owned(), "4".to_owned())).collect();
        let plan = Plan::new(pattern.name, ranks, 7, &settings).expect("defaults fit");
        (pattern.name, plan.in_memory())
    })
}

#[test]
fn every_generated_pattern_is_received_to_the_last_message_on_every_engine() {
    for (name, trace) in generated() {
        for choice in
            mb_catalog::all().unwrap().iter().filter(|choice| ["ideal", "linear"].contains(&choice.entry.card.name))
        {
            let report = replayed_trace(&trace, choice, &plain());
            assert_eq!(report.unfinished, [], "{name} on {}", choice.spec());
            assert_eq!(report.total.never_received, 0, "{name} on {}", choice.spec());
            assert_eq!(report.total.never_matched, 0, "{name} on {}", choice.spec());
            assert_eq!(report.total.diverged, 0, "{name} on {}", choice.spec());
            assert!(report.total.sent > 0);
        }
    }
}

#[test]
fn the_same_replay_gives_the_same_report_bit_for_bit() {
    for (_, trace) in generated() {
        let choice = engine("linear:qsnet2");
        assert_eq!(replayed_trace(&trace, &choice, &plain()), replayed_trace(&trace, &choice, &plain()));
    }
}

#[test]
fn one_done_of_several_requests_is_as_good_as_one_of_each() {
    let mut shorter = Vec::new();
    for (name, trace) in generated() {
        let records: Vec<_> = (0..trace.ranks()).map(|rank| trace.rank(rank)).collect();
        let single: Vec<_> = records.iter().map(|records| expand_done::one_done_per_request(records)).collect();
        if records.concat().len() < single.concat().len() {
            shorter.push(name);
        }
        let choice = engine("linear:qsnet2");
        assert_eq!(
            replayed_trace(&Trace::in_memory(single), &choice, &plain()),
            replayed_trace(&trace, &choice, &plain()),
            "{name}"
        );
    }
    let expected = ["halo3d", "transpose", "many_to_one", "random", "depth", "tanabe2013_table1", "xiong2018_depths"];
    assert_eq!(shorter, expected, "patterns that wait for several requests");
}

#[test]
fn a_deeper_list_costs_a_list_engine_time_and_the_bound_nothing() {
    // The pair of workloads that peers predict to take equally long: receives posted in order of
    // arrival, and in reverse.
    let alltoall = |order| {
        let parameters = TransposeParameters { iterations: 2, bytes: 64, order, ..Default::default() };
        Plan::of(&parameters, 64, 1).unwrap().in_memory()
    };
    let (arrival, reverse) = (alltoall(PostOrder::Arrival), alltoall(PostOrder::Reverse));
    let time = |trace: &Trace, spec: &str| replayed_trace(trace, &engine(spec), &plain()).total.time;
    let slow = "linear:qsnet2";
    assert!(time(&reverse, slow) > time(&arrival, slow));
    assert_eq!(time(&reverse, "ideal:zero"), time(&arrival, "ideal:zero"));
}

fn replayed_narrow(trace: &Trace, choice: &EngineChoice, room: usize, placement: Placement) -> Report {
    let communicators = trace.check(|_| ControlFlow::Continue(())).unwrap();
    let mut build = || -> Box<dyn ReplayEngine> { Box::new(Narrow::new(choice.build().unwrap(), room)) };
    replay(trace, &communicators, &mut build, placement, &plain(), &mut |_, _| ControlFlow::Continue(())).unwrap()
}

#[test]
fn answers_in_time_and_answers_ahead_of_time_give_the_same_replay() {
    for (name, trace) in generated() {
        for spec in ["linear:qsnet2", "linear:software"] {
            let choice = engine(spec);
            let ahead = replayed_trace(&trace, &choice, &plain());
            let in_time = replayed_narrow(&trace, &choice, usize::MAX, choice.placement());
            // Probes aside, which may be offered again at other moments, every time is the same.
            assert_eq!(ahead.total.time, in_time.total.time, "{name} on {spec}");
            assert_eq!(ahead.ranks, in_time.ranks, "{name} on {spec}");
        }
    }
}

#[test]
fn a_busy_engine_delays_and_loses_nothing() {
    for (name, trace) in generated() {
        let report = replayed_narrow(&trace, &engine("linear:qsnet2"), 1, Placement::Nic);
        assert_eq!(report.unfinished, [], "{name}");
        assert_eq!((report.total.never_received, report.total.diverged), (0, 0), "{name}");
    }
    let deep = Plan::of(&TransposeParameters::default(), 32, 1).unwrap().in_memory();
    let slow = linear(|parameters| parameters.operation = Picos::from_ns(40));
    let report = replayed_narrow(&deep, &slow, 1, Placement::Nic);
    assert!(report.total.busy_answers > 0);
    assert_eq!(report.total.received, report.total.sent);
}
