// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs of a program on an MPI library that does anything it may: one run after a random draw, or every outcome there is.
//!
//! The rules of matching are those of [`crate::judge`], here as a machine with a state, so that each checks the other.
//! [`Order::Arrival`] is the narrower contract of `spec/matching.md`: messages arrive, and lists are searched by age.

use std::collections::{BTreeMap, BTreeSet};

use mb_core::random::Random;

use crate::outcome::{Event, INTACT, NO_PROCESS, NO_TAG, News, Seen};
use crate::program::{Action, Comm, CompleteCall, Form, Message, Mode, Program, Source, Step, StepId, Wanted};

/// What a simulated library promises.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// What MPI does.
    Mpi,
    /// The order of arrival, as in `spec/matching.md`.
    Arrival,
}

/// How a simulated library behaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Library {
    /// What it promises.
    pub order: Order,
    /// Whether each send waits for its receive, as if it were synchronous.
    pub rendezvous: bool,
}

/// The news of each rank.
pub type Outcome = Vec<Vec<News>>;

/// One random run; `None` when it cannot go on.
#[must_use]
pub fn run(program: &Program, library: Library, random: &mut Random) -> Option<Outcome> {
    let mut state = State::start(program);
    let machine = Machine { program, library };
    loop {
        let mut next = machine.successors(&state);
        if next.is_empty() {
            return machine.is_over(&state).then_some(state.news);
        }
        state = next.swap_remove(random.below(next.len() as u64) as usize);
    }
}

/// Every outcome, or `None` when there are more than `most` states to go through.
///
/// # Errors
/// A state that cannot go on: the news until then.
pub fn explore(program: &Program, library: Library, most: usize) -> Result<Option<BTreeSet<Outcome>>, Outcome> {
    let machine = Machine { program, library };
    let mut seen = BTreeSet::new();
    let mut outcomes = BTreeSet::new();
    let mut open = vec![State::start(program)];
    while let Some(state) = open.pop() {
        if seen.contains(&state) {
            continue;
        }
        if seen.len() == most {
            return Ok(None);
        }
        let next = machine.successors(&state);
        if next.is_empty() {
            if !machine.is_over(&state) {
                return Err(state.news);
            }
            outcomes.insert(state.news.clone());
        }
        seen.insert(state);
        open.extend(next);
    }
    Ok(Some(outcomes))
}

/// One receiver's part of one communicator.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Queue {
    /// Posted and not matched, oldest first.
    posted: Vec<StepId>,
    /// Sent and not taken; under [`Order::Arrival`] sent and not arrived.
    sent: Vec<StepId>,
    /// Arrived and not taken, oldest first.
    arrived: Vec<StepId>,
    /// Found by a probe, and not accepted by any receive posted since.
    known: Vec<StepId>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct State {
    /// Of each rank: its next operation.
    next: Vec<usize>,
    news: Outcome,
    queues: BTreeMap<(u8, Comm), Queue>,
    /// Matched receives that no call has reported.
    matched: BTreeMap<StepId, StepId>,
    /// Requests that are active, each by the step that made it, with the posting that it stands for now.
    active: BTreeMap<StepId, StepId>,
    /// What an `MPI_Startall` is still to start.
    waiting: BTreeSet<StepId>,
    /// What matched probes hold; `None` is `MPI_MESSAGE_NO_PROC`.
    held: BTreeMap<StepId, Option<StepId>>,
    /// Messages that a receive took, or whose receive began after a matched probe.
    taken: BTreeSet<StepId>,
    /// Ranks that called a blocking operation and wait in it, or in a barrier.
    inside: BTreeSet<u8>,
    /// Messages that a rank has received.
    received: Vec<usize>,
}

impl State {
    fn start(program: &Program) -> Self {
        let ranks = usize::from(program.ranks);
        Self {
            next: vec![0; ranks],
            news: vec![Vec::new(); ranks],
            queues: BTreeMap::new(),
            matched: BTreeMap::new(),
            active: BTreeMap::new(),
            waiting: BTreeSet::new(),
            held: BTreeMap::new(),
            taken: BTreeSet::new(),
            inside: BTreeSet::new(),
            received: vec![0; ranks],
        }
    }
}

struct Machine<'a> {
    program: &'a Program,
    library: Library,
}

