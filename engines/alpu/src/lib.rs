// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The associative list processing unit (ALPU): two arrays of ternary cells beside the processor of a NIC.
//!
//! Contract: the processor owns both lists; a unit holds the oldest entries of its list, as many as
//! were moved into it, and always a prefix, so that what it finds is older than all that the
//! processor could find. One operation is served after the other; an insert session runs behind the
//! answer of the operation that caused it and overlaps with the next one. At most `commands`
//! operations wait; with the queue full an offer is refused until the next one starts. Lists refuse
//! nothing: what has no cell is walked by the processor. Cost on the host: see [`mb_kit::lists`];
//! and a few operations for each block and cycle in which cells move. Source: what is public of the
//! design of Underwood et al. (2005); see the model card.

mod cells;
mod session;

use mb_core::engine::{Completion, EngineCard, EngineEntry, Placement, Timing, keeps_order};
use mb_core::{CapacityEvents, Clock, Cycles, Delays, Op, Outcome, ParameterError, Parameters, Picos, QueueLengths};
use mb_kit::{InputQueue, MatchLists, OperationServer, Served, Server};

pub use cells::Cells;
use session::{Interface, Session};

/// The catalog's entry of this engine.
pub const ENTRY: EngineEntry = EngineEntry {
    card: EngineCard {
        name: "alpu",
        summary: "Two arrays of ternary cells that hold the oldest entries; the NIC's processor walks the rest",
        reference: "K. D. Underwood, K. S. Hemmert, A. Rodrigues, R. Murphy, R. Brightwell: A Hardware Acceleration Unit \
                    for MPI Queue Processing, IPDPS 2005",
        timing: Timing::Simulated,
    },
    parameters: AlpuParameters::SPECS,
    presets: mb_core::presets!("tanabe2013", "xiong2018"),
    placement: |_| Placement::Nic,
    breaks_order: keeps_order,
    build: |set| Ok(Box::new(Server::new(Alpu::new(&set.typed())?))),
};

const MILLISECOND: u64 = 1_000_000;

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, Parameters)]
pub struct AlpuParameters {
    /// Clock of the units.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Cells of each of the two units.
    #[parameter(range = 1..=65_536, holds = OldestOfQueue)]
    pub cells: usize,
    /// Cells of a block; a hole passes one block per cycle.
    #[parameter(range = 1..=Cells::LARGEST_BLOCK)]
    pub block: u32,
    /// From a search to its answer in the unit's output.
    #[parameter(range = 1..=1_000_000)]
    pub search: Cycles,
    /// Time for the processor to write one command to a unit.
    #[parameter(range = 0..=MILLISECOND)]
    pub write: Picos,
    /// Time for the processor to read one answer of a unit.
    #[parameter(range = 0..=MILLISECOND)]
    pub read: Picos,
    /// Fixed time of every operation on the processor.
    #[parameter(range = 0..=MILLISECOND)]
    pub operation: Picos,
    /// Latency of the transfer of an operation to the processor and of its answer back; transfers overlap.
    #[parameter(range = 0..=MILLISECOND)]
    pub offload: Picos,
    /// Time of each entry that the processor visits.
    #[parameter(range = 0..=MILLISECOND)]
    pub entry: Picos,
    /// Entries that can move into a unit before the processor opens an insert session.
    #[parameter(range = 1..=65_536)]
    pub batch: usize,
    /// Operations that can wait; more are refused for the time being.
    #[parameter(range = 1..=1_000_000_000)]
    pub commands: usize,
}

/// Which list, and which unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    Posted,
    Unexpected,
}

/// A search of one list, and what it will find.
#[derive(Clone, Copy, Debug)]
struct Search {
    list: List,
    /// Rank of the oldest entry that is accepted, counted from one.
    found: Option<usize>,
    /// Entries in the list.
    length: usize,
    /// Whether the entry that is found leaves the list.
    takes: bool,
}

