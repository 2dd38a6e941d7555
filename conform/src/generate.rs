// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random test programs, biased towards difficult matching: few tags, so that patterns overlap;
//! wildcards beside exact receives; receives for messages already sent, and messages for receives
//! already posted.
//!
//! A program is a function of seed, number, ranks and excluded features. Every program keeps the
//! rules of [`crate::rules`].

use mb_core::random::Random;

use crate::program::{
    Action, Comm, CompleteCall, Form, Message, Mode, ProbeCall, ReceiveSpec, SizeClass, Source, Step, StepId,
    TestProgram,
};
use crate::rules;

/// Most ranks of a program.
pub const MAX_RANKS: u8 = 4;

/// Fewest and most steps of a program.
pub const STEPS: (u64, u64) = (4, 40);

/// Features that programs can exclude, so that a known fault does not hide others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Feature {
    /// `MPI_PROC_NULL`.
    Null,
    /// Persistent requests.
    Persistent,
    /// `MPI_Cancel` before the drain phase.
    Cancel,
    /// Probes that leave the message.
    Probe,
    /// Matched probes before the drain phase.
    Mprobe,
    /// `MPI_Sendrecv`.
    Sendrecv,
    /// Synchronous sends.
    Synchronous,
    /// Messages of a rank to itself.
    SelfMessage,
    /// Messages of 64 KiB and more.
    Long,
    /// Ready sends.
    Ready,
    /// Buffered sends.
    Buffered,
    /// `MPI_Startall`.
    Startall,
    /// Receives with short buffers.
    Truncation,
    /// Intercommunicators.
    Intercomm,
}

impl Feature {
    /// Every feature and its name in options.
    pub const ALL: [(Self, &'static str); 14] = [
        (Self::Null, "null"),
        (Self::Persistent, "persistent"),
        (Self::Cancel, "cancel"),
        (Self::Probe, "probe"),
        (Self::Mprobe, "mprobe"),
        (Self::Sendrecv, "sendrecv"),
        (Self::Synchronous, "synchronous"),
        (Self::SelfMessage, "self"),
        (Self::Long, "long"),
        (Self::Ready, "ready"),
        (Self::Buffered, "buffered"),
        (Self::Startall, "startall"),
        (Self::Truncation, "truncation"),
        (Self::Intercomm, "intercomm"),
    ];

    /// Whether a step of `rank` with this action has it.
    #[must_use]
    pub fn is_in(self, rank: u8, action: &Action) -> bool {
        let message = action.message();
        let spec = match action {
            Action::Probe(spec, _) => Some(spec),
            action => action.spec(),
        };
        match self {
            Self::Null => {
                message.is_some_and(|message| message.dest.is_none())
                    || spec.is_some_and(|spec| spec.source == Source::Null)
            }
            Self::Persistent => {
                matches!(action, Action::Send(_, form) | Action::Receive(_, form) if form.is_persistent())
            }
            Self::Cancel => matches!(action, Action::Cancel(_) | Action::Restart(_)),
            Self::Probe => matches!(action, Action::Probe(_, call) if !call.takes()),
            Self::Mprobe => matches!(action, Action::Probe(_, call) if call.takes()),
            Self::Sendrecv => matches!(action, Action::SendReceive(..)),
            Self::Synchronous => message.is_some_and(|message| message.mode == Mode::Synchronous),
            Self::Ready => message.is_some_and(|message| message.mode == Mode::Ready),
            Self::Buffered => message.is_some_and(|message| message.mode == Mode::Buffered),
            Self::Startall => action.is_together(),
            Self::Truncation => spec.is_some_and(|spec| spec.short),
            Self::Intercomm => {
                message.is_some_and(|message| message.comm == Comm::Across)
                    || spec.is_some_and(|spec| spec.comm == Comm::Across)
            }
            Self::SelfMessage => message.is_some_and(|message| message.dest == Some(rank)),
            Self::Long => message.is_some_and(|message| message.size >= SizeClass::Long),
        }
    }
}

/// Generates program `number` of `seed` for `ranks` ranks, `without` some features.
#[must_use]
pub fn generate(seed: u64, number: u64, ranks: u8, without: &[Feature]) -> TestProgram {
    generate_within(STEPS, seed, number, ranks, without)
}

/// As [`generate`], with a number of steps between `steps`.
#[must_use]
pub fn generate_within(steps: (u64, u64), seed: u64, number: u64, ranks: u8, without: &[Feature]) -> TestProgram {
    let mut random = Random::of(seed, &[u64::from(ranks), number]);
    let style = Style::draw(ranks, &mut random);
    let mut program = TestProgram { ranks, steps: Vec::new() };
    let length = random.within(steps.0, steps.1);
    // Proposals that break a rule are dropped, so that there are more proposals than steps.
    for _ in 0..4 * length {
        if program.steps.len() as u64 == length {
            break;
        }
        let rank = random.below(u64::from(ranks)) as u8;
        let id = program.steps.len() as StepId + 1;
        let action = Author { style: &style, program: &program, rank, random: &mut random }.propose();
        if without.iter().any(|feature| feature.is_in(rank, &action)) {
            continue;
        }
        // A message that cannot be ready is sent in standard mode.
        for action in [plain(&action), Some(action)].into_iter().flatten().rev() {
            program.steps.push(Step { id, rank, action });
            if rules::broken_rule(&program).is_none() {
                break;
            }
            program.steps.pop();
        }
    }
    program
}

/// `action` without a ready mode, if it has one.
fn plain(action: &Action) -> Option<Action> {
    match action {
        Action::Send(message, form) if message.mode == Mode::Ready => {
            Some(Action::Send(Message { mode: Mode::Standard, ..*message }, *form))
        }
        _ => None,
    }
}

/// Probabilities shared by the steps of one program.
struct Style {
    comms: Vec<Comm>,
    tags: u64,
    /// Percentages.
    any_source: u64,
    any_tag: u64,
    waiting: u64,
    synchronous: u64,
    ready: u64,
    buffered: u64,
    together: u64,
    long: u64,
    short: u64,
}

impl Style {
    fn draw(ranks: u8, random: &mut Random) -> Self {
        let mut comms = Comm::ALL.to_vec();
        comms.retain(|&comm| ranks > 1 || comm != Comm::Across);
        random.shuffle(&mut comms);
        // Most programs use a single communicator, which makes most patterns overlap.
        comms.truncate([1, 1, 1, 2, 2, 5][random.below(6) as usize]);
        let mut percent = |choices: [u64; 4]| choices[random.below(4) as usize];
        Self {
            comms,
            any_source: percent([0, 20, 40, 70]),
            any_tag: percent([0, 20, 40, 70]),
            waiting: percent([0, 20, 40, 60]),
            synchronous: percent([0, 10, 30, 60]),
            ready: percent([0, 0, 30, 60]),
            buffered: percent([0, 0, 10, 40]),
            together: percent([0, 0, 10, 40]),
            long: percent([0, 0, 15, 50]),
            short: percent([0, 0, 15, 50]),
            tags: percent([1, 2, 2, 3]),
        }
    }
}

/// Proposes a step of one rank.
struct Author<'a> {
    style: &'a Style,
    program: &'a TestProgram,
    rank: u8,
    random: &'a mut Random,
}

