// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines and networks with their parameters, as Python sees them.

use mb_catalog::{ENGINES, EngineChoice};
use mb_core::Placement;
use mb_core::settings::{SettingSpec, Settings, Source};
use mb_replay::network::{NETWORKS, SETTINGS};
use pyo3::prelude::*;

use crate::errors::bad_input;

/// One setting with its value and source; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Parameter {
    name: &'static str,
    value: String,
    unit: &'static str,
    help: &'static str,
    source: &'static str,
    detail: String,
}

fn parameters(specs: &'static [SettingSpec], settings: &Settings) -> Vec<Parameter> {
    let find = |spec: &SettingSpec| settings.iter().find(|(key, _)| *key == spec.key).map(|(_, setting)| setting);
    specs
        .iter()
        .filter_map(|spec| {
            find(spec).map(|setting| Parameter {
                name: spec.key,
                value: setting.value.to_string(),
                unit: spec.unit.as_str(),
                help: spec.help,
                source: setting.source.kind(),
                detail: setting.source.detail(),
            })
        })
        .collect()
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
}

/// Every engine of the catalog; presets that break MPI's order are `literal`.
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
        })
        .collect();
    Ok(cards)
}

/// An engine, its preset and its complete settings.
#[pyclass(frozen, module = "matchbench._native")]
pub(crate) struct Engine {
    pub(crate) choice: EngineChoice,
}

#[pymethods]
impl Engine {
    /// Finds `engine` or `engine:preset` and replaces settings by those that were measured, given as key, value and how, and
    /// then by those given as `key=value`.
    #[new]
    #[pyo3(signature = (spec, settings, measured=Vec::new()))]
    fn new(spec: &str, settings: Vec<String>, measured: Vec<(String, String, String)>) -> PyResult<Self> {
        let mut choice = mb_catalog::find(spec).map_err(bad_input)?;
        for (key, value, how) in measured {
            choice.set_from(&key, &value, Source::Measured(how.into())).map_err(bad_input)?;
        }
        for setting in settings {
            choice.set(&setting).map_err(bad_input)?;
        }
        choice.build().map_err(bad_input)?;
        Ok(Self { choice })
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.choice.entry.card.name
    }

    #[getter]
    fn preset(&self) -> &'static str {
        self.choice.preset
    }

    /// Whether settings are no longer those of the preset.
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
        match self.choice.placement() {
            Placement::Nic => "nic",
            Placement::Host => "host",
        }
    }

    /// How its outcomes break MPI's order, if they do.
    #[getter]
    fn breaks_order(&self) -> Option<&'static str> {
        self.choice.breaks_order()
    }

    /// Every setting with its value and source.
    fn parameters(&self) -> Vec<Parameter> {
        parameters(self.choice.entry.settings, &self.choice.settings)
    }
}

/// Every network preset with its sentence; the first is the default.
#[pyfunction]
pub(crate) fn networks() -> Vec<(&'static str, &'static str)> {
    NETWORKS.iter().map(|preset| (preset.name, preset.summary)).collect()
}

/// A network preset and its complete settings.
#[pyclass(frozen, module = "matchbench._native")]
pub(crate) struct Network {
    pub(crate) network: mb_replay::Network,
}

#[pymethods]
impl Network {
    /// Finds the preset and replaces settings by those given as `key=value`.
    #[new]
    fn new(preset: &str, settings: Vec<String>) -> PyResult<Self> {
        let mut network = mb_replay::Network::preset(preset).map_err(bad_input)?;
        for setting in settings {
            let (key, value) = setting
                .split_once('=')
                .ok_or_else(|| bad_input(format!("network: `{setting}` is no setting; expected key=value")))?;
            network.set(key.trim(), value.trim()).map_err(|error| bad_input(format!("network: {error}")))?;
        }
        Ok(Self { network })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.network.name
    }

    /// Every setting with its value and source.
    fn parameters(&self) -> Vec<Parameter> {
        parameters(SETTINGS, &self.network.settings)
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
