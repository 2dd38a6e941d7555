// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines and networks with their parameters, as Python sees them.

use std::fmt::Write;
use std::sync::Arc;

use mb_catalog::{ENGINES, EngineChoice};
use mb_core::Holds;
use mb_core::parameters::{Choice, ParameterSet, Source};
use mb_microcode::MicrocodeParameters;
use mb_own::OwnProgram;
use mb_replay::network::NETWORKS;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::asm::MatchProgram;
use crate::errors::bad_input;

/// One parameter with its value and source; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Parameter {
    name: &'static str,
    value: String,
    unit: &'static str,
    help: &'static str,
    source: &'static str,
    detail: String,
    holds: Option<&'static str>,
}

pub(crate) fn parameters(set: &ParameterSet) -> Vec<Parameter> {
    set.iter()
        .map(|(spec, parameter)| Parameter {
            name: spec.key,
            value: parameter.value.to_string(),
            unit: spec.domain.unit_name(),
            help: spec.meaning,
            source: parameter.source.kind(),
            detail: parameter.source.detail(),
            holds: spec.holds.map(Holds::as_str),
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

/// What an engine is, in words; a dictionary in Python.
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

/// Every engine of the catalog; presets that break MPI's order are `literal`, those that a comparison runs only
/// when they are named `on_request`, and the one that a comparison runs by default is `representative`.
#[pyfunction]
pub(crate) fn engines() -> PyResult<Vec<Card>> {
    let literal = mb_catalog::literal().map_err(bad_input)?;
    let literal_of = |name: &str| {
        let mine = literal.iter().filter(|choice| choice.entry.card.name == name);
        mine.map(|choice| choice.preset).collect::<Vec<_>>()
    };
    let cards = ENGINES
        .iter()
        .map(|entry| Card {
            name: entry.card.name,
            summary: entry.card.summary,
            reference: entry.card.reference,
            timing: entry.card.timing.as_str(),
            presets: entry.presets.iter().map(|preset| preset.name).collect(),
            literal: literal_of(entry.card.name),
            on_request: entry.presets.iter().filter(|preset| preset.on_request).map(|preset| preset.name).collect(),
            representative: entry.presets.iter().find(|preset| preset.representative).map(|preset| preset.name),
        })
        .collect();
    Ok(cards)
}

/// An engine, its preset and its complete parameter set.
#[pyclass(frozen, eq, module = "matchbench._native")]
pub(crate) struct Engine {
    pub(crate) choice: EngineChoice,
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        let (mine, others) = (&self.choice, &other.choice);
        let own = |choice: &EngineChoice| choice.own.as_ref().map(|own| own.value());
        mine.spec() == others.spec() && mine.parameters == others.parameters && own(mine) == own(others)
    }
}

#[pymethods]
impl Engine {
    /// Finds `engine` or `engine:preset`, replaces parameters by measured ones (key, value and
    /// how), and then by those given as keywords.
    #[new]
    ///
    /// `own_program`: a match program that the engine runs in place of the one that its parameters name, with its path
    /// and SHA-256.
    #[pyo3(signature = (spec, /, *, preset=None, measured=Vec::new(), own_program=None, **parameters))]
    fn new(
        spec: &str,
        preset: Option<&str>,
        measured: Vec<(String, String, String)>,
        own_program: Option<(PyRef<'_, MatchProgram>, String, String)>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let spec = match preset {
            Some(_) if spec.contains(':') => {
                return Err(bad_input(format!("engine `{spec}`: found two presets, expected one of them")));
            }
            Some(preset) => format!("{spec}:{preset}"),
            None => spec.to_owned(),
        };
        let mut choice = mb_catalog::find(&spec).map_err(bad_input)?;
        for (key, value, how) in measured {
            choice.set(&key, &value, Source::Measured(how.into())).map_err(bad_input)?;
        }
        for (key, value) in keywords(parameters)? {
            choice.set(&key, &value, Source::User).map_err(bad_input)?;
        }
        if let Some((program, path, sha256)) = own_program {
            if choice.parameters.try_typed::<MicrocodeParameters>().is_none() {
                let spec = choice.spec();
                return Err(bad_input(format!("engine `{spec}`: has no match unit; expected `microcode`")));
            }
            choice.own = Some(Arc::new(OwnProgram { program: program.program().clone(), path, sha256 }));
            choice.changed = true;
        }
        choice.build().map_err(bad_input)?;
        Ok(Self { choice })
    }

    fn __repr__(&self) -> String {
        repr("Engine", &self.choice.spec(), &self.choice.parameters)
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

    /// Every parameter with its value and source.
    fn parameters(&self) -> Vec<Parameter> {
        let mut all = parameters(&self.choice.parameters);
        if let Some(own) = &self.choice.own
            && let Some(parameter) = all.iter_mut().find(|parameter| parameter.name == own.parameter())
        {
            (parameter.value, parameter.detail) = (own.value(), own.detail());
            parameter.source = Source::User.kind();
        }
        all
    }

    /// Raises unless an engine of the user's gives the outcomes of the contract on the case corpus and on random
    /// streams.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let Some(own) = &self.choice.own else { return Ok(()) };
        py.detach(|| mb_own::check(own.as_ref(), &self.choice.parameters)).map_err(bad_input)
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

/// Every collective that the replay expands with its algorithms; the first is the default.
#[pyfunction]
pub(crate) fn collectives() -> Vec<(&'static str, Vec<&'static str>)> {
    mb_replay::config::COLLECTIVE_ALGORITHMS
        .iter()
        .map(|(_, name, algorithms)| (*name, algorithms.iter().map(|algorithm| algorithm.name()).collect()))
        .collect()
}
