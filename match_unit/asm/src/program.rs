// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program: its words in store order, its names, and where each word was written.
//!
//! Contract: [`MatchProgram::faults`] is empty for every program that the assembler or the image reader returns.

use std::collections::BTreeMap;

use crate::layout::{Rule, STORE_WORDS};
use crate::word::{Address, Condition, Register, Word};

/// A program for the match unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchProgram {
    /// The name in messages, usually the file name.
    pub name: String,
    /// The words; word i is at address i.
    pub words: Vec<Word>,
    /// Labels and their addresses.
    pub labels: BTreeMap<String, Address>,
    /// Named constants.
    pub constants: BTreeMap<String, u64>,
    /// Named registers and predicates.
    pub registers: BTreeMap<String, Register>,
    /// Named runs of words, in the order of addresses.
    pub segments: Vec<ProgramSegment>,
    /// Where each word was written; empty when the program did not come from text.
    pub lines: Vec<SourceLine>,
    /// Words the microcode store holds.
    pub store: usize,
    /// Words of the list items that the program reads, one of [`ITEM_WORDS`].
    pub item_words: usize,
}

/// The sizes that list items can have, in words.
pub const ITEM_WORDS: [usize; 3] = [4, 8, 16];

/// Words of an item of a program that declares no size.
pub const DEFAULT_ITEM_WORDS: usize = 8;

/// A named run of words, from one `.segment` to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramSegment {
    /// Its name.
    pub name: String,
    /// Address of its first word.
    pub first: usize,
    /// Number of words.
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

/// A violation of a program rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProgramFault {
    /// No words.
    #[error("found no words; expected at least one")]
    Empty,
    /// More words than the store holds.
    #[error("found {words} words; expected at most {store}, the size of the store")]
    StoreExceeded {
        /// Words of the program.
        words: usize,
        /// Words of the store.
        store: usize,
    },
    /// A branch to an address without a word.
    #[error("word {at}: found a branch to {target}; expected a target of at most {last}, the last word")]
    TargetBeyond {
        /// Address of the branch.
        at: usize,
        /// Where it goes.
        target: usize,
        /// Address of the last word.
        last: usize,
    },
    /// A branch too close to the end.
    #[error("word {at}: found a branch without both delay slots; expected two words after it")]
    DelaySlotsMissing {
        /// Address of the branch.
        at: usize,
    },
    /// A branch that is always cancelled: it executes only in delay slots of unconditional branches.
    #[error(
        "word {at}: found a branch in a delay slot of the unconditional branch in word {by}; it is always cancelled"
    )]
    DeadBranch {
        /// Address of the cancelled branch.
        at: usize,
        /// Address of the unconditional one.
        by: usize,
    },
    /// A branch to the delay slots of the closing branch.
    #[error("word {at}: found a branch to {target}, from which execution runs past the last word")]
    EndEntered {
        /// Address of the branch.
        at: usize,
        /// Where it goes: the last word or the one before it.
        target: usize,
    },
    /// Execution can leave the program at its end.
    #[error("execution can run past the last word; expected an unconditional branch in the third word from the end")]
    OpenEnd,
}

impl ProgramFault {
    /// The violated rule.
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

    /// The word that violates the rule, if it is a single one.
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
            item_words: DEFAULT_ITEM_WORDS,
        }
    }

    /// Every violation of a program rule, in the order of addresses. [`Word::faults`] covers single words.
    #[must_use]
    pub fn faults(&self) -> Vec<ProgramFault> {
        let Some(last) = self.words.len().checked_sub(1) else { return vec![ProgramFault::Empty] };
        let mut faults = Vec::new();
        if self.words.len() > self.store {
            faults.push(ProgramFault::StoreExceeded { words: self.words.len(), store: self.store });
        }
        let reachable = self.reachable();
        let closed = last >= 2 && self.branches_always(last - 2);
        // A branch without its delay slots is reported as such and not again as an open end.
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
            if !reachable[at]
                && let Some(by) = (at.saturating_sub(2)..at).find(|&by| reachable[by] && self.branches_always(by))
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

    /// For each word, whether it is reachable from reset outside the delay slots of taken branches,
    /// so that its own branch takes effect. A conditional branch may go either way. Linear in the number of words.
    fn reachable(&self) -> Vec<bool> {
        let mut reachable = vec![false; self.words.len()];
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if at >= reachable.len() || std::mem::replace(&mut reachable[at], true) {
                continue;
            }
            open.extend(self.words[at].branch.map(|branch| branch.target.index()));
            if !self.branches_always(at) {
                open.push(at + 1);
            }
        }
        reachable
    }

    /// The label of an address, the first by name if there are several.
    #[must_use]
    pub fn label_at(&self, address: usize) -> Option<&str> {
        self.labels.iter().find(|(_, at)| at.index() == address).map(|(name, _)| name.as_str())
    }
}
