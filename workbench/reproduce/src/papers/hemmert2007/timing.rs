// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections 4.3, 5.1 and 6.1: cycles of the match unit and of the bound, and their ratio.
//!
//! The paper counts in two ways that contradict each other (`docs/reproduce.md`), so most of this
//! has several interpretations.

use std::collections::BTreeSet;

use super::figure5::{HEADERS, LENGTHS};
use mb_unit::list_manager::List;

use super::Subject;
use super::subject::{Point, cycles, header, list};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, cannot, count, differs, measure, number, shown};
use crate::error::MeasureError;
use crate::verdict::Measured;

const STREAM: &str = "64 headers in a stream";
const ALONE: &str = "headers one by one";
const COUNTED: &str = "only what section 6.1 counts";

const STREAM_STATED: &str = "64 headers in a stream, bound 8 + 8 n";
const STREAM_REPORTED: &str = "64 headers in a stream, bound 17 + 8 n";
const ALONE_REPORTED: &str = "headers one by one, bound 17 + 8 n";
const COUNTED_STATED: &str = "only what section 6.1 counts, bound 8 + 8 n";

const INPUT: &str = "an input that the model is built from";

/// Why totals by the formula of section 6.1 differ.
const WHOLE: &str = "Section 6.1 leaves out the ninth word of the header code and the flush of the extra item, which \
     sections 4.3 and 5.4 include. With both, a stream of headers takes 21 + 8 n cycles for each.";

/// Why totals by the segments of section 4.3 differ.
const OVERLAP: &str = "A header that matches its first item takes {hemmert2007.mu.cycles_single_match_min} cycles by itself and \
     {hemmert2007.mu.cycles_single_match_min @ 64 headers in a stream:.0} in a stream. The difference is pipeline \
     stages of the last word, which overlap with the next header.";

/// Why the printed percentages differ.
const BOUND: &str = "The printed percentages are 6 / (23 + 8 n), which implies a bound of 17 + 8 n. Section 6.1 \
     states 8 + 8 n, and against that bound each of the counts that were tried gives more.";

