// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images: the bytes that are loaded into a microcode store (`spec/isa/image.md`).
//!
//! Contract: the reader accepts exactly the output of the writer, and no program that the assembler rejects.

use crate::layout::STORE_WORDS;
use crate::program::{DEFAULT_ITEM_WORDS, ITEM_WORDS, MatchProgram, ProgramFault};
use crate::word::{DecodeError, Encoded, Word};

/// The first eight bytes of an image.
pub const MAGIC: [u8; 8] = *b"mb-ucode";
/// The version this library writes, and the only one it reads.
pub const VERSION: u32 = 1;

const HEADER: usize = 24;
const WORD: usize = 24;
const CHECKSUM: usize = 4;

/// Why bytes are not an image.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImageError {
    /// The magic is missing.
    #[error("bytes 0 to 7: found another kind of file; expected `mb-ucode`, the magic of an image")]
    Magic,
    /// Another version.
    #[error("version: found {found}; expected {VERSION}")]
    Version {
        /// The value in the image.
        found: u32,
    },
    /// A count outside its range.
    #[error("{field}: found {found}; expected {expected}")]
    Count {
        /// What is counted.
        field: &'static str,
        /// The value in the image.
        found: u32,
        /// The range.
        expected: String,
    },
    /// Too short or too long.
    #[error("length: found {found} bytes; expected {expected}")]
    Length {
        /// Bytes given.
        found: usize,
        /// Bytes that follow from the header.
        expected: usize,
    },
    /// The checksum does not match.
    #[error("checksum: found {found:#010x}; expected {expected:#010x}, computed from the bytes before it")]
    Checksum {
        /// The value in the image.
        found: u32,
        /// What was computed.
        expected: u32,
    },
    /// Padding that is not zero.
    #[error("word {at}: found padding that is not zero; expected 3 zero bytes")]
    Padding {
        /// Address of the word.
        at: usize,
    },
    /// Bits that are not an instruction word.
    #[error("word {at}: {source}")]
    Word {
        /// Address of the word.
        at: usize,
        /// Why.
        source: DecodeError,
    },
    /// Words that violate a program rule.
    #[error(transparent)]
    MatchProgram(#[from] ProgramFault),
}

/// The image of a program.
///
/// # Panics
/// When the program exceeds the largest store, which the assembler excludes.
#[must_use]
pub fn write(program: &MatchProgram) -> Vec<u8> {
    assert!(program.words.len() <= STORE_WORDS, "a program fits the largest store");
    let mut bytes = Vec::with_capacity(HEADER + WORD * program.words.len() + CHECKSUM);
    bytes.extend(MAGIC);
    let item_words = if program.item_words == DEFAULT_ITEM_WORDS { 0 } else { program.item_words as u32 };
    for value in [VERSION, program.store as u32, program.words.len() as u32, item_words] {
        bytes.extend(value.to_le_bytes());
    }
    for word in &program.words {
        bytes.extend(word.encode().to_bytes());
        bytes.extend([0; WORD - Encoded::BYTES]);
    }
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// The program of an image; `name` stands for it in messages.
///
/// # Errors
/// When the bytes violate the format, or the program a rule.
pub fn read(name: &str, bytes: &[u8]) -> Result<MatchProgram, ImageError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(ImageError::Magic);
    }
    let least = HEADER + CHECKSUM;
    if bytes.len() < least {
        return Err(ImageError::Length { found: bytes.len(), expected: least });
    }
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (version, store, count, item_words) = (number(8), number(12), number(16), number(20));
    if version != VERSION {
        return Err(ImageError::Version { found: version });
    }
    check_count("size of the store", store, 1, STORE_WORDS as u32)?;
    check_count("number of words", count, 1, store)?;
    let item_words = match item_words as usize {
        0 => DEFAULT_ITEM_WORDS,
        other if other != DEFAULT_ITEM_WORDS && ITEM_WORDS.contains(&other) => other,
        _ => {
            let expected = "0, which stands for 8, 4 or 16".to_owned();
            return Err(ImageError::Count { field: "words of an item", found: item_words, expected });
        }
    };
    let end = HEADER + WORD * count as usize;
    if bytes.len() != end + CHECKSUM {
        return Err(ImageError::Length { found: bytes.len(), expected: end + CHECKSUM });
    }
    let (found, expected) = (number(end), checksum(&bytes[..end]));
    if found != expected {
        return Err(ImageError::Checksum { found, expected });
    }
    let mut words = Vec::with_capacity(count as usize);
    for (at, chunk) in bytes[HEADER..end].chunks_exact(WORD).enumerate() {
        let (word, padding) = chunk.split_at(Encoded::BYTES);
        if padding.iter().any(|&byte| byte != 0) {
            return Err(ImageError::Padding { at });
        }
        let mut encoded = [0; Encoded::BYTES];
        encoded.copy_from_slice(word);
        words.push(Word::decode(Encoded::from_bytes(encoded)).map_err(|source| ImageError::Word { at, source })?);
    }
    let mut program = MatchProgram::from_words(name, words);
    program.store = store as usize;
    program.item_words = item_words;
    match program.faults().first() {
        Some(&fault) => Err(fault.into()),
        None => Ok(program),
    }
}

fn check_count(field: &'static str, found: u32, least: u32, most: u32) -> Result<(), ImageError> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
    Err(ImageError::Count { field, found, expected })
}

/// The checksum at the end of an image: CRC-32 as in IEEE 802.3, reflected polynomial 0xedb88320, ones before and
/// complemented after.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
