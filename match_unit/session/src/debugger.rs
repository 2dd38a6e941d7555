// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The debugger: a [`Session`] with breakpoints.
//!
//! Contract: stopping has no effect on the simulated cycles.
//! Cost: that of the session.

use std::collections::BTreeMap;

use mb_asm::MatchProgram;
use mb_asm::word::Register;
use mb_unit::list_manager::ProtocolError;
use mb_unit::match_processor::IssueEvent;

use crate::session::{CompletedSearch, Session, SessionStep};
use crate::trace::value;

/// Why the debugger stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// The requested number of words was issued.
    Stepped,
    /// The next word is at a breakpoint.
    Breakpoint(u16),
    /// The next word is at the requested address.
    Reached(u16),
    /// The word issued last changed a watched register.
    Changed {
        /// The register.
        register: Register,
        /// Its value before the word.
        before: u64,
        /// Its value after it.
        after: u64,
    },
    /// A search ended.
    SearchDone(CompletedSearch),
    /// No header is left.
    Idle,
}

/// A label or an address that is not in the program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownAddress {
    /// No label of this name.
    #[error("{}", mb_core::names::unknown("label", label, known.iter().map(String::as_str)))]
    Label {
        /// The requested one.
        label: String,
        /// The labels of the program.
        known: Vec<String>,
    },
    /// No word at this address.
    #[error("address {address}: not in the program; expected 0 to {last}")]
    Address {
        /// The requested one.
        address: usize,
        /// Address of the last word.
        last: usize,
    },
}

/// How a condition compares a register with a value, both unsigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Relation {
    /// Every relation with the text that stands for it.
    pub const ALL: [(&str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        ("<=", Self::LessEqual),
        (">", Self::Greater),
        (">=", Self::GreaterEqual),
    ];

    const fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterEqual => left >= right,
        }
    }
}

/// A condition of a breakpoint on the state before its word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BreakpointCondition {
    /// The register that is compared; a predicate is 0 or 1.
    pub register: Register,
    /// How.
    pub relation: Relation,
    /// With what.
    pub value: u64,
}

/// Where execution goes to, beside breakpoints and watched registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goal {
    /// The end of a search.
    Search,
    /// The word at an address.
    Address(u16),
    /// The end of the run.
    End,
}

/// A session with breakpoints.
#[derive(Clone, Debug)]
pub struct Debugger {
    program: MatchProgram,
    session: Session,
    breakpoints: BTreeMap<u16, Option<BreakpointCondition>>,
    watches: Vec<Register>,
    last: Option<IssueEvent>,
}

impl Debugger {
    /// A debugger for `session`, which runs `program`.
    #[must_use]
    pub const fn new(program: MatchProgram, session: Session) -> Self {
        Self { program, session, breakpoints: BTreeMap::new(), watches: Vec::new(), last: None }
    }

    /// Resolves a label or a decimal address.
    ///
    /// # Errors
    /// When the program has no such label or address.
    pub fn address_of(&self, text: &str) -> Result<u16, UnknownAddress> {
        if let Ok(address) = text.parse::<usize>() {
            let last = self.program.words.len() - 1;
            return if address <= last { Ok(address as u16) } else { Err(UnknownAddress::Address { address, last }) };
        }
        match self.program.labels.get(text) {
            Some(address) => Ok(address.index() as u16),
            None => Err(UnknownAddress::Label {
                label: text.to_owned(),
                known: self.program.labels.keys().cloned().collect(),
            }),
        }
    }

    /// Sets a breakpoint: execution stops before the word at `address`, if `condition` holds there. A breakpoint that
    /// is already there is replaced.
    pub fn set_breakpoint(&mut self, address: u16, condition: Option<BreakpointCondition>) {
        self.breakpoints.insert(address, condition);
    }

    /// Removes a breakpoint; returns whether there was one.
    pub fn clear_breakpoint(&mut self, address: u16) -> bool {
        self.breakpoints.remove(&address).is_some()
    }

