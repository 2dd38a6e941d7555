// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The corpus is whole: it can be read, agrees with the oracle and covers the contract.

use mb_testkit::cases;

#[test]
fn every_clause_has_a_case_and_every_case_a_clause() {
    let cases = cases::corpus().unwrap();
    cases::check_clauses(cases::CONTRACT, &cases).unwrap();
    assert!(cases.len() >= 60, "only {} cases were read", cases.len());
}

#[test]
fn the_built_in_corpus_is_that_of_the_folder() {
    let names = |cases: Vec<cases::Case>| cases.into_iter().map(|case| case.name).collect::<Vec<_>>();
    assert_eq!(names(cases::built_in().unwrap()), names(cases::corpus().unwrap()));
}
