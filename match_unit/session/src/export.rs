// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs as files for viewers: Kanata 0004 for Konata, VCD for `GTKWave` and Surfer.
//!
//! Contract: both are [`Observer`]s that grow a text; `take` hands out what there is, `finish` closes it. The same run gives
//! the same bytes.
//! Cost: about 200 bytes for each word in Kanata, about 100 in VCD; nothing else is kept.
//! Source: the formats as their viewers document them.

use std::fmt::Write as _;

use mb_asm::MatchProgram;
use mb_core::{Clock, Cycles};
use mb_kit::kanata::Diagram;

use mb_unit::list_manager::StallCause;
use mb_unit::match_processor::{IssueEvent, Observer};
use mb_unit::unit::{FifoTag, MatchUnit, OutputWord, WRITE_STAGE};

/// Writes to a text, which cannot fail.
macro_rules! put {
    ($text:expr, $($words:tt)*) => {
        let _ = writeln!($text, $($words)*);
    };
}

/// A pipeline diagram: a line for each word with the stages `Wt` (waiting for input), `Rd`, `Op` and `Wr`.
#[derive(Clone, Debug)]
pub struct Kanata {
    names: Vec<String>,
    diagram: Diagram,
    text: String,
}

impl Kanata {
    /// A diagram without words.
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

    /// What has been written since the last call: the file grows on disk and not in memory.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The file, or the rest of it.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.flush(u64::MAX);
        self.text
    }

    fn flush(&mut self, until: u64) {
        // A text takes everything.
        let _ = self.diagram.flush(until, &mut self.text);
    }
}

impl Observer for Kanata {
    fn issued(&mut self, event: &IssueEvent, _: &MatchUnit) {
        let issue = event.cycle;
        let (waited, cause) = event.stall.unwrap_or((0, StallCause::Idle));
        // A word that waited for work and not for input enters the diagram when the work is there.
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

/// Waveforms: program counter, stall, both FIFO ports, branches, predicates and registers, one time step per cycle.
#[derive(Clone, Debug)]
pub struct Vcd {
    clock: Clock,
    text: String,
    values: Vec<Option<u64>>,
    /// Words sent and not yet in the output FIFO.
    leaving: Vec<(u64, OutputWord)>,
    now: Option<u64>,
    written: Option<u64>,
    end: u64,
}

/// Signals before the registers: name and width.
const SIGNALS: [(&str, u32); 11] = [
    ("issue", 1),
    ("pc", 10),
    ("stall", 3),
    ("in_pop", 1),
    ("in_tag", 2),
    ("in_data", 64),
    ("out_valid", 1),
    ("out_last", 1),
    ("out_data", 64),
    ("taken", 1),
    ("p", 16),
];

/// Signals of registers: a1 to a15, then t1 to t15.
const REGISTERS: usize = 30;

impl Vcd {
    /// Waveforms of a unit that runs at `clock`; times are in picoseconds.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let mut text = String::from("$comment signals of the match unit; stall:");
        for (number, cause) in StallCause::ALL.into_iter().enumerate() {
            let _ = write!(text, " {}={}", number + 1, cause.as_str());
        }
        text.push_str("; in_tag: 0=header 1=item 2=end $end\n$timescale 1 ps $end\n$scope module match_unit $end\n");
        for (index, (name, width)) in signals().enumerate() {
            put!(text, "$var wire {width} {} {name} $end", code(index));
        }
        text.push_str("$upscope $end\n$enddefinitions $end\n");
        let values = vec![None; SIGNALS.len() + REGISTERS];
        Self { clock, text, values, leaving: Vec::new(), now: None, written: None, end: 0 }
    }

    /// What has been written since the last call: the file grows on disk and not in memory.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The file, or the rest of it.
    #[must_use]
    pub fn finish(mut self) -> String {
        if self.now.is_some() {
            self.quiet(self.end + 2);
            self.at(self.end + 1);
            self.time();
        }
        self.text
    }

    /// Goes to a cycle without writing it.
    fn at(&mut self, cycle: u64) {
        self.now = Some(cycle);
    }

    /// Writes the time of the current cycle once.
    fn time(&mut self) {
        if self.written != self.now
            && let Some(cycle) = self.now
        {
            put!(self.text, "#{}", self.clock.span(Cycles(cycle)).0);
            self.written = self.now;
        }
    }

    fn set(&mut self, index: usize, value: u64) {
        if self.values[index] == Some(value) {
            return;
        }
        self.time();
        self.values[index] = Some(value);
        let width = signals().nth(index).map_or(64, |(_, width)| width);
        if width == 1 {
            put!(self.text, "{value}{}", code(index));
        } else {
            put!(self.text, "b{value:b} {}", code(index));
        }
    }

    /// Sets the output port for the current cycle.
    fn output(&mut self) {
        let cycle = self.now;
        let sent = self.leaving.iter().position(|(at, _)| Some(*at) == cycle).map(|index| self.leaving.remove(index).1);
        self.set(6, u64::from(sent.is_some()));
        if let Some(sent) = sent {
            self.set(7, u64::from(sent.last));
            self.set(8, sent.word);
        }
    }

    /// Cycles without an issue, from the one after the last issue up to `until`: only the output port can move.
    fn quiet(&mut self, until: u64) {
        let Some(last) = self.now else { return };
        let mut cycles: Vec<u64> = self.leaving.iter().flat_map(|(at, _)| [*at, at + 1]).collect();
        cycles.push(last + 1);
        cycles.sort_unstable();
        cycles.dedup();
        for cycle in cycles.into_iter().filter(|cycle| (last + 1..until).contains(cycle)) {
            self.at(cycle);
            self.set(0, 0);
            self.set(3, 0);
            self.set(9, 0);
            self.output();
        }
    }
}

fn signals() -> impl Iterator<Item = (String, u32)> {
    let named = SIGNALS.iter().map(|(name, width)| ((*name).to_owned(), *width));
    let register = |file: char| (1..16).map(move |number| (format!("{file}{number}"), 64));
    named.chain(register('a')).chain(register('t'))
}

/// The short name of a signal in the file: one printable character.
fn code(index: usize) -> char {
    char::from(b'!' + index as u8)
}

impl Observer for Vcd {
    fn issued(&mut self, event: &IssueEvent, unit: &MatchUnit) {
        if let Some((cycles, cause)) = event.stall {
            self.quiet(event.cycle - cycles + 1);
            self.at(self.now.map_or(event.cycle - cycles, |now| now.max(event.cycle - cycles)));
            self.set(2, cause as u64 + 1);
        }
        self.quiet(event.cycle);
        self.at(event.cycle);
        self.set(0, 1);
        self.set(1, u64::from(event.issued.at));
        self.set(2, 0);
        self.set(3, u64::from(event.took.is_some()));
        if let Some(entry) = event.took {
            let tag = match entry.tag {
                FifoTag::Header => 0,
                FifoTag::Item => 1,
                FifoTag::End => 2,
            };
            self.set(4, tag);
            self.set(5, entry.word);
        }
        self.output();
        self.set(9, u64::from(event.issued.taken));
        let state = unit.state();
        self.set(10, u64::from(state.predicates));
        for (index, value) in state.alu[1..].iter().chain(&state.ternary[1..]).enumerate() {
            self.set(SIGNALS.len() + index, *value);
        }
        if let Some(sent) = event.issued.sent {
            self.leaving.push((event.cycle + WRITE_STAGE, sent));
        }
        self.end = event.cycle + WRITE_STAGE;
    }
}
