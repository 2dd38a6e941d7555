// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the cycles of a run go: by address, by label and by slot.

use mb_asm::Program;
use mb_asm::word::Slot;

use mb_unit::list_manager::Cause;
use mb_unit::machine::{Event, Observer};
use mb_unit::unit::Unit;

/// Counts words and stalls by address. An [`Observer`].
#[derive(Clone, Debug)]
pub struct Profile {
    issued: Vec<u64>,
    stalled: Vec<[u64; Cause::ALL.len()]>,
}

/// The words from one label to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The label; empty for words before the first one.
    pub label: String,
    /// Address of the first word.
    pub first: usize,
    /// How many words it has.
    pub words: usize,
    /// Words issued.
    pub issued: u64,
    /// Cycles waited before them, by cause in the order of [`Cause::ALL`].
    pub stalled: [u64; Cause::ALL.len()],
}

impl Profile {
    /// Nothing counted yet, for a program of this size.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let words = program.words.len();
        Self { issued: vec![0; words], stalled: vec![[0; Cause::ALL.len()]; words] }
    }

    /// How often the word at `address` was issued.
    ///
    /// # Panics
    /// When the program has no such word.
    #[must_use]
    pub fn issued(&self, address: usize) -> u64 {
        self.issued[address]
    }

    /// The parts of the program in the order of addresses; of several labels at one address the first by name counts.
    #[must_use]
    pub fn parts(&self, program: &Program) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for (address, issued) in self.issued.iter().enumerate() {
            let label = program.label_at(address);
            if label.is_some() || parts.is_empty() {
                let label = label.unwrap_or_default().to_owned();
                let stalled = [0; Cause::ALL.len()];
                parts.push(Part { label, first: address, words: 0, issued: 0, stalled });
            }
            if let Some(part) = parts.last_mut() {
                part.words += 1;
                part.issued += issued;
                for (sum, cycles) in part.stalled.iter_mut().zip(self.stalled[address]) {
                    *sum += cycles;
                }
            }
        }
        parts
    }

    /// For each slot the number of issued words that use it, in the order of [`Slot::ALL`].
    #[must_use]
    pub fn slots(&self, program: &Program) -> [(Slot, u64); 6] {
        Slot::ALL.map(|slot| {
            let uses = |(word, issued): (&mb_asm::Word, &u64)| if word.uses(slot) { *issued } else { 0 };
            (slot, program.words.iter().zip(&self.issued).map(uses).sum())
        })
    }
}

impl Observer for Profile {
    fn issued(&mut self, event: &Event, _: &Unit) {
        let at = usize::from(event.issued.at);
        self.issued[at] += 1;
        if let Some((cycles, cause)) = event.stall {
            self.stalled[at][cause as usize] += cycles;
        }
    }
}
