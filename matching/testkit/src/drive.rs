// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Offers operations to an engine, compares every outcome with the oracle's, and checks the guarantees of the interface
//! on times: nothing comes out before its time, next events are tight, `settle` agrees with `run_until`.

use std::collections::{BTreeMap, VecDeque};

use mb_core::{Accepted, Completion, Op, Outcome, Picos, ReplayEngine};
use mb_oracle::Oracle;

/// An operation and when it is first offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The time; never earlier than that of the offer before.
    pub at: Picos,
    /// The operation.
    pub op: Op,
}

/// How completions are fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetch {
    /// By `run_until` alone.
    RunUntil,
    /// By `settle` after every offer, the rest by `run_until`.
    Settle,
    /// By `answer` instead of an offer, where the engine does so; the rest by `run_until`.
    Answer,
    /// By `run_to_completion` again and again, up to the time of the next offer.
    RunToCompletion,
    /// By `run_until` alone; a refused operation is offered again after every event.
    AfterEveryEvent,
}

/// Whether visits are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visits {
    /// They must be those of a list walk (clauses V-1 to V-3).
    OfAWalk,
    /// They are the engine's own (clause V-4).
    Own,
}

/// The result of one offered operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationResult {
    /// When it was accepted.
    pub accepted: Picos,
    /// When and how it was answered.
    pub completion: Completion,
}

/// Refusals in a row, and events without a completion, after which an engine is said to hang.
const PATIENCE: usize = 1_000_000;

/// How far beyond an event to run from completion to completion.
const AHEAD: Picos = Picos::from_ns(10_000);

/// Offers `offers` in order to `engine`, drains it and judges it against the oracle.
///
/// # Errors
/// The first objection.
pub fn judge(
    engine: &mut dyn ReplayEngine,
    offers: &[Offer],
    fetch: Fetch,
    visits: Visits,
) -> Result<Vec<OperationResult>, String> {
    let mut run = DrivenEngine::new(engine, offers.len(), visits);
    run.to_completion = fetch == Fetch::RunToCompletion;
    run.after_every_event = fetch == Fetch::AfterEveryEvent;
    for offer in offers {
        if fetch == Fetch::Answer && run.answered(*offer)? {
            continue;
        }
        run.offer(*offer)?;
        if fetch == Fetch::Settle {
            run.settle()?;
        }
    }
    run.drain()?;
    run.finish()
}

/// Offers one operation after the other, each when the one before it is answered, and judges as [`judge`].
///
/// # Errors
/// The first objection.
pub fn judge_one_by_one(
    engine: &mut dyn ReplayEngine,
    ops: &[Op],
    visits: Visits,
) -> Result<Vec<OperationResult>, String> {
    let mut run = DrivenEngine::new(engine, ops.len(), visits);
    for &op in ops {
        run.offer(Offer { at: run.now, op })?;
        run.drain()?;
    }
    run.finish()
}

struct Expected {
    op: Op,
    outcome: Outcome,
    visits: u32,
    accepted: Picos,
    completion: Option<Completion>,
}

struct DrivenEngine<'a> {
    engine: &'a mut dyn ReplayEngine,
    oracle: Oracle,
    visits: Visits,
    /// Time goes from completion to completion, and not from event to event.
    to_completion: bool,
    /// A refused operation is offered again after every event.
    after_every_event: bool,
    now: Picos,
    expected: Vec<Expected>,
    /// Operations not answered yet, by the outcome that the oracle gives them.
    open: BTreeMap<Outcome, VecDeque<usize>>,
    done: Vec<Completion>,
    last_at: Picos,
    last_busy: Picos,
}

impl<'a> DrivenEngine<'a> {
    fn new(engine: &'a mut dyn ReplayEngine, capacity: usize, visits: Visits) -> Self {
        Self {
            engine,
            oracle: Oracle::new(),
            visits,
            to_completion: false,
            after_every_event: false,
            now: Picos::ZERO,
            expected: Vec::with_capacity(capacity),
            open: BTreeMap::new(),
            done: Vec::new(),
            last_at: Picos::ZERO,
            last_busy: Picos::ZERO,
        }
    }

