// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random test programs, biased towards difficult matching: few tags, so that patterns overlap;
//! wildcards beside exact receives; receives for messages already sent, and messages for receives
//! already posted.
//!
//! Some programs have several threads per rank. In half of them each communicator belongs to one
//! thread of each rank, in the others every thread uses every communicator.
//!
//! A program is a function of seed, number, ranks and excluded features. Every program keeps the
//! rules of [`crate::rules`].

use mb_core::random::Random;

use crate::feature::Feature;
use crate::program::{
    Action, Comm, CompleteCall, CountType, Form, Layout, Message, MessageSource, ProbeCall, ProgramStep, ReceiveSpec,
    SendMode, SizeClass, StepId, TestProgram,
};
use crate::rules;
use crate::style::Style;

/// Most ranks of a program.
pub const MAX_RANKS: u8 = 4;

/// Fewest and most steps of a program.
pub const STEPS: (u64, u64) = (4, 40);

/// Generates program `number` of `seed` for `ranks` ranks, `without` some features.
#[must_use]
pub fn generate(seed: u64, number: u64, ranks: u8, without: &[Feature]) -> TestProgram {
    generate_within(STEPS, seed, number, ranks, without)
}

/// As [`generate`], with a number of steps between `steps`.
#[must_use]
pub fn generate_within(steps: (u64, u64), seed: u64, number: u64, ranks: u8, without: &[Feature]) -> TestProgram {
    let mut random = Random::of(seed, &[u64::from(ranks), number]);
    let style = Style::draw(ranks, without, &mut random);
    generate_in(&style, steps, ranks, without, &mut random)
}

/// As [`generate`], with what bears on the order of matching alone: most messages go to one rank,
/// most of its receives have wildcards, and there are none of the features that order does not need
/// ([`Feature::BESIDES_ORDER`]).
#[must_use]
pub fn generate_for_order(seed: u64, number: u64, ranks: u8, without: &[Feature]) -> TestProgram {
    // Other random numbers than those of `generate`.
    let mut random = Random::of(seed, &[u64::from(ranks), number, 1]);
    let style = Style::of_order(ranks, &mut random);
    let is_besides = |feature: &Feature| ranks > 1 || *feature != Feature::SelfMessage;
    let besides = Feature::BESIDES_ORDER.into_iter().filter(is_besides);
    let without: Vec<Feature> = without.iter().copied().chain(besides).collect();
    generate_in(&style, STEPS, ranks, &without, &mut random)
}

fn generate_in(style: &Style, steps: (u64, u64), ranks: u8, without: &[Feature], random: &mut Random) -> TestProgram {
    let mut program = TestProgram { ranks, steps: Vec::new() };
    let length = random.within(steps.0, steps.1);
    // Proposals that break a rule are dropped, so that there are more proposals than steps.
    for _ in 0..4 * length {
        if program.steps.len() as u64 >= length {
            break;
        }
        let rank = random.below(u64::from(ranks)) as u8;
        let thread = random.below(style.threads) as u8;
        let id = program.steps.len() as StepId + 1;
        let mut author = Author { style, program: &program, rank, thread, random };
        let action = author.propose();
        let partner = author.partner(&action);
        let is_excluded = |rank, action| without.iter().any(|feature| feature.is_in(rank, action));
        if is_excluded(rank, &action) || partner.as_ref().is_some_and(|(other, action)| is_excluded(*other, action)) {
            continue;
        }
        let thread = if action == Action::Barrier { 0 } else { thread };
        if let Some((other, action_of_other)) = partner {
            let place = program.steps.len().saturating_sub(random.below(6) as usize);
            let mut both = program.clone();
            both.steps.push(ProgramStep { id, rank, thread, action });
            let thread = style.thread_of(other, &action_of_other, random);
            both.steps.insert(place, ProgramStep { id: id + 1, rank: other, thread, action: action_of_other });
            if rules::broken_rule(&both).is_none() {
                program = both;
            }
            continue;
        }
        // A message that cannot be ready is sent in standard mode.
        for action in [plain(&action), Some(action)].into_iter().flatten().rev() {
            program.steps.push(ProgramStep { id, rank, thread, action });
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
        Action::Send(message, form) if message.mode == SendMode::Ready => {
            Some(Action::Send(Message { mode: SendMode::Standard, ..*message }, *form))
        }
        _ => None,
    }
}

/// Proposes a step of one thread.
struct Author<'a> {
    style: &'a Style,
    program: &'a TestProgram,
    rank: u8,
    thread: u8,
    random: &'a mut Random,
}

