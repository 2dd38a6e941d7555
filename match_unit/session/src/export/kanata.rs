// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pipeline diagrams in Kanata 0004, for Konata.

use mb_asm::MatchProgram;
use mb_kit::kanata::Diagram;
use mb_unit::list_manager::StallCause;
use mb_unit::match_processor::{IssueEvent, Observer};
use mb_unit::unit::{MatchUnit, WRITE_STAGE};

/// A pipeline diagram: one row per word with the stages `Wt` (waiting for input), `Rd`, `Op` and `Wr`.
#[derive(Clone, Debug)]
pub struct Kanata {
    names: Vec<String>,
    diagram: Diagram,
    text: String,
}

impl Kanata {
    /// An empty diagram for `program`.
    #[must_use]
    pub fn new(program: &MatchProgram) -> Self {
        let mut label = (0, String::new());
        let names = (0..program.words.len())
            .map(|address| {
                if let Some(name) = program.label_at(address) {
                    label = (address, name.to_owned());
                }
                let text = program.lines.get(address).map_or("", |line| line.text.as_str());
                format!("{address:4} {}+{}: {text}", label.1, address - label.0)
            })
            .collect();
        Self { names, diagram: Diagram::new(), text: String::new() }
    }

    /// The text written since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The remaining text of the file.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.flush(u64::MAX);
        self.text
    }

    fn flush(&mut self, until: u64) {
        // Writing to a string cannot fail.
        let _ = self.diagram.flush(until, &mut self.text);
    }
}

impl Observer for Kanata {
    fn issued(&mut self, event: &IssueEvent, _: &MatchUnit) {
        let issue = event.cycle;
        let (waited, cause) = event.stall.unwrap_or((0, StallCause::Idle));
        // A word that was idle enters the diagram at its issue.
        let begin = if cause == StallCause::Idle { issue } else { issue - waited };
        self.flush(begin);
        let branch = match (event.issued.taken, event.issued.cancelled) {
            (true, _) => ", branch taken",
            (_, true) => ", branch cancelled",
            _ => "",
        };
        let wait = if waited == 0 { String::new() } else { format!(", waited {waited} ({})", cause.as_str()) };
        let took = event.took.map_or_else(String::new, |entry| format!(", took {:#x}", entry.word));
        let sent = event.issued.sent.map_or_else(String::new, |sent| format!(", sent {:#x}", sent.word));
        let detail = format!("cycle {issue}{wait}{took}{sent}{branch}");
        let mut stages = vec![(issue, "Rd"), (issue + 1, "Op"), (issue + WRITE_STAGE, "Wr")];
        if begin < issue {
            stages.insert(0, (begin, "Wt"));
        }
        let name = &self.names[usize::from(event.issued.at)];
        self.diagram.row(name, &detail, &stages, issue + WRITE_STAGE + 1);
    }
}
