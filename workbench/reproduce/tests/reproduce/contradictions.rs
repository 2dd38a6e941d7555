// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where Tanabe and Ohta and Xiong et al. contradict themselves: each place once, with what comes
//! of both statements.

use mb_reproduce::contradictions::ContradictionResult;
use mb_reproduce::papers::{tanabe2013, xiong2018};

const DOCS: &str = include_str!("../../../../docs/reproduce.md");

fn all() -> Vec<ContradictionResult> {
    let (one, two) = (tanabe2013::Designs::published().unwrap(), xiong2018::Designs::published().unwrap());
    [tanabe2013::PAPER.contradicted(&one).unwrap(), xiong2018::PAPER.contradicted(&two).unwrap()].concat()
}

#[test]
fn nine_to_twenty_are_each_there_with_two_statements_two_results_and_what_counts() {
    let all = all();
    assert_eq!(all.iter().map(|found| found.number).collect::<Vec<_>>(), (9..=20).collect::<Vec<_>>());
    for found in &all {
        let ContradictionResult { number, place, says, interpretations, counts } = found;
        assert!(says.iter().all(|words| !words.is_empty()) && says[0] != says[1], "{number}");
        assert!(!place.is_empty() && !counts.is_empty(), "{number}");
        let [first, second] = interpretations.as_slice() else { panic!("{number}: {interpretations:?}") };
        assert!(first.name != second.name && first.measured != second.measured, "{number}: {interpretations:?}");
        assert!(DOCS.contains(&format!("\n| {number} | ")), "docs/reproduce.md has no row {number}");
    }
}

#[test]
fn what_comes_of_the_statements_is_what_the_models_do() {
    let all = all();
    let shown = |number: u32| {
        let found = all.iter().find(|found| found.number == number).unwrap();
        found.interpretations.iter().map(|interpretation| interpretation.measured.to_string()).collect::<Vec<_>>()
    };
    // 28.4 and 35 ns of loop for each of 1000 messages, and what is waited for.
    assert_eq!(shown(9), ["29.2 us", "35.8 us"]);
    // Without caches 100 ns and the loop of 35: 635 / 135 and 135 / 35.8.
    assert_eq!(shown(10)[1], "4.70 by the memories, 3.77 by the caches");
    assert_eq!(shown(16), ["2816 registers", "49664 bits"]);
    assert_eq!(
        shown(20),
        ["of receives 5 and 8, alike, 8 is matched first", "of receives 5 and 8, alike, 5 is matched first"]
    );
}