pub(super) const TESTS: &[ClaimTest<Subject>] = &[
    measure("hemmert2007.mu.cycles_single_match_min", single_match),
    measure("hemmert2007.mu.cycles_per_item_traversed", |subject| number(slope(subject, |point| point.unit.streamed))),
    measure("hemmert2007.mu.item_floor", least_item_cycles),
    measure("hemmert2007.mu.cycles_item_failed", |subject| number(slope(subject, |point| point.unit.one_by_one))),
    measure("hemmert2007.mu.cycles_item_matched", matched_item),
    measure("hemmert2007.mu.cycles_flush", flush),
    measure("hemmert2007.mu.total_29", totals),
    differs("hemmert2007.mu.total_31", totals, OVERLAP),
    differs("hemmert2007.mu.total_formula", totals, WHOLE),
    differs("hemmert2007.mu.total_n1", |subject| total(subject, 1), WHOLE),
    differs("hemmert2007.mu.total_n3", |subject| total(subject, 3), WHOLE),
    differs("hemmert2007.mu.total_n10", |subject| total(subject, 10), WHOLE),
    differs("hemmert2007.mu.total_n30", |subject| total(subject, 30), WHOLE),
    differs("hemmert2007.mu.total_n100", |subject| total(subject, 100), WHOLE),
    differs("hemmert2007.mu.total_n300", |subject| total(subject, 300), WHOLE),
    differs("hemmert2007.mu.penalty_per_match", |subject| penalty(subject, HEADERS), WHOLE),
    differs("hemmert2007.mu.penalty_total", |subject| penalty(subject, 1), WHOLE),
    measure("hemmert2007.mu.penalty_per_item", |subject| {
        number(slope(subject, |point| point.unit.streamed) - slope(subject, |point| point.stated))
    }),
    differs(
        "hemmert2007.mu.fraction_of_hw_10",
        |subject| against_bound(subject, 10, |bound, unit| bound / unit),
        BOUND,
    ),
    differs("hemmert2007.mu.overhead_start", |subject| overhead(subject, 1), BOUND),
    differs("hemmert2007.mu.overhead_30", |subject| overhead(subject, 30), BOUND),
    differs("hemmert2007.mu.within_20pct_1", |subject| overhead(subject, 1), BOUND),
    differs("hemmert2007.mu.within_6pct_10", |subject| overhead(subject, 10), BOUND),
    measure("hemmert2007.mu.match_rate_1", match_rate),
    measure("hemmert2007.mu.item_time_ns", item_time),
    shown("hemmert2007.hw.header_cycles", |subject| number(intercept(subject, |point| point.stated)), INPUT),
    shown("hemmert2007.hw.item_cycles", |subject| number(slope(subject, |point| point.stated)), INPUT),
    measure("hemmert2007.hw.time_formula", |subject| {
        Ok(vec![Interpretation::new("", series(subject, |point| point.stated / HEADERS))])
    }),
    measure("hemmert2007.hw.total_formula", |subject| {
        Ok(vec![Interpretation::new("", series(subject, |point| point.stated))])
    }),
    measure("hemmert2007.hw.total_n1", |subject| number(subject.at(1)?.stated as f64)),
    measure("hemmert2007.hw.total_n3", |subject| number(subject.at(3)?.stated as f64)),
    measure("hemmert2007.hw.total_n10", |subject| number(subject.at(10)?.stated as f64)),
    measure("hemmert2007.hw.total_n30", |subject| number(subject.at(30)?.stated as f64)),
    measure("hemmert2007.hw.total_n100", |subject| number(subject.at(100)?.stated as f64)),
    measure("hemmert2007.hw.total_n300", |subject| number(subject.at(300)?.stated as f64)),
    measure("hemmert2007.bench.matches", matches),
    measure("hemmert2007.bench.depth_points", depth_points),
    measure("hemmert2007.bench.list_lengths", |subject| {
        let lengths: BTreeSet<_> = subject.points.iter().map(|point| point.length).collect();
        Ok(vec![Interpretation::new("", Measured::Numbers(lengths.iter().map(|&length| length as f64).collect()))])
    }),
    measure("hemmert2007.bench.no_delete", deletions),
    cannot("hemmert2007.clock", INPUT),
];

fn three(stream: Measured, alone: Measured, counted: Measured) -> Vec<Interpretation> {
    vec![Interpretation::new(STREAM, stream), Interpretation::new(ALONE, alone), Interpretation::new(COUNTED, counted)]
}

/// Total cycles at every depth, in the three interpretations.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
fn totals(subject: &Subject) -> Interpretations {
    Ok(three(
        series(subject, |point| point.unit.streamed),
        series(subject, |point| point.unit.one_by_one),
        series(subject, |point| point.counted),
    ))
}

/// Total cycles at depth `n`, in the three interpretations.
fn total(subject: &Subject, n: usize) -> Interpretations {
    let point = subject.at(n)?;
    let number = |cycles: u64| Measured::Number(cycles as f64);
    Ok(three(number(point.unit.streamed), number(point.unit.one_by_one), number(point.counted)))
}

/// A bound and a time of the unit, both for 64 matches, put together by `of`, in every
/// interpretation.
fn interpretations(point: &Point, of: impl Fn(f64, f64) -> f64) -> Vec<Interpretation> {
    let number = |bound: u64, unit: u64| Measured::Number(of(bound as f64, unit as f64));
    vec![
        Interpretation::new(STREAM_STATED, number(point.stated, point.unit.streamed)),
        Interpretation::calibrated(STREAM_REPORTED, number(point.reported, point.unit.streamed)),
        Interpretation::calibrated(ALONE_REPORTED, number(point.reported, point.unit.one_by_one)),
        Interpretation::new(COUNTED_STATED, number(point.stated, point.counted)),
    ]
}

fn against_bound(subject: &Subject, n: usize, of: fn(f64, f64) -> f64) -> Interpretations {
    Ok(interpretations(subject.at(n)?, of))
}

/// Share of the unit's time beyond the bound. The paper's 94 % and its "within 6 %" at the same
/// depth show that it divides by the unit's time.
fn overhead(subject: &Subject, n: usize) -> Interpretations {
    against_bound(subject, n, |bound, unit| 1.0 - bound / unit)
}

