// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 3.4: the null application (figure 3) and 3DES (figure 4), by functional units.

use mb_netproc::contract::{Application, Classifier};

use super::experiment::{PaperChip, Work};
use super::model::Model;
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, fact, measure, number};
use crate::error::MeasureError;
use crate::verdict::Measured;

const CONTENTION: &str = "On the models the rate falls with the number of workers, by a quarter from 2 processors to \
     8: each worker that takes a packet moves the lines of the work list and of its lock to its \
     core, and the OS thread waits for them. The paper shows no such loss. Nothing that was \
     varied removes it: waiting and spinning, registers, caches, who classifies, order of issue.";
const TWO_UNITS: &str = "CMP2 has a second unit for the OS thread, and 3 workers in place of 7, which compete for the \
     work list. Its lead over CMP differs in every variant that was run; its rate is closer \
     with workers that spin, half of the rename registers, caches of 4 KB, or in-order issue.";
const FOUR: &str = "The SMT is fastest with three contexts and slower with eight, since further workers compete for the lock of \
     the work list, as on CMP. From two contexts on it is at least as fast as with eight. Nothing that was varied \
     changes this verdict.";
const POLLS: &str = "While all workers are busy, the OS thread polls for a free buffer. On CMP it polls on its own core, on the \
     SMT it takes issue slots from workers. If it waits instead, SMT(N) is almost as fast as CMP(N+1) and as \
     CMP2(N+2), which is what the paper states, against section 3.4, by which the thread polls. Fetch policy, \
     registers, caches and order of issue were varied too and do not change the verdict.";
const SLOTS: &str = "The OS thread polls in issue slots that workers of the SMT need: the lead is \
     {crowley2000.des3.smt_over_cmp2:.2} with eight units. If it waits instead, the lead is that of the paper; \
     in-order issue comes near. By arithmetic N over N-2 is 33 % at 8 units (contradiction 25).";

/// Rates that differ by less are called equal: the paper reads them from a figure.
pub(super) const EQUAL: f64 = 0.05;
/// Rates that are "almost the same" (section 3.4).
pub(super) const ALMOST: f64 = 0.10;

pub(super) const NULL: &[ClaimTest<Model>] = &[
    measure("crowley2000.null.smt_cycles", |model: &Model| {
        let report = model.report(PaperChip::Smt(8), Work::Null, Classifier::Hardware)?;
        number(report.cycles as f64 / report.completed() as f64)
    }),
    measure("crowley2000.null.smt_pps", |model: &Model| number(model.null(PaperChip::Smt(8))?)),
    measure("crowley2000.null.cmp_peak_lower", |model: &Model| {
        let most = rates(model, 1..=8, PaperChip::Cmp)?.into_iter().fold(0.0, f64::max);
        let smt = model.null(PaperChip::Smt(8))?;
        fact(most < smt, format!("CMP at most {}, SMT {}", mega(most), mega(smt)))
    }),
    differs(
        "crowley2000.null.cmp_flat",
        |model: &Model| {
            let rates = rates(model, 2..=8, PaperChip::Cmp)?;
            let [least, most] =
                [rates.iter().copied().fold(f64::INFINITY, f64::min), rates.into_iter().fold(0.0, f64::max)];
            fact(most / least <= 1.0 + EQUAL, format!("{} to {} with 2 to 8 processors", mega(least), mega(most)))
        },
        CONTENTION,
    ),
    differs(
        "crowley2000.null.cmp2_over_cmp",
        |model: &Model| number(model.null(PaperChip::Cmp2(4))? / model.null(PaperChip::Cmp(8))? - 1.0),
        TWO_UNITS,
    ),
    measure("crowley2000.null.smt_over_cmp", |model: &Model| {
        number(model.null(PaperChip::Smt(4))? / model.null(PaperChip::Cmp(4))? - 1.0)
    }),
    differs(
        "crowley2000.null.smt_saturates",
        |model: &Model| {
            let peak = model.null(PaperChip::Smt(8))?;
            for contexts in 1..8 {
                if model.null(PaperChip::Smt(contexts))? * (1.0 + EQUAL) >= peak {
                    return number(contexts as f64);
                }
            }
            number(8.0)
        },
        FOUR,
    ),
    measure("crowley2000.null.cmp_pps", |model: &Model| number(model.null(PaperChip::Cmp(8))?)),
    differs("crowley2000.null.cmp2_pps", |model: &Model| number(model.null(PaperChip::Cmp2(4))?), TWO_UNITS),
];

