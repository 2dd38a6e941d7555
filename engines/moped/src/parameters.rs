// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine.

use mb_core::{Clock, Cycles, Parameters, Picos};
use mb_moped::MopedParameters;
use mb_moped::parameters::{Backoff, MatchOrder};

const MOST_CYCLES: u64 = 1000;
const MILLISECOND: u64 = 1_000_000;

/// Parameters of the engine. Cycles are those of the cores.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct MopedEngineParameters {
    /// Clock of cores and MOPEDs.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Nodes of the chip: cores with a MOPED each. Rank `r` runs on node `r` modulo `nodes`.
    #[parameter(range = 1..=256)]
    pub nodes: usize,
    /// Number of the program, which the hash that selects the matching MOPED takes.
    #[parameter(range = 0..=255)]
    pub program: u64,
    /// Odd factor of the program in that hash.
    #[parameter(range = 1..=255)]
    pub hash_factor: u64,
    /// Entries of the table of the matching MOPED.
    #[parameter(range = 1..=256, holds = ByOtherRule)]
    pub descriptors: usize,
    /// Which of several descriptors that match is taken.
    #[parameter]
    pub order: MatchOrder,
    /// What back-off does beyond refusing descriptors and revoking those that are polled.
    #[parameter]
    pub backoff: Backoff,
    /// Cycles of a message from one MOPED to another.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub switch: Cycles,
    /// Cycles of an access to a port.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub port_cycles: u64,
    /// Cycles to find the descriptor that is matched next.
    #[parameter(range = 1..=MOST_CYCLES)]
    pub find_cycles: u64,
    /// Cycles for each entry of the table that a search visits.
    #[parameter(range = 0..=MOST_CYCLES)]
    pub walk_cycles: u64,
    /// In back-off: fixed time of every operation in software, and of every entry that moves there.
    #[parameter(range = 0..=MILLISECOND)]
    pub operation: Picos,
    /// In back-off: time of each entry that software visits.
    #[parameter(range = 0..=MILLISECOND)]
    pub entry: Picos,
    /// Barrier of all ranks of the program, when back-off begins and when it ends.
    #[parameter(range = 0..=MILLISECOND)]
    pub barrier: Picos,
}

impl MopedEngineParameters {
    /// Whether the hash selects another MOPED than that of the receiver's node.
    #[must_use]
    pub const fn is_forwarded(&self) -> bool {
        !(self.program * self.hash_factor).is_multiple_of(self.nodes as u64)
    }

    /// The device of this engine, what the engine does not model as in `base`.
    #[must_use]
    pub fn device(&self, base: &MopedParameters) -> MopedParameters {
        MopedParameters {
            nodes: self.nodes,
            hash_factor: self.hash_factor,
            descriptors: self.descriptors,
            order: self.order,
            backoff: self.backoff,
            port_cycles: self.port_cycles,
            find_cycles: self.find_cycles,
            walk_cycles: self.walk_cycles,
            ..base.clone()
        }
    }
}
