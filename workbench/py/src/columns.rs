// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Structures as columns: a dictionary with one list per field, which is what data frames are made of.

use std::collections::BTreeMap;

use mb_core::columns::{Cell, ColumnSpec, Columns};
use mb_measure::{MeasuredKind, MeasuredOn};
use mb_replay::sizing::{SizingBucket, SizingNeed, SizingPoint};
use mb_replay::{DepthRow, RankReport, TimeBin, Totals, VisitsRow, WatchedRow};
use mb_trace::Stats;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Fills `$dict` with one list per `name => value`, the value taken from every item of `$items`. For what is no result
/// table.
macro_rules! columns {
    ($dict:expr, $items:expr, |$item:ident| { $($name:literal => $value:expr),+ $(,)? }) => {
        $( $dict.set_item($name, $items.iter().map(|$item| $value).collect::<Vec<_>>())?; )+
    };
}

pub(crate) use columns;

/// Name, type, unit and meaning of a column.
type Described = (&'static str, &'static str, &'static str, &'static str);

/// The columns that rows of Rust have, by what the rows are.
#[pyfunction]
pub(crate) fn result_columns() -> BTreeMap<&'static str, Vec<Described>> {
    let tables = [
        ("total", Totals::columns()),
        ("ranks", RankReport::columns()),
        ("depths", DepthRow::columns()),
        ("visits", VisitsRow::columns()),
        ("timeline", TimeBin::columns()),
        ("watched", WatchedRow::columns()),
        ("measured_on", MeasuredOn::columns()),
        ("measured_kinds", MeasuredKind::columns()),
        ("stats", Stats::columns()),
        ("sizing_curves", SizingPoint::columns()),
        ("sizing_needs", SizingNeed::columns()),
        ("sizing_buckets", SizingBucket::columns()),
    ];
    let described = |column: ColumnSpec| (column.name, column.kind, column.unit, column.meaning);
    tables
        .into_iter()
        .map(|(name, columns)| (name, columns.into_iter().filter(|column| !column.internal).map(described).collect()))
        .collect()
}

/// One list per column, with a value for each row.
pub(crate) fn table<T: Columns>(py: Python<'_>, rows: impl IntoIterator<Item = T>) -> PyResult<Bound<'_, PyDict>> {
    let rows = rows.into_iter().map(|row| row.cells()).collect::<Vec<_>>();
    let dict = PyDict::new(py);
    for (at, column) in T::columns().iter().enumerate() {
        let values = rows.iter().map(|row| object(py, &row[at])).collect::<PyResult<Vec<_>>>()?;
        dict.set_item(column.name, values)?;
    }
    Ok(dict)
}

/// The value of each column of one row.
pub(crate) fn record<'py, T: Columns>(py: Python<'py>, row: &T) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (column, cell) in T::columns().iter().zip(row.cells()) {
        dict.set_item(column.name, object(py, &cell)?)?;
    }
    Ok(dict)
}

fn object<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Absent => py.None().into_bound(py),
        Cell::Count(count) => count.into_pyobject(py)?.into_any(),
        Cell::Number(number) => number.into_pyobject(py)?.into_any(),
        Cell::Text(text) => text.into_pyobject(py)?.into_any(),
    })
}
