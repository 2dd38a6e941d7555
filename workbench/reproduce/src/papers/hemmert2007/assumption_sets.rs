// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark under every set of assumptions, and how many predictions hold under each.
//!
//! Contract: the result depends on the study alone, not on the number of threads; a run that
//! several sets share is made once.
//! Cost: some minutes of processor time, divided among the threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Subject;
use super::comparison;
use super::curves::curve;
use super::processors::Simulated;
use super::setup::PaperProcessor;
use super::subject::Processors;
use crate::claim_test::Procedure;
use crate::curve::Curve;
use crate::error::{MeasureError, ReproduceError};
use crate::figures::{Agreement, AssumptionValue};
use crate::ledger::{Claim, Evidence, EvidenceKind};
use crate::study::{AssumptionSet, Study};
use crate::verdict::{self, Verdict};

/// The benchmark and the claims under every set of assumptions.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct AllSets {
    /// A curve for each processor and each set of those assumptions that matter to it.
    pub curves: Vec<Curve>,
    /// Every set, those that agree best first.
    pub agreements: Vec<Agreement>,
    /// Every value of every assumption.
    pub assumption_values: Vec<AssumptionValue>,
}

/// Runs every set of `study`, as many at a time as there are `threads`, and judges `claims` in
/// each.
///
/// # Errors
/// When a processor cannot be built, its benchmark does not end well, or a claim cannot be judged.
pub fn all_sets(claims: &[Claim], study: &Study, subject: &Subject, threads: usize) -> Result<AllSets, ReproduceError> {
    let whole = |error: MeasureError| {
        let (id, error) = ("every claim of the processors".to_owned(), Box::new(error));
        ReproduceError::Measure { id, error }
    };
    let sets = study.sets();
    let mut wanted = BTreeSet::new();
    for set in &sets {
        for processor in PaperProcessor::ALL {
            wanted.insert((processor, study.seen_by(processor.name(), set)));
        }
    }
    let wanted: Vec<_> = wanted.into_iter().collect();
    let simulated = simulate(&wanted, threads).map_err(whole)?;
    let curves =
        wanted.iter().zip(&simulated).map(|((_, set), found)| curve(study, set, found, subject.clock)).collect();
    let runs: BTreeMap<_, _> = wanted.iter().zip(&simulated).collect();
    let mut agreements = Vec::new();
    for set in sets {
        let processors = PaperProcessor::ALL
            .iter()
            .map(|&processor| runs[&(processor, study.seen_by(processor.name(), &set))].clone())
            .collect();
        let processors = Processors { assumptions: study.describe(&set), simulated: processors };
        let subject = Subject { processors, fitted: None, ..subject.clone() };
        agreements.push(agreement(claims, study, set, &subject)?);
    }
    // The sort keeps the order of sets that agree equally well, the baseline first.
    agreements
        .sort_by_key(|found| std::cmp::Reverse((found.holds.len(), found.near.len(), usize::MAX - found.changes)));
    let assumption_values = assumption_values(study, &agreements);
    Ok(AllSets { curves, agreements, assumption_values })
}

fn assumption_values(study: &Study, agreements: &[Agreement]) -> Vec<AssumptionValue> {
    let mut all = Vec::new();
    for about in &study.assumptions {
        for value in &about.values {
            let with = agreements.iter().filter(|found| found.assumptions.value(&about.name) == value);
            let holds: Vec<_> = with.map(|found| found.holds.len()).collect();
            let mean = holds.iter().sum::<usize>() as f64 / holds.len() as f64;
            all.push(AssumptionValue {
                assumption: about.name.clone(),
                value: value.clone(),
                baseline: *value == about.baseline,
                fitted: *value == about.fitted,
                holds: (
                    holds.iter().copied().min().unwrap_or_default(),
                    mean,
                    holds.iter().copied().max().unwrap_or_default(),
                ),
            });
        }
    }
    all
}

fn simulate(wanted: &[(PaperProcessor, AssumptionSet)], threads: usize) -> Result<Vec<Simulated>, MeasureError> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((place, (processor, set))) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    wanted.get(place).map(|wanted| (place, wanted))
                } {
                    let simulated = Simulated::new(*processor, set);
                    found.lock().expect("no thread panics while it has the lock").insert(place, simulated);
                }
            });
        }
    });
    found.into_inner().expect("no thread panics while it has the lock").into_values().collect()
}

fn agreement(
    claims: &[Claim],
    study: &Study,
    set: AssumptionSet,
    subject: &Subject,
) -> Result<Agreement, ReproduceError> {
    let mut found = Agreement {
        described: study.describe(&set),
        baseline: set == study.baseline(),
        fitted: set == study.fitted(),
        holds: Vec::new(),
        near: Vec::new(),
        differs: Vec::new(),
        changes: study.assumptions.iter().filter(|about| set.value(&about.name) != about.baseline).count(),
        assumptions: set,
    };
    for test in comparison::TESTS {
        let Some(claim) = claims.iter().find(|claim| claim.id == test.id) else { continue };
        // What is recovered follows from inputs under any set.
        if claim.evidence.as_ref().map(Evidence::kind) != Some(EvidenceKind::Predicted) {
            continue;
        }
        let Procedure::Measure(measure) = test.procedure else { continue };
        let wrong = |error| ReproduceError::Measure { id: claim.id.clone(), error: Box::new(error) };
        let Some(interpretation) = measure(subject).map_err(wrong)?.into_iter().next() else { continue };
        let of = match verdict::judge(claim, &interpretation.measured)?.verdict {
            Verdict::Holds => &mut found.holds,
            Verdict::Near => &mut found.near,
            Verdict::Differs | Verdict::NotTestable => &mut found.differs,
        };
        of.push(test.id);
    }
    Ok(found)
}
