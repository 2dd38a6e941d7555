// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The claims of Crowley et al. on our machine with short runs, and on broken ones.
//!
//! Verdicts are those of long runs, which `make nightly PARTS=reproduce` judges; here is what must hold
//! of runs of any length, and what the short ones give.

use std::fmt::Write as _;
use std::sync::LazyLock;

use mb_netproc::contract::{Classifier, OsThread};
use mb_packets::{Mix, Sizes};
use mb_reproduce::Finding;
use mb_reproduce::claim_test::Procedure;
use mb_reproduce::ledger::{Claim, Evidence, Kind, Method};
use mb_reproduce::papers::crowley2000::PAPER;
use mb_reproduce::papers::crowley2000::experiment::{Assumptions, PaperChip, Work};
use mb_reproduce::papers::crowley2000::model::{Lengths, Model};
use mb_reproduce::verdict::Verdict;

use crate::common::{self, CLAIMS};

/// Runs that are as short as they can be with a window of packets.
const SHORT: Lengths = Lengths { scenario: 200, vpn: 100, calibrated: 100, light: 200, des3_per_worker: 1 };

static MODEL: LazyLock<Model> = LazyLock::new(|| Model { lengths: SHORT, calibrated: false, ..Model::published() });
static FINDINGS: LazyLock<Vec<Finding<'static>>> = LazyLock::new(|| PAPER.findings(&CLAIMS, &MODEL).unwrap());

#[test]
fn every_test_belongs_to_a_claim_and_every_claim_of_a_processor_model_has_a_test() {
    common::tests_are_those_of_the_ledger(&PAPER, &[Method::CpuModel]);
}

#[test]
fn every_result_has_a_verdict_and_every_other_claim_a_reason() {
    let results = CLAIMS.iter().filter(|claim| claim.paper == PAPER.key && claim.kind == Kind::Result);
    assert_eq!(results.count(), 81);
    for finding in FINDINGS.iter() {
        let id = &finding.claim.id;
        let judged = finding.verdict != Verdict::NotTestable;
        assert_eq!(judged, finding.claim.kind == Kind::Result, "{id}");
        assert_eq!(judged, finding.claim.evidence.is_some(), "{id}");
        assert!(judged || !finding.reason.is_empty(), "{id}");
        assert!(finding.interpretations.first().is_none_or(|first| !first.interpretation.calibrated), "{id}");
    }
}

/// What differs with the runs that count is explained. A claim that holds with short runs only
/// needs its explanation, so the reverse is not tested here.
#[test]
fn explanations_say_what_was_varied_or_why_nothing_was() {
    for test in PAPER.tests() {
        let Some(why) = test.explanation else { continue };
        assert!(matches!(test.procedure, Procedure::Measure(_)), "{}", test.id);
        assert!(why.ends_with('.') && why.len() > 60, "{}: {why}", test.id);
    }
}

#[test]
fn every_run_accounts_for_each_packet_once() {
    LazyLock::force(&FINDINGS);
    let all = MODEL.runs.all();
    assert!(all.len() > 50, "{} runs", all.len());
    for (name, report) in all {
        assert!(report.is_balanced, "{name}");
        assert_eq!((report.refused, report.queued, report.in_flight), (0, 0, 0), "{name}");
        assert_eq!(report.offered, report.completed(), "{name}");
        assert_eq!(report.harts.iter().map(|hart| hart.packets).sum::<u64>(), report.offered, "{name}");
        assert_eq!(report.windows.iter().map(|window| window.packets).sum::<u64>(), report.offered, "{name}");
    }
}

/// What short runs give, so that a change of the machine's times is seen here, long before the runs that count.
#[test]
fn short_runs_give_the_recorded_results() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reproduce/crowley2000-short.txt");
    let mut found = String::new();
    for finding in FINDINGS.iter().filter(|finding| finding.claim.kind == Kind::Result) {
        for each in &finding.interpretations {
            let (id, what) = (&finding.claim.id, &each.interpretation);
            writeln!(found, "{id} | {} | {} | {}", what.name, what.measured, each.verdict.as_str()).unwrap();
        }
    }
    if std::env::var_os("MATCHBENCH_BLESS").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(file).unwrap();
    let differ: Vec<_> = recorded.lines().zip(found.lines()).filter(|(recorded, found)| recorded != found).collect();
    assert!(
        recorded == found,
        "{file}: {} of {} lines differ (recorded, found): {differ:#?}\nif the times were meant to change, run \
         `make nightly PARTS=reproduce`, which judges the claims, then `make bless`",
        differ.len(),
        recorded.lines().count().max(found.lines().count()),
    );
}

