// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generated traces: which patterns there are, and writing one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mb_core::parameters::Domain;
use mb_trace::generate::{PATTERNS, Plan};
use pyo3::prelude::*;

use crate::errors::bad_input;
use crate::progress::Progress;

/// A setting of a pattern; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct PatternSetting {
    name: &'static str,
    default: &'static str,
    unit: &'static str,
    choices: Vec<&'static str>,
    help: &'static str,
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
    let setting = |parameter: &mb_trace::generate::Parameter| PatternSetting {
        name: parameter.spec.key,
        default: parameter.default,
        unit: parameter.spec.domain.unit_name(),
        choices: match parameter.spec.domain {
            Domain::Choice(words) => words.to_vec(),
            Domain::Range { .. } => Vec::new(),
        },
        help: parameter.spec.meaning,
    };
    PATTERNS
        .iter()
        .map(|pattern| Pattern {
            name: pattern.name,
            summary: pattern.summary,
            least_ranks: pattern.least_ranks,
            settings: pattern.parameters.iter().map(setting).collect(),
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
