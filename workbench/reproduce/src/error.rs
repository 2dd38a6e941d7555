// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a measurement or a judgement could not be made.

use mb_catalog::CatalogError;
use mb_core::ParameterError;
use mb_firmware::watched::WatchError;
use mb_processor::barrel::Trap;
use mb_processor::{Fault, LoadError};
use mb_unit::list_manager::ProtocolError;

/// Why a measurement could not be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MeasureError {
    /// The match program breaks the protocol of the list manager.
    #[error("the match program: {0}")]
    Protocol(#[from] ProtocolError),
    /// A preset cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A small program that asks the unit something does not run.
    #[error("a probe of the match unit: {0}")]
    Probe(String),
    /// The match program has no segment of this name.
    #[error("the match program has no segment `{0}`")]
    NoSegment(&'static str),
    /// Cores cannot be built.
    #[error("a processor: {0}")]
    Setting(#[from] ParameterError),
    /// A program cannot be loaded.
    #[error("a guest program: {0}")]
    Load(#[from] LoadError),
    /// A program does what its processor cannot.
    #[error("a guest program: {0}")]
    Fault(#[from] Fault),
    /// A thread does what its processor cannot.
    #[error("a guest program: {0}")]
    Trap(#[from] Trap),
    /// The benchmark found that a match was not where it should be.
    #[error("the benchmark on a list of {length} items ended with status {status}")]
    Benchmark {
        /// Items of the list.
        length: usize,
        /// Its final status.
        status: u64,
    },
    /// A study's data point cannot be placed.
    #[error("the data point of claim `{claim}`: {what}")]
    DataPoint {
        /// The claim.
        claim: String,
        /// What is wrong.
        what: String,
    },
    /// A study's assumption has a value that no model has.
    #[error("assumption `{name}`: found value `{value}`, expected one of: {known}")]
    AssumptionValue {
        /// The assumption.
        name: &'static str,
        /// The value.
        value: String,
        /// Every value that a model has.
        known: String,
    },
    /// A study cannot be read.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A run of a whole machine ended early or gave a wrong answer.
    #[error("the run of {run}: {what}")]
    Run {
        /// What was run.
        run: String,
        /// What happened.
        what: String,
    },
    /// A claim rests on a run of a table of runs, and the run was not made.
    #[error("{0}")]
    NotRun(String),
    /// A run did not show what was to be measured.
    #[error("a run of a study: found none, expected {0}")]
    NotSeen(&'static str),
}

impl From<WatchError> for MeasureError {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Setting(error) => Self::Setting(error),
            WatchError::Load(error) => Self::Load(error),
            WatchError::Fault(error) => Self::Fault(error),
            WatchError::Trap(error) => Self::Trap(error),
            WatchError::Missing(what) => Self::NotSeen(what),
        }
    }
}

/// Why a study cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("studies/{name}/study.toml: {what}")]
pub struct StudyError {
    /// The study.
    pub name: String,
    /// What is wrong.
    pub what: String,
}

/// A measurement whose form does not fit the claim's value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("claim `{id}`: the ledger has {value}, which cannot be compared with the measured {measured}")]
pub struct Mismatch {
    /// The claim.
    pub id: String,
    /// Its value.
    pub value: String,
    /// What was measured.
    pub measured: String,
}

/// Why the ledger's evidence for a claim does not stand.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The claim is judged, and the ledger has no evidence for it.
    #[error("claim `{id}`: it is measured and has no `evidence`; expected predicted, recovered or recomputed")]
    Missing {
        /// The claim.
        id: String,
    },
    /// A claim is called predicted and rests on a calibrated parameter.
    #[error(
        "claim `{id}`: evidence is predicted, but parameter `{parameter}` of `{engine}` is calibrated ({why}); expected \
         recovered, or an engine with another value that the claim holds with too"
    )]
    Calibrated {
        /// The claim.
        id: String,
        /// The engine, as the ledger names it.
        engine: String,
        /// Its parameter.
        parameter: String,
        /// Its calibration.
        why: String,
    },
    /// An engine of the evidence is not known.
    #[error("claim `{id}`: engine `{engine}` of its evidence: {error}")]
    Engine {
        /// The claim.
        id: String,
        /// The engine, as the ledger names it.
        engine: String,
        /// Why not.
        #[source]
        error: Box<CatalogError>,
    },
}

/// Why a ledger cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}:{line}: {what}")]
pub struct LedgerError {
    /// The name of the ledger.
    pub name: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// Why claims could not be judged.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ReproduceError {
    /// The ledger has no claim of the paper.
    #[error("{}", mb_core::names::unknown("paper", name, known.iter().copied()))]
    UnknownPaper {
        /// The name.
        name: String,
        /// The papers there are.
        known: Vec<&'static str>,
    },
    /// A measurement could not be made.
    #[error("claim `{id}`: {error}")]
    Measure {
        /// The claim.
        id: String,
        /// Why.
        #[source]
        error: Box<MeasureError>,
    },
    /// A placeholder in the explanation of a difference stands for nothing.
    #[error("claim `{id}`: placeholder `{{{placeholder}}}` of its explanation: {what}")]
    Explanation {
        /// The claim.
        id: String,
        /// The placeholder.
        placeholder: String,
        /// What was found and what was expected.
        what: String,
    },
    /// The subject of a paper or its figures cannot be made.
    #[error(transparent)]
    Subject(#[from] Box<MeasureError>),
    /// A measurement has another form than the claim's value.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The preset of a claim has no such value.
    #[error("spec/claims.toml: claim `{id}`: preset: {what}")]
    Preset {
        /// The claim.
        id: String,
        /// What was found and expected.
        what: String,
    },
    /// The ledger's evidence for a claim does not stand.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

impl From<MeasureError> for ReproduceError {
    fn from(error: MeasureError) -> Self {
        Self::Subject(Box::new(error))
    }
}
