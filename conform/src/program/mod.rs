// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Test programs: the MPI calls of every rank of a small job, in one list.
//!
//! The list is a *schedule*: performing its steps one after the other is one possible run. Each
//! rank performs its own steps in this order; how the ranks interleave is left open. A step number
//! also identifies what the step creates: the message that it sends, or the receive that it posts.

mod calls;
mod message;

pub use calls::{CompleteCall, Form, Mode, ProbeCall};
pub use message::{Comm, Message, ReceiveSpec, SizeClass, Source};

use crate::codes;

/// The number of a step, and of the message, receive or probe that it creates.
pub type StepId = u32;

/// Largest number of a step; message lengths are told apart by it.
pub const MAX_STEP: StepId = codes::MAX_STEPS as StepId - 1;

/// What one step does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send a message.
    Send(Message, Form),
    /// Post a receive.
    Receive(ReceiveSpec, Form),
    /// Start the persistent receive of an earlier step again; if it is active, cancel it first.
    Restart(StepId),
    /// `MPI_Sendrecv`: this step's number identifies both its message and its receive.
    SendReceive(Message, ReceiveSpec),
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

    /// The receive that it posts.
    #[must_use]
    pub const fn spec(&self) -> Option<&ReceiveSpec> {
        match self {
            Self::Receive(spec, _) | Self::SendReceive(_, spec) => Some(spec),
            _ => None,
        }
    }

    /// The message that it sends.
    #[must_use]
    pub const fn message(&self) -> Option<&Message> {
        match self {
            Self::Send(message, _) | Self::SendReceive(message, _) => Some(message),
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
            Self::Send(_, form) | Self::Receive(_, form) => matches!(form, Form::Blocking),
            Self::SendReceive(..) | Self::Barrier => true,
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
pub struct Step {
    /// Its number.
    pub id: StepId,
    /// The world rank that performs it; ignored for a barrier, which every rank performs.
    pub rank: u8,
    /// What it does.
    pub action: Action,
}

impl Step {
    /// Whether `rank` performs it.
    #[must_use]
    pub fn is_of(&self, rank: u8) -> bool {
        self.rank == rank || self.action == Action::Barrier
    }
}

/// A test program; see the module documentation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestProgram {
    /// Ranks in the world.
    pub ranks: u8,
    /// The schedule.
    pub steps: Vec<Step>,
}

impl TestProgram {
    /// The step with number `id`, and its index in the schedule.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<(usize, &Step)> {
        self.steps.iter().enumerate().find(|(_, step)| step.id == id)
    }

    /// The steps of `rank`, in its order.
    pub fn of_rank(&self, rank: u8) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.is_of(rank))
    }

    /// The arguments of the receive that `step` posts or restarts.
    #[must_use]
    pub fn posted_spec<'a>(&'a self, step: &'a Step) -> Option<&'a ReceiveSpec> {
        match &step.action {
            Action::Restart(of) => self.step(*of).and_then(|(_, first)| first.action.spec()),
            action => action.spec(),
        }
    }

    /// Every message that has a receiver, with its step, in the order of the schedule.
    pub fn messages(&self) -> impl Iterator<Item = (&Step, &Message)> {
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
    /// schedule.
    #[must_use]
    pub fn startall_groups(&self) -> Vec<Vec<usize>> {
        let mut groups = Vec::new();
        for rank in 0..self.ranks {
            let own: Vec<usize> = (0..self.steps.len()).filter(|&at| self.steps[at].is_of(rank)).collect();
            let groups_of_rank = own
                .chunk_by(|&one, &next| self.steps[one].action.is_together() && self.steps[next].action.is_together());
            groups.extend(groups_of_rank.filter(|group| group.len() > 1).map(<[usize]>::to_vec));
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
