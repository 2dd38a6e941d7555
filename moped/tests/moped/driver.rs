// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes that use the ports concurrently, move between cores, and back off into software.

use std::collections::{BTreeMap, VecDeque};

use mb_core::random::Random;
use mb_moped::contract::{
    BACKOFF_BIT, CONTROL, DRAINED, EPISODE_SHIFT, Field, Id, Kind, ProcessAddress, REFUSED, RETRY, STATE_BITS, State,
    Word, control, data_store, poll_store,
};
use mb_moped::{MatchEvent, MopedCounters};

use crate::chip::{Chip, Post};
use crate::judge::Judge;

/// An operation: its number is unique in a run, and grows in the order of its process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) number: usize,
    pub(crate) process: usize,
    pub(crate) post: Post,
}

/// What a process does next.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Choose,
    Reserve(Operation),
    Store(Id, Operation, usize),
    PollStore(usize, Word),
    PollLoad(usize, Word),
    BackoffStore(After),
    BackoffLoad(After),
    Resume,
}

/// Why the word of back-off is loaded.
#[derive(Clone, Copy, Debug)]
enum After {
    /// A message of software has come.
    Notice,
    /// All are in software and have nothing there.
    Drain,
    /// Software has ended the back-off.
    Return,
}

/// Back-off as the program of a process sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Hardware,
    Software,
    /// All ranks are ready; waits for the bit to clear.
    Returning,
}

struct Runner {
    process: ProcessAddress,
    space: usize,
    core: usize,
    stage: Stage,
    batches: VecDeque<VecDeque<Operation>>,
    todo: VecDeque<Operation>,
    open: Vec<(Id, Operation, bool)>,
    mode: Mode,
    settled: bool,
    episode: u64,
    /// Software: receives, messages, and messages that were not looked at.
    posted: Vec<Operation>,
    unexpected: Vec<Operation>,
    inbox: VecDeque<Operation>,
    waits: usize,
}

/// What a run does besides posting and polling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Moves to another core, in 1000 steps.
    pub(crate) moves: u64,
    /// Whether ranks go back to hardware after each batch.
    pub(crate) returns: bool,
}

/// Processes on a chip.
pub(crate) struct Driver {
    pub(crate) chip: Chip,
    runners: Vec<Runner>,
    random: Random,
    habits: Habits,
    names: BTreeMap<Id, Operation>,
    pub(crate) judge: Judge,
    /// Operations that software performed, and returns to hardware.
    pub(crate) software: usize,
    pub(crate) returns: usize,
    /// Cores that run a process in the middle of its work.
    busy: Vec<Option<usize>>,
    /// The process whose page table a core has.
    running: Vec<Option<usize>>,
}

impl Driver {
    pub(crate) fn new(mut chip: Chip, habits: Habits, seed: u64) -> Self {
        chip.moped.log();
        let cores = chip.moped_nodes();
        Self {
            chip,
            runners: Vec::new(),
            random: Random::of(seed, &[3]),
            habits,
            names: BTreeMap::new(),
            judge: Judge::default(),
            software: 0,
            returns: 0,
            busy: vec![None; cores],
            running: vec![None; cores],
        }
    }

    /// A process with its batches of operations; all its ranks finish a batch before the next one begins.
    pub(crate) fn process(&mut self, process: ProcessAddress, space: usize, batches: Vec<Vec<Operation>>) {
        let core = self.runners.len() % self.busy.len();
        self.runners.push(Runner {
            process,
            space,
            core,
            stage: Stage::Choose,
            batches: batches.into_iter().map(Into::into).collect(),
            todo: VecDeque::new(),
            open: Vec::new(),
            mode: Mode::Hardware,
            settled: false,
            episode: 0,
            posted: Vec::new(),
            unexpected: Vec::new(),
            inbox: VecDeque::new(),
            waits: 0,
        });
    }

    /// Runs until all operations are done.
    pub(crate) fn run(&mut self) {
        for _ in 0..3_000_000_u64 {
            self.chip.step();
            for node in 0..self.busy.len() {
                for event in self.chip.moped.take_log(node) {
                    self.judge.event(&self.names, &event);
                }
            }
            for core in 0..self.busy.len() {
                self.core(core);
            }
            if self.runners.iter().all(Runner::has_finished) && !self.next_batch() {
                break;
            }
        }
        let stuck: Vec<_> = self.runners.iter().filter(|runner| !runner.has_finished()).collect();
        assert!(stuck.is_empty(), "{} processes never end: {:?}", stuck.len(), stuck.first().map(|one| one.describe()));
        self.chip.settle();
    }

    pub(crate) fn counters(&self) -> Vec<MopedCounters> {
        (0..self.busy.len()).map(|node| self.chip.moped.counters(node)).collect()
    }

    /// All processes are at the end of a batch. False: there is no other.
    fn next_batch(&mut self) -> bool {
        for runner in &mut self.runners {
            if let Some(batch) = runner.batches.pop_front() {
                runner.todo = batch;
            }
        }
        self.runners.iter().any(|runner| !runner.todo.is_empty())
    }

