// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any bits as a word, any bytes as an image with a right checksum: they are refused, or the word has the same bits and
//! text again.

use mb_asm::{Encoded, Word, assemble_word, image};

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn word_decode(data: &[u8]) {
    let mut bytes = [0; Encoded::BYTES];
    for (byte, given) in bytes.iter_mut().zip(data) {
        *byte = *given;
    }
    let bits = Encoded::from_bytes(bytes);
    if let Ok(word) = Word::decode(bits) {
        assert_eq!(word.encode(), bits);
        assert_eq!(assemble_word(&word.to_string()), Ok(word));
    }
    let mut image = data.to_vec();
    image.extend(image::checksum(data).to_le_bytes());
    if let Ok(program) = image::read("fuzz", &image) {
        assert_eq!(image::write(&program), image);
    }
}
