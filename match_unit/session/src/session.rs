// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running programs by hand: a list of items, a queue of headers, and a debugger over both.
//!
//! Contract: a [`Session`] begins in reset and takes one header after the other; watching or stopping it changes no
//! cycle. Everything a tool shows (answers, cycles, stalls, registers, FIFOs) is read from here.
//! Cost: that of [`mb_unit::machine`]; nothing is kept but the answers.

use std::collections::{BTreeSet, VecDeque};

use mb_asm::Program;

use mb_unit::layout::{Header, Item, Words, flags};
use mb_unit::list_manager::{Answer, List, Memory, ProtocolError};
use mb_unit::machine::{Event, Machine, Observer, Stalls, Step};
use mb_unit::unit::{Sent, WRITE_STAGE};

/// What becomes of an item that matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AfterMatch {
    /// It stays, as in the benchmark of hemmert2007 figure 5.
    #[default]
    Keep,
    /// It is taken out of its list.
    Remove,
}

/// One header, answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// Place of the header in the order of arrival.
    pub header: usize,
    /// The list that was searched.
    pub list: List,
    /// Cycle in which the list manager began to send the header.
    pub begun: u64,
    /// Id of the item that matched.
    pub item: Option<u64>,
    /// The answer and its time.
    pub answer: Answer,
}

/// What a session did in one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// One word was issued.
    Issued(Event),
    /// A search ended, its flush included, and the unit waits for the next header.
    Answered(Answered),
    /// No header is left.
    Idle,
}

/// A machine with headers to come.
#[derive(Clone, Debug)]
pub struct Session {
    machine: Machine,
    after_match: AfterMatch,
    headers: VecDeque<(List, Words, u64)>,
    /// The list being searched, and since which cycle.
    current: Option<(List, u64)>,
    answers: Vec<Answered>,
    /// Words sent that the list manager has not acted on: when each reaches the output FIFO.
    leaving: VecDeque<(u64, Sent)>,
}

/// The sum of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// An answer for each header, in the order of arrival.
    pub answers: Vec<Answered>,
    /// Cycles from reset until the unit waits for a header that does not come.
    pub cycles: u64,
    /// Words issued.
    pub words: u64,
    /// Cycles of waiting, by cause.
    pub stalls: Stalls,
}

impl Session {
    /// A session in reset, with empty lists and no headers.
    #[must_use]
    pub fn new(program: &Program, memory: Memory, after_match: AfterMatch) -> Self {
        Self {
            machine: Machine::in_reset(&program.words, memory),
            after_match,
            headers: VecDeque::new(),
            current: None,
            answers: Vec::new(),
            leaving: VecDeque::new(),
        }
    }

    /// Appends an item under `id`, which costs no time.
    pub fn append(&mut self, list: List, item: Item, id: u64) {
        self.machine.lists_mut().append(list, item, id, 0);
    }

    /// Queues a header that is there from cycle `arrival` on. It searches the list that its flags name.
    pub fn arrive(&mut self, header: Header, arrival: u64) {
        let list = if header.flags & flags::SEARCH == 0 { List::Posted } else { List::Unexpected };
        self.arrive_words(list, header.words(), arrival);
    }

    /// Queues a header of any layout, which searches `list` and is there from cycle `arrival` on.
    pub fn arrive_words(&mut self, list: List, header: Words, arrival: u64) {
        self.headers.push_back((list, header, arrival));
    }

    /// Headers whose search has not begun.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.headers.len()
    }

    /// The search that is under way: its header's place in the order of arrival, and the list.
    #[must_use]
    pub fn searching(&self) -> Option<(usize, List)> {
        self.current.map(|(list, _)| (self.answers.len(), list))
    }

    /// Issues one word, or ends a search.
    ///
    /// # Errors
    /// When the program breaks the protocol.
    pub fn step(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<Progress, ProtocolError> {
        loop {
            if let Step::Issued(event) = self.machine.step(observer)? {
                self.note_sent(&event);
                return Ok(Progress::Issued(event));
            }
            if let Some((list, begun)) = self.current.take() {
                return self.finish(list, begun).map(Progress::Answered);
            }
            let Some((list, header, arrival)) = self.headers.pop_front() else { return Ok(Progress::Idle) };
            let begun = self.machine.lists_mut().begin(list, header, arrival);
            self.current = Some((list, begun));
        }
    }

    fn note_sent(&mut self, event: &Event) {
        let reaction = self.machine.lists().memory().reaction;
        while self.leaving.front().is_some_and(|(enters, _)| enters + reaction <= event.cycle) {
            self.leaving.pop_front();
        }
        self.leaving.extend(event.issued.sent.map(|sent| (event.cycle + WRITE_STAGE, sent)));
    }

    /// Words that were sent and, at the last issue, not acted on; and the cycle in which each reaches the output FIFO.
    pub fn leaving(&self) -> impl Iterator<Item = (u64, Sent)> {
        self.leaving.iter().copied()
    }

    fn finish(&mut self, list: List, begun: u64) -> Result<Answered, ProtocolError> {
        let lists = self.machine.lists();
        let unanswered = ProtocolError::Unanswered { pc: self.machine.unit().pc(), item: lists.answered() };
        let answer = *lists.answer().ok_or(unanswered)?;
        let item = answer.found.map(|position| lists.item(list, position).1);
        if let (AfterMatch::Remove, Some(position)) = (self.after_match, answer.found) {
            self.machine.lists_mut().remove(list, position, answer.at);
        }
        let answered = Answered { header: self.answers.len(), list, begun, item, answer };
        self.answers.push(answered);
        Ok(answered)
    }

    /// Runs until every header is answered.
    ///
    /// # Errors
    /// When the program breaks the protocol.
    pub fn run(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<Report, ProtocolError> {
        while self.step(observer)? != Progress::Idle {}
        let machine = &self.machine;
        Ok(Report {
            answers: self.answers.clone(),
            cycles: machine.now(),
            words: machine.issued(),
            stalls: *machine.stalls(),
        })
    }

    /// The answers so far, in the order of arrival of their headers.
    #[must_use]
    pub fn answers(&self) -> &[Answered] {
        &self.answers
    }

    /// The machine.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }
}

/// Why a debugger stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// As many words as were asked for have been issued.
    Stepped,
    /// The word at a breakpoint is next.
    Breakpoint(u16),
    /// The word that was asked for is next.
    Reached(u16),
    /// A search ended.
    Answered(Answered),
    /// No header is left.
    Idle,
}

