// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generates traces of any size from communication patterns.
//!
//! The records of a rank depend only on pattern, number of ranks, seed and parameters: they are
//! identical, bit for bit, on every machine. Ranks are generated one by one, so 65,536 ranks need
//! the memory of one iteration of one rank. Every message has a receive. Calls take no time; a
//! barrier, or a delay between sender and receiver, passes one microsecond, so that the recorded
//! times order sends and receives as the pattern intends.

mod patterns;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use mb_core::parameters::Value;
use mb_core::{ParameterError, ParameterSet, ParameterSpec, Picos, Source};
use serde_json::json;

pub use patterns::PATTERNS;

use crate::error::TraceError;
use crate::meta::{MAX_RANKS, Meta, Origin};
use crate::open::Trace;
use crate::rank_builder::RankBuilder;
use crate::record::Record;
use crate::writer::{Form, TraceWriter};
use mb_core::random::Random;

/// A pattern of communication.
#[derive(Debug)]
pub struct Pattern {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Smallest number of ranks.
    pub least_ranks: u32,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Rejects parameters that contradict each other.
    prepare: fn(&Plan) -> Result<(), ParameterError>,
    /// Generates the calls of one rank between `MPI_Init` and `MPI_Finalize`.
    run: fn(&Plan, &mut RankOutput<'_>) -> Result<(), TraceError>,
}

/// A parameter of a pattern.
#[derive(Debug)]
pub struct Parameter {
    /// Name, unit, meaning and range.
    pub spec: ParameterSpec,
    /// Default value.
    pub default: &'static str,
}

/// Why a trace could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// No such pattern.
    #[error("unknown pattern `{name}`; expected one of: {known}")]
    UnknownPattern {
        /// The name found.
        name: String,
        /// The names expected.
        known: String,
    },
    /// A parameter was rejected.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The number of ranks is out of range.
    #[error("pattern `{pattern}`: {ranks} ranks found, expected {least} to {MAX_RANKS}")]
    Ranks {
        /// Name of the pattern.
        pattern: &'static str,
        /// The number found.
        ranks: u32,
        /// Smallest number of ranks of the pattern.
        least: u32,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// A pattern with number of ranks, seed and parameters.
#[derive(Debug)]
pub struct Plan {
    pattern: &'static Pattern,
    ranks: u32,
    seed: u64,
    parameters: ParameterSet,
}

/// A rank that is being generated: its program, and the consumer of its records.
struct RankOutput<'a> {
    program: RankBuilder,
    out: &'a mut dyn FnMut(&[Record]) -> Result<(), TraceError>,
}

/// Records buffered before they are passed on.
const BUFFERED_RECORDS: usize = 1 << 14;

impl RankOutput<'_> {
    /// Passes buffered records on. Patterns call it once per iteration.
    fn pause(&mut self) -> Result<(), TraceError> {
        if self.program.records().len() >= BUFFERED_RECORDS { (self.out)(&self.program.take_records()) } else { Ok(()) }
    }
}

/// The latest time that a trace can hold, ns (`spec/trace.md`, T-12).
const LATEST_NS: u64 = 1 << 53;

