// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds for the entries and the findings of every paper.

use std::collections::BTreeSet;

use mb_reproduce::Finding;
use mb_reproduce::ledger::{Claim, Method};
use mb_reproduce::registry::Measurable;
use mb_reproduce::verdict::Verdict;

/// Every entry has a claim of `paper` to itself, and no claim that one of `methods` can test is left out.
pub(crate) fn entries_are_those_of<S: Measurable>(paper: &str, claims: &[Claim], methods: &[Method]) {
    let claims: Vec<_> = claims.iter().filter(|claim| claim.paper() == paper).collect();
    let mut seen = BTreeSet::new();
    for entry in S::entries() {
        assert!(claims.iter().any(|claim| claim.id == entry.id), "no claim `{}`", entry.id);
        assert!(seen.insert(entry.id), "two entries for `{}`", entry.id);
    }
    for claim in claims {
        let mut by = std::iter::once(&claim.testable_by).chain(&claim.also_by);
        let testable = by.any(|method| methods.contains(method));
        assert!(!testable || seen.contains(&*claim.id), "no entry for `{}`", claim.id);
    }
}

/// What differs has a reason, what cannot be tested too, what holds needs none, and no calibrated reading counts.
pub(crate) fn differences_are_explained<S: Measurable>(findings: &[Finding<'_>]) {
    for finding in findings {
        let id = &finding.claim.id;
        assert!(!finding.unexplained(), "{id}: {:?}", finding.readings);
        assert!(finding.verdict != Verdict::NotTestable || !finding.reason.is_empty(), "{id}");
        assert!(finding.readings.first().is_none_or(|first| !first.reading.calibrated), "{id}");
    }
    for entry in S::entries().filter(|entry| entry.explanation.is_some()) {
        let found = findings.iter().find(|finding| finding.claim.id == entry.id).unwrap();
        assert_ne!(found.verdict, Verdict::Holds, "{} holds and needs no explanation", entry.id);
    }
}
