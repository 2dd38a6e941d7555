// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An MPI library on the host, with the times by queue depth that `matchbench mpi bench` measured on it.
//!
//! Contract: outcomes are those of `spec/matching.md`; one operation is served after the other and takes
//! `operation` and the time that was measured for as many entries. Which entries a search visits is a parameter,
//! because a library may divide its lists by sender. Cost on the host: as [`mb_kit::lists`], and a binary search for
//! each list of a sender.
//! Source: the results in `integrations/*/measured`, which the notes of each preset name.

mod peers;

use mb_core::engine::{EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::parameters::Choice;
use mb_core::{Op, Parameters, Picos, QueueLengths};
use mb_kit::{InTurn, MatchLists, OperationServer, Served, Server};

use peers::Peers;

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "measured",
        summary: "An MPI library whose times by queue depth were measured by `matchbench mpi bench`",
        reference: "Open MPI 5.0.7, unmodified and with pml/ob1 on mbmatch (integrations/openmpi)",
        timing: Timing::Measured,
    },
    parameters: MeasuredParameters::SPECS,
    presets: mb_core::presets!("openmpi-5.0.7", "openmpi-5.0.7+mbmatch"; representative: none),
    placement: |set| set.typed::<MeasuredParameters>().placement,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(Measured::new(&set.typed())))),
};

/// The entries that a search visits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Walk {
    /// All entries of the queue, oldest first.
    All,
    /// Those of the communicator and sender, and receives from any source.
    Peer,
}

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct MeasuredParameters {
    /// Fixed time of every operation.
    #[parameter(range = 0..=1_000_000)]
    pub operation: Picos,
    /// Time of a posted receive visited, in a search of at most 256.
    #[parameter(range = 0..=1_000_000)]
    pub posted_l1: Picos,
    /// The same in a search of 1024 to 4096.
    #[parameter(range = 0..=1_000_000)]
    pub posted_l2: Picos,
    /// The same in a search of 16384 or more.
    #[parameter(range = 0..=1_000_000)]
    pub posted_deep: Picos,
    /// Time of an unexpected message visited, in a search of at most 256.
    #[parameter(range = 0..=1_000_000)]
    pub unexpected_l1: Picos,
    /// The same in a search of 1024 to 4096.
    #[parameter(range = 0..=1_000_000)]
    pub unexpected_l2: Picos,
    /// The same in a search of 16384 or more.
    #[parameter(range = 0..=1_000_000)]
    pub unexpected_deep: Picos,
    /// The entries that a search visits: all, or those of communicator and sender with receives from any source.
    #[parameter]
    pub walk: Walk,
    /// Processor whose time is spent: that of the NIC, or that of the host.
    #[parameter]
    pub placement: Placement,
}

/// Time against entries visited, as measured: a time per entry in each of three ranges, straight lines between them.
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// Entries, and the time of a search that visits so many; ascending in entries.
    points: [(u64, u64); 4],
    /// Time per entry up to the first and from the last point on.
    ends: (u64, u64),
}

impl Curve {
    fn new(l1: Picos, l2: Picos, deep: Picos) -> Self {
        let points = [(256, 256 * l1.0), (1024, 1024 * l2.0), (4096, 4096 * l2.0), (16_384, 16_384 * deep.0)];
        Self { points, ends: (l1.0, deep.0) }
    }

    /// The time of a search that visits `visits` entries.
    fn at(&self, visits: u64) -> Picos {
        let (first, last) = (self.points[0].0, self.points[3].0);
        if visits <= first {
            return Picos(self.ends.0 * visits);
        }
        if visits >= last {
            return Picos(self.ends.1 * visits);
        }
        let next = self.points.iter().position(|&(entries, _)| visits < entries).unwrap_or(3);
        let ((from, low), (to, high)) = (self.points[next - 1], self.points[next]);
        // Never negative: a weighted mean of two times.
        Picos((low * (to - visits) + high * (visits - from)) / (to - from))
    }
}

/// One receiver's engine.
#[derive(Debug)]
pub struct Measured {
    operation: Picos,
    posted: Curve,
    unexpected: Curve,
    lists: MatchLists,
    /// None if a search visits all entries.
    peers: Option<Peers>,
    turn: InTurn,
}

impl Measured {
    /// An engine with empty lists.
    #[must_use]
    pub fn new(parameters: &MeasuredParameters) -> Self {
        let &MeasuredParameters { operation, posted_l1, posted_l2, posted_deep, walk, .. } = parameters;
        let &MeasuredParameters { unexpected_l1, unexpected_l2, unexpected_deep, .. } = parameters;
        Self {
            operation,
            posted: Curve::new(posted_l1, posted_l2, posted_deep),
            unexpected: Curve::new(unexpected_l1, unexpected_l2, unexpected_deep),
            lists: MatchLists::new(),
            peers: (walk == Walk::Peer).then(Peers::new),
            turn: InTurn::new(),
        }
    }
}

impl OperationServer for Measured {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let (outcome, all) = self.lists.apply(op);
        let visits = match &mut self.peers {
            Some(peers) => peers.visits(op, outcome),
            None => u64::from(all),
        };
        let curve = if matches!(op, Op::Arrive { .. } | Op::Cancel { .. }) { &self.posted } else { &self.unexpected };
        self.turn.serve(now, self.operation + curve.at(visits), outcome, visits as u32)
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }
}
