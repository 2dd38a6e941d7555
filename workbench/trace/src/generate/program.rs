// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A pattern and its parts: its parameters, and the program of its ranks.

use std::collections::BTreeMap;
use std::fmt::Debug;

use mb_core::parameters::Value;
use mb_core::{ParameterError, ParameterSet, ParameterSpec, Parameters, Picos, Source};

use crate::error::TraceError;
use crate::rank_builder::RankBuilder;
use crate::record::Record;

/// A pattern of communication.
#[derive(Clone, Copy, Debug)]
pub struct CommunicationPattern {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Smallest number of ranks.
    pub least_ranks: u32,
    /// Its parameters.
    pub parameters: &'static [ParameterSpec],
    defaults: fn() -> Vec<Value>,
    pub(super) program: fn(&ParameterSet) -> Box<dyn PatternProgram>,
}

impl CommunicationPattern {
    pub(super) const fn of<P: PatternParameters>(name: &'static str, summary: &'static str, least_ranks: u32) -> Self {
        Self {
            name,
            summary,
            least_ranks,
            parameters: P::SPECS,
            defaults: || P::default().values(),
            program: |set| Box::new(set.typed::<P>()),
        }
    }

    /// The default values, in the order of [`parameters`](Self::parameters).
    #[must_use]
    pub fn defaults(&self) -> Vec<Value> {
        (self.defaults)()
    }

    /// The `settings`, which map keys to texts, and default values for the other parameters.
    pub(super) fn set(&self, settings: &BTreeMap<String, String>) -> Result<ParameterSet, ParameterError> {
        let defaults: Vec<String> = self.defaults().iter().map(Value::to_string).collect();
        let default = || Source::Assumed("default of the pattern".into());
        let defaults = self.parameters.iter().zip(&defaults).map(|(spec, text)| (spec.key, text.as_str(), default()));
        let given = settings.iter().map(|(key, text)| (key.as_str(), text.as_str(), Source::User));
        ParameterSet::complete(self.parameters, defaults.chain(given))
    }
}

/// The parameters of a pattern. Their default values are those of the command line.
pub trait PatternParameters: Parameters + PatternProgram + Clone + Default + 'static {
    /// The pattern.
    const PATTERN: CommunicationPattern;
}

/// The program of the ranks of a pattern with given parameters.
pub trait PatternProgram: Debug + Send + Sync {
    /// Rejects parameters that contradict each other or do not fit the number of ranks.
    ///
    /// # Errors
    /// [`ParameterError::Contradiction`] with what was expected.
    fn prepare(&self, ranks: u32) -> Result<(), ParameterError>;

    /// Generates the calls of one rank between `MPI_Init` and `MPI_Finalize`.
    ///
    /// # Errors
    /// Those of the consumer of the records.
    fn run(&self, output: &mut RankOutput<'_>) -> Result<(), TraceError>;
}

/// A rank that is being generated: its program, and the consumer of its records.
pub struct RankOutput<'a> {
    pub(super) program: RankBuilder,
    pub(super) ranks: u32,
    pub(super) seed: u64,
    pub(super) out: &'a mut dyn FnMut(&[Record]) -> Result<(), TraceError>,
}

/// Records buffered before they are passed on.
const BUFFERED_RECORDS: usize = 1 << 14;

impl RankOutput<'_> {
    /// Passes buffered records on. Patterns call it once per iteration.
    pub(super) fn pause(&mut self) -> Result<(), TraceError> {
        if self.program.records().len() >= BUFFERED_RECORDS { (self.out)(&self.program.take_records()) } else { Ok(()) }
    }
}

/// Time between two calls whose order across ranks matters, ns. Assumed: about the latency of a
/// small message on a present-day network. Only the order of the recorded times that it produces
/// matters.
pub(super) const TURN_NS: u64 = 1_000;

/// Upper bound of the sum of all [`TURN_NS`] delays in one step of any pattern, ns.
const MARGIN_NS: u64 = 8 * TURN_NS;

/// The latest time that a trace can hold, ns (`spec/trace.md`, T-12).
const LATEST_NS: u64 = 1 << 53;

/// Computation time in nanoseconds, of which [`check_time`] accepts whole ones.
pub(super) const fn whole_ns(compute: Picos) -> u64 {
    compute.0 / 1000
}

/// Rejects computation times with fractions of a nanosecond, and totals over `steps` that
/// exceed the range of a trace.
pub(super) fn check_time(compute: Picos, steps: u64) -> Result<(), ParameterError> {
    if !compute.0.is_multiple_of(1000) {
        return Err(ParameterError::Contradiction(
            "compute: found a fraction of a nanosecond, expected whole nanoseconds".to_owned(),
        ));
    }
    let compute = whole_ns(compute);
    let longest = u128::from(steps) * u128::from(compute + MARGIN_NS);
    if longest > u128::from(LATEST_NS) {
        let reason = format!("compute: found {steps} steps of {compute} ns, expected at most 2^53 ns in total");
        return Err(ParameterError::Contradiction(reason));
    }
    Ok(())
}