    /// The process that a core executes next; nothing if the kernel moves one.
    fn schedule(&mut self, core: usize) -> Option<usize> {
        if self.busy[core].is_some() {
            return self.busy[core];
        }
        let here: Vec<_> = (0..self.runners.len()).filter(|index| self.runners[*index].core == core).collect();
        if here.is_empty() {
            return None;
        }
        let index = self.random.pick(&here);
        if self.running[core] != Some(index) {
            let root = self.chip.spaces[self.runners[index].space].root;
            self.chip.moped.set_page_table(core, root);
            self.running[core] = Some(index);
        }
        if self.random.below(1000) < self.habits.moves {
            if self.chip.attempt(core, CONTROL + control::IN_FLIGHT, 8, None) == Some(0) {
                self.running[core] = None;
                self.runners[index].core = self.random.below(self.busy.len() as u64) as usize;
            }
            return None;
        }
        Some(index)
    }

    /// One attempt of the process that a core executes.
    fn core(&mut self, core: usize) {
        let Some(index) = self.schedule(core) else { return };
        if let Stage::Choose = self.runners[index].stage {
            self.choose(index);
        }
        let runner = &self.runners[index];
        let port = runner.process.port();
        let no_id = Id { node: 0, entry: 0 };
        let access = match runner.stage {
            Stage::Choose => return,
            Stage::Reserve(_) => (port, 4, None),
            Stage::Store(id, operation, place) => {
                let (field, value) = operation.post.stores()[place];
                (port, 8, Some(data_store(id, field, value)))
            }
            Stage::PollStore(place, word) => (port + 4, 4, Some(poll_store(runner.open[place].0, word))),
            Stage::BackoffStore(_) => (port + 4, 4, Some(poll_store(no_id, Word::Backoff))),
            Stage::PollLoad(..) | Stage::BackoffLoad(_) => (port + 4, 4, None),
            Stage::Resume => (port, 8, Some(data_store(no_id, Field::Resume, 0))),
        };
        let answer = self.chip.attempt(core, access.0, access.1, access.2);
        self.busy[core] = answer.is_none().then_some(index);
        if let Some(value) = answer {
            self.answered(index, value);
        }
    }

    fn choose(&mut self, index: usize) {
        let runner = &mut self.runners[index];
        if runner.mode == Mode::Returning {
            runner.stage = Stage::BackoffStore(After::Return);
            return;
        }
        if runner.mode == Mode::Software {
            // Unmatched descriptors first, in their order.
            if !runner.settled {
                match runner.open.iter().position(|(_, _, matched)| !matched) {
                    Some(place) => runner.stage = Stage::PollStore(place, Word::State),
                    None => runner.settled = true,
                }
                return;
            }
            while let Some(message) = self.runners[index].inbox.pop_front() {
                self.soft(index, message);
            }
            let runner = &mut self.runners[index];
            if let Some(operation) = runner.todo.pop_front() {
                self.in_software(index, operation);
                return;
            }
            if !runner.open.is_empty() {
                runner.stage = Stage::PollStore(0, Word::State);
                return;
            }
            self.try_return(index);
            return;
        }
        if !runner.inbox.is_empty() {
            runner.stage = Stage::BackoffStore(After::Notice);
            return;
        }
        let post = !runner.todo.is_empty() && (runner.open.is_empty() || self.random.below(2) == 0);
        if post && let Some(operation) = runner.todo.pop_front() {
            runner.stage = Stage::Reserve(operation);
        } else if !runner.open.is_empty() {
            let place = self.random.below(runner.open.len() as u64) as usize;
            runner.stage = Stage::PollStore(place, Word::State);
        }
    }

    /// Goes back to hardware when every rank of the program can.
    fn try_return(&mut self, index: usize) {
        let program = self.runners[index].process.program;
        let ranks = || self.runners.iter().filter(|runner| runner.process.program == program);
        let ready = ranks().all(Runner::is_ready_to_return);
        if self.habits.returns && ready {
            self.runners[index].stage = Stage::BackoffStore(After::Drain);
        }
    }

