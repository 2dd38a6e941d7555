// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A list search at a fixed time per entry: the straight line that publications report for a system.
//!
//! Contract: outcomes and visits are those of `spec/matching.md`; one operation is served after the other and
//! takes `operation + entry * visits`. Cost on the host: see [`mb_kit::lists`].
//! Source: the comparison of section 4 of `tanabe2013`, and measurements of today's MPI libraries.

use mb_core::engine::{EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::{Op, Parameters, Picos, QueueLengths};
use mb_kit::{InTurn, MatchLists, OperationServer, Served, Server};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "linear",
        summary: "A list search at a fixed time per entry, as published for several systems",
        reference: "Comparators of limited-length head separation (tanabe2013, section 4)",
        timing: Timing::Simulated,
    },
    parameters: LinearParameters::SPECS,
    presets: mb_core::presets!(
        "qsnet2", "bgp", "dimmnet2", "dimmnet2_lhs", "software", "software_l2";
        representative: "software"
    ),
    placement: |set| set.typed::<LinearParameters>().placement,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(Linear::new(&set.typed())))),
};

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct LinearParameters {
    /// Time of each entry visited, in either list.
    #[parameter(range = 0..=1_000_000)]
    pub entry: Picos,
    /// Fixed time of every operation.
    #[parameter(range = 0..=1_000_000)]
    pub operation: Picos,
    /// Processor whose time is spent: that of the NIC, or that of the host.
    #[parameter]
    pub placement: Placement,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct Linear {
    entry: Picos,
    operation: Picos,
    lists: MatchLists,
    turn: InTurn,
}

impl Linear {
    /// An engine with empty lists.
    #[must_use]
    pub fn new(parameters: &LinearParameters) -> Self {
        let &LinearParameters { entry, operation, .. } = parameters;
        Self { entry, operation, lists: MatchLists::new(), turn: InTurn::new() }
    }
}

impl OperationServer for Linear {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let (outcome, visits) = self.lists.apply(op);
        self.turn.serve(now, self.operation + self.entry * u64::from(visits), outcome, visits)
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }
}
