// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random words and programs: bits, text and images say the same, and a second decoder agrees.

mod reference;
mod strategies;

use std::sync::LazyLock;

use mb_asm::word::{Encoded, Word};
use mb_asm::{MatchProgram, assemble, assemble_word, disassemble, image, render};
use proptest::prelude::*;

use reference::Reference;

static REFERENCE: LazyLock<Reference> = LazyLock::new(Reference::new);

#[test]
fn the_second_decoder_knows_the_whole_word() {
    assert_eq!(REFERENCE.text(Encoded([0; 3])), Some("nop".to_owned()));
    // Each bit alone: both decoders take it or refuse it together.
    for bit in 0..164 {
        let mut bits = [0; 3];
        bits[bit / 64] = 1 << (bit % 64);
        let decoded = Word::decode(Encoded(bits));
        assert_eq!(decoded.is_ok(), REFERENCE.text(Encoded(bits)).is_some(), "bit {bit}: {decoded:?}");
    }
}

#[test]
fn labels_stay_where_they_are_behind_the_last_word_too() {
    let text = "start: also: goto start\nnop\nnop\nend:\nlast:";
    let program = assemble("labels", text).unwrap_or_else(|errors| panic!("{}", render(&errors)));
    assert_eq!((program.words.len(), program.labels.len()), (3, 4));
    let text = disassemble(&program);
    let again = assemble("again", &text).unwrap_or_else(|errors| panic!("{text}\n{}", render(&errors)));
    assert_eq!(again.labels, program.labels);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sound_words_survive_their_bits(word in strategies::word()) {
        prop_assert_eq!(Word::decode(word.encode()), Ok(word));
    }

    #[test]
    fn sound_words_survive_their_text(word in strategies::word()) {
        let again = assemble_word(&word.to_string()).map_err(|errors| TestCaseError::fail(render(&errors)))?;
        prop_assert_eq!(again, word);
    }

    #[test]
    fn the_second_decoder_reads_the_same_words(word in strategies::word()) {
        let text = REFERENCE.text(word.encode());
        let text = text.ok_or_else(|| TestCaseError::fail("the second decoder refuses it"))?;
        let again = assemble_word(&text).map_err(|errors| TestCaseError::fail(render(&errors)))?;
        prop_assert_eq!(again, word, "{}", text);
    }

    /// Words near sound ones: some still are, most are not.
    #[test]
    fn both_decoders_refuse_the_same_words(
        word in strategies::word(),
        flips in prop::collection::vec(0usize..164, 1..4),
    ) {
        let mut bits = word.encode();
        for bit in flips {
            bits.0[bit / 64] ^= 1 << (bit % 64);
        }
        let decoded = Word::decode(bits);
        prop_assert_eq!(decoded.is_ok(), REFERENCE.text(bits).is_some(), "{} {:?}", bits, decoded);
        if let Ok(word) = decoded {
            prop_assert_eq!(word.encode(), bits);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn programs_survive_their_text_and_their_image(words in strategies::program()) {
        let program = MatchProgram::from_words("random", words);
        prop_assert_eq!(program.faults(), []);
        let text = disassemble(&program);
        let again = assemble("text", &text).map_err(|errors| TestCaseError::fail(render(&errors)))?;
        prop_assert_eq!(&again.words, &program.words);
        // Text that was made once is made again, labels and all.
        prop_assert_eq!(disassemble(&again), text);
        prop_assert_eq!(image::read("random", &image::write(&program)), Ok(program));
    }

    /// Pieces of the language in any order: an answer or errors inside the text, and no panic.
    #[test]
    fn any_text_is_answered(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        let text = pieces.concat();
        if let Err(errors) = assemble("pieces", &text) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                let lines = text.lines().count().max(1);
                prop_assert!((1..=lines).contains(&error.span.line), "{}", error);
                prop_assert!(error.span.width >= 1 && error.span.column >= 1);
                prop_assert!(error.span.column <= error.source.chars().count() + 1, "{}", error);
            }
        }
    }

    #[test]
    fn any_characters_are_answered(text: String) {
        let _ = assemble("characters", &text);
    }
}

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a1", "a0", "t3", "p8", "p15", "p1", "x7:0", "name", ":", "\n", "\n", " ", " || ", "||", " = ", "=", "&=", "|=",
    "in", "out", ".last", "wait", "goto ", " if ", "!", "add ", "perm ", "match ", "eq", ".16:48 ", "lut ", ", ", "[",
    "]", "{", "}", ".hi", ".lo", "5", "0x", "1024", "0xffff_ffff_ffff_ffff", "<<", "*", "-", "~", "(", ")", ".const ",
    ".reg ", ".segment ", ".store ", "care ", "ignore ", "nop", "; note", "_", "é", "\t", ".item",
];
