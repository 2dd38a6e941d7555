// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pipeline of a core while its firmware performs operations, as a diagram for viewers of the Kanata format.

use std::fmt;

use mb_core::settings::SettingError;
use mb_core::{Cycles, Op};
use mb_processor::Retired;
use mb_processor::out_of_order::PipelineKanata;

use crate::machine::Machine;
use crate::parameters::Parameters;

/// Why there is no diagram.
#[derive(Debug)]
pub enum PipelineError {
    /// No core or cache can be built.
    Setting(SettingError),
    /// It could not be written.
    Write(fmt::Error),
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(error) => error.fmt(f),
            Self::Write(error) => write!(f, "the diagram could not be written: {error}"),
        }
    }
}

impl std::error::Error for PipelineError {}

/// Performs `quiet`, then `drawn`, whose instructions go to `out`, each named by its function and offset.
///
/// # Errors
/// Parameters from which nothing can be built; the first error of `out`.
pub fn draw<W: fmt::Write>(parameters: &Parameters, quiet: &[Op], drawn: &[Op], out: W) -> Result<W, PipelineError> {
    let mut machine = Machine::new(parameters).map_err(PipelineError::Setting)?;
    for op in quiet {
        machine.serve(op, Cycles::ZERO);
    }
    let program = parameters.guest.program(parameters.machine);
    let mut functions: Vec<(u64, &str)> = program
        .symbols()
        .filter(|(_, place)| place.bytes > 0 && program.code().contains(&place.address))
        .map(|(name, place)| (place.address, name))
        .collect();
    functions.sort_unstable();
    let name = |retired: &Retired| {
        let after = functions.partition_point(|(address, _)| *address <= retired.pc);
        let (address, function) = functions[after.saturating_sub(1)];
        format!("{function}+{:#x} {:?}", retired.pc - address, retired.instruction.class)
    };
    let mut diagram = PipelineKanata::new(out, name);
    for op in drawn {
        machine.serve_observed(op, Cycles::ZERO, &mut diagram);
    }
    diagram.finish().map_err(PipelineError::Write)
}
