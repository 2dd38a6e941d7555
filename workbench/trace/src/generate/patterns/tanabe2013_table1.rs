// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Search depths of the unexpected-message queue as in Table 1 of Tanabe and Ohta.

use mb_core::parameters::Choice;
use mb_core::{ParameterError, Parameters, Picos};

use super::exchange::both_queues;
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, check_time, whole_ns,
};

/// Columns of tanabe2013, Table 1: average search depth of the unexpected-message queue by number
/// of ranks. The paper quotes them from Brightwell et al.; the last column is its own linear
/// estimate.
const TABLE1_RANKS: [u64; 4] = [32, 64, 128, 16_384];
const TABLE1_FT: [u64; 4] = [5, 10, 27, 3_837];
const TABLE1_ITS: [u64; 4] = [7, 13, 21, 2_344];

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum ApplicationRow {
    /// FT of the NAS parallel benchmarks.
    Ft,
    /// The Integrated Tiger Series.
    Its,
}

/// Parameters of the pattern `tanabe2013_table1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct Tanabe2013Table1Parameters {
    /// Row of the table.
    #[parameter]
    pub application: ApplicationRow,
    /// Steps of the program.
    #[parameter(range = 1..=1_000_000_000)]
    pub iterations: u64,
    /// Size of a message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes: u64,
    /// Computation before each step.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
}

impl Default for Tanabe2013Table1Parameters {
    fn default() -> Self {
        Self { application: ApplicationRow::Ft, iterations: 10, bytes: 64, compute: Picos::from_ns(10_000) }
    }
}

impl PatternParameters for Tanabe2013Table1Parameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "tanabe2013_table1",
        "Average search depth of the UMQ as in tanabe2013, Table 1, for FT and ITS; half of the messages are unexpected.",
        2,
    );
}

/// Average search depth at `ranks`: linear interpolation between the columns of the table, and
/// extrapolation beyond them.
fn table1_depth(row: [u64; 4], ranks: u64) -> f64 {
    let column = TABLE1_RANKS.partition_point(|&at| at <= ranks).clamp(1, 3);
    let [(x0, y0), (x1, y1)] = [column - 1, column].map(|at| (TABLE1_RANKS[at] as f64, row[at] as f64));
    // Below the first column the line goes to depth 0 at 0 ranks.
    let (x0, y0, x1, y1) = if ranks < TABLE1_RANKS[0] { (0.0, 0.0, x0, y0) } else { (x0, y0, x1, y1) };
    y0 + (ranks as f64 - x0) / (x1 - x0) * (y1 - y0)
}

impl PatternProgram for Tanabe2013Table1Parameters {
    fn prepare(&self, _ranks: u32) -> Result<(), ParameterError> {
        check_time(self.compute, self.iterations)
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        let row = match self.application {
            ApplicationRow::Ft => TABLE1_FT,
            ApplicationRow::Its => TABLE1_ITS,
        };
        // Taking n messages from the back of the queue visits n, n - 1, ..., 1 entries: (n + 1) / 2 on
        // average.
        let length = (2.0 * table1_depth(row, u64::from(output.ranks)) - 1.0).round().max(1.0) as u64;
        for _ in 0..self.iterations {
            output.program.compute(whole_ns(self.compute));
            both_queues(output, self.bytes, length, u64::MAX, |expected, receives| {
                if expected == 0 {
                    receives.reverse();
                }
            });
            output.pause()?;
        }
        Ok(())
    }
}