/// One receiver's engine.
#[derive(Debug)]
pub struct Alpu {
    interface: Interface,
    search: u64,
    operation: Picos,
    offload: Picos,
    entry: Picos,
    batch: usize,
    lists: MatchLists,
    posted: Cells,
    unexpected: Cells,
    session: Option<(List, Session)>,
    /// When the processor has ended its last session.
    processor: Picos,
    /// When the processor had the last answer.
    answered: Picos,
    /// When the last answer reached the unit that waited for it.
    reported: Picos,
    queue: InputQueue,
    /// Cells of a unit.
    size: usize,
    /// Entries that the processor compared in the last search.
    walked: usize,
    events: CapacityEvents,
}

impl Alpu {
    /// An engine with empty lists.
    ///
    /// # Errors
    /// [`ParameterError::Contradiction`] when the cells are not a whole number of blocks.
    pub fn new(parameters: &AlpuParameters) -> Result<Self, ParameterError> {
        let &AlpuParameters { clock, cells, block, search, write, read, operation, offload, entry, batch, commands } =
            parameters;
        if !cells.is_multiple_of(block as usize) {
            let reason = format!("{cells} `cells` are not a whole number of blocks of {block}");
            return Err(ParameterError::Contradiction(reason));
        }
        let unit = Cells::new(cells / block as usize, block);
        Ok(Self {
            interface: Interface { clock, write, read },
            search: search.0,
            operation,
            offload,
            entry,
            batch,
            lists: MatchLists::new(),
            posted: unit.clone(),
            unexpected: unit,
            session: None,
            processor: Picos::ZERO,
            answered: Picos::ZERO,
            reported: Picos::ZERO,
            queue: InputQueue::new(commands),
            size: cells,
            walked: 0,
            events: CapacityEvents::default(),
        })
    }

    /// The entries in the cells of the two units, posted receives first.
    #[must_use]
    pub const fn occupied(&self) -> (usize, usize) {
        (self.posted.occupied(), self.unexpected.occupied())
    }

    fn cells(&mut self, list: List) -> &mut Cells {
        match list {
            List::Posted => &mut self.posted,
            List::Unexpected => &mut self.unexpected,
        }
    }

    /// The entries compared by a search that begins at `start`, and when the processor has its answer.
    fn find(&mut self, start: Picos, search: Search) -> (usize, Picos) {
        let Search { list, found, length, takes } = search;
        let visits_of_a_walk = found.unwrap_or(length);
        let mut edge = self.interface.edge(start);
        let in_session = self.run_session(list, edge);
        if !in_session && self.cells(list).occupied() == 0 {
            self.end_session();
            self.walked = visits_of_a_walk;
            let walk = self.entry * visits_of_a_walk as u64;
            return (visits_of_a_walk, start.max(self.processor) + self.operation + walk);
        }
        let is_in = |unit: &Cells| found.is_some_and(|rank| rank <= unit.occupied());
        if in_session && !is_in(self.cells(list)) {
            // A failure is held until the session ends, and the search then repeated: what it looks for may be among
            // the entries that are on their way into the unit, which the processor no longer walks.
            self.end_session();
            edge = self.interface.edge(self.processor);
        }
        let known = edge + self.search;
        let compared = self.cells(list).occupied();
        let walked = if is_in(self.cells(list)) {
            if takes {
                self.run_session(list, known);
                self.cells(list).remove(visits_of_a_walk, known);
            }
            0
        } else {
            visits_of_a_walk - compared
        };
        self.walked = walked;
        self.end_session();
        let at = self.interface.time(known).max(self.processor) + self.interface.read + self.operation;
        (compared + walked, at + self.entry * walked as u64)
    }

