// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Studies are read strictly, and the figures that they ask for can be drawn.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mb_core::Picos;
use mb_lhs::LhsParameters;
use mb_reproduce::REGISTRY;
use mb_reproduce::benchmarks::{Benchmark, Sources, preposted, unexpected, unloading};
use mb_reproduce::curve::Limit;
use mb_reproduce::depth;
use mb_reproduce::figures::{Figures, choice};
use mb_reproduce::papers::{hemmert2007, tanabe2013};
use mb_reproduce::study::{Study, read};

use crate::common::{CLAIMS, SUBJECT};

static DRAWN: LazyLock<Figures> =
    LazyLock::new(|| (hemmert2007::PAPER.figures)(&SUBJECT, &CLAIMS, None).unwrap().unwrap());

fn find(name: &str) -> Study {
    REGISTRY.study(name).unwrap().1
}

/// What interpretation the study of Hemmert et al. with `old` replaced comes to.
fn edited(old: &str, new: &str) -> String {
    let file = hemmert2007::PAPER.study.unwrap();
    assert!(file.text.contains(old), "nothing to edit: {old}");
    read(file.name, &file.text.replacen(old, new, 1)).map_or_else(|error| error.to_string(), |_| "taken".to_owned())
}

#[test]
fn every_study_of_the_project_can_be_read() {
    let studies: Vec<_> = REGISTRY.0.iter().filter_map(|paper| paper.study()).collect();
    assert_eq!(studies.len(), 5);
    for file in studies {
        assert_eq!(file.read().map_err(|error| error.to_string()).err(), None);
    }
    let error = REGISTRY.study("s9").unwrap_err();
    assert_eq!(error.to_string(), "studies/s9/study.toml: no such study");
}

#[test]
fn a_study_may_have_a_sweep_beside_its_figures() {
    let old = "name = \"unit\"";
    assert_eq!(edited(old, "name = \"unit\"\nvary = [\"head_cache=1..8 *2\"]"), "taken");
    assert_eq!(edited("question =", "sweep = { traces = [\"t\"] }\nquestion ="), "taken");
}

#[test]
fn what_a_study_must_not_say_is_refused() {
    for (old, new, message) in [
        (
            "lengths = [10, 30]",
            "lengths = [10, 30]\nbenchmarks = [{ unloading = \"single\" }]",
            "figure `hemmert2007-figure6` runs `bound`, which has no engine",
        ),
        (
            "lengths = [10, 30]",
            "lengths = [10, 30]\ndesigns = [\"best\"]",
            "figure `hemmert2007-figure6`: found `best`, expected a design of the study",
        ),
        (
            "lengths = [10, 30]",
            "lengths = [10, 30]\ndesigns = [\"unit\"]",
            "figure `hemmert2007-figure6`: found relative times without a reference, expected the reference among its designs",
        ),
        ("reference = \"bound\"", "reference = \"zero\"", "reference: found `zero`, expected a design of the study"),
        (
            "name = \"hemmert2007-figure7\"",
            "name = \"hemmert2007-figure6\"",
            "two of figure are called `hemmert2007-figure6`",
        ),
        ("name = \"unit\"", "name = \"bound\"", "two of design are called `bound`"),
        (
            "quantity = \"each\"",
            "quantity = \"most\"",
            "unknown variant `most`, expected one of `total`, `each`, `relative`",
        ),
    ] {
        assert_eq!(edited(old, new), format!("studies/hemmert2007_figures/study.toml: {message}"));
    }
}

