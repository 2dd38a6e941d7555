// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User-written match programs on the engine `microcode`, in place of one of `match_unit/ucode`.

use mb_asm::MatchProgram;
use mb_core::parameters::ParameterSet;
use mb_core::{BuildOwn, EngineOrigin, ParameterError, ReplayEngine};
use mb_kit::Server;
use mb_microcode::{Microcode, MicrocodeParameters};

/// A user-written match program on the engine `microcode`.
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// Its words.
    pub program: MatchProgram,
    /// Its file.
    pub origin: EngineOrigin,
}

impl BuildOwn for OwnProgram {
    fn build(&self, parameters: &ParameterSet) -> Result<Box<dyn ReplayEngine>, ParameterError> {
        let typed: MicrocodeParameters = parameters.typed();
        let engine = Microcode::with_program(&self.program, &typed);
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
