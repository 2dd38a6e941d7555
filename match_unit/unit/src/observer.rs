// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What observes a match processor: every issued word.

use crate::list_manager::{FifoWord, StallCause};
use crate::unit::{Issued, MatchUnit};

/// One issued word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IssueEvent {
    /// Cycle of issue (read stage); the write stage is [`WRITE_STAGE`](crate::unit::WRITE_STAGE) cycles later.
    pub cycle: u64,
    /// Its effects.
    pub issued: Issued,
    /// Cycles it waited for input before its issue, and the cause.
    pub stall: Option<(u64, StallCause)>,
    /// The FIFO word that it popped.
    pub took: Option<FifoWord>,
}

/// Receives every issued word of a match processor.
pub trait Observer {
    /// Called after each issued word; `unit` has the state after it.
    fn issued(&mut self, event: &IssueEvent, unit: &MatchUnit);
}

/// The observer that does nothing and costs nothing.
impl Observer for () {
    #[inline]
    fn issued(&mut self, _: &IssueEvent, _: &MatchUnit) {}
}

impl<F: FnMut(&IssueEvent, &MatchUnit) + ?Sized> Observer for F {
    #[inline]
    fn issued(&mut self, event: &IssueEvent, unit: &MatchUnit) {
        self(event, unit);
    }
}
