// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Result columns: the fields of a struct are the one declaration of the columns of its rows.
//!
//! [`Columns`] gives names, types, units and meanings, and the cells of a row. [`Mergeable`] gives the row of several
//! receivers from those of each. Both are derived; the binding, the tables in Python and `spec/results.md` follow.

use std::collections::BTreeMap;

use crate::time::Picos;

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnSpec {
    /// Its name; that of a time ends in `_ns`.
    pub name: &'static str,
    /// Its type, in the words of `spec/results.md`, R-5.
    pub kind: &'static str,
    /// Its unit; empty for text and for numbers without one.
    pub unit: &'static str,
    /// What its values say.
    pub meaning: &'static str,
    /// It is given to Python, and no table has it.
    pub internal: bool,
}

/// A value of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// No value.
    Absent,
    /// A count.
    Count(u64),
    /// A number with a fraction.
    Number(f64),
    /// A word or a text.
    Text(String),
}

/// A row of a table. [`derive@crate::columns::Columns`] implements it for a struct.
pub trait Columns {
    /// The columns, in the order of the table.
    fn columns() -> Vec<ColumnSpec>;

    /// The values, in the same order.
    fn cells(&self) -> Vec<Cell>;
}

/// Numbers of one receiver that can be added to those of others.
pub trait Mergeable {
    /// Adds `other`. Sums saturate.
    fn merge(&mut self, other: &Self);
}

pub use mb_derive::{Columns, Mergeable};

/// The type of a field that is one column.
pub trait CellValue {
    /// The type of the column, in the words of `spec/results.md`, R-5.
    const KIND: &'static str;

    /// The value.
    fn cell(&self) -> Cell;
}

impl<T: Columns> Columns for &T {
    fn columns() -> Vec<ColumnSpec> {
        T::columns()
    }

    fn cells(&self) -> Vec<Cell> {
        T::cells(self)
    }
}

impl<T: CellValue> CellValue for Option<T> {
    const KIND: &'static str = T::KIND;

    fn cell(&self) -> Cell {
        self.as_ref().map_or(Cell::Absent, T::cell)
    }
}

/// Implements [`CellValue`] for types, by an expression of their value.
macro_rules! cell_values {
    ($($type:ty: $kind:literal = |$value:ident| $cell:expr;)+) => {$(
        impl CellValue for $type {
            const KIND: &'static str = $kind;

            fn cell(&self) -> Cell {
                let $value = self;
                $cell
            }
        }
    )+};
}

cell_values! {
    u32: "i64" = |value| Cell::Count(u64::from(*value));
    u64: "i64" = |value| Cell::Count(*value);
    usize: "i64" = |value| Cell::Count(*value as u64);
    f64: "f64" = |value| Cell::Number(*value);
    Picos: "f64" = |value| Cell::Number(value.as_ns());
    &'static str: "str" = |value| Cell::Text((*value).to_owned());
    String: "str" = |value| Cell::Text(value.clone());
}

impl Mergeable for u64 {
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

impl Mergeable for Picos {
    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }
}

impl<T: Mergeable, const N: usize> Mergeable for [T; N] {
    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.iter_mut().zip(other) {
            mine.merge(theirs);
        }
    }
}

impl<T: Mergeable + Default> Mergeable for Vec<T> {
    fn merge(&mut self, other: &Self) {
        if other.len() > self.len() {
            self.resize_with(other.len(), T::default);
        }
        for (mine, theirs) in self.iter_mut().zip(other) {
            mine.merge(theirs);
        }
    }
}

impl<K: Ord + Clone, T: Mergeable + Default> Mergeable for BTreeMap<K, T> {
    fn merge(&mut self, other: &Self) {
        for (key, theirs) in other {
            self.entry(key.clone()).or_default().merge(theirs);
        }
    }
}
