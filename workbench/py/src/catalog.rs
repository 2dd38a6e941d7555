// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines and networks with their parameters, as Python sees them.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use mb_catalog::{ENGINES, EngineChoice};
use mb_core::parameters::{Choice, ParameterSet, Source};
use mb_core::{BuildOwn, EngineEntry, EngineFault, EngineOrigin, Holds, OwnKind, names};
use mb_own::{Check, OwnProgram};
use mb_replay::network::NETWORKS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::asm::MatchProgram;
use crate::errors::bad_input;
use crate::{own_class, own_elsewhere};

/// One parameter with its value and source; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    value: String,
    unit: &'static str,
    /// Which values it can have.
    domain: String,
    help: &'static str,
    source: &'static str,
    detail: String,
    holds: Option<&'static str>,
    /// For a choice in whose place the user may give a file: what the file is.
    file: Option<&'static str>,
}

/// Why `found` is the name of no `kind`; `listing` is the command that lists the `known` names.
#[pyfunction]
#[pyo3(signature = (kind, found, known, listing=None))]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn unknown_name(kind: &str, found: &str, known: Vec<String>, listing: Option<&str>) -> String {
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    names::unknown_of(kind, found, &known, listing)
}

pub(crate) fn parameters(set: &ParameterSet) -> Vec<Parameter> {
    set.iter()
        .map(|(spec, parameter)| Parameter {
            name: spec.key.to_owned(),
            value: parameter.value.to_string(),
            unit: spec.domain.unit_name(),
            domain: spec.domain.to_string(),
            help: spec.meaning,
            source: parameter.source.kind(),
            detail: parameter.source.detail(),
            holds: spec.holds.map(Holds::as_str),
            file: spec.file,
        })
        .collect()
}

