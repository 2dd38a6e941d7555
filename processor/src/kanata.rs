// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pipeline of an out-of-order core as a diagram.
//!
//! A row for each committed instruction, with the stages `Fe` (fetched, waits in the queue), `Di` (dispatched, waits for
//! operands, a unit or a slot), `Ex` (executes, or computes its address and waits for its turn at memory), `Me` (accesses
//! memory), `Wb` (done, waits for those before it) and `Cm` (commits). A store's access is its commit: it has no `Me`.

use std::fmt;

use mb_core::Cycles;

use super::Retired;
use super::out_of_order::{Observer, Passage};
use super::predictor::Verdict;
use mb_kit::kanata::Diagram;

/// Writes every instruction that commits; `N` names it.
#[derive(Clone, Debug)]
pub struct Kanata<W, N> {
    diagram: Diagram,
    out: W,
    name: N,
    result: fmt::Result,
}

/// An instruction's address and class, for want of a disassembler.
#[must_use]
pub fn plain(retired: &Retired) -> String {
    format!("{:08x} {:?}", retired.pc, retired.shape.class)
}

impl<W: fmt::Write, N: FnMut(&Retired) -> String> Kanata<W, N> {
    /// A diagram that goes to `out` as far as it is complete.
    #[must_use]
    pub fn new(out: W, name: N) -> Self {
        Self { diagram: Diagram::new(), out, name, result: Ok(()) }
    }

    /// Writes the rest, and gives `out` back.
    ///
    /// # Errors
    /// The first that `out` had.
    pub fn finish(mut self) -> Result<W, fmt::Error> {
        self.result.and_then(|()| self.diagram.flush(u64::MAX, &mut self.out))?;
        Ok(self.out)
    }
}

impl<W: fmt::Write, N: FnMut(&Retired) -> String> Observer for Kanata<W, N> {
    fn committed(&mut self, passage: &Passage) {
        let Passage { retired, .. } = passage;
        // Fetch is in order: nothing later begins earlier.
        if self.result.is_ok() {
            self.result = self.diagram.flush(passage.fetched.0, &mut self.out);
        }
        let access = match retired.shape.access {
            0 => String::new(),
            bytes => format!(", {bytes} bytes at {:#x}", retired.address),
        };
        let verdict = match passage.verdict {
            Verdict::Right => "",
            Verdict::Misfetched => ", target known when decoded",
            Verdict::Mispredicted => ", mispredicted",
        };
        let detail = format!("pc {:#x}, {:?}{access}{verdict}", retired.pc, retired.shape.class);
        let Passage { fetched, dispatched, issued, accessed, written, committed, .. } = *passage;
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
