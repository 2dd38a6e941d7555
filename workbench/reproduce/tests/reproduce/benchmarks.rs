// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmarks of Tanabe and Ohta and Xiong et al.: their distributions of sources, and the
//! tables of their study.

use std::collections::BTreeSet;

use mb_core::Initiator;
use mb_core::engine::Timing;
use mb_reproduce::benchmarks::{Benchmark, Sources, compared};

const PAGE: &str = include_str!("../../../../studies/depth_benchmarks/README.md");

#[test]
fn the_latency_tables_of_the_study_are_what_the_benchmarks_give() {
    let engines = compared().unwrap();
    // Unloading is quadratic; what is said of it is judged claim by claim.
    for benchmark in [Benchmark::Preposted(Sources::Single), Benchmark::Unexpected(Sources::Single)] {
        let expected = format!("## {}\n\n{}", benchmark.describe(), benchmark.table(&engines).unwrap());
        assert!(PAGE.contains(&expected), "`depth_benchmarks` of examples/ prints what belongs there:\n{expected}");
    }
}

#[test]
fn every_engine_whose_times_are_modelled_is_compared() {
    let modelled = mb_catalog::ENGINES.iter().filter(|entry| entry.card.timing != Timing::Measured);
    let compared: BTreeSet<_> = compared().unwrap().iter().map(|choice| choice.entry.card.name).collect();
    assert_eq!(compared, modelled.map(|entry| entry.card.name).collect());
}

#[test]
fn sources_have_the_shares_that_they_are_named_after() {
    let counts = |sources: Sources| {
        let mut counts = [0_u32; 64];
        for number in 0..64_000 {
            let Initiator(source) = sources.of(number);
            counts[source as usize] += 1;
        }
        counts
    };
    assert_eq!(counts(Sources::InTurn), [1000; 64]);
    assert_eq!(counts(Sources::Single)[0], 64_000);
    let harmonic: f64 = (1..=64).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, count) in (1..).zip(counts(Sources::OneOverRank)) {
        let expected = 64_000.0 / harmonic / f64::from(rank);
        assert!((f64::from(count) - expected).abs() <= 3.0, "source {rank}: {count} of {expected}");
    }
}
