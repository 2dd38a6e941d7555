// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions: a match program, both lists and a queue of headers.
//!
//! Contract: a [`Session`] starts in reset and serves one header after the other. Observers have no effect on the
//! simulated cycles. The tools read everything they show (results, cycles, stalls, registers, FIFOs) from here.
//! Cost: that of [`mb_unit::match_processor`]; only the results are kept.

use std::collections::VecDeque;

use mb_asm::MatchProgram;
use mb_asm::word::Register;

use mb_unit::layout::{Item, ItemWords, MessageHeader, Words, flags};
use mb_unit::list_manager::{List, ListManagerParameters, ProtocolError, SearchResult};
use mb_unit::match_processor::{IssueEvent, MatchProcessor, Observer, StallCycles, StepResult};
use mb_unit::unit::{OutputWord, WRITE_STAGE};

/// The action of the session on a matching item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AfterMatch {
    /// Leave it in its list, as in the benchmark of hemmert2007 figure 5.
    #[default]
    Keep,
    /// Remove it from its list.
    Remove,
    /// As an MPI receiver: remove it from its list, and append a header that matched nothing to the other list.
    Append,
}

/// Ids of items that a session appended: this number and the index of the header in the order of arrival.
pub const APPENDED: u64 = 1 << 32;

/// The completed search of one header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompletedSearch {
    /// Index of the header in the order of arrival.
    pub header: usize,
    /// The list that was searched.
    pub list: List,
    /// Cycle in which the list manager began to send the header.
    pub begun: u64,
    /// Id of the matching item.
    pub item: Option<u64>,
    /// The result and its time.
    pub result: SearchResult,
}

/// Result of one step of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionStep {
    /// One word was issued.
    Issued(IssueEvent),
    /// A search ended, including its flush; the unit waits for the next header.
    SearchDone(CompletedSearch),
    /// No header is left.
    Idle,
}

/// A header in the queue.
#[derive(Clone, Copy, Debug)]
struct QueuedHeader {
    list: List,
    words: Words,
    arrival: u64,
    after_match: AfterMatch,
}

/// A match processor with a queue of headers.
#[derive(Clone, Debug)]
pub struct Session {
    processor: MatchProcessor,
    after_match: AfterMatch,
    headers: VecDeque<QueuedHeader>,
    /// The header whose search has begun, and the first cycle of the search.
    current: Option<(QueuedHeader, u64)>,
    answers: Vec<CompletedSearch>,
    /// Sent words that the list manager has not acted on, with the cycle in which each reaches the output FIFO.
    leaving: VecDeque<(u64, OutputWord)>,
}

/// Totals of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunReport {
    /// The completed search of each header, in the order of arrival.
    pub answers: Vec<CompletedSearch>,
    /// Cycles from reset until the unit waits for a header and none is left.
    pub cycles: u64,
    /// Words issued.
    pub words: u64,
    /// Stall cycles, by cause.
    pub stalls: StallCycles,
}

impl Session {
    /// A session in reset, with empty lists and no headers. Items have the size that the program declares.
    #[must_use]
    pub fn new(program: &MatchProgram, parameters: ListManagerParameters, after_match: AfterMatch) -> Self {
        Self {
            processor: MatchProcessor::in_reset(
                &program.words,
                ListManagerParameters { item_words: program.item_words, ..parameters },
            ),
            after_match,
            headers: VecDeque::new(),
            current: None,
            answers: Vec::new(),
            leaving: VecDeque::new(),
        }
    }

    /// Appends an item under `id` at cycle 0.
    pub fn append(&mut self, list: List, item: Item, id: u64) {
        self.processor.lists_mut().append(list, item, id, 0);
    }

    /// Appends an item of any layout under `id` at cycle 0; words beyond the size of an item are not read.
    pub fn append_words(&mut self, list: List, item: ItemWords, id: u64) {
        self.processor.lists_mut().append_words(list, item, id, 0);
    }

