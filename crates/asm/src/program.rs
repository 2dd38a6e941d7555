// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program: its words in store order, its names, and where each word was written.
//!
//! Contract: [`Program::faults`] is empty for whatever the assembler or the image reader returns.

use std::collections::BTreeMap;

use crate::layout::{Rule, STORE_WORDS};
use crate::word::{Address, Condition, Register, Word};

/// A program for the match unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// What it is called in messages: a file's name.
    pub name: String,
    /// The words; word i lies at address i.
    pub words: Vec<Word>,
    /// Labels and their addresses.
    pub labels: BTreeMap<String, Address>,
    /// Named constants.
    pub constants: BTreeMap<String, u64>,
    /// Named registers and predicates.
    pub registers: BTreeMap<String, Register>,
    /// Named runs of words, in the order of addresses.
    pub segments: Vec<Segment>,
    /// Where each word was written; empty when the program did not come from text.
    pub lines: Vec<SourceLine>,
    /// Words the microcode store holds.
    pub store: usize,
}

/// A named run of words, from one `.segment` to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its name.
    pub name: String,
    /// Address of its first word.
    pub first: usize,
    /// How many words it has.
    pub words: usize,
}

/// Where a word was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLine {
    /// Line of the word's first slot, from 1.
    pub number: usize,
    /// The text of all slots, without label, comment and line breaks.
    pub text: String,
}

/// What a program of sound words must not be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProgramFault {
    /// No words.
    #[error("the program has no words")]
    Empty,
    /// More words than the store holds.
    #[error("the program has {words} words, the store holds {store}")]
    StoreExceeded {
        /// Words of the program.
        words: usize,
        /// Words of the store.
        store: usize,
    },
    /// A branch to an address without a word.
    #[error("word {at} branches to {target}, but the last word of the program is {last}")]
    TargetBeyond {
        /// Address of the branch.
        at: usize,
        /// Where it goes.
        target: usize,
        /// Address of the last word.
        last: usize,
    },
    /// A branch too close to the end.
    #[error("word {at} branches, but its two delay slots are not both words of the program")]
    DelaySlotsMissing {
        /// Address of the branch.
        at: usize,
    },
    /// A branch that is always cancelled.
    #[error("word {at} branches in a delay slot of the unconditional branch in word {by}: it is always cancelled")]
    DeadBranch {
        /// Address of the cancelled branch.
        at: usize,
        /// Address of the unconditional one.
        by: usize,
    },
    /// Execution can leave the program at its end.
    #[error("execution can run past the last word: the third word from the end must be an unconditional branch")]
    OpenEnd,
}

impl ProgramFault {
    /// The rule it breaks.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        match self {
            Self::Empty | Self::OpenEnd => Rule::End,
            Self::StoreExceeded { .. } => Rule::Store,
            Self::TargetBeyond { .. } => Rule::Target,
            Self::DelaySlotsMissing { .. } => Rule::DelaySlots,
            Self::DeadBranch { .. } => Rule::DeadBranch,
        }
    }

    /// The word at fault, if it is one.
    #[must_use]
    pub const fn at(&self) -> Option<usize> {
        match *self {
            Self::TargetBeyond { at, .. } | Self::DelaySlotsMissing { at } | Self::DeadBranch { at, .. } => Some(at),
            Self::Empty | Self::StoreExceeded { .. } | Self::OpenEnd => None,
        }
    }
}

impl Program {
    /// A program of bare words, without names.
    #[must_use]
    pub fn from_words(name: &str, words: Vec<Word>) -> Self {
        Self {
            name: name.to_owned(),
            words,
            labels: BTreeMap::new(),
            constants: BTreeMap::new(),
            registers: BTreeMap::new(),
            segments: Vec::new(),
            lines: Vec::new(),
            store: STORE_WORDS,
        }
    }

    /// Everything about the program as a whole that must not be, in the order of addresses. The words' own
    /// faults are [`Word::faults`].
    #[must_use]
    pub fn faults(&self) -> Vec<ProgramFault> {
        let Some(last) = self.words.len().checked_sub(1) else { return vec![ProgramFault::Empty] };
        let mut faults = Vec::new();
        if self.words.len() > self.store {
            faults.push(ProgramFault::StoreExceeded { words: self.words.len(), store: self.store });
        }
        let always = |at: usize| self.words[at].branch.is_some_and(|branch| branch.condition == Condition::Always);
        // An unconditional branch in the shadow of another is itself dead and casts no shadow.
        let mut shadow: Option<usize> = None;
        let mut missing = false;
        for (at, word) in self.words.iter().enumerate() {
            let Some(branch) = word.branch else { continue };
            let target = branch.target.index();
            if target > last {
                faults.push(ProgramFault::TargetBeyond { at, target, last });
            }
            if at + 2 > last {
                faults.push(ProgramFault::DelaySlotsMissing { at });
                missing = true;
            }
            match shadow {
                Some(by) if at <= by + 2 => faults.push(ProgramFault::DeadBranch { at, by }),
                _ if always(at) => shadow = Some(at),
                _ => {}
            }
        }
        if !missing && (last < 2 || !always(last - 2)) {
            faults.push(ProgramFault::OpenEnd);
        }
        faults
    }

    /// The label of an address; of several the first by name.
    #[must_use]
    pub fn label_at(&self, address: usize) -> Option<&str> {
        self.labels.iter().find(|(_, at)| at.index() == address).map(|(name, _)| name.as_str())
    }
}
