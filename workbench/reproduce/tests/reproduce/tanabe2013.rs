// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The claims of Tanabe and Ohta on our designs, and on changed ones.

use std::sync::LazyLock;

use mb_catalog::EngineChoice;
use mb_core::Cycles;
use mb_lhs::{Attribute, LhsParameters};
use mb_reproduce::Finding;
use mb_reproduce::claim_test::Procedure;
use mb_reproduce::ledger::Method;
use mb_reproduce::papers::tanabe2013::{Designs, PAPER};
use mb_reproduce::verdict::Verdict;

use crate::common::{self, CLAIMS};

static DESIGNS: LazyLock<Designs> = LazyLock::new(|| Designs::published().unwrap());
/// The claims of the paper on them.
pub(crate) static FINDINGS: LazyLock<Vec<Finding<'static>>> =
    LazyLock::new(|| PAPER.findings(&CLAIMS, &DESIGNS).unwrap());

fn finding(id: &str) -> &'static Finding<'static> {
    FINDINGS.iter().find(|finding| finding.claim.id == id).unwrap()
}

#[test]
fn every_test_belongs_to_a_claim_and_every_claim_of_a_cycle_model_has_a_test() {
    common::tests_are_those_of_the_ledger(&PAPER, &[Method::CycleModel, Method::TraceReplay]);
}

#[test]
fn what_differs_is_explained_and_what_is_explained_differs() {
    common::differences_are_explained(&PAPER, &FINDINGS);
}

#[test]
fn what_is_measured_holds_but_for_the_slope_of_dimmnet2_and_what_follows_from_it() {
    let measured = PAPER.tests().filter(|test| matches!(test.procedure, Procedure::Measure(_)));
    let missed: Vec<_> = measured.map(|test| test.id).filter(|id| finding(id).verdict != Verdict::Holds).collect();
    assert_eq!(
        missed,
        [
            "tanabe2013.lhs.entry_line_size",
            "tanabe2013.dimmnet2_lhs.ns_per_msg",
            "tanabe2013.dimmnet2_lhs.speedup",
            "tanabe2013.dimmnet2_lhs.vs_qsnet",
            "tanabe2013.dimmnet2_lhs.vs_bgp",
            "tanabe2013.lhs.cache_gain",
            "tanabe2013.ipush.combined",
            "tanabe2013.lhs.grouping_order",
            "tanabe2013.fig5.sensitive",
            "tanabe2013.fig6.close_to_cached",
            "tanabe2013.dimmnet2.bottleneck",
        ]
    );
    let otherwise: Vec<_> = missed.into_iter().filter(|id| finding(id).holds_otherwise()).collect();
    assert_eq!(
        otherwise,
        [
            "tanabe2013.lhs.entry_line_size",
            "tanabe2013.dimmnet2_lhs.vs_qsnet",
            "tanabe2013.fig5.sensitive",
            "tanabe2013.fig6.close_to_cached",
            "tanabe2013.dimmnet2.bottleneck",
        ]
    );
}

/// The claims among `ids` that do not hold when `change` was made to the published designs.
fn missed(ids: &[&'static str], change: impl Fn(&mut Designs)) -> Vec<&'static str> {
    let mut changed = DESIGNS.clone();
    change(&mut changed);
    let claims: Vec<_> = CLAIMS.iter().filter(|claim| ids.contains(&&*claim.id)).cloned().collect();
    assert_eq!(claims.len(), ids.len(), "a claim is missing");
    let findings = PAPER.findings(&claims, &changed).unwrap();
    let holds =
        |found: &Finding<'_>| found.interpretations.first().is_some_and(|first| first.verdict == Verdict::Holds);
    let holds = |id: &&&str| findings.iter().any(|found| found.claim.id == **id && holds(found));
    ids.iter().filter(|id| !holds(id)).copied().collect()
}

fn set(design: &mut EngineChoice, change: fn(&mut LhsParameters)) {
    design.change(change).unwrap();
}

#[test]
fn changed_designs_differ() {
    let ids = [
        "tanabe2013.dimmnet2.lh_entries",
        "tanabe2013.lhs.size_order",
        "tanabe2013.lhs.latency_1000",
        "tanabe2013.lhs.below_mem_latency",
        "tanabe2013.fig5.best",
        "tanabe2013.dimmnet3.bottleneck",
    ];
    assert_eq!(missed(&ids, |_| {}), [""; 0]);
    assert_eq!(
        missed(&ids, |designs| set(&mut designs.dimmnet2, |p| p.slots = 1023)),
        ["tanabe2013.dimmnet2.lh_entries"]
    );
    assert_eq!(
        missed(&ids, |designs| set(&mut designs.dimmnet2, |p| p.attribute = Attribute::Uncacheable)),
        ["tanabe2013.lhs.below_mem_latency", "tanabe2013.fig5.best"]
    );
    let without = missed(&ids, |designs| set(&mut designs.dimmnet2, |p| p.hwp = false));
    assert_eq!(without, ["tanabe2013.lhs.size_order"]);
    assert_eq!(
        missed(&ids, |designs| set(&mut designs.dimmnet3, |p| p.r#loop = Cycles(182))),
        ["tanabe2013.lhs.latency_1000"]
    );
    assert_eq!(
        missed(&["tanabe2013.ipush.grouping"], |designs| set(&mut designs.ipush, |p| p.groups = 1)),
        ["tanabe2013.ipush.grouping"]
    );
    let alone = |designs: &mut Designs| set(&mut designs.multicore, |p| p.cores = 1);
    assert_eq!(missed(&["tanabe2013.multicore.subqueues"], alone), ["tanabe2013.multicore.subqueues"]);
    // Ten times write-back needs four loads for an envelope.
    let eight = |designs: &mut Designs| set(&mut designs.dimmnet3, |p| p.word = 8);
    assert_eq!(missed(&["tanabe2013.fig6.uncached"], eight), ["tanabe2013.fig6.uncached"]);
}
