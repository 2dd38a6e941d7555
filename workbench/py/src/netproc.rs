// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network processors and packet captures, as Python sees them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use mb_core::names;
use mb_core::parameters::{Choice, Domain, ParameterSet, Parameters, Source};
use mb_netproc::contract::drop_reason;
use mb_netproc::report::{HartReport, PacketReport};
use mb_netproc::{PacketMachineParameters, Spine, presets};
use mb_packets::session::TABLES_SEED;
use mb_packets::{
    Capture, CaptureSession, Checked, FilterSet, Headers, RouteTable, SessionError, TrafficParameters, diagram, read,
    traffic, write,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::catalog::{Parameter, keywords, parameters};
use crate::columns::columns;
use crate::errors::bad_input;
use crate::generate::PatternSetting;
use crate::progress::Progress;

/// Filters of generated captures.
const FILTERS: usize = 8;

/// The names of all network processors, those of the paper first.
#[pyfunction]
pub(crate) fn network_processors() -> Vec<String> {
    let paper = presets::PAPER.iter().map(ToString::to_string);
    paper.chain(presets::names().into_iter().filter(|name| !presets::PAPER.contains(&name.as_str()))).collect()
}

/// The settings of generated captures.
#[pyfunction]
pub(crate) fn packet_settings() -> Vec<PatternSetting> {
    let defaults = TrafficParameters::default().values();
    let setting = |(spec, default): (&mb_core::ParameterSpec, &mb_core::parameters::Value)| PatternSetting {
        name: spec.key,
        default: default.to_string(),
        unit: spec.domain.unit_name(),
        choices: match spec.domain {
            Domain::Choice(words) => words.to_vec(),
            Domain::Range { .. } => Vec::new(),
        },
        help: spec.meaning,
    };
    TrafficParameters::SPECS.iter().zip(&defaults).map(setting).collect()
}

/// Generates a capture; returns the bytes of a pcap file.
#[pyfunction]
#[pyo3(signature = (*, seed, routes, settings))]
pub(crate) fn generate_packets(
    py: Python<'_>,
    seed: u64,
    routes: usize,
    settings: Vec<(String, String)>,
) -> PyResult<Bound<'_, PyBytes>> {
    if !(1..=RouteTable::MAX).contains(&routes) {
        return Err(bad_input(format!("routes: found {routes}, expected 1 to {}", RouteTable::MAX)));
    }
    let specs = TrafficParameters::SPECS;
    let defaults: Vec<String> = TrafficParameters::default().values().iter().map(ToString::to_string).collect();
    let given = specs.iter().zip(&defaults).map(|(spec, text)| (spec.key, text.as_str(), Source::User));
    let settings: BTreeMap<String, String> = settings.into_iter().collect();
    let given = given.chain(settings.iter().map(|(key, text)| (key.as_str(), text.as_str(), Source::User)));
    let parameters: TrafficParameters = ParameterSet::complete(specs, given).map_err(bad_input)?.typed();
    let file = py.detach(|| {
        let filters = FilterSet::of_scenarios(FILTERS, TABLES_SEED);
        let capture = traffic::generate(&parameters, &filters, &RouteTable::generate(routes, TABLES_SEED), seed);
        let capture = capture.map_err(|application| format!("no filter selects `{}`", application.word()))?;
        write::write(&capture).map_err(|error| error.to_string())
    });
    Ok(PyBytes::new(py, &file.map_err(bad_input)?))
}

/// The sources of SPINE with their names.
#[pyfunction]
pub(crate) fn spine_sources() -> Vec<(&'static str, &'static str)> {
    mb_netproc::spine::SOURCES.to_vec()
}

/// The commands that compile SPINE with a handler, in order; they run in the folder of the sources. `objects` is an
/// empty folder; all paths are absolute.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the paths are converted from Python's")]
pub(crate) fn handler_commands(
    compiler: &str,
    bit_manipulation: bool,
    handler: PathBuf,
    objects: PathBuf,
    output: PathBuf,
) -> Vec<Vec<String>> {
    mb_netproc::spine::commands(compiler, bit_manipulation, Some(&handler), &objects, &output)
}

/// Checks the form of a program: an ELF file for RV64 with the symbols of SPINE.
#[pyfunction]
pub(crate) fn check_program(file: &[u8]) -> PyResult<()> {
    mb_netproc::machine::check_program(file).map(drop).map_err(bad_input)
}

