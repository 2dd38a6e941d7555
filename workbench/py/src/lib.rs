// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `matchbench._native`: the only binding from Python to Rust. It converts; every decision is made in the crates below.
//!
//! Long calls release the interpreter and report progress to a Python callable, which is also where
//! Ctrl-C arrives: when it raises, the call stops and the exception travels on.

use pyo3::prelude::*;

mod asm;
mod catalog;
mod chip;
mod columns;
mod conform;
mod cpu;
mod errors;
mod generate;
mod host_files;
mod input;
mod match_unit;
mod netproc;
mod own_class;
mod own_elsewhere;
mod progress;
mod replay;
mod report;
mod reproduce;
mod snapshot;
mod stats;
mod trace;

/// The binding; `python/matchbench/_native.pyi` is its typed description.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::asm::MatchProgram;
    #[pymodule_export]
    use super::catalog::{
        Engine, Network, collectives, describe_library, engine_header, engines, kit_checks, networks, poll_work_ns,
        unknown_name,
    };
    #[pymodule_export]
    use super::chip::{chip_cores, chip_designs, chip_parameters, chip_protocol, run_on_chip};
    #[pymodule_export]
    use super::columns::result_columns;
    #[pymodule_export]
    use super::conform::{
        TestPrograms, bench_sources, features_lacking, optional_features, program_features, runner_sources,
    };
    #[pymodule_export]
    use super::cpu::{core_models, core_parameters, run_program, run_unit_test};
    #[pymodule_export]
    use super::errors::{MatchbenchError, TraceError};
    #[pymodule_export]
    use super::generate::{generate, patterns};
    #[pymodule_export]
    use super::input::{open_input, read_input};
    #[pymodule_export]
    use super::match_unit::{MatchUnit, match_codes, match_programs, match_template};
    #[pymodule_export]
    use super::netproc::{
        NetworkProcessor, check_program, describe_packets, generate_packets, handler_commands, network_processors,
        packet_settings, spine_sources,
    };
    #[pymodule_export]
    use super::reproduce::{claims_of, describe_benchmark, papers, reproduce, study_text};
    #[pymodule_export]
    use super::trace::{Trace, trace_file_bytes};
    #[pymodule_export]
    use super::{revision, version};
}

/// Version of the workbench.
#[pyfunction]
const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Git revision that the binding was built from, or "unknown".
#[pyfunction]
const fn revision() -> &'static str {
    env!("MATCHBENCH_REVISION")
}
