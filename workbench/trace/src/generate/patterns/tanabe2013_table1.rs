// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Search depths of the unexpected-message queue as in Table 1 of Tanabe and Ohta.

use super::exchange::both_queues;
use super::parameters::{bytes, choice, compute, iterations};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};

/// Columns of tanabe2013, Table 1: average search depth of the unexpected-message queue by number
/// of ranks. The paper quotes them from Brightwell et al.; the last column is its own linear
/// estimate.
const TABLE1_RANKS: [u64; 4] = [32, 64, 128, 16_384];
const TABLE1_FT: [u64; 4] = [5, 10, 27, 3_837];
const TABLE1_ITS: [u64; 4] = [7, 13, 21, 2_344];

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "tanabe2013_table1",
    summary: "Average search depth of the UMQ as in tanabe2013, Table 1, for FT and ITS; half of the messages are unexpected.",
    least_ranks: 2,
    parameters: &[
        choice("application", &["ft", "its"], "ft", "Row of the table."),
        iterations("10"),
        bytes("64"),
        compute("10000", "Computation before each step."),
    ],
    prepare: |plan| plan.check_time(plan.whole("iterations")),
    run,
};

/// Average search depth at `ranks`: linear interpolation between the columns of the table, and
/// extrapolation beyond them.
fn table1_depth(row: [u64; 4], ranks: u64) -> f64 {
    let column = TABLE1_RANKS.partition_point(|&at| at <= ranks).clamp(1, 3);
    let [(x0, y0), (x1, y1)] = [column - 1, column].map(|at| (TABLE1_RANKS[at] as f64, row[at] as f64));
    // Below the first column the line goes to depth 0 at 0 ranks.
    let (x0, y0, x1, y1) = if ranks < TABLE1_RANKS[0] { (0.0, 0.0, x0, y0) } else { (x0, y0, x1, y1) };
    y0 + (ranks as f64 - x0) / (x1 - x0) * (y1 - y0)
}

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let row = if plan.word("application") == "ft" { TABLE1_FT } else { TABLE1_ITS };
    // Taking n messages from the back of the queue visits n, n - 1, ..., 1 entries: (n + 1) / 2 on
    // average.
    let length = (2.0 * table1_depth(row, u64::from(plan.ranks)) - 1.0).round().max(1.0) as u64;
    for _ in 0..plan.whole("iterations") {
        output.program.compute(plan.ns("compute"));
        both_queues(plan, &mut output.program, length, u64::MAX, |expected, receives| {
            if expected == 0 {
                receives.reverse();
            }
        });
        output.pause()?;
    }
    Ok(())
}