impl Author<'_> {
    fn propose(&mut self) -> Action {
        // A ready send needs receives posted before a barrier.
        if self.chance(self.style.ready / 8) {
            return Action::Barrier;
        }
        match self.random.below(100) {
            0..34 => self.send(),
            34..68 => self.receive(),
            68..78 => self.complete(),
            78..87 => self.probe(),
            87..90 => self.take(),
            90..93 => self.cancel(),
            93..95 => self.restart(),
            95..97 => {
                let message = Message { mode: Mode::Standard, ..self.message() };
                Action::SendReceive(message, ReceiveSpec { comm: message.comm, ..self.spec() })
            }
            97 => Action::Barrier,
            _ => Action::Pause,
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.random.below(items.len() as u64) as usize].clone())
    }

    fn form(&mut self) -> Form {
        let last = self.program.steps.iter().rev().find(|step| step.is_of(self.rank));
        if last.is_some_and(|last| last.action.is_together()) && self.chance(60) {
            Form::Together
        } else if self.chance(self.style.waiting) {
            Form::Blocking
        } else if self.chance(self.style.together) {
            Form::Together
        } else if self.chance(15) {
            Form::Persistent
        } else {
            Form::Nonblocking
        }
    }

    fn send(&mut self) -> Action {
        let form = self.form();
        Action::Send(self.message(), form)
    }

    fn receive(&mut self) -> Action {
        let form = self.form();
        let short = self.chance(self.style.short);
        Action::Receive(ReceiveSpec { short, ..self.spec() }, form)
    }

    fn mode(&mut self) -> Mode {
        if self.chance(self.style.synchronous) {
            Mode::Synchronous
        } else if self.chance(self.style.ready) {
            Mode::Ready
        } else if self.chance(self.style.buffered) {
            Mode::Buffered
        } else {
            Mode::Standard
        }
    }

    /// A rank that this one can send to in `comm`, sometimes itself.
    fn peer(&mut self, comm: Comm) -> u8 {
        let peer = self.random.below(u64::from(self.program.ranks)) as u8;
        let peer = if peer == self.rank && self.chance(60) { (peer + 1) % self.program.ranks } else { peer };
        let mut others = (0..self.program.ranks).map(|next| (peer + next) % self.program.ranks);
        others.find(|&other| comm.joins(self.rank, other)).unwrap_or(self.rank)
    }

    fn comm(&mut self) -> Comm {
        self.pick(&self.style.comms).unwrap_or(Comm::First)
    }

    fn tag(&mut self) -> u8 {
        self.random.below(self.style.tags) as u8
    }

    fn size(&mut self) -> SizeClass {
        if self.chance(self.style.long) {
            return if self.chance(3) { SizeClass::Huge } else { SizeClass::Long };
        }
        match self.random.below(10) {
            0 => SizeClass::Empty,
            1 => SizeClass::Middle,
            _ => SizeClass::Short,
        }
    }

    fn message(&mut self) -> Message {
        let comm = self.comm();
        let size = self.size();
        let mode = self.mode();
        let mut message = Message { comm, dest: None, tag: self.tag(), size, mode };
        if self.chance(2) {
            return message;
        }
        message.dest = Some(self.peer(comm));
        // Half of the messages, and all ready ones, are made for a receive that is already posted.
        if mode == Mode::Ready || self.chance(50) {
            let rank = self.rank;
            let barrier = self.program.steps.iter().rposition(|step| step.action == Action::Barrier).unwrap_or(0);
            let posted: Vec<(u8, ReceiveSpec)> = self
                .program
                .steps
                .iter()
                .enumerate()
                .filter(|(at, step)| mode != Mode::Ready || *at < barrier || step.rank == rank)
                .map(|(_, step)| step)
                .filter_map(|step| Some((step.rank, *step.action.spec()?)))
                .filter(|(dest, spec)| {
                    spec.comm.joins(rank, *dest)
                        && match spec.source {
                            Source::Any => true,
                            Source::Rank(source) => source == rank,
                            Source::Null => false,
                        }
                })
                .collect();
            if let Some((dest, spec)) = self.pick(&posted) {
                message.comm = spec.comm;
                message.dest = Some(dest);
                message.tag = spec.tag.unwrap_or(message.tag);
            }
        }
        message
    }

    fn spec(&mut self) -> ReceiveSpec {
        let comm = self.comm();
        let mut spec = ReceiveSpec { comm, source: Source::Rank(self.peer(comm)), tag: Some(self.tag()), short: false };
        if self.chance(2) {
            spec.source = Source::Null;
            return spec;
        }
        // Half of the receives are made for a message that is already sent.
        if self.chance(50) {
            let sent: Vec<(u8, Message)> = self
                .program
                .messages()
                .filter(|(_, message)| message.dest == Some(self.rank))
                .map(|(step, message)| (step.rank, *message))
                .collect();
            if let Some((from, message)) = self.pick(&sent) {
                spec = ReceiveSpec {
                    comm: message.comm,
                    source: Source::Rank(from),
                    tag: Some(message.tag),
                    short: false,
                };
            }
        }
        if self.chance(self.style.any_source) {
            spec.source = Source::Any;
        }
        if self.chance(self.style.any_tag) {
            spec.tag = None;
        }
        spec
    }

    fn probe(&mut self) -> Action {
        let blocking = self.chance(self.style.waiting);
        let call = match (self.chance(50), blocking) {
            (false, false) => ProbeCall::Iprobe,
            (false, true) => ProbeCall::Probe,
            (true, false) => ProbeCall::Improbe,
            (true, true) => ProbeCall::Mprobe,
        };
        Action::Probe(self.spec(), call)
    }

    /// The steps of this rank that `is_selected`.
    fn own(&self, is_selected: impl Fn(&Action) -> bool) -> Vec<StepId> {
        let steps = self.program.steps.iter();
        steps.filter(|step| step.rank == self.rank && is_selected(&step.action)).map(|step| step.id).collect()
    }

    fn take(&mut self) -> Action {
        let probes = self.own(|action| matches!(action, Action::Probe(_, call) if call.takes()));
        let nonblocking = self.chance(50);
        self.pick(&probes).map_or(Action::Pause, |id| Action::ReceiveProbed(id, nonblocking))
    }

    fn cancel(&mut self) -> Action {
        let receives = self.own(|action| matches!(action, Action::Receive(_, form) if *form != Form::Blocking));
        self.pick(&receives).map_or(Action::Pause, Action::Cancel)
    }

    fn restart(&mut self) -> Action {
        let receives = self.own(|action| matches!(action, Action::Receive(_, form) if form.is_persistent()));
        self.pick(&receives).map_or(Action::Pause, Action::Restart)
    }

    fn complete(&mut self) -> Action {
        let mut requests = self.own(|action| match action {
            Action::Send(_, form) | Action::Receive(_, form) => *form != Form::Blocking,
            Action::ReceiveProbed(_, nonblocking) => *nonblocking,
            _ => false,
        });
        let waits = self.chance(self.style.waiting.max(20));
        let calls = &CompleteCall::ALL[if waits { 0..4 } else { 4..8 }];
        let call = self.pick(calls).unwrap_or(CompleteCall::Test);
        self.random.shuffle(&mut requests);
        let most = if call.is_single() { 1 } else { 1 + self.random.below(6) as usize };
        requests.truncate(most);
        if requests.is_empty() { Action::Pause } else { Action::Complete(call, requests) }
    }
}