#[test]
fn the_figures_of_hemmert2007_have_a_curve_for_each_design_and_length() {
    let study = find(DRAWN.study);
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
fn a_data_point_reaches_as_far_as_precision_and_interpretations_of_its_claim() {
    let find = |claim: &str| DRAWN.data_points.iter().find(|data_point| data_point.claim == claim).unwrap();
    let close = |claim: &str, expected: [f64; 3]| {
        let found = find(claim);
        let ours = [found.low, found.value, found.high];
        assert!(
            ours.iter().zip(expected).all(|(ours, cycles)| (ours / (2.0 * cycles) - 1.0).abs() < 1e-12),
            "{claim}: {ours:?}"
        );
    };
    // 34 % of 88 or of 97 cycles, printed to two digits; about three times 22 or 31 cycles.
    close("hemmert2007.ppc440.fraction_of_hw_10", [64.0 * 88.0 / 0.345, 64.0 * 88.0 / 0.34, 64.0 * 97.0 / 0.335]);
    close("hemmert2007.mu.speedup_1_conclusion", [64.0 * 22.0 * 2.25, 64.0 * 22.0 * 3.0, 64.0 * 31.0 * 3.75]);
    let beaten = find("hemmert2007.mt16.exceeds_hw_300");
    assert_eq!((beaten.limit, beaten.length, beaten.percent), (Limit::Below, 300, 100));
    close("hemmert2007.mt16.exceeds_hw_300", [154_112.0, 154_112.0, 64.0 * (17.0 + 2400.0)]);
    for data_point in &DRAWN.data_points {
        assert!(data_point.low <= data_point.value && data_point.value <= data_point.high, "{}", data_point.claim);
    }
}

#[test]
fn every_design_of_a_study_of_benchmarks_builds_and_is_drawn() {
    for name in ["tanabe2013_figures", "xiong2018_figures"] {
        let study = find(name);
        for design in &study.designs {
            for settings in std::iter::once(&[][..]).chain(design.variants.iter().map(|variant| &*variant.settings)) {
                let built = choice(design, settings).unwrap().unwrap().build();
                assert_eq!(built.err(), None, "{name}: {}", design.name);
            }
            assert!(study.figures.iter().any(|figure| figure.shows(&design.name)), "{name}: {}", design.name);
        }
    }
}

#[test]
fn the_picture_of_all_engines_has_each_with_its_default_preset() {
    let study = find("xiong2018_figures");
    let figure = study.figures.iter().find(|figure| figure.name == "all-engines").unwrap();
    let mut drawn = BTreeSet::new();
    for design in study.designs.iter().filter(|design| figure.shows(&design.name)) {
        let choice = choice(design, &[]).unwrap().unwrap();
        // The default of `ideal` takes no time, which a logarithmic axis cannot show.
        let default = choice.preset == choice.entry.presets[0].name || choice.entry.card.name == "ideal";
        assert!(default, "{}", choice.spec());
        assert_eq!(design.timing.as_str(), choice.entry.card.timing.as_str(), "{}", choice.spec());
        drawn.insert(choice.entry.card.name);
    }
    // What is measured on whatever host draws the picture has no place beside the papers' engines.
    let models = mb_catalog::ENGINES.iter().filter(|entry| entry.card.timing != mb_core::Timing::Measured);
    let all: BTreeSet<_> = models.map(|entry| entry.card.name).collect();
    assert_eq!(drawn, all);
}

#[test]
fn points_of_tanabe2013_are_what_the_benchmark_gives_and_data_points_what_the_text_says() {
    let drawn = depth::figures(&tanabe2013::PAPER.study.unwrap(), &CLAIMS, 2).unwrap();
    let point = |design: &str, variant: &str, length| {
        let curve = drawn.curves.iter().find(|curve| curve.design == design && curve.variant == variant).unwrap();
        let point = curve.points.iter().find(|point| point.length == length).unwrap();
        (curve.counts, point.traversed, point.time)
    };
    let line = |change: fn(&mut LhsParameters)| {
        let mut choice = mb_catalog::find("lhs:dimmnet2").unwrap();
        choice.change(change).unwrap();
        unexpected(choice.build().unwrap(), 1000, Sources::InTurn).unwrap()
    };
    assert_eq!(point("dimmnet2", "16 bytes apart", 1000), (true, 1000, line(|_| ())));
    assert_eq!(
        point("dimmnet2", "one in each cache line", 1000),
        (false, 1000, line(|p| (p.entry, p.pointer) = (64, 8)))
    );
    assert_eq!(point("qsnet2", "published line", 128), (true, 128, Picos(12_800_000)));
    let told = |design: &str, length| {
        let data_point = drawn
            .data_points
            .iter()
            .find(|data_point| data_point.design == design && data_point.length == length)
            .unwrap();
        [data_point.low, data_point.value, data_point.high].map(|ns| (1e3 * ns).round() as u64)
    };
    assert_eq!(told("dimmnet2", 1000), [44_350_000, 44_400_000, 44_450_000]);
    // 17 times QsNET-II, and as long as DIMMnet-3.
    assert_eq!(told("bgp", 1000), [1_650_000_000, 1_700_000_000, 1_750_000_000]);
    assert_eq!(told("alpu", 600), [point("dimmnet3", "16 bytes apart", 600).2.0; 3]);
}

#[test]
fn benchmarks_are_called_what_they_run() {
    let engine = || mb_catalog::find("cam_list:p2l4").unwrap().build().unwrap();
    for sources in Sources::ALL {
        let times = [preposted, unexpected, unloading].map(|run| run(engine(), 300, sources).unwrap());
        let names = ["preposted", "unexpected", "unloading"];
        for (name, time) in names.into_iter().zip(times) {
            let benchmark = Benchmark::find(&format!("{name} {}", sources.key())).unwrap();
            assert_eq!(benchmark.run(engine(), 300).unwrap(), time, "{name}");
        }
    }
    assert_eq!(Benchmark::find("preposted two"), None);
}
