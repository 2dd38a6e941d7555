// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bound: a list search that compares one entry after the other, at a fixed number of cycles per entry, and does
//! nothing else. With all costs zero, no engine is faster.
//!
//! Contract: outcomes and visits are those of `spec/matching.md`; one operation is served after the other and
//! takes `fixed + item * visits` cycles. Cost on the host: see [`mb_kit::lists`].
//! Source: the hardware bound of the microcoded match unit's paper (`hemmert2007`, sections 5.4 and 6.1).

use mb_core::engine::{EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::{Clock, Cycles, Op, Parameters, Picos, QueueLengths};
use mb_kit::{InTurn, MatchLists, OperationServer, Served, Server};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "ideal",
        summary: "A list search at a fixed number of cycles per entry: the bound of every engine that walks",
        reference: "Hardware bound of the microcoded match unit (hemmert2007)",
        timing: Timing::Bound,
    },
    parameters: IdealParameters::SPECS,
    presets: mb_core::presets!("zero", "hemmert2007_stated", "hemmert2007_reported"),
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(Ideal::new(&set.typed())))),
};

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct IdealParameters {
    /// Clock of the engine.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Fixed cost of an arriving header.
    #[parameter(range = 0..=1_000_000)]
    pub header: Cycles,
    /// Fixed cost of a post, cancel or probe.
    #[parameter(range = 0..=1_000_000)]
    pub command: Cycles,
    /// Cost of each entry visited, in either list.
    #[parameter(range = 0..=1_000_000)]
    pub item: Cycles,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct Ideal {
    parameters: IdealParameters,
    lists: MatchLists,
    turn: InTurn,
}

impl Ideal {
    /// An engine with empty lists.
    #[must_use]
    pub fn new(parameters: &IdealParameters) -> Self {
        Self { parameters: parameters.clone(), lists: MatchLists::new(), turn: InTurn::new() }
    }
}

impl OperationServer for Ideal {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let IdealParameters { clock, header, command, item } = self.parameters;
        let fixed = if matches!(op, Op::Arrive { .. }) { header } else { command };
        let (outcome, visits) = self.lists.apply(op);
        self.turn.serve(now, clock.span(fixed + item * u64::from(visits)), outcome, visits)
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }
}
