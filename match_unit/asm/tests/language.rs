// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The language as a library user meets it.

use mb_asm::{assemble, assemble_word, render};

/// The program of the README, so that the first thing a reader tries works.
#[test]
fn the_example_of_the_readme_assembles() {
    let readme = include_str!("../README.md");
    let text = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let program = assemble("readme", text).unwrap_or_else(|errors| panic!("{}", render(&errors)));
    assert_eq!(program.words.len(), 9);
    assert_eq!(program.label_at(1), Some("item"));
    assert_eq!(program.lines[6].text, "p15 = match want, have care mask || goto item");
}

/// Every statement of the README's table that is one word's text.
#[test]
fn statements_of_the_readme_assemble() {
    for text in [
        "nop",
        "wait",
        "wait || a3 = in",
        "wait || a3, t4 = in",
        "wait || _ = in",
        "wait || t4[3 1 1 0] = in",
        "a3 = add a1, a2",
        "a3 = 7",
        "a3 = perm a1, a2 [x7:4 0 0 y1 y0]",
        "p11 = lt a1, a2",
        "p15 = match t1, t2 care t3",
        "p1 = p8 & !p12",
        "p1 = lut 0b0110 p8, p9",
        "goto 5 if !p3",
        "wait || goto 5 if !in.item",
        "t4, out = a3",
        "out.last = a3",
        "a3 = add a1, {a2.hi, 7} if p3",
        "a3 = add.16:48 a1, {7, a2.lo}",
        "p11, p9 &= eq.32:32 a1, a2",
    ] {
        assemble_word(text).unwrap_or_else(|errors| panic!("{}", render(&errors)));
    }
}

#[test]
fn an_error_shows_its_line_and_a_caret() {
    let errors = assemble("find.mb", "start:  a1 = add a2, 5 || a1 = in\n").expect_err("a pop without wait and more");
    assert_eq!(
        render(&errors),
        "find.mb:1:9: error: found a1 as destination of the input and the alu slot in one word; expected one writer
 1 | start:  a1 = add a2, 5 || a1 = in
   |         ^^
   = rule (two writers): Two slots of one word that write the same register or predicate.

find.mb:1:9: error: execution can run past the last word; expected an unconditional branch in the third word from the end
 1 | start:  a1 = add a2, 5 || a1 = in
   |         ^^
   = rule (end): A program that can run past its last word: the third word from the end must be an unconditional \
     branch, and no branch may go to the two words after it.

find.mb:1:27: error: found a pop of the input FIFO without `wait`; add `wait` to this word
 1 | start:  a1 = add a2, 5 || a1 = in
   |                           ^^^^^^^
   = rule (missing wait): Popping the input FIFO or testing its tag in a word that is not tagged as needing input."
    );
}

#[test]
fn errors_without_end_come_to_an_end() {
    let text = "a0 = a1 a2\n".repeat(100_000);
    let errors = assemble("long.mb", &text).expect_err("an error in every line");
    assert_eq!(errors.len(), 101);
    assert_eq!(errors[100].message, "more than 100 errors; the others are not shown");
    assert_eq!(errors[99].message, "found `a2` after a statement; expected `||` or the end of the line");
}

#[test]
fn a_line_without_end_is_refused_whole() {
    let text = format!("loop: {}goto loop\n", "nop || ".repeat(1000));
    let errors = assemble("long.mb", &text).expect_err("a line of 7000 characters");
    assert_eq!(errors[0].message, "found a line of 7015 characters; expected at most 1000");
    assert_eq!(errors[0].source, "(line too long)");
}

#[test]
fn expressions_cannot_exhaust_the_stack() {
    let text = format!(".const DEEP = {}1{}", "(".repeat(400), ")".repeat(400));
    let errors = assemble("deep.mb", &text).expect_err("400 parentheses");
    assert_eq!(errors[0].message, "found an expression nested too deeply; expected at most 32 levels");
}

#[test]
fn one_word_is_neither_none_nor_two() {
    for (text, found) in [("", 0), ("nop\nnop", 2)] {
        let errors = assemble_word(text).expect_err("not one word");
        assert_eq!(errors[0].message, format!("found {found}; expected one word"));
    }
}

#[test]
fn program_rules_leave_a_single_word_alone() {
    assert!(assemble_word("goto 1023").is_ok());
    let errors = assemble_word("goto 1024").expect_err("beyond every store");
    assert_eq!(errors[0].message, "found the branch target 1024; expected an address below 1024");
}
