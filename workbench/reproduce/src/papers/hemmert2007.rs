// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hemmert et al. (`hemmert2007`): the microcoded match unit, its list manager and the hardware
//! bound.
//!
//! Its two ways of counting cycles contradict each other, so the claims about time have several
//! interpretations; the one that counts is the benchmark as figure 5 runs it, with nothing left
//! out, against the bound that section 6.1 states.

mod areas;
mod assumption_sets;
pub mod assumptions;
mod comparison;
mod curves;
mod data_points;
pub mod figure5;
mod lists;
mod parameters;
mod processors;
mod program;
mod setup;
mod subject;
mod tables;
mod timing;
mod unit;

pub use assumption_sets::{AllSets, all_sets};
pub use assumptions::Assumptions;
pub use figure5::FIGURE5;
pub use processors::Simulated;
pub use setup::{Build, Delivery, PaperProcessor, Setup};
pub use subject::{Bound, Point, Processors, Subject};
use subject::{STUDY, UNIT};

use crate::claim_test::{ClaimTest, cannot};
use crate::error::{MeasureError, ReproduceError};
use crate::figures::Figures;
use crate::ledger::Claim;
use crate::registry::Paper;

/// The registration of the paper.
pub static PAPER: Paper<Subject> = Paper {
    key: "hemmert2007",
    alias: "s0",
    tests: TESTS,
    // Its contradictions, numbers 1 to 8, are interpretations of its claims.
    contradictions: &[],
    subject: Subject::published,
    engines: &[UNIT, Bound::Stated.spec(), Bound::Reported.spec()],
    study: Some(STUDY),
    figures: |subject, claims, jobs| figures(subject, claims, jobs).map(Some),
};

/// Curves, data points, areas and parameters; with `jobs`, also the benchmark under every set of
/// assumptions.
fn figures(subject: &Subject, claims: &[Claim], jobs: Option<usize>) -> Result<Figures, ReproduceError> {
    let study = STUDY.read().map_err(MeasureError::from)?;
    let mut found = Figures {
        study: STUDY.name,
        curves: curves::curves(&study, subject),
        data_points: data_points::data_points(claims, subject.clock),
        areas: areas::areas(claims, subject)?,
        parameters: parameters::parameters(&study, &subject.processors),
        ..Figures::default()
    };
    if let Some(jobs) = jobs {
        let all = all_sets(claims, &study, subject, jobs)?;
        // The curves of all sets contain those of the subject's processors.
        found.curves.retain(|curve| !all.curves.iter().any(|other| other.is(curve)));
        found.curves.extend(all.curves);
        (found.agreements, found.assumption_values) = (all.agreements, all.assumption_values);
    }
    Ok(found)
}

/// Every test, group by group.
const TESTS: &[&[ClaimTest<Subject>]] = &[
    unit::TESTS,
    program::TESTS,
    lists::TESTS,
    timing::TESTS,
    tables::EMBEDDED,
    tables::MT1,
    tables::MT2,
    tables::MT16,
    tables::BENCHMARK,
    comparison::TESTS,
    areas::TESTS,
    WITHOUT_MEASUREMENT,
];

const WITHOUT_MEASUREMENT: &[ClaimTest<Subject>] = &[
    cannot(
        "hemmert2007.match.predicate_order",
        "all tests must hold for a match, so no answer depends on their order; hemmert2007.match.fail_anywhere checks each of them",
    ),
    cannot(
        "hemmert2007.lm.success_outputs",
        "the model ends at the answer: it builds no DMA command and raises no event; the answer is hemmert2007.match.outputs",
    ),
    cannot("hemmert2007.area.t4_mu_cores", "a heading of table 4; no run can show another number"),
    cannot("hemmert2007.area.t4_mu_rel", "the match unit over itself; no estimate can show another number"),
    cannot("hemmert2007.fpga.mhz", "no circuit yet: a clock needs RTL and a device"),
    cannot("hemmert2007.fpga.asic_mhz", "five times a clock that needs RTL and a device"),
    cannot(
        "hemmert2007.mu.units_compute",
        "counts the blocks of figure 3, which only a circuit has; the slots are hemmert2007.mu.slots",
    ),
    cannot("hemmert2007.mu.units_memory", "counts the blocks of figure 3, which only a circuit has"),
    cannot(
        "hemmert2007.mu.units_transfer",
        "counts the blocks of figure 3, which only a circuit has; the slots are hemmert2007.mu.slots",
    ),
    cannot(
        "hemmert2007.mu.pred_timing",
        "the model executes a word in one step and has no stages; a circuit would have",
    ),
    cannot("hemmert2007.mu.simulator", "about the authors' tool"),
];
