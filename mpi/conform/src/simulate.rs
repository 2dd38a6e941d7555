// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Simulated MPI libraries: one random run of a test program, or all permitted outcomes.
//!
//! The matching rules are those of [`crate::judge`], here as a state machine, so that each checks
//! the other. [`Contract::Arrival`] is the narrower contract of `spec/matching.md`: messages
//! arrive, and the oldest entry matches.

mod calls;
mod matching;
mod results;

use std::collections::{BTreeMap, BTreeSet};

use mb_core::random::Random;

use crate::outcome::ObservedOutcome;
use crate::program::{Action, Comm, Lane, Message, ProgramStep, ReceiveSpec, StepId, TestProgram};

/// The ordering that a simulated library guarantees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Contract {
    /// MPI's.
    Mpi,
    /// The order of arrival, as in `spec/matching.md`.
    Arrival,
}

/// How a simulated library behaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SimulatedLibrary {
    /// The ordering that it guarantees.
    pub contract: Contract,
    /// Whether every send waits for its receive, as a synchronous one does.
    pub rendezvous: bool,
    /// Its fault.
    pub fault: Option<PlantedFault>,
}

/// A planted fault: what a faulty library does, to show that the judge finds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PlantedFault {
    /// The receive of an `MPI_Isendrecv` is matched as if it were posted after later receives.
    LateIsendrecv,
    /// Bytes received with a derived datatype are stored in the wrong order.
    WrongLayout,
    /// Messages in the communicator of a session overtake each other.
    SessionOvertaking,
    /// Partitioned communication matches the message initialized last.
    PartitionedLast,
    /// Messages that a thread sends overtake each other, in programs with several threads.
    ThreadOvertaking,
    /// The count of a message received with the calls that have `MPI_Count` arguments is too small.
    ShortCount,
}

impl SimulatedLibrary {
    /// A library without faults whose sends need not wait.
    #[must_use]
    pub const fn of(contract: Contract) -> Self {
        Self { contract, rendezvous: false, fault: None }
    }
}

/// One random run; `None` if it deadlocks.
#[must_use]
pub fn run(program: &TestProgram, library: SimulatedLibrary, random: &mut Random) -> Option<ObservedOutcome> {
    let mut state = State::start(program);
    let simulator = Simulator { program, library };
    loop {
        let mut next = simulator.successors(&state);
        if next.is_empty() {
            return state.ended.iter().all(|&ended| ended).then_some(state.observations);
        }
        state = next.swap_remove(random.below(next.len() as u64) as usize);
    }
}

/// Every permitted outcome, or `None` if there are more than `limit` states.
///
/// # Errors
/// The observations up to a deadlock, if there is one.
pub fn explore(
    program: &TestProgram,
    library: SimulatedLibrary,
    limit: usize,
) -> Result<Option<BTreeSet<ObservedOutcome>>, ObservedOutcome> {
    let simulator = Simulator { program, library };
    let mut visited = BTreeSet::new();
    let mut outcomes = BTreeSet::new();
    let mut open = vec![State::start(program)];
    while let Some(state) = open.pop() {
        if visited.contains(&state) {
            continue;
        }
        if visited.len() == limit {
            return Ok(None);
        }
        let next = simulator.successors(&state);
        if next.is_empty() {
            if !state.ended.iter().all(|&ended| ended) {
                return Err(state.observations);
            }
            outcomes.insert(state.observations.clone());
        }
        visited.insert(state);
        open.extend(next);
    }
    Ok(Some(outcomes))
}

