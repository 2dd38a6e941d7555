// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Trials, programs for a whole MPI: what every rank of a small job calls, in one list.
//!
//! The list is a *timeline*: carrying out its steps one after the other is one way in which the program may run. A rank
//! performs its own steps in this order; how the ranks interleave is up to the machine. A step's number is its name:
//! a message is called after the step that sends it, a receive after the step that posts it.

use mb_core::mpi::{self, Context, Traffic};
use mb_core::{Envelope, Initiator, Pattern};

/// Names a step, and what the step makes: a message, a receive, a probe.
pub type StepId = u32;

/// Largest number of a step; message lengths are told apart by it.
pub const LAST_STEP: StepId = 1023;

/// The communicators that every program may use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Comm {
    /// A duplicate of the world.
    First,
    /// Another one.
    Second,
    /// The world split into one part, with its ranks in reverse order.
    Reversed,
    /// The world split into even and odd ranks.
    Parity,
    /// The intercommunicator between even and odd ranks.
    Across,
}

impl Comm {
    /// Every communicator, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::First, Self::Second, Self::Reversed, Self::Parity, Self::Across];

    /// Whether world rank `one` can send to world rank `other` in it.
    #[must_use]
    pub const fn joins(self, one: u8, other: u8) -> bool {
        match self {
            Self::First | Self::Second | Self::Reversed => true,
            Self::Parity => one % 2 == other % 2,
            Self::Across => one % 2 != other % 2,
        }
    }

    /// The rank in this communicator of world rank `rank`, among `ranks`; in an intercommunicator it is the other
    /// group's ranks that are named.
    #[must_use]
    pub const fn rank_of(self, rank: u8, ranks: u8) -> u8 {
        match self {
            Self::First | Self::Second => rank,
            Self::Reversed => ranks - 1 - rank,
            Self::Parity | Self::Across => rank / 2,
        }
    }

    /// Its number in matching; both parts of a split have one, which is harmless: no process is in both. So have the two
    /// groups of an intercommunicator, where each receives from the other only.
    #[must_use]
    pub const fn context(self) -> Context {
        Context::new(self as u32)
    }
}

/// How long a message is; the number of its step is added to all but an empty one, so that its length tells which it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Bulk {
    /// No bytes.
    Empty,
    /// From 16 bytes.
    Short,
    /// From 2 KiB: still eager on most machines.
    Middle,
    /// From 64 KiB: rendezvous on most machines.
    Long,
    /// From 1 MiB.
    Huge,
}

impl Bulk {
    /// Every length, ascending.
    pub const ALL: [Self; 5] = [Self::Empty, Self::Short, Self::Middle, Self::Long, Self::Huge];

    /// Bytes of the message that step `id` sends.
    #[must_use]
    pub const fn bytes(self, id: StepId) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Short => 16 + id,
            Self::Middle => 2048 + id,
            Self::Long => (64 << 10) + id,
            Self::Huge => (1 << 20) + id,
        }
    }
}

/// Which of MPI's four ways a message is sent in (MPI 4.1, 3.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// `MPI_Send` and the like: over when MPI says so.
    Standard,
    /// `MPI_Ssend`: over only when the message has been matched.
    Synchronous,
    /// `MPI_Rsend`: its receive is posted already, or the program is wrong.
    Ready,
    /// `MPI_Bsend`: over without anybody's help.
    Buffered,
}

impl Mode {
    /// Every mode, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Standard, Self::Synchronous, Self::Ready, Self::Buffered];

    /// The letter in the names of MPI's calls.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Standard => "",
            Self::Synchronous => "s",
            Self::Ready => "r",
            Self::Buffered => "b",
        }
    }
}

/// What a send sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// In which communicator.
    pub comm: Comm,
    /// To which world rank; `None` is `MPI_PROC_NULL`.
    pub dest: Option<u8>,
    /// Its tag.
    pub tag: u8,
    /// Its length.
    pub bulk: Bulk,
    /// How it is sent.
    pub mode: Mode,
}

impl Message {
    /// What it is matched by when rank `from` sends it.
    #[must_use]
    pub fn envelope(&self, from: u8) -> Envelope {
        mpi::envelope(self.comm.context(), Traffic::User, Initiator(u32::from(from)), u32::from(self.tag))
    }
}

/// From whom a receive takes messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// `MPI_ANY_SOURCE`.
    Any,
    /// A world rank.
    Rank(u8),
    /// `MPI_PROC_NULL`.
    Null,
}

