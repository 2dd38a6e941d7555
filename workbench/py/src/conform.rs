// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Trials of the user's MPI: made, written for the interpreter, judged, shrunk, printed.

#![expect(clippy::needless_pass_by_value, reason = "what comes from Python is converted into values of its own")]

use std::collections::BTreeMap;

use mb_conform::generate::Feature;
use mb_conform::program::Program;
use mb_conform::report::{Counts, Failure, judge_run, news_of};
use mb_conform::{emit, generate, shrink, wire};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::bad_input;

/// Programs for one run of the interpreter.
#[pyclass(frozen, module = "matchbench._native")]
pub(crate) struct Trials {
    programs: Vec<Program>,
}

/// What one run showed; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Judged {
    next: usize,
    failures: Vec<Failed>,
    unexplained: Option<usize>,
    counts: BTreeMap<&'static str, u64>,
}

/// A program that failed; a dictionary in Python.
#[derive(IntoPyObject)]
pub(crate) struct Failed {
    place: usize,
    kind: &'static str,
    text: String,
}

#[pymethods]
impl Trials {
    /// Makes the programs `first` to `first + count - 1` of `seed`, `without` some features.
    #[new]
    #[pyo3(signature = (seed, first, count, *, ranks, without = Vec::new()))]
    fn new(py: Python<'_>, seed: u64, first: u64, count: u64, ranks: u8, without: Vec<String>) -> PyResult<Self> {
        let feature = |name: &String| {
            let known = Feature::ALL.iter().find(|(_, known)| known == name).map(|(feature, _)| *feature);
            known.ok_or_else(|| bad_input(format!("{name}: programs have no such feature")))
        };
        let without = without.iter().map(feature).collect::<PyResult<Vec<_>>>()?;
        if !(1..=generate::MOST_RANKS).contains(&ranks) {
            return Err(bad_input(format!("programs are for 1 to {} ranks, not {ranks}", generate::MOST_RANKS)));
        }
        let make = || {
            (first..first.saturating_add(count))
                .map(|number| generate::generate(seed, number, ranks, &without))
                .collect()
        };
        Ok(Self { programs: py.detach(make) })
    }

    fn __len__(&self) -> usize {
        self.programs.len()
    }

    /// The program at `place`, as text.
    fn text(&self, place: usize) -> PyResult<String> {
        Ok(self.at(place)?.to_string())
    }

    /// Steps of the program at `place`.
    fn steps(&self, place: usize) -> PyResult<usize> {
        Ok(self.at(place)?.steps.len())
    }

    /// Ranks of the programs.
    #[getter]
    fn ranks(&self) -> u8 {
        self.programs.first().map_or(0, |program| program.ranks)
    }

    /// The file that the interpreter reads.
    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| wire::encode(&self.programs)))
    }

    /// Judges what the ranks wrote in a run that began at `first`.
    fn judge(&self, py: Python<'_>, first: usize, files: Vec<Vec<u8>>) -> PyResult<Judged> {
        let judged = py.detach(|| judge_run(&self.programs, first, &files)).map_err(bad_input)?;
        let failed =
            |(place, failure): (usize, Failure)| Failed { place, kind: failure.kind(), text: failure.to_string() };
        Ok(Judged {
            next: judged.next,
            failures: judged.failures.into_iter().map(failed).collect(),
            unexplained: judged.unexplained,
            counts: counts(&judged.counts),
        })
    }

    /// The programs at `places`, all of them `times` over.
    fn pick(&self, places: Vec<usize>, times: usize) -> PyResult<Self> {
        let picked = places.iter().map(|&place| self.at(place).cloned()).collect::<PyResult<Vec<_>>>()?;
        Ok(Self { programs: (0..times).flat_map(|_| picked.clone()).collect() })
    }

    /// Programs that are one move simpler than the one at `place`, the simplest first, for as many ranks or for fewer.
    fn candidates(&self, py: Python<'_>, place: usize) -> PyResult<Vec<Self>> {
        let program = self.at(place)?;
        let all = py.detach(|| shrink::candidates(program));
        let (same, fewer): (Vec<_>, Vec<_>) = all.into_iter().partition(|other| other.ranks == program.ranks);
        let sets = [fewer, same].into_iter().filter(|programs| !programs.is_empty());
        Ok(sets.map(|programs| Self { programs }).collect())
    }

    /// The program at `place`, its steps numbered from 1.
    fn renumbered(&self, place: usize) -> PyResult<Self> {
        let mut program = self.at(place)?.clone();
        program.renumber();
        Ok(Self { programs: vec![program] })
    }

    /// The program at `place` in C, with `remarks` above it and what the ranks wrote about it.
    fn c_source(
        &self,
        py: Python<'_>,
        place: usize,
        remarks: Vec<String>,
        files: Vec<Vec<u8>>,
        seconds: u32,
    ) -> PyResult<String> {
        let program = self.at(place)?;
        let write = || {
            let news = news_of(&self.programs, place, &files);
            emit::c_source(program, &remarks, &news, seconds)
        };
        Ok(py.detach(write))
    }
}

/// The C program that performs trials: every source file with its text, the one to compile first.
#[pyfunction]
pub(crate) fn runner_sources() -> Vec<(&'static str, &'static str)> {
    mb_conform::RUNNER.to_vec()
}

/// What programs can do without.
#[pyfunction]
pub(crate) fn trial_features() -> Vec<&'static str> {
    Feature::ALL.iter().map(|(_, name)| *name).collect()
}

impl Trials {
    fn at(&self, place: usize) -> PyResult<&Program> {
        let none = || bad_input(format!("there is no program {place} among {}", self.programs.len()));
        self.programs.get(place).ok_or_else(none)
    }
}

fn counts(counts: &Counts) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("programs", counts.programs),
        ("steps", counts.steps),
        ("outcomes", counts.outcomes),
        ("received", counts.received),
        ("matched_probes", counts.plucked),
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
        ("free", counts.free),
        ("unexplained_by_arrival", counts.unexplained),
    ])
}
