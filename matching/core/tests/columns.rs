// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A column that is declared at a field arrives in names, units, meanings, cells and sums.

use mb_core::Picos;
use mb_core::columns::{Cell, ColumnSpec, Columns, Mergeable};

#[derive(Default, Columns, Mergeable)]
struct Inner {
    /// Entries that left.
    #[column(unit = "entries")]
    left: u64,
}

#[derive(Default, Columns, Mergeable)]
struct Row {
    /// When the last one ended.
    ///
    /// For readers of the code.
    #[merge(max)]
    end: Picos,
    /// Time of all
    /// of them.
    work: Picos,
    /// PRQ entries.
    #[column(unit = "entries")]
    #[merge(max)]
    longest: u32,
    #[column(nested)]
    inner: Inner,
    /// For another program.
    #[column(internal)]
    hidden: u64,
    #[column(none)]
    #[computed(mean_ns: Option<f64> = (self.times.len() > 1).then(|| self.work.as_ns() / 2.0), meaning = "mean time")]
    #[computed(times: u64 = self.times.iter().sum(), unit = "calls", meaning = "calls of each")]
    times: Vec<u64>,
    /// Who.
    #[merge(keep)]
    name: &'static str,
}

fn row() -> Row {
    let inner = Inner { left: 5 };
    Row { end: Picos(3000), work: Picos(500), longest: 7, inner, hidden: 1, times: vec![2], name: "mine" }
}

#[test]
fn a_field_is_a_column_with_its_name_type_unit_and_meaning() {
    let column = |name, kind, unit, meaning| ColumnSpec { name, kind, unit, meaning, internal: name == "hidden" };
    let expected = [
        column("end_ns", "f64", "ns", "when the last one ended"),
        column("work_ns", "f64", "ns", "time of all of them"),
        column("longest", "i64", "entries", "PRQ entries"),
        column("left", "i64", "entries", "entries that left"),
        column("hidden", "i64", "", "for another program"),
        column("mean_ns", "f64", "ns", "mean time"),
        column("times", "i64", "calls", "calls of each"),
        column("name", "str", "", "who"),
    ];
    assert_eq!(Row::columns(), expected);
}

#[test]
fn cells_are_in_the_order_of_the_columns_and_times_are_nanoseconds() {
    let expected = [
        Cell::Number(3.0),
        Cell::Number(0.5),
        Cell::Count(7),
        Cell::Count(5),
        Cell::Count(1),
        Cell::Absent,
        Cell::Count(2),
        Cell::Text("mine".to_owned()),
    ];
    assert_eq!(row().cells(), expected);
}

#[test]
fn a_field_is_added_unless_it_says_how_it_merges() {
    let mut sum = row();
    let other = Row {
        end: Picos(2000),
        work: Picos(u64::MAX),
        longest: 9,
        inner: Inner { left: 1 },
        hidden: 1,
        times: vec![1, 4],
        name: "other",
    };
    sum.merge(&other);
    assert_eq!((sum.end, sum.work, sum.longest), (Picos(3000), Picos(u64::MAX), 9));
    assert_eq!((sum.inner.left, sum.hidden, sum.times, sum.name), (6, 2, vec![3, 4], "mine"));
}
