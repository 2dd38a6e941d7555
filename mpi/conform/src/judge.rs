// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether MPI permits an observed outcome.
//!
//! MPI promises less than `spec/matching.md`: it defines no arrivals. A message may be matched at
//! any time after it was sent, a receive at any time after it was posted, under two rules (MPI 4.1,
//! 3.5, "Order"):
//!
//! - *messages*: a receive does not match a message while an earlier message from the same sender
//!   that it also accepts is pending;
//! - *receives*: a message does not match a receive while an earlier receive that also accepts it
//!   is pending.
//!
//! A probe finds the message that a receive in its place would match (3.8.1), and a matched probe
//! takes it (3.8.2). A message found by a probe stays visible to later probes that accept it, until
//! a receive that accepts it is posted.
//!
//! The payload shows which receive took which message. Each rule therefore orders two known events.
//! So do the program order of each rank, sending before matching, matching before completion (of
//! receives and of synchronous sends), and barriers. MPI permits the outcome if and only if these
//! orders contain no cycle: any order of the events that agrees with them is a possible run. A
//! cycle is the explanation of a violation. Only the order in which `MPI_Startall` starts its
//! requests is unknown; the outcome is permitted if one of these orders has no cycle.
//!
//! Two operations of different threads of a rank are not ordered by the program. MPI calls them
//! logically concurrent: their messages or receives match in either order (MPI 4.1, 3.5). *Earlier*
//! and *older* above therefore mean earlier in the same thread, or before the drain phase, which
//! begins when all threads of the rank have ended. Partitioned communication matches in the order of
//! its initialization, and nothing else (MPI 4.1, 4.2); the two rules say the same about it.
//!
//! Tests: `what_is_allowed_is_what_can_happen`, `what_threads_may_do_is_what_can_happen`.

use std::collections::{BTreeMap, VecDeque};

use crate::history::{History, HistoryEvent};
use crate::outcome::Observation;
use crate::program::{Action, Comm, ProgramStep, ReceiveSpec, SendMode, StepId, TestProgram};
use crate::violation::{Link, Reason, Violation};

/// Judges the observations of each rank. `is_complete`: the program ended.
#[must_use]
pub fn violation(program: &TestProgram, observations: &[&[Observation]], is_complete: bool) -> Option<Violation> {
    match History::resolve(program, observations, is_complete) {
        Err(defect) => Some(Violation::Defect(defect)),
        Ok(history) => violation_of(program, &history),
    }
}

/// The violation in a history, if there is one.
#[must_use]
pub fn violation_of(program: &TestProgram, history: &History) -> Option<Violation> {
    let order = order_violation(program, history).map(Violation::Order);
    let null = || history.null.first().cloned().map(Violation::Null);
    let truncation = || history.truncation.first().cloned().map(Violation::Truncation);
    let status = || history.status.first().cloned().map(Violation::Status);
    order.or_else(null).or_else(truncation).or_else(status)
}

/// A shortest cycle in the orders of `history`, if there is one in every order of `MPI_Startall`;
/// that of the schedule is returned.
#[must_use]
pub fn order_violation(program: &TestProgram, history: &History) -> Option<Vec<Link>> {
    let mut first = None;
    for order in program.orders() {
        let found = cycle_in_order(&order, history)?;
        first = first.or(Some(found));
    }
    first
}

fn cycle_in_order(program: &TestProgram, history: &History) -> Option<Vec<Link>> {
    let graph = Graph::of(program, history);
    let cycle = graph.shortest_cycle()?;
    Some(graph.describe(&cycle))
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    /// A rank calls its operation with this index.
    Call(u8, usize),
    /// A call reports the rank's event with this index.
    Report(u8, usize),
    /// A receive and a message are matched.
    Match(StepId),
    /// Every rank has entered the barrier of this step.
    BarrierComplete(StepId),
}

/// A receive or probe that takes or finds a message.
#[derive(Clone, Copy)]
struct Taker {
    /// What it accepts.
    spec: ReceiveSpec,
    /// Index of the operation in its rank; receives posted before it are older.
    place: usize,
    /// The event in which it takes or finds the message.
    node: usize,
}