/// The shares of Table 6, whatever the lengths of bursts.
#[test]
fn traffic_has_the_shares_of_table_6() {
    for (mix, name) in [(Mix::Router, "router"), (Mix::WebSwitch, "web"), (Mix::Vpn, "vpn")] {
        let report = MODEL.report(PaperChip::Cmp(8), Work::Scenario(mix, Sizes::Imix), Classifier::Dpf).unwrap();
        let all = report.completed();
        for (application, share) in mb_netproc::contract::Application::PAPER.iter().zip(mix.shares()) {
            let found = report.applications.get(&Some(*application)).copied().unwrap_or(0);
            assert_eq!(found * 100, share * all, "{name} {application:?}");
        }
    }
}

fn verdict(model: &Model, id: &str) -> Verdict {
    let mut claims: Vec<Claim> = CLAIMS.iter().filter(|claim| claim.id == id).cloned().collect();
    assert_eq!(claims.len(), 1, "{id}");
    claims[0].evidence.get_or_insert(Evidence::Recovered("Test.".to_owned()));
    let found = PAPER.findings(&claims, model).unwrap();
    found[0].interpretations[0].verdict
}

fn broken(assumptions: Assumptions) -> Model {
    MODEL.with(assumptions)
}

/// A measurement that does not depend on the model would not notice.
#[test]
fn verdicts_change_when_the_model_is_broken() {
    let standard = Assumptions::default();
    // OS work on every core: CMP is no longer limited by one of them.
    let spread = broken(Assumptions { os: OsThread::Spread, ..standard });
    let id = "crowley2000.null.cmp_pps";
    assert_eq!(verdict(&MODEL, id), Verdict::Holds);
    assert_eq!(verdict(&spread, id), Verdict::Differs);
    // A single rename register for each core: no unit finds two instructions.
    let starved = broken(Assumptions { rename_percent: 1, ..standard });
    for id in ["crowley2000.null.smt_pps", "crowley2000.des3.ipc_single"] {
        assert_ne!(verdict(&MODEL, id), Verdict::Differs, "{id}");
        assert_eq!(verdict(&starved, id), Verdict::Differs, "{id}");
    }
    // Caches of two lines hold no working set.
    let tiny = broken(Assumptions { l1_bytes: 256, ..standard });
    let misses = |model: &Model| {
        let claims: Vec<_> = CLAIMS.iter().filter(|claim| claim.id == "crowley2000.wl.miss_rate").cloned().collect();
        let found = PAPER.findings(&claims, model).unwrap();
        found[0].interpretations[0].interpretation.measured.as_number().unwrap()
    };
    assert!(misses(&tiny) > 3.0 * misses(&MODEL), "{} {}", misses(&tiny), misses(&MODEL));
}

#[test]
fn presets_give_tables_3_and_4_back() {
    let read_otherwise = ["arch_regs", "phys_regs", "ras"];
    for finding in
        FINDINGS.iter().filter(|finding| finding.claim.id.contains(".t3.") || finding.claim.id.contains(".t4."))
    {
        let id = &finding.claim.id;
        let Some(first) = finding.interpretations.first() else { continue };
        let otherwise = read_otherwise.iter().any(|row| id.ends_with(row));
        assert!(otherwise || first.verdict == Verdict::Holds, "{id}: {:?}", first.interpretation.measured);
    }
}

/// Round robin is a policy of several contexts.
#[test]
fn an_assumption_that_has_no_effect_on_a_run_is_not_run_again() {
    let round_robin = Assumptions { fetch: mb_processor::chip::FetchPolicy::RoundRobin, ..Assumptions::default() };
    let changed = MODEL.with(round_robin);
    for chip in PaperChip::THREE {
        let [ours, theirs] = [&*MODEL, &changed].map(|model| model.experiment(chip, Work::Null, Classifier::Hardware));
        assert_eq!(ours == theirs, chip != PaperChip::Smt(8), "{chip:?}");
    }
}

#[test]
fn contradictions_24_to_32_are_each_there_with_two_results() {
    let all = PAPER.contradicted(&MODEL).unwrap();
    assert_eq!(all.iter().map(|found| found.number).collect::<Vec<_>>(), (24..=32).collect::<Vec<_>>());
    let docs = include_str!("../../../../docs/reproduce.md");
    for found in &all {
        let [first, second] = found.interpretations.as_slice() else { panic!("{found:?}") };
        assert!(first.name != second.name && first.measured != second.measured, "{found:?}");
        assert!(found.says[0] != found.says[1] && !found.counts.is_empty(), "{found:?}");
        assert!(docs.contains(&format!("\n| {} | ", found.number)), "docs/reproduce.md has no row {}", found.number);
    }
}
