// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Test programs for the user's MPI: generated, encoded for the C runner, judged, shrunk, printed.

#![expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]

use std::collections::BTreeMap;

use mb_conform::codes::Need;
use mb_conform::feature::Feature;
use mb_conform::program::TestProgram;
use mb_conform::report::{Failure, ProgramCounts, judge_run, observations_of};
use mb_conform::{emit, generate, shrink, traits, wire};
use mb_core::names;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::bad_input;

/// Programs for one run of the C runner.
#[pyclass(frozen, module = "matchbench._native")]
pub(crate) struct TestPrograms {
    programs: Vec<TestProgram>,
}

/// Verdicts of one run; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct RunVerdict {
    next: usize,
    failures: Vec<Failed>,
    unexplained: Option<usize>,
    counts: BTreeMap<&'static str, u64>,
}

/// A program that failed; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Failed {
    index: usize,
    kind: &'static str,
    text: String,
}

#[pymethods]
impl TestPrograms {
    /// Generates the programs `first` to `first + count - 1` of `seed`, `without` some features; with
    /// `for_order`, those for the order of matching alone.
    #[new]
    #[pyo3(signature = (seed, first, count, *, ranks, without = Vec::new(), for_order = false))]
    fn new(
        py: Python<'_>,
        seed: u64,
        first: u64,
        count: u64,
        ranks: u8,
        without: Vec<String>,
        for_order: bool,
    ) -> PyResult<Self> {
        let feature = |name: &String| {
            let known = Feature::ALL.iter().find(|(_, known)| known == name).map(|(feature, _)| *feature);
            known.ok_or_else(|| bad_input(names::unknown("feature", name, program_features())))
        };
        let without = without.iter().map(feature).collect::<PyResult<Vec<_>>>()?;
        if !(1..=generate::MAX_RANKS).contains(&ranks) {
            return Err(bad_input(format!("ranks: found {ranks}; expected 1 to {}", generate::MAX_RANKS)));
        }
        let generate = if for_order { generate::generate_for_order } else { generate::generate };
        let make =
            || (first..first.saturating_add(count)).map(|number| generate(seed, number, ranks, &without)).collect();
        Ok(Self { programs: py.detach(make) })
    }

    fn __len__(&self) -> usize {
        self.programs.len()
    }

    /// The program at `index`, as text.
    fn text(&self, index: usize) -> PyResult<String> {
        Ok(self.at(index)?.to_string())
    }

    /// Steps of the program at `index`.
    fn steps(&self, index: usize) -> PyResult<usize> {
        Ok(self.at(index)?.steps.len())
    }

    /// The traits of the program at `index`; features that can be excluded come first.
    fn traits(&self, index: usize) -> PyResult<Vec<&'static str>> {
        Ok(traits::traits(self.at(index)?))
    }

    /// Ranks of the programs.
    #[getter]
    fn ranks(&self) -> u8 {
        self.programs.first().map_or(0, |program| program.ranks)
    }

    /// The file that the C runner reads.
    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| wire::encode(&self.programs)))
    }

    /// Judges the outcome files of a run that began with program `first`.
    fn judge(&self, py: Python<'_>, first: usize, files: Vec<Vec<u8>>) -> PyResult<RunVerdict> {
        let judged = py.detach(|| judge_run(&self.programs, first, &files)).map_err(bad_input)?;
        let failed =
            |(index, failure): (usize, Failure)| Failed { index, kind: failure.kind(), text: failure.to_string() };
        Ok(RunVerdict {
            next: judged.next,
            failures: judged.failures.into_iter().map(failed).collect(),
            unexplained: judged.unexplained,
            counts: counts(&judged.counts),
        })
    }

    /// The programs at `indices`, repeated `times` times.
    fn pick(&self, indices: Vec<usize>, times: usize) -> PyResult<Self> {
        let picked = indices.iter().map(|&index| self.at(index).cloned()).collect::<PyResult<Vec<_>>>()?;
        Ok(Self { programs: (0..times).flat_map(|_| picked.clone()).collect() })
    }

    /// Programs one simplification away from the one at `index`, simplest first; those with fewer
    /// ranks form their own set.
    fn candidates(&self, py: Python<'_>, index: usize) -> PyResult<Vec<Self>> {
        let program = self.at(index)?;
        let all = py.detach(|| shrink::candidates(program));
        let (same, fewer): (Vec<_>, Vec<_>) = all.into_iter().partition(|other| other.ranks == program.ranks);
        let sets = [fewer, same].into_iter().filter(|programs| !programs.is_empty());
        Ok(sets.map(|programs| Self { programs }).collect())
    }

    /// The program at `index`, its steps numbered from 1.
    fn renumbered(&self, index: usize) -> PyResult<Self> {
        let mut program = self.at(index)?.clone();
        program.renumber();
        Ok(Self { programs: vec![program] })
    }

    /// The reproducer of the program at `index` as C, with `remarks` and the `commands` that show the
    /// failure above it, and the outcome files of the failure.
    #[pyo3(signature = (index, remarks, files, seconds, *, commands = Vec::new()))]
    fn c_source(
        &self,
        py: Python<'_>,
        index: usize,
        remarks: Vec<String>,
        files: Vec<Vec<u8>>,
        seconds: u32,
        commands: Vec<String>,
    ) -> PyResult<String> {
        let program = self.at(index)?;
        let write = || {
            let observations = observations_of(&self.programs, index, &files);
            emit::c_source(program, emit::Head { remarks: &remarks, commands: &commands }, &observations, seconds)
        };
        Ok(py.detach(write))
    }
}