/// A value from Python: text as in a preset, a number in the parameter's unit, or whether something is on.
#[derive(FromPyObject)]
enum Given {
    Switch(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl Given {
    fn text(self) -> String {
        match self {
            Self::Switch(on) => on.word().to_owned(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

/// Keyword arguments as keys and texts.
pub(crate) fn keywords(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    given.iter().map(|(key, value)| Ok((key.extract()?, value.extract::<Given>()?.text()))).collect()
}

/// `Class("name", key="value", ...)` with the parameters that the user gave.
fn repr(class: &str, name: &str, set: &ParameterSet) -> String {
    let mut text = format!("{class}(\"{name}\"");
    for (spec, parameter) in set.iter().filter(|(_, parameter)| parameter.source == Source::User) {
        let _ = write!(text, ", {}=\"{}\"", spec.key, spec.show(&parameter.value));
    }
    text + ")"
}

/// The description of an engine; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Card {
    name: &'static str,
    summary: &'static str,
    reference: &'static str,
    timing: &'static str,
    presets: Vec<&'static str>,
    literal: Vec<&'static str>,
    on_request: Vec<&'static str>,
    representative: Option<&'static str>,
}

impl Card {
    fn new(entry: &EngineEntry, literal: Vec<&'static str>) -> Self {
        Self {
            name: entry.card.name,
            summary: entry.card.summary,
            reference: entry.card.reference,
            timing: entry.card.timing.as_str(),
            presets: entry.presets.iter().map(|preset| preset.name).collect(),
            literal,
            on_request: entry.presets.iter().filter(|preset| preset.on_request).map(|preset| preset.name).collect(),
            representative: entry.presets.iter().find(|preset| preset.representative).map(|preset| preset.name),
        }
    }
}

/// The presets of each engine of the catalog that break MPI's order.
fn literal() -> PyResult<impl Fn(&str) -> Vec<&'static str>> {
    let literal = mb_catalog::literal().map_err(bad_input)?;
    Ok(move |name: &str| {
        let mine = literal.iter().filter(|choice| choice.entry.card.name == name);
        mine.map(|choice| choice.preset).collect::<Vec<_>>()
    })
}

/// Every engine of the catalog; presets that break MPI's order are `literal`, those that a comparison runs only
/// when they are named `on_request`, and the one that a comparison runs by default is `representative`.
#[pyfunction]
pub(crate) fn engines() -> PyResult<Vec<Card>> {
    let literal_of = literal()?;
    Ok(ENGINES.iter().map(|entry| Card::new(entry, literal_of(entry.card.name))).collect())
}

/// Where a user-defined engine comes from; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct OriginFields {
    kind: &'static str,
    path: String,
    sha256: String,
    interface: Option<u32>,
}

impl From<&EngineOrigin> for OriginFields {
    fn from(origin: &EngineOrigin) -> Self {
        let EngineOrigin { kind, path, sha256, interface } = origin.clone();
        Self { kind: kind.as_str(), path, sha256, interface }
    }
}

/// The result of the test kit; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct KitReport {
    /// Name, promise and number of runs of each check that was passed.
    passed: Vec<(&'static str, &'static str, Option<usize>)>,
    /// Name and promise of the check that failed, the clause if there is one, and what was found.
    failure: Option<(&'static str, &'static str, Option<String>, String)>,
}

/// Whether `spec` is a path, and not the name of an engine: the path, and the preset behind a colon.
fn as_path(spec: &str) -> Option<(&str, Option<&str>)> {
    let is_path = |text: &str| text.contains('/') || [".so", ".dylib", ".py"].iter().any(|end| text.ends_with(end));
    let (path, preset) = match spec.rsplit_once(':') {
        Some((path, preset)) if !preset.contains('/') => (path, Some(preset)),
        _ => (spec, None),
    };
    is_path(path).then_some((path, preset))
}

/// Finds an engine of the catalog, of a library, of a file of Python, or of a class.
fn find(spec: &Bound<'_, PyAny>, preset: Option<&str>) -> PyResult<EngineChoice> {
    let Ok(text) = spec.cast::<PyString>() else { return own_class::choose(spec, preset) };
    let text = text.to_str()?;
    let (name, in_spec) = as_path(text).unwrap_or_else(|| match text.split_once(':') {
        Some((name, preset)) => (name, Some(preset)),
        None => (text, None),
    });
    if in_spec.is_some() && preset.is_some() {
        return Err(bad_input(format!("engine `{text}`: found two presets, expected one of them")));
    }
    let preset = in_spec.or(preset);
    if as_path(text).is_none() {
        let spec = preset.map_or_else(|| name.to_owned(), |preset| format!("{name}:{preset}"));
        return mb_catalog::find(&spec).map_err(bad_input);
    }
    let is_python = Path::new(name).extension().is_some_and(|extension| extension == "py");
    let kind = if is_python { OwnKind::Python } else { OwnKind::Library };
    if !own_elsewhere::is_here(spec.py())? {
        return own_elsewhere::choose(spec.py(), name, kind, preset);
    }
    if is_python {
        return own_class::choose(&own_class::load(spec.py(), name)?, preset);
    }
    mb_own::library::choose(name, preset).map_err(bad_input)
}

/// An engine, its preset and its complete parameter set.
#[pyclass(frozen, eq, module = "matchbench._native")]
pub(crate) struct Engine {
    pub(crate) choice: EngineChoice,
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        let (mine, others) = (&self.choice, &other.choice);
        let own = |choice: &EngineChoice| choice.own.as_ref().map(|own| own.origin().clone());
        mine.spec() == others.spec() && mine.parameters == others.parameters && own(mine) == own(others)
    }
}

#[pymethods]
impl Engine {
    /// Finds `engine` or `engine:preset`, where `engine` is a name of the catalog, the path of a library or of a file
    /// of Python, or a class, and replaces the parameters given as keywords.
    #[new]
    #[pyo3(signature = (spec, /, *, preset=None, **parameters))]
    fn new(spec: &Bound<'_, PyAny>, preset: Option<&str>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::found(spec, preset)?.replaced(Vec::new(), None, parameters)
    }

    /// The same with the parameters of the preset, and without a check that the engine can be built from them.
    #[staticmethod]
    #[pyo3(signature = (spec, /, *, preset=None))]
    fn found(spec: &Bound<'_, PyAny>, preset: Option<&str>) -> PyResult<Self> {
        Ok(Self { choice: find(spec, preset)? })
    }

