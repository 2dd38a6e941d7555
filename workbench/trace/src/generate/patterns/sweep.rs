// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wavefronts over a 2-D grid.

use mb_core::mpi::PROC_NULL;

use super::TURN_NS;
use super::parameters::{bytes, compute, count, grid, iterations};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};
use crate::rank_builder::Status;

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "sweep",
    summary: "Wavefronts from the four corners of a 2-D grid, in blocks: each rank waits for two neighbours.",
    least_ranks: 1,
    parameters: &[
        grid("grid_x"),
        grid("grid_y"),
        iterations("10"),
        count("blocks", "10", (1, 1_000_000), "Blocks per wavefront."),
        bytes("1024"),
        compute("1000", "Computation per block."),
    ],
    prepare: |plan| {
        let (x, y) = plan.grid2()?;
        let steps = u64::from(x) + u64::from(y) + plan.whole("blocks");
        plan.check_time(plan.whole("iterations").saturating_mul(4).saturating_mul(steps))
    },
    run,
};

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let (size_x, size_y) = plan.grid2().expect("prepared");
    let rank = output.program.rank();
    let (x, y) = (rank % size_x, rank / size_x);
    let (blocks, bytes, compute) = (plan.whole("blocks"), plan.whole("bytes"), plan.ns("compute"));
    let length = u64::from(size_x - 1) + u64::from(size_y - 1) + blocks;
    let mut begin = 0;
    for _ in 0..plan.whole("iterations") {
        for corner in 0..4 {
            // Upstream and downstream neighbour on one axis, if there is one.
            let side = |at: u32, size: u32, forward: bool, stride: u32| {
                let (low, high) = ((at > 0).then(|| rank - stride), (at + 1 < size).then(|| rank + stride));
                if forward { (low, high) } else { (high, low) }
            };
            let (from_x, to_x) = side(x, size_x, corner & 1 == 0, 1);
            let (from_y, to_y) = side(y, size_y, corner & 2 == 0, size_x);
            let distance_x = if corner & 1 == 0 { x } else { size_x - 1 - x };
            let distance_y = if corner & 2 == 0 { y } else { size_y - 1 - y };
            let peer = |rank: Option<u32>| rank.map_or(PROC_NULL, |rank| rank as i32);
            for block in 0..blocks {
                let program = &mut output.program;
                let due = begin + (u64::from(distance_x) + u64::from(distance_y) + block) * (compute + TURN_NS);
                for (axis, from) in [peer(from_x), peer(from_y)].into_iter().enumerate() {
                    let tag = corner * 2 + axis as i32;
                    if from != PROC_NULL {
                        program.recv(0, from, tag, bytes, Status { source: from, tag, bytes });
                    }
                }
                program.idle(due.saturating_sub(program.wall_ns()));
                program.compute(compute);
                for (axis, to) in [peer(to_x), peer(to_y)].into_iter().enumerate() {
                    if to != PROC_NULL {
                        program.send(0, to, corner * 2 + axis as i32, bytes);
                    }
                }
                output.pause()?;
            }
            begin += length * (compute + TURN_NS);
        }
    }
    Ok(())
}