    /// When a cancel of the posted receive at rank `found` is answered. The processor has the
    /// position of its receive. A unit has no command that empties one cell, so a receive in a cell
    /// costs a reset, and a session that inserts the others again; the answer waits for the reset,
    /// after which no search finds the receive.
    fn cancel(&mut self, start: Picos, found: Option<usize>) -> Picos {
        self.end_session();
        let at = start.max(self.processor) + self.operation;
        if found.is_none_or(|rank| rank > self.posted.occupied()) {
            return at;
        }
        let reset = self.interface.edge(at + self.interface.write);
        self.posted.reset(reset);
        let entries = self.posted.free().min(self.lists.queue_lengths().posted);
        let reset = self.interface.time(reset);
        self.session = Some((List::Posted, Session::after_reset(reset, entries)));
        reset
    }

    /// Opens a session at `at` if enough entries of `list` wait for cells that are empty.
    fn refill(&mut self, list: List, at: Picos) {
        let QueueLengths { posted, unexpected } = self.lists.queue_lengths();
        let length = if list == List::Posted { posted } else { unexpected };
        let cells = self.cells(list);
        let movable = cells.free().min(length - cells.occupied());
        if movable >= self.batch {
            self.session = Some((list, Session::start(&self.interface, at, movable)));
        }
    }

    /// Brings a session on `list` to `edge`; returns whether it is open then.
    fn run_session(&mut self, list: List, edge: u64) -> bool {
        let Some((of, session)) = &mut self.session else { return false };
        if *of != list {
            return false;
        }
        let cells = if list == List::Posted { &mut self.posted } else { &mut self.unexpected };
        if let Some(end) = session.run(&self.interface, cells, edge) {
            self.processor = end;
            self.session = None;
            return false;
        }
        true
    }

    /// Brings an open session to its end.
    fn end_session(&mut self) {
        if let Some((list, _)) = self.session {
            self.run_session(list, u64::MAX);
        }
    }
}

impl OperationServer for Alpu {
    fn refuses_until(&mut self, now: Picos, _: &Op) -> Option<Picos> {
        self.queue.full_until(now)
    }

    fn serve(&mut self, now: Picos, op: Op) -> Served {
        let start = now.max(self.answered);
        let QueueLengths { posted, unexpected } = self.lists.queue_lengths();
        let (outcome, rank) = self.lists.apply(op);
        let rank = rank as usize;
        self.walked = 0;
        let (list, length, other) = match op {
            Op::Arrive { .. } => (List::Posted, posted, List::Unexpected),
            _ => (List::Unexpected, unexpected, List::Posted),
        };
        let (visits, at) = match outcome {
            Outcome::Posted(_) | Outcome::Unexpected(_) => {
                let answer = self.find(start, Search { list, found: None, length, takes: true });
                self.refill(other, answer.1);
                answer
            }
            Outcome::Matched(..) | Outcome::Probed(_, Some(_)) => {
                let takes = !matches!(op, Op::Probe { .. });
                let answer = self.find(start, Search { list, found: Some(rank), length, takes });
                self.refill(list, answer.1);
                answer
            }
            Outcome::Probed(_, None) => self.find(start, Search { list, found: None, length, takes: false }),
            Outcome::Cancelled(_) => (0, self.cancel(start, Some(rank))),
            Outcome::NotCancelled(_) => (0, self.cancel(start, None)),
        };
        match outcome {
            Outcome::Posted(_) => self.events.posted_overflows += u64::from(posted >= self.size),
            Outcome::Unexpected(_) => {
                self.events.unexpected_overflows += u64::from(unexpected >= self.size);
            }
            _ => {}
        }
        self.answered = at;
        self.queue.push(start);
        let since = now.max(self.reported);
        self.reported = at + self.offload;
        // Busy for as long as this is the oldest operation without an answer.
        let delays = Delays { waiting: start - now, beyond: self.entry * self.walked as u64 };
        let completion = Completion { at: self.reported, outcome, visits: visits as u32, delays };
        Served { completion, busy: self.reported - since }
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.lists.queue_lengths()
    }

    fn capacity_events(&self) -> CapacityEvents {
        self.events
    }
}
