// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program: its words in store order, its names, and where each word was written.
//!
//! Contract: [`MatchProgram::faults`] is empty for whatever the assembler or the image reader returns.

use std::collections::BTreeMap;

use crate::layout::{Rule, STORE_WORDS};
use crate::word::{Address, Condition, Register, Word};

/// A program for the match unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchProgram {
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
    /// A branch that is always cancelled: execution comes to it only in the shadow of unconditional ones.
    #[error("word {at} branches in a delay slot of the unconditional branch in word {by}: it is always cancelled")]
    DeadBranch {
        /// Address of the cancelled branch.
        at: usize,
        /// Address of the unconditional one.
        by: usize,
    },
    /// A branch behind the one that closes the program.
    #[error("word {at} branches to {target}, from where execution runs past the last word")]
    EndEntered {
        /// Address of the branch.
        at: usize,
        /// Where it goes: the last word or the one before it.
        target: usize,
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
            Self::Empty | Self::EndEntered { .. } | Self::OpenEnd => Rule::End,
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
            Self::TargetBeyond { at, .. }
            | Self::DelaySlotsMissing { at }
            | Self::DeadBranch { at, .. }
            | Self::EndEntered { at, .. } => Some(at),
            Self::Empty | Self::StoreExceeded { .. } | Self::OpenEnd => None,
        }
    }
}

impl MatchProgram {
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
        let live = self.live();
        let closed = last >= 2 && self.branches_always(last - 2);
        // Without its delay slots a branch is told as such, and not again as an open end.
        let slots_missing = self.words[last.saturating_sub(1)..].iter().any(|word| word.branch.is_some());
        for (at, word) in self.words.iter().enumerate() {
            let Some(branch) = word.branch else { continue };
            let target = branch.target.index();
            if target > last {
                faults.push(ProgramFault::TargetBeyond { at, target, last });
            } else if target + 2 > last && closed && !slots_missing {
                faults.push(ProgramFault::EndEntered { at, target });
            }
            if at + 2 > last {
                faults.push(ProgramFault::DelaySlotsMissing { at });
            }
            if !live[at]
                && let Some(by) = (at.saturating_sub(2)..at).find(|&by| live[by] && self.branches_always(by))
            {
                faults.push(ProgramFault::DeadBranch { at, by });
            }
        }
        if !closed && !slots_missing {
            faults.push(ProgramFault::OpenEnd);
        }
        faults
    }

    fn branches_always(&self, at: usize) -> bool {
        self.words[at].branch.is_some_and(|branch| branch.condition == Condition::Always)
    }

    /// For each word whether execution can come to it from reset other than in a delay slot of a taken branch, so that
    /// its own branch counts. A branch with a condition may go either way. Linear in the number of words.
    fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.words.len()];
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if at >= live.len() || std::mem::replace(&mut live[at], true) {
                continue;
            }
            open.extend(self.words[at].branch.map(|branch| branch.target.index()));
            if !self.branches_always(at) {
                open.push(at + 1);
            }
        }
        live
    }

    /// The label of an address; of several the first by name.
    #[must_use]
    pub fn label_at(&self, address: usize) -> Option<&str> {
        self.labels.iter().find(|(_, at)| at.index() == address).map(|(name, _)| name.as_str())
    }
}
