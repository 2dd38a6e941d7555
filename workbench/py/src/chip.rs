// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MPI programs on a chip with MOPED, as Python sees them.

use std::sync::{Arc, Mutex};

use mb_core::names;
use mb_core::parameters::{Choice, ParameterSet, Source};
use mb_moped::kernel::UserProgram;
use mb_moped::machine::{
    Activity, CoreKind, Cycles, ExecutionMode, MachineParameters, MeasuredRegion, RunEnd, TimingParameters,
};
use mb_moped::{Machine, MopedCounters, MopedParameters, presets};
use mb_processor::directory::protocol::Protocol;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::catalog::{Parameter, parameters};
use crate::errors::bad_input;
use crate::host_files::HostFiles;

/// A counter with its name.
type Count = (&'static str, fn(&MopedCounters) -> u64);

/// The parts of the devices that are shown.
const COUNTS: [Count; 13] = [
    ("reserved", |counters| counters.reserved),
    ("refused", |counters| counters.refused),
    ("rejected", |counters| counters.rejected),
    ("revoked", |counters| counters.revoked),
    ("matched", |counters| counters.matched),
    ("completed", |counters| counters.completed),
    ("copied_lines", |counters| counters.copies),
    ("written_lines", |counters| counters.writes),
    ("walks", |counters| counters.walks),
    ("page_faults", |counters| counters.faults),
    ("retries", |counters| counters.retries),
    ("forwarded_accesses", |counters| counters.moved_accesses),
    ("misuses", |counters| counters.misuses),
];

/// The names of the designs of MOPED, those of the paper first.
#[pyfunction]
pub(crate) fn chip_designs() -> Vec<&'static str> {
    presets::PAPER.into_iter().chain(presets::LITERAL).collect()
}

/// The tables of the coherence protocol of a design, in Markdown.
#[pyfunction]
pub(crate) fn chip_protocol(design: &str, migratory: bool) -> PyResult<String> {
    let moped = device_set(Some(design), None, &[])?.map(|set| set.typed());
    let timing = TimingParameters::gu2011(CoreKind::InOrder, 1, moped.as_ref());
    Ok(Protocol::new(timing.memory.design, migratory).to_string())
}

/// The names of the cores with time.
#[pyfunction]
pub(crate) fn chip_cores() -> Vec<&'static str> {
    CoreKind::ALL.map(CoreKind::name).to_vec()
}

/// A mode by its name.
fn mode_of(name: &str) -> PyResult<ExecutionMode> {
    match name {
        "functional" => Ok(ExecutionMode::Functional),
        "timing" => Ok(ExecutionMode::Timing),
        "markers" => Ok(ExecutionMode::Markers),
        _ => Err(bad_input(names::unknown("mode", name, ["functional", "timing", "markers"]))),
    }
}

/// The prefix of the parameters of devices.
const DEVICE: &str = "moped.";

/// The parameters of the devices of a design, with the settings that begin with `moped.`.
fn device_set(
    design: Option<&str>,
    descriptors: Option<usize>,
    settings: &[(String, String)],
) -> PyResult<Option<ParameterSet>> {
    let Some(name) = design else { return Ok(None) };
    let Some(preset) = presets::preset(name) else {
        return Err(bad_input(names::unknown("design", name, chip_designs())));
    };
    let mut set = preset.map_err(bad_input)?;
    let descriptors = descriptors.map(|number| ("descriptors", number.to_string()));
    let given = settings.iter().filter_map(|(key, text)| Some((key.strip_prefix(DEVICE)?, text.clone())));
    for (key, text) in descriptors.into_iter().chain(given) {
        set.set(key, &text, Source::User).map_err(bad_input)?;
    }
    Ok(Some(set))
}

/// The parameters of a chip with these cores, with the settings that do not begin with `moped.`.
fn chip_set(core: &str, settings: &[(String, String)]) -> PyResult<ParameterSet> {
    let kind = CoreKind::ALL.into_iter().find(|kind| kind.name() == core);
    let kind = kind.ok_or_else(|| bad_input(names::unknown("core", core, chip_cores())))?;
    let mut set = TimingParameters::preset(kind);
    for (key, text) in settings.iter().filter(|(key, _)| !key.starts_with(DEVICE)) {
        set.set(key, text, Source::User).map_err(bad_input)?;
    }
    Ok(set)
}

