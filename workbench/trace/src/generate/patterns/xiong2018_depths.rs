// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queue lengths as quoted by Xiong et al.

use mb_core::random::Random;
use mb_core::{ParameterError, Parameters, Picos};

use super::exchange::{PostOrder, both_queues};
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, check_time, whole_ns,
};

/// Parameters of the pattern `xiong2018_depths`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct Xiong2018DepthsParameters {
    /// Steps of the program.
    #[parameter(range = 1..=1_000_000_000)]
    pub iterations: u64,
    /// Longest queue; the quoted text gives a few thousand or more.
    #[parameter(range = 513..=1_000_000)]
    pub depth_max: u64,
    /// Ranks that send to a rank in a step.
    #[parameter(range = 1..=1_000_000)]
    pub sources: u64,
    /// Size of a message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes: u64,
    /// Computation before each step.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
    /// Order of receives against that of messages.
    #[parameter]
    pub order: PostOrder,
}

impl Default for Xiong2018DepthsParameters {
    fn default() -> Self {
        Self {
            iterations: 40,
            depth_max: 4096,
            sources: 16,
            bytes: 64,
            compute: Picos::from_ns(10_000),
            order: PostOrder::Random,
        }
    }
}

impl PatternParameters for Xiong2018DepthsParameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "xiong2018_depths",
        "Lengths of both queues as xiong2018 quotes from proxy applications: below 128 in 50 %, below 512 in 75 % of the steps.",
        2,
    );
}

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

impl PatternProgram for Xiong2018DepthsParameters {
    fn prepare(&self, _ranks: u32) -> Result<(), ParameterError> {
        check_time(self.compute, self.iterations)
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        let (rank, seed) = (u64::from(output.program.rank()), output.seed);
        for step in 0..self.iterations {
            let length = xiong2018_length(&mut Random::of(seed, &[step]), self.depth_max);
            output.program.compute(whole_ns(self.compute));
            both_queues(output, self.bytes, length, self.sources, |expected, receives| {
                self.order.arrange(seed, receives, &[rank, step, expected]);
            });
            output.pause()?;
        }
        Ok(())
    }
}
