// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random partners in random order.

use mb_core::ParameterError;
use mb_core::random::Random;

use super::exchange::{Message, exchange};
use super::parameters::{compute, count, iterations};
use crate::error::TraceError;
use crate::generate::{Pattern, Plan, RankOutput};

/// The pattern and its parameters.
pub(super) const PATTERN: Pattern = Pattern {
    name: "random",
    summary: "Each rank sends to `degree` random ranks and receives from as many, in random order.",
    least_ranks: 1,
    parameters: &[
        iterations("100"),
        count("degree", "8", (1, 1_000_000), "Messages that a rank sends in a step."),
        count("bytes_min", "8", (0, 1 << 48), "Smallest message, bytes."),
        count("bytes_max", "4096", (0, 1 << 48), "Largest message, bytes."),
        compute("10000", "Computation before each step."),
    ],
    prepare: |plan| {
        let (least, most) = (plan.whole("bytes_min"), plan.whole("bytes_max"));
        if least > most {
            let reason = format!("bytes_min: {least} found, expected at most bytes_max, {most}");
            return Err(ParameterError::Contradiction(reason));
        }
        plan.check_time(plan.whole("iterations"))
    },
    run,
};

/// A random bijection of `ranks` ranks: `rank -> factor * rank + offset` modulo `ranks`.
struct Affine {
    factor: u64,
    offset: u64,
    ranks: u64,
}

impl Affine {
    fn new(ranks: u32, random: &mut Random) -> Self {
        let ranks = u64::from(ranks);
        let coprime = |a: u64| {
            let (mut a, mut b) = (a, ranks);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a == 1
        };
        let mut factor = 1 + random.below(ranks);
        while !coprime(factor) {
            factor = 1 + random.below(ranks);
        }
        Self { factor, offset: random.below(ranks), ranks }
    }

    fn to(&self, rank: u32) -> u32 {
        ((u64::from(rank) * self.factor + self.offset) % self.ranks) as u32
    }

    /// The rank that is mapped to `rank`.
    fn from(&self, rank: u32) -> u32 {
        // Inverse of the factor by the extended Euclidean algorithm.
        let (mut old, mut new, mut old_x, mut new_x) = (self.factor as i64, self.ranks as i64, 1_i64, 0_i64);
        while new != 0 {
            let quotient = old / new;
            (old, new) = (new, old - quotient * new);
            (old_x, new_x) = (new_x, old_x - quotient * new_x);
        }
        let inverse = old_x.rem_euclid(self.ranks as i64) as u64;
        let distance = (u64::from(rank) + self.ranks - self.offset) % self.ranks;
        (distance * inverse % self.ranks) as u32
    }
}

fn run(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let rank = output.program.rank();
    let size = |step: u64, sender: u32, tag: u64| {
        Random::of(plan.seed, &[1, step, u64::from(sender), tag])
            .within(plan.whole("bytes_min"), plan.whole("bytes_max"))
    };
    for step in 0..plan.whole("iterations") {
        let (mut receives, mut sends): (Vec<Message>, Vec<Message>) = (Vec::new(), Vec::new());
        for tag in 0..plan.whole("degree") {
            let map = Affine::new(plan.ranks, &mut Random::of(plan.seed, &[0, step, tag]));
            sends.push((map.to(rank), tag as i32, size(step, rank, tag)));
            let sender = map.from(rank);
            receives.push((sender, tag as i32, size(step, sender, tag)));
        }
        let mut order = Random::of(plan.seed, &[2, step, u64::from(rank)]);
        order.shuffle(&mut receives);
        order.shuffle(&mut sends);
        output.program.compute(plan.ns("compute"));
        exchange(&mut output.program, &receives, &sends);
        output.pause()?;
    }
    Ok(())
}
