// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pipeline diagrams in Kanata 0004, for Konata.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mb_asm::word::Register;
use mb_asm::{MatchProgram, Word};
use mb_kit::kanata::Diagram;
use mb_unit::list_manager::StallCause;
use mb_unit::match_processor::{IssueEvent, Observer};
use mb_unit::unit::{MatchUnit, WRITE_STAGE};

use super::places;
use crate::trace::{targets, value};

/// Predicates of a unit in reset: the constant p0.
const RESET_PREDICATES: u16 = 1;

/// A pipeline diagram: one row per word with the stages `Wt` (waiting for input), `Rd`, `Op` and `Wr`. Registers and
/// places have their names in the program.
#[derive(Clone, Debug)]
pub struct Kanata {
    words: Vec<Word>,
    names: Vec<String>,
    /// Names that the program gives to registers.
    registers: BTreeMap<Register, String>,
    /// The predicates before the next word.
    predicates: u16,
    diagram: Diagram,
    text: String,
}

impl Kanata {
    /// An empty diagram for `program` on a unit in reset.
    #[must_use]
    pub fn new(program: &MatchProgram) -> Self {
        let text = |address: usize| program.lines.get(address).map_or("", |line| line.text.as_str());
        let names = places(program).into_iter().enumerate();
        let names = names.map(|(address, place)| format!("{address:4} {place}: {}", text(address))).collect();
        let mut registers = BTreeMap::new();
        for (name, register) in &program.registers {
            registers.entry(*register).or_insert_with(|| name.clone());
        }
        Self {
            words: program.words.clone(),
            names,
            registers,
            predicates: RESET_PREDICATES,
            diagram: Diagram::new(),
            text: String::new(),
        }
    }

    /// The text written since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The remaining text of the file.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.flush(u64::MAX);
        self.text
    }

    fn flush(&mut self, until: u64) {
        // Writing to a string cannot fail.
        let _ = self.diagram.flush(until, &mut self.text);
    }
}

impl Observer for Kanata {
    fn issued(&mut self, event: &IssueEvent, unit: &MatchUnit) {
        let issue = event.cycle;
        let (waited, cause) = event.stall.unwrap_or((0, StallCause::Idle));
        // A word that was idle enters the diagram at its issue.
        let begin = if cause == StallCause::Idle { issue } else { issue - waited };
        self.flush(begin);
        let branch = match (event.issued.taken, event.issued.cancelled) {
            (true, _) => ", branch taken",
            (_, true) => ", branch cancelled",
            _ => "",
        };
        let wait = if waited == 0 { String::new() } else { format!(", waited {waited} ({})", cause.as_str()) };
        let took = event.took.map_or_else(String::new, |entry| format!(", took {:#x}", entry.word));
        let sent = event.issued.sent.map_or_else(String::new, |sent| format!(", sent {:#x}", sent.word));
        let state = unit.state();
        let mut wrote = String::new();
        for register in targets(&self.words[usize::from(event.issued.at)], self.predicates) {
            let value = value(&state, register);
            // Writing to a string cannot fail.
            let _ = match (self.registers.get(&register), register) {
                (Some(name), Register::Predicate(_)) => write!(wrote, ", {name} = {value}"),
                (None, Register::Predicate(_)) => write!(wrote, ", {register} = {value}"),
                (Some(name), _) => write!(wrote, ", {name} = {value:#x}"),
                (None, _) => write!(wrote, ", {register} = {value:#x}"),
            };
        }
        self.predicates = state.predicates;
        let detail = format!("cycle {issue}{wait}{took}{wrote}{sent}{branch}");
        let mut stages = vec![(issue, "Rd"), (issue + 1, "Op"), (issue + WRITE_STAGE, "Wr")];
        if begin < issue {
            stages.insert(0, (begin, "Wt"));
        }
        let name = &self.names[usize::from(event.issued.at)];
        self.diagram.row(name, &detail, &stages, issue + WRITE_STAGE + 1);
    }
}
