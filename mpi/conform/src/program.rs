// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Test programs: the MPI calls of every rank of a small job, in one list.
//!
//! The list is a *schedule*: performing its steps one after the other is one possible run. Each
//! thread of a rank performs its own steps in this order; how the threads interleave is left open. A step number
//! also identifies what the step creates: the message that it sends, or the receive that it posts.

mod calls;
mod message;
mod step_id;

pub use calls::{CompleteCall, Form, ProbeCall, SendMode};
pub use message::{Comm, CountType, Layout, Message, MessageSource, ReceiveSpec, SizeClass};
pub use step_id::{MAX_STEP, StepId};

use crate::codes;

/// Most threads of a rank.
pub const MAX_THREADS: u8 = codes::MAX_THREADS as u8;

/// A thread of a rank: the rank in the world, and the number of the thread.
pub type Lane = (u8, u8);

/// The action of one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send a message.
    Send(Message, Form),
    /// Post a receive.
    Receive(ReceiveSpec, Form),
    /// Start the persistent receive of an earlier step again; if it is active, cancel it first.
    Restart(StepId),
    /// `MPI_Sendrecv`, or with [`Form::Nonblocking`] `MPI_Isendrecv`: this step's number identifies
    /// both its message and its receive.
    SendReceive(Message, ReceiveSpec, Form),
    /// Probe for a message.
    Probe(ReceiveSpec, ProbeCall),
    /// Receive the message that the matched probe of an earlier step took, if it found one; `true`:
    /// `MPI_Imrecv`.
    ReceiveProbed(StepId, bool),
    /// `MPI_Cancel` of the receive of an earlier step, then `MPI_Wait`.
    Cancel(StepId),
    /// Wait or test for the requests of earlier steps.
    Complete(CompleteCall, Vec<StepId>),
    /// `MPI_Barrier` of all ranks, in a communicator of its own.
    Barrier,
    /// A short time in which messages may arrive.
    Pause,
}

impl Action {
    /// Whether `MPI_Startall` starts it together with adjacent steps.
    #[must_use]
    pub const fn is_together(&self) -> bool {
        matches!(self, Self::Send(_, Form::Together) | Self::Receive(_, Form::Together))
    }

    /// Whether it is partitioned communication.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        self.message().is_some_and(|message| message.partitions > 0)
            || self.spec().is_some_and(|spec| spec.partitions > 0)
    }

    /// The arguments with which it receives or probes.
    #[must_use]
    pub const fn accepting(&self) -> Option<&ReceiveSpec> {
        match self {
            Self::Probe(spec, _) => Some(spec),
            action => action.spec(),
        }
    }

    /// Whether a request of it must complete before the rank can end: it is not cancelled.
    #[must_use]
    pub const fn must_complete(&self) -> bool {
        match self {
            Self::Send(..) | Self::SendReceive(..) => true,
            Self::Receive(spec, _) => spec.partitions > 0,
            _ => false,
        }
    }

    /// The receive that it posts.
    #[must_use]
    pub const fn spec(&self) -> Option<&ReceiveSpec> {
        match self {
            Self::Receive(spec, _) | Self::SendReceive(_, spec, _) => Some(spec),
            _ => None,
        }
    }

    /// The message that it sends.
    #[must_use]
    pub const fn message(&self) -> Option<&Message> {
        match self {
            Self::Send(message, _) | Self::SendReceive(message, ..) => Some(message),
            _ => None,
        }
    }

    /// The earlier steps that it refers to.
    #[must_use]
    pub fn references(&self) -> &[StepId] {
        match self {
            Self::Restart(of) | Self::ReceiveProbed(of, _) | Self::Cancel(of) => std::slice::from_ref(of),
            Self::Complete(_, of) => of,
            _ => &[],
        }
    }

    /// Whether the call may have to wait for another rank.
    #[must_use]
    pub const fn waits(&self) -> bool {
        match self {
            Self::Send(_, form) | Self::Receive(_, form) | Self::SendReceive(_, _, form) => {
                matches!(form, Form::Blocking)
            }
            Self::Barrier => true,
            Self::Probe(_, call) => call.waits(),
            Self::Complete(call, _) => call.waits(),
            // A cancelled receive completes, and a message taken by a matched probe was already
            // sent.
            Self::Restart(_) | Self::ReceiveProbed(..) | Self::Cancel(_) | Self::Pause => false,
        }
    }
}

/// One step of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramStep {
    /// Its number.
    pub id: StepId,
    /// The world rank that performs it; ignored for a barrier, which every rank performs.
    pub rank: u8,
    /// The thread of the rank that performs it; 0 for a barrier.
    pub thread: u8,
    /// What it does.
    pub action: Action,
}

impl ProgramStep {
    /// Whether `rank` performs it.
    #[must_use]
    pub fn is_of(&self, rank: u8) -> bool {
        self.rank == rank || self.action == Action::Barrier
    }

    /// Whether this thread performs it.
    #[must_use]
    pub fn is_of_lane(&self, (rank, thread): Lane) -> bool {
        self.is_of(rank) && self.thread == thread
    }

    /// The thread that performs it, unless it is a barrier.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        (self.rank, self.thread)
    }
}

/// A test program; see the module documentation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestProgram {
    /// Ranks in the world.
    pub ranks: u8,
    /// The schedule.
    pub steps: Vec<ProgramStep>,
}

