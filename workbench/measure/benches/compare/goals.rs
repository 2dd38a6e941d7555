// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The goals of `adaptive`, and the verdict of this run on each.
//!
//! Other load on the host only adds to a time: a time is therefore the median of the quietest
//! round, and a ratio is of times of the same round. The cost per entry of a scan is the slope
//! between two quietest times.

use crate::series::DEEPEST;
use crate::table::{Results, Times, digits, times};

/// The structure that the goals are for, and the baseline.
const DEFAULT: &str = "adaptive";
const BASELINE: &str = "list";

/// Series whose item is one receive without wildcards, posted, matched and completed.
const EXACT: &[&str] = &[
    "preposted/tags",
    "preposted/aged",
    "unexpected/tags",
    "unexpected/aged",
    "drain_posted/in_order",
    "drain_posted/reverse",
    "drain_posted/random",
    "drain_posted/aged_random",
    "drain_unexpected/in_order",
    "drain_unexpected/reverse",
    "drain_unexpected/random",
    "drain_unexpected/aged_random",
    "beside/tags",
    "steady/same_tag",
    "churn/posted",
];
/// More of these, which have goals in ratios only.
const EXACT_IN_RATIOS: &[&str] = &[
    "preposted/same_tag",
    "preposted/sources",
    "unexpected/same_tag",
    "drain_posted/same_tag",
    "drain_unexpected/same_tag",
];
/// Series whose item scans all entries, or could.
const SCANS: &[&str] = &[
    "probe/any_source",
    "probe/any_tag",
    "probe/mask",
    "unexpected/any_source",
    "unexpected/mask",
    "preposted/any_source",
    "preposted/any_tag",
    "preposted/masks_2",
    "preposted/masks_32",
];
/// Limits in nanoseconds of an exact item, and of each entry of a scan.
const EXACT_NS: f64 = 15.0;
const ENTRY_NS: f64 = 0.2;
/// The cost per entry is the slope from the first of these depths to one of at least the second.
const FIRST_ENTRIES: u32 = 64;
const LEAST_ENTRIES: u32 = 256;
/// Depths at which a linked list is fast.
const SHALLOW: std::ops::RangeInclusive<u32> = 1..=8;
/// Largest ratio to the baseline; two runs of the same code may differ by as much.
const SAME: f64 = 1.05;
/// Largest ratios of an exact item to that of other contenders.
const UCX_RATIO: f64 = 0.3;
const FLOOR_RATIO: f64 = 4.0;
/// A cliff is a cost beyond the second-level cache of more than this factor of that within it, as
/// in `matchbench mpi bench`.
const WITHIN: u32 = 4096;
const CLIFF: f64 = 2.0;

/// A value of one cell, its times, and their ratio to the baseline.
struct Found {
    series: String,
    depth: u32,
    value: f64,
    quietest: f64,
    median: f64,
    ratio: Option<f64>,
}