impl<'a> Machine<'a> {
    fn step(&self, id: StepId) -> &'a Step {
        self.program.step(id).expect("a valid program").1
    }

    fn message(&self, id: StepId) -> (u8, &'a Message) {
        let step = self.step(id);
        (step.rank, step.action.message().expect("a send"))
    }

    fn wanted(&self, id: StepId) -> Wanted {
        let step = self.step(id);
        match &step.action {
            Action::Probe(wanted, _) => *wanted,
            _ => *self.program.posted_by(step).expect("a receive"),
        }
    }

    fn accepts(&self, wanted: &Wanted, message: StepId) -> bool {
        let (from, message) = self.message(message);
        wanted.accepts(from, message)
    }

    fn is_over(&self, state: &State) -> bool {
        (0..self.program.ranks).all(|rank| state.next[usize::from(rank)] == self.program.of_rank(rank).count() + 1)
    }

    /// Every state that may come next.
    fn successors(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        for (&key, queue) in &state.queues {
            match self.library.order {
                Order::Mpi => self.matches(state, key, queue, &mut next),
                Order::Arrival => self.arrivals(state, key, queue, &mut next),
            }
        }
        for rank in 0..self.program.ranks {
            let place = state.next[usize::from(rank)];
            let step = self.program.of_rank(rank).nth(place);
            if !step.is_some_and(|step| step.action.is_together()) && self.start_one(state, rank, &mut next) {
                continue;
            }
            match step {
                Some(step) => self.perform(state, rank, step, &mut next),
                None if place == self.program.of_rank(rank).count() => self.finish(state, rank, &mut next),
                None => {}
            }
        }
        next
    }

    /// Starts any of what the `MPI_Startall` of `rank` still has to start; whether there was anything.
    fn start_one(&self, state: &State, rank: u8, next: &mut Vec<State>) -> bool {
        let waiting = state.waiting.iter().copied().filter(|&id| self.step(id).rank == rank);
        let count = waiting.clone().count();
        for id in waiting.filter(|&id| self.may_begin(state, id)) {
            let mut after = state.clone();
            after.waiting.remove(&id);
            self.begin(&mut after, rank, id);
            next.push(after);
        }
        count > 0
    }

    /// Whether the send of step `id` is not ready, or finds its receive posted.
    fn may_begin(&self, state: &State, id: StepId) -> bool {
        let Some(message) = self.step(id).action.message() else { return true };
        let Some(dest) = message.dest.filter(|_| message.mode == Mode::Ready) else { return true };
        let queue = state.queues.get(&(dest, message.comm));
        queue.is_some_and(|queue| queue.posted.iter().any(|&posted| self.accepts(&self.wanted(posted), id)))
    }

    /// Sends, or posts, without waiting.
    fn begin(&self, state: &mut State, rank: u8, id: StepId) {
        if self.step(id).action.message().is_some() {
            self.send(state, id);
        } else {
            self.post(state, rank, id);
        }
        state.active.insert(id, id);
    }

    /// Matches that the two rules allow: the oldest receive that accepts a message which is the sender's first for it.
    fn matches(&self, state: &State, key: (u8, Comm), queue: &Queue, next: &mut Vec<State>) {
        for &message in &queue.sent {
            let Some(&receive) = queue.posted.iter().find(|&&posted| self.accepts(&self.wanted(posted), message))
            else {
                continue;
            };
            if self.is_first(queue, &self.wanted(receive), message) {
                let mut after = state.clone();
                let queue = after.queues.get_mut(&key).expect("this queue");
                queue.posted.retain(|&other| other != receive);
                take(&mut after, key, message);
                after.matched.insert(receive, message);
                next.push(after);
            }
        }
    }

    /// Whether no earlier message of the sender of `message` is pending that `wanted` accepts as well.
    fn is_first(&self, queue: &Queue, wanted: &Wanted, message: StepId) -> bool {
        let (from, _) = self.message(message);
        let of_sender = queue.sent.iter().filter(|&&other| self.message(other).0 == from);
        of_sender.copied().find(|&other| self.accepts(wanted, other)) == Some(message)
    }

    /// The next message of each sender arrives.
    fn arrivals(&self, state: &State, key: (u8, Comm), queue: &Queue, next: &mut Vec<State>) {
        for from in 0..self.program.ranks {
            let Some(&message) = queue.sent.iter().find(|&&message| self.message(message).0 == from) else { continue };
            let mut after = state.clone();
            let queue = after.queues.get_mut(&key).expect("this queue");
            queue.sent.retain(|&other| other != message);
            match queue.posted.iter().position(|&posted| self.accepts(&self.wanted(posted), message)) {
                Some(index) => {
                    let receive = queue.posted.remove(index);
                    after.taken.insert(message);
                    after.matched.insert(receive, message);
                }
                None => queue.arrived.push(message),
            }
            next.push(after);
        }
    }

    /// The messages that a probe may find now; a receive under [`Order::Arrival`] takes the one there is.
    fn visible(&self, queue: &Queue, wanted: &Wanted) -> Vec<StepId> {
        match self.library.order {
            Order::Mpi => {
                let is_visible = |message: &StepId| {
                    self.accepts(wanted, *message)
                        && self.is_first(queue, wanted, *message)
                        && !queue.posted.iter().any(|&posted| self.accepts(&self.wanted(posted), *message))
                };
                queue.sent.iter().copied().filter(is_visible).collect()
            }
            Order::Arrival => {
                queue.arrived.iter().copied().find(|&message| self.accepts(wanted, message)).into_iter().collect()
            }
        }
    }

    /// Whether a probe may find nothing now.
    fn may_miss(&self, queue: &Queue, wanted: &Wanted) -> bool {
        match self.library.order {
            Order::Mpi => !queue.known.iter().any(|&message| self.accepts(wanted, message)),
            Order::Arrival => self.visible(queue, wanted).is_empty(),
        }
    }

    /// Whether the send of step `id` may be complete.
    fn is_sent(&self, state: &State, id: StepId) -> bool {
        let (_, message) = self.message(id);
        message.dest.is_none()
            || state.taken.contains(&id)
            || match message.mode {
                Mode::Synchronous => false,
                Mode::Standard | Mode::Ready => !self.library.rendezvous,
                Mode::Buffered => true,
            }
    }

    fn post(&self, state: &mut State, rank: u8, id: StepId) {
        let wanted = self.wanted(id);
        if wanted.source == Source::Null {
            return;
        }
        let key = (rank, wanted.comm);
        let found = {
            let queue = state.queues.entry(key).or_default();
            queue.known.retain(|&message| !self.accepts(&wanted, message));
            match self.library.order {
                Order::Mpi => None,
                Order::Arrival => self.visible(queue, &wanted).first().copied(),
            }
        };
        if let Some(message) = found {
            take(state, key, message);
            state.matched.insert(id, message);
        } else if let Some(queue) = state.queues.get_mut(&key) {
            queue.posted.push(id);
        }
    }

    fn send(&self, state: &mut State, id: StepId) {
        let (_, message) = self.message(id);
        if let Some(dest) = message.dest {
            state.queues.entry((dest, message.comm)).or_default().sent.push(id);
        }
    }

    /// What the status of `message` says.
    fn seen(&self, id: StepId, is_probe: bool) -> Seen {
        let (from, message) = self.message(id);
        let count = message.bulk.bytes(id) as i32;
        Seen {
            source: i32::from(message.comm.rank_of(from, self.program.ranks)),
            tag: i32::from(message.tag),
            count,
            message: (!is_probe && count > 0).then_some(id),
            flags: if is_probe { 0 } else { INTACT },
        }
    }

    /// The news that the receive of `posting` is complete; `None` while it is not.
    fn reception(&self, state: &State, posting: StepId) -> Option<Event> {
        if self.wanted(posting).source == Source::Null {
            return Some(Event::Received { step: posting, seen: NOBODY });
        }
        let message = *state.matched.get(&posting)?;
        if self.wanted(posting).truncates(message, self.message(message).1) {
            let seen = Seen { count: 0, message: None, flags: 0, ..self.seen(message, false) };
            return Some(Event::Truncated { step: posting, seen });
        }
        Some(Event::Received { step: posting, seen: self.seen(message, false) })
    }

    /// The news that the request of step `id` is complete; `None` while it is not.
    fn completion(&self, state: &State, id: StepId) -> Option<Event> {
        let posting = *state.active.get(&id)?;
        match &self.step(id).action {
            Action::Send(..) => self.is_sent(state, id).then_some(Event::Sent { step: id }),
            Action::Take(of, _) => Some(Event::Received { step: id, seen: self.held_seen(state, *of) }),
            _ => self.reception(state, posting),
        }
    }

    fn held_seen(&self, state: &State, probe: StepId) -> Seen {
        state.held.get(&probe).copied().flatten().map_or(NOBODY, |message| self.seen(message, false))
    }

    fn tell(state: &mut State, rank: u8, event: Event) {
        let rank = usize::from(rank);
        state.received[rank] += usize::from(match event {
            Event::Received { seen, .. } | Event::Drained { seen, .. } => seen.source != NO_PROCESS,
            Event::Truncated { .. } => true,
            _ => false,
        });
        state.news[rank].push(News { at: state.next[rank], event });
    }

    /// Reports the completion of the request of step `id`, if it is complete.
    fn report(&self, state: &mut State, rank: u8, id: StepId) -> bool {
        let Some(event) = self.completion(state, id) else { return false };
        state.active.remove(&id);
        if let Action::Take(of, _) = self.step(id).action {
            state.held.remove(&of);
        }
        Self::tell(state, rank, event);
        true
    }

    fn advance(state: &mut State, rank: u8) {
        state.inside.remove(&rank);
        state.next[usize::from(rank)] += 1;
    }

    /// What the next step of `rank` may come to.
    fn perform(&self, state: &State, rank: u8, step: &Step, next: &mut Vec<State>) {
        let id = step.id;
        let is_called = state.inside.contains(&rank);
        if !is_called && !step.action.is_together() && !self.may_begin(state, id) {
            return;
        }
        let mut after = state.clone();
        // A blocking call is a start, and an end that waits.
        if step.action.waits() && !is_called {
            match &step.action {
                Action::Send(..) => self.send(&mut after, id),
                Action::Receive(..) => self.post(&mut after, rank, id),
                Action::SendReceive(..) => {
                    self.send(&mut after, id);
                    self.post(&mut after, rank, id);
                }
                _ => {}
            }
            after.inside.insert(rank);
            next.push(after);
            return;
        }
        match &step.action {
            Action::Send(_, Form::Blocking) => {
                if self.is_sent(state, id) {
                    Self::tell(&mut after, rank, Event::Sent { step: id });
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::Receive(_, Form::Blocking) => {
                if let Some(event) = self.reception(state, id) {
                    Self::tell(&mut after, rank, event);
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::SendReceive(..) => {
                if let Some(event) = self.reception(state, id)
                    && self.is_sent(state, id)
                {
                    Self::tell(&mut after, rank, Event::Sent { step: id });
                    Self::tell(&mut after, rank, event);
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::Send(_, Form::Together) | Action::Receive(_, Form::Together) => {
                after.waiting.insert(id);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Send(..) | Action::Receive(..) => {
                self.begin(&mut after, rank, id);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Restart(of) => {
                self.cancel(&mut after, rank, *of);
                self.post(&mut after, rank, id);
                after.active.insert(*of, id);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Cancel(of) => {
                self.cancel(&mut after, rank, *of);
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Probe(wanted, call) => self.probe(state, rank, id, wanted, *call, next),
            Action::Take(of, nonblocking) => {
                if *nonblocking && state.held.contains_key(of) {
                    after.taken.extend(state.held[of]);
                    after.active.insert(id, id);
                } else {
                    self.take_held(&mut after, rank, *of, id);
                }
                Self::advance(&mut after, rank);
                next.push(after);
            }
            Action::Complete(call, of) => self.complete(state, rank, *call, of, next),
            Action::Barrier => {
                let is_there = |other: u8| {
                    let place = self.program.of_rank(other).position(|step| step.id == id).unwrap_or_default();
                    let at = state.next[usize::from(other)];
                    at > place || at == place && state.inside.contains(&other)
                };
                if (0..self.program.ranks).all(is_there) {
                    Self::advance(&mut after, rank);
                    next.push(after);
                }
            }
            Action::Pause => {
                Self::advance(&mut after, rank);
                next.push(after);
            }
        }
    }

    /// Receives what the matched probe `of` holds, on behalf of step `id`.
    fn take_held(&self, state: &mut State, rank: u8, of: StepId, id: StepId) {
        if state.held.contains_key(&of) {
            let seen = self.held_seen(state, of);
            state.taken.extend(state.held.remove(&of).flatten());
            Self::tell(state, rank, Event::Received { step: id, seen });
        }
    }

    /// Cancels the request of step `of` if it is active, and waits for it.
    fn cancel(&self, state: &mut State, rank: u8, of: StepId) {
        let Some(&posting) = state.active.get(&of) else { return };
        if self.report(state, rank, of) {
            return;
        }
        state.active.remove(&of);
        let wanted = self.wanted(posting);
        if let Some(queue) = state.queues.get_mut(&(rank, wanted.comm)) {
            queue.posted.retain(|&other| other != posting);
        }
        Self::tell(state, rank, Event::Cancelled { step: posting });
    }

    fn probe(
        &self,
        state: &State,
        rank: u8,
        id: StepId,
        wanted: &Wanted,
        call: crate::program::ProbeCall,
        next: &mut Vec<State>,
    ) {
        if wanted.source == Source::Null {
            let mut after = state.clone();
            if call.takes() {
                after.held.insert(id, None);
            }
            Self::tell(&mut after, rank, Event::Found { step: id, seen: Seen { flags: 0, ..NOBODY } });
            Self::advance(&mut after, rank);
            next.push(after);
            return;
        }
        let key = (rank, wanted.comm);
        let empty = Queue::default();
        let queue = state.queues.get(&key).unwrap_or(&empty);
        for message in self.visible(queue, wanted) {
            let mut after = state.clone();
            if call.takes() {
                pluck(&mut after, key, message);
                after.held.insert(id, Some(message));
            } else if self.library.order == Order::Mpi
                && let Some(queue) = after.queues.get_mut(&key)
                && !queue.known.contains(&message)
            {
                queue.known.push(message);
                queue.known.sort_unstable();
            }
            Self::tell(&mut after, rank, Event::Found { step: id, seen: self.seen(message, true) });
            Self::advance(&mut after, rank);
            next.push(after);
        }
        if !call.waits() && self.may_miss(queue, wanted) {
            let mut after = state.clone();
            Self::tell(&mut after, rank, Event::Missed { step: id });
            Self::advance(&mut after, rank);
            next.push(after);
        }
    }

    fn complete(&self, state: &State, rank: u8, call: CompleteCall, of: &[StepId], next: &mut Vec<State>) {
        let active: Vec<StepId> = of.iter().copied().filter(|id| state.active.contains_key(id)).collect();
        let ready: Vec<StepId> = active.iter().copied().filter(|&id| self.completion(state, id).is_some()).collect();
        let mut outcome = |reported: &[StepId]| {
            let mut after = state.clone();
            for &id in reported {
                self.report(&mut after, rank, id);
            }
            Self::advance(&mut after, rank);
            next.push(after);
        };
        let is_all =
            matches!(call, CompleteCall::Wait | CompleteCall::Waitall | CompleteCall::Test | CompleteCall::Testall);
        if active.is_empty() {
            outcome(&[]);
            return;
        }
        if is_all && ready == active {
            outcome(&ready);
        } else if matches!(call, CompleteCall::Waitany | CompleteCall::Testany) {
            for &id in &ready {
                outcome(&[id]);
            }
        } else if !is_all {
            for choice in 1_u32..1 << ready.len() {
                let chosen = ready.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
                outcome(&chosen.map(|(_, &id)| id).collect::<Vec<_>>());
            }
        }
        if !call.waits() {
            outcome(&[]);
        }
    }

    /// What a rank may do after its steps.
    fn finish(&self, state: &State, rank: u8, next: &mut Vec<State>) {
        let own = |id: &StepId| self.step(*id).rank == rank;
        // What matched probes hold comes first, except what a request is under way for.
        let promised = |probe: &StepId| {
            state.active.keys().any(|id| matches!(self.step(*id).action, Action::Take(of, _) if of == *probe))
        };
        if let Some(&probe) = state.held.keys().find(|probe| own(probe) && !promised(probe)) {
            let mut after = state.clone();
            self.take_held(&mut after, rank, probe, probe);
            next.push(after);
            return;
        }
        let is_send = |id: &StepId| matches!(self.step(*id).action, Action::Send(..));
        let active: Vec<StepId> = state.active.keys().copied().filter(own).collect();
        let is_complete = state.received[usize::from(rank)] >= self.program.messages_to(rank);
        if is_complete && !active.iter().any(is_send) {
            let mut after = state.clone();
            for id in active {
                self.cancel(&mut after, rank, id);
            }
            after.next[usize::from(rank)] += 1;
            next.push(after);
            return;
        }
        for id in active {
            let mut after = state.clone();
            if self.report(&mut after, rank, id) {
                next.push(after);
            }
        }
        for comm in Comm::ALL {
            let key = (rank, comm);
            let Some(queue) = state.queues.get(&key) else { continue };
            for message in self.visible(queue, &Wanted::any(comm)) {
                let mut after = state.clone();
                take(&mut after, key, message);
                Self::tell(&mut after, rank, Event::Drained { comm, seen: self.seen(message, false) });
                next.push(after);
            }
        }
    }
}

/// What a status says of `MPI_PROC_NULL`.
const NOBODY: Seen = Seen { source: NO_PROCESS, tag: NO_TAG, count: 0, message: None, flags: INTACT };

fn take(state: &mut State, key: (u8, Comm), message: StepId) {
    pluck(state, key, message);
    state.taken.insert(message);
}

/// `message` takes no more part in matching.
fn pluck(state: &mut State, key: (u8, Comm), message: StepId) {
    if let Some(queue) = state.queues.get_mut(&key) {
        queue.sent.retain(|&other| other != message);
        queue.arrived.retain(|&other| other != message);
        queue.known.retain(|&other| other != message);
    }
}
