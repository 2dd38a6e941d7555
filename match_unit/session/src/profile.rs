// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Profile of a run: words issued and stall cycles by address, by label and by slot.

use mb_asm::MatchProgram;
use mb_asm::word::Slot;

use mb_unit::list_manager::StallCause;
use mb_unit::match_processor::{IssueEvent, Observer};
use mb_unit::unit::MatchUnit;

/// Counts words and stall cycles by address.
#[derive(Clone, Debug)]
pub struct Profile {
    issued: Vec<u64>,
    stalled: Vec<[u64; StallCause::ALL.len()]>,
}

/// The words from one label to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelProfile {
    /// The label; empty for words before the first one.
    pub label: String,
    /// Address of the first word.
    pub first: usize,
    /// Number of words.
    pub words: usize,
    /// Words issued.
    pub issued: u64,
    /// Stall cycles before them, by cause in the order of [`StallCause::ALL`].
    pub stalled: [u64; StallCause::ALL.len()],
}

impl Profile {
    /// An empty profile for `program`.
    #[must_use]
    pub fn new(program: &MatchProgram) -> Self {
        let words = program.words.len();
        Self { issued: vec![0; words], stalled: vec![[0; StallCause::ALL.len()]; words] }
    }

    /// Number of issues of the word at `address`.
    ///
    /// # Panics
    /// When `address` is not in the program.
    #[must_use]
    pub fn issued(&self, address: usize) -> u64 {
        self.issued[address]
    }

    /// The profile by label, in the order of addresses. An address with several labels has the first one by name.
    #[must_use]
    pub fn by_label(&self, program: &MatchProgram) -> Vec<LabelProfile> {
        let mut labels: Vec<LabelProfile> = Vec::new();
        for (address, issued) in self.issued.iter().enumerate() {
            let label = program.label_at(address);
            if label.is_some() || labels.is_empty() {
                let label = label.unwrap_or_default().to_owned();
                let stalled = [0; StallCause::ALL.len()];
                labels.push(LabelProfile { label, first: address, words: 0, issued: 0, stalled });
            }
            if let Some(current) = labels.last_mut() {
                current.words += 1;
                current.issued += issued;
                for (sum, cycles) in current.stalled.iter_mut().zip(self.stalled[address]) {
                    *sum += cycles;
                }
            }
        }
        labels
    }

    /// Number of issued words that use each slot, in the order of [`Slot::ALL`].
    #[must_use]
    pub fn slots(&self, program: &MatchProgram) -> [(Slot, u64); 6] {
        Slot::ALL.map(|slot| {
            let uses = |(word, issued): (&mb_asm::Word, &u64)| if word.uses(slot) { *issued } else { 0 };
            (slot, program.words.iter().zip(&self.issued).map(uses).sum())
        })
    }
}

impl Observer for Profile {
    fn issued(&mut self, event: &IssueEvent, _: &MatchUnit) {
        let at = usize::from(event.issued.at);
        self.issued[at] += 1;
        if let Some((cycles, cause)) = event.stall {
            self.stalled[at][cause as usize] += cycles;
        }
    }
}