pub(crate) fn print(results: &Results, loads: &Times) {
    let Some(load) = loads.quietest() else { return };
    println!("\ndependent load from the first-level cache, the unit `loads`: {load:.2} ns");
    let quietest = |name: &str, depth| times(results, name, depth, DEFAULT)?.quietest();
    let of = |series: &[&str], value: &dyn Fn(&str, u32, f64) -> Option<f64>| {
        worst(results, |found| {
            series.contains(&&*found.series).then(|| value(&found.series, found.depth, found.quietest)).flatten()
        })
    };
    let verdict = |goal: &str, limit: f64, found: Option<Found>| match found {
        None => println!("not run   {goal}"),
        Some(found) => {
            let word = if found.value <= limit { "met    " } else { "not met" };
            println!("{word}   {goal}");
            let Found { series, depth, value, quietest, median, ratio } = found;
            let [value, quiet, median, loads] = [value, quietest, median, quietest / load].map(digits);
            let ratio = ratio.map_or(String::new(), |ratio| format!(", {} x {BASELINE}", digits(ratio)));
            println!(
                "          worst {value}: {series} at depth {depth}, {quiet} ns = {loads} loads (median {median}){ratio}"
            );
        }
    };
    println!("{DEFAULT}, against its goals:");
    verdict(
        &format!("post, match and complete of an exact receive: at most {EXACT_NS} ns at any depth, in any order"),
        EXACT_NS,
        of(EXACT, &|_, _, ns| Some(ns)),
    );
    verdict(
        &format!("scan with a wildcard: at most {ENTRY_NS} ns for each entry beyond {FIRST_ENTRIES}"),
        ENTRY_NS,
        of(SCANS, &|name, depth, ns| {
            let first = quietest(name, FIRST_ENTRIES)?;
            (depth >= LEAST_ENTRIES).then(|| (ns - first) / f64::from(depth - FIRST_ENTRIES))
        }),
    );
    verdict(
        &format!("no slower than {BASELINE} at depths 1 to 8, all series: at most {SAME} times"),
        SAME,
        worst(results, |found| found.ratio.filter(|_| SHALLOW.contains(&found.depth))),
    );
    verdict(
        &format!("no cliff: an exact receive at {DEEPEST} takes at most {CLIFF} times that at {WITHIN}"),
        CLIFF,
        of(EXACT, &|name, depth, _| {
            let times = |depth| times(results, name, depth, DEFAULT);
            if depth == DEEPEST { times(depth)?.ratio(times(WITHIN)?) } else { None }
        }),
    );
    let is_exact = |series: &str| EXACT.contains(&series) || EXACT_IN_RATIOS.contains(&series);
    for (depths, what) in [(0..=8, "at depths 0 to 8"), (9..=DEEPEST, "deeper")] {
        for (other, limit) in [("ucx", UCX_RATIO), ("floor", FLOOR_RATIO)] {
            let goal = format!("an exact receive, {what}: at most {limit} times {other}");
            print_ratios(results, &goal, limit, other, |series, depth| is_exact(series) && depths.contains(&depth));
        }
    }
    let goal = format!("all series at depths 0 to 8: at most {SAME} times {BASELINE}");
    print_ratios(results, &goal, SAME, BASELINE, |_, depth| depth <= *SHALLOW.end());
}

/// The goal of a ratio to another contender: how many cells miss it, by the quietest rounds and by the medians of the
/// ratios within a round, and the worst of each.
fn print_ratios(results: &Results, goal: &str, limit: f64, other: &str, belongs: impl Fn(&str, u32) -> bool) {
    let mut cells: Vec<[(f64, String); 2]> = Vec::new();
    for ((series, depth, name), found) in results {
        let others = times(results, series, *depth, other);
        if name == DEFAULT
            && belongs(series, *depth)
            && let (Some(quietest), Some(others)) = (found.quietest(), others)
            && let (Some(others_quietest), Some(median)) = (others.quietest(), found.ratio(others))
        {
            let cell = format!("{series} at depth {depth}");
            cells.push([(quietest / others_quietest, cell.clone()), (median, cell)]);
        }
    }
    let [quietest, medians] = [0, 1].map(|by| {
        let worst = cells.iter().map(|cell| &cell[by]).max_by(|one, other| one.0.total_cmp(&other.0));
        let above = cells.iter().filter(|cell| cell[by].0 > limit).count();
        worst.map(|(ratio, cell)| (above, format!("{above} of {} cells above, worst {ratio:.3}: {cell}", cells.len())))
    });
    let (Some((_, quietest)), Some((above, medians))) = (quietest, medians) else {
        return println!("not run   {goal}");
    };
    println!("{}   {goal}", if above == 0 { "met    " } else { "not met" });
    println!("          by medians of the ratios in a round: {medians}");
    println!("          by quietest rounds: {quietest}");
}

/// The cell of `adaptive` with the greatest `value`.
fn worst(results: &Results, value: impl Fn(&Found) -> Option<f64>) -> Option<Found> {
    let found = results.iter().filter(|((_, _, name), _)| name == DEFAULT).filter_map(|((series, depth, _), found)| {
        let (series, depth, quietest, median) = (series.clone(), *depth, found.quietest()?, found.median()?);
        let ratio = times(results, &series, depth, BASELINE).and_then(|list| found.ratio(list));
        let mut found = Found { series, depth, value: 0.0, quietest, median, ratio };
        found.value = value(&found)?;
        Some(found)
    });
    found.max_by(|one, other| one.value.total_cmp(&other.value))
}
