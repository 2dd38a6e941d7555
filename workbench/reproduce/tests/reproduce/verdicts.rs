// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules of verdicts, each from both sides.

use mb_reproduce::ledger::{self, Claim};
use mb_reproduce::verdict::Verdict::{Differs, Holds, Near};
use mb_reproduce::verdict::{Measured, Verdict, judge};

fn claim(precision: &str, value: &str, testable_by: &str) -> Claim {
    let text = format!(
        "[[section]]\npaper = \"hemmert2007\"\ntestable_by = \"{testable_by}\"\n[[section.claim]]\nid = \"hemmert2007.a.b\"\nwhere = \"1\"\nsystem = \"mu\"\nstatement = \"s\"\nquantity = \"q\"\n\
         value = {value}\nunit = \"u\"\nconditions = \"c\"\nprecision = \"{precision}\"\n"
    );
    ledger::read("try.toml", &text).unwrap().remove(0)
}

fn verdict(precision: &str, value: &str, measured: &Measured) -> Verdict {
    judge(&claim(precision, value, "cycle model"), measured).unwrap().verdict
}

fn number(precision: &str, value: &str, ours: f64) -> Verdict {
    verdict(precision, value, &Measured::Number(ours))
}

#[test]
fn an_exact_number_is_equal_or_differs() {
    assert_eq!(number("exact", "44", 44.0), Holds);
    assert_eq!(number("exact", "44", 45.0), Differs);
    assert_eq!(number("exact", "10000", 10001.0), Differs);
}

#[test]
fn exact_numbers_are_equal_in_order_or_differ() {
    assert_eq!(verdict("exact", "[16, 24]", &Measured::Numbers(vec![16.0, 24.0])), Holds);
    assert_eq!(verdict("exact", "[16, 24]", &Measured::Numbers(vec![24.0, 16.0])), Differs);
    assert_eq!(verdict("exact", "[16, 24]", &Measured::Numbers(vec![16.0])), Differs);
}

#[test]
fn a_rounded_number_holds_to_the_printed_digits() {
    assert_eq!(number("rounded", "0.19", 0.1949), Holds);
    assert_eq!(number("rounded", "0.19", 0.1951), Near);
    assert_eq!(number("rounded", "8", 8.49), Holds);
    assert_eq!(number("rounded", "8", 8.51), Near);
    assert_eq!(number("rounded", "1.0", 1.06), Near);
}

#[test]
fn a_rounded_number_is_near_within_ten_percent() {
    assert_eq!(number("rounded", "100", 109.9), Near);
    assert_eq!(number("rounded", "100", 110.1), Differs);
    assert_eq!(number("rounded", "100", 90.1), Near);
    assert_eq!(number("rounded", "100", 89.9), Differs);
}

#[test]
fn a_rounded_number_of_a_processor_model_holds_within_ten_percent_and_is_near_within_25() {
    let claim = claim("rounded", "100", "execution-driven cpu model");
    let verdict = |ours: f64| judge(&claim, &Measured::Number(ours)).unwrap().verdict;
    assert_eq!([109.9, 110.1, 124.9, 125.1].map(verdict), [Holds, Near, Near, Differs]);
}

#[test]
fn an_approximate_number_holds_within_25_percent_and_is_near_within_50() {
    assert_eq!([74.9, 75.1, 124.9, 125.1].map(|ours| number("approx", "100", ours)), [Near, Holds, Holds, Near]);
    assert_eq!([49.9, 50.1, 149.9, 150.1].map(|ours| number("approx", "100", ours)), [Differs, Near, Near, Differs]);
}

#[test]
fn a_lower_limit_is_kept_or_missed() {
    assert_eq!([31.0, 30.9, 28.0, 27.8].map(|ours| number("at-least", "31", ours)), [Holds, Near, Near, Differs]);
    assert_eq!([2.1, 2.0].map(|ours| number("at-least", "\"> 2\"", ours)), [Holds, Near]);
}

