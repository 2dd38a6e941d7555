// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match unit and the list manager together: searches in, answers and cycles out.
//!
//! Contract: [`Machine::search`] runs one search to its end, the flush of the extra item included; the unit then waits at
//! its header code. What happens in each cycle can be watched by an [`Observer`]; watching changes nothing.
//! Cost: proportional to the words issued; cycles in which the unit waits cost nothing.

use mb_asm::word::Word;

use crate::layout::{WORDS, Words};
use crate::list_manager::{Answer, Cause, Entry, List, ListManager, Memory, ProtocolError};
use crate::runs::Runs;
use crate::unit::{Head, Issued, Need, Tag, Unit, WRITE_STAGE};

/// Words in a row that neither take nor send anything before a program counts as not ending.
const RUNAWAY_WORDS: u32 = 1 << 16;

/// What a word that needs nothing sees of the input FIFO: nothing.
const NO_HEAD: Head = Head { word: 0, tag: Tag::End };

/// One issued word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Cycle of issue, which is the read stage; the write stage is [`WRITE_STAGE`] cycles later.
    pub cycle: u64,
    /// What it did.
    pub issued: Issued,
    /// Cycles it waited for input before, and why.
    pub stall: Option<(u64, Cause)>,
    /// The word of the FIFO that it took.
    pub took: Option<Entry>,
}

/// Watches a machine.
pub trait Observer {
    /// A word was issued; `unit` is in the state after it.
    fn issued(&mut self, event: &Event, unit: &Unit);
}

/// Watches nothing, at no cost.
impl Observer for () {
    #[inline]
    fn issued(&mut self, _: &Event, _: &Unit) {}
}

impl<F: FnMut(&Event, &Unit) + ?Sized> Observer for F {
    #[inline]
    fn issued(&mut self, event: &Event, unit: &Unit) {
        self(event, unit);
    }
}

/// Cycles in which the unit waited, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stalls([u64; Cause::ALL.len()]);

impl Stalls {
    /// Cycles for which `cause` held the unit up.
    #[must_use]
    pub const fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }

    /// All causes but [`Cause::Idle`], which is no wait but the lack of work.
    #[must_use]
    pub fn total(&self) -> u64 {
        Cause::ALL.iter().filter(|&&cause| cause != Cause::Idle).map(|&cause| self.of(cause)).sum()
    }
}

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// One word was issued.
    Issued(Event),
    /// The unit waits for the next header and the search is over.
    Waiting,
}

/// A match unit with its list manager.
#[derive(Clone, Debug)]
pub struct Machine {
    unit: Unit,
    lists: ListManager,
    next: u64,
    issued: u64,
    quiet: u32,
    stalls: Stalls,
    runs: Runs,
    passed_over: u64,
}

impl Machine {
    /// A machine with empty lists whose unit has run the initialisation of its program and waits for a header.
    ///
    /// # Errors
    /// When the program does not get as far as waiting for a header.
    pub fn new(words: &[Word], memory: Memory) -> Result<Self, ProtocolError> {
        let mut machine = Self::in_reset(words, memory);
        machine.settle(&mut ())?;
        Ok(machine)
    }

    /// A machine that has not issued a word.
    #[must_use]
    pub fn in_reset(words: &[Word], memory: Memory) -> Self {
        Self {
            unit: Unit::new(words),
            lists: ListManager::new(memory),
            next: 0,
            issued: 0,
            quiet: 0,
            stalls: Stalls::default(),
            runs: Runs::default(),
            passed_over: 0,
        }
    }

    /// Issues one word, after as many cycles of waiting as it takes; tells whether there was one to issue.
    #[inline]
    fn advance(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<bool, ProtocolError> {
        let pc = self.unit.pc();
        let need = self.unit.need().ok_or(ProtocolError::PastEnd { pc })?;
        let seen = match need {
            Need::Nothing => None,
            Need::Head => self.lists.head(pc)?,
            Need::Word => self.lists.take(pc)?,
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
            None if need == Need::Nothing => {}
            None => return Ok(false),
        }
        let cycle = self.next;
        if need == Need::Word {
            if self.lists.at_end_mark() {
                head.tag = Tag::End;
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
            self.quiet = 0;
        }
        if self.quiet > RUNAWAY_WORDS {
            return Err(ProtocolError::Runaway { pc: self.unit.pc(), words: self.quiet });
        }
        let event = Event { cycle, issued, stall, took: if issued.popped { seen } else { None } };
        observer.issued(&event, &self.unit);
        Ok(true)
    }

    /// Issues one word, after as many cycles of waiting as it takes.
    ///
    /// # Errors
    /// When the program breaks the protocol.
    pub fn step(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<Step, ProtocolError> {
        let mut last = None;
        let mut watch = |event: &Event, unit: &Unit| {
            last = Some(*event);
            observer.issued(event, unit);
        };
        self.advance(&mut watch)?;
        Ok(last.map_or(Step::Waiting, Step::Issued))
    }

    /// Issues words until the unit waits for the next header.
    ///
    /// # Errors
    /// As [`Machine::step`].
    #[inline]
    pub fn settle(&mut self, observer: &mut (impl Observer + ?Sized)) -> Result<(), ProtocolError> {
        while self.advance(observer)? {}
        Ok(())
    }

    /// Searches `list` for a header that is there from cycle `arrival` on, to the end of the flush.
    ///
    /// # Errors
    /// When the program breaks the protocol.
    pub fn search(
        &mut self,
        list: List,
        header: Words,
        arrival: u64,
        observer: &mut (impl Observer + ?Sized),
    ) -> Result<Answer, ProtocolError> {
        self.lists.begin(list, header, arrival);
        self.settle(observer)?;
        self.lists
            .answer()
            .copied()
            .ok_or(ProtocolError::Unanswered { pc: self.unit.pc(), item: self.lists.answered() })
    }

    /// As [`Machine::search`], unwatched: runs of items that fail alike are passed over in one step, with the same result.
    ///
    /// # Errors
    /// As [`Machine::search`].
    pub fn search_fast(&mut self, list: List, header: Words, arrival: u64) -> Result<Answer, ProtocolError> {
        self.lists.begin(list, header, arrival);
        let mut runs = std::mem::take(&mut self.runs);
        runs.restart();
        let result = self.settle_fast(&mut runs);
        self.runs = runs;
        result?;
        self.lists
            .answer()
            .copied()
            .ok_or(ProtocolError::Unanswered { pc: self.unit.pc(), item: self.lists.answered() })
    }

    fn settle_fast(&mut self, runs: &mut Runs) -> Result<(), ProtocolError> {
        while self.advance(runs)? {
            if self.lists.item_begun() {
                let items = runs.pass_over(&mut self.unit, &mut self.lists, self.next) as u64;
                self.next += WORDS as u64 * items;
                self.issued += WORDS as u64 * items;
                self.passed_over += items;
            }
        }
        Ok(())
    }

    /// Both lists.
    #[must_use]
    pub const fn lists(&self) -> &ListManager {
        &self.lists
    }

    /// Both lists, to be changed between searches.
    pub const fn lists_mut(&mut self) -> &mut ListManager {
        &mut self.lists
    }

    /// The match unit.
    #[must_use]
    pub const fn unit(&self) -> &Unit {
        &self.unit
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

    /// Items that [`Machine::search_fast`] passed over so far.
    #[must_use]
    pub const fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Cycles waited so far.
    #[must_use]
    pub const fn stalls(&self) -> &Stalls {
        &self.stalls
    }
}