/// A place that a program does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownPlace {
    /// No label of this name.
    #[error("no label `{label}`; expected one of: {known}")]
    Label {
        /// What was asked for.
        label: String,
        /// The labels there are.
        known: String,
    },
    /// No word at this address.
    #[error("no word at address {address}; the last one is at {last}")]
    Address {
        /// What was asked for.
        address: usize,
        /// Address of the last word.
        last: usize,
    },
}

/// A session that stops where it is told to.
#[derive(Clone, Debug)]
pub struct Debugger {
    program: Program,
    session: Session,
    breakpoints: BTreeSet<u16>,
    last: Option<Event>,
}

impl Debugger {
    /// A debugger over `session`, which runs `program`.
    #[must_use]
    pub const fn new(program: Program, session: Session) -> Self {
        Self { program, session, breakpoints: BTreeSet::new(), last: None }
    }

    /// The address of a label, or of a number.
    ///
    /// # Errors
    /// When the program has no such place.
    pub fn place(&self, text: &str) -> Result<u16, UnknownPlace> {
        if let Ok(address) = text.parse::<usize>() {
            let last = self.program.words.len() - 1;
            return if address <= last { Ok(address as u16) } else { Err(UnknownPlace::Address { address, last }) };
        }
        match self.program.labels.get(text) {
            Some(address) => Ok(address.index() as u16),
            None => Err(UnknownPlace::Label {
                label: text.to_owned(),
                known: self.program.labels.keys().cloned().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Stops from now on whenever the word at `address` is next.
    pub fn break_at(&mut self, address: u16) {
        self.breakpoints.insert(address);
    }

    /// Stops there no more; tells whether it did.
    pub fn clear(&mut self, address: u16) -> bool {
        self.breakpoints.remove(&address)
    }

    /// The breakpoints in the order of addresses.
    pub fn breakpoints(&self) -> impl Iterator<Item = u16> {
        self.breakpoints.iter().copied()
    }

    /// Issues up to `words` words; the end of a search stops it earlier, breakpoints do not.
    ///
    /// # Errors
    /// When the program breaks the protocol.
    pub fn step(&mut self, words: u64) -> Result<Stop, ProtocolError> {
        self.go(|_, issued| (issued >= words).then_some(Stop::Stepped))
    }

    /// Runs to a breakpoint or the end of a search.
    ///
    /// # Errors
    /// When the program breaks the protocol.
    pub fn resume(&mut self) -> Result<Stop, ProtocolError> {
        let breakpoints = self.breakpoints.clone();
        self.go(|pc, _| breakpoints.contains(&pc).then_some(Stop::Breakpoint(pc)))
    }

    /// Runs until the word at `address` is next, through the ends of searches; breakpoints stop it too.
    ///
    /// # Errors
    /// When the program breaks the protocol.
    pub fn run_to(&mut self, address: u16) -> Result<Stop, ProtocolError> {
        let breakpoints = self.breakpoints.clone();
        loop {
            let stop = self.go(|pc, _| match pc {
                pc if pc == address => Some(Stop::Reached(pc)),
                pc if breakpoints.contains(&pc) => Some(Stop::Breakpoint(pc)),
                _ => None,
            })?;
            if !matches!(stop, Stop::Answered(_)) {
                return Ok(stop);
            }
        }
    }

    /// Issues words until `stop` says so; it sees the next address and how many words were issued, at least one.
    fn go(&mut self, stop: impl Fn(u16, u64) -> Option<Stop>) -> Result<Stop, ProtocolError> {
        let mut issued = 0;
        loop {
            match self.session.step(&mut ())? {
                Progress::Issued(event) => {
                    self.last = Some(event);
                    issued += 1;
                    if let Some(stop) = stop(self.session.machine.unit().pc(), issued) {
                        return Ok(stop);
                    }
                }
                Progress::Answered(answered) => return Ok(Stop::Answered(answered)),
                Progress::Idle => return Ok(Stop::Idle),
            }
        }
    }

    /// The word issued last.
    #[must_use]
    pub const fn last(&self) -> Option<&Event> {
        self.last.as_ref()
    }

    /// The program.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// The session, to be looked at.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to be given more items and headers.
    pub const fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}