    fn offer(&mut self, offer: Offer) -> Result<(), String> {
        let index = self.expected.len();
        if offer.at > self.now {
            self.run_until(offer.at)?;
        }
        for attempt in 0.. {
            match self.engine.offer(self.now, offer.op) {
                Accepted::Yes => break,
                Accepted::Busy { retry_at } if retry_at <= self.now => {
                    return Err(format!(
                        "{}: busy at {}, and to be offered again at {retry_at}, which is not later",
                        describe(index, offer.op),
                        self.now
                    ));
                }
                Accepted::Busy { .. } if attempt == PATIENCE => {
                    return Err(format!("{}: refused {PATIENCE} times", describe(index, offer.op)));
                }
                Accepted::Busy { retry_at } => {
                    let event = self.engine.next_event().filter(|_| self.after_every_event);
                    // An event of now does not count as one, unless it is the last before the time to retry.
                    let next = event.filter(|event| *event > self.now).unwrap_or(retry_at);
                    self.run_until(next.min(retry_at))?;
                }
            }
        }
        self.accepted(index, offer.op)
    }

    /// Has `offer` answered at once, if the engine does so.
    fn answered(&mut self, offer: Offer) -> Result<bool, String> {
        let index = self.expected.len();
        if offer.at > self.now {
            self.run_until(offer.at)?;
        }
        let Some(completion) = self.engine.answer(self.now, offer.op) else { return Ok(false) };
        self.accepted(index, offer.op)?;
        self.answer(completion)?;
        Ok(true)
    }

    /// Operation `index` was taken.
    fn accepted(&mut self, index: usize, op: Op) -> Result<(), String> {
        let (outcome, visits) = self.oracle.apply(op);
        self.expected.push(Expected { op, outcome, visits, accepted: self.now, completion: None });
        self.open.entry(outcome).or_default().push_back(index);
        let (found, expected) = (self.engine.queue_lengths(), self.oracle.queue_lengths());
        if found != expected {
            // A wrong outcome says more than a wrong length.
            self.drain()?;
            return Err(format!(
                "{}: the engine's lists have {} and {} entries, the oracle's {} and {}",
                describe(index, op),
                found.posted,
                found.unexpected,
                expected.posted,
                expected.unexpected
            ));
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), String> {
        self.engine.settle(&mut self.done);
        for completion in std::mem::take(&mut self.done) {
            self.answer(completion)?;
        }
        Ok(())
    }

    /// Runs to the time of one event after the other, or beyond it from completion to completion,
    /// until the engine is idle.
    fn drain(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            let Some(event) = self.engine.next_event() else { return Ok(()) };
            let ahead = if self.to_completion { AHEAD } else { Picos::ZERO };
            self.run_until(event.max(self.now) + ahead)?;
        }
        Err(format!("the engine has events at {} and never becomes idle", self.now))
    }

    /// Brings the engine to `until`; just before its next event nothing may come out.
    fn run_until(&mut self, until: Picos) -> Result<(), String> {
        if self.to_completion {
            self.run_to_completions(until)?;
        } else if let Some(event) = self.engine.next_event()
            && event > self.now
        {
            let before = Picos(event.0 - 1).min(until);
            self.engine.run_until(before, &mut self.done);
            if let Some(early) = self.done.first() {
                return Err(format!(
                    "`{}` was returned at {before}, before the engine's next event at {event}",
                    early.outcome
                ));
            }
        }
        self.engine.run_until(until, &mut self.done);
        if let Some(left) = self.done.first().filter(|_| self.to_completion) {
            return Err(format!("run_to_completion({until}): did not return `{}` of {}", left.outcome, left.at));
        }
        self.fetched(until)
    }

    /// Takes the completions up to `until`, one time after the other.
    fn run_to_completions(&mut self, until: Picos) -> Result<(), String> {
        loop {
            self.engine.run_to_completion(until, &mut self.done);
            let (Some(first), Some(last)) = (self.done.first(), self.done.last()) else { return Ok(()) };
            if first.at < last.at {
                return Err(format!(
                    "completions of {} to {} were returned together, expected those of one time",
                    first.at, last.at
                ));
            }
            let at = last.at;
            if at > until {
                return Err(format!("a completion of {at} was returned at {until}"));
            }
            self.fetched(at)?;
        }
    }

