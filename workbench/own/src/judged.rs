// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What no engine can do: a user-defined engine's matches in a replay, compared with the depth in the reference lists
//! and with the least time of an answer at its placement.
//!
//! Only what is impossible counts. A hash table or a CAM may compare fewer entries than a walk, or more, so the number
//! of visits is free except for one thing: whoever finds an entry has compared it. An answer takes at least the time
//! that [`least_time`] states. A search that finds nothing is not judged: an empty bucket answers it without a visit.
//!
//! Cost per operation: that of [`MatchLists`] and a search in the open operations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use mb_core::{
    Accepted, CapacityEvents, Completion, Engine, Measurable, Op, Outcome, Picos, Placement, QueueLengths,
    ReplayEngine, Shortcuts,
};
use mb_kit::MatchLists;

/// The least time from the acceptance of an operation to the answer that found an entry: an assumption, below every
/// published design.
///
/// - On the NIC: one cycle of a clock of 10 GHz; NICs have clocks of 1 to 2 GHz.
/// - On the host: the load of the entry from the first-level cache, 3 cycles at 6 GHz; processors take 4 or 5 cycles.
#[must_use]
pub const fn least_time(placement: Placement) -> Picos {
    match placement {
        Placement::Nic => Picos(100),
        Placement::Host => Picos(500),
    }
}

/// What the engines of one replay did. The default is that of no match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Judgement {
    /// Operations that found an entry and took it out of its list: matches, those of matched probes included.
    pub matches: u64,
    /// Matches for which the engine reported no visit.
    pub unvisited: u64,
    /// Depths of those matches in the reference lists: sum and maximum.
    pub unvisited_depth: (u64, u32),
    /// Matches answered in less than [`least_time`].
    pub too_fast: u64,
    /// The shortest time of those; `None` without one.
    pub fastest: Option<Picos>,
}

impl Judgement {
    /// Adds those of another receiver.
    pub fn add(&mut self, other: &Self) {
        self.matches += other.matches;
        self.unvisited += other.unvisited;
        self.unvisited_depth.0 += other.unvisited_depth.0;
        self.unvisited_depth.1 = self.unvisited_depth.1.max(other.unvisited_depth.1);
        self.too_fast += other.too_fast;
        self.fastest = self.fastest.into_iter().chain(other.fastest).min();
    }
}

/// The judgement of all engines of a replay: each adds its own when it is dropped.
pub type Judgements = Arc<Mutex<Judgement>>;

/// The sum so far: of the engines that were dropped.
#[must_use]
pub fn sum(judgements: &Judgements) -> Judgement {
    *judgements.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An engine whose matches are judged.
pub struct JudgedEngine {
    engine: Box<dyn ReplayEngine>,
    least: Picos,
    lists: MatchLists,
    /// Operations without an answer that will take an entry out of a list, by their outcome.
    open: BTreeMap<Outcome, VecDeque<Found>>,
    judgement: Judgement,
    judgements: Judgements,
}

/// An operation that found an entry in the reference lists.
struct Found {
    accepted: Picos,
    depth: u32,
}

impl JudgedEngine {
    /// Judges `engine`, and adds to `judgements` when it is dropped.
    #[must_use]
    pub fn new(engine: Box<dyn ReplayEngine>, placement: Placement, judgements: &Judgements) -> Self {
        Self {
            engine,
            least: least_time(placement),
            lists: MatchLists::new(),
            open: BTreeMap::new(),
            judgement: Judgement::default(),
            judgements: Arc::clone(judgements),
        }
    }

    fn accepted(&mut self, now: Picos, op: Op) {
        let (outcome, depth) = self.lists.apply(op);
        let found = match outcome {
            Outcome::Matched(..) => true,
            Outcome::Probed(_, found) => found.is_some() && matches!(op, Op::MatchedProbe { .. }),
            _ => false,
        };
        if found {
            self.open.entry(outcome).or_default().push_back(Found { accepted: now, depth });
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let Some(open) = self.open.get_mut(&completion.outcome) else { return };
        let Some(Found { accepted, depth }) = open.pop_front() else { return };
        if open.is_empty() {
            self.open.remove(&completion.outcome);
        }
        let judgement = &mut self.judgement;
        judgement.matches += 1;
        if completion.visits == 0 {
            judgement.unvisited += 1;
            judgement.unvisited_depth.0 += u64::from(depth);
            judgement.unvisited_depth.1 = judgement.unvisited_depth.1.max(depth);
        }
        let took = completion.at.saturating_sub(accepted);
        if took < self.least {
            judgement.too_fast += 1;
            judgement.fastest = Some(judgement.fastest.map_or(took, |fastest| fastest.min(took)));
        }
    }
}

impl Drop for JudgedEngine {
    fn drop(&mut self) {
        self.judgements.lock().unwrap_or_else(PoisonError::into_inner).add(&self.judgement);
    }
}

impl Engine for JudgedEngine {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        let accepted = self.engine.offer(now, op);
        if accepted == Accepted::Yes {
            self.accepted(now, op);
        }
        accepted
    }

    fn next_event(&self) -> Option<Picos> {
        self.engine.next_event()
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        let before = done.len();
        self.engine.run_until(until, done);
        for completion in &done[before..] {
            self.completed(completion);
        }
    }

    fn queue_lengths(&self) -> QueueLengths {
        self.engine.queue_lengths()
    }

    fn busy(&self) -> Picos {
        self.engine.busy()
    }

    fn capacity_events(&self) -> CapacityEvents {
        self.engine.capacity_events()
    }
}

impl Shortcuts for JudgedEngine {
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        let completion = self.engine.answer(now, op)?;
        self.accepted(now, op);
        self.completed(&completion);
        Some(completion)
    }

    fn settle(&mut self, done: &mut Vec<Completion>) {
        let before = done.len();
        self.engine.settle(done);
        for completion in &done[before..] {
            self.completed(completion);
        }
    }

    fn run_to_completion(&mut self, until: Picos, done: &mut Vec<Completion>) {
        self.engine.run_to_completion(until, done);
        for completion in &*done {
            self.completed(completion);
        }
    }
}

impl Measurable for JudgedEngine {}
