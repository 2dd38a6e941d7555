// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine `cam_list`: the receive engine of xiong2018 figure 1 with its two queues of two
//! levels, corrected to keep MPI's order; the preset `paper_literal`, which is not, is [`crate::stepped`].
//!
//! Contract: arrivals and cancels search the posted receives, posts and probes the unexpected messages. Each of the two
//! has a machine of its own; their searches overlap, their results take effect in order of
//! acceptance. A search sees the entries that were in place when it began; a comparator watches
//! those that are put in place during the search, so that none is missed. At most `fifo` operations
//! wait at each side; with a queue full an offer is refused until the next one starts. Full lists
//! refuse nothing, since an operation behind the refused one could be the one that frees an entry:
//! entries beyond the lists go to host memory.
//! Cost: that of [`mb_kit::lists`], and for several lists a scan of a two-hundredth of the entries in them.

use mb_core::engine::{Completion, EngineCard, EngineEntry, Placement, Timing};
use mb_core::{
    CapacityEvents, Clock, Cycles, Delays, Op, Outcome, ParameterError, ParameterSet, Parameters, Picos, QueueLengths,
};
use mb_kit::{InputQueue, OperationServer, PostedReceives, Served, Server, UnexpectedMessages};

use crate::hardware::Corrections;
use crate::levels::{Inserted, Levels};
use crate::parameters::{Arbiter, CamListParameters, HardwareConfig, OutcomeOrder};
use crate::stepped::Stepped;

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "cam_list",
        summary: "A content-addressable memory in front of hardware lists that are walked side by side, cycle by cycle",
        reference: "Q. Xiong, A. Skjellum, M. C. Herbordt: Accelerating MPI Message Matching Through FPGA Offload \
                    (xiong2018)",
        timing: Timing::Simulated,
    },
    parameters: CamListParameters::SPECS,
    presets: mb_core::presets!("two_level", "p2l4", "p2l64", "paper_literal"),
    placement: |_| Placement::Nic,
    breaks_order: |set| is_published(set).then_some(BREAKS_ORDER),
    build: |set| {
        if is_published(set) {
            return Ok(Box::new(Stepped::new(&set.typed(), Corrections::NONE)?));
        }
        Ok(Box::new(Server::new(CamList::new(&set.typed())?)))
    },
};

const BREAKS_ORDER: &str =
    "as published: a match may not be with the oldest, and a receive and its message may pass each other";

/// Whether the design is taken literally.
fn is_published(set: &ParameterSet) -> bool {
    set.typed::<CamListParameters>().order == OutcomeOrder::Published
}

/// Counts of the hardware, in cycles unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CamListCounters {
    /// Searches, from their begin to their result.
    pub searching: u64,
    /// Of these, steps along lists.
    pub walking: u64,
    /// Results that waited for an older operation to take effect.
    pub waiting_for_order: u64,
    /// Searches and insertions that waited for a mover.
    pub waiting_for_mover: u64,
    /// Entries moved from a list to the CAM (a number).
    pub transfers: u64,
    /// Entries that went to host memory and came back (a number).
    pub returned: u64,
    /// Receives and messages that met: what the completion unit has counted (a number).
    pub completed: u64,
}

/// The two machines of the engine, by the queue that they search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    /// Searches the unexpected messages.
    Command,
    /// Searches the posted receives.
    Network,
}

impl Side {
    /// A cancel looks for a posted receive, so it passes through the machine that does so.
    const fn of(op: &Op) -> Self {
        match op {
            Op::Post { .. } | Op::Probe { .. } | Op::MatchedProbe { .. } => Self::Command,
            Op::Arrive { .. } | Op::Cancel { .. } => Self::Network,
        }
    }
}

/// The result of a search, by the rules of matching alone.
struct Found {
    outcome: Outcome,
    /// Rank of the entry that was found.
    rank: Option<usize>,
    /// Whether it is taken out.
    taken: bool,
    /// Whether the searcher becomes an entry of the other queue.
    inserted: bool,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct CamList {
    clock: Clock,
    hardware: HardwareConfig,
    posted: PostedReceives,
    unexpected: UnexpectedMessages,
    /// The levels of each queue, by the side that searches it.
    levels: [Levels; 2],
    /// When each machine has finished what it accepted.
    free: [u64; 2],
    /// When the operation accepted last has taken effect.
    effective: u64,
    /// By side.
    queues: [InputQueue; 2],
    last_at: Picos,
    counters: CamListCounters,
    events: CapacityEvents,
}

impl CamList {
    /// An engine with empty queues.
    ///
    /// # Errors
    /// [`ParameterError::Contradiction`] when `list_entries` is not a multiple of `lists`.
    pub fn new(parameters: &CamListParameters) -> Result<Self, ParameterError> {
        let hardware = HardwareConfig::new(parameters)?;
        let queue = InputQueue::new(parameters.fifo);
        Ok(Self {
            clock: parameters.clock,
            hardware,
            posted: PostedReceives::new(),
            unexpected: UnexpectedMessages::new(),
            levels: [Levels::new(&hardware), Levels::new(&hardware)],
            free: [0; 2],
            effective: 0,
            queues: [queue.clone(), queue],
            last_at: Picos::ZERO,
            counters: CamListCounters::default(),
            events: CapacityEvents::default(),
        })
    }