    /// The same engine with other values for some parameters: measured ones (key, value and how), and then those given
    /// as keywords.
    ///
    /// `own_program`: a match program that the engine runs in place of the one that its parameters name, with its path
    /// and SHA-256.
    #[pyo3(signature = (*, measured=Vec::new(), own_program=None, **parameters))]
    fn replaced(
        &self,
        measured: Vec<(String, String, String)>,
        own_program: Option<(PyRef<'_, MatchProgram>, String, String)>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut choice = self.choice.clone();
        for (key, value, how) in measured {
            choice.set(&key, &value, Source::Measured(how.into())).map_err(bad_input)?;
        }
        for (key, value) in keywords(parameters)? {
            choice.set(&key, &value, Source::User).map_err(bad_input)?;
        }
        if let Some((program, path, sha256)) = own_program {
            let origin = EngineOrigin { kind: OwnKind::Program, path, sha256, interface: None };
            choice.own = Some(Arc::new(OwnProgram { program: program.program().clone(), origin }));
            choice.changed = true;
        }
        Self::built(choice)
    }

    /// The same engine with the parameters of another preset.
    fn of_preset(&self, preset: &str) -> PyResult<Self> {
        let chosen = mb_catalog::choose(self.choice.entry, Some(preset)).map_err(bad_input)?;
        Self::built(EngineChoice { own: self.choice.own.clone(), ..chosen })
    }

    fn __repr__(&self) -> String {
        repr("Engine", &self.spec(), &self.choice.parameters)
    }

    /// The text by which this engine and preset are found again: `engine:preset`, with the path of a user-defined
    /// engine.
    #[getter]
    fn spec(&self) -> String {
        match self.origin() {
            Some(origin) if origin.kind != OwnKind::Program.as_str() => {
                format!("{}:{}", origin.path, self.choice.preset)
            }
            _ => self.choice.spec(),
        }
    }

    /// Where a user-defined engine comes from.
    #[getter]
    fn origin(&self) -> Option<OriginFields> {
        self.choice.own.as_ref().map(|own| own.origin().into())
    }

    /// A description of the engine.
    fn card(&self) -> PyResult<Card> {
        let entry = self.choice.entry;
        Ok(Card::new(entry, literal()?(entry.card.name)))
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.choice.entry.card.name
    }

    #[getter]
    fn preset(&self) -> &'static str {
        self.choice.preset
    }

    /// Whether parameters differ from those of the preset.
    #[getter]
    fn changed(&self) -> bool {
        self.choice.changed
    }

    #[getter]
    fn timing(&self) -> &'static str {
        self.choice.entry.card.timing.as_str()
    }

    #[getter]
    fn placement(&self) -> &'static str {
        self.choice.placement().word()
    }

    /// How its outcomes break MPI's order, if they do.
    #[getter]
    fn breaks_order(&self) -> Option<&'static str> {
        self.choice.breaks_order()
    }

    /// Every parameter with its value and source. A user-defined engine has one for the file that it is made of.
    fn parameters(&self) -> Vec<Parameter> {
        let mut all = parameters(&self.choice.parameters);
        let Some(own) = &self.choice.own else { return all };
        let origin = own.origin();
        let name = origin.kind.as_str();
        if all.iter().all(|parameter| parameter.name != name) {
            all.push(Parameter {
                name: name.to_owned(),
                value: String::new(),
                unit: "file",
                domain: "a path".to_owned(),
                help: "The file that the engine is made of.",
                source: "",
                detail: String::new(),
                holds: None,
                file: None,
            });
        }
        if let Some(parameter) = all.iter_mut().find(|parameter| parameter.name == name) {
            (parameter.value, parameter.detail) = (origin.value(), origin.detail());
            parameter.source = Source::User.kind();
        }
        all
    }

    /// Raises unless a user-defined engine gives the outcomes of the contract on the case corpus and on random
    /// streams. `tell` is called with what is run next.
    #[pyo3(signature = (tell=None))]
    fn check(&self, py: Python<'_>, tell: Option<Py<PyAny>>) -> PyResult<()> {
        let Some(own) = &self.choice.own else { return Ok(()) };
        let mut telling = Telling { callable: tell, raised: None };
        let work = || {
            EngineFault::catch(|| mb_own::check(own.as_ref(), &self.choice.parameters, &mut |next| telling.tell(next)))
        };
        let verdict = py.detach(work);
        own_class::raise_interrupt()?;
        telling.finish()?;
        verdict.map_err(bad_input)?.map_err(bad_input)
    }

    /// Runs the whole test kit. `tell` is called with what is run next.
    #[pyo3(signature = (tell=None))]
    fn test(&self, py: Python<'_>, tell: Option<Py<PyAny>>) -> PyResult<KitReport> {
        let mut telling = Telling { callable: tell, raised: None };
        let work = || EngineFault::catch(|| mb_own::test(&self.choice, &mut |next| telling.tell(next)));
        let verdict = py.detach(work);
        own_class::raise_interrupt()?;
        telling.finish()?;
        let verdict = verdict.map_err(bad_input)?.map_err(bad_input)?;
        let passed = verdict.passed.iter();
        Ok(KitReport {
            passed: passed.map(|each| (each.check.name(), each.check.promise(), Some(each.runs))).collect(),
            failure: verdict
                .failure
                .map(|failure| (failure.check.name(), failure.check.promise(), failure.clause, failure.text)),
        })
    }
}

