// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A pipeline diagram of the instructions that a chip fetches in an interval, for Konata.

use std::ops::Range;

use mb_kit::kanata::Diagram;
use mb_netproc::{LoadedProgram, PassageObserver};
use mb_processor::chip::Passage;

/// Longest interval, in cycles: diagrams are kept in memory.
pub const MAX_CYCLES: u64 = 1_000_000;

/// Records the instructions fetched in an interval.
pub struct Recorder<'a> {
    image: &'a LoadedProgram,
    cycles: Range<u64>,
    diagram: Diagram,
    /// Instructions recorded.
    pub rows: u64,
}

impl<'a> Recorder<'a> {
    /// Records what is fetched in `cycles`, counted from the start of the program.
    #[must_use]
    pub fn new(image: &'a LoadedProgram, cycles: Range<u64>) -> Self {
        Self { image, cycles, diagram: Diagram::new(), rows: 0 }
    }

    /// The file.
    #[must_use]
    pub fn finish(mut self) -> String {
        let mut text = String::new();
        // A text takes everything.
        let _ = self.diagram.flush(u64::MAX, &mut text);
        text
    }

    fn record(&mut self, passage: &Passage, end: Option<u64>) {
        if !self.cycles.contains(&passage.fetched) {
            return;
        }
        let all = [
            (passage.fetched, "F"),
            (passage.renamed, "Rn"),
            (passage.issued, "Is"),
            (passage.accessed, "M"),
            (passage.written, "Wb"),
        ];
        // Stages that the instruction has not reached have cycle 0.
        let stages: Vec<(u64, &str)> = all
            .into_iter()
            .enumerate()
            .filter(|(place, (cycle, _))| *place == 0 || *cycle > 0)
            .map(|(_, stage)| stage)
            .collect();
        let last = stages.last().map_or(passage.fetched, |(cycle, _)| *cycle);
        let place = match self.image.symbolize(passage.pc) {
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => format!("{:#x}", passage.pc),
        };
        let kind = format!("{:?}", passage.instruction.class).to_lowercase();
        let squashed = if end.is_none() { ", squashed" } else { "" };
        let name = format!("hart {} {place} {kind}{squashed}", passage.hart);
        let detail =
            format!("pc {:#x}, address {:#x}, mispredicted {}", passage.pc, passage.address, passage.mispredicted);
        self.diagram.row(&name, &detail, &stages, end.unwrap_or(last + 1).max(last + 1));
        self.rows += 1;
    }
}

impl PassageObserver for Recorder<'_> {
    fn committed(&mut self, passage: &Passage, cycle: u64) {
        self.record(passage, Some(cycle));
    }

    fn squashed(&mut self, passage: &Passage) {
        self.record(passage, None);
    }
}