/// The parameters of the chip, and those of its devices behind `moped.`.
#[pyfunction]
#[pyo3(signature = (core, design, settings=Vec::new()))]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn chip_parameters(
    core: &str,
    design: Option<&str>,
    settings: Vec<(String, String)>,
) -> PyResult<Vec<Parameter>> {
    let device = device_set(design, None, &settings)?;
    let mut devices: Vec<_> = device.iter().flat_map(parameters).collect();
    for each in &mut devices {
        each.name.insert_str(0, DEVICE);
    }
    Ok(parameters(&chip_set(core, &settings)?).into_iter().chain(devices).collect())
}

/// Runs a program. `settings` are parameters of the chip that differ, by name. `design` is that of MOPED; without it,
/// programs have no ports. `progress` is called with the time, the instructions so far and whether the machine has
/// time. Returns how the run ended, what the kernel said, where processes wait, counts, and the regions with time. An
/// interrupt by the user ends the run like a limit.
#[pyfunction]
#[pyo3(signature = (file, *, arguments, environment, ranks, cores, memory, frequency, patience, limit=None, design=None, descriptors=None, mode="functional", core="ooo", migratory=true, settings=Vec::new(), timeline=false, kanata=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one for each option of the command")]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn run_on_chip<'py>(
    py: Python<'py>,
    file: &[u8],
    arguments: Vec<String>,
    environment: Vec<String>,
    ranks: u32,
    cores: u32,
    memory: u64,
    frequency: u64,
    patience: u64,
    limit: Option<u64>,
    design: Option<&str>,
    descriptors: Option<usize>,
    mode: &str,
    core: &str,
    migratory: bool,
    settings: Vec<(String, String)>,
    timeline: bool,
    kanata: Option<(u64, u64)>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let moped = device_set(design, descriptors, &settings)?.map(|set| set.typed::<MopedParameters>());
    let limit = limit.unwrap_or(u64::MAX);
    let mut chip = chip_set(core, &settings)?;
    if !migratory {
        chip.set("migratory", migratory.word(), Source::User).map_err(bad_input)?;
    }
    let timing = TimingParameters::of(&chip, cores as usize, moped.as_ref());
    let (defaults, mode, timing) = (MachineParameters::default(), mode_of(mode)?, Some(timing));
    let parameters =
        MachineParameters { harts: cores, memory, frequency, patience, limit, moped, mode, timing, ..defaults };
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let environment: Vec<_> = environment.iter().map(String::as_str).collect();
    let program = UserProgram { file, ranks, first_core: 0, arguments: &arguments, environment: &environment };
    let mut machine = Machine::new(&parameters, &[program], HostFiles::new(false)).map_err(bad_input)?;
    if timeline {
        machine.record_timeline();
    }
    if let Some((from, to)) = kanata {
        machine.record_diagram(from..to);
    }
    // Shared with the thread that runs while Python's lock is released.
    let machine = Arc::new(Mutex::new(machine));
    let end = loop {
        let shared = Arc::clone(&machine);
        if let Some(end) = py.detach(move || shared.lock().expect("no other thread has it").step()) {
            break Some(end);
        }
        if let Some(progress) = &progress {
            let machine = machine.lock().expect("no other thread has it");
            progress.call1((machine.time(), instructions(&machine), machine.has_time()))?;
        }
        if let Err(error) = py.check_signals() {
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                break None;
            }
            return Err(error);
        }
    };
    let mut machine = machine.lock().expect("no other thread has it");
    let mut fault = None;
    let (word, status, waiting) = match end {
        Some(RunEnd::Exited(status)) => ("exited", Some(status), Vec::new()),
        Some(RunEnd::Deadlock(waiting)) => ("deadlock", None, waiting),
        Some(RunEnd::Limit(waiting)) => ("limit", None, waiting),
        Some(RunEnd::TrapLoop { .. }) => ("trap_loop", None, machine.waiting()),
        Some(RunEnd::Fault(found)) => {
            fault = Some(found.to_string());
            ("fault", None, machine.waiting())
        }
        None => ("interrupted", None, machine.waiting()),
    };
    let counts: Vec<_> = (0..machine.harts()).map(|hart| machine.counts(hart)).collect();
    let timed: Vec<_> = (0..machine.harts()).map(|hart| machine.timed_instructions(hart)).collect();
    let devices: Vec<_> = (0..machine.harts()).map(|node| machine.device(node)).collect();
    let dict = PyDict::new(py);
    dict.set_item("end", word)?;
    dict.set_item("status", status)?;
    dict.set_item("fault", fault)?;
    dict.set_item("waiting", waiting.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    dict.set_item("messages", machine.messages())?;
    let ended: Vec<_> = machine.ended().iter().map(|ended| (ended.rank, ended.status)).collect();
    dict.set_item("ranks", ended)?;
    dict.set_item("time", machine.time())?;
    dict.set_item("user_instructions", counts.iter().map(|counts| counts.user).sum::<u64>())?;
    dict.set_item("kernel_instructions", counts.iter().map(|counts| counts.supervisor).sum::<u64>())?;
    dict.set_item("timed_instructions", timed.iter().map(|(user, kernel)| user + kernel).sum::<u64>())?;
    let sums = COUNTS.map(|(name, count)| (name, devices.iter().map(count).sum::<u64>()));
    dict.set_item("moped", parameters.moped.is_some().then(|| sums.to_vec()))?;
    let regions: PyResult<Vec<_>> =
        machine.regions().iter().map(|region| describe(py, region, machine.processes())).collect();
    dict.set_item("regions", regions?)?;
    let moved = machine.moved();
    dict.set_item("compared_messages", moved.moved())?;
    dict.set_item("different_messages", moved.different())?;
    dict.set_item("differences", moved.differences())?;
    let has_time = parameters.mode != ExecutionMode::Functional;
    dict.set_item("parameters", if has_time { described(&chip, &parameters) } else { Vec::new() })?;
    dict.set_item("timeline", machine.timeline())?;
    dict.set_item("kanata", machine.diagram())?;
    Ok(dict)
}

