// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The claims of Gu et al. on the table of runs and on the structures, and on broken ones.

use std::sync::LazyLock;

use mb_reproduce::Finding;
use mb_reproduce::error::MeasureError;
use mb_reproduce::ledger::{Claim, Evidence, Kind, Method};
use mb_reproduce::papers::gu2011::PAPER;
use mb_reproduce::papers::gu2011::model::Model;
use mb_reproduce::papers::gu2011::runs::{Runs, TABLE};
use mb_reproduce::verdict::Verdict;

use crate::common::{self, CLAIMS};

static MODEL: LazyLock<Model> = LazyLock::new(|| Model::published().unwrap());
pub(crate) static FINDINGS: LazyLock<Vec<Finding<'static>>> =
    LazyLock::new(|| PAPER.findings(&CLAIMS, &MODEL).unwrap());

#[test]
fn every_test_belongs_to_a_claim_and_every_claim_has_a_test() {
    common::tests_are_those_of_the_ledger(&PAPER, &[Method::CpuModel, Method::RtlSim, Method::Synthesis]);
}

#[test]
fn every_result_has_a_verdict_and_every_other_claim_has_a_reason() {
    let results = CLAIMS.iter().filter(|claim| claim.paper == PAPER.key && claim.kind == Kind::Result);
    assert_eq!(results.count(), 28);
    common::differences_are_explained(&PAPER, &FINDINGS);
    for finding in FINDINGS.iter() {
        let id = &finding.claim.id;
        let judged = finding.verdict != Verdict::NotTestable;
        assert_eq!(judged, finding.claim.kind == Kind::Result, "{id}: {}", finding.reason);
        assert!(!finding.reason.starts_with("not run: "), "{id}: {}", finding.reason);
        assert_eq!(finding.claim.evidence.is_some(), finding.claim.kind == Kind::Result, "{id}");
    }
}

/// Numbers of the paper's configuration are those of the model.
#[test]
fn structures_give_the_configuration_back() {
    // Twelve states of another simulator's protocol; a length that was read from figure 7 as about 70 bytes.
    let other = ["gu2011.proto.base_states"];
    for finding in FINDINGS.iter().filter(|finding| finding.claim.kind != Kind::Result) {
        let Some(first) = finding.interpretations.first() else { continue };
        let id = finding.claim.id.as_str();
        let expected = if other.contains(&id) { Verdict::Differs } else { Verdict::Holds };
        assert_eq!(first.verdict, expected, "{id}: {}", first.interpretation.measured);
    }
}

fn finding(model: &Model, id: &str) -> (Verdict, String) {
    let mut claims: Vec<Claim> = CLAIMS.iter().filter(|claim| claim.id == id).cloned().collect();
    assert_eq!(claims.len(), 1, "{id}");
    claims[0].evidence.get_or_insert(Evidence::Recovered("Test.".to_owned()));
    let found = PAPER.findings(&claims, model).unwrap();
    (found[0].verdict, found[0].reason.clone())
}

/// The model with a column of the rows of a transport multiplied.
fn scaled(transport: &str, columns: &[&str], factor: f64) -> Model {
    let mut model = MODEL.clone();
    for row in model.runs.rows.iter_mut().filter(|row| row.text("transport") == transport) {
        for column in columns {
            row.scale(column, factor);
        }
    }
    model
}

/// A measurement that does not depend on the table or on a structure would not notice.
#[test]
fn verdicts_change_when_the_table_or_a_structure_is_broken() {
    let slow = scaled("base", &["cycles"], 20.0);
    let memory = scaled("base", &["device_global", "l2_global"], 0.001);
    assert_eq!(finding(&MODEL, "gu2011.basemoped.global_up").0, Verdict::Holds);
    let third = scaled("optcopy", &["cycles"], 3.0);
    let mut few = MODEL.clone();
    few.device.descriptors = 8;
    let mut small = MODEL.clone();
    (small.memory.l2.bytes, small.memory.l1.bytes) = (8 << 10, 4 << 10);
    let mut large = MODEL.clone();
    large.memory.l1.bytes = 1 << 20;
    for (broken, id) in [
        (&slow, "gu2011.basemoped.exec_imb"),
        (&memory, "gu2011.basemoped.global_up"),
        (&third, "gu2011.optcopy.exec_le_base"),
        (&few, "gu2011.hw.total_bytes"),
        (&small, "gu2011.opt.dirty_state"),
        (&large, "gu2011.base.evicted"),
    ] {
        assert_ne!(finding(&MODEL, id).0, finding(broken, id).0, "{id}");
    }
}

