// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random partners in random order.

use mb_core::random::Random;
use mb_core::{ParameterError, Parameters, Picos};

use super::exchange::{Message, exchange};
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, check_time, whole_ns,
};

/// Parameters of the pattern `random`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct RandomParameters {
    /// Steps of the program.
    #[parameter(range = 1..=1_000_000_000)]
    pub iterations: u64,
    /// Messages that a rank sends in a step.
    #[parameter(range = 1..=1_000_000)]
    pub degree: u64,
    /// Smallest message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes_min: u64,
    /// Largest message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes_max: u64,
    /// Computation before each step.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
}

impl Default for RandomParameters {
    fn default() -> Self {
        Self { iterations: 100, degree: 8, bytes_min: 8, bytes_max: 4096, compute: Picos::from_ns(10_000) }
    }
}

impl PatternParameters for RandomParameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "random",
        "Each rank sends to `degree` random ranks and receives from as many, in random order.",
        1,
    );
}

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

impl PatternProgram for RandomParameters {
    fn prepare(&self, _ranks: u32) -> Result<(), ParameterError> {
        let (least, most) = (self.bytes_min, self.bytes_max);
        if least > most {
            let reason = format!("bytes_min: found {least}, expected at most bytes_max, {most}");
            return Err(ParameterError::Contradiction(reason));
        }
        check_time(self.compute, self.iterations)
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        let (rank, seed) = (output.program.rank(), output.seed);
        let size = |step: u64, sender: u32, tag: u64| {
            Random::of(seed, &[1, step, u64::from(sender), tag]).within(self.bytes_min, self.bytes_max)
        };
        for step in 0..self.iterations {
            let (mut receives, mut sends): (Vec<Message>, Vec<Message>) = (Vec::new(), Vec::new());
            for tag in 0..self.degree {
                let map = Affine::new(output.ranks, &mut Random::of(seed, &[0, step, tag]));
                sends.push((map.to(rank), tag as i32, size(step, rank, tag)));
                let sender = map.from(rank);
                receives.push((sender, tag as i32, size(step, sender, tag)));
            }
            let mut order = Random::of(seed, &[2, step, u64::from(rank)]);
            order.shuffle(&mut receives);
            order.shuffle(&mut sends);
            output.program.compute(whole_ns(self.compute));
            exchange(&mut output.program, &receives, &sends);
            output.pause()?;
        }
        Ok(())
    }
}