/// The content of a capture: packets, bytes, snapped packets, and packets by application, version and protocol.
#[pyfunction]
pub(crate) fn describe_packets<'py>(py: Python<'py>, file: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let capture = read::read(file).map_err(bad_input)?;
    let filters = FilterSet::of_scenarios(FILTERS, TABLES_SEED);
    let (mut applications, mut versions) = (BTreeMap::<&str, u64>::new(), BTreeMap::<&str, u64>::new());
    for (number, packet) in (1..).zip(&capture.packets) {
        let frame = packet.frame(number).map_err(bad_input)?;
        let headers = Headers::of(&frame);
        let version = headers.as_ref().map_or("other", |found| if found.source.is_ipv4() { "ipv4" } else { "ipv6" });
        *versions.entry(version).or_default() += 1;
        let filter = headers.and_then(|found| filters.first(&found));
        let application = filter.map_or("none", |place| filters.filters()[place].application.word());
        *applications.entry(application).or_default() += 1;
    }
    let dict = PyDict::new(py);
    dict.set_item("packets", capture.packets.len())?;
    dict.set_item("bytes", capture.packets.iter().map(|packet| u64::from(packet.wire_bytes)).sum::<u64>())?;
    dict.set_item("snapped", capture.snapped())?;
    dict.set_item("applications", applications)?;
    dict.set_item("versions", versions)?;
    Ok(dict)
}

/// A network processor and its parameters.
#[pyclass(frozen, module = "matchbench._native")]
pub(crate) struct NetworkProcessor {
    #[pyo3(get)]
    name: String,
    set: ParameterSet,
}

#[pymethods]
impl NetworkProcessor {
    /// Finds a processor by its name, and replaces parameters by those given as keywords.
    #[new]
    #[pyo3(signature = (name, /, **parameters))]
    fn new(name: &str, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let known = network_processors();
        if !known.iter().any(|each| each == name) {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            return Err(bad_input(names::unknown_of(
                "architecture",
                name,
                &known,
                Some("matchbench netproc run --help"),
            )));
        }
        let mut set = presets::preset(name).map_err(bad_input)?;
        for (key, text) in keywords(parameters)? {
            set.set(&key, &text, Source::User).map_err(bad_input)?;
        }
        Ok(Self { name: name.to_owned(), set })
    }

    /// Every parameter with its source.
    fn parameters(&self) -> Vec<Parameter> {
        parameters(&self.set)
    }

    /// Runs a capture, the bytes of a file; from its start again when it ends. `kanata` is an interval of cycles from
    /// the start of reception.
    #[pyo3(signature = (capture, *, program=None, packets=None, kanata=None, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        capture: &[u8],
        program: Option<&[u8]>,
        packets: Option<u64>,
        kanata: Option<(u64, u64)>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let parameters: PacketMachineParameters = self.set.typed();
        let mut progress = Progress::new(progress);
        let done = py.detach(|| -> Result<_, SessionError> {
            let capture = read::read(capture)?;
            let packets = packets.unwrap_or(capture.packets.len() as u64);
            let mut tell = |done| progress.tell(done, packets);
            run(&parameters, program.unwrap_or(Spine::Plain.file()), &capture, packets, kanata, &mut tell)
        });
        progress.finish()?;
        let (checked, diagram) = done.map_err(bad_input)?;
        to_python(py, &parameters, &checked, diagram)
    }
}