    /// Queues a header that is available from cycle `arrival` on. Its flags select the list.
    pub fn arrive(&mut self, header: MessageHeader, arrival: u64) {
        let list = if header.flags & flags::SEARCH == 0 { List::Posted } else { List::Unexpected };
        self.arrive_words(list, header.words(), arrival);
    }

    /// Queues a header of any layout that searches `list` and is available from cycle `arrival` on.
    pub fn arrive_words(&mut self, list: List, header: Words, arrival: u64) {
        self.arrive_as(list, header, arrival, self.after_match);
    }

    /// As [`Session::arrive_words`], with what happens to the matching item.
    pub fn arrive_as(&mut self, list: List, words: Words, arrival: u64, after_match: AfterMatch) {
        self.headers.push_back(QueuedHeader { list, words, arrival, after_match });
    }

    /// Number of headers whose search has not started.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.headers.len()
    }

    /// The current search: index of its header in the order of arrival, and the list.
    #[must_use]
    pub fn searching(&self) -> Option<(usize, List)> {
        self.current.map(|(header, _)| (self.answers.len(), header.list))
    }

    /// Issues one word or completes a search.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn step(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<SessionStep, ProtocolError> {
        loop {
            if let StepResult::Issued(event) = self.processor.step(observer)? {
                self.note_sent(&event);
                return Ok(SessionStep::Issued(event));
            }
            if let Some((header, begun)) = self.current.take() {
                return self.finish(&header, begun).map(SessionStep::SearchDone);
            }
            let Some(header) = self.headers.pop_front() else { return Ok(SessionStep::Idle) };
            let begun = self.processor.lists_mut().begin(header.list, header.words, header.arrival);
            self.current = Some((header, begun));
        }
    }

    fn note_sent(&mut self, event: &IssueEvent) {
        let reaction = self.processor.lists().parameters().reaction;
        while self.leaving.front().is_some_and(|(enters, _)| enters + reaction <= event.cycle) {
            self.leaving.pop_front();
        }
        self.leaving.extend(event.issued.sent.map(|sent| (event.cycle + WRITE_STAGE, sent)));
    }

    /// Sent words that the list manager had not acted on at the last issue, with the cycle in which each reaches the
    /// output FIFO.
    pub fn leaving(&self) -> impl Iterator<Item = (u64, OutputWord)> {
        self.leaving.iter().copied()
    }

    fn finish(&mut self, header: &QueuedHeader, begun: u64) -> Result<CompletedSearch, ProtocolError> {
        let list = header.list;
        let lists = self.processor.lists();
        let unanswered = ProtocolError::Unanswered { pc: self.processor.unit().pc(), item: lists.answered() };
        let result = *lists.result().ok_or(unanswered)?;
        let item = result.found.map(|position| lists.item(list, position).1);
        match (header.after_match, result.found) {
            (AfterMatch::Remove | AfterMatch::Append, Some(position)) => {
                self.processor.lists_mut().remove(list, position, result.at);
            }
            (AfterMatch::Append, None) => {
                let id = APPENDED + self.answers.len() as u64;
                let (other, item) = MessageHeader::from_words(&header.words).item_of(list);
                self.processor.lists_mut().append(other, item, id, result.at);
            }
            _ => {}
        }
        let completed = CompletedSearch { header: self.answers.len(), list, begun, item, result };
        self.answers.push(completed);
        Ok(completed)
    }

    /// Runs until every search is complete.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn run(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<RunReport, ProtocolError> {
        while self.step(observer)? != SessionStep::Idle {}
        let processor = &self.processor;
        Ok(RunReport {
            answers: self.answers.clone(),
            cycles: processor.now(),
            words: processor.issued(),
            stalls: *processor.stalls(),
        })
    }

    /// The completed searches so far, in the order of arrival of their headers.
    #[must_use]
    pub fn answers(&self) -> &[CompletedSearch] {
        &self.answers
    }

    /// Writes a register or predicate between two words; false for those that cannot be written.
    pub fn write(&mut self, register: Register, value: u64) -> bool {
        self.processor.write(register, value)
    }

    /// The match processor.
    #[must_use]
    pub const fn processor(&self) -> &MatchProcessor {
        &self.processor
    }
}
