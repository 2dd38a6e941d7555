// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on core models, as Python sees them.

use std::sync::{Arc, Mutex};

use mb_processor::linux::{CoreModel, Linux, Simulation};
use mb_processor::{Program, Verdict};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::bad_input;
use crate::host_files::HostFiles;

/// Cycles between two looks at signals.
const SLICE: u64 = 20_000_000;

/// The names of the core models.
#[pyfunction]
pub(crate) fn core_models() -> Vec<&'static str> {
    CoreModel::NAMES.to_vec()
}

/// A model of this name, with these parameters replaced.
fn model(name: &str, settings: &[(String, u64)]) -> PyResult<CoreModel> {
    let unknown = || bad_input(format!("core `{name}`: unknown; expected one of: {}", CoreModel::NAMES.join(", ")));
    let mut model = CoreModel::of(name).ok_or_else(unknown)?;
    for (key, value) in settings {
        model.set(key, *value).map_err(|error| bad_input(format!("core {name}: {error}")))?;
    }
    Ok(model)
}

/// The parameters of a core model that can be replaced, with their values.
#[pyfunction]
#[pyo3(signature = (core, settings))]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn core_parameters(core: &str, settings: Vec<(String, u64)>) -> PyResult<Vec<(&'static str, u64)>> {
    Ok(model(core, &settings)?.parameters())
}

/// Runs a program for Linux. Returns its status, or what it could not do; event counts; and a
/// pipeline diagram of an interval of cycles.
#[pyfunction]
#[pyo3(signature = (file, *, arguments, environment, core, settings, memory, cycles=None, kanata=None))]
#[expect(clippy::too_many_arguments, reason = "one for each option of the command")]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn run_program<'py>(
    py: Python<'py>,
    file: &[u8],
    arguments: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    core: &str,
    settings: Vec<(String, u64)>,
    memory: u64,
    cycles: Option<u64>,
    kanata: Option<(u64, u64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let model = model(core, &settings)?;
    let program = Program::load(file).map_err(bad_input)?;
    let process = Linux::start(&program, &arguments, &environment, memory, HostFiles::default()).map_err(bad_input)?;
    let simulation = Simulation::new(&model, program, process).map_err(bad_input)?;
    // Shared with the thread that runs while Python's lock is released.
    let simulation = Arc::new(Mutex::new(simulation));
    let limit = cycles.unwrap_or(u64::MAX);
    let (mut status, mut failure, mut diagram) = (None, None, None);
    loop {
        let shared = Arc::clone(&simulation);
        let (found, recorded, now) = py.detach(move || {
            let mut simulation = shared.lock().expect("no other thread has it");
            let now = simulation.now();
            let end = limit.min(now.saturating_add(SLICE));
            let (found, recorded) = match kanata {
                Some((from, _)) if now < from => (simulation.run(from.min(end)), None),
                Some((from, to)) if now < to && now >= from => match simulation.record(to.min(limit)) {
                    Ok((status, diagram)) => (Ok(status), Some(diagram)),
                    Err(failure) => (Err(failure), None),
                },
                _ => (simulation.run(end), None),
            };
            (found, recorded, simulation.now())
        });
        diagram = recorded.or(diagram);
        match found {
            Ok(Some(end)) => status = Some(end),
            Ok(None) => {}
            Err(error) => failure = Some(error.to_string()),
        }
        if status.is_some() || failure.is_some() || now >= limit {
            break;
        }
        py.check_signals()?;
    }
    let simulation = simulation.lock().expect("no other thread has it");
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
        Verdict::Passed => Ok(None),
        Verdict::Failed(case) => Ok(Some(case)),
    }
}
