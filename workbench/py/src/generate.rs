// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generated traces: which patterns there are, and writing one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mb_core::parameters::{Domain, ParameterSpec, Value};
use mb_trace::generate::{PATTERNS, Plan};
use pyo3::prelude::*;

use crate::errors::bad_input;
use crate::progress::Progress;

/// A setting of a pattern; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct PatternSetting {
    pub(crate) name: &'static str,
    pub(crate) default: String,
    pub(crate) unit: &'static str,
    pub(crate) choices: Vec<&'static str>,
    pub(crate) help: &'static str,
}

/// A pattern of communication; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Pattern {
    name: &'static str,
    summary: &'static str,
    least_ranks: u32,
    settings: Vec<PatternSetting>,
}

/// Every pattern.
#[pyfunction]
pub(crate) fn patterns() -> Vec<Pattern> {
    let setting = |(spec, default): (&ParameterSpec, Value)| PatternSetting {
        name: spec.key,
        default: default.to_string(),
        unit: spec.domain.unit_name(),
        choices: match spec.domain {
            Domain::Choice(words) => words.to_vec(),
            Domain::Range { .. } => Vec::new(),
        },
        help: spec.meaning,
    };
    PATTERNS
        .iter()
        .map(|pattern| Pattern {
            name: pattern.name,
            summary: pattern.summary,
            least_ranks: pattern.least_ranks,
            settings: pattern.parameters.iter().zip(pattern.defaults()).map(setting).collect(),
        })
        .collect()
}

/// Writes a trace into the empty directory `path`.
#[pyfunction]
#[pyo3(signature = (pattern, path, *, ranks, seed, settings, progress=None))]
pub(crate) fn generate(
    py: Python<'_>,
    pattern: &str,
    path: PathBuf,
    ranks: u32,
    seed: u64,
    settings: Vec<(String, String)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let settings: BTreeMap<_, _> = settings.into_iter().collect();
    let mut progress = Progress::new(progress);
    let written = py.detach(|| {
        let plan = Plan::new(pattern, ranks, seed, &settings)?;
        plan.write(path, |done| progress.tell(u64::from(done), u64::from(ranks)))
    });
    progress.finish()?;
    written.map_err(bad_input)
}
