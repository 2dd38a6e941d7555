// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python class of traces: open, check, statistics, records.

use std::path::PathBuf;
use std::sync::OnceLock;

use mb_core::Timing;
use mb_replay::{CutAt, Snapshots};
use mb_trace::Communicators;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use zerocopy::IntoBytes;

use crate::catalog::{Engine, Network};
use crate::columns::table;
use crate::errors::{bad_input, trace_error};
use crate::progress::Progress;
use crate::replay::{self, Options, Replayed, Rules};
use crate::{report, snapshot, stats};

/// The length of a finalized trace file by its first bytes; None for a rank that did not finish.
#[pyfunction]
pub(crate) fn trace_file_bytes(path: PathBuf, first: &[u8]) -> PyResult<Option<u64>> {
    mb_trace::file_bytes(path, first).map_err(trace_error)
}

/// An open trace.
#[pyclass(frozen, module = "matchbench._native")]
pub(crate) struct Trace {
    pub(crate) trace: mb_trace::Trace,
    /// Set by the first check.
    communicators: OnceLock<Communicators>,
}

impl Trace {
    /// The communicators, from the one check of this trace; later calls cost nothing.
    pub(crate) fn checked(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<&Communicators> {
        if let Some(known) = self.communicators.get() {
            return Ok(known);
        }
        let mut progress = Progress::new(progress);
        let total = u64::from(self.trace.ranks());
        let checked = py.detach(|| self.trace.check(|done| progress.tell(u64::from(done), total)));
        progress.finish()?;
        let checked = checked.map_err(trace_error)?;
        Ok(self.communicators.get_or_init(|| checked))
    }

    fn replayed(
        &self,
        py: Python<'_>,
        engine: &Engine,
        network: &Network,
        options: &Options,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Replayed> {
        let communicators = self.checked(py, None)?;
        replay::run(py, &self.trace, communicators, engine, network, options, progress)
    }
}

#[pymethods]
impl Trace {
    /// Opens the trace in directory `path`; records are not checked.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let trace = py.detach(|| mb_trace::Trace::open(path)).map_err(trace_error)?;
        Ok(Self { trace, communicators: OnceLock::new() })
    }

    /// Ranks in the world.
    #[getter]
    fn ranks(&self) -> u32 {
        self.trace.ranks()
    }

    /// Records of all ranks.
    #[getter]
    fn records(&self) -> u64 {
        self.trace.records()
    }

    /// Number of records of every rank.
    fn rank_records(&self) -> Vec<u64> {
        (0..self.trace.ranks()).map(|rank| self.trace.rank(rank).len() as u64).collect()
    }

    /// The state of the trace: the word of `mb_trace::State`.
    #[getter]
    fn state(&self) -> &'static str {
        self.trace.state().word()
    }

