// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queue lengths as quoted by Xiong et al.

use mb_core::random::Random;

use super::exchange::both_queues;
use super::parameters::{bytes, choice, compute, count, iterations};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "xiong2018_depths",
    summary: "Lengths of both queues as xiong2018 quotes from proxy applications: below 128 in 50 %, below 512 in 75 % of the steps.",
    least_ranks: 2,
    parameters: &[
        iterations("40"),
        count("depth_max", "4096", (513, 1_000_000), "Longest queue; the quoted text gives a few thousand or more."),
        count("sources", "16", (1, 1_000_000), "Ranks that send to a rank in a step."),
        bytes("64"),
        compute("10000", "Computation before each step."),
        choice("order", &["arrival", "reverse", "random"], "random", "Order of receives against that of messages."),
    ],
    prepare: |plan| plan.check_time(plan.whole("iterations")),
    run,
};

/// A queue length, distributed as xiong2018, section II.B, quotes Klenk and Fröning: below 128 in
/// half of all data points, below 512 in three quarters, and up to a few thousand in the others.
/// Assumed, because the text gives only these quartiles and the order of magnitude of the longest:
/// uniform in the first two classes, log-uniform above them.
fn xiong2018_length(random: &mut Random, longest: u64) -> u64 {
    match random.below(4) {
        0 | 1 => random.within(1, 127),
        2 => random.within(128, 511),
        _ => {
            let doublings = (longest / 512).max(1).ilog2();
            let low = 512 << random.below(u64::from(doublings) + 1);
            random.within(low, (2 * low - 1).min(longest))
        }
    }
}

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let rank = u64::from(output.program.rank());
    for step in 0..plan.whole("iterations") {
        let length = xiong2018_length(&mut Random::of(plan.seed, &[step]), plan.whole("depth_max"));
        output.program.compute(plan.ns("compute"));
        both_queues(plan, &mut output.program, length, plan.whole("sources"), |expected, receives| {
            plan.ordered(receives, &[rank, step, expected]);
        });
        output.pause()?;
    }
    Ok(())
}
