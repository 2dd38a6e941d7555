// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The claims of Xiong et al. on our designs, and on changed ones.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mb_alpu::AlpuParameters;
use mb_cam_list::{Arbiter, CamListParameters};
use mb_core::{Cycles, ParameterSet, Source};
use mb_hash_buckets::HashBucketsParameters;
use mb_reproduce::Finding;
use mb_reproduce::claim_test::Procedure;
use mb_reproduce::ledger::Method;
use mb_reproduce::papers::xiong2018::{Designs, PAPER};
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
    common::tests_are_those_of_the_ledger(&PAPER, &[Method::CycleModel]);
}

#[test]
fn what_differs_is_explained_and_what_is_explained_differs() {
    common::differences_are_explained(&PAPER, &FINDINGS);
}

#[test]
fn all_that_is_measured_holds_but_six() {
    let measured = PAPER.tests().filter(|test| matches!(test.procedure, Procedure::Measure(_)));
    let missed: Vec<_> = measured.map(|test| test.id).filter(|id| finding(id).verdict != Verdict::Holds).collect();
    let fitted = ["xiong2018.lat.alpu_gap_const", "xiong2018.lat.p2l4_vs_alpu_1000"];
    let uneven = ["xiong2018.unload.p2l_wins_large", "xiong2018.unload.p2l64_order"];
    assert_eq!(missed, [&["xiong2018.p2l.insert_rr", "xiong2018.no_wildcards"][..], &fitted, &uneven].concat());
    // As published, refilling takes turns.
    assert!(finding("xiong2018.p2l.insert_rr").holds_otherwise());
    // The ALPU was fitted to these, which proves nothing.
    for id in fitted {
        assert!(
            finding(id).holds_calibrated() && !finding(id).holds_otherwise(),
            "{id}: {:?}",
            finding(id).interpretations
        );
    }
    // A single source makes one bucket of 64; the order of magnitude lies between that and even
    // buckets.
    assert!(finding("xiong2018.unload.p2l_wins_large").holds_otherwise());
    let order = &finding("xiong2018.unload.p2l64_order").interpretations;
    let ratios: Vec<_> = order.iter().filter_map(|judged| judged.interpretation.measured.as_number()).collect();
    assert!(ratios.is_sorted() && ratios[0] < 2.0 && ratios[2] > 64.0, "{ratios:?}");
}

/// The claims among `ids` that do not hold on the published designs with one setting changed.
fn missed(ids: &[&'static str], change: fn(&mut CamListParameters)) -> Vec<&'static str> {
    let change = |settings: &ParameterSet| {
        let mut settings = settings.clone();
        settings.change(&Source::User, change).unwrap();
        settings
    };
    let Designs { two_level, p2l4, p2l64, .. } = &*DESIGNS;
    let changed = Designs { two_level: change(two_level), p2l4: change(p2l4), p2l64: change(p2l64), ..DESIGNS.clone() };
    let claims: Vec<_> = CLAIMS.iter().filter(|claim| ids.contains(&&*claim.id)).cloned().collect();
    assert_eq!(claims.len(), ids.len(), "a claim is missing");
    let findings = PAPER.findings(&claims, &changed).unwrap();
    let holds =
        |found: &Finding<'_>| found.interpretations.first().is_some_and(|first| first.verdict == Verdict::Holds);
    let holds = |id: &&&str| findings.iter().any(|found| found.claim.id == **id && holds(found));
    ids.iter().filter(|id| !holds(id)).copied().collect()
}

#[test]
fn changed_designs_differ() {
    let ids = [
        "xiong2018.cam.depth",
        "xiong2018.cam.match_cycles",
        "xiong2018.cam.insert_cycles",
        "xiong2018.mover.cycles",
        "xiong2018.ll.cycles_per_element",
        "xiong2018.ll.parallel_access",
        "xiong2018.lat.p2l4_cycles_500",
        "xiong2018.unload.two_level_cycles_500",
    ];
    assert_eq!(
        missed(&ids, |p| p.cam = 255),
        ["xiong2018.cam.depth", "xiong2018.lat.p2l4_cycles_500", "xiong2018.unload.two_level_cycles_500"]
    );
    assert_eq!(
        missed(&ids, |p| p.r#match = Cycles(2)),
        ["xiong2018.cam.match_cycles", "xiong2018.unload.two_level_cycles_500"]
    );
    assert_eq!(missed(&ids, |p| p.cam_insert = Cycles(2)), ["xiong2018.cam.insert_cycles"]);
    assert_eq!(missed(&ids, |p| p.transfer = Cycles(3)), ["xiong2018.mover.cycles"]);
    let slower =
        ["xiong2018.ll.cycles_per_element", "xiong2018.lat.p2l4_cycles_500", "xiong2018.unload.two_level_cycles_500"];
    assert_eq!(missed(&ids, |p| p.element = Cycles(2)), slower);
    assert_eq!(
        missed(&ids, |p| p.arbiter = Arbiter::Serial),
        ["xiong2018.mover.cycles", "xiong2018.ll.parallel_access"]
    );
    assert_eq!(missed(&["xiong2018.p2l.n"], |p| p.lists = 8), ["xiong2018.p2l.n"]);
    assert_eq!(missed(&["xiong2018.queue.capacity"], |p| p.list_entries = 4096), ["xiong2018.queue.capacity"]);
}

#[test]
fn changed_comparators_differ() {
    let ids = [
        "xiong2018.alpu256.entries",
        "xiong2018.alpu.constant_if_fits",
        "xiong2018.hash64.buckets",
        "xiong2018.hash64.serial",
        "xiong2018.unload.hash_wins_mid",
    ];
    let missed = |changed: &Designs| {
        let claims: Vec<_> = CLAIMS.iter().filter(|claim| ids.contains(&&*claim.id)).cloned().collect();
        let findings = PAPER.findings(&claims, changed).unwrap();
        let missed = findings.iter().filter(|finding| finding.interpretations[0].verdict != Verdict::Holds);
        missed.map(|finding| ids.into_iter().find(|id| *id == finding.claim.id).unwrap()).collect::<BTreeSet<_>>()
    };
    let alpu = |change: fn(&mut AlpuParameters)| {
        let mut changed = DESIGNS.clone();
        changed.alpu.change(&Source::User, change).unwrap();
        missed(&changed)
    };
    let hash = |change: fn(&mut HashBucketsParameters)| {
        let mut changed = DESIGNS.clone();
        changed.hash.change(&Source::User, change).unwrap();
        missed(&changed)
    };
    assert_eq!(alpu(|p| p.cells = 256), [].into());
    assert_eq!(alpu(|p| p.cells = 240), ["xiong2018.alpu256.entries", "xiong2018.alpu.constant_if_fits"].into());
    assert_eq!(alpu(|p| p.batch = 2), ["xiong2018.alpu256.entries", "xiong2018.alpu.constant_if_fits"].into());
    assert_eq!(hash(|p| p.buckets = 63), ["xiong2018.hash64.buckets"].into());
    // By arithmetic it wins at 500 entries with less than 11.4 cycles for each element and none for
    // anything else.
    assert_eq!(hash(|p| p.element = Cycles(9)), [].into());
    assert_eq!(hash(|p| p.element = Cycles(11)), ["xiong2018.unload.hash_wins_mid"].into());
}
