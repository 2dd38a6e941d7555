// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The claims of Hemmert et al. on our match unit, and on broken ones.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mb_reproduce::ledger::{self, Claim, LEDGER, LEDGER_NAME, Method};
use mb_reproduce::registry::Measurable;
use mb_reproduce::verdict::Verdict;
use mb_reproduce::{Finding, Subject, reproduce};
use mb_unit::list_manager::ListManagerParameters;
use mb_unit::programs::BuiltinProgram;

static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| ledger::read(LEDGER_NAME, LEDGER).unwrap());
static SUBJECT: LazyLock<Subject> = LazyLock::new(|| Subject::hemmert2007().unwrap());
static FINDINGS: LazyLock<Vec<Finding<'static>>> =
    LazyLock::new(|| reproduce(&CLAIMS, "hemmert2007", &*SUBJECT).unwrap());

/// The design point of the paper with another program, memory or clock for the match unit.
fn with_unit(program: mb_asm::MatchProgram, memory: ListManagerParameters, clock: mb_core::Clock) -> Subject {
    let Subject { processors, fitted, .. } = SUBJECT.clone();
    Subject { processors, fitted, ..Subject::new(program, memory, clock).unwrap() }
}

/// The verdicts of `subject`.
fn verdict_on(subject: &Subject, id: &str) -> (Verdict, bool) {
    let claim = CLAIMS.iter().find(|claim| claim.id == id).unwrap();
    let finding = &reproduce(std::slice::from_ref(claim), "hemmert2007", subject).unwrap()[0];
    (finding.verdict, finding.unexplained())
}

fn finding(id: &str) -> &'static Finding<'static> {
    FINDINGS.iter().find(|finding| finding.claim.id == id).unwrap()
}

#[test]
fn every_entry_belongs_to_a_claim_of_the_ledger() {
    let ids: BTreeSet<_> = CLAIMS.iter().map(|claim| claim.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    for entry in Subject::entries() {
        assert!(ids.contains(entry.id), "no claim `{}`", entry.id);
        assert!(seen.insert(entry.id), "two entries for `{}`", entry.id);
    }
}

#[test]
fn every_claim_that_a_cycle_model_can_test_has_an_entry() {
    let known: BTreeSet<_> = Subject::entries().map(|entry| entry.id).collect();
    for claim in CLAIMS.iter().filter(|claim| claim.paper() == "hemmert2007") {
        let by_cycles = claim.testable_by == Method::CycleModel || claim.also_by.contains(&Method::CycleModel);
        assert!(!by_cycles || known.contains(claim.id.as_str()), "no entry for `{}`", claim.id);
    }
}

#[test]
fn nothing_differs_without_an_explanation() {
    for finding in FINDINGS.iter() {
        assert!(!finding.unexplained(), "{}", finding.claim.id);
    }
}

#[test]
fn every_explanation_is_of_a_claim_that_does_not_hold() {
    for entry in Subject::entries().filter(|entry| entry.explanation.is_some()) {
        assert_ne!(finding(entry.id).verdict, Verdict::Holds, "{} holds and needs no explanation", entry.id);
    }
}

#[test]
fn what_cannot_be_tested_says_why() {
    for finding in FINDINGS.iter().filter(|finding| finding.verdict == Verdict::NotTestable) {
        assert!(!finding.reason.is_empty() && finding.readings.is_empty(), "{}", finding.claim.id);
    }
    assert_eq!(finding("hemmert2007.fpga.mhz").reason, "no circuit yet: a clock needs RTL and a device");
    assert_eq!(finding("hemmert2007.fpga.asic_factor").reason, "rule-of-thumb assumption");
}

#[test]
fn a_calibrated_reading_never_counts() {
    for finding in FINDINGS.iter() {
        assert!(finding.readings.first().is_none_or(|first| !first.reading.calibrated), "{}", finding.claim.id);
    }
    assert!(finding("hemmert2007.mu.overhead_start").holds_calibrated());
    assert!(!finding("hemmert2007.mu.overhead_start").holds_otherwise());
}

#[test]
fn contradictory_claims_show_every_reading() {
    let verdicts = |id: &str| finding(id).readings.iter().map(|judged| judged.verdict).collect::<Vec<_>>();
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
    assert_eq!(finding("hemmert2007.ucode.total").readings[0].reading.measured.to_string(), "44");
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
    assert_eq!(error.to_string(), "the match of the third item did not show in the run that should show it");
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

#[test]
fn an_unknown_paper_is_refused() {
    let error = reproduce(&CLAIMS, "s9", &*SUBJECT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown paper `s9`; expected one of: hemmert2007, tanabe2013, xiong2018, gu2011, crowley2000"
    );
}
