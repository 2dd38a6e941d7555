// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two machines that search, the data memory and the completion unit.

use std::collections::VecDeque;
use std::task::Poll;

use mb_core::{CapacityEvents, Op, Outcome, QueueLengths, RecvId};

use super::queue::{EntryContent, Insertion, Place, Queue, QueueEntry, Search, SearchTarget};
use super::{Corrections, Hazard};
use crate::parameters::{Arbiter, HardwareConfig};

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// The number of its operation in order of acceptance, from 0 on.
    pub number: u64,
    /// The cycle in which it is known.
    pub at: u64,
    /// The answer.
    pub outcome: Outcome,
    /// Entries that its search compared.
    pub compared: u32,
}

/// The state of a machine.
#[derive(Debug)]
enum State {
    Idle,
    /// Takes the operation from its queue.
    Dispatching {
        until: u64,
    },
    Searching(Search),
    /// Has a result, which has not taken effect.
    Decided(Option<Place>),
    Removing {
        place: Place,
        until: u64,
    },
    /// Has found nothing and waits for the other queue.
    Appending,
    Inserting {
        insertion: Insertion,
        entry: QueueEntry,
        until: u64,
    },
}

#[derive(Debug)]
struct Side {
    fifo: VecDeque<(u64, Op)>,
    /// The operation that is served.
    served: Option<(u64, Op)>,
    state: State,
    /// The target of its search, from the start of the search until its result takes effect.
    wanted: Option<SearchTarget>,
    /// Age of the oldest fitting entry that was put in place meanwhile.
    watched: Option<u64>,
    /// Entries that the last search compared.
    compared: u32,
}

impl Side {
    const fn new() -> Self {
        Self { fifo: VecDeque::new(), served: None, state: State::Idle, wanted: None, watched: None, compared: 0 }
    }

    /// The number of its operation; the machine with the smaller one goes first.
    fn number(&self) -> u64 {
        self.served.or(self.fifo.front().copied()).map_or(u64::MAX, |(number, _)| number)
    }
}

const COMMAND: usize = 0;
const NETWORK: usize = 1;

/// The machine that serves `op`: a cancel looks for a posted receive, so it passes through the one that does so.
const fn side_of(op: &Op) -> usize {
    match op {
        Op::Post { .. } | Op::Probe { .. } | Op::MatchedProbe { .. } => COMMAND,
        Op::Arrive { .. } | Op::Cancel { .. } => NETWORK,
    }
}

/// The receive engine of one receiver.
#[derive(Debug)]
pub struct SteppedHardware {
    parameters: HardwareConfig,
    corrections: Corrections,
    now: u64,
    accepted: u64,
    /// Operations that have taken effect, in order of acceptance.
    effective: u64,
    sides: [Side; 2],
    /// By the side that searches: unexpected messages, posted receives.
    queues: [Queue; 2],
    data: DataMemory,
    completed: u64,
    busy: u64,
    done: Vec<Done>,
}

impl SteppedHardware {
    /// An idle engine with empty queues, in cycle 0.
    #[must_use]
    pub fn new(parameters: &HardwareConfig, corrections: Corrections) -> Self {
        let queue = || Queue::new(parameters, corrections);
        Self {
            parameters: *parameters,
            corrections,
            now: 0,
            accepted: 0,
            effective: 0,
            sides: [Side::new(), Side::new()],
            queues: [queue(), queue()],
            data: DataMemory::default(),
            completed: 0,
            busy: 0,
            done: Vec::new(),
        }
    }

    /// The cycle that is stepped next.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Passes `op` to the hardware in the current cycle.
    pub fn offer(&mut self, op: Op) {
        self.sides[side_of(&op)].fifo.push_back((self.accepted, op));
        self.accepted += 1;
    }

