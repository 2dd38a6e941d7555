// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images: written images are read back, and damaged ones are rejected with the reason.

use mb_asm::image::{checksum, read, write};
use mb_asm::{MatchProgram, assemble, disassemble, listing, render};

const LOOP: &str = "\
.store 16
.segment wait_for_header
start:  wait || a1, t1 = in || goto start if !in.item
        p11 = eq a1, 0x1000
        nop
.segment answer
        out.last = a1 if p11 || goto start
        nop
        nop
";

fn program() -> MatchProgram {
    assemble("loop.mb", LOOP).unwrap_or_else(|errors| panic!("{}", render(&errors)))
}

/// The image of [`LOOP`] with byte `at` replaced, and the checksum made right again if asked.
fn damaged(at: usize, value: u8) -> Vec<u8> {
    let mut image = write(&program());
    image[at] = value;
    image
}

/// Like [`damaged`], with a checksum that hides the damage.
fn forged(at: usize, value: u8) -> Vec<u8> {
    let mut image = damaged(at, value);
    let end = image.len() - 4;
    let right = checksum(&image[..end]);
    image[end..].copy_from_slice(&right.to_le_bytes());
    image
}

fn refusal(image: &[u8]) -> String {
    read("loop", image).expect_err("a damaged image").to_string()
}

#[test]
fn an_image_holds_what_its_page_says() {
    let image = write(&program());
    assert_eq!(image.len(), 24 + 6 * 24 + 4);
    assert_eq!(&image[..8], b"mb-ucode");
    assert_eq!(image[8..24], [1, 0, 0, 0, 16, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(image[24..45], program().words[0].encode().to_bytes());
    assert_eq!(image[45..48], [0, 0, 0]);
    let again = read("loop.mb", &image).expect("a sound image");
    assert_eq!((again.words, again.store), (program().words, 16));
}

#[test]
fn every_changed_bit_is_noticed() {
    let image = write(&program());
    for bit in 0..8 * image.len() {
        let mut changed = image.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(read("loop", &changed).is_err(), "bit {bit}");
    }
}

#[test]
fn every_other_length_is_noticed() {
    let image = write(&program());
    for length in 0..image.len() {
        assert!(read("loop", &image[..length]).is_err(), "{length} bytes");
    }
    assert_eq!(refusal(&[&image[..], &[0]].concat()), "length: found 173 bytes; expected 172");
    assert_eq!(refusal(&image[..20]), "length: found 20 bytes; expected 28");
    assert_eq!(refusal(&image[..30]), "length: found 30 bytes; expected 172");
}

#[test]
fn damage_is_reported_with_its_reason() {
    for (image, reason) in [
        (damaged(0, b'M'), "bytes 0 to 7: found another kind of file; expected `mb-ucode`, the magic of an image"),
        (damaged(8, 2), "version: found 2; expected 1"),
        (damaged(13, 8), "size of the store: found 2064; expected 1 to 1024"),
        (damaged(16, 17), "number of words: found 17; expected 1 to 16"),
        (damaged(20, 1), "words of an item: found 1; expected 0, which stands for 8, 4 or 16"),
        (damaged(20, 8), "words of an item: found 8; expected 0, which stands for 8, 4 or 16"),
        (damaged(30, 1), "checksum: found 0xaffb63bf; expected 0x4f9e6578, computed from the bytes before it"),
        (forged(45, 1), "word 0: found padding that is not zero; expected 3 zero bytes"),
        (forged(44, 0xff), "word 0: found bits above bit 163 set; expected zeros"),
        (forged(24, 1), "word 0: field alu.imm: found a value without effect in this word; expected zero"),
        (forged(24 + 3 * 24 + 14, 0x90), "word 3: found a branch to 9; expected a target of at most 5, the last word"),
        (
            forged(24 + 5 * 24 + 16, 0x0c),
            "word 5: found a branch without both delay slots; expected two words after it",
        ),
    ] {
        assert_eq!(refusal(&image), reason);
    }
}

#[test]
fn the_size_of_items_survives_text_and_image() {
    for words in [4, 8, 16] {
        let text = format!(".items {words}\nloop: wait || a1 = in || goto loop\nnop\nnop\n");
        let program = mb_asm::assemble("loop.mb", &text).expect("a sound program");
        assert_eq!(program.item_words, words);
        let again = read("loop.mb", &write(&program)).expect("a sound image");
        assert_eq!(again.item_words, words);
        let shown = disassemble(&again);
        assert_eq!(mb_asm::assemble("loop.mb", &shown).expect("its own text").item_words, words);
        assert_eq!(shown.contains(".items"), words != 8);
    }
}

#[test]
fn a_program_is_shown_as_text() {
    assert_eq!(
        disassemble(&program()),
        "\
.store 16
.segment wait_for_header
start: wait || a1, t1 = in || goto start if !in.item
       p11 = eq a1, 0x1000
       nop
.segment answer
       goto start || out.last = a1 if p11
       nop
       nop
"
    );
    let bare = read("loop", &write(&program())).expect("a sound image");
    assert!(disassemble(&bare).contains("\nL0: wait || a1, t1 = in || goto L0 if !in.item\n"));
}

#[test]
fn a_listing_shows_addresses_encodings_and_slots() {
    assert_eq!(
        listing(&program()),
        "\
; loop.mb: 6 words, store of 16
addr  encoding                                   slots    line  text
; segment wait_for_header: 3 words
start:
   0  000223c9800000000000000000000000000000000  I...B.      3  wait || a1, t1 = in || goto start if !in.item
   1  00000000000000000000000008000878100001000  .A....      4  p11 = eq a1, 0x1000
   2  00000000000000000000000000000000000000000  ......      5  nop
; segment answer: 3 words
   3  b10c0000c00000000000000000000000000000000  ....BC      7  out.last = a1 if p11 || goto start
   4  00000000000000000000000000000000000000000  ......      8  nop
   5  00000000000000000000000000000000000000000  ......      9  nop
; words that use a slot: input 1, alu 1, ternary 0, predicate 0, branch 2, copy 1
"
    );
}

#[test]
fn the_checksum_is_the_published_one() {
    // The check value that catalogues of CRCs give for the nine digits.
    assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
}
