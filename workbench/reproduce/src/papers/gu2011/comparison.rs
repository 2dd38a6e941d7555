// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 6: figure 10 and what is said of messages of 1 MB, from the table of runs.

use super::model::{Figure10Quantity, KERNELS, LARGE, Model, PATTERNS};
use super::reasons;
use super::runs::{ChipBenchmark, ChipVariant, Transport};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, fact, measure};
use crate::error::MeasureError;
use crate::verdict::Measured;

use Figure10Quantity::{Global, GlobalOfCores, L1, Private, PrivateOfCores, Time};
use Transport::{Base, OptCache, OptCopy, Shm};

/// Percentage points within which reductions are almost the same, and per cent of a time that are not significant.
const ALMOST: f64 = 5.0;

pub(super) const TESTS: &[ClaimTest<Model>] = &[
    measure("gu2011.basemoped.exec_imb", |model| range(model, &PATTERNS, Base, &[(EVERY, Time)])),
    measure("gu2011.basemoped.exec_npb", |model| range(model, &KERNELS, Base, &[(EVERY, Time)])),
    measure("gu2011.optcopy.exec_imb", |model| range(model, &PATTERNS, OptCopy, &[(EVERY, Time)])),
    measure("gu2011.optcopy.exec_npb", |model| range(model, &KERNELS, OptCopy, &[(EVERY, Time)])),
    measure("gu2011.abs.global_npb", |model| off_chip(model, &KERNELS)),
    measure("gu2011.abs.global_imb", |model| off_chip(model, &PATTERNS)),
    measure("gu2011.basemoped.l1_npb", |model| range(model, &KERNELS, Base, &[(EVERY, L1)])),
    measure("gu2011.basemoped.l2p_npb", |model| range(model, &KERNELS, Base, &PRIVATE)),
    measure("gu2011.basemoped.l1_imb", |model| {
        let all = reductions(model, &PATTERNS, Base, L1)?;
        fact(all.so(|reduction| reduction > 50.0), all.shown())
    }),
    differs("gu2011.basemoped.l2p_imb", private_of_patterns, reasons::IMB_PRIVATE),
    measure("gu2011.basemoped.global_up", global_up),
    differs("gu2011.opt.l1_same", l1_same, reasons::L1_SAME),
    measure("gu2011.optcopy.l2_shift", shift),
    measure("gu2011.optcopy.exec_le_base", ranges_are_higher),
    measure("gu2011.optcache.little_gain", little_gain),
    measure("gu2011.optcache.global_to_local_pp_xc", turned_local),
    differs(
        "gu2011.optcache.bc_global",
        |model| {
            let of = |reference| model.reduction_from(reference, LARGE[2], OptCache, Global);
            let mut all = vec![Interpretation::new("from BASEMOPED", Measured::Number(of(Base)?))];
            if let Ok(reduction) = of(Shm) {
                all.push(Interpretation::new("from unmodified MPI", Measured::Number(reduction)));
            }
            Ok(all)
        },
        reasons::LARGE_GLOBAL,
    ),
    differs(
        "gu2011.optcache.pp_xc_noexec",
        |model| {
            let mut shown = Vec::new();
            let mut so = true;
            for benchmark in &LARGE[..2] {
                let reduction = model.reduction_from(Base, *benchmark, OptCache, Time)?;
                so &= reduction.abs() <= ALMOST;
                shown.push(format!("{} {reduction:+.1} %", benchmark.name()));
            }
            fact(so, format!("time saved: {}", shown.join(", ")))
        },
        reasons::LARGE_TIME,
    ),
    differs("gu2011.optcopy.bc_exec", |model| faster(model, OptCopy), reasons::LARGE_BC_TIME),
    differs("gu2011.optcache.bc_exec", |model| faster(model, OptCache), reasons::LARGE_BC_TIME),
];

const EVERY: &str = "";
const WITH_DEVICES: &str = "requests of devices included";
const CORES_ALONE: &str = "requests of cores alone";
const PRIVATE: [(&str, Figure10Quantity); 2] = [(WITH_DEVICES, Private), (CORES_ALONE, PrivateOfCores)];

/// Reductions of the benchmarks that were run.
struct Reductions {
    found: Vec<(ChipBenchmark, f64)>,
    missing: Vec<String>,
}

impl Reductions {
    fn so(&self, holds: impl Fn(f64) -> bool) -> bool {
        self.found.iter().all(|(_, reduction)| holds(*reduction))
    }

    fn of(&self, name: &str) -> Option<f64> {
        self.found.iter().find(|(benchmark, _)| benchmark.name() == name).map(|(_, reduction)| *reduction)
    }

