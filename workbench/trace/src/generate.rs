// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generates traces of any size from communication patterns.
//!
//! The records of a rank depend only on pattern, number of ranks, seed and parameters: they are
//! identical, bit for bit, on every machine. Ranks are generated one by one, so 65,536 ranks need
//! the memory of one iteration of one rank. Every message has a receive. Calls take no time; a
//! barrier, or a delay between sender and receiver, passes one microsecond, so that the recorded
//! times order sends and receives as the pattern intends.

mod patterns;
mod program;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use mb_core::random::Random;
use mb_core::{ParameterError, ParameterSet, Source, names};
use serde_json::json;

pub use patterns::{
    ApplicationRow, DepthParameters, Halo3dParameters, ManyToOneParameters, Neighbours, PATTERNS, PostOrder, Queue,
    RandomParameters, ReceiveSource, SweepParameters, Tanabe2013Table1Parameters, TransposeParameters,
    Xiong2018DepthsParameters,
};
pub use program::{CommunicationPattern, PatternParameters};
use program::{PatternProgram, RankOutput};

use crate::error::TraceError;
use crate::meta::{MAX_RANKS, Meta, TraceOrigin};
use crate::open::Trace;
use crate::rank_builder::RankBuilder;
use crate::record::Record;
use crate::writer::{TraceForm, TraceWriter};

/// Why a trace could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// No such pattern.
    #[error("{}", names::unknown("pattern", name, known.iter().copied()))]
    UnknownPattern {
        /// The name found.
        name: String,
        /// The names expected.
        known: Vec<&'static str>,
    },
    /// A parameter was rejected.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The number of ranks is out of range.
    #[error("pattern `{pattern}`: found {ranks} ranks, expected {least} to {MAX_RANKS}")]
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
    pattern: CommunicationPattern,
    ranks: u32,
    seed: u64,
    parameters: ParameterSet,
    program: Box<dyn PatternProgram>,
}

impl Plan {
    /// Pattern `name` on `ranks` ranks. `settings` maps parameter keys to texts; the others keep
    /// their defaults.
    ///
    /// # Errors
    /// When the pattern is unknown, or ranks or parameters are out of range.
    pub fn new(name: &str, ranks: u32, seed: u64, settings: &BTreeMap<String, String>) -> Result<Self, GenerateError> {
        let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.name == name) else {
            let known = PATTERNS.iter().map(|pattern| pattern.name).collect();
            return Err(GenerateError::UnknownPattern { name: name.to_owned(), known });
        };
        Self::check(*pattern, ranks, seed, pattern.set(settings)?)
    }

    /// The pattern of `parameters` on `ranks` ranks.
    ///
    /// # Errors
    /// When ranks or parameters are out of range.
    pub fn of<P: PatternParameters>(parameters: &P, ranks: u32, seed: u64) -> Result<Self, GenerateError> {
        let mut set = P::PATTERN.set(&BTreeMap::new())?;
        set.change(&Source::User, |typed: &mut P| typed.clone_from(parameters))?;
        Self::check(P::PATTERN, ranks, seed, set)
    }

    fn check(
        pattern: CommunicationPattern,
        ranks: u32,
        seed: u64,
        parameters: ParameterSet,
    ) -> Result<Self, GenerateError> {
        let least = pattern.least_ranks;
        if ranks < least || ranks > MAX_RANKS {
            return Err(GenerateError::Ranks { pattern: pattern.name, ranks, least });
        }
        let program = (pattern.program)(&parameters);
        program.prepare(ranks)?;
        Ok(Self { pattern, ranks, seed, parameters, program })
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
        let mut writer = TraceWriter::create(path, self.meta(), TraceForm::Bundle)?;
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
        let program = RankBuilder::new(rank, self.ranks);
        let mut output = RankOutput { program, ranks: self.ranks, seed: self.seed, out };
        self.program.run(&mut output)?;
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
        let mut meta = Meta::new(TraceOrigin::Generated, self.ranks, Random::of(self.seed, &words).next());
        meta.more.insert("generator".to_owned(), generator);
        meta
    }
}
