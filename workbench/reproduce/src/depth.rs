// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Curves of studies that run the benchmarks of Tanabe and Ohta and Xiong et al. on engines, and
//! what the papers say about them.
//!
//! Contract: the result depends on the study alone, not on the number of threads.
//! Cost: that of [`crate::benchmarks`], once for each benchmark, variant and length.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mb_catalog::EngineChoice;
use mb_core::{Cycles, Picos, Source};

use crate::benchmarks::Benchmark;
use crate::curve::{Curve, CurvePoint, DataPoint};
use crate::error::MeasureError;
use crate::figures::{Figures, choice};
use crate::ledger::Claim;
use crate::study::{PointClaim, PointQuantity, Study, StudyFile};

/// What the figures of the study are drawn from, as many points at a time as there are `threads`.
///
/// # Errors
/// When the study cannot be read, an engine cannot be built, or a data point cannot be placed.
pub fn figures(file: &StudyFile, claims: &[Claim], threads: usize) -> Result<Figures, MeasureError> {
    let study = file.read()?;
    let curves = curves(&study, threads)?;
    let data_points = data_points(&study, claims, &curves)?;
    Ok(Figures { study: file.name, curves, data_points, ..Figures::default() })
}

/// Every curve that the figures of `study` draw, as many points at a time as there are `threads`.
///
/// # Errors
/// When an engine cannot be built, refuses or does not answer.
pub fn curves(study: &Study, threads: usize) -> Result<Vec<Curve>, MeasureError> {
    let mut curves = Vec::new();
    let mut wanted = Vec::new();
    for design in &study.designs {
        let mut lengths: BTreeMap<Benchmark, BTreeSet<usize>> = BTreeMap::new();
        for figure in study.figures.iter().filter(|figure| figure.shows(&design.name)) {
            let drawn = if design.lengths.is_empty() { &figure.lengths } else { &design.lengths };
            for benchmark in &figure.benchmarks {
                lengths.entry(*benchmark).or_default().extend(drawn);
            }
        }
        let variants = design.variants.iter().map(|variant| (&variant.name, variant.settings.as_slice()));
        for (place, (variant, settings)) in std::iter::once((&design.line, &[][..])).chain(variants).enumerate() {
            let Some(choice) = choice(design, settings)? else { continue };
            for (benchmark, lengths) in &lengths {
                wanted.extend(lengths.iter().map(|length| (curves.len(), choice.clone(), *benchmark, *length)));
                curves.push(Curve {
                    design: design.name.clone(),
                    benchmark: benchmark.key(),
                    variant: variant.clone(),
                    counts: place == 0,
                    calibrated: calibrated(&choice),
                    points: Vec::new(),
                });
            }
        }
    }
    for ((curve, _, benchmark, length), time) in wanted.iter().zip(times(&wanted, threads)?) {
        let traversed = benchmark.traversed(*length as u64);
        curves[*curve].points.push(CurvePoint { length: *length, percent: 100, traversed, time });
    }
    Ok(curves)
}

fn calibrated(choice: &EngineChoice) -> bool {
    choice.parameters.iter().any(|(_, parameter)| matches!(parameter.source, Source::Calibrated(_)))
}

type BenchmarkPoint = (usize, EngineChoice, Benchmark, usize);

fn times(wanted: &[BenchmarkPoint], threads: usize) -> Result<Vec<Picos>, MeasureError> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((place, (_, choice, benchmark, length))) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    wanted.get(place).map(|wanted| (place, wanted))
                } {
                    let time = choice
                        .build()
                        .map_err(MeasureError::from)
                        .and_then(|engine| benchmark.run(engine, *length as u64));
                    found.lock().expect("no thread panics while it has the lock").insert(place, time);
                }
            });
        }
    });
    found.into_inner().expect("no thread panics while it has the lock").into_values().collect()
}

/// What `claims` say about the curves of `study`.
///
/// # Errors
/// When the study names a claim that is not there, or has no number of that kind; or a point that
/// is not drawn.
pub fn data_points(study: &Study, claims: &[Claim], curves: &[Curve]) -> Result<Vec<DataPoint>, MeasureError> {
    let mut data_points = Vec::new();
    for stated in &study.data_points {
        let wrong = |what: &str| MeasureError::DataPoint { claim: stated.claim.clone(), what: what.to_owned() };
        let claim = claims.iter().find(|claim| claim.id == stated.claim).ok_or_else(|| wrong("no such claim"))?;
        for &length in &stated.lengths {
            let [low, value, high] = value(study, stated, claim, length, curves).map_err(wrong)?;
            data_points.push(DataPoint {
                claim: stated.claim.clone(),
                design: stated.design.clone(),
                benchmark: stated.benchmark.key(),
                length,
                percent: 100,
                low,
                value,
                high,
                limit: stated.limit,
            });
        }
    }
    Ok(data_points)
}

/// Lowest time, time and highest time in nanoseconds.
fn value(
    study: &Study,
    stated: &PointClaim,
    claim: &Claim,
    length: usize,
    curves: &[Curve],
) -> Result<[f64; 3], &'static str> {
    let measured = |design: &str| {
        let drawn =
            |curve: &&Curve| curve.counts && curve.design == design && curve.benchmark == stated.benchmark.key();
        let curve = curves.iter().find(drawn);
        let point = curve.and_then(|curve| curve.points.iter().find(|point| point.length == length));
        point.map(|point| point.time.as_ns()).ok_or("a point that no figure draws")
    };
    measured(&stated.design)?;
    if let PointQuantity::Like(other) = &stated.quantity {
        return Ok([measured(other)?; 3]);
    }
    let (number, error) = claim.number().ok_or("its value is not a number")?;
    let unit = || match claim.unit.as_str() {
        "ns" => Ok(1.0),
        "us" => Ok(1e3),
        _ => Err("its unit is not a time"),
    };
    let all = [number - error, number, number + error];
    Ok(match &stated.quantity {
        PointQuantity::Total => scaled(all, unit()?),
        PointQuantity::Each => scaled(all, unit()? * stated.benchmark.traversed(length as u64) as f64),
        PointQuantity::Cycles => scaled(all, cycle(study, &stated.design)?),
        PointQuantity::Times(other) => scaled(all, measured(other)?),
        PointQuantity::Under(other) => {
            let other = measured(other)?;
            [other / all[2], other / all[1], other / all[0]]
        }
        PointQuantity::Beyond(other) => {
            let (other, unit) = (measured(other)?, unit()?);
            all.map(|number| other + number * unit)
        }
        PointQuantity::Like(other) => [measured(other)?; 3],
    })
}

fn scaled(all: [f64; 3], factor: f64) -> [f64; 3] {
    all.map(|number| number * factor)
}

/// Nanoseconds of a cycle of the design's engine.
fn cycle(study: &Study, design: &str) -> Result<f64, &'static str> {
    const MANY: u64 = 1_000_000;
    let design = study.designs.iter().find(|known| known.name == design);
    let choice = design.and_then(|design| choice(design, &[]).ok().flatten());
    let clock = choice.and_then(|choice| choice.parameters.clock()).ok_or("its design has no clock")?;
    Ok(clock.span(Cycles(MANY)).as_ns() / MANY as f64)
}