/// The claims that a mechanism predicts, by name, so that a further one is seen in review.
#[test]
fn what_is_predicted_and_holds() {
    let held = FINDINGS.iter().filter(|finding| finding.verdict == Verdict::Holds);
    let predicted = held.filter(|finding| matches!(finding.evidence(), Some(Evidence::Predicted { .. })));
    assert_eq!(
        predicted.map(|finding| finding.claim.id.as_str()).collect::<Vec<_>>(),
        [
            "gu2011.basemoped.exec_imb",
            "gu2011.basemoped.exec_npb",
            "gu2011.optcopy.exec_imb",
            "gu2011.optcopy.exec_npb",
            "gu2011.abs.global_npb",
            "gu2011.abs.global_imb",
            "gu2011.basemoped.l1_npb",
            "gu2011.basemoped.l2p_npb",
            "gu2011.basemoped.l1_imb",
            "gu2011.basemoped.global_up",
            "gu2011.optcopy.l2_shift",
            "gu2011.optcopy.exec_le_base",
            "gu2011.optcache.little_gain",
            "gu2011.optcache.global_to_local_pp_xc",
        ]
    );
}

#[test]
fn a_claim_whose_run_is_missing_is_not_testable_and_says_so() {
    let mut model = MODEL.clone();
    model.runs.rows.retain(|row| row.text("transport") != "shm");
    let (verdict, reason) = finding(&model, "gu2011.basemoped.exec_imb");
    assert_eq!(verdict, Verdict::NotTestable);
    assert_eq!(reason, "not run: PP on MPICH SHM, as judged; studies/gu2011_figures/measure.py makes the runs");
    // What was run is judged, and what was not is named.
    let mut model = MODEL.clone();
    model.runs.rows.retain(|row| !row.text("arguments").starts_with("RD "));
    let claims: Vec<_> = CLAIMS.iter().filter(|claim| claim.id == "gu2011.basemoped.exec_imb").cloned().collect();
    let found = PAPER.findings(&claims, &model).unwrap();
    let name = &found[0].interpretations[0].interpretation.name;
    assert!(name.starts_with("without ") && name.contains("RD"), "{name}");
}

#[test]
fn every_run_moved_what_its_program_sends_and_accounts_for_its_cycles() {
    for row in &MODEL.runs.rows {
        let number = |column: &str| row.number(column).unwrap();
        let place = format!("{} {} {}", row.text("program"), row.text("arguments"), row.text("transport"));
        assert!(number("cycles") > 0.0, "{place}");
        let activities = ["compute", "matching", "copying", "waiting", "kernel", "idle"];
        let spent: f64 = activities.iter().map(|name| number(&format!("{name}_cycles"))).sum();
        assert!((spent / (number("cycles") * number("ranks")) - 1.0).abs() < 1e-9, "{place}: {spent}");
        assert_eq!(number("messages") == 0.0, row.text("transport") == "shm", "{place}");
        for column in ["program_hash", "parameters_hash", "compiler", "revision"] {
            assert!(!row.text(column).is_empty(), "{place}: {column}");
        }
    }
}

#[test]
fn a_table_with_a_line_of_another_length_is_refused() {
    let cut = TABLE.rsplit_once(',').unwrap().0;
    let error = Runs::read(cut).unwrap_err();
    assert!(matches!(&error, MeasureError::Run { what, .. } if what.ends_with("run measure.py")), "{error}");
}

#[test]
fn contradictions_21_to_23_are_each_there_with_two_results() {
    let all = PAPER.contradicted(&MODEL).unwrap();
    assert_eq!(all.iter().map(|found| found.number).collect::<Vec<_>>(), [21, 22, 23]);
    let docs = include_str!("../../../../docs/reproduce.md");
    for found in &all {
        let [first, second] = found.interpretations.as_slice() else { panic!("{found:?}") };
        assert!(first.name != second.name && first.measured != second.measured, "{found:?}");
        assert!(found.says[0] != found.says[1] && !found.counts.is_empty(), "{found:?}");
        assert!(docs.contains(&format!("\n| {} | ", found.number)), "docs/reproduce.md has no row {}", found.number);
    }
}