/// What a receive or a probe names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The communicator.
    pub comm: Comm,
    /// From whom.
    pub source: Source,
    /// The tag; `None` is `MPI_ANY_TAG`.
    pub tag: Option<u8>,
    /// Whether there is room for [`Bulk::Short`] only: a longer message is received all the same, and truncated
    /// (clause S-4). Never of a probe.
    pub short: bool,
}

impl Wanted {
    /// Bytes of room of a receive that is `short`.
    pub const ROOM: u32 = Bulk::Short.bytes(LAST_STEP);

    /// Everything in `comm`, as a rank receives it in the end.
    #[must_use]
    pub const fn any(comm: Comm) -> Self {
        Self { comm, source: Source::Any, tag: None, short: false }
    }

    /// Whether the message of step `id` is received and truncated.
    #[must_use]
    pub const fn truncates(&self, id: StepId, message: &Message) -> bool {
        self.short && message.bulk.bytes(id) > Self::ROOM
    }

    /// The pattern; `None` when it is one of `MPI_PROC_NULL`, which takes part in no matching (clause N-2).
    #[must_use]
    pub fn pattern(&self) -> Option<Pattern> {
        let source = match self.source {
            Source::Null => return None,
            Source::Any => None,
            Source::Rank(rank) => Some(Initiator(u32::from(rank))),
        };
        Some(mpi::pattern(self.comm.context(), Traffic::User, source, self.tag.map(u32::from)))
    }

    /// Whether it accepts `message` from rank `from`.
    #[must_use]
    pub fn accepts(&self, from: u8, message: &Message) -> bool {
        self.pattern().is_some_and(|pattern| pattern.accepts(&message.envelope(from)))
    }
}

/// Which of MPI's ways a send or receive is called in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Form {
    /// `MPI_Send`, `MPI_Recv`.
    Blocking,
    /// `MPI_Isend`, `MPI_Irecv`.
    Nonblocking,
    /// `MPI_Send_init`, `MPI_Recv_init`, and `MPI_Start`.
    Persistent,
    /// `MPI_Send_init`, `MPI_Recv_init`; the rank's neighbouring steps of this form are started by one `MPI_Startall`
    /// before its next other step, in an order that is up to MPI (MPI 4.1, 3.9).
    Together,
}

impl Form {
    /// Whether the request can be started again.
    #[must_use]
    pub const fn is_persistent(self) -> bool {
        matches!(self, Self::Persistent | Self::Together)
    }
}

/// Which probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ProbeCall {
    /// `MPI_Probe`.
    Probe,
    /// `MPI_Iprobe`.
    Iprobe,
    /// `MPI_Mprobe`.
    Mprobe,
    /// `MPI_Improbe`.
    Improbe,
}

impl ProbeCall {
    /// Whether it takes the message out of matching (clause P-3).
    #[must_use]
    pub const fn takes(self) -> bool {
        matches!(self, Self::Mprobe | Self::Improbe)
    }

    /// Whether it waits for a message.
    #[must_use]
    pub const fn waits(self) -> bool {
        matches!(self, Self::Probe | Self::Mprobe)
    }
}

/// How a rank asks for completion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the names of MPI's calls")]
pub enum CompleteCall {
    Wait,
    Waitall,
    Waitany,
    Waitsome,
    Test,
    Testall,
    Testany,
    Testsome,
}

impl CompleteCall {
    /// Every call, waiting ones first.
    pub const ALL: [Self; 8] = [
        Self::Wait,
        Self::Waitall,
        Self::Waitany,
        Self::Waitsome,
        Self::Test,
        Self::Testall,
        Self::Testany,
        Self::Testsome,
    ];

    /// Whether it waits.
    #[must_use]
    pub const fn waits(self) -> bool {
        matches!(self, Self::Wait | Self::Waitall | Self::Waitany | Self::Waitsome)
    }

    /// Whether it is about one request.
    #[must_use]
    pub const fn is_single(self) -> bool {
        matches!(self, Self::Wait | Self::Test)
    }

    /// The name of MPI's call.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "MPI_Wait",
            Self::Waitall => "MPI_Waitall",
            Self::Waitany => "MPI_Waitany",
            Self::Waitsome => "MPI_Waitsome",
            Self::Test => "MPI_Test",
            Self::Testall => "MPI_Testall",
            Self::Testany => "MPI_Testany",
            Self::Testsome => "MPI_Testsome",
        }
    }
}

