// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match processor: a match unit with its list manager. Searches in, results and cycles out.
//!
//! Contract: [`MatchProcessor::search`] runs one search to its end, including the flush of the item after the match.
//! Afterwards the unit waits for the next header. An [`Observer`] receives every issued word and has no effect on the
//! simulation.
//! Cost: proportional to the words issued. Stall cycles cost nothing.

use mb_asm::word::{Register, Word};

use crate::fast_forward::FastForward;
use crate::layout::Words;
use crate::list_manager::{List, ListManager, ListManagerParameters, ProtocolError, SearchResult, StallCause};
pub use crate::observer::{IssueEvent, Observer};
use crate::unit::{FifoHead, FifoTag, InputNeed, MatchUnit, WRITE_STAGE};

/// Limit of consecutive words without input or the end of an answer; a longer sequence is an error.
const RUNAWAY_WORDS: u32 = 1 << 16;

/// The FIFO head passed to a word that does not read it.
const NO_HEAD: FifoHead = FifoHead { word: 0, tag: FifoTag::End };

/// Stall cycles of the unit, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StallCycles([u64; StallCause::ALL.len()]);

impl StallCycles {
    /// Stall cycles with this cause.
    #[must_use]
    pub const fn of(&self, cause: StallCause) -> u64 {
        self.0[cause as usize]
    }

    /// Stall cycles of all causes except [`StallCause::Idle`], which means that no operation was offered.
    #[must_use]
    pub fn total(&self) -> u64 {
        StallCause::ALL.iter().filter(|&&cause| cause != StallCause::Idle).map(|&cause| self.of(cause)).sum()
    }
}

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepResult {
    /// One word was issued.
    Issued(IssueEvent),
    /// The search has ended and the unit waits for the next header.
    Waiting,
}

/// A match unit with its list manager.
#[derive(Clone, Debug)]
pub struct MatchProcessor {
    unit: MatchUnit,
    lists: ListManager,
    next: u64,
    issued: u64,
    quiet: u32,
    stalls: StallCycles,
    fast_forward: FastForward,
    skipped_items: u64,
}

impl MatchProcessor {
    /// A match processor with empty lists whose unit has executed the initialisation code and waits for a header.
    ///
    /// # Errors
    /// When the program does not reach the wait for a header.
    pub fn new(words: &[Word], parameters: ListManagerParameters) -> Result<Self, ProtocolError> {
        let mut processor = Self::in_reset(words, parameters);
        processor.run_until_waiting(&mut ())?;
        Ok(processor)
    }

    /// A match processor that has not issued a word.
    #[must_use]
    pub fn in_reset(words: &[Word], parameters: ListManagerParameters) -> Self {
        Self {
            unit: MatchUnit::new(words),
            lists: ListManager::new(parameters),
            next: 0,
            issued: 0,
            quiet: 0,
            stalls: StallCycles::default(),
            fast_forward: FastForward::default(),
            skipped_items: 0,
        }
    }

    /// Issues the next word, after its stall cycles; returns false when the unit waits for a header.
    #[inline]
    fn advance(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<bool, ProtocolError> {
        let pc = self.unit.pc();
        let need = self.unit.need().ok_or(ProtocolError::PastEnd { pc })?;
        let seen = match need {
            InputNeed::Nothing => None,
            InputNeed::Head => self.lists.head(pc)?,
            InputNeed::Word => self.lists.take(pc)?,
        };
        let mut stall = None;
        let mut head = NO_HEAD;
        match seen {
            Some(entry) => {
                head = entry.as_head();
                let visible = entry.entered + 1;
                if visible > self.next {
                    let cycles = visible - self.next;
                    self.stalls.0[entry.cause as usize] += cycles;
                    stall = Some((cycles, entry.cause));
                    self.next = visible;
                }
            }
            None if need == InputNeed::Nothing => {}
            None => return Ok(false),
        }
        let cycle = self.next;
        if need == InputNeed::Word {
            if self.lists.at_end_mark() {
                head.tag = FifoTag::End;
            }
            self.lists.taken(cycle);
            self.quiet = 0;
        }
        let issued = self.unit.issue(head);
        self.next += 1;
        self.issued += 1;
        self.quiet += 1;
        if let Some(sent) = issued.sent {
            self.lists.receive(sent, cycle + WRITE_STAGE, pc)?;
            if sent.last {
                self.quiet = 0;
            }
        }
        if self.quiet > RUNAWAY_WORDS {
            return Err(ProtocolError::Runaway { pc: self.unit.pc(), words: self.quiet });
        }
        let event = IssueEvent { cycle, issued, stall, took: if issued.popped { seen } else { None } };
        observer.issued(&event, &self.unit);
        Ok(true)
    }

    /// Issues the next word, after its stall cycles.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn step(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<StepResult, ProtocolError> {
        let mut last = None;
        let mut watch = |event: &IssueEvent, unit: &MatchUnit| {
            last = Some(*event);
            observer.issued(event, unit);
        };
        self.advance(&mut watch)?;
        Ok(last.map_or(StepResult::Waiting, StepResult::Issued))
    }

