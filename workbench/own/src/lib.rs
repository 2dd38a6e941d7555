// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines of the user's, and the check that comes before their times count.
//!
//! A match program of the user's runs on the engine `microcode` in place of one of `match_unit/ucode`. [`check`] runs
//! it on the case corpus and on random streams, with the parameters of the comparison, against the reference matcher.
//! Cost of a check: a fraction of a second; a refused program is shrunk to a short sequence for a few seconds.

use mb_asm::MatchProgram;
use mb_core::parameters::ParameterSet;
use mb_core::{BuildOwn, ParameterError, ReplayEngine};
use mb_kit::Server;
use mb_microcode::{Microcode, MicrocodeParameters};
use mb_testkit::drive::Visits;
use mb_testkit::streams;
use mb_testkit::{MakeEngine, cases};

/// A match program of the user's on the engine `microcode`.
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// Its words.
    pub program: MatchProgram,
    /// The path as the user gave it.
    pub path: String,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
}

impl BuildOwn for OwnProgram {
    fn build(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        let typed: MicrocodeParameters = parameters.typed();
        let engine = Microcode::with_program(&self.program, &typed);
        let engine = engine.map_err(|error| ParameterError::Bad {
            key: "program".to_owned(),
            found: format!("{}: {error}", self.path),
            expected: "a program that waits for a header".to_owned(),
        })?;
        Ok(Box::new(Server::new(engine)))
    }

    fn parameter(&self) -> &'static str {
        "program"
    }

    fn value(&self) -> String {
        format!("{} (sha256 {})", self.path, &self.sha256[..self.sha256.len().min(12)])
    }

    fn detail(&self) -> String {
        format!("given on the command line; sha256 {}", self.sha256)
    }
}

/// Checks that an engine of the user's gives the outcomes of `spec/matching.md`: on the case corpus, and on random
/// streams.
///
/// # Errors
/// The first wrong outcome: what the engine said and what was expected, and the sequence of operations before it.
///
/// # Panics
/// Never: the same parameters have built the first engine.
pub fn check(own: &dyn BuildOwn, parameters: &ParameterSet) -> Result<(), String> {
    let refused = |place: &str, error: &str| format!("{}: refused by {place}: {error}", own.value());
    own.build(parameters).map_err(|error| error.to_string())?;
    let build = || own.build(parameters).expect("the parameters have built an engine");
    let make: MakeEngine<'_> = &build;
    for case in cases::built_in()? {
        if let Err(error) = cases::run(std::slice::from_ref(&case), make, Visits::Own) {
            let listing = streams::listing(case.ops.iter().copied());
            return Err(refused("the case corpus", &format!("{error}, in the sequence\n{listing}")));
        }
    }
    streams::outcomes_are_the_oracles(make, Visits::Own).map_err(|error| refused("a random stream", &error))
}
