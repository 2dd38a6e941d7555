// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random programs, recorded by a reference execution that knows no time, are replayed on several
//! engines and networks: every rank finishes, every receive takes what it took, and nothing depends
//! on how an engine returns its answers. `PROPTEST_CASES` raises the number of programs.

mod common;
#[path = "common/reference/mod.rs"]
mod reference;

use std::ops::ControlFlow;

use common::{Narrow, PLAIN, engine, network};
use mb_core::Picos;
use mb_core::engine::ReplayEngine;
use mb_replay::network::NetworkParameters;
use mb_replay::{ReplayConfig, Report, Wildcards, replay};
use mb_trace::{Communicators, Kind, Record, Trace};
use proptest::prelude::*;
use reference::{Plan, Reference};

/// Networks with an eager limit not below that of the recording.
fn networks(eager: u64) -> [ReplayConfig; 3] {
    let ns = Picos::from_ns;
    let quick = NetworkParameters {
        latency: ns(1),
        send_overhead: Picos::ZERO,
        recv_overhead: Picos::ZERO,
        gap: Picos::ZERO,
        per_byte: Picos::ZERO,
        copy_per_byte: Picos::ZERO,
        eager_limit: eager.max(4000),
    };
    let wide_gap = NetworkParameters {
        latency: ns(300),
        send_overhead: ns(7),
        recv_overhead: ns(3),
        gap: ns(100_000),
        per_byte: Picos::ZERO,
        copy_per_byte: ns(2),
        eager_limit: eager.max(500),
    };
    [NetworkParameters { eager_limit: eager, ..PLAIN }, quick, wide_gap].map(network)
}

fn run(trace: &Trace, communicators: &Communicators, spec: &str, room: Option<usize>, config: &ReplayConfig) -> Report {
    let choice = engine(spec);
    let mut build = || -> Box<dyn ReplayEngine> {
        let engine = choice.build().expect("settings without contradiction");
        match room {
            None => engine,
            Some(room) => Box::new(Narrow::new(engine, room)),
        }
    };
    let mut calls = 0;
    let progress = &mut |_, _| {
        calls += 1;
        if calls > 10_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = replay(trace, communicators, &mut build, choice.placement(), config, progress).expect("an end");
    assert_eq!(report.total.sent, report.total.received + report.total.never_received);
    report
}

fn plans() -> impl Strategy<Value = Plan> {
    (any::<u64>(), 2..9_u32, 1..3_usize, 0..400_u32, prop::sample::select(vec![0, 400]))
        .prop_map(|(seed, ranks, threads, steps, eager)| Plan { seed, ranks, threads, steps, eager })
}

fn cases() -> ProptestConfig {
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if given { ProptestConfig::default().cases } else { 500 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_recording_is_replayed_as_it_was(plan in plans()) {
        let recording = Reference::record(plan);
        let trace = Trace::in_version(3, recording.ranks);
        let communicators = trace.check(|_| ControlFlow::Continue(())).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for config in networks(plan.eager) {
            for spec in ["ideal:zero", "linear:qsnet2", "linear:software"] {
                let report = run(&trace, &communicators, spec, None, &config);
                prop_assert_eq!(&report.unfinished, &[], "{}", spec);
                let total = &report.total;
                prop_assert_eq!(total.collectives_skipped, 0);
                let collective = total.sent - total.sent_user;
                if spec == "ideal:zero" {
                    prop_assert_eq!((total.blocked_on_matching, total.probe_search), (Picos::ZERO, Picos::ZERO));
                }
                prop_assert_eq!(
                    (total.sent_user, total.received - collective, total.never_matched, total.cancelled, total.diverged),
                    (recording.sent, recording.received, recording.never_matched, recording.cancelled, 0),
                    "{}", spec
                );
                prop_assert_eq!(&report, &run(&trace, &communicators, spec, None, &config), "{}", spec);
                let in_time = run(&trace, &communicators, spec, Some(usize::MAX), &config);
                for (ahead, in_time) in report.ranks.iter().zip(&in_time.ranks) {
                    prop_assert_eq!(ahead, in_time, "{}", spec);
                }
                let busy = run(&trace, &communicators, spec, Some(1), &config);
                prop_assert_eq!(&busy.unfinished, &[], "{}", spec);
                prop_assert_eq!((busy.total.received, busy.total.diverged), (total.received, 0), "{}", spec);
            }
        }
    }

    #[test]
    fn free_wildcards_end_in_a_report_whatever_happens(plan in plans()) {
        let recording = Reference::record(plan);
        let trace = Trace::in_version(3, recording.ranks);
        let communicators = trace.check(|_| ControlFlow::Continue(())).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for config in networks(0) {
            let config = ReplayConfig { wildcards: Wildcards::Free, ..config };
            let report = run(&trace, &communicators, "linear:qsnet2", None, &config);
            prop_assert_eq!(report.total.held_messages, 0);
            for waiting in &report.unfinished {
                prop_assert!(!waiting.waits.is_empty(), "rank {} waits for nothing", waiting.rank);
            }
        }
    }

    /// Killed ranks: every rank's records end somewhere, inside of calls too.
    #[test]
    fn a_trace_that_is_cut_ends_in_a_report_that_names_what_is_missing(plan in plans(), cuts in prop::collection::vec(0.0..1.5_f64, 8)) {
        let mut ranks = Reference::record(plan).ranks;
        for (records, share) in ranks.iter_mut().zip(cuts) {
            let kept = (records.len() as f64 * share) as usize;
            let last = *records.last().expect("a finalize");
            records.truncate(kept.clamp(5, records.len() - 1));
            while records.last().is_some_and(|record| [Kind::Extra, Kind::Comm, Kind::Topology].map(|kind| kind as u8).contains(&record.kind)) && records.len() > 5 {
                records.pop();
            }
            // A thread with nothing outstanding ends the file, as the format wants it of a finished rank.
            records.push(Record { thread: 7, ..last });
        }
        let trace = Trace::in_version(3, ranks);
        let Ok(communicators) = trace.check(|_| ControlFlow::Continue(())) else { return Ok(()) };
        for config in networks(plan.eager) {
            for wildcards in [Wildcards::Recorded, Wildcards::Free] {
                let config = ReplayConfig { wildcards, ..config.clone() };
                for room in [None, Some(2)] {
                    let report = run(&trace, &communicators, "linear:software", room, &config);
                    for waiting in &report.unfinished {
                        prop_assert!(!waiting.waits.is_empty(), "rank {} waits for nothing", waiting.rank);
                    }
                }
            }
        }
    }
}

/// A large message was matched and waits for its data. A probe that found another message than in the recording does not
/// take it for its own.
#[test]
fn a_matched_message_is_not_there_for_a_probe() {
    let plan = Plan { seed: 15_780_263_937_701_414_310, ranks: 4, threads: 2, steps: 364, eager: 0 };
    let trace = Trace::in_version(3, Reference::record(plan).ranks);
    let communicators = trace.check(|_| ControlFlow::Continue(())).expect("a trace");
    let [config, ..] = &networks(plan.eager);
    let ahead = run(&trace, &communicators, "linear:qsnet2", None, config);
    let in_time = run(&trace, &communicators, "linear:qsnet2", Some(usize::MAX), config);
    assert_eq!(ahead.ranks, in_time.ranks);
}
