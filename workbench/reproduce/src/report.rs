// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every claim of a paper with its measurement, its verdict and the evidence behind it.

use crate::claim_test::{ClaimTest, Interpretation, Procedure};
use crate::error::{EvidenceError, MeasureError, Mismatch, ReproduceError};
use crate::ledger::{Claim, Evidence, Kind, Method};
use crate::preset_value;
use crate::verdict::{self, Measured, Verdict};

/// One interpretation of a claim with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct JudgedInterpretation {
    /// How the claim is read, what was measured, and whether that was calibrated.
    pub interpretation: Interpretation,
    /// Its verdict.
    pub verdict: Verdict,
    /// Ours over theirs less one, where both are numbers.
    pub error: Option<f64>,
}

/// One claim with its measurement and its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Its verdict: that of the first interpretation.
    pub verdict: Verdict,
    /// Every interpretation; a claim that is not testable has none, or an input that a run gives
    /// back.
    pub interpretations: Vec<JudgedInterpretation>,
    /// Why the model differs, or why the claim cannot be tested; empty if it holds.
    pub reason: String,
}

impl Finding<'_> {
    /// Whether the model differs and no reason is given.
    #[must_use]
    pub fn unexplained(&self) -> bool {
        self.verdict == Verdict::Differs && self.reason.is_empty()
    }

    /// The kind of agreement that the claim would be; none if the claim is not judged.
    #[must_use]
    pub fn evidence(&self) -> Option<&Evidence> {
        self.claim.evidence.as_ref().filter(|_| self.verdict != Verdict::NotTestable)
    }

    /// Whether the interpretation in this place is the one that counts.
    #[must_use]
    pub fn counts(&self, place: usize) -> bool {
        place == 0 && self.verdict != Verdict::NotTestable
    }

    /// Whether an interpretation that does not count holds without a calibrated parameter.
    #[must_use]
    pub fn holds_otherwise(&self) -> bool {
        let holds =
            |judged: &JudgedInterpretation| judged.verdict == Verdict::Holds && !judged.interpretation.calibrated;
        matches!(self.verdict, Verdict::Near | Verdict::Differs) && self.interpretations.iter().any(holds)
    }

    /// Whether an interpretation with a parameter that was fitted to the claim holds; it is no
    /// evidence.
    #[must_use]
    pub fn holds_calibrated(&self) -> bool {
        self.interpretations.iter().any(|judged| judged.verdict == Verdict::Holds && judged.interpretation.calibrated)
    }
}

/// Why a claim that states a value of a preset has no verdict.
const PRESET: &str = "an input of the model, which the preset gives back";

/// Judges `claim` by what `test` measures on `subject`.
///
/// # Errors
/// When the measurement cannot be made or has another form than the claim's value, or the ledger has
/// no evidence for a claim that is measured.
pub fn judge<'a, S>(claim: &'a Claim, test: Option<&ClaimTest<S>>, subject: &S) -> Result<Finding<'a>, ReproduceError> {
    let untested =
        |reason: String| Finding { claim, verdict: Verdict::NotTestable, interpretations: Vec::new(), reason };
    let Some(test) = test else {
        let Some(pointer) = &claim.preset else { return Ok(untested(needs(claim))) };
        let value = preset_value::of(pointer).map_err(|what| ReproduceError::Preset { id: claim.id.clone(), what })?;
        let measured = Measured::Number(value);
        let judged = verdict::judge(claim, &measured)?;
        let interpretation = Interpretation::new("", measured);
        let interpretations =
            vec![JudgedInterpretation { interpretation, verdict: judged.verdict, error: judged.error }];
        return Ok(Finding { interpretations, ..untested(PRESET.to_owned()) });
    };
    let (measure, without_verdict) = match test.procedure {
        Procedure::Cannot(why) => return Ok(untested(why.to_owned())),
        Procedure::Measure(measure) => (measure, None),
        Procedure::Shown(measure, why) => (measure, Some(why)),
    };
    let interpretations = match measure(subject) {
        Ok(interpretations) => interpretations,
        Err(MeasureError::NotRun(why)) => return Ok(untested(why)),
        Err(error) => return Err(ReproduceError::Measure { id: claim.id.clone(), error: Box::new(error) }),
    };
    let judged: Vec<_> = interpretations
        .into_iter()
        .map(|interpretation| {
            let judged = verdict::judge(claim, &interpretation.measured)?;
            Ok(JudgedInterpretation { interpretation, verdict: judged.verdict, error: judged.error })
        })
        .collect::<Result<_, Mismatch>>()?;
    if let Some(why) = without_verdict {
        return Ok(Finding { interpretations: judged, ..untested(why.to_owned()) });
    }
    let Some(first) = judged.first() else { return Ok(untested(needs(claim))) };
    if claim.evidence.is_none() {
        return Err(EvidenceError::Missing { id: claim.id.clone() }.into());
    }
    let verdict = first.verdict;
    let reason = if verdict == Verdict::Holds { "" } else { test.explanation.unwrap_or_default() };
    Ok(Finding { claim, verdict, interpretations: judged, reason: reason.to_owned() })
}

/// The reason for which a claim has no measurement.
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
