// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any program that the instruction set allows on the match unit: by itself it never leaves the
//! program, and with the list manager it answers, or its error names what it violated, watched or not, in bounded time.
//!
//! Programs are those of the engine with changed bits and changed words, so that much of the protocol is still kept.

use std::sync::LazyLock;

use mb_asm::{Encoded, MatchProgram, Word, disassemble};
use mb_unit::layout::{ANY_NID, ANY_PID, Item, MessageHeader, op, options};
use mb_unit::list_manager::{List, ListManagerParameters};
use mb_unit::match_processor::MatchProcessor;
use mb_unit::programs::BuiltinProgram;
use mb_unit::unit::{FifoHead, FifoTag, MatchUnit};

/// Words that the unit issues by itself; the longest program has fewer than 64.
const WORDS: u64 = 2000;

const MEMORY: ListManagerParameters = ListManagerParameters::HEMMERT2007;

static PROGRAMS: LazyLock<[MatchProgram; 4]> = LazyLock::new(|| BuiltinProgram::ALL.map(BuiltinProgram::assemble));

/// Changes one bit of a word, or puts another word in its place, unless that makes a word or a program that is refused.
fn edit(program: &mut MatchProgram, [at, what, bit]: [u8; 3]) {
    let count = program.words.len();
    let at = usize::from(at) % count;
    let old = program.words[at];
    let mut bits = old.encode();
    match what % 4 {
        0 => bits = program.words[usize::from(bit) % count].encode(),
        1 => bits = Encoded::default(),
        _ => bits.0[usize::from(bit) % 164 / 64] ^= 1 << (usize::from(bit) % 164 % 64),
    }
    if let Ok(new) = Word::decode(bits) {
        program.words[at] = new;
        if !program.faults().is_empty() {
            program.words[at] = old;
        }
    }
}

fn item(bits: u64) -> Item {
    Item {
        bits,
        care: u64::MAX,
        nid: ANY_NID,
        pid: ANY_PID,
        options: options::VALID | options::PUT | options::ANY_SOURCE,
        length: 4096,
        threshold: 1,
        ..Item::default()
    }
}

/// Runs the target on an input.
///
/// # Panics
/// The target does not accept the input.
pub fn unit_run(data: &[u8]) {
    let Some((&choice, edits)) = data.split_first() else { return };
    let mut program = MatchProgram::from_words("fuzz", PROGRAMS[usize::from(choice) % 4].words.clone());
    for chunk in edits.chunks_exact(3) {
        edit(&mut program, chunk.try_into().expect("three bytes"));
    }
    let mut unit = MatchUnit::new(&program.words);
    for word in 0..WORDS {
        assert!(unit.need().is_some(), "runs past its end:\n{}", disassemble(&program));
        let tag = [FifoTag::Header, FifoTag::Item, FifoTag::Item, FifoTag::End][usize::from(choice >> (word % 7) & 3)];
        unit.issue(FifoHead { word: word.wrapping_mul(0x9e37_79b9_7f4a_7c15), tag });
    }

    let Ok(mut watched) = MatchProcessor::new(&program.words, MEMORY) else { return };
    for list in [List::Posted, List::Unexpected] {
        for bits in [1, 1, 1, 2, 1] {
            watched.lists_mut().append(list, item(bits), 0, 0);
        }
    }
    let mut unwatched = watched.clone();
    for bits in [2, 1, 3] {
        let header = MessageHeader { op: op::PUT, bits, length: 64, ..MessageHeader::default() }.words();
        let answer = watched.search(List::Posted, header, 0, &mut ());
        assert_eq!(unwatched.search_fast(List::Posted, header, 0), answer, "{}", disassemble(&program));
        if answer.is_err() {
            return;
        }
    }
}
