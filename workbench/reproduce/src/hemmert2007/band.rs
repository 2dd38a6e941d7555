// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every set of assumptions: the benchmark in each, and how many claims hold there.
//!
//! Contract: the result depends on the study alone, not on the number of threads; what several worlds share is run once.
//! Cost: some minutes of processor time, divided among the threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::comparison;
use super::curves::curve;
use super::processors::{Processor, Simulated};
use crate::curve::Curve;
use crate::ledger::Claim;
use crate::registry::Test;
use crate::report::ReproduceError;
use crate::study::{Study, World};
use crate::subject::Processors;
use crate::verdict::{self, Verdict};
use crate::{MeasureError, Subject};

/// One set of assumptions held against the claims that compare the processors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The assumptions.
    pub world: World,
    /// The same, as a table says it.
    pub described: String,
    /// Whether they are those that count.
    pub base: bool,
    /// Whether they are those that the study calls fitted.
    pub fitted: bool,
    /// Claims that hold.
    pub holds: Vec<&'static str>,
    /// Claims that nearly hold.
    pub near: Vec<&'static str>,
    /// Claims that differ.
    pub differs: Vec<&'static str>,
    /// How many answers are not those of the base.
    pub others: usize,
}

/// How the claims fare under one answer to one assumption, over all answers to the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The assumption.
    pub assumption: String,
    /// The answer.
    pub answer: String,
    /// Whether it is the one that counts.
    pub base: bool,
    /// Whether the study calls it fitted.
    pub fitted: bool,
    /// Fewest, mean and most claims that hold.
    pub holds: (usize, f64, usize),
}

/// All that the assumptions leave open.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Band {
    /// A curve for each processor in each world that it can tell from the others.
    pub curves: Vec<Curve>,
    /// Every world, those that agree best first.
    pub agreements: Vec<Agreement>,
    /// Every answer.
    pub answers: Vec<Answer>,
}

/// Runs every world of `study`, as many at a time as there are `threads`, and judges `claims` in each.
///
/// # Errors
/// When a processor cannot be built, its benchmark does not end well, or a claim cannot be judged.
pub fn band(claims: &[Claim], study: &Study, subject: &Subject, threads: usize) -> Result<Band, ReproduceError> {
    let whole = |error: MeasureError| {
        let (id, error) = ("every claim of the processors".to_owned(), Box::new(error));
        ReproduceError::Measure { id, error }
    };
    let worlds = study.worlds();
    let mut wanted = BTreeSet::new();
    for world in &worlds {
        for processor in Processor::ALL {
            wanted.insert((processor, study.seen_by(processor.name(), world)));
        }
    }
    let wanted: Vec<_> = wanted.into_iter().collect();
    let simulated = simulate(&wanted, threads).map_err(whole)?;
    let curves =
        wanted.iter().zip(&simulated).map(|((_, world), found)| curve(study, world, found, subject.clock)).collect();
    let runs: BTreeMap<_, _> = wanted.iter().zip(&simulated).collect();
    let mut agreements = Vec::new();
    for world in worlds {
        let processors = Processor::ALL
            .iter()
            .map(|&processor| runs[&(processor, study.seen_by(processor.name(), &world))].clone())
            .collect();
        let processors = Processors { world: study.describe(&world), simulated: processors };
        let subject = Subject { processors, fitted: None, ..subject.clone() };
        agreements.push(agreement(claims, study, world, &subject)?);
    }
    // The sort keeps the order of worlds that agree equally well, the base first.
    agreements.sort_by_key(|found| std::cmp::Reverse((found.holds.len(), found.near.len(), usize::MAX - found.others)));
    let answers = answers(study, &agreements);
    Ok(Band { curves, agreements, answers })
}

fn answers(study: &Study, agreements: &[Agreement]) -> Vec<Answer> {
    let mut all = Vec::new();
    for about in &study.assumptions {
        for value in &about.values {
            let with = agreements.iter().filter(|found| found.world.word(&about.name) == value);
            let holds: Vec<_> = with.map(|found| found.holds.len()).collect();
            let mean = holds.iter().sum::<usize>() as f64 / holds.len() as f64;
            all.push(Answer {
                assumption: about.name.clone(),
                answer: value.clone(),
                base: *value == about.base,
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

fn simulate(wanted: &[(Processor, World)], threads: usize) -> Result<Vec<Simulated>, MeasureError> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((place, (processor, world))) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    wanted.get(place).map(|wanted| (place, wanted))
                } {
                    let simulated = Simulated::new(*processor, world);
                    found.lock().expect("no thread panics while it has the lock").insert(place, simulated);
                }
            });
        }
    });
    found.into_inner().expect("no thread panics while it has the lock").into_values().collect()
}

fn agreement(claims: &[Claim], study: &Study, world: World, subject: &Subject) -> Result<Agreement, ReproduceError> {
    let mut found = Agreement {
        described: study.describe(&world),
        base: world == study.base(),
        fitted: world == study.fitted(),
        holds: Vec::new(),
        near: Vec::new(),
        differs: Vec::new(),
        others: study.assumptions.iter().filter(|about| world.word(&about.name) != about.base).count(),
        world,
    };
    for entry in comparison::ENTRIES {
        let Some(claim) = claims.iter().find(|claim| claim.id == entry.id) else { continue };
        let Test::Measure(measure) = entry.test else { continue };
        let wrong = |error| ReproduceError::Measure { id: claim.id.clone(), error: Box::new(error) };
        let Some(reading) = measure(subject).map_err(wrong)?.into_iter().next() else { continue };
        let of = match verdict::judge(claim, &reading.measured)?.verdict {
            Verdict::Holds => &mut found.holds,
            Verdict::Near => &mut found.near,
            Verdict::Differs | Verdict::NotTestable => &mut found.differs,
        };
        of.push(entry.id);
    }
    Ok(found)
}