    /// Whether every operation was answered and nothing moves.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let idle = |side: &Side| side.fifo.is_empty() && matches!(side.state, State::Idle);
        self.sides.iter().all(idle) && self.queues.iter().all(Queue::mover_is_idle)
    }

    /// Operations that wait in the input queue of `op`.
    #[must_use]
    pub fn waiting(&self, op: &Op) -> usize {
        self.sides[side_of(op)].fifo.len()
    }

    /// Cycles that [`run_to`](Self::run_to) has passed in which the machine was not idle.
    #[must_use]
    pub const fn busy(&self) -> u64 {
        self.busy
    }

    /// All answers so far, in the order in which they were known.
    #[must_use]
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// As [`done`](Self::done), and clears them.
    pub fn take_done(&mut self) -> impl Iterator<Item = Done> {
        self.done.drain(..)
    }

    /// The counts of the completion unit.
    #[must_use]
    pub const fn completed(&self) -> u64 {
        self.completed
    }

    /// Posted receives and unexpected messages that are in place.
    #[must_use]
    pub fn queue_lengths(&self) -> QueueLengths {
        QueueLengths { posted: self.queues[NETWORK].len(), unexpected: self.queues[COMMAND].len() }
    }

    /// Insertions beyond the CAMs so far.
    #[must_use]
    pub const fn capacity_events(&self) -> CapacityEvents {
        let (posted_overflows, posted_spilled) = self.queues[NETWORK].overflows();
        let (unexpected_overflows, unexpected_spilled) = self.queues[COMMAND].overflows();
        CapacityEvents { posted_overflows, unexpected_overflows, spilled: posted_spilled + unexpected_spilled }
    }

    /// The posted receives in list `list`, its head first: slot and name of each.
    pub fn posted_in_list(&self, list: usize) -> impl Iterator<Item = (u32, RecvId)> {
        self.queues[NETWORK].in_list(list).filter_map(|(slot, entry)| match entry.what {
            EntryContent::Receive(recv, _) => Some((slot, recv)),
            EntryContent::Message(..) => None,
        })
    }

    /// Buffers of the data memory that hold a payload.
    #[must_use]
    pub const fn buffers_in_use(&self) -> usize {
        self.data.in_use
    }

    /// Waits as `MPI_Waitall` does on this engine: steps until the completion unit has counted to
    /// `count`, and returns that cycle; `None` if the engine becomes idle before.
    pub fn wait(&mut self, count: u64) -> Option<u64> {
        while self.completed < count {
            if self.is_idle() {
                return None;
            }
            self.step();
        }
        Some(self.now - 1)
    }

    /// Steps one cycle.
    pub fn step(&mut self) {
        self.settle();
        self.now += 1;
    }

    /// Steps every cycle before `cycle`; those in which nothing can happen are passed at once.
    pub fn run_to(&mut self, cycle: u64) {
        while self.now < cycle {
            self.settle();
            let next = self.next_change().map_or(cycle, |at| at.min(cycle));
            if !self.is_idle() {
                self.busy += next - self.now;
            }
            self.now = next;
        }
    }

    /// The next cycle in which something ends; `None` if the machine waits for operations alone.
    #[must_use]
    pub fn next_change(&self) -> Option<u64> {
        let sides = self.sides.iter().flat_map(|side| match &side.state {
            State::Searching(search) => search.ends(),
            State::Dispatching { until } | State::Removing { until, .. } | State::Inserting { until, .. } => {
                [Some(*until), None]
            }
            State::Idle | State::Decided(_) | State::Appending => [None, None],
        });
        let movers = self.queues.iter().map(Queue::mover_ends);
        sides.chain(movers).flatten().filter(|&at| at > self.now).min()
    }

    /// Does all that happens in the current cycle.
    pub fn settle(&mut self) {
        // Everything that ends or begins in this cycle, until nothing does. Where entries may not
        // pass the lists, the movers go first; where they may, an insertion takes an empty slot
        // before the mover has seen its counter.
        let movers_first = self.corrections.has(Hazard::CamBeforeLists);
        loop {
            let moved = movers_first && self.step_movers();
            if moved || self.step_sides() {
                continue;
            }
            if movers_first || !self.step_movers() {
                break;
            }
        }
    }

    fn step_movers(&mut self) -> bool {
        let now = self.now;
        let [first, second] = &mut self.queues;
        first.step_movers(now) | second.step_movers(now)
    }

    fn step_sides(&mut self) -> bool {
        let first = if self.sides[COMMAND].number() <= self.sides[NETWORK].number() { COMMAND } else { NETWORK };
        self.step_side(first) || self.step_side(1 - first)
    }

    /// One transition of a machine; says whether there was one.
    fn step_side(&mut self, side: usize) -> bool {
        let now = self.now;
        let state = std::mem::replace(&mut self.sides[side].state, State::Idle);
        let (next, changed) = match state {
            State::Idle => match self.next_operation(side) {
                Some(_) => (State::Dispatching { until: now + self.parameters.dispatch }, true),
                None => (State::Idle, false),
            },
            State::Dispatching { until } if until <= now && self.queues[side].mover_is_idle() => {
                let wanted = match self.served(side).1 {
                    Op::Post { pattern, .. } | Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. } => {
                        SearchTarget::ForReceive(pattern)
                    }
                    Op::Arrive { envelope, .. } => SearchTarget::ForMessage(envelope),
                    Op::Cancel { recv } => SearchTarget::Named(recv),
                };
                self.sides[side].wanted = Some(wanted);
                (State::Searching(self.queues[side].begin_search(wanted, now)), true)
            }
            State::Searching(mut search) => match self.queues[side].step_search(&mut search, now) {
                Poll::Ready(found) => {
                    self.sides[side].compared = search.compared();
                    (State::Decided(found), true)
                }
                Poll::Pending => (State::Searching(search), false),
            },
            State::Decided(found) if self.may_take_effect(side) => (self.take_effect(side, found), true),
            State::Removing { place, until } if until <= now => {
                self.queues[side].remove(place);
                (self.finish(side), true)
            }
            State::Appending => match self.queues[1 - side].place_for_new() {
                Some(insertion) => {
                    let until = now + self.queues[1 - side].insertion_cycles(insertion);
                    let entry = self.new_entry(side);
                    (State::Inserting { insertion, entry, until }, true)
                }
                None => (State::Appending, false),
            },
            State::Inserting { insertion, entry, until } if until <= now => {
                self.queues[1 - side].insert(insertion, entry);
                self.watch(1 - side, &entry);
                let outcome = match entry.what {
                    EntryContent::Receive(recv, _) => Outcome::Posted(recv),
                    EntryContent::Message(msg, ..) => Outcome::Unexpected(msg),
                };
                self.answer(side, outcome);
                (self.finish(side), true)
            }
            waiting => (waiting, false),
        };
        self.sides[side].state = next;
        changed
    }

    fn served(&self, side: usize) -> (u64, Op) {
        self.sides[side].served.expect("a machine that is not idle serves an operation")
    }

    fn next_operation(&mut self, side: usize) -> Option<u64> {
        let &(number, op) = self.sides[side].fifo.front()?;
        if self.parameters.arbiter == Arbiter::Serial && number != self.effective {
            return None;
        }
        self.sides[side].fifo.pop_front();
        self.sides[side].served = Some((number, op));
        Some(number)
    }

    /// An entry was put in place in the queue that `side` searches.
    fn watch(&mut self, side: usize, entry: &QueueEntry) {
        let Side { wanted, watched, .. } = &mut self.sides[side];
        if wanted.is_some_and(|wanted| wanted.accepts(entry)) {
            watched.get_or_insert(entry.age);
        }
    }

    fn may_take_effect(&self, side: usize) -> bool {
        !self.corrections.has(Hazard::Race) || self.served(side).0 == self.effective
    }

    fn take_effect(&mut self, side: usize, found: Option<Place>) -> State {
        let watched = self.sides[side].watched.take().filter(|_| self.corrections.has(Hazard::Race));
        self.sides[side].wanted = None;
        let queue = &self.queues[side];
        let place = found.or_else(|| watched.and_then(|age| queue.place_of(age)));
        let what = place.map(|place| queue.entry(place).what);
        let (outcome, is_taken) = match (self.served(side).1, what) {
            (Op::Post { recv, .. }, Some(EntryContent::Message(msg, ..)))
            | (Op::Arrive { msg, .. }, Some(EntryContent::Receive(recv, _))) => (Outcome::Matched(recv, msg), true),
            (Op::Cancel { recv }, Some(_)) => (Outcome::Cancelled(recv), true),
            (Op::Cancel { recv }, None) => (Outcome::NotCancelled(recv), false),
            (Op::Probe { probe, .. }, Some(EntryContent::Message(msg, ..))) => {
                (Outcome::Probed(probe, Some(msg)), false)
            }
            (Op::MatchedProbe { probe, .. }, Some(EntryContent::Message(msg, ..))) => {
                (Outcome::Probed(probe, Some(msg)), true)
            }
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, _) => (Outcome::Probed(probe, None), false),
            (Op::Post { .. } | Op::Arrive { .. }, _) => return State::Appending,
        };
        self.answer(side, outcome);
        if let (true, Some(place)) = (is_taken, place) {
            // The payload goes to the receive; that of a matched probe waits in its buffer for the
            // receive that names it, which is not a matching operation, and is counted as gone here.
            if let Some(EntryContent::Message(_, _, buffer)) = what {
                self.data.release(buffer);
            }
            return State::Removing { place, until: self.now + self.parameters.remove };
        }
        self.finish(side)
    }

    fn new_entry(&mut self, side: usize) -> QueueEntry {
        let (age, op) = self.served(side);
        let what = match op {
            Op::Post { recv, pattern } => EntryContent::Receive(recv, pattern),
            Op::Arrive { msg, envelope } => EntryContent::Message(msg, envelope, self.data.store()),
            _ => unreachable!("only posts and arrivals are appended"),
        };
        QueueEntry { age, what }
    }

    fn answer(&mut self, side: usize, outcome: Outcome) {
        self.completed += u64::from(matches!(outcome, Outcome::Matched(..)));
        let (number, compared) = (self.served(side).0, self.sides[side].compared);
        self.done.push(Done { number, at: self.now, outcome, compared });
    }

    fn finish(&mut self, side: usize) -> State {
        self.sides[side].served = None;
        self.effective += 1;
        State::Idle
    }
}

/// Where payloads of unexpected messages wait: buffers of one message each.
#[derive(Debug, Default)]
struct DataMemory {
    in_use: usize,
    free: VecDeque<u32>,
}

impl DataMemory {
    fn store(&mut self) -> u32 {
        let fresh = self.in_use + self.free.len();
        self.in_use += 1;
        self.free.pop_front().unwrap_or(fresh as u32)
    }

    fn release(&mut self, buffer: u32) {
        self.in_use -= 1;
        self.free.push_back(buffer);
    }
}