    fn answered(&mut self, index: usize, value: u64) {
        let stage = self.runners[index].stage;
        let runner = &mut self.runners[index];
        runner.stage = Stage::Choose;
        match stage {
            Stage::Choose | Stage::Resume => {}
            Stage::Reserve(operation) if value == REFUSED => {
                runner.todo.push_front(operation);
                runner.back_off();
            }
            Stage::Reserve(operation) => {
                self.names.insert(Id::of(value), operation);
                runner.stage = Stage::Store(Id::of(value), operation, 0);
            }
            Stage::Store(id, operation, 3) => {
                self.judge.post(&operation);
                runner.open.push((id, operation, false));
            }
            Stage::Store(id, operation, place) => runner.stage = Stage::Store(id, operation, place + 1),
            Stage::PollStore(place, word) => runner.stage = Stage::PollLoad(place, word),
            Stage::PollLoad(place, word) if value == RETRY => runner.stage = Stage::PollStore(place, word),
            Stage::PollLoad(place, _) => self.polled(index, place, value),
            Stage::BackoffStore(after) => runner.stage = Stage::BackoffLoad(after),
            Stage::BackoffLoad(after) if value == RETRY => runner.stage = Stage::BackoffStore(after),
            Stage::BackoffLoad(After::Notice) => {
                assert_eq!(value & BACKOFF_BIT, BACKOFF_BIT, "a message of software without back-off");
                runner.back_off();
            }
            Stage::BackoffLoad(After::Drain) => {
                if value & DRAINED != 0 && runner.mode == Mode::Software {
                    // One rank ends the back-off; all wait for it.
                    runner.stage = Stage::Resume;
                    let program = runner.process.program;
                    self.returns += 1;
                    for rank in self.runners.iter_mut().filter(|runner| runner.process.program == program) {
                        (rank.mode, rank.episode) = (Mode::Returning, value >> EPISODE_SHIFT);
                    }
                }
            }
            Stage::BackoffLoad(After::Return) => {
                let episode = value >> EPISODE_SHIFT;
                if value & BACKOFF_BIT == 0 {
                    runner.mode = Mode::Hardware;
                } else if runner.episode != episode {
                    runner.mode = Mode::Hardware;
                    runner.back_off();
                }
            }
        }
    }

    fn polled(&mut self, index: usize, place: usize, value: u64) {
        let runner = &mut self.runners[index];
        let state = State::of(value & STATE_BITS).expect("a state");
        let (id, operation, _) = runner.open[place];
        match state {
            State::Pending => runner.waits += 1,
            State::Matched => runner.open[place].2 = true,
            State::Revoked => {
                runner.open.remove(place);
                // It is repeated in software after those before it, which are polled first.
                let later = runner.todo.iter().position(|other| other.number > operation.number);
                runner.todo.insert(later.unwrap_or(runner.todo.len()), operation);
                runner.back_off();
            }
            State::Complete => {
                runner.open.remove(place);
                self.judge.end(&operation, state, value);
            }
            other => panic!("{id:?} of {operation:?} is {other:?}"),
        }
    }

    /// Performs an operation of a process in software.
    fn in_software(&mut self, index: usize, operation: Operation) {
        self.software += 1;
        self.judge.post(&operation);
        if operation.post.go.kind == Kind::Send {
            let program = self.runners[index].process.program;
            let to = ProcessAddress { program, rank: operation.post.receiver };
            let receiver = self.runners.iter_mut().find(|runner| runner.process == to).expect("a receiver");
            receiver.inbox.push_back(operation);
            return;
        }
        let runner = &mut self.runners[index];
        match runner.unexpected.iter().position(|send| Judge::accepts(&operation, send)) {
            Some(place) => {
                let send = runner.unexpected.remove(place);
                self.judge.software(&operation, &send);
            }
            None => runner.posted.push(operation),
        }
    }

    /// A process looks at a message of software.
    fn soft(&mut self, index: usize, send: Operation) {
        let runner = &mut self.runners[index];
        match runner.posted.iter().position(|receive| Judge::accepts(receive, &send)) {
            Some(place) => {
                let receive = runner.posted.remove(place);
                self.judge.software(&receive, &send);
            }
            None => runner.unexpected.push(send),
        }
    }
}

impl Runner {
    fn back_off(&mut self) {
        if self.mode == Mode::Hardware {
            (self.mode, self.settled) = (Mode::Software, false);
        }
    }

    fn has_finished(&self) -> bool {
        let quiet = self.open.is_empty() && self.todo.is_empty() && matches!(self.stage, Stage::Choose);
        let lists = self.posted.is_empty() && self.unexpected.is_empty() && self.inbox.is_empty();
        quiet && lists && self.mode != Mode::Returning
    }

    fn is_ready_to_return(&self) -> bool {
        let waits = matches!(self.stage, Stage::Choose | Stage::BackoffStore(_) | Stage::BackoffLoad(_));
        let quiet = self.open.is_empty() && self.todo.is_empty() && waits;
        let lists = self.posted.is_empty() && self.unexpected.is_empty() && self.inbox.is_empty();
        quiet && lists && self.mode == Mode::Software
    }

    fn describe(&self) -> String {
        format!(
            "{:?} {:?} {:?} todo {} open {:?} posted {:?} unexpected {:?} inbox {}",
            self.process,
            self.mode,
            self.stage,
            self.todo.len(),
            self.open,
            self.posted,
            self.unexpected,
            self.inbox.len()
        )
    }
}

/// An event about a descriptor that has no name is one of a descriptor that was withdrawn early.
pub(crate) fn named(names: &BTreeMap<Id, Operation>, event: &MatchEvent) -> Option<(Operation, Option<Operation>)> {
    let name = |id: Id| names.get(&id).copied();
    Some(match event {
        MatchEvent::Searched(descriptor) => (name(descriptor.id)?, None),
        MatchEvent::Matched { receive, send } => (name(*receive)?, Some(name(*send)?)),
        MatchEvent::Probed { probe, found } => (name(*probe)?, found.and_then(name)),
        MatchEvent::Withdrawn(id) => (name(*id)?, None),
    })
}