fn run(
    parameters: &PacketMachineParameters,
    program: &[u8],
    capture: &Capture,
    packets: u64,
    kanata: Option<(u64, u64)>,
    tell: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(Checked, Option<String>), SessionError> {
    let session = CaptureSession::new(parameters, program, capture)?;
    let Some((from, to)) = kanata else { return Ok((session.run(packets, None, tell)?, None)) };
    let mut recorder = diagram::Recorder::new(session.image(), from..to);
    let checked = session.run(packets, Some(&mut recorder), tell)?;
    Ok((checked, Some(recorder.finish())))
}

fn to_python<'py>(
    py: Python<'py>,
    parameters: &PacketMachineParameters,
    checked: &Checked,
    kanata: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let (report, clock) = (&checked.run.report, parameters.clock);
    let ns = |cycles: u64| clock.span(mb_core::Cycles(cycles)).as_ns();
    let all = PyDict::new(py);
    let summary = PyDict::new(py);
    columns!(summary, [checked], |row| {
        "checked" => row.checked,
        "mismatches" => row.mismatch_count,
        "start_instructions" => row.start_instructions,
    });
    columns!(summary, [report], |row| {
        "packets_per_second" => row.rate(clock),
        "ipc" => row.ipc(),
        "cycles" => row.cycles,
        "time_ns" => ns(row.cycles),
        "instructions" => row.instructions(),
        "offered" => row.offered,
        "refused" => row.refused,
        "forwarded" => row.forwarded,
        "consumed" => row.consumed,
        "dropped" => row.dropped.values().sum::<u64>(),
        "queued" => row.queued,
        "in_flight" => row.in_flight,
        "balanced" => row.is_balanced,
        "reordered" => row.reordered,
        "most_overtaken" => row.most_overtaken,
        "latency_median_ns" => ns(row.latency.median),
        "latency_p90_ns" => ns(row.latency.p90),
        "latency_p99_ns" => ns(row.latency.p99),
        "latency_p999_ns" => ns(row.latency.p999),
        "latency_max_ns" => ns(row.latency.largest),
        "queue_mean" => row.mean_queue,
        "queue_max" => row.longest_queue,
        "dma_bytes" => row.transferred_bytes,
    });
    all.set_item("summary", summary)?;
    all.set_item("windows", windows(py, report, clock)?)?;
    all.set_item("harts", harts(py, report)?)?;
    let memory = PyDict::new(py);
    columns!(memory, report.memory, |row| { "what" => row.name.clone(), "count" => row.value });
    all.set_item("memory", memory)?;
    let applications: BTreeMap<&str, u64> = report
        .applications
        .iter()
        .map(|(application, packets)| (application.map_or("none", Choice::word), *packets))
        .collect();
    all.set_item("applications", applications)?;
    let dropped: BTreeMap<&str, u64> =
        report.dropped.iter().map(|(reason, packets)| (drop_reason(*reason), *packets)).collect();
    all.set_item("dropped", dropped)?;
    let mismatches = PyDict::new(py);
    columns!(mismatches, checked.mismatches, |row| { "packet" => row.packet, "text" => row.text.clone() });
    all.set_item("mismatches", mismatches)?;
    all.set_item("error", checked.run.error.as_ref().map(ToString::to_string))?;
    all.set_item("clock_mhz", clock.hertz() as f64 / 1e6)?;
    all.set_item("kanata", kanata)?;
    Ok(all)
}

/// A row for each window: packets, rate, issue slots of all harts used and squashed, a column for each cause of empty
/// slots, and one for each count of caches, buses and predictors.
fn windows<'py>(py: Python<'py>, report: &PacketReport, clock: mb_core::Clock) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    columns!(dict, report.windows, |row| {
        "end_ns" => clock.span(mb_core::Cycles(row.end)).as_ns(),
        "cycles" => row.cycles,
        "packets" => row.packets,
        "packets_per_second" => row.rate(clock),
        "ipc" => row.ipc(),
        "used" => row.used,
        "squashed" => row.squashed,
    });
    if let Some(first) = report.windows.first() {
        for (place, (cause, _)) in first.lost.iter().enumerate() {
            dict.set_item(cause, report.windows.iter().map(|row| row.lost[place].1).collect::<Vec<_>>())?;
        }
        for (place, count) in first.memory.iter().enumerate() {
            dict.set_item(&count.name, report.windows.iter().map(|row| row.memory[place].value).collect::<Vec<_>>())?;
        }
    }
    Ok(dict)
}

/// A row for each hart: packets, instructions, issue slots used and squashed, and a column for each cause of empty
/// slots.
fn harts<'py>(py: Python<'py>, report: &PacketReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let rows: Vec<(usize, &HartReport)> = report.harts.iter().enumerate().collect();
    columns!(dict, rows, |row| {
        "hart" => row.0,
        "packets" => row.1.packets,
        "instructions" => row.1.instructions,
        "used" => row.1.used,
        "squashed" => row.1.squashed,
    });
    let causes: Vec<&str> =
        report.harts.first().map_or(Vec::new(), |hart| hart.lost.iter().map(|(name, _)| *name).collect());
    for (place, cause) in causes.into_iter().enumerate() {
        dict.set_item(cause, report.harts.iter().map(|hart| hart.lost[place].1).collect::<Vec<_>>())?;
    }
    Ok(dict)
}
