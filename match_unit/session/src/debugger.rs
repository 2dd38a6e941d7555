// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The debugger: a [`Session`] with breakpoints.
//!
//! Contract: stopping has no effect on the simulated cycles.
//! Cost: that of the session.

use std::collections::BTreeSet;

use mb_asm::MatchProgram;
use mb_unit::list_manager::ProtocolError;
use mb_unit::match_processor::IssueEvent;

use crate::session::{CompletedSearch, Session, SessionStep};

/// Why the debugger stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// The requested number of words was issued.
    Stepped,
    /// The next word is at a breakpoint.
    Breakpoint(u16),
    /// The next word is at the requested address.
    Reached(u16),
    /// A search ended.
    SearchDone(CompletedSearch),
    /// No header is left.
    Idle,
}

/// A label or an address that is not in the program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownAddress {
    /// No label of this name.
    #[error("label `{label}`: not in the program; expected one of: {known}")]
    Label {
        /// The requested one.
        label: String,
        /// The labels of the program.
        known: String,
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

/// A session with breakpoints.
#[derive(Clone, Debug)]
pub struct Debugger {
    program: MatchProgram,
    session: Session,
    breakpoints: BTreeSet<u16>,
    last: Option<IssueEvent>,
}

impl Debugger {
    /// A debugger for `session`, which runs `program`.
    #[must_use]
    pub const fn new(program: MatchProgram, session: Session) -> Self {
        Self { program, session, breakpoints: BTreeSet::new(), last: None }
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
                known: self.program.labels.keys().cloned().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Adds a breakpoint: execution stops before the word at `address`.
    pub fn set_breakpoint(&mut self, address: u16) {
        self.breakpoints.insert(address);
    }

    /// Removes a breakpoint; returns whether there was one.
    pub fn clear_breakpoint(&mut self, address: u16) -> bool {
        self.breakpoints.remove(&address)
    }

    /// The breakpoints in the order of addresses.
    pub fn breakpoints(&self) -> impl Iterator<Item = u16> {
        self.breakpoints.iter().copied()
    }

    /// Issues up to `words` words. The end of a search stops it earlier; breakpoints are ignored.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn step(&mut self, words: u64) -> Result<StopReason, ProtocolError> {
        self.go(|_, issued| (issued >= words).then_some(StopReason::Stepped))
    }

    /// Runs to a breakpoint or the end of a search.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn resume(&mut self) -> Result<StopReason, ProtocolError> {
        let breakpoints = self.breakpoints.clone();
        self.go(|pc, _| breakpoints.contains(&pc).then_some(StopReason::Breakpoint(pc)))
    }

    /// Runs until the word at `address` is next, across the ends of searches; stops at breakpoints too.
    ///
    /// # Errors
    /// When the program violates the protocol.
    pub fn run_to(&mut self, address: u16) -> Result<StopReason, ProtocolError> {
        let breakpoints = self.breakpoints.clone();
        loop {
            let stop = self.go(|pc, _| match pc {
                pc if pc == address => Some(StopReason::Reached(pc)),
                pc if breakpoints.contains(&pc) => Some(StopReason::Breakpoint(pc)),
                _ => None,
            })?;
            if !matches!(stop, StopReason::SearchDone(_)) {
                return Ok(stop);
            }
        }
    }

    /// Issues words until `stop` returns a reason. `stop` receives the next address and the number of words issued, at
    /// least one.
    fn go(&mut self, stop: impl Fn(u16, u64) -> Option<StopReason>) -> Result<StopReason, ProtocolError> {
        let mut issued = 0;
        loop {
            match self.session.step(&mut ())? {
                SessionStep::Issued(event) => {
                    self.last = Some(event);
                    issued += 1;
                    if let Some(stop) = stop(self.session.processor().unit().pc(), issued) {
                        return Ok(stop);
                    }
                }
                SessionStep::SearchDone(completed) => return Ok(StopReason::SearchDone(completed)),
                SessionStep::Idle => return Ok(StopReason::Idle),
            }
        }
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
