// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All-to-all in point-to-point messages.

use mb_core::{ParameterError, Parameters, Picos};

use super::exchange::{PostOrder, all_to_all};
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, check_time, whole_ns,
};

/// Parameters of the pattern `transpose`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct TransposeParameters {
    /// Steps of the program.
    #[parameter(range = 1..=1_000_000_000)]
    pub iterations: u64,
    /// Size of a message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes: u64,
    /// Computation before each exchange.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
    /// Order in which receives are posted, against that in which their messages are sent.
    #[parameter]
    pub order: PostOrder,
}

impl Default for TransposeParameters {
    fn default() -> Self {
        Self { iterations: 1, bytes: 64, compute: Picos::from_ns(10_000), order: PostOrder::Arrival }
    }
}

impl PatternParameters for TransposeParameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "transpose",
        "All-to-all in point-to-point messages: rank r sends to r+1, r+2, ...; a parameter sets the order of receives.",
        2,
    );
}

impl PatternProgram for TransposeParameters {
    fn prepare(&self, _ranks: u32) -> Result<(), ParameterError> {
        check_time(self.compute, self.iterations)
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        for step in 0..self.iterations {
            output.program.compute(whole_ns(self.compute));
            all_to_all(output, self.order, step, self.bytes);
            output.pause()?;
        }
        Ok(())
    }
}