pub(super) const DES3: &[ClaimTest<Model>] = &[
    measure("crowley2000.des3.linear", |model: &Model| {
        let mut worst: f64 = 0.0;
        for points in [
            points(model, 2..=8, PaperChip::Smt)?,
            points(model, 2..=8, PaperChip::Cmp)?,
            points(model, 2..=4, PaperChip::Cmp2)?,
        ] {
            worst = worst.max(off_line(&points));
        }
        fact(worst <= EQUAL, format!("at most {:.1} % of the largest rate off a line", 100.0 * worst))
    }),
    measure("crowley2000.des3.ipc_single", |model: &Model| {
        let report = model.report(PaperChip::Superscalar, Work::Alone(Application::TripleDes), Classifier::Hardware)?;
        number(report.ipc())
    }),
    differs(
        "crowley2000.des3.smt_over_cmp",
        |model: &Model| lead(model, PaperChip::Cmp, &[3, 4, 5, 6, 7, 8], 1),
        POLLS,
    ),
    differs("crowley2000.des3.smt_over_cmp2", |model: &Model| lead(model, PaperChip::Cmp2, &[4, 6, 8], 2), SLOTS),
    differs(
        "crowley2000.des3.shift_cmp",
        |model: &Model| {
            let ratios =
                (2..8).map(|units| Ok(model.des3(PaperChip::Smt(units))? / model.des3(PaperChip::Cmp(units + 1))?));
            almost_one(&ratios.collect::<Result<Vec<_>, MeasureError>>()?)
        },
        POLLS,
    ),
    differs(
        "crowley2000.des3.shift_cmp2",
        |model: &Model| {
            let ratios = [2, 4, 6]
                .map(|units| Ok(model.des3(PaperChip::Smt(units))? / model.des3(PaperChip::Cmp2(units / 2 + 1))?));
            almost_one(&ratios.into_iter().collect::<Result<Vec<_>, MeasureError>>()?)
        },
        POLLS,
    ),
    measure("crowley2000.des3.upper_smt", |model: &Model| number(model.des3(PaperChip::Smt(8))?)),
    measure("crowley2000.des3.upper_cmp", |model: &Model| number(model.des3(PaperChip::Cmp(8))?)),
    measure("crowley2000.des3.upper_cmp2", |model: &Model| number(model.des3(PaperChip::Cmp2(4))?)),
];

/// Millions of packets in a second, as text.
pub(super) fn mega(rate: f64) -> String {
    format!("{:.3}e6/s", rate / 1e6)
}

fn rates(
    model: &Model,
    sizes: impl Iterator<Item = usize>,
    chip: fn(usize) -> PaperChip,
) -> Result<Vec<f64>, MeasureError> {
    sizes.map(|size| model.null(chip(size))).collect()
}

/// Units and 3DES packets in a second.
pub(super) fn points(
    model: &Model,
    sizes: impl Iterator<Item = usize>,
    chip: fn(usize) -> PaperChip,
) -> Result<Vec<(f64, f64)>, MeasureError> {
    sizes.map(|size| Ok((chip(size).units() as f64, model.des3(chip(size))?))).collect()
}

/// The largest distance from the line of least squares, over the largest value.
fn off_line(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let [x, y] = [
        points.iter().map(|point| point.0).sum::<f64>() / count,
        points.iter().map(|point| point.1).sum::<f64>() / count,
    ];
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    let off = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).abs()).fold(0.0, f64::max);
    off / points.iter().map(|point| point.1).fold(0.0, f64::max)
}

/// The SMT's lead over chips of as many units: with eight, and from the least to the most.
fn lead(model: &Model, chip: fn(usize) -> PaperChip, units: &[usize], of_core: usize) -> Interpretations {
    let leads =
        units.iter().map(|&units| Ok(model.des3(PaperChip::Smt(units))? / model.des3(chip(units / of_core))? - 1.0));
    let leads = leads.collect::<Result<Vec<f64>, MeasureError>>()?;
    let [least, most] =
        [leads.iter().copied().fold(f64::INFINITY, f64::min), leads.iter().copied().fold(f64::NEG_INFINITY, f64::max)];
    Ok(vec![
        Interpretation::new("with eight units", Measured::Number(leads[leads.len() - 1])),
        Interpretation::new(format!("from {} to 8 units", units[0]), Measured::Range(least, most)),
    ])
}

fn almost_one(ratios: &[f64]) -> Interpretations {
    let so = ratios.iter().all(|ratio| (ratio - 1.0).abs() <= ALMOST);
    let shown = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(", ");
    fact(so, format!("ratios {shown}"))
}