/// What one step does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send a message.
    Send(Message, Form),
    /// Post a receive.
    Receive(Wanted, Form),
    /// Start the persistent receive of an earlier step again; if it is active, cancel it first.
    Restart(StepId),
    /// `MPI_Sendrecv`: the message and the receive are both called after this step.
    SendReceive(Message, Wanted),
    /// Look for a message.
    Probe(Wanted, ProbeCall),
    /// Receive the message that the matched probe of an earlier step took, if it found one; `true`: `MPI_Imrecv`.
    Take(StepId, bool),
    /// `MPI_Cancel` of the receive of an earlier step, and `MPI_Wait` for what comes of it.
    Cancel(StepId),
    /// Ask for completion of the requests of earlier steps.
    Complete(CompleteCall, Vec<StepId>),
    /// `MPI_Barrier` of all ranks, in a communicator of its own.
    Barrier,
    /// Some time in which messages may arrive.
    Pause,
}

impl Action {
    /// Whether `MPI_Startall` starts it with its neighbours.
    #[must_use]
    pub const fn is_together(&self) -> bool {
        matches!(self, Self::Send(_, Form::Together) | Self::Receive(_, Form::Together))
    }

    /// The receive that it posts.
    #[must_use]
    pub const fn wanted(&self) -> Option<&Wanted> {
        match self {
            Self::Receive(wanted, _) | Self::SendReceive(_, wanted) => Some(wanted),
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

    /// The steps that it names.
    #[must_use]
    pub fn names(&self) -> &[StepId] {
        match self {
            Self::Restart(of) | Self::Take(of, _) | Self::Cancel(of) => std::slice::from_ref(of),
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
            // A cancelled receive is over, and a message that was taken is on its way.
            Self::Restart(_) | Self::Take(..) | Self::Cancel(_) | Self::Pause => false,
        }
    }
}

/// One step of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its name.
    pub id: StepId,
    /// The world rank that performs it; a barrier is performed by all, whatever this says.
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

/// A program: see the head of this file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Ranks in the world.
    pub ranks: u8,
    /// The timeline.
    pub steps: Vec<Step>,
}

impl Program {
    /// The step called `id`, and its place in the timeline.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<(usize, &Step)> {
        self.steps.iter().enumerate().find(|(_, step)| step.id == id)
    }

    /// The steps of `rank`, in its order.
    pub fn of_rank(&self, rank: u8) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.is_of(rank))
    }

    /// What the receive posted by `step` wants: its own, or that of the receive that it starts again.
    #[must_use]
    pub fn posted_by<'a>(&'a self, step: &'a Step) -> Option<&'a Wanted> {
        match &step.action {
            Action::Restart(of) => self.step(*of).and_then(|(_, first)| first.action.wanted()),
            action => action.wanted(),
        }
    }

    /// Every message that reaches a receiver: sender and message, in the order of the timeline.
    pub fn messages(&self) -> impl Iterator<Item = (&Step, &Message)> {
        self.steps.iter().filter_map(|step| {
            let message = step.action.message()?;
            message.dest.map(|_| (step, message))
        })
    }

    /// How many messages `rank` is sent.
    #[must_use]
    pub fn messages_to(&self, rank: u8) -> usize {
        self.messages().filter(|(_, message)| message.dest == Some(rank)).count()
    }

    /// The places in the timeline of the steps that each `MPI_Startall` starts, where there is more than one.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups = Vec::new();
        for rank in 0..self.ranks {
            let own: Vec<usize> = (0..self.steps.len()).filter(|&at| self.steps[at].is_of(rank)).collect();
            let groups_of_rank = own
                .chunk_by(|&one, &next| self.steps[one].action.is_together() && self.steps[next].action.is_together());
            groups.extend(groups_of_rank.filter(|group| group.len() > 1).map(<[usize]>::to_vec));
        }
        groups
    }

    /// This program with the steps of every [`Program::groups`] in every order in which they may be started, beginning
    /// with the order in which they are called. Nothing else that is said of a program knows of these orders.
    #[must_use]
    pub fn orders(&self) -> Vec<Self> {
        let mut orders = vec![self.clone()];
        for group in self.groups() {
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

    /// Gives the steps the numbers 1, 2, 3, ... in the order of the timeline.
    pub fn renumber(&mut self) {
        let old: Vec<StepId> = self.steps.iter().map(|step| step.id).collect();
        let new = |id: StepId| old.iter().position(|&other| other == id).map_or(id, |at| at as StepId + 1);
        for step in &mut self.steps {
            step.id = new(step.id);
            match &mut step.action {
                Action::Restart(of) | Action::Take(of, _) | Action::Cancel(of) => *of = new(*of),
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
