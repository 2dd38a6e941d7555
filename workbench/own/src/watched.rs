// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A user-defined engine, watched: what it does against the interface ends the run with an [`EngineFault`].
//!
//! In a replay its outcomes are compared with those of the reference lists too: a check before it does not reach every
//! sequence, and a wrong outcome must not become a time. Cost per operation: that of [`MatchLists`] and a search in
//! the open operations.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use mb_core::{
    Accepted, CapacityEvents, Completion, Engine, EngineFault, Measurable, Op, Outcome, Picos, QueueLengths,
    ReplayEngine, Shortcuts,
};
use mb_kit::MatchLists;

/// Refusals in a row, or events without a completion while one is outstanding, after which an engine is said to hang.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience(pub u32);

/// An engine that was not tested to the end.
pub struct Watched<E> {
    engine: E,
    /// The reference with which outcomes are compared.
    reference: Option<Reference>,
    patience: Patience,
    owed: u64,
    /// The latest time up to which the engine was run.
    now: Picos,
    last_at: Picos,
    refused: u32,
    /// Calls since the last completion or acceptance.
    barren: Cell<u32>,
}

/// The reference lists, and operations not answered yet by the outcome that they must have.
#[derive(Default)]
struct Reference {
    lists: MatchLists,
    open: BTreeMap<Outcome, VecDeque<Picos>>,
}

impl<E: ReplayEngine> Watched<E> {
    /// Watches `engine` and compares its outcomes.
    #[must_use]
    pub fn in_a_replay(engine: E, patience: Patience) -> Self {
        Self::new(engine, patience, Some(Reference::default()))
    }

    /// Checks that `engine` makes progress; the test kit judges its outcomes.
    #[must_use]
    pub fn in_the_kit(engine: E, patience: Patience) -> Self {
        Self::new(engine, patience, None)
    }

    fn new(engine: E, patience: Patience, reference: Option<Reference>) -> Self {
        let (now, last_at) = (Picos::ZERO, Picos::ZERO);
        Self { engine, reference, patience, owed: 0, now, last_at, refused: 0, barren: Cell::new(0) }
    }

    fn accepted(&mut self, now: Picos, op: Op) {
        self.owed += 1;
        self.refused = 0;
        self.barren.set(0);
        if let Some(reference) = &mut self.reference {
            let outcome = reference.lists.apply(op).0;
            reference.open.entry(outcome).or_default().push_back(now);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let Completion { at, outcome, delays, .. } = *completion;
        self.barren.set(0);
        if self.owed == 0 {
            fault(format!("it says `{outcome}`, but no operation is open"));
        }
        self.owed -= 1;
        if at < self.last_at {
            fault(format!("`{outcome}` of {at} came out after a completion of {}", self.last_at));
        }
        self.last_at = at;
        let Some(reference) = &mut self.reference else { return };
        let Some(accepted) = reference.open.get_mut(&outcome).and_then(VecDeque::pop_front) else {
            let expected = reference.open.keys().next().map_or_else(String::new, |open| format!(", expected `{open}`"));
            fault(format!("it says `{outcome}`, which is the outcome of no open operation{expected}"));
        };
        if reference.open.get(&outcome).is_some_and(VecDeque::is_empty) {
            reference.open.remove(&outcome);
        }
        if at < accepted {
            fault(format!(
                "it answers early: `{outcome}` at {at}, {} before its operation was accepted at {accepted}; \
                 no engine is faster than the bound, which answers at that time",
                accepted - at
            ));
        }
        let (parts, open) = (delays.waiting + delays.beyond, at - accepted);
        if parts > open {
            fault(format!("`{outcome}`: waiting and beyond are {parts} together, but it was open for {open}"));
        }
    }

    /// Another call without a completion.
    fn waited(&self) {
        self.barren.set(self.barren.get() + 1);
        if self.barren.get() > self.patience.0 && self.owed > 0 {
            fault(format!("{} events without a completion, though {} are outstanding", self.patience.0, self.owed));
        }
    }
}

fn fault(text: String) -> ! {
    EngineFault(text).raise()
}

impl<E: ReplayEngine> Engine for Watched<E> {
    fn offer(&mut self, now: Picos, op: Op) -> Accepted {
        self.now = self.now.max(now);
        let accepted = self.engine.offer(now, op);
        match accepted {
            Accepted::Yes => self.accepted(now, op),
            Accepted::Busy { retry_at } if retry_at <= now && self.reference.is_some() => {
                fault(format!("busy at {now}, and to be offered again at {retry_at}, which is not later"));
            }
            Accepted::Busy { .. } if self.refused == self.patience.0 => {
                fault(format!("it refused an operation {} times in a row", self.patience.0));
            }
            Accepted::Busy { .. } => self.refused += 1,
        }
        accepted
    }

    fn next_event(&self) -> Option<Picos> {
        let event = self.engine.next_event();
        match event {
            Some(at) if at < self.now => {
                let early = if self.owed > 0 { "it answers early: " } else { "" };
                fault(format!("{early}its next event is at {at}, but it was brought to {} before", self.now));
            }
            None if self.owed > 0 && self.reference.is_some() => {
                fault(format!("it has no event, but {} operations have no answer", self.owed));
            }
            _ => event,
        }
    }

    fn run_until(&mut self, until: Picos, done: &mut Vec<Completion>) {
        self.now = self.now.max(until);
        let before = done.len();
        self.engine.run_until(until, done);
        if done.len() == before {
            self.waited();
        }
        for completion in &done[before..] {
            if completion.at > until && self.reference.is_some() {
                fault(format!("`{}` of {} was returned at {until}", completion.outcome, completion.at));
            }
            if self.reference.is_some() {
                self.completed(completion);
            } else {
                self.owed = self.owed.saturating_sub(1);
                self.barren.set(0);
            }
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

impl<E: ReplayEngine> Shortcuts for Watched<E> {
    fn answer(&mut self, now: Picos, op: Op) -> Option<Completion> {
        let completion = self.engine.answer(now, op)?;
        self.now = self.now.max(now);
        self.accepted(now, op);
        if self.reference.is_some() {
            self.completed(&completion);
        } else {
            self.owed = self.owed.saturating_sub(1);
        }
        Some(completion)
    }
}

impl<E: ReplayEngine> Measurable for Watched<E> {}