/// Cycles beyond the bound, of 64 matches, divided by `matches`; at the greatest depth.
fn penalty(subject: &Subject, matches: u64) -> Interpretations {
    Ok(interpretations(subject.at(LENGTHS[LENGTHS.len() - 1])?, |bound, unit| (unit - bound) / matches as f64))
}

fn series(subject: &Subject, of: fn(&Point) -> u64) -> Measured {
    Measured::Series(subject.points.iter().map(|point| (point.traversed as i64, of(point) as i64)).collect())
}

/// Cycles per match and item between the first and the deepest point.
fn slope(subject: &Subject, of: fn(&Point) -> u64) -> f64 {
    let deepest = subject.points.iter().max_by_key(|point| point.traversed);
    let first = subject.points.iter().min_by_key(|point| point.traversed);
    let (Some(first), Some(deepest)) = (first, deepest) else { return f64::NAN };
    let items = (deepest.traversed - first.traversed) as u64 * HEADERS;
    (of(deepest) - of(first)) as f64 / items as f64
}

/// Cycles per match without any item, continued from the points.
fn intercept(subject: &Subject, of: fn(&Point) -> u64) -> f64 {
    let slope = slope(subject, of);
    subject.points.first().map_or(f64::NAN, |point| of(point) as f64 / HEADERS as f64 - slope * point.traversed as f64)
}

fn single_match(subject: &Subject) -> Interpretations {
    let stream = subject.at(1)?.unit.streamed as f64 / HEADERS as f64;
    Ok(vec![
        Interpretation::new("one header by itself", Measured::Number(cycles(&subject.search_nth(1)?.events) as f64)),
        Interpretation::new(STREAM, Measured::Number(stream)),
    ])
}

/// The fewest cycles between the first words of two items.
fn least_item_cycles(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(30)?;
    let taken: Vec<_> = search.events.iter().filter_map(|event| event.took.map(|entry| entry.entered)).collect();
    // The header has eight words, then every eighth word begins an item.
    let begins: Vec<_> = taken.iter().skip(8).step_by(8).collect();
    let least = begins.windows(2).map(|pair| pair[1] - pair[0]).min();
    number(least.ok_or(MeasureError::NotSeen("a second item"))? as f64)
}

fn matched_item(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(1)?;
    number(cycles(&subject.in_segments(&search.events, &["shared", "fast", "slow"])?) as f64)
}

/// Cycles in which words of the flush are issued.
fn flush(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(1)?;
    let flush = subject.in_segments(&search.events, &["flush"])?;
    let [first, .., last] = &flush[..] else { return Err(MeasureError::NotSeen("the flush")) };
    number((last.cycle + 1 - first.cycle) as f64)
}

/// Matches that are completed in a second, whole ones.
fn match_rate(subject: &Subject) -> Interpretations {
    let rate = |cycles: u64| Measured::Number((subject.clock.hertz() * HEADERS / cycles) as f64);
    let point = subject.at(1)?;
    Ok(vec![
        Interpretation::new(ALONE, rate(point.unit.one_by_one)),
        Interpretation::new(STREAM, rate(point.unit.streamed)),
    ])
}

fn item_time(subject: &Subject) -> Interpretations {
    number(slope(subject, |point| point.unit.streamed) * 1e9 / subject.clock.hertz() as f64)
}

/// Words of a measured point over words of one search of the same depth.
fn matches(subject: &Subject) -> Interpretations {
    number(subject.at(10)?.unit.words as f64 / subject.search_nth(10)?.events.len() as f64)
}

fn depth_points(subject: &Subject) -> Interpretations {
    count(subject.points.iter().map(|point| point.percent).collect::<BTreeSet<_>>().len())
}

/// Items that are gone after 64 matches.
fn deletions(subject: &Subject) -> Interpretations {
    let mut machine = subject.machine(subject.memory, &list(10))?;
    let before = machine.lists().len(List::Posted);
    for _ in 0..HEADERS {
        machine.search(List::Posted, header().words(), 0, &mut ())?;
    }
    count(before - machine.lists().len(List::Posted))
}
