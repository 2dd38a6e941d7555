// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any text as a program: errors inside the text, or a program that survives its own text and its image.

use mb_asm::{assemble, disassemble, image, listing, render};

/// Pieces of the language, so that the fuzzer need not find its spelling.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "\n", "\n", " || ", " ", ":", "loop: ", "goto loop", "goto ", " if ", "!", "p11", "p15", "p8", "p3", "p0", "a1", "a2",
    "a0", "t1", "t2", "t0", " = ", " &= ", " |= ", "in", "!in.item", "wait", "wait || ", "_ = in", "out", "out.last", "nop",
    "add ", "sub.16:48 ", "and ", "perm a1, a2 [x7:4 y3:0]", "perm ", "[", "]", "x7:0", "y3", "0", "eq ", "slt.32:32 ",
    "match ", " care ", " ignore ", "match t1, t2 care t3", "lut 6 p1, p2", ", ", "{a1.hi, 7}", "{7, a1.lo}", "{", "}",
    "[3 2 1 0]", "5", "0xffff_ffff", "1024", " + ", " - ", " << ", "~", "(", ")", ".const ", "N", "M", ".reg ",
    ".segment ", ".store ", "; note", "\ngoto loop\nnop\nnop\n", "\t", "é",
];

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn asm_text(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    let text = if mode % 2 == 0 {
        let Ok(text) = std::str::from_utf8(rest) else { return };
        text.to_owned()
    } else {
        rest.iter().map(|&byte| PIECES[usize::from(byte) % PIECES.len()]).collect()
    };
    let program = match assemble("fuzz", &text) {
        Ok(program) => program,
        Err(errors) => {
            assert!(!errors.is_empty());
            let lines = text.lines().count().max(1);
            assert!(errors.iter().all(|error| (1..=lines).contains(&error.span.line)));
            assert!(!render(&errors).is_empty());
            return;
        }
    };
    let again = disassemble(&program);
    let again = assemble("again", &again).unwrap_or_else(|errors| panic!("{again}\n{}", render(&errors)));
    assert_eq!(again.words, program.words);
    assert!(program.labels.iter().all(|label| again.labels.get(label.0) == Some(label.1)));
    let loaded = image::read("image", &image::write(&program)).expect("what was written is read");
    assert_eq!((loaded.words, loaded.store), (program.words.clone(), program.store));
    assert!(!listing(&program).is_empty());
}
