// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The configuration of a replay.

use mb_core::names;
use mb_core::time::Picos;
use mb_trace::CollectiveOp;

use crate::network::Network;
use crate::snapshot::Snapshots;

/// The message that a wildcard receive takes when messages arrive in another order than in the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wildcards {
    /// The message that it took in the recording: messages that would be taken by another receive first wait outside
    /// the engine. The receive keeps its wildcard on the engine's list.
    #[default]
    Recorded,
    /// Whatever the engine gives it; every difference from the recording is counted.
    Free,
}

/// Default of [`ReplayConfig::poll_work`]. Assumed: a loop around a test, in C or in Python, takes tens of
/// nanoseconds to two microseconds; a part of a computation that a program interleaves with tests takes longer.
pub const POLL_WORK: Picos = Picos(5_000_000);

/// How unsuccessful tests and probes are replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Polls {
    /// Polls of a loop that a successful test or probe ends wait for this event. The loop notices it at once while it
    /// is in MPI, as a blocking call does, and else at its next poll. Computation between polls is the loop's own and
    /// is left out, unless it is work: at least [`ReplayConfig::poll_work`] of it between two polls.
    #[default]
    Waiting,
    /// The computation between polls is kept, as often as the recorded machine polled.
    Recorded,
}

/// How a collective becomes point-to-point messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Algorithm {
    /// A binomial tree.
    Binomial,
    /// Exchanges with partners at distances 1, 2, 4, ...; ranks beyond the largest power of two
    /// take part through a neighbour.
    RecursiveDoubling,
    /// In round k every rank sends to the rank 2^k above and receives from 2^k below.
    Dissemination,
    /// P - 1 steps from neighbour to neighbour.
    Ring,
    /// P - 1 steps, in step k with the ranks k above and k below.
    Pairwise,
    /// Everything at once, directly.
    Linear,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 6] =
        [Self::Binomial, Self::RecursiveDoubling, Self::Dissemination, Self::Ring, Self::Pairwise, Self::Linear];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binomial => "binomial",
            Self::RecursiveDoubling => "recursive_doubling",
            Self::Dissemination => "dissemination",
            Self::Ring => "ring",
            Self::Pairwise => "pairwise",
            Self::Linear => "linear",
        }
    }
}

/// Every collective that the replay expands, its name, and its algorithms; the first is the default.
pub const COLLECTIVE_ALGORITHMS: &[(CollectiveOp, &str, &[Algorithm])] = &[
    (CollectiveOp::Barrier, "barrier", &[Algorithm::Dissemination, Algorithm::Binomial]),
    (CollectiveOp::Bcast, "bcast", &[Algorithm::Binomial, Algorithm::Linear]),
    (CollectiveOp::Reduce, "reduce", &[Algorithm::Binomial, Algorithm::Linear]),
    (CollectiveOp::Allreduce, "allreduce", &[Algorithm::RecursiveDoubling, Algorithm::Ring, Algorithm::Binomial]),
    (CollectiveOp::Gather, "gather", &[Algorithm::Binomial, Algorithm::Linear]),
    (CollectiveOp::Scatter, "scatter", &[Algorithm::Binomial, Algorithm::Linear]),
    (CollectiveOp::Allgather, "allgather", &[Algorithm::Ring, Algorithm::Dissemination, Algorithm::Linear]),
    (CollectiveOp::Alltoall, "alltoall", &[Algorithm::Pairwise, Algorithm::Linear]),
    (CollectiveOp::ReduceScatter, "reduce_scatter", &[Algorithm::Pairwise, Algorithm::Ring]),
    (CollectiveOp::Scan, "scan", &[Algorithm::RecursiveDoubling, Algorithm::Linear]),
    (CollectiveOp::Exscan, "exscan", &[Algorithm::RecursiveDoubling, Algorithm::Linear]),
];

/// The chosen algorithm of every collective.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collectives {
    chosen: [Algorithm; COLLECTIVE_ALGORITHMS.len()],
}

impl Default for Collectives {
    fn default() -> Self {
        Self { chosen: std::array::from_fn(|at| COLLECTIVE_ALGORITHMS[at].2[0]) }
    }
}

impl Collectives {
    /// Chooses `algorithm` for `collective`, both by name.
    ///
    /// # Errors
    /// A sentence that names what exists.
    pub fn set(&mut self, collective: &str, algorithm: &str) -> Result<(), String> {
        let Some(at) = COLLECTIVE_ALGORITHMS.iter().position(|(_, name, _)| *name == collective) else {
            let known = COLLECTIVE_ALGORITHMS.iter().map(|(_, name, _)| *name);
            return Err(names::unknown("collective", collective, known));
        };
        let offered = COLLECTIVE_ALGORITHMS[at].2;
        let Some(&found) = offered.iter().find(|offered| offered.name() == algorithm) else {
            let unknown = names::unknown("algorithm", algorithm, offered.iter().map(|offered| offered.name()));
            return Err(format!("collective `{collective}`: {unknown}"));
        };
        self.chosen[at] = found;
        Ok(())
    }

    /// The algorithm for `op`, or `None` when the replay does not expand it.
    #[must_use]
    pub fn algorithm(&self, op: CollectiveOp) -> Option<Algorithm> {
        COLLECTIVE_ALGORITHMS.iter().position(|(known, _, _)| *known == op).map(|at| self.chosen[at])
    }
}

/// The settings of a replay besides the trace and the engine.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplayConfig {
    /// The network.
    pub network: Network,
    /// Recorded compute time is multiplied by this; 0 replays communication alone.
    pub cpu_scale: f64,
    /// Which message a wildcard receive takes.
    pub wildcards: Wildcards,
    /// How unsuccessful tests and probes are replayed.
    pub polls: Polls,
    /// Computation between two polls from which it is work, which a loop does beside waiting: the mean CPU time and,
    /// where the trace has it, the median wall time.
    pub poll_work: Picos,
    /// How collectives are expanded.
    pub collectives: Collectives,
    /// World ranks whose queue lengths over time are reported one by one; others are ignored.
    pub watched: Vec<u32>,
    /// Whether match latencies are reported by search depth. The engine must keep MPI's order: depths are those of the
    /// reference lists, in the order in which the engine accepts operations.
    pub depths: bool,
    /// Whether entries are counted for the sizes of structures, and numbers of buckets to divide the queues into.
    pub sizing: Option<Vec<u32>>,
    /// Whether the deepest search of each rank is noted, or the lists and operations of a snapshot are kept.
    pub snapshots: Option<Snapshots>,
}

impl ReplayConfig {
    /// Defaults around `network`.
    #[must_use]
    pub fn new(network: Network) -> Self {
        Self {
            network,
            cpu_scale: 1.0,
            wildcards: Wildcards::default(),
            polls: Polls::default(),
            poll_work: POLL_WORK,
            collectives: Collectives::default(),
            watched: Vec::new(),
            depths: false,
            sizing: None,
            snapshots: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_is_chosen_by_name() {
        let mut collectives = Collectives::default();
        assert_eq!(collectives.algorithm(CollectiveOp::Allreduce), Some(Algorithm::RecursiveDoubling));
        collectives.set("allreduce", "ring").unwrap();
        assert_eq!(collectives.algorithm(CollectiveOp::Allreduce), Some(Algorithm::Ring));
        assert_eq!(collectives.algorithm(CollectiveOp::Neighbor), None);
    }

    #[test]
    fn an_unknown_algorithm_names_those_that_exist() {
        let error = Collectives::default().set("barrier", "ring").unwrap_err();
        assert_eq!(error, "collective `barrier`: unknown algorithm `ring`; expected one of: dissemination, binomial");
    }
}
