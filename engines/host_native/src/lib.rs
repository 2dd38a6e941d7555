// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch on this host. Its times are measured and not computed.
//!
//! Contract: outcomes and visits are those of a list walk, in the terms of `spec/matching.md`. An operation completes
//! when it is offered and takes no simulated time: `workbench/measure` times mbmatch through
//! [`bare_run`](mb_core::Measurable::bare_run), compares each of its outcomes with that of the engine, and applies the
//! times in the replay (`docs/decisions/0006-measured-engine.md`). Cost on the host: that of [`mb_kit::lists`].

mod bare;

use mb_core::engine::{BareRun, Completion, EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::{Delays, Op, Parameters, Picos, QueueLengths};
use mb_kit::{MatchLists, OperationServer, Served, Server};
use mbmatch::Matcher;

/// The catalog entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "host_native",
        summary: "Matching in software on this host, measured and not modelled",
        reference: "mbmatch (the folder mbmatch)",
        timing: Timing::Measured,
    },
    parameters: HostNativeParameters::SPECS,
    presets: mb_core::presets!("mbmatch", "packed"),
    placement: |_| Placement::Host,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(HostNative::new(&set.typed())))),
};

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct HostNativeParameters {
    /// Bytes from one request, or fragment, to the next: each begins with the node that the library links.
    #[parameter(range = 104..=65_536)]
    pub request: usize,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct HostNative {
    request: usize,
    lists: MatchLists,
}

impl HostNative {
    /// An engine with empty lists.
    #[must_use]
    pub fn new(parameters: &HostNativeParameters) -> Self {
        Self { request: parameters.request.next_multiple_of(8), lists: MatchLists::new() }
    }
}

impl OperationServer for HostNative {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let (outcome, visits) = self.lists.apply(op);
        Served { completion: Completion { at: now, outcome, visits, delays: Delays::default() }, busy: Picos::ZERO }
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }

    fn bare_run(&self, ops: &[Op]) -> Option<Box<dyn BareRun>> {
        Some(Box::new(bare::MatcherRun::new(ops, self.request)))
    }
}

const _: () = assert!(Matcher::SMALLEST_OBJECT == 104, "the range of `request`");
