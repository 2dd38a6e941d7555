// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nearest-neighbour exchange on a periodic 3-D grid, with an optional all-to-all every n steps.

use mb_core::parameters::Choice;
use mb_core::{ParameterError, Parameters, Picos};

use super::exchange::{Message, PostOrder, all_to_all, exchange};
use super::grid::grid;
use crate::error::TraceError;
use crate::generate::program::{
    CommunicationPattern, PatternParameters, PatternProgram, RankOutput, check_time, whole_ns,
};

/// The neighbours of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Neighbours {
    /// Six.
    #[choice("6")]
    Faces,
    /// 26: with those at edges and corners.
    #[choice("26")]
    All,
}

/// Parameters of the pattern `halo3d`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Parameters)]
pub struct Halo3dParameters {
    /// Ranks along this axis; 0 on all axes: as even as the ranks allow.
    #[parameter(range = 0..=i32::MAX as u64)]
    pub grid_x: u64,
    /// Ranks along this axis; 0 on all axes: as even as the ranks allow.
    #[parameter(range = 0..=i32::MAX as u64)]
    pub grid_y: u64,
    /// Ranks along this axis; 0 on all axes: as even as the ranks allow.
    #[parameter(range = 0..=i32::MAX as u64)]
    pub grid_z: u64,
    /// Faces only, or faces, edges and corners.
    #[parameter]
    pub neighbours: Neighbours,
    /// Steps of the program.
    #[parameter(range = 1..=1_000_000_000)]
    pub iterations: u64,
    /// Size of a message, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub bytes: u64,
    /// Computation before each exchange.
    #[parameter(range = 0..=1_000_000_000_000)]
    pub compute: Picos,
    /// Steps between two all-to-alls; 0: none.
    #[parameter(range = 0..=1_000_000_000)]
    pub all_to_all_every: u64,
    /// Size of a message of the all-to-all, bytes.
    #[parameter(range = 0..=1 << 48)]
    pub all_to_all_bytes: u64,
    /// Order in which receives are posted, against that in which their messages are sent.
    #[parameter]
    pub order: PostOrder,
}

impl Default for Halo3dParameters {
    fn default() -> Self {
        Self {
            grid_x: 0,
            grid_y: 0,
            grid_z: 0,
            neighbours: Neighbours::Faces,
            iterations: 100,
            bytes: 4096,
            compute: Picos::from_ns(10_000),
            all_to_all_every: 0,
            all_to_all_bytes: 64,
            order: PostOrder::Arrival,
        }
    }
}

impl PatternParameters for Halo3dParameters {
    const PATTERN: CommunicationPattern = CommunicationPattern::of::<Self>(
        "halo3d",
        "Exchange with 6 or 26 neighbours on a periodic 3-D grid, optionally with an all-to-all every n steps.",
        1,
    );
}

impl Halo3dParameters {
    fn grid(&self, ranks: u32) -> Result<[u32; 3], ParameterError> {
        grid([self.grid_x, self.grid_y, self.grid_z], ranks)
    }
}

impl PatternProgram for Halo3dParameters {
    fn prepare(&self, ranks: u32) -> Result<(), ParameterError> {
        self.grid(ranks)?;
        check_time(self.compute, self.iterations.saturating_mul(2))
    }

    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
        let [size_x, size_y, size_z] = self.grid(output.ranks).expect("prepared").map(i64::from);
        let rank = i64::from(output.program.rank());
        let at = [rank % size_x, rank / size_x % size_y, rank / (size_x * size_y)];
        let neighbour = |step: [i64; 3]| {
            let [x, y, z] =
                std::array::from_fn(|axis| (at[axis] + step[axis]).rem_euclid([size_x, size_y, size_z][axis]));
            (x + size_x * (y + size_y * z)) as u32
        };
        // Opposite directions are adjacent: a message sent in `direction` comes from the neighbour in
        // direction ^ 1.
        let mut steps: Vec<[i64; 3]> = Vec::new();
        if self.neighbours == Neighbours::Faces {
            steps.extend([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]);
        } else {
            for code in 14..27 {
                let step = [code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1];
                steps.extend([step, step.map(|distance| -distance)]);
            }
        }
        let bytes = self.bytes;
        let to: Vec<u32> = steps.iter().map(|&step| neighbour(step)).collect();
        let sends: Vec<Message> = (0..to.len()).map(|direction| (to[direction], direction as i32, bytes)).collect();
        let receives: Vec<Message> =
            (0..to.len()).map(|direction| (to[direction ^ 1], direction as i32, bytes)).collect();
        let every = self.all_to_all_every;
        for step in 0..self.iterations {
            output.program.compute(whole_ns(self.compute));
            exchange(&mut output.program, &receives, &sends);
            if every > 0 && (step + 1).is_multiple_of(every) && output.ranks > 1 {
                output.program.compute(whole_ns(self.compute));
                all_to_all(output, self.order, step, self.all_to_all_bytes);
            }
            output.pause()?;
        }
        Ok(())
    }
}
