// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pipeline diagrams of firmware operations in the Kanata format.

use std::fmt;

use mb_core::ParameterError;
use mb_core::{Cycles, Op};
use mb_processor::Retired;
use mb_processor::out_of_order::PipelineKanata;

use crate::machine::FirmwareCore;
use crate::parameters::ListOooParts;

/// Why a diagram could not be written.
#[derive(Debug)]
pub enum PipelineError {
    /// An invalid core or cache configuration.
    Parameter(ParameterError),
    /// The writer failed.
    Write(fmt::Error),
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(error) => error.fmt(f),
            Self::Write(error) => write!(f, "pipeline diagram: {error}; expected a writable output"),
        }
    }
}

impl std::error::Error for PipelineError {}

/// Performs the operations `quiet`, then `drawn`, and writes the instructions of the latter to
/// `out`, labelled with function and offset.
///
/// # Errors
/// An invalid configuration, or the first error of `out`.
pub fn draw<W: fmt::Write>(parameters: &ListOooParts, quiet: &[Op], drawn: &[Op], out: W) -> Result<W, PipelineError> {
    let mut machine = FirmwareCore::new(parameters).map_err(PipelineError::Parameter)?;
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