    /// Judges the completions that were returned at `until`.
    fn fetched(&mut self, until: Picos) -> Result<(), String> {
        for completion in std::mem::take(&mut self.done) {
            if completion.at > until {
                return Err(format!("`{}` of {} was returned at {until}", completion.outcome, completion.at));
            }
            if completion.at < self.last_at {
                return Err(format!(
                    "`{}` of {} came out after a completion of {}",
                    completion.outcome, completion.at, self.last_at
                ));
            }
            self.last_at = completion.at;
            self.answer(completion)?;
        }
        self.now = until;
        Ok(())
    }

    fn answer(&mut self, completion: Completion) -> Result<(), String> {
        let Some(index) = self.open.get_mut(&completion.outcome).and_then(VecDeque::pop_front) else {
            return Err(self.wrong(completion.outcome));
        };
        let expected = &mut self.expected[index];
        let who = describe(index, expected.op);
        if completion.at < expected.accepted {
            let (at, accepted) = (completion.at, expected.accepted);
            return Err(format!(
                "{who}: answers early: at {at}, {} before it was accepted at {accepted}",
                accepted - at
            ));
        }
        let delays = completion.delays.waiting + completion.delays.beyond;
        if delays > completion.at - expected.accepted {
            let open = completion.at - expected.accepted;
            return Err(format!("{who}: waiting and beyond are {delays} together, but it was open for {open}"));
        }
        if self.visits == Visits::OfAWalk && completion.visits != expected.visits {
            return Err(format!("{who}: {} visits, but a walk has {}", completion.visits, expected.visits));
        }
        expected.completion = Some(completion);
        let busy = self.engine.busy();
        if busy < self.last_busy {
            return Err(format!("{who}: busy for {busy} in all, and for {} before", self.last_busy));
        }
        self.last_busy = busy;
        Ok(())
    }

    /// The objection to an outcome that the oracle gives to no open operation.
    fn wrong(&self, outcome: Outcome) -> String {
        let asked = |op: Op| match (op, outcome) {
            (Op::Post { recv, .. }, Outcome::Posted(named) | Outcome::Matched(named, _))
            | (Op::Cancel { recv }, Outcome::Cancelled(named) | Outcome::NotCancelled(named)) => recv == named,
            (Op::Arrive { msg, .. }, Outcome::Unexpected(named) | Outcome::Matched(_, named)) => msg == named,
            (Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. }, Outcome::Probed(named, _)) => probe == named,
            _ => false,
        };
        let mut open = self.expected.iter().enumerate().rev();
        match open.find(|(_, expected)| expected.completion.is_none() && asked(expected.op)) {
            Some((index, expected)) => format!(
                "{}: the engine says `{outcome}`, the oracle `{}`",
                describe(index, expected.op),
                expected.outcome
            ),
            None => format!("the engine says `{outcome}`, which answers no open operation"),
        }
    }

    fn finish(self) -> Result<Vec<OperationResult>, String> {
        let mut answers = Vec::with_capacity(self.expected.len());
        for (index, expected) in self.expected.iter().enumerate() {
            let Some(completion) = expected.completion else {
                return Err(format!(
                    "{}: never answered; the oracle says `{}`",
                    describe(index, expected.op),
                    expected.outcome
                ));
            };
            answers.push(OperationResult { accepted: expected.accepted, completion });
        }
        let (busy, open) = (self.engine.busy(), time_open(&answers));
        if busy > open {
            return Err(format!("the engine was busy for {busy}, but had something to do for {open} only"));
        }
        Ok(answers)
    }
}

/// How long any operation was accepted and not answered.
fn time_open(answers: &[OperationResult]) -> Picos {
    let (mut open, mut end) = (Picos::ZERO, Picos::ZERO);
    for OperationResult { accepted, completion } in answers {
        open += completion.at.saturating_sub(end.max(*accepted));
        end = end.max(completion.at);
    }
    open
}

fn describe(index: usize, op: Op) -> String {
    let what = match op {
        Op::Post { recv, .. } => format!("post of receive {}", recv.0),
        Op::Arrive { msg, .. } => format!("arrival of message {}", msg.0),
        Op::Cancel { recv } => format!("cancel of receive {}", recv.0),
        Op::Probe { probe, .. } => format!("probe {}", probe.0),
        Op::MatchedProbe { probe, .. } => format!("matched probe {}", probe.0),
    };
    format!("operation {} ({what})", index + 1)
}
