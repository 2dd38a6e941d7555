// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Small programs that each show one property of the match unit.
//!
//! Contract: a probe begins in reset (all registers and predicates zero) and ends before the words
//! that [`run`] puts behind it.
//! Cost: some microseconds.

use mb_unit::unit::{FifoHead, FifoTag, InputNeed, Issued, MatchUnit, UnitState};

use crate::error::MeasureError;

/// Words that a probe may take; more is a mistake in the probe.
const WORDS: usize = 1000;

/// The execution of a program, word by word.
#[derive(Debug)]
pub(crate) struct Trail {
    /// The state in reset, then after each word.
    pub(crate) states: Vec<UnitState>,
    /// The effect of each word.
    pub(crate) issued: Vec<Issued>,
}

impl Trail {
    /// The state at the end.
    pub(crate) fn end(&self) -> &UnitState {
        &self.states[self.states.len() - 1]
    }

    /// The state before the last word.
    pub(crate) fn before_last(&self) -> &UnitState {
        &self.states[self.states.len().saturating_sub(2)]
    }

    /// Words after which `holds` is first so.
    pub(crate) fn words_until(&self, holds: impl Fn(&UnitState) -> bool) -> Option<usize> {
        self.states.iter().position(holds)
    }
}

/// The end of every probe: label `end` and a word that branches to itself.
fn closed(text: &str) -> String {
    format!("{text}\nend: goto end\nnop\nnop\n")
}

/// Whether the assembler takes `text`; a label `end` follows it.
pub(crate) fn assembles(text: &str) -> bool {
    mb_asm::assemble("probe", &closed(text)).is_ok()
}

/// Runs `text` on a unit whose input FIFO holds the words of `input`, tagged as items, up to the
/// label `end` behind it.
pub(crate) fn run(text: &str, input: &[u64]) -> Result<Trail, MeasureError> {
    let program =
        mb_asm::assemble("probe", &closed(text)).map_err(|errors| MeasureError::Probe(mb_asm::render(&errors)))?;
    let end = program.labels["end"].index() as u16;
    let mut unit = MatchUnit::new(&program.words);
    let mut trail = Trail { states: vec![unit.state()], issued: Vec::new() };
    let mut input = input.iter();
    while unit.pc() != end {
        let word = match unit.need() {
            Some(InputNeed::Word) => input.next().copied(),
            Some(InputNeed::Head) => input.as_slice().first().copied(),
            Some(InputNeed::Nothing) => Some(0),
            None => return Err(MeasureError::Probe(format!("word {} is not there", unit.pc()))),
        };
        let Some(word) = word else {
            return Err(MeasureError::Probe(format!("word {} waits for input that does not come", unit.pc())));
        };
        trail.issued.push(unit.issue(FifoHead { word, tag: FifoTag::Item }));
        trail.states.push(unit.state());
        if trail.issued.len() > WORDS {
            return Err(MeasureError::Probe(format!("no end after {WORDS} words")));
        }
    }
    Ok(trail)
}
