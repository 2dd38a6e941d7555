// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on core models, as Python sees them.

use mb_core::{Source, names};
use mb_processor::linux::{CoreModel, Linux, Simulation, StartError};
use mb_processor::{LoadError, Program, UnitTestVerdict};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::catalog::{Parameter, parameters};
use crate::errors::bad_input;
use crate::host_files::HostFiles;
use crate::progress::Progress;

/// Cycles between two reports of progress: a fraction of a second of the slowest model.
const SLICE_OF_CYCLES: u64 = 20_000;
/// The same without time.
const SLICE_OF_INSTRUCTIONS: u64 = 1_000_000;

/// The names of the core models.
#[pyfunction]
pub(crate) fn core_models() -> Vec<&'static str> {
    CoreModel::names().collect()
}

/// An error of the file, with what to do.
#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn wrong_file(error: LoadError) -> PyErr {
    bad_input(format!("{error}; build one with `riscv64-linux-gnu-gcc -static`"))
}

/// A model of this name, with these parameters replaced.
fn model(name: &str, settings: &[(String, String)]) -> PyResult<CoreModel> {
    let unknown = || bad_input(names::unknown("core", name, CoreModel::names()));
    let mut model = CoreModel::of(name).ok_or_else(unknown)?;
    for (key, text) in settings {
        model.parameters.set(key, text, Source::User).map_err(|error| bad_input(format!("core {name}: {error}")))?;
    }
    Ok(model)
}

/// The parameters of a core model.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn core_parameters(core: &str, settings: Vec<(String, String)>) -> PyResult<Vec<Parameter>> {
    Ok(parameters(&model(core, &settings)?.parameters))
}

/// Runs a program for Linux. Returns its status, or what it could not do; event counts; and a
/// pipeline diagram of an interval of cycles. `progress` gets the cycles done and those of the
/// limit, unless a line of output is begun.
#[pyfunction]
#[pyo3(signature = (file, *, arguments, environment, core, settings, memory, cycles=None, kanata=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one for each option of the command")]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn run_program<'py>(
    py: Python<'py>,
    file: &[u8],
    arguments: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    core: &str,
    settings: Vec<(String, String)>,
    memory: u64,
    cycles: Option<u64>,
    kanata: Option<(u64, u64)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let model = model(core, &settings)?;
    let program = Program::load(file).map_err(wrong_file)?;
    let files = HostFiles::new(progress.is_some());
    let process = Linux::start(&program, &arguments, &environment, memory, files).map_err(|error| match error {
        StartError::Load(error) => wrong_file(error),
        error @ StartError::Memory { .. } => bad_input(format!("{error} with --memory")),
    })?;
    let mut simulation =
        Simulation::new(&model, program, process).map_err(|error| bad_input(format!("core {core}: {error}")))?;
    let slice = if model.has_time() { SLICE_OF_CYCLES } else { SLICE_OF_INSTRUCTIONS };
    let limit = cycles.unwrap_or(u64::MAX);
    let (mut shown, mut hidden) = (Progress::new(progress), Progress::new(None));
    let (simulation, result, diagram) = py.detach(move || {
        let mut diagram = None;
        let result = loop {
            let now = simulation.now();
            if now >= limit {
                break Ok(None);
            }
            let until = limit.min(now.saturating_add(slice));
            let result = match kanata {
                Some((from, _)) if now < from => simulation.run(from.min(until)),
                Some((_, to)) if now < to => {
                    let (result, text) = simulation.record(to.min(limit));
                    diagram = Some(text);
                    result
                }
                _ => simulation.run(until),
            };
            let progress = if simulation.linux().files().inside_line() { &mut hidden } else { &mut shown };
            if !matches!(result, Ok(None)) || progress.tell(simulation.now(), limit).is_break() {
                break result;
            }
        };
        shown.finish().and_then(|()| hidden.finish()).map(|()| (simulation, result, diagram))
    })?;
    let (status, failure) = match result {
        Ok(status) => (status, None),
        Err(failure) => (None, Some(failure.to_string())),
    };
    let dict = PyDict::new(py);
    dict.set_item("status", status)?;
    dict.set_item("failure", failure)?;
    dict.set_item("counts", simulation.counts())?;
    dict.set_item("kanata", diagram)?;
    Ok(dict)
}

/// Runs a public RISC-V unit test; returns the number of the case that failed, or `None`.
#[pyfunction]
pub(crate) fn run_unit_test(py: Python<'_>, file: &[u8]) -> PyResult<Option<u64>> {
    match py.detach(|| mb_processor::unit_test(file)).map_err(bad_input)? {
        UnitTestVerdict::Passed => Ok(None),
        UnitTestVerdict::Failed(case) => Ok(Some(case)),
    }
}
