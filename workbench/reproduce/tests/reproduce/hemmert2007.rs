// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The claims of Hemmert et al. on our match unit, and on broken ones.

use mb_reproduce::Finding;
use mb_reproduce::ledger::Method;
use mb_reproduce::papers::hemmert2007::{PAPER, Subject};
use mb_reproduce::verdict::Verdict;
use mb_unit::list_manager::ListManagerParameters;
use mb_unit::programs::BuiltinProgram;

use crate::common::{self, CLAIMS, HEMMERT2007 as FINDINGS, SUBJECT};

/// The design point of the paper with another program, memory or clock for the match unit.
fn with_unit(program: mb_asm::MatchProgram, memory: ListManagerParameters, clock: mb_core::Clock) -> Subject {
    let Subject { processors, fitted, .. } = SUBJECT.clone();
    Subject { processors, fitted, ..Subject::new(program, memory, clock).unwrap() }
}

/// The verdicts of `subject`.
fn verdict_on(subject: &Subject, id: &str) -> (Verdict, bool) {
    let claim = CLAIMS.iter().find(|claim| claim.id == id).unwrap();
    let finding = &PAPER.findings(std::slice::from_ref(claim), subject).unwrap()[0];
    (finding.verdict, finding.unexplained())
}

fn finding(id: &str) -> &'static Finding<'static> {
    FINDINGS.iter().find(|finding| finding.claim.id == id).unwrap()
}

#[test]
fn every_claim_of_a_cycle_model_has_a_test_and_every_difference_an_explanation() {
    common::tests_are_those_of_the_ledger(&PAPER, &[Method::CycleModel]);
    common::differences_are_explained(&PAPER, &FINDINGS);
    for finding in FINDINGS.iter().filter(|finding| finding.verdict == Verdict::NotTestable) {
        // Inputs are measured where a run gives them back, and nothing else without a verdict.
        let input = finding.claim.preset.is_some() || finding.reason == "an input that the model is built from";
        assert!(finding.interpretations.is_empty() || input, "{}", finding.claim.id);
    }
    assert_eq!(finding("hemmert2007.fpga.mhz").reason, "no circuit yet: a clock needs RTL and a device");
    assert_eq!(finding("hemmert2007.fpga.asic_factor").reason, "rule-of-thumb assumption");
    assert!(finding("hemmert2007.mu.overhead_start").holds_calibrated());
    assert!(!finding("hemmert2007.mu.overhead_start").holds_otherwise());
}

#[test]
fn contradictory_claims_show_every_reading() {
    let verdicts = |id: &str| finding(id).interpretations.iter().map(|judged| judged.verdict).collect::<Vec<_>>();
    let (holds, differs) = (Verdict::Holds, Verdict::Differs);
    assert_eq!(verdicts("hemmert2007.mu.total_29"), [holds, differs, differs]);
    assert_eq!(verdicts("hemmert2007.mu.total_31"), [differs, holds, differs]);
    assert_eq!(verdicts("hemmert2007.mu.total_formula"), [differs, differs, holds]);
    assert_eq!(verdicts("hemmert2007.mu.overhead_start"), [differs, differs, holds, differs]);
    assert_eq!(verdicts("hemmert2007.match.header_smaller"), [holds, differs]);
    assert!(finding("hemmert2007.mu.total_31").holds_otherwise());
}

#[test]
fn a_program_with_one_word_too_many_differs() {
    let text =
        BuiltinProgram::PortalsHemmert2007.text().replace("rest:   wait || _ = in", "nop\nrest:   wait || _ = in");
    let padded = mb_asm::assemble("padded", &text).unwrap();
    let subject = with_unit(padded, SUBJECT.memory, SUBJECT.clock);
    assert_eq!(finding("hemmert2007.ucode.total").interpretations[0].interpretation.measured.to_string(), "44");
    for id in [
        "hemmert2007.ucode.total",
        "hemmert2007.ucode.flush",
        "hemmert2007.mu.total_29",
        "hemmert2007.mu.issue_single_match",
        "hemmert2007.mu.cycles_flush",
    ] {
        assert_eq!(finding(id).verdict, Verdict::Holds, "{id}");
        assert_eq!(verdict_on(&subject, id), (Verdict::Differs, true), "{id}");
    }
    assert_eq!(verdict_on(&subject, "hemmert2007.ucode.header").0, Verdict::Holds);
}

#[test]
fn a_memory_beyond_the_reach_of_the_head_cache_differs() {
    let slow = ListManagerParameters { latency: 20, ..SUBJECT.memory };
    let subject = with_unit(SUBJECT.program.clone(), slow, SUBJECT.clock);
    assert_eq!(verdict_on(&subject, "hemmert2007.lm.no_stall"), (Verdict::Differs, true));
    assert_eq!(verdict_on(&subject, "hemmert2007.mu.cycles_item_failed"), (Verdict::Differs, true));
}

#[test]
fn a_slower_clock_differs() {
    let subject = with_unit(SUBJECT.program.clone(), SUBJECT.memory, mb_core::Clock::from_mhz(150));
    assert_eq!(verdict_on(&subject, "hemmert2007.mu.item_time_ns"), (Verdict::Differs, true));
}

#[test]
fn a_program_that_matches_nothing_is_refused() {
    let text = BuiltinProgram::PortalsHemmert2007.text().replace("VALID   = 0x0001", "VALID   = 0x4000");
    let program = mb_asm::assemble("blind", &text).unwrap();
    let error = Subject::new(program, SUBJECT.memory, SUBJECT.clock).unwrap_err();
    assert_eq!(error.to_string(), "a run of a study: found none, expected the match of the third item");
}

#[test]
fn a_list_manager_that_reacts_late_differs() {
    let late = ListManagerParameters { reaction: 12, ..SUBJECT.memory };
    let subject = with_unit(SUBJECT.program.clone(), late, SUBJECT.clock);
    assert_eq!(verdict_on(&subject, "hemmert2007.mu.cycles_item_failed"), (Verdict::Differs, true));
}

#[test]
fn a_program_without_the_segments_of_table_1_is_refused() {
    let text = BuiltinProgram::PortalsHemmert2007.text().replace(".segment shared", ".segment common");
    let program = mb_asm::assemble("renamed", &text).unwrap();
    let error = Subject::new(program, SUBJECT.memory, SUBJECT.clock).unwrap_err();
    assert_eq!(error.to_string(), "the match program has no segment `shared`");
}