    /// The work of the hardware for the operations accepted so far.
    #[must_use]
    pub const fn counters(&self) -> CamListCounters {
        self.counters
    }

    /// Matches by the rules alone.
    #[inline]
    fn find(&mut self, op: Op) -> Found {
        let ranked = |found: bool, visits: u32| found.then_some(visits as usize);
        match op {
            Op::Post { recv, pattern } => {
                let (msg, visits) = self.unexpected.take(&pattern);
                let outcome = msg.map_or(Outcome::Posted(recv), |msg| Outcome::Matched(recv, msg));
                if msg.is_none() {
                    self.posted.append(recv, &pattern);
                }
                Found { outcome, rank: ranked(msg.is_some(), visits), taken: true, inserted: msg.is_none() }
            }
            Op::Arrive { msg, envelope } => {
                let (recv, visits) = self.posted.take(&envelope);
                let outcome = recv.map_or(Outcome::Unexpected(msg), |recv| Outcome::Matched(recv, msg));
                if recv.is_none() {
                    self.unexpected.append(msg, &envelope);
                }
                Found { outcome, rank: ranked(recv.is_some(), visits), taken: true, inserted: recv.is_none() }
            }
            Op::Cancel { recv } => {
                let (found, visits) = self.posted.cancel(recv);
                let outcome = if found { Outcome::Cancelled(recv) } else { Outcome::NotCancelled(recv) };
                Found { outcome, rank: ranked(found, visits), taken: true, inserted: false }
            }
            Op::Probe { probe, pattern } => {
                let (msg, visits) = self.unexpected.find(&pattern);
                let outcome = Outcome::Probed(probe, msg);
                Found { outcome, rank: ranked(msg.is_some(), visits), taken: false, inserted: false }
            }
            Op::MatchedProbe { probe, pattern } => {
                let (msg, visits) = self.unexpected.take(&pattern);
                let outcome = Outcome::Probed(probe, msg);
                Found { outcome, rank: ranked(msg.is_some(), visits), taken: true, inserted: false }
            }
        }
    }
}

impl OperationServer for CamList {
    fn refuses_until(&mut self, now: Picos, op: &Op) -> Option<Picos> {
        self.queues[Side::of(op) as usize].full_until(now)
    }

    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let Found { outcome, rank, taken, inserted } = self.find(op);
        let hardware = &self.hardware;
        let side = Side::of(&op) as usize;
        let mut start = self.clock.edge_at_or_after(now).0.max(self.free[side]);
        if hardware.arbiter == Arbiter::Serial {
            start = start.max(self.effective);
        }
        let ready = start + hardware.dispatch;
        let levels = &mut self.levels[side];
        let begin = ready.max(levels.movers_free);
        let visible = levels.visible(begin);
        let search = levels.search(hardware, visible, rank.filter(|&rank| rank <= visible));
        let result = begin + search.cycles;
        // The result takes effect after that of every older operation.
        let effect = result.max(self.effective);
        let mut answered = effect;
        let mut finished = effect;
        let mut beyond = begin - ready + search.cycles - hardware.cam_search;
        if let Some(rank) = rank.filter(|_| taken) {
            finished += hardware.remove;
            let moved = levels.remove(hardware, rank, finished);
            self.counters.transfers += u64::from(moved.to_cam);
            self.counters.returned += u64::from(moved.to_list);
        }
        if inserted {
            let other = &mut self.levels[1 - side];
            let from = effect.max(other.movers_free);
            self.counters.waiting_for_mover += from - effect;
            beyond += from - effect;
            let Inserted { cycles, overflows, spills } = other.insert(hardware, from);
            match outcome {
                Outcome::Posted(_) => self.events.posted_overflows += u64::from(overflows),
                _ => self.events.unexpected_overflows += u64::from(overflows),
            }
            self.events.spilled += u64::from(spills);
            answered = from + cycles;
            finished = answered;
        }
        self.free[side] = finished;
        self.effective = finished;
        self.counters.searching += search.cycles;
        self.counters.walking += hardware.element * search.rows;
        self.counters.waiting_for_order += effect - result;
        self.counters.waiting_for_mover += begin - ready;
        self.counters.completed += u64::from(matches!(outcome, Outcome::Matched(..)));
        let waiting = effect - result;
        let [start, at, waiting, beyond] =
            [start, answered, waiting, beyond].map(|cycle| self.clock.span(Cycles(cycle)));
        let delays = Delays { waiting: start - now + waiting, beyond };
        self.queues[side].push(start);
        let busy = at - start.max(self.last_at);
        self.last_at = at;
        Served { completion: Completion { at, outcome, visits: search.compared, delays }, busy }
    }

    fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: self.posted.len(), unexpected: self.unexpected.len() }
    }

    fn capacity_events(&self) -> CapacityEvents {
        self.events
    }
}
