// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User-written match programs on the engine `match_unit`, in place of one of `match_unit/ucode`.

use mb_asm::MatchProgram;
use mb_core::parameters::ParameterSet;
use mb_core::{BuildOwn, EngineOrigin, ParameterError, ReplayEngine};
use mb_kit::Server;
use mb_match_unit::{MatchUnitEngine, MatchUnitParameters};

/// A user-written match program on the engine `match_unit`.
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// Its words.
    pub program: MatchProgram,
    /// Its file.
    pub origin: EngineOrigin,
}

impl BuildOwn for OwnProgram {
    fn build(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        let typed: MatchUnitParameters = parameters.typed();
        let engine = MatchUnitEngine::with_program(&self.program, &typed);
        let engine = engine.map_err(|error| ParameterError::Bad {
            key: "program".to_owned(),
            found: format!("{}: {error}", self.origin.path),
            expected: "a program that waits for a header".to_owned(),
        })?;
        Ok(Box::new(Server::new(engine)))
    }

    fn origin(&self) -> &EngineOrigin {
        &self.origin
    }
}
