// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Table 1: the depths of applications' searches, which are inputs here, and the line through them.

use std::ops::ControlFlow;

use mb_trace::generate::{ApplicationRow, Plan, Tanabe2013Table1Parameters};

use super::designs::Designs;
use crate::claim_test::{ClaimTest, Interpretations, cannot, measure, number};
use crate::error::MeasureError;

const INPUT: &str = "an input of `matchbench generate tanabe2013_table1`, whose traces have it";

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    cannot("tanabe2013.depth.ft_32", INPUT),
    cannot("tanabe2013.depth.ft_64", INPUT),
    cannot("tanabe2013.depth.ft_128", INPUT),
    measure("tanabe2013.depth.ft_16384", |_| extrapolated(ApplicationRow::Ft)),
    cannot("tanabe2013.depth.its_32", INPUT),
    cannot("tanabe2013.depth.its_64", INPUT),
    cannot("tanabe2013.depth.its_128", INPUT),
    measure("tanabe2013.depth.its_16384", |_| extrapolated(ApplicationRow::Its)),
    cannot("tanabe2013.depth.ft_fraction_128", INPUT),
    cannot("tanabe2013.workload.unexpected_fraction", INPUT),
    cannot("tanabe2013.scale.queue_fraction", "about applications that we have no recordings of"),
];

/// The least-squares line through the depths that the generated traces of 32, 64 and 128 ranks
/// search, at 16384 ranks, in whole entries.
fn extrapolated(application: ApplicationRow) -> Interpretations {
    let parameters = Tanabe2013Table1Parameters { application, iterations: 1, ..Default::default() };
    let mut points = Vec::new();
    for ranks in [32, 64, 128] {
        let failed = |_| MeasureError::NotSeen("a generated trace");
        let trace = Plan::of(&parameters, ranks, 0).map_err(|_| MeasureError::NotSeen("the pattern"))?.in_memory();
        let comms = trace.check(|_| ControlFlow::Continue(())).map_err(failed)?;
        let stats = trace.stats(&comms, |_, _| ControlFlow::Continue(())).map_err(failed)?;
        let depth = stats.unexpected_depth.mean().ok_or(MeasureError::NotSeen("an unexpected message"))?;
        points.push((f64::from(ranks), depth));
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    number((y + covariance / variance * (16_384.0 - x)).round())
}
