// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether some order of arrivals explains what a receiver observed: the contract of
//! `spec/matching.md`, judged by the oracle. This contract is narrower than MPI's: an outcome
//! without such an order is counted, and is not a violation.
//!
//! The search visits states: the progress of the receiver through its own operations, and of each
//! sender through its messages. Given the observations, this progress and the order of the
//! unexpected messages determine everything else, so that each state is visited once. Dependencies
//! between other ranks are ignored, and a search with too many states is abandoned; both can only
//! hide unexplained outcomes, never invent them.
//!
//! Test: `arrival_explains_what_arrives`.

use std::collections::BTreeSet;

use mb_core::{MsgId, Op, Outcome, Pattern, ProbeId, RecvId};
use mb_oracle::Oracle;

use crate::history::{History, HistoryEvent};
use crate::program::{Action, Comm, ReceiveSpec, StepId, TestProgram};

/// Most states visited for one receiver and communicator.
const MAX_STATES: usize = 50_000;

/// The receiver and the communicator of the first outcomes that no order of arrivals explains, nor
/// one in which `MPI_Startall` may have started its requests. Programs with threads are left out: the
/// order of their calls is unknown.
#[must_use]
pub fn unexplained(program: &TestProgram, history: &History) -> Option<(u8, Comm)> {
    if program.is_threaded() {
        return None;
    }
    let mut first = None;
    for order in program.orders() {
        let found = unexplained_in_order(&order, history)?;
        first = first.or(Some(found));
    }
    first
}

fn unexplained_in_order(program: &TestProgram, history: &History) -> Option<(u8, Comm)> {
    (0..program.ranks)
        .flat_map(|rank| Comm::ALL.map(|comm| (rank, comm)))
        .find(|&(rank, comm)| !Search::of(program, history, rank, comm).explains())
}

/// A call or an observation of the receiver, in its order.
#[derive(Clone, Copy, Debug)]
enum ReceiverEvent {
    /// It sent a message to itself, which may arrive from now on.
    SentToSelf,
    /// It posted a receive.
    Post(StepId, Pattern),
    /// A call reported that a receive is complete.
    Matched(StepId),
    /// A receive was cancelled.
    Cancelled(StepId),
    /// It probed.
    Probe(StepId, Pattern, Option<StepId>),
    /// It probed and took the message.
    MatchedProbe(StepId, Pattern, Option<StepId>),
}

struct Search<'a> {
    program: &'a TestProgram,
    events: Vec<ReceiverEvent>,
    /// The messages of each sender, in its order.
    senders: Vec<Vec<StepId>>,
    /// The rank itself.
    rank: u8,
    /// Receive and message.
    pairs: Vec<(StepId, StepId)>,
    seen: BTreeSet<(usize, Vec<usize>, Vec<StepId>)>,
}

/// A state of the search: the receiver's next event, and how many messages arrived from each
/// sender.
#[derive(Clone)]
struct SearchState {
    event: usize,
    arrived: Vec<usize>,
    to_self: usize,
    /// The unexpected messages, oldest first.
    unexpected: Vec<StepId>,
    oracle: Oracle,
}

