// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rows of a trace listing: registers written, branches and FIFO levels of each issued word.
//!
//! Contract: a [`Tracer`] receives every issued word of one session, in order, right after its issue.
//! Cost: one copy of the list manager per word (see [`mb_unit::list_manager::ListManager::fifo`]).

use mb_asm::Word;
use mb_asm::word::{Alu, Predicate, Register, Slot};

use crate::session::Session;
use mb_unit::match_processor::IssueEvent;
use mb_unit::unit::UnitState;

/// One issued word with its effects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// The word.
    pub event: IssueEvent,
    /// Registers and predicates it wrote, with their new values.
    pub writes: Vec<(Register, u64)>,
    /// Words and marks in the input FIFO at the end of the cycle.
    pub input: usize,
    /// Words in the output FIFO at the end of the cycle.
    pub output: usize,
}

/// Computes the rows of a session.
#[derive(Clone, Debug)]
pub struct Tracer {
    words: Vec<Word>,
    before: UnitState,
}

impl Tracer {
    /// A tracer for a session that runs `words`, starting from its current state.
    #[must_use]
    pub fn new(words: &[Word], session: &Session) -> Self {
        Self { words: words.to_vec(), before: session.processor().unit().state() }
    }

    /// The row of the word that `session` has just issued.
    ///
    /// # Panics
    /// When the session runs a different program.
    pub fn row(&mut self, event: &IssueEvent, session: &Session) -> TraceRow {
        let processor = session.processor();
        let state = processor.unit().state();
        let word = &self.words[usize::from(event.issued.at)];
        let writes = targets(word, self.before.predicates)
            .into_iter()
            .map(|register| (register, value(&state, register)))
            .collect();
        self.before = state;
        let output = session.leaving().filter(|(enters, _)| *enters <= event.cycle).count();
        TraceRow { event: *event, writes, input: processor.lists().fifo(event.cycle).len(), output }
    }
}

/// The value of a register.
#[must_use]
pub fn value(state: &UnitState, register: Register) -> u64 {
    match register {
        Register::Alu(reg) => state.alu[reg.index()],
        Register::Ternary(reg) => state.ternary[reg.index()],
        Register::Predicate(reg) => u64::from(state.predicates >> reg.index() & 1),
    }
}

/// The registers that `word` writes when it issues with these predicates, in the order of the slots.
pub(crate) fn targets(word: &Word, predicates: u16) -> Vec<Register> {
    let guard = |slot: Slot| match (slot, word.alu, word.copy) {
        (Slot::Alu, Some(Alu::Compute { guard, .. } | Alu::Permute { guard, .. }), _) => guard,
        (Slot::Copy, _, Some(copy)) => copy.guard,
        _ => Predicate::TRUE,
    };
    let holds = |slot: Slot| predicates >> guard(slot).index() & 1 == 1;
    word.writes().into_iter().filter(|(slot, _)| holds(*slot)).map(|(_, register)| register).collect()
}
