// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes traces of any size from patterns of communication.
//!
//! A rank's records depend on pattern, ranks, seed and settings alone: the same on every machine, bit for bit, and made
//! rank by rank, so that 65,536 ranks need the memory of one iteration of one rank. Every message has its receive.
//! Times are those of a machine whose calls take none; a barrier or a turn between sender and receiver passes a
//! microsecond, so that the recorded order of sends and receives is the one meant.

mod patterns;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use mb_core::{Picos, SettingError, SettingSpec, Settings, Source};
use serde_json::json;

pub use patterns::PATTERNS;

use crate::error::TraceError;
use crate::meta::{MAX_RANKS, Meta, Origin};
use crate::open::Trace;
use crate::program::Program;
use crate::record::Record;
use crate::writer::{Form, TraceWriter};
use mb_core::random::Random;

/// A pattern of communication.
#[derive(Debug)]
pub struct Pattern {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The smallest world it makes sense in.
    pub least_ranks: u32,
    /// Its settings.
    pub parameters: &'static [Parameter],
    /// Refuses settings that do not go together.
    prepare: fn(&Plan) -> Result<(), SettingError>,
    /// Writes one rank between `MPI_Init` and `MPI_Finalize`.
    run: fn(&Plan, &mut RankOutput<'_>) -> Result<(), TraceError>,
}

/// A setting of a pattern.
#[derive(Debug)]
pub struct Parameter {
    /// Name, unit, meaning and range.
    pub spec: SettingSpec,
    /// Value if none is given.
    pub default: &'static str,
}

/// Why a trace could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// No such pattern.
    #[error("unknown pattern `{name}`; expected one of: {known}")]
    UnknownPattern {
        /// What was given.
        name: String,
        /// All that exist.
        known: String,
    },
    /// A setting was refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The pattern needs another world.
    #[error("pattern `{pattern}`: found {ranks} ranks, expected {least} to {MAX_RANKS}")]
    Ranks {
        /// Its name.
        pattern: &'static str,
        /// What was given.
        ranks: u32,
        /// The fewest it can do with.
        least: u32,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// A pattern with all that it needs.
#[derive(Debug)]
pub struct Plan {
    pattern: &'static Pattern,
    ranks: u32,
    seed: u64,
    settings: Settings,
}

/// One rank in the making: its program, and where its records go.
struct RankOutput<'a> {
    program: Program,
    out: &'a mut dyn FnMut(&[Record]) -> Result<(), TraceError>,
}

/// Records kept before they are handed on.
const KEPT_RECORDS: usize = 1 << 14;

impl RankOutput<'_> {
    /// Called where the pattern repeats itself.
    fn pause(&mut self) -> Result<(), TraceError> {
        if self.program.records().len() >= KEPT_RECORDS { (self.out)(&self.program.take_records()) } else { Ok(()) }
    }
}

/// The latest time that a trace can hold, ns (`spec/trace.md`, T-12).
const LATEST_NS: u64 = 1 << 53;

impl Plan {
    /// Pattern `name` on `ranks` ranks. `settings` are texts by key; those not given keep their defaults.
    ///
    /// # Errors
    /// When pattern, ranks or settings will not do.
    pub fn new(name: &str, ranks: u32, seed: u64, settings: &BTreeMap<String, String>) -> Result<Self, GenerateError> {
        let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.name == name) else {
            let known: Vec<_> = PATTERNS.iter().map(|pattern| pattern.name).collect();
            return Err(GenerateError::UnknownPattern { name: name.to_owned(), known: known.join(", ") });
        };
        let least = pattern.least_ranks;
        if ranks < least || ranks > MAX_RANKS {
            return Err(GenerateError::Ranks { pattern: pattern.name, ranks, least });
        }
        let specs: Vec<SettingSpec> = pattern.parameters.iter().map(|parameter| parameter.spec).collect();
        let mut all = Settings::new();
        for parameter in pattern.parameters {
            let default = Source::Assumed("default of the pattern".into());
            all.set(&specs, parameter.spec.key, parameter.default, default)?;
        }
        for (key, text) in settings {
            all.set(&specs, key, text, Source::User)?;
        }
        let plan = Self { pattern, ranks, seed, settings: all };
        (pattern.prepare)(&plan)?;
        Ok(plan)
    }

    /// Writes the trace as a bundle into directory `path`. `progress` is told after each rank how many are done, and can
    /// stop the work.
    ///
    /// # Errors
    /// When the directory holds a trace already or cannot be written; [`TraceError::Interrupted`] when `progress` breaks.
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        mut progress: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<(), GenerateError> {
        let mut writer = TraceWriter::create(path, self.meta(), Form::Bundle)?;
        for rank in 0..self.ranks {
            self.rank(rank, &mut |records| writer.append(records))?;
            writer.end_rank()?;
            if progress(rank + 1).is_break() {
                return Err(TraceError::Interrupted.into());
            }
        }
        Ok(writer.finish()?)
    }

    /// The trace in memory.
    ///
    /// # Panics
    /// When it has more than 2^31 - 1 ranks, for which there is no memory.
    #[must_use]
    pub fn in_memory(&self) -> Trace {
        let rank = |rank| {
            let mut all = Vec::new();
            let mut keep = |records: &[Record]| {
                all.extend_from_slice(records);
                Ok(())
            };
            self.rank(rank, &mut keep).expect("memory takes everything");
            all
        };
        Trace::in_memory((0..self.ranks).map(rank).collect())
    }

    /// Hands the records of `rank` to `out`, piece by piece.
    fn rank(&self, rank: u32, out: &mut dyn FnMut(&[Record]) -> Result<(), TraceError>) -> Result<(), TraceError> {
        let mut output = RankOutput { program: Program::new(rank, self.ranks), out };
        (self.pattern.run)(self, &mut output)?;
        (output.out)(&output.program.finalize())
    }

    /// Pattern, ranks, seed and all settings: what the trace follows from.
    fn meta(&self) -> Meta {
        let settings: BTreeMap<_, _> =
            self.settings.iter().map(|(key, setting)| (key, setting.value.to_string())).collect();
        let generator =
            json!({ "pattern": self.pattern.name, "ranks": self.ranks, "seed": self.seed, "settings": settings });
        let text = generator.to_string();
        let words: Vec<u64> = text.bytes().map(u64::from).collect();
        let mut meta = Meta::new(Origin::Generated, self.ranks, Random::of(self.seed, &words).next());
        meta.more.insert("generator".to_owned(), generator);
        meta
    }

    fn whole(&self, key: &str) -> u64 {
        self.settings.whole(key)
    }

    fn word(&self, key: &str) -> &str {
        self.settings.word(key)
    }

    /// The time under `key`, ns.
    fn ns(&self, key: &str) -> u64 {
        self.settings.time(key).0 / 1000
    }

    /// Refuses times with fractions of a nanosecond, and `steps` of `compute` that no trace can hold.
    fn check_time(&self, steps: u64) -> Result<(), SettingError> {
        let Picos(compute) = self.settings.time("compute");
        if !compute.is_multiple_of(1000) {
            return Err(SettingError::Contradiction("compute has a fraction, expected whole nanoseconds".to_owned()));
        }
        let longest = u128::from(steps) * u128::from(compute / 1000 + patterns::MARGIN_NS);
        if longest > u128::from(LATEST_NS) {
            let reason = format!("{steps} steps of {} ns exceed the 2^53 ns of a trace", compute / 1000);
            return Err(SettingError::Contradiction(reason));
        }
        Ok(())
    }
}
