// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is generated from `spec/isa` is committed fresh, and an impossible specification is refused.

use std::path::Path;

use mb_asm::generate::{SPEC_PATH, generate};

fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn spec() -> String {
    std::fs::read_to_string(top().join(SPEC_PATH)).expect("the specification is in the tree")
}

#[test]
fn generated_files_are_fresh() {
    for file in generate(&spec()).expect("the specification is sound") {
        let committed = std::fs::read_to_string(top().join(file.path)).unwrap_or_default();
        assert!(committed == file.text, "{} is stale: run `cargo xtask gen`", file.path);
    }
}

#[test]
fn fields_that_leave_a_gap_are_refused() {
    let gap = spec().replacen("offset = 32", "offset = 33", 1);
    assert_eq!(
        generate(&gap).expect_err("a gap").to_string(),
        "spec/isa/match_unit.toml: field alu.imm_sel is 2 bits at bit 33, expected 1 to 32 bits at 32"
    );
}

#[test]
fn a_word_of_another_size_is_refused() {
    let short = spec().replacen("word_bits = 164", "word_bits = 163", 1);
    assert_eq!(
        generate(&short).expect_err("one bit too many").to_string(),
        "spec/isa/match_unit.toml: the slots have 164 bits, the word 163"
    );
}

#[test]
fn a_code_given_twice_is_refused() {
    let twice = spec().replacen("code = 16", "code = 7", 1);
    assert_eq!(
        generate(&twice).expect_err("nor and eq share a code").to_string(),
        "spec/isa/match_unit.toml: code 7 of alu.op is given twice"
    );
}
