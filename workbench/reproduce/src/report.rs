// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every claim of a paper with what was measured and what is to be made of it.

use crate::curve::{Anchor, Curve};
use crate::hemmert2007::{self, Parameter, Silicon};
use crate::ledger::{Claim, Kind, Method};
use crate::registry::{Measurable, Reading, Test};
use crate::subject::{MeasureError, STUDY, Subject};
use crate::verdict::{self, Mismatch, Verdict};
use crate::{depth, study};

/// Why claims could not be judged.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ReproduceError {
    /// The ledger has no claim of the paper.
    #[error("unknown paper `{name}`; expected one of: {known}")]
    UnknownPaper {
        /// The name.
        name: String,
        /// The papers there are.
        known: String,
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
    /// A measurement has another form than the claim's value.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

/// One reading of a claim with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct JudgedReading {
    /// How the claim is read, what was measured, and whether that was calibrated.
    pub reading: Reading,
    /// Its verdict.
    pub verdict: Verdict,
    /// Ours over theirs less one, where both are numbers.
    pub error: Option<f64>,
}

/// What is to be made of one claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Its verdict: that of the first reading.
    pub verdict: Verdict,
    /// Every reading; of a claim that is not testable there is none, or one that is shown and proves nothing.
    pub readings: Vec<JudgedReading>,
    /// Why the model differs, or why the claim cannot be tested; empty if it holds.
    pub reason: String,
}

impl Finding<'_> {
    /// Whether the model differs and nobody has said why.
    #[must_use]
    pub fn unexplained(&self) -> bool {
        self.verdict == Verdict::Differs && self.reason.is_empty()
    }

    /// Whether the reading in this place is the one that counts.
    #[must_use]
    pub fn counts(&self, place: usize) -> bool {
        place == 0 && self.verdict != Verdict::NotTestable
    }

    /// Whether a reading that does not count holds without a calibrated parameter.
    #[must_use]
    pub fn holds_otherwise(&self) -> bool {
        let holds = |judged: &JudgedReading| judged.verdict == Verdict::Holds && !judged.reading.calibrated;
        matches!(self.verdict, Verdict::Near | Verdict::Differs) && self.readings.iter().any(holds)
    }

    /// Whether a reading that rests on a calibrated parameter holds; it proves nothing.
    #[must_use]
    pub fn holds_calibrated(&self) -> bool {
        self.readings.iter().any(|judged| judged.verdict == Verdict::Holds && judged.reading.calibrated)
    }
}

/// Judges every claim of `paper` on `subject`, in the order of the ledger.
///
/// # Errors
/// When there is no such paper, or a measurement cannot be made.
pub fn reproduce<'a, S: Measurable>(
    claims: &'a [Claim],
    paper: &str,
    subject: &S,
) -> Result<Vec<Finding<'a>>, ReproduceError> {
    let findings: Vec<_> = claims
        .iter()
        .filter(|claim| claim.paper() == paper)
        .map(|claim| judge(claim, subject))
        .collect::<Result<_, _>>()?;
    if findings.is_empty() {
        let mut known: Vec<_> = claims.iter().map(Claim::paper).collect();
        known.dedup();
        return Err(ReproduceError::UnknownPaper { name: paper.to_owned(), known: known.join(", ") });
    }
    Ok(findings)
}

/// What the figures of a paper are drawn from.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Figures {
    /// The study that asks for them, as it is called.
    pub study: &'static str,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// What the paper's text tells of them.
    pub anchors: Vec<Anchor>,
    /// Area of the designs.
    pub silicon: Vec<Silicon>,
    /// What the processors are built from.
    pub parameters: Vec<Parameter>,
}

/// What the figures of Hemmert et al. are drawn from.
///
/// # Errors
/// When the study cannot be read, or a design was not run.
pub fn figures(claims: &[Claim], subject: &Subject) -> Result<Figures, MeasureError> {
    let found = study::find(STUDY)?;
    Ok(Figures {
        study: STUDY,
        curves: hemmert2007::curves(&found, subject),
        anchors: hemmert2007::anchors(claims, subject.clock),
        silicon: hemmert2007::silicon(claims, subject)?,
        parameters: hemmert2007::parameters(&found, &subject.processors),
    })
}

/// What the figures of a paper are drawn from whose study names engines and benchmarks, run by so many `threads`; nothing if
/// the paper has no such study.
///
/// # Errors
/// When the study cannot be read, an engine cannot be built, or an anchor cannot be placed.
pub fn depth_figures(claims: &[Claim], paper: &str, threads: usize) -> Result<Option<Figures>, MeasureError> {
    for (study, _) in study::STUDIES {
        let found = study::find(study)?;
        if found.paper == paper {
            let curves = depth::curves(&found, threads)?;
            let anchors = depth::anchors(&found, claims, &curves)?;
            return Ok(Some(Figures { study, curves, anchors, ..Figures::default() }));
        }
    }
    Ok(None)
}

fn judge<'a, S: Measurable>(claim: &'a Claim, subject: &S) -> Result<Finding<'a>, ReproduceError> {
    let untested = |reason: String| Finding { claim, verdict: Verdict::NotTestable, readings: Vec::new(), reason };
    let Some(entry) = S::entries().find(|entry| entry.id == claim.id) else {
        return Ok(untested(needs(claim)));
    };
    let (measure, proves_nothing) = match entry.test {
        Test::Cannot(why) => return Ok(untested(why.to_owned())),
        Test::Measure(measure) => (measure, None),
        Test::Shown(measure, why) => (measure, Some(why)),
    };
    let readings =
        measure(subject).map_err(|error| ReproduceError::Measure { id: claim.id.clone(), error: Box::new(error) })?;
    let judged: Vec<_> = readings
        .into_iter()
        .map(|reading| {
            let judged = verdict::judge(claim, &reading.measured)?;
            Ok(JudgedReading { reading, verdict: judged.verdict, error: judged.error })
        })
        .collect::<Result<_, Mismatch>>()?;
    if let Some(why) = proves_nothing {
        return Ok(Finding { readings: judged, ..untested(why.to_owned()) });
    }
    let Some(first) = judged.first() else { return Ok(untested(needs(claim))) };
    let verdict = first.verdict;
    let reason = if verdict == Verdict::Holds { "" } else { entry.explanation.unwrap_or_default() };
    Ok(Finding { claim, verdict, readings: judged, reason: reason.to_owned() })
}

/// What is missing to test a claim that has no measurement.
fn needs(claim: &Claim) -> String {
    let missing = match &claim.testable_by {
        Method::Cannot(why) => return why.clone(),
        _ if claim.kind == Kind::Background => return "background: about another system".to_owned(),
        Method::CycleModel => "cycle model",
        Method::RtlSim => "RTL",
        Method::CpuModel => "processor model",
        Method::TraceReplay => "measurement by replay",
        Method::Synthesis => "RTL to synthesise",
        Method::HostMeasurement => "measurement on a host",
    };
    format!("no {missing} yet")
}
