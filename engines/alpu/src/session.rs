// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Insert sessions: how the processor moves entries from its list into a unit while headers keep coming.
//!
//! ```text
//!   processor   START        INSERT  INSERT  INSERT  STOP
//!   unit             free n
//!   searches    ----|== hits are reported, failures held ==|-- held searches are repeated
//! ```
//! START is answered with the number of empty cells; it is written behind the answer of an
//! operation, so a search that begins later counts as after it. Each INSERT waits for an empty last
//! cell. Without the hold, a search could fail in the unit just before an entry moves in, and then
//! fail in the rest of the list, which the entry has just left.

use mb_core::{Clock, Cycles, Picos};

use crate::cells::Cells;

/// How the processor reaches the units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    pub(crate) clock: Clock,
    /// The processor writes a command.
    pub(crate) write: Picos,
    /// The processor reads an answer.
    pub(crate) read: Picos,
}

impl Interface {
    /// The first edge at or after `time`.
    pub(crate) fn edge(&self, time: Picos) -> u64 {
        self.clock.edge_at_or_after(time).0
    }

    /// The time of `edge`.
    pub(crate) fn time(&self, edge: u64) -> Picos {
        self.clock.span(Cycles(edge))
    }
}

/// A session of the processor with one unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    /// Up to when the processor's commands were obeyed.
    now: Picos,
    /// Entries still to be inserted.
    left: usize,
}

impl Session {
    /// Writes START at `at`, reads the number of empty cells, which the unit sends at the next
    /// edge, and then inserts `entries`.
    pub(crate) fn start(interface: &Interface, at: Picos, entries: usize) -> Self {
        let obeyed = interface.edge(at + interface.write);
        Self { now: interface.time(obeyed) + interface.read, left: entries }
    }

    /// Inserts `entries` after a RESET that was obeyed at `now`: it leaves the unit empty
    /// and open for inserts.
    pub(crate) const fn after_reset(now: Picos, entries: usize) -> Self {
        Self { now, left: entries }
    }

    /// Runs until all is inserted and STOP obeyed, or until `edge`, whichever comes first; returns
    /// the end of the session once it is reached.
    pub(crate) fn run(&mut self, interface: &Interface, cells: &mut Cells, edge: u64) -> Option<Picos> {
        loop {
            let written = interface.edge(self.now + interface.write);
            if self.left == 0 {
                return (written <= edge).then(|| interface.time(written));
            }
            let obeyed = cells.insert(written, edge)?;
            self.now = interface.time(obeyed);
            self.left -= 1;
        }
    }
}
