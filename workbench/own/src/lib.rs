// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User-defined engines, and the check that comes before their times count.
//!
//! - [`program`]: a match program on the engine `match_unit`, in place of one of `match_unit/ucode`.
//! - [`library`]: an engine in a shared library, called over the interface of `spec/engine.md`.
//! - [`description`]: the description of an engine by its library, or by its class in Python.
//! - [`watched`]: a user-defined engine in a replay.
//! - [`judged`]: what no engine can do, counted in a replay.
//!
//! [`check`] runs one on the case corpus and on random streams, with the parameters of the comparison, against the
//! reference matcher; [`test`] runs the whole test kit. Cost of a check: a fraction of a second; a refused engine is
//! shown with a short sequence, which takes a few seconds to find.

#![expect(unsafe_code, reason = "the user's libraries are loaded and called")]

pub mod description;
pub mod judged;
pub mod library;
pub mod program;
pub mod watched;

use std::fmt::Write;

use mb_catalog::EngineChoice;
use mb_core::parameters::ParameterSet;
use mb_core::{BuildOwn, OwnKind, ReplayEngine};
use mb_testkit::kit;
use mb_testkit::streams::Amount;
use sha2::{Digest, Sha256};

pub use mb_plugin::HEADER;
pub use mb_testkit::kit::{Check, EngineVerdict};
pub use program::OwnProgram;

/// The SHA-256 of the content of a file, in hexadecimal digits.
#[must_use]
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Refuses the name of an engine of matchbench: rows of tables would be ambiguous.
///
/// # Errors
/// When it is one.
pub fn check_name(name: &str) -> Result<(), String> {
    if mb_catalog::ENGINES.iter().any(|known| known.card.name == name) {
        return Err(format!("description: name: found `{name}`, an engine of matchbench; choose another name"));
    }
    Ok(())
}

/// The streams of an engine: fewer of a slow one.
fn amount_of(choice: &EngineChoice) -> Amount {
    let python = choice.own.as_ref().is_some_and(|own| own.origin().kind == OwnKind::Python);
    if python || choice.is_on_request() { Amount::Eighth } else { Amount::Full }
}

/// Runs the whole test kit on `choice`. `tell` is called with what is run next.
///
/// # Errors
/// Why no engine can be built.
///
/// # Panics
/// Never: the same parameters have built the first engine, and `ideal:zero` exists.
pub fn test(choice: &EngineChoice, tell: &mut dyn FnMut(&str)) -> Result<EngineVerdict, String> {
    let bound = mb_catalog::find("ideal:zero").expect("the bound is an engine");
    let bound = || bound.build().expect("the bound can be built");
    let make: Box<dyn Fn() -> Box<dyn ReplayEngine> + '_> = if let Some(own) = &choice.own {
        own.build_unchecked(&choice.parameters).map_err(|error| error.to_string())?;
        Box::new(|| own.build_unchecked(&choice.parameters).expect("the parameters have built an engine"))
    } else {
        let builder = choice.builder().map_err(|error| error.to_string())?;
        Box::new(move || builder.build())
    };
    Ok(kit::run(Check::ALL, make.as_ref(), Some(&bound), amount_of(choice), tell))
}

/// Checks that a user-defined engine gives the outcomes of `spec/matching.md`: on the case corpus, and on random
/// streams, and the same again in a second engine. `tell` is called with what is run next.
///
/// # Errors
/// The first wrong outcome: what the engine said and what was expected, and the sequence of operations before it.
///
/// # Panics
/// Never: the same parameters have built the first engine.
pub fn check(own: &dyn BuildOwn, parameters: &ParameterSet, tell: &mut dyn FnMut(&str)) -> Result<(), String> {
    own.build_unchecked(parameters).map_err(|error| error.to_string())?;
    let make = || own.build_unchecked(parameters).expect("the parameters have built an engine");
    let origin = own.origin();
    let amount = if origin.kind == OwnKind::Python { Amount::Eighth } else { Amount::Full };
    let verdict = kit::run(Check::OUTCOMES, &make, None, amount, tell);
    verdict.failure.map_or(Ok(()), |failure| Err(format!("{}: {failure}", origin.value())))
}
