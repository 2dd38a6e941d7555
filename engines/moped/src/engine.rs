// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `moped`: the receive side of one rank, with the table of the MOPED that matches for it.
//!
//! Contract: a post or probe is a descriptor of the local MOPED, an arrival one of the sender's MOPED; each is
//! forwarded to the matching MOPED and needs an entry of its table, receives and sends together. Searches follow each
//! other in order of acceptance; an answer is known at the receiver's MOPED. A descriptor that finds no entry begins a
//! back-off: everything that waits moves into lists of software, where operations are served until nothing waits. No
//! operation is refused. Cost on the host: a look at every entry of the table, in back-off that of [`mb_kit::lists`].

use mb_core::engine::{Completion, EngineCard, EngineEntry, Placement, Timing};
use mb_core::{CapacityEvents, Clock, Cycles, Delays, Op, Outcome, ParameterSet, Parameters, Picos, QueueLengths};
use mb_kit::{OperationServer, Served, Server};
use mb_moped::parameters::{Backoff, MatchOrder};

use crate::parameters::MopedEngineParameters;
use crate::software::{Software, Steps};
use crate::table::{Descriptor, Table};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "moped",
        summary: "A table of descriptors beside the cache of a core, walked by a state machine; software when it is full",
        reference: "J. Gu, S. S. Lumetta, R. Kumar, Y. Sun: MOPED: Orchestrating Interprocess Message Data on CMPs \
                    (gu2011)",
        timing: Timing::Simulated,
    },
    parameters: MopedEngineParameters::SPECS,
    presets: mb_core::presets!("gu2011", "gu2011_256", "literal"),
    placement: |_| Placement::Nic,
    breaks_order: |set| is_literal(set).then_some(BREAKS_ORDER),
    build: |set| Ok(Box::new(Server::new(MopedEngine::new(&set.typed())))),
};

const BREAKS_ORDER: &str =
    "as published: the first slot that matches is taken, and in back-off the table and software match apart";

/// Whether a part of the design is taken literally.
fn is_literal(set: &ParameterSet) -> bool {
    let parameters = set.typed::<MopedEngineParameters>();
    parameters.order == MatchOrder::Slot || parameters.backoff == Backoff::Published
}

/// The work of the engine for the operations accepted so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MopedEngineCounters {
    /// Searches of the table.
    pub searches: u64,
    /// Entries that these visited.
    pub visited: u64,
    /// Back-offs that have begun.
    pub backoffs: u64,
    /// Back-offs that have ended.
    pub returns: u64,
    /// Descriptors that moved from the table to software.
    pub moved: u64,
    /// Operations served by software.
    pub in_software: u64,
}

/// Who matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// The MOPED.
    Table,
    /// Software alone.
    Software,
    /// Software, while the table has descriptors that are revoked one by one (the published form).
    Revoking {
        /// Cycle in which the next one is in software.
        next: u64,
    },
}

/// One receiver's engine.
#[derive(Debug)]
pub struct MopedEngine {
    clock: Clock,
    backoff: Backoff,
    is_forwarded: bool,
    message: u64,
    port: u64,
    find: u64,
    walk: u64,
    barrier: Picos,
    operation: Picos,
    steps: Steps,
    table: Table,
    software: Software,
    mode: Mode,
    /// The cycle in which the last descriptor came to the matching MOPED.
    arrived: u64,
    /// The cycle in which the last search ends.
    free: u64,
    /// When the last operation is answered.
    answered: Picos,
    counters: MopedEngineCounters,
    events: CapacityEvents,
}

impl MopedEngine {
    /// Accesses to ports that reserve and complete a receive: one load; address, length, tag and kind.
    const POST_ACCESSES: u64 = 5;
    /// A probe has no buffer.
    const PROBE_ACCESSES: u64 = 3;

    /// An engine with an empty table.
    #[must_use]
    pub fn new(parameters: &MopedEngineParameters) -> Self {
        let &MopedEngineParameters { clock, descriptors, order, backoff, switch, port_cycles, .. } = parameters;
        Self {
            clock,
            backoff,
            is_forwarded: parameters.is_forwarded(),
            message: switch.0,
            port: port_cycles,
            find: parameters.find_cycles,
            walk: parameters.walk_cycles,
            barrier: parameters.barrier,
            operation: parameters.operation,
            steps: Steps::new(switch.0, port_cycles),
            table: Table::new(descriptors, order),
            software: Software::new(parameters.operation, parameters.entry),
            mode: Mode::Table,
            arrived: 0,
            free: 0,
            answered: Picos::ZERO,
            counters: MopedEngineCounters::default(),
            events: CapacityEvents::default(),
        }
    }