#[test]
fn an_upper_limit_is_kept_or_missed() {
    assert_eq!([0.2, 0.21, 0.23].map(|ours| number("at-most", "\"<= 0.20\"", ours)), [Holds, Near, Differs]);
    assert_eq!([0.009, 0.01].map(|ours| number("at-most", "\"< 0.01\"", ours)), [Holds, Near]);
}

#[test]
fn a_range_holds_when_it_overlaps() {
    let range = |low: f64, high: f64| verdict("range", "[100, 200]", &Measured::Range(low, high));
    assert_eq!([range(0.0, 100.0), range(0.0, 99.0), range(0.0, 89.0)], [Holds, Near, Differs]);
    assert_eq!([range(200.0, 300.0), range(201.0, 300.0), range(221.0, 300.0)], [Holds, Near, Differs]);
    assert_eq!([number("range", "[2, 3]", 2.0), number("range", "[2, 3]", 4.0)], [Holds, Differs]);
}

#[test]
fn a_formula_holds_when_every_point_does() {
    let series = |points: &[(i64, i64)]| verdict("exact", "\"8 + 8*n\"", &Measured::Series(points.to_vec()));
    assert_eq!(series(&[(1, 16), (10, 88)]), Holds);
    assert_eq!(series(&[(1, 16), (10, 89)]), Differs);
    assert_eq!(series(&[]), Differs);
}

#[test]
fn a_relation_holds_or_differs() {
    for precision in ["ordinal", "exact"] {
        let fact = |so: bool| verdict(precision, "\"a < b\"", &Measured::Fact(so, "1 < 2".to_owned()));
        assert_eq!([fact(true), fact(false)], [Holds, Differs]);
    }
}

#[test]
fn words_are_equal_or_differ() {
    let text = |ours: &str| verdict("exact", "\"0xFF\"", &Measured::Text(ours.to_owned()));
    assert_eq!([text("0xFF"), text("0xFE")], [Holds, Differs]);
}

#[test]
fn the_error_is_ours_over_theirs_less_one() {
    let error =
        |value: &str, ours: f64| judge(&claim("exact", value, "rtl sim"), &Measured::Number(ours)).unwrap().error;
    assert_eq!(
        [error("4", 5.0), error("4", 3.0), error("0", 0.0), error("0", 1.0)],
        [Some(0.25), Some(-0.25), Some(0.0), None]
    );
    let series = Measured::Series(vec![(1, 16), (3, 24), (1, 22)]);
    assert_eq!(judge(&claim("exact", "\"8 + 8*n\"", "rtl sim"), &series).unwrap().error, Some(0.375));
}

#[test]
fn forms_that_cannot_be_compared_are_told() {
    let error = judge(&claim("exact", "44", "rtl sim"), &Measured::Text("x".to_owned())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "claim `hemmert2007.a.b`: the ledger has `44`, which cannot be compared with the measured Text(\"x\")"
    );
}

#[test]
fn what_was_measured_is_printed_short() {
    let printed = |measured: Measured| measured.to_string();
    let numbers = [6016.0, 13.031_25, 0.193_548, 0.049_923, -0.5, 12_345.678].map(|n| printed(Measured::Number(n)));
    assert_eq!(numbers, ["6016", "13.03", "0.1935", "0.04992", "-0.5000", "12346"]);
    assert_eq!(printed(Measured::Numbers(vec![16.0, 24.0])), "16, 24");
    assert_eq!(printed(Measured::Range(8.0, 64.0)), "8 to 64");
    assert_eq!(printed(Measured::Series(vec![(1, 16), (300, 2408), (10, 88)])), "8 + 8*n");
    assert_eq!(printed(Measured::Series(vec![(1, 16), (3, 32), (2, 25)])), "16 at n = 1 to 32 at n = 3");
    assert_eq!(printed(Measured::Fact(true, "seen".to_owned())), "seen");
}