struct Graph<'a> {
    program: &'a TestProgram,
    history: &'a History,
    nodes: Vec<Node>,
    numbers: BTreeMap<Node, usize>,
    edges: Vec<Vec<(usize, Reason)>>,
}

impl<'a> Graph<'a> {
    fn of(program: &'a TestProgram, history: &'a History) -> Self {
        let mut graph = Self { program, history, nodes: Vec::new(), numbers: BTreeMap::new(), edges: Vec::new() };
        for rank in 0..program.ranks {
            graph.add_rank(rank);
        }
        for rank in 0..program.ranks {
            graph.add_matching(rank);
        }
        graph
    }

    fn node(&mut self, node: Node) -> usize {
        let next = self.nodes.len();
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.nodes.push(node);
            self.edges.push(Vec::new());
        }
        number
    }

    fn before(&mut self, before: usize, after: usize, reason: Reason) {
        self.edges[before].push((after, reason));
    }

    /// The index of step `id` among the operations of its rank.
    fn place(&self, rank: u8, id: StepId) -> Option<usize> {
        self.program.of_rank(rank).position(|step| step.id == id)
    }

    /// Adds the calls and reports of `rank` in program order, and their edges to matches and
    /// barriers.
    fn add_rank(&mut self, rank: u8) {
        let steps: Vec<_> = self.program.of_rank(rank).collect();
        let drain = self.node(Node::Call(rank, steps.len()));
        for thread in 0..self.program.threads(rank) {
            let mut last = None;
            for (place, step) in steps.iter().enumerate().filter(|(_, step)| step.thread == thread) {
                let call = self.node(Node::Call(rank, place));
                if let Some(last) = last {
                    self.before(last, call, Reason::TestProgram);
                }
                let mut called = call;
                if step.action == Action::Barrier {
                    called = self.node(Node::BarrierComplete(step.id));
                    self.before(call, called, Reason::Barrier);
                }
                last = Some(self.add_reports(rank, place, called));
            }
            if let Some(last) = last {
                self.before(last, drain, Reason::TestProgram);
            }
        }
        self.add_reports(rank, steps.len(), drain);
    }

    /// Adds the reports of the operation at `place` after `last`; returns the last one.
    fn add_reports(&mut self, rank: u8, place: usize, mut last: usize) -> usize {
        let events = &self.history.ranks[usize::from(rank)];
        for (index, &(_, event)) in events.iter().enumerate().filter(|(_, (at, _))| *at == place) {
            let report = self.node(Node::Report(rank, index));
            self.before(last, report, Reason::TestProgram);
            last = report;
            self.add_event(rank, report, event);
        }
        last
    }

    fn add_event(&mut self, rank: u8, report: usize, event: HistoryEvent) {
        match event {
            HistoryEvent::Received(receive, message) => {
                let taken = self.node(Node::Match(message));
                self.before(taken, report, Reason::Completed);
                if let Some(place) = self.place(rank, receive) {
                    let post = self.node(Node::Call(rank, place));
                    self.before(post, taken, Reason::Posted);
                }
                self.add_sending(message, taken);
            }
            HistoryEvent::TakenByProbe(_, message)
            | HistoryEvent::Drained(_, message)
            | HistoryEvent::Found(_, message) => {
                self.add_sending(message, report);
            }
            HistoryEvent::Sent(send) => {
                let message = self.program.step(send).and_then(|(_, step)| step.action.message());
                if message.is_some_and(|message| message.mode == SendMode::Synchronous && message.dest.is_some())
                    && let Some(received) = self.reception_of(send)
                {
                    self.before(received, report, Reason::Completed);
                }
            }
            HistoryEvent::Cancelled(_) | HistoryEvent::FoundNothing(_) | HistoryEvent::Irrelevant => {}
        }
    }

    fn add_sending(&mut self, message: StepId, event: usize) {
        if let Some((_, step)) = self.program.step(message)
            && let Some(place) = self.place(step.rank, message)
        {
            let send = self.node(Node::Call(step.rank, place));
            self.before(send, event, Reason::Sent);
        }
    }

    /// The event in which `message` is taken.
    fn taken(&mut self, message: StepId) -> Option<usize> {
        for (rank, events) in (0..).zip(&self.history.ranks) {
            for (index, (_, event)) in events.iter().enumerate() {
                match *event {
                    HistoryEvent::Received(_, other) if other == message => {
                        return Some(self.node(Node::Match(message)));
                    }
                    HistoryEvent::TakenByProbe(_, other) | HistoryEvent::Drained(_, other) if other == message => {
                        return Some(self.node(Node::Report(rank, index)));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// The event in which the receive of `message` begins; after a matched probe this is later than
    /// the match.
    fn reception_of(&mut self, message: StepId) -> Option<usize> {
        let matched_probes = (0..).zip(&self.history.ranks).find_map(|(rank, events)| {
            events.iter().find_map(|(_, event)| match *event {
                HistoryEvent::TakenByProbe(probe, other) if other == message => Some((rank, probe)),
                _ => None,
            })
        });
        let Some((rank, probe)) = matched_probes else { return self.taken(message) };
        let steps = self.program.of_rank(rank);
        let place =
            steps.into_iter().position(|step| matches!(step.action, Action::ReceiveProbed(of, _) if of == probe));
        let place = place.unwrap_or_else(|| self.program.of_rank(rank).count());
        Some(self.node(Node::Call(rank, place)))
    }

    /// The event after which the receive posted by `receive` matches nothing more.
    fn end_of_receive(&mut self, rank: u8, receive: StepId) -> Option<usize> {
        let events = &self.history.ranks[usize::from(rank)];
        let (index, (_, event)) = events.iter().enumerate().find(
            |(_, (_, event))| matches!(*event, HistoryEvent::Received(other, _) | HistoryEvent::Cancelled(other) if other == receive),
        )?;
        Some(match *event {
            HistoryEvent::Received(_, message) => self.node(Node::Match(message)),
            _ => self.node(Node::Report(rank, index)),
        })
    }

    /// Adds the edges of the two rules and of probes for the messages to `rank`.
    fn add_matching(&mut self, rank: u8) {
        let end = self.program.of_rank(rank).count();
        let events = &self.history.ranks[usize::from(rank)];
        for (index, (_, event)) in events.iter().enumerate() {
            let report = self.node(Node::Report(rank, index));
            let spec_of = |graph: &Self, step: StepId| {
                let (_, step) = graph.program.step(step)?;
                match &step.action {
                    Action::Probe(spec, _) => Some(*spec),
                    _ => graph.program.posted_spec(step).copied(),
                }
            };
            match *event {
                HistoryEvent::Received(step, message) => {
                    let node = self.node(Node::Match(message));
                    if let (Some(spec), Some(place)) = (spec_of(self, step), self.place(rank, step)) {
                        self.add_rules(rank, message, Taker { spec, place, node });
                    }
                }
                HistoryEvent::TakenByProbe(step, message) | HistoryEvent::Found(step, message) => {
                    if let (Some(spec), Some(place)) = (spec_of(self, step), self.place(rank, step)) {
                        self.add_rules(rank, message, Taker { spec, place, node: report });
                        if matches!(event, HistoryEvent::Found(..)) {
                            if let Some(taken) = self.taken(message) {
                                self.before(report, taken, Reason::Found);
                            }
                            self.add_known(rank, step, message, place);
                        }
                    }
                }
                HistoryEvent::Drained(comm, message) => {
                    let spec = ReceiveSpec::any(comm);
                    self.add_rules(rank, message, Taker { spec, place: end, node: report });
                }
                HistoryEvent::Cancelled(_)
                | HistoryEvent::FoundNothing(_)
                | HistoryEvent::Sent(_)
                | HistoryEvent::Irrelevant => {}
            }
        }
    }

    /// `taker` takes or finds `message`: earlier messages of the sender that it accepts were taken
    /// before, and older receives that accept the message ended before.
    fn add_rules(&mut self, rank: u8, message: StepId, taker: Taker) {
        let program = self.program;
        let Some((_, sender)) = program.step(message) else { return };
        let Some(envelope) = sender.action.message() else { return };
        for (step, other) in program.messages() {
            if step.id == message {
                break;
            }
            if step.lane() == sender.lane()
                && other.dest == Some(rank)
                && taker.spec.accepts(step.rank, other)
                && let Some(taken) = self.taken(step.id)
            {
                self.before(taken, taker.node, Reason::Overtaking(step.id, message));
            }
        }
        let thread = program.thread_at(rank, taker.place);
        for (place, step) in program.of_rank(rank).enumerate().take(taker.place) {
            if thread.is_some_and(|thread| thread != step.thread) {
                continue;
            }
            if program.posted_spec(step).is_some_and(|spec| spec.accepts(sender.rank, envelope))
                && let Some(end) = self.end_of_receive(rank, step.id)
            {
                debug_assert!(place < taker.place);
                self.before(end, taker.node, Reason::OlderReceive(step.id, message));
            }
        }
    }

    /// Probe `probe` at `place` found `message`: later probes that accept it find a message while
    /// it is pending.
    fn add_known(&mut self, rank: u8, probe: StepId, message: StepId, place: usize) {
        let program = self.program;
        let Some((_, sender)) = program.step(message) else { return };
        let Some(envelope) = sender.action.message() else { return };
        let Some(taken) = self.taken(message) else { return };
        let thread = program.thread_at(rank, place);
        let takes = |step: &ProgramStep| {
            let spec = match &step.action {
                Action::Probe(spec, call) => call.takes().then_some(spec),
                _ => program.posted_spec(step),
            };
            spec.is_some_and(|spec| spec.accepts(sender.rank, envelope))
        };
        // What another thread takes may have been taken at any time.
        if program.of_rank(rank).any(|step| Some(step.thread) != thread && takes(step)) {
            return;
        }
        for step in program.of_rank(rank).skip(place + 1).filter(|step| Some(step.thread) == thread) {
            if program.posted_spec(step).is_some_and(|spec| spec.accepts(sender.rank, envelope)) {
                return;
            }
            if let Action::Probe(spec, _) = &step.action
                && spec.accepts(sender.rank, envelope)
            {
                let missed = self.history.ranks[usize::from(rank)]
                    .iter()
                    .position(|(_, event)| *event == HistoryEvent::FoundNothing(step.id));
                if let Some(index) = missed {
                    let report = self.node(Node::Report(rank, index));
                    self.before(taken, report, Reason::Known(probe, message));
                }
            }
        }
    }

    /// A shortest cycle, as nodes with the edge that leaves each.
    fn shortest_cycle(&self) -> Option<Vec<(usize, Reason)>> {
        let suspects = self.on_cycles();
        let cycles = suspects.iter().filter_map(|&start| self.cycle_through(start));
        // Edges of program order are not counted: they need no explanation.
        cycles.min_by_key(|cycle| {
            (cycle.iter().filter(|(_, reason)| *reason != Reason::TestProgram).count(), cycle.len())
        })
    }

    /// Nodes left after repeatedly removing those without predecessors; none if there is no cycle.
    fn on_cycles(&self) -> Vec<usize> {
        let mut incoming = vec![0; self.nodes.len()];
        for (to, _) in self.edges.iter().flatten() {
            incoming[*to] += 1;
        }
        let mut free: Vec<usize> = (0..self.nodes.len()).filter(|&node| incoming[node] == 0).collect();
        while let Some(node) = free.pop() {
            for (to, _) in &self.edges[node] {
                incoming[*to] -= 1;
                if incoming[*to] == 0 {
                    free.push(*to);
                }
            }
        }
        (0..self.nodes.len()).filter(|&node| incoming[node] > 0).collect()
    }

    /// A shortest path from `start` back to it, breadth first; edges of program order cost nothing.
    fn cycle_through(&self, start: usize) -> Option<Vec<(usize, Reason)>> {
        let mut from: Vec<Option<(usize, Reason)>> = vec![None; self.nodes.len()];
        let mut cost = vec![u32::MAX; self.nodes.len()];
        let mut queue = VecDeque::from([start]);
        cost[start] = 0;
        let mut closing: Option<(u32, usize, Reason)> = None;
        while let Some(node) = queue.pop_front() {
            for &(to, reason) in &self.edges[node] {
                let step = u32::from(reason != Reason::TestProgram);
                let total = cost[node] + step;
                if to == start {
                    if closing.is_none_or(|(least, ..)| total < least) {
                        closing = Some((total, node, reason));
                    }
                } else if total < cost[to] {
                    cost[to] = total;
                    from[to] = Some((node, reason));
                    if step == 0 { queue.push_front(to) } else { queue.push_back(to) }
                }
            }
        }
        let (_, mut node, reason) = closing?;
        let mut cycle = vec![(node, reason)];
        while node != start {
            let (previous, reason) = from[node]?;
            cycle.push((previous, reason));
            node = previous;
        }
        cycle.reverse();
        Some(cycle)
    }

    /// Describes a cycle in words; consecutive edges of program order become one link.
    fn describe(&self, cycle: &[(usize, Reason)]) -> Vec<Link> {
        let starts = cycle.iter().position(|(_, reason)| *reason != Reason::TestProgram).unwrap_or(0);
        let turned: Vec<_> = (0..cycle.len()).map(|index| cycle[(starts + index) % cycle.len()]).collect();
        let mut links: Vec<Link> = Vec::new();
        for (index, &(node, reason)) in turned.iter().enumerate() {
            let (next, _) = turned[(index + 1) % turned.len()];
            let after = self.name(next);
            match links.last_mut() {
                Some(last) if last.reason == Reason::TestProgram && reason == Reason::TestProgram => last.after = after,
                _ => links.push(Link { before: self.name(node), after, reason }),
            }
        }
        links
    }

    fn name(&self, node: usize) -> String {
        match self.nodes[node] {
            Node::BarrierComplete(barrier) => format!("barrier {barrier}"),
            Node::Match(message) => {
                let events = self.history.ranks.iter().flatten();
                let taker = events.into_iter().find_map(|(_, event)| match *event {
                    HistoryEvent::Received(receive, other) if other == message => Some(receive),
                    _ => None,
                });
                format!("receive {} takes message {message}", taker.unwrap_or_default())
            }
            Node::Call(rank, place) => self.name_call(rank, place),
            Node::Report(rank, index) => {
                let (at, event) = self.history.ranks[usize::from(rank)][index];
                let call = self.name_call(rank, at);
                match event {
                    HistoryEvent::Received(receive, _) => format!("{call} reports that receive {receive} is complete"),
                    HistoryEvent::TakenByProbe(probe, message) => {
                        format!("matched probe {probe} takes message {message}")
                    }
                    HistoryEvent::Drained(_, message) => {
                        format!("rank {rank} receives message {message} in the drain phase")
                    }
                    HistoryEvent::Cancelled(receive) => format!("receive {receive} is cancelled"),
                    HistoryEvent::Found(probe, message) => format!("probe {probe} finds message {message}"),
                    HistoryEvent::FoundNothing(probe) => format!("probe {probe} finds nothing"),
                    HistoryEvent::Sent(send) => format!("{call} reports that send {send} is complete"),
                    HistoryEvent::Irrelevant => call,
                }
            }
        }
    }

    fn name_call(&self, rank: u8, place: usize) -> String {
        match self.program.of_rank(rank).nth(place) {
            Some(step) => format!("step {}", step.id),
            None => format!("the drain phase of rank {rank}"),
        }
    }
}

/// Messages that no rank is known to have received, for a program that did not end.
#[must_use]
pub fn missing(program: &TestProgram, history: &History) -> Vec<StepId> {
    let events: Vec<HistoryEvent> = history.ranks.iter().flatten().map(|(_, event)| *event).collect();
    let is_taken = |id: StepId| {
        events.iter().any(|event| {
            let (HistoryEvent::Received(_, message)
            | HistoryEvent::TakenByProbe(_, message)
            | HistoryEvent::Drained(_, message)) = *event
            else {
                return false;
            };
            message == id
        })
    };
    program.messages().map(|(step, _)| step.id).filter(|&id| !is_taken(id)).collect()
}

/// Communicators that a program uses.
#[must_use]
pub fn comms(program: &TestProgram) -> Vec<Comm> {
    let uses = |comm: Comm| {
        program.steps.iter().any(|step| {
            step.action.message().is_some_and(|message| message.comm == comm)
                || step.action.spec().is_some_and(|spec| spec.comm == comm)
                || matches!(step.action, Action::Probe(spec, _) if spec.comm == comm)
        })
    };
    Comm::ALL.into_iter().filter(|&comm| uses(comm)).collect()
}