/// Name, value and source of every parameter of a chip.
fn described(chip: &ParameterSet, machine: &MachineParameters) -> Vec<(&'static str, String, String)> {
    let design = machine.moped.as_ref().map_or("base", |moped| moped.design.word());
    let given = [("cores", machine.harts.to_string()), ("design", design.to_owned())];
    let given = given.map(|(name, value)| (name, value, format!("option --{name}")));
    let set = chip.iter().map(|(spec, parameter)| (spec.key, parameter.value.to_string(), parameter.source.detail()));
    given.into_iter().chain(set).collect()
}

/// Instructions so far, with and without time.
fn instructions(machine: &Machine<HostFiles>) -> u64 {
    let of = |hart| {
        let (counts, (user, kernel)) = (machine.counts(hart), machine.timed_instructions(hart));
        counts.user + counts.supervisor + user + kernel
    };
    (0..machine.harts()).map(of).sum()
}

/// A region with time.
fn describe<'py>(py: Python<'py>, region: &MeasuredRegion, processes: &[(u32, u32)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let activities = |cycles: &Cycles| -> Vec<_> {
        Activity::ALL.iter().zip(cycles).map(|(activity, cycles)| (activity.name(), *cycles)).collect()
    };
    let kind = ["functional", "warm-up", "timing"].get(region.kind as usize).copied().unwrap_or("other");
    dict.set_item("kind", kind)?;
    dict.set_item("begin", region.begin.cycle)?;
    dict.set_item("cycles", region.cycles())?;
    dict.set_item("counts", region.counts().collect::<Vec<_>>())?;
    dict.set_item("cores", region.instructions())?;
    let ranks: Vec<_> = processes
        .iter()
        .zip(region.processes())
        .map(|((program, rank), cycles)| (*program, *rank, activities(&cycles)))
        .collect();
    dict.set_item("ranks", ranks)?;
    dict.set_item("unused", activities(&region.unused()))?;
    Ok(dict)
}
