// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers inside explanations are taken from the run.

use std::convert::Infallible;

use mb_reproduce::claim_test::{ClaimTest, Procedure};
use mb_reproduce::explanation::{self, bare_numbers};
use mb_reproduce::papers::{crowley2000, gu2011, hemmert2007, tanabe2013, xiong2018};
use mb_reproduce::registry::Paper;
use mb_reproduce::verdict::Measured;

use crate::common::CLAIMS;

/// The claim whose explanation is planted; its measurement takes no time.
const ID: &str = "tanabe2013.dimmnet2_lhs.ns_per_msg";

/// The explanation as the report has it.
fn explained(text: &'static str) -> Result<String, String> {
    let test = tanabe2013::PAPER.tests().find(|test| test.id == ID).unwrap();
    let Procedure::Measure(measure) = test.procedure else { panic!("`{ID}` is measured") };
    let test = ClaimTest { id: ID, procedure: Procedure::Measure(measure), explanation: Some(text) };
    let tests: &'static [_] = Vec::leak(vec![test]);
    let paper = Paper { tests: Vec::leak(vec![tests]), ..tanabe2013::PAPER };
    let claims: Vec<_> = CLAIMS.iter().filter(|claim| claim.id == ID).cloned().collect();
    let found = paper.findings(&claims, &tanabe2013::Designs::published().unwrap());
    found.map(|findings| findings[0].reason.clone()).map_err(|error| error.to_string())
}

#[test]
fn placeholders_stand_for_what_was_measured_and_what_is_published() {
    assert_eq!(
        explained(
            "{tanabe2013.dimmnet2_lhs.ns_per_msg:.1} or {tanabe2013.dimmnet2_lhs.ns_per_msg @ one in each cache line}, not \
             {tanabe2013.dimmnet2_lhs.ns_per_msg.published}."
        ),
        Ok("35.8 or 43.04, not 44.4.".to_owned())
    );
}

#[test]
fn a_placeholder_that_stands_for_nothing_is_refused() {
    for (text, message) in [
        (
            "{tanabe2013.none}",
            "`{tanabe2013.none}` of its explanation: found `tanabe2013.none`, expected a claim of tanabe2013 that is measured",
        ),
        (
            "{tanabe2013.none.published}",
            "`{tanabe2013.none.published}` of its explanation: found no claim `tanabe2013.none`, expected one of the ledger",
        ),
        (
            "{tanabe2013.dimmnet2_lhs.ns_per_msg @ other}",
            "`{tanabe2013.dimmnet2_lhs.ns_per_msg @ other}` of its explanation: found interpretation `other`, expected one of: `16 bytes apart`, `one in each cache line`",
        ),
        (
            "{tanabe2013.dimmnet2_lhs.ns_per_msg:.x}",
            "`{tanabe2013.dimmnet2_lhs.ns_per_msg:.x}` of its explanation: found Number(35.8) and `:.x`, expected a number and its digits",
        ),
    ] {
        let error = explained(text).unwrap_err();
        let error = error.split("Number(").next().unwrap();
        let expected = format!("claim `{ID}`: placeholder {message}");
        assert_eq!(error, expected.split("Number(").next().unwrap());
    }
    let open = explanation::resolve("a {b", |_| Ok::<_, Infallible>(Ok(Measured::Number(1.0)))).unwrap();
    assert_eq!(open, Err(("b".to_owned(), "found no end, expected `}`".to_owned())));
}

fn bare_in<S>(paper: &Paper<S>) -> Vec<String> {
    let tests = paper.tests().filter_map(|test| Some((test.id, test.explanation?)));
    tests.flat_map(|(id, why)| bare_numbers(why).into_iter().map(move |number| format!("{id}: {number}"))).collect()
}

#[test]
fn no_explanation_states_a_measured_number_itself() {
    let all = [
        bare_in(&hemmert2007::PAPER),
        bare_in(&tanabe2013::PAPER),
        bare_in(&xiong2018::PAPER),
        bare_in(&gu2011::PAPER),
        bare_in(&crowley2000::PAPER),
    ];
    assert_eq!(all.concat(), [""; 0], "expected placeholders, or the source of the number in the same clause");
}

#[test]
fn a_number_without_a_source_is_found() {
    assert_eq!(bare_numbers("If the OS thread classifies, CMP loses 9 % and CMP2 13 %."), ["9 %", "13 %"]);
    assert_eq!(bare_numbers("Section 4.2 leaves 9.4 ns, ours takes {a.b:.1} ns."), [""; 0]);
    assert_eq!(bare_numbers("As section 6.1 says, a visit takes 11 cycles."), ["11 cycles"]);
}
