// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pipeline diagrams as Konata draws them: files in the Kanata format, version 0004.
//!
//! Contract: rows are added in the order in which they retire; what begins before the
//! [`flush`](Diagram::flush) of its first cycle is written there, so only rows that overlap are
//! kept. The same rows give the same bytes. Cost: about 200 bytes of file for each row.
//! Source: the format as its viewer documents it.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// The part of a file that is not written yet.
#[derive(Clone, Debug, Default)]
pub struct Diagram {
    /// The events of each cycle.
    cycles: BTreeMap<u64, String>,
    at: Option<u64>,
    begun: bool,
    rows: u64,
}

impl Diagram {
    /// An empty file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row: its name, what a click on it shows, and the first cycles and names of its
    /// stages, each of which ends where the next begins, and the last in `end`. Tabs and line ends
    /// in texts become spaces.
    ///
    /// # Panics
    /// When there is no stage, or a cycle comes before one that was flushed.
    pub fn row(&mut self, name: &str, detail: &str, stages: &[(u64, &str)], end: u64) {
        self.row_of_thread(0, false, name, detail, stages, end);
    }

    /// Adds a row of a thread, which was flushed in `end` or retired. The viewer can show each
    /// thread apart.
    ///
    /// # Panics
    /// When there is no stage, or a cycle comes before one that was flushed.
    pub fn row_of_thread(
        &mut self,
        thread: usize,
        is_flushed: bool,
        name: &str,
        detail: &str,
        stages: &[(u64, &str)],
        end: u64,
    ) {
        let id = self.rows;
        self.rows += 1;
        let begin = stages[0].0;
        assert!(self.at.is_none_or(|at| at < begin), "cycle {begin} is written already");
        self.add(begin, format_args!("I\t{id}\t{id}\t{thread}"));
        self.add(begin, format_args!("L\t{id}\t0\t{}", one_line(name)));
        self.add(begin, format_args!("L\t{id}\t1\t{}", one_line(detail)));
        for (index, &(start, stage)) in stages.iter().enumerate() {
            self.add(start, format_args!("S\t{id}\t0\t{stage}"));
            let end = stages.get(index + 1).map_or(end, |next| next.0);
            self.add(end, format_args!("E\t{id}\t0\t{stage}"));
        }
        self.add(end, format_args!("R\t{id}\t{id}\t{}", u8::from(is_flushed)));
    }

    fn add(&mut self, cycle: u64, line: fmt::Arguments<'_>) {
        // A text takes everything.
        let _ = writeln!(self.cycles.entry(cycle).or_default(), "{line}");
    }

    /// Writes what happens before cycle `until`, to which nothing can be added any more.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self, until: u64, out: &mut impl fmt::Write) -> fmt::Result {
        if !std::mem::replace(&mut self.begun, true) {
            out.write_str("Kanata\t0004\n")?;
        }
        while let Some(entry) = self.cycles.first_entry()
            && *entry.key() < until
        {
            let (cycle, lines) = entry.remove_entry();
            match self.at.replace(cycle) {
                None => writeln!(out, "C=\t{cycle}")?,
                Some(at) => writeln!(out, "C\t{}", cycle - at)?,
            }
            out.write_str(&lines)?;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) { text.replace(['\t', '\n', '\r'], " ").into() } else { text.into() }
}
