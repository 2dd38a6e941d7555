// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The deepest searches of a replay, and the lists and operations from one point on, for Python.

use mb_core::{Initiator, Op, Pattern};
use mb_replay::{Cut, CutOp, Deepest, MatchedEntry};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;

/// The network or process that a pattern names; none for any.
fn initiator(of: Option<Initiator>) -> Option<u32> {
    of.map(|initiator| initiator.0)
}

/// The kind of an operation, and what it is matched by: a message ignores nothing and names its sender.
fn matched_by(op: Op) -> (&'static str, Pattern) {
    match op {
        Op::Post { pattern, .. } => ("receive", pattern),
        Op::Probe { pattern, .. } => ("probe", pattern),
        Op::MatchedProbe { pattern, .. } => ("matched probe", pattern),
        Op::Arrive { envelope, .. } => ("message", Pattern::exactly(envelope)),
        Op::Cancel { .. } => unreachable!("a cut has no cancels"),
    }
}

/// The deepest search of each rank.
pub(crate) fn deepest<'py>(py: Python<'py>, ranks: &[Deepest]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    columns!(dict, ranks, |rank| {
        "operation" => rank.operation,
        "at_ns" => rank.at.as_ns(),
        "depth" => rank.depth,
        "operations" => rank.operations,
    });
    Ok(dict)
}

/// The lists at one point and the operations from then on.
pub(crate) fn cut<'py>(py: Python<'py>, cut: &Cut) -> PyResult<Bound<'py, PyDict>> {
    let posted = PyDict::new(py);
    columns!(posted, cut.posted, |pattern| {
        "bits" => pattern.bits,
        "ignore" => pattern.ignore,
        "initiator" => initiator(pattern.initiator),
    });
    let unexpected = PyDict::new(py);
    let messages: Vec<_> = cut.unexpected.iter().map(|message| Pattern::exactly(*message)).collect();
    columns!(unexpected, messages, |pattern| {
        "bits" => pattern.bits,
        "ignore" => pattern.ignore,
        "initiator" => initiator(pattern.initiator),
    });
    let operations = PyDict::new(py);
    let rows: Vec<_> = cut.operations.iter().map(|of: &CutOp| (of, matched_by(of.op))).collect();
    columns!(operations, rows, |row| {
        "at_ps" => row.0.at.0,
        "kind" => row.1.0,
        "bits" => row.1.1.bits,
        "ignore" => row.1.1.ignore,
        "initiator" => initiator(row.1.1.initiator),
        "found" => match row.0.found {
            MatchedEntry::Nothing => None,
            MatchedEntry::Listed(position) => Some(("listed", position)),
            MatchedEntry::Left(operation) => Some(("left", operation)),
        },
    });
    let all = PyDict::new(py);
    all.set_item("posted", posted)?;
    all.set_item("unexpected", unexpected)?;
    all.set_item("operations", operations)?;
    all.set_item("cancelled", cut.cancelled)?;
    Ok(all)
}
