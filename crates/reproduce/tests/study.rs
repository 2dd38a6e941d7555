// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Studies are read strictly, and the figures that they ask for can be drawn.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mb_reproduce::curve::Limit;
use mb_reproduce::ledger::{self, Claim, LEDGER, LEDGER_NAME};
use mb_reproduce::study::{STUDIES, find, read};
use mb_reproduce::{Figures, Subject, figures};

static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| ledger::read(LEDGER_NAME, LEDGER).unwrap());
static DRAWN: LazyLock<Figures> = LazyLock::new(|| figures(&CLAIMS, "s0", &Subject::s0().unwrap()).unwrap().unwrap());

/// What reading the study of S0 with `old` replaced comes to.
fn edited(old: &str, new: &str) -> String {
    let (name, text) = STUDIES[0];
    assert!(text.contains(old), "nothing to edit: {old}");
    read(name, &text.replacen(old, new, 1)).map_or_else(|error| error.to_string(), |_| "taken".to_owned())
}

#[test]
fn every_study_of_the_project_can_be_read() {
    for (name, _) in STUDIES {
        assert_eq!(find(name).map_err(|error| error.to_string()).err(), None);
    }
    assert_eq!(find("s9").unwrap_err().to_string(), "studies/s9/study.toml: no such study");
}

#[test]
fn what_a_study_must_not_say_is_refused() {
    for (old, new, message) in [
        ("baseline = \"bound\"", "baseline = \"zero\"", "baseline `zero` is no design"),
        ("name = \"s0-figure7\"", "name = \"s0-figure6\"", "two of figure are called `s0-figure6`"),
        ("name = \"unit\"", "name = \"bound\"", "two of design are called `bound`"),
        (
            "quantity = \"each\"",
            "quantity = \"most\"",
            "unknown variant `most`, expected one of `total`, `each`, `relative`",
        ),
    ] {
        assert_eq!(edited(old, new), format!("studies/s0_figures/study.toml: {message}"));
    }
}

#[test]
fn the_figures_of_s0_have_a_curve_for_each_design_and_length() {
    let study = find(DRAWN.study).unwrap();
    let lengths: BTreeSet<_> = study.figures.iter().flat_map(|figure| figure.lengths.iter().copied()).collect();
    for design in &study.designs {
        let counting: Vec<_> =
            DRAWN.curves.iter().filter(|curve| curve.design == design.name && curve.counts).collect();
        assert_eq!(counting.len(), 1, "{} has one line", design.name);
        let drawn: BTreeSet<_> = counting[0].points.iter().map(|point| point.length).collect();
        assert_eq!(drawn, lengths, "{}", design.name);
    }
    for curve in &DRAWN.curves {
        assert!(study.designs.iter().any(|design| design.name == curve.design), "{} is drawn", curve.design);
        assert!(!(curve.counts && curve.calibrated), "{}: a calibrated variant counts", curve.variant);
    }
}

#[test]
fn an_anchor_reaches_as_far_as_precision_and_readings_of_its_claim() {
    let find = |claim: &str| DRAWN.anchors.iter().find(|anchor| anchor.claim == claim).unwrap();
    let close = |claim: &str, expected: [f64; 3]| {
        let found = find(claim);
        let ours = [found.low, found.value, found.high];
        assert!(
            ours.iter().zip(expected).all(|(ours, theirs)| (ours / theirs - 1.0).abs() < 1e-12),
            "{claim}: {ours:?}"
        );
    };
    // 34 % of 88 or of 97 cycles, printed to two digits; about three times 22 or 31 cycles.
    close("s0.ppc440.fraction_of_hw_10", [64.0 * 88.0 / 0.345, 64.0 * 88.0 / 0.34, 64.0 * 97.0 / 0.335]);
    close("s0.mu.speedup_1_conclusion", [64.0 * 22.0 * 2.25, 64.0 * 22.0 * 3.0, 64.0 * 31.0 * 3.75]);
    let beaten = find("s0.mt16.exceeds_hw_300");
    assert_eq!((beaten.limit, beaten.length, beaten.percent), (Limit::Below, 300, 100));
    close("s0.mt16.exceeds_hw_300", [154_112.0, 154_112.0, 64.0 * (17.0 + 2400.0)]);
    for anchor in &DRAWN.anchors {
        assert!(anchor.low <= anchor.value && anchor.value <= anchor.high, "{}", anchor.claim);
    }
}
