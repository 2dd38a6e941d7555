// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Limited-length head separation: the NIC puts the heads of messages into a small fast buffer, and
//! the host walks them through its caches.
//!
//! Contract: a message is divided by the NIC when it arrives and matched by the host, which
//! compares it with the posted receives first and leaves it where it is if none accepts it. The
//! host serves one operation after the other; the NIC divides the next message meanwhile. Nothing
//! is refused: a head without a slot in the LH buffer is stored in the large memory. Visits are the
//! envelopes that the host compares, removed ones included, or the posted receives. Cost on the
//! host: that of the modelled walk, some nanoseconds for each envelope; see [`mb_kit::lists`] for
//! posted receives. Source: `tanabe2013`.

mod cache;
mod design;
mod divider;
mod parameters;
mod queue;
mod search;

use mb_core::engine::{EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::{
    CapacityEvents, Cycles, Envelope, MsgId, Op, Outcome, ParameterError, Parameters, Pattern, Picos, QueueLengths,
};
use mb_kit::{InTurn, OperationServer, PostedReceives, Served, Server};

use design::Design;
pub use divider::{Divider, DividerRegisters, Store, WORD};
pub use parameters::{Attribute, ENVELOPE, LhsParameters};
use queue::{Group, Message};
use search::{Search, Searcher};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "lhs",
        summary: "Heads of messages in a small fast buffer of the NIC, walked by the host through its caches",
        reference: "N. Tanabe, A. Ohta: Network Interface Architecture with Scalable Low-Latency Message Receiving Mechanism, \
                    IEICE Transactions E96-D, 2013 (tanabe2013)",
        timing: Timing::Simulated,
    },
    parameters: LhsParameters::SPECS,
    presets: mb_core::presets!("dimmnet2", "dimmnet3", "undivided", "ipush", "multicore"),
    placement: |_| Placement::Host,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(Lhs::new(&set.typed())?))),
};

/// Where the messages of a receiver are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Unexpected messages with their heads in an LH buffer.
    pub heads: usize,
    /// Slots that hold the head of a removed message.
    pub stale: usize,
    /// Unexpected messages that are wholly in the large memory.
    pub large: usize,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct Lhs {
    design: Design,
    posted: PostedReceives,
    groups: Vec<Group>,
    searcher: Searcher,
    /// Messages that were accepted.
    age: u64,
    /// The first cycle of the NIC in which the controller can take a word.
    controller: u64,
    turn: InTurn,
    /// Part of the last operation that went to reads of the large memory.
    beyond: Picos,
    /// Unexpected messages that found no slot.
    overflows: u64,
}

impl Lhs {
    /// An engine with empty lists.
    ///
    /// # Errors
    /// [`ParameterError::Contradiction`] when sizes do not go together.
    pub fn new(parameters: &LhsParameters) -> Result<Self, ParameterError> {
        let design = Design::new(parameters)?;
        Ok(Self {
            posted: PostedReceives::new(),
            groups: vec![Group::new(design.slots_per_group); design.groups],
            searcher: Searcher::new(&design),
            age: 0,
            controller: 0,
            turn: InTurn::new(),
            beyond: Picos::ZERO,
            overflows: 0,
            design,
        })
    }

    /// The content of the memories.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        let mut sum = Occupancy::default();
        for group in &self.groups {
            let (slots, large) = (group.occupied(), group.in_large());
            sum.heads += group.len() - large;
            sum.stale += slots - (group.len() - large);
            sum.large += large;
        }
        sum
    }

    /// The outcome of `op`, its visits, when the host can begin, and how long it works.
    fn perform(&mut self, now: Picos, op: Op) -> (Outcome, u32, Picos, Picos) {
        let Design { posted, operation, .. } = self.design;
        match op {
            Op::Post { recv, pattern } => {
                let (found, visits, span) = self.find(&pattern, true);
                let outcome = if let Some(msg) = found {
                    Outcome::Matched(recv, msg)
                } else {
                    self.posted.append(recv, &pattern);
                    Outcome::Posted(recv)
                };
                (outcome, visits, now, operation + span)
            }
            Op::Probe { probe, pattern } => {
                let (found, visits, span) = self.find(&pattern, false);
                (Outcome::Probed(probe, found), visits, now, operation + span)
            }
            Op::MatchedProbe { probe, pattern } => {
                let (found, visits, span) = self.find(&pattern, true);
                (Outcome::Probed(probe, found), visits, now, operation + span)
            }
            Op::Cancel { recv } => {
                let (found, visits) = self.posted.cancel(recv);
                let outcome = if found { Outcome::Cancelled(recv) } else { Outcome::NotCancelled(recv) };
                (outcome, visits, now, operation + posted * u64::from(visits))
            }
            Op::Arrive { msg, envelope } => {
                let (visible, read) = self.divide(now, envelope);
                let (found, visits) = self.posted.take(&envelope);
                let outcome = match found {
                    Some(recv) => Outcome::Matched(recv, msg),
                    None => self.keep(msg, envelope),
                };
                (outcome, visits, visible, operation + read + posted * u64::from(visits))
            }
        }
    }

    /// The NIC divides a message that comes at `now`: when the host can see it, and how long it
    /// takes to read the envelope.
    fn divide(&mut self, now: Picos, envelope: Envelope) -> (Picos, Picos) {
        let Design { nic, registers, message, attribute, cache, uncached, large, .. } = self.design;
        let has_slot = self.groups[self.group_of(envelope)].has_slot();
        let first = self.controller.max(nic.edge_at_or_after(now).0);
        self.controller = first + registers.occupied(message).0;
        let visible = Cycles(first) + registers.visible_after(message, has_slot);
        // The NIC has just written it, so no cache has it.
        let read = match attribute {
            _ if !has_slot => {
                self.beyond += large;
                large
            }
            Attribute::Uncacheable => uncached,
            Attribute::WriteBack | Attribute::Cached => cache.latency,
        };
        (nic.span(visible), read)
    }

    fn keep(&mut self, msg: MsgId, envelope: Envelope) -> Outcome {
        self.age += 1;
        let group = self.group_of(envelope);
        self.overflows += u64::from(!self.groups[group].has_slot());
        self.groups[group].append(Message { age: self.age, msg, envelope });
        Outcome::Unexpected(msg)
    }

    const fn group_of(&self, envelope: Envelope) -> usize {
        envelope.initiator.0 as usize % self.design.groups
    }

    /// The oldest message that `pattern` accepts, which leaves if it is taken; the messages
    /// compared, and the time of that.
    fn find(&mut self, pattern: &Pattern, takes: bool) -> (Option<MsgId>, u32, Picos) {
        let Search { hit, visits, span, beyond } = self.searcher.find(&self.design, &self.groups, pattern);
        self.beyond += beyond;
        let found = hit.map(|hit| {
            let group = &mut self.groups[hit.group];
            let msg = group.at(hit.place);
            if takes {
                group.take(hit.place);
            }
            msg
        });
        (found, visits, span)
    }
}

impl OperationServer for Lhs {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        self.beyond = Picos::ZERO;
        let (outcome, visits, start, span) = self.perform(now, op);
        let mut served = self.turn.serve(start, span, outcome, visits);
        served.completion.delays.beyond = self.beyond;
        served
    }

    fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: self.posted.len(), unexpected: self.groups.iter().map(Group::len).sum() }
    }

    fn capacity_events(&self) -> CapacityEvents {
        CapacityEvents { unexpected_overflows: self.overflows, ..CapacityEvents::default() }
    }
}