    /// The breakpoints in the order of addresses.
    pub fn breakpoints(&self) -> impl Iterator<Item = u16> {
        self.breakpoints.keys().copied()
    }

    /// Stops execution after each word that changes `register`, or no longer; returns whether that is a change.
    pub fn watch(&mut self, register: Register, stop: bool) -> bool {
        let place = self.watches.iter().position(|&watched| watched == register);
        match (place, stop) {
            (None, true) => self.watches.push(register),
            (Some(place), false) => drop(self.watches.remove(place)),
            _ => return false,
        }
        true
    }

    /// Writes a register or predicate between two words; false for those that cannot be written.
    pub fn write(&mut self, register: Register, value: u64) -> bool {
        self.session.write(register, value)
    }

    /// Issues up to `words` words. The end of a search stops it earlier; breakpoints are ignored.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn step(&mut self, words: u64) -> Result<StopReason, ProtocolError> {
        let mut issued = 0;
        loop {
            match self.session.step(&mut ())? {
                SessionStep::Issued(event) => {
                    self.last = Some(event);
                    issued += 1;
                    if issued >= words {
                        return Ok(StopReason::Stepped);
                    }
                }
                SessionStep::SearchDone(completed) => return Ok(StopReason::SearchDone(completed)),
                SessionStep::Idle => return Ok(StopReason::Idle),
            }
        }
    }

    /// Runs to a breakpoint, the change of a watched register or the end of a search.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn resume(&mut self) -> Result<StopReason, ProtocolError> {
        self.run(Goal::Search)
    }

    /// Runs until the word at `address` is next, across the ends of searches; stops as [`Debugger::resume`] too.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn run_to(&mut self, address: u16) -> Result<StopReason, ProtocolError> {
        self.run(Goal::Address(address))
    }

    /// Runs until no header is left; stops at breakpoints and changes of watched registers too.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn run_to_end(&mut self) -> Result<StopReason, ProtocolError> {
        self.run(Goal::End)
    }

    fn run(&mut self, goal: Goal) -> Result<StopReason, ProtocolError> {
        loop {
            let before = self.watched();
            match self.session.step(&mut ())? {
                SessionStep::Issued(event) => self.last = Some(event),
                SessionStep::SearchDone(completed) if goal == Goal::Search => {
                    return Ok(StopReason::SearchDone(completed));
                }
                SessionStep::SearchDone(_) => continue,
                SessionStep::Idle => return Ok(StopReason::Idle),
            }
            let after = self.watched();
            let place = before.iter().zip(&after).position(|(before, after)| before != after);
            if let Some(place) = place {
                let (register, before, after) = (self.watches[place], before[place], after[place]);
                return Ok(StopReason::Changed { register, before, after });
            }
            let pc = self.session.processor().unit().pc();
            if goal == Goal::Address(pc) {
                return Ok(StopReason::Reached(pc));
            }
            if self.breaks_at(pc) {
                return Ok(StopReason::Breakpoint(pc));
            }
        }
    }

    /// The values of the watched registers.
    fn watched(&self) -> Vec<u64> {
        if self.watches.is_empty() {
            return Vec::new();
        }
        let state = self.session.processor().unit().state();
        self.watches.iter().map(|&register| value(&state, register)).collect()
    }

    /// Whether a breakpoint stops execution before the word at `pc`.
    fn breaks_at(&self, pc: u16) -> bool {
        let Some(condition) = self.breakpoints.get(&pc) else { return false };
        condition.is_none_or(|BreakpointCondition { register, relation, value: wanted }| {
            relation.holds(value(&self.session.processor().unit().state(), register), wanted)
        })
    }

    /// The word issued last.
    #[must_use]
    pub const fn last(&self) -> Option<&IssueEvent> {
        self.last.as_ref()
    }

    /// The program.
    #[must_use]
    pub const fn program(&self) -> &MatchProgram {
        &self.program
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The session, for further items and headers.
    pub const fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}