    /// The work of the engine for the operations accepted so far.
    #[must_use]
    pub const fn counters(&self) -> MopedEngineCounters {
        self.counters
    }

    const fn local_message(&self) -> u64 {
        if self.is_forwarded { self.message } else { 0 }
    }

    /// Cycles until an operation is at the matching MOPED.
    const fn way(&self, op: &Op) -> u64 {
        match op {
            Op::Post { .. } => Self::POST_ACCESSES * self.port + 1 + self.local_message(),
            Op::Probe { .. } | Op::MatchedProbe { .. } => Self::PROBE_ACCESSES * self.port + 1 + self.local_message(),
            Op::Arrive { .. } => 1 + self.message,
            // A store; the local MOPED performs it at once.
            Op::Cancel { .. } if self.is_forwarded => self.port + 1 + self.message,
            Op::Cancel { .. } => self.port,
        }
    }

    fn time(&self, cycle: u64) -> Picos {
        self.clock.span(Cycles(cycle))
    }

    /// An operation that the MOPED serves: outcome, visits and time of the answer.
    fn in_table(&mut self, now: Picos, op: Op) -> (Outcome, u32, Picos) {
        self.arrived = self.arrived.max(self.clock.edge_at_or_after(now).0 + self.way(&op));
        let arrival = self.arrived;
        if let Op::Cancel { recv } = op {
            return self.cancel(now, op, recv);
        }
        let Some(slot) = self.table.free(arrival) else {
            self.back_off(arrival);
            return self.in_software(now, op);
        };
        let (found, visited) = self.table.search(|waiting| match (op, waiting) {
            (Op::Arrive { envelope, .. }, Descriptor::Receive(_, pattern)) => pattern.accepts(&envelope),
            (
                Op::Post { pattern, .. } | Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. },
                Descriptor::Send(_, envelope),
            ) => pattern.accepts(envelope),
            _ => false,
        });
        let end = arrival.max(self.free) + self.find + visited * self.walk;
        self.free = end;
        self.counters.searches += 1;
        self.counters.visited += visited;
        let outcome = self.conclude(op, slot, found, end);
        (outcome, u32::try_from(visited).unwrap_or(u32::MAX), self.time(end + self.local_message()))
    }

    /// Applies the result of a search that ends in cycle `end` to the table, in which the operation has an entry.
    fn conclude(&mut self, op: Op, slot: usize, found: Option<usize>, end: u64) -> Outcome {
        // A descriptor that comes in the cycle of the end comes before it. The send of a pair keeps its entry until
        // the receiver's MOPED has it and has said so.
        let next = end + 1;
        let taken = end + if self.is_forwarded { 2 * self.message } else { 1 };
        let partner = found.and_then(|found| self.table.get(found));
        match (op, found, partner) {
            (Op::Post { recv, .. }, Some(found), Some(Descriptor::Send(msg, _))) => {
                self.table.release(found, taken);
                self.table.release(slot, next);
                Outcome::Matched(recv, msg)
            }
            (Op::Arrive { msg, .. }, Some(found), Some(Descriptor::Receive(recv, _))) => {
                self.table.release(found, next);
                self.table.release(slot, taken);
                Outcome::Matched(recv, msg)
            }
            (Op::MatchedProbe { probe, .. }, Some(found), Some(Descriptor::Send(msg, _))) => {
                self.table.release(found, taken);
                self.table.release(slot, next);
                Outcome::Probed(probe, Some(msg))
            }
            (Op::Probe { probe, .. }, _, Some(Descriptor::Send(msg, _))) => {
                self.table.release(slot, next);
                Outcome::Probed(probe, Some(msg))
            }
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, ..) => {
                self.table.release(slot, next);
                Outcome::Probed(probe, None)
            }
            (Op::Post { recv, pattern }, ..) => {
                self.table.put(slot, Descriptor::Receive(recv, pattern));
                Outcome::Posted(recv)
            }
            (Op::Arrive { msg, envelope }, ..) => {
                self.table.put(slot, Descriptor::Send(msg, envelope));
                Outcome::Unexpected(msg)
            }
            (Op::Cancel { recv }, ..) => Outcome::NotCancelled(recv),
        }
    }

    /// A cancel names its descriptor: the matching MOPED searches nothing, but ends older searches first.
    fn cancel(&mut self, now: Picos, op: Op, recv: mb_core::RecvId) -> (Outcome, u32, Picos) {
        let effect = self.arrived.max(self.free);
        let at = self.time(effect + self.local_message());
        match self.table.receive(recv) {
            Some(slot) => {
                self.table.release(slot, effect);
                (Outcome::Cancelled(recv), 0, at)
            }
            // Revoked descriptors stay in the lists when the published form returns to the table.
            None if self.software.lengths().posted > 0 => self.in_software(now, op),
            None => (Outcome::NotCancelled(recv), 0, at),
        }
    }

    /// A descriptor that comes in cycle `arrival` finds no entry.
    fn back_off(&mut self, arrival: u64) {
        self.counters.backoffs += 1;
        // Searches that were accepted have ended by then.
        let begin = arrival.max(self.free);
        if self.backoff == Backoff::Published {
            self.mode = Mode::Revoking { next: begin + self.steps.one() };
            self.software.busy_until(self.time(begin));
            return;
        }
        let revoked = begin + self.steps.enter(self.table.lengths().posted);
        let mut moved = 0;
        while self.move_oldest(revoked) {
            moved += 1;
        }
        self.mode = Mode::Software;
        self.software.busy_until(self.time(revoked) + self.operation * moved + self.barrier);
    }

    /// The descriptor that has waited longest moves to software; false if there is none.
    fn move_oldest(&mut self, cycle: u64) -> bool {
        let Some(descriptor) = self.table.oldest().and_then(|slot| self.table.release(slot, cycle)) else {
            return false;
        };
        self.software.adopt(descriptor.operation());
        self.counters.moved += 1;
        self.events.spilled += 1;
        true
    }

    /// The published form up to a cycle: the bit clears itself with the last descriptor.
    fn revoke(&mut self, cycle: u64) {
        while let Mode::Revoking { next } = self.mode {
            if next > cycle {
                return;
            }
            self.mode = Mode::Revoking { next: next + self.steps.one() };
            if !self.move_oldest(next) || self.table.oldest().is_none() {
                self.mode = Mode::Table;
                self.counters.returns += 1;
            }
        }
    }

    /// An operation that software serves; in the corrected form the back-off ends when nothing waits any more.
    fn in_software(&mut self, now: Picos, op: Op) -> (Outcome, u32, Picos) {
        self.counters.in_software += 1;
        let (outcome, visits, at) = self.software.serve(now, op);
        match outcome {
            Outcome::Posted(_) => self.events.posted_overflows += 1,
            Outcome::Unexpected(_) => self.events.unexpected_overflows += 1,
            _ => {}
        }
        self.events.spilled += u64::from(matches!(outcome, Outcome::Posted(_) | Outcome::Unexpected(_)));
        if self.mode == Mode::Software && self.software.lengths() == QueueLengths::default() {
            let resumed = self.clock.edge_at_or_after(at + self.barrier).0 + self.port + self.steps.leave();
            (self.arrived, self.free) = (resumed, resumed);
            self.mode = Mode::Table;
            self.counters.returns += 1;
        }
        (outcome, visits, at)
    }
}

impl OperationServer for MopedEngine {
    fn serve(&mut self, now: Picos, op: Op) -> Served {
        self.revoke(self.clock.edge_at_or_after(now).0);
        let in_software = self.counters.in_software;
        let start = now.max(self.answered);
        let (outcome, visits, at) =
            if self.mode == Mode::Table { self.in_table(now, op) } else { self.in_software(now, op) };
        let at = at.max(self.answered);
        // Busy for as long as this is the oldest operation without an answer.
        let busy = at - start;
        self.answered = at;
        let beyond = if self.counters.in_software > in_software { busy } else { Picos::ZERO };
        let delays = Delays { waiting: start - now, beyond };
        Served { completion: Completion { at, outcome, visits, delays }, busy }
    }

    fn queue_lengths(&self) -> QueueLengths {
        let (table, software) = (self.table.lengths(), self.software.lengths());
        QueueLengths { posted: table.posted + software.posted, unexpected: table.unexpected + software.unexpected }
    }

    fn capacity_events(&self) -> CapacityEvents {
        self.events
    }
}
