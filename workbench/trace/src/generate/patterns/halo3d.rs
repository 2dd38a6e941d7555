// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nearest-neighbour exchange on a periodic 3-D grid, with an optional all-to-all every n steps.

use super::exchange::{Message, exchange};
use super::parameters::{ORDER, bytes, choice, compute, count, grid, iterations};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "halo3d",
    summary: "Exchange with 6 or 26 neighbours on a periodic 3-D grid, optionally with an all-to-all every n steps.",
    least_ranks: 1,
    parameters: &[
        grid("grid_x"),
        grid("grid_y"),
        grid("grid_z"),
        choice("neighbours", &["6", "26"], "6", "Faces only, or faces, edges and corners."),
        iterations("100"),
        bytes("4096"),
        compute("10000", "Computation before each exchange."),
        count("all_to_all_every", "0", (0, 1_000_000_000), "Steps between two all-to-alls; 0: none."),
        count("all_to_all_bytes", "64", (0, 1 << 48), "Size of a message of the all-to-all, bytes."),
        ORDER,
    ],
    prepare: |plan| {
        plan.grid3()?;
        plan.check_time(plan.whole("iterations").saturating_mul(2))
    },
    run,
};

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let [size_x, size_y, size_z] = plan.grid3().expect("prepared").map(i64::from);
    let rank = i64::from(output.program.rank());
    let at = [rank % size_x, rank / size_x % size_y, rank / (size_x * size_y)];
    let neighbour = |step: [i64; 3]| {
        let [x, y, z] = std::array::from_fn(|axis| (at[axis] + step[axis]).rem_euclid([size_x, size_y, size_z][axis]));
        (x + size_x * (y + size_y * z)) as u32
    };
    // Opposite directions are adjacent: a message sent in `direction` comes from the neighbour in
    // direction ^ 1.
    let mut steps: Vec<[i64; 3]> = Vec::new();
    if plan.word("neighbours") == "6" {
        steps.extend([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]);
    } else {
        for code in 14..27 {
            let step = [code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1];
            steps.extend([step, step.map(|distance| -distance)]);
        }
    }
    let bytes = plan.whole("bytes");
    let to: Vec<u32> = steps.iter().map(|&step| neighbour(step)).collect();
    let sends: Vec<Message> = (0..to.len()).map(|direction| (to[direction], direction as i32, bytes)).collect();
    let receives: Vec<Message> = (0..to.len()).map(|direction| (to[direction ^ 1], direction as i32, bytes)).collect();
    let every = plan.whole("all_to_all_every");
    for step in 0..plan.whole("iterations") {
        output.program.compute(plan.ns("compute"));
        exchange(&mut output.program, &receives, &sends);
        if every > 0 && (step + 1).is_multiple_of(every) && plan.ranks > 1 {
            output.program.compute(plan.ns("compute"));
            plan.all_to_all(&mut output.program, step, plan.whole("all_to_all_bytes"));
        }
        output.pause()?;
    }
    Ok(())
}
