// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replaying a trace on an engine, from Python.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::ControlFlow;

use mb_core::{EngineFault, Picos, ReplayEngine, Timing};
use mb_measure::{ClosedLoopResult, Effort, HostClock, HostMeasureError, NextEngine, PASSES, closed_loop, host};
use mb_own::judged::{self, JudgedEngine, Judgement, Judgements};
use mb_replay::{Polls, ReplayConfig, ReplayError, Report, Snapshots, Wildcards};
use mb_trace::{Communicators, Trace};
use pyo3::prelude::*;

use crate::catalog::{Engine, Network};
use crate::errors::bad_input;
use crate::own_class::raise_interrupt;
use crate::progress::Progress;

/// How calls are replayed: a dictionary, as `ReplayConfig.rules` returns it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rules {
    cpu_scale: f64,
    free_wildcards: bool,
    recorded_polls: bool,
    poll_work_ns: f64,
    collectives: Vec<(String, String)>,
}

/// The options of a replay from Python, besides trace, engine and network.
pub(crate) struct Options {
    pub(crate) rules: Rules,
    pub(crate) watched: Vec<u32>,
    /// Whether to report match latencies by search depth, on engines that keep MPI's order.
    pub(crate) depths: bool,
    /// Whether to count entries for sizes, and numbers of buckets.
    pub(crate) sizing: Option<Vec<u32>>,
    /// The records of the operations of receivers.
    pub(crate) snapshots: Option<Snapshots>,
}

/// The result of a replay, and the measurement and its core if the engine is a measured one.
pub(crate) struct Replayed {
    pub(crate) report: Report,
    pub(crate) measured: Option<(ClosedLoopResult<()>, Option<usize>)>,
    /// What a user-defined engine did that no engine can do, and the least time of an answer at its placement; `None`
    /// for an engine of the catalog.
    pub(crate) judgement: Option<(Judgement, Picos)>,
}

/// Why a replay or a measurement has no result.
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<HostMeasureError> for Refused {
    fn from(error: HostMeasureError) -> Self {
        Self(error.to_string())
    }
}

impl From<ReplayError> for Refused {
    fn from(error: ReplayError) -> Self {
        Self(error.to_string())
    }
}

/// Replays `trace`, without the interpreter. A measured engine is timed on this host, and the
/// calling thread pinned meanwhile.
pub(crate) fn run(
    py: Python<'_>,
    trace: &Trace,
    communicators: &Communicators,
    engine: &Engine,
    network: &Network,
    options: &Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Replayed> {
    let mut config = ReplayConfig::new(network.network.clone());
    let rules = &options.rules;
    config.cpu_scale = rules.cpu_scale;
    config.wildcards = if rules.free_wildcards { Wildcards::Free } else { Wildcards::Recorded };
    config.polls = if rules.recorded_polls { Polls::Recorded } else { Polls::Waiting };
    if !(rules.poll_work_ns >= 0.0 && rules.poll_work_ns <= 1e9) {
        return Err(bad_input(format!("poll_work_ns: found {}, expected 0 to 1000000000", rules.poll_work_ns)));
    }
    config.poll_work = Picos((rules.poll_work_ns * 1000.0).round() as u64);
    config.watched.clone_from(&options.watched);
    config.depths = options.depths && engine.choice.breaks_order().is_none();
    if options.sizing.as_ref().is_some_and(|buckets| buckets.contains(&0)) {
        return Err(bad_input("buckets: found 0, expected at least 1"));
    }
    config.sizing.clone_from(&options.sizing);
    config.snapshots.clone_from(&options.snapshots);
    for (collective, algorithm) in &rules.collectives {
        config.collectives.set(collective, algorithm).map_err(bad_input)?;
    }
    let mut progress = Progress::new(progress);
    let replay = |build: &mut NextEngine<'_>, tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>| {
        mb_replay::replay(trace, communicators, build, engine.choice.placement(), &config, tell)
    };
    let work = || {
        // `Engine::new` has built one from the same parameters, so this cannot fail.
        let builder = engine.choice.builder().expect("the parameters were checked when they were chosen");
        let judgements = Judgements::default();
        let placement = engine.choice.placement();
        let build = || -> Box<dyn ReplayEngine> {
            let built = builder.build();
            let own = engine.choice.own.is_some();
            if own { Box::new(JudgedEngine::new(built, placement, &judgements)) } else { built }
        };
        // Two callers tell of the same work: the replay, and the measurement between two replays.
        let progress = RefCell::new(&mut progress);
        // An engine with times measured before is replayed as a model is.
        let is_timed_here = engine.choice.entry.card.timing == Timing::Measured && build().bare_run(&[]).is_some();
        if !is_timed_here {
            let report = replay(&mut || build(), &mut |done, all| progress.borrow_mut().tell(done, all))?;
            let judgement =
                engine.choice.own.as_ref().map(|_| (judged::sum(&judgements), judged::least_time(placement)));
            return Ok(Replayed { report, measured: None, judgement });
        }
        let pinned = host::Pinned::new();
        let at = Cell::new((0, 1));
        let mut pass = |number: u32, build: &mut NextEngine<'_>| {
            let tell = &mut |done, all| {
                at.set((u64::from(number) * all + done, u64::from(PASSES) * all));
                progress.borrow_mut().tell(at.get().0, at.get().1)
            };
            Ok::<_, Refused>(replay(build, tell)?)
        };
        let mut keep_on = || progress.borrow_mut().tell(at.get().0, at.get().1);
        let found = closed_loop(&build, &Effort::default(), &mut HostClock::new(), &mut pass, &mut keep_on)?;
        let ClosedLoopResult { replay, measurement, same_order } = found;
        let measured = Some((ClosedLoopResult { replay: (), measurement, same_order }, pinned.core));
        Ok::<_, Refused>(Replayed { report: replay, measured, judgement: None })
    };
    let replayed = py.detach(|| EngineFault::catch(work));
    raise_interrupt()?;
    progress.finish()?;
    let named = |fault| {
        let own = engine.choice.own.as_ref().map_or_else(String::new, |own| format!(" of {}", own.origin().path));
        bad_input(format!("engine `{}`{own}: {fault}", engine.choice.spec()))
    };
    replayed.map_err(named)?.map_err(bad_input)
}
