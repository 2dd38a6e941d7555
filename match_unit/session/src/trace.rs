// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each word of a run did, as a listing shows it: registers written, branches, FIFO levels.
//!
//! Contract: a [`Tracer`] is shown every issued word of one session, in order, right after its issue.
//! Cost: a copy of the list manager for each word (see [`mb_unit::list_manager::ListManager::fifo`]); meant for reading, not for speed.

use mb_asm::Word;
use mb_asm::word::{Alu, Predicate, Register, Slot};

use crate::session::Session;
use mb_unit::machine::Event;
use mb_unit::unit::State;

/// One issued word and what it did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The word.
    pub event: Event,
    /// Registers and predicates that it wrote, with their new values.
    pub writes: Vec<(Register, u64)>,
    /// Words and marks in the input FIFO at the end of the cycle.
    pub input: usize,
    /// Words in the output FIFO at the end of the cycle.
    pub output: usize,
}

/// Follows a session from word to word.
#[derive(Clone, Debug)]
pub struct Tracer {
    words: Vec<Word>,
    before: State,
}

impl Tracer {
    /// A tracer for a session that runs `words`, in the state that it is in now.
    #[must_use]
    pub fn new(words: &[Word], session: &Session) -> Self {
        Self { words: words.to_vec(), before: session.machine().unit().state() }
    }

    /// What the word did that `session` has just issued.
    ///
    /// # Panics
    /// When the session runs another program.
    pub fn row(&mut self, event: &Event, session: &Session) -> Row {
        let machine = session.machine();
        let state = machine.unit().state();
        let word = &self.words[usize::from(event.issued.at)];
        let writes = targets(word, self.before.predicates)
            .into_iter()
            .map(|register| (register, value(&state, register)))
            .collect();
        self.before = state;
        let output = session.leaving().filter(|(enters, _)| *enters <= event.cycle).count();
        Row { event: *event, writes, input: machine.lists().fifo(event.cycle).len(), output }
    }
}

/// The value of a register.
#[must_use]
pub fn value(state: &State, register: Register) -> u64 {
    match register {
        Register::Alu(reg) => state.alu[reg.index()],
        Register::Ternary(reg) => state.ternary[reg.index()],
        Register::Predicate(reg) => u64::from(state.predicates >> reg.index() & 1),
    }
}

/// What `word` writes when it issues with these predicates, in the order of the slots.
fn targets(word: &Word, predicates: u16) -> Vec<Register> {
    let guard = |slot: Slot| match (slot, word.alu, word.copy) {
        (Slot::Alu, Some(Alu::Compute { guard, .. } | Alu::Permute { guard, .. }), _) => guard,
        (Slot::Copy, _, Some(copy)) => copy.guard,
        _ => Predicate::TRUE,
    };
    let holds = |slot: Slot| predicates >> guard(slot).index() & 1 == 1;
    word.writes().into_iter().filter(|(slot, _)| holds(*slot)).map(|(_, register)| register).collect()
}
