// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Evidence of the ledger checked against the catalogue: a claim that is called predicted rests on
//! no calibrated parameter.
//!
//! Contract: [`check`] knows the engines that the ledger names. That a claim holds on these engines
//! is a matter of tests.

use mb_catalog::EngineChoice;
use mb_core::Source;

use crate::error::EvidenceError;
use crate::ledger::{Claim, Evidence};

/// The engines that the evidence of `claim` names, with their settings; none if the claim is not
/// predicted.
///
/// # Errors
/// When there is no such engine or preset, or a setting does not fit.
pub fn engines(claim: &Claim) -> Result<Vec<EngineChoice>, EvidenceError> {
    let Some(Evidence::Predicted { engines, .. }) = &claim.evidence else { return Ok(Vec::new()) };
    let choice = |engine: &String| {
        let mut words = engine.split_whitespace();
        let mut choice = mb_catalog::find(words.next().unwrap_or_default())?;
        for assignment in words {
            let (key, value) = mb_catalog::parse_assignment(assignment)?;
            choice.set(key, value, Source::User)?;
        }
        Ok(choice)
    };
    let wrong = |engine: &String, error| EvidenceError::Engine {
        id: claim.id.clone(),
        engine: engine.clone(),
        error: Box::new(error),
    };
    engines.iter().map(|engine| choice(engine).map_err(|error| wrong(engine, error))).collect()
}

/// Checks that no engine which the evidence of `claim` names has a calibrated parameter.
///
/// # Errors
/// When one has, or is not known.
pub fn check(claim: &Claim) -> Result<(), EvidenceError> {
    let Some(Evidence::Predicted { engines: named, .. }) = &claim.evidence else { return Ok(()) };
    for (name, choice) in named.iter().zip(engines(claim)?) {
        for (spec, parameter) in choice.parameters.iter() {
            if let Source::Calibrated(why) = &parameter.source {
                return Err(EvidenceError::Calibrated {
                    id: claim.id.clone(),
                    engine: name.clone(),
                    parameter: spec.key.to_string(),
                    why: why.to_string(),
                });
            }
        }
    }
    Ok(())
}