/// The matching state of one receiver in one communicator.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Queue {
    /// Posted and not matched, oldest first.
    posted: Vec<StepId>,
    /// Sent and not taken; under [`Contract::Arrival`] sent and not arrived.
    sent: Vec<StepId>,
    /// Arrived and not taken, oldest first.
    arrived: Vec<StepId>,
    /// Found by a probe, and not accepted by any receive posted since.
    probed: Vec<StepId>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct State {
    /// Of each thread: its next operation.
    next: BTreeMap<Lane, usize>,
    /// Of each rank: whether its drain phase has ended.
    ended: Vec<bool>,
    observations: ObservedOutcome,
    queues: BTreeMap<(u8, Comm), Queue>,
    /// Matched receives that no call has reported.
    matched: BTreeMap<StepId, StepId>,
    /// Active requests by the step that created them, each with the step that posted it last.
    active: BTreeMap<StepId, StepId>,
    /// Requests that an `MPI_Startall` has not started yet.
    startall_pending: BTreeSet<StepId>,
    /// Messages held by matched probes; `None` is `MPI_MESSAGE_NO_PROC`.
    held: BTreeMap<StepId, Option<StepId>>,
    /// Messages that a receive took, or whose receive began after a matched probe.
    taken: BTreeSet<StepId>,
    /// Threads that called a blocking operation and wait in it, or in a barrier.
    blocked: BTreeSet<Lane>,
    /// Messages that a rank has received.
    received: Vec<usize>,
}

impl State {
    fn start(program: &TestProgram) -> Self {
        let ranks = usize::from(program.ranks);
        Self {
            next: program.lanes().into_iter().map(|lane| (lane, 0)).collect(),
            ended: vec![false; ranks],
            observations: vec![Vec::new(); ranks],
            queues: BTreeMap::new(),
            matched: BTreeMap::new(),
            active: BTreeMap::new(),
            startall_pending: BTreeSet::new(),
            held: BTreeMap::new(),
            taken: BTreeSet::new(),
            blocked: BTreeSet::new(),
            received: vec![0; ranks],
        }
    }
}

struct Simulator<'a> {
    program: &'a TestProgram,
    library: SimulatedLibrary,
}

impl<'a> Simulator<'a> {
    fn step(&self, id: StepId) -> &'a ProgramStep {
        self.program.step(id).expect("a valid program").1
    }

    fn message(&self, id: StepId) -> (u8, &'a Message) {
        let step = self.step(id);
        (step.rank, step.action.message().expect("a send"))
    }

    fn spec(&self, id: StepId) -> ReceiveSpec {
        let step = self.step(id);
        match &step.action {
            Action::Probe(spec, _) => *spec,
            _ => *self.program.posted_spec(step).expect("a receive"),
        }
    }

    fn accepts(&self, spec: &ReceiveSpec, message: StepId) -> bool {
        let (from, message) = self.message(message);
        spec.accepts(from, message)
    }

    /// Every possible next state.
    fn successors(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        for (&key, queue) in &state.queues {
            match self.library.contract {
                Contract::Mpi => self.matches(state, key, queue, &mut next),
                Contract::Arrival => self.arrivals(state, key, queue, &mut next),
            }
        }
        for &lane in state.next.keys() {
            let (rank, thread) = lane;
            let step = self.next_step(state, lane);
            if !step.is_some_and(|step| step.action.is_together()) && self.startall_one(state, rank, &mut next) {
                continue;
            }
            match step {
                Some(step) => self.perform(state, lane, step, &mut next),
                None if thread == 0 && self.is_draining(state, rank) && !state.ended[usize::from(rank)] => {
                    self.drain(state, rank, &mut next);
                }
                None => {}
            }
        }
        next
    }

    /// The next step of a thread.
    fn next_step(&self, state: &State, lane: Lane) -> Option<&'a ProgramStep> {
        self.program.steps.iter().filter(|step| step.is_of_lane(lane)).nth(state.next[&lane])
    }

    /// Whether every thread of `rank` performed all of its steps.
    fn is_draining(&self, state: &State, rank: u8) -> bool {
        state.next.keys().filter(|lane| lane.0 == rank).all(|&lane| self.next_step(state, lane).is_none())
    }

    /// The index among the operations of its rank of the next step of a thread.
    fn place(&self, state: &State, lane: Lane) -> usize {
        let (rank, _) = lane;
        let count = self.program.of_rank(rank).count();
        let next = self.next_step(state, lane).filter(|_| !self.is_draining(state, rank));
        next.and_then(|next| self.program.of_rank(rank).position(|step| step.id == next.id)).unwrap_or(count)
    }
}