    /// How the records of every rank end, by the same words.
    fn ends(&self) -> Vec<&'static str> {
        (0..self.trace.ranks()).map(|rank| self.trace.end(rank).word()).collect()
    }

    /// What is not recorded in detail: omission, name, calls and started processes.
    fn left_out(&self, py: Python<'_>) -> Vec<(&'static str, String, u64, u64)> {
        let all = py.detach(|| self.trace.left_out());
        all.into_iter().map(|each| (each.omission.word(), each.name, each.calls, each.processes)).collect()
    }

    /// Calls, bytes and wall time, ns, of the calls that communicate: `detailed`; `lost`, which take part in
    /// matching and are in the trace by name and time only; `one_sided`; and `polls`, unsuccessful tests and probes,
    /// as calls only.
    fn calls(&self, py: Python<'_>) -> Vec<(&'static str, u64, u64, u64)> {
        let mb_trace::Calls { detailed, lost, one_sided, polls } = py.detach(|| self.trace.calls());
        let polls = mb_trace::CallSum { calls: polls, ..mb_trace::CallSum::default() };
        [("detailed", detailed), ("lost", lost), ("one_sided", one_sided), ("polls", polls)]
            .map(|(name, sum)| (name, sum.calls, sum.bytes, sum.wall_ns))
            .to_vec()
    }

    /// Ranks and processors of every host; empty if the trace does not say.
    fn hosts(&self) -> Vec<(u32, u32)> {
        self.trace.hosts().into_iter().map(|host| (host.ranks, host.processors)).collect()
    }

    /// For every rank that tells: the time for which it was ready to run and waited for a processor
    /// after the initialization of MPI, and the whole time after it, ns.
    fn delays_ns(&self) -> Vec<(u64, u64)> {
        let of = |rank| {
            let end_ns = self.trace.rank(rank).last()?.wall_ns();
            Some((self.trace.delay_ns(rank)?, end_ns.saturating_sub(self.trace.initialized_ns(rank))))
        };
        (0..self.trace.ranks()).filter_map(of).collect()
    }

    /// For every rank, the time until the initialization of MPI returned, ns.
    fn initialized_ns(&self) -> Vec<u64> {
        (0..self.trace.ranks()).map(|rank| self.trace.initialized_ns(rank)).collect()
    }

    /// Checks every record; raises at the first defect.
    #[pyo3(signature = (progress=None))]
    fn check(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        self.checked(py, progress).map(|_| ())
    }

    /// Statistics: one row of numbers per rank and one for all, histograms and collectives of all
    /// ranks.
    #[pyo3(signature = (progress=None))]
    fn stats<'py>(&self, py: Python<'py>, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        let communicators = self.checked(py, None)?;
        let mut progress = Progress::new(progress);
        let total = u64::from(self.trace.ranks());
        let mut ranks = Vec::new();
        let all = py.detach(|| {
            self.trace.stats(communicators, |rank, stats| {
                ranks.push(stats.clone());
                progress.tell(u64::from(rank) + 1, total)
            })
        });
        progress.finish()?;
        let all = all.map_err(trace_error)?;
        let dict = PyDict::new(py);
        dict.set_item("ranks", table(py, &ranks)?)?;
        dict.set_item("histograms", stats::histograms(&all).into_py_dict(py)?)?;
        dict.set_item("collectives", stats::collectives(&all).into_py_dict(py)?)?;
        dict.set_item("total", table(py, [&all])?)?;
        Ok(dict)
    }

    /// Replays the trace on `engine`; the queues of the ranks `watched` are reported one by one. Reports latencies by
    /// search depth with `depths`, and counts entries for sizes if `sizing` gives numbers of buckets, maybe none.
    #[pyo3(signature = (
        engine, network, *, rules, watched=Vec::new(), depths=false, sizing=None,
        progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn replay<'py>(
        &self,
        py: Python<'py>,
        engine: &Engine,
        network: &Network,
        rules: Rules,
        watched: Vec<u32>,
        depths: bool,
        sizing: Option<Vec<u32>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = Options { rules, watched, depths, sizing, snapshots: None };
        report::to_python(py, &self.replayed(py, engine, network, &options, progress)?)
    }

    /// Replays the trace on `engine`. Without `cut`, returns the deepest search of each rank, among the operations of
    /// `communicator` if one is given; with a rank, the number of an operation of it and a number of operations, the
    /// lists before that operation and the operations from it on.
    #[pyo3(signature = (
        engine, network, *, rules, communicator=None, cut=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn snapshot<'py>(
        &self,
        py: Python<'py>,
        engine: &Engine,
        network: &Network,
        rules: Rules,
        communicator: Option<u32>,
        cut: Option<(u32, u64, usize)>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        if engine.choice.entry.card.timing == Timing::Measured {
            return Err(bad_input(format!(
                "engine `{}`: is measured, and orders operations differently in each run; expected a model",
                engine.choice.spec()
            )));
        }
        let at = cut.map(|(rank, first, count)| CutAt { rank, first, count });
        let snapshots = Some(Snapshots { communicator, cut: at });
        let watched = Vec::new();
        let options = Options { rules, watched, depths: false, sizing: None, snapshots };
        let report = self.replayed(py, engine, network, &options, progress)?.report;
        match report.cut {
            Some(cut) if at.is_some() => snapshot::cut(py, &cut),
            _ => snapshot::deepest(py, &report.deepest),
        }
    }

    /// Bytes of the records `start` to `stop` (exclusive) of `rank`, 64 each, as in
    /// `spec/trace.md`.
    fn record_bytes<'py>(
        &self,
        py: Python<'py>,
        rank: u32,
        start: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let records = (rank < self.trace.ranks()).then(|| self.trace.rank(rank)).and_then(|all| all.get(start..stop));
        let records = records.ok_or_else(|| bad_input(format!("rank {rank} has no records {start} to {stop}")))?;
        Ok(PyBytes::new(py, records.as_bytes()))
    }
}