impl TestProgram {
    /// The step with number `id`, and its index in the schedule.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<(usize, &ProgramStep)> {
        self.steps.iter().enumerate().find(|(_, step)| step.id == id)
    }

    /// The steps of `rank`, in its order.
    pub fn of_rank(&self, rank: u8) -> impl Iterator<Item = &ProgramStep> {
        self.steps.iter().filter(move |step| step.is_of(rank))
    }

    /// Number of threads of `rank`.
    #[must_use]
    pub fn threads(&self, rank: u8) -> u8 {
        1 + self.of_rank(rank).map(|step| step.thread).max().unwrap_or_default()
    }

    /// Every thread of every rank.
    #[must_use]
    pub fn lanes(&self) -> Vec<Lane> {
        (0..self.ranks).flat_map(|rank| (0..self.threads(rank)).map(move |thread| (rank, thread))).collect()
    }

    /// Whether a rank has several threads.
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        self.steps.iter().any(|step| step.thread > 0)
    }

    /// Whether two threads of a rank use one communicator.
    #[must_use]
    pub fn shares_comms(&self) -> bool {
        let uses: Vec<(Lane, Comm)> = self
            .steps
            .iter()
            .flat_map(|step| {
                let message = step.action.message().map(|message| message.comm);
                let spec = step.action.accepting().map(|spec| spec.comm);
                message.into_iter().chain(spec).map(|comm| (step.lane(), comm))
            })
            .collect();
        let is_shared = |&((rank, thread), comm): &(Lane, Comm)| {
            uses.iter().any(|&(lane, other)| other == comm && lane.0 == rank && lane.1 != thread)
        };
        uses.iter().any(is_shared)
    }

    /// Whether `step` creates a request of a communicator of a session. A call may not mix such
    /// requests with others (MPI 4.1, 11.3).
    #[must_use]
    pub fn is_of_session(&self, step: &ProgramStep) -> bool {
        match &step.action {
            Action::ReceiveProbed(of, _) => self.step(*of).is_some_and(|(_, probe)| self.is_of_session(probe)),
            action => {
                action.message().is_some_and(|message| message.comm == Comm::Session)
                    || action.accepting().is_some_and(|spec| spec.comm == Comm::Session)
            }
        }
    }

    /// The thread whose operation of `rank` has index `at`; `None` in the drain phase.
    #[must_use]
    pub fn thread_at(&self, rank: u8, at: usize) -> Option<u8> {
        self.of_rank(rank).nth(at).map(|step| step.thread)
    }

    /// The arguments of the receive that `step` posts or restarts.
    #[must_use]
    pub fn posted_spec<'a>(&'a self, step: &'a ProgramStep) -> Option<&'a ReceiveSpec> {
        match &step.action {
            Action::Restart(of) => self.step(*of).and_then(|(_, first)| first.action.spec()),
            action => action.spec(),
        }
    }

    /// Every message that has a receiver, with its step, in the order of the schedule.
    pub fn messages(&self) -> impl Iterator<Item = (&ProgramStep, &Message)> {
        self.steps.iter().filter_map(|step| {
            let message = step.action.message()?;
            message.dest.map(|_| (step, message))
        })
    }

    /// Number of messages that are sent to `rank`.
    #[must_use]
    pub fn messages_to(&self, rank: u8) -> usize {
        self.messages().filter(|(_, message)| message.dest == Some(rank)).count()
    }

    /// For each `MPI_Startall` that starts more than one step: the indices of these steps in the
    /// schedule, without partitioned ones, which match in the order of their initialization.
    #[must_use]
    pub fn startall_groups(&self) -> Vec<Vec<usize>> {
        let mut groups = Vec::new();
        for rank in 0..self.ranks {
            let own: Vec<usize> = (0..self.steps.len()).filter(|&at| self.steps[at].is_of(rank)).collect();
            let groups_of_rank = own
                .chunk_by(|&one, &next| self.steps[one].action.is_together() && self.steps[next].action.is_together());
            let is_open = |at: &usize| !self.steps[*at].action.is_partitioned();
            let groups_of_rank = groups_of_rank.map(|group| group.iter().copied().filter(is_open).collect::<Vec<_>>());
            groups.extend(groups_of_rank.filter(|group| group.len() > 1));
        }
        groups
    }

    /// This program with the steps of each of its [`TestProgram::startall_groups`] in every order
    /// in which they may be started, beginning with the order of the schedule. Every other method
    /// takes the schedule as it stands.
    #[must_use]
    pub fn orders(&self) -> Vec<Self> {
        let mut orders = vec![self.clone()];
        for group in self.startall_groups() {
            let arranged = permutations(group.len());
            orders = orders
                .iter()
                .flat_map(|program| {
                    arranged.iter().map(|order| {
                        let mut other = program.clone();
                        for (&to, &from) in group.iter().zip(order) {
                            other.steps[to] = program.steps[group[from]].clone();
                        }
                        other
                    })
                })
                .collect();
        }
        orders
    }

    /// Renumbers the steps 1, 2, 3, ... in the order of the schedule.
    pub fn renumber(&mut self) {
        let old: Vec<StepId> = self.steps.iter().map(|step| step.id).collect();
        let new = |id: StepId| old.iter().position(|&other| other == id).map_or(id, |at| at as StepId + 1);
        for step in &mut self.steps {
            step.id = new(step.id);
            match &mut step.action {
                Action::Restart(of) | Action::ReceiveProbed(of, _) | Action::Cancel(of) => *of = new(*of),
                Action::Complete(_, of) => of.iter_mut().for_each(|id| *id = new(*id)),
                _ => {}
            }
        }
    }
}

/// Every order of 0, 1, ... `count - 1`, ascending.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                let free = (0..count).filter(|next| !order.contains(next));
                free.map(|next| order.iter().copied().chain([next]).collect())
            })
            .collect();
    }
    all
}
