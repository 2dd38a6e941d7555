// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wavefronts over a 2-D grid.

use mb_core::mpi::PROC_NULL;
use mb_core::{ParameterError, Parameters, Picos};

use super::grid::grid;
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, TURN_NS, check_time, whole_ns,
};
use crate::rank_builder::Status;

/// Parameters of the pattern `sweep`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct SweepParameters {
    /// Ranks along this axis; 0 on all axes: as even as the ranks allow.
    #[parameter(range = 0..=i32::MAX as u64)]
    pub grid_x: u64,
    /// Ranks along this axis; 0 on all axes: as even as the ranks allow.
    #[parameter(range = 0..=i32::MAX as u64)]
    pub grid_y: u64,
    /// Steps of the program.
    #[parameter(range = 1..=1_000_000_000)]
    pub iterations: u64,
    /// Blocks per wavefront.
    #[parameter(range = 1..=1_000_000)]
    pub blocks: u64,
    /// Size of a message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes: u64,
    /// Computation per block.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
}

impl Default for SweepParameters {
    fn default() -> Self {
        Self { grid_x: 0, grid_y: 0, iterations: 10, blocks: 10, bytes: 1024, compute: Picos::from_ns(1000) }
    }
}

impl PatternParameters for SweepParameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "sweep",
        "Wavefronts from the four corners of a 2-D grid, in blocks: each rank waits for two neighbours.",
        1,
    );
}

impl SweepParameters {
    fn grid(&self, ranks: u32) -> Result<[u32; 2], ParameterError> {
        grid([self.grid_x, self.grid_y], ranks)
    }
}

impl PatternProgram for SweepParameters {
    fn prepare(&self, ranks: u32) -> Result<(), ParameterError> {
        let [x, y] = self.grid(ranks)?;
        let steps = u64::from(x) + u64::from(y) + self.blocks;
        check_time(self.compute, self.iterations.saturating_mul(4).saturating_mul(steps))
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        let [size_x, size_y] = self.grid(output.ranks).expect("prepared");
        let rank = output.program.rank();
        let (x, y) = (rank % size_x, rank / size_x);
        let (blocks, bytes, compute) = (self.blocks, self.bytes, whole_ns(self.compute));
        let length = u64::from(size_x - 1) + u64::from(size_y - 1) + blocks;
        let mut begin = 0;
        for _ in 0..self.iterations {
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
}