/// The description of the engine in the library at `path`, its SHA-256, and the version of its interface. Its code runs.
#[pyfunction]
pub(crate) fn describe_library(path: &str) -> PyResult<(&'static str, String, Option<u32>)> {
    let library = mb_own::library::open(path).map_err(bad_input)?;
    let origin = library.origin();
    Ok((library.description(), origin.sha256.clone(), origin.interface))
}

/// The header for engines in C and C++.
#[pyfunction]
pub(crate) const fn engine_header() -> &'static str {
    mb_own::HEADER
}

/// Name and promise of each check of the test kit, in the order in which they run.
#[pyfunction]
pub(crate) fn kit_checks() -> Vec<(&'static str, &'static str)> {
    Check::ALL.iter().map(|check| (check.name(), check.promise())).collect()
}

impl Engine {
    fn built(choice: EngineChoice) -> PyResult<Self> {
        let built = choice.build();
        own_class::raise_interrupt()?;
        built.map_err(bad_input)?;
        Ok(Self { choice })
    }
}

/// A callable of Python that is told what is run next.
struct Telling {
    callable: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Telling {
    /// An exception of the callable, Ctrl-C included, ends the work.
    fn tell(&mut self, next: &str) {
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.callable.as_ref().map_or(Ok(()), |callable| callable.call1(py, (next,)).map(|_| ()))
        });
        if let Err(error) = told {
            self.raised = Some(error);
            EngineFault("interrupted".to_owned()).raise();
        }
    }

    fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

/// Every network preset with its sentence; the first is the default.
#[pyfunction]
pub(crate) fn networks() -> Vec<(&'static str, &'static str)> {
    NETWORKS.iter().map(|preset| (preset.name, preset.summary)).collect()
}

/// A network preset and its complete parameter set.
#[pyclass(frozen, eq, module = "matchbench._native")]
#[derive(PartialEq)]
pub(crate) struct Network {
    pub(crate) network: mb_replay::Network,
}

#[pymethods]
impl Network {
    /// Finds the preset and replaces the parameters given as keywords.
    #[new]
    #[pyo3(signature = (preset, /, **parameters))]
    fn new(preset: &str, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut network = mb_replay::Network::preset(preset).map_err(bad_input)?;
        for (key, value) in keywords(parameters)? {
            network.set(&key, &value).map_err(|error| bad_input(format!("network `{preset}`: {error}")))?;
        }
        Ok(Self { network })
    }

    fn __repr__(&self) -> String {
        repr("Network", &self.network.name, &self.network.parameters)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.network.name
    }

    /// Every parameter with its value and source.
    fn parameters(&self) -> Vec<Parameter> {
        parameters(&self.network.parameters)
    }
}

/// Default of the computation between two polls from which it is work, ns.
#[pyfunction]
pub(crate) fn poll_work_ns() -> f64 {
    mb_replay::config::POLL_WORK.as_ns()
}

/// Every collective that the replay expands with its algorithms; the first is the default.
#[pyfunction]
pub(crate) fn collectives() -> Vec<(&'static str, Vec<&'static str>)> {
    mb_replay::config::COLLECTIVE_ALGORITHMS
        .iter()
        .map(|(_, name, algorithms)| (*name, algorithms.iter().map(|algorithm| algorithm.name()).collect()))
        .collect()
}
