// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replaying a trace on an engine, from Python.

use mb_replay::{ReplayConfig, Report, Wildcards};
use pyo3::prelude::*;

use crate::catalog::{Engine, Network};
use crate::errors::bad_input;
use crate::progress::Progress;
use crate::trace::Trace;

/// What Python says about a replay besides trace, engine and network.
pub(crate) struct Options {
    pub(crate) cpu_scale: f64,
    pub(crate) free_wildcards: bool,
    pub(crate) collectives: Vec<(String, String)>,
}

/// Replays `trace`, without the interpreter.
pub(crate) fn run(
    py: Python<'_>,
    trace: &Trace,
    engine: &Engine,
    network: &Network,
    options: &Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let communicators = trace.checked(py, None)?;
    let mut config = ReplayConfig::new(network.network.clone());
    config.cpu_scale = options.cpu_scale;
    config.wildcards = if options.free_wildcards { Wildcards::Free } else { Wildcards::Recorded };
    for (collective, algorithm) in &options.collectives {
        config.collectives.set(collective, algorithm).map_err(bad_input)?;
    }
    let mut progress = Progress::new(progress);
    let report = py.detach(|| {
        // `Engine::new` has built one from the same settings, so this cannot fail.
        let mut build = || engine.choice.build().expect("settings were tried when they were chosen");
        let mut tell = |done, all| progress.tell(done, all);
        mb_replay::replay(&trace.trace, communicators, &mut build, engine.choice.placement(), &config, &mut tell)
    });
    progress.finish()?;
    report.map_err(bad_input)
}
