// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What several files of tests measure on, and what holds for the tests and findings of every
//! paper.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mb_reproduce::Finding;
use mb_reproduce::ledger::{Claim, Method};
use mb_reproduce::papers::hemmert2007::{self, Subject};
use mb_reproduce::registry::Paper;
use mb_reproduce::verdict::Verdict;

/// The ledger of the project.
pub(crate) static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| mb_reproduce::claims().unwrap());

/// The design point of Hemmert et al.
pub(crate) static SUBJECT: LazyLock<Subject> = LazyLock::new(|| Subject::published().unwrap());

/// The claims of Hemmert et al. on it.
pub(crate) static HEMMERT2007: LazyLock<Vec<Finding<'static>>> =
    LazyLock::new(|| hemmert2007::PAPER.findings(&CLAIMS, &SUBJECT).unwrap());

/// Every test has a claim of the paper to itself, and no claim that one of `methods` can test is
/// left out.
pub(crate) fn tests_are_those_of_the_ledger<S>(paper: &Paper<S>, methods: &[Method]) {
    let claims: Vec<_> = CLAIMS.iter().filter(|claim| claim.paper == paper.key).collect();
    let mut seen = BTreeSet::new();
    for test in paper.tests() {
        assert!(claims.iter().any(|claim| claim.id == test.id), "no claim `{}`", test.id);
        assert!(seen.insert(test.id), "two tests for `{}`", test.id);
    }
    for claim in claims {
        let mut by = std::iter::once(&claim.testable_by).chain(&claim.also_by);
        let testable = by.any(|method| methods.contains(method));
        let tested = seen.contains(&*claim.id);
        assert!(!testable || tested || claim.preset.is_some(), "no test for `{}`", claim.id);
        assert!(!tested || claim.preset.is_none(), "a test and a preset for `{}`", claim.id);
    }
}

/// What differs has a reason, what cannot be tested too, what holds needs none, and no calibrated
/// interpretation counts.
pub(crate) fn differences_are_explained<S>(paper: &Paper<S>, findings: &[Finding<'_>]) {
    for finding in findings {
        let id = &finding.claim.id;
        assert!(!finding.unexplained(), "{id}: {:?}", finding.interpretations);
        assert!(finding.verdict != Verdict::NotTestable || !finding.reason.is_empty(), "{id}");
        assert!(finding.interpretations.first().is_none_or(|first| !first.interpretation.calibrated), "{id}");
    }
    for test in paper.tests().filter(|test| test.explanation.is_some()) {
        let found = findings.iter().find(|finding| finding.claim.id == test.id).unwrap();
        assert_ne!(found.verdict, Verdict::Holds, "{} holds and needs no explanation", test.id);
    }
}
