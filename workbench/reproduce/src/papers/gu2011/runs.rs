// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of runs: what each run of a program on the chip counted.
//!
//! `studies/gu2011_figures/measure.py` makes the runs, which take hours, and writes the table; a test repeats the
//! cheapest of them. Nothing here computes a time.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::MeasureError;

/// Text of the table.
pub const TABLE: &str = include_str!("../../../../../studies/gu2011_figures/runs.csv");

/// A pattern of IMB at a length, or a kernel of NPB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChipBenchmark {
    /// A pattern, and the bytes of its messages.
    Pattern(&'static str, u64),
    /// A kernel, class S.
    Kernel(&'static str),
}

impl ChipBenchmark {
    /// Its name in figure 10.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Pattern(name, _) => name.to_owned(),
            Self::Kernel(name) => name.to_uppercase(),
        }
    }
}

/// The transport of messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Transport {
    /// Shared memory, without the device.
    Shm,
    /// The base design.
    Base,
    /// Send lines are copied without a change of states.
    OptCopy,
    /// And receive lines come without data.
    OptCache,
}

impl Transport {
    /// The designs of the device.
    pub const DESIGNS: [Self; 3] = [Self::Base, Self::OptCopy, Self::OptCache];

    /// The word of the table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shm => "shm",
            Self::Base => "base",
            Self::OptCopy => "optcopy",
            Self::OptCache => "optcache",
        }
    }

    /// As the paper names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shm => "MPICH SHM",
            Self::Base => "BASEMOPED",
            Self::OptCopy => "OPTCOPY",
            Self::OptCache => "OPTCACHE",
        }
    }
}

/// The chip of a run, as far as the paper leaves it open.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChipVariant {
    /// Whether a read of a modified line hands it over exclusively.
    pub migratory: bool,
    /// Kind of the cores.
    pub core: &'static str,
    /// Bytes from which on messages are sent by rendezvous.
    pub eager: u64,
    /// Distance of the buffers from the start of a cache line; none if they are where the C library puts them.
    pub offsets: Option<(u64, u64)>,
    /// Parameters of the chip that differ, as the table has them.
    pub settings: String,
    /// Nodes.
    pub cores: u64,
}

impl Default for ChipVariant {
    /// That by which claims are judged.
    fn default() -> Self {
        Self { migratory: true, core: "ooo", eager: 16384, offsets: None, settings: String::new(), cores: 16 }
    }
}

impl fmt::Display for ChipVariant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.cores != 16 {
            words.push(format!("{} cores", self.cores));
        }
        if !self.migratory {
            words.push("without the migratory rule".to_owned());
        }
        if self.core != "ooo" {
            words.push(format!("cores {}", self.core));
        }
        if self.eager != 16384 {
            words.push(format!("rendezvous from {} bytes on", self.eager));
        }
        if let Some((send, receive)) = self.offsets {
            words.push(format!("buffers {send} and {receive} bytes behind a line"));
        }
        if !self.settings.is_empty() {
            words.push(self.settings.clone());
        }
        out.write_str(&if words.is_empty() { "as judged".to_owned() } else { words.join(", ") })
    }
}

/// One row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row(BTreeMap<String, String>);

impl Row {
    /// The text of a column; empty if the table has none of this name.
    #[must_use]
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// A number.
    ///
    /// # Errors
    /// When the column is missing or has no number.
    pub fn number(&self, column: &str) -> Result<f64, MeasureError> {
        let found = self.text(column).parse::<u64>();
        found.map(|number| number as f64).map_err(|_| MeasureError::Run {
            run: format!("{} {} on {}", self.text("program"), self.text("arguments"), self.text("transport")),
            what: format!("column `{column}` of the table has `{}`; expected a number", self.text(column)),
        })
    }

    /// Changes a number, so that tests see verdicts change.
    pub fn scale(&mut self, column: &str, factor: f64) {
        if let Ok(number) = self.number(column) {
            self.0.insert(column.to_owned(), format!("{:.0}", number * factor));
        }
    }

    fn is(&self, benchmark: ChipBenchmark, transport: Transport, chip: &ChipVariant) -> bool {
        let subject = match benchmark {
            ChipBenchmark::Pattern(name, bytes) => {
                self.text("program") == "imb" && self.text("arguments").starts_with(&format!("{name} {bytes} "))
            }
            ChipBenchmark::Kernel(name) => self.text("program") == name,
        };
        let offsets = self.text("environment").split(' ').find_map(|word| word.strip_prefix("MB_OFFSETS="));
        let wanted = chip.offsets.map(|(send, receive)| format!("{send},{receive}"));
        subject
            && self.text("study") != "small"
            && self.text("transport") == transport.word()
            && self.text("migratory") == if chip.migratory { "yes" } else { "no" }
            && self.text("core") == chip.core
            && self.text("eager") == chip.eager.to_string()
            && self.text("cores") == chip.cores.to_string()
            && self.text("settings") == chip.settings
            && offsets == wanted.as_deref()
    }
}

/// The table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Runs {
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Runs {
    /// Reads a table: comments after `#`, a line of names, and a line for each run. No field has a comma of its own but
    /// in double quotes.
    ///
    /// # Errors
    /// When a line has another number of fields than the first.
    pub fn read(text: &str) -> Result<Self, MeasureError> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#'));
        let names = lines.next().map(|(line, _)| fields(line)).unwrap_or_default();
        let row = |(line, number): (&str, usize)| {
            let values = fields(line);
            if values.len() != names.len() {
                return Err(MeasureError::Run {
                    run: format!("runs.csv:{number}"),
                    what: format!("found {} fields, expected {}; run measure.py", values.len(), names.len()),
                });
            }
            Ok(Row(names.iter().cloned().zip(values).collect()))
        };
        Ok(Self { rows: lines.map(row).collect::<Result<_, _>>()? })
    }

    /// The row of a run.
    ///
    /// # Errors
    /// When the run was not made.
    pub fn row(
        &self,
        benchmark: ChipBenchmark,
        transport: Transport,
        chip: &ChipVariant,
    ) -> Result<&Row, MeasureError> {
        self.rows.iter().find(|row| row.is(benchmark, transport, chip)).ok_or_else(|| {
            MeasureError::NotRun(format!(
                "not run: {} on {}, {chip}; studies/gu2011_figures/measure.py makes the runs",
                benchmark.name(),
                transport.name()
            ))
        })
    }

    /// Whether there is the run of a benchmark on each of `transports`.
    #[must_use]
    pub fn has(&self, benchmark: ChipBenchmark, transports: &[Transport], chip: &ChipVariant) -> bool {
        transports.iter().all(|&transport| self.row(benchmark, transport, chip).is_ok())
    }
}

/// The fields of a line.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            _ => field.push(letter),
        }
    }
    all.push(field);
    all
}