impl Author<'_> {
    fn propose(&mut self) -> Action {
        if let Some(receiver) = self.style.receiver {
            return self.propose_for_order(receiver);
        }
        // A ready send needs receives posted before a barrier.
        if self.chance(self.style.ready / 8) {
            return Action::Barrier;
        }
        if self.chance(self.style.partitioned) {
            return self.partitioned();
        }
        if self.chance(self.style.isendrecv) {
            return self.send_receive(Form::Nonblocking);
        }
        match self.random.below(100) {
            0..34 => self.send(),
            34..68 => self.receive(),
            68..78 => self.complete(),
            78..87 => self.probe(),
            87..90 => self.take(),
            90..93 => self.cancel(),
            93..95 => self.restart(),
            95..97 => self.send_receive(Form::Blocking),
            97 => Action::Barrier,
            _ => Action::Pause,
        }
    }

    /// A step of a program in which most messages go to `receiver`.
    fn propose_for_order(&mut self, receiver: u8) -> Action {
        match self.random.below(100) {
            0..12 => self.complete(),
            12..18 => self.probe(),
            18..21 => self.take(),
            21..24 => Action::Pause,
            24..26 => Action::Barrier,
            // One step in ten is the other way round.
            26..33 if self.rank == receiver => self.send(),
            26..33 => self.receive(),
            _ if self.rank == receiver => self.receive(),
            _ => self.send(),
        }
    }

    fn send_receive(&mut self, form: Form) -> Action {
        let message = Message { mode: SendMode::Standard, counts: CountType::Int, ..self.message() };
        let spec = ReceiveSpec { comm: message.comm, layout: self.layout(), ..self.spec() };
        Action::SendReceive(message, spec, form)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.random.below(items.len() as u64) as usize].clone())
    }

    fn form(&mut self) -> Form {
        let last = self.program.steps.iter().rev().find(|step| step.is_of(self.rank));
        if self.style.threads > 1 {
            return match self.random.below(10) {
                0..4 if self.chance(self.style.waiting) => Form::Blocking,
                8 => Form::Persistent,
                _ => Form::Nonblocking,
            };
        }
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
        let layout = self.layout();
        let large = self.chance(self.style.large) && !short;
        let counts = if large { CountType::Large } else { self.counts() };
        // The room of a large receive has no gaps.
        let layout = if large { Layout::Bytes } else { layout };
        Action::Receive(ReceiveSpec { short, layout, counts, ..self.spec() }, form)
    }

    fn layout(&mut self) -> Layout {
        if self.chance(self.style.derived) { self.pick(&Layout::ALL).unwrap_or(Layout::Bytes) } else { Layout::Bytes }
    }

    fn counts(&mut self) -> CountType {
        if self.chance(self.style.wide) { CountType::Wide } else { CountType::Int }
    }

    fn partitions(&mut self) -> u8 {
        1 << self.random.below(4)
    }

    /// A partitioned send or receive; `partner` gives the other end.
    fn partitioned(&mut self) -> Action {
        let comm = self.comm();
        let form =
            if self.style.threads == 1 && self.chance(self.style.together) { Form::Together } else { Form::Persistent };
        let (peer, tag, partitions) = (self.peer(comm), self.tag(), self.partitions());
        if self.chance(50) {
            let spec = ReceiveSpec { partitions, ..ReceiveSpec::of(comm, MessageSource::Rank(peer), Some(tag)) };
            return Action::Receive(spec, form);
        }
        let message = Message { dest: Some(peer), tag, partitions, ..Message::plain(comm) };
        Action::Send(message, form)
    }

    /// The rank and the action of the other end of partitioned communication.
    fn partner(&mut self, action: &Action) -> Option<(u8, Action)> {
        let partitions = self.partitions();
        match action {
            Action::Send(message, _) if message.partitions > 0 => {
                let spec = ReceiveSpec::of(message.comm, MessageSource::Rank(self.rank), Some(message.tag));
                Some((message.dest?, Action::Receive(ReceiveSpec { partitions, ..spec }, Form::Persistent)))
            }
            Action::Receive(ReceiveSpec { partitions: 1.., source: MessageSource::Rank(source), comm, tag, .. }, _) => {
                let message = Message { dest: Some(self.rank), tag: (*tag)?, partitions, ..Message::plain(*comm) };
                Some((*source, Action::Send(message, Form::Persistent)))
            }
            _ => None,
        }
    }

    fn mode(&mut self) -> SendMode {
        if self.chance(self.style.synchronous) {
            SendMode::Synchronous
        } else if self.style.threads == 1 && self.chance(self.style.ready) {
            SendMode::Ready
        } else if self.chance(self.style.buffered) {
            SendMode::Buffered
        } else {
            SendMode::Standard
        }
    }

    /// A rank that this one can send to in `comm`, sometimes itself.
    fn peer(&mut self, comm: Comm) -> u8 {
        if let Some(receiver) = self.style.receiver
            && receiver != self.rank
            && comm.joins(self.rank, receiver)
            && self.chance(80)
        {
            return receiver;
        }
        let peer = self.random.below(u64::from(self.program.ranks)) as u8;
        let peer = if peer == self.rank && self.chance(60) { (peer + 1) % self.program.ranks } else { peer };
        let mut others = (0..self.program.ranks).map(|next| (peer + next) % self.program.ranks);
        others.find(|&other| comm.joins(self.rank, other)).unwrap_or(self.rank)
    }

    fn comm(&mut self) -> Comm {
        let own = self.style.comms_of(self.rank, self.thread);
        self.pick(&own).unwrap_or(Comm::First)
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
        let (layout, counts) = (self.layout(), self.counts());
        let mut message = Message { tag: self.tag(), size, mode, layout, counts, ..Message::plain(comm) };
        if self.chance(2) {
            return message;
        }
        message.dest = Some(self.peer(comm));
        // Half of the messages, and all ready ones, are made for a receive that is already posted.
        if mode == SendMode::Ready || self.chance(50) {
            let rank = self.rank;
            let barrier = self.program.steps.iter().rposition(|step| step.action == Action::Barrier).unwrap_or(0);
            let own = self.style.comms_of(self.rank, self.thread);
            let posted: Vec<(u8, ReceiveSpec)> = self
                .program
                .steps
                .iter()
                .enumerate()
                .filter(|(at, step)| mode != SendMode::Ready || *at < barrier || step.rank == rank)
                .map(|(_, step)| step)
                .filter_map(|step| Some((step.rank, *step.action.spec()?)))
                .filter(|(dest, spec)| {
                    spec.partitions == 0
                        && own.contains(&spec.comm)
                        && spec.comm.joins(rank, *dest)
                        && match spec.source {
                            MessageSource::Any => true,
                            MessageSource::Rank(source) => source == rank,
                            MessageSource::Null => false,
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
        let mut spec = ReceiveSpec::of(comm, MessageSource::Rank(self.peer(comm)), Some(self.tag()));
        if self.chance(2) {
            spec.source = MessageSource::Null;
            return spec;
        }
        // Half of the receives are made for a message that is already sent.
        if self.chance(50) {
            let own = self.style.comms_of(self.rank, self.thread);
            let sent: Vec<(u8, Message)> = self
                .program
                .messages()
                .filter(|(_, message)| {
                    message.dest == Some(self.rank) && message.partitions == 0 && own.contains(&message.comm)
                })
                .map(|(step, message)| (step.rank, *message))
                .collect();
            if let Some((from, message)) = self.pick(&sent) {
                spec = ReceiveSpec::of(message.comm, MessageSource::Rank(from), Some(message.tag));
            }
        }
        if self.chance(self.style.any_source) {
            spec.source = MessageSource::Any;
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

    /// The steps of this thread that `is_selected`.
    fn own(&self, is_selected: impl Fn(&Action) -> bool) -> Vec<StepId> {
        let steps = self.program.steps.iter();
        steps
            .filter(|step| step.lane() == (self.rank, self.thread) && is_selected(&step.action))
            .map(|step| step.id)
            .collect()
    }

    fn take(&mut self) -> Action {
        let probes = self.own(|action| matches!(action, Action::Probe(_, call) if call.takes()));
        let nonblocking = self.chance(50);
        self.pick(&probes).map_or(Action::Pause, |id| Action::ReceiveProbed(id, nonblocking))
    }

    fn cancel(&mut self) -> Action {
        let receives = self.own(|action| {
            !action.is_partitioned() && matches!(action, Action::Receive(_, form) if *form != Form::Blocking)
        });
        self.pick(&receives).map_or(Action::Pause, Action::Cancel)
    }

    fn restart(&mut self) -> Action {
        let receives = self.own(|action| {
            !action.is_partitioned() && matches!(action, Action::Receive(_, form) if form.is_persistent())
        });
        self.pick(&receives).map_or(Action::Pause, Action::Restart)
    }

    fn complete(&mut self) -> Action {
        let mut requests = self.own(|action| match action {
            Action::Send(_, form) | Action::Receive(_, form) | Action::SendReceive(_, _, form) => {
                *form != Form::Blocking
            }
            Action::ReceiveProbed(_, nonblocking) => *nonblocking,
            _ => false,
        });
        let waits = self.chance(self.style.waiting.max(20));
        let calls = &CompleteCall::ALL[if waits { 0..4 } else { 4..8 }];
        let call = self.pick(calls).unwrap_or(CompleteCall::Test);
        self.random.shuffle(&mut requests);
        let most = if call.is_single() { 1 } else { 1 + self.random.below(6) as usize };
        let is_of_session =
            |id: &StepId| self.program.step(*id).is_some_and(|(_, step)| self.program.is_of_session(step));
        if let Some(of_first) = requests.first().map(is_of_session) {
            requests.retain(|id| is_of_session(id) == of_first);
        }
        requests.truncate(most);
        if requests.is_empty() { Action::Pause } else { Action::Complete(call, requests) }
    }
}