/// The sources of the C runner with their names; all `.c` files are compiled together.
#[pyfunction]
pub(crate) fn runner_sources() -> Vec<(&'static str, &'static str)> {
    mb_conform::RUNNER.to_vec()
}

/// The sources of the program of `mpi bench` with their names.
#[pyfunction]
pub(crate) fn bench_sources() -> [(&'static str, &'static str); 3] {
    [
        ("bench.c", include_str!("../../../mpi/bench/bench.c")),
        ("place.c", include_str!("../../../mpi/bench/place.c")),
        ("place.h", include_str!("../../../mpi/bench/place.h")),
    ]
}

/// Features that programs can exclude.
#[pyfunction]
pub(crate) fn program_features() -> Vec<&'static str> {
    Feature::ALL.iter().map(|(_, name)| *name).collect()
}

/// Features that the command line excludes unless they are asked for.
#[pyfunction]
pub(crate) fn optional_features() -> Vec<&'static str> {
    Feature::OPTIONAL.iter().map(|feature| feature.name()).collect()
}

/// The features of programs that a library cannot run which lacks these needs, as the C runner names
/// them.
#[pyfunction]
pub(crate) fn features_lacking(needs: Vec<String>) -> PyResult<Vec<&'static str>> {
    let need = |name: &String| {
        let known = Need::ALL.into_iter().find(|need| format!("{need:?}").to_lowercase() == *name);
        known.ok_or_else(|| bad_input(format!("found {name}; expected what the runner names as lacking")))
    };
    let needs = needs.iter().map(need).collect::<PyResult<Vec<_>>>()?;
    Ok(needs.into_iter().flat_map(Feature::needing).map(|feature| feature.name()).collect())
}

impl TestPrograms {
    fn at(&self, index: usize) -> PyResult<&TestProgram> {
        let none = || bad_input(format!("found program {index}; expected one of {} programs", self.programs.len()));
        self.programs.get(index).ok_or_else(none)
    }
}

fn counts(counts: &ProgramCounts) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("programs", counts.programs),
        ("steps", counts.steps),
        ("outcomes", counts.outcomes),
        ("received", counts.received),
        ("matched_probes", counts.matched_probes),
        ("left_to_the_end", counts.drained),
        ("cancelled", counts.cancelled),
        ("probes_found", counts.found),
        ("probes_missed", counts.missed),
        ("sent", counts.sent),
        ("ready", counts.ready),
        ("buffered", counts.buffered),
        ("started_together", counts.together),
        ("truncated", counts.truncated),
        ("across_groups", counts.across),
        ("isendrecv", counts.isendrecv),
        ("derived", counts.derived),
        ("in_sessions", counts.in_sessions),
        ("partitioned", counts.partitioned),
        ("wide", counts.wide),
        ("threaded", counts.threaded),
        ("shared_threads", counts.shared_threads),
        ("free", counts.free),
        ("unexplained_by_arrival", counts.unexplained),
    ])
}