    /// Issues words until the unit waits for the next header.
    ///
    /// # Errors
    /// As [`MatchProcessor::step`].
    #[inline]
    pub fn run_until_waiting(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<(), ProtocolError> {
        while self.advance(observer)? {}
        Ok(())
    }

    /// Searches `list` for a header that is available from cycle `arrival` on, to the end of the flush.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn search(
        &mut self,
        list: List,
        header: Words,
        arrival: u64,
        observer: &mut (impl Observer + ?Sized),
    ) -> Result<SearchResult, ProtocolError> {
        self.lists.begin(list, header, arrival);
        self.run_until_waiting(observer)?;
        self.lists
            .result()
            .copied()
            .ok_or(ProtocolError::Unanswered { pc: self.unit.pc(), item: self.lists.answered() })
    }

    /// As [`MatchProcessor::search`], without an observer. Consecutive items that fail in the same
    /// way are skipped in one step; result and state are the same.
    ///
    /// # Errors
    /// As [`MatchProcessor::search`].
    pub fn search_fast(&mut self, list: List, header: Words, arrival: u64) -> Result<SearchResult, ProtocolError> {
        self.lists.begin(list, header, arrival);
        let mut fast_forward = std::mem::take(&mut self.fast_forward);
        fast_forward.restart();
        let result = self.run_until_waiting_fast(&mut fast_forward);
        self.fast_forward = fast_forward;
        result?;
        self.lists
            .result()
            .copied()
            .ok_or(ProtocolError::Unanswered { pc: self.unit.pc(), item: self.lists.answered() })
    }

    fn run_until_waiting_fast(&mut self, fast_forward: &mut FastForward) -> Result<(), ProtocolError> {
        while self.advance(fast_forward)? {
            if self.lists.item_begun() {
                let items = fast_forward.skip(&mut self.unit, &mut self.lists, self.next) as u64;
                let words = self.lists.parameters().item_words as u64 * items;
                self.next += words;
                self.issued += words;
                self.skipped_items += items;
            }
        }
        Ok(())
    }

    /// The list manager.
    #[must_use]
    pub const fn lists(&self) -> &ListManager {
        &self.lists
    }

    /// The list manager, for changes to the lists between searches.
    pub const fn lists_mut(&mut self) -> &mut ListManager {
        &mut self.lists
    }

    /// The match unit.
    #[must_use]
    pub const fn unit(&self) -> &MatchUnit {
        &self.unit
    }

    /// Writes a register or predicate between two words; see [`MatchUnit::write`].
    pub fn write(&mut self, register: Register, value: u64) -> bool {
        self.unit.write(register, value)
    }

    /// First cycle in which the next word can issue.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.next
    }

    /// Words issued so far.
    #[must_use]
    pub const fn issued(&self) -> u64 {
        self.issued
    }

    /// Items that [`MatchProcessor::search_fast`] has skipped so far.
    #[must_use]
    pub const fn skipped_items(&self) -> u64 {
        self.skipped_items
    }

    /// Stall cycles so far.
    #[must_use]
    pub const fn stalls(&self) -> &StallCycles {
        &self.stalls
    }
}