impl<'a> Search<'a> {
    fn of(program: &'a TestProgram, history: &History, rank: u8, comm: Comm) -> Self {
        let mut senders = vec![Vec::new(); usize::from(program.ranks)];
        for (step, message) in program.messages() {
            if message.dest == Some(rank) && message.comm == comm {
                senders[usize::from(step.rank)].push(step.id);
            }
        }
        let events = &history.ranks[usize::from(rank)];
        let pairs = events.iter().filter_map(|(_, event)| match *event {
            HistoryEvent::Received(receive, message) => Some((receive, message)),
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
                    search.events.push(ReceiverEvent::SentToSelf);
                }
                if let Some(spec) = program.posted_spec(step).filter(|spec| spec.comm == comm)
                    && !matches!(step.action, Action::Restart(_))
                    && let Some(pattern) = spec.pattern()
                {
                    search.events.push(ReceiverEvent::Post(step.id, pattern));
                }
            }
            for (_, event) in events.iter().filter(|(at, _)| *at == place) {
                search.add(*event, comm);
            }
            // A receive ends before it is restarted.
            if let Some(step) = steps.get(place)
                && matches!(step.action, Action::Restart(_))
                && let Some(pattern) =
                    program.posted_spec(step).filter(|spec| spec.comm == comm).and_then(ReceiveSpec::pattern)
            {
                search.events.push(ReceiverEvent::Post(step.id, pattern));
            }
        }
        search
    }

    fn add(&mut self, event: HistoryEvent, comm: Comm) {
        let spec = |id: StepId| match &self.program.step(id)?.1.action {
            Action::Probe(spec, call) => Some((*spec, call.takes())),
            _ => self.program.posted_spec(self.program.step(id)?.1).map(|spec| (*spec, false)),
        };
        let here = |id: StepId| {
            let (spec, takes) = spec(id).filter(|(spec, _)| spec.comm == comm)?;
            Some((spec.pattern()?, takes))
        };
        let event = match event {
            HistoryEvent::Received(receive, _) => here(receive).map(|_| ReceiverEvent::Matched(receive)),
            HistoryEvent::Cancelled(receive) => here(receive).map(|_| ReceiverEvent::Cancelled(receive)),
            HistoryEvent::TakenByProbe(probe, message) => {
                here(probe).map(|(pattern, _)| ReceiverEvent::MatchedProbe(probe, pattern, Some(message)))
            }
            HistoryEvent::Found(probe, message) => {
                here(probe).map(|(pattern, _)| ReceiverEvent::Probe(probe, pattern, Some(message)))
            }
            HistoryEvent::FoundNothing(probe) => here(probe).map(|(pattern, takes)| {
                if takes {
                    ReceiverEvent::MatchedProbe(probe, pattern, None)
                } else {
                    ReceiverEvent::Probe(probe, pattern, None)
                }
            }),
            HistoryEvent::Drained(other, message) if other == comm => {
                ReceiveSpec::any(comm).pattern().map(|pattern| ReceiverEvent::MatchedProbe(0, pattern, Some(message)))
            }
            HistoryEvent::Drained(..) | HistoryEvent::Sent(_) | HistoryEvent::Irrelevant => None,
        };
        self.events.extend(event);
    }

    fn explains(&mut self) -> bool {
        let start = SearchState {
            event: 0,
            arrived: vec![0; self.senders.len()],
            to_self: 0,
            unexpected: Vec::new(),
            oracle: Oracle::new(),
        };
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            if self.seen.len() == MAX_STATES {
                return true;
            }
            if !self.seen.insert((state.event, state.arrived.clone(), state.unexpected.clone())) {
                continue;
            }
            if state.event == self.events.len()
                && state.arrived.iter().zip(&self.senders).all(|(arrived, sent)| *arrived == sent.len())
            {
                return true;
            }
            // A stack: the receiver advances as far as it can, then the message that it needs next
            // arrives.
            let needed = self.needed(&state);
            for from in 0..self.senders.len() {
                open.extend(self.arrive(&state, from));
            }
            open.extend(needed.and_then(|from| self.arrive(&state, from)));
            open.extend(self.advance(&state));
        }
        false
    }

    /// The sender of the message that the receiver's next event is about.
    fn needed(&self, state: &SearchState) -> Option<usize> {
        let message = match *self.events.get(state.event)? {
            ReceiverEvent::Probe(_, _, found) | ReceiverEvent::MatchedProbe(_, _, found) => found?,
            ReceiverEvent::Matched(receive) => self.pairs.iter().find(|(other, _)| *other == receive)?.1,
            ReceiverEvent::SentToSelf | ReceiverEvent::Post(..) | ReceiverEvent::Cancelled(_) => return None,
        };
        Some(usize::from(self.program.step(message)?.1.rank))
    }

    /// The next message of `from` arrives, if that agrees with the observations.
    fn arrive(&self, state: &SearchState, from: usize) -> Option<SearchState> {
        let &message = self.senders[from].get(state.arrived[from])?;
        if from == usize::from(self.rank) && state.arrived[from] >= state.to_self {
            return None;
        }
        let sent = self.program.step(message)?.1.action.message()?;
        let mut after = state.clone();
        after.arrived[from] += 1;
        let op = Op::Arrive { msg: MsgId(u64::from(message)), envelope: sent.envelope(from as u8) };
        if let Outcome::Matched(receive, _) = after.oracle.apply(op).0 {
            return self.pairs.contains(&(receive.0 as StepId, message)).then_some(after);
        }
        after.unexpected.push(message);
        Some(after)
    }

    /// The receiver's next event, if the oracle agrees with it.
    fn advance(&self, state: &SearchState) -> Option<SearchState> {
        let event = *self.events.get(state.event)?;
        let mut after = state.clone();
        after.event += 1;
        let agrees = match event {
            ReceiverEvent::SentToSelf => {
                after.to_self += 1;
                true
            }
            ReceiverEvent::Post(receive, pattern) => {
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
            ReceiverEvent::Matched(receive) => {
                let name = RecvId(u64::from(receive));
                after.oracle.apply(Op::Cancel { recv: name }).0 == Outcome::NotCancelled(name)
            }
            ReceiverEvent::Cancelled(receive) => {
                let name = RecvId(u64::from(receive));
                after.oracle.apply(Op::Cancel { recv: name }).0 == Outcome::Cancelled(name)
            }
            ReceiverEvent::Probe(probe, pattern, found) => {
                let name = ProbeId(u64::from(probe));
                let found = found.map(|message| MsgId(u64::from(message)));
                after.oracle.apply(Op::Probe { probe: name, pattern }).0 == Outcome::Probed(name, found)
            }
            ReceiverEvent::MatchedProbe(probe, pattern, found) => {
                let name = ProbeId(u64::from(probe));
                after.unexpected.retain(|&other| Some(other) != found);
                let found = found.map(|message| MsgId(u64::from(message)));
                after.oracle.apply(Op::MatchedProbe { probe: name, pattern }).0 == Outcome::Probed(name, found)
            }
        };
        agrees.then_some(after)
    }
}
