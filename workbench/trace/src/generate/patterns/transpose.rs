// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All-to-all in point-to-point messages.

use super::parameters::{ORDER, bytes, compute, iterations};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "transpose",
    summary: "All-to-all in point-to-point messages: rank r sends to r+1, r+2, ...; a parameter sets the order of receives.",
    least_ranks: 2,
    parameters: &[iterations("1"), bytes("64"), compute("10000", "Computation before each exchange."), ORDER],
    prepare: |plan| plan.check_time(plan.whole("iterations")),
    run,
};

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    for step in 0..plan.whole("iterations") {
        output.program.compute(plan.ns("compute"));
        plan.all_to_all(&mut output.program, step, plan.whole("bytes"));
        output.pause()?;
    }
    Ok(())
}
