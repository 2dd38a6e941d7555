// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether some order of arrivals explains what a receiver saw: the contract of `spec/matching.md`, with the oracle as the
//! judge. It is narrower than MPI's, so that an outcome without such an order is worth telling and no violation.
//!
//! The search goes through the places that the receiver and its senders have come to: its own operations in their order, and
//! the messages of each sender in theirs. Given what was seen, these places and the order of the unexpected messages are
//! all that matters, so that each combination is looked at once. What happened between ranks besides is not looked at,
//! and a search that takes too long is given up: both can only make the answer milder.
//!
//! Test: `arrival_explains_what_arrives`.

use std::collections::BTreeSet;

use mb_core::{MsgId, Op, Outcome, Pattern, ProbeId, RecvId};
use mb_oracle::Oracle;

use crate::history::{Fact, History};
use crate::program::{Action, Comm, Program, StepId, Wanted};

/// Most combinations that are looked at for one receiver and communicator.
const MOST: usize = 50_000;

/// The receiver and the communicator of the first outcomes that no order of arrivals explains, nor one in which
/// `MPI_Startall` may have started its requests.
#[must_use]
pub fn unexplained(program: &Program, history: &History) -> Option<(u8, Comm)> {
    let mut first = None;
    for order in program.orders() {
        let found = unexplained_in_order(&order, history)?;
        first = first.or(Some(found));
    }
    first
}

fn unexplained_in_order(program: &Program, history: &History) -> Option<(u8, Comm)> {
    (0..program.ranks)
        .flat_map(|rank| Comm::ALL.map(|comm| (rank, comm)))
        .find(|&(rank, comm)| !Search::of(program, history, rank, comm).explains())
}

/// Something that the receiver did or learned, in its order.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// It sent a message to itself, which may arrive from now on.
    SentToSelf,
    /// It posted a receive.
    Post(StepId, Pattern),
    /// It learned that a receive is matched.
    Matched(StepId),
    /// A receive was cancelled.
    Cancelled(StepId),
    /// It looked for a message.
    Probe(StepId, Pattern, Option<StepId>),
    /// It looked for a message and took it.
    Pluck(StepId, Pattern, Option<StepId>),
}

struct Search<'a> {
    program: &'a Program,
    events: Vec<Event>,
    /// The messages of each sender, in its order.
    senders: Vec<Vec<StepId>>,
    /// The rank itself.
    rank: u8,
    /// Receive and message.
    pairs: Vec<(StepId, StepId)>,
    seen: BTreeSet<(usize, Vec<usize>, Vec<StepId>)>,
}

/// A place that was come to: the receiver's next event, what arrived from each sender, what was sent to itself.
#[derive(Clone)]
struct Place {
    event: usize,
    arrived: Vec<usize>,
    to_self: usize,
    /// The unexpected messages, oldest first.
    unexpected: Vec<StepId>,
    oracle: Oracle,
}

impl<'a> Search<'a> {
    fn of(program: &'a Program, history: &History, rank: u8, comm: Comm) -> Self {
        let mut senders = vec![Vec::new(); usize::from(program.ranks)];
        for (step, message) in program.messages() {
            if message.dest == Some(rank) && message.comm == comm {
                senders[usize::from(step.rank)].push(step.id);
            }
        }
        let facts = &history.ranks[usize::from(rank)];
        let pairs = facts.iter().filter_map(|(_, fact)| match *fact {
            Fact::Took(receive, message) => Some((receive, message)),
            _ => None,
        });
        let mut search =
            Self { program, events: Vec::new(), senders, rank, pairs: pairs.collect(), seen: BTreeSet::new() };
        let steps: Vec<_> = program.of_rank(rank).collect();
        for place in 0..=steps.len() {
            if let Some(step) = steps.get(place) {
                if let Some(message) = step.action.message()
                    && (message.dest, message.comm) == (Some(rank), comm)
                {
                    search.events.push(Event::SentToSelf);
                }
                if let Some(wanted) = program.posted_by(step).filter(|wanted| wanted.comm == comm)
                    && !matches!(step.action, Action::Restart(_))
                    && let Some(pattern) = wanted.pattern()
                {
                    search.events.push(Event::Post(step.id, pattern));
                }
            }
            for (_, fact) in facts.iter().filter(|(at, _)| *at == place) {
                search.add(*fact, comm);
            }
            // A receive that starts again ends first.
            if let Some(step) = steps.get(place)
                && matches!(step.action, Action::Restart(_))
                && let Some(pattern) =
                    program.posted_by(step).filter(|wanted| wanted.comm == comm).and_then(Wanted::pattern)
            {
                search.events.push(Event::Post(step.id, pattern));
            }
        }
        search
    }