    fn ends(&self) -> (f64, f64) {
        let fold = |(low, high): (f64, f64), (_, reduction): &(ChipBenchmark, f64)| {
            (low.min(*reduction), high.max(*reduction))
        };
        self.found.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
    }

    fn not_run(&self) -> String {
        if self.missing.is_empty() { String::new() } else { format!("without {}, not run", self.missing.join(", ")) }
    }

    fn shown(&self) -> String {
        let mut words: Vec<_> =
            self.found.iter().map(|(benchmark, reduction)| format!("{} {reduction:.0} %", benchmark.name())).collect();
        if !self.missing.is_empty() {
            words.push(self.not_run());
        }
        words.join(", ")
    }
}

/// Reductions by a design; an error if none of the benchmarks was run.
fn reductions(
    model: &Model,
    benchmarks: &[ChipBenchmark],
    design: Transport,
    quantity: Figure10Quantity,
) -> Result<Reductions, MeasureError> {
    let mut all = Reductions { found: Vec::new(), missing: Vec::new() };
    let mut first = None;
    for &benchmark in benchmarks {
        match model.reduction(benchmark, design, quantity) {
            Ok(reduction) => all.found.push((benchmark, reduction)),
            Err(MeasureError::NotRun(what)) => {
                all.missing.push(benchmark.name());
                first.get_or_insert(what);
            }
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(what) if all.found.is_empty() => Err(MeasureError::NotRun(what)),
        _ => Ok(all),
    }
}

/// From the lowest to the highest reduction, for each of several quantities.
fn range(
    model: &Model,
    benchmarks: &[ChipBenchmark],
    design: Transport,
    quantities: &[(&'static str, Figure10Quantity)],
) -> Interpretations {
    let interpretation = |(name, quantity): &(&'static str, Figure10Quantity)| {
        let all = reductions(model, benchmarks, design, *quantity)?;
        let (low, high) = all.ends();
        let words: Vec<_> = [(*name).to_owned(), all.not_run()].into_iter().filter(|word| !word.is_empty()).collect();
        Ok(Interpretation::new(words.join(", "), Measured::Range(low, high)))
    };
    quantities.iter().map(interpretation).collect()
}

/// The abstract's percentages: OPTCOPY counts, then OPTCACHE, then BASEMOPED (inconsistency 22).
fn off_chip(model: &Model, benchmarks: &[ChipBenchmark]) -> Interpretations {
    let mut all = range(model, benchmarks, OptCopy, &[("OPTCOPY", Global)])?;
    all.extend(range(model, benchmarks, OptCache, &[("OPTCACHE", Global)])?);
    all.extend(range(model, benchmarks, Base, &[("BASEMOPED", Global)])?);
    all.extend(range(model, benchmarks, OptCopy, &[("OPTCOPY, requests of cores alone", GlobalOfCores)])?);
    Ok(all)
}

fn private_of_patterns(model: &Model) -> Interpretations {
    let interpretation = |(name, quantity)| {
        let all = reductions(model, &PATTERNS, Base, quantity)?;
        let most = ["PP", "XC", "BC", "GA"].iter().all(|name| all.of(name).is_some_and(|found| found > 50.0));
        let exceptions = ["AA", "RD"].iter().all(|name| all.of(name).is_some_and(|found| found <= 50.0));
        Ok(Interpretation::new(name, Measured::Fact(most && exceptions, all.shown())))
    };
    PRIVATE.into_iter().map(interpretation).collect()
}

/// Whether global misses rise in each of the benchmarks that the paper names; with and without the migratory rule.
fn global_up(model: &Model) -> Interpretations {
    let named = [PATTERNS[0], PATTERNS[1], KERNELS[1], KERNELS[2]];
    let interpretation = |name: &'static str, model: &Model, quantity| {
        let all = reductions(model, &named, Base, quantity)?;
        let so = all.missing.is_empty() && all.so(|reduction| reduction < 0.0);
        Ok::<_, MeasureError>(Interpretation::new(name, Measured::Fact(so, format!("reductions {}", all.shown()))))
    };
    let without = model.on(ChipVariant { migratory: false, ..model.chip.clone() });
    let mut all = vec![
        interpretation("requests of devices included", model, Global)?,
        interpretation("requests of cores alone", model, GlobalOfCores)?,
    ];
    all.extend(interpretation("without the migratory rule", &without, Global).ok());
    Ok(all)
}

fn everything() -> Vec<ChipBenchmark> {
    PATTERNS.into_iter().chain(KERNELS).collect()
}

/// The largest difference between the designs' reductions of L1 misses.
fn l1_same(model: &Model) -> Interpretations {
    let mut widest = (0.0, String::new());
    let mut compared = 0;
    for benchmark in everything() {
        let all = Transport::DESIGNS.map(|design| model.reduction(benchmark, design, L1));
        let [Ok(base), Ok(copy), Ok(cache)] = all else { continue };
        compared += 1;
        let spread = base.max(copy).max(cache) - base.min(copy).min(cache);
        if spread >= widest.0 {
            widest = (spread, benchmark.name());
        }
    }
    needs(model, compared)?;
    fact(
        widest.0 <= ALMOST,
        format!("at most {:.1} percentage points, for {}, of {compared} benchmarks", widest.0, widest.1),
    )
}

/// An error if nothing was compared.
fn needs(model: &Model, compared: usize) -> Result<(), MeasureError> {
    if compared == 0 { model.row(PATTERNS[0], OptCache).map(|_| ()) } else { Ok(()) }
}

/// In sum over the benchmarks that were run, relative to unmodified MPI.
fn shift(model: &Model) -> Interpretations {
    let interpretation = |(name, private, global): (&'static str, Figure10Quantity, Figure10Quantity)| {
        let (mut down, mut up, mut compared) = (Vec::new(), Vec::new(), 0);
        for benchmark in everything() {
            let of = |design, quantity| model.count(benchmark, design, quantity);
            let (Ok(before), Ok(after)) = (of(Base, global), of(OptCopy, global)) else { continue };
            compared += 1;
            if after < before {
                down.push(benchmark.name());
            }
            if of(OptCopy, private)? > of(Base, private)? {
                up.push(benchmark.name());
            }
        }
        needs(model, compared)?;
        let so = 2 * down.len() > compared && !up.is_empty();
        let list = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(" ") };
        let shown = format!("of {compared}: global misses fall in {}; private misses rise in {}", list(down), list(up));
        Ok(Interpretation::new(name, Measured::Fact(so, shown)))
    };
    [(WITH_DEVICES, Private, Global), (CORES_ALONE, PrivateOfCores, GlobalOfCores)]
        .into_iter()
        .map(interpretation)
        .collect()
}

fn ranges_are_higher(model: &Model) -> Interpretations {
    let (mut so, mut shown) = (true, Vec::new());
    for (name, benchmarks) in [("IMB", &PATTERNS[..]), ("NPB", &KERNELS[..])] {
        let base = reductions(model, benchmarks, Base, Time)?.ends();
        let copy = reductions(model, benchmarks, OptCopy, Time)?.ends();
        so &= copy.0 >= base.0 && copy.1 >= base.1;
        shown.push(format!("{name} {:.1} to {:.1} % against {:.1} to {:.1} %", copy.0, copy.1, base.0, base.1));
    }
    fact(so, shown.join("; "))
}

fn little_gain(model: &Model) -> Interpretations {
    let (mut low, mut high, mut compared) = ((f64::INFINITY, String::new()), (0.0, String::new()), 0);
    for benchmark in everything() {
        let of = |design| model.count(benchmark, design, Time);
        let (Ok(copy), Ok(cache)) = (of(OptCopy), of(OptCache)) else { continue };
        compared += 1;
        let ratio = cache / copy;
        if ratio < low.0 {
            low = (ratio, benchmark.name());
        }
        if ratio > high.0 {
            high = (ratio, benchmark.name());
        }
    }
    needs(model, compared)?;
    let so = low.0 >= 1.0 - ALMOST / 100.0 && high.0 <= 1.0 + ALMOST / 100.0;
    fact(so, format!("{:.3} ({}) to {:.3} ({}) of {compared} benchmarks", low.0, low.1, high.0, high.1))
}

/// The mean of PP and XC: the share of global misses that are gone with receive lines without data.
fn turned_local(model: &Model) -> Interpretations {
    let mean = |reference| {
        let of = |benchmark| model.reduction_from(reference, benchmark, OptCache, Global);
        Ok::<_, MeasureError>(f64::midpoint(of(LARGE[0])?, of(LARGE[1])?) / 100.0)
    };
    Ok(vec![
        Interpretation::new("from OPTCOPY", Measured::Number(mean(OptCopy)?)),
        Interpretation::new("from BASEMOPED", Measured::Number(mean(Base)?)),
    ])
}

fn faster(model: &Model, design: Transport) -> Interpretations {
    let reduction = model.reduction_from(Base, LARGE[2], design, Time)?;
    Ok(vec![Interpretation::new(EVERY, Measured::Number(reduction))])
}
