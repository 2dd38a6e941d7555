// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pipeline diagrams of an out-of-order core in the Kanata format, for the viewer Konata.
//!
//! Each committed instruction is a row with these stages:
//!
//! | stage | meaning |
//! |---|---|
//! | `Fe` | fetched, waits in the fetch queue |
//! | `Di` | dispatched, waits for operands, a functional unit or an issue slot |
//! | `Ex` | executes; a memory instruction computes its address and waits for its access |
//! | `Me` | accesses memory; a store has no `Me`, because it accesses memory at commit |
//! | `Wb` | complete, waits for older instructions to commit |
//! | `Cm` | commits |

use std::fmt;

use mb_core::Cycles;

use mb_kit::kanata::Diagram;

use super::timing::{CommitObserver, InstructionTiming};
use crate::Retired;
use crate::predictor::PredictionOutcome;

/// An observer that writes every committed instruction; `N` returns the label of its row.
#[derive(Clone, Debug)]
pub struct PipelineKanata<W, N> {
    diagram: Diagram,
    out: W,
    name: N,
    result: fmt::Result,
}

/// A label made of the address and the class of an instruction; there is no disassembler.
#[must_use]
pub fn pc_and_class(retired: &Retired) -> String {
    format!("{:08x} {:?}", retired.pc, retired.instruction.class)
}

impl<W: fmt::Write, N: FnMut(&Retired) -> String> PipelineKanata<W, N> {
    /// A diagram whose complete rows are written to `out` as the run proceeds.
    #[must_use]
    pub fn new(out: W, name: N) -> Self {
        Self { diagram: Diagram::new(), out, name, result: Ok(()) }
    }

    /// Writes the remaining rows and returns `out`.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn finish(mut self) -> Result<W, fmt::Error> {
        self.result.and_then(|()| self.diagram.flush(u64::MAX, &mut self.out))?;
        Ok(self.out)
    }
}

impl<W: fmt::Write, N: FnMut(&Retired) -> String> CommitObserver for PipelineKanata<W, N> {
    fn committed(&mut self, timing: &InstructionTiming) {
        let InstructionTiming { retired, .. } = timing;
        // Fetch is in order: no later row begins before this one.
        if self.result.is_ok() {
            self.result = self.diagram.flush(timing.fetched.0, &mut self.out);
        }
        let access = match retired.instruction.access {
            0 => String::new(),
            bytes => format!(", {bytes} bytes at {:#x}", retired.address),
        };
        let outcome = match timing.outcome {
            PredictionOutcome::Correct => "",
            PredictionOutcome::Misfetched => ", misfetched",
            PredictionOutcome::Mispredicted => ", mispredicted",
        };
        let detail = format!("pc {:#x}, {:?}{access}{outcome}", retired.pc, retired.instruction.class);
        let InstructionTiming { fetched, dispatched, issued, accessed, written, committed, .. } = *timing;
        let first_end = if accessed == issued { written } else { accessed };
        let stages = [
            (fetched, dispatched, "Fe"),
            (dispatched, issued, "Di"),
            (issued, first_end, "Ex"),
            (first_end, written, "Me"),
            (written, committed, "Wb"),
            (committed, committed + Cycles(1), "Cm"),
        ];
        let stages: Vec<_> =
            stages.iter().filter(|(begin, end, _)| begin < end).map(|&(begin, _, name)| (begin.0, name)).collect();
        let name = (self.name)(retired);
        self.diagram.row(&name, &detail, &stages, committed.0 + 1);
    }
}