    fn add(&mut self, fact: Fact, comm: Comm) {
        let wanted = |id: StepId| match &self.program.step(id)?.1.action {
            Action::Probe(wanted, call) => Some((*wanted, call.takes())),
            _ => self.program.posted_by(self.program.step(id)?.1).map(|wanted| (*wanted, false)),
        };
        let here = |id: StepId| {
            let (wanted, takes) = wanted(id).filter(|(wanted, _)| wanted.comm == comm)?;
            Some((wanted.pattern()?, takes))
        };
        let event = match fact {
            Fact::Took(receive, _) => here(receive).map(|_| Event::Matched(receive)),
            Fact::Cancelled(receive) => here(receive).map(|_| Event::Cancelled(receive)),
            Fact::Plucked(probe, message) => {
                here(probe).map(|(pattern, _)| Event::Pluck(probe, pattern, Some(message)))
            }
            Fact::Found(probe, message) => here(probe).map(|(pattern, _)| Event::Probe(probe, pattern, Some(message))),
            Fact::Missed(probe) => here(probe).map(|(pattern, takes)| {
                if takes { Event::Pluck(probe, pattern, None) } else { Event::Probe(probe, pattern, None) }
            }),
            Fact::Drained(other, message) if other == comm => {
                Wanted::any(comm).pattern().map(|pattern| Event::Pluck(0, pattern, Some(message)))
            }
            Fact::Drained(..) | Fact::Sent(_) | Fact::Nothing => None,
        };
        self.events.extend(event);
    }

    fn explains(&mut self) -> bool {
        let start = Place {
            event: 0,
            arrived: vec![0; self.senders.len()],
            to_self: 0,
            unexpected: Vec::new(),
            oracle: Oracle::new(),
        };
        let mut open = vec![start];
        while let Some(place) = open.pop() {
            if self.seen.len() == MOST {
                return true;
            }
            if !self.seen.insert((place.event, place.arrived.clone(), place.unexpected.clone())) {
                continue;
            }
            if place.event == self.events.len()
                && place.arrived.iter().zip(&self.senders).all(|(arrived, sent)| *arrived == sent.len())
            {
                return true;
            }
            // Last in, first out: the receiver goes on as far as it can, then what it needs next arrives.
            let needed = self.needed(&place);
            for from in 0..self.senders.len() {
                open.extend(self.arrive(&place, from));
            }
            open.extend(needed.and_then(|from| self.arrive(&place, from)));
            open.extend(self.go_on(&place));
        }
        false
    }

    /// The sender of the message that the receiver's next event is about.
    fn needed(&self, place: &Place) -> Option<usize> {
        let message = match *self.events.get(place.event)? {
            Event::Probe(_, _, found) | Event::Pluck(_, _, found) => found?,
            Event::Matched(receive) => self.pairs.iter().find(|(other, _)| *other == receive)?.1,
            Event::SentToSelf | Event::Post(..) | Event::Cancelled(_) => return None,
        };
        Some(usize::from(self.program.step(message)?.1.rank))
    }

    /// The next message of `from` arrives, if that agrees with what was seen.
    fn arrive(&self, place: &Place, from: usize) -> Option<Place> {
        let &message = self.senders[from].get(place.arrived[from])?;
        if from == usize::from(self.rank) && place.arrived[from] >= place.to_self {
            return None;
        }
        let sent = self.program.step(message)?.1.action.message()?;
        let mut after = place.clone();
        after.arrived[from] += 1;
        let op = Op::Arrive { msg: MsgId(u64::from(message)), envelope: sent.envelope(from as u8) };
        if let Outcome::Matched(receive, _) = after.oracle.apply(op).0 {
            return self.pairs.contains(&(receive.0 as StepId, message)).then_some(after);
        }
        after.unexpected.push(message);
        Some(after)
    }

    /// The receiver's next event, if the oracle agrees with it.
    fn go_on(&self, place: &Place) -> Option<Place> {
        let event = *self.events.get(place.event)?;
        let mut after = place.clone();
        after.event += 1;
        let agrees = match event {
            Event::SentToSelf => {
                after.to_self += 1;
                true
            }
            Event::Post(receive, pattern) => {
                match after.oracle.apply(Op::Post { recv: RecvId(u64::from(receive)), pattern }).0 {
                    Outcome::Matched(_, message) => {
                        let message = message.0 as StepId;
                        after.unexpected.retain(|&other| other != message);
                        self.pairs.contains(&(receive, message))
                    }
                    _ => true,
                }
            }
            // A receive that is matched can no longer be cancelled.
            Event::Matched(receive) => {
                let name = RecvId(u64::from(receive));
                after.oracle.apply(Op::Cancel { recv: name }).0 == Outcome::NotCancelled(name)
            }
            Event::Cancelled(receive) => {
                let name = RecvId(u64::from(receive));
                after.oracle.apply(Op::Cancel { recv: name }).0 == Outcome::Cancelled(name)
            }
            Event::Probe(probe, pattern, found) => {
                let name = ProbeId(u64::from(probe));
                let found = found.map(|message| MsgId(u64::from(message)));
                after.oracle.apply(Op::Probe { probe: name, pattern }).0 == Outcome::Probed(name, found)
            }
            Event::Pluck(probe, pattern, found) => {
                let name = ProbeId(u64::from(probe));
                after.unexpected.retain(|&other| Some(other) != found);
                let found = found.map(|message| MsgId(u64::from(message)));
                after.oracle.apply(Op::MatchedProbe { probe: name, pattern }).0 == Outcome::Probed(name, found)
            }
        };
        agrees.then_some(after)
    }
}
