// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pipeline diagrams of a chip in the Kanata format, for the viewer Konata.
//!
//! Each instruction that was fetched in an interval is a row of the thread of its hart, also one
//! that was squashed, with these stages:
//!
//! | stage | meaning |
//! |---|---|
//! | `Fe` | fetched, in the front end |
//! | `Rn` | renamed, waits for operands or a unit |
//! | `Is` | issued, executes; a memory access waits until it may be sent |
//! | `Me` | accesses memory; a store has no `Me`, because it is sent at commit |
//! | `Wb` | its result is ready, waits for older instructions to commit |
//! | `Cm` | commits |

use std::fmt;
use std::ops::Range;

use mb_kit::kanata::Diagram;

use super::interface::{ChipObserver, Passage};

/// An observer that keeps the instructions of an interval; `N` returns the label of a row.
#[derive(Clone, Debug)]
pub struct ChipKanata<N> {
    interval: Range<u64>,
    diagram: Diagram,
    name: N,
}

/// A label made of the hart, the address and the class of an instruction; there is no disassembler.
#[must_use]
pub fn hart_and_pc(passage: &Passage) -> String {
    format!("{}: {:08x} {:?}", passage.hart, passage.pc, passage.instruction.class)
}

impl<N: FnMut(&Passage) -> String> ChipKanata<N> {
    /// A diagram of the instructions that are fetched in these cycles. It is kept in memory, with
    /// about 400 bytes for each of them.
    #[must_use]
    pub fn new(interval: Range<u64>, name: N) -> Self {
        Self { interval, diagram: Diagram::new(), name }
    }

    /// Writes the diagram to `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self, out: &mut impl fmt::Write) -> fmt::Result {
        self.diagram.flush(u64::MAX, out)
    }

    fn add(&mut self, passage: &Passage, is_squashed: bool) {
        let Passage { fetched, renamed, issued, accessed, written, left, instruction, .. } = *passage;
        if !self.interval.contains(&fetched) {
            return;
        }
        let access = match instruction.access {
            0 => String::new(),
            _ if issued == 0 => ", no address".to_owned(),
            bytes => format!(", {bytes} bytes at {:#x}", passage.address),
        };
        let outcome = if passage.mispredicted { ", mispredicted" } else { "" };
        let squashed = if is_squashed { ", squashed" } else { "" };
        let detail =
            format!("hart {}, pc {:#x}, {:?}{access}{outcome}{squashed}", passage.hart, passage.pc, instruction.class);
        let end = if is_squashed { left } else { left + 1 };
        let commit = if is_squashed { 0 } else { left };
        let stages = [(renamed, "Rn"), (issued, "Is"), (accessed, "Me"), (written, "Wb"), (commit, "Cm")];
        // Without the stages that were not reached, and those that took no cycle: `Is` where the
        // access follows at once.
        let mut rows = vec![(fetched, "Fe")];
        for (begin, stage) in stages {
            if begin != 0 && begin < end {
                if rows.last().is_some_and(|last| last.0 == begin) {
                    rows.pop();
                }
                rows.push((begin, stage));
            }
        }
        let name = (self.name)(passage);
        self.diagram.row_of_thread(passage.hart, is_squashed, &name, &detail, &rows, end.max(fetched + 1));
    }
}

impl<N: FnMut(&Passage) -> String> ChipObserver for ChipKanata<N> {
    fn committed(&mut self, passage: &Passage, _: u64) {
        self.add(passage, false);
    }

    fn squashed(&mut self, passage: &Passage) {
        self.add(passage, true);
    }
}