impl Plan {
    /// Pattern `name` on `ranks` ranks. `settings` maps parameter keys to texts; the others keep
    /// their defaults.
    ///
    /// # Errors
    /// When the pattern is unknown, or ranks or parameters are out of range.
    pub fn new(name: &str, ranks: u32, seed: u64, settings: &BTreeMap<String, String>) -> Result<Self, GenerateError> {
        let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.name == name) else {
            let known: Vec<_> = PATTERNS.iter().map(|pattern| pattern.name).collect();
            return Err(GenerateError::UnknownPattern { name: name.to_owned(), known: known.join(", ") });
        };
        let least = pattern.least_ranks;
        if ranks < least || ranks > MAX_RANKS {
            return Err(GenerateError::Ranks { pattern: pattern.name, ranks, least });
        }
        let specs: Vec<ParameterSpec> = pattern.parameters.iter().map(|parameter| parameter.spec).collect();
        let default = || Source::Assumed("default of the pattern".into());
        let defaults = pattern.parameters.iter().map(|parameter| (parameter.spec.key, parameter.default, default()));
        let given = settings.iter().map(|(key, text)| (key.as_str(), text.as_str(), Source::User));
        let parameters = ParameterSet::complete(&specs, defaults.chain(given))?;
        let plan = Self { pattern, ranks, seed, parameters };
        (pattern.prepare)(&plan)?;
        Ok(plan)
    }

    /// Writes the trace as a bundle into directory `path`. `progress` receives the number of ranks
    /// done after each one, and can stop the generation.
    ///
    /// # Errors
    /// When the directory already contains a trace or cannot be written;
    /// [`TraceError::Interrupted`] when `progress` breaks.
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

    /// Generates the trace in memory.
    ///
    /// # Panics
    /// When it has more than 2^31 - 1 ranks.
    #[must_use]
    pub fn in_memory(&self) -> Trace {
        let rank = |rank| {
            let mut all = Vec::new();
            let mut keep = |records: &[Record]| {
                all.extend_from_slice(records);
                Ok(())
            };
            self.rank(rank, &mut keep).expect("appending to a vector does not fail");
            all
        };
        Trace::in_memory((0..self.ranks).map(rank).collect())
    }

    /// Passes the records of `rank` to `out`, in batches.
    fn rank(&self, rank: u32, out: &mut dyn FnMut(&[Record]) -> Result<(), TraceError>) -> Result<(), TraceError> {
        let mut output = RankOutput { program: RankBuilder::new(rank, self.ranks), out };
        (self.pattern.run)(self, &mut output)?;
        (output.out)(&output.program.finalize())
    }

    /// The description of the trace, with everything that determines it: pattern, ranks, seed and
    /// parameters.
    fn meta(&self) -> Meta {
        let settings: BTreeMap<_, _> =
            self.parameters.iter().map(|(spec, parameter)| (spec.key, parameter.value.to_string())).collect();
        let generator =
            json!({ "pattern": self.pattern.name, "ranks": self.ranks, "seed": self.seed, "settings": settings });
        let text = generator.to_string();
        let words: Vec<u64> = text.bytes().map(u64::from).collect();
        let mut meta = Meta::new(Origin::Generated, self.ranks, Random::of(self.seed, &words).next());
        meta.more.insert("generator".to_owned(), generator);
        meta
    }

    fn value(&self, key: &str) -> Value {
        self.parameters.get(key).unwrap_or_else(|| panic!("pattern {} has no `{key}`", self.pattern.name)).value
    }

    fn whole(&self, key: &str) -> u64 {
        let Value::Whole(number) = self.value(key) else { panic!("`{key}` is not a whole number") };
        number
    }

    fn word(&self, key: &str) -> &'static str {
        let Value::Word(word) = self.value(key) else { panic!("`{key}` is not a choice") };
        word
    }

    fn time(&self, key: &str) -> Picos {
        let Value::Time(time) = self.value(key) else { panic!("`{key}` is not a time") };
        time
    }

    /// The time under `key`, ns.
    fn ns(&self, key: &str) -> u64 {
        self.time(key).0 / 1000
    }

    /// Rejects computation times with fractions of a nanosecond, and totals over `steps` that
    /// exceed the range of a trace.
    fn check_time(&self, steps: u64) -> Result<(), ParameterError> {
        let Picos(compute) = self.time("compute");
        if !compute.is_multiple_of(1000) {
            return Err(ParameterError::Contradiction(
                "compute: fraction of a nanosecond found, expected whole nanoseconds".to_owned(),
            ));
        }
        let longest = u128::from(steps) * u128::from(compute / 1000 + patterns::MARGIN_NS);
        if longest > u128::from(LATEST_NS) {
            let reason =
                format!("compute: {steps} steps of {} ns found, expected at most 2^53 ns in total", compute / 1000);
            return Err(ParameterError::Contradiction(reason));
        }
        Ok(())
    }
}
