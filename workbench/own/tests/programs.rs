// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User-written match programs: sound ones pass, and each kind of wrong one is refused with its first wrong outcome.

use mb_core::{EngineOrigin, OwnKind};
use mb_match_unit::ENTRY;
use mb_own::{OwnProgram, check};
use mb_unit::programs::BuiltinProgram;
use mb_unit::template::template;

fn checked(text: &str) -> Result<(), String> {
    let program = mb_asm::assemble("mine.mb", text).expect("the program assembles");
    let (path, sha256) = ("mine.mb".to_owned(), "0123456789abcdef".repeat(4));
    let own = OwnProgram { program, origin: EngineOrigin { kind: OwnKind::Program, path, sha256, interface: None } };
    check(&own, &mb_testkit::preset_set(&ENTRY, "mpi"), &mut |_| ())
}

/// `mpi` with one text replaced wherever it occurs.
fn changed(text: &str, by: &str) -> Result<(), String> {
    let mpi = BuiltinProgram::Mpi.text();
    assert!(mpi.contains(text), "the text occurs");
    checked(&mpi.replace(text, by))
}

#[test]
fn sound_programs_pass_with_items_of_every_size() {
    checked(BuiltinProgram::Mpi.text()).unwrap();
    for item_words in [4, 8, 16] {
        checked(&template(item_words)).unwrap();
    }
}

#[test]
fn a_wrong_packing_of_match_bits_is_refused() {
    // The header's bits are compared with halves exchanged, as by a program that packs tag and context the other way.
    let refused = changed("wait || bits = in ||", "wait || bits[1 0 3 2] = in ||").unwrap_err();
    let first = "mine.mb (sha256 0123456789ab): rejected by the case corpus: spec/cases/cancel.toml, case `";
    assert!(refused.starts_with(first), "{refused}");
    assert!(refused.contains("the engine says `") && refused.contains("`, the oracle `"), "{refused}");
    assert!(refused.contains(", in the sequence\n  1  "), "{refused}");
}

#[test]
fn a_program_that_ignores_the_order_is_refused() {
    // Only every second item can match, so a younger receive is taken before an older one.
    let text = BuiltinProgram::Mpi
        .text()
        .replace("p1 = p11 | p14\n", "p1 = p11 | p14 || p2 = p2 & p7\n")
        .replace("out.last = a0 if p5 || goto posted if !p3", "out.last = a0 if p5 || goto posted if !p3 || p7 = !p7");
    assert!(text.contains("p2 & p7") && text.contains("p7 = !p7"));
    let refused = checked(&text).unwrap_err();
    assert!(refused.contains("the engine says `") && refused.contains("`, the oracle `"), "{refused}");
}

#[test]
fn a_program_that_never_answers_ends_with_an_error() {
    let silent = "loop: wait || _ = in || goto loop\nnop\nnop\n";
    let refused = checked(silent).unwrap_err();
    assert!(refused.contains("waits for the next header, but item 0 is unanswered"), "{refused}");
    let spins = "wait || _ = in\nloop: goto loop\nnop\nnop\n";
    let refused = checked(spins).unwrap_err();
    assert!(refused.contains("words issued without input or the end of an answer"), "{refused}");
    let never = "loop: goto loop\nnop\nnop\n";
    let refused = checked(never).unwrap_err();
    assert!(refused.contains("expected a program that waits for a header"), "{refused}");
}
